"""Exact transition matrices of the moves and of their mixtures, as `transitions.py` has them for other kernels.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_moves.py three``; prints figures of all cases as JSON, which
`test_moves.py` judges. Their broken twins are in `transitions_twins.py`.

A single move is compared with its definition too, entry by entry. A mixture is enumerated through `advance`, so that
what chooses the moves, and the loop around them, belong to what is proven.
"""

import functools
import json
import sys

import numpy as np
import reference
import transitions
from reference_moves import Definition, distance, exchanged, free_edges
from transitions import DECISIONS, EXPLORER, G, deviations, install, judge, key_of, starting_at

from parnidag import samplers
from parnidag.data import Data
from parnidag.kernels.declare import named
from parnidag.moves import exchange, node_swap, regroup, swap_parent
from parnidag.priors.edge_prior import EdgePrior
from parnidag.samplers.base import Prepared, new_chain
from parnidag.samplers.parni import adaptation as tuning
from parnidag.samplers.parni import mixture
from parnidag.scores import Gaussian
from parnidag.tables.build import build_tables
from parnidag.target import Target

PRIORS = {
    **transitions.ALL_PRIORS,
    # across 1 → 2 the required parent must stay where it is, unless both nodes have it
    "required beside": EdgePrior(h="paper", required=[(0, 2)]),
    # across 0 → 2 the parent 1 cannot be handed on
    "forbidden beside": EdgePrior(h=0.4, forbidden=[(1, 0)]),
}
FOUR = {
    "free": EdgePrior(h="paper"),
    "constrained": EdgePrior(h=0.4, required=[(0, 1)], forbidden=[(3, 0), (2, 3)]),
    "two parents": EdgePrior(h=0.4, required=[(2, 1)], max_parents=2, log_odds={(1, 3): -1.0}),
    "forbidden": EdgePrior(h=0.5, forbidden=[(0, 1), (3, 2)]),
}


def build(n, prior):
    values = reference.small_values(n)
    return values, Target.build(Data(values), Gaussian(g=G), prior)


# ---------------------------------------------------------------------------------------------------------------------
# Single moves


def opened_swap(target, pairs=None):
    """The node swap as kernels take it; by default all pairs are equally likely."""
    n = target.n_nodes
    likely = np.ones((n, n))
    if pairs is not None:
        likely[:] = 0.0
        likely[tuple(np.transpose(pairs))] = 1.0
    return node_swap.open_node_swap(node_swap.make_node_swap(target, likely))


def pairs_of(swap):
    return [(int(code) >> 16, int(code) & 0xFFFF) for code in swap.pairs]


MOVES = {
    "exchange": lambda dag, swap: exchange.exchange_move(dag),
    "swap_parent": lambda dag, swap: swap_parent.swap_parent_move(dag),
    "node_swap": node_swap.node_swap_move,
}
MISREPORTED = dict.fromkeys(MOVES, 0)
"""How often a move said that the graph changed when it had not, or the reverse."""


def outcomes_of(move):
    """Yield every outcome of one move."""

    def outcomes(fresh, own):
        def once():
            dag = fresh()
            before = key_of(dag)
            changed = MOVES[move](dag, own)
            MISREPORTED[move] += changed != (key_of(dag) != before)
            return key_of(dag)

        return EXPLORER.outcomes(once)

    return outcomes


def law_of(target, graph, move, own):
    """Probability of each next graph, by the production kernel."""
    found = {}
    for weight, key in outcomes_of(move)(starting_at(target, graph), own):
        found[key] = found.get(key, 0.0) + weight
    return found


def figures(n, prior, move, pairs=None):
    """Judge a move over all graphs of n nodes, and measure how far it is from its definition."""
    MISREPORTED[move] = 0
    values, target = build(n, prior)
    swap = opened_swap(target, pairs)
    definition = Definition(target, values, G)
    graphs, posterior, _ = reference.enumerate_posterior(target, values, G)
    laws = [law_of(target, graph, move, swap) for graph in graphs]
    keys = [graph.tobytes() for graph in graphs]
    matrix = np.array([[law.get(key, 0.0) for key in keys] for law in laws])
    by_definition = [definition.law(move, graph, pairs_of(swap)) for graph in graphs]
    wrong = max(distance(*both) for both in zip(laws, by_definition, strict=True))
    return {
        **deviations(matrix, posterior),
        "pairs": len(pairs_of(swap)),
        "definition": wrong,
        "misreported": MISREPORTED[move],
    }


def all_figures(n, priors):
    found = {f"{move}, {prior}": figures(n, priors[prior], move) for move in MOVES for prior in priors}
    found["node_swap, some pairs"] = figures(n, priors["free"], "node_swap", SOME_PAIRS)
    return found


SOME_PAIRS = [(0, 1), (1, 2)]
"""A list that exchanging two names does not map to itself."""


# ---------------------------------------------------------------------------------------------------------------------
# Mixtures

MIXTURES = {
    "mixed": samplers.PARNI(target_evaluations=1, moves=mixture.PRESETS["mixed"]),
    "parni and exchange": samplers.PARNI(target_evaluations=1, moves={"parni": 0.5, "exchange": 0.5}),
    "printed and all": samplers.PARNI(kernel="printed", target_evaluations=1, moves=dict.fromkeys(mixture.KINDS, 1)),
    "without blocks": samplers.PARNI(
        target_evaluations=1, moves={"adr": 0.5, "exchange": 0.2, "swap_parent": 0.2, "node_swap": 0.1}
    ),
    "in bursts": samplers.PARNI(target_evaluations=2, moves=dict.fromkeys(mixture.KINDS, 1)),
    "ADR": samplers.ADR(exchange=0.3),
    "MC3": samplers.MC3(exchange=0.3),
}
"""A move that tries one change is made `target_evaluations` times in an iteration: few, or there is no end to it."""
OMEGA = 0.6


def prepared_for(sampler, target):
    """What the sampler would prepare, with arbitrary η."""
    if not isinstance(sampler, samplers.PARNI):
        return Prepared()
    n = target.n_nodes
    draws = mixture.TABLED & mixture.move_weights(sampler.moves).keys()
    tables = build_tables(target, ~np.eye(n, dtype=bool)) if draws else None
    return Prepared(None, tables, np.random.default_rng(3).uniform(0.05, 0.95, (n, n)))


CHANCES = {}


def known_chances(target, fresh, arrays):
    """How likely each list of blocks is; the same in every mixture, and dear, so computed once."""
    key = id(target), key_of(fresh())
    if key not in CHANCES:
        run = tuning.open_parni(arrays)
        tuning.refresh_eta(fresh(), run, 0)
        CHANCES[key] = transitions.chances_of_blocks(fresh, run)
    return CHANCES[key]


def advance_steps(fresh, own):
    """Yield every outcome of one iteration of a sampler, frozen."""
    sampler, target, prepared = own
    chain = new_chain(target, fresh().position != -1, 0, 0)
    sampler.begin(target, prepared, chain, 0)
    if isinstance(sampler, samplers.PARNI) and "parni" in mixture.move_weights(sampler.moves):
        named(chain.own.parni).omega = OMEGA
        transitions.draw_from(known_chances(target, fresh, chain.own.parni))
    start = chain.graph

    def once():
        chain.graph = type(start)(*(array.copy() for array in start))
        assert sampler.advance(target, chain, 1) == 1
        return (chain.graph.position != -1).tobytes()

    return EXPLORER.outcomes(once)


@functools.cache
def three(prior):
    return build(3, PRIORS[prior])


def mixture_figures(name, prior):
    values, target = three(prior)
    own = MIXTURES[name], target, prepared_for(MIXTURES[name], target)
    return judge(target, values, advance_steps, own)


def mixtures():
    """All priors; with PARNI's blocks, where there is much to enumerate, not the freer ones."""
    blocks = ("mixed", "parni and exchange", "printed and all", "in bursts")
    skipped = {(name, prior) for name in blocks for prior in ("free", "one parent", "regulators")}
    cases = [(name, prior) for name in MIXTURES for prior in PRIORS if (name, prior) not in skipped]
    return {f"{name}, {prior}": mixture_figures(name, prior) for name, prior in cases}


# ---------------------------------------------------------------------------------------------------------------------
# Random graphs of six to eight nodes


def random_case(rng):
    """A target with random constraints, and a random graph that it allows."""
    n = int(rng.integers(6, 9))
    order = rng.permutation(n)
    graph = np.zeros((n, n), bool)
    graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < rng.choice([0.15, 0.3, 0.5]), 1)
    # few required edges, as pairs that touch one are not swapped
    required = graph & (rng.random((n, n)) < rng.choice([0.0, 0.1]))
    forbidden = ~graph & (rng.random((n, n)) < rng.choice([0.0, 0.1])) & ~np.eye(n, dtype=bool)
    limit = int(max(1, graph.sum(axis=0).max())) + int(rng.integers(0, 2))
    prior = EdgePrior(h=0.4, required=required, forbidden=forbidden, max_parents=min(limit, n - 1))
    return *build(n, prior), graph


def compare_with_definitions(cases=60):
    """Compare the law of the next graph, move by move; count how often each proposal was possible."""
    rng = np.random.default_rng(11)
    found = {move: {"wrong": 0.0, "possible": 0, "impossible": 0} for move in MOVES}
    for _ in range(cases):
        values, target, graph = random_case(rng)
        definition = Definition(target, values, G)
        likely = np.where(target.problem.status == 1, rng.random(graph.shape), 0.0)
        swap = node_swap.open_node_swap(node_swap.make_node_swap(target, likely))
        for move in MOVES:
            by_definition = definition.law(move, graph, pairs_of(swap))
            wrong = distance(law_of(target, graph, move, swap), by_definition)
            found[move]["wrong"] = max(found[move]["wrong"], wrong)
            found[move]["possible"] += len(by_definition) - 1
            found[move]["impossible"] += len(by_definition) == 1
    return found


def compare_cycles(cases=500):
    """Does a detour from a to b, and nothing else, close a cycle when the parents across a → b are exchanged?"""
    rng = np.random.default_rng(12)
    found = {"cycles": 0, "none": 0, "wrong": 0}
    targets = {n: build(n, EdgePrior(h="paper"))[1] for n in range(3, 9)}
    for _ in range(cases):
        n = int(rng.integers(3, 9))
        order = rng.permutation(n)
        graph = np.zeros((n, n), bool)
        graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.9), 1)
        dag = starting_at(targets[n], graph)()
        for a, b in free_edges(targets[n], graph):
            closes = not reference.is_acyclic(exchanged(graph, a, b))
            found["cycles" if closes else "none"] += 1
            found["wrong"] += bool(exchange.has_detour(dag, np.int64(a), np.int64(b))) != closes
    return found


def main(what):
    install(DECISIONS)
    regroup.TRIES = 2  # groups of up to three nodes are all there are at n = 3
    tasks = {
        "three": lambda: all_figures(3, PRIORS),
        "four": lambda: all_figures(4, FOUR),
        "mixtures": mixtures,
        "all moves": lambda: mixture_figures("mixed", "free"),
        "definitions": compare_with_definitions,
        "cycles": compare_cycles,
    }
    print(json.dumps(tasks[what]()))


if __name__ == "__main__":
    main(*sys.argv[1:])
