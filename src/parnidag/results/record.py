"""The record of a run: everything that a result keeps, as plain arrays that fit together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.results.packing import Codes, Deferred, Integers, items_of

Floats = NDArray[np.float64]

EXPANDED_LIMIT_BYTES = 2 * 1024**3
OUT_OF_RANGE = "edge codes must be between 0 and n² − 1, rise within a graph, and lead from a node to another one"

VARIABLES: dict[str, tuple[tuple[str, ...], Any]] = {
    "log_posterior": (("chain", "draw"), np.float64),
    "graph_index": (("chain", "draw"), np.int64),
    "graph_offsets": (("graph_bound",), np.int64),
    "graph_edges": (("graph_edge",), np.int32),
    "edge_codes": (("edge",), np.int32),
    "rare_codes": (("rare_edge",), np.int32),
    "rare_probabilities": (("rare_edge",), np.float64),
    # Exact results can have draws but no batches, so the chains of the counters are a dimension of their own.
    "batch_counts": (("counted_chain", "batch", "edge"), np.int64),
    "batch_iterations": (("counted_chain", "batch"), np.int64),
    "best_edges": (("best_edge",), np.int32),
}
"""The dimensions and the type of each array of a record."""
OPTIONAL: dict[str, tuple[tuple[str, ...], Any]] = {
    "start_offsets": (("start_bound",), np.int64),
    "start_edges": (("start_edge",), np.int32),
    "exact_probabilities": (("parent", "child"), np.float64),
    "prior_probabilities": (("parent", "child"), np.float64),
    "true_probabilities": (("parent", "child"), np.float64),
    "sums_targets": (("row_group", "column"), np.uint8),
    "sums_rows": (("row_group",), np.int64),
    "sums_gram": (("row_group", "column", "other_column"), np.float64),
    "sums_columns": (("row_group", "range_and_unit", "column"), np.float64),
    "classes_codes": (("column", "different_row"), np.int32),
    "classes_rows": (("different_row",), np.int64),
    "classes_group": (("different_row",), np.int64),
    "classes_labels": (("label_byte",), np.uint8),
    "cells_node": (("empty_cell",), np.int32),
    "cells_row": (("empty_cell",), np.int64),
    "cells_mean": (("empty_cell",), np.float64),
    "cells_deviation": (("empty_cell",), np.float64),
    "cells_shares": (("empty_cell", "level"), np.float64),
    "cells_series": (("counted_chain", "cell_summary", "cell_block"), np.float64),
    "worlds_ends": (("counted_chain", "world", "edges_and_numbers"), np.int64),
    "worlds_codes": (("world_edge",), np.int32),
    "worlds_numbers": (("world_number",), np.float64),
    "margins_kind": (("column",), np.uint8),
    "margins_ends": (("column",), np.int64),
    "margins_scores": (("knot",), np.float64),
    "margins_values": (("knot",), np.float64),
    "margins_vectors": (("vector_number",), np.float64),
}
"""None where a result does not have them; the first files written never do."""
_CODES_AT_ONCE, _DRAWS_AT_ONCE = 1 << 24, 4096


@dataclass(frozen=True, eq=False)
class RunRecord:
    """Everything a result holds, as plain arrays; an edge parent → child has the code ``parent * n + child``.

    Attributes
    ----------
    nodes : tuple of str
        Names of the n nodes.
    log_posterior : (chain, draw) float64 array
        log p(D|G) plus the log prior weight of every stored draw.
    graph_index : (chain, draw) int64 array
        Which of the unique graphs each draw is.
    graph_offsets, graph_edges : (graphs + 1,) int64 and flat int32 arrays
        The unique graphs: the sorted codes of graph u are ``graph_edges[graph_offsets[u]:graph_offsets[u + 1]]``.
    edge_codes : (edge,) int32 array
        Sorted codes of the edges present in at least one kept iteration.
    batch_counts : (chain, batch, edge) int64 array
        In how many kept iterations (all after tuning, not only stored draws) of the batch the edge was present.
    batch_iterations : (chain, batch) int64 array
        Kept iterations in each batch; 0 for a batch that an interrupted chain never reached.
    rare_codes, rare_probabilities : (rare,) int32 and float64 arrays
        When very many edges were seen, the rarest have no counts by batch, only their probability.
    best_edges, best_log_posterior : (k,) int32 array, float
        The best graph seen and its log posterior; NaN if there is none.
    statistics : dict of (chain,) arrays
        Figures of each chain, such as "acceptance", "evaluations", "omega", "iterations", "cpu_seconds".
    settings : dict
        What was run, JSON-ready: version, seed, sampler, score, prior, draws, tune, thin, timings, interrupted …
    exact_probabilities : (n, n) float64 array or None
        Edge probabilities without Monte-Carlo error; there may then be no chains, draws or batches at all.
    log_evidence : float or None
        log p(D), known to the exact solver only.
    start_offsets, start_edges : (chain + 1,) int64 and flat int32 arrays, or None
        The graphs that the chains started from, required edges included: the sorted codes of chain c's are
        ``start_edges[start_offsets[c]:start_offsets[c + 1]]``. None if unknown: exact results and older files.
    prior_probabilities : (n, n) float64 array or None
        Marginal probability of every edge under the prior, 1 if required and 0 if forbidden; None in older files.
    true_probabilities : (n, n) float64 array or None
        What a sampled result was checked against: the exact edge probabilities, where they take seconds.
    sums_targets, sums_rows, sums_gram, sums_columns : arrays or None
        What effects need of a table of numbers, without its rows (`Data.sums`); None for other scores, for tables whose
        sums are many, and in older files.
    classes_codes, classes_rows, classes_group, classes_labels : arrays or None
        The same of a table of classes: its different rows, their numbers, the group of rows in which the same nodes
        were set, and the levels as JSON (`Data.different_rows`), with sums_targets and sums_rows for the groups.
    cells_node, cells_row, cells_mean, cells_deviation, cells_shares : arrays or None
        Of each empty cell the node, the row in the table as given, and what chains drew: mean and standard deviation,
        NaN for classes, whose levels have shares (cell, level). None if no cell was empty, or they are very many.
    cells_series : (chain, summary, block) float64 array or None
        Summaries of drawn cells over time: the mean of each node's empty ones, and how far each column with drawn cells
        has to do with the others.
    worlds_ends, worlds_codes, worlds_numbers : arrays or None
        Graphs with parameters, where cells were drawn (`parnidag.cells.worlds`): edges between columns of the model and
        numbers, world by world, and where those of each end, by chain. None if chains had no room for them.
    margins_kind, margins_ends, margins_scores, margins_values, margins_vectors : arrays or None
        What numbers of the model are in each column of the table (`parnidag.cells.margins`), one column after the
        other. None in tables of classes.
    """

    nodes: tuple[str, ...]
    log_posterior: Floats
    graph_index: Integers
    graph_offsets: Integers
    graph_edges: Codes
    edge_codes: Codes
    batch_counts: Integers
    batch_iterations: Integers
    best_edges: Codes
    best_log_posterior: float
    statistics: dict[str, NDArray[Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    exact_probabilities: Floats | None = None
    log_evidence: float | None = None
    rare_codes: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    rare_probabilities: Floats = field(default_factory=lambda: np.zeros(0))
    start_offsets: Integers | None = None
    start_edges: Codes | None = None
    prior_probabilities: Floats | None = None
    true_probabilities: Floats | None = None
    sums_targets: NDArray[np.uint8] | None = None
    sums_rows: Integers | None = None
    sums_gram: Floats | None = None
    sums_columns: Floats | None = None
    classes_codes: Codes | None = None
    classes_rows: Integers | None = None
    classes_group: Integers | None = None
    classes_labels: NDArray[np.uint8] | None = None
    cells_node: Codes | None = None
    cells_row: Integers | None = None
    cells_mean: Floats | None = None
    cells_deviation: Floats | None = None
    cells_shares: Floats | None = None
    cells_series: Floats | None = None
    worlds_ends: Integers | None = None
    worlds_codes: Codes | None = None
    worlds_numbers: Floats | None = None
    margins_kind: NDArray[np.uint8] | None = None
    margins_ends: Integers | None = None
    margins_scores: Floats | None = None
    margins_values: Floats | None = None
    margins_vectors: Floats | None = None

    def __post_init__(self) -> None:
        given: object = self.graph_edges
        if isinstance(given, Deferred):
            # Without an attribute of this name, `__getattr__` is asked for it, once.
            object.__delattr__(self, "graph_edges")
            object.__setattr__(self, "deferred_edges", given)
        # What would be a riddle later on, or lead compiled code astray.
        for checks in (self._dimension_checks, self._shape_checks, self._content_checks):
            wrong = [problem for problem, fine in checks().items() if not fine]
            if wrong:
                raise ParnidagError(f"the record of a run contradicts itself: {'; '.join(wrong)}")

    @property
    def deferred(self) -> Deferred | None:
        """The edges of the graphs, where nobody has asked for them in memory yet."""
        found: Deferred | None = None if "graph_edges" in self.__dict__ else self.__dict__["deferred_edges"]
        return found

    def __getattr__(self, name: str) -> Any:
        """Bring the edges of the graphs into memory, or map them, when they are first asked for; then check them."""
        if name != "graph_edges" or "deferred_edges" not in self.__dict__:
            raise AttributeError(name)
        edges = self.__dict__["deferred_edges"].whole()
        if len(edges) != self.graph_offsets[-1] or not _are_graphs(self.graph_offsets, edges, len(self.nodes)):
            raise ParnidagError(f"the record of a run contradicts itself: {OUT_OF_RANGE}")
        object.__setattr__(self, "graph_edges", edges)
        return edges

    def _dimension_checks(self) -> dict[str, bool]:
        known = {name: (self.__dict__.get(name), len(named)) for name, (named, _) in (VARIABLES | OPTIONAL).items()}
        return {
            f"{name} must have {dimensions} dimensions": array is None or np.ndim(array) == dimensions
            for name, (array, dimensions) in known.items()
        }

    def _shape_checks(self) -> dict[str, bool]:
        n, chains = len(self.nodes), len(self.log_posterior)
        matrices = (self.exact_probabilities, self.prior_probabilities, self.true_probabilities)
        return {
            "node names must be unique": 1 <= len(set(self.nodes)) == n,
            "log_posterior and graph_index must have the same (chain, draw) shape": self.log_posterior.shape
            == self.graph_index.shape,
            "batch_counts must be (chain, batch, edge), like batch_iterations and edge_codes": self.batch_counts.shape
            == (*self.batch_iterations.shape, len(self.edge_codes)),
            "log_posterior and batch_iterations must have the same chains": self.exact_probabilities is not None
            or len(self.batch_iterations) == chains,
            "statistics must have a number for each chain": all(
                np.shape(values) == (chains,) for values in self.statistics.values()
            ),
            "rare_codes and rare_probabilities must be of one length": self.rare_codes.shape
            == self.rare_probabilities.shape,
            "exact_probabilities, prior_probabilities and true_probabilities must be (n, n)": all(
                matrix is None or matrix.shape == (n, n) for matrix in matrices
            ),
            "the sums of the data must be of as many groups of rows, and of the nodes": self._sums_fit()
            if self.classes_codes is None
            else self._classes_fit(),
            "what is known of empty cells must be of as many cells, and of the nodes": self._cells_fit(),
            "worlds must be of the chains, and end where the next begins": self._worlds_fit(),
            "margins must be of the nodes": self._margins_fit(),
        }

    def _sums_fit(self) -> bool:
        arrays = (self.sums_targets, self.sums_rows, self.sums_gram, self.sums_columns)
        kept = [np.asarray(array) for array in arrays if array is not None]
        n, groups = len(self.nodes), 0 if self.sums_rows is None else len(self.sums_rows)
        shapes = [(groups, n), (groups,), (groups, n, n), (groups, 5, n)]
        whole = [array.shape for array in kept] == shapes and groups > 0
        return not kept or (whole and all(np.isfinite(array).all() for array in kept))

    def _classes_fit(self) -> bool:
        arrays = (self.classes_codes, self.classes_rows, self.classes_group, self.sums_targets, self.sums_rows)
        codes, counts, group, targets, rows = (np.zeros(0, int) if array is None else array for array in arrays)
        n, groups, kinds = len(self.nodes), len(rows), len(counts)
        shapes = [array.shape for array in (codes, counts, group, targets, rows)]
        if shapes != [(n, kinds), (kinds,), (kinds,), (groups, n), (groups,)] or not kinds:
            return False
        try:
            labels = json.loads(np.asarray(self.classes_labels, np.uint8).tobytes())
            arity = np.array([len(one) for one in labels])
        except (TypeError, ValueError):
            return False
        inside = len(arity) == n and bool((codes >= 0).all()) and bool((codes.max(axis=1) < arity).all())
        return inside and bool((counts >= 0).all()) and 0 <= group.min() <= group.max() < groups

    def _cells_fit(self) -> bool:
        arrays = (self.cells_node, self.cells_row, self.cells_mean, self.cells_deviation)
        kept = [np.asarray(array) for array in arrays if array is not None]
        if self.cells_series is not None and len(self.cells_series) != len(self.log_posterior):
            return False
        if not kept or self.cells_shares is None:
            return not kept and self.cells_shares is None
        cells, nodes = len(kept[0]), kept[0]
        whole = len(kept) == len(arrays) and all(len(array) == cells for array in (*kept, self.cells_shares))
        return whole and (not cells or 0 <= nodes.min() <= nodes.max() < len(self.nodes))

    def _worlds_fit(self) -> bool:
        ends, codes, numbers = self.worlds_ends, self.worlds_codes, self.worlds_numbers
        if ends is None or codes is None or numbers is None:
            return all(array is None for array in (ends, codes, numbers))
        if not ends.size or ends.shape[::2] != (len(self.log_posterior), 2):
            return False
        both = zip(ends.reshape(-1, 2).T, (codes.size, numbers.size), strict=True)
        return all(_are_bounds(np.append(0, end), size) for end, size in both)

    def _margins_fit(self) -> bool:
        kinds, ends, scores = self.margins_kind, self.margins_ends, self.margins_scores
        values, vectors = self.margins_values, self.margins_vectors
        if kinds is None or ends is None or scores is None or values is None or vectors is None:
            return all(array is None for array in (kinds, ends, scores, values, vectors))
        n, cut = len(self.nodes), _are_bounds(np.append(0, ends), scores.size)
        if kinds.shape != (n,) or ends.shape != (n,) or scores.shape != values.shape or not cut:
            return False
        sizes = np.diff(ends, prepend=0)
        numbers = (sizes * (sizes - 1))[kinds == 3].sum()
        known = np.isfinite(values).all() and np.isfinite(vectors).all() and not np.isnan(scores).any()
        return bool(known and sizes.min() > 0 and kinds.max() <= 3 and vectors.size == numbers)

    def _content_checks(self) -> dict[str, bool]:
        n, n_graphs = len(self.nodes), len(self.graph_offsets) - 1
        bounds = _are_bounds(self.graph_offsets, (self.deferred or self.graph_edges).size)
        starts = self.start_edges is None and self.start_offsets is None
        pieces = [(np.array([0, len(codes)]), codes) for codes in (self.edge_codes, self.best_edges, self.rare_codes)]
        if bounds and self.deferred is None:
            pieces.append((self.graph_offsets, self.graph_edges))
        if self.start_offsets is not None and self.start_edges is not None:
            chains = len(self.batch_iterations)
            starts = len(self.start_offsets) == chains + 1 and _are_bounds(self.start_offsets, self.start_edges.size)
            pieces += [(self.start_offsets, self.start_edges)] * starts
        return {
            "graph_offsets must rise from 0 to the number of graph_edges": bounds,
            "graph_index must point at stored graphs": self.graph_index.size == 0
            or (self.graph_index.min() >= 0 and self.graph_index.max() < n_graphs),
            "start_offsets must have a graph for each chain, and rise from 0 to the number of start_edges": starts,
            OUT_OF_RANGE: all(_are_graphs(offsets, codes, n) for offsets, codes in pieces),
        }

    @property
    def sums(self) -> dict[str, NDArray[Any]]:
        """What is kept of the data, as `Data.sums` or `Data.different_rows` gave it; nothing if nothing is."""
        names = ["sums_targets", "sums_rows", "sums_gram", "sums_columns"]
        if self.classes_codes is not None:
            names[2:] = ["classes_codes", "classes_rows", "classes_group", "classes_labels"]
        return {} if self.sums_rows is None else {name: getattr(self, name) for name in names}

    def graph_codes(self, graph: int) -> Codes:
        """The codes of the edges of one of the unique graphs."""
        return self.graph_edges[self.graph_offsets[graph] : self.graph_offsets[graph + 1]]

    @property
    def starts(self) -> list[Codes] | None:
        """The codes of the edges that each chain started with; None if that is not known."""
        if self.start_offsets is None or self.start_edges is None:
            return None
        return np.split(self.start_edges, self.start_offsets[1:-1])


def _are_graphs(offsets: NDArray[np.int64], codes: Any, n_nodes: int) -> bool:
    """Is every piece between two offsets a list of edges, in increasing order and none from a node to itself?

    Compiled code indexes with these numbers and asks no more. Looked at in pieces: the array may exceed memory.
    """
    begins = np.unique(offsets)  # where the order may start afresh
    for start in range(0, len(codes), _CODES_AT_ONCE):
        some = codes[start : start + _CODES_AT_ONCE + 1]  # the first of the next piece too, to compare with
        rising = np.diff(some.astype(np.int64)) > 0
        inside = begins[np.searchsorted(begins, start + 1) : np.searchsorted(begins, start + len(some))]
        rising[inside - start - 1] = True
        if some.min() < 0 or some.max() >= n_nodes * n_nodes or not rising.all() or not (some % (n_nodes + 1)).all():
            return False
    return True


def _are_bounds(offsets: NDArray[np.int64], length: int) -> bool:
    """Do the offsets cut an array of this length into consecutive pieces?"""
    # Neighbours are compared, not subtracted: a difference could overflow.
    return bool(len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == length and (offsets[1:] >= offsets[:-1]).all())


def edges_of_draws(record: RunRecord) -> Iterator[tuple[int, Integers, Codes]]:
    """Yield the edges of all draws in blocks: the block's first draw, then each edge's draw within it and code."""
    flat_index = record.graph_index.ravel()
    for start in range(0, len(flat_index), _DRAWS_AT_ONCE):  # in blocks, as the index arrays take memory too
        rows, places = items_of(record.graph_offsets, flat_index[start : start + _DRAWS_AT_ONCE])
        yield start, rows, record.graph_edges[places]


def refuse_beyond_limit(shape: tuple[int, ...], what: str, instead: str) -> None:
    """Refuse to expand draws into an array of one byte a cell that is too large, and say what to do instead."""
    size = math.prod(shape)
    if size > EXPANDED_LIMIT_BYTES:
        dimensions = " × ".join(map(str, shape))
        raise ParnidagError(
            f"{what} would need {size / 1024**3:.1f} GiB ({dimensions} bytes), more than the "
            f"{EXPANDED_LIMIT_BYTES / 1024**3:.0f} GiB allowed: {instead}"
        )


def settings_json(record: RunRecord) -> str:
    """Return the settings as JSON text; NumPy numbers and arrays become plain ones."""

    def plain(value: object) -> object:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"settings: {value!r} cannot be written as JSON")

    return json.dumps(record.settings, default=plain, ensure_ascii=False)


def same_start(record: RunRecord) -> NDArray[np.int32] | None:
    """Return the edges of the one graph that all chains started from; None if there are several, or it is unknown."""
    starts = record.starts
    return starts[0] if starts and all(np.array_equal(start, starts[0]) for start in starts) else None
