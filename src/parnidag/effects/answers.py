"""What a posterior is asked: the door from `Posterior` to this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parnidag._util.checks import number, whole
from parnidag.effects.asked import Asked, Probability, probability_of
from parnidag.effects.classes import ClassContrast, ClassEffects, ClassOutcomes
from parnidag.effects.curves import MOST_DRAWS as MOST_CURVED
from parnidag.effects.curves import CurveDraws, curve_draws
from parnidag.effects.direct import coefficient_table
from parnidag.effects.direct import mean_coefficients as mean_coefficients_of
from parnidag.effects.dose import DoseResponse
from parnidag.effects.draws import MOST_DRAWS, DrawnGraphs, LinearDraws, drawn_graphs, linear_draws
from parnidag.effects.experiments import rank_about, rank_experiments
from parnidag.effects.impulse import ImpulseResponses
from parnidag.effects.impulse import impulse_responses as follow
from parnidag.effects.nodes import arrays_of, doses_of, far_away, level_array, levels_set, node_number, numbers_set
from parnidag.effects.outcomes import Contrast, Outcomes, contrast_of
from parnidag.effects.source import Source, source_of
from parnidag.effects.tables import TableDraws, table_draws
from parnidag.effects.totals import Effects
from parnidag.errors import ParnidagError
from parnidag.graphs.separation import reaches
from parnidag.kernels.types import Floats
from parnidag.results.dynamics import Slices
from parnidag.scores.by_name import described_score, has_linear_parameters

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior


MOST_EDGES, MOST_SLOTS = 10**8, 10**7
"""Edges of stored graphs beyond which a table of edges does without coefficients, or with those of fewer draws."""
MOST_DOSED = 2000
"""Draws of a dose-response curve, which asks for each of them many times."""
MOST_STEPS = 10_000
"""Of an impulse response."""


def effects(posterior: Posterior, data: Any, standardised: bool, seed: int | None) -> Effects | ClassEffects:
    source = source_of(posterior.record, posterior.data, data)
    if source.kind == "tables":
        if standardised:
            raise ParnidagError("standardised=True is for columns of numbers: effects on classes are probabilities")
        return ClassEffects(_tables_of(posterior, source, seed), is_exact(posterior))
    return Effects(
        _linear_of(posterior, source, seed, "total effects as numbers"), source, is_exact(posterior), standardised
    )


def coefficients(
    posterior: Posterior, data: Any, standardised: bool, seed: int | None, min_probability: float
) -> pd.DataFrame:
    number(min_probability, "min_probability", least=0, most=1)
    linear = _linear_of(posterior, source_of(posterior.record, posterior.data, data), seed, "coefficients")
    probabilities = posterior.edge_probabilities.to_numpy()
    return coefficient_table(linear, probabilities, min_probability, standardised)


def mean_coefficients(posterior: Posterior) -> Floats:
    """Return the mean coefficient of every edge in standard deviations, given that it is there; NaN if unknown."""
    record = posterior.record
    n, edges = len(record.nodes), int(record.graph_offsets[-1])
    score = described_score(record.settings.get("score") or {})
    known = score is not None and has_linear_parameters(score) and bool(record.sums or posterior.data)
    if not known or not record.graph_index.size or edges > MOST_EDGES:
        return np.full((n, n), np.nan)
    most = max(MOST_SLOTS * record.graph_index.size // max(edges, 1), 1)
    return mean_coefficients_of(source_of(record, posterior.data, None), drawn_graphs(record, min(most, MOST_DRAWS)))


def intervene(posterior: Posterior, do: Any, data: Any, seed: int | None) -> Outcomes | ClassOutcomes:
    source = source_of(posterior.record, posterior.data, data)
    if source.kind == "tables":
        tables = _tables_of(posterior, source, seed)
        return _class_outcomes(posterior, tables, levels_set(tables.names, tables.labels, do, "do"))
    checked = numbers_set(source.names, do, "do")
    return _simulator(posterior, source, seed)(checked)


def contrast(posterior: Posterior, do: Any, versus: Any, data: Any, seed: int | None) -> Contrast | ClassContrast:
    source = source_of(posterior.record, posterior.data, data)
    if source.kind == "tables":
        return _class_contrast(posterior, _tables_of(posterior, source, seed), do, versus)
    one, other = numbers_set(source.names, do, "do", True), numbers_set(source.names, versus, "versus", True)
    run = _simulator(posterior, source, seed)
    return contrast_of(run(one), run(other))


def _class_contrast(posterior: Posterior, tables: TableDraws, do: Any, versus: Any) -> ClassContrast:
    settings = [
        levels_set(tables.names, tables.labels, given, argument, True)
        for given, argument in ((do, "do"), (versus, "versus"))
    ]
    one, other = (_class_outcomes(posterior, tables, setting) for setting in settings)
    changed = tables.changed(*(level_array(tables.names, tables.labels, setting) for setting in settings))
    return ClassContrast(one, other, changed[tables.graphs.index])


def _class_outcomes(posterior: Posterior, tables: TableDraws, do: Mapping[str, str]) -> ClassOutcomes:
    fixed = level_array(tables.names, tables.labels, do)
    drawn = tables.set_nodes(fixed).reshape(*tables.shape, -1)
    given_graph = tables.mean_given_graphs(fixed)[tables.graphs.index]
    notes = tuple(
        f"{name} = {level} never occurs in the data: its effect there is that of the prior"
        for name, level in do.items()
        if tables.rows_of(name, level) == 0
    )
    return ClassOutcomes(tables.names, tables.labels, do, drawn, given_graph, is_exact(posterior), tables.method, notes)


def _tables_of(posterior: Posterior, source: Source, seed: int | None) -> TableDraws:
    return table_draws(source, drawn_graphs(posterior.record), _seed(posterior, seed))


def impulse_responses(
    posterior: Posterior, cause: str, steps: int, standardised: bool, data: Any, seed: int | None
) -> ImpulseResponses:
    slices = Slices.of(posterior.record.settings, "impulse_responses")
    whole(steps, "steps", 0, MOST_STEPS)
    linear = _linear_of(posterior, source_of(posterior.record, posterior.data, data), seed, "impulse responses")
    return follow(linear, slices, cause, steps, standardised)


def _simulator(posterior: Posterior, source: Source, seed: int | None) -> Callable[[Mapping[str, float]], Outcomes]:
    """Return what answers an intervention, always with the same draws of graphs and parameters."""
    drawn = _numbers_of(posterior, source, seed)

    def run(do: Mapping[str, float]) -> Outcomes:
        found = drawn.set_nodes(*arrays_of(source.names, do))
        expected, single, given_graph = (values.reshape(*drawn.shape, -1) for values in found)
        notes = far_away(source.data, do)
        return Outcomes(source.names, do, expected, single, given_graph, is_exact(posterior), notes)

    return run


def _numbers_of(
    posterior: Posterior, source: Source, seed: int | None, most: int = MOST_DRAWS
) -> LinearDraws | CurveDraws:
    """Draw the parameters of relations between numbers, straight or curved."""
    if source.kind == "curved":
        graphs = drawn_graphs(posterior.record, min(most, MOST_CURVED))
        return curve_draws(source, graphs, _seed(posterior, seed))
    return linear_draws(source, drawn_graphs(posterior.record, most), _seed(posterior, seed))


def dose_response(
    posterior: Posterior, cause: str, effect: str, values: Any, data: Any, seed: int | None
) -> DoseResponse:
    source = source_of(posterior.record, posterior.data, data)
    i, j = node_number(source.names, cause, "cause"), node_number(source.names, effect, "effect")
    if i == j:
        raise ParnidagError("effect must be another node than cause", argument="effect")
    if source.kind == "tables":
        raise ParnidagError("dose_response is for columns of numbers; intervene sets a class to each of its levels")
    doses = doses_of(source.data, cause, values)
    drawn = _numbers_of(posterior, source, seed, MOST_DOSED)
    answers = [drawn.set_nodes(*arrays_of(source.names, {cause: float(dose)})) for dose in doses]
    expected, given_graph = (
        np.stack([answer[place][:, j] for answer in answers], axis=-1).reshape(*drawn.shape, len(doses))
        for place in (0, 2)
    )
    level = float((np.ptp(expected, axis=2) == 0.0).mean())
    ends = {note for dose in (doses.min(), doses.max()) for note in far_away(source.data, {cause: float(dose)})}
    return DoseResponse(cause, effect, doses, expected, given_graph, level, is_exact(posterior), tuple(sorted(ends)))


def suggest_experiments(
    posterior: Posterior, about: tuple[str, str] | None, nodes: Sequence[str] | None, data: Any
) -> pd.DataFrame:
    names, graphs = posterior.record.nodes, drawn_graphs(posterior.record)
    if isinstance(nodes, str):
        raise ParnidagError(f"nodes must be a list of names, got {nodes!r}", argument="nodes")
    past = posterior.record.settings.get("parents_only", ())
    listed = [name for name in names if name not in past] if nodes is None else nodes
    candidates = np.array([node_number(names, name, "nodes") for name in listed], int)
    if about is None:
        return rank_experiments(names, graphs, candidates)
    if isinstance(about, str) or len(about) != 2 or about[0] == about[1]:
        raise ParnidagError(f'about must be a cause and an effect, such as ("x", "y"), got {about!r}', argument="about")
    i, j = (node_number(names, name, "about") for name in about)
    return rank_about(names, graphs, candidates, (i, j), _said_of(posterior, graphs, i, j, data))


def _said_of(posterior: Posterior, graphs: DrawnGraphs, cause: int, effect: int, data: Any) -> Floats:
    """Return what each different graph says of an effect: its posterior mean, or else whether there is a path."""
    score = described_score(posterior.record.settings.get("score") or {})
    if score is not None and has_linear_parameters(score):
        source = source_of(posterior.record, posterior.data, data)
        return linear_draws(source, graphs, 0).mean_effects_of(cause)[:, effect]
    laid, n = graphs.laid, len(posterior.record.nodes)
    offsets = np.append(laid.first[:, 0], laid.first[-1, -1])
    return reaches(n, offsets, (laid.parents * n + graphs.children).astype(np.int32), cause, effect).astype(float)


def probability(posterior: Posterior, question: Asked, given: Asked | None) -> Probability:
    return probability_of(posterior.record, question, given, is_exact(posterior))


def is_exact(posterior: Posterior) -> bool:
    """Are the draws independent?"""
    return posterior.record.exact_probabilities is not None


def _seed(posterior: Posterior, seed: int | None) -> int:
    """Return the seed of parameters: by default that of the run, so that the same result gives the same effects."""
    known = posterior.record.settings.get("seed")
    return whole(known or 0 if seed is None else seed, "seed", note="or None")


def _linear_of(posterior: Posterior, source: Source, seed: int | None, what: str) -> LinearDraws:
    if source.kind != "linear":
        reason = {
            "curved": "relations are curved here: dose_response, intervene and contrast follow the curves",
            "tables": "columns are classes here: effects, intervene and contrast give probabilities",
        }[source.kind]
        raise ParnidagError(f"{what} are for linear relations, but {reason}")
    return linear_draws(source, drawn_graphs(posterior.record), _seed(posterior, seed))
