"""Which sampler: by the word that the command line knows it by. Nothing heavy is imported before one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parnidag._util.lazy import loader

if TYPE_CHECKING:
    from parnidag.samplers.base import Sampler

NAMES = {
    "parni": "parni.settings.PARNI",
    "adr": "single_edge.ADR",
    "mc3": "single_edge.MC3",
    "rev": "rev.REV",
    "order": "order.OrderMCMC",
    "partition": "partition.PartitionMCMC",
    "iterative": "order.IterativeMCMC",
    "tempered": "tempered.Tempered",
    "redraw": "redraw.Redraw",
}
"""Word, and home of the class."""

load = loader("parnidag.samplers", NAMES.values())


def named_sampler(word: str, **settings: Any) -> Sampler:
    kind: Any = load(NAMES[word].rpartition(".")[2])
    sampler: Sampler = kind(**settings)
    return sampler
