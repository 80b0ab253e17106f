"""The target π(γ): local scores plus edge prior, over the graphs that the prior allows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from parnidag.cells.choose import Cells, CompletedTable, cells_of, describe_cells
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import Adjacency, arcs_of
from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.kernels.dag import (
    ABSENT,
    FIXED,
    MOST_NODES,
    Dag,
    GraphArrays,
    Scratch,
    adjacent,
    arc,
    child_of,
    close_dag,
    open_dag,
    parent_of,
    recompute_log_posterior,
    weight_of_children,
)
from parnidag.kernels.declare import first_numbers, named
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.joint_gains import binomials, find_joint_gains
from parnidag.kernels.lazy_zeros import lazy_zeros
from parnidag.kernels.problem import FREE, REQUIRED, Problem, ScoreTable
from parnidag.kernels.random import random_state
from parnidag.kernels.score_cache import hash_words, local_score, make_scratch
from parnidag.kernels.types import Flags, Floats, Integers, int64
from parnidag.priors.edge_prior import EdgePrior
from parnidag.scores.base import Score, table_of

SMALL_MEMO, LARGE_MEMO = 2**12, 2**18
"""Bounds on the number of cache records of a chain (64 bytes each)."""
REDRAWN_MEMO = 2**13
"""And where they are forgotten again and again."""
FIRST_TABLE = 7
"""Seed of the completed table that searches look at."""
JOINT_SETS = 20_000
"""Sets of one size that are looked at for what they gain together, for each node."""

REMEMBERED = ("gains", "set_sums", "known_levels", "known_tables", "known_sets", "folded_sums", "all_tables")
"""What a target keeps once it was computed, and does not take along to other processes."""


@dataclass(frozen=True)
class Levels:
    """The values that are learned along with the graph: a target for each, and how probable they are beforehand.

    A level is a number k·H + l: value k of the score's field and value l of the edge odds, of which there are H.
    """

    tables: tuple[ScoreTable, ...]
    """The data under each value of the score's field."""
    shifts: Floats
    """What each value of the odds adds to the log odds of every edge, beside those of the first."""
    offsets: Floats
    """Log prior weight of every level, with what it gives to all graphs alike (score values × odds)."""
    reference: int = 0
    """The value of the odds that tables of moves are made with."""

    @property
    def count(self) -> int:
        return self.offsets.size

    def tempered(self, temperature: float) -> Levels:
        return replace(self, tables=tuple(table.tempered(temperature) for table in self.tables))


@dataclass(frozen=True)
class Target:
    """The posterior over graphs, up to its normalising constant, for given data, score and prior.

    If values are learned along with the graph, it is the joint posterior of graph and values at one `level` of theirs,
    and `at` gives it at others.
    """

    names: tuple[str, ...]
    problem: Problem
    settings: dict[str, object]
    score: Score
    levels: Levels | None = None
    level: int = 0
    parents_only: Flags | None = None
    """Nodes without a score, into which no edge leads: the past, and what never changes. None if there are none."""
    cells: Cells | None = None
    """The cells that chains draw; the target itself is then that of one completed table, for searches."""
    redrawn: bool = False
    """Is it the target of one chain, whose tables are written anew whenever the chain draws its cells?"""

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in REMEMBERED}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Arrive in another process, where compiled functions have other addresses."""
        self.__dict__.update(state)
        if self.problem.table.function == NO_FUNCTION:
            return
        here = int64(self.score.function())
        self.__dict__["problem"] = self.problem._replace(table=self.problem.table._replace(function=here))
        if self.levels is not None:
            tables = tuple(table._replace(function=here) for table in self.levels.tables)
            self.__dict__["levels"] = replace(self.levels, tables=tables)

    def at(self, level: int) -> Target:
        """Return the joint posterior at another level; it is made once, since chains return to it."""
        if self.levels is None or level == self.level:
            return self
        known = self.__dict__.setdefault("known_levels", {self.level: self})
        if level not in known:
            k, l = divmod(level, self.levels.shifts.size)
            shift = float(self.levels.shifts[l] - self.levels.shifts[self.level % self.levels.shifts.size])
            odds = self.problem.log_odds
            if shift != 0.0:
                odds = odds + shift * ~np.eye(self.n_nodes, dtype=bool)
            problem = self.problem._replace(
                table=self.levels.tables[k],
                log_odds=odds,
                offset=float(self.levels.offsets[k, l]),
            )
            made = replace(self, problem=problem, level=level)
            made.__dict__["known_levels"] = known
            known[level] = made
        found: Target = known[level]
        return found

    def beginning_at(self, level: int) -> Target:
        """Return the same target, whose chains begin at a level, and whose moves have tables of its odds."""
        if self.levels is None:
            return self
        odds = self.levels.shifts.size
        levels = replace(self.levels, reference=level % odds)
        return replace(self.at(level), levels=levels)

    def shift_between(self, level: int, other: int) -> float:
        """Return by how much the log odds of edges at a level exceed those at another."""
        if self.levels is None:
            return 0.0
        shifts = self.levels.shifts
        return float(shifts[level % shifts.size] - shifts[other % shifts.size])

    def table_level(self, level: int) -> int:
        """Return the level whose tables serve moves at a level: they correct for other odds themselves."""
        assert self.levels is not None
        odds = self.levels.shifts.size
        return level // odds * odds + self.levels.reference

    @staticmethod
    def build(data: Data, score: Score, prior: EdgePrior) -> Target:
        n = data.n_nodes
        if n > MOST_NODES:
            raise ParnidagError(f"data has {n} columns; at most {MOST_NODES} nodes are supported")
        resolved = prior.resolve(data.names, data.rules)
        parents_only = None if data.rules is None else data.rules.parents_only
        cells = cells_of(data, score)
        variants = score.variants(n if cells is None else cells.columns) if isinstance(score, Score) else [score]
        if cells is None:
            tables = tuple(table_of(variant, data) for variant in variants)
        else:
            tables = cells.begin(random_state(FIRST_TABLE)).tables
        if parents_only is not None:
            tables = tuple(table.without(parents_only) for table in tables)
        offsets = resolved.log_weights - math.log(len(tables)) + np.zeros((len(tables), 1))
        problem = Problem(
            table=tables[0],
            log_odds=resolved.log_odds,
            status=resolved.status,
            free=arcs_of(resolved.status == FREE),
            words=hash_words(n),
            max_parents=int64(resolved.max_parents),
            by_children=resolved.by_children,
            offset=float(offsets[0, 0]),
        )
        settings: dict[str, object] = {
            "n_rows": data.n_rows,
            "data": data.describe(),
            "score": score.describe(),
            "prior": prior.describe(data.names, data.rules),
        }
        if parents_only is not None:
            settings["parents_only"] = [data.names[j] for j in np.flatnonzero(parents_only)]
        if data.has_interventions:
            set_rows = data.set_rows()
            settings["interventions"] = {data.names[j]: int(set_rows[j]) for j in np.flatnonzero(set_rows)}
        if cells is not None:
            settings["cells"] = describe_cells(data, cells)
        levels = Levels(tables, resolved.shifts, offsets) if offsets.size > 1 else None
        if levels is not None:
            settings["learned"] = _learned_values(score, variants, resolved.h)
        target = Target(data.names, problem, settings, score, levels, parents_only=parents_only, cells=cells)
        return target.beginning_at(offsets.size // 2)

    def with_cells(self, completed: CompletedTable) -> Target:
        """Return the target of a chain that completes the table in its own way."""
        value = self.level // (1 if self.levels is None else self.levels.shifts.size)
        levels = None if self.levels is None else replace(self.levels, tables=completed.tables)
        problem = self.problem._replace(table=completed.tables[value])
        return replace(self, problem=problem, levels=levels, redrawn=True)

    @property
    def n_nodes(self) -> int:
        return len(self.names)

    @property
    def scored(self) -> Integers:
        """The nodes that have a score: all but those that are parents only."""
        return np.arange(self.n_nodes) if self.parents_only is None else np.flatnonzero(~self.parents_only)

    @property
    def max_parents(self) -> int:
        return int(self.problem.max_parents)

    @property
    def most_edges(self) -> int:
        """The most edges that a DAG can have."""
        return min(self.n_nodes * (self.n_nodes - 1) // 2, self.n_nodes * self.max_parents)

    @property
    def required(self) -> Adjacency:
        return np.asarray(self.problem.status == REQUIRED)

    def check_score(self) -> None:
        """Raise what a score of the user's raised inside compiled code, which cannot."""
        if isinstance(self.score, Score):
            self.score.check(self.problem.table.content)

    def check_nodes_apart(self, who: str) -> None:
        """Refuse a prior that ties nodes together for those who choose the parents of each by itself."""
        if self.problem.by_children.size:
            raise ParnidagError(
                f"{who} weighs the parents of every node by themselves, and with regulators= they depend on each other",
                remedy="leave regulators out of the EdgePrior, or use samplers.PARNI(), ADR(), MC3() or REV()",
            )

    @cached_property
    def gains(self) -> Floats:
        """By how much the local log target of j rises with i as a parent, [i, j]: alone, or in a set that needs it.

        Sets of several are for scores that see what parents do together only. −inf if the edge is not free.
        """
        gains = np.full((self.n_nodes, self.n_nodes), -np.inf)
        largest = self.largest_joint
        room = np.empty((2, comb(self.n_nodes - 1, largest)))
        choose = binomials(self.n_nodes, largest)
        find_joint_gains(self.problem, self.empty_graph(), self.scratch(), choose, room, gains)
        return gains

    @property
    def largest_joint(self) -> int:
        """How many parents are looked at together: as many as make a number of sets that is soon done."""
        n, largest = self.n_nodes, 1
        if getattr(self.score, "joint", False):
            while largest + 1 < n / 2 and comb(n - 1, largest + 1) <= JOINT_SETS:
                largest += 1
        return largest

    def scratch(self) -> Scratch:
        families = self.n_nodes * 2.0 ** min(self.n_nodes - 1, 40)
        records = int(min(max(SMALL_MEMO, 2 * families), REDRAWN_MEMO if self.redrawn else LARGE_MEMO))
        return make_scratch(self.n_nodes, self.max_parents, 2 ** (records - 1).bit_length(), self.problem.table.widest)

    def empty_graph(self) -> GraphArrays:
        """Return the arrays of a chain's graph, not yet laid out and without random state."""
        n = self.n_nodes
        most = self.most_edges
        position = lazy_zeros((n, n), np.int32, busy=True)
        position.fill(ABSENT)
        return GraphArrays(
            parents=lazy_zeros((n, max(self.max_parents, 1)), np.int32, busy=True),
            degree=np.zeros(n, np.int64),
            children=np.zeros(n, np.int64),
            local=np.zeros(n),
            key=np.zeros(n, np.uint64),
            edges=lazy_zeros(most, np.int32),
            since=lazy_zeros(most, np.int64),
            position=position,
            visits=lazy_zeros((n, n), np.int64, busy=True),
            rng=np.zeros(4, np.uint64),
            **first_numbers(Dag),
        )

    def tempered(self, temperature: float) -> Target:
        """Return the target whose log posterior is divided by a temperature, for searches.

        Above 1 chains move freely, far below 1 they only climb.
        """
        return replace(
            self,
            problem=self.problem._replace(
                table=self.problem.table.tempered(temperature),
                log_odds=self.problem.log_odds / temperature,
                by_children=self.problem.by_children / temperature,
            ),
            levels=None,
        )

    def with_likelihood_to_the(self, power: float) -> Target:
        """Return the target with the likelihood raised to a power, and the prior as it is."""
        problem = self.problem._replace(table=self.problem.table.tempered(1.0 / power))
        return replace(self, problem=problem, levels=None if self.levels is None else self.levels.tempered(1.0 / power))

    def check_graph(self, adjacency: Adjacency, argument: str) -> None:
        for wrong, word in (
            (adjacency & (self.problem.status == 0), "forbidden"),
            (~adjacency & self.required, "required but missing"),
        ):
            if wrong.any():
                i, j = np.argwhere(wrong)[0]
                raise ParnidagError(
                    f"{argument} is not allowed by the prior: {self.names[i]} → {self.names[j]} is {word}"
                )
        if adjacency.sum(axis=0).max() > self.max_parents:
            crowded = self.names[int(adjacency.sum(axis=0).argmax())]
            raise ParnidagError(f"{argument} has more than max_parents={self.max_parents} parents at {crowded}")

    def log_posterior(self, adjacency: Adjacency) -> float:
        """Return log p(D | G) plus the log prior weight of a graph, with every constant of the likelihood."""
        graph = self.empty_graph()
        scratch = make_scratch(self.n_nodes, self.max_parents, 2, self.problem.table.widest)
        lay_graph(self.problem, graph, scratch, adjacency)
        return float(named(graph).log_posterior)

    def log_posteriors(self, offsets: Integers, codes: Integers) -> Floats:
        """Return `log_posterior` of many graphs, the k-th with the edges codes[offsets[k]:offsets[k + 1]].

        For exact sums, which refuse priors that tie nodes together.
        """
        graph = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        parents, children = np.divmod(codes.astype(np.int64), self.n_nodes)
        total = np.full(offsets.size - 1, self.problem.offset)
        for node in range(self.n_nodes):
            into = children == node
            degrees = np.bincount(graph[into], minlength=total.size)
            total += self.local_scores(node, np.append(0, np.cumsum(degrees)), parents[into])
        return total

    def local(self, node: int, parents: Iterable[int]) -> float:
        """Return the local log target of one node given its parents."""
        scratch = make_scratch(self.n_nodes, self.n_nodes - 1, 2, self.problem.table.widest)
        family = np.array(sorted(parents), np.int64)
        scratch.family[: family.size] = family
        return float(score_family(self.problem, self.empty_graph(), scratch, int64(node), int64(family.size)))

    def local_scores(self, node: int, offsets: Integers, parents: Integers) -> Floats:
        """Return the local log target of one node for many parent sets, the k-th parents[offsets[k]:offsets[k + 1]]."""
        scratch = make_scratch(self.n_nodes, self.n_nodes - 1, 2, self.problem.table.widest)
        found = np.empty(offsets.size - 1)
        score_families(self.problem, self.empty_graph(), scratch, int64(node), (offsets, parents), found)
        return found


def _learned_values(score: Any, variants: list[Any], h: tuple[float, ...]) -> dict[str, list[float]]:
    """Return all that each learned value may be, by its name."""
    fields = {score.learns: [float(getattr(one, score.learns)) for one in variants]} if len(variants) > 1 else {}
    return fields | ({"h": list(h)} if len(h) > 1 else {})


@entry
def score_family(problem: Problem, graph: GraphArrays, scratch: Scratch, node: int, degree: int) -> float:
    """Return the local log target of `node` given the first `degree` entries of the scratch array `family`."""
    dag: Dag = open_dag(problem, graph, scratch)
    return local_score(dag, node, degree)


@entry
def score_families(
    problem: Problem, graph: GraphArrays, scratch: Scratch, node: int, sets: tuple[Integers, Integers], found: Floats
) -> None:
    """Write the local log target of a node for every one of many parent sets."""
    dag: Dag = open_dag(problem, graph, scratch)
    offsets, parents = sets
    for k in range(found.size):
        degree = int64(offsets[k + 1] - offsets[k])
        for place in range(degree):
            dag.family[place] = parents[offsets[k] + place]
        found[k] = local_score(dag, node, degree)


@entry
def score_graph(problem: Problem, graph: GraphArrays, scratch: Scratch) -> float:
    """Return the log posterior of the graph that a chain stands at under a problem that need not be the chain's."""
    dag: Dag = open_dag(problem, graph, scratch)
    total = dag.offset
    for j in range(dag.n):
        total += present_score(dag, int64(j)) + weight_of_children(dag, int64(j))
    return total


@entry
def score_anew(problem: Problem, graph: GraphArrays, scratch: Scratch) -> None:
    """Compute the local scores of a chain's graph again, under another problem than before."""
    dag: Dag = open_dag(problem, graph, scratch)
    for j in range(dag.n):
        dag.local[j] = present_score(dag, int64(j))
    recompute_log_posterior(dag)
    close_dag(dag, graph)


@kernel
def present_score(dag: Dag, node: int) -> float:
    """Compute the local log target of a node with the parents it has."""
    for k in range(dag.degree[node]):
        dag.family[k] = dag.parents[node, k]
    return local_score(dag, node, dag.degree[node])


@entry
def lay_graph(problem: Problem, graph: GraphArrays, scratch: Scratch, adjacency: Adjacency) -> None:
    """Fill the arrays of a chain's graph from an adjacency matrix; counts start at zero."""
    dag: Dag = open_dag(problem, graph, scratch)
    n = dag.n
    for j in range(n):
        degree = int64(0)
        key = dag.words[1, j]
        for i in range(n):
            if not adjacency[i, j]:
                continue
            dag.parents[j, degree] = i
            dag.family[degree] = i
            dag.children[i] += int64(1)
            degree += int64(1)
            key ^= dag.words[0, i]
            if dag.status[i, j] == REQUIRED:
                dag.position[i, j] = FIXED
            else:
                dag.edges[dag.edge_count] = arc(i, j)
                dag.position[i, j] = dag.edge_count
                dag.edge_count += int64(1)
        dag.degree[j] = degree
        dag.key[j] = key
        dag.local[j] = local_score(dag, j, degree)
    dag.addable = int64(0)
    for k in range(dag.free.size):
        code = int64(dag.free[k])
        if not adjacent(dag, parent_of(code), child_of(code)):
            dag.addable += int64(1)
    recompute_log_posterior(dag)
    close_dag(dag, graph)
