"""How a run is made and what is kept of it, in the words of the command line.

Everything heavy is imported inside the methods, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from parnidag.cli.model import MaybeWhole, Whole
from parnidag.cli.pairs import answer_of, believed
from parnidag.cli.screens import UsageError, in_option_words, print_conclusion, print_edges, print_json, say
from parnidag.cli.written import check_readable, check_report, check_writable
from parnidag.samplers.by_name import NAMES as SAMPLERS
from parnidag.samplers.by_name import named_sampler

if TYPE_CHECKING:
    from parnidag.data.table import Data
    from parnidag.priors.edge_prior import EdgePrior
    from parnidag.results.posterior import Posterior
    from parnidag.samplers.base import Sampler
    from parnidag.scores.base import Score

    SamplerWord = str
else:
    SamplerWord = Literal[tuple(SAMPLERS)]

DASK_SECONDS = 10


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
    iterative MCMC, which sample a search space; tempered partitions, for up to 22 nodes; sums over all graphs drawn
    anew, for tables with empty cells or classes beside numbers. Default: none where all graphs are added up once;
    tempered where that takes too long for 21 or 22 nodes; redraw for such tables of up to 15; else parni."""

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

    json: Annotated[bool, Parameter(name="--json", negative="", show_default=False)] = False
    """Print the answer as JSON, for programs: pairs, verdict and advice. Messages still go to standard error."""

    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False
    """Print nothing but errors."""

    def check(self, data: Path, *read: Path) -> None:
        """Refuse what cannot work before hours are spent on it, and what would overwrite a file that is read."""
        check_readable(data)
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"--threshold {self.threshold:g} must be between 0 and 1")
        if self.output is not None and self.output.suffix != ".nc":
            raise UsageError(f"--output {self.output}: the posterior is a netCDF file, so name it *.nc")
        if self.quiet and self.output is None and self.edges_csv is None and self.report is None:
            raise UsageError("--quiet without --output, --edges-csv or --report would leave nothing of the result")
        if self.quiet and self.json:
            raise UsageError("--quiet prints nothing, so it excludes --json")
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
        saved_files = [*filter(None, (None if saved is False else self.output, self.edges_csv, self.report))]
        if self.json:
            answer = answer_of(posterior, self.threshold, in_option_words)
            print_json(answer | {"saved": [str(path) for path in saved_files]})
            return
        summary = posterior.summary(min(self.threshold / 2, 0.01))
        print_edges(summary, self.threshold, len(posterior.nodes), believed(posterior))
        print_conclusion(posterior)
        for path in saved_files:
            say(f"Saved {path}")
        if self.output is None:
            say("The posterior itself was not saved: add -o posterior.nc to keep it.")
