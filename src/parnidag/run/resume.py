"""From a run to its checkpoint and back: what identifies a run, what its chains share, and where each stands."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency, check_adjacency
from parnidag.kernels.declare import named
from parnidag.kernels.types import Floats, is_number
from parnidag.run.chain_log import ChainLog
from parnidag.run.checkpoint import FORMAT, Checkpointer, draws_path, read_manifest, remove_leftovers
from parnidag.run.container import Container
from parnidag.run.draws import FileStore
from parnidag.run.plan import Plan, merging
from parnidag.samplers.base import Prepared, Sampler, new_chain
from parnidag.samplers.state import MOST_COUNT, expected_shapes, restored_chain
from parnidag.space.search_space import SearchSpace
from parnidag.tables.build import build_tables
from parnidag.target import Target

MOST_BATCHES = 10_000
"""A checkpoint with more is damaged."""

SCORE_TOLERANCE = 1e-9
"""Between a score as it was written and as it is computed now, perhaps on another machine."""


def identity(
    target: Target,
    sampler: Sampler,
    plan: Plan,
    data_digest: str,
    starts: list[Adjacency] | None,
    space: SearchSpace | None,
) -> dict[str, Any]:
    """Return what must be the same for a run to go on; digests stand for what is long."""
    return {
        "data": data_digest,
        "score": json.dumps(target.settings["score"], sort_keys=True, default=str),
        "prior": json.dumps(target.settings["prior"], sort_keys=True, default=str),
        "sampler": json.dumps(sampler.describe(), sort_keys=True, default=str),
        "space": None if space is None else _digest(np.packbits(space.considered)),
        "start": None if starts is None else _digest(*(np.packbits(graph) for graph in starts)),
        "chains": plan.chains,
        "tune": plan.tune,
        "thin": plan.thin,
        "seed": plan.seed,
        "version": __version__,
    }


def _digest(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


class Shared:
    """What the chains of a run share, and what its result says of the whole."""

    def __init__(self, prepared: Prepared, starts: list[Adjacency], space: SearchSpace | None, prior: Floats) -> None:
        self.prepared, self.starts, self.space, self.prior = prepared, starts, space, prior

    def facts(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        tables, found = self.prepared.tables, self.prepared.space
        return {
            "tables": None if tables is None else {"plus_one": tables.plus_one, "sums": tables.has_sums},
            "considered": self.prepared.considered is not None,
            "warm": self.prepared.warm is not None,
            "space": None if self.space is None else self.space.describe(),
            "found": None if found is None else found.describe(),
        }

    def arrays(self) -> dict[str, Any]:
        """Return the rest."""
        prepared = self.prepared
        arrays: dict[str, Any] = {"prior": self.prior, "starts": np.array(self.starts)}
        if prepared.considered is not None:
            arrays["considered"] = prepared.considered
        if prepared.tables is not None:
            arrays["tables"] = prepared.tables.considered
        if prepared.warm is not None:
            arrays["warm"] = prepared.warm
        return arrays

    @staticmethod
    def read(container: Container, target: Target, sampler: Sampler, chains: int) -> Shared:
        """Read it back; tables are filled again."""
        n, facts = target.n_nodes, container.manifest["shared"]

        def matrix(name: str, kind: type = bool) -> Any:
            array = container.array(name, kind, (n, n), n * n)
            if kind is float and not ((array >= 0.0) & (array <= 1.0)).all():
                raise container.damaged("probabilities that are none", name)
            return array

        tables = None
        if facts["tables"] is not None:
            # Kernels take for granted that there are sums, and as many extras as the sampler asked for.
            if facts["tables"]["sums"] is not True or facts["tables"]["plus_one"] not in sampler.possible_extras:
                raise container.damaged("tables of another kind", "shared")
            tables = build_tables(
                target,
                matrix("tables"),
                plus_one=bool(facts["tables"]["plus_one"]),
                memory=sampler.table_memory,
            )
        found = None if facts["found"] is None else _found_space(target, facts["found"])
        prepared = Prepared(
            considered=matrix("considered") if facts["considered"] else None,
            tables=tables,
            warm=matrix("warm", float) if facts["warm"] else None,
            space=found,
        )
        starts = container.array("starts", bool, (chains, n, n), chains * n * n)
        for graph in starts:
            target.check_graph(check_adjacency(graph, n, "a starting graph"), "a starting graph")
        space = None if facts["space"] is None else _space(target, facts["space"])
        return Shared(prepared, list(starts), space, matrix("prior", float))


def _space(target: Target, described: dict[str, Any]) -> SearchSpace:
    n = target.n_nodes
    for listed in (described["edges"], described.get("best") or []):
        codes = np.asarray(listed, np.int64)
        if codes.ndim != 1 or (codes.size and not (codes.min() >= 0 and codes.max() < n * n)):
            raise ValueError("edges of the search space that do not exist")
    space = SearchSpace.read(target.names, described)
    if space.log_posterior is not None and not (is_number(space.log_posterior) and math.isfinite(space.log_posterior)):
        raise ValueError("a search space whose best graph has no score")
    return space


def _found_space(target: Target, described: dict[str, Any]) -> SearchSpace:
    """Return the space that this run's own search made; its best graph may become the result's, so it is scored."""
    space = _space(target, described)
    if space.best is not None:
        target.check_graph(check_adjacency(space.best, target.n_nodes, "the best graph"), "the best graph")
        if space.log_posterior is None or not math.isclose(
            space.log_posterior, target.log_posterior(space.best), rel_tol=SCORE_TOLERANCE, abs_tol=SCORE_TOLERANCE
        ):
            raise ValueError("a search whose best graph has another score")
    return space


def begin_checkpoint(path: Path, run_identity: dict[str, Any], plan: Plan, shared: Shared) -> Checkpointer:
    """Return the writer of a new run's checkpoints; an old file of draws without a checkpoint is of no use."""
    store = FileStore(draws_path(path), [0] * plan.chains)
    _make_ours(store, path, taken=path.exists)
    return Checkpointer(path, store, _manifest(run_identity, plan, shared), shared.arrays())


def _make_ours(store: FileStore, path: Path, taken: Callable[[], bool]) -> None:
    """Clear away what others left of this checkpoint, unless one of them has just written it."""
    try:
        if taken():
            raise ParnidagError(
                f"checkpoint: another run has written {path} at this moment; try again, or use another file"
            )
        store.cut()
        remove_leftovers(path)
    except BaseException:
        store.close()
        raise


def _manifest(run_identity: dict[str, Any], plan: Plan, shared: Shared) -> dict[str, Any]:
    return {
        "kind": "parnidag checkpoint",
        "format": FORMAT,
        "identity": run_identity,
        "draws": plan.draws,
        "shared": shared.facts(),
    }


def resume(
    path: Path, target: Target, sampler: Sampler, plan: Plan, run_identity: dict[str, Any]
) -> tuple[Shared, list[ChainLog], Checkpointer]:
    """Read a checkpoint whose identity has been found to be that of this run.

    With more `draws` than before, chains that had finished go on.
    """
    with Container(path) as container:
        try:
            planned = _whole(container.manifest.get("draws"), plan.draws + 1)
            if planned < 1 or plan.total >= MOST_COUNT:
                raise ValueError("no run is that long")
        except ValueError as error:
            raise _shorter(path, container.manifest, plan) or container.damaged(error) from error
        try:
            shared = Shared.read(container, target, sampler, plan.chains)
            before = replace(plan, draws=planned)
            facts = container.manifest["chains"]
            if len(facts) != plan.chains:
                raise ValueError(f"it has {len(facts)} chains")
            logs = [_log(container, target, sampler, before, shared, index, chain) for index, chain in enumerate(facts)]
            known = [_draws(log, before) for log in logs]
            if known != [chain["draws"] for chain in facts]:
                raise ValueError("it knows of other draws than there can be")
        except Exception as error:  # whatever a text that was tampered with leads to
            raise container.damaged(error) from error
        _extend(logs, plan, planned)
        store = FileStore(draws_path(path), known, target.n_nodes**2)
        # Since the draws are locked, nobody else writes: whoever did before has changed the checkpoint.
        _make_ours(store, path, taken=lambda: read_manifest(path) != container.manifest)
    return shared, logs, Checkpointer(path, store, _manifest(run_identity, plan, shared), shared.arrays())


def _shorter(path: Path, manifest: dict[str, Any], plan: Plan) -> ParnidagError | None:
    """Say that the run was planned to be longer, if that is what is wrong."""
    planned = manifest.get("draws")
    if not isinstance(planned, int) or planned <= plan.draws:
        return None
    return ParnidagError(
        f"checkpoint: {path} is of a run of draws={planned}, now draws={plan.draws}: a run can be made longer, "
        "not shorter"
    )


def _draws(log: ChainLog, plan: Plan) -> int:
    """Return how many draws a chain must have made."""
    return 0 if log.counted is None else (log.chain.iteration - plan.tune) // plan.thin


def _whole(value: Any, most: int) -> int:
    """Return a whole number from 0 to below `most`, or refuse anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < most:
        raise ValueError(f"{str(value)[:40]} is no whole number from 0 to {most - 1}")
    return value


def _finite(value: Any) -> float:
    """Return a number, or refuse anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:40]} is no number")
    return float(value)


def _extend(logs: list[ChainLog], plan: Plan, planned: int) -> None:
    """Plan the draws that a longer run has more."""
    if plan.draws == planned:
        return
    before = Plan(planned, plan.tune, plan.thin, plan.chains, plan.seed)
    first, second = before.boundaries()[:2]
    for log in logs:
        length = log.batches[0][2] if log.batches else max(second - first, 1)
        group = merging(length, plan.draws * plan.thin)
        if log.finished:
            log.merge_batches(group)
        log.boundaries += plan.further_boundaries(before.total, group * length)


def _log(
    container: Container, target: Target, sampler: Sampler, plan: Plan, shared: Shared, index: int, facts: Any
) -> ChainLog:
    """Read where one chain stands."""
    n, prefix = target.n_nodes, f"chain{index}."
    model = new_chain(target, shared.starts[index], plan.seed, index)
    sampler.begin(target, shared.prepared, model, plan.tune)
    state = {
        name: container.array(prefix + name, dtype, shape, most)
        for name, (dtype, shape, most) in expected_shapes(target, model).items()
    }
    chain = restored_chain(target, sampler, shared.prepared, (plan.tune, plan.thin), index, plan.seed, state)
    now, total = chain.iteration, plan.total
    tuned, counted = facts["at_tune_end"], container.array(prefix + "counted", np.int64, (None,), n * n)
    boundaries = [_whole(place, total + 1) for place in facts["boundaries"]]
    lengths = [_whole(length, total + 1) for length in facts["batch_lengths"]]
    sizes = [_whole(size, n * n + 1) for size in facts["batch_sizes"]]
    counted_at = _whole(facts["counted_at"], total + 1)
    if max(len(boundaries), len(lengths)) > MOST_BATCHES or len(lengths) != len(sizes):
        raise ValueError("it has an impossible number of batches")
    ends = [now, *boundaries]
    if any(late <= early for early, late in pairwise(ends)) or ends[-1] != total:
        raise ValueError("its batches are in the past, or do not end where the run does")
    # Compiled code draws from the end of tuning on: all that says whether it has come must agree.
    drawing = bool(named(chain.recorder).thin)
    if (counted.size == n * n) is not drawing or (tuned is not None) is not drawing or counted.size not in (0, n * n):
        raise ValueError("it has not finished tuning and has")
    if not drawing and (boundaries[0] != plan.tune or lengths or counted_at):
        raise ValueError("it has batches before the end of tuning")
    if drawing:
        since = chain.graph.visits.ravel() - counted
        if sum(lengths) != counted_at - plan.tune or not ((since >= 0) & (since <= now - counted_at)).all():
            raise ValueError("its batches contradict themselves")
    return ChainLog(
        chain,
        boundaries,
        batches=_batches(container, prefix, sizes, lengths, n),
        at_tune_end=None if tuned is None else {str(name): _finite(value) for name, value in tuned.items()},
        cpu_seconds=_finite(facts["cpu_seconds"]),
        rate=min(max(_finite(facts["rate"]), 0.0), 1e12),
        counted=counted if drawing else None,
        counted_at=counted_at,
    )


def _batches(container: Container, prefix: str, sizes: list[int], lengths: list[int], n: int) -> list[Any]:
    """Read the edge counts of the batches of a chain."""
    total = sum(sizes)
    codes = container.array(prefix + "batch_codes", np.int32, (total,), total)
    counts = container.array(prefix + "batch_counts", np.int64, (total,), total)
    batches, start = [], 0
    for size, length in zip(sizes, lengths, strict=True):
        some, times = codes[start : start + size], counts[start : start + size]
        start += size
        known = size == 0 or (some[0] >= 0 and some[-1] < n * n and (some[1:] > some[:-1]).all())
        if not known or not (some % (n + 1)).all():
            raise ValueError("its batches have edges that do not exist")
        if not ((times > 0) & (times <= length)).all():
            raise ValueError("its batches have edges more often than iterations")
        batches.append((some, times, length))
    return batches
