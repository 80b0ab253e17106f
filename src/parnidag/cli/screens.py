"""What the command line shows: sentences, tables of edges and the verdict, for a terminal or for a pipe."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parnidag._util.text import name_and_options, number_of, visible
from parnidag.cli.pairs import pairs_of
from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    import pandas as pd

    from parnidag.results.posterior import Posterior
    from parnidag.simulation import Simulation

_OF_EDGES = ("joined", "direction", "probability", "coefficient", "mcse", "ess", "rhat")
NUMERIC = (*_OF_EDGES, "first", "second", "difference", "in MC errors")

RENAMED = {"forbidden": "forbid", "required": "require", "kinds": "kind"}
"""Arguments of the library whose options have another name."""

VERDICT_STYLE = {True: "green", None: "yellow", False: "bold red"}
OPEN_STYLE = "magenta"
"""Colours of a terminal, never used alone; none in a pipe, and none where NO_COLOR is set."""

MOST_LIKELY = 5
"""How many edges are named when none is probable enough for the table."""

MOST_ROWS = 30


def print_edges(summary: pd.DataFrame, threshold: float, nodes: int, believed: bool = True) -> None:
    """Print a row for each pair of nodes that an edge joins; evidence only of a run that can be believed."""
    pairs = pairs_of(summary, threshold, believed)
    say(f"{nodes} nodes, {number_of(len(pairs), 'pair')} joined with probability {threshold:g} or more.")
    if not pairs:
        likeliest = summary.head(MOST_LIKELY).itertuples()
        shown = ", ".join(f"{row.parent} → {row.child} {row.probability:.2f}" for row in likeliest)
        say(f"The most probable: {shown}. A lower --threshold lists more." if shown else "No edge was seen at all.")
        return
    formats = {"coefficient": "+.2f", "mcse": ".3f", "ess": ".0f", "rhat": ".3f", "evidence": ""}
    known = [name for name in formats if any(pair.get(name) is not None for pair in pairs)]
    rows = [
        [pair["parent"], "→" if pair["told"] else "–", pair["child"], f"{pair['joined']:.3f}", _direction(pair)]
        + [cell(pair[name], formats[name]) for name in known]
        for pair in pairs
    ]
    print_table(["parent", "", "child", "joined", "direction", *known], rows)
    if any(not pair["told"] for pair in pairs):
        say("Where a – stands the direction is open, and both of its probabilities are given.")


def _direction(pair: Mapping[str, Any]) -> str:
    there, back = pair["probability"], pair["back"]
    return f"{there:.2f}" if pair["told"] else f"{there:.2f}/{back:.2f}"


def print_beside_truth(summary: pd.DataFrame, truth: Simulation, threshold: float = 0.5) -> None:
    """Print the pairs that are probably joined, and those that truly are, each with what is true of it."""
    true = set(truth.edges)
    rows, found, left = [], Counter[str](), set(true)
    for pair in pairs_of(summary, 0.0):
        ends = (pair["parent"], pair["child"])
        right, wrong = ends in true, ends[::-1] in true
        left -= {ends, ends[::-1]}
        kind = "no"
        if right or wrong:
            kind = ("yes" if right else "reversed") if pair["told"] else "direction open"
        if pair["joined"] >= threshold:
            found[kind] += 1
        if pair["joined"] >= threshold or kind != "no":
            arrow = "→" if pair["told"] else "–"
            rows.append([pair["parent"], arrow, pair["child"], f"{pair['joined']:.3f}", _direction(pair), kind])
    rows += [[parent, "→", child, "0.000", "-", "not found"] for parent, child in sorted(left)]
    print_table(["parent", "", "child", "joined", "direction", "true edge?"], rows)
    told, turned, unsure = (found[kind] for kind in ("yes", "reversed", "direction open"))
    say(
        f"Joined with probability {threshold:g} or more: {told + turned + unsure} of the {len(true)} true edges "
        f"({told} in the true direction, {unsure} of open direction, {turned} reversed), "
        f"and {number_of(found['no'], 'other pair')}."
    )
    if unsure:
        say("Where a – stands the data cannot tell the direction, and both of its probabilities are given.")


def print_conclusion(posterior: Posterior) -> None:
    """Print the score, then the log evidence of an exact result, or whether the chains of a sampled one agree."""
    if score := name_and_options(posterior.settings.get("score")):
        say(f"Score: {score}.")
    from parnidag.results.learned import learned_in_words  # only here: pandas is slow to load

    if words := learned_in_words(posterior.settings):
        say(f"Learned, most probable first: {words}.")
    dropped = dict(posterior.settings.get("data") or {}).get("dropped_rows")
    if dropped:
        say(f"{number_of(dropped, 'row')} with missing values left out.")
    if posterior.log_evidence is not None:
        say(f"Exact: all graphs were added up; log evidence {posterior.log_evidence:.4f}.", VERDICT_STYLE[True])
        return
    diagnostics = posterior.diagnostics()
    say(diagnostics.verdict, VERDICT_STYLE[diagnostics.converged])
    for advice in diagnostics.advice:
        say(f"- {in_option_words(advice, posterior.nodes)}")
    for caveat in diagnostics.caveats:
        say(f"Note: {in_option_words(caveat, posterior.nodes)}.")


def print_differences(first: Posterior, second: Posterior, least: float) -> None:
    from parnidag.results.compare import compare

    table, n = compare(first, second), len(first.nodes)
    shown = table[table["difference"].abs() > least]
    largest = table["difference"].abs().max() if len(table) else 0.0
    rms = math.sqrt((table["difference"] ** 2).sum() / (n * (n - 1)))
    say(f"Over all {n} nodes: largest difference {largest:.3f}, root mean square {rms:.4f}.")
    if shown.empty:
        say(f"No edge differs by more than {least:g}.")
        return
    formats = {"parent": "", "child": "", "first": ".3f", "second": ".3f", "difference": "+.3f", "z": "+.1f"}
    rows = [
        [cell(row[name], number_format) for name, number_format in formats.items()]
        for row in shown.head(MOST_ROWS).astype(object).where(shown.notna(), None).to_dict("records")
    ]
    print_table(["parent", "child", "first", "second", "difference", "in MC errors"], rows)
    if len(shown) > MOST_ROWS:
        say(f"… and {len(shown) - MOST_ROWS} more edges that differ by more than {least:g}.")


def print_against_truth(results: Mapping[str, Posterior], truth: Path) -> None:
    """Print how far each result is from a known graph: a row for each figure, a column for each result."""
    from parnidag.metrics.distances import evaluate

    columns = {name: evaluate(posterior, truth) for name, posterior in results.items()}
    figures = next(iter(columns.values())).index
    rows = [[figure, *(cell(column[figure], _format(figure)) for column in columns.values())] for figure in figures]
    print_table(["against the truth", *columns], rows, numbers=columns)


def _format(figure: str) -> str:
    """Choose how to write a figure by its name: a distance of 1 is a count, an area of 1 is not."""
    return ".0f" if re.search(r"(edges|shd|shd_twice|shd_cpdag|sid|_distance)$", figure) else ".3f"


class UsageError(ParnidagError):
    """A mistake on the command line, already in its words."""


def error_line(error: Exception, options: Collection[str]) -> str:
    """Write an error for the command line: an argument that it begins with, and its remedy, as options.

    What stands between is left alone: there are paths and names in it.
    """
    text = str(error)
    if not isinstance(error, ParnidagError) or isinstance(error, UsageError):
        return text
    text, remedy = (text, "") if error.remedy is None else (text.removesuffix(error.remedy), error.remedy)
    text = text.removeprefix("path: ")  # on the command line a file has no name but its own
    argument = "truth" if text.startswith("truth: ") else error.argument
    named = "" if argument is None else RENAMED.get(argument, argument)
    if named in options:
        option = f"--{named.replace('_', '-')}"
        text = re.sub(r", or None( for [^,]+)?(?=, got )", "", text)  # an option is left out instead
        text = re.sub(rf"^{argument}(=['\"]?(\w+)['\"]?)?", lambda found: f"{option} {found[2] or ''}".strip(), text)
    return text + in_option_words(remedy)


def in_option_words(text: str, names: Iterable[str] = ()) -> str:
    """Turn the library's way of naming arguments into options: draws=4000 becomes --draws 4000, names of nodes stay."""
    kept = [name for name in names if _in_option_words(name) != name]
    if not kept:
        return _in_option_words(text)
    known = "|".join(map(re.escape, sorted(kept, key=len, reverse=True)))
    parts = re.split(rf"((?<!\w)(?:{known})(?!\w))", text)
    return "".join(part if k % 2 else _in_option_words(part) for k, part in enumerate(parts))


def _in_option_words(text: str) -> str:
    text = re.sub(r"\b(draws|chains|tune|thin)=(\d+)", r"--\1 \2", text)
    text = re.sub(r"\b(missing|kind|score)=['\"](\w+)['\"]", r"--\1 \2", text)
    text = re.sub(r"\bkinds=\{'([^']*)': '(\w+)'\}", r"--kind \1=\2", text)
    text = re.sub(r"\b(drop|columns)=\[([^]]*)\]", _names_option, text)
    for ours, theirs in (
        ("parnidag.sample", "parnidag sample"),
        ("parnidag.exact(data)", "parnidag exact"),
        ("samplers.PARNI()", "--sampler parni"),
        ("samplers.PartitionMCMC()", "--sampler partition"),
        ("PartitionMCMC", "--sampler partition"),
        ("an EdgePrior that forbids edges", "--forbid"),
        (", or a larger memory=", ""),
        ("raise tune", "raise --tune"),
        ("of the run as data=", "of the run with --data"),
    ):
        text = text.replace(ours, theirs)
    return text


def _names_option(found: re.Match[str]) -> str:
    names = [f'"{name}"' if "," in name else name for name in re.findall(r"'([^']*)'", found[2])]
    listed = ",".join(names)
    return f"--{found[1]} {listed}" if re.fullmatch(r"[\w.,-]+", listed) else f"--{found[1]} '{listed}'"


def cell(value: object, number_format: str) -> str:
    """Format a value; a figure that does not exist is a dash, not a "nan"."""
    missing = value is None or value != value
    return "-" if missing else format(value, number_format)


def say(text: str, style: str | None = None) -> None:
    """Print a line: wrapped in a terminal, whole in a pipe; names cannot steer the terminal."""
    text = visible(text)
    if not sys.stdout.isatty():
        sys.stdout.write(f"{text}\n")
        return
    from rich.console import Console

    Console().print(text, markup=False, highlight=False, style=style)


def print_json(answer: Mapping[str, Any]) -> None:
    """Print one JSON object, plain in a terminal too, so that it can be copied."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


LOST = ("in MC errors", "difference", "rhat", "ess", "mcse", "evidence", "direction", "negative", "positive", "sd")
"""The columns that a narrow terminal loses, in this order."""


def print_table(headings: list[str], rows: list[list[str]], numbers: Collection[str] = NUMERIC) -> None:
    """Print a table: drawn for the width of a terminal, aligned plain text in a pipe; a name stays on its line."""
    rows = [[visible(text) for text in row] for row in rows]
    widths = [max(len(line[k]) for line in [headings, *rows]) for k in range(len(headings))]
    numeric = [heading in numbers for heading in headings]
    if not sys.stdout.isatty():
        for line in [headings, *rows]:
            cells = [f"{c:>{w}}" if n else f"{c:<{w}}" for c, w, n in zip(line, widths, numeric, strict=True)]
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown, headings = _that_fit(headings, widths, console.width)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for k in shown:
        table.add_column(headings[k], justify="right" if numeric[k] else "left", overflow="fold", no_wrap=numeric[k])
    for row in rows:
        table.add_row(*(Text(row[k]) for k in shown), style=OPEN_STYLE if "–" in row else None)
    console.print("", table, "", sep="\n")


def _that_fit(headings: list[str], widths: list[int], width: int) -> tuple[list[int], list[str]]:
    """Choose the columns, and shorten their headings, for a terminal of this width."""
    shown = list(range(len(headings)))
    for dropped in LOST:
        if sum(widths[k] + 2 for k in shown) <= width:
            return shown, headings
        shown = [k for k in shown if headings[k] != dropped]
    short = {"probability": "prob.", "true edge?": "true?"}
    return shown, [short.get(heading, heading) for heading in headings]
