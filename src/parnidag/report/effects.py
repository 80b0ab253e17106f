"""What the page says of causes: their total effects, and the edges on which a sign or a path depends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from parnidag.errors import ParnidagError
from parnidag.report.names import isolated, shown_name

if TYPE_CHECKING:
    from parnidag.effects.classes import ClassEffects
    from parnidag.effects.totals import Effects
    from parnidag.results.posterior import Posterior

MOST_NODES = 100
"""Beyond, effects of all pairs would take longer than the rest of the report."""
MOST_ROWS, MOST_NOTES = 2000, 100
LEAST_PROBABILITY = 0.05
"""Pairs are listed if there is a directed path with this probability at least."""
DOUBT = 0.05
"""From this probability on a sign, or the lack of a path, is a matter of doubt."""


def effect_facts(posterior: Posterior) -> dict[str, Any] | None:
    """Return the rows of the section on effects, with nodes by number; None where the result cannot tell any."""
    found = _effects(posterior)
    if found is None:
        return None
    classes = not hasattr(found, "linear")
    table = found.largest()
    table = table[table["zero"] <= 1.0 - LEAST_PROBABILITY].head(MOST_ROWS)
    place = {name: k for k, name in enumerate(posterior.nodes)}
    rows, noted = [], 0
    for row in table.to_dict("records"):
        note = _levels(row)
        if not note and (note := _note(found, row) if noted < MOST_NOTES else ""):
            noted += 1
        figures = [float(f"{row[name]:.4g}") for name in ("mean", "5%", "95%", "positive", "zero", "negative")]
        rows.append([place[row["cause"]], place[row["effect"]], *figures, note])
    in_scores = getattr(found, "in_scores", False)
    return {"rows": rows, "classes": classes, "scores": in_scores, "causes": sorted({row[0] for row in rows})}


def _effects(posterior: Posterior) -> Effects | ClassEffects | None:
    if len(posterior.nodes) > MOST_NODES or not posterior.record.graph_index.size:
        return None
    try:
        return posterior.effects()
    except ParnidagError:  # a score without parameters, or a file that keeps nothing of its data
        return None


def three_digits(value: float) -> str:
    """Write an effect with a true minus sign and three digits, a large one whole: a power of ten only if it is tiny.

    Examples
    --------
    >>> three_digits(-1160.2), three_digits(0.5), three_digits(0.0), three_digits(2.5e-7)
    ('−1,160', '0.500', '0', '2.50e-7')
    """
    size = abs(value)
    if size >= 999.5:
        text = f"{size:,.0f}"
    elif 0 < size < 1e-4:
        text = f"{size:.2e}".replace("e-0", "e-")
    else:
        text = f"{size:#.3g}" if size else "0"
    return "−" * (value < 0) + text


def _signed(value: float, beside: float) -> str:
    """Write an effect with its sign and two digits, a large one whole, one that is nothing beside another as 0."""
    if abs(value) < abs(beside) / 1000:
        return "0"
    return f"{value:+,.0f}" if abs(value) >= 100 else f"{value:+.2g}"


def _levels(row: dict[Any, Any]) -> str:
    """Say which levels a row is of; nothing of numbers."""
    setting = f"if set to {row['set_to']} instead of {row['versus']}" if row.get("set_to") else ""
    return ", ".join(part for part in (row.get("level", ""), setting) if part)


def _note(found: Any, row: dict[Any, Any]) -> str:
    """Say on which edge it depends whether there is an effect, or which way it goes; nothing if neither is in doubt."""
    either_way = min(row["positive"], row["negative"]) >= DOUBT
    if not either_way and not DOUBT <= row["zero"] <= 1.0 - DOUBT:
        return ""
    edges = found.disagreement(row["cause"], row["effect"], 1)
    if edges.empty or not pd.notna(edges.loc[0, "share"]) or float(edges.loc[0, "share"]) < 0.1:
        return "graphs disagree" + (" on the sign" if either_way else "")
    edge = edges.iloc[0]
    names = [shown_name(str(edge[end])) for end in ("parent", "child")]
    what = "the sign depends" if edge["with"] * edge["without"] < 0 else "it depends"
    with_it, without = _signed(edge["with"], edge["without"]), _signed(edge["without"], edge["with"])
    text = f"{what} on {names[0]} → {names[1]}: {with_it} with that edge, {without} without"
    return isolated(text, names)
