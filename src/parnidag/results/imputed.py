"""What chains put into empty cells, as tables, and whether it has settled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from parnidag._util.text import shorten
from parnidag.errors import ParnidagError
from parnidag.results.convergence import rank_rhat
from parnidag.results.record import RunRecord


class CellFigures(NamedTuple):
    """How far the drawn cells of a run have settled."""

    share: float | None
    """Share of all cells that are drawn; None if none is."""
    rhat: float | None
    """Largest split R-hat of a summary of them; None if there is none."""


def imputed_table(record: RunRecord, column: str | None) -> pd.DataFrame:
    """Tabulate what was drawn into empty cells: all of them, or those of one column with the shares of its levels."""
    nodes, rows, mean, deviation, shares = _kept(record)
    levels: dict[str, list[str]] = dict(record.settings["cells"].get("levels", {}))
    if column is not None:
        return _of_column(record, column, levels.get(column))
    best = shares.argmax(axis=1) if shares.shape[1] else np.zeros(len(nodes), int)
    names = [record.nodes[node] for node in nodes]
    values = [
        levels[name][level] if name in levels else value
        for name, level, value in zip(names, best.tolist(), mean.tolist(), strict=True)
    ]
    probability = shares.max(axis=1) if shares.shape[1] else np.full(len(nodes), np.nan)
    is_level = np.isin(names, list(levels)) if levels else np.zeros(len(nodes), bool)
    found = {"row": rows, "column": names, "value": np.array(values, object), "sd": deviation}
    return pd.DataFrame(found | {"probability": np.where(is_level, probability, np.nan)})


def _of_column(record: RunRecord, column: str, levels: list[str] | None) -> pd.DataFrame:
    nodes, rows, mean, deviation, shares = _kept(record)
    if column not in record.nodes:
        raise ParnidagError(f"column must be one of {shorten(record.nodes)}, got {column!r}", argument="column")
    here = nodes == record.nodes.index(column)
    index = pd.Index(rows[here], name="row")
    if levels is None:
        return pd.DataFrame({"mean": mean[here], "sd": deviation[here]}, index=index)
    return pd.DataFrame(shares[here, : len(levels)], index=index, columns=pd.Index(levels, name=column))


def _kept(record: RunRecord) -> tuple[np.ndarray, ...]:
    if record.cells_node is None or record.cells_row is None:
        if not (record.settings.get("cells") or {}).get("empty"):
            why = "no cell was empty, or rows with empty cells were left out (missing='drop')"
        elif record.cells_series is None:
            why = "no chain had drawn the cells yet after tuning: run longer"
        else:
            why = "they are too many to keep what was drawn into each"
        raise ParnidagError(f"there is nothing to say of empty cells: {why}")
    assert record.cells_mean is not None
    assert record.cells_deviation is not None
    assert record.cells_shares is not None
    return record.cells_node, record.cells_row, record.cells_mean, record.cells_deviation, record.cells_shares


def cell_figures(record: RunRecord) -> CellFigures:
    """Return the share of drawn cells, and the R-hat of what they are summarised by."""
    settings = record.settings.get("cells")
    if not settings:
        return CellFigures(None, None)
    series = record.cells_series
    rhats = [] if series is None else [rank_rhat(series[:, k]) for k in range(series.shape[1])]
    known = [rhat for rhat in rhats if not np.isnan(rhat)]
    return CellFigures(float(settings["share"]), max(known) if known else None)
