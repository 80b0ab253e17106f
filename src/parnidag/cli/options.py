"""The options of the command line: words, and the objects they become.

Everything heavy is imported inside the methods, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import os
import re
import secrets
import tempfile
import warnings
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from parnidag._util.files import why_not_readable, why_not_writable
from parnidag.cli.screens import UsageError, print_conclusion, print_edges, say
from parnidag.errors import MoreLagsWarning
from parnidag.samplers.by_name import NAMES as SAMPLERS
from parnidag.samplers.by_name import named_sampler
from parnidag.scores.by_name import NAMES as SCORES
from parnidag.scores.by_name import choose_score, named_score

if TYPE_CHECKING:
    from parnidag.data.table import Data
    from parnidag.priors.edge_prior import EdgePrior
    from parnidag.results.posterior import Posterior
    from parnidag.samplers.base import Sampler
    from parnidag.scores.base import Score


DASK_SECONDS = 10
TABLE_KINDS = ("continuous", "discrete", "mixed")


def _whole(kind: type, tokens: Sequence[Token]) -> int:
    """Read a whole number; 1.5 is refused, not rounded."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value} is not a whole number") from None


def _odds_weight(kind: type, tokens: Sequence[Token]) -> Any:
    """Read a number, two for a Beta prior, or "paper"."""
    from parnidag.priors.odds import Beta

    text = tokens[0].value
    if text == "paper":
        return text
    try:
        numbers = [float(part) for part in text.split(",")]
        return numbers[0] if len(numbers) == 1 else Beta(*numbers)
    except (ValueError, TypeError):
        raise ValueError(f'{text} is not a number, two numbers "A,B", or "paper"') from None


if TYPE_CHECKING:
    ScoreWord = str
    SamplerWord = str
else:
    ScoreWord = Literal[("auto", *SCORES)]
    SamplerWord = Literal[tuple(SAMPLERS)]

Whole = Annotated[int, Parameter(converter=_whole)]
MaybeWhole = Annotated[int | None, Parameter(converter=_whole)]


@Parameter(name="*", group=Group("Model", sort_key=2))
@dataclass(frozen=True)
class ModelOptions:
    """What the data mean: the score and the prior over graphs."""

    score: ScoreWord = "auto"
    """How well parents explain a node. "auto" is bdeu for discrete columns, else bge whose scale is learned; "paper" is
    gaussian with g = 10, and --h paper."""

    score_option: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NAME=VALUE")] = ()
    """An option of the score, such as alpha_w=12 for bge or ess=learn for bdeu. Repeatable."""

    g: Annotated[float | None, Parameter(name="--g")] = None
    """Prior variance of an edge's weight, in units of the child's noise variance, for the scores gaussian and gprior;
    short for --score gaussian --score-option g=…"""

    h: Annotated[Any, Parameter(name="--h", converter=_odds_weight, metavar="H")] = None
    """Prior weight of an edge, between 0 and 1: its odds are h / (1 - h). "A,B" learns it, beforehand Beta(A, B);
    "paper" is 1 / number of nodes. Default: 2 / number of nodes."""

    regulators: float | None = None
    """How unequal nodes are as parents: each has an h of its own, the more unequal the smaller this number (1 for
    genes). Needs a sampler of single graphs, such as the default."""

    forbid: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="EDGE")] = ()
    """An edge that no graph may have, written "parent,child" or "parent->child". Repeatable."""

    require: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="EDGE")] = ()
    """An edge that every graph must have, written the same way. Repeatable."""

    max_parents: MaybeWhole = None
    """The most parents a node may have."""

    kind: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="[COLUMN=]KIND")] = ()
    """What a column is, where it is not what it seems: COLUMN=number, count, ordinal, binary or class, or the levels of
    text in their order, such as stage=low<mid<high. Repeatable. Without COLUMN= what all are: continuous, discrete
    (classes) or mixed; by default it is found from the columns."""

    columns: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NAMES")] = ()
    """The only columns that are nodes, with commas between."""

    drop: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="NAMES")] = ()
    """Columns that are no nodes, such as names of rows and dates, with commas between."""

    missing: Literal["impute", "drop", "refuse"] | None = None
    """What to do about empty cells: draw them along with the graphs, drop the rows that have one, or refuse the
    data. Default: impute, and drop for a panel."""

    interventions: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    """The column that says which nodes were set by the experimenter in a row (several with ";" between, empty for
    none); it is not a node."""

    time: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    """The column that says when a row was observed: the table is a panel, and the past acts on the present."""

    unit: Annotated[str | None, Parameter(metavar="COLUMN")] = None
    """With --time or --lags: the column that says whose series a row belongs to. Default: one series."""

    lags: MaybeWhole = None
    """With --time, or for rows in the order of time: how many steps back causes may lie. Default with --time: 1."""

    static: Annotated[tuple[str, ...], Parameter(negative="", show_default=False, metavar="COLUMN")] = ()
    """A column that never changes within a unit of a panel: a parent only. Repeatable."""

    within: Literal["allowed", "none"] | None = None
    """Whether variables of a panel act on each other at the same time, too. Default: allowed."""

    def data(self, path: Path) -> Data:
        if path.suffix == ".jkl":
            return self._local_scores(path)
        kind, kinds = self._kinds()
        given: dict[str, Any] = {"missing": self.missing, "kind": kind, "interventions": self.interventions}
        if self.time is None and self.lags is None:
            for option in ("unit", "static", "within"):
                if getattr(self, option):
                    raise UsageError(f"--{option} belongs to a panel: name its times with --time, or give --lags")
            from parnidag.data.table import Data

            return Data(path, kinds=kinds or None, columns=_names(self.columns), drop=_names(self.drop), **given)
        for option, unwanted in (("columns", self.columns), ("drop", self.drop), ("kind COLUMN=…", kinds)):
            if unwanted:
                raise UsageError(f"--{option} is for tables without times, so leave such columns out of the file")
        from parnidag.data.panel import Panel

        lags, within = 1 if self.lags is None else self.lags, self.within or "allowed"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MoreLagsWarning)  # it is the first of the doubts, which are shown
            return Panel(path, time=self.time, unit=self.unit, lags=lags, static=self.static, within=within, **given)

    def _kinds(self) -> tuple[str | None, dict[str, Any]]:
        """Read what the whole table is, None if it is not said, and what single columns are."""
        whole: list[str] = []
        single: dict[str, Any] = {}
        for text in self.kind:
            name, sign, word = (part.strip() for part in text.rpartition("="))
            if not sign:
                whole.append(word)
            elif name in single:
                raise UsageError(f"--kind: {name} is given twice")
            else:
                single[name] = [level.strip() for level in word.split("<")] if "<" in word else word
        if len(whole) > 1:
            raise UsageError(f"--kind: {' and '.join(whole)} are both given; one is for the whole table")
        asked = whole[0] if whole else "auto"
        if asked not in ("auto", *TABLE_KINDS):
            raise UsageError(
                f"--kind {asked}: write COLUMN={asked}, or one of {', '.join(TABLE_KINDS)} for all columns"
            )
        return None if asked == "auto" else asked, single

    def _local_scores(self, path: Path) -> Data:
        given = [
            name
            for name in (
                *("kind", "missing", "interventions", "columns", "drop"),
                *("time", "unit", "lags", "static", "within"),
            )
            if getattr(self, name) != getattr(ModelOptions, name)
        ]
        if given or self.score != "auto":
            raise UsageError(f"--{(given or ['score'])[0]} is about a table; {path} holds local scores")
        from parnidag.scores.listed import Table

        return Table.read(path).as_data()

    def chosen_score(self, data: Data) -> Score:
        options: dict[str, str] = {}
        named = [_named_value(text) for text in self.score_option]
        for name, value in [*named, *([("g", str(self.g))] if self.g is not None else [])]:
            if name in options:
                raise UsageError(f"the option {name} of the score is given twice")
            options[name] = value
        if not options:
            return choose_score(self.score, data)
        if self.score != "auto":
            return named_score(self.score, options)
        if self.g is not None and data.kind != "discrete":
            return named_score("gaussian", options)
        usual = choose_score(None, data)
        learned = {usual.learns: "learn"} if usual.is_learned else {}
        return named_score(type(usual).__name__, learned | options)

    def prior(self) -> EdgePrior:
        from parnidag.priors.edge_prior import EdgePrior

        return EdgePrior(
            h="paper" if self.h is None and self.score == "paper" else self.h,
            regulators=self.regulators,
            forbidden=[_edge("--forbid", text) for text in self.forbid],
            required=[_edge("--require", text) for text in self.require],
            max_parents=self.max_parents,
        )


@Parameter(name="*", group=Group("Sampling", sort_key=1))
@dataclass(frozen=True)
class SamplingOptions:
    """How long the chains run, and which algorithm drives them."""

    draws: Whole = 1000
    """Graphs kept from each chain; if the answer is exact, --draws times --chains independent ones."""

    tune: MaybeWhole = None
    """Iterations before the first draw, not kept. Default: chosen from the number of nodes."""

    thin: MaybeWhole = None
    """Iterations from one draw to the next. Default: chosen from the number of nodes."""

    chains: Whole = 4
    """Independent chains; at least two are needed to judge convergence."""

    seed: MaybeWhole = None
    """Seed: the same one gives the same result. Default: a fresh one, kept in the result."""

    sampler: SamplerWord | None = None
    """The algorithm: PARNI-DAG; add-delete-reverse, plain structure MCMC or edge reversal; order, partition or
    iterative MCMC, which sample a search space; tempered partitions, for up to 22 nodes. Default: none where all graphs
    are added up; tempered where that takes too long for 21 or 22 nodes; else parni."""

    kernel: Literal["gibbs", "printed"] | None = None
    """PARNI's kernel: block Gibbs, or the paper's Algorithm 1 (corrected)."""

    moves: Annotated[str | None, Parameter(metavar="MOVES")] = None
    """What an iteration of PARNI is: "mixed", "paper" for the paper's algorithm alone, or weights such as
    parni=0.5,adr=0.3,exchange=0.2 (a move that is not known is refused with a list). Default: "mixed"."""

    rungs: MaybeWhole = None
    """Rungs of the ladder of temperatures on which each chain of parni or tempered walks. Default: 8 for tempered; 1
    for parni, a plain chain, and 8 once its chains disagree."""

    space: Annotated[str | None, Parameter(metavar="SPACE")] = None
    """The parents considered: "pc", "iterative" or "all", the space of an earlier run (FILE.nc), or a table of 0 and 1
    with the nodes as heading, rows in the same order (FILE.csv). Default: all up to 12 nodes, else "iterative"."""

    alpha: float | None = None
    """Significance level of the tests for --space pc or iterative. Default: 0.05."""

    start: Annotated[str | None, Parameter(metavar="START")] = None
    """Where chains start: "empty", or the last draws of an earlier run (FILE.nc). Default: graphs found by a search,
    for adr and mc3 "empty", for tempered random ones."""

    def algorithm(self) -> Sampler | None:
        settings: dict[str, Any] = {}
        for name, value in (("kernel", self.kernel), ("moves", self.moves)):
            if value is not None and self.sampler not in ("parni", None):
                raise UsageError(f"--{name} {value} belongs to --sampler parni, not to {self.sampler}")
            if value is not None:
                settings[name] = _weights(value) if "=" in value else value
        if self.rungs is not None:
            if self.sampler not in ("parni", "tempered", None):
                raise UsageError(f"--rungs {self.rungs} belongs to --sampler parni or tempered, not to {self.sampler}")
            settings["rungs"] = self.rungs
        return None if self.sampler is None and not settings else named_sampler(self.sampler or "parni", **settings)

    def files(self) -> list[Path]:
        return [Path(name) for name in (self.space, self.start) if name is not None and Path(name).suffix]

    def search_space(self, data: Data, prior: EdgePrior, score: Score, seed: int | None) -> object:
        """Make or read the search space; None leaves it to the sampler."""
        if self.alpha is not None and self.space not in ("pc", "iterative"):
            raise UsageError("--alpha belongs to --space pc or --space iterative: add one of them")
        if self.space is None:
            return None
        from parnidag import space

        if self.space == "pc":
            return space.pc(data, alpha=0.05 if self.alpha is None else self.alpha)
        if self.space == "iterative":
            return space.iterative(data, prior=prior, score=score, alpha=self.alpha, seed=seed)
        if self.space == "all":
            import numpy as np

            return ~np.eye(data.n_nodes, dtype=bool)
        if self.space.endswith(".csv"):
            from parnidag.graphs.graph import as_graph

            return as_graph(Path(self.space), argument="--space")
        known = '"pc", "iterative", "all", a result (FILE.nc) or a matrix (FILE.csv)'
        return _earlier_result("--space", Path(self.space), known)

    def first_graphs(self) -> object:
        """Read where the chains start; None leaves it to the sampler."""
        if self.start is None or self.start == "empty":
            return self.start
        return _earlier_result("--start", Path(self.start), '"empty", or a result (FILE.nc)')


def _weights(text: str) -> dict[str, float]:
    weights = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name.strip() in weights:
            raise UsageError(f"--moves {text}: {name.strip()} has two weights")
        try:
            weights[name.strip()] = float(number)
        except ValueError as error:
            raise UsageError(f"--moves {text}: {part.strip()!r} is not of the form move=weight") from error
    return weights


def _earlier_result(option: str, path: Path, known: str) -> Posterior:
    if path.suffix != ".nc":
        raise UsageError(f"{option} {path}: use {known}")
    from parnidag.results.netcdf import load

    return load(path)


@Parameter(name="*", group=Group("Long runs", sort_key=3))
@dataclass(frozen=True)
class RunningOptions:
    """Where chains run, and what survives when they are stopped."""

    processes: Annotated[MaybeWhole, Parameter(metavar="N")] = None
    """Run the chains in so many processes. Default: threads on all cores, which are as fast on one machine."""

    dask: Annotated[str | None, Parameter(metavar="ADDRESS")] = None
    """Run the chains on a Dask cluster, by the address of its scheduler, such as tcp://10.0.0.1:8786."""

    checkpoint: Annotated[Path | None, Parameter(metavar="FILE")] = None
    """Keep the draws and the state of the chains in this file, every few seconds. If it exists, go on from there; more
    --draws make a finished run longer. An exact answer needs none."""

    def check(self, data: Path) -> None:
        """Refuse what cannot work before hours are spent on it."""
        if self.processes is not None and self.dask is not None:
            raise UsageError("--processes and --dask exclude each other")
        if self.processes is not None and self.processes < 1:
            raise UsageError(f"--processes {self.processes} must be 1 or more")
        if self.dask is not None and not re.fullmatch(r"((tcp|tls|ucx|wss?)://)?[^/\s]+:\d+/?", self.dask):
            raise UsageError(f"--dask {self.dask}: write the address of the scheduler as tcp://host:port")
        check_writable("--checkpoint", self.checkpoint, data)

    def files(self) -> list[Path]:
        return [] if self.checkpoint is None else [self.checkpoint]

    def seed(self, given: int | None) -> int | None:
        """Return the seed of the run: with a checkpoint one that the same command finds again."""
        if given is not None or self.checkpoint is None:
            return given
        from parnidag.run.checkpoint import saved_identity

        saved = saved_identity(self.checkpoint)
        return secrets.randbits(32) if saved is None else saved["seed"]

    def executor(self) -> contextlib.AbstractContextManager[Any]:
        """Give what runs the chains; None for threads."""
        if self.processes is None:
            return contextlib.nullcontext() if self.dask is None else _dask_client(self.dask)
        from parnidag.run.pools import processes

        return contextlib.nullcontext(processes(self.processes))


def _dask_client(address: str) -> Any:
    try:
        client: Any = importlib.import_module("dask.distributed").Client
    except ImportError as error:
        raise UsageError("--dask needs Dask: pip install 'parnidag[dask]'") from error
    try:
        return client(address, timeout=DASK_SECONDS)
    except (OSError, ValueError) as error:  # its timeout is an OSError too
        reason = " ".join(str(error).split())
        raise UsageError(f"--dask {address}: no scheduler answers there ({reason})") from error


@Parameter(name="*", group=Group("Output", sort_key=4))
@dataclass(frozen=True)
class OutputOptions:
    """What is printed and what is written."""

    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="FILE.nc")] = None
    """Save the posterior here, as netCDF."""

    edges_csv: Annotated[Path | None, Parameter(metavar="FILE.csv")] = None
    """Save the matrix of edge probabilities here: a row for each parent, a column for each child."""

    report: Annotated[Path | None, Parameter(metavar="FILE.html")] = None
    """Write a report to look at here: one HTML file with the graph, the edges and the diagnostics."""

    threshold: float = 0.5
    """Print the pairs of nodes that are joined, in either direction, at least this probably."""

    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False
    """Print nothing but errors."""

    def check(self, data: Path, *read: Path) -> None:
        """Refuse what cannot work before hours are spent on it, and what would overwrite a file that is read."""
        _check_readable(data)
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"--threshold {self.threshold:g} must be between 0 and 1")
        if self.output is not None and self.output.suffix != ".nc":
            raise UsageError(f"--output {self.output}: the posterior is a netCDF file, so name it *.nc")
        if self.quiet and self.output is None and self.edges_csv is None and self.report is None:
            raise UsageError("--quiet without --output, --edges-csv or --report would leave nothing of the result")
        check_writable("--output", self.output, data, *read)
        check_writable("--edges-csv", self.edges_csv, data, self.output, *read)
        check_report(self.report, data, self.output, self.edges_csv, *read)

    def deliver(self, posterior: Posterior, saved: bool | None = None) -> None:
        """Save first, so that nothing on the screen can cost the result; then print.

        `saved` says whether that has been tried already, and with what success.
        """
        from parnidag._util.files import write_csv

        if self.output is not None and saved is None:
            posterior.save(self.output)
        if self.edges_csv is not None:
            table = posterior.edge_probabilities
            names = list(table.columns)
            write_csv(self.edges_csv, names, table.to_numpy(), row_names=names, corner="parent")
        if self.report is not None:
            posterior.report(self.report)
        if self.quiet:
            return
        believed = posterior.diagnostics().converged is not False
        print_edges(posterior.summary(min(self.threshold / 2, 0.01)), self.threshold, len(posterior.nodes), believed)
        print_conclusion(posterior)
        for path in filter(None, (None if saved is False else self.output, self.edges_csv, self.report)):
            say(f"Saved {path}")
        if self.output is None:
            say("The posterior itself was not saved: add -o posterior.nc to keep it.")


def demo_report_path() -> Path:
    """Return where the demo writes its report: here, or in the folder for temporary files if that cannot be written."""
    return Path("" if os.access(Path(), os.W_OK) else tempfile.gettempdir(), "parnidag-demo.html")


def check_report(path: Path | None, *others: Path | None, option: str = "--report") -> None:
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{option} {path}: the report is an HTML file, so name it *.html")
    check_writable(option, path, *others)


def deliver_report(posterior: Posterior, path: Path, show: bool, title: str) -> None:
    written = posterior.report(path, title=title)
    say(f"Report: {written}")
    if show and not webbrowser.open(written.resolve().as_uri()):
        say("No browser could be started here: open the file yourself.")


def _names(given: Sequence[str]) -> list[str] | None:
    """Read names with commas between; one that holds a comma is quoted."""
    listed = [name.strip() for row in csv.reader(given, skipinitialspace=True) for name in row if name.strip()]
    return listed if given else None


def _named_value(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise UsageError(f"--score-option {text!r}: write it as NAME=VALUE, such as alpha_w=12")
    return name.strip(), value.strip()


def _edge(option: str, text: str) -> tuple[str, str]:
    """Read "parent,child", "parent->child" or "parent→child"; arrows first, since names may hold commas."""
    for separator in ("->", "→", ","):
        names = [name.strip() for name in text.split(separator)]
        if len(names) == 2 and all(names):
            return names[0], names[1]
    raise UsageError(f'{option} {text!r} must be one edge, written "parent,child" or "parent->child"')


def _check_readable(path: Path) -> None:
    problem = why_not_readable(path)
    if problem is not None:
        raise UsageError(f"{path}: {problem}")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path} may not be read: permission denied")


def check_writable(option: str, path: Path | None, *others: Path | None) -> None:
    """Refuse a file that cannot be written, or that another option of this command names too."""
    if path is None:
        return
    problem = why_not_writable(path)
    if problem is not None:
        raise UsageError(f"{option} {path}: {problem}")
    if path.resolve() in [other.resolve() for other in others if other is not None]:
        raise UsageError(f"{option} {path} would overwrite another file of this command")
