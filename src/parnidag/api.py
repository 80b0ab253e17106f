"""The two calls that do everything: `sample` and `exact`."""

from __future__ import annotations

import json
import os
import secrets
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from parnidag._util.checks import seed_or_new, whole
from parnidag._util.files import why_not_writable
from parnidag._version import __version__
from parnidag.cells.margins import margin_of_numbers
from parnidag.data.doubts import doubts_shown
from parnidag.data.gaps import refuse_gaps
from parnidag.data.table import Data, as_data
from parnidag.errors import (
    DataError,
    NotWrittenWarning,
    ParnidagError,
    StoppedWarning,
    TerminatedError,
    WorkersLostError,
)
from parnidag.exact_solver.affordable import answer_if_affordable, check_of_chains, tables_are_affordable
from parnidag.exact_solver.over_levels import Answer, add_up_levels
from parnidag.exact_solver.size import check_size
from parnidag.graphs.adjacency import Adjacency
from parnidag.graphs.graph import as_graph
from parnidag.kernels.ahead import compilation_told
from parnidag.priors.edge_prior import EdgePrior, chosen_prior
from parnidag.results.assemble import margins_kept, record_of_answer, record_of_run, software
from parnidag.results.netcdf import load, save_record
from parnidag.results.posterior import Posterior
from parnidag.results.prior_marginals import prior_of_edges, with_beta_odds
from parnidag.results.record import RunRecord
from parnidag.run.checkpoint import Checkpointer, identity, refuse_difference, resume
from parnidag.run.draws import DrawStore, MemoryStore
from parnidag.run.loop import Run, timed
from parnidag.run.memory import check_memory, time_in_words
from parnidag.run.plan import Plan
from parnidag.run.pools import Executors
from parnidag.run.progress import Progress, make_progress
from parnidag.run.run_file import Bundle, RunFile
from parnidag.run.setup import first_logs, going_on, prepare, starts_from_searches
from parnidag.run.signals import catching_signals, interruptibly
from parnidag.samplers import PARNI, Redraw, Tempered
from parnidag.samplers.base import Sampler
from parnidag.samplers.parni.ahead import compile_mixture_beside
from parnidag.samplers.redraw import is_quick
from parnidag.scores.base import Score
from parnidag.scores.by_name import choose_score, has_linear_parameters
from parnidag.scores.copula import Copula
from parnidag.scores.custom import OwnScore
from parnidag.scores.listed import Table
from parnidag.scores.normal_scores import ranked
from parnidag.space.read import as_space
from parnidag.target import Target

MOST_EXACT_DRAWS = 1e9
"""Bytes that exact draws may take in memory; more of them are made by chains, which write them to a file."""

LADDER = PARNI(rungs=8)
"""What a default run whose chains disagree goes on with."""
MOST_LADDER_NODES, MOST_LADDER_ITERATIONS = 100, 8e7
"""Beyond, that would take more than some three CPU minutes."""
SECOND_KEY = 6
"""Keeps the random numbers of the second run apart from those of the first."""
LONGER = 4
"""How many iterations a default run that draws cells, and whose chains disagree, goes on with for each it made,"""
MOST_LONGER_SECONDS = 240.0
"""in so much CPU time at most, by their number."""

Warnings: TypeAlias = list[tuple[str, type[StoppedWarning]]]

Start: TypeAlias = Literal["empty"] | Adjacency | Posterior | Any


def sample(
    data: Any,
    *,
    score: Score | str | None = None,
    prior: EdgePrior | Literal["paper"] | None = None,
    sampler: Sampler | None = None,
    space: Any = None,
    start: Start = None,
    draws: int = 1000,
    tune: int | None = None,
    thin: int | None = None,
    chains: int = 4,
    seed: int | None = None,
    executor: Executors | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Posterior:
    """Give the posterior over graphs from a table of observations: exactly if there are few columns, else by chains.

    Without a `sampler` all graphs are added up if that takes at most some twenty CPU seconds, or sixty where values are
    learned, as by default for numbers: always up to 19 columns, up to 22 if the data leave little open, up to 17 with
    `BDeu` and 13 with a `PythonScore`. Whether it does is counted, not timed, so it is the same on every machine.
    The draws are then independent of each other, and probabilities of edges have no Monte-Carlo error. `space`,
    `start`, `tune`, `thin` and a checkpoint that exists ask for chains, and so does `sampler`.

    Else chains of `samplers.PARNI()` walk. If they end in disagreement, each goes on from where it stands as the first
    rung of a ladder, `samplers.PARNI(rungs=8)`, which crosses from mode to mode, and the ladders are the result:
    ``settings["ladders_after"]`` is then the verdict on the chains before. That takes some ten times as long, and is
    done up to 100 columns and 80 million iterations in all (4 chains of 1000 draws, up to 100 columns). Chains that
    draw cells which are not known go on up to four times as long instead, in four CPU minutes at most, and what they
    did before is forgotten: ``settings["longer_after"]``.

    Parameters
    ----------
    data
        A pandas or polars data frame, a pyarrow table, a 2-D array, the path of a CSV or Parquet file, or
        `parnidag.Data`. Rows are observations, columns are the nodes of the graph. Files larger than memory, iterators
        of batches and Dask data frames are read piece by piece (`Data.from_batches`). In place of data also local
        scores, as `scores.Table` or a ``.jkl`` file.
    score
        How well parents explain a node: a score such as `scores.BGe()`, its name, or ``"auto"``, the default:
        `scores.BGe(alpha_w="learn")` for numbers, whose prior scale is learned along with the graph, and
        `scores.BDeu()` for discrete columns. ``"paper"`` is the paper's, `scores.Gaussian(g=10)`, with its edge odds.
    prior
        What is known of edges beforehand; by default `EdgePrior()`, every edge at odds weight 2/n. ``"paper"`` is
        `EdgePrior(h="paper")`, 1/n, which the score ``"paper"`` brings along wherever the prior says nothing of h.
    sampler
        How chains walk: `samplers.PARNI()`, `ADR`, `MC3`, `REV`, `OrderMCMC`, `PartitionMCMC`, `IterativeMCMC`,
        `Tempered` or `Redraw`. None: no chains where all graphs can be added up, as above; `Tempered()` where that
        takes too long for 21 or 22 columns; `Redraw()` for up to 15 columns with cells that are not known; else, and
        with `space`, `start`, `tune` or `thin`, `PARNI()`.
    space
        Which parents to consider: `space.iterative(data)`, `space.pc(data)`, an earlier `Posterior`, or any graph that
        `as_graph` reads, such as an adjacency matrix, a CPDAG, a networkx graph or a result of causal-learn. Of a graph
        both directions of every edge are considered. PARNI and REV look there first, and every other edge stays
        possible; order and partition MCMC sample the graphs of the space alone, iterative MCMC those of the space after
        it has grown. None: all parents up to 12 nodes, beyond that a PC skeleton grown by iterative expansion. ADR,
        MC3, Tempered and Redraw have no space.
    start
        Where chains start. None: each at the best graph of a search of its own, from which PARNI drives every second
        one away by a likelihood that is almost flat (ADR and MC3 at the graph without edges, Tempered at random).
        ``"empty"`` for the graph without edges (but those required), a DAG in any form that `as_graph` reads, such as
        ``posterior.best``, an adjacency matrix with [i, j] meaning i → j or a `networkx.DiGraph`, a list of one graph
        for each chain, or an earlier `Posterior`, whose last draws are taken. Chains that start from the same good
        graph agree for that reason alone: convergence is better judged from different starts.
    draws
        Stored draws of each chain. Edge probabilities average over every iteration after tuning, not only these. Of an
        exact result, ``draws * chains`` independent graphs are stored.
    tune
        Iterations before the first draw, not kept; a quarter of ``draws * thin`` by default, so a fifth of the run.
    thin
        Iterations between stored draws. By default it grows with the number of nodes n: 20 n, at least 500 and at most
        10,000; 100 n and at least 5000 for ADR, MC3 and REV, whose iterations try one change; 10 for Tempered,
        5 for Redraw.
    chains
        Independent chains; at least two are needed to judge convergence.
    seed
        Any non-negative integer; the same seed gives the same draws on any number of threads. None takes a new one,
        which the result's settings hold.
    executor
        Where the chains run; threads on all cores by default. Any `concurrent.futures.Executor`, a Dask `Client`, or a
        function that makes an executor, such as ``parnidag.processes(4)``: then a run whose pool breaks makes another
        and goes on. The draws are the same everywhere, bit for bit. An exact result needs none.
    progress
        None shows progress in a terminal (and sparse lines elsewhere), False shows nothing, True always shows.
    checkpoint
        A file for the draws and, every few seconds, for where the chains stand. If it exists, the run goes on from
        there, and gives what it would have given without a stop; with more `draws` a finished run is made longer. A
        checkpoint of another run is refused, naming what differs; `seed`, `tune` and `thin` are taken from it where
        they are None. Resume only from checkpoints that you trust. An exact result needs none, and none is written;
        ladders after chains that disagree begin again.
    output
        A netCDF file for the result, as `Posterior.save` writes it. Draws of chains wait for it in a file beside it, so
        that any number of them takes little memory, and the result that is returned reads them from there.

    Returns
    -------
    Posterior
        Edge probabilities, graphs, diagnostics. Ctrl-C or SIGTERM, or the loss of all workers, returns what chains have
        so far: ``settings["interrupted"]`` is then True, and ``settings["stopped_by"]`` says why. A sum over all graphs
        has nothing before its end.

    Examples
    --------
    >>> import parnidag
    >>> table = parnidag.simulate(nodes=5, edges=5, rows=200, seed=1)
    >>> posterior = parnidag.sample(table.values, draws=100, seed=1, progress=False)
    >>> posterior.edge_probabilities.shape
    (5, 5)
    """
    _check_kinds(sampler=sampler, score=score, prior=prior, executor=executor, progress=progress)
    began = time.perf_counter()
    draws, chains = whole(draws, "draws", 1), whole(chains, "chains", 1)
    tune = None if tune is None else whole(tune, "tune")
    thin = None if thin is None else whole(thin, "thin", 1)
    kept = _path(checkpoint, "checkpoint", "a file, such as run.ckpt")
    wanted = _path(output, "output", "a netCDF file, such as posterior.nc")
    _check_output(wanted, kept)
    table = _table(data)
    target = _target(table, score, prior)
    for_parni = any(option is not None for option in (space, start, tune, thin))
    noted = False
    if sampler is None:
        holds_draws = float(chains) * draws * target.n_nodes**2 <= MOST_EXACT_DRAWS
        if not for_parni and holds_draws and (kept is None or not kept.exists()):
            with make_progress(progress, chains) as display, compilation_told(display.stage):
                _note_model(display, table, score, target)
                noted = True
                posterior = _exactly_if_affordable(table, target, draws, chains, seed_or_new(seed), display)
            if posterior is not None:
                said: Warnings = []
                written = None if wanted is None else _written(posterior.record, table, wanted, said)
                return _say(said, written or posterior)
    with ExitStack() as stores:
        store = stores.enter_context(closing(_draw_store(kept, wanted, chains)))
        file = store if kept is not None and isinstance(store, RunFile) else None
        saved = None if file is None else file.load("run")
        by_default = sampler is None and not for_parni and (saved is None or saved.facts["by_default"])
        if sampler is None:
            sampler = _default_sampler(target, for_parni, saved)
        plan = _plan(draws, tune, thin, chains, seed, sampler.default_thin(target.n_nodes), saved)
        _refuse_cells(target, sampler)
        check_memory(target, sampler, plan.chains)
        given = None if space is None else as_space(space, target.names)
        starts = _start_graphs(start, target, plan.chains)
        this = {} if file is None else identity(target, sampler, plan, table.digest(), starts, given)
        if file is not None and saved is not None:
            refuse_difference(file.path, saved.facts, plan, this)
        timings: dict[str, float] = {}
        if isinstance(sampler, PARNI):
            compile_mixture_beside()
        with make_progress(progress, plan.chains) as display, compilation_told(display.stage):
            if not noted:
                _note_model(display, table, score, target)
            stages = partial(_stage, display, timings)
            if file is not None and saved is not None:
                searched = starts_from_searches(sampler, starts)
                with stages("checkpoint"):
                    setup, logs = interruptibly(partial(resume, file, saved, target, sampler, plan, searched))
            else:
                if expected := time_in_words(target, sampler, plan.total * plan.chains):
                    display.note(expected)
                with stages("prior"):
                    priors = interruptibly(partial(prior_of_edges, target))
                setup = interruptibly(partial(prepare, table, target, sampler, plan, starts, given, priors, stages))
                with stages("set-up of chains"):
                    logs = interruptibly(partial(first_logs, setup, plan))
            writer = None if file is None else Checkpointer.of_run(file, setup, plan, this, by_default, display.note)
            run = Run(setup, plan, logs, store, writer, timings)
            run.execute(executor, display)
            if by_default and (further := _further(run)) is not None:
                display.note(f"{further.after.split(':')[0]}: {further.how}")
                again = stores.enter_context(closing(_draw_store(None, wanted, chains)))
                run = _go_on(run, further, again, executor, display)
        with catching_signals():  # a run that has come this far is written, unless someone insists
            return _result(table, run, wanted, began)


class Further(NamedTuple):
    """How a run goes on."""

    sampler: Sampler
    plan: Plan
    how: str
    after: str = ""
    """The verdict on what was run before."""


def _further(run: Run) -> Further | None:
    """Say how a default run goes on if its chains disagree, and that takes minutes at most.

    Chains that draw cells go on as they are: the rungs of a ladder would have to exchange their completed tables too.
    """
    sampler, plan, target = run.sampler, run.plan, run.target
    if run.interrupted or not isinstance(sampler, PARNI | Redraw) or isinstance(target.score, OwnScore):
        return None
    if target.cells is not None:
        seconds = sampler.seconds_with_cells(target, plan.chains * plan.total)
        times = min(LONGER, int(MOST_LONGER_SECONDS / seconds))
        further = Further(sampler, replace(plan, thin=times * plan.thin), f"the chains go on {times} times as long")
        affordable = times > 1
    else:
        iterations = plan.chains * plan.total * LADDER.graphs_of_a_chain
        further = Further(LADDER, plan, "each chain goes on as the first rung of a ladder, which crosses modes")
        affordable = target.n_nodes <= MOST_LADDER_NODES and iterations <= MOST_LADDER_ITERATIONS
    if not affordable:
        return None
    found = Posterior(record_of_run(run, 0.0, to_file=True)).diagnostics()
    wanted = found.converged is False
    if further.sampler is sampler:  # what is not crossed in so many iterations is not crossed in a few times as many
        too_short = found.converged is None and plan.chains > 1
        wanted = (wanted or too_short) and all(group.kind != "separated" for group in found.modes)
    return further._replace(after=found.verdict) if wanted else None


def _go_on(first: Run, further: Further, store: DrawStore, executor: Executors | None, display: Progress) -> Run:
    """Go on from where chains stand; if that is stopped, the first run is the result.

    The chains begin where they disagree, so that their agreement, if it comes, means something.
    """
    with timed(first.timings, "going on"):
        setup = interruptibly(partial(going_on, first.setup, further.sampler, first.logs, further.after))
        logs = interruptibly(partial(first_logs, setup, further.plan, SECOND_KEY))
    second = Run(setup, further.plan, logs, store, None, first.timings)
    try:
        second.execute(executor, display)
    except (KeyboardInterrupt, TerminatedError, WorkersLostError):
        if second.stopped is None:
            raise
    return first if second.interrupted else second


def _default_sampler(target: Target, is_for_parni: bool, saved: Bundle | None) -> Sampler:
    """Return the sampler of a run that goes on, or else the one for a table of this size.

    A space, a start and counts of iterations are meant for PARNI.
    """
    if saved is not None:
        before = json.loads(saved.facts["identity"]["sampler"])["name"]
        return next((one for one in (Tempered(), Redraw()) if one.name == before), PARNI())
    if is_for_parni:
        return PARNI()
    if target.cells is not None and is_quick(target):
        return Redraw()
    learns_odds = target.levels is not None and target.levels.shifts.size > 1  # tables for very many values
    few = not learns_odds and target.parents_only is None and tables_are_affordable(target)
    return Tempered() if few else PARNI()


def _refuse_cells(target: Target, sampler: Sampler) -> None:
    if target.cells is not None and not sampler.draws_cells:
        raise ParnidagError(
            f"sampler: {sampler} rests on tables of parent sets, which every draw of empty cells or classes makes "
            "out of date: use samplers.PARNI(), with one rung and without moves on tables, ADR() or MC3()"
        )


def _note_model(display: Progress, data: Data, score: Score | str | None, target: Target) -> None:
    """Say what columns are taken for, what is doubtful about them, and which score suits them."""
    for line in (data.in_words(), *doubts_shown(data.doubts(), target.score)):
        display.note(line)
    if score is None or isinstance(score, str):
        display.note(f"score: {target.score}")


def _exactly_if_affordable(
    data: Data, target: Target, draws: int, chains: int, seed: int, display: Progress
) -> Posterior | None:
    """Add up all graphs if that is cheap, and draw as many graphs as chains would have."""
    began = time.perf_counter()
    display.stage("sum over all graphs")
    answer = interruptibly(partial(answer_if_affordable, target))
    if answer is None:
        return None
    display.note(f"{target.n_nodes} columns: all graphs were added up, which is exact")
    return interruptibly(partial(posterior_of_answer, data, target, answer, draws, chains, seed, began))


def _plan(
    draws: int, tune: int | None, thin: int | None, chains: int, seed: int | None, usual_thin: int, saved: Bundle | None
) -> Plan:
    """Choose what is not given: as in the checkpoint of the run, if there is one."""
    before: dict[str, Any] = {} if saved is None else saved.facts["identity"]
    seed = before.get("seed") if seed is None else seed
    thin = before.get("thin", usual_thin) if thin is None else thin
    tune = before.get("tune", draws * thin // 4) if tune is None else tune
    return Plan(draws, tune, thin, chains, seed_or_new(seed))


def _draw_store(checkpoint: Path | None, output: Path | None, chains: int) -> RunFile | MemoryStore:
    """Return where draws go: to the checkpoint, or beside the file they are meant for; else they stay in memory."""
    if checkpoint is not None:
        return RunFile(checkpoint)
    if output is None:
        return MemoryStore(chains)
    return RunFile(output.with_name(f".{output.name}.{secrets.token_hex(4)}.draws"), temporary=True)


@contextmanager
def _stage(display: Progress, timings: dict[str, float], name: str) -> Iterator[None]:
    display.stage(name)
    with timed(timings, name):
        yield


def _path(value: object, argument: str, kind: str) -> Path | None:
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ParnidagError(f"{argument} must be the path of {kind}, or None, got {value!r}")
    return None if value is None else Path(value)


def _check_output(path: Path | None, checkpoint: Path | None) -> None:
    if checkpoint is not None and (problem := why_not_writable(checkpoint)) is not None:
        raise ParnidagError(f"checkpoint: cannot write {checkpoint}: {problem}")
    if path is None:
        return
    if path.suffix != ".nc":
        raise ParnidagError(f"output is a netCDF file, so name it *.nc, not {path}")
    problem = why_not_writable(path)
    if problem is not None:
        raise ParnidagError(f"output: cannot write {path}: {problem}")
    if checkpoint is not None and checkpoint.resolve() == path.resolve():
        raise ParnidagError(f"output and checkpoint are the same file, {path}")


def _result(data: Data, run: Run, output: Path | None, began: float) -> Posterior:
    """Put the result together, and only then say what was not as planned: warnings may be turned into errors."""
    said: Warnings = []
    if run.stopped is not None and run.stopped != "SIGINT":  # whoever pressed Ctrl-C knows
        said.append((f"the run ended early: {run.stopped}", StoppedWarning))
    if run.checkpointer is not None and run.checkpointer.trouble is not None:
        said.append((f"the last checkpoint could not be written: {run.checkpointer.trouble}", StoppedWarning))
    is_of_all_graphs = not run.sampler.law and not (run.sampler.restricted and run.setup.space_given)
    truth = check_of_chains(run.target) if is_of_all_graphs and not run.interrupted else None
    posterior, sums = None, _kept_of(data, run.target)
    rows = None if run.target.cells is None else data.row_numbers()
    if output is not None:
        record = record_of_run(run, time.perf_counter() - began, truth, to_file=True, sums=sums, rows=rows)
        record.settings.update(_origin(data))
        posterior = _written(record, data, output, said)
    if posterior is None:
        record = record_of_run(run, time.perf_counter() - began, truth, sums=sums, rows=rows)
        record.settings.update(_origin(data))
        posterior = Posterior(record, None if sums else data)
    return _say(said, posterior)


def _written(record: RunRecord, data: Data, path: Path, said: Warnings) -> Posterior | None:
    """Write a result and return it as read from there; None, and a warning, if that is not possible."""
    try:
        read = load(save_record(record, path)).record
        return Posterior(read, None if read.sums else data)
    except ParnidagError as error:
        reason = str(error).removeprefix("path: ")
        said.append((f"the result could not be written, it is in memory only: {reason}", NotWrittenWarning))
        return None


def _say(warned: Warnings, posterior: Posterior) -> Posterior:
    for message, category in warned:
        warnings.warn(message, category, stacklevel=4)
    return posterior


def exact(
    data: Any,
    *,
    score: Score | str | None = None,
    prior: EdgePrior | Literal["paper"] | None = None,
    draws: int = 0,
    seed: int | None = None,
) -> Posterior:
    """Compute the posterior exactly, by adding up all graphs; for up to 22 nodes.

    `sample` does the same by itself where it is cheap; `exact` insists on it. With a Gaussian score 18 nodes take a
    second or two, 20 nodes 3 to 17 seconds; the less the data leave open, the less. Every node more takes three times
    as long at worst, and twice the memory: some 1.7 GB at 22.

    Parameters
    ----------
    data, score, prior
        As for `sample`.
    draws
        How many independent graphs to draw from the posterior and store: graphs, paths and classes come from these.
    seed
        Seed of those draws.

    Returns
    -------
    Posterior
        With exact edge probabilities and `log_evidence`, the log of the sum of p(D | G) times the prior weight over all
        graphs: ``exp(log_posterior - log_evidence)`` is the posterior probability of a graph, with values that are
        learned averaged over.

    Examples
    --------
    >>> import parnidag
    >>> table = parnidag.simulate(nodes=4, edges=3, rows=200, seed=1)
    >>> posterior = parnidag.exact(table.values, draws=10, seed=1)
    >>> posterior.graphs.shape
    (1, 10, 4, 4)
    """
    _check_kinds(score=score, prior=prior)
    draws, seed = whole(draws, "draws"), seed_or_new(seed)
    began = time.perf_counter()
    table = _table(data)
    check_size(table.n_scored)
    target = _target(table, score, prior)
    if target.cells is not None:
        refuse_gaps(table.gaps, table.names, "a sum over all graphs")
        raise DataError(
            "a sum over all graphs needs a table that is known, and cells of this one are not (classes beside numbers, "
            "or values that many rows share): parnidag.sample draws them, or take all columns for one kind with kind="
        )
    target.check_nodes_apart("the exact sum")
    answer = add_up_levels(target)
    assert answer is not None
    return posterior_of_answer(table, target, answer, draws, 1, seed, began)


def posterior_of_answer(
    data: Data, target: Target, answer: Answer, draws: int, chains: int, seed: int, began: float
) -> Posterior:
    """Put the exact answer together with independent draws from it."""
    graphs = answer.draw(chains * draws, seed)
    settings = {
        "version": __version__,
        "versions": software(),
        "method": "exact",
        **target.settings,
        "draws": draws,
        "chains": chains,
        "seed": seed,
        "cancellation": answer.cancellation,
        **_origin(data),
    }
    sums = _kept_of(data, target)
    record = record_of_answer(target, answer, graphs, chains, settings, prior_of_edges(target), sums)
    settings["timings"] = {"exact": time.perf_counter() - began}
    return Posterior(record, None if sums else data)


def _origin(data: Data) -> dict[str, Any]:
    """Return what tells results apart later: the file of the table, and the day."""
    named = {} if data.source is None else {"source": data.source}
    return named | {"date": date.today().isoformat()}


def _kept_of(data: Data, target: Target) -> dict[str, Any]:
    """Return what a result keeps of its data, so that it can tell effects later: sums, or numbers of different rows."""
    if target.cells is not None:
        return {}
    if has_linear_parameters(target.score):
        return data.sums()
    if isinstance(target.score, Copula):
        columns = [ranked(column) for column in data.values.T]
        margins = [
            margin_of_numbers(column, np.unique(values), column.shares > 1.0)
            for column, values in zip(columns, data.values.T, strict=True)
        ]
        return target.score.scored(data).sums() | margins_kept(margins)
    return data.different_rows() if type(target.score).__name__ == "BDeu" else {}


KINDS: dict[str, tuple[str, str]] = {
    "sampler": ("advance", "a sampler such as parnidag.samplers.PARNI()"),
    "score": ("table", "a score such as parnidag.scores.Gaussian(g=10), or its name"),
    "prior": ("resolve", 'a prior such as parnidag.EdgePrior(h=0.1), "paper"'),
    "executor": ("submit", "a concurrent.futures.Executor, a function that makes one, or a Dask client"),
    "progress": ("", "True or False"),
}
"""For each argument that takes an object: a method it must have, and what to pass."""


def _check_kinds(**arguments: object) -> None:
    """Refuse an argument of the wrong kind, such as a name or a class in place of an object."""
    for name, value in arguments.items():
        method, wanted = KINDS[name]
        if value is None or isinstance(value, {"score": str, "progress": bool}.get(name, ())):
            continue
        if name == "prior" and value == "paper":
            continue
        makes_executors = name == "executor" and callable(value) and not isinstance(value, type)
        if not (hasattr(value, method) or makes_executors):
            raise ParnidagError(f"{name} must be {wanted}, or None, got {value!r}")
        if isinstance(value, type):
            raise ParnidagError(f"{name} must be {wanted}, got the class itself: call it: {value.__name__}()")


def _table(data: Any) -> Data:
    """Return a table as `Data`; files of local scores are read as such."""
    if isinstance(data, str | os.PathLike) and Path(data).suffix == ".jkl":
        data = Table.read(data)
    return as_data(data)


def _target(data: Data, score: Score | str | None, prior: EdgePrior | str | None) -> Target:
    chosen = choose_score(score, data)
    return with_beta_odds(Target.build(data, chosen, chosen_prior(prior, score if isinstance(score, str) else chosen)))


def _start_graphs(start: Start, target: Target, chains: int) -> list[Adjacency] | None:
    """Return the graph at which each chain starts, None to leave it to the sampler."""
    if start is None:
        return None
    if isinstance(start, str) and "." not in start:
        if start != "empty":
            raise ParnidagError(f'start must be "empty", a graph, an earlier posterior or None, got {start!r}')
        return [target.required] * chains
    if isinstance(start, Posterior):
        if tuple(start.nodes) != target.names:
            raise ParnidagError("start is a posterior over other nodes than the columns of the data")
        last = start.log_posterior.shape[1] - 1
        if last < 0:
            raise ParnidagError("start is a posterior without stored graphs")
        graphs = [start.graph_at(chain % len(start.log_posterior), last) for chain in range(chains)]
    else:
        starts = list(start) if _is_one_per_chain(start) else [start] * chains
        if len(starts) != chains:
            raise ParnidagError(f"start has {len(starts)} graphs for {chains} chains")
        graphs = [_start_graph(graph, target.names) for graph in starts]
    for graph in graphs:
        target.check_graph(graph, "start")
    return graphs


def _is_one_per_chain(start: object) -> bool:
    """Is `start` a list of graphs, or a three-dimensional array of them, rather than the rows or the edges of one?"""
    if isinstance(start, np.ndarray):
        return start.ndim == 3
    sequences = (list, tuple, np.ndarray)
    if not isinstance(start, (list, tuple)) or not start:
        return False
    return not isinstance(start[0], sequences) or any(isinstance(row, sequences) for row in start[0])


def _start_graph(value: object, names: tuple[str, ...]) -> Adjacency:
    graph = as_graph(value, names, "start")
    if graph.undirected:
        one, other = graph.undirected[0]
        raise ParnidagError(
            f"start leaves the direction of {one} — {other} open; chains start at a DAG, such as posterior.best"
        )
    if not graph.is_acyclic:
        raise ParnidagError("start has a directed cycle, so it is not a DAG")
    return graph.adjacency
