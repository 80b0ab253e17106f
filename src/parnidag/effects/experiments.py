"""Which node to set next: what an experiment would tell of the graph that no amount of observation could.

Whoever sets a node sees which neighbours follow it and which do not: the direction of every edge at it. Observation
tells directions only up to equivalence, so what the experiment adds is the direction of the edges at the node that the
equivalence class leaves open (Hauser and Bühlmann 2012). Its expected information is their conditional entropy given
which ones are open, counted over the stored draws; other directions then follow from these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from parnidag.effects.draws import DrawnGraphs
from parnidag.graphs.equivalence import compelled_edges
from parnidag.kernels.types import Floats, Integers
from parnidag.results.packing import fingerprints, number_graphs

MOST_NAMED = 3
"""Open edges that a reason names."""
LEAST_NAMED = 0.05
"""Bits of an edge that is worth naming."""


@dataclass(frozen=True, eq=False)
class OpenEdges:
    """The edges of each different graph whose direction observation cannot tell."""

    n: int
    weights: Floats
    """How often each graph was drawn, as a share of all draws."""
    graph: Integers
    parents: Integers
    children: Integers

    def at(self, node: int) -> tuple[Integers, Integers]:
        """Number, for each graph, which edges at a node are open, and how they point in it."""
        ours = np.flatnonzero((self.parents == node) | (self.children == node))
        away = self.parents[ours] == node
        neighbour = np.where(away, self.children[ours], self.parents[ours])
        lengths = np.bincount(self.graph[ours], minlength=len(self.weights)).astype(np.int32)
        which = number_graphs(fingerprints(neighbour, lengths))[0]
        return which, number_graphs(fingerprints(2 * neighbour + away, lengths))[0]

    def pointing(self) -> Floats:
        """Return the probability that an edge is there, this way, and open."""
        codes = self.parents * self.n + self.children
        counted = np.bincount(codes, self.weights[self.graph], self.n**2)  # whole numbers if there is nothing to count
        return counted.astype(np.float64).reshape(self.n, self.n)


def open_edges(graphs: DrawnGraphs) -> OpenEdges:
    laid, n = graphs.laid, graphs.laid.order.shape[1]
    offsets = np.append(laid.first[:, 0], laid.first[-1, -1])
    codes = (laid.parents * n + graphs.children).astype(np.int32)
    open_ = np.flatnonzero(~compelled_edges(n, offsets, codes))
    graph = np.repeat(np.arange(len(laid.first)), graphs.edges)[open_]
    weights = np.bincount(graphs.graph_of, minlength=len(laid.first)) / graphs.graph_of.size
    return OpenEdges(n, weights, graph, laid.parents[open_], graphs.children[open_])


def rank_experiments(names: tuple[str, ...], graphs: DrawnGraphs, candidates: Integers) -> pd.DataFrame:
    """Rank nodes by the bits that setting them is expected to tell of directions."""
    edges = open_edges(graphs)
    bits = np.zeros(len(names))
    for node in candidates:
        which, how = edges.at(node)
        bits[node] = max(entropy(how, edges.weights) - entropy(which, edges.weights), 0.0)
    pointing = edges.pointing()
    order = candidates[np.argsort(-bits[candidates], kind="stable")]
    return pd.DataFrame(
        {
            "node": [names[node] for node in order],
            "bits": bits[order],
            "open_edges": (pointing + pointing.T).sum(axis=1)[order],
            "why": [reason(names, node, pointing) for node in order],
        }
    )


def rank_about(
    names: tuple[str, ...], graphs: DrawnGraphs, candidates: Integers, pair: tuple[int, int], values: Floats
) -> pd.DataFrame:
    """Rank nodes by the share of the disagreement of graphs about one effect that setting them is expected to end.

    `values` is what each different graph says of the effect.
    """
    edges = open_edges(graphs)
    variance = spread(np.zeros(len(values), np.int64), values, edges.weights)
    shares, reasons = np.zeros(len(names)), [""] * len(names)
    cause, effect = (names[node] for node in pair)
    pointing = edges.pointing()
    for node in candidates:
        which, how = edges.at(node)
        told = spread(which, values, edges.weights) - spread(how, values, edges.weights)
        shares[node] = max(told, 0.0) / variance if variance > 0 else 0.0
        reasons[node] = reason(names, node, pointing)
        if node == pair[0]:
            shares[node] = 1.0 if variance > 0 else 0.0
            reasons[node] = f"setting {cause} and looking at {effect} shows the effect itself"
    order = candidates[np.argsort(-shares[candidates], kind="stable")]
    return pd.DataFrame(
        {
            "node": [names[node] for node in order],
            "share": shares[order],
            "open_edges": (pointing + pointing.T).sum(axis=1)[order],
            "why": [reasons[node] for node in order] if variance > 0 else ["all graphs say the same"] * len(order),
        }
    )


def entropy(groups: Integers, weights: Floats) -> float:
    """Return the entropy of the group of a draw, in bits."""
    share = np.bincount(groups, weights)
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum())


def spread(groups: Integers, values: Floats, weights: Floats) -> float:
    """Return the variance of values within groups."""
    mass = np.bincount(groups, weights)
    means = np.bincount(groups, weights * values) / np.where(mass > 0, mass, 1.0)
    return float(weights @ (values - means[groups]) ** 2)


def reason(names: tuple[str, ...], node: int, pointing: Floats) -> str:
    """Say which edges at a node are open."""
    away, either = pointing[node], pointing[node] + pointing[:, node]
    share = np.divide(away, either, out=np.zeros_like(away), where=either > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -either * np.nan_to_num(share * np.log2(share) + (1 - share) * np.log2(1 - share))
    best = [int(k) for k in np.argsort(-bits, kind="stable")[:MOST_NAMED] if bits[k] >= LEAST_NAMED]
    if not best:
        return "no edge here has a direction that is left open"
    said = [f"{names[node]} → {names[k]} or back ({share[k]:.0%} to {1 - share[k]:.0%})" for k in best]
    more = int((bits >= LEAST_NAMED).sum()) - len(best)
    return "open: " + ", ".join(said) + (f" and {more} more" if more else "")
