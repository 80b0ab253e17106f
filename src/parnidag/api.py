"""The two calls that do everything: `sample` and `exact`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parnidag import referee
from parnidag._version import __version__
from parnidag.data import as_data
from parnidag.errors import ParnidagError
from parnidag.graph import Adjacency, adjacency_from_codes, check_adjacency, codes_of_arcs, edge_codes
from parnidag.posterior import Posterior
from parnidag.prior import EdgePrior
from parnidag.progress import make_progress
from parnidag.record import RunRecord, pack_graphs
from parnidag.referee_draws import draw_graphs
from parnidag.run import ChainLog, Plan, Run
from parnidag.samplers import PARNI
from parnidag.samplers.base import Sampler
from parnidag.scores import Gaussian
from parnidag.space.tables import all_local_scores
from parnidag.target import Score, Target

Start: TypeAlias = Literal["empty"] | Adjacency | Posterior | Any


def sample(
    data: Any,
    *,
    score: Score | None = None,
    prior: EdgePrior | None = None,
    sampler: Sampler | None = None,
    space: None = None,
    start: Start = None,
    draws: int = 1000,
    tune: int | None = None,
    thin: int | None = None,
    chains: int = 4,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    checkpoint: None = None,
) -> Posterior:
    """Sample graphs from their posterior given a table of observations.

    Parameters
    ----------
    data
        A pandas or polars data frame, a pyarrow table, a 2-D array, the path of a CSV or Parquet file, or
        `parnidag.Data`. Rows are observations, columns are the nodes of the graph.
    score
        How well parents explain a node; `scores.Gaussian(g=10)`, the paper's, by default.
    prior
        What is known of edges beforehand; by default `EdgePrior()`, every edge at odds weight 1/n.
    sampler
        `samplers.PARNI()` by default; also `samplers.ADR()` and `samplers.MC3()`.
    space
        Reserved for search spaces, which this version does not have yet: must be None.
    start
        Where chains start: None or ``"empty"`` for the graph without edges (but those required), a graph (adjacency
        matrix with [i, j] meaning i → j, or a `networkx.DiGraph` with the column names as nodes), or an earlier
        `Posterior`, whose last draws are taken.
    draws
        Stored draws of each chain. Edge probabilities average over every iteration after tuning, not only these.
    tune
        Iterations before the first draw, not kept; half of ``draws * thin`` by default, so a third of the run.
    thin
        Iterations between stored draws. By default it grows with the number of nodes n: 10 n for PARNI, whose
        iterations try about ten changes each, and 100 n for ADR and MC3, which try one.
    chains
        Independent chains; at least two are needed to judge convergence.
    seed
        Any non-negative integer; the same seed gives the same draws on any number of threads. None takes a new one,
        which the result's settings hold.
    executor
        A `concurrent.futures.Executor` that runs the chains; threads on all cores by default.
    progress
        None shows progress in a terminal (and sparse lines elsewhere), False shows nothing, True always shows.
    checkpoint
        Reserved for checkpoints, which this version does not have yet: must be None.

    Returns
    -------
    Posterior
        Edge probabilities, graphs, diagnostics. Ctrl-C returns what there is so far.

    Examples
    --------
    >>> import parnidag
    >>> table = parnidag.simulate(nodes=5, edges=5, rows=200, seed=1)
    >>> posterior = parnidag.sample(table.values, draws=100, seed=1, progress=False)
    >>> posterior.edge_probabilities.shape
    (5, 5)
    """
    _refuse_unavailable(space=space, checkpoint=checkpoint)
    _check_kinds(sampler=sampler, score=score, prior=prior, executor=executor, progress=progress)
    began = time.perf_counter()
    sampler = PARNI() if sampler is None else sampler
    plan = _plan(draws, tune, thin, chains, seed)
    target = _target(data, score, prior)
    plan = _with_defaults(plan, sampler, target.n_nodes, tune, thin)
    run = Run(target, sampler, plan, _start_graphs(start, target, plan.chains))
    with make_progress(progress, plan.chains) as display:
        run.prepare(display)
        run.execute(executor, display)
    return Posterior(_record(run, time.perf_counter() - began))


def exact(
    data: Any,
    *,
    score: Score | None = None,
    prior: EdgePrior | None = None,
    draws: int = 0,
    seed: int | None = None,
) -> Posterior:
    """Compute the posterior exactly, by summing over all graphs; for few nodes.

    Parameters
    ----------
    data, score, prior
        As for `sample`.
    draws
        Independent exact draws of graphs to store, if any.
    seed
        Seed of those draws.

    Returns
    -------
    Posterior
        With exact edge probabilities and `log_evidence`, the log of the sum of p(D | G) times the prior weight over all
        graphs: ``exp(log_posterior - log_evidence)`` is the posterior probability of a graph.

    Examples
    --------
    >>> import parnidag
    >>> table = parnidag.simulate(nodes=4, edges=3, rows=200, seed=1)
    >>> posterior = parnidag.exact(table.values, draws=10, seed=1)
    >>> posterior.graphs.shape
    (1, 10, 4, 4)
    """
    _check_kinds(score=score, prior=prior)
    if not _is_integer(draws) or draws < 0:
        raise ParnidagError(f"draws must be a whole number, 0 or more, got {draws!r}")
    seed = _seed(seed)
    began = time.perf_counter()
    table = as_data(data)
    referee.check_size(table.n_nodes, draws=draws > 0)
    target = _target(table, score, prior)
    log_weights = all_local_scores(target)
    solution = referee.solve(log_weights)
    graphs = draw_graphs(log_weights, draws, seed) if draws else np.zeros((0, target.n_nodes, target.n_nodes), bool)
    settings = {
        "version": __version__,
        "method": "exact",
        **target.settings,
        "draws": draws,
        "seed": seed,
        "timings": {"exact": time.perf_counter() - began},
        "cancellation": solution.cancellation,
    }
    return Posterior(_exact_record(target, solution, graphs, settings))


def _refuse_unavailable(**arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise ParnidagError(f"{name} is not available in version {__version__}: it must be None")


KINDS: dict[str, tuple[str, str]] = {
    "sampler": ("advance", "a sampler such as parnidag.samplers.PARNI()"),
    "score": ("table", "a score such as parnidag.scores.Gaussian(g=10)"),
    "prior": ("resolve", "a prior such as parnidag.EdgePrior(h=0.1)"),
    "executor": ("submit", "a concurrent.futures.Executor"),
    "progress": ("", "True or False"),
}
"""For each argument that takes an object: a method it must have, and what to pass."""


def _check_kinds(**arguments: object) -> None:
    """Refuse an argument of the wrong kind, such as a name or a class in place of an object."""
    for name, value in arguments.items():
        method, wanted = KINDS[name]
        if value is None or (isinstance(value, bool) if name == "progress" else hasattr(value, method)):
            if isinstance(value, type):
                raise ParnidagError(f"{name} must be {wanted}, got the class itself: call it: {value.__name__}()")
            continue
        raise ParnidagError(f"{name} must be {wanted}, or None, got {value!r}")


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _seed(seed: int | None) -> int:
    if seed is None:
        return secrets.randbits(32)
    if not _is_integer(seed) or seed < 0:
        raise ParnidagError(f"seed must be a whole number, 0 or more, or None, got {seed!r}")
    return int(seed)


def _plan(draws: int, tune: int | None, thin: int | None, chains: int, seed: int | None) -> Plan:
    """Check the numbers; what is None is filled in later, by `_with_defaults`."""
    for name, value, least in (("draws", draws, 1), ("chains", chains, 1), ("tune", tune, 0), ("thin", thin, 1)):
        if (value is not None or name in ("draws", "chains")) and (not _is_integer(value) or value < least):  # type: ignore[operator]
            raise ParnidagError(f"{name} must be a whole number, {least} or more, got {value!r}")
    return Plan(int(draws), int(tune or 0), int(thin or 1), int(chains), _seed(seed))


def _with_defaults(plan: Plan, sampler: Sampler, n_nodes: int, tune: int | None, thin: int | None) -> Plan:
    """Fill in `thin` and `tune` where the user gave none."""
    thin = sampler.default_thin(n_nodes) if thin is None else plan.thin
    tune = plan.draws * thin // 2 if tune is None else plan.tune
    return Plan(plan.draws, tune, thin, plan.chains, plan.seed)


def _target(data: Any, score: Score | None, prior: EdgePrior | None) -> Target:
    return Target.build(as_data(data), Gaussian() if score is None else score, EdgePrior() if prior is None else prior)


def _start_graphs(start: Start, target: Target, chains: int) -> list[Adjacency]:
    """Return the graph at which each chain starts."""
    if start is None or (isinstance(start, str) and start == "empty"):
        return [target.required] * chains
    if isinstance(start, str):
        raise ParnidagError(f'start must be "empty", a graph, an earlier posterior or None, got {start!r}')
    if isinstance(start, Posterior):
        if tuple(start.nodes) != target.names:
            raise ParnidagError("start is a posterior over other nodes than the columns of the data")
        last = start.log_posterior.shape[1] - 1
        if last < 0:
            raise ParnidagError("start is a posterior without stored graphs")
        graphs = [start.graph_at(chain % len(start.log_posterior), last) for chain in range(chains)]
    elif hasattr(start, "edges") and hasattr(start, "nodes"):  # a networkx graph, without importing networkx
        graphs = [check_adjacency(_matrix_of(start, target.names), target.n_nodes, "start")] * chains
    else:
        graphs = [check_adjacency(start, target.n_nodes, "start")] * chains
    for graph in graphs:
        target.check_graph(graph, "start")
    return graphs


def _matrix_of(graph: Any, names: tuple[str, ...]) -> Adjacency:
    """Return the adjacency matrix of a networkx graph on the columns of the data."""
    if set(graph.nodes) != set(names) or not graph.is_directed():
        raise ParnidagError("start must be a directed graph whose nodes are the columns of the data")
    place = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), bool)
    for parent, child in graph.edges():
        matrix[place[parent], place[child]] = True
    return matrix


def _record(run: Run, seconds: float) -> RunRecord:
    """Put what the chains collected into a result."""
    draws = min(log.draws for log in run.logs)
    required = edge_codes(run.target.required)
    packed = [_chain_draws(log, draws, required) for log in run.logs]
    lengths = np.concatenate([length for _, length, _ in packed])
    index, offsets, edges = pack_graphs(np.concatenate([codes for codes, _, _ in packed]), np.cumsum(lengths))
    codes, counts, iterations = _batches(run.logs, required)
    best = max(run.logs, key=lambda log: float(log.chain.trace.floats[0])).chain.trace
    best_arcs = best.best_codes[: int(best.integers[3])]
    plan = run.plan
    settings = {
        "version": __version__,
        "method": "MCMC",
        "sampler": run.sampler.describe(),
        **run.target.settings,
        "draws": plan.draws,
        "tune": plan.tune,
        "thin": plan.thin,
        "chains": plan.chains,
        "seed": plan.seed,
        "interrupted": run.interrupted,
        "timings": {**run.timings, "total": seconds},
    }
    return RunRecord(
        nodes=run.target.names,
        log_posterior=np.stack([scores for _, _, scores in packed]),
        graph_index=index.reshape(plan.chains, draws),
        graph_offsets=offsets,
        graph_edges=edges,
        edge_codes=codes,
        batch_counts=counts,
        batch_iterations=iterations,
        best_edges=np.sort(np.concatenate([codes_of_arcs(best_arcs, run.target.n_nodes), required])),
        best_log_posterior=float(best.floats[0]),
        statistics=_statistics(run),
        settings=settings,
    )


def _chain_draws(
    log: ChainLog, draws: int, required: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Return the codes, lengths and scores of a chain's first `draws` draws, required edges included."""
    ends = np.concatenate(log.ends)[:draws]
    codes = np.concatenate(log.codes)[: ends[-1]]
    lengths = np.diff(ends, prepend=0)
    if required.size:
        pieces = np.split(codes, ends[:-1])
        codes = np.concatenate([np.concatenate([piece, required]) for piece in pieces])
        lengths = lengths + required.size
    return codes, lengths, np.concatenate(log.scores)[:draws]


def _batches(
    logs: Sequence[ChainLog], required: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return all edges seen, and for each chain and batch how often each was there out of how many iterations."""
    seen = [present for log in logs for present, _, _ in log.batches]
    codes = np.unique(np.concatenate([required, *seen])).astype(np.int32)
    shape = (len(logs), max(len(log.batches) for log in logs))
    counts = np.zeros((*shape, codes.size), np.int64)
    iterations = np.zeros(shape, np.int64)
    for chain, log in enumerate(logs):
        for batch, (present, count, length) in enumerate(log.batches):
            counts[chain, batch, np.searchsorted(codes, present)] = count
            counts[chain, batch, np.searchsorted(codes, required)] = length
            iterations[chain, batch] = length
    return codes, counts, iterations


def _statistics(run: Run) -> dict[str, NDArray[np.float64]]:
    """Return the figures of each chain that diagnostics show."""
    by_chain: list[dict[str, float]] = []
    for log in run.logs:
        before = log.at_tune_end or {}
        totals = {name: value - before.get(name, 0.0) for name, value in run.sampler.totals(log.chain).items()}
        kept = log.chain.iteration - run.plan.tune
        figures = {
            "iterations": float(kept),
            "tune_iterations": float(run.plan.tune),
            "cpu_seconds": log.cpu_seconds,
            "memo_hit_rate": log.chain.memo_hit_rate,
            "edges": float(log.chain.edge_count),
            "acceptance": totals["accepted"] / max(totals["tried"], 1.0),
            **run.sampler.gauges(log.chain),
        }
        if "evaluations" in totals:
            figures["evaluations"] = totals["evaluations"] / kept
        for name in totals:
            if name.endswith("_tried"):
                move = name.removesuffix("_tried")
                figures[f"{move}_acceptance"] = totals[f"{move}_accepted"] / max(totals[name], 1.0)
        by_chain.append(figures)
    names = {name for figures in by_chain for name in figures}
    return {name: np.array([figures.get(name, np.nan) for figures in by_chain]) for name in sorted(names)}


def _exact_record(
    target: Target, solution: referee.Solution, graphs: NDArray[np.bool_], settings: dict[str, Any]
) -> RunRecord:
    """Put an exact solution and its draws, if any, into a result."""
    n = target.n_nodes
    codes = [edge_codes(graph) for graph in graphs]
    flat = np.concatenate([np.zeros(0, np.int32), *codes])
    index, offsets, edges = pack_graphs(flat, np.cumsum([code.size for code in codes], dtype=np.int64))
    unique_scores = np.array([target.log_posterior(adjacency_from_codes(edges[a:b], n)) for a, b in pairwise(offsets)])
    scores = unique_scores[index] if index.size else np.zeros(0)
    best = int(unique_scores.argmax()) if index.size else None
    return RunRecord(
        nodes=target.names,
        log_posterior=scores.reshape(1, -1),
        graph_index=index.reshape(1, -1),
        graph_offsets=offsets,
        graph_edges=edges,
        edge_codes=np.flatnonzero(solution.edge_probabilities > 0).astype(np.int32),
        batch_counts=np.zeros((1, 0, int((solution.edge_probabilities > 0).sum())), np.int64),
        batch_iterations=np.zeros((1, 0), np.int64),
        best_edges=np.zeros(0, np.int32) if best is None else edges[offsets[best] : offsets[best + 1]],
        best_log_posterior=float("nan") if best is None else float(unique_scores[best]),
        settings=settings,
        exact_probabilities=solution.edge_probabilities,
        log_evidence=solution.log_total,
    )
