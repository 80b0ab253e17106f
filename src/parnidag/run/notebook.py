"""How a run shows itself in a notebook: one output that redraws itself, not lines on standard error, which are red."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

from parnidag._util.text import number_of, visible
from parnidag.run.progress import ChainStatus, Progress, duration, rate

SECONDS_BETWEEN_DRAWINGS = 0.5
SHOWN_CHAINS = 16
CELL = "text-align:right;padding:.1em 1em .1em 0"
BAR = "#0072b2"

Show = Callable[[dict[str, str], bool], None]
"""Shows an output in several forms by their media types, for the first time (False) or in place of the last (True)."""


def notebook_display() -> Show | None:
    """Return what shows an output of the present cell, or None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return None
    display: Any = importlib.import_module("IPython.display").display

    handle: list[Any] = []

    def show(forms: dict[str, str], again: bool) -> None:
        if again and handle:
            handle[0].update(forms, raw=True)
        else:
            handle[:] = [display(forms, raw=True, display_id=True)]

    return show


class NotebookProgress(Progress):
    """What is assumed, a row for each chain while they run, and how long it took."""

    def __init__(self, show: Show, clock: Callable[[], float] = time.monotonic) -> None:
        self._show, self._clock = show, clock
        self._started = clock()
        self._last: float | None = None
        self._notes: list[str] = []
        self._stage = ""
        self._statuses: dict[int, ChainStatus] = {}

    def __enter__(self) -> Progress:
        self._started = self._clock()
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        if self._last is not None or self._statuses:
            done = kind is None and all(status.stage == "done" for status in self._statuses.values())
            took = duration(self._clock() - self._started)
            self._stage = f"{'finished' if done else 'stopped'} after {took}"
            self._draw()

    def stage(self, text: str) -> None:
        self._stage = text
        self._draw_if_due()

    def update(self, status: ChainStatus) -> None:
        self._statuses[status.chain] = status
        self._stage = ""
        self._draw_if_due()

    def note(self, text: str) -> None:
        self._notes.append(visible(text))
        self._draw()

    def _draw_if_due(self) -> None:
        if self._last is None or self._clock() - self._last >= SECONDS_BETWEEN_DRAWINGS:
            self._draw()

    def _draw(self) -> None:
        again, self._last = self._last is not None, self._clock()
        self._show({"text/html": self.as_html(), "text/plain": self.as_text()}, again)

    def as_text(self) -> str:
        parts = [*self._notes, *([self._stage] if self._stage else [])]
        return "\n".join(parts) or number_of(len(self._statuses), "chain")

    def as_html(self) -> str:
        """Return the output; notes are text, whatever they hold."""
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self._notes)
        stage = f"<div><em>{html.escape(self._stage)}</em></div>" if self._stage else ""
        return f'<div style="opacity:.8;font-size:90%">{notes}{self._table()}{stage}</div>'

    def _table(self) -> str:
        if not self._statuses:
            return ""
        names = ("chain", "", "", "iterations/s", "log posterior", "edges", "left")
        head = "".join(f'<th style="{CELL}">{name}</th>' for name in names)
        statuses = sorted(self._statuses.values())
        rows = "".join(map(_row, statuses[:SHOWN_CHAINS]))
        more = len(statuses) - SHOWN_CHAINS
        rest = f"<div>and {number_of(more, 'more chain')}</div>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def _row(status: ChainStatus) -> str:
    share = f"{100 * status.fraction:.0f}%"
    bar = f'<div style="width:6em"><div style="background:{BAR};height:.7em;width:{share}"></div></div>'
    left = "" if status.stage == "done" or status.seconds_left is None else duration(status.seconds_left)
    cells = (
        *(str(status.chain + 1), html.escape(status.stage), bar, rate(status.iterations_per_second)),
        *(f"{status.log_posterior:.1f}", str(status.edges), left),
    )
    return "<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in cells) + "</tr>"
