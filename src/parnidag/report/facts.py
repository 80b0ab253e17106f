"""What the page's scripts need to know, as one compact JSON value."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parnidag.graphs.adjacency import topological_order
from parnidag.graphs.drawing import layered
from parnidag.report.effects import effect_facts
from parnidag.report.names import box_width, label, shown_name

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior

Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]

PRIORS_CHOICE = ("required", "forbidden", "not considered", "unknown")
"""Classes of evidence that do not come from the chains."""

FLOORS = (0.01, 0.02, 0.05, 0.1, 0.2)
MOST_EDGES = 3000
"""Edges listed at most, whatever the result: enough for anybody, and still a small file."""

SURE_FROM = 0.9
"""Edges, and pairs of nodes, with this probability count as sure."""

OPEN_FROM = 0.1
"""Pairs joined with a probability between this and the one above count as left open."""

THRESHOLD = 0.25
"""Where the slider stands at first: of an edge whose direction is open, both directions are seen."""

MOST_CHAINS = 16
MOST_NODES_OF_MATRICES = 200
"""Beyond, what is known of pairs that are not listed would be most of the file."""

FIGURES = ("mcse", "ess", "rhat", "prior", "bayes_factor")


DRAWN_FROM = 0.1
"""Edges from this probability on have a way of their own in the layout; rarer ones are drawn across it."""

MOST_DRAWN_PER_NODE = 3
"""Beyond so many edges a node on average, the least probable have no way of their own: nobody could follow them."""

SPACING = ((10, 120.0, 104.0), (40, 84.0, 84.0), (math.inf, 66.0, 104.0))
"""Up to so many nodes: pixels of one unit of the layout across, and between layers. Few nodes have room; between the
layers of many there must be room for the lines."""


def page_data(posterior: Posterior, title: str) -> dict[str, Any]:
    probabilities = posterior.edge_probabilities.to_numpy()
    consensus = posterior.consensus_graph().adjacency
    names = [shown_name(name) for name in posterior.nodes]
    listing = choose_listing(probabilities)
    drawing = picture(names, probabilities, consensus)
    drawn = bool(posterior.record.graph_index.size)
    small = len(names) <= MOST_NODES_OF_MATRICES
    of_time = "parents_only" in posterior.record.settings  # directions that time gives are no matter of a class
    return {
        "title": title,
        "file": "parnidag",
        "nodes": names,
        "floor": listing.floor,
        "listed": listing.listed,
        "unlisted": listing.unlisted,
        "threshold": max(THRESHOLD, listing.floor),
        **edge_rows(posterior, listing.floor),
        "unsettled": np.argwhere(np.triu(unsettled(probabilities))).tolist(),
        "open": np.argwhere(np.triu(left_open(probabilities))).tolist(),
        **(_class_rows(posterior, listing) if drawn and not of_time else {"classes": [], "unlisted_class": ""}),
        **drawing,
        "order": heat_order(consensus, np.array(drawing["places"])),
        "matrix": packed(probabilities) if small else None,
        "effects": effect_facts(posterior),
        "paths": packed(posterior.path_probabilities.to_numpy()) if drawn and small else None,
    }


def as_script(data: dict[str, Any]) -> str:
    """Write JSON that cannot end the script element it stands in, nor start another one."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@dataclass(frozen=True)
class Listing:
    """Which edges the page lists, and in which words it says so."""

    floor: float
    """Where the slider ends: a hundredth that no listed edge is below."""
    listed: str
    unlisted: str
    """What is known of the probability of an edge that is not listed."""


def choose_listing(probabilities: Floats) -> Listing:
    """List edges from 0.01 on, from a higher floor if those are too many, and at worst just the most probable."""
    for floor in FLOORS:
        if (probabilities >= floor).sum() <= MOST_EDGES:
            return Listing(floor, f"with probability {floor} or more", f"below {floor}")
    least = float(np.sort(probabilities, axis=None)[-MOST_EDGES])
    return Listing(math.floor(least * 100) / 100, f"the {MOST_EDGES:,} most probable", _at_most(least))


def _at_most(probability: float) -> str:
    return f"{math.ceil(probability * 1000) / 1000:g} or less"


def unsettled(probabilities: Floats) -> NDArray[np.bool_]:
    """Mark pairs that are surely joined, although neither direction is sure by itself."""
    either, larger = probabilities + probabilities.T, np.maximum(probabilities, probabilities.T)
    return (either >= SURE_FROM) & (larger < SURE_FROM)


def left_open(probabilities: Floats) -> NDArray[np.bool_]:
    """Mark pairs of which it is not known whether they are joined."""
    either = probabilities + probabilities.T
    return (either > OPEN_FROM) & (either < SURE_FROM)


def edge_rows(posterior: Posterior, floor: float) -> dict[str, Any]:
    """Return the names of the columns, and a row for every listed edge, with nodes by number."""
    table = posterior.summary(min_probability=floor).head(MOST_EDGES)
    place = {name: k for k, name in enumerate(posterior.nodes)}
    parents, children = (table[end].map(place).to_numpy(dtype=int) for end in ("parent", "child"))
    columns: dict[str, list[Any]] = {
        "parent": parents.tolist(),
        "child": children.tolist(),
        "probability": [kept_digits(value) for value in table["probability"]],
    }
    if "evidence" in table and (table["evidence"] != "unknown").any():
        columns["evidence"] = _evidence(posterior, table["evidence"].to_numpy(), parents, children)
    for name in ("coefficient", *FIGURES):
        if table[name].notna().any():
            columns[name] = [figure(value) for value in table[name].to_numpy(float, na_value=np.nan).tolist()]
    by_chain = posterior.chain_probabilities
    if 1 < len(by_chain) <= MOST_CHAINS:
        columns["chains"] = np.round(by_chain[:, parents, children].T, 4).tolist()
    return {"columns": list(columns), "edges": [list(row) for row in zip(*columns.values(), strict=True)]}


def _evidence(posterior: Posterior, words: NDArray[np.object_], parents: Places, children: Places) -> list[str]:
    """Return the class of evidence of each edge; none but the prior's choices of a run that is not converged."""
    turned = unsettled(posterior.edge_probabilities.to_numpy())[parents, children]
    said = np.where(turned & np.isin(words, ("included", "inconclusive")), "direction open", words)
    if posterior.diagnostics().converged is False:
        said = np.where(np.isin(said, PRIORS_CHOICE), said, "not converged")
    return [str(word) for word in said]


def figure(value: float) -> float | str | None:
    """Shorten a number to four digits; JSON has no word for what is not finite."""
    if math.isnan(value):
        return None
    return float(f"{value:.4g}") if math.isfinite(value) else "infinite"


def kept_digits(probability: float) -> float:
    """Cut a probability to five digits, never up: it passes the slider's hundredths just as the full number does."""
    return float(Decimal(repr(float(probability))).quantize(Decimal("0.00001"), rounding=ROUND_DOWN))


def _class_rows(posterior: Posterior, listing: Listing) -> dict[str, Any]:
    """Return the marks of equivalence classes: [parent, child, probability, 1 if directed, else 0]."""
    probabilities, floor = posterior.cpdag_probabilities, listing.floor
    compelled, reversible = probabilities.compelled.to_numpy(), probabilities.reversible.to_numpy()
    rows = [[i, j, kept_digits(compelled[i, j]), 1] for i, j in np.argwhere(compelled >= floor).tolist()]
    rows += [[i, j, kept_digits(reversible[i, j]), 0] for i, j in np.argwhere(np.triu(reversible, 1) >= floor).tolist()]
    rows.sort(key=lambda row: -row[2])
    unlisted = _at_most(rows[MOST_EDGES - 1][2] + 1e-5) if len(rows) > MOST_EDGES else f"below {floor}"
    return {"classes": rows[:MOST_EDGES], "unlisted_class": unlisted}


def packed(matrix: Floats) -> str:
    """Return a matrix of probabilities as text, a byte per cell, in steps of 1/250."""
    return base64.b64encode(np.rint(matrix * 250).astype(np.uint8).tobytes()).decode("ascii")


def heat_order(consensus: NDArray[np.bool_], places: NDArray[np.int64]) -> list[int]:
    """Order nodes for the heat map: parents before their children, neighbours in the picture side by side."""
    by_place = np.lexsort((places[:, 0], places[:, 1]))
    ordered: list[int] = by_place[topological_order(consensus[np.ix_(by_place, by_place)])].tolist()
    return ordered


def picture(names: list[str], probabilities: NDArray[np.float64], consensus: NDArray[np.bool_]) -> dict[str, Any]:
    """Return labels, the boxes' places and widths, and the ways of edges that are not straight, in pixels."""
    labels = [label(name) for name in names]
    widths = np.array([box_width(text) for text in labels])
    weights = np.where(consensus, 1.0 + probabilities, probabilities)  # edges of the consensus graph come first
    across, down = next((across, down) for most, across, down in SPACING if len(names) <= most)
    layout = layered(_drawn(weights), weights, widths=widths / across)
    scale = np.array([across, down])
    places = np.rint(layout.xy * scale).astype(int)
    ways = {}
    for (parent, child), bends in layout.bends.items():
        if f"{child}-{parent}" not in ways:  # both directions share a way
            ways[f"{parent}-{child}"] = np.rint(bends * scale).astype(int).ravel().tolist()
    return {"labels": labels, "places": places.tolist(), "widths": np.rint(widths).astype(int).tolist(), "ways": ways}


def _drawn(weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Choose the edges that the layout is made for: the consensus graph and what is fairly probable, not too many."""
    flat = np.where(np.eye(len(weights), dtype=bool), 0.0, weights).ravel()
    heaviest = np.argsort(-flat, kind="stable")[: MOST_DRAWN_PER_NODE * len(weights)]
    drawn = np.zeros(flat.size, dtype=bool)
    drawn[heaviest] = flat[heaviest] >= DRAWN_FROM
    return drawn.reshape(weights.shape)
