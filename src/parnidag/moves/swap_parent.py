"""Swap parent: put another node in the place of one parent.

1. Choose one of the d(G) edges that moves may touch, i → j, uniformly, and a node l uniformly among all n.
2. If l is j or a parent of j already, stay. Otherwise propose l → j in the place of i → j.
3. Accept G′ with probability min{1, π(G′)/π(G)}, a ratio of two local scores.

Why this is exact: d(G′) = d(G), and the way back chooses l → j and the node i with the same probability 1/(d n).

Where it leads: from one of two correlated parents to the other, without passing through both or neither.
"""

from __future__ import annotations

import math

from parnidag.kernels.dag import Dag, add_edge, child_of, is_ancestor, parent_of, present, remove_edge, turned_round
from parnidag.kernels.jit import kernel
from parnidag.kernels.problem import FREE
from parnidag.kernels.random import below, happens
from parnidag.kernels.score_cache import family_score, write_family
from parnidag.kernels.types import int64
from parnidag.moves.move import Move


@kernel
def swap_parent_move(dag: Dag) -> bool:
    if dag.edge_count == 0:
        return False
    code = int64(dag.edges[below(dag.rng, dag.edge_count)])
    i, j = parent_of(code), child_of(code)
    other = below(dag.rng, dag.n)
    if other == j or present(dag, other, j) or dag.status[other, j] != FREE:
        return False
    write_family(dag, j, i, other)
    score = family_score(dag, j, dag.degree[j])
    gain = score - dag.local[j] + turned_round(dag, i, other)
    if not happens(dag.rng, math.exp(min(0.0, gain))) or is_ancestor(dag, j, other):
        return False
    remove_edge(dag, i, j, score)
    add_edge(dag, other, j, score)
    return True


MOVE = Move("swap_parent", "put another node in the place of one parent", swap_parent_move)
