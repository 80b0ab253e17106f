"""Slow and obvious twins of the search-space layer: parent sets one by one, orders and graphs by enumeration.

A node's sets are a dictionary {frozenset of parents: score}, small enough to write out.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from dags import subsets

# --- the sets of a space --------------------------------------------------------------------------------------------


def space_sets(target, considered, plus_one, node):
    """Every parent set that a space allows a node: required parents, some candidates, at most one other free parent."""
    status = target.problem.status[:, node]
    free, required = set(np.flatnonzero(status == 1)), frozenset(np.flatnonzero(status == 2))
    candidates = free & set(np.flatnonzero(considered[:, node]))
    others = [frozenset()] + [frozenset([extra]) for extra in sorted(free - candidates) if plus_one]
    sets = {required | chosen | extra for chosen in subsets(candidates) for extra in others}
    return {frozenset(int(i) for i in parents) for parents in sets if len(parents) <= target.max_parents}


def scored_sets(target, considered, plus_one):
    """Return {parents: local log target} for each node, scored one by one."""
    return [
        {parents: target.local(node, parents) for parents in space_sets(target, considered, plus_one, node)}
        for node in range(target.n_nodes)
    ]


def stored_sets(arrays, node):
    """Read the table of one node: {parents: score} of every entry, those that are too large at −inf included."""
    candidates = arrays.candidates[node, : arrays.candidate_count[node]].tolist()
    extras = arrays.extras[node, : arrays.extra_count[node]].tolist()
    required = arrays.required[node, : arrays.required_count[node]].tolist()
    table = arrays.scores[arrays.first_entry[node] : arrays.first_entry[node + 1]].reshape(-1, 1 + len(extras))
    assert len(table) == 2 ** len(candidates)
    found = {}
    for row, scores in enumerate(table):
        chosen = [c for bit, c in enumerate(candidates) if row >> bit & 1]
        for extra, score in zip([[], *([e] for e in extras)], scores, strict=True):
            found[frozenset([*required, *chosen, *extra])] = float(score)
    assert len(found) == table.size
    return found


def permitted(sets, level, bound, hitting=False):
    """Those whose parents all lie below the bound and, if asked, one of them just below it."""
    return {
        parents: score
        for parents, score in sets.items()
        if all(level[i] < bound for i in parents) and (not hitting or any(level[i] == bound - 1 for i in parents))
    }


def log_total(scores):
    """Log of the sum of exp(score), correctly rounded but for the last step; −inf for nothing."""
    finite = [score for score in scores if score > -math.inf]
    if not finite:
        return -math.inf
    top = max(finite)
    return top + math.log(math.fsum(math.exp(score - top) for score in finite))


# --- orders ---------------------------------------------------------------------------------------------------------


def level_of(order):
    """The place of each node."""
    level = np.empty(len(order), np.int64)
    level[list(order)] = np.arange(len(order))
    return level


def order_law(sets):
    """Return {order: probability} in proportion to R(≺); orders without a graph are left out."""
    logs = {}
    for order in itertools.permutations(range(len(sets))):
        level = level_of(order)
        value = sum(log_total(permitted(sets[j], level, level[j]).values()) for j in order)
        if value > -math.inf:
            logs[order] = value
    whole = log_total(logs.values())
    return {order: math.exp(value - whole) for order, value in logs.items()}


def linear_extensions(graph):
    """How many orders put every parent before its children."""
    edges = np.argwhere(graph)
    orders = (level_of(order) for order in itertools.permutations(range(len(graph))))
    return sum(all(level[i] < level[j] for i, j in edges) for level in orders)


def linear_extensions_of_all(graphs):
    """The same for an array of graphs at once."""
    counts = np.zeros(len(graphs), np.int64)
    for order in itertools.permutations(range(graphs.shape[-1])):
        level = level_of(order)
        backwards = level[:, None] > level[None, :]
        counts += ~(graphs & backwards).any(axis=(1, 2))
    return counts


def graph_law(sets, graphs, weigh_orders):
    """Probability of each graph over those of the space, in proportion to its weight, times its orders if asked."""
    logs = np.full(len(graphs), -math.inf)
    for k, graph in enumerate(graphs):
        families = [frozenset(np.flatnonzero(graph[:, j]).tolist()) for j in range(len(graph))]
        if all(family in sets[j] for j, family in enumerate(families)):
            logs[k] = sum(sets[j][family] for j, family in enumerate(families))
    if weigh_orders:
        logs += np.log(linear_extensions_of_all(np.asarray(graphs)))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def layers(graph):
    """Peel a DAG: the nodes without parents, then those without parents among the rest, and so on."""
    left, found = set(range(len(graph))), []
    while left:
        layer = {j for j in left if not any(graph[i, j] for i in left)}
        assert layer, "there is a cycle"
        found.append(sorted(layer))
        left -= layer
    return found


# --- the best graph -------------------------------------------------------------------------------------------------


def best_score(sets):
    """Largest log posterior over all DAGs of a space: the best last node of every set of nodes, one after the other."""
    n = len(sets)
    best = {frozenset(): 0.0}
    for nodes in subsets(range(n))[1:]:
        best[nodes] = -math.inf
        for last in nodes:
            before = nodes - {last}
            top = max((score for parents, score in sets[last].items() if parents <= before), default=-math.inf)
            best[nodes] = max(best[nodes], best[before] + top)
    return best[frozenset(range(n))]
