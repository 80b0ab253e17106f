"""Which positions an iteration of PARNI looks at: k ~ p(k | γ) thinned by ω, drawn directly.

Equation 3 (corrected) gives each position (i, j) its own coin:

    p(k_ij = 1 | γ_ij = 0) = min{1, η/(1 − η)},    p(k_ij = 1 | γ_ij = 1) = min{1, (1 − η)/η},

and each sub-neighbourhood K_r, a position or a pair of opposite positions, is evaluated with probability ω. Tossing n²
coins would dominate everything else. Instead the present edges and the buckets of absent pairs are walked through by
random skips, so the cost is proportional to what is found, and not to n².
"""

from __future__ import annotations

from parnidag.kernels.dag import ONE, ZERO, Dag, adjacent, arc, child_of, parent_of
from parnidag.kernels.jit import kernel, leaf
from parnidag.kernels.random import below, happens, pick, skip
from parnidag.kernels.types import int64
from parnidag.samplers.parni.adaptation import BUCKETS, Parni, chance_when_absent


@kernel
def draw_neighbourhoods(dag: Dag, run: Parni) -> None:
    """Draw the sub-neighbourhoods to evaluate, in uniformly random order.

    The order must not depend on the graph: the acceptance ratio of the printed kernel needs it uniform.
    """
    run.blocks = ZERO
    draw_at_edges(dag, run)
    for bucket in range(BUCKETS):
        draw_in_bucket(dag, run, bucket)
    shuffle_blocks(dag, run)


@kernel
def draw_at_edges(dag: Dag, run: Parni) -> None:
    """Draw at the present edges i → j.

    A block with (j, i) alone cannot change anything while i → j is there, so it is left out.
    """
    slot = skip(dag.rng, run.omega, run.omega_miss, dag.edge_count)
    while slot < dag.edge_count:
        code = int64(dag.edges[slot])
        i, j = parent_of(code), child_of(code)
        if happens(dag.rng, min(1.0, 1.0 / run.eta_odds[i, j])):
            append_block(run, code, happens(dag.rng, min(1.0, run.eta_odds[j, i])))
        slot += ONE + skip(dag.rng, run.omega, run.omega_miss, dag.edge_count)


@kernel
def draw_in_bucket(dag: Dag, run: Parni, bucket: int) -> None:
    """Draw among the absent pairs of one bucket: skip with its largest probability, then thin to the pair's own."""
    slot, end = run.bucket_start[bucket], run.bucket_start[bucket + 1]
    if slot == end:
        return
    miss, bound = run.bucket_miss[bucket], run.bucket_bound[bucket]
    hit = run.omega * bound
    slot += skip(dag.rng, hit, miss, end - slot)
    while slot < end:
        code = int64(run.pairs[slot])
        i, j = parent_of(code), child_of(code)
        if not adjacent(dag, i, j) and happens(dag.rng, chance_when_absent(run, i, j) / bound):
            draw_directions(dag, run, i, j)
        slot += ONE + skip(dag.rng, hit, miss, end - slot)


@kernel
def draw_directions(dag: Dag, run: Parni, i: int, j: int) -> None:
    """Given that k touches the absent pair {i, j}: choose both positions, (i, j) alone or (j, i) alone."""
    forward, backward = min(1.0, run.eta_odds[i, j]), min(1.0, run.eta_odds[j, i])
    either = forward + backward - forward * backward
    choice = pick(dag.rng, forward * backward / either, forward * (1.0 - backward) / either)
    if choice == 0:
        append_block(run, arc(j, i), False)
    else:
        append_block(run, arc(i, j), choice == 1)


@leaf
def append_block(run: Parni, code: int, pair: bool) -> None:
    run.block_codes[run.blocks] = code
    run.block_pairs[run.blocks] = pair
    run.blocks += ONE


@kernel
def shuffle_blocks(dag: Dag, run: Parni) -> None:
    codes, pairs = run.block_codes, run.block_pairs
    for last in range(run.blocks - ONE, 0, -1):
        chosen = below(dag.rng, int64(last + 1))
        codes[last], codes[chosen] = codes[chosen], codes[last]
        pairs[last], pairs[chosen] = pairs[chosen], pairs[last]
