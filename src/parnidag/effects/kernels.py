"""Compiled loops over drawn graphs: parameters of families, draws of them, and effects along directed paths.

The total effect of a cause on everybody is found node by node in topological order, O(edges) a draw: with coefficients
b, t_cause = 1 and t_j = Σ b_ij t_i over the parents of j. That is a row of (I − B)⁻¹. Since every path enters a node
once, and coefficients of different nodes are independent given the graph, posterior means of coefficients in place of b
give the exact posterior mean of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.graphs.ancestors import make_unpacked, sort_nodes, unpack
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.local_score import node_score
from parnidag.kernels.parameters import draw_node, mean_node
from parnidag.kernels.problem import ScoreTable
from parnidag.kernels.random import RandomState, normal
from parnidag.kernels.types import Codes, Flags, Floats, Integers, int64


class Laid(NamedTuple):
    """Different graphs, one after the other, as loops over nodes want them. A slot is a place in `parents`."""

    first: Integers
    """The slots of node j of graph g are first[g, j] … first[g, j + 1] − 1 (graphs × n + 1)."""
    parents: Integers
    """A parent for each slot, sorted for each child."""
    order: Integers
    """The nodes of each graph, every parent before its children (graphs × n)."""


@entry
def lay_out(n: int, offsets: Integers, codes: Codes) -> Laid:
    """Unpack graphs, given as sorted edge codes; a graph with a cycle is marked by −1 at the end of its order."""
    graphs = int64(offsets.size - 1)
    laid = Laid(np.zeros((graphs, n + 1), np.int64), np.zeros(codes.size, np.int64), np.zeros((graphs, n), np.int64))
    unpacked = make_unpacked(n, offsets)
    for graph in range(graphs):
        begin, end = offsets[graph], offsets[graph + 1]
        unpack(codes[begin:end], unpacked)
        for slot in range(end - begin):
            laid.parents[begin + slot] = unpacked.parents[slot]
        for j in range(n + 1):
            laid.first[graph, j] = begin + unpacked.first_parent[j]
        known = sort_nodes(unpacked)
        for place in range(n):
            laid.order[graph, place] = unpacked.order[place]
        if known < n:
            laid.order[graph, n - 1] = -1
    return laid


@entry
def fit_families(
    table: ScoreTable,
    nodes: Integers,
    first: Integers,
    parents: Integers,
    factor: Floats,
    dense: Floats,
    scores: Floats,
    means: Floats,
) -> None:
    """Find the score of every family, a node and its parents, and the posterior means of its coefficients."""
    for family in range(nodes.size):
        node, members = int64(nodes[family]), parents[first[family] : first[family + 1]]
        count = int64(members.size)
        scores[family] = node_score(table, node, members, count, factor)
        mean_node(table, node, members, count, factor, dense)
        for k in range(count):
            means[first[family] + k] = dense[members[k], node]


@entry
def draw_coefficients(
    table: ScoreTable,
    laid: Laid,
    graph_of: Integers,
    chosen: Integers,
    start: Integers,
    rng: RandomState,
    factor: Floats,
    dense: Floats,
    drawn: Floats,
    noise: Floats,
) -> None:
    """Draw the parameters of the chosen draws; those of draw d lie from `start`[d] on, in the order of its slots."""
    n = laid.order.shape[1]
    for draw in chosen:
        graph = graph_of[draw]
        shift = start[draw] - laid.first[graph, 0]
        for node in range(n):
            members = laid.parents[laid.first[graph, node] : laid.first[graph, node + 1]]
            noise[draw, node] = draw_node(table, int64(node), members, int64(members.size), factor, rng, dense)
            for k in range(members.size):
                drawn[shift + laid.first[graph, node] + k] = dense[members[k], node]


@entry
def effects_of(laid: Laid, graph_of: Integers, start: Integers, drawn: Floats, cause: int, found: Floats) -> None:
    """Find the total effects of a cause on every node, in every draw (draws × n)."""
    for draw in range(graph_of.size):
        graph = graph_of[draw]
        follow_paths(laid, graph, drawn, start[draw] - laid.first[graph, 0], cause, found[draw])


@entry
def mean_effects_of(laid: Laid, means: Floats, weights: Floats, cause: int, room: Floats, found: Floats) -> None:
    """Find the posterior mean of the effects of a cause given each graph (graphs × n).

    `means` has a row for each value of what was learned along with the graph, `weights` how probable it is then.
    """
    for graph in range(laid.order.shape[0]):
        found[graph] = 0.0
        for value in range(weights.shape[1]):
            if weights[graph, value] > 0.0:
                follow_paths(laid, graph, means[value], int64(0), cause, room)
                for j in range(room.size):
                    found[graph, j] += weights[graph, value] * room[j]


@kernel
def follow_paths(laid: Laid, graph: int, coefficients: Floats, shift: int, cause: int, found: Floats) -> None:
    for j in laid.order[graph]:
        total = 1.0 if j == cause else 0.0
        for slot in range(laid.first[graph, j], laid.first[graph, j + 1]):
            total += coefficients[shift + slot] * found[laid.parents[slot]]
        found[j] = total


@entry
def set_nodes(
    laid: Laid,
    graph_of: Integers,
    start: Integers,
    drawn: Floats,
    noise: Floats,
    centres: Floats,
    spread: Floats,
    fixed: Flags,
    values: Floats,
    rng: RandomState,
    expected: Floats,
    single: Floats,
) -> None:
    """Let an experimenter set the nodes that are `fixed` to `values`, in every draw.

    `expected` (draws × n) is what everybody is on average under the drawn parameters, `single` one new row. Node j is
    centres[j, j] plus its coefficients times what its parents differ from centres[j], and the mean has an error of its
    own: variance `noise` · spread[j].
    """
    for draw in range(graph_of.size):
        graph = graph_of[draw]
        shift = start[draw] - laid.first[graph, 0]
        for node in laid.order[graph]:
            sd = np.sqrt(noise[draw, node])
            mean = centres[node, node] + np.sqrt(spread[node]) * sd * normal(rng)
            one = mean + sd * normal(rng)  # drawn for those set too: what two interventions share is then the same
            if fixed[node]:
                expected[draw, node] = values[node]
                single[draw, node] = values[node]
                continue
            for slot in range(laid.first[graph, node], laid.first[graph, node + 1]):
                parent = laid.parents[slot]
                mean += drawn[shift + slot] * (expected[draw, parent] - centres[node, parent])
                one += drawn[shift + slot] * (single[draw, parent] - centres[node, parent])
            expected[draw, node] = mean
            single[draw, node] = one


@entry
def follow_worlds(laid: Laid, coefficients: Floats, base: Floats, fixed: Flags, values: Floats, found: Floats) -> None:
    """Find what every column is in each world: its `base` and what its parents add, or the value that it is set to.

    Each graph that was laid out is a world of its own (all arrays worlds × columns, but `fixed`, which has columns).
    """
    for world in range(found.shape[0]):
        for j in laid.order[world]:
            total = values[world, j]
            if not fixed[j]:
                total = base[world, j]
                for slot in range(laid.first[world, j], laid.first[world, j + 1]):
                    total += coefficients[slot] * found[world, laid.parents[slot]]
            found[world, j] = total


@entry
def spread_worlds(laid: Laid, coefficients: Floats, noise: Floats, fixed: Flags, room: Floats, found: Floats) -> None:
    """Find the variance of every column in each world, where some are set: Σ_k t²_kj σ²_k over the noise of others."""
    found[:] = 0.0
    for world in range(found.shape[0]):
        for source in range(fixed.size):
            if fixed[source]:
                continue
            room[:] = 0.0
            for j in laid.order[world]:
                if not fixed[j]:
                    total = 1.0 if j == source else 0.0
                    for slot in range(laid.first[world, j], laid.first[world, j + 1]):
                        total += coefficients[slot] * room[laid.parents[slot]]
                    room[j] = total
                    found[world, j] += total * total * noise[world, source]
