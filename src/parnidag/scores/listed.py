"""Local scores that are given one by one, in memory or as a file, in place of data.

The files (``.jkl``) are those of GOBNILP, sumu and Gibby: the number of nodes; for each node a line with its name and
the number of its parent sets; for each of these a line with its score, the number of parents, and their names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from parnidag._util.checks import whole
from parnidag._util.files import why_not_readable, write_atomically
from parnidag._util.text import one_line, shorten
from parnidag.data.table import Data
from parnidag.data.without_rows import WithoutRows
from parnidag.errors import ParnidagError
from parnidag.kernels.by_address import external, pack_arrays, packed, packed_shape, pointed
from parnidag.kernels.jit import entry, kernel
from parnidag.kernels.problem import ScoreTable, function_table
from parnidag.kernels.types import Floats, Integers, Words, int64, uint64
from parnidag.scores.base import Patterns, Score, refuse_interventions

MOST_FILE_BYTES = 4 * 10**9
MOST_SETS = 20_000_000
"""Parent sets of a table: more would not fit into memory comfortably."""
LARGEST = 1e100
"""Scores beyond cannot be added up: sums over nodes and graphs would leave the range of numbers."""
WORDS_SEED = 7301
EMPTY = np.uint64(2**64 - 1)
"""No family has this hash: `fill_places` sees to it."""
Families = Mapping[Any, Mapping[Sequence[Any], float]]


class Table(Score):
    """Local scores as they are given: a posterior over graphs without its data.

    A graph's log weight is the sum of the scores of its nodes, each with its parents. Parent sets that are not listed
    are impossible. ``parnidag.sample(scores.Table.read("scores.jkl"))`` and `parnidag.exact` take it in place of data;
    unless a prior is given, nothing is added to the scores.

    Parameters
    ----------
    scores
        ``{node: {(parent, …): score}}``: for each node its parent sets with their log scores. Nodes are texts.

    Examples
    --------
    >>> import parnidag
    >>> table = parnidag.scores.Table({"a": {(): 0.0, ("b",): 1.0}, "b": {(): 0.0}})
    >>> parnidag.exact(table).edge_probabilities.round(3).loc["b", "a"]
    np.float64(0.731)
    """

    joint: ClassVar[bool] = True
    usual_h: ClassVar[float | None] = 0.5

    def __init__(self, scores: Families) -> None:
        names = tuple(map(str, scores))
        place = {name: k for k, name in enumerate(names)}
        if len(place) < len(names):
            raise ParnidagError("scores names a node twice")
        lists = [
            [(tuple(_places(parents, place, node)), score) for parents, score in sets.items()]
            for node, sets in scores.items()
        ]
        self._take(names, lists)

    def _take(self, names: tuple[str, ...], lists: Sequence[Sequence[tuple[tuple[int, ...], float]]]) -> None:
        """Check and keep families by number, each node's in the order given."""
        if len(names) < 2:
            raise ParnidagError(f"scores must be of at least two nodes, got {len(names)}")
        for node, sets in enumerate(lists):
            self._check_node(names, node, sets)
        self.names = names
        self.counts = np.array([len(sets) for sets in lists], np.int64)
        self.values = np.array([score for sets in lists for _, score in sets], np.float64)
        sizes = [len(parents) for sets in lists for parents, _ in sets]
        self.offsets = np.append(np.int64(0), np.cumsum(sizes, dtype=np.int64))
        self.parents = np.array([parent for sets in lists for family, _ in sets for parent in family], np.int64)

    @staticmethod
    def _check_node(names: tuple[str, ...], node: int, sets: Sequence[tuple[tuple[int, ...], float]]) -> None:
        if not sets:
            raise ParnidagError(f"scores has no parent set for {names[node]}, so that no graph is possible")
        seen = set()
        for parents, score in sets:
            shown = f"{names[node]} with parents {shorten([names[k] for k in parents]) if parents else 'none'}"
            if node in parents or len(set(parents)) < len(parents):
                raise ParnidagError(f"scores: {shown}: a node is no parent of its own, and none is one twice")
            if np.isnan(score) or score == np.inf:
                raise ParnidagError(f"scores: {shown} has {score}; a score is a number, or −inf for what is impossible")
            if LARGEST < abs(score) < np.inf:
                raise ParnidagError(f"scores: {shown} has {score:g}; scores beyond ±{LARGEST:g} cannot be added up")
            if parents in seen:
                raise ParnidagError(f"scores: {shown} is there twice")
            seen.add(parents)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Table:
        """Read a ``.jkl`` file.

        Parameters
        ----------
        path
            The file. Nodes may have any names without spaces; numbers are common.
        """
        file = Path(path)
        if (problem := why_not_readable(file)) is not None:
            raise ParnidagError(f"path: cannot read {file}: {problem}")
        if file.stat().st_size > MOST_FILE_BYTES:
            raise ParnidagError(f"path: {file} has more than {MOST_FILE_BYTES:.0e} bytes")
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            return _read(file.name, lines)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the scores to a ``.jkl`` file, which replaces an earlier one only when it is whole.

        Parameters
        ----------
        path
            Where to write; names of nodes must hold no spaces.
        """
        bad = [name for name in self.names if not name or len(name.split()) != 1]
        if bad:
            raise ParnidagError(f"names with spaces cannot stand in a .jkl file: {shorten(bad)}; rename the columns")
        return write_atomically(path, "".join(self._lines()), "scores.jkl")

    def _lines(self) -> Iterator[str]:
        yield f"{len(self.names)}\n"
        k = 0
        for name, count in zip(self.names, self.counts.tolist(), strict=True):
            yield f"{name} {count}\n"
            for k in range(k, k + count):  # noqa: B020 – goes on from where the last node ended
                family = self.parents[self.offsets[k] : self.offsets[k + 1]].tolist()
                yield " ".join([f"{self.values[k]:.17g}", str(len(family)), *(self.names[i] for i in family)]) + "\n"
            k += 1

    @staticmethod
    def of(target: Any, most_parents: int | None = None) -> Table:
        """Score all parent sets that a target allows, up to a size: what `parnidag scores` writes."""
        n = target.n_nodes
        largest = target.max_parents if most_parents is None else min(whole(most_parents, "max_parents"), n - 1)
        count = n * sum(comb(n - 1, k) for k in range(largest + 1))
        if count > MOST_SETS:
            raise ParnidagError(
                f"max_parents={largest} of {n} nodes makes {count:.1e} parent sets, more than {MOST_SETS:.0e}; "
                "use a smaller one"
            )
        lists = []
        for node in range(n):
            status = target.problem.status[:, node]
            required = tuple(np.flatnonzero(status == 2).tolist())
            free = np.flatnonzero(status == 1).tolist()
            sets = [
                tuple(sorted((*required, *more)))
                for size in range(largest - len(required) + 1)
                for more in combinations(free, size)
            ]
            lists.append(list(zip(sets, _scores_of(target, node, sets).tolist(), strict=True)))
        table = Table.__new__(Table)
        table._take(tuple(target.names), lists)
        return table

    def as_data(self) -> Data:
        """Give what stands for the data of these scores: the names of their nodes."""
        return WithoutRows(self.names, self)

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        refuse_interventions(self, data)
        if data.names != self.names:
            raise ParnidagError(
                f"score is a table of local scores of other nodes ({shorten(self.names)}) than the columns of the data"
            )
        size = 2 ** int(2 * len(self.values)).bit_length()
        n, keys, values = len(self.names), np.full(size, EMPTY), np.full(size, -np.inf)
        words = np.random.SeedSequence(WORDS_SEED).generate_state(2 * n, np.uint64).reshape(2, n)
        if not fill_places(words, (self.counts, self.offsets, self.parents, self.values), keys, values):
            raise ParnidagError("two parent sets of these scores have the same hash: give the nodes in another order")
        return function_table(data.n_nodes, self.function(), pack_arrays(words, keys, values))

    def function(self) -> int:
        return listed_score.address()

    def describe(self) -> dict[str, object]:
        digest = hashlib.sha256(repr(self.names).encode("utf-8", "replace"))
        for array in (self.counts, self.offsets, self.parents, self.values):
            digest.update(np.ascontiguousarray(array).tobytes())
        return {"name": "Table", "parent_sets": len(self.values), "digest": digest.hexdigest()[:16]}

    def __repr__(self) -> str:
        return f"Table({len(self.names)} nodes, {len(self.values)} parent sets)"


def _places(parents: object, place: Mapping[str, int], node: object) -> list[int]:
    if isinstance(parents, str) or not isinstance(parents, Sequence | frozenset | set):
        raise ParnidagError(f"scores: parents of {node!r} must be a tuple of nodes, got {parents!r}")
    unknown = [str(parent) for parent in parents if str(parent) not in place]
    if unknown:
        raise ParnidagError(f"scores: {shorten(unknown)} among the parents of {node} is no node of the table")
    return sorted(place[str(parent)] for parent in parents)


def _read(name: str, lines: Iterator[str]) -> Table:
    """Read a file line by line; parents may be named before their own lines come."""
    numbered = ((number, line.split()) for number, line in enumerate(lines, 1) if line.strip())

    def refuse(number: int, why: str) -> ParnidagError:
        return ParnidagError(f"path: {name}, line {number}: {why}")

    def following(what: str) -> tuple[int, list[str]]:
        try:
            return next(numbered)
        except StopIteration:
            raise ParnidagError(f"path: {name} ends where {what} should follow: it is not a whole .jkl file") from None

    number, first = following("the number of nodes")
    if len(first) != 1 or not _counts(first[0]):
        raise refuse(number, f"a .jkl file begins with the number of nodes, not {one_line(' '.join(first), 40)!r}")
    named: list[str] = []
    found: list[list[tuple[int, list[str], float]]] = []
    for _ in range(int(first[0])):
        number, head = following("a node")
        if len(head) != 2 or not _counts(head[1]):
            raise refuse(number, f"expected a node and its number of parent sets, got {one_line(' '.join(head), 40)!r}")
        named.append(head[0])
        sets = []
        for _ in range(int(head[1])):
            number, cells = following(f"a parent set of {head[0]}")
            try:
                score, count = float(cells[0]), int(cells[1])
            except (ValueError, IndexError):
                shown = one_line(" ".join(cells), 40)
                raise refuse(number, f"expected a score, a number of parents and their names, got {shown!r}") from None
            if len(cells) != count + 2:
                raise refuse(number, f"{count} parents are announced, {len(cells) - 2} are named")
            sets.append((number, cells[2:], score))
        found.append(sets)
    for number, _ in numbered:
        raise refuse(number, f"the file goes on after its {len(named)} nodes")
    place = {node: k for k, node in enumerate(named)}
    if len(place) < len(named):
        raise ParnidagError(f"path: {name} has a node twice")
    lists: list[list[tuple[tuple[int, ...], float]]] = []
    for sets in found:
        listed = []
        for number, parents, score in sets:
            if unknown := [parent for parent in parents if parent not in place]:
                raise refuse(number, f"{shorten(unknown)} is no node of the file")
            listed.append((tuple(sorted(place[parent] for parent in parents)), score))
        lists.append(listed)
    table = Table.__new__(Table)
    table._take(tuple(named), lists)
    return table


def _counts(text: str) -> bool:
    """Ask whether a text is a number of things that a file can hold."""
    return text.isascii() and text.isdecimal() and len(text) < 19


def _scores_of(target: Any, node: int, sets: Sequence[tuple[int, ...]]) -> Floats:
    offsets = np.append(np.int64(0), np.cumsum([len(family) for family in sets], dtype=np.int64))
    parents = np.array([parent for family in sets for parent in family], np.int64)
    return np.asarray(target.local_scores(node, offsets, parents))


# ---------------------------------------------------------------------------------------------------------------------
# Compiled code


@kernel
def family_key(words: Words, node: int, parents: Integers) -> Any:
    key = words[1, node]
    for k in range(parents.size):
        key ^= words[0, parents[k]]
    return key


@kernel
def place_of(keys: Words, key: Any) -> int:
    """Find the place of a family: where its hash is, or the first free place from there on."""
    place = int64(key & uint64(keys.size - 1))
    while keys[place] != key and keys[place] != EMPTY:
        place = (place + 1) & (keys.size - 1)
    return place


@entry
def fill_places(words: Words, table: tuple[Integers, Integers, Integers, Floats], keys: Words, values: Floats) -> bool:
    """Put every family at its place; False if two have the same hash."""
    counts, offsets, parents, scores = table
    family = int64(0)
    for node in range(counts.size):
        for _ in range(counts[node]):
            key = family_key(words, int64(node), parents[offsets[family] : offsets[family + 1]])
            place = place_of(keys, key)
            if key == EMPTY or keys[place] == key:
                return False
            keys[place], values[place] = key, scores[family]
            family += int64(1)
    return True


@external
def listed_score(node: int, parents: Any, count: int, content: Any) -> float:
    """Look a family up; −inf if it is not listed."""
    words = packed(content, 0).view(np.uint64).reshape(packed_shape(content, 0))
    keys, values = packed(content, 1).view(np.uint64), packed(content, 2).view(np.float64)
    key = family_key(words, node, pointed(parents, count))
    place = place_of(keys, key)
    return float(values[place]) if keys[place] == key else -np.inf
