"""Direct effects: the coefficient of every edge, where the graph has it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from parnidag.effects.draws import DrawnGraphs, LinearDraws, families_of, fitted, value_weights
from parnidag.effects.normal import ScoreDraws
from parnidag.effects.source import Source, scales_of
from parnidag.effects.worlds import WorldDraws
from parnidag.kernels.types import Floats, Integers


def mean_coefficients(source: Source, graphs: DrawnGraphs) -> Floats:
    """Return the posterior mean of every coefficient given its edge, in standard deviations; NaN without the edge.

    It is added up over the different families, so that very many graphs take little memory.
    """
    families, n = families_of(graphs), len(source.names)
    scores, means = fitted(source, families)
    weights = value_weights(scores, families, source.scored)
    share = np.bincount(graphs.graph_of, minlength=len(weights)) / graphs.graph_of.size
    sizes = np.diff(families.first)
    codes = families.parents * n + np.repeat(families.nodes, sizes)
    sums, there = np.zeros((2, n * n))
    for mean, weight in zip(means, weights.T, strict=True):
        drawn = np.bincount(families.of.ravel(), np.repeat(share * weight, n), len(families.nodes))
        sums += np.bincount(codes, mean * np.repeat(drawn, sizes), n * n)
        there += np.bincount(codes, np.repeat(drawn, sizes), n * n)
    scales = scales_of(source)
    ratio = scales.units / scales.deviations
    found = np.divide(sums, there, out=np.full(n * n, np.nan), where=there > 0).reshape(n, n)
    return np.asarray(found * ratio / ratio[:, None])


def mean_of_worlds(draws: WorldDraws | ScoreDraws) -> Floats:
    """Return the same of draws that have graphs of their own."""
    n = len(draws.names)
    if isinstance(draws, ScoreDraws):
        found = np.full((n, n), np.nan)
        for i, j, values in direct_effects(draws):
            if not draws.places.level[i] and not draws.places.level[j]:
                found[draws.places.node[i], draws.places.node[j]] = values.mean()
        return found
    codes = draws.graphs.laid.parents * n + draws.graphs.children
    sums, there = np.bincount(codes, draws.means[0], n * n), np.bincount(codes, minlength=n * n)
    means = np.divide(sums, there, out=np.full(n * n, np.nan), where=there > 0).reshape(n, n)
    return np.asarray(means * draws.ratios(True))


def direct_effects(draws: ScoreDraws) -> Iterator[tuple[int, int, Floats]]:
    """Yield a cause, an effect (by place), and the direct effects of the worlds whose graph has the edge."""
    worlds, places, first = draws.worlds, draws.places, draws.worlds.first_column
    laid, (count, columns) = worlds.laid, worlds.noise.shape
    node = np.repeat(np.arange(len(first) - 1), np.diff(first))
    world = np.repeat(np.arange(count), laid.first[:, -1] - laid.first[:, 0])
    child = np.repeat(np.tile(np.arange(columns), count), np.diff(laid.first, axis=1).ravel())
    order = np.argsort(node[child], kind="stable")
    ends = np.searchsorted(node[child][order], np.arange(len(first)))
    for j in range(len(first) - 1):
        width, here = int(first[j + 1] - first[j]), order[ends[j] : ends[j + 1]]
        dense = np.zeros((count, columns, width))
        dense[world[here], laid.parents[here], child[here] - first[j]] = worlds.drawn[here]
        inside = dense[:, first[j] : first[j + 1]].copy()
        dense[:, first[j] : first[j + 1]] = 0.0
        responses = dense @ np.linalg.inv(np.eye(width) - inside)  # what follows inside the node's own block too
        for i in np.unique(node[laid.parents[here]]):
            there = (dense[:, first[i] : first[i + 1]] != 0.0).any(axis=(1, 2))
            if i == j or not there.any():
                continue
            for cause in np.flatnonzero(places.node == i).tolist():
                change = np.einsum("wc,wcd->wd", draws.change_of(cause), responses[:, first[i] : first[i + 1]])
                values = draws.in_places(j, change)[there]
                for effect, column in zip(np.flatnonzero(places.node == j).tolist(), values.T, strict=True):
                    yield cause, effect, column


def direct_table(draws: ScoreDraws, probabilities: Floats, min_probability: float) -> pd.DataFrame:
    """Tabulate what each edge does to its child, in deviations; of levels without order, to probabilities."""
    names, places = draws.names, draws.places
    rows = []
    for i, j, values in direct_effects(draws):
        parent, child = places.node[i], places.node[j]
        low, high = np.quantile(values, [0.05, 0.95])
        rows.append(
            {
                "parent": names[parent],
                "set_to": places.level[i],
                "versus": places.versus[i],
                "child": names[child],
                "level": places.level[j],
                "probability": probabilities[parent, child],
                "mean": values.mean(),
                "sd": values.std(),
                "5%": low,
                "95%": high,
                "positive": (values > 0).mean(),
                "negative": (values < 0).mean(),
            }
        )
    columns = ["parent", "set_to", "versus", "child", "level", "probability"]
    columns += ["mean", "sd", "5%", "95%", "positive", "negative"]
    table = pd.DataFrame(rows, columns=columns)
    if not places.has_levels:
        table = table.drop(columns=["set_to", "versus", "level"])
    shown = table[table["probability"] >= min_probability]
    return shown.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def coefficient_table(
    linear: LinearDraws, probabilities: Floats, min_probability: float, standardised: bool
) -> pd.DataFrame:
    """Tabulate what each edge does to its child, given that the graph has the edge."""
    n, scales = len(linear.names), linear.scales
    ratio = scales.units / scales.deviations if standardised else scales.units
    sizes = linear.graphs.edges[linear.graphs.graph_of]
    slots = np.arange(sizes.sum()) - np.repeat(linear.start, sizes)
    slots += np.repeat(linear.graphs.laid.first[linear.graphs.graph_of, 0], sizes)
    parents, children = linear.graphs.laid.parents[slots], linear.graphs.children[slots]
    codes = parents * n + children
    scale = ratio[children] / ratio[parents]
    weights = linear.weights[np.repeat(linear.graphs.graph_of, sizes)]
    means = np.einsum("sk,ks->s", weights, linear.means[:, slots]) * scale
    edges, figures = _by_edge(codes, linear.drawn * scale, means)
    table = pd.DataFrame(
        {
            "parent": [linear.names[code // n] for code in edges],
            "child": [linear.names[code % n] for code in edges],
            "probability": probabilities.ravel()[edges],
            **figures,
        }
    )
    shown = table[table["probability"] >= min_probability]
    return shown.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def _by_edge(codes: Integers, drawn: Floats, means: Floats) -> tuple[Integers, dict[str, Floats]]:
    """Summarise values by their edge; quantiles are between the nearest values."""
    order = np.lexsort((drawn, codes))
    codes, drawn, means = codes[order], drawn[order], means[order]
    edges, begin, count = np.unique(codes, return_index=True, return_counts=True)

    def average(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, begin) / count) if len(begin) else np.zeros(0)

    def quantile(level: float) -> Floats:
        place = level * (count - 1)
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, count - 1)
        return np.asarray(drawn[begin + low] + (place - low) * (drawn[begin + high] - drawn[begin + low]))

    centre = average(drawn)
    return edges, {
        "mean": average(means),
        "sd": np.sqrt(average((drawn - np.repeat(centre, count)) ** 2)),
        "5%": quantile(0.05),
        "95%": quantile(0.95),
        "positive": average((drawn > 0).astype(float)),
        "negative": average((drawn < 0).astype(float)),
    }
