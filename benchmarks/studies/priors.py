"""Why magic-niab is hard: the same networks under other priors of edges and of their weights.

Whether an edge is worth its price is arithmetic. With the paper's score an edge that explains a share R² of what its
child's other parents leave gains about −½N log(1 − R²), and costs ½ log(1 + gN) for the weight and log((1 − h)/h) for
being there. The report counts the true edges that are worth it, then shows what the distances do when the price falls.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from benchmarks.harness.study import Report, Request, Study, rows_of
from benchmarks.harness.summaries import markdown_table
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import Learner, class_of, weight
from benchmarks.networks import Network, asked_network
from benchmarks.studies.settings import Size, differences_table, run_setting, settings_table, tasks_of
from benchmarks.studies.table3 import ROWS
from parnidag import scores
from parnidag.plots._axes import INK, colour_of
from parnidag.samplers import PARNI

BASE = "gaussian-10-1/100"


def _learner(label: str, score: Any, odds: Any) -> Learner:
    return Learner(label, PARNI(), score, odds, search=True, estimate="mode")


SETTINGS: dict[str, Learner] = {
    BASE: _learner("g = 10, h = 1/100 (paper)", scores.Gaussian(g=10), "1/100"),
    "gaussian-10-1/n": _learner("g = 10, h = 1/n (default)", scores.Gaussian(g=10), "1/n"),
    "gaussian-10-2/n": _learner("g = 10, h = 2/n", scores.Gaussian(g=10), "2/n"),
    "gaussian-10-penalty": _learner("g = 10, odds 1/(2 log n)", scores.Gaussian(g=10), "1/(2 log n)"),
    "gaussian-1-1/n": _learner("g = 1, h = 1/n", scores.Gaussian(g=1), "1/n"),
    "gaussian-0.1-1/n": _learner("g = 0.1, h = 1/n", scores.Gaussian(g=0.1), "1/n"),
    "bge-1/n": _learner("BGe, h = 1/n", scores.BGe(standardise=True), "1/n"),
    "bge-penalty": _learner("BGe, odds 1/(2 log n)", scores.BGe(standardise=True), "1/(2 log n)"),
}
"""By the name that `--methods` takes."""


def run(setting: str, **task: Any) -> Outcome:
    """Run one chain on one data set."""
    return run_setting(SETTINGS[setting], **task)


def tasks(request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and prior."""
    return tasks_of("benchmarks.studies.priors:run", SETTINGS, request, size)


def shares_explained(network: Network) -> np.ndarray:
    """Return R² of each true edge: of what the child's other parents leave unexplained, the share that it explains."""
    effects = np.linalg.inv(np.eye(len(network.nodes)) - network.weights)
    covariance = effects.T @ np.diag(network.deviations**2) @ effects
    shares = []
    for parent, child in np.argwhere(network.adjacency):
        others = np.flatnonzero(network.adjacency[:, child])
        others = others[others != parent]
        among = covariance[np.ix_(others, others)]
        left = covariance[parent, parent] - covariance[parent, others] @ np.linalg.solve(
            among, covariance[others, parent]
        )
        signal = network.weights[parent, child] ** 2 * left
        shares.append(signal / (signal + network.deviations[child] ** 2))
    return np.array(shares)


def price(g: float, h: float, rows: int) -> float:
    """Return the R² from which on an edge is worth its price."""
    cost = 0.5 * math.log1p(g * rows) + math.log((1 - h) / h)
    return 1 - math.exp(-2 * cost / rows)


def signal_table(networks: tuple[str, ...], folder: str | None) -> str:
    """Return what there is to find in each network."""
    lines = []
    for name in networks:
        network = asked_network(name, folder)
        shares, n = shares_explained(network), len(network.nodes)
        undirected = class_of(network.adjacency)
        free = int((undirected & undirected.T).sum()) // 2
        worth = [int((shares > price(10, weight(odds, n), ROWS)).sum()) for odds in ("1/100", "1/n", "2/n")]
        lines.append([name, str(n), str(len(shares)), str(free), f"{np.median(shares):.3f}", *map(str, worth)])
    heads = ["", "nodes", "edges", "of no known direction", "median R²", "worth at h = 1/100", "1/n", "2/n"]
    return markdown_table(heads, lines)


def report(request: Request, size: Size, found: Found) -> Report:
    """Return what there is to find, what was found, and what the posterior expected."""
    parts = [
        "What there is to find: R² of a true edge given its child's other parents, and how many of the edges are worth "
        f"their price at N = {ROWS} with g = 10.",
        signal_table(size.networks, request.folder),
        "SHD of the pairwise mode of default chains, mean over data sets with the 95 % interval:",
        settings_table(found, SETTINGS, "shd_mode"),
    ]
    if any(task.labels["setting"] == BASE for task, _ in found):
        parts += [
            "The same less that under the paper's prior, data set by data set (below zero: closer to the truth):",
            differences_table(found, SETTINGS, BASE),
        ]
    parts += ["The SHD that the posterior itself expects:", settings_table(found, SETTINGS, "expected_shd_mode")]
    return Report(rows_of(found), "\n\n".join(parts), {"": signal_figure(size.networks, request.folder)})


def signal_figure(networks: tuple[str, ...], folder: str | None) -> Figure:
    """Draw R² of every true edge, and the price of an edge."""
    figure, ax = plt.subplots(figsize=(7.0, 0.55 * len(networks) + 1.2), layout="constrained")
    for k, name in enumerate(networks):
        network = asked_network(name, folder)
        shares = np.sort(shares_explained(network))
        paid = price(10, weight("1/n", len(network.nodes)), ROWS)
        heights = k + 0.5 * (np.random.default_rng(1).random(len(shares)) - 0.5)
        for worth, colour, marker in ((True, colour_of(0), "o"), (False, colour_of(1), "x")):
            chosen = (shares > paid) == worth
            ax.plot(shares[chosen], heights[chosen], ls="", marker=marker, ms=4, color=colour)
        ax.plot([paid, paid], [k - 0.4, k + 0.4], color=INK, lw=1.5)
        ax.text(1.15, k, f"{(shares > paid).sum()} of {len(shares)}", va="center", fontsize="small")
    ax.set(
        xscale="log", xlim=(1e-5, 1.1), xlabel=f"R² of a true edge (line: the price of an edge at N = {ROWS}, h = 1/n)"
    )
    ax.set_yticks(range(len(networks)), networks)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    return figure


PRIORS = Study(
    name="priors",
    about="the same networks under other priors: why magic-niab is hard",
    methods=tuple(SETTINGS),
    sizes={
        "quick": Size(1.0, 1, ("ecoli70", "magic-niab")),
        "standard": Size(1.5, 10),
        "paper": Size(10.0, 100),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
