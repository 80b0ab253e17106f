"""Tables and figures of mean squared errors, which several studies show."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.harness.study import grouped
from benchmarks.harness.summaries import markdown_table, median_interval, scientific, scientific_range
from benchmarks.harness.task import Found, Outcome

OVERTIME = 1.2

Name = Callable[..., Sequence[str]]
Published = Callable[..., Sequence[float]]


def late(outcomes: Sequence[Outcome], seconds: float) -> str:
    """Mark chains whose set-up left them no time."""
    return " †" if any(float(one.figures["cpu_seconds"]) > OVERTIME * seconds for one in outcomes) else ""


def error_table(
    found: Found, labels: Sequence[str], heads: Sequence[str], seconds: float, name: Name, published: Published
) -> str:
    """Return a table with a line for each value of the labels: error, iterations a second, the paper's figures."""
    lines = []
    for key, members in grouped(found, labels).items():
        done = [outcome for _, outcome in members if outcome.status == "done"]
        if not done:
            lines.append([*name(*key), " ".join(members[0][1].note.split()), "", "", ""])
            continue
        rates = [float(one.figures["iterations"]) / float(one.figures["cpu_seconds"]) for one in done]
        lines.append(
            [
                *name(*key),
                scientific_range(median_interval([float(one.figures["mse"]) for one in done])) + late(done, seconds),
                f"{np.median(rates):,.0f}",
                str(len(done)),
                " and ".join(map(scientific, published(*key))),
            ]
        )
    heads = [*heads, f"MSE after {seconds:g} CPU s"]
    table = markdown_table([*heads, "iterations/s", "chains", "paper's"], lines, left=len(heads) - 1)
    return table + ("\n\n† its set-up alone took longer" if any("†" in line[len(heads) - 1] for line in lines) else "")


def in_short(parts: Sequence[str]) -> str:
    """Return a name for a legend; a method without a skeleton, or with its own, needs only the first part."""
    return ", ".join(part for part in parts if part not in ("none", "its own"))


def curves_and_traces(
    found: Found, labels: Sequence[str], name: Name
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], dict[str, np.ndarray]]:
    """Return errors against time of all chains, and the trace of the first, by name."""
    curves, traces = {}, {}
    for key, members in grouped(found, labels).items():
        done = [outcome for _, outcome in members if outcome.status == "done"]
        if done:
            label = in_short(name(*key))
            curves[label] = done[0].arrays["times"], np.array([one.arrays["errors"] for one in done])
            traces[label] = done[0].arrays["trace"]
    return curves, traces
