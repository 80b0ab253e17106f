from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys

import pytest
from rich.console import Console

from parnidag.run.progress import (
    ChainStatus,
    LiveProgress,
    PlainProgress,
    Progress,
    duration,
    make_progress,
    notes_worded_by,
    rate,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def status(chain=0, stage="drawing", iteration=500, **changes):
    base = ChainStatus(chain, stage, iteration, 1000, 213_456.0, -12_627.1976, 0.234, 0.125, 161)
    return base._replace(**changes)


def test_choice_of_display(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert type(make_progress(False, 2, stream=Terminal())) is Progress
    for shown in (None, True):
        assert isinstance(make_progress(shown, 2, stream=Terminal()), LiveProgress)
        assert isinstance(make_progress(shown, 2, stream=io.StringIO()), PlainProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(make_progress(None, 2, stream=Terminal()), PlainProgress)


def test_without_standard_error_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert type(make_progress(None, 2)) is Progress


@pytest.mark.parametrize("shown", [True, False])
def test_goes_to_standard_error_only_or_nowhere(capsys, shown):
    with make_progress(shown, 1) as progress:
        progress.stage("warm start")
        progress.update(status())
        progress.note("noted")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("noted" in captured.err) is shown


def test_short_plain_run_is_silent():
    stream, clock = io.StringIO(), Clock()
    with make_progress(None, 1, stream=stream, clock=clock) as progress:
        for second in range(5):
            clock.now = 1000.0 + second * 0.9
            progress.update(status())
        progress.update(status(stage="done", iteration=1000))
    assert stream.getvalue() == ""


def test_long_plain_run_speaks_every_ten_seconds():
    stream, clock = io.StringIO(), Clock()
    with make_progress(None, 2, stream=stream, clock=clock) as progress:
        for second in range(60):
            clock.now = 1000.0 + second
            progress.update(status(iteration=10 * second))
            progress.update(status(chain=1, iteration=10 * second))
        for chain in range(2):
            progress.update(status(chain, stage="done", iteration=1000))
    lines = stream.getvalue().splitlines()
    # Lines are due at 5, 15, 25, 35, 45 and 55 seconds, and the end has its own.
    assert len(lines) == 7
    assert all(line.startswith("parnidag: ") for line in lines)
    assert "drawing, 15% of 2 chains" in lines[1]
    assert "427k iterations/s" in lines[1]
    assert lines[-1] == "parnidag: finished after 59s"


@pytest.mark.parametrize(
    ("last", "error", "ending"),
    [
        (status(stage="done", iteration=1000), None, "finished"),
        (status(stage="done", iteration=1000), RuntimeError, "stopped"),
        (status(), None, "stopped"),
    ],
)
def test_a_plain_run_says_how_it_ended(last, error, ending):
    stream = io.StringIO()
    with contextlib.suppress(RuntimeError), make_progress(True, 1, stream=stream, clock=Clock()) as progress:
        progress.update(last)
        if error is not None:
            raise error
    assert stream.getvalue() == f"parnidag: 1 chain, started\nparnidag: {ending} after 0s\n"


def test_a_log_that_went_away_does_not_end_the_run():
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    with make_progress(True, 1, stream=Gone()) as progress:
        progress.note("noted")
    closed = io.StringIO()
    with make_progress(True, 1, stream=closed) as progress:
        closed.close()
        progress.note("noted")


def rendered(statuses, width, height=25):
    progress = LiveProgress(Terminal(), Clock())
    progress.stage("warm start")
    for each in statuses:
        progress.update(each)
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    console.print(progress.render(console))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 70, 60, 50, 40, 25])
def test_live_table_fits_the_terminal_and_truncates_nothing(width):
    lines = rendered([status(), status(chain=1, omega=None), status(2, stage="done", iteration=1000)], width)
    assert len(lines) == 4
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert "drawing  50%" in lines[1]
    assert lines[3].split()[:2] == ["3", "done"]


def test_live_table_shows_everything_at_80_columns():
    heading, first, second = rendered([status(), status(chain=1, omega=None)], 80)
    assert heading.split() == ["chain", "stage", "it/s", "log", "post.", "accept", "ω", "edges", "left"]
    cells = re.sub(r"[━╸╺]+", "", first).split()
    assert cells == ["1", "drawing", "50%", "213k", "-12627.2", "0.23", "0.12", "161", "0s"]
    assert "–" in second


def test_more_chains_than_lines():
    statuses = [status(c, stage="done" if c < 5 else "drawing") for c in range(40)]
    lines = rendered(statuses, 80, height=12)
    assert len(lines) <= 12
    assert lines[1].split()[0] == "6"  # unfinished chains come first
    assert lines[-1].strip() == "and 31 more chains, 5 of them done"


def test_before_the_chains_report_the_stage_is_shown():
    assert "warm start" in rendered([], 80)[0]


def test_live_run_ends_with_the_last_state(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with make_progress(None, 1, stream=stream) as progress:
        progress.stage("warm start")
        progress.update(status())
        progress.note("a [note] that stays")
        progress.update(status(stage="done", iteration=1000, edges=163))
    shown = stream.getvalue()
    assert "a [note] that stays" in shown
    assert "163" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1  # the cursor comes back


def test_rates_and_durations_are_short():
    rates = {0.0: "0", 950.4: "950", 21_300: "21.3k", 213_456: "213k", 999_600: "1.00M", 3.1e6: "3.10M"}
    assert {speed: rate(speed) for speed in rates} == rates
    times = {0.2: "0s", 59.6: "1m00s", 65: "1m05s", 7385: "2h03m", 86_400 * 5 + 7 * 3600: "5d07h", 1e12: "long"}
    assert {seconds: duration(seconds) for seconds in times} == times


def test_unknown_speed_and_length():
    assert status(iterations_per_second=0.0).seconds_left is None
    assert status(total=0).fraction == 1.0
    assert status(iteration=2000).fraction == 1.0


def test_rich_is_loaded_only_for_a_terminal():
    code = (
        "import sys\n"
        "from parnidag.run.progress import make_progress\n"
        "with make_progress(True, 1) as progress: progress.note('x')\n"
        "assert 'rich' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_notes_can_be_put_into_other_words():
    stream = io.StringIO()
    progress = PlainProgress(1, stream, lambda: 0.0, delay=9.0)
    with notes_worded_by(lambda note: note.replace("score='copula'", "--score copula")):
        progress.note("ranks alone: score='copula'")
    progress.note("ranks alone: score='copula'")
    assert stream.getvalue() == "parnidag: ranks alone: --score copula\nparnidag: ranks alone: score='copula'\n"
