"""Is the posterior as sure as it may be? Priors beside many kinds of truth: distances, expected and actual, and shares.

A prior that does not fit a network makes probabilities of edges too large or too small. For each prior and truth this
counts how far the pairwise mode is from the truth and how far the posterior itself expects it to be, scores all edge
probabilities (Brier: the summed squared error; log loss in nats), and sets the probabilities of edges beside the share
of them that is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.figure import Figure

import parnidag
from benchmarks.harness.study import Report, Request, Study, grouped, rows_of
from benchmarks.harness.summaries import markdown_table, mean_interval, plus_minus
from benchmarks.harness.task import Found, Outcome, Task
from benchmarks.networks import NETWORKS, Network, asked_network
from parnidag import Beta, EdgePrior, scores
from parnidag.graphs.consensus import consensus
from parnidag.metrics import calibration_curve, shd
from parnidag.plots._axes import INK, colour_of

ROWS = {"networks": (50, 100, 500), "others": (100,)}


def random_network(name: str, edges: int, weights: tuple[float, float], seed: int, nodes: int = 40) -> Network:
    made = parnidag.simulate(nodes=nodes, edges=edges, rows=1, weights=weights, seed=seed)
    return Network(name, made.names, made.weights, 0 * made.noise, made.noise)


def unequal_noise(name: str, seed: int) -> Network:
    rng = np.random.default_rng(seed)
    made = random_network(name, 60, (0.3, 1.0), seed)
    return Network(name, made.nodes, made.weights, made.intercepts, rng.uniform(0.3, 3.0, len(made.nodes)))


def scale_free(name: str, seed: int, nodes: int = 40) -> Network:
    """Few nodes with very many children."""
    rng = np.random.default_rng(seed)
    grown = nx.to_numpy_array(nx.barabasi_albert_graph(nodes, 1, seed=seed)) > 0
    weights = np.triu(grown) * rng.uniform(0.3, 1.0, (nodes, nodes)) * rng.choice([-1.0, 1.0], (nodes, nodes))
    order = rng.permutation(nodes)
    return Network(
        name, tuple(f"X{j}" for j in range(nodes)), weights[np.ix_(order, order)], np.zeros(nodes), np.ones(nodes)
    )


TRUTHS: Mapping[str, Callable[[int], Network]] = {
    "sparse, weak": lambda seed: random_network("sparse, weak", 40, (0.1, 0.4), seed),
    "sparse, strong": lambda seed: random_network("sparse, strong", 40, (0.5, 1.5), seed),
    "dense, weak": lambda seed: random_network("dense, weak", 150, (0.1, 0.4), seed),
    "dense, strong": lambda seed: random_network("dense, strong", 120, (0.3, 1.0), seed),
    "unequal noise": lambda seed: unequal_noise("unequal noise", seed),
    "scale-free": lambda seed: scale_free("scale-free", seed),
    "few nodes": lambda seed: random_network("few nodes", 15, (0.3, 1.0), seed, nodes=10),
    "no edges": lambda seed: random_network("no edges", 0, (0.5, 1.5), seed),
}
"""Networks that are drawn anew for each data set, beside those that others have published."""

LEARNED = scores.BGe(alpha_w="learn", standardise=True)
PRIORS: Mapping[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "paper": ("g = 10, h = 1/n (paper)", lambda n: _model(scores.Gaussian(g=10), 1.0 / n)),
    "g-learned": ("g learned, h = 2/n", lambda n: _model(scores.Gaussian(g="learn"), 2.0 / n)),
    "bge": ("BGe, h = 1/n", lambda n: _model(scores.BGe(standardise=True), 1.0 / n)),
    "learned-1": ("BGe learned, h = 1/n", lambda n: _model(LEARNED, 1.0 / n)),
    "learned-2": ("BGe learned, h = 2/n", lambda n: _model(LEARNED, 2.0 / n)),
    "learned-odds": ("BGe and h learned, Beta(1, n/2 − 1)", lambda n: _model(LEARNED, Beta(1.0, n / 2 - 1))),
}
"""By the name that `--methods` takes: a label, and what `sample` is told for so many nodes."""


def _model(score: Any, h: Any) -> dict[str, Any]:
    return {"score": score, "prior": EdgePrior(h=h)}


@dataclass(frozen=True)
class Size:
    draws: int
    replications: int
    networks: tuple[str, ...] = NETWORKS
    rows: tuple[int, ...] = ROWS["networks"]


def truth_of(truth: str, seed: int, folder: str | None) -> Network:
    return asked_network(truth, folder) if truth in NETWORKS else TRUTHS[truth](seed)


def judge(truth: str, rows: int, prior: str, draws: int, seed: int, folder: str | None = None) -> Outcome:
    """Draw a data set, and set the posterior under a prior beside the truth."""
    network = truth_of(truth, seed, folder)
    values, edges = network.draw(rows, seed), network.adjacency
    began = time.process_time()
    found = parnidag.sample(values, **PRIORS[prior][1](len(edges)), draws=draws, seed=seed, progress=False)
    seconds = time.process_time() - began
    probabilities = found.edge_probabilities.to_numpy()
    mode = consensus(probabilities)
    others = ~np.eye(len(edges), dtype=bool)
    curve = calibration_curve(probabilities, edges)
    bins = np.stack([curve.edges, *(np.nan_to_num(one * curve.edges) for one in curve[1:])], axis=1)
    likely = np.where(edges, probabilities, 1.0 - probabilities)[others]
    return Outcome(
        figures={
            "shd": shd(mode, edges),
            "expected": found.expected_shd(mode),
            "brier": float(((probabilities - edges) ** 2).sum()),
            "log_loss": float(-np.log(np.maximum(likely, 1e-4)).sum()),
            "edges": float(probabilities.sum()),
            "converged": str(found.diagnostics().converged),
            "cpu_seconds": seconds,
        },
        arrays={"bins": bins},
    )


def tasks(request: Request, size: Size) -> list[Task]:
    asked = [(truth, rows) for truth in size.networks for rows in size.rows]
    asked += [(truth, rows) for truth in TRUTHS for rows in ROWS["others"]]
    return [
        Task(
            function="benchmarks.studies.calibrated:judge",
            settings={
                "truth": truth,
                "rows": rows,
                "prior": prior,
                "draws": size.draws,
                "seed": request.seed_of(replication),
            },
            labels={"truth": truth, "rows": rows, "replication": replication, "prior": prior},
            place={"folder": request.folder},
        )
        for replication in range(request.replications or size.replications)
        for truth, rows in asked
        for prior in request.chosen(tuple(PRIORS))
    ]


FIGURES = {
    "shd": "SHD of the pairwise mode",
    "expected": "SHD that the posterior expects",
    "brier": "Brier score of all edges, summed",
    "log_loss": "log loss of all edges, summed, in nats",
    "cpu_seconds": "CPU seconds",
}


def report(request: Request, size: Size, found: Found) -> Report:
    """Return a table for each figure, a line for each truth; and reliability curves."""
    groups = grouped(found, ["truth", "rows", "prior"])
    truths = list(dict.fromkeys(key[:2] for key in groups))
    priors = [name for name in PRIORS if any(key[2] == name for key in groups)]
    parts = []
    for figure, words in FIGURES.items():
        lines = [
            [f"{truth}, N = {rows}", *(_cell(groups.get((truth, rows, prior), []), figure) for prior in priors)]
            for truth, rows in truths
        ]
        parts += [f"{words}, mean over data sets with the 95 % interval:"]
        parts += [markdown_table(["", *(PRIORS[prior][0] for prior in priors)], lines)]
    parts += ["Of edges with such a probability, the share that is there (all truths together):", shares(found, priors)]
    return Report(rows_of(found), "\n\n".join(parts), {"": curves(found, priors)})


def _cell(members: Found, figure: str) -> str:
    done = [float(outcome.figures[figure]) for _, outcome in members if outcome.status == "done"]  # type: ignore[arg-type]
    return plus_minus(mean_interval(done)) if done else "–"


def bins_of(found: Found, prior: str) -> np.ndarray:
    """Return for each bin the edges, their summed probabilities and how many are there, over all data sets."""
    members = grouped(found, ["prior"]).get((prior,), [])
    return np.sum([outcome.arrays["bins"] for _, outcome in members if outcome.status == "done"], axis=0)


def shares(found: Found, priors: list[str]) -> str:
    table = {prior: bins_of(found, prior) for prior in priors}
    count = len(next(iter(table.values())))
    lines = []
    for k in range(count):
        cells = [
            f"{found / edges:.2f} of {edges:.0f}" if edges else "–" for edges, _, found in (table[p][k] for p in priors)
        ]
        lines.append([f"{k / count:.1f} – {(k + 1) / count:.1f}", *cells])
    return markdown_table(["probability", *(PRIORS[prior][0] for prior in priors)], lines)


def curves(found: Found, priors: list[str]) -> Figure:
    figure, ax = plt.subplots(figsize=(5.5, 5.0), layout="constrained")
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
    for k, prior in enumerate(priors):
        edges, summed, there = bins_of(found, prior).T
        known = edges >= 10
        ax.plot(
            summed[known] / edges[known],
            there[known] / edges[known],
            "o-",
            color=colour_of(k),
            label=PRIORS[prior][0],
            markersize=4,
        )
    ax.set(xlabel="probability of an edge", ylabel="share of these edges that is there", xlim=(0, 1), ylim=(0, 1))
    ax.legend(frameon=False, fontsize="small")
    return figure


CALIBRATED = Study(
    name="calibrated",
    about="whether edges of probability p are there p of the time, by prior and kind of truth",
    methods=tuple(PRIORS),
    sizes={
        "quick": Size(100, 1, ("ecoli70",), (100,)),
        "standard": Size(250, 3),
        "paper": Size(1000, 20),
    },
    tasks=tasks,
    report=report,
    data=("a folder",),
)
