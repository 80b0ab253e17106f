"""Exact transition matrices of order MCMC over all orders of three nodes, and the exact law of its graphs.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_order.py``, with the name of one of the BROKEN twins if wanted.
Every random decision of the production kernels is enumerated, see `transitions.py`; `test_order.py` judges the figures.
"""

import functools
import json
import sys

import numpy as np
import reference
import reference_spaces as twin
from transitions import DECISIONS, EXPLORER, PRIORS, VALUES, G, install, starting_at
from transitions_partition import judge, outcomes_of

from parnidag.data import Data
from parnidag.samplers._on_tables import draw_graph, make_graph_draw
from parnidag.scores import Gaussian
from parnidag.tables import orders
from parnidag.tables.arrays import draw_arrays, open_tables
from parnidag.tables.build import build_tables
from parnidag.target import Target

MIXTURES = {
    "local_swap": (1.0, 0.0, 0.0),
    "global_swap": (0.0, 1.0, 0.0),
    "relocate": (0.0, 0.0, 1.0),
    "mixture": (0.5, 0.3, 0.2),
}
ONE_CANDIDATE = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool)
SPACES = {
    "full": (np.ones((3, 3), bool), False),
    "plus one": (ONE_CANDIDATE, True),
    "candidates only": (ONE_CANDIDATE, False),
    "extras only": (np.zeros((3, 3), bool), True),
}


def swap_without_those_between(rng, tables, run, first, last):
    """A wrong swap: the nodes between the two keep their old sums."""
    if first == last:
        return False
    orders.exchange(run, first, last)
    gain = 0.0
    for place in (first, last):
        j = run.order[place]
        run.other[j] = orders.value_of(tables, run, j, place)
        gain += run.other[j] - run.values[j]
    if not orders.happens(rng, np.exp(min(0.0, gain))):
        orders.exchange(run, first, last)
        return False
    for place in (first, last):
        orders.revalue(run, run.order[place], run.other[run.order[place]])
    return True


def stale_value(tables, run, j, lost, gained, value):
    """A wrong revaluation: other predecessors, the old sum."""
    return value


BROKEN = {
    "swap forgets those between": {"swap": swap_without_those_between},
    "old sums": {"value_after": stale_value},
}


def step(tables, draws, mixture, order):
    """Make one step from an order; the values it leaves behind must be those of a fresh valuation."""
    arrays = orders.make_order(list(order), 1.0, 1.0)
    arrays.move_weights[:] = mixture
    opened = open_tables(tables.arrays, draws)
    run = orders.open_order(arrays)
    orders.value_all(opened, run)
    orders.order_step(None, opened, run)
    left = run.values.copy()
    total = run.total
    orders.value_all(opened, run)
    stale = max(abs(left - run.values).max(), abs(total - run.total))
    assert (run.level[run.order] == np.arange(len(order))).all()
    return tuple(int(node) for node in run.order), float(stale)


def judge_moves(tables, law, mixture):
    """How far a mixture of moves is from leaving the law of orders invariant, and from being reversible."""
    return judge(law, outcomes_of(step, tables, draw_arrays(tables.arrays), mixture))


def draw(target, tables, draws, fresh, level):
    dag = fresh()
    draw_graph(dag, open_tables(tables.arrays, draws), level, make_graph_draw(target), False)
    return (dag.position != -1).tobytes()


def judge_graphs(target, tables, law, sets):
    """Distance of the drawn graphs from the weighted law, and of that from the posterior on the space."""
    graphs = list(reference.all_dags(3))
    index = {graph.tobytes(): k for k, graph in enumerate(graphs)}
    found, draws = np.zeros(len(graphs)), draw_arrays(tables.arrays)
    fresh = starting_at(target, target.required)
    for order, chance in law.items():
        once = functools.partial(draw, target, tables, draws, fresh, twin.level_of(order))
        for weight, key in EXPLORER.outcomes(once):
            found[index[key]] += chance * weight
    weighted, unweighted = (twin.graph_law(sets, graphs, weigh_orders) for weigh_orders in (True, False))
    return {
        "graphs": int((found > 0.0).sum()),
        "possible": int((weighted > 0.0).sum()),
        "graph_law": float(abs(found - weighted).max()),
        "bias": float(abs(unweighted - weighted).sum() / 2.0),
    }


def main(broken=""):
    install(DECISIONS)
    install(BROKEN.get(broken, {}), [orders])
    figures = {}
    for prior, settings in PRIORS.items():
        if broken and prior != "free":
            continue  # a broken move may leave the orders that constraints allow
        target = Target.build(Data(VALUES), Gaussian(g=G), settings)
        for space, (considered, plus_one) in SPACES.items():
            tables = build_tables(target, considered, plus_one=plus_one)
            sets = [naive_sets(target, considered, plus_one, j) for j in range(3)]
            law = twin.order_law(sets)
            figures[f"{prior}, {space}"] = {
                "orders": len(law),
                "spread": max(law.values()) - min(law.values()),
                "moves": {name: judge_moves(tables, law, mixture) for name, mixture in MIXTURES.items()},
                **judge_graphs(target, tables, law, sets),
            }
    print(json.dumps(figures))


def naive_sets(target, considered, plus_one, node):
    """The sets of a space with scores from dense matrices: nothing of the code under test."""
    log_odds = target.problem.log_odds
    return {
        parents: reference.gaussian_local_score(VALUES, node, parents, G) + sum(log_odds[i, node] for i in parents)
        for parents in twin.space_sets(target, considered, plus_one, node)
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
