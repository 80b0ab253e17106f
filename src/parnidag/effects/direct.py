"""Direct effects: the coefficient of every edge, where the graph has it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parnidag.effects.draws import DrawnGraphs, LinearDraws, families_of, fitted, value_weights
from parnidag.effects.source import Source, scales_of
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
