"""PARNI's tuning parameters: η, which edges to try (equation 9), and ω, how many (equation 13).

Between refreshes η is fixed, and with it the table of node pairs from which `neighbourhood` draws. Refreshing all n²
positions each iteration would cost far more than the iteration itself, so it happens in epochs of growing length while
the chain tunes. Afterwards both parameters are frozen, unless `adapt="always"`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO, Dag, arc, settle_counts
from parnidag.kernels.declare import closer, first_numbers, keeps, opener, struct_over
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.lazy_zeros import lazy_zeros
from parnidag.kernels.problem import FREE
from parnidag.kernels.types import Bytes, Codes, Flags, Floats, Integers, int64

BUCKETS = 12
"""Pairs are grouped by powers of two of the probability that they are tried; the last bucket takes the rest."""
FIRST_OMEGA = 0.9
MOST_OMEGA = 0.99
SHORTEST_EPOCH = 100


@keeps("eta_odds", "eta_logit", "pairs", "bucket_start", "bucket_bound", "bucket_miss", "integers", "floats")
class ParniArrays(NamedTuple):
    frame: Bytes
    warm: Floats
    """π̃, the warm start of the edge probabilities (n × n, shared by all chains)."""
    eta_odds: Floats
    """η/(1 − η); 0 where the edge is not free (n × n)."""
    eta_logit: Floats
    """log(η/(1 − η)) (n × n)."""
    pairs: Codes
    """Arcs i → j, i < j, of the pairs that may be tried, bucket by bucket."""
    bucket_start: Integers
    bucket_bound: Floats
    """The largest probability in each bucket that an absent pair is in k."""
    bucket_miss: Floats
    """log(1 − ω · bound)."""
    block_codes: Codes
    """The drawn sub-neighbourhoods K_r: their first position."""
    block_pairs: Flags
    """Whether K_r has the opposite position too."""
    undo_codes: Codes
    undo_moves: Integers
    undo_scores: Floats
    flags: Flags
    integers: Integers
    floats: Floats
    """The numbers that `Parni` declares."""


@struct_over
class Parni(ParniArrays):
    """The same as a struct."""

    printed: bool
    symmetric: bool
    """Is η that of both directions together?"""
    always: bool
    """Does it adapt after tuning too?"""
    tune: int
    next_refresh: int
    tried: int
    accepted: int
    evaluations: int
    omega: float
    least_omega: float
    kappa: float
    target_evaluations: float
    omega_miss: float
    """log(1 − ω)."""
    blocks: int = ZERO
    """How many sub-neighbourhoods were drawn."""
    undos: int = ZERO
    log_ratio: float = 0.0
    """Log acceptance ratio of the printed kernel, so far."""


open_parni, close_parni = opener(Parni), closer(Parni)


def make_parni(
    warm: Floats,
    *,
    tune: int,
    printed: bool = False,
    symmetric: bool = True,
    always: bool = False,
    kappa: float = 0.01,
    target_evaluations: float = 10.0,
) -> ParniArrays:
    """Return the arrays of a new chain; η follows at the first iteration."""
    n = len(warm)
    most = n * (n - 1) // 2
    undone = most if printed else 1  # the other kernel takes nothing back
    return ParniArrays(
        frame=make_frame(),
        warm=warm,
        eta_odds=lazy_zeros((n, n), busy=True),
        eta_logit=lazy_zeros((n, n), busy=True),
        pairs=lazy_zeros(most, np.int32, busy=True),
        bucket_start=np.zeros(BUCKETS + 1, np.int64),
        bucket_bound=np.zeros(BUCKETS),
        bucket_miss=np.zeros(BUCKETS),
        block_codes=lazy_zeros(most, np.int32),
        block_pairs=lazy_zeros(most, np.bool_),
        undo_codes=lazy_zeros(undone, np.int32),
        undo_moves=lazy_zeros(undone, np.int64),
        undo_scores=lazy_zeros(2 * undone),
        **first_numbers(
            Parni,
            printed=printed,
            symmetric=symmetric,
            always=always,
            tune=tune,
            omega=FIRST_OMEGA,
            least_omega=min(0.01, 1 / n),
            kappa=kappa,
            target_evaluations=target_evaluations,
        ),
    )


@kernel
def first_eta(dag: Dag, run: Parni) -> None:
    if dag.now == ZERO and run.next_refresh == ZERO:
        refresh_eta(dag, run, ZERO)
        run.next_refresh = next_refresh(dag.n, ZERO)


@leaf
def adapting(dag: Dag, run: Parni) -> bool:
    """Do the parameters still change? Not once tuning is over and both are frozen."""
    return dag.now < run.tune or run.always


@kernel
def adapt_omega(dag: Dag, run: Parni) -> None:
    """Update ω after an iteration that evaluated sub-neighbourhoods."""
    if adapting(dag, run):
        set_omega(run, next_omega(run, dag.n, dag.now + ONE))


@kernel
def adapt_eta(dag: Dag, run: Parni) -> None:
    """Update η when an epoch, or tuning, ends."""
    time = dag.now + ONE
    if adapting(dag, run) and (time >= run.next_refresh or time == run.tune):
        refresh_eta(dag, run, time)
        run.next_refresh = next_refresh(dag.n, time)


@leaf
def next_refresh(n: int, time: int) -> int:
    """Return when the next epoch ends: late enough that a refresh, O(n²), costs little next to the iterations."""
    return time + max(int64(SHORTEST_EPOCH), n * n // 100, time // 20)


@kernel
def next_omega(run: Parni, n: int, time: int) -> float:
    """Equation 13: one Robbins–Monro step on logit_ε(ω) towards the target number of evaluated sub-neighbourhoods."""
    epsilon = min(1.0 / (n * (n - 1.0)), 0.25)  # two nodes would leave ω no room
    omega = min(max(run.omega, epsilon + 1e-12), 1.0 - epsilon - 1e-12)
    logit = math.log(omega - epsilon) - math.log(1.0 - omega - epsilon)
    logit -= time**-0.7 * (run.blocks - run.target_evaluations)
    moved = epsilon + (1.0 - 2.0 * epsilon) / (1.0 + math.exp(-min(max(logit, -700.0), 700.0)))
    return min(max(moved, run.least_omega), MOST_OMEGA)


@kernel
def set_omega(run: Parni, omega: float) -> None:
    """Set ω and the skip lengths that follow from it."""
    run.omega = omega
    run.omega_miss = math.log1p(-omega)
    for bucket in range(BUCKETS):
        run.bucket_miss[bucket] = math.log1p(-omega * run.bucket_bound[bucket])


@leaf
def phi(time: int, tune: int) -> float:
    """Weight of the warm start against the running average (Appendix B)."""
    if time <= tune:
        return 1.0 - 0.5 * (1.0 / (tune - time + 1.0)) ** 0.2
    return 0.5 * (1.0 / (time - tune)) ** 0.5


@kernel
def refresh_eta(dag: Dag, run: Parni, time: int) -> None:
    """Recompute η at every free position (equation 9, kept inside (κ, 1 − κ)) and the table of pairs."""
    settle_counts(dag)
    weight = phi(time, run.tune) if time > 0 else 1.0
    elapsed = max(dag.now, ONE)
    for i in range(dag.n):
        for j in range(dag.n):
            if dag.status[i, j] != FREE:
                continue
            seen = dag.visits[i, j] / elapsed
            if run.symmetric:
                seen = 0.5 * (seen + dag.visits[j, i] / elapsed)
            eta = run.kappa + (1.0 - 2.0 * run.kappa) * (weight * run.warm[i, j] + (1.0 - weight) * seen)
            if run.symmetric:
                eta = max(eta, 0.5 * run.warm[i, j] + 0.5 * run.kappa)
            run.eta_odds[i, j] = eta / (1.0 - eta)
            run.eta_logit[i, j] = math.log(run.eta_odds[i, j])
    fill_buckets(dag, run)
    set_omega(run, run.omega)


@kernel
def fill_buckets(dag: Dag, run: Parni) -> None:
    """Sort the pairs by how likely they are tried when they have no edge (a counting sort by powers of two)."""
    n, start, bound = dag.n, run.bucket_start, run.bucket_bound
    start[:] = 0
    bound[:] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            chance = chance_when_absent(run, i, j)
            if chance > 0.0:
                bucket = bucket_of(chance)
                start[bucket + 1] += ONE
                bound[bucket] = max(bound[bucket], chance)
    for bucket in range(BUCKETS):
        start[bucket + 1] += start[bucket]
    for i in range(n):
        for j in range(i + 1, n):
            chance = chance_when_absent(run, i, j)
            if chance > 0.0:
                bucket = bucket_of(chance)
                run.pairs[start[bucket]] = arc(i, j)
                start[bucket] += ONE
    for bucket in range(BUCKETS - 1, -1, -1):
        start[bucket + 1] = start[bucket]
    start[0] = 0


@leaf
def chance_when_absent(run: Parni, i: int, j: int) -> float:
    """Probability that k has (i, j) or (j, i) while neither edge is there (equation 3)."""
    forward, backward = min(1.0, run.eta_odds[i, j]), min(1.0, run.eta_odds[j, i])
    return forward + backward - forward * backward


@leaf
def bucket_of(chance: float) -> int:
    """Return 0 for certainty, 1 for [½, 1), 2 for [¼, ½) and so on."""
    return min(int64(1) - int64(math.frexp(chance)[1]), int64(BUCKETS - 1))
