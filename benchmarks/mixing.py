"""Where do chains mix? Samplers on problems of many kinds, from several starts, at equal CPU time.

python -m benchmarks.mixing [--data-dir DIR] [--seconds S] [--chains C] [--seeds K] [--problems a,b] [--variants x,y]
    [--starts found,empty,bare] [--jobs J] [--out FILE] [--known FILE]
python -m benchmarks.mixing --goals [--long]

Every chain gets the same CPU seconds, a fifth of them for tuning; the set-up comes on top. Replicate k of a simulated
problem is another data set, of real data another seed. "Best known" is the best score that any chain of the study has
seen on a data set (or of the one in --known); the time to it counts from the beginning of a chain's set-up. Effective
draws are those of the ten slowest edges, by batches of all chains, so that chains that disagree have few.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.chains import STARTS, warm_up
from benchmarks.figures import BestKnown, Cell, Referee, measure
from benchmarks.goals import show_goals
from benchmarks.problems import LOADERS, replicate
from parnidag._util.files import write_csv
from parnidag.errors import ParnidagError
from parnidag.samplers import ADR, MC3, PARNI, REV, OrderMCMC, PartitionMCMC
from parnidag.samplers.base import Sampler

VARIANTS: dict[str, Sampler] = {
    "parni": PARNI(),
    "parni-alone": PARNI(moves="paper"),
    "parni-reversal": PARNI(moves={"parni": 0.9, "edge_reversal": 0.1}),
    "parni-regroup": PARNI(moves={"parni": 0.9, "regroup": 0.1}),
    "parni-exchange": PARNI(moves={"parni": 0.8, "exchange": 0.2}),
    "adr-exchange": ADR(exchange=0.1),
    "parni-paper": PARNI(moves="paper", kernel="printed", eta="paper", adapt="always"),
    "adr": ADR(),
    "mc3": MC3(),
    "rev": REV(),
    "partition": PartitionMCMC(),
    "order": OrderMCMC(),
}
NOTES = (
    "† its law is not the posterior, so only its chains can be compared with each other; "
    "‡ its law is the posterior on the search space. "
    "Both see a score only of the graphs they draw, one every n iterations. "
    "Below best: mean log posterior after tuning, worst and best chain, less the best known. "
    "Chains that never meet are worth about one effective draw each."
)

Row = dict[str, float | str]


def mark(label: str) -> str:
    """Return the label with a sign where the law is not the posterior over all graphs."""
    sampler = VARIANTS[label]
    return label + ("†" if isinstance(sampler, OrderMCMC) else "‡" if isinstance(sampler, PartitionMCMC) else "")


def run_study(options: argparse.Namespace, known: BestKnown) -> list[Row]:
    """Run every cell, writing all lines so far after each, and return the lines."""
    cells: list[Cell] = []
    referee = Referee()
    todo = [
        (name, number, start, label)
        for name in available(options)
        for number in range(options.seeds)
        for start in options.starts
        for label in options.variants
    ]
    warm_up([VARIANTS[label] for label in options.variants])
    for done, (name, number, start, label) in enumerate(todo, 1):
        heading = f"[{done}/{len(todo)}] {name} #{number} {label} {start}"
        problem = replicate(name, options.data_dir, number)
        assert problem is not None  # or it would not be available
        try:
            cell = measure(
                problem,
                label,
                VARIANTS[label],
                start,
                number,
                chains=options.chains,
                seconds=options.seconds,
                jobs=options.jobs,
                referee=referee,
            )
        except ParnidagError as error:
            say(f"{heading}: skipped, {error}")
            continue
        cells.append(cell)
        rows = known.rows(cells)
        if options.out is not None:
            save(options.out, rows)
        say(f"{heading}: {in_short(rows[-1])}")
    return known.rows(cells)


def available(options: argparse.Namespace) -> list[str]:
    """Return the problems that can be made, and say which cannot."""
    names = []
    for name in options.problems:
        if replicate(name, options.data_dir, 0) is None:
            say(f"{name}: skipped, the coefficients of its network are not in --data-dir")
        else:
            names.append(name)
    return names


def in_short(row: Row) -> str:
    """Say how a cell went, by what is known so far."""
    return (
        f"best {row['best']:.4f} of {row['best_known']:.4f} ({row['reached_best']}/{row['chains']} chains), "
        f"max {row['disagreement_max']:.3f}, rms {row['disagreement_rms']:.4f}"
    )


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def save(path: Path, rows: list[Row]) -> None:
    """Write all lines, all or nothing."""
    write_csv(path, list(rows[0]), np.array([list(row.values()) for row in rows], dtype=object))


def read_known(path: Path | None) -> BestKnown:
    """Return the best scores of an earlier study."""
    known = BestKnown()
    if path is not None:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                known.learn(row["problem"], int(row["data_set"]), float(row["best_known"]))
    return known


COLUMNS: dict[str, tuple[Callable[[Row], float], str]] = {
    "10³ it/s": (lambda row: float(row["iterations_per_second"]) / 1000, ",.0f"),
    "set-up s": (lambda row: float(row["setup_seconds"]), ".2f"),
    "s to best": (lambda row: float(row["seconds_to_best"]), ".2f"),
    "reached": (lambda row: float(row["reached_best"]), "g"),
    "below best, worst": (lambda row: float(row["mean_score_lowest"]) - float(row["best_known"]), ".1f"),
    "best": (lambda row: float(row["mean_score_highest"]) - float(row["best_known"]), ".1f"),
    "edges max": (lambda row: float(row["disagreement_max"]), ".3f"),
    "edges rms": (lambda row: float(row["disagreement_rms"]), ".4f"),
    "ESS/s, slow edges": (lambda row: float(row["ess_per_second_slow"]), ".3g"),
    "MSE": (lambda row: float(row["mse_median"]), ".1e"),
}
"""Heading: the figure of one line, and how it is written."""


def over_replicates(values: list[float], form: str) -> str:
    """Write the median, and the range in parentheses when there are several."""
    if all(map(math.isnan, values)):
        return ""
    text = format(float(np.median(values)), form)
    if len(values) > 1:
        text += f" ({min(values):{form}} – {max(values):{form}})"
    return text.replace("inf", "never")


def tables(rows: list[Row], problem: str) -> list[Table]:
    """Return the figures of one problem, and the acceptance of each move in the last replicate."""
    mine = [row for row in rows if row["problem"] == problem]
    title = f"{problem}: {mine[0]['chains']} chains of {mine[0]['seconds']:g} CPU seconds, best known "
    title += ", ".join(f"{best:.4f}" for best in dict.fromkeys(float(row["best_known"]) for row in mine))
    figures = Table(title=title)
    moves = Table("variant", "start", "accepted", "of each move", title=f"{problem}: acceptance after tuning")
    figures.add_column("variant")
    figures.add_column("start")
    shown = {heading: how for heading, how in COLUMNS.items() if not all(math.isnan(how[0](row)) for row in mine)}
    for heading in shown:
        figures.add_column(heading, justify="right")
    for label, start in dict.fromkeys((str(row["variant"]), str(row["start"])) for row in mine):
        cell = [row for row in mine if (row["variant"], row["start"]) == (label, start)]
        texts = [over_replicates([figure(row) for row in cell], form) for figure, form in shown.values()]
        figures.add_row(mark(label), start, *texts)
        moves.add_row(mark(label), start, f"{cell[-1]['acceptance']:.3f}", str(cell[-1]["move_acceptance"]))
    return [figures, moves]


def choice(allowed: dict[str, object]) -> Callable[[str], list[str]]:
    """Return a reader of names in a list with commas; a name also stands for those that begin with it and a hyphen."""

    def read(text: str) -> list[str]:
        chosen = []
        for word in text.split(","):
            names = [name for name in allowed if name == word] or [n for n in allowed if n.startswith(f"{word}-")]
            if not names:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(allowed)}")
            chosen += names
        return chosen

    return read


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder with the real data and networks; simulated without it")
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds of each chain")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seeds", type=int, help="replicates: 3, or 10 with --goals")
    parser.add_argument("--problems", type=choice(dict(LOADERS)), help=", ".join(LOADERS))
    parser.add_argument("--variants", type=choice(dict(VARIANTS)), help=", ".join(VARIANTS))
    parser.add_argument("--starts", type=choice(dict(STARTS)), help=", ".join(STARTS) + "; found,empty by default")
    parser.add_argument("--jobs", type=int, default=2, help="chains that run at a time")
    parser.add_argument("--out", type=Path, help="a new file for a line for each cell, written as the study goes")
    parser.add_argument("--known", type=Path, help="results of an earlier study, whose best scores count too")
    parser.add_argument("--goals", action="store_true", help="only the default sampler, beside its goals")
    parser.add_argument("--long", action="store_true", help="with --goals: also the minute on the protein data")
    options = parser.parse_args()
    chosen = [name for name in ("problems", "variants", "starts", "out") if getattr(options, name) is not None]
    if options.goals and chosen:
        parser.error(f"--goals has its own problems and prints only: leave out --{chosen[0]}")
    if options.long and not options.goals:
        parser.error("--long belongs to --goals")
    if options.out is not None and options.out.exists():
        parser.error(f"--out {options.out} exists: name a new file")
    if options.seconds <= 0 or min(options.chains, options.jobs, 1 if options.seeds is None else options.seeds) < 1:
        parser.error("--seconds, --chains, --seeds and --jobs must be positive")
    options.seeds = options.seeds or (10 if options.goals else 3)
    options.problems = options.problems or list(LOADERS)
    options.variants = options.variants or list(VARIANTS)
    options.starts = options.starts or ["found", "empty"]
    return options


def main() -> None:
    options = read_options()
    console = Console(width=None if sys.stdout.isatty() else 200)
    known = read_known(options.known)
    if options.goals:
        show_goals(options, known, console, say)
        return
    rows = run_study(options, known)
    for problem in dict.fromkeys(str(row["problem"]) for row in rows):
        for table in tables(rows, problem):
            console.print(table)
    console.print(NOTES)


if __name__ == "__main__":
    main()
