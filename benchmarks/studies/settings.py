"""The four known networks under settings of our own choice: tasks and tables of the studies that ask why.

A setting is a sampler with its score and prior. Its chain has the same time after its set-up as every other: these are
questions about posteriors, not about the time they take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.study import Request, grouped
from benchmarks.harness.summaries import markdown_table, mean_interval
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.learners import Learner, class_of, sampled
from benchmarks.networks import NETWORKS, asked_network
from benchmarks.studies.accuracy import by_replication, cell, distances, signed
from benchmarks.studies.table3 import ROWS

HUB = 3
"""Children by edges of no known direction that make a node a hub."""


@dataclass(frozen=True)
class Size:
    """How much of it: CPU seconds of a chain after its set-up, data sets, and networks."""

    seconds: float
    replications: int
    networks: tuple[str, ...] = NETWORKS


def run_setting(
    learner: Learner, network: str, numbers: str, described: object, seconds: float, seed: int, folder: str | None
) -> Outcome:
    """Run one chain on one data set."""
    known = asked_network(network, folder)
    assert (known.digest(), learner.describe()) == (numbers, described)
    graphs, said = sampled(learner, known.draw(ROWS, seed), seconds, seed, set_up_is_free=True)
    figures = distances(graphs, known.adjacency) | turned_edges(graphs["mode"], known.adjacency)
    return Outcome(figures={**figures, **said})


def turned_edges(graph: np.ndarray, truth: np.ndarray) -> dict[str, int]:
    """Count edges the wrong way round by what data could tell of them.

    Edges whose direction the true graph's class tells, those of hubs that it does not tell, and the others of these.
    """
    true_class = class_of(truth)
    untold = truth & true_class.T
    of_hubs = untold & (untold.sum(axis=1) >= HUB)[:, None]
    turned = truth & graph.T & ~graph
    return {
        "turned_told": int((turned & ~untold).sum()),
        "turned_hub": int((turned & of_hubs).sum()),
        "turned_untold": int((turned & untold & ~of_hubs).sum()),
    }


def tasks_of(function: str, settings: Mapping[str, Learner], request: Request, size: Size) -> list[Task]:
    """Return a task for each data set and setting."""
    digests = {network: asked_network(network, request.folder).digest() for network in size.networks}
    return [
        Task(
            function=function,
            settings={
                "network": network,
                "numbers": digests[network],
                "setting": setting,
                "described": settings[setting].describe(),
                "seconds": request.seconds or size.seconds,
                "seed": request.seed_of(replication),
            },
            labels={"network": network, "setting": setting, "replication": replication},
            place={"folder": request.folder},
        )
        for replication in range(request.replications or size.replications)
        for network in size.networks
        for setting in request.chosen(tuple(settings))
    ]


def settings_table(found: Found, settings: Mapping[str, Learner], figure: str) -> str:
    """Return the mean of a figure over data sets, a line for each setting and a column for each network."""
    groups, networks = grouped(found, ["setting", "network"]), networks_of(found)
    lines = [
        [learner.label, *(cell(groups[setting, network], figure) for network in networks)]
        for setting, learner in settings.items()
        if (setting, networks[0]) in groups
    ]
    return markdown_table(["", *networks], lines)


def differences_table(found: Found, settings: Mapping[str, Learner], base: str) -> str:
    """Return how much farther from the truth the pairwise mode is than under a base, data set by data set."""
    present, networks = {str(task.labels["setting"]) for task, _ in found}, networks_of(found)
    lines = [
        [learner.label, *differences(found, setting, base, "shd_mode")]
        for setting, learner in settings.items()
        if setting != base and setting in present
    ]
    return markdown_table(["", *networks], lines)


def differences(found: Found, setting: str, base: str, figure: str) -> list[str]:
    """Return a figure less that of a base, data set by data set: mean and interval for each network."""
    groups, cells = grouped(found, ["setting", "network"]), []
    for network in networks_of(found):
        here, there = (by_replication(groups[one, network], figure) for one in (setting, base))
        cells.append(signed(mean_interval([here[k] - there[k] for k in here if k in there])))
    return cells


def networks_of(found: Found) -> list[str]:
    """Return the networks in the order in which they were asked for."""
    return list(dict.fromkeys(str(task.labels["network"]) for task, _ in found))
