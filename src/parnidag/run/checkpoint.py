"""Checkpoints: where all chains of a run stand, on disk, so that a killed run goes on as if nothing had happened.

Two files belong together. The checkpoint itself holds the state of the chains; it is written whole, beside the old one,
and then takes its place. Draws go to a second file, named like it with ``.draws``, that only grows. So a crash at any
moment leaves a checkpoint with all the draws it knows of, and at most the time since then is lost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag._util.files import why_not_writable
from parnidag._util.text import one_line
from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.run.chain_log import ChainLog
from parnidag.run.container import Container, write_container
from parnidag.run.draws import FileStore
from parnidag.samplers.state import Arrays, chain_state

FORMAT = 1
"""Raised whenever an older parnidag could no longer read the file correctly."""
INTERVAL_SECONDS = 5.0
"""A checkpoint is written at most this often."""
MOST_SHARE = 0.05
"""Writing checkpoints takes at most this share of the time: large ones are written less often."""

ITEMS = {
    "data": "the data",
    "score": "the score",
    "prior": "the prior",
    "sampler": "the sampler",
    "space": "space",
    "start": "start",
    "chains": "chains",
    "tune": "tune",
    "thin": "thin",
    "seed": "seed",
    "version": "the version of parnidag",
}
"""What must be the same for a run to go on, by its name for people."""


def draws_path(path: Path) -> Path:
    """Return where the draws of a checkpoint are."""
    return path.with_name(path.name + ".draws")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return what a checkpoint says of itself, None if there is none yet."""
    if path.is_dir():
        raise ParnidagError(f"checkpoint: {path} is a folder; name a file, for example run.ckpt")
    problem = why_not_writable(path)
    if problem is not None:
        raise ParnidagError(f"checkpoint: {problem}")
    if not path.exists():
        return None
    if not path.is_file():  # a pipe would be waited for without end
        raise ParnidagError(f"checkpoint: {path} is no regular file")
    try:
        container = Container(path)
    except OSError as error:
        raise ParnidagError(f"checkpoint: {path} cannot be read: {error}") from error
    with container:
        manifest = container.manifest
        if manifest.get("kind") != "parnidag checkpoint" or not isinstance(manifest.get("identity"), dict):
            raise container.damaged("it is something else")
        if manifest.get("format") != FORMAT:
            raise ParnidagError(
                f"checkpoint: {path} has format {_shown(manifest.get('format'))}, written by parnidag "
                f"{_shown(manifest['identity'].get('version'))}; this is {__version__}, which reads format {FORMAT}"
            )
        return manifest


def refuse_difference(path: Path, saved: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on with a run that was another one, naming everything that differs."""
    differing = [name for name in ITEMS if saved.get(name) != asked.get(name)]
    if not differing:
        return
    said = [_difference(name, saved.get(name), asked.get(name)) for name in differing]
    raise ParnidagError(
        f"checkpoint: {path} is of another run: {'; '.join(said)}. Use the same, or another checkpoint for this run"
    )


def _difference(name: str, saved: Any, asked: Any) -> str:
    if name in ("data", "space", "start"):  # digests say nothing to people
        return f"{ITEMS[name]} differ{'s' if name != 'data' else ''}"
    return f"{ITEMS[name]} was {_shown(saved)}, now {_shown(asked)}"


def _shown(value: Any) -> str:
    text = one_line(value, 120)
    return "".join(character if character.isprintable() else "?" for character in text)


@dataclass
class Snapshot:
    """One chain at a moment when it did not run."""

    facts: dict[str, Any]
    arrays: Arrays


def snapshot(log: ChainLog, draws: int) -> Snapshot:
    """Copy all that must be known of a chain to go on with it."""
    facts = {
        "boundaries": log.boundaries.copy(),
        "batch_lengths": [length for _, _, length in log.batches],
        "batch_sizes": [len(codes) for codes, _, _ in log.batches],
        "at_tune_end": log.at_tune_end,
        "cpu_seconds": log.cpu_seconds,
        "rate": log.rate,
        "counted_at": log.counted_at,
        "draws": draws,
    }
    arrays = chain_state(log.chain)
    none = np.zeros(0, np.int64)
    arrays["batch_codes"] = np.concatenate([none, *(codes for codes, _, _ in log.batches)]).astype(np.int32)
    arrays["batch_counts"] = np.concatenate([none, *(counts for _, counts, _ in log.batches)])
    arrays["counted"] = none if log.counted is None else log.counted.copy()
    return Snapshot(facts, arrays)


def remove_leftovers(path: Path) -> None:
    """Remove what writers of this checkpoint left behind when they were killed; the draws must be locked."""
    for left in path.parent.iterdir():
        if left.name.startswith(f".{path.name}.") and left.suffix == ".tmp":
            left.unlink(missing_ok=True)


@dataclass
class Checkpointer:
    """Writes the checkpoints of one run."""

    path: Path
    store: FileStore
    shared: dict[str, Any]
    """What the manifest says of the whole run."""
    shared_arrays: dict[str, NDArray[Any]]
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    trouble: str | None = None
    """Why the last one could not be written, if so."""
    written: int = 0
    _collecting: bool = False
    _due: float = field(default_factory=lambda: time.monotonic() + INTERVAL_SECONDS)
    _fresh: set[int] = field(default_factory=set)

    def ask(self) -> None:
        """Write one as soon as every chain has been seen at rest."""
        self._due = time.monotonic()

    def see(self, log: ChainLog, running: int) -> bool:
        """Look at a chain at rest; write when all those that run have been seen. Return whether one was tried."""
        if not self._collecting:
            if time.monotonic() < self._due:
                return False
            self._collecting = True
            self._fresh.clear()
        index = log.chain.index
        self.snapshots[index] = snapshot(log, self.store.count(index))
        self._fresh.add(index)
        # A chain that is not heard of for long must not keep the others from being saved.
        if len(self._fresh) < running and time.monotonic() < self._due + INTERVAL_SECONDS:
            return False
        self.write()
        return True

    def keep(self, log: ChainLog) -> None:
        """Keep where a chain stands for the next checkpoint."""
        self.snapshots[log.chain.index] = snapshot(log, self.store.count(log.chain.index))

    def write(self) -> None:
        """Write the checkpoint; where the disk refuses, the old one stays and the run goes on."""
        began = time.monotonic()
        self._collecting = False
        chains = [self.snapshots[index] for index in sorted(self.snapshots)]
        manifest = {**self.shared, "chains": [chain.facts for chain in chains]}
        arrays = dict(self.shared_arrays)
        for index, chain in enumerate(chains):
            arrays |= {f"chain{index}.{name}": array for name, array in chain.arrays.items()}
        self.trouble = None
        if not self.store.sync():
            self.trouble = str(self.store.trouble)
        else:
            try:
                write_container(self.path, manifest, arrays)
                self.written += 1
            except ParnidagError as error:
                self.trouble = str(error).removeprefix("path: ")
        took = time.monotonic() - began
        self._due = time.monotonic() + max(INTERVAL_SECONDS, took / MOST_SHARE)
