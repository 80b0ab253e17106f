"""How a run of several chains shows itself while it works: a live table, sparse lines, or nothing.

Everything goes to standard error, so that standard output stays free for results.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from parnidag._util.text import number_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.table import Table

SECONDS_BETWEEN_LINES = 10.0
"""Without a terminal, a line at most this often."""

SILENT_SECONDS = 5.0
"""Without a terminal and unasked, a run shorter than this says nothing."""

REFRESHES_PER_SECOND = 8


class ChainStatus(NamedTuple):
    """Where one chain stands; `iteration` and `total` count tuning and drawing together."""

    chain: int
    stage: str
    iteration: int
    total: int
    iterations_per_second: float
    log_posterior: float
    acceptance: float
    omega: float | None
    edges: int

    @property
    def fraction(self) -> float:
        """The share of the chain's iterations that is done, from 0 to 1."""
        return min(1.0, self.iteration / self.total) if self.total > 0 else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Time to go at the present speed, or None while the speed is unknown."""
        if self.iterations_per_second <= 0:
            return None
        return max(0, self.total - self.iteration) / self.iterations_per_second


class Progress(Protocol):
    """What the run talks to; a context manager whose methods are called from the main thread only."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def stage(self, text: str) -> None:
        """Say what is being prepared, before the chains report."""

    def update(self, status: ChainStatus) -> None:
        """Show where a chain stands."""

    def note(self, text: str) -> None:
        """Say something that stays on the screen."""


def make_progress(
    progress: bool | None,
    chains: int,
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Progress:
    """Choose how to show a run.

    Parameters
    ----------
    progress : bool or None
        False: show nothing. True: always show. None: a live table in a terminal; elsewhere a line now and then, and
        nothing at all for a run of a few seconds.
    chains : int
        Number of chains.
    stream : text stream, optional
        Where to write; standard error by default.
    clock : callable, optional
        Seconds from any fixed origin.

    Returns
    -------
    Progress
        A context manager to report to.

    Examples
    --------
    >>> with make_progress(False, chains=2) as progress:
    ...     progress.stage("warm start")
    """
    stream = sys.stderr if stream is None else stream
    if progress is False or stream is None:  # a windowed Python has no standard error
        return SilentProgress()
    if _is_live_terminal(stream):
        return LiveProgress(chains, stream, clock)
    return PlainProgress(chains, stream, clock, delay=0.0 if progress else SILENT_SECONDS)


class SilentProgress:
    """Shows nothing."""

    def __enter__(self) -> SilentProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def stage(self, text: str) -> None:
        """Ignore it."""

    def update(self, status: ChainStatus) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""


class PlainProgress:
    """Lines for log files and pipes: one now and then, in plain characters."""

    def __init__(self, chains: int, stream: TextIO, clock: Callable[[], float], delay: float) -> None:
        self._chains = chains
        self._stream = stream
        self._clock = clock
        self._delay = delay
        self._started = self._last_line = clock()
        self._spoke = False
        self._statuses: dict[int, ChainStatus] = {}

    def __enter__(self) -> PlainProgress:
        self._started = self._last_line = self._clock()
        if self._delay == 0:
            self._say(f"{number_of(self._chains, 'chain')}, started")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spoke:
            how = "finished" if kind is None and self._all_done() else "stopped"
            self._say(f"{how} after {_duration(self._clock() - self._started)}")

    def stage(self, text: str) -> None:
        """Say what is being prepared, if a line is due."""
        if self._due():
            self._say(text)

    def update(self, status: ChainStatus) -> None:
        """Say where the chains stand, if a line is due."""
        self._statuses[status.chain] = status
        if self._due() and not self._all_done():
            self._say(self._summary())

    def note(self, text: str) -> None:
        """Say it at once."""
        self._write(text)

    def _due(self) -> bool:
        now = self._clock()
        if not self._spoke:
            return now - self._started >= self._delay
        return now - self._last_line >= SECONDS_BETWEEN_LINES

    def _all_done(self) -> bool:
        return all(status.stage == "done" for status in self._statuses.values())

    def _summary(self) -> str:
        statuses = self._statuses.values()
        slowest = min(statuses, key=lambda status: status.fraction)
        fraction = sum(status.fraction for status in statuses) / self._chains
        best = max(status.log_posterior for status in statuses)
        rate = sum(status.iterations_per_second for status in statuses if status.stage != "done")
        parts = [f"{slowest.stage}, {fraction:.0%} of {number_of(self._chains, 'chain')}"]
        if rate > 0:  # unknown until the compiler is done
            parts.append(f"{_rate(rate)} iterations/s")
        parts.append(f"best log posterior {best:.1f}")
        if slowest.seconds_left is not None:
            parts.append(f"about {_duration(slowest.seconds_left)} left")
        return ", ".join(parts)

    def _say(self, text: str) -> None:
        self._spoke = True
        self._last_line = self._clock()
        self._write(text)

    def _write(self, text: str) -> None:
        # A log that went away must not end a run of hours.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(f"parnidag: {text}\n")
            self._stream.flush()


class LiveProgress:
    """A table that redraws itself in a terminal, one row a chain."""

    def __init__(self, chains: int, stream: TextIO, clock: Callable[[], float]) -> None:
        self._chains = chains
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._stage = "preparing"
        self._statuses: dict[int, ChainStatus] = {}
        self._live: Live | None = None
        self._spinner: Spinner | None = None  # one for all redraws, or it would never turn
        self._finished = False

    def __enter__(self) -> LiveProgress:
        from rich.console import Console
        from rich.live import Live

        self._started = self._clock()
        console = Console(file=self._stream)
        self._live = Live(
            console=console,
            get_renderable=lambda: self.render(console),
            refresh_per_second=REFRESHES_PER_SECOND,
            redirect_stdout=False,  # rich would send it to standard error
        )
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finished = True
        if self._live is not None:
            with contextlib.suppress(OSError, ValueError):  # a terminal that has gone must not cost the result
                self._live.__exit__(kind, error, trace)

    def stage(self, text: str) -> None:
        """Show what is being prepared, with a spinner."""
        self._stage = text

    def update(self, status: ChainStatus) -> None:
        """Show where a chain stands at the next redraw."""
        self._statuses[status.chain] = status

    def note(self, text: str) -> None:
        """Print it above the table."""
        if self._live is not None:
            with contextlib.suppress(OSError, ValueError):
                self._live.console.print(text, markup=False, highlight=False)

    def render(self, console: Console) -> RenderableType:
        """Draw the present state for a terminal of this size; the redrawing thread calls it."""
        from rich.spinner import Spinner
        from rich.text import Text

        elapsed = _duration(self._clock() - self._started)
        statuses = sorted(self._statuses.copy().values())
        if statuses:
            return self._table(statuses, console)
        if self._finished:
            return Text("")
        if self._spinner is None:
            self._spinner = Spinner("dots")
        self._spinner.update(text=f"{self._stage} · {elapsed}")
        return self._spinner

    def _table(self, statuses: list[ChainStatus], console: Console) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        columns = _columns_that_fit(console.width)
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
        for column in columns:
            justify = "left" if column.title in ("stage", "") else "right"
            table.add_column(column.title, justify=justify, width=column.width, no_wrap=True)  # type: ignore[arg-type]
        shown, hidden = _rows_that_fit(statuses, console.height)
        for status in shown:
            bar = ProgressBar(total=1.0, completed=status.fraction, width=_BAR.width)
            table.add_row(*(bar if column is _BAR else column.cell(status) for column in columns))
        if hidden:
            done = sum(status.stage == "done" for status in hidden)
            table.caption = f"and {number_of(len(hidden), 'more chain')}, {done} of them done"
            table.caption_justify = "left"
        return table


def _columns_that_fit(width: int) -> list[_Column]:
    columns = list(_COLUMNS)
    for title in _DROPPED_FIRST:
        if sum(column.width + _GAP for column in columns) <= width:
            break
        columns = [column for column in columns if column.title != title]
    return columns


def _rows_that_fit(statuses: list[ChainStatus], height: int) -> tuple[list[ChainStatus], list[ChainStatus]]:
    """Split the chains into those shown, unfinished ones first, and those merely counted."""
    room = max(1, height - 3)  # a heading, a caption and the prompt's line
    if len(statuses) <= room:
        return statuses, []
    by_interest = sorted(statuses, key=lambda status: (status.stage == "done", status.chain))
    return sorted(by_interest[:room]), by_interest[room:]


def _stage_and_share(status: ChainStatus) -> str:
    if status.stage in ("tuning", "drawing"):
        # Rounded down: 100 % is for what is done.
        return f"{status.stage:<7} {int(100 * status.fraction):>3}%"
    return status.stage


def _time_left(status: ChainStatus) -> str:
    if status.stage == "done" or status.seconds_left is None:
        return ""
    return _duration(status.seconds_left)


def _is_live_terminal(stream: TextIO) -> bool:
    """Whether a table can redraw itself there."""
    try:
        return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
    except (AttributeError, ValueError):  # a stand-in stream, or a closed one
        return False


def _rate(rate: float) -> str:
    """At most five characters: 950, 21.3k, 213k, 3.10M."""
    if rate < 1000:
        return f"{rate:.0f}"
    thousands = rate / 1000
    if thousands < 999.5:
        return f"{thousands:.1f}k" if thousands < 99.95 else f"{thousands:.0f}k"
    return f"{thousands / 1000:.2f}M" if thousands < 9_995 else f"{thousands / 1000:.0f}M"


def _duration(seconds: float) -> str:
    """At most six characters: 9s, 1m05s, 2h03m, 5d07h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole // 60 % 60:02d}m"
    return f"{whole // 86_400}d{whole // 3600 % 24:02d}h" if whole < 99 * 86_400 else "long"


class _Column(NamedTuple):
    title: str
    width: int
    cell: Callable[[ChainStatus], str]


_BAR = _Column("", 8, lambda status: "")

_COLUMNS = (
    _Column("chain", 5, lambda status: str(status.chain + 1)),
    _Column("stage", 12, _stage_and_share),
    _BAR,
    _Column("it/s", 5, lambda status: _rate(status.iterations_per_second)),
    _Column("log post.", 10, lambda status: f"{status.log_posterior:.1f}"),
    _Column("accept", 6, lambda status: f"{status.acceptance:.2f}"),
    _Column("ω", 4, lambda status: "–" if status.omega is None else f"{status.omega:.2f}"),
    _Column("edges", 5, lambda status: str(status.edges)),
    _Column("left", 6, _time_left),
)

_DROPPED_FIRST = ("ω", "accept", "", "edges", "it/s", "log post.", "left")
"""What a narrow terminal loses, in this order."""

_GAP = 2
