"""The moves: steps on a DAG that each leave the posterior invariant, one to a file, with their ratio written out.

A sampler is a mixture of them. They share one state, the `Dag`, and its cache of scores, and know nothing of settings,
draws or chains. PARNI's own blocks stay with PARNI, since they come with its tuning.
"""

from __future__ import annotations

from parnidag.moves import exchange, node_swap, regroup, reversal, single_edge, swap_parent
from parnidag.moves.move import Move

MOVES: tuple[Move, ...] = (
    single_edge.MOVE,
    exchange.MOVE,
    swap_parent.MOVE,
    node_swap.MOVE,
    reversal.MOVE,
    regroup.MOVE,
)
"""All that can be mixed with PARNI's own blocks. A new one goes to the end: the order decides what a seed gives."""
