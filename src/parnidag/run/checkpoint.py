"""Checkpoints: where all chains of a run stand, on disk, so that a killed run goes on as if nothing had happened.

A checkpoint is two bundles of a `RunFile`: the run, written once, and its chains, written every few seconds together
with the draws that they have made.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from parnidag._util.text import one_line, visible
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency
from parnidag.run.chain_log import ChainLog
from parnidag.run.plan import Plan, merging
from parnidag.run.run_file import Bundle, RunFile
from parnidag.run.setup import Setup
from parnidag.samplers.base import Sampler
from parnidag.samplers.state import Arrays, chain_state, restored_chain
from parnidag.space.search_space import SearchSpace
from parnidag.target import Target

INTERVAL_SECONDS = 5.0
MOST_SHARE = 0.05
"""Writing checkpoints takes at most this share of the time: large ones are written less often."""

TITLES = {name: f"the {name}" for name in ("data", "score", "prior", "sampler")}
TITLES["version"] = "the version of parnidag"
"""What must be the same, by its name for people; the rest are arguments of `sample`."""
PLAIN_FACTS = ("at_tune_end", "cpu_seconds", "rate", "counted_at")
"""Fields of a `ChainLog` that a checkpoint keeps as they are."""


def identity(
    target: Target,
    sampler: Sampler,
    plan: Plan,
    data_digest: str,
    starts: list[Adjacency] | None,
    space: SearchSpace | None,
) -> dict[str, Any]:
    """Return what must be the same for a run to go on; digests stand for what is long."""
    described = {"score": target.settings["score"], "prior": target.settings["prior"], "sampler": sampler.describe()}
    return {
        "data": data_digest,
        **{name: json.dumps(settings, sort_keys=True, default=str) for name, settings in described.items()},
        "space": None if space is None else _digest([space.considered]),
        "start": None if starts is None else _digest(starts),
        "chains": plan.chains,
        "tune": plan.tune,
        "thin": plan.thin,
        "seed": plan.seed,
        "version": __version__,
    }


def _digest(graphs: list[Adjacency]) -> str:
    return hashlib.sha256(np.packbits(graphs).tobytes()).hexdigest()[:32]


def saved_identity(path: Path) -> dict[str, Any] | None:
    """Return what a checkpoint says of its run; None if there is none yet."""
    if not path.exists():
        return None
    with closing(RunFile(path)) as file:
        run = file.load("run")
    return None if run is None else run.facts["identity"]


def refuse_difference(path: Path, saved: dict[str, Any], plan: Plan, asked: dict[str, Any]) -> None:
    """Refuse to go on with a run that was another one, naming everything that differs, or with fewer draws."""
    before = saved["identity"]
    said = [
        f"{TITLES.get(name, name)} differ{'s' if name != 'data' else ''}"
        if name in ("data", "space", "start")  # digests say nothing to people
        else f"{TITLES.get(name, name)} was {_shown(before[name])}, now {_shown(now)}"
        for name, now in asked.items()
        if before[name] != now
    ]
    if said:
        raise ParnidagError(
            f"checkpoint: {path} is of another run: {'; '.join(said)}. Use the same, or another checkpoint for this run"
        )
    if saved["draws"] > plan.draws:
        raise ParnidagError(
            f"checkpoint: {path} is of a run of {saved['draws']} draws, now {plan.draws}: a run can be made longer, "
            "not shorter"
        )


def _shown(value: Any) -> str:
    return visible(one_line(value, 120))


def resume(
    file: RunFile, run: Bundle, target: Target, sampler: Sampler, plan: Plan, searched: bool
) -> tuple[Setup, list[ChainLog]]:
    """Return how a run was set up and where its chains stand; with more `draws` than before, chains go on."""
    chains = file.load("chains")
    if chains is None:
        raise file.damaged("it does not say where the chains stand")
    setup = Setup.read(Bundle(run.facts["setup"], run.arrays), target, sampler, searched)
    logs = [_read_log(chains, setup, plan, index) for index in range(plan.chains)]
    _extend(logs, replace(plan, draws=run.facts["draws"]), plan)
    for log in logs:
        log.pass_boundaries(sampler, plan.thin)
    file.go_on_after([facts["draws"] for facts in chains.facts["chains"]])
    return setup, logs


def _log_bundle(log: ChainLog, draws: int) -> Bundle:
    facts = {name: getattr(log, name) for name in PLAIN_FACTS} | {
        "boundaries": log.boundaries.copy(),
        "batch_lengths": [length for _, _, length in log.batches],
        "batch_sizes": [len(codes) for codes, _, _ in log.batches],
        "draws": draws,
    }
    arrays = chain_state(log.chain)
    none = np.zeros(0, np.int64)
    arrays["batch_codes"] = np.concatenate([none, *(codes for codes, _, _ in log.batches)]).astype(np.int32)
    arrays["batch_counts"] = np.concatenate([none, *(counts for _, counts, _ in log.batches)])
    if log.counted is not None:
        arrays["counted"] = log.counted.copy()
    return Bundle(facts, arrays)


def _read_log(chains: Bundle, setup: Setup, plan: Plan, index: int) -> ChainLog:
    facts, prefix = chains.facts["chains"][index], f"{index}."
    arrays = {name.removeprefix(prefix): array for name, array in chains.arrays.items() if name.startswith(prefix)}
    ends = np.cumsum(facts["batch_sizes"][:-1], dtype=np.int64)
    codes, counts = (np.split(arrays[name], ends) for name in ("batch_codes", "batch_counts"))
    return ChainLog(
        restored_chain(setup.target, setup.sampler, setup.prepared, plan.tune, index, arrays),
        facts["boundaries"],
        batches=list(zip(codes, counts, facts["batch_lengths"], strict=False)),  # without batches one empty piece
        counted=arrays.get("counted"),
        **{name: facts[name] for name in PLAIN_FACTS},
    )


def _extend(logs: list[ChainLog], before: Plan, plan: Plan) -> None:
    if plan.draws == before.draws:
        return
    first, second = before.boundaries()[:2]
    for log in logs:
        length = log.batches[0][2] if log.batches else max(second - first, 1)
        group = merging(length, plan.draws * plan.thin)
        if log.finished:
            log.merge_batches(group)
        log.boundaries += plan.further_boundaries(before.total, group * length)


@dataclass
class Checkpointer:
    file: RunFile
    unsaved: dict[str, Bundle]
    """What the file does not have yet of the run itself."""
    note: Callable[[str], None]
    """Tells the user that checkpoints cannot be written, or can again."""
    trouble: str | None = None
    """Why the last one could not be written, if so."""
    snapshots: dict[int, Bundle] = field(default_factory=dict)
    written: int = 0
    _collecting: bool = False
    _due: float = field(default_factory=lambda: time.monotonic() + INTERVAL_SECONDS)
    _fresh: set[int] = field(default_factory=set)

    @staticmethod
    def of_run(
        file: RunFile,
        setup: Setup,
        plan: Plan,
        run_identity: dict[str, Any],
        by_default: bool,
        note: Callable[[str], None],
    ) -> Checkpointer:
        """Return one for a run; `by_default` says that nobody chose its sampler, which may then be left for another."""
        facts, arrays = setup.bundle()
        whole = {"identity": run_identity, "draws": plan.draws, "by_default": by_default, "setup": facts}
        run = Bundle(whole, arrays)
        return Checkpointer(file, {"run": run}, note)

    def ask(self) -> None:
        """Write one as soon as every chain has been seen at rest."""
        self._due = time.monotonic()

    def see(self, log: ChainLog, running: int) -> None:
        """Look at a chain at rest; write when all those that run have been seen."""
        due = self._collecting or time.monotonic() >= self._due
        if due or log.finished:  # a finished chain is not seen again
            self.keep(log)
        if not due:
            return
        if not self._collecting:
            self._collecting = True
            self._fresh.clear()
        self._fresh.add(log.chain.index)
        # A chain that is not heard of for long must not keep the others from being saved.
        if len(self._fresh) >= running or time.monotonic() >= self._due + INTERVAL_SECONDS:
            self.write()

    def keep(self, log: ChainLog) -> None:
        self.snapshots[log.chain.index] = _log_bundle(log, self.file.count(log.chain.index))

    def write(self) -> None:
        """Write the checkpoint; where the disk refuses, the old one stays and the run goes on."""
        began = time.monotonic()
        self._collecting = False
        facts: list[dict[str, Any]] = []
        arrays: Arrays = {}
        for index, chain in sorted(self.snapshots.items()):
            facts.append(chain.facts)
            arrays |= {f"{index}.{name}": array for name, array in chain.arrays.items()}
        if self.file.save({**self.unsaved, "chains": Bundle({"chains": facts}, arrays)}):
            self.unsaved = {}
            self.written += 1
        before, self.trouble = self.trouble, self.file.trouble
        if self.trouble is not None and before is None:
            self.note(f"the checkpoint could not be written ({self.trouble}); the run goes on, the earlier one stays")
        elif self.trouble is None and before is not None:
            self.note("the checkpoint could be written again")
        took = time.monotonic() - began
        self._due = time.monotonic() + max(INTERVAL_SECONDS, took / MOST_SHARE)
