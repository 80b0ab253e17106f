"""The appendix's violin plot: a random graph of 50 nodes and 119 edges, from 50, 100 and 150 rows."""

from __future__ import annotations

from dataclasses import dataclass

import parnidag
from benchmarks.drawing import violin_figure
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import LEARNERS, describe, estimate_of, label_of
from benchmarks.networks import Network
from benchmarks.studies.accuracy import distance_tables, run_on, task_of

NODES, EDGES, ROWS = 50, 119, (50, 100, 150)
CHOICE = ("PC", "GES", *LEARNERS)
"""The appendix's methods, and ours."""
GRAPH_SEED = 2023
LENGTHS_APART = 1_000_000


@dataclass(frozen=True)
class Size:
    """How much of it: CPU seconds of a chain, data sets of each length, and limit of a baseline."""

    seconds: float
    replications: int
    limit: float


def network() -> Network:
    """Return the graph and its weights, the same for all data sets."""
    made = parnidag.simulate(nodes=NODES, edges=EDGES, rows=1, seed=GRAPH_SEED)
    return Network("fifty", made.names, made.weights, 0 * made.noise, made.noise)


def run(method: str, described: object, rows: int, seconds: float, seed: int) -> Outcome:
    """Run a method on one data set."""
    assert describe(method) == described
    return run_on(network(), method, rows, seconds, seed)


def tasks(request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and method."""
    return [
        task_of(
            "benchmarks.studies.fifty:run",
            {
                "method": method,
                "rows": rows,
                "seconds": request.seconds or size.seconds,
                # other rows for each length, or the panels would not be independent
                "seed": request.seed_of(replication + LENGTHS_APART * k),
            },
            {"rows": f"N = {rows}", "replication": replication},
            {},
            size.limit,
        )
        for replication in range(request.replications or size.replications)
        for k, rows in enumerate(ROWS)
        for method in request.chosen(CHOICE)
    ]


def report(request: Request, size: Size, found: Found) -> Report:
    """Return the distances and their violins."""
    violins: dict[str, dict[str, list[float]]] = {}
    for (rows, method), members in grouped(found, ["rows", "method"]).items():
        kind = "best" if method not in LEARNERS else estimate_of(str(method))
        values = [float(one.figures[f"shd_{kind}"]) for _, one in members if one.status == "done"]
        violins.setdefault(str(rows), {})[label_of(str(method))] = values
    parts = [
        f"A random graph of {NODES} nodes and {EDGES} edges: mean SHD over data sets with the 95 % interval. The paper "
        "shows its figures in a plot only. The violins show each method by its estimate of table 3, parnidag by the "
        "pairwise mode.",
        *distance_tables(found, "rows"),
    ]
    title = f"{NODES} nodes, {EDGES} edges"
    figures = {"": violin_figure(violins, title, "SHD to the true DAG, lower is better", EDGES)}
    return Report(rows_of(found), "\n\n".join(parts), figures)


FIFTY = Study(
    name="fifty",
    about="a random graph of 50 nodes, N = 50, 100, 150, as violins",
    methods=CHOICE,
    sizes={"quick": Size(1.0, 1, 10.0), "standard": Size(2.0, 10, 300.0), "paper": Size(60.0, 10, 3600.0)},
    tasks=tasks,
    report=report,
)
