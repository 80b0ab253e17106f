"""How time and memory grow with the number of nodes, of rows and of edges a node, with slopes on logarithmic axes.

What is measured, and how, is in `benchmarks.growth`. Data of one replication come from one network where only the rows
change; each replication has networks of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.growth import FEWEST_EFFECTIVE, Point, measured
from benchmarks.growth_drawing import Panel, growth_figure
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.methods import METHODS
from benchmarks.slopes import fit_growth, growth_text, power_text

CHOICE = ("parni", "parni-gibbs", "adr", "order")
DEFAULT = "parni"
USUAL_NODES, USUAL_ROWS, USUAL_DENSITY = 50, 200, 1.5
"""Where a sweep stands still: small enough that many points fit, large enough to have a search space."""
LARGE = 500
NODES_WATCHED = 100
"""Chains of more nodes are watched longer in proportion: their edges take longer to move."""


@dataclass(frozen=True)
class Sweep:
    """One thing that changes."""

    symbol: str
    label: str
    others: str
    """What stands still."""
    methods: tuple[str, ...] = CHOICE

    def point(self, value: float, seconds: float, tuning_draws: int, seed: int) -> Point:
        """Return the network and data at a value."""
        nodes = int(value) if self.symbol == "n" else USUAL_NODES
        rows = int(value) if self.symbol == "N" else USUAL_ROWS
        edges = round(nodes * (value if self.symbol == "d" else USUAL_DENSITY))
        return Point(nodes, edges, rows, seconds * max(1.0, nodes / NODES_WATCHED), tuning_draws, seed)


SWEEPS = {
    "nodes": Sweep("n", "nodes, n", f"{USUAL_DENSITY} edges a node, N = {USUAL_ROWS}"),
    "rows": Sweep("N", "rows, N", f"n = {USUAL_NODES}, {USUAL_DENSITY} edges a node", ("parni", "adr")),
    "density": Sweep("d", "edges a node, d", f"n = {USUAL_NODES}, N = {USUAL_ROWS}"),
}


@dataclass(frozen=True)
class Quantity:
    """A figure that may grow: what it is called in sentences and in tables, and the factor for the table."""

    words: str
    heading: str
    factor: float = 1.0


QUANTITIES = {
    "microseconds_an_iteration": Quantity("cost of an iteration", "µs an iteration"),
    "seconds_a_draw_slow": Quantity("cost of an effective draw of the slowest edges", "ms a draw, slowest", 1e3),
    "seconds_a_draw_typical": Quantity("cost of an effective draw of the median edge", "ms a draw, median", 1e3),
    "search_seconds": Quantity("cost of the search", "search, s"),
    "reading_seconds": Quantity("cost of reading the table", "reading, ms", 1e3),
    "peak_megabytes": Quantity("memory at its height", "peak, MB"),
}


@dataclass(frozen=True)
class Size:
    """Values of each sweep, CPU seconds of a chain after tuning, and the most nodes that each method is given."""

    values: Mapping[str, Sequence[float]]
    seconds: float
    tuning_draws: int
    replications: int
    large_replications: int
    """Of networks with more than `LARGE` nodes, whose search takes minutes."""
    most_nodes: Mapping[str, int]

    def wanted(self, point: Point, replications: int | None) -> int:
        """Return the replications of a point; what the user asks for is for all."""
        if replications is not None:
            return replications
        return self.large_replications if point.nodes > LARGE else self.replications


def run_point(sweep: str, method: str, described: object, point: dict[str, float], alone: bool) -> Outcome:
    """Measure one chain; where two sweeps meet, each has a measurement of its own."""
    assert METHODS[method].describe() == described
    return Outcome(figures=measured(method, Point(**point), alone))  # type: ignore[arg-type]


def tasks(request: Request, size: Size) -> list[Task]:
    """Return the chains, replication by replication; the default's first ones have a process of their own."""
    found = []
    for replication in range(request.replications or max(size.replications, size.large_replications)):
        for name, sweep in SWEEPS.items():
            for value in size.values[name]:
                point = sweep.point(
                    value, request.seconds or size.seconds, size.tuning_draws, request.seed_of(replication)
                )
                if replication >= size.wanted(point, request.replications):
                    continue
                methods = [one for one in request.chosen(sweep.methods) if point.nodes <= size.most_nodes.get(one, 0)]
                found += [task_at(name, value, method, point, replication) for method in methods]
    return found


def task_at(sweep: str, value: float, method: str, point: Point, replication: int) -> Task:
    """Return one chain of a sweep."""
    return Task(
        function="benchmarks.studies.scaling:run_point",
        settings={
            "sweep": sweep,
            "method": method,
            "described": METHODS[method].describe(),
            "point": asdict(point),
            "alone": method == DEFAULT and replication == 0,
        },
        labels={"sweep": sweep, "value": value, "method": method, "replication": replication},
    )


def values_of(members: Found, quantity: str) -> tuple[list[float], list[float]]:
    """Return where a figure was found, and what it was."""
    found = [
        (float(task.labels["value"]), float(figure))
        for task, outcome in members
        if outcome.status == "done" and (figure := outcome.figures.get(quantity)) is not None and float(figure) > 0
    ]
    return [value for value, _ in found], [figure for _, figure in found]


def is_censored(members: Found, quantity: str) -> bool:
    """Are there chains with too few effective draws to have the figure? Those are the costly ones."""
    return any(
        outcome.status == "done" and quantity in outcome.figures and outcome.figures[quantity] is None
        for _, outcome in members
    )


def slope_tables(found: Found) -> tuple[list[list[str]], list[str]]:
    """Return the powers of every sweep and method as cells, and those of the default in sentences."""
    cells, sentences = [], []
    for (sweep, method), members in grouped(found, ["sweep", "method"]).items():
        symbol, line = SWEEPS[str(sweep)].symbol, [str(sweep), METHODS[str(method)].label]
        for key, quantity in QUANTITIES.items():
            growth = fit_growth(*values_of(members, key))
            marks = (" †" if growth.bend else "") + (" ‡" if is_censored(members, key) else "")
            line.append(power_text(symbol, growth.power) + marks)
            if method == DEFAULT and line[-1] != "–":
                sentences.append(f"- {growth_text(symbol, quantity.words, growth)}")
        cells.append(line)
    return cells, sentences


def point_cells(found: Found) -> list[list[str]]:
    """Return the default's medians over replications at every value."""
    chosen = [(task, outcome) for task, outcome in found if task.labels["method"] == DEFAULT]
    cells = []
    for (sweep, value), members in sorted(
        grouped(chosen, ["sweep", "value"]).items(), key=lambda item: list(SWEEPS).index(str(item[0][0]))
    ):
        line = [f"{SWEEPS[str(sweep)].symbol} = {value:,}"]
        for key, quantity in QUANTITIES.items():
            figures = values_of(members, key)[1]
            line.append(f"{quantity.factor * float(np.median(figures)):.3g}" if figures else "–")
        cells.append(line)
    return cells


def panels(found: Found, quantities: Mapping[str, str]) -> list[list[Panel]]:
    """Return a row of panels for each quantity, a column for each sweep."""
    rows = []
    for key, label in quantities.items():
        rows.append(
            [
                Panel(
                    sweep.label,
                    label,
                    sweep.others,
                    {
                        METHODS[str(method)].label: values_of(members, key)
                        for (method,), members in grouped(
                            [pair for pair in found if pair[0].labels["sweep"] == name], ["method"]
                        ).items()
                    },
                )
                for name, sweep in SWEEPS.items()
            ]
        )
    return rows


def report(request: Request, size: Size, found: Found) -> Report:
    """Return powers, the default's figures, and both against what changes."""
    headings = [quantity.heading for quantity in QUANTITIES.values()]
    cells, sentences = slope_tables(found)
    others = "; ".join(f"{name}: {sweep.others}" for name, sweep in SWEEPS.items())
    lost = [f"- {task.describe()}: {outcome.note}" for task, outcome in found if outcome.status != "done"]
    text = "\n\n".join(
        [
            f"One chain, CPU time, after tuning; set-up (reading, search) apart. What stands still: {others}. Powers "
            "by least squares on logarithmic axes over all replications, with 95 % intervals.",
            f"The default ({METHODS[DEFAULT].label}):\n\n" + "\n".join(sentences),
            markdown_table(["sweep", "", *(quantity.heading for quantity in QUANTITIES.values())], cells, left=2),
            f"† one power does not describe it: there is a bend. An effective draw is counted where a chain made at "
            f"least {FEWEST_EFFECTIVE}; one chain cannot see modes that it never left. ‡ some chains made fewer and "
            "are left out, so that the true power is larger. ADR starts where PARNI does.",
            markdown_table(["default, medians", *headings], point_cells(found)),
            *(["Without figures:\n\n" + "\n".join(lost)] if lost else []),
        ]
    )
    costs = {
        "microseconds_an_iteration": "CPU µs an iteration",
        "seconds_a_draw_slow": "CPU seconds an effective draw\nof the ten slowest edges",
    }
    searching = [
        (task, outcome) for task, outcome in found if METHODS[task.labels["method"]].sampler.default_space != "none"
    ]
    setting_up = {"search_seconds": "CPU seconds of the search", "peak_megabytes": "memory at its height, MB"}
    labels = [METHODS[method].label for method in CHOICE]
    return Report(
        rows_of(found),
        text,
        {
            "": growth_figure(panels(found, costs), labels),
            "-setup": growth_figure(panels(searching, setting_up), labels),
        },
    )


SCALING = Study(
    name="scaling",
    about="time and memory of a chain against nodes, rows and edges a node",
    methods=CHOICE,
    sizes={
        "quick": Size(
            {"nodes": (20, 50, 100, 200), "rows": (100, 1_000, 10_000, 100_000), "density": (0.5, 1, 2, 3)},
            seconds=0.5,
            tuning_draws=25,
            replications=2,
            large_replications=2,
            most_nodes={"parni": 200, "adr": 100},
        ),
        "standard": Size(
            {
                "nodes": (20, 50, 100, 200, 500, 1000, 2000),
                "rows": (100, 1_000, 10_000, 100_000, 1_000_000),
                "density": (0.5, 1, 1.5, 2, 3, 4, 6),
            },
            seconds=1.0,
            tuning_draws=50,
            replications=3,
            large_replications=1,
            most_nodes={"parni": 2000, "parni-gibbs": 200, "adr": 500, "order": 200},
        ),
        "paper": Size(
            {
                "nodes": (20, 50, 100, 200, 500, 1000, 2000),
                "rows": (100, 1_000, 10_000, 100_000, 1_000_000),
                "density": (0.5, 1, 1.5, 2, 3, 4, 6),
            },
            seconds=10.0,
            tuning_draws=250,
            replications=10,
            large_replications=10,
            most_nodes=dict.fromkeys(CHOICE, 2000),
        ),
    },
    tasks=tasks,
    report=report,
)
