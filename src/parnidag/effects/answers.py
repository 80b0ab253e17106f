"""What a posterior is asked: the door from `Posterior` to this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parnidag._util.checks import number, whole
from parnidag.effects.asked import Asked, Probability, probability_of
from parnidag.effects.classes import ClassContrast, ClassEffects, ClassOutcomes
from parnidag.effects.curves import MOST_DRAWS as MOST_CURVED
from parnidag.effects.curves import CurveDraws, curve_draws
from parnidag.effects.direct import coefficient_table, direct_table, mean_of_worlds
from parnidag.effects.direct import mean_coefficients as mean_coefficients_of
from parnidag.effects.dose import DoseResponse
from parnidag.effects.draws import MOST_DRAWS, DrawnGraphs, LinearDraws, drawn_graphs, linear_draws
from parnidag.effects.experiments import rank_about, rank_experiments
from parnidag.effects.impulse import ImpulseResponses
from parnidag.effects.impulse import impulse_responses as follow
from parnidag.effects.nodes import (
    Columns,
    arrays_of,
    doses_of,
    far_away,
    level_array,
    level_number,
    levels_set,
    node_number,
    numbers_set,
)
from parnidag.effects.normal import ScoreDraws, draws_between_scores, score_draws
from parnidag.effects.outcomes import Contrast, Outcomes, contrast_of
from parnidag.effects.source import Source, source_of
from parnidag.effects.tables import TableDraws, table_draws, world_tables
from parnidag.effects.totals import Effects
from parnidag.effects.worlds import WorldDraws, world_draws
from parnidag.errors import ParnidagError
from parnidag.graphs.separation import reaches
from parnidag.kernels.types import Floats
from parnidag.results.dynamics import Slices
from parnidag.results.record import RunRecord
from parnidag.scores.by_name import described_score, has_linear_parameters
from parnidag.scores.copula import Copula

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior


MOST_EDGES, MOST_SLOTS = 10**8, 10**7
"""Edges of stored graphs beyond which a table of edges does without coefficients, or with those of fewer draws."""
MOST_DOSED = 2000
"""Draws of a dose-response curve, which asks for each of them many times."""
MOST_SCORED = 4000
"""Draws of relations between normal scores, each of which asks for every knot of a column."""
MOST_STEPS = 10_000
"""Of an impulse response."""
OF_RANKS = "; ranks say nothing of what is beyond, so the nearest value is taken"


class Model(NamedTuple):
    """What answers are drawn from, and what it was made of."""

    draws: LinearDraws | ScoreDraws | CurveDraws | TableDraws
    source: Source | None
    """Data and score; None where chains drew cells, and kept graphs with parameters."""
    columns: Columns
    """What is known of each column of the data."""


def effects(posterior: Posterior, data: Any, standardised: bool | None, seed: int | None) -> Effects | ClassEffects:
    model = _model(posterior, data, seed)
    if isinstance(model.draws, TableDraws):
        if standardised:
            raise ParnidagError("standardised=True is for columns of numbers: effects on classes are probabilities")
        return ClassEffects(model.draws, is_exact(posterior))
    draws = _linear_of(model, "total effects as numbers", standardised)
    return Effects(draws, model.source, is_exact(posterior), _in_deviations(draws, standardised))


def coefficients(
    posterior: Posterior, data: Any, standardised: bool | None, seed: int | None, min_probability: float
) -> pd.DataFrame:
    number(min_probability, "min_probability", least=0, most=1)
    draws = _linear_of(_model(posterior, data, seed), "coefficients", standardised)
    probabilities = posterior.edge_probabilities.to_numpy()
    if isinstance(draws, ScoreDraws):
        return direct_table(draws, probabilities, min_probability)
    return coefficient_table(draws, probabilities, min_probability, bool(standardised))


def _in_deviations(draws: LinearDraws | ScoreDraws, standardised: bool | None) -> bool:
    return bool(standardised) or isinstance(draws, ScoreDraws)


def mean_coefficients(posterior: Posterior) -> Floats:
    """Return the mean coefficient of every edge in standard deviations, given that it is there; NaN if unknown."""
    record = posterior.record
    n, edges = len(record.nodes), int(record.graph_offsets[-1])
    none = np.full((n, n), np.nan)
    if _drew_cells(record):
        kept = record.worlds_ends is not None and dict(record.settings["score"]).get("name") != "BDeu"
        draws = _world_model(posterior, 0) if kept else None
        return mean_of_worlds(draws) if isinstance(draws, WorldDraws | ScoreDraws) else none
    score = described_score(record.settings.get("score") or {})
    known = has_linear_parameters(score) and bool(record.sums or posterior.data)
    if not (known or (isinstance(score, Copula) and record.sums)) or not record.graph_index.size or edges > MOST_EDGES:
        return none
    most = max(MOST_SLOTS * record.graph_index.size // max(edges, 1), 1)
    return mean_coefficients_of(source_of(record, posterior.data, None), drawn_graphs(record, min(most, MOST_DRAWS)))


def intervene(posterior: Posterior, do: Any, data: Any, seed: int | None) -> Outcomes | ClassOutcomes:
    model = _model(posterior, data, seed)
    if isinstance(model.draws, TableDraws):
        tables = model.draws
        return _class_outcomes(posterior, tables, levels_set(tables.names, tables.labels, do, "do"))
    return _outcomes(posterior, model, _checked(model, do, "do"))


def contrast(posterior: Posterior, do: Any, versus: Any, data: Any, seed: int | None) -> Contrast | ClassContrast:
    model = _model(posterior, data, seed)
    if isinstance(model.draws, TableDraws):
        return _class_contrast(posterior, model.draws, do, versus)
    one, other = _checked(model, do, "do", True), _checked(model, versus, "versus", True)
    return contrast_of(_outcomes(posterior, model, one), _outcomes(posterior, model, other))


def _checked(model: Model, given: Any, argument: str, may_be_empty: bool = False) -> Mapping[str, float | str]:
    if isinstance(model.draws, ScoreDraws):
        return model.draws.checked(given, argument, may_be_empty)
    return numbers_set(model.draws.names, given, argument, may_be_empty)


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


def impulse_responses(
    posterior: Posterior, cause: str, steps: int, standardised: bool, data: Any, seed: int | None
) -> ImpulseResponses:
    slices = Slices.of(posterior.record.settings, "impulse_responses")
    whole(steps, "steps", 0, MOST_STEPS)
    draws = _linear_of(_model(posterior, data, seed), "impulse responses")
    assert isinstance(draws, LinearDraws)
    return follow(draws, slices, cause, steps, standardised)


def _outcomes(posterior: Posterior, model: Model, do: Mapping[str, float | str]) -> Outcomes:
    """Answer an intervention, always with the same draws of graphs and parameters."""
    draws = model.draws
    if isinstance(draws, ScoreDraws):
        expected, single = (values.reshape(*draws.shape, -1) for values in draws.set_nodes(do))
        names, levels = draws.quantities
        notes = far_away(model.columns, do, OF_RANKS)
        return Outcomes(
            names, do, expected, single, expected, is_exact(posterior), notes, levels if any(levels) else ()
        )
    assert not isinstance(draws, TableDraws)
    found = draws.set_nodes(*arrays_of(draws.names, do))
    expected, single, given_graph = (values.reshape(*draws.shape, -1) for values in found)
    notes = far_away(model.columns, do)
    return Outcomes(draws.names, do, expected, single, given_graph, is_exact(posterior), notes)


def _drew_cells(record: RunRecord) -> bool:
    return bool(record.settings.get("cells"))


def _model(posterior: Posterior, data: Any, seed: int | None, most: int = MOST_DRAWS) -> Model:
    """Draw the parameters of relations, straight or curved, or count what tables of probabilities are drawn from."""
    record, chosen = posterior.record, _seed(posterior, seed)
    if _drew_cells(record):
        return Model(_world_model(posterior, chosen), None, record.settings["data"]["columns"])
    source = source_of(record, posterior.data, data)
    if record.settings["score"]["name"] == "Copula":
        between = linear_draws(source, drawn_graphs(record, min(most, MOST_SCORED)), chosen)
        return Model(draws_between_scores(between, record), None, record.settings["data"]["columns"])
    draws: LinearDraws | CurveDraws | TableDraws
    if source.kind == "tables":
        draws = table_draws(source, drawn_graphs(record), chosen)
    elif source.kind == "curved":
        draws = curve_draws(source, drawn_graphs(record, min(most, MOST_CURVED)), chosen)
    else:
        draws = linear_draws(source, drawn_graphs(record, most), chosen)
    return Model(draws, source, source.data.describe()["columns"])


def _world_model(posterior: Posterior, seed: int) -> WorldDraws | ScoreDraws | TableDraws:
    """Return the graphs with parameters that chains drew beside the cells of a table."""
    record = posterior.record
    made: Any = {"BGe": world_draws, "Copula": score_draws, "BDeu": world_tables}[record.settings["score"]["name"]]
    found: WorldDraws | ScoreDraws | TableDraws = made(record, seed)
    return found


def dose_response(
    posterior: Posterior, cause: str, effect: str, values: Any, level: str | None, data: Any, seed: int | None
) -> DoseResponse:
    names = posterior.record.nodes
    i, j = node_number(names, cause, "cause"), node_number(names, effect, "effect")
    if i == j:
        raise ParnidagError("effect must be another node than cause", argument="effect")
    model = _model(posterior, data, seed, MOST_DOSED)
    draws = model.draws
    labels = draws.labels if isinstance(draws, ScoreDraws | TableDraws) else ((),) * len(names)
    if labels[i]:
        raise ParnidagError("dose_response is for columns of numbers; intervene sets a class to each of its levels")
    if level is not None and not labels[j]:
        raise ParnidagError(f"level is for classes, and {effect} has numbers", argument="level")
    assert not isinstance(draws, TableDraws)
    doses, called = doses_of(model.columns, cause, values), effect
    if isinstance(draws, ScoreDraws):
        place = (level_number(labels[j], level, "level") if level is not None else -1) if labels[j] else 0
        called = f"{effect} = {labels[j][place]}" if labels[j] else effect
        curves = [draws.set_nodes({cause: float(dose)}, effect)[0][:, place] for dose in doses]
        found = [np.stack(curves, axis=-1)] * 2
    else:
        answers = [draws.set_nodes(*arrays_of(names, {cause: float(dose)})) for dose in doses]
        found = [np.stack([answer[place][:, j] for answer in answers], axis=-1) for place in (0, 2)]
    expected, given_graph = (values.reshape(*draws.shape, len(doses)) for values in found)
    level_share = float((np.ptp(expected, axis=2) == 0.0).mean())
    more = OF_RANKS if isinstance(draws, ScoreDraws) else ""
    ends = {note for dose in (doses.min(), doses.max()) for note in far_away(model.columns, {cause: float(dose)}, more)}
    notes = tuple(sorted(ends))
    return DoseResponse(cause, called, doses, expected, given_graph, level_share, is_exact(posterior), notes)


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
    if score is not None and has_linear_parameters(score) and not _drew_cells(posterior.record):
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


def _linear_of(model: Model, what: str, standardised: bool | None = None) -> LinearDraws | ScoreDraws:
    draws = model.draws
    if isinstance(draws, CurveDraws | TableDraws):
        reason = (
            "relations are curved here: dose_response, intervene and contrast follow the curves"
            if isinstance(draws, CurveDraws)
            else "columns are classes here: effects, intervene and contrast give probabilities"
        )
        raise ParnidagError(f"{what} are for linear relations, but {reason}")
    if isinstance(draws, ScoreDraws) and standardised is False:
        raise ParnidagError(
            "standardised=False: scores.Copula relates the ranks of columns, so one unit of a column has no constant "
            f"effect; leave it out for {what} in standard deviations, and ask intervene, contrast or dose_response for "
            "answers in units of the columns",
            argument="standardised",
        )
    return draws
