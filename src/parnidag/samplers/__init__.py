"""Samplers of graphs: settings you pass to `parnidag.sample(..., sampler=...)`.

Examples
--------
>>> from parnidag import samplers
>>> samplers.ADR(exchange=0.1), samplers.PartitionMCMC(graph_every=50).graph_every
(ADR(exchange=0.1), 50)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parnidag.samplers.by_name import load

if TYPE_CHECKING:
    from parnidag.samplers.order import IterativeMCMC, OrderMCMC
    from parnidag.samplers.parni.settings import PARNI
    from parnidag.samplers.partition import PartitionMCMC
    from parnidag.samplers.redraw import Redraw
    from parnidag.samplers.rev import REV
    from parnidag.samplers.single_edge import ADR, MC3
    from parnidag.samplers.tempered import Tempered

__all__ = ["ADR", "MC3", "PARNI", "REV", "IterativeMCMC", "OrderMCMC", "PartitionMCMC", "Redraw", "Tempered"]


def __getattr__(name: str) -> object:
    return load(name)
