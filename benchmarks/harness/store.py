"""Finished tasks on disk, so that a study that was stopped goes on where it was."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.environment import environment
from benchmarks.harness.task import KEPT, Outcome, Task
from parnidag._util.files import replacing


class Store:
    """A folder with one file a task: a ZIP of its arrays and of the rest as JSON."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, task: Task) -> Path:
        """Return where the outcome of a task is or would be."""
        return self.folder / f"{task.digest}.npz"

    def get(self, task: Task) -> Outcome | None:
        """Return what is known of a task; a file that cannot be read counts as nothing."""
        path = self.path(task)
        if not path.exists():
            return None
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            said: dict[str, Any] = json.loads(arrays.pop("outcome").tobytes())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return Outcome(said["status"], said["figures"], arrays, said["note"])

    def put(self, task: Task, outcome: Outcome) -> None:
        """Keep an outcome, all or nothing."""
        if outcome.status not in KEPT:
            return
        said = {
            "status": outcome.status,
            "figures": outcome.figures,
            "note": outcome.note,
            "task": {"function": task.function, "settings": task.settings, "labels": task.labels},
            "environment": environment(),
        }
        text = np.frombuffer(json.dumps(said).encode(), np.uint8)
        with replacing(self.path(task)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, outcome=text, **dict(outcome.arrays))
