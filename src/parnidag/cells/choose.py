"""Which tables have cells that chains must draw, and what completes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from parnidag.cells.classes import ClassCells, CompletedClasses, class_cells
from parnidag.cells.columns import (
    ColumnCells,
    ordered_class,
    plain_number,
    scored_count,
    scored_number,
    unordered_class,
)
from parnidag.cells.gaussian import Completed, GaussianCells
from parnidag.data.table import Data
from parnidag.errors import DataError, ParnidagError
from parnidag.kernels.types import Flags, Floats
from parnidag.scores.bdeu import BDeu
from parnidag.scores.copula import Copula
from parnidag.scores.gaussian import BGe, bge_prior_mean, refuse_slight
from parnidag.scores.normal_scores import has_heavy_ties

Cells: TypeAlias = GaussianCells | ClassCells
CompletedTable: TypeAlias = Completed | CompletedClasses
BY_KIND: dict[str, Callable[[Floats, Flags], ColumnCells]] = {
    "number": scored_number,
    "count": scored_count,
    "ordinal": ordered_class,
    "binary": ordered_class,
    "class": unordered_class,
}
"""How a column enters under `Copula`."""
MOST_CONTRASTS = 1000
"""Columns of the model that unordered classes may take, one for each level but the first."""


def cells_of(data: Data, score: object) -> Cells | None:
    """Return the cells that chains draw; None where the score takes the table as it is, or refuses it by itself."""
    if isinstance(score, Copula):
        if not data.needs_cells and not _is_cut(data):
            return None
    elif not isinstance(score, BGe | BDeu) or data.gaps is None:
        return None
    _refuse(data, score)
    if isinstance(score, BDeu):
        found = data.known_levels()
        ess = [float(getattr(variant, "ess", 1.0)) for variant in score.variants(data.n_nodes)]
        return class_cells(found.codes, found.labels, ess)
    if isinstance(score, Copula):
        _refuse_levels(data)
        nodes = [BY_KIND[kind](*column) for kind, column in zip(data.kinds, _columns(data), strict=True)]
    else:
        nodes = _plain(data, score)
    columns = sum(len(node.fixed) for node in nodes)
    usual = columns + score.alpha_mu + 1
    given = [getattr(variant, "alpha_w", None) for variant in score.variants(columns)]
    values = [usual if one is None else float(one) for one in given]
    low = min(values)
    if low <= columns + 1:
        raise ParnidagError(f"alpha_w must be more than {columns + 1} for {columns} columns of the model, got {low:g}")
    return GaussianCells.of(nodes, float(score.alpha_mu), values)


def describe_cells(data: Data, cells: Cells) -> dict[str, Any]:
    """Say how many cells are drawn and which levels columns of classes have, in a form that JSON can hold."""
    found: dict[str, Any] = cells.describe()
    if data.gaps is not None:
        found["empty"] = int(data.gaps.sum())
    levels = {data.names[j]: data.level_names(j) for j in np.flatnonzero(cells.empty.levels).tolist()}
    return found | {"levels": levels}


def _is_cut(data: Data) -> bool:
    data.require_rows("scores.Copula")
    return data.kind != "continuous" or has_heavy_ties(
        data.values, None if data.rules is None else data.rules.parents_only
    )


def _columns(data: Data) -> list[tuple[Floats, Flags]]:
    """Return every column, with what is empty in it."""
    gaps = np.zeros(data.values.shape, bool) if data.gaps is None else data.gaps
    return [(data.values[:, j], gaps[:, j]) for j in range(data.n_nodes)]


def _plain(data: Data, score: BGe) -> list[ColumnCells]:
    """Return numbers in the units of BGe, less the prior mean; means and deviations are those of the known cells."""
    nodes, prior_mean = [], bge_prior_mean(score, data.n_nodes)
    if not score.standardise:
        known = [values[~empty] for values, empty in _columns(data)]
        refuse_slight(score, data, np.array([seen.var() * seen.size for seen in known]))
    for (values, empty), shift in zip(_columns(data), prior_mean, strict=True):
        seen = values[~empty]
        mean, unit = (seen.mean(), seen.std(ddof=1)) if score.standardise else (0.0, 1.0)
        nodes.append(plain_number(values, empty, mean + unit * shift, unit))
    return nodes


def _refuse(data: Data, score: Copula | BGe | BDeu) -> None:
    """Refuse tables that latent cells are not drawn for."""
    if isinstance(score, BGe) and data.kind != "continuous":
        raise DataError("BGe takes numbers, and some columns are classes: leave score= out, or use scores.Copula()")
    if data.has_interventions or data.rules is not None:
        raise DataError(
            "interventions or panels together with cells that chains must draw (classes beside numbers, empty cells, "
            "tied values under Copula) are not supported: leave score= out, use missing='drop', or kind= for the whole "
            "table"
        )
    data.require_rows("a table with cells that chains must draw")


def _refuse_levels(data: Data) -> None:
    """Refuse classes of so many levels that they are names rather than classes, and drawing cells would take hours."""
    levels = {
        name: len(data.level_names(j))
        for j, (name, kind) in enumerate(zip(data.names, data.kinds, strict=True))
        if kind == "class"
    }
    if sum(levels.values()) <= MOST_CONTRASTS:
        return
    most = sorted(levels, key=lambda name: -levels[name])[:3]
    shown = ", ".join(f"{name} ({levels[name]:,})" for name in most)
    raise DataError(
        f"classes without order have {sum(levels.values()):,} levels together, most of them {shown}, and at most "
        f"{MOST_CONTRASTS:,} can stand beside numbers: merge rare levels, or leave columns out",
        remedy=f"drop={most[:1]}",
    )
