"""Direct effects: the coefficient of every edge, where the graph has it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parnidag.effects.draws import LinearDraws
from parnidag.kernels.types import Floats, Integers


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
