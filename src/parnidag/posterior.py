"""The result of a run: edge probabilities, graphs and summaries, read from its record."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag._version import __version__
from parnidag.convergence import chain_probabilities, edge_ess, edge_mcse, edge_rhat
from parnidag.diagnostics import Diagnostics, diagnose, edge_label
from parnidag.errors import ParnidagError
from parnidag.record import RunRecord, settings_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import networkx as nx
    import xarray as xr

    from parnidag.space import SearchSpace

INCLUDED_FROM = 0.9
"""Posterior probability from which `summary` calls an edge included: odds of 9 to 1."""

EXCLUDED_UP_TO = 0.1
"""Posterior probability up to which `summary` calls an edge excluded."""

EXPANDED_LIMIT_BYTES = 2 * 1024**3
"""Largest array of expanded graphs that is made without complaint."""

_DRAWS_AT_ONCE = 4096
"""Draws expanded in one step: bounds the index arrays that the expansion needs."""

_SHOWN_EDGES = 8
_LINE = 80


@dataclass(frozen=True, eq=False, repr=False)
class BestGraph:
    """The graph with the highest log posterior that the run met.

    Attributes
    ----------
    adjacency : (n, n) bool array
        ``adjacency[i, j]`` means i → j.
    edges : list of (parent, child) names
    log_posterior : float
    """

    adjacency: NDArray[np.bool_]
    edges: list[tuple[str, str]]
    log_posterior: float

    def __repr__(self) -> str:
        shown = [edge_label(*edge) for edge in self.edges[:_SHOWN_EDGES]]
        lines = [f"BestGraph: {len(self.edges)} edges, log posterior {self.log_posterior:.4f}"]
        lines += [f"  {label}" for label in shown]
        if len(self.edges) > len(shown):
            lines.append(f"  … and {len(self.edges) - len(shown)} more")
        return "\n".join(lines)


class Posterior:
    """The posterior over graphs, as `parnidag.sample` and `parnidag.exact` return it.

    Parameters
    ----------
    record : RunRecord
        The arrays of the run.

    Examples
    --------
    >>> import numpy as np
    >>> exact = RunRecord(
    ...     nodes=("rain", "wet"), log_posterior=np.zeros((0, 0)), graph_index=np.zeros((0, 0), np.int64),
    ...     graph_offsets=np.zeros(1, np.int64), graph_edges=np.zeros(0, np.int32), edge_codes=np.zeros(0, np.int32),
    ...     batch_counts=np.zeros((0, 0, 0), np.int64), batch_iterations=np.zeros((0, 0), np.int64),
    ...     best_edges=np.zeros(0, np.int32), best_log_posterior=np.nan,
    ...     exact_probabilities=np.array([[0.0, 0.75], [0.2, 0.0]]), log_evidence=-7.5,
    ... )
    >>> posterior = Posterior(exact)
    >>> posterior
    Posterior: 2 nodes, exact
      rain → wet                                           0.75
      wet → rain                                           0.20
      exact: no Monte-Carlo error
    >>> posterior.edge_probabilities.loc["rain", "wet"].item()
    0.75
    """

    def __init__(self, record: RunRecord) -> None:
        if record.exact_probabilities is None and not record.batch_iterations.sum():
            raise ParnidagError(
                "the run has no kept iterations, so there is no posterior to show: it ended while tuning; "
                "let it run longer or lower tune"
            )
        self._record = record

    @property
    def record(self) -> RunRecord:
        """The plain arrays behind this result."""
        return self._record

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes, in the order of every matrix here."""
        return list(self._record.nodes)

    @property
    def settings(self) -> dict[str, Any]:
        """What was run: sampler, score, prior, seed, lengths, timings, version (a copy)."""
        copied: dict[str, Any] = json.loads(settings_json(self._record))
        return copied

    @property
    def space(self) -> SearchSpace | None:
        """The search space that the run used, to look at or to pass to another run; None if there was none."""
        described = self._record.settings.get("space")
        if described is None:
            return None
        from parnidag.space.searchspace import SearchSpace  # only here: it brings in the compiler

        return SearchSpace.read(self._record.nodes, described)

    @property
    def log_evidence(self) -> float | None:
        """The log evidence log p(D), the log of the sum over all graphs; None unless the result is exact."""
        return self._record.log_evidence

    @property
    def log_posterior(self) -> NDArray[np.float64]:
        """The log p(D|G) plus the log prior weight of every stored draw, (chain, draw), read-only."""
        view = self._record.log_posterior.view()
        view.flags.writeable = False
        return view

    @property
    def n_graphs(self) -> int:
        """Number of distinct graphs among the stored draws."""
        return len(self._record.graph_offsets) - 1

    @property
    def edge_probabilities(self) -> pd.DataFrame:
        """Posterior probability of every edge: rows are parents, columns children.

        The mean over chains of the share of *all* kept iterations, not only stored draws, that have the edge; exact
        values if the result is exact.
        """
        names = self.nodes
        return pd.DataFrame(
            self._probabilities.copy(), index=pd.Index(names, name="parent"), columns=pd.Index(names, name="child")
        )

    @cached_property
    def _probabilities(self) -> NDArray[np.float64]:
        record, n = self._record, len(self._record.nodes)
        if record.exact_probabilities is not None:
            return record.exact_probabilities
        flat = np.zeros(n * n)
        flat[record.edge_codes] = chain_probabilities(record.batch_counts, record.batch_iterations).mean(axis=0)
        flat[record.rare_codes] = record.rare_probabilities
        return flat.reshape(n, n)

    @property
    def best(self) -> BestGraph | None:
        """The best graph seen in any iteration; None if the result has none (an exact one without draws)."""
        record = self._record
        if not math.isfinite(record.best_log_posterior):
            return None
        n = len(record.nodes)
        edges = [(record.nodes[code // n], record.nodes[code % n]) for code in record.best_edges.tolist()]
        return BestGraph(self._adjacency(record.best_edges), edges, float(record.best_log_posterior))

    # ── graphs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def graphs(self) -> NDArray[np.bool_]:
        """All stored graphs, (chain, draw, parent, child), expanded anew on every access.

        Raises
        ------
        ParnidagError
            If the array would exceed 2 GiB; `graph_at` gives the graphs one at a time.
        """
        n = len(self._record.nodes)
        shape = (*self._record.graph_index.shape, n, n)
        _refuse_beyond_limit(
            shape, "posterior.graphs", "take graphs one at a time with posterior.graph_at(chain, draw)"
        )
        expanded = np.zeros((self._record.graph_index.size, n * n), dtype=np.bool_)
        for start, rows, codes in self._edges_of_draws():
            expanded[start + rows, codes] = True
        return expanded.reshape(shape)

    def graph_at(self, chain: int, draw: int) -> NDArray[np.bool_]:
        """Return one stored graph as an adjacency matrix; ``graph[i, j]`` means i → j.

        Parameters
        ----------
        chain, draw : int
            Position in `log_posterior`; negative numbers count from the end.
        """
        record = self._record
        try:
            graph = record.graph_index[chain, draw]
        except IndexError:
            chains, draws = record.graph_index.shape
            raise ParnidagError(
                f"chain, draw: ({chain}, {draw}) is outside the stored {chains} chains × {draws} draws"
            ) from None
        return self._adjacency(record.graph_edges[record.graph_offsets[graph] : record.graph_offsets[graph + 1]])

    def _adjacency(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        n = len(self._record.nodes)
        flat = np.zeros(n * n, dtype=np.bool_)
        flat[codes] = True
        return flat.reshape(n, n)

    def _edges_of_draws(self) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int32]]]:
        """Yield the edges of all draws in blocks: the block's first draw, then each edge's draw within it and code."""
        record = self._record
        flat_index = record.graph_index.ravel()
        sizes = np.diff(record.graph_offsets)
        for start in range(0, len(flat_index), _DRAWS_AT_ONCE):
            graphs = flat_index[start : start + _DRAWS_AT_ONCE]
            lengths = sizes[graphs]
            ends = np.cumsum(lengths)
            rows = np.repeat(np.arange(len(graphs)), lengths)
            within = np.arange(len(rows)) - np.repeat(ends - lengths, lengths)
            yield start, rows, record.graph_edges[np.repeat(record.graph_offsets[graphs], lengths) + within]

    def graph(self, threshold: float = 0.5) -> nx.DiGraph:
        """Return the edges of at least a given posterior probability as a networkx graph.

        It is a summary of the edges one by one, not a draw: with several plausible graphs it can contain cycles, above
        all with a threshold of 0.5 or less, and it need not be the most probable graph (`best`).

        Parameters
        ----------
        threshold : float, default 0.5
            Smallest probability of an edge that is shown, above 0 and at most 1.

        Returns
        -------
        networkx.DiGraph
            All nodes, and the edges with an attribute `probability`.
        """
        if not _is_number(threshold) or not 0 < threshold <= 1:
            raise ParnidagError(f"threshold: must be a number above 0 and at most 1, not {threshold!r}")
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self._record.nodes)
        for parent, child in np.argwhere(self._probabilities >= threshold).tolist():
            probability = float(self._probabilities[parent, child])
            graph.add_edge(self._record.nodes[parent], self._record.nodes[child], probability=probability)
        return graph

    # ── summaries ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def summary(self, min_probability: float = 0.01) -> pd.DataFrame:
        """Tabulate the edges, the most probable first.

        Parameters
        ----------
        min_probability : float, default 0.01
            Edges below it are left out; 0 lists all n(n−1).

        Returns
        -------
        pandas.DataFrame
            Columns `parent`, `child`, `probability`; `mcse`, the Monte-Carlo standard error of the probability; `ess`,
            the number of independent graphs it is worth; `rhat`, split R-hat; and `evidence`: "included" from a
            posterior probability of 0.9, "excluded" up to 0.1, "inconclusive" between. The three figures are <NA> for
            an edge that never changed, for which a run cannot know them, for exact results, which have no error, and
            beyond the 20,000 most frequent edges, for which alone they are kept.
        """
        _check_min_probability(min_probability)
        n = len(self._record.nodes)
        probabilities = self._probabilities.ravel()
        listed = np.flatnonzero((probabilities >= min_probability) & ~np.eye(n, dtype=bool).ravel())
        listed = listed[np.argsort(-probabilities[listed], kind="stable")]
        names = np.array(self._record.nodes, dtype=object)
        table: dict[str, Any] = {
            "parent": names[listed // n],
            "child": names[listed % n],
            "probability": probabilities[listed],
        }
        for name, values in self._edge_figures.items():
            flat = np.full(n * n, np.nan)
            flat[self._record.edge_codes] = values
            table[name] = pd.array(flat[listed], dtype="Float64")
            table[name][np.isnan(flat[listed])] = pd.NA
        shown = probabilities[listed]
        table["evidence"] = np.where(
            shown >= INCLUDED_FROM, "included", np.where(shown <= EXCLUDED_UP_TO, "excluded", "inconclusive")
        )
        return pd.DataFrame(table)

    @cached_property
    def _edge_figures(self) -> dict[str, NDArray[np.float64]]:
        """Monte-Carlo error, ESS and R-hat of every edge seen; NaN where there is none to report."""
        record = self._record
        if record.exact_probabilities is not None:
            return {name: np.full(len(record.edge_codes), np.nan) for name in ("mcse", "ess", "rhat")}
        counts, lengths = record.batch_counts, record.batch_iterations
        mcse = edge_mcse(counts, lengths)
        probabilities = self._probabilities.ravel()[record.edge_codes]
        ess = edge_ess(probabilities, mcse, int(lengths.sum()))
        return {"mcse": mcse, "ess": ess, "rhat": edge_rhat(counts, lengths)}

    def diagnostics(self) -> Diagnostics:
        """Judge convergence: R-hat, effective sample sizes, between-chain disagreement, a verdict and advice."""
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        return diagnose(self._record)

    def __repr__(self) -> str:
        record, table = self._record, self.summary().head(_SHOWN_EDGES)
        chains, draws = record.graph_index.shape
        parts = [f"{len(record.nodes)} nodes"] + (["exact"] if record.exact_probabilities is not None else [])
        if draws:
            parts.append(f"{chains} chain{'s' * (chains != 1)} × {draws} draws ({self.n_graphs} distinct graphs)")
        lines = ["Posterior: " + ", ".join(parts)]
        for parent, child, probability in zip(table["parent"], table["child"], table["probability"], strict=True):
            lines.append(f"  {edge_label(parent, child):<52} {probability:.2f}")
        verdict = self.diagnostics().verdict
        lines.append("  " + (verdict if len(verdict) <= _LINE - 2 else verdict[: _LINE - 3] + "…"))
        if self.diagnostics().caveats:
            lines.append("  not the posterior over all graphs: see diagnostics().caveats")
        return "\n".join(lines)

    # ── to other tools and to disk ────────────────────────────────────────────────────────────────────────────────────

    def to_datatree(self, min_probability: float = 0.0) -> xr.DataTree:
        """Return the draws as an xarray DataTree, the form that ArviZ reads.

        Parameters
        ----------
        min_probability : float, default 0
            Leave out edges of smaller posterior probability: all edges of a large graph may not fit memory.

        Returns
        -------
        xarray.DataTree
            Group `posterior`: `present` (chain, draw, edge), 1 if the draw has the edge and else 0, with labels "A → B"
            for the edges that any draw has, and `edge_count` (chain, draw). Group `sample_stats`: `lp` (chain, draw),
            the log posterior. Group `edges`: `probability` (parent, child). Settings and statistics of the chains are
            JSON attributes of the root.
        """
        _check_min_probability(min_probability)
        record = self._record
        chains, draws = record.graph_index.shape
        coordinates = {"chain": np.arange(chains), "draw": np.arange(draws)}
        present, labels = self._present_edges(min_probability)
        edge_count = np.diff(record.graph_offsets)[record.graph_index]
        import xarray as xr

        posterior = xr.Dataset(
            {"present": (("chain", "draw", "edge"), present), "edge_count": (("chain", "draw"), edge_count)},
            coords=coordinates | {"edge": labels},
        )
        stats = xr.Dataset({"lp": (("chain", "draw"), record.log_posterior.copy())}, coords=coordinates)
        edges = xr.Dataset(
            {"probability": (("parent", "child"), self._probabilities.copy())},
            coords={"parent": self.nodes, "child": self.nodes},
        )
        about = {"inference_library": "parnidag", "inference_library_version": __version__}
        for dataset in (posterior, stats):
            dataset.attrs.update(about)
        tree = xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats, "edges": edges})
        statistics = {name: values.tolist() for name, values in record.statistics.items()}
        tree.attrs.update(about | {"settings": settings_json(record), "statistics": json.dumps(statistics)})
        return tree

    def _present_edges(self, min_probability: float) -> tuple[NDArray[np.int8], list[str]]:
        record, n = self._record, len(self._record.nodes)
        stored = np.unique(record.graph_edges)
        stored = stored[self._probabilities.ravel()[stored] >= min_probability]
        shape = (*record.graph_index.shape, len(stored))
        _refuse_beyond_limit(
            shape, "posterior.to_datatree()", "leave out rare edges, as in to_datatree(min_probability=0.01)"
        )
        column = np.full(n * n, -1)
        column[stored] = np.arange(len(stored))
        present = np.zeros((record.graph_index.size, len(stored)), dtype=np.int8)  # ArviZ subtracts, bools cannot
        for start, rows, codes in self._edges_of_draws():
            columns = column[codes]
            wanted = columns >= 0
            present[start + rows[wanted], columns[wanted]] = 1
        labels = [f"{record.nodes[code // n]} → {record.nodes[code % n]}" for code in stored.tolist()]
        return present.reshape(shape), labels

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to a netCDF file that `parnidag.load` reads; an existing file is replaced in one step.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        from parnidag.storage import save_record

        return save_record(self._record, path)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_min_probability(value: float) -> None:
    if not _is_number(value) or not 0 <= value <= 1:
        raise ParnidagError(f"min_probability: must be a number from 0 to 1, not {value!r}")


def _refuse_beyond_limit(shape: tuple[int, ...], what: str, instead: str) -> None:
    size = math.prod(shape)
    if size > EXPANDED_LIMIT_BYTES:
        dimensions = " × ".join(map(str, shape))
        raise ParnidagError(
            f"{what} would need {size / 1024**3:.1f} GiB ({dimensions} bytes), more than the "
            f"{EXPANDED_LIMIT_BYTES / 1024**3:.0f} GiB allowed: {instead}"
        )
