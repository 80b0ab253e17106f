"""What a study has to say of itself: which tasks it is made of, and what their outcomes show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from matplotlib.figure import Figure

from benchmarks.harness.task import Found, Task

SCALES = ("quick", "standard", "paper")

SEEDS_APART = 10_000_000
"""Room for the replications of one seed."""

Row = dict[str, object]
Size = TypeVar("Size")


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    scale: str = "quick"
    replications: int | None = None
    """None: as many as the scale has."""
    seed: int = 1
    data: Path | None = None
    """A CSV file, or a folder with the paper's data."""
    methods: tuple[str, ...] | None = None
    """None: all of them."""
    seconds: float | None = None
    """CPU seconds of each method; None: those of the scale."""

    @property
    def folder(self) -> str | None:
        """The folder of data, in a form that JSON can hold."""
        return None if self.data is None or not self.data.is_dir() else str(self.data)

    @property
    def file(self) -> str | None:
        """The file of data."""
        return None if self.data is None or self.data.is_dir() else str(self.data)

    def describe(self) -> dict[str, object]:
        """Return everything that was asked for, but where data are."""
        data = None if self.data is None else self.data.name
        return {"scale": self.scale, "seed": self.seed, "replications": self.replications, "data": data} | {
            "methods": self.methods,
            "seconds": self.seconds,
        }

    def in_words(self) -> str:
        """Say what of a scale was changed; nothing if it is as it is."""
        changed = [f"{name} {value}" for name, value in (("seed", self.seed),) if value != 1]
        changed += [f"{self.replications} replications"] if self.replications is not None else []
        changed += [f"{self.seconds:g} CPU seconds"] if self.seconds is not None else []
        changed += [f"only {', '.join(self.methods)}"] if self.methods is not None else []
        return f"\n\n(Not the whole of scale {self.scale}: {'; '.join(changed)}.)" if changed else ""

    def seed_of(self, replication: int) -> int:
        """Return the seed of a replication; those of another `seed` are all different."""
        return 1 + replication + (self.seed - 1) * SEEDS_APART

    def chosen(self, methods: Sequence[str]) -> list[str]:
        """Return the methods that are wanted, in their usual order."""
        return [name for name in methods if self.methods is None or name in self.methods]


@dataclass(frozen=True)
class Report:
    """What a study shows."""

    rows: list[Row]
    """A line for each replication of each method."""
    markdown: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By the end of their file's name: "" for the main one."""


@dataclass(frozen=True)
class Study(Generic[Size]):
    """A table or figure of the paper, or one of our own."""

    name: str
    about: str
    methods: tuple[str, ...]
    """What `--methods` can choose from."""
    sizes: Mapping[str, Size]
    """By scale."""
    tasks: Callable[[Request, Size], list[Task]]
    report: Callable[[Request, Size, Found], Report]
    data: tuple[str, ...] = ()
    """What `--data` may be: "a file", "a folder"."""


def rows_of(found: Found) -> list[Row]:
    """Return a tidy table: labels, then figures, then what went wrong."""
    rows: list[Row] = []
    for task, outcome in found:
        note = " ".join(outcome.note.split())
        rows.append({**task.labels, "status": outcome.status, **outcome.figures, "note": note})
    columns = list(dict.fromkeys(name for row in rows for name in row if name != "note"))
    return [{name: row.get(name) for name in [*columns, "note"]} for row in rows]


def grouped(found: Found, labels: Sequence[str]) -> dict[tuple[object, ...], Found]:
    """Group outcomes by some of their labels, in order of appearance."""
    groups: dict[tuple[object, ...], Found] = {}
    for task, outcome in found:
        groups.setdefault(tuple(task.labels[name] for name in labels), []).append((task, outcome))
    return groups
