"""What the page says of time, for results over a panel: at which lags variables act, and whether lags suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from parnidag._util.text import number_of, shorten
from parnidag.report.names import CELL, isolated, label, shown_name
from parnidag.results.dynamics import Slices

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior

MOST_PAIRS, LEAST = 30, 0.05
ROW, COLUMN, TOP = 24, 74, 46


@dataclass(frozen=True)
class TimeView:
    """The section on time."""

    lead: str
    svg: str
    warning: str = ""


def time_view(posterior: Posterior) -> TimeView | None:
    """Return the section on time; None if the result is not over a panel."""
    slices = Slices.known(posterior.record.settings)
    if slices is None:
        return None
    past = posterior.record.settings["data"]["panel"]
    lead = f"{number_of(len(slices.variables), 'variable')} in {number_of(past['units'], 'unit')} over time, each with "
    lead += f"its values up to {number_of(slices.lags, 'step')} before. Cells are the probability that one acts on the "
    lead += "other after so many steps, 0 being at the same time; pairs below 0.05 at all lags are left out."
    warning = ""
    if past.get("autocorrelated"):
        names = [shown_name(name) for name in past["autocorrelated"]]
        warning = isolated(
            f"What the past leaves unexplained in {shorten(names)} still depends on the step before: more lags, or "
            "static columns that tell units apart, are needed before these probabilities mean what they say.",
            names,
        )
    return TimeView(lead, _lag_map(posterior, slices), warning)


def _lag_map(posterior: Posterior, slices: Slices) -> str:
    """Draw the probabilities by pair and lag; every cell has its number, so colour is not needed to read it."""
    pairs, values = slices.by_pair(posterior.edge_probabilities.to_numpy())
    shown = [row for row in range(len(pairs)) if values[row].max() >= LEAST][:MOST_PAIRS]
    names = [" → ".join(label(shown_name(name)) for name in pairs[row]) for row in shown]
    left = 24 + CELL * max((len(name) for name in names), default=0)
    width, height = left + COLUMN * (slices.lags + 1) + 12, TOP + ROW * len(shown) + 8
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    parts = [f'<svg class="figure lags" {size} role="img" aria-label="Edges by lag">']
    for lag in range(slices.lags + 1):
        x = left + COLUMN * (lag + 0.5)
        heading = "same time" if lag == 0 else number_of(lag, "step")
        parts.append(f'<text class="tick" x="{x:.0f}" y="{TOP - 14}" text-anchor="middle">{heading}</text>')
    for place, (row, name) in enumerate(zip(shown, names, strict=True)):
        y = TOP + ROW * place
        parts.append(f'<text class="name" x="{left - 12:.0f}" y="{y + 16}" text-anchor="end">{escape(name)}</text>')
        for lag, value in enumerate(values[row].tolist()):
            if lag == 0 and pairs[row][0] == pairs[row][1]:
                continue
            x = left + COLUMN * lag
            parts.append(
                f'<rect class="cell" x="{x:.0f}" y="{y + 1}" width="{COLUMN - 2}" height="{ROW - 2}" rx="3" '
                f'fill-opacity="{value:.2f}"/><text class="{"deep" if value > 0.7 else "tick"}" '
                f'x="{x + COLUMN / 2 - 1:.0f}" y="{y + 16}" text-anchor="middle">{value:.2f}</text>'
            )
    return "".join([*parts, "</svg>"])
