"""The commands that read saved results: report, compare and effects.

Everything heavy is imported inside the commands, so that ``--help`` and a mistyped option answer at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from parnidag.cli.screens import UsageError, print_against_truth, print_differences, print_json
from parnidag.cli.written import check_report, check_writable, deliver_report

DIFFERENCE = 0.05
"""`compare` lists edges that differ by more than this."""


def report(
    result: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="FILE.html")] = None,
    title: str | None = None,
    open_: Annotated[bool, Parameter(name="--open", negative="", show_default=False)] = False,
) -> int:
    """Write the report of a saved result: one HTML file with the graph, the edges and the diagnostics.

    Parameters
    ----------
    result
        The result, as "parnidag sample -o FILE.nc" saved it.
    output
        Write the report here. Default: beside the result, under its name with .html.
    title
        Heading of the report. Default: the name of the result.
    open_
        Open the report in the browser.
    """
    path = result.with_suffix(".html") if output is None else output
    check_report(path, result, option="--output")

    from parnidag.results.netcdf import load

    deliver_report(load(result), path, open_, title=result.stem if title is None else title)
    return 0


def compare(
    *results: Path,
    truth: Annotated[Path | None, Parameter(metavar="FILE.csv")] = None,
    difference: float | None = None,
) -> int:
    """Compare saved results with one another, or with a known graph.

    Parameters
    ----------
    results
        Results (FILE.nc) over the same nodes: two to compare with one another, or any number with --truth.
    truth
        The true graph: a row for each parent, a column for each child, 1 for an edge ("parnidag simulate --truth").
    difference
        With two results: list the edges whose probabilities differ by more than this. Default: 0.05.
    """
    if len(results) < (1 if truth is not None else 2):
        raise UsageError("compare needs two results (FILE.nc), or one and --truth FILE.csv")
    if len(results) > 2 and truth is None:
        raise UsageError(f"compare takes two results, not {len(results)}; any number with --truth FILE.csv")
    if difference is not None and len(results) != 2:
        raise UsageError(f"--difference belongs to two results, not {len(results)}: they alone are listed edge by edge")
    least = DIFFERENCE if difference is None else difference
    if not 0 <= least <= 1:
        raise UsageError(f"--difference {least:g} must be between 0 and 1")

    from parnidag.results.netcdf import load

    found = {str(path): load(path) for path in results}
    if len(found) < len(results):
        raise UsageError("compare: a result is named twice")
    if len(found) == 2:
        first, second = found.values()
        print_differences(first, second, least)
    if truth is not None:
        print_against_truth(found, truth)
    return 0


def effects(
    result: Path,
    /,
    *,
    cause: Annotated[str | None, Parameter(metavar="NODE")] = None,
    effect: Annotated[str | None, Parameter(metavar="NODE")] = None,
    do: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NODE=VALUE")] = (),
    versus: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NODE=VALUE")] = (),
    data: Path | None = None,
    standardised: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="FILE.csv")] = None,
    json: Annotated[bool, Parameter(name="--json", negative="", show_default=False)] = False,
) -> int:
    """Say what causes do, from a saved result: total effects, or what happens if nodes are set.

    Effects are averaged over graphs and parameters. They assume that there are no hidden common causes, that relations
    are as the score has them, and that values like those set occur in the data.

    Parameters
    ----------
    result
        The result, as "parnidag sample -o FILE.nc" saved it.
    cause
        Only the effects of this node.
    effect
        Only the effects on this node.
    do
        Set a node to a value, and show every other node. Repeatable: all are set together.
    versus
        With --do: show by how much it differs from setting nodes so instead. Repeatable.
    data
        The table of the run, where the result does not keep what this takes; it then says so.
    standardised
        Show effects in standard deviations.
    output
        Write the whole table here.
    json
        Print the whole table as one JSON object.
    """
    if json and output is not None:
        raise UsageError("--json prints the whole table: leave out --output")
    if do and (cause or effect or standardised):
        raise UsageError("--do shows all nodes in their units: leave out --cause, --effect and --standardised")
    if versus and not do:
        raise UsageError("--versus belongs to --do")
    if output is not None and output.suffix != ".csv":
        raise UsageError(f"--output {output}: the table is written as CSV, so name it *.csv")
    check_writable("--output", output, result)

    from parnidag.cli.causes import as_json, contrast_table, effect_table, outcome_table, settings_of
    from parnidag.results.netcdf import load

    posterior = load(result)
    one, other = settings_of(do, "--do"), settings_of(versus, "--versus")
    if json:
        print_json(as_json(posterior, cause, effect, one, other, standardised, data))
    elif versus:
        contrast_table(posterior, one, other, data, output)
    elif do:
        outcome_table(posterior, one, data, output)
    else:
        effect_table(posterior, cause, effect, standardised, data, output)
    return 0
