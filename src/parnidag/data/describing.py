"""A table in a few figures for each column, as results keep it, and as notebooks show it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.data.columns import Coding, Floats

MOST_SHOWN = 30
"""Columns that a notebook lists; results keep all."""


def describe_numbers(names: Sequence[str], mean: Floats, sd: Floats, low: Floats, high: Floats) -> list[dict[str, Any]]:
    return [
        {"name": name, **dict(zip(("mean", "sd", "min", "max"), map(_rounded, figures), strict=True))}
        for name, *figures in zip(names, mean, sd, low, high, strict=True)
    ]


def describe_levels(
    names: Sequence[str],
    codes: Iterable[NDArray[Any]],
    labels: Sequence[Sequence[str]],
    row_counts: NDArray[np.int64] | None = None,
) -> list[dict[str, Any]]:
    described = []
    for name, column, words in zip(names, codes, labels, strict=True):
        counts = np.bincount(column, weights=row_counts, minlength=len(words))
        top = int(counts.argmax())
        share = _rounded(counts[top] / counts.sum())
        described.append({"name": name, "levels": len(words), "most_frequent": words[top], "share": share})
    return described


def describe_mixed(names: Sequence[str], values: Floats, codings: Sequence[Coding | None]) -> list[dict[str, Any]]:
    """Describe each column by what it holds, empty cells left out."""
    described = []
    for name, column, coding in zip(names, values.T, codings, strict=True):
        known = column[~np.isnan(column)]
        if coding is not None:
            described += describe_levels([name], [known.astype(np.int64)], [coding.labels])
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                mean, sd = known.mean(keepdims=True), known.std(ddof=1, keepdims=True)
            described += describe_numbers([name], mean, sd, known.min(keepdims=True), known.max(keepdims=True))
    return described


def _rounded(value: float) -> float | None:
    """Round to 6 digits; what overflows has no figure."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def as_html(heading: str, columns: Sequence[dict[str, Any]]) -> str:
    """Return a small table for notebooks; names are text, whatever they hold."""
    keys = list(dict.fromkeys(key for column in columns for key in column))
    head = "".join(f"<th>{html.escape(key.replace('_', ' '))}</th>" for key in keys)
    rows = [
        "<tr>" + "".join(f"<td>{html.escape(_cell(column.get(key)))}</td>" for key in keys) + "</tr>"
        for column in columns[:MOST_SHOWN]
    ]
    more = len(columns) - MOST_SHOWN
    rest = f"<p>… and {more} more columns</p>" if more > 0 else ""
    return (
        f"<div><p><strong>{html.escape(heading)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}</div>"
    )


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
