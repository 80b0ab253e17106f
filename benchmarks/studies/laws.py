"""Why iterative MCMC comes so close: three laws, each with two pairs of score and prior, on the same data.

Iterative MCMC differs from the default in three things at once: its score and prior (BGe, odds 1/(2 log n)), its law
(graphs count as often as orders agree with them), and its space of candidate parents. Partition MCMC has the law of
the posterior on such a space; PARNI has it on all graphs. With both scores and priors for each of them, the three can
be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.drawing import row_of_panels
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import Learner
from benchmarks.studies.settings import (
    HUB,
    Size,
    differences,
    differences_table,
    networks_of,
    run_setting,
    settings_table,
    tasks_of,
)
from parnidag import scores
from parnidag.plots._axes import colour_of
from parnidag.samplers import PARNI, IterativeMCMC, PartitionMCMC

COUNTS = {"right": "right", "turned": "the wrong way round", "extra": "of no true pair"}
"""What becomes of the edges of a pairwise mode."""
KINDS = {
    "missing": "true edges that are missing",
    "extra": "edges of no true pair",
    "turned_told": "wrong way round, where the true class has a direction",
    "turned_hub": "wrong way round, where it has none: children of a hub",
    "turned_untold": "wrong way round, where it has none: others",
}
"""The parts of a distance, which add up to it."""


def _with(score: Any, odds: Any, words: str, name: str) -> dict[str, Learner]:
    law = {"score": score, "odds": odds, "estimate": "mode"}
    return {
        f"parni-{name}": Learner(f"all graphs (PARNI), {words}", PARNI(), search=True, **law),
        f"partition-{name}": Learner(
            f"graphs of a space (partition MCMC), {words}", PartitionMCMC(), space="iterative", search=True, **law
        ),
        f"iterative-{name}": Learner(
            f"orders on a space (iterative MCMC), {words}", IterativeMCMC(), space="pc", **law
        ),
    }


SETTINGS: dict[str, Learner] = {
    **_with(scores.Gaussian(g=10), "1/n", "g = 10, h = 1/n", "gaussian"),
    **_with(scores.BGe(standardise=True), "1/(2 log n)", "BGe, odds 1/(2 log n)", "bge"),
}
"""By the name that `--methods` takes."""
BASES = {
    "parni-gaussian": (
        SETTINGS,
        "The same less that of the default, data set by data set (below zero: closer to the truth):",
    ),
    "parni-bge": (
        {name: learner for name, learner in SETTINGS.items() if name.endswith("bge")},
        "Laws under the same score and prior: less that of all graphs with BGe (g = 10 is above):",
    ),
}
"""What others are compared with: which others, and how the table is announced."""


def run(setting: str, **task: Any) -> Outcome:
    """Run one chain on one data set."""
    return run_setting(SETTINGS[setting], **task)


def tasks(request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and setting."""
    return tasks_of("benchmarks.studies.laws:run", SETTINGS, request, size)


def report(request: Request, size: Size, found: Found) -> Report:
    """Return distances, differences, and what the edges are."""
    parts = [
        f"SHD of the pairwise mode after the set-up and {request.seconds or size.seconds:g} CPU seconds, mean over "
        "data sets with the 95 % interval:",
        settings_table(found, SETTINGS, "shd_mode"),
    ]
    present = {str(task.labels["setting"]) for task, _ in found}
    for base, (settings, words) in BASES.items():
        if base in present:
            parts += [words, differences_table(found, settings, base)]
    pairs = {f"iterative-{name}": f"parni-{name}" for name in ("gaussian", "bge")}
    pairs = {orders: graphs for orders, graphs in pairs.items() if {orders, graphs} <= present}
    if pairs:
        parts += [
            "Orders on a space less all graphs with the same score and prior, by what is wrong with the pairwise mode "
            f"(a hub has {HUB} or more children by edges whose direction no data tell):",
            kinds_table(found, pairs),
        ]
    for figure, words in COUNTS.items():
        parts += [f"Edges of the pairwise mode that are {words}:", settings_table(found, SETTINGS, figure)]
    return Report(rows_of(found), "\n\n".join(parts), {"": edges_figure(found)})


def kinds_table(found: Found, pairs: Mapping[str, str]) -> str:
    """Return the parts of the difference between a setting and its base, for each pair of them."""
    lines = [
        [f"{SETTINGS[orders].label.partition(', ')[2]}: {words}", *differences(found, orders, graphs, figure)]
        for orders, graphs in pairs.items()
        for figure, words in KINDS.items()
    ]
    return markdown_table(["", *networks_of(found)], lines)


def edges_figure(found: Found) -> Figure:
    """Draw how many edges of each kind a setting has, one panel a network."""
    groups, networks = grouped(found, ["setting", "network"]), networks_of(found)
    shown = [setting for setting in SETTINGS if (setting, networks[0]) in groups]
    figure, axes = row_of_panels(len(networks), 2.4 * len(networks) + 3.6, 0.4 * len(shown) + 1.4)
    for ax, network in zip(axes[0], networks, strict=True):
        left = np.zeros(len(shown))
        for k, (kind, words) in enumerate(COUNTS.items()):
            widths = np.array([mean_of(groups[setting, network], kind) for setting in shown])
            ax.barh(np.arange(len(shown)), widths, left=left, height=0.7, color=colour_of(k), label=words)
            left += widths
        ax.set_title(network, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_yticks(np.arange(len(shown)), [SETTINGS[setting].label for setting in shown], fontsize="small")
    axes[0, 0].invert_yaxis()
    figure.supxlabel("edges of the pairwise mode", fontsize="small")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def mean_of(members: Found, figure: str) -> float:
    """Return the mean of a figure over the runs that have it."""
    values = [float(outcome.figures[figure]) for _, outcome in members if outcome.status == "done"]
    return float(np.mean(values)) if values else 0.0


LAWS = Study(
    name="laws",
    about="the same networks under three laws: why iterative MCMC is close",
    methods=tuple(SETTINGS),
    sizes={
        "quick": Size(1.0, 1, ("ecoli70", "magic-niab")),
        "standard": Size(3.0, 10),
        "paper": Size(10.0, 100),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
