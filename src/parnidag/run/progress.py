"""How a run of several chains shows itself while it works: a live table, sparse lines, or nothing.

Everything goes to standard error, so that standard output stays free for results.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from parnidag._util.text import number_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SECONDS_BETWEEN_LINES = 10.0
"""Without a terminal, a line at most this often."""
SILENT_SECONDS = 5.0
"""Without a terminal and unasked, a run shorter than this says nothing."""
REFRESHES_PER_SECOND = 8
BAR_WIDTH, GAP = 8, 2


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
        return min(1.0, self.iteration / self.total) if self.total > 0 else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Time to go at the present speed, or None while the speed is unknown."""
        if self.iterations_per_second <= 0:
            return None
        return max(0, self.total - self.iteration) / self.iterations_per_second


_wording: ContextVar[Callable[[str], str] | None] = ContextVar("wording", default=None)


@contextlib.contextmanager
def notes_worded_by(words: Callable[[str], str]) -> Iterator[None]:
    """Let notes pass through a function: the command line calls arguments by its own names."""
    before = _wording.set(words)
    try:
        yield
    finally:
        _wording.reset(before)


def worded(note: str) -> str:
    words = _wording.get()
    return note if words is None else words(note)


class Progress:
    """What the run talks to, from its main thread: a context manager. This one shows nothing."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        pass

    def stage(self, text: str) -> None:
        """Say what is being prepared, before the chains report."""

    def update(self, status: ChainStatus) -> None:
        """Show where a chain stands."""

    def note(self, text: str) -> None:
        """Say something that stays on the screen."""


def make_progress(
    progress: bool | None, chains: int, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Progress:
    """Choose how to show a run.

    False: show nothing. True: always show. None: a live table in a terminal or a notebook; elsewhere a line now and
    then, and nothing at all for a run of a few seconds.
    """
    if stream is None and progress is not False:
        from parnidag.run.notebook import NotebookProgress, notebook_display

        if (show := notebook_display()) is not None:
            return NotebookProgress(show, clock)
    stream = sys.stderr if stream is None else stream
    if progress is False or stream is None:  # a windowed Python has no standard error
        return Progress()
    if _is_live_terminal(stream):
        return LiveProgress(stream, clock)
    return PlainProgress(chains, stream, clock, delay=0.0 if progress else SILENT_SECONDS)


class PlainProgress(Progress):
    """Lines for log files and pipes: one now and then, in plain characters."""

    def __init__(self, chains: int, stream: TextIO, clock: Callable[[], float], delay: float) -> None:
        self._chains, self._stream, self._clock, self._delay = chains, stream, clock, delay
        self._started = self._last_line = clock()
        self._spoke = False
        self._statuses: dict[int, ChainStatus] = {}

    def __enter__(self) -> Progress:
        self._started = self._last_line = self._clock()
        if self._delay == 0:
            self._say(f"{number_of(self._chains, 'chain')}, started")
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        if self._spoke:
            how = "finished" if kind is None and self._all_done() else "stopped"
            self._say(f"{how} after {duration(self._clock() - self._started)}")

    def stage(self, text: str) -> None:
        if self._due():
            self._say(text)

    def update(self, status: ChainStatus) -> None:
        self._statuses[status.chain] = status
        if self._due() and not self._all_done():
            self._say(self._summary())

    def note(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a log that went away must not end a run of hours
            self._stream.write(f"parnidag: {worded(text)}\n")
            self._stream.flush()

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
        speed = sum(status.iterations_per_second for status in statuses if status.stage != "done")
        parts = [f"{slowest.stage}, {fraction:.0%} of {number_of(self._chains, 'chain')}"]
        if speed > 0:  # unknown until the compiler is done
            parts.append(f"{rate(speed)} iterations/s")
        parts.append(f"best log posterior {best:.1f}")
        if slowest.seconds_left is not None:
            parts.append(f"about {duration(slowest.seconds_left)} left")
        return ", ".join(parts)

    def _say(self, text: str) -> None:
        self._spoke, self._last_line = True, self._clock()
        self.note(text)


class LiveProgress(Progress):
    """A table that redraws itself in a terminal, one row per chain; a spinner before the chains report."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._clock, self._started, self._stage = clock, clock(), "preparing"
        self._statuses: dict[int, ChainStatus] = {}
        self._spinner = Spinner("dots")  # one for all redraws, or it would never turn
        self._finished = False
        self._console = Console(file=stream)
        self._live = Live(
            console=self._console,
            get_renderable=lambda: self.render(self._console),
            refresh_per_second=REFRESHES_PER_SECOND,
            redirect_stdout=False,  # rich would send it to standard error
        )

    def __enter__(self) -> Progress:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        self._finished = True
        with contextlib.suppress(OSError, ValueError):  # a terminal that has gone must not cost the result
            self._live.__exit__(kind, *details)

    def stage(self, text: str) -> None:
        self._stage = text

    def update(self, status: ChainStatus) -> None:
        self._statuses[status.chain] = status

    def note(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._console.print(worded(text), markup=False, highlight=False)

    def render(self, console: Console) -> RenderableType:
        """Draw the present state for a terminal of this size; the redrawing thread calls it."""
        if self._statuses:
            return _table(sorted(self._statuses.copy().values()), console)
        if self._finished:
            return ""
        self._spinner.update(text=f"{self._stage} · {duration(self._clock() - self._started)}")
        return self._spinner


class Column(NamedTuple):
    title: str
    width: int
    priority: int
    """A narrow terminal loses the columns with the highest number first, and never those with 0."""
    cell: Callable[[ChainStatus], RenderableType]


def _bar(status: ChainStatus) -> RenderableType:
    from rich.progress_bar import ProgressBar

    return ProgressBar(total=1.0, completed=status.fraction, width=BAR_WIDTH)


def _stage_and_share(status: ChainStatus) -> str:
    if status.stage in ("tuning", "drawing"):
        return f"{status.stage:<7} {int(100 * status.fraction):>3}%"  # rounded down: 100 % is for what is done
    return status.stage


def _time_left(status: ChainStatus) -> str:
    return "" if status.stage == "done" or status.seconds_left is None else duration(status.seconds_left)


COLUMNS = (
    Column("chain", 5, 0, lambda status: str(status.chain + 1)),
    Column("stage", 12, 0, _stage_and_share),
    Column("", BAR_WIDTH, 5, _bar),
    Column("it/s", 5, 3, lambda status: rate(status.iterations_per_second)),
    Column("log post.", 10, 2, lambda status: f"{status.log_posterior:.1f}"),
    Column("accept", 6, 6, lambda status: f"{status.acceptance:.2f}"),
    Column("ω", 4, 7, lambda status: "–" if status.omega is None else f"{status.omega:.2f}"),
    Column("edges", 5, 4, lambda status: str(status.edges)),
    Column("left", 6, 1, _time_left),
)


def _table(statuses: list[ChainStatus], console: Console) -> RenderableType:
    """Draw the chains; where the terminal has too few lines, unfinished ones come first and others are counted."""
    from rich.table import Table

    columns = list(COLUMNS)
    while sum(column.width + GAP for column in columns) - GAP > console.width and len(columns) > 2:
        columns.remove(max(columns, key=lambda column: column.priority))
    table = Table(box=None, padding=(0, GAP, 0, 0), header_style="dim", pad_edge=False, caption_justify="left")
    for column in columns:
        justify = "left" if column.title in ("stage", "") else "right"
        table.add_column(column.title, justify=justify, width=column.width, no_wrap=True)  # type: ignore[arg-type]
    room = max(1, console.height - 3)  # a heading, a caption and the prompt's line
    by_interest = sorted(statuses, key=lambda status: (status.stage == "done", status.chain))
    shown, hidden = (statuses, []) if len(statuses) <= room else (sorted(by_interest[:room]), by_interest[room:])
    for status in shown:
        table.add_row(*(column.cell(status) for column in columns))
    if hidden:
        done = sum(status.stage == "done" for status in hidden)
        table.caption = f"and {number_of(len(hidden), 'more chain')}, {done} of them done"
    return table


def _is_live_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")
    except (AttributeError, ValueError):  # a stand-in stream, or a closed one
        return False


def rate(speed: float) -> str:
    """At most five characters: 950, 21.3k, 213k, 3.10M."""
    if speed < 1000:
        return f"{speed:.0f}"
    thousands = speed / 1000
    if thousands < 999.5:
        return f"{thousands:.1f}k" if thousands < 99.95 else f"{thousands:.0f}k"
    return f"{thousands / 1000:.2f}M" if thousands < 9_995 else f"{thousands / 1000:.0f}M"


def duration(seconds: float) -> str:
    """At most six characters: 9s, 1m05s, 2h03m, 5d07h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole // 60 % 60:02d}m"
    return f"{whole // 86_400}d{whole // 3600 % 24:02d}h" if whole < 99 * 86_400 else "long"
