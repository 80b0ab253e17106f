"""Worlds that chains drew beside the cells of a table: graphs with parameters, as a result keeps them.

Each draw is a graph of its own here, with the parameters that were drawn for it, and their posterior means given it and
the table as it was completed then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parnidag.cells.margins import BLOCK, LINE, Margin
from parnidag.effects import kernels
from parnidag.effects.draws import STREAM, DrawnGraphs, LinearDraws
from parnidag.effects.source import Scales
from parnidag.errors import ParnidagError
from parnidag.kernels.types import Codes, Flags, Floats, Integers
from parnidag.results.record import RunRecord

DAMAGED = "the worlds of a result contradict themselves"


@dataclass(frozen=True, eq=False)
class Worlds:
    """Graphs between the columns of the model, and their parameters in its units."""

    names: tuple[str, ...]
    margins: tuple[Margin, ...]
    laid: kernels.Laid
    """The graphs between columns; those of nodes are `graphs`."""
    graphs: DrawnGraphs
    drawn: Floats
    """Coefficients (slots)."""
    means: Floats
    """Their posterior means given the graph and the completed table."""
    intercepts: Floats
    """(worlds × columns)"""
    mean_intercepts: Floats
    noise: Floats
    """Variances."""
    seed: int

    @cached_property
    def first_column(self) -> Integers:
        return first_columns(self.margins)

    @cached_property
    def shocks(self) -> Floats:
        """The noise of one new row in each world; the same for each question."""
        return self.random(0).standard_normal(self.noise.shape) * np.sqrt(self.noise)

    def random(self, key: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(STREAM, 4, key))))

    def follow(self, coefficients: Floats, base: Floats, fixed: Flags, values: Floats) -> Floats:
        """Return what each column is: its `base` and what its parents add, or what it is set to (worlds × columns)."""
        found = np.empty(base.shape)
        kernels.follow_worlds(self.laid, coefficients, base, fixed, np.broadcast_to(values, base.shape).copy(), found)
        return found

    def variances(self, fixed: Flags) -> Floats:
        """Return the variance of each column, where some are set (worlds × columns)."""
        found = np.empty(self.noise.shape)
        kernels.spread_worlds(self.laid, self.drawn, self.noise, fixed, np.empty(fixed.size), found)
        return found


def refuse_without_worlds(record: RunRecord) -> None:
    """Say why a result on a table with cells that chains drew has no effects, if it has none."""
    if record.worlds_ends is None:
        raise ParnidagError(
            "this result keeps no parameters, which effects of a table with drawn cells need: chains had not drawn the "
            "cells after tuning yet (run longer), the graphs have too many parameters to be kept, or an earlier "
            "parnidag wrote it"
        )


def worlds_of(record: RunRecord, seed: int) -> Worlds:
    """Return the worlds of a result on a table of numbers, or of numbers beside classes."""
    refuse_without_worlds(record)
    margins = margins_of(record)
    first = first_columns(margins)
    columns, n = int(first[-1]), len(record.nodes)
    sizes = world_sizes(record)
    laid, slots, world = lay_worlds(columns, sizes[:, 0], np.asarray(record.worlds_codes))
    edges = sizes[:, 0]
    if (sizes[:, 1] != 2 * edges + 3 * columns).any():
        raise ParnidagError(f"{DAMAGED}: their numbers are not those of their edges")
    begins = np.cumsum(sizes[:, 1]) - sizes[:, 1]
    numbers = np.asarray(record.worlds_numbers)
    within = np.arange(slots.size) - np.repeat(np.cumsum(edges) - edges, edges)
    places = np.repeat(begins, edges) + within
    rest = numbers[(begins + 2 * edges)[:, None] + np.arange(3 * columns)].reshape(-1, 3, columns)
    node = np.repeat(np.arange(n), np.diff(first))
    between = node_graphs(n, node, len(sizes), world, np.asarray(record.worlds_codes), columns)
    assert record.worlds_ends is not None
    return Worlds(
        names=record.nodes,
        margins=margins,
        laid=laid,
        graphs=DrawnGraphs(np.arange(len(sizes)).reshape(record.worlds_ends.shape[:2]), between),
        drawn=numbers[places][slots],
        means=numbers[places + np.repeat(edges, edges)][slots],
        intercepts=np.ascontiguousarray(rest[:, 0]),
        mean_intercepts=np.ascontiguousarray(rest[:, 1]),
        noise=np.ascontiguousarray(rest[:, 2]),
        seed=seed,
    )


def margins_of(record: RunRecord) -> tuple[Margin, ...]:
    """Return what the numbers of the model are in each column of the table."""
    kept = (record.margins_kind, record.margins_ends, record.margins_scores, record.margins_values)
    if any(array is None for array in kept) or record.margins_vectors is None:
        raise ParnidagError(f"{DAMAGED}: nothing says what they are in the table")
    kinds, ends, scores, values = (np.asarray(array) for array in kept)
    found, place = [], 0
    for kind, begin, end in zip(kinds.tolist(), np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
        size = end - begin
        width = (size - 1) if kind == BLOCK else 0
        vectors = record.margins_vectors[place : place + size * width].reshape(size if width else 0, width or 1)
        place += size * width
        found.append(Margin(kind, scores[begin:end], values[begin:end], vectors))
    return tuple(found)


def first_columns(margins: Sequence[Margin]) -> Integers:
    """Return where the columns of each node begin, and the end."""
    widths = [one.scores.size - 1 if one.kind == BLOCK else 1 for one in margins]
    return np.append(np.int64(0), np.cumsum(widths, dtype=np.int64))


def world_sizes(record: RunRecord) -> Integers:
    """Return how many edges and numbers each world has (worlds × 2)."""
    return np.diff(np.asarray(record.worlds_ends).reshape(-1, 2), axis=0, prepend=0)


def lay_worlds(columns: int, edges: Integers, codes: Codes) -> tuple[kernels.Laid, Integers, Integers]:
    """Lay out the graph of each world; also return where the edges of the slots are kept, and the world of each."""
    world = np.repeat(np.arange(len(edges)), edges)
    parent, child = np.divmod(codes.astype(np.int64), columns)
    if codes.size and (codes.min() < 0 or parent.max() >= columns or (parent == child).any()):
        raise ParnidagError(f"{DAMAGED}: an edge leads nowhere")
    slots, rising = np.lexsort((parent, child, world)), np.lexsort((codes, world))
    sorted_codes = codes[rising]
    if ((np.diff(sorted_codes) == 0) & (np.diff(world) == 0)).any():
        raise ParnidagError(f"{DAMAGED}: an edge is there twice")
    laid = kernels.lay_out(columns, np.append(np.int64(0), np.cumsum(edges)), sorted_codes)
    if (laid.order[:, -1] < 0).any():
        raise ParnidagError(f"{DAMAGED}: a graph has a directed cycle")
    return laid, slots, world


def node_graphs(n: int, node: Integers, worlds: int, world: Integers, codes: Codes, columns: int) -> kernels.Laid:
    """Lay out the graphs between nodes; `node` says whose each column is."""
    parent, child = (node[part] for part in np.divmod(codes.astype(np.int64), columns))
    between = parent != child
    different = np.unique(world[between] * n * n + parent[between] * n + child[between])
    edges = np.bincount(different // (n * n), minlength=worlds)
    return lay_worlds(n, edges, (different % (n * n)).astype(np.int32))[0]


@dataclass(frozen=True, eq=False)
class WorldDraws(LinearDraws):
    """Draws of linear relations between numbers, in a table with empty cells."""

    worlds: Worlds

    def set_nodes(self, fixed: Flags, values: Floats) -> tuple[Floats, Floats, Floats]:
        worlds, scales = self.worlds, self.scales
        levels = (values - scales.means) / scales.units
        found = (
            worlds.follow(worlds.drawn, worlds.intercepts, fixed, levels),
            worlds.follow(worlds.drawn, worlds.intercepts + worlds.shocks, fixed, levels),
            worlds.follow(worlds.means, worlds.mean_intercepts, fixed, levels),
        )
        expected, single, given_graph = (scales.means + scales.units * one for one in found)
        return expected, single, given_graph


def world_draws(record: RunRecord, seed: int) -> WorldDraws:
    """Return the worlds of a table of numbers as draws of linear relations."""
    worlds = worlds_of(record, seed)
    if any(margin.kind != LINE for margin in worlds.margins):
        raise ParnidagError(f"{DAMAGED}: a column of numbers is none")
    offsets, ends = np.array([margin.values for margin in worlds.margins]).T
    described = [column["sd"] or np.nan for column in record.settings["data"]["columns"]]
    own_units = dict(record.settings["score"]).get("standardise", True)
    deviations = ends - offsets if own_units else np.array(described)
    n, count = len(offsets), worlds.graphs.index.size
    scales = Scales(offsets, deviations, ends - offsets, np.zeros((n, n)), np.zeros(n))
    return WorldDraws(
        names=worlds.names,
        scales=scales,
        graphs=worlds.graphs,
        means=worlds.means[None],
        weights=np.ones((count, 1)),
        start=worlds.laid.first[:, 0].copy(),
        drawn=worlds.drawn,
        noise=worlds.noise,
        seed=seed,
        worlds=worlds,
    )
