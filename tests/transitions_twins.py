"""Deliberately broken moves and mixtures: what `transitions_moves.py` measures of them must show it.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_twins.py``; prints figures of all twins as JSON, which
`test_moves.py` judges. Each is a mistake that is easy to make. Not among them, since they are exact too: another parent
drawn only from the nodes that are none yet, and names exchanged across a random edge, for what a move chooses from is
then as numerous on the way back.
"""

import json
import math
import sys
from unittest import mock

import numpy as np
import transitions
from transitions import DECISIONS, EXPLORER, install
from transitions_moves import FOUR, MOVES, PRIORS, SOME_PAIRS, figures, mixture_figures, pairs_of

from parnidag.graphs.adjacency import arcs_of
from parnidag.kernels.dag import add_edge, remove_edge
from parnidag.moves import exchange, node_swap, swap_parent
from parnidag.samplers.parni import mixture


def edge_counts_in_the_ratio(dag, node, degree, family_score=exchange.family_score):
    """As if the way back had one edge more to choose from: half of log d/(d + 1) goes into each of the two scores."""
    return family_score(dag, node, degree) + 0.5 * math.log(dag.edge_count / (dag.edge_count + 1.0))


def one_parent_not_given_up(dag, a, b, score_a, score_b, trade_parents=exchange.trade_parents):
    """b keeps one of the parents that it gives to a, so that the number of edges grows."""
    kept = [int(p) for p in dag.parents[b, : dag.degree[b]] if p != a and dag.position[p, a] == -1][:1]
    trade_parents(dag, a, b, score_a, score_b)
    for parent in kept:
        add_edge(dag, np.int64(parent), b, score_b)


def edge_turned_without_its_parents(dag, a, b, score_a, score_b):
    """Scores the exchange, but turns only the edge."""
    remove_edge(dag, a, b, score_b)
    add_edge(dag, b, a, score_a)


def choosing_edges(weigh, move):
    """The move with its edge chosen by weights that depend on the graph, and nothing to make up for it."""

    def twin(dag, swap):
        weights = weigh(dag, [(int(code) >> 16, int(code) & 0xFFFF) for code in dag.edges[: dag.edge_count]])
        if not any(weights):
            return False
        first = [tuple(weight / sum(weights) for weight in weights)]

        def below(rng, count):
            return EXPLORER.decide(first.pop()) if first else transitions.below(rng, count)

        with mock.patch.object(sys.modules[move.__module__], "below", below):
            return move(dag)

    return twin


def possible_exchanges(dag, edges):
    """Only edges across which an exchange closes no cycle; how many there are changes with the graph."""
    return [float(not exchange.has_detour(dag, np.int64(a), np.int64(b))) for a, b in edges]


def parents_alike(dag, edges):
    """First a parent, uniformly, then one of its children: a parent of many makes each of its edges less likely."""
    parents = [i for i, _ in edges]
    return [1.0 / parents.count(i) for i in parents]


def present_pairs(dag, swap):
    """Only pairs on the list that an edge joins: exchanging names can bring more edges onto the list, or fewer."""
    joined = [(a, b) for a, b in pairs_of(swap) if dag.position[a, b] != -1 or dag.position[b, a] != -1]
    if not joined:
        return False
    shorter = np.zeros((dag.n, dag.n), bool)
    shorter[tuple(np.transpose(joined))] = True
    return node_swap.node_swap_move(dag, node_swap.NodeSwap(swap.frame, arcs_of(shorter), swap.arcs, swap.scores))


def as_if_free(move):
    """The move of a chain that never heard of forbidden edges."""

    def twin(dag, swap):
        dag.status = np.ones_like(dag.status)
        return move(dag, swap)

    return twin


def kinds_by_graph(dag, arrays):
    """Exchanges are the likelier the more edges there are."""
    weights = arrays.weights * np.where(np.array(mixture.KINDS) == "exchange", dag.edge_count, 1.0)
    return mixture.choose(dag.rng, weights, mixture.COUNT)


def never(*arguments):
    return False


def always(*arguments):
    return True


def another(move, twin):
    """Put a twin in the place of a whole move."""
    return mock.patch.dict(MOVES, {move: twin})


BROKEN = {
    "exchange": {
        "edge counts": mock.patch.object(exchange, "family_score", edge_counts_in_the_ratio),
        "one parent not given up": mock.patch.object(exchange, "trade_parents", one_parent_not_given_up),
        "parents stay": mock.patch.object(exchange, "trade_parents", edge_turned_without_its_parents),
        "cycles unnoticed": mock.patch.object(exchange, "has_detour", never),
        "children forgotten": mock.patch.object(exchange, "turned_round", return_value=0.0),
        "prior unasked": mock.patch.object(exchange, "may_trade", always),
        "forbidden edges": another("exchange", as_if_free(MOVES["exchange"])),
        "possible exchanges": another("exchange", choosing_edges(possible_exchanges, exchange.exchange_move)),
    },
    "swap_parent": {
        "a parent twice": mock.patch.object(swap_parent, "present", never),
        "cycles unnoticed": mock.patch.object(swap_parent, "is_ancestor", never),
        "children forgotten": mock.patch.object(swap_parent, "turned_round", return_value=0.0),
        "forbidden edges": another("swap_parent", as_if_free(MOVES["swap_parent"])),
        "parents alike": another("swap_parent", choosing_edges(parents_alike, swap_parent.swap_parent_move)),
    },
    "node_swap": {
        "forbidden edges": another("node_swap", as_if_free(MOVES["node_swap"])),
        "present pairs": another("node_swap", present_pairs),
    },
}


CASES = {"free": (3, PRIORS["free"]), "four nodes": (4, FOUR["free"])} | {
    prior: (3, PRIORS[prior]) for prior in ("required beside", "forbidden beside", "regulators")
}
UNNOTICED_AT_THREE = ("possible exchanges", "parents alike")


def twins():
    """Judge every broken twin, free and constrained."""
    found = {}
    for move, broken in BROKEN.items():
        for name, patch in broken.items():
            pairs = SOME_PAIRS if name == "present pairs" else None
            for case, (n, prior) in CASES.items():
                if (case == "regulators") == (name == "children forgotten") and (n == 3 or name in UNNOTICED_AT_THREE):
                    with patch:
                        found[f"{move}, {name}, {case}"] = figures(n, prior, move, pairs)
    with mock.patch.object(mixture, "next_kind", kinds_by_graph):
        found["kinds by graph"] = mixture_figures("without blocks", "required beside")
    return found


if __name__ == "__main__":
    install(DECISIONS)
    print(json.dumps(twins()))
