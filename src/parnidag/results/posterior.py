"""The result of a run: edge probabilities, graphs and summaries, read from its record."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag._util.checks import number
from parnidag.errors import ParnidagError
from parnidag.results.diagnostics import Diagnostics, diagnose, edge_label
from parnidag.results.edge_table import edge_table
from parnidag.results.graph_methods import PosteriorGraphs
from parnidag.results.notebook import as_html
from parnidag.results.record import settings_json

if TYPE_CHECKING:
    import os

    import xarray as xr

    from parnidag.space import SearchSpace

_SHOWN_EDGES = 8
_LINE = 80


class Posterior(PosteriorGraphs):
    """The posterior over graphs, as `parnidag.sample` and `parnidag.exact` return it.

    Parameters
    ----------
    record : RunRecord
        The arrays of the run.

    Examples
    --------
    >>> import numpy as np
    >>> from parnidag.results.record import RunRecord
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
      exact: edge probabilities have no Monte-Carlo error
    >>> posterior.edge_probabilities.loc["rain", "wet"].item()
    0.75
    """

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
        from parnidag.space.search_space import SearchSpace  # only here: it brings in the compiler

        return SearchSpace.read(self._record.nodes, described)

    @property
    def log_posterior(self) -> NDArray[np.float64]:
        """The log p(D|G) plus the log prior weight of every stored draw, (chain, draw), read-only."""
        view = self._record.log_posterior.view()
        view.flags.writeable = False
        return view

    @property
    def edge_probabilities(self) -> pd.DataFrame:
        """Posterior probability of every edge: rows are parents, columns children.

        The mean over chains of the share of *all* kept iterations, not only stored draws, that have the edge; exact
        values if the result is exact.
        """
        return self._labelled(self._probabilities.copy())

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
            the number of independent graphs it is worth, out of all kept iterations, not only stored draws; `rhat`,
            split R-hat; `prior`, the edge's marginal probability under the prior; `bayes_factor`, by which the data
            multiply its odds (a bound, from the number of kept iterations, for an edge that a run has always or never
            seen); and `evidence`: "included" from a Bayes factor of 10, "excluded" up to 1/10, "inconclusive" between,
            "required" or "forbidden" where the prior leaves no choice, "not considered" outside a search space that the
            sampler cannot leave. `mcse`, `ess` and `rhat` are <NA> for an edge that never changed, for which a run
            cannot know them, for exact results, which have no error, and beyond the 20,000 most frequent edges, for
            which alone they are kept.
        """
        number(min_probability, "min_probability", least=0, most=1)
        return edge_table(self._record, self._probabilities, min_probability)

    def diagnostics(self) -> Diagnostics:
        """Judge convergence: R-hat, effective sample sizes, between-chain disagreement, a verdict and advice."""
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        return diagnose(self._record)

    def _headline(self) -> str:
        """Say how large the result is."""
        record = self._record
        chains, draws = record.graph_index.shape
        parts = [f"{len(record.nodes)} nodes"] + (["exact"] if record.exact_probabilities is not None else [])
        if draws:
            parts.append(f"{chains} chain{'s' * (chains != 1)} × {draws} draws ({self.n_graphs} distinct graphs)")
        return "Posterior: " + ", ".join(parts)

    def _repr_html_(self) -> str:
        return as_html(self._headline(), self.summary(), self.diagnostics())

    def __repr__(self) -> str:
        table = self.summary().head(_SHOWN_EDGES)
        lines = [self._headline()]
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

        Notes
        -----
        ArviZ 1.x works on the tree itself: ``arviz.summary(posterior.to_datatree())``. ArviZ 0.23 wants it in its own
        form first: ``arviz.summary(arviz.from_datatree(posterior.to_datatree()))``.
        """
        number(min_probability, "min_probability", least=0, most=1)
        from parnidag.results.datatree import datatree_of

        return datatree_of(self._record, self._probabilities, min_probability)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to a netCDF file that `parnidag.load` reads; an existing file is replaced in one step.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        from parnidag.results.netcdf import save_record

        return save_record(self._record, path)

    def report(self, path: str | os.PathLike[str] = "report.html", title: str | None = None) -> Path:
        """Write a report to look at: one HTML file that needs no network, with the graph, edges, traces and verdict.

        Parameters
        ----------
        path : path, default "report.html"
            The file to write, ending in ``.html``; an existing one is replaced in one step.
        title : str, optional
            Heading of the report.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        if Path(path).suffix.lower() not in (".html", ".htm") and not Path(path).is_dir():
            raise ParnidagError(f"path: the report is an HTML file, so name it *.html, not {path}")
        from parnidag.report.build import write_report

        return write_report(self, path, title=title)
