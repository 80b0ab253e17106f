"""The record of a run: everything that a result keeps, as plain arrays that fit together."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.graphs.matrices import is_probability

EXPANDED_LIMIT_BYTES = 2 * 1024**3
"""Largest array of expanded graphs that is made without complaint."""

OUT_OF_RANGE = "edge codes must be between 0 and n² − 1, rise within a graph, and lead from a node to another one"
MOST_NODES = 2**15 - 1
MOST_ITERATIONS = 2**48
"""Of a batch: sums over batches and chains stay exact."""
MOST_SIZE = 1e100
_NDIM = {
    "log_posterior": 2,
    "graph_index": 2,
    "graph_offsets": 1,
    "graph_edges": 1,
    "edge_codes": 1,
    "batch_counts": 3,
    "batch_iterations": 2,
    "best_edges": 1,
    "rare_codes": 1,
    "rare_probabilities": 1,
    "start_offsets": 1,
    "start_edges": 1,
    "exact_probabilities": 2,
    "prior_probabilities": 2,
}
_CODES_AT_ONCE = 1 << 24
_DRAWS_AT_ONCE = 4096
"""Draws expanded in one step: bounds the index arrays that the expansion needs."""


@dataclass(frozen=True)
class Deferred:
    """An array that is not in memory: its size, itself piece by piece, and as a whole for whoever needs that."""

    size: int
    pieces: Callable[[], Iterator[NDArray[np.int32]]]
    whole: Callable[[], NDArray[np.int32]]


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
    """

    nodes: tuple[str, ...]
    log_posterior: NDArray[np.float64]
    graph_index: NDArray[np.int64]
    graph_offsets: NDArray[np.int64]
    graph_edges: NDArray[np.int32]
    edge_codes: NDArray[np.int32]
    batch_counts: NDArray[np.int64]
    batch_iterations: NDArray[np.int64]
    best_edges: NDArray[np.int32]
    best_log_posterior: float
    statistics: dict[str, NDArray[Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    exact_probabilities: NDArray[np.float64] | None = None
    log_evidence: float | None = None
    rare_codes: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    rare_probabilities: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    start_offsets: NDArray[np.int64] | None = None
    start_edges: NDArray[np.int32] | None = None
    prior_probabilities: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        given: object = self.graph_edges
        if isinstance(given, Deferred):
            # Without an attribute of this name, `__getattr__` is asked for it, once.
            object.__delattr__(self, "graph_edges")
            object.__setattr__(self, "deferred_edges", given)
        problem = self._inconsistency()
        if problem:
            raise ParnidagError(f"the record of a run contradicts itself: {problem}")

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

    def _inconsistency(self) -> str:
        """Say what does not fit together; an empty string if everything does."""
        problems = {name: f"{name} must have {ndim} dimensions" for name, ndim in _NDIM.items()}
        wrong = [problems[name] for name in _NDIM if _ndim(self.__dict__.get(name)) not in (None, _NDIM[name])]
        checks = self._shape_checks() if not wrong else {}
        wrong += [problem for problem, fine in checks.items() if not fine]
        if not wrong:  # what is inside may be looked at once the outside is right
            wrong = [problem for problem, fine in self._content_checks().items() if not fine]
        return "; ".join(wrong)

    def _shape_checks(self) -> dict[str, bool]:
        n, chains = len(self.nodes), len(self.log_posterior)
        return {
            "node names must be unique": len(set(self.nodes)) == n,
            f"there must be from 1 to {MOST_NODES} nodes": 1 <= n <= MOST_NODES,
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
            "exact_probabilities must be (n, n)": self.exact_probabilities is None
            or self.exact_probabilities.shape == (n, n),
            "prior_probabilities must be (n, n)": self.prior_probabilities is None
            or self.prior_probabilities.shape == (n, n),
        }

    def _content_checks(self) -> dict[str, bool]:
        n, n_graphs = len(self.nodes), len(self.graph_offsets) - 1
        edges = self.deferred or self.graph_edges
        bounds = _are_bounds(self.graph_offsets, edges.size)
        lists = [self.edge_codes, self.best_edges, self.rare_codes]
        starts = self.start_edges is None
        if self.start_offsets is not None:
            starts = (
                self.start_edges is not None
                and len(self.start_offsets) == len(self.batch_iterations) + 1
                and _are_bounds(self.start_offsets, self.start_edges.size)
            )
        return {
            "graph_offsets must rise from 0 to the number of graph_edges": bounds,
            "graph_index must point at stored graphs": self.graph_index.size == 0
            or (self.graph_index.min() >= 0 and self.graph_index.max() < n_graphs),
            "start_offsets must have a graph for each chain, and rise from 0 to the number of start_edges": starts,
            OUT_OF_RANGE: all(_are_graphs(_whole(codes), codes, n) for codes in lists)
            and (self.deferred is not None or not bounds or _are_graphs(self.graph_offsets, self.graph_edges, n))
            and (self.start_offsets is None or not starts or _are_graphs(self.start_offsets, self.start_edges, n)),
            "probabilities must be from 0 to 1": all(
                _are_probabilities(some)
                for some in (self.rare_probabilities, self.exact_probabilities, self.prior_probabilities)
            ),
            "no edge can be present in more iterations of a batch than there are": _are_counts(
                self.batch_counts, self.batch_iterations
            ),
            "log posteriors must be of a size that can be reckoned with": _are_moderate(
                self.log_posterior, self.best_log_posterior, self.log_evidence
            ),
            "no graph can weigh more than all together (log_evidence)": self.log_evidence is None
            or not self.log_posterior.size
            or not self.log_posterior.max() > self.log_evidence + 1e-6 * (1.0 + abs(self.log_evidence)),
        }

    def start_of(self, chain: int) -> NDArray[np.int32] | None:
        """Return the codes of the edges that a chain started with, or None if that is not known."""
        if self.start_offsets is None or self.start_edges is None:
            return None
        return self.start_edges[self.start_offsets[chain] : self.start_offsets[chain + 1]]


def _ndim(value: Any) -> int | None:
    return None if value is None else int(np.ndim(value))


def _whole(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.array([0, len(codes)])


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


def _are_probabilities(values: NDArray[np.float64] | None) -> bool:
    return values is None or is_probability(values)


def _are_counts(counts: NDArray[np.int64], iterations: NDArray[np.int64]) -> bool:
    """Is every count possible? Chain by chain: counters can be the largest array of all."""
    if iterations.size and not (iterations.min() >= 0 and iterations.max() < MOST_ITERATIONS):
        return False
    return all(
        bool(((chain >= 0) & (chain <= lengths[:, None])).all())
        for chain, lengths in zip(counts, iterations, strict=True)
    )


def _are_moderate(log_posterior: NDArray[np.float64], best: float, evidence: float | None) -> bool:
    """Are all those that are finite far from overflow? A score may give −∞ or NaN, which the diagnostics tell."""
    finite = log_posterior[np.isfinite(log_posterior)]
    known = evidence is None or math.isfinite(evidence)
    numbers = [abs(value) for value in (best, evidence) if value is not None and math.isfinite(value)]
    return known and max([*numbers, float(np.abs(finite).max(initial=0.0))]) < MOST_SIZE


def _are_bounds(offsets: NDArray[np.int64], length: int) -> bool:
    """Do the offsets cut an array of this length into consecutive pieces?"""
    # Neighbours are compared, not subtracted: a difference could overflow.
    return bool(len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == length and (offsets[1:] >= offsets[:-1]).all())


def edges_of_draws(record: RunRecord) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int32]]]:
    """Yield the edges of all draws in blocks: the block's first draw, then each edge's draw within it and code."""
    flat_index = record.graph_index.ravel()
    sizes = np.diff(record.graph_offsets)
    for start in range(0, len(flat_index), _DRAWS_AT_ONCE):
        graphs = flat_index[start : start + _DRAWS_AT_ONCE]
        lengths = sizes[graphs]
        ends = np.cumsum(lengths)
        rows = np.repeat(np.arange(len(graphs)), lengths)
        within = np.arange(len(rows)) - np.repeat(ends - lengths, lengths)
        yield start, rows, record.graph_edges[np.repeat(record.graph_offsets[graphs], lengths) + within]


def refuse_beyond_limit(shape: tuple[int, ...], what: str, instead: str) -> None:
    """Refuse to expand draws into an array of one byte a cell that is too large, and say what to do instead."""
    size = math.prod(shape)
    if size > EXPANDED_LIMIT_BYTES:
        dimensions = " × ".join(map(str, shape))
        raise ParnidagError(
            f"{what} would need {size / 1024**3:.1f} GiB ({dimensions} bytes), more than the "
            f"{EXPANDED_LIMIT_BYTES / 1024**3:.0f} GiB allowed: {instead}"
        )


def pack_graphs(
    codes: NDArray[np.int32], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Find the unique graphs among draws given as lists of edge codes.

    Parameters
    ----------
    codes : flat int32 array
        Edge codes ``parent * n + child`` of all draws, one draw after the other, in any order within a draw.
    ends : (draws,) int64 array
        Where each draw ends in `codes`.

    Returns
    -------
    graph_index : (draws,) int64 array
        Which unique graph each draw is; graphs are numbered as they first appear.
    graph_offsets, graph_edges : int64 and int32 arrays
        The unique graphs, as in `RunRecord`.

    Examples
    --------
    >>> index, offsets, edges = pack_graphs(np.array([5, 1, 1, 5, 7], dtype=np.int32), np.array([2, 4, 5]))
    >>> index, offsets, edges
    (array([0, 0, 1]), array([0, 2, 3]), array([1, 5, 7], dtype=int32))
    """
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    number_of: dict[bytes, int] = {}
    graph_index = np.empty(len(ends), dtype=np.int64)
    start = 0
    for draw, end in enumerate(ends.tolist()):
        key = np.sort(codes[start:end]).tobytes()
        graph_index[draw] = number_of.setdefault(key, len(number_of))
        start = end
    lengths = np.array([len(key) // codes.itemsize for key in number_of], dtype=np.int64)
    graph_offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    return graph_index, graph_offsets, np.frombuffer(b"".join(number_of), dtype=np.int32).copy()


def settings_json(record: RunRecord) -> str:
    """Return the settings as JSON text; NumPy numbers and arrays become plain ones."""

    def plain(value: object) -> object:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"settings: {value!r} cannot be written as JSON")

    return json.dumps(record.settings, default=plain, ensure_ascii=False)
