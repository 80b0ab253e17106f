"""The commands that run something on a table: demo, sample, exact, scores and simulate.

Everything heavy is imported inside the commands, so that ``--help`` and a mistyped option answer at once.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from parnidag._util.text import name_and_options, number_of, visible
from parnidag.cli.compiling import compile_answers_beside, compile_rest_beside
from parnidag.cli.model import MaybeWhole, ModelOptions, Whole
from parnidag.cli.options import OutputOptions, RunningOptions, SamplingOptions
from parnidag.cli.process import INTERRUPTED, TERMINATED
from parnidag.cli.screens import UsageError, in_option_words, print_beside_truth, print_conclusion, say
from parnidag.cli.written import check_report, check_writable, deliver_report, demo_report_path

if TYPE_CHECKING:
    from parnidag.data.table import Data
    from parnidag.results.posterior import Posterior
    from parnidag.scores.base import Score

WORKERS_LOST = NOT_WRITTEN = 1

LONG_SECONDS = 2.0
"""From here on, `exact` says beforehand how long it takes."""

DEMO_DRAWS = 500
"""Half the default, which is plenty for the demo's network and keeps it to a few seconds."""


def demo(
    *,
    seed: MaybeWhole = None,
    rows: Whole = 400,
    report: Annotated[Path | None, Parameter(metavar="FILE.html")] = None,
    open_: Annotated[bool, Parameter(name="--open", negative="", show_default=False)] = False,
) -> int:
    """Find a small known network in simulated data, compare the answer with the truth, and write a report to look at.

    Parameters
    ----------
    seed
        Seed of the data and of the draws. Default: a fixed one.
    rows
        Rows of data to simulate.
    report
        Write the report here. Default: parnidag-demo.html in this folder.
    open_
        Open the report in the browser.
    """
    from parnidag.simulation import EXAMPLE_SEED, example_network

    path = demo_report_path() if report is None else report
    check_report(path)
    truth = example_network(rows=rows, seed=EXAMPLE_SEED if seed is None else seed)
    say(
        f"An invented garden: {len(truth.names)} quantities, {len(truth.edges)} known effects, "
        f"{number_of(rows, 'simulated row')} (seed {truth.seed})."
    )

    import parnidag

    compile_answers_beside()
    table = parnidag.Data(truth.values, names=truth.names)
    posterior = parnidag.sample(table, draws=DEMO_DRAWS, seed=truth.seed)
    print_beside_truth(posterior.summary(0.0), truth)
    print_conclusion(posterior)
    deliver_report(posterior, path, open_, title="The demo garden")
    if sys.stderr.isatty() and compile_rest_beside():
        say("In the background, once on this machine: compiling what other tables need, for about a minute.")
    say("Your table:  parnidag sample your.csv -o posterior.nc --report report.html")
    return _exit_code(posterior)


def sample(
    data: Path,
    /,
    *,
    sampling: SamplingOptions = SamplingOptions(),  # noqa: B008 (frozen)
    model: ModelOptions = ModelOptions(),  # noqa: B008
    running: RunningOptions = RunningOptions(),  # noqa: B008
    results: OutputOptions = OutputOptions(),  # noqa: B008
) -> int:
    """Find how probable every edge is, from a table of data: exactly if there are few columns, else by sampling graphs.

    Up to 20 columns (17 of classes) all graphs are added up, and independent graphs are drawn. --sampler,
    --kernel, --moves, --rungs, --space, --start, --tune and --thin ask for chains instead, and so does a checkpoint
    that exists.

    Ctrl-C (or SIGTERM) stops the chains early; once every chain has a draw, what they have found is still printed and
    saved. With --checkpoint the same command goes on from there.

    Parameters
    ----------
    data
        The table: a CSV or Parquet file with one column for each node.
    """
    running.check(data)
    results.check(data, *running.files(), *sampling.files())

    import parnidag

    prior, sampler, table = model.prior(), sampling.algorithm(), model.data(data)
    score = model.chosen_score(table)
    seed = running.seed(sampling.seed)
    space, start = sampling.search_space(table, prior, score, seed), sampling.first_graphs()
    from parnidag.run.progress import notes_worded_by

    words = notes_worded_by(lambda note: in_option_words(note, table.names))
    compile_answers_beside()
    with running.executor() as executor, words, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", parnidag.StoppedWarning)
        posterior = parnidag.sample(
            table,
            score=score,
            prior=prior,
            sampler=sampler,
            space=space,
            start=start,
            draws=sampling.draws,
            tune=sampling.tune,
            thin=sampling.thin,
            chains=sampling.chains,
            seed=seed,
            executor=executor,
            progress=False if results.quiet else None,
            checkpoint=running.checkpoint,
            output=results.output,
        )
    unwritten = _say_warnings(caught)
    results.deliver(posterior, saved=not unwritten)
    return NOT_WRITTEN if unwritten else _exit_code(posterior)


def exact(
    data: Path,
    /,
    *,
    draws: Whole = 0,
    seed: MaybeWhole = None,
    model: ModelOptions = ModelOptions(),  # noqa: B008
    results: OutputOptions = OutputOptions(),  # noqa: B008
) -> int:
    """Compute the posterior exactly, for up to 22 nodes.

    Parameters
    ----------
    data
        The table: a CSV or Parquet file with one column for each node.
    draws
        Independent graphs to draw from the posterior.
    seed
        Seed of the draws.
    """
    results.check(data)

    import parnidag

    prior, table = model.prior(), model.data(data)
    score = model.chosen_score(table)
    if not results.quiet:
        _describe_table(table, score)
        _announce_long_sum(table.n_scored)
    posterior = parnidag.exact(table, score=score, prior=prior, draws=draws, seed=seed)
    results.deliver(posterior)
    return _exit_code(posterior)


def scores(
    data: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], metavar="FILE.jkl")],
    model: ModelOptions = ModelOptions(),  # noqa: B008 (frozen)
) -> int:
    """Write the local scores of a table, for other programs: one for each node and set of parents.

    What the prior says of edges is part of them, so their sum over the nodes of a graph is its log posterior, and
    "parnidag sample FILE.jkl" samples the same posterior; --h 0.5 writes the data's part alone. A value of the score
    that would be learned along with the graph is the one that suits the best graph found.

    Parameters
    ----------
    data
        The table: a CSV or Parquet file with one column for each node.
    output
        Write the scores here, in the format of GOBNILP. --max-parents keeps the file small.
    """
    if output.suffix != ".jkl":
        raise UsageError(f"--output {output}: local scores are written as FILE.jkl")
    check_writable("--output", output, data)

    from parnidag.priors.edge_prior import chosen_prior
    from parnidag.scores.listed import Table
    from parnidag.space.default import at_likeliest
    from parnidag.target import Target

    table = model.data(data)
    score = model.chosen_score(table)
    target = Target.build(table, score, chosen_prior(model.prior(), score))
    target, chosen = at_likeliest(target, table)
    written = Table.of(target)
    written.write(output)
    say(f"Saved {output}: {number_of(len(written.values), 'parent set')} of {number_of(len(written.names), 'node')}")
    say(f"Score: {name_and_options({**score.describe(), **chosen})}.")
    return 0


def simulate(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], metavar="FILE.csv")],
    nodes: Whole = 20,
    edges: MaybeWhole = None,
    rows: Whole = 500,
    seed: MaybeWhole = None,
    noise: float = 1.0,
    truth: Annotated[Path | None, Parameter(metavar="FILE.csv")] = None,
) -> int:
    """Simulate a table from a random linear Gaussian network.

    Parameters
    ----------
    output
        Write the table here.
    nodes
        Number of nodes, one column each.
    edges
        Number of edges of the random graph. Default: 1.5 per node.
    rows
        Number of rows.
    seed
        Seed. Default: a fresh one, printed.
    noise
        Standard deviation of the noise, beside weights of 0.5 to 1.5.
    truth
        Write the true graph here: a row for each parent, a column for each child, 1 for an edge.
    """
    from parnidag._util.files import write_csv
    from parnidag.simulation import simulate as simulate_network

    for option, path in (("--output", output), ("--truth", truth)):
        if path is not None and path.suffix != ".csv":
            raise UsageError(f"{option} {path}: tables are written as CSV, so name it *.csv")
    check_writable("--output", output)
    check_writable("--truth", truth, output)
    if nodes < 2:
        raise UsageError(f"--nodes {nodes}: a graph to be found needs at least 2 nodes")
    simulation = simulate_network(nodes, edges, rows, seed, noise=noise)
    write_csv(output, simulation.names, simulation.values)
    say(f"Saved {output}: {rows} rows, {nodes} nodes, {len(simulation.edges)} edges, seed {simulation.seed}")
    if truth is not None:
        graph = simulation.adjacency.astype(int)
        write_csv(truth, simulation.names, graph, row_names=simulation.names, corner="parent")
        say(f"Saved {truth}: the true graph")
    return 0


def _describe_table(table: Data, score: Score) -> None:
    from parnidag.data.doubts import doubts_shown

    for line in (table.in_words(), *doubts_shown(table.doubts(), score)):
        sys.stderr.write(f"parnidag: {visible(in_option_words(line, table.names))}\n")


def _announce_long_sum(nodes: int) -> None:
    """Say how long an exact solution takes at worst, if it is long enough to wonder whether anything happens."""
    from parnidag.exact_solver.size import check_size, estimate

    check_size(nodes)
    seconds, words = estimate(nodes)
    if seconds > LONG_SECONDS:
        sys.stderr.write(f"parnidag: summing over all graphs on {nodes} nodes: at worst {words}\n")


def _say_warnings(caught: list[warnings.WarningMessage]) -> bool:
    """Pass on what went wrong on the way; return whether the result is still to be written."""
    from parnidag.errors import NotWrittenWarning, StoppedWarning

    for warning in caught:
        if issubclass(warning.category, StoppedWarning):
            sys.stderr.write(f"parnidag: {warning.message}\n")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return any(issubclass(warning.category, NotWrittenWarning) for warning in caught)


def _exit_code(posterior: Posterior) -> int:
    if not posterior.settings.get("interrupted", False):
        return 0
    sys.stderr.write("parnidag: interrupted: this is what the chains had found by then\n")
    codes = {"SIGINT": INTERRUPTED, "SIGTERM": TERMINATED}
    return codes.get(str(posterior.settings.get("stopped_by")), WORKERS_LOST)
