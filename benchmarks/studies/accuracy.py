"""How far graphs are from the one that made the data: the tasks and tables of table 3 and of the fifty nodes.

The distance counts edges to add, remove or turn (a turned edge once, an undirected one that should have a direction
once), as the paper does; and the same between equivalence classes (CPDAGs), which is all that data could tell.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.harness.study import grouped
from benchmarks.harness.summaries import markdown_table, mean_interval, plus_minus
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import (
    ESTIMATES,
    LEARNERS,
    METHODS,
    OF_ONE_GRAPH,
    Graphs,
    describe,
    label_of,
    learn,
    version_of,
)
from benchmarks.networks import Network
from parnidag.graph import topological_order
from parnidag.graphs.equivalence import cpdag
from parnidag.metrics import shd

IMPORTS = 60.0
"""CPU seconds more than a baseline's own until its process is ended: importing and compiling are not its fault."""


def run_on(network: Network, method: str, rows: int, seconds: float, seed: int) -> Outcome:
    """Draw data, run a method on them, and return how far its graphs are from the truth."""
    values = network.draw(rows, seed)
    began = time.process_time()
    graphs, said = learn(method, values, seconds, seed)
    return Outcome(figures={**distances(graphs, network.adjacency), "cpu_seconds": time.process_time() - began, **said})


def distances(graphs: Graphs, truth: np.ndarray) -> dict[str, int]:
    """Return both distances of every estimate, and what the pairwise mode has right and wrong."""
    figures: dict[str, int] = {}
    for name, graph in graphs.items():
        figures[f"shd_{name}"] = shd(graph, truth)
        figures[f"cpdag_{name}"] = shd(class_of(graph), class_of(truth))
    return figures | counts(graphs["mode"], truth)


def class_of(graph: np.ndarray) -> np.ndarray:
    """Return the CPDAG of a DAG; a graph with undirected edges, or with a cycle, stays as it is."""
    return cpdag(graph) if topological_order(graph) is not None else graph


def counts(graph: np.ndarray, truth: np.ndarray) -> dict[str, int]:
    """Count pairs of nodes: joined rightly, the wrong way round or without a direction, missing, and too many."""
    found, true = np.triu(graph | graph.T), np.triu(truth | truth.T)
    same = (graph == truth) & (graph.T == truth.T)
    return {
        "right": int((found & true & same).sum()),
        "turned": int((found & true & ~same).sum()),
        "missing": int((true & ~found).sum()),
        "extra": int((found & ~true).sum()),
    }


def task_of(
    function: str,
    settings: Mapping[str, object],
    labels: Mapping[str, object],
    place: Mapping[str, object],
    limit: float,
) -> Task:
    """Return a task for a method; a baseline has its library's version and a limit."""
    method = str(settings["method"])
    ours = method in LEARNERS
    return Task(
        function=function,
        settings={**settings, "described": describe(method), "seconds": settings["seconds"] if ours else limit},
        labels={**labels, "method": method},
        place=place,
        version=version_of(method),
        limit=None if ours else limit + IMPORTS,
    )


def is_done(members: Found) -> bool:
    """Has any of them figures?"""
    return any(outcome.status == "done" for _, outcome in members)


def cell(members: Found, figure: str) -> str:
    """Write the mean over data sets with its 95 % interval, or why there is none."""
    done = [float(outcome.figures[figure]) for _, outcome in members if outcome.status == "done"]
    if not done:
        return {"missing": "not installed", "stopped": "no time", "failed": "cannot", "crashed": "crashed"}.get(
            members[0][1].status, "–"
        )
    few = "" if len(done) == len(members) else f" ({len(done)} of {len(members)})"
    return plus_minus(mean_interval(done)) + few


def estimates_table(found: Found, by: str, distance: str) -> str:
    """Return a table of a distance: a line for each method and point estimate, a column for each value of a label."""
    columns = list(dict.fromkeys(str(task.labels[by]) for task, _ in found))
    groups = grouped(found, ["method", by])
    lines = []
    for method in METHODS:
        if not any((method, column) in groups for column in columns):
            continue
        members = [member for column in columns for member in groups.get((method, column), [])]
        kinds = ESTIMATES if method in LEARNERS or method.startswith("DiBS") else OF_ONE_GRAPH
        if not is_done(members):
            kinds = {"mode": ""}
        elif all(outcome.figures.get("shd_mode") == outcome.figures.get("shd_best") for _, outcome in members):
            kinds = {"mode": kinds["mode"]}
        for kind, words in kinds.items():
            cells = [cell(groups[method, column], f"{distance}_{kind}") for column in columns]
            lines.append([label_of(method), words, *cells])
    return markdown_table(["", "estimate", *columns], lines, left=2)


def paired_table(found: Found, by: str, ours: str = "parni", distance: str = "shd") -> str:
    """Return how much farther each method is from the truth than ours, data set by data set."""
    columns = list(dict.fromkeys(str(task.labels[by]) for task, _ in found))
    groups = grouped(found, ["method", by])
    lines = []
    for method in METHODS:
        if method == ours or not any((method, column) in groups for column in columns):
            continue
        kind = LEARNERS[method].estimate if method in LEARNERS else "mode"
        cells = []
        for column in columns:
            theirs = by_replication(groups.get((method, column), []), f"{distance}_{kind}")
            mine = by_replication(groups.get((ours, column), []), f"{distance}_{LEARNERS[ours].estimate}")
            both = [theirs[k] - mine[k] for k in theirs if k in mine]
            cells.append(plus_minus(mean_interval(both), "+.2f").replace("± +", "± "))
        lines.append([label_of(method), *cells])
    return markdown_table([f"SHD less that of {label_of(ours)}", *columns], lines)


def by_replication(members: Found, figure: str) -> dict[object, float]:
    """Return a figure by the number of the data set."""
    return {
        task.labels["replication"]: float(outcome.figures[figure])
        for task, outcome in members
        if outcome.status == "done"
    }


def seconds_table(found: Found, by: str, columns: Sequence[str]) -> str:
    """Return a table of the CPU seconds that each method took."""
    groups = grouped(found, ["method", by])
    lines = []
    for method in METHODS:
        cells = []
        for column in columns:
            done = [
                float(outcome.figures["cpu_seconds"])
                for _, outcome in groups.get((method, column), [])
                if outcome.status == "done"
            ]
            cells.append(f"{np.mean(done):.1f}" if done else "–")
        if any((method, column) in groups for column in columns):
            lines.append([label_of(method), *cells])
    return markdown_table(["CPU seconds", *columns], lines)
