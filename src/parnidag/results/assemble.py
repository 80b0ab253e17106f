"""From what the chains, or the exact solver, leave behind to the record that a result is read from."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._version import __version__
from parnidag.cells.filled import filled_of_chains
from parnidag.cells.margins import Margin
from parnidag.cells.worlds import worlds_of_chains
from parnidag.exact_solver.over_levels import Answer
from parnidag.graphs.adjacency import codes_of_arcs, edge_codes
from parnidag.kernels.declare import named
from parnidag.results.learned import with_probabilities
from parnidag.results.packing import pack_graphs, pack_store
from parnidag.results.record import RunRecord
from parnidag.run.chain_log import ChainLog
from parnidag.run.loop import Run
from parnidag.target import Target

DETAILED_EDGES = 20_000
"""Edges that are counted batch by batch; a long run over many nodes sees nearly all n(n − 1) of them once."""

NOTHING: Mapping[str, Any] = MappingProxyType({})

MOST_IN_MEMORY = 1 << 26
"""Bytes of graphs up to which a result that goes to a file is put together in memory (64 MB)."""


def record_of_run(
    run: Run,
    seconds: float,
    truth: NDArray[np.float64] | None = None,
    to_file: bool = False,
    sums: Mapping[str, Any] = NOTHING,
    rows: NDArray[np.int64] | None = None,
) -> RunRecord:
    """Put what the chains collected into a result; graphs on their way to a file stay where they are if they are many.

    `sums` is what is to be kept of the data (`Data.sums`), `rows` the numbers of its rows in the table as given.

    Such a record is of use only while the run keeps its draws.
    """
    required = edge_codes(run.target.required)
    plan = run.plan
    packed = pack_store(run.store, plan.chains, run.draws(), required)
    if not (to_file and packed["graph_edges"].size * required.itemsize > MOST_IN_MEMORY):
        packed["graph_edges"] = packed["graph_edges"].whole()
    best_edges, best_score = _best(run, required)
    settings = {
        "version": __version__,
        "versions": software(),
        "method": "MCMC",
        "sampler": run.sampler.describe(),
        "restricted": run.sampler.restricted,
        "law": run.sampler.law_of(run.setup.prepared),
        "alternatives": run.sampler.alternatives,
        **run.target.settings,
        "draws": plan.draws,
        "tune": plan.tune,
        "thin": plan.thin,
        "chains": plan.chains,
        "seed": plan.seed,
        "start": "searched" if run.setup.searched else "given",
        "space": _space_settings(run),
        "caveats": run.sampler.caveats(run.setup.prepared),
        "interrupted": run.interrupted,
        "stopped_by": run.stopped,
        "timings": {**run.timings, "total": seconds},
    }
    if "learned" in run.target.settings:
        settings["learned"] = with_probabilities(
            run.target.settings["learned"], run.setup.level_prior, _shares_of_levels(run.logs)
        )
    if run.setup.after:
        settings["longer_after" if run.setup.completed else "ladders_after"] = run.setup.after
    return RunRecord(
        nodes=run.target.names,
        **packed,
        **_edge_counts(run.logs, required, run.target.n_nodes),
        best_edges=best_edges,
        best_log_posterior=best_score,
        statistics=_statistics(run),
        settings=settings,
        prior_probabilities=run.setup.prior,
        true_probabilities=truth,
        **_starts(run),
        **_empty_cells(run, rows),
        **_worlds(run),
        **sums,
    )


def software() -> dict[str, str]:
    return {
        "parnidag": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Numba": importlib.metadata.version("numba"),
    }


def _shares_of_levels(logs: Sequence[ChainLog]) -> NDArray[np.float64]:
    """Return how often each chain drew each level after tuning; where it stands if it drew none."""
    counts = np.array([log.chain.level_draws for log in logs], np.float64)
    for chain, log in enumerate(logs):
        if not counts[chain].any():
            counts[chain, log.chain.level] = 1.0
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _starts(run: Run) -> dict[str, Any]:
    graphs = [edge_codes(graph) for graph in run.setup.starts]
    ends = np.cumsum([codes.size for codes in graphs], dtype=np.int64)
    return {"start_offsets": np.append(np.int64(0), ends), "start_edges": np.concatenate(graphs)}


def _empty_cells(run: Run, rows: NDArray[np.int64] | None) -> dict[str, Any]:
    """Return what the chains drew into empty cells, and how it moved."""
    chains = [log.chain.cells for log in run.logs if log.chain.cells is not None]
    if not chains or run.target.cells is None:
        return {}
    empty = run.target.cells.empty
    found = filled_of_chains(empty, [one.filled for one in chains])
    if found is None:
        return {}
    kept: dict[str, Any] = {"cells_series": found.series}
    if found.mean.size:
        kept |= {
            "cells_node": np.repeat(np.arange(run.target.n_nodes), np.diff(empty.first)).astype(np.int32),
            "cells_row": empty.rows if rows is None else rows[empty.rows],
            "cells_mean": found.mean,
            "cells_deviation": found.deviation,
            "cells_shares": found.shares,
        }
    return kept


def _worlds(run: Run) -> dict[str, Any]:
    """Return the graphs with parameters that chains kept, and what relates them to the table."""
    chains = [log.chain.cells.worlds for log in run.logs if log.chain.cells is not None]
    found = worlds_of_chains(chains) if chains else None
    if found is None:
        return {}
    kept = {f"worlds_{name}": array for name, array in found._asdict().items()}
    return kept | margins_kept(getattr(run.target.cells, "margins", ()))


def margins_kept(margins: Sequence[Margin]) -> dict[str, Any]:
    if not margins:
        return {}
    return {
        "margins_kind": np.array([one.kind for one in margins], np.uint8),
        "margins_ends": np.cumsum([one.scores.size for one in margins]),
        "margins_scores": np.concatenate([one.scores for one in margins]),
        "margins_values": np.concatenate([one.values for one in margins]),
        "margins_vectors": np.concatenate([one.vectors.ravel() for one in margins]),
    }


def _best(run: Run, required: NDArray[np.int32]) -> tuple[NDArray[np.int32], float]:
    """Return the best graph that the chains, or the sampler's own search, met."""
    trace = max(run.logs, key=lambda log: named(log.chain.recorder).best_score).chain.recorder
    score = float(named(trace).best_score)
    found = run.setup.prepared.space
    if found is not None and found.best is not None and found.log_posterior is not None and found.log_posterior > score:
        return edge_codes(found.best), found.log_posterior
    arcs = trace.best_codes[: named(trace).best_count]
    return np.sort(np.concatenate([codes_of_arcs(arcs, run.target.n_nodes), required])), score


def _space_settings(run: Run) -> dict[str, Any] | None:
    if run.setup.space is None:
        return None
    tables = run.logs[0].chain.tables
    made = {} if tables is None else {"plus_one": tables.plus_one, "table_bytes": tables.nbytes}
    return run.setup.space.describe() | {"given": run.setup.space_given} | made


def _edge_counts(logs: Sequence[ChainLog], required: NDArray[np.int32], n_nodes: int) -> dict[str, Any]:
    """Return the fields of a record that count edges: by batch for the most frequent, in all for the others."""
    iterations = np.zeros((len(logs), max(len(log.batches) for log in logs)), np.int64)
    for chain, log in enumerate(logs):
        iterations[chain, : len(log.batches)] = [length for _, _, length in log.batches]
    probabilities = np.zeros(n_nodes * n_nodes)
    for log, length in zip(logs, iterations.sum(axis=1), strict=True):
        for present, count, _ in log.batches:
            probabilities[present] += count / (length * len(logs))
    probabilities[required] = 1.0
    seen = np.flatnonzero(probabilities)
    seen = seen[np.argsort(-probabilities[seen], kind="stable")]
    codes, rare = np.sort(seen[:DETAILED_EDGES]), np.sort(seen[DETAILED_EDGES:])
    counts = np.zeros((*iterations.shape, codes.size), np.int64)
    place = np.full(n_nodes * n_nodes, -1)
    place[codes] = np.arange(codes.size)
    for chain, log in enumerate(logs):
        for batch, (present, count, length) in enumerate(log.batches):
            detailed = place[present] >= 0
            counts[chain, batch, place[present[detailed]]] = count[detailed]
            counts[chain, batch, place[required]] = length
    return {
        "edge_codes": codes.astype(np.int32),
        "batch_counts": counts,
        "batch_iterations": iterations,
        "rare_codes": rare.astype(np.int32),
        "rare_probabilities": probabilities[rare],
    }


def _statistics(run: Run) -> dict[str, NDArray[np.float64]]:
    by_chain: list[dict[str, float]] = []
    for log in run.logs:
        before = log.at_tune_end or {}
        totals = {name: value - before.get(name, 0.0) for name, value in run.sampler.totals(log.chain).items()}
        kept = log.chain.iteration - run.plan.tune
        figures = {
            "iterations": float(kept),
            "tune_iterations": float(run.plan.tune),
            "cpu_seconds": log.cpu_seconds,
            "edges": float(log.chain.edge_count),
            "acceptance": totals["accepted"] / max(totals["tried"], 1.0),
            "tries": totals["tried"] / max(kept, 1),
            **run.sampler.gauges(log.chain),
        }
        asked = named(log.chain.graph)
        if asked.hits or asked.misses:  # samplers on tables alone ask the cache for nothing
            figures["memo_hit_rate"] = log.chain.memo_hit_rate
        if "evaluations" in totals:
            figures["evaluations"] = totals["evaluations"] / max(totals["parni_iterations"], 1.0)
        for move in (name.removesuffix("_tried") for name in totals if name.endswith("_tried")):
            for counted, figure in (("accepted", "acceptance"), ("outside", "outside")):
                if f"{move}_{counted}" in totals:
                    figures[f"{move}_{figure}"] = totals[f"{move}_{counted}"] / max(totals[f"{move}_tried"], 1.0)
        by_chain.append(figures)
    names = {name for figures in by_chain for name in figures}
    return {name: np.array([figures.get(name, np.nan) for figures in by_chain]) for name in sorted(names)}


def record_of_answer(
    target: Target,
    answer: Answer,
    graphs: NDArray[np.bool_],
    chains: int,
    settings: dict[str, Any],
    priors: tuple[NDArray[np.float64], NDArray[np.float64]],
    sums: Mapping[str, Any] = NOTHING,
) -> RunRecord:
    """Put the exact probabilities and independent draws into a result that looks like one of so many chains."""
    if "learned" in target.settings:
        settings["learned"] = with_probabilities(target.settings["learned"], priors[1], answer.level_probabilities)
    codes = [edge_codes(graph) for graph in graphs]
    flat = np.concatenate([np.zeros(0, np.int32), *codes])
    index, offsets, edges = pack_graphs(flat, np.cumsum([code.size for code in codes], dtype=np.int64))
    # Whatever level a graph was drawn at, its probability is that with the learned values averaged over.
    by_level = [target.at(level).log_posteriors(offsets, edges) for level in answer.solutions]
    by_graph = np.logaddexp.reduce(by_level)
    best = int(by_graph.argmax()) if index.size else None
    return RunRecord(
        nodes=target.names,
        log_posterior=by_graph[index].reshape(chains, -1),
        graph_index=index.reshape(chains, -1),
        graph_offsets=offsets,
        graph_edges=edges,
        edge_codes=np.flatnonzero(answer.edge_probabilities > 0).astype(np.int32),
        batch_counts=np.zeros((chains, 0, int((answer.edge_probabilities > 0).sum())), np.int64),
        batch_iterations=np.zeros((chains, 0), np.int64),
        best_edges=np.zeros(0, np.int32) if best is None else edges[offsets[best] : offsets[best + 1]],
        best_log_posterior=float("nan") if best is None else float(by_graph[best]),
        settings=settings,
        exact_probabilities=answer.edge_probabilities,
        prior_probabilities=priors[0],
        log_evidence=answer.log_total,
        **sums,
    )
