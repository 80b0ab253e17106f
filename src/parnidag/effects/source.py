"""Where parameters come from: the score of a run once more, on the data it was run on or on what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parnidag._util.text import shorten
from parnidag.data.table import Data, as_data
from parnidag.errors import ParnidagError
from parnidag.kernels.problem import ScoreTable
from parnidag.kernels.types import Floats, Integers
from parnidag.results.record import RunRecord
from parnidag.scores.base import Score
from parnidag.scores.by_name import described_score, has_linear_parameters
from parnidag.scores.copula import Copula

GIVE_DATA = "pass the table of the run as data="
OTHER_PARAMETERS = {"Spline": "curved", "BDeu": "tables"}
"""What parameters are, of scores that are no linear regressions."""


@dataclass(frozen=True, eq=False)
class Source:
    """The data and the score of a run, as far as parameters need them."""

    data: Data
    score: Score
    variants: tuple[Score, ...]
    """The score with each value that was learned along with the graph; itself alone if none was."""
    scored: Integers
    """The nodes that have a score: not those that are parents only."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.data.names

    @property
    def kind(self) -> str:
        """What parameters are: "linear" coefficients, "curved" functions or "tables" of probabilities."""
        if has_linear_parameters(self.score):
            return "linear"
        return OTHER_PARAMETERS[type(self.score).__name__]

    def tables(self) -> tuple[ScoreTable, ...]:
        return tuple(score.table(self.data) for score in self.variants)


@dataclass(frozen=True, eq=False)
class Scales:
    """How the columns of a linear score relate to those of the table."""

    means: Floats
    """Of the columns, in units of the table (n)."""
    deviations: Floats
    """Their standard deviations (n)."""
    units: Floats
    """One unit of the score's columns, in units of the table (n)."""
    centres: Floats
    """Around which mean each node's regression was made: [j, i] is that of column i, in the score's units from the
    mean of all rows."""
    spread: Floats
    """Variance of each node's intercept there, relative to its noise (n)."""


def source_of(record: RunRecord, kept: Data | None, given: object) -> Source:
    """Put data and score of a run together, or say what is missing."""
    settings = record.settings
    name = str((settings.get("score") or {}).get("name", "unknown"))
    score = described_score(settings.get("score") or {})
    known = has_linear_parameters(score) or name in OTHER_PARAMETERS or isinstance(score, Copula)
    if score is None or not known:
        raise ParnidagError(
            f"effects need the parameters of the score, and {name} has none that parnidag knows: scores of your own "
            "are numbers for graphs only; Gaussian, GPrior, BGe, BIC, Copula, Spline and BDeu have parameters"
        )
    if isinstance(score, Copula):
        score, data = score.between_scores(), _scored(record)
    else:
        data = _data_of(record, kept, given)
    parents_only = set(settings.get("parents_only", ()))
    scored = np.array([j for j, name in enumerate(record.nodes) if name not in parents_only])
    return Source(data, score, variants_of(record, score), scored)


def variants_of(record: RunRecord, score: Score) -> tuple[Score, ...]:
    """Return the score with each value that was learned along with the graph; itself alone if none was."""
    values = (record.settings.get("learned") or {}).get("values", {}).get(score.learns)
    if score.is_learned and values:
        return tuple(replace(score, **{score.learns: float(value)}) for value in values)  # type: ignore[type-var]
    return (score,)


def _scored(record: RunRecord) -> Data:
    """Return the normal scores of a run, as sums over rows."""
    if not record.sums:
        raise ParnidagError("this result does not hold the normal scores that effects need: run parnidag.sample again")
    return Data.from_sums(record.nodes, record.sums)


def _data_of(record: RunRecord, kept: Data | None, given: object) -> Data:
    if given is not None:
        data = as_data(given)
        _refuse_other_data(record, data)
        return data
    if kept is not None:
        return kept
    if record.sums:
        return Data.from_sums(record.nodes, record.sums)
    raise ParnidagError(
        "this result does not hold what effects need of its data: it was read from a file that keeps no table",
        remedy=GIVE_DATA,
    )


def _refuse_other_data(record: RunRecord, data: Data) -> None:
    """Refuse a table that is not the one of the run, as far as the figures that a result has of it can tell."""
    if data.names != record.nodes:
        raise ParnidagError(f"data has other columns ({shorten(data.names)}) than the run ({shorten(record.nodes)})")
    known: dict[str, Any] | None = record.settings.get("data")
    if known is None:
        return
    here = data.describe()
    if here["rows"] != known["rows"]:
        raise ParnidagError(f"data has {here['rows']} rows, the run had {known['rows']}: give the same table")
    differing = [
        one["name"]
        for one, other in zip(here["columns"], known["columns"], strict=True)
        if any(one.get(figure) != value for figure, value in other.items() if figure != "kind")
    ]
    if here["kind"] != known["kind"] or differing:
        raise ParnidagError(f"data is not the table of the run: {shorten(differing) or 'its kind'} differs")
    set_rows = data.set_rows()
    here_set = {data.names[j]: int(set_rows[j]) for j in np.flatnonzero(set_rows)}
    if here_set != record.settings.get("interventions", {}):
        raise ParnidagError("data was not given the interventions of the run: make it with Data(..., interventions=)")


def scales_of(source: Source) -> Scales:
    """Return how the columns of a linear score relate to those of the table."""
    data, score = source.data, source.score
    means, deviations = data.scales()
    own_units = getattr(score, "standardise", True)
    units = deviations if own_units else np.ones(data.n_nodes)
    pattern, masks = data.patterns()
    rows = np.array([data.count_rows(mask) for mask in masks], float)
    centres = np.array([data.scaled_moments(mask)[1] for mask in masks]) * (deviations / units)
    if hasattr(score, "alpha_mu"):  # the prior mean counts for so many rows
        prior_rows = float(score.alpha_mu)
        prior = np.asarray(0.0 if score.mean is None else score.mean, float) - (0.0 if own_units else means)  # type: ignore[attr-defined]
        centres = (rows[:, None] * centres + prior_rows * prior) / (rows[:, None] + prior_rows)
        rows = rows + prior_rows
    return Scales(means, deviations, units, centres[pattern], 1.0 / rows[pattern])
