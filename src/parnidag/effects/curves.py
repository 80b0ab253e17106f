"""Draws of graphs with draws of curves, for the score of smooth relations; and rows simulated through them.

What a curve does to the mean of a node depends on how its parents vary, so means after an intervention are averages
over simulated rows, in pairs of opposite noise: straight relations then have no error of simulation at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parnidag._util.splines import curve_weights
from parnidag.effects.draws import STREAM, DrawnGraphs
from parnidag.effects.kernels import Laid
from parnidag.effects.source import Source
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.parameters import draw_node
from parnidag.kernels.problem import ScoreTable
from parnidag.kernels.random import RandomState, normal, random_state
from parnidag.kernels.types import Flags, Floats, Integers, float64, int64
from parnidag.scores.spline import Spline

PAIRS = 100
"""Pairs of rows that are simulated for each draw."""
MOST_DRAWS = 4000
"""Of longer runs so many draws are used, evenly spaced."""


class Shapes(NamedTuple):
    """How the columns of parents are had at any place, and on what regressions are centred."""

    knots: Floats
    """Of each node (n × knots), in standard deviations; infinite where a node has fewer."""
    weights: Floats
    """Of the terms of its curved columns, see `curve_weights` (n × terms × columns)."""
    means: Floats
    """Of all columns over the rows of each pattern (patterns × columns)."""
    rows: Floats
    """Rows of each pattern."""


class Drawn(NamedTuple):
    """The parameters of one draw: scratch."""

    factor: Floats
    dense: Floats
    terms: Floats
    """Of the curve of each slot of the graph (slots × terms)."""
    constant: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class CurveDraws:
    """Graphs, and what it takes to draw curves for them; the same ones for each question."""

    names: tuple[str, ...]
    graphs: DrawnGraphs
    table: ScoreTable
    shapes: Shapes
    centre: Floats
    unit: Floats
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and draws."""
        chains, draws = self.graphs.index.shape
        return chains, draws

    def set_nodes(self, fixed: Flags, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Let an experimenter set nodes to values, in units of the table; what is returned is as of `LinearDraws`.

        There are no closed means given a graph: those under the drawn curves stand in their place.
        """
        n, graphs, terms = len(self.names), self.graphs, self.shapes.weights.shape[1]
        columns = self.table.gram.shape[1]
        most = int(np.diff(graphs.laid.first).max(initial=0)) * self.table.widest + 1
        drawn = Drawn(
            np.zeros((most, most)),
            np.zeros((columns, n)),
            np.zeros((int(graphs.edges.max(initial=0)), terms)),
            np.zeros(n),
            np.zeros(n),
        )
        rngs = random_state(self.seed, STREAM, 1), random_state(self.seed, STREAM, 2)
        expected, single = np.zeros((2, graphs.index.size, n))
        levels = (values - self.centre) / self.unit
        problem = graphs.laid, graphs.graph_of, self.table, self.shapes, fixed, levels
        follow_curves(*problem, PAIRS, *rngs, drawn, expected, single)
        expected, single = (self.centre + self.unit * one for one in (expected, single))
        return expected, single, expected


def curve_draws(source: Source, graphs: DrawnGraphs, seed: int) -> CurveDraws:
    """Find the shapes that curves are made of; the rows of the table are needed for them."""
    score, data = source.score, source.data
    assert isinstance(score, Spline)
    columns = score.columns(data)
    df, n = int(score.df), data.n_nodes
    knots, weights = np.full((n, df + 1), np.inf), np.zeros((n, df + 3, df - 1))
    for node, x in enumerate(columns[:, :n].T):
        found, turned = curve_weights(x, df - 1)
        knots[node, : len(found)], weights[node, : len(turned)] = found, turned
    masks = data.patterns()[1]
    used = [columns if mask is None else columns[data.codes_used(mask)] for mask in masks]
    shapes = Shapes(
        knots, weights, np.array([one.mean(axis=0) for one in used]), np.array([float(len(u)) for u in used])
    )
    return CurveDraws(source.names, graphs, score.table(data), shapes, *data.scales(), seed)


@entry
def follow_curves(
    laid: Laid,
    graph_of: Integers,
    table: ScoreTable,
    shapes: Shapes,
    fixed: Flags,
    values: Floats,
    pairs: int,
    rng: RandomState,
    row_rng: RandomState,
    drawn: Drawn,
    expected: Floats,
    single: Floats,
) -> None:
    """Set the nodes that are `fixed` to `values`, in every draw: what nodes are on average, and one new row."""
    n = laid.order.shape[1]
    noise, row = np.zeros(n), np.zeros(n)
    for draw in range(graph_of.size):
        graph = graph_of[draw]
        for node in range(n):
            draw_curves(laid, graph, int64(node), table, shapes, rng, drawn)
        for pair in range(pairs):
            for node in range(n):
                noise[node] = drawn.deviation[node] * normal(row_rng)
            for sign in (1.0, -1.0):
                for node in laid.order[graph]:
                    mean = values[node] if fixed[node] else mean_of_node(laid, graph, node, shapes, drawn, row)
                    expected[draw, node] += mean / (2.0 * pairs)
                    row[node] = mean if fixed[node] else mean + sign * noise[node]
                if pair == 0 and sign > 0.0:
                    single[draw] = row


@kernel
def draw_curves(
    laid: Laid, graph: int, node: int, table: ScoreTable, shapes: Shapes, rng: RandomState, drawn: Drawn
) -> None:
    """Draw the regression of a node, and write its curves as cubes at knots."""
    members = laid.parents[laid.first[graph, node] : laid.first[graph, node + 1]]
    variance = draw_node(table, node, members, int64(members.size), drawn.factor, rng, drawn.dense)
    pattern = table.pattern[node]
    drawn.deviation[node] = math.sqrt(variance)
    constant = shapes.means[pattern, node] + math.sqrt(variance / shapes.rows[pattern]) * normal(rng)
    for k in range(members.size):
        parent = members[k]
        begin = table.first_column[parent]
        terms = drawn.terms[laid.first[graph, node] - laid.first[graph, 0] + k]
        terms[:] = 0.0
        for column in range(begin, table.first_column[parent + 1]):
            weight = drawn.dense[column, node]
            constant -= weight * shapes.means[pattern, column]
            if column == begin:
                terms[1] += weight
            else:
                for term in range(terms.size):
                    terms[term] += weight * shapes.weights[parent, term, column - begin - 1]
    drawn.constant[node] = constant


@kernel
def mean_of_node(laid: Laid, graph: int, node: int, shapes: Shapes, drawn: Drawn, row: Floats) -> float:
    """Add up what the parents of a node, as they are in a row, make of it."""
    total = float64(drawn.constant[node])
    for slot in range(laid.first[graph, node], laid.first[graph, node + 1]):
        parent = laid.parents[slot]
        terms, x = drawn.terms[slot - laid.first[graph, 0]], row[parent]
        total += terms[0] + terms[1] * x
        for k in range(shapes.knots.shape[1]):
            beyond = x - shapes.knots[parent, k]
            if beyond > 0.0:
                total += terms[2 + k] * beyond * beyond * beyond
    return total
