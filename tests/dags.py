"""Every DAG of a few nodes, one by one, and weights of their parent sets to try an exact solver on."""

from __future__ import annotations

import itertools

import numpy as np


def is_acyclic(graphs):
    """Whether each adjacency matrix is nilpotent: no walk of length n."""
    walks = graphs.astype(np.int64)
    for _ in range(graphs.shape[-1] - 1):
        walks = (walks @ graphs.astype(np.int64) > 0).astype(np.int64)
    return ~walks.any(axis=(-2, -1))


def all_dags(n):
    """Every DAG: each pair has no edge or one of two directions, and no cycle."""
    pairs = list(itertools.combinations(range(n), 2))
    choices = np.array(list(itertools.product(range(3), repeat=len(pairs))), dtype=np.int8)
    graphs = np.zeros((len(choices), n, n), dtype=bool)
    for column, (i, j) in enumerate(pairs):
        graphs[:, i, j] = choices[:, column] == 1
        graphs[:, j, i] = choices[:, column] == 2
    return graphs[is_acyclic(graphs)]


def distance_by_pairs(one, two, reversal, undirected):
    """Structural Hamming distance by a table of what each change of a pair costs."""
    total = 0
    for i, j in itertools.combinations(range(len(one)), 2):
        a, b = ((bool(graph[i, j]), bool(graph[j, i])) for graph in (one, two))
        if a == b:
            continue
        if {a, b} == {(True, False), (False, True)}:
            total += reversal
        elif undirected:
            total += 1
        else:
            total += abs(sum(a) - sum(b))
    return total


def column_of(parents, j):
    """Column of a parent set: the other nodes in order are the binary digits."""
    return sum(1 << (i - (i > j)) for i in parents)


def log_weights_of(graphs, log_weights):
    n = graphs.shape[-1]
    total = np.zeros(len(graphs))
    for j in range(n):
        others = np.delete(graphs[:, :, j], j, axis=1)
        total += log_weights[j, others @ (1 << np.arange(n - 1))]
    return total


def enumerate_dags(log_weights):
    """All DAGs, their probabilities and the log of the total weight."""
    graphs = all_dags(len(log_weights))
    logs = log_weights_of(graphs, log_weights)
    log_total = np.logaddexp.reduce(logs)
    return graphs, np.exp(logs - log_total), log_total


def edge_probabilities_of(graphs, probabilities):
    return np.tensordot(probabilities, graphs.astype(float), axes=1)


def subsets(nodes):
    ordered = sorted(nodes)
    return [frozenset(c) for size in range(len(ordered) + 1) for c in itertools.combinations(ordered, size)]


# --- weights to try ------------------------------------------------------------------------------------------------


def random_weights(n, seed, spread=2.0):
    return np.random.default_rng(seed).normal(scale=spread, size=(n, 2 ** (n - 1)))


def spanning_weights(n, seed, span=2000.0):
    """Weights of which no common scale fits into a double."""
    return np.random.default_rng(seed).uniform(-span, 0.0, size=(n, 2 ** (n - 1)))


def strong_signal_weights(n, penalty, rows=20_000):
    """Scores of a causal chain 0 → 1 → … from many rows: the n graphs equivalent to it tie, far above most others."""
    chain = np.linalg.inv(np.eye(n) - np.diag(np.ones(n - 1), 1))
    covariance = chain.T @ chain
    log_weights = np.empty((n, 2 ** (n - 1)))
    for j in range(n):
        for parents in subsets(set(range(n)) - {j}):
            before, after = (np.linalg.slogdet(covariance[np.ix_(s, s)])[1] for s in (sorted(parents), [*parents, j]))
            log_weights[j, column_of(parents, j)] = rows / 2 * (before - after) - penalty * len(parents)
    return log_weights


def constrain(log_weights, forbidden=(), required=(), max_parents=None):
    constrained = log_weights.copy()
    n = len(log_weights)
    for j in range(n):
        for parents in subsets(set(range(n)) - {j}):
            refused = any(i in parents for i, child in forbidden if child == j)
            refused |= any(i not in parents for i, child in required if child == j)
            refused |= max_parents is not None and len(parents) > max_parents
            if refused:
                constrained[j, column_of(parents, j)] = -np.inf
    return constrained


def rounding(log_weights):
    """Worst relative error: each of at most 3ⁿ bounded terms carries the rounding of the logs it is made from."""
    n = len(log_weights)
    finite = log_weights[np.isfinite(log_weights)]
    largest_log = 1.0 + n * (finite.max() - finite.min()) + abs(finite).max()
    return np.finfo(float).eps * 3**n * largest_log
