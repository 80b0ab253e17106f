"""Swap parent: put another node in the place of one parent.

1. Choose one of the d(G) edges that moves may touch, i → j, uniformly, and a node l uniformly among all n.
2. If l is j or a parent of j already, stay. Otherwise propose l → j in the place of i → j.
3. Accept G′ with probability min{1, π(G′)/π(G)}, a ratio of two local scores.

Why this is exact: d(G′) = d(G), and the way back chooses l → j and the node i with the same probability 1/(d n).

Where it leads: from one of two correlated parents to the other, without passing through both or neither.
"""

from __future__ import annotations

import math

from parnidag._jit import kernel
from parnidag._random import below, happens
from parnidag._types import int64
from parnidag.memo import family_score, write_family
from parnidag.net import Net, add_edge, child_of, is_ancestor, parent_of, present, remove_edge
from parnidag.prior import FREE


@kernel
def swap_parent_move(net: Net) -> bool:
    """Replace one parent of one node; True when the graph changed."""
    if net.edge_count == 0:
        return False
    code = int64(net.edges[below(net.rng, net.edge_count)])
    i, j = parent_of(code), child_of(code)
    other = below(net.rng, net.n)
    if other == j or present(net, other, j) or net.status[other, j] != FREE:
        return False
    write_family(net, j, i, other)
    score = family_score(net, j, net.degree[j])
    if not happens(net.rng, math.exp(min(0.0, score - net.local[j]))) or is_ancestor(net, j, other):
        return False
    remove_edge(net, i, j, score)
    add_edge(net, other, j, score)
    return True
