"""The samplers that the studies compare, under the names they have in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.timed import Space
from parnidag.samplers import ADR, PARNI, OrderMCMC, PartitionMCMC
from parnidag.samplers.base import Sampler


@dataclass(frozen=True)
class Method:
    """A sampler, and what it is given."""

    label: str
    sampler: Sampler
    search: bool = False
    """Whether the chain starts at a graph that was searched for; else at the graph without edges."""
    space: Space | None = None
    """Where it looks for parents, whatever the study says; None leaves it to the study."""
    peer: str | None = None
    """Its name in the paper's tables."""

    def describe(self) -> dict[str, Any]:
        """Return everything that decides a run, in a form that JSON can hold."""
        return {"sampler": self.sampler.describe(), "search": self.search, "space": self.space}


METHODS: dict[str, Method] = {
    "adr": Method("ADR", ADR(), space="none", peer="ADR"),
    "parni-printed": Method(
        "PARNI-DAG as printed",
        PARNI(moves="paper", kernel="printed", eta="paper", adapt="always"),
        peer="PARNI-DAG",
    ),
    "parni-gibbs": Method("PARNI, block Gibbs", PARNI(moves="paper")),
    "parni": Method("parnidag, default", PARNI(), search=True, space="own"),
    "order": Method("Order MCMC", OrderMCMC(), peer="Order MCMC"),
    "partition": Method("Partition MCMC", PartitionMCMC(), peer="Partition MCMC"),
}
"""By the name that `--methods` takes."""

REFERENCES: dict[str, Method] = {
    "reference": Method("reference", PARNI(), search=True),
    "other": Method("other reference", ADR(exchange=0.1)),
}
"""Long chains that others are judged by."""
