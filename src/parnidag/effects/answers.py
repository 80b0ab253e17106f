"""What a posterior is asked: the door from `Posterior` to this room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parnidag._util.checks import whole
from parnidag.effects.draws import LinearDraws, drawn_graphs, linear_draws
from parnidag.effects.source import Source, source_of
from parnidag.effects.totals import Effects
from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior


def effects(posterior: Posterior, data: Any, standardised: bool, seed: int | None) -> Effects:
    source, linear = _linear(posterior, data, seed, "total effects as numbers")
    return Effects(linear, source, is_exact(posterior), standardised)


def is_exact(posterior: Posterior) -> bool:
    """Are the draws independent?"""
    return posterior.record.exact_probabilities is not None


def _seed(posterior: Posterior, seed: int | None) -> int:
    """Return the seed of parameters: by default that of the run, so that the same result gives the same effects."""
    known = posterior.record.settings.get("seed")
    return whole(known or 0 if seed is None else seed, "seed", note="or None")


def _linear(posterior: Posterior, data: Any, seed: int | None, what: str) -> tuple[Source, LinearDraws]:
    record = posterior.record
    source = source_of(record, posterior.data, data)
    if source.kind != "linear":
        instead = {
            "curved": "relations are curved here, and an effect depends on the dose",
            "tables": "columns are classes here",
        }
        raise ParnidagError(f"{what} are for linear relations; {instead[source.kind]}", remedy="use intervene()")
    return source, linear_draws(source, drawn_graphs(record), _seed(posterior, seed))
