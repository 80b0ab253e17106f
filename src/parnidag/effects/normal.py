"""Draws of the relations between normal scores, and what they say of numbers and classes in the table.

Behind every column of the table lies a normal number, or a block of them (`cells.margins`). Given a world, the law of
these under an intervention is normal too, and known; so is what follows for a column:

- **numbers**: the expected value of a curve, straight between its knots, of a normal number, in closed form;
- **ordered levels, yes or no**: the probability of lying between two cuts;
- **levels without order**: a block stands for a level k by a vector v_k of contrasts, and whoever is k has, exactly,
  1 = p_k (1 + v_k · block / s) with the share p_k and the variance s of the contrasts, all other levels 0. Relations
  are straight lines, so the probability of k is p_k (1 + v_k · mean / s), cut off at 0 and made to add up to one.

To set a number is to set its score. To set an ordered level, or a value that many rows share, is to draw the normal
number from what it is, in this world and without intervention, among those who have the level: neither the scale of the
number, which nothing in the data tells of yes or no, nor the choice of a single point in the interval then matters.
To set a level without order is to set its vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from parnidag._util.checks import number
from parnidag.cells.margins import BLOCK, LEVELS, LINE, NUMBERS, Margin
from parnidag.effects.draws import STREAM, DrawnGraphs, LinearDraws, Places
from parnidag.effects.kernels import Laid
from parnidag.effects.nodes import as_mapping, level_number, node_number
from parnidag.effects.worlds import DAMAGED, Worlds, margins_of, worlds_of
from parnidag.errors import ParnidagError
from parnidag.kernels.types import Flags, Floats, Integers
from parnidag.results.record import RunRecord

STRATA = 16
"""Equally probable parts of an interval, each by its mean: exact for all that is straight."""
PRIME, ROOT = 17, 3
"""Powers of the root run through 1 … 16: several intervals are gone through together, each in another order."""

Do = Mapping[str, float | str]


class Setting(NamedTuple):
    """What the columns of a node are set to: a point, or an interval if the bounds differ."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class ScoreDraws:
    """The worlds of a table of numbers and classes, where a normal number lies behind each column."""

    worlds: Worlds
    labels: tuple[tuple[str, ...], ...]
    """The levels of each node; none for numbers."""

    splits: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.worlds.names

    @property
    def graphs(self) -> DrawnGraphs:
        return self.worlds.graphs

    @property
    def shape(self) -> tuple[int, int]:
        """Chains and draws."""
        chains, draws = self.graphs.index.shape
        return chains, draws

    @cached_property
    def places(self) -> Places:
        """Nodes, but of those without order every level but the first."""
        found = [
            (node, level, labels[0] if level else "")
            for node, (labels, margin) in enumerate(zip(self.labels, self.worlds.margins, strict=True))
            for level in (labels[1:] if margin.kind == BLOCK else [""])
        ]
        node, level, versus = zip(*found, strict=True)
        return Places(np.array(node), level, versus)

    @cached_property
    def free(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every column, if nothing is set (worlds × columns)."""
        worlds, nothing = self.worlds, np.zeros(self.worlds.noise.shape[1], bool)
        mean = worlds.follow(worlds.drawn, worlds.intercepts, nothing, np.zeros(nothing.size))
        return mean, np.sqrt(worlds.variances(nothing))

    def columns_of(self, node: int) -> slice:
        return slice(*self.worlds.first_column[node : node + 2].tolist())

    # ── total effects ─────────────────────────────────────────────────────────────────────────────────────────────────

    def ratios(self, standardised: bool) -> Floats:
        return np.ones((self.places.node.size,) * 2)

    def change_of(self, place: int) -> Floats:
        """Return by how much the columns of a cause are changed: one deviation, or to a level from the first."""
        node, level = int(self.places.node[place]), self.places.level[place]
        if not level:
            return np.asarray(self.free[1][:, self.columns_of(node)])
        vectors = self.worlds.margins[node].vectors
        return np.tile(vectors[self.labels[node].index(level)] - vectors[0], (len(self.free[1]), 1))

    def in_places(self, node: int, change: Floats) -> Floats:
        """Return a change of a node's columns (worlds × columns) in deviations, or of each probability."""
        margin = self.worlds.margins[node]
        if margin.kind != BLOCK:
            deviation = self.free[1][:, self.columns_of(node)]
            return np.asarray(change / deviation)
        return np.asarray(change @ slopes_of(margin)[1:].T)

    def effects_of(self, cause: int) -> Floats:
        """Return the total effects of a place on every place, in every draw (draws × places)."""
        worlds, node = self.worlds, int(self.places.node[cause])
        fixed, values = np.zeros(worlds.noise.shape[1], bool), np.zeros(worlds.noise.shape)
        fixed[self.columns_of(node)], values[:, self.columns_of(node)] = True, self.change_of(cause)
        found = worlds.follow(worlds.drawn, np.zeros(values.shape), fixed, values)
        each = [self.in_places(j, found[:, self.columns_of(j)]) for j in range(len(self.names))]
        return np.concatenate(each, axis=1)

    def mean_effects_of(self, cause: int) -> Floats:
        """Return the same: in deviations there is no closed mean given a graph."""
        return self.effects_of(cause)

    # ── interventions ─────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def quantities(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What is known after an intervention: the node of each, and the level whose probability it is, or nothing."""
        found = [
            (name, level) for name, labels in zip(self.names, self.labels, strict=True) for level in labels or [""]
        ]
        nodes, levels = zip(*found, strict=True)
        return nodes, levels

    def checked(self, given: object, argument: str, may_be_empty: bool = False) -> dict[str, float | str]:
        """Check the nodes of an intervention, and the numbers or levels that they are set to."""
        found: dict[str, float | str] = {}
        for name, value in as_mapping(given, argument, may_be_empty).items():
            labels = self.labels[node_number(self.names, name, argument)]
            called = f"{argument}[{name!r}]"
            if labels:
                found[name] = labels[level_number(labels, value, called)]
            else:
                number(value, called)
                found[name] = float(value)  # type: ignore[arg-type]
        return found

    def set_nodes(self, do: Do, only: str | None = None) -> tuple[Floats, Floats]:
        """Return the expected value or probability of every quantity in each draw, and one new row for each."""
        settings = {self.names.index(name): self._setting(name, value) for name, value in do.items()}
        worlds = self.worlds
        fixed, values, row = self._points(settings)
        means = np.stack([worlds.follow(worlds.drawn, worlds.intercepts, fixed, one) for one in values], axis=1)
        deviations = np.sqrt(worlds.variances(fixed))
        single = worlds.follow(worlds.drawn, worlds.intercepts + worlds.shocks, fixed, row)
        expected, rows = [], []
        for node, name in enumerate(self.names):
            if only not in (None, name):
                continue
            if name in do:
                at = self._as_set(node, do[name])
                expected.append(at)
                rows.append(at)
                continue
            margin, here = worlds.margins[node], self.columns_of(node)
            expected.append(expected_of(margin, means[:, :, here], deviations[:, here]))
            rows.append(row_of(margin, single[:, here], expected[-1], worlds.random(1 + node)))
        return np.concatenate(expected, axis=1), np.concatenate(rows, axis=1)

    def _setting(self, name: str, value: float | str) -> Setting:
        node = self.names.index(name)
        level = self.labels[node].index(str(value)) if self.labels[node] else 0
        return setting_of(self.worlds.margins[node], float(level) if self.labels[node] else float(value))

    def _as_set(self, node: int, value: float | str) -> Floats:
        labels, count = self.labels[node], self.graphs.index.size
        known = [float(label == value) for label in labels] if labels else [float(value)]
        return np.tile(known, (count, 1))

    def _points(self, settings: Mapping[int, Setting]) -> tuple[Flags, Floats, Floats]:
        """Return which columns are set, to what in each stratum (strata × worlds × columns), and for one row."""
        mean, deviation = self.free
        fixed, row = np.zeros(mean.shape[1], bool), np.zeros(mean.shape)
        intervals = [node for node, setting in settings.items() if (setting.low < setting.high).any()]
        values = np.zeros((STRATA if intervals else 1, *mean.shape))
        for node, setting in settings.items():
            here = self.columns_of(node)
            fixed[here] = True
            if node not in intervals:
                values[:, :, here], row[:, here] = setting.low, setting.low
                continue
            turn = pow(ROOT, intervals.index(node), PRIME)
            order = (np.arange(1, STRATA + 1) * turn % PRIME) - 1
            strata, one = drawn_between(
                mean[:, here.start], deviation[:, here.start], setting, self.worlds.random(1 + node).random(len(mean))
            )
            values[:, :, here.start], row[:, here.start] = strata[:, order].T, one
        return fixed, values, row


def draws_between_scores(linear: LinearDraws, record: RunRecord) -> ScoreDraws:
    """Return draws of linear relations between the normal scores of a complete table, a world each."""
    graphs, scales, n = linear.graphs, linear.scales, len(linear.names)
    graph_of, first = graphs.graph_of, graphs.laid.first
    edges = graphs.edges[graph_of]
    slots = np.arange(edges.sum()) - np.repeat(linear.start - first[graph_of, 0], edges)
    laid = Laid(
        first[graph_of] + (linear.start - first[graph_of, 0])[:, None],
        graphs.laid.parents[slots],
        graphs.laid.order[graph_of],
    )
    parents, children = laid.parents, graphs.children[slots]
    missed = linear.drawn * (scales.means[parents] + scales.centres[children, parents])
    places = np.repeat(np.arange(len(edges)), edges) * n + children
    base = scales.means + np.diagonal(scales.centres) - np.bincount(places, missed, len(edges) * n).reshape(-1, n)
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(linear.seed, spawn_key=(STREAM, 3))))
    intercepts = base + np.sqrt(linear.noise * scales.spread) * random.standard_normal(base.shape)
    each = DrawnGraphs(np.arange(len(edges)).reshape(graphs.index.shape), laid)
    worlds = Worlds(
        names=linear.names,
        margins=margins_of(record),
        laid=laid,
        graphs=each,
        drawn=linear.drawn,
        means=linear.drawn,
        intercepts=intercepts,
        mean_intercepts=intercepts,
        noise=linear.noise,
        seed=linear.seed,
    )
    return ScoreDraws(worlds, ((),) * n)


def score_draws(record: RunRecord, seed: int) -> ScoreDraws:
    levels, worlds = record.settings["cells"].get("levels", {}), worlds_of(record, seed)
    labels = tuple(tuple(levels.get(name, ())) for name in record.nodes)
    counts = [margin.scores.size if margin.kind in (LEVELS, BLOCK) else 0 for margin in worlds.margins]
    if [len(one) for one in labels] != counts:
        raise ParnidagError(f"{DAMAGED}: columns have other levels than their margins")
    return ScoreDraws(worlds, labels)


def slopes_of(margin: Margin) -> Floats:
    """Return by how much each column of a block raises the probability of each level (levels × columns)."""
    shares = margin.scores[:, None]
    return np.asarray(shares * margin.vectors / (shares * margin.vectors**2).sum(axis=0))


def setting_of(margin: Margin, value: float) -> Setting:
    """Return what the columns of a node are if it is set: of levels by number."""
    scores, values = margin.scores, margin.values
    if margin.kind == BLOCK:
        return Setting(margin.vectors[int(value)], margin.vectors[int(value)])
    if margin.kind == LEVELS:
        bounds = np.concatenate([[-np.inf], scores[:-1], [np.inf]])
        return Setting(bounds[int(value), None], bounds[int(value) + 1, None])
    if margin.kind == LINE:
        point = np.array([(value - values[0]) / (values[1] - values[0])])
        return Setting(point, point)
    known = scores[values == value]
    if known.size > 1:
        return Setting(known[:1], known[-1:])
    finite = np.isfinite(scores)
    point = known if known.size else np.interp([value], values[finite], scores[finite])
    return Setting(point, point)


def drawn_between(mean: Floats, deviation: Floats, setting: Setting, uniform: Floats) -> tuple[Floats, Floats]:
    """Return the means of equally probable parts of a normal law between bounds (draws × strata), and a draw from it.

    Everything is turned into the lower tail, where probabilities keep their digits.
    """
    low, high = (setting.low[0] - mean) / deviation, (setting.high[0] - mean) / deviation
    upper = low > -high
    low, high = np.where(upper, -high, low), np.where(upper, -low, high)
    below, inside = ndtr(low), ndtr(high) - ndtr(low)
    parts = np.append(np.linspace(0.0, 1.0, STRATA + 1)[None].repeat(len(mean), axis=0), uniform[:, None], axis=1)
    ends = np.clip(ndtri(below[:, None] + inside[:, None] * parts), low[:, None], high[:, None])
    ends[:, 0], ends[:, STRATA] = low, high
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        heights = np.exp(-0.5 * ends[:, : STRATA + 1] ** 2) / np.sqrt(2.0 * np.pi)
        middle = -np.diff(heights, axis=1) * STRATA / inside[:, None]
    lost = ~(inside > 1e-280)  # nobody in this world has the level: as near to it as can be
    found = np.append(np.clip(middle, ends[:, :STRATA], ends[:, 1 : STRATA + 1]), ends[:, -1:], axis=1)
    found[lost] = high[lost, None]
    found = mean[:, None] + deviation[:, None] * np.where(upper[:, None], -found, found)
    return np.where(upper[:, None], found[:, STRATA - 1 :: -1], found[:, :STRATA]), found[:, STRATA]


def expected_of(margin: Margin, mean: Floats, deviation: Floats) -> Floats:
    """Return the expected value of a number, or the probability of every level, averaged over strata (draws × …).

    `mean` has strata (draws × strata × columns), `deviation` not.
    """
    if margin.kind == BLOCK:
        probability = margin.scores + average(mean) @ slopes_of(margin).T
        probability = np.maximum(probability, 0.0)
        return np.asarray(probability / probability.sum(axis=1, keepdims=True))
    if margin.kind == LINE:
        return np.asarray(margin.values[0] + (margin.values[1] - margin.values[0]) * average(mean))
    spread = np.maximum(deviation, 1e-12)[:, :, None]
    if margin.kind == LEVELS:
        below = ndtr((margin.scores[:-1] - mean) / spread)
        ends = np.zeros((*below.shape[:2], 1)), np.ones((*below.shape[:2], 1))
        return average(np.diff(np.concatenate([ends[0], below, ends[1]], axis=2), axis=2))
    scores, values = finite_knots(margin)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(np.diff(scores) > 0, np.diff(values) / np.diff(scores), 0.0)
    jumps = np.where(np.diff(scores) > 0, 0.0, np.diff(values))
    beyond = (mean - scores) / spread
    share = ndtr(beyond)
    above = spread * (beyond * share + np.exp(-0.5 * beyond**2) / np.sqrt(2.0 * np.pi))
    found = values[0] + above @ np.diff(slopes, prepend=0.0, append=0.0) + share[:, :, 1:] @ jumps
    return average(found[:, :, None])


def finite_knots(margin: Margin) -> tuple[Floats, Floats]:
    """Return the knots of a column of numbers; beyond the outermost values stay as they are."""
    finite = np.isfinite(margin.scores)
    if not finite.any():
        return np.zeros(1), margin.values[:1]
    return margin.scores[finite], margin.values[finite]


def average(values: Floats) -> Floats:
    """Average over strata; where all are equal to the last bit, so is their average."""
    return np.asarray(values[:, 0] + (values - values[:, :1]).mean(axis=1))


def row_of(margin: Margin, drawn: Floats, probability: Floats, random: np.random.Generator) -> Floats:
    """Return what normal numbers are in the table: the number, or a one at the level and zeros elsewhere."""
    if margin.kind == LINE:
        return np.asarray(margin.values[0] + (margin.values[1] - margin.values[0]) * drawn)
    if margin.kind == NUMBERS:
        return np.interp(drawn, *finite_knots(margin))
    if margin.kind == LEVELS:
        level: Integers = np.searchsorted(margin.scores[:-1], drawn[:, 0])
    else:
        level = (random.random((len(drawn), 1)) > np.cumsum(probability, axis=1)[:, :-1]).sum(axis=1)
    return np.asarray(level[:, None] == np.arange(margin.values.size), float)
