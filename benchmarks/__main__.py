"""Every table and figure of the paper, and some of our own, one command each.

python -m benchmarks table1 --scale quick

Each replication of each method is a task with its own CPU time, kept on disk
when it is done: a study that was stopped, or that is asked for more
replications, goes on with what is missing. In the folder of --out come
STUDY-SCALE.csv (a line a task), .md (the table beside the paper's), .svg (the
figure) and .json (machine and versions).
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import signal
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
from rich.console import Console

from benchmarks.harness.environment import environment
from benchmarks.harness.store import Store
from benchmarks.harness.study import SCALES, Report, Request, Row, Study
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.harness.workers import run_all
from benchmarks.networks import MissingData
from benchmarks.studies import STUDIES
from parnidag._util.files import replacing
from parnidag.errors import DataError

FOLDER = Path(__file__).parent / "results"
LINE_EVERY = 15.0
"""Seconds between lines of progress when no one looks at a terminal."""


class Clock:
    """Says how far a study is: one line that changes in a terminal, sparse lines elsewhere."""

    def __init__(self, total: int, known: int, console: Console) -> None:
        self.total, self.known, self.done, self.console = total, known, 0, console
        self.began = self.said = time.monotonic()
        if known:
            self.say(f"{known} of {total} tasks are known from before")

    def __call__(self, task: Task, outcome: Outcome) -> None:
        """Take note of a finished task."""
        self.done += 1
        now, left = time.monotonic(), self.total - self.known - self.done
        if outcome.status != "done":
            self.say(f"{task.describe()}: {outcome.status}: {outcome.note.strip()}")
        if not (self.console.is_terminal or now - self.said > LINE_EVERY or left == 0):
            return
        self.said = now
        minutes = (now - self.began) / self.done * left / 60
        text = f"{self.known + self.done}/{self.total} tasks, about {minutes:.1f} minutes left: {task.describe()}"
        room = self.console.width - 1
        if self.console.is_terminal:
            self.say(text[:room].ljust(room), "\r" if left else "\n")
        else:
            self.say(text)

    def say(self, text: str, end: str = "\n") -> None:
        """Write a line as it is."""
        self.console.print(text, end=end, highlight=False, markup=False, soft_wrap=True)


def run_study(study: Study, request: Request, out: Path, jobs: int, console: Console) -> list[Path]:
    """Run what is not known yet, and write the results; return the files."""
    size = study.sizes[request.scale]
    tasks = study.tasks(request, size)
    if not tasks:
        raise MissingData("nothing to do: this scale has none of these methods")
    store = Store(out / "cache")
    outcomes = {task.digest: outcome for task in tasks if (outcome := store.get(task)) is not None}
    clock = Clock(len(tasks), len(outcomes), console)

    def keep(task: Task, outcome: Outcome) -> None:
        store.put(task, outcome)
        outcomes[task.digest] = outcome
        clock(task, outcome)

    missing = [task for task in tasks if task.digest not in outcomes]
    if missing:
        run_all(missing, jobs, keep)
    found: Found = [(task, outcomes[task.digest]) for task in tasks]
    report = study.report(request, size, found)
    files = write(report, out / f"{study.name}-{request.scale}", request, study.name)  # first: a screen can fail
    console.print(report.markdown + request.in_words(), highlight=False, markup=False, soft_wrap=True)
    return files


def write(report: Report, stem: Path, request: Request, study: str) -> list[Path]:
    """Write a report's files, each all or nothing."""
    files = [stem.with_suffix(".csv"), stem.with_suffix(".md"), stem.with_suffix(".json")]
    with replacing(files[0]) as temporary:
        write_rows(temporary, report.rows)
    with replacing(files[1]) as temporary:
        temporary.write_text(f"{report.markdown}{request.in_words()}\n", encoding="utf-8")
    said = {"study": study, **request.describe(), **environment()}
    with replacing(files[2]) as temporary:
        temporary.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    for ending, figure in report.figures.items():
        path = stem.with_name(f"{stem.name}{ending}.svg")
        with replacing(path) as temporary, plt.rc_context({"svg.hashsalt": study}):
            figure.savefig(temporary, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        files.append(path)
    return files


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write a tidy table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(list(rows[0]) if rows else [])
        writer.writerows([["" if value is None else value for value in row.values()] for row in rows])


def read_options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="studies:\n" + "\n".join(f"  {study.name:10} {study.about}" for study in STUDIES.values()),
    )
    parser.add_argument("study", choices=[*STUDIES, "all"], metavar="study", help="see below; all: one after the other")
    parser.add_argument("--scale", choices=SCALES, default="quick", help="quick: at most two minutes on two cores")
    parser.add_argument("--replications", type=positive, metavar="R", help="those of the scale by default")
    parser.add_argument("--seed", type=positive, default=1, metavar="S", help="another one for other data and chains")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="J", help="processes; all cores")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="DIR", help="benchmarks/results by default")
    parser.add_argument("--data", type=Path, metavar="PATH", help="a CSV file, or a folder with the paper's data")
    parser.add_argument(
        "--methods", type=lambda text: tuple(map(str.strip, text.split(","))), metavar="A,B", help="only these"
    )
    parser.add_argument("--seconds", type=positive_number, metavar="T", help="CPU seconds of each sampler")
    options = parser.parse_args(words)
    chosen = list(STUDIES.values()) if options.study == "all" else [STUDIES[options.study]]
    if options.data is not None and not options.data.exists():
        parser.error(f"--data {options.data} does not exist")
    if options.data is not None:
        kind = "a folder" if options.data.is_dir() else "a file"
        allowed = ("a folder",) if options.study == "all" else chosen[0].data
        if kind not in allowed:
            takes = " or ".join(allowed) or "none: it makes its own data"
            parser.error(f"--data {options.data} is {kind}; {options.study} takes {takes}")
    known = {name.lower(): name for study in chosen for name in study.methods}
    for name in options.methods or ():
        if name.lower() not in known:
            parser.error(f"--methods: {name!r} is not one of {', '.join(sorted(known.values()))}")
    options.methods = options.methods and tuple(known[name.lower()] for name in options.methods)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {options.out}: {error.strerror}")
    if not os.access(options.out, os.W_OK):
        parser.error(f"--out {options.out} cannot be written to")
    options.chosen = chosen
    return options


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def positive_number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def end_politely(number: int, frame: object) -> None:
    """Let SIGTERM end the processes too."""
    raise SystemExit(128 + number)


def main(words: list[str] | None = None) -> int:
    options = read_options(words)
    signal.signal(signal.SIGTERM, end_politely)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every pipe has all letters
    console = Console(stderr=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100)
    request = Request(options.scale, options.replications, options.seed, options.data, options.methods, options.seconds)
    for study in options.chosen:
        if not request.chosen(study.methods):
            continue  # one of several studies, and none of its methods is wanted
        console.rule(f"{study.name}, {request.scale}")
        try:
            files = run_study(study, request, options.out, options.jobs, console)
        except (MissingData, DataError) as error:
            console.print(f"{study.name}: {error}", highlight=False, markup=False, soft_wrap=True)
            if options.study != "all":
                return 2
            continue
        except KeyboardInterrupt:
            console.print("\nstopped; the same command goes on with what is missing")
            return 130
        console.print("wrote " + ", ".join(str(path) for path in files), highlight=False, markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
