"""A result as notebooks show it: the verdict, and the most probable edges with a bar for each."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.diagnostics import Diagnostics

SHOWN_EDGES = 15
SPACED = "text-align:left;padding:.1em 1em .1em 0"
BLUE, ORANGE, RED, GREEN = "#0072b2", "#b25000", "#b3261e", "#00704f"
"""Dark enough to read on white and light enough on black; told apart by colour-blind readers, and never used alone."""


def as_html(headline: str, edges: pd.DataFrame, diagnostics: Diagnostics) -> str:
    """Return the table; names are text, whatever they hold."""
    rows = [_row(*row) for row in edges.head(SHOWN_EDGES)[["parent", "child", "probability", "evidence"]].to_numpy()]
    more = len(edges) - len(rows)
    head = "".join(f'<th style="{SPACED}">{name}</th>' for name in ("parent", "child", "probability", "", "evidence"))
    return (
        f"<div><p><strong>{html.escape(headline)}</strong></p>"
        + _verdict(diagnostics.converged, diagnostics.verdict, [*diagnostics.advice, *diagnostics.caveats])
        + f"<table><thead><tr>{head}</tr></thead>"
        + f"<tbody>{''.join(rows)}</tbody></table>"
        + (f"<p>… and {more} more edges with probability 0.01 or more: see summary()</p>" if more > 0 else "")
        + "</div>"
    )


def diagnostics_html(converged: bool | None, verdict: str, notes: Sequence[str], figures: Mapping[str, str]) -> str:
    """Return the verdict, what to do about it, and the figures behind it."""
    rows = "".join(
        f'<tr><th style="{SPACED}">{html.escape(name.strip())}</th>'
        f'<td style="{SPACED};white-space:normal">{html.escape(figure)}</td></tr>'
        for name, figure in figures.items()
    )
    table = f"<table><tbody>{rows}</tbody></table>" if figures else ""
    return f"<div><p><strong>Diagnostics</strong></p>{_verdict(converged, verdict, notes)}{table}</div>"


def _verdict(converged: bool | None, verdict: str, notes: Sequence[str]) -> str:
    colour = {True: GREEN, None: ORANGE, False: RED}[converged]
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f'<p style="border-left:4px solid {colour};padding-left:.6em">{html.escape(verdict)}</p>' + (
        f"<ul>{listed}</ul>" if notes else ""
    )


def _row(parent: str, child: str, probability: float, evidence: str) -> str:
    bar = f'<div style="background:{BLUE};height:.7em;width:{6 * probability:.2f}em"></div>'
    cells = [html.escape(parent), html.escape(child), f"{probability:.3f}", bar, html.escape(evidence)]
    return "<tr>" + "".join(f'<td style="{SPACED}">{cell}</td>' for cell in cells) + "</tr>"
