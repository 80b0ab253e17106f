"""What a posterior is asked: the door from `Posterior` to this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parnidag._util.checks import number, whole
from parnidag.effects.asked import Asked, Probability, probability_of
from parnidag.effects.direct import coefficient_table
from parnidag.effects.draws import LinearDraws, drawn_graphs, linear_draws
from parnidag.effects.nodes import arrays_of, far_away, numbers_set
from parnidag.effects.outcomes import Contrast, Outcomes, contrast_of
from parnidag.effects.source import Source, source_of
from parnidag.effects.totals import Effects
from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior


def effects(posterior: Posterior, data: Any, standardised: bool, seed: int | None) -> Effects:
    source, linear = _linear(posterior, data, seed, "total effects as numbers")
    return Effects(linear, source, is_exact(posterior), standardised)


def coefficients(
    posterior: Posterior, data: Any, standardised: bool, seed: int | None, min_probability: float
) -> pd.DataFrame:
    number(min_probability, "min_probability", least=0, most=1)
    linear = _linear(posterior, data, seed, "coefficients")[1]
    probabilities = posterior.edge_probabilities.to_numpy()
    return coefficient_table(linear, probabilities, min_probability, standardised)


def intervene(posterior: Posterior, do: Any, data: Any, seed: int | None) -> Outcomes:
    source = source_of(posterior.record, posterior.data, data)
    checked = numbers_set(source.names, do, "do")
    return _simulator(posterior, source, seed)(checked)


def contrast(posterior: Posterior, do: Any, versus: Any, data: Any, seed: int | None) -> Contrast:
    source = source_of(posterior.record, posterior.data, data)
    one, other = numbers_set(source.names, do, "do", True), numbers_set(source.names, versus, "versus", True)
    run = _simulator(posterior, source, seed)
    return contrast_of(run(one), run(other))


def _simulator(posterior: Posterior, source: Source, seed: int | None) -> Callable[[Mapping[str, float]], Outcomes]:
    """Return what answers an intervention, always with the same draws of graphs and parameters."""
    linear = _linear_of(posterior, source, seed, "interventions")

    def run(do: Mapping[str, float]) -> Outcomes:
        found = linear.set_nodes(*arrays_of(source.names, do))
        expected, single, given_graph = (values.reshape(*linear.shape, -1) for values in found)
        notes = far_away(source.data, do)
        return Outcomes(source.names, do, expected, single, given_graph, is_exact(posterior), notes)

    return run


def probability(posterior: Posterior, question: Asked, given: Asked | None) -> Probability:
    return probability_of(posterior.record, question, given, is_exact(posterior))


def is_exact(posterior: Posterior) -> bool:
    """Are the draws independent?"""
    return posterior.record.exact_probabilities is not None


def _seed(posterior: Posterior, seed: int | None) -> int:
    """Return the seed of parameters: by default that of the run, so that the same result gives the same effects."""
    known = posterior.record.settings.get("seed")
    return whole(known or 0 if seed is None else seed, "seed", note="or None")


def _linear(posterior: Posterior, data: Any, seed: int | None, what: str) -> tuple[Source, LinearDraws]:
    source = source_of(posterior.record, posterior.data, data)
    return source, _linear_of(posterior, source, seed, what)


def _linear_of(posterior: Posterior, source: Source, seed: int | None, what: str) -> LinearDraws:
    if source.kind != "linear":
        reason = {"curved": "relations are curved here", "tables": "columns are classes here"}[source.kind]
        raise ParnidagError(f"{what} are for linear relations, but {reason}")
    return linear_draws(source, drawn_graphs(posterior.record), _seed(posterior, seed))
