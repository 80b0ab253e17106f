"""How far graphs are from the one that made the data: the tasks and tables of table 3 and of the fifty nodes.

The distance counts edges to add, remove or turn (a turned edge once, an undirected one that should have a direction
once), as the paper does; and the same between equivalence classes (CPDAGs), which is all that data could tell.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.harness.study import grouped
from benchmarks.harness.summaries import Interval, markdown_table, mean_interval, plus_minus
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import (
    DEFAULT,
    ESTIMATES,
    LEARNERS,
    METHODS,
    OF_ONE_GRAPH,
    Graphs,
    class_of,
    describe,
    import_library,
    label_of,
    learn,
    version_of,
)
from benchmarks.networks import Network
from parnidag.metrics import shd

IMPORTS = 20.0
"""CPU seconds more than a baseline's own until its process is ended: importing is not its fault."""
WHY_NOT: Mapping[str, str] = {
    "missing": "not installed",
    "stopped": "no time",
    "failed": "cannot",
    "refused": "no memory",
    "crashed": "crashed",
}
"""What stands in a table where a figure should, by status."""
FEW_SETS = 10
"""Fewer data sets than this are said beside the name."""


def run_on(network: Network, method: str, rows: int, seconds: float, seed: int) -> Outcome:
    """Draw data, run a method on them, and return how far its graphs are from the truth."""
    values = network.draw(rows, seed)
    import_library(method)
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
    """Write the mean over data sets with its 95 % interval, and how many there are if some are lost; or why all are."""
    done = [float(outcome.figures[figure]) for _, outcome in members if figure in outcome.figures]
    if not done:
        return WHY_NOT.get(members[0][1].status, "–")
    few = "" if len(done) == len(members) else f", {len(done)} of {len(members)} sets"
    return plus_minus(mean_interval(done)) + few


def kinds_of(method: str, members: Found) -> Mapping[str, str]:
    """Return the point estimates that a method has, and their names."""
    if not is_done(members):
        return {"mode": ""}
    if method in LEARNERS or method.startswith("DiBS"):
        return ESTIMATES
    drawn = any(outcome.figures.get("shd_mode") != outcome.figures.get("shd_best") for _, outcome in members)
    return OF_ONE_GRAPH if drawn else {"mode": OF_ONE_GRAPH["mode"]}


def distance_tables(found: Found, column: str) -> list[str]:
    """Return both distances of every estimate, and how much farther than the default's each is."""
    return [
        "All point estimates, distance between DAGs:",
        estimates_table(found, column, "shd"),
        "All point estimates, distance between equivalence classes (CPDAGs):",
        estimates_table(found, column, "cpdag"),
        "Compared data set by data set, the same estimate of both (above zero: parnidag's default is closer to the "
        "truth), DAGs, with directions drawn where a method gives none:",
        paired_table(found, column, "shd"),
        "The same between equivalence classes:",
        paired_table(found, column, "cpdag"),
        "How far samplers expect their own pairwise modes to be from the truth, DAGs:",
        expected_table(found, column),
    ]


def estimates_table(found: Found, by: str, distance: str) -> str:
    """Return a table of a distance: a line for each method and point estimate, a column for each value of a label."""
    columns, groups = columns_of(found, by), grouped(found, ["method", by])
    lines = []
    for method in METHODS:
        members = [member for column in columns for member in groups.get((method, column), [])]
        for kind, words in kinds_of(method, members).items() if members else ():
            cells = [cell(groups[method, column], f"{distance}_{kind}") for column in columns]
            lines.append([counted(method, members), words, *cells])
    return markdown_table(["", "estimate", *columns], lines, left=2)


def expected_table(found: Found, by: str) -> str:
    """Return the distance that each posterior expects of its pairwise mode."""
    columns, groups, figure = columns_of(found, by), grouped(found, ["method", by]), "expected_shd_mode"
    lines = [
        [label_of(method), *(cell(groups[method, column], figure) for column in columns)]
        for method in LEARNERS
        if all(is_done(groups.get((method, column), [])) for column in columns)
    ]
    return markdown_table(["expected", *columns], lines)


def columns_of(found: Found, by: str) -> list[str]:
    """Return the values of a label, in order of appearance."""
    return list(dict.fromkeys(str(task.labels[by]) for task, _ in found))


def counted(method: str, members: Found) -> str:
    """Return a method's name; with the number of data sets where a slow method had only a few."""
    sets = len({task.labels["replication"] for task, _ in members})
    return label_of(method) + (f" ({sets} set{'s' if sets > 1 else ''})" if 0 < sets < FEW_SETS else "")


def paired_table(found: Found, by: str, distance: str, ours: str = DEFAULT) -> str:
    """Return how much farther each method is from the truth than ours, data set by data set, like with like.

    A sampler is compared by each point estimate with ours by the same one. A method with one graph is compared with our
    pairwise mode; for distances between DAGs its undirected edges get directions drawn, as ours must have some.
    """
    columns, groups = columns_of(found, by), grouped(found, ["method", by])
    lines = []
    for method in METHODS:
        members = [member for column in columns for member in groups.get((method, column), [])]
        if method == ours or not is_done(members):
            continue
        kinds = kinds_of(method, members)
        if kinds is not ESTIMATES:
            kinds = {"best" if distance == "shd" else "mode": "one graph"}
        for kind, words in kinds.items():
            lines.append([counted(method, members), words])
            mine = kind if kinds is ESTIMATES else "mode"
            for column in columns:
                theirs = by_replication(groups.get((method, column), []), f"{distance}_{kind}")
                base = by_replication(groups.get((ours, column), []), f"{distance}_{mine}")
                lines[-1].append(signed(mean_interval([theirs[k] - base[k] for k in theirs if k in base])))
    return markdown_table([f"farther than {label_of(ours)}", "estimate", *columns], lines, left=2)


def signed(interval: Interval) -> str:
    """Write a difference with its sign, and the interval without."""
    return plus_minus(interval, "+.2f").replace("± +", "± ")


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
