"""What effects cost, and whether their intervals cover what they say.

python -m benchmarks.effects cost
python -m benchmarks.effects coverage [--sets S] [--seed S]
python -m benchmarks.effects beside --table FILE.csv [--edges K]

Cost: CPU seconds and memory of the summary of all pairs, of results with 4000 stored graphs. Coverage: a graph of three
nodes, parameters and rows from the prior of the model, and the 90 % interval of the effect of X0 on X1 in the posterior
of the rows; X1 → X0 is forbidden, so that turning effects round shows. Besides, how many graphs without a path there
were, against the sum of their probabilities. The twins leave something out, and must fail: the uncertainty of
parameters, that of graphs, and the direction of effects. Beside: total effects along the most probable edges of a
table, next to DoWhy's on the consensus graph (if it is installed) and to the bounds of IDA (Maathuis, Kalisch and
Bühlmann 2009): the smallest and the largest slope over the parents that the cause may have in the most frequent class.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import math
import resource
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import stats

import parnidag
from parnidag import Data, EdgePrior, scores
from parnidag.effects import draws as linear
from parnidag.effects import tables
from parnidag.effects.source import source_of
from parnidag.graphs.adjacency import topological_order
from parnidag.results.posterior import Posterior
from parnidag.scores.base import Score

NODES, DRAWS, ESS, G = 3, 100, 3.0, 5.0
FORBIDDEN = [("X1", "X0")]
PRIOR = EdgePrior(h=0.5, forbidden=FORBIDDEN)

Flags = np.ndarray
Drawn = tuple[Data, float]


# ── cost ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def cost(console: Console) -> None:
    table = Table("columns", "stored graphs", "different", "CPU seconds", "memory above before, MB")
    classes = Data(np.random.default_rng(1).integers(2, size=(300, 6)), kind="discrete")
    parnidag.exact(classes, draws=10, seed=1).effects().summary()  # compiled code is loaded
    for kind, nodes in (("numbers", 20), ("numbers", 100), ("classes", 20)):
        posterior = _result(kind, nodes)
        before, began = _memory(), time.process_time()
        posterior.effects().summary()
        seconds = time.process_time() - began
        chains, draws = posterior.record.graph_index.shape
        table.add_row(
            f"{nodes} {kind}",
            str(chains * draws),
            str(posterior.n_graphs),
            f"{seconds:.2f}",
            f"{_memory() - before:.0f}",
        )
    console.print(table)


def _result(kind: str, nodes: int) -> Posterior:
    values = parnidag.simulate(nodes=nodes, edges=round(1.5 * nodes), rows=300, seed=1).values
    data = Data(values) if kind == "numbers" else Data((values > 0).astype(int), kind="discrete")
    return parnidag.sample(data, draws=1000, chains=4, seed=1, progress=False, sampler=parnidag.samplers.PARNI())


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Model(NamedTuple):
    """A score whose posterior is asked, and graphs, parameters and rows from its own prior."""

    score: Score
    draw: Callable[[np.random.Generator, Flags], Drawn | None]
    """A table and the true effect of X0 on X1, for a graph; None for a table that cannot be analysed."""


def gaussian_rows(rng: np.random.Generator, graph: Flags) -> Drawn:
    """Draw rows as `scores.Gaussian` has them: every column is standardised before its children come.

    With weights Normal(0, g σ²) on standardised parents the direction of the column has the law that the score
    supposes, but for N − 1 in place of N, which centring takes.
    """
    rows = 60
    values, weights = np.zeros((rows, NODES)), np.zeros((NODES, NODES))
    for j in topological_order(graph) or []:
        parents = np.flatnonzero(graph[:, j])
        weights[parents, j] = rng.normal(size=len(parents)) * math.sqrt(G)
        column = values[:, parents] @ weights[parents, j] + rng.normal(size=rows)
        deviation = column.std(ddof=1)
        values[:, j], weights[:, j] = (column - column.mean()) / deviation, weights[:, j] / deviation
    return Data(values), float(np.linalg.inv(np.eye(NODES) - weights)[0, 1])


def bge_rows(rng: np.random.Generator, graph: Flags) -> Drawn:
    """Draw rows from the normal-Wishart prior of `scores.BGe` on columns as they are."""
    alpha_w, rows = 6.0, 12
    t = (alpha_w - NODES - 1) / 2
    weights, noise = np.zeros((NODES, NODES)), np.zeros(NODES)
    for j in range(NODES):
        parents = np.flatnonzero(graph[:, j])
        noise[j] = t / 2 / rng.gamma((alpha_w - NODES + len(parents) + 1) / 2)
        weights[parents, j] = rng.normal(size=len(parents)) * math.sqrt(noise[j] / t)
    total = np.linalg.inv(np.eye(NODES) - weights)
    root = np.sqrt(noise)[:, None] * total
    values = (rng.normal(size=NODES) + rng.normal(size=(rows, NODES))) @ root
    return Data(values), float(total[0, 1])


def bdeu_rows(rng: np.random.Generator, graph: Flags) -> Drawn | None:
    """Draw rows of two levels from the Dirichlet prior of `scores.BDeu`."""
    rows, codes = 15, np.zeros((15, NODES), int)
    found = {}
    for j in topological_order(graph) or []:
        parents = np.flatnonzero(graph[:, j])
        prior = ESS / 2 ** (len(parents) + 1)
        found[j] = parents, rng.dirichlet([prior, prior], size=(2,) * len(parents))
        codes[:, j] = rng.random(rows) >= found[j][1][(*codes[:, parents].T, 0)]
    if (np.ptp(codes, axis=0) == 0).any():
        return None
    frame = pd.DataFrame({f"X{j}": pd.Categorical(codes[:, j], categories=[0, 1]) for j in range(NODES)})
    return Data(frame), _risk(graph, found, 1) - _risk(graph, found, 0)


def _risk(graph: Flags, found: dict[int, tuple[Flags, Flags]], level: int) -> float:
    """Return how probable X1 = 1 is if X0 is set, node by node: X2 is summed out."""
    risk = 0.0
    for code in range(4):
        row = [level, code & 1, code >> 1]
        weight = 1.0
        for j in (1, 2):
            parents, table = found[j]
            weight *= table[(*(row[p] for p in parents), row[j])]
        risk += weight * row[1]
    return risk


MODELS = {
    "Gaussian": Model(scores.Gaussian(g=G), gaussian_rows),
    "BGe": Model(scores.BGe(alpha_w=6.0, standardise=False), bge_rows),
    "BDeu": Model(scores.BDeu(ess=ESS), bdeu_rows),
}


def drawn_effects(posterior: Posterior) -> np.ndarray:
    return posterior.effects().draws("X0", "X1").ravel()


def turned_round(posterior: Posterior) -> np.ndarray:
    return posterior.effects().draws("X1", "X0").ravel()


def without_parameters(posterior: Posterior) -> np.ndarray:
    found = posterior.effects()
    if hasattr(found, "linear"):
        return found.linear.mean_effects_of(0)[found.linear.graphs.graph_of, 1] * found._ratios[0, 1]
    *_, means, follows = found.contrast_of(0, 1)
    return np.where(follows, means, 0.0)[:, 3]


def without_graphs(posterior: Posterior) -> np.ndarray:
    found, source = posterior.effects(), source_of(posterior.record, posterior.data, None)
    assert posterior.best is not None
    one = linear.one_graph(posterior.best.adjacency)
    repeat = linear.DrawnGraphs(np.zeros((1, DRAWS), np.int64), one.laid)
    if hasattr(found, "linear"):
        return linear.linear_draws(source, repeat, 1).effects_of(0)[:, 1] * found._ratios[0, 1]
    return type(found)(tables.table_draws(source, repeat, 1), True).draws("X0", "X1").ravel()


ASKED = {
    "posterior": drawn_effects,
    "parameters at their means": without_parameters,
    "best graph alone": without_graphs,
    "effects turned round": turned_round,
}


def dags() -> np.ndarray:
    """Return all DAGs without X1 → X0."""
    codes = np.arange(2**6)[:, None] >> np.arange(6) & 1
    found = np.zeros((64, NODES, NODES), bool)
    found[:, *np.nonzero(~np.eye(NODES, dtype=bool))] = codes
    return np.array([graph for graph in found if topological_order(graph) is not None and not graph[1, 0]])


def repeated(model: Model, sets: int, seed: int) -> pd.DataFrame:
    """Return where the truth stands among the draws of each posterior, and what was said of there being no effect."""
    rng, graphs, rows = np.random.default_rng(seed), dags(), []
    while len(rows) < sets:
        drawn = model.draw(rng, graphs[rng.integers(len(graphs))])
        if drawn is None:
            continue
        data, truth = drawn
        truth = 0.0 if abs(truth) < 1e-12 else truth
        posterior = parnidag.exact(data, score=model.score, prior=PRIOR, draws=DRAWS, seed=len(rows))
        row = {"none": truth == 0.0, "said": float((drawn_effects(posterior) == 0).mean())}
        for name, ask in ASKED.items():
            values = ask(posterior)
            below, equal = int((values < truth).sum()), int((values == truth).sum())
            row[name] = (below + rng.integers(equal + 1) + rng.random()) / (DRAWS + 1)
        rows.append(row)
    return pd.DataFrame(rows)


def judge(places: pd.Series) -> tuple[float, float, float]:
    """Return the share of 90 % intervals that cover, and p-values of 90 % and of uniform places."""
    inside = (places > 0.05) & (places < 0.95)
    binomial = stats.binomtest(int(inside.sum()), len(places), 0.9).pvalue
    return float(inside.mean()), float(binomial), float(stats.kstest(places, "uniform").pvalue)


def no_effect(frame: pd.DataFrame) -> float:
    """Return by how many standard errors graphs without a path were more than their probabilities say."""
    return float((frame["none"] - frame["said"]).sum() / math.sqrt((frame["said"] * (1 - frame["said"])).sum()))


def coverage(console: Console, sets: int, seed: int) -> None:
    table = Table("score", "asked", "90 % intervals cover", "p (binomial)", "p (uniform)", "no effect, z")
    for name, model in MODELS.items():
        frame = repeated(model, sets, seed)
        for asked in ASKED:
            share, binomial, uniform = judge(frame[asked])
            z = f"{no_effect(frame):+.2f}" if asked == "posterior" else ""
            table.add_row(name, asked, f"{share:.3f}", f"{binomial:.2g}", f"{uniform:.2g}", z)
    console.print(table)


# ── beside others ─────────────────────────────────────────────────────────────────────────────────────────────────────


def beside(console: Console, path: str, edges: int) -> None:
    frame = pd.read_csv(path)
    posterior = parnidag.exact(Data(frame, kind="continuous"), draws=4000, seed=1)
    effects, members = posterior.effects(standardised=True), posterior.top_classes(1)[0]
    standard = (frame - frame.mean()) / frame.std()
    table = Table("cause", "effect", "mean", "90 %", "no effect", "DoWhy, consensus", "IDA")
    for row in posterior.summary().head(edges).itertuples():
        found = effects.summary(row.parent, row.child).iloc[0]
        low, high = ida_bounds(standard, members, row.parent, row.child)
        table.add_row(
            row.parent,
            row.child,
            f"{found['mean']:+.3f}",
            f"{found['5%']:+.3f} … {found['95%']:+.3f}",
            f"{found['zero']:.2f}",
            by_dowhy(standard, posterior.consensus_graph(), row.parent, row.child),
            f"{low:+.3f} … {high:+.3f}",
        )
    console.print(table)


def ida_bounds(frame: pd.DataFrame, members: parnidag.Graph, cause: str, effect: str) -> tuple[float, float]:
    """Return the smallest and largest slope over the sets of parents that a class allows the cause."""
    names, both = list(frame.columns), members.adjacency
    x = names.index(cause)
    parents = [k for k in range(len(names)) if both[k, x] and not both[x, k]]
    open_ = [k for k in range(len(names)) if both[k, x] and both[x, k]]
    slopes = []
    for size in range(len(open_) + 1):
        for more in itertools.combinations(open_, size):
            new = [(a, b) for a in more for b in (*parents, *more) if a != b]
            if all(both[a, b] or both[b, a] for a, b in new):  # else there would be a new collider
                chosen = [names[k] for k in (*parents, *more)]
                inside = frame[[cause, *chosen]].to_numpy()
                slope = np.linalg.lstsq(inside, frame[effect].to_numpy(), rcond=None)[0][0]
                slopes.append(0.0 if effect in chosen else float(slope))
    return min(slopes), max(slopes)


def by_dowhy(frame: pd.DataFrame, graph: parnidag.Graph, cause: str, effect: str) -> str:
    try:
        import dowhy
    except ImportError:
        return "not installed"
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = dowhy.CausalModel(frame, treatment=cause, outcome=effect, graph=graph.to_dowhy())
        estimand = model.identify_effect(proceed_when_unidentifiable=True)
        if not nx.has_path(graph.to_networkx(), cause, effect):
            return "no path"
        return f"{model.estimate_effect(estimand, method_name='backdoor.linear_regression').value:+.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("cost", "coverage", "beside"))
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table")
    parser.add_argument("--edges", type=int, default=12)
    given = parser.parse_args()
    if given.what == "beside":
        beside(Console(), given.table, given.edges)
    elif given.what == "cost":
        cost(Console())
    else:
        coverage(Console(), given.sets, given.seed)


if __name__ == "__main__":
    main()
