"""How well the edges of simulated panels are found, beside PCMCI+ where tigramite is installed, and at what CPU time.

python -m benchmarks.panels [--variables P] [--lags L] [--units U] [--times T] [--curved] [--replications R] [--seed S]
                            [--without-peer]
python -m benchmarks.panels --wide TABLE TRUTH --slices S [--static COLUMN ...]
python -m benchmarks.panels --warnings

Random stationary networks: a variable follows itself, about one other at the same time, and about 0.7 others at each
lag. Relations are linear, or with --curved x ↦ tanh(2x) and x ↦ x² of these others; noise is Gaussian. Found is what
the consensus graph holds; PCMCI+ (Runge 2020) is run on all units together with partial correlations, α = 0.01.
Precision and recall count edges with their lag; within a time also directions, an undirected link of the peer as half.

--wide: distances of the consensus graph to a known one, of a table with times side by side. The truth is a table of
0 and 1 (row → column) over the static columns, the variables at the first time and those at the second.

--warnings: how often a panel of three variables is said to need more lags than one, that follow themselves by 0.4 one
step later and by so much two steps later; and with levels of units that differ by a standard deviation.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

import parnidag
from parnidag import Panel, metrics

Floats = np.ndarray[Any, np.dtype[np.float64]]
BURN_IN, LARGEST_RADIUS = 50, 0.95
ALPHA = 0.01
WITHIN, BEFORE = "same time", "lagged"


def network(variables: int, lags: int, rng: np.random.Generator) -> Floats:
    """Return random coefficients (lag × from × to), of a process that does not run away."""
    order = rng.permutation(variables)
    found = np.zeros((1 + lags, variables, variables))
    for place in range(1, variables):
        for parent in rng.choice(order[:place], min(place, rng.poisson(1.0)), replace=False):
            found[0, parent, order[place]] = rng.choice([-1, 1]) * rng.uniform(0.25, 0.5)
    found[1, np.arange(variables), np.arange(variables)] = rng.uniform(0.2, 0.5, variables)
    for lag in range(1, lags + 1):
        for child in range(variables):
            for parent in rng.choice(variables, rng.poisson(0.7), replace=False):
                if parent != child:
                    found[lag, parent, child] = rng.choice([-1, 1]) * rng.uniform(0.15, 0.3)
    total = np.linalg.inv(np.eye(variables) - found[0])
    companion = np.zeros((variables * lags,) * 2)
    companion[:, :variables] = np.concatenate([one @ total for one in found[1:]])
    companion[:-variables, variables:] = np.eye(variables * (lags - 1))
    radius = np.abs(np.linalg.eigvals(companion)).max()
    if radius > LARGEST_RADIUS:
        found[1:] *= ((LARGEST_RADIUS / radius) ** np.arange(1, lags + 1))[:, None, None]
    return found


def simulate(coefficients: Floats, units: int, times: int, curved: bool, rng: np.random.Generator) -> Floats:
    """Return a panel (unit × time × variable)."""
    lags, variables = len(coefficients) - 1, coefficients.shape[1]
    order = _order(coefficients[0] != 0)
    values = np.zeros((units, times + BURN_IN, variables))
    functions = rng.integers(0, 2, coefficients.shape)
    for now in range(lags, times + BURN_IN):
        for j in order:
            value = rng.standard_normal(units)
            for lag, i in np.argwhere(coefficients[:, :, j]).tolist():
                past = values[:, now - lag, i]
                if curved and i != j:
                    past = np.tanh(2 * past) if functions[lag, i, j] else np.minimum(past**2, 9.0) - 1.0
                value += coefficients[lag, i, j] * (1.5 if curved and i != j else 1.0) * past
            values[:, now, j] = value
    return values[:, BURN_IN:]


def _order(edges: np.ndarray[Any, Any]) -> list[int]:
    from parnidag.graphs.adjacency import topological_order

    found = topological_order(edges)
    assert found is not None
    return found


def by_parnidag(values: Floats, lags: int, score: str | None) -> Floats:
    """Return the consensus graph (lag × from × to)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", parnidag.MoreLagsWarning)
        panel = Panel(values, lags=lags)
    result = parnidag.sample(panel, score=score, seed=1, progress=False)
    p = values.shape[2]
    return np.asarray(result.consensus_graph().adjacency[:, :p].reshape(1 + lags, p, p), float)


def by_pcmci(values: Floats, lags: int) -> Floats:
    """Return the links of PCMCI+ (lag × from × to); one half in both directions where it leaves a link undirected."""
    from tigramite.data_processing import DataFrame
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    frame = DataFrame(dict(enumerate(values)), analysis_mode="multiple")
    links = PCMCI(frame, ParCorr(), verbosity=0).run_pcmciplus(tau_max=lags, pc_alpha=ALPHA)["graph"]
    found = np.where(links == "-->", 1.0, np.where(np.isin(links, ["o-o", "x-x"]), 0.5, 0.0))
    return np.moveaxis(found, 2, 0)


def judged(found: Floats, truth: Floats) -> dict[str, tuple[float, float]]:
    """Return precision and recall, within a time and at lags."""
    there = truth != 0
    parts = {WITHIN: (found[:1], there[:1]), BEFORE: (found[1:], there[1:])}
    return {
        name: (float((one * other).sum() / max(one.sum(), 1e-9)), float((one * other).sum() / max(other.sum(), 1)))
        for name, (one, other) in parts.items()
    }


def compare_wide(path: str, truth_path: str, slices: int, static: list[str]) -> None:
    """Print distances to a known network: within a time, from one time to the next, and from static columns."""
    panel = Panel.from_wide(path, slices, static=static)
    variables, fixed = len(panel.variables), len(static)
    truth = pd.read_csv(truth_path).to_numpy() != 0
    later = slice(fixed + variables, None)
    parts = {
        WITHIN: truth[later, later],
        BEFORE: truth[fixed : fixed + variables, later],
        "static": truth[:fixed, later],
    }
    few = parnidag.EdgePrior(max_parents=5)
    runs: dict[str, dict[str, Any]] = {
        "default": {},
        "at most 5 parents": {"prior": few},
        "at most 5 parents, BIC": {"prior": few, "score": "bic"},
    }
    for name, options in runs.items():
        began = time.process_time()
        posterior = parnidag.sample(panel, seed=1, progress=False, **options)
        seconds = time.process_time() - began
        found = posterior.consensus_graph().adjacency[:, :variables]
        blocks = np.split(found, [variables, 2 * variables])
        said = []
        for (part, there), here in zip(parts.items(), blocks, strict=True):
            wrong = metrics.shd(here, there) if part == WITHIN else int((here != there).sum())
            said.append(f"{part} {wrong} ({there.sum()} edges, {here.sum()} found, {(here & there).sum()} right)")
        print(f"{name}: SHD {', '.join(said)}; {seconds:.0f} CPU s: {posterior.diagnostics().verdict}", flush=True)


def show_warnings() -> None:
    """Print how often more lags are asked for, where one is enough and where it is not."""
    seconds = (0.0, 0.1, 0.2, 0.3)
    table = Table("units", "times", *(f"second lag {second:g}" for second in seconds), "none, but levels differ")
    for units, times in ((1, 100), (1, 300), (10, 50), (50, 20)):
        shares = [_share_warned(units, times, second, 0.0, 60 if second else 300) for second in seconds]
        shares.append(_share_warned(units, times, 0.0, 1.0, 60))
        table.add_row(str(units), str(times), *(f"{share:.1%}" for share in shares))
    Console().print(table)


def _share_warned(units: int, times: int, second: float, levels: float, runs: int) -> float:
    warned = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, units, times])
        level = levels * rng.normal(size=(units, 1, 3))
        series = np.zeros((units, times + BURN_IN, 3))
        for now in range(2, times + BURN_IN):
            series[:, now] = 0.4 * series[:, now - 1] + second * series[:, now - 2] + rng.normal(size=(units, 3))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", parnidag.MoreLagsWarning)
            Panel(series[:, BURN_IN:] + level)
        warned += bool(said)
    return warned / runs


def main() -> None:
    """Compare the methods on some panels, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name, usual in (("variables", 20), ("lags", 1), ("units", 10), ("times", 50), ("replications", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--curved", action="store_true")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--wide", nargs=2)
    parser.add_argument("--warnings", action="store_true")
    parser.add_argument("--slices", type=int, default=2)
    parser.add_argument("--static", nargs="*", default=[])
    given = parser.parse_args()
    if given.warnings:
        show_warnings()
        return
    if given.wide:
        compare_wide(*given.wide, given.slices, given.static)
        return
    methods = {"parnidag, default": lambda values: by_parnidag(values, given.lags, None)}
    if given.curved:
        methods["parnidag, Spline"] = lambda values: by_parnidag(values, given.lags, "spline")
    if not given.without_peer:
        methods["PCMCI+, ParCorr"] = lambda values: by_pcmci(values, given.lags)
    figures: dict[str, list[list[float]]] = {name: [] for name in methods}
    for replication in range(given.replications):
        rng = np.random.default_rng([given.seed, replication])
        truth = network(given.variables, given.lags, rng)
        values = simulate(truth, given.units, given.times, given.curved, rng)
        for name, method in methods.items():
            began = time.process_time()
            outcome = judged(method(values), truth)
            figures[name].append([*outcome[WITHIN], *outcome[BEFORE], time.process_time() - began])
    table = Table("method", f"{WITHIN}: precision", "recall", f"{BEFORE}: precision", "recall", "CPU seconds")
    for name, rows in figures.items():
        means = np.mean(rows, axis=0)
        table.add_row(name, *(f"{value:.2f}" for value in means[:4]), f"{means[4]:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
