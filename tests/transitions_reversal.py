"""Exact transition matrices of the edge reversal move and of REV, as `transitions.py` has them for other kernels.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_reversal.py three``; prints figures of all cases as JSON, which
`test_reversal.py` judges. A second argument names one of the BROKEN twins, which must fail.
"""

import json
import math
import sys

import numpy as np
import reference
import transitions
from transitions import DECISIONS, EXPLORER, G, install, judge, key_of, starting_at

from parnidag.data import Data
from parnidag.moves import reversal
from parnidag.priors.edge_prior import EdgePrior
from parnidag.samplers import rev as rev_sampler
from parnidag.scores import Gaussian
from parnidag.tables.arrays import draw_arrays, open_tables
from parnidag.tables.build import build_tables
from parnidag.tables.sums import log_sum, log_sum_hitting
from parnidag.target import Target

MIX = 0.3

PRIORS = {
    **transitions.ALL_PRIORS,
    # 2 → 0 → 1 bars the reversal of 2 → 1, since 0 remains a parent of 1
    "a path through a required parent": EdgePrior(h="paper", required=[(0, 1)]),
    # 1 is full: no edge out of it can be turned round
    "no room beside the required parent": EdgePrior(h="paper", required=[(0, 1)], max_parents=1),
    # differences of sums lose digits, or vanish in rounding
    "an unlikely parent": EdgePrior(h="paper", log_odds={(1, 2): -9.0}),
    "a hopeless parent": EdgePrior(h="paper", log_odds={(1, 2): -800.0}),
}
FOUR = EdgePrior(h=0.4, required=[(0, 1)], forbidden=[(3, 0)])


def spaces(n):
    """Search spaces by name: which parents are candidates, and whether a set may have one parent more.

    Graphs outside the tables are those with 0 → n − 1 in "gaps", with two parents of n − 1 in "gaps plus one".
    """
    everything, gaps, wide_gaps = ~np.eye(n, dtype=bool), ~np.eye(n, dtype=bool), ~np.eye(n, dtype=bool)
    gaps[0, n - 1] = False
    wide_gaps[:, n - 1] = False
    return {"full": (everything, False), "gaps": (gaps, False), "gaps plus one": (wide_gaps, True)}


def reversal_alone(dag, tables, rev):
    reversal.reversal_move(dag, tables, rev)


def mixed_with_adr(dag, tables, rev):
    rev_sampler.mixed_step(dag, tables, rev, rev_sampler.mixed_move(dag, MIX))


KERNELS = {"reversal": reversal_alone, "REV": mixed_with_adr}


def outcomes_of(kernel):
    """Yield every outcome of one step."""

    def outcomes(fresh, own):
        def once():
            dag = fresh()
            kernel(dag, *own)
            return key_of(dag)

        return EXPLORER.outcomes(once)

    return outcomes


def opened(target, space):
    """Return tables and working memory as kernels take them."""
    considered, plus_one = space
    tables = build_tables(target, considered, plus_one=plus_one)
    return open_tables(tables.arrays, draw_arrays(tables.arrays)), reversal.open_reversal(
        reversal.make_reversal(target)
    )


def figures(n, prior, kernel, space):
    values = reference.small_values(n)
    target = Target.build(Data(values), Gaussian(g=G), prior)
    tables, rev = opened(target, spaces(n)[space])
    found = judge(target, values, outcomes_of(KERNELS[kernel]), (tables, rev))
    return {**found, "outside": int(rev.outside[0])}


# ---------------------------------------------------------------------------------------------------------------------
# The levels against the definitions, in graphs with required edges


def descendants(adjacency, node):
    """The node itself and all it leads to."""
    found = np.zeros(len(adjacency), bool)
    found[node] = True
    for _ in range(len(adjacency)):
        found |= adjacency[found].any(axis=0)
    return set(np.flatnonzero(found).tolist())


def with_parents(adjacency, node, parents):
    changed = adjacency.copy()
    changed[:, node] = False
    changed[list(parents), node] = True
    return changed


def barred(level):
    return set(np.flatnonzero(level == reversal.BARRED).tolist())


def wrong_levels(dag, tables, rev, i, j):
    """Count the differences from the definition of each step, with parents that the production code draws."""
    present = dag.position != -1
    fixed = dag.position == -2
    without = with_parents(with_parents(present, i, np.flatnonzero(fixed[:, i])), j, np.flatnonzero(fixed[:, j]))
    possible = j not in descendants(without, i)
    if reversal.find_levels(dag, rev, i, j) != possible:
        return 1
    if not possible:
        return 0
    reversal.draw_families(dag, tables, rev, i, j)
    there = with_parents(without, i, rev.drawn[0, : rev.degrees[0]])
    back = with_parents(without, j, np.flatnonzero(present[:, j]))
    after = with_parents(there, j, rev.drawn[1, : rev.degrees[1]])
    return (
        (barred(rev.under_parent) != descendants(without, i))
        + (barred(rev.under_child) != descendants(without, j))
        + (barred(rev.under_either) != descendants(there, j))
        + (barred(rev.under_either) != descendants(back, i))
        + (not reference.is_acyclic(after))
        + (not after[j, i])
    )


def compare_levels(n=9, graphs=60):
    """Draw random graphs with required edges and compare every edge."""
    rng = np.random.default_rng(5)
    prior = EdgePrior(h="paper", required=[(0, 1), (2, 1), (1, 3), (4, 5)])
    target = Target.build(Data(reference.small_values(n)), Gaussian(g=G), prior)
    tables, rev = opened(target, (~np.eye(n, dtype=bool), False))
    found = {"edges": 0, "impossible": 0, "wrong": 0}
    while graphs:
        order = rng.permutation(n)
        graph = np.zeros((n, n), bool)
        graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.3, 1)
        if not reference.is_acyclic(graph | target.required):
            continue
        graphs -= 1
        dag = starting_at(target, graph | target.required)()
        for code in dag.edges[: dag.edge_count]:
            i, j = np.int64(code >> 16), np.int64(code & 0xFFFF)
            found["edges"] += 1
            found["impossible"] += not reversal.find_levels(dag, rev, i, j)
            found["wrong"] += int(wrong_levels(dag, tables, rev, i, j))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Broken twins


def without_edge_counts(log_gain, edges, edges_after):
    return min(1.0, math.exp(min(log_gain, 700.0)))


def second_sum_of_the_way_back_in_the_wrong_graph(tables, rev, i, j):
    """Takes G⊕ in place of G̃⊕: j does not lead away from i there."""
    there = log_sum_hitting(tables, i, rev.under_parent, reversal.BARRED)
    back = log_sum_hitting(tables, j, rev.under_child, reversal.BARRED)
    if min(there, back) == -math.inf:
        return -math.inf
    wrong = log_sum(tables, i, rev.under_parent, reversal.BARRED)
    return there - back + log_sum(tables, j, rev.under_either, reversal.BARRED) - wrong


def any_parents(dag, tables, node):
    return True


BROKEN = {
    "without edge counts": {"acceptance": without_edge_counts},
    "wrong graph": {"log_ratio_of_sums": second_sum_of_the_way_back_in_the_wrong_graph},
    "outside forgotten": {"holds_parents": any_parents},
    "children forgotten": {"drawn_for_gone": lambda dag, *families: 0.0},
}


def three_nodes():
    return {
        f"{kernel}, {prior}, {space}": figures(3, PRIORS[prior], kernel, space)
        for kernel in KERNELS
        for prior in PRIORS
        for space in spaces(3)
    }


def four_nodes():
    return {f"reversal, {space}": figures(4, FOUR, "reversal", space) for space in spaces(4)}


def main(what, twin=""):
    if what == "levels":
        print(json.dumps(compare_levels()))
        return
    install(DECISIONS)
    install(BROKEN.get(twin, {}))
    print(json.dumps({"three": three_nodes, "four": four_nodes}[what]()))


if __name__ == "__main__":
    main(*sys.argv[1:])
