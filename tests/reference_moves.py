"""The moves by their definition, on plain adjacency matrices: what each proposes, and the law of its next graph."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import reference


def exchanged(graph, a, b):
    """The graph with a → b turned round, and the other parents of a and b exchanged."""
    after = graph.copy()
    after[:, a], after[:, b] = graph[:, b], graph[:, a]
    after[a, a], after[b, a] = False, True
    return after


def with_another_parent(graph, i, j, other):
    """The graph with other → j in the place of i → j."""
    after = graph.copy()
    after[i, j], after[other, j] = False, True
    return after


def relabelled(graph, a, b):
    """The graph with the names of a and b exchanged."""
    names = np.arange(len(graph))
    names[[a, b]] = b, a
    return graph[np.ix_(names, names)]


def free_edges(target, graph):
    return np.argwhere(graph & ~target.required).tolist()


def exchange_proposals(target, graph, pairs=None):
    """Every proposal with its probability; None means staying."""
    edges = free_edges(target, graph)
    return [(1.0 / len(edges), exchanged(graph, a, b)) for a, b in edges]


def swap_parent_proposals(target, graph, pairs=None):
    edges, n = free_edges(target, graph), len(graph)
    return [
        (1.0 / (len(edges) * n), None if other == j or graph[other, j] else with_another_parent(graph, i, j, other))
        for (i, j), other in itertools.product(edges, range(n))
    ]


def node_swap_proposals(target, graph, pairs):
    return [(1.0 / len(pairs), relabelled(graph, a, b)) for a, b in pairs]


PROPOSALS = {
    "exchange": exchange_proposals,
    "swap_parent": swap_parent_proposals,
    "node_swap": node_swap_proposals,
}


def allowed(target, graph):
    status = target.problem.status
    return bool(
        reference.is_acyclic(graph)
        and not (graph & (status == 0)).any()
        and graph[target.required].all()
        and graph.sum(axis=0).max() <= target.max_parents
    )


class Definition:
    """The Metropolis–Hastings steps with symmetric proposals that the moves claim to be."""

    def __init__(self, target, values, g):
        self.target = target
        log_odds = target.problem.log_odds

        @functools.cache
        def local(node, parents):
            chosen = list(parents)
            return reference.gaussian_local_score(values, node, chosen, g) + log_odds[chosen, node].sum()

        self.local = local

    def log_posterior(self, graph):
        local = sum(self.local(j, tuple(np.flatnonzero(graph[:, j]).tolist())) for j in range(len(graph)))
        return local + reference.log_weight_of_children(self.target, graph)

    def law(self, move, graph, pairs=None):
        """Probability of each next graph, by its bytes."""
        here, found = self.log_posterior(graph), {}
        for chance, proposal in PROPOSALS[move](self.target, graph, pairs):
            if proposal is None or not allowed(self.target, proposal):
                continue
            accepted = chance * math.exp(min(0.0, self.log_posterior(proposal) - here))
            found[proposal.tobytes()] = found.get(proposal.tobytes(), 0.0) + accepted
        found[graph.tobytes()] = found.get(graph.tobytes(), 0.0) + 1.0 - sum(found.values())
        return found


def distance(law, other):
    """Largest difference of two laws, graph by graph."""
    return max(abs(law.get(key, 0.0) - other.get(key, 0.0)) for key in law.keys() | other.keys())
