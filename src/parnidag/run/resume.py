"""From a run to its checkpoint and back: what identifies a run, what its chains share, and where each stands."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from parnidag._types import Floats
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.graph import Adjacency
from parnidag.run.chain_log import ChainLog
from parnidag.run.checkpoint import FORMAT, Checkpointer, draws_path
from parnidag.run.container import Container
from parnidag.run.draws import FileStore
from parnidag.run.plan import Plan, merging
from parnidag.samplers.base import Prepared, Sampler, new_chain
from parnidag.samplers.state import expected_shapes, restored_chain
from parnidag.space.searchspace import SearchSpace
from parnidag.space.tables import DEFAULT_MEMORY, build_tables
from parnidag.target import Target

MOST_BATCHES = 10_000
"""A checkpoint with more is damaged."""


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
            if kind is float and not np.isfinite(array).all():
                raise container.damaged("numbers that are none", name)
            return array

        tables = None
        if facts["tables"] is not None:
            tables = build_tables(
                target,
                matrix("tables"),
                plus_one=bool(facts["tables"]["plus_one"]),
                memory=float(getattr(sampler, "memory", DEFAULT_MEMORY)),
                sums=bool(facts["tables"]["sums"]),
            )
        found = None if facts["found"] is None else _space(target, facts["found"])
        prepared = Prepared(
            considered=matrix("considered") if facts["considered"] else None,
            tables=tables,
            warm=matrix("warm", float) if facts["warm"] else None,
            space=found,
        )
        starts = container.array("starts", bool, (chains, n, n), chains * n * n)
        space = None if facts["space"] is None else _space(target, facts["space"])
        return Shared(prepared, list(starts), space, matrix("prior", float))


def _space(target: Target, described: dict[str, Any]) -> SearchSpace:
    n = target.n_nodes
    for listed in (described["edges"], described.get("best") or []):
        codes = np.asarray(listed, np.int64)
        if codes.ndim != 1 or (codes.size and not (codes.min() >= 0 and codes.max() < n * n)):
            raise ValueError("edges of the search space that do not exist")
    return SearchSpace.read(target.names, described)


def begin_checkpoint(path: Path, run_identity: dict[str, Any], plan: Plan, shared: Shared) -> Checkpointer:
    """Return the writer of a new run's checkpoints; an old file of draws without a checkpoint is of no use."""
    store = FileStore(draws_path(path), [0] * plan.chains)
    return Checkpointer(path, store, _manifest(run_identity, plan, shared), shared.arrays())


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
            shared = Shared.read(container, target, sampler, plan.chains)
            planned = int(container.manifest["draws"])
            facts = container.manifest["chains"]
            if len(facts) != plan.chains:
                raise ValueError(f"it has {len(facts)} chains")
            logs = [_log(container, target, sampler, plan, shared, index, chain) for index, chain in enumerate(facts)]
        except ParnidagError:
            raise
        except Exception as error:  # whatever a text that was tampered with leads to
            raise container.damaged(error) from error
    if plan.draws < planned:
        raise ParnidagError(
            f"checkpoint: {path} is of a run of draws={planned}, now draws={plan.draws}: a run can be made longer, "
            "not shorter"
        )
    _extend(logs, plan, planned)
    store = FileStore(draws_path(path), [int(chain["draws"]) for chain in facts])
    return shared, logs, Checkpointer(path, store, _manifest(run_identity, plan, shared), shared.arrays())


def _extend(logs: list[ChainLog], plan: Plan, planned: int) -> None:
    """Plan the draws that a longer run has more."""
    if plan.draws == planned:
        return
    before = Plan(planned, plan.tune, plan.thin, plan.chains, plan.seed)
    first, second = before.boundaries()[:2]
    length = max(second - first, 1)
    group = merging(len(before.boundaries()) - 1, length, plan.draws * plan.thin)
    for log in logs:
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
    chain = restored_chain(target, sampler, shared.prepared, plan.tune, index, plan.seed, state)
    lengths = [int(length) for length in facts["batch_lengths"]]
    sizes = [int(size) for size in facts["batch_sizes"]]
    if len(lengths) != len(sizes) or len(sizes) > MOST_BATCHES or min([*sizes, *lengths], default=0) < 0:
        raise ValueError("its batches contradict themselves")
    total = sum(sizes)
    codes = container.array(prefix + "batch_codes", np.int32, (total,), MOST_BATCHES * n * n)
    counts = container.array(prefix + "batch_counts", np.int64, (total,), MOST_BATCHES * n * n)
    if codes.size and not (codes.min() >= 0 and codes.max() < n * n and counts.min() >= 0):
        raise ValueError("its batches have edges that do not exist")
    cuts = np.cumsum(sizes)[:-1]
    boundaries = [int(place) for place in facts["boundaries"]]
    if boundaries != sorted(boundaries) or (boundaries and boundaries[0] < chain.iteration):
        raise ValueError("its batches are in the past")
    tuned = facts["at_tune_end"]
    counted = container.array(prefix + "counted", np.int64, (None,), n * n)
    if (counted.size == n * n) is (tuned is None):
        raise ValueError("it has not finished tuning and has")
    return ChainLog(
        chain,
        boundaries,
        batches=list(zip(np.split(codes, cuts), np.split(counts, cuts), lengths, strict=True)) if sizes else [],
        at_tune_end=None if tuned is None else {str(name): float(value) for name, value in tuned.items()},
        cpu_seconds=float(facts["cpu_seconds"]),
        rate=min(max(float(facts["rate"]), 0.0), 1e12),
        counted=counted if counted.size else None,
        counted_at=int(facts["counted_at"]),
    )
