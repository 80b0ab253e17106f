"""The result of a run: edge probabilities, graphs and summaries, read from its record."""

from __future__ import annotations

import json
import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag._util.checks import number, one_of, whole
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import adjacency_from_codes, topological_order
from parnidag.graphs.graph import Graph, as_graph
from parnidag.results import summaries
from parnidag.results.classes import CpdagProbabilities
from parnidag.results.convergence import chain_probabilities
from parnidag.results.diagnostics import Diagnostics, diagnose
from parnidag.results.dynamics import Slices
from parnidag.results.edge_table import edge_table, with_gaps
from parnidag.results.imputed import imputed_table
from parnidag.results.learned import learned_table
from parnidag.results.notebook import as_html
from parnidag.results.record import RunRecord, edges_of_draws, refuse_beyond_limit, settings_json
from parnidag.results.verdict import edge_label

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import networkx as nx
    import xarray as xr

    from parnidag.data.table import Data
    from parnidag.effects.asked import Probability
    from parnidag.effects.classes import ClassContrast, ClassEffects, ClassOutcomes
    from parnidag.effects.dose import DoseResponse
    from parnidag.effects.impulse import ImpulseResponses
    from parnidag.effects.outcomes import Contrast, Outcomes
    from parnidag.effects.totals import Effects
    from parnidag.space import SearchSpace

_SHOWN_EDGES = 8
_LINE = 80


class Posterior:
    """The posterior over graphs, as `parnidag.sample` and `parnidag.exact` return it.

    Parameters
    ----------
    record : RunRecord
        The arrays of the run.
    data : Data, optional
        The table, where the record does not keep what effects need of it.

    Examples
    --------
    >>> import parnidag
    >>> posterior = parnidag.exact(parnidag.simulate(nodes=2, edges=1, rows=100, seed=1).values)
    >>> posterior
    Posterior: 2 nodes, exact
      X0 → X1                                              0.50
      X1 → X0                                              0.50
      exact: edge probabilities have no Monte-Carlo error
    >>> round(posterior.edge_probabilities.loc["X0", "X1"].item(), 3)
    0.5
    """

    def __init__(self, record: RunRecord, data: Data | None = None) -> None:
        if record.exact_probabilities is None and not record.batch_iterations.sum():
            raise ParnidagError(
                "the run has no kept iterations, so there is no posterior to show: it ended while tuning; "
                "let it run longer or lower tune"
            )
        self._record = record
        self._data = data

    @property
    def record(self) -> RunRecord:
        """The plain arrays behind this result."""
        return self._record

    @property
    def data(self) -> Data | None:
        """The table of the run, where effects need its rows (curved relations, classes) and it is still in memory."""
        return self._data

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes, in the order of every matrix here."""
        return list(self._record.nodes)

    @property
    def log_evidence(self) -> float | None:
        """The log evidence log p(D), the log of the sum over all graphs; None unless the result is exact."""
        return self._record.log_evidence

    @property
    def n_graphs(self) -> int:
        """Number of distinct graphs among the stored draws."""
        return len(self._record.graph_offsets) - 1

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
        """The log p(D|G) plus the log prior weight of every stored draw, (chain, draw), read-only.

        Where values are learned along with the graph, that of graph and values together; of an exact result that of the
        graph, with the values averaged over.
        """
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
            sampler cannot leave; and `coefficient`, by how many standard deviations one of the parent raises (+) or
            lowers (−) the child, where the edge is there: the mean over stored draws, <NA> for edges that none of
            them has and for scores without such coefficients. `mcse`, `ess` and `rhat` are <NA> for an edge that never
            changed, for which a run cannot know them, for exact results, which have no error, and beyond the 20,000
            most frequent edges, for which alone they are kept.
        """
        number(min_probability, "min_probability", least=0, most=1)
        table = edge_table(self._record, self._probabilities, min_probability)
        places = {name: place for place, name in enumerate(self._record.nodes)}
        parents, children = (table[end].map(places).to_numpy(dtype=int) for end in ("parent", "child"))
        table["coefficient"] = with_gaps(self._coefficients[parents, children])
        return table

    @cached_property
    def _coefficients(self) -> NDArray[np.float64]:
        from parnidag.effects import answers

        return answers.mean_coefficients(self)

    def diagnostics(self) -> Diagnostics:
        """Judge convergence: R-hat, effective sample sizes, between-chain disagreement, a verdict and advice."""
        return self._diagnostics

    @cached_property
    def _diagnostics(self) -> Diagnostics:
        return diagnose(self._record)

    def _headline(self) -> str:
        record = self._record
        chains, draws = record.graph_index.shape
        parts, number = [f"{len(record.nodes)} nodes"], f"{chains} chain{'s' * (chains != 1)} × {draws} draws"
        if record.exact_probabilities is not None:
            parts.append("exact")
            number = f"{chains * draws} independent draw{'s' * (chains * draws != 1)}"
        if draws:
            parts.append(f"{number} ({self.n_graphs} distinct graphs)")
        return "Posterior: " + ", ".join(parts)

    def _repr_html_(self) -> str:
        return as_html(self._headline(), edge_table(self._record, self._probabilities, 0.01), self.diagnostics())

    def __repr__(self) -> str:
        table = edge_table(self._record, self._probabilities, 0.01).head(_SHOWN_EDGES)
        lines = [self._headline()]
        for parent, child, probability in zip(table["parent"], table["child"], table["probability"], strict=True):
            lines.append(f"  {edge_label(parent, child):<52} {probability:.2f}")
        verdict = self.diagnostics().verdict
        lines.append("  " + (verdict if len(verdict) <= _LINE - 2 else verdict[: _LINE - 3] + "…"))
        if self.diagnostics().caveats:
            lines.append("  not the posterior over all graphs: see diagnostics().caveats")
        return "\n".join(lines)

    # ── graphs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def graphs(self) -> NDArray[np.bool_]:
        """All stored graphs, (chain, draw, parent, child), expanded anew on every access.

        Refused if the array would exceed 2 GiB; `graph_at` gives the graphs one at a time.
        """
        n = len(self._record.nodes)
        shape = (*self._record.graph_index.shape, n, n)
        refuse_beyond_limit(shape, "posterior.graphs", "take graphs one at a time with posterior.graph_at(chain, draw)")
        expanded = np.zeros((self._record.graph_index.size, n * n), dtype=np.bool_)
        for start, rows, codes in edges_of_draws(self._record):
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
        return adjacency_from_codes(record.graph_codes(graph), len(record.nodes))

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
            All nodes, and the edges with an attribute `probability`. The attribute `kind` of the graph is "digraph".
        """
        number(threshold, "threshold", above=0, most=1)
        return self._named(self._probabilities >= threshold, "digraph").to_networkx()

    @property
    def best(self) -> Graph | None:
        """The best graph seen in any iteration, or of an exact result the best drawn; None if that has no draws."""
        record = self._record
        if not math.isfinite(record.best_log_posterior):
            return None
        adjacency = adjacency_from_codes(record.best_edges, len(record.nodes))
        return self._named(adjacency, "dag", log_posterior=float(record.best_log_posterior))

    def top_graphs(self, k: int = 10) -> list[Graph]:
        """Return the best of the distinct graphs among the stored draws, the highest log posterior first.

        Parameters
        ----------
        k : int, default 10
            At most so many.

        Returns
        -------
        list of Graph
            Each with its `log_posterior` and its `probability`: exact if the result is, else the share of the draws.
            Where values are learned along with the graph (the default score does), `log_posterior` of an exact result
            is that with the values averaged over, so that the order is that of the probabilities. Chains know it for
            graph and values together: they rank by the highest that a graph was drawn with, and graphs can differ in
            order from their shares.
        """
        found = []
        for adjacency, share, height in summaries.top_graphs(self._record, k):
            probability = share if self.log_evidence is None else math.exp(height - self.log_evidence)
            found.append(self._named(adjacency, "dag", log_posterior=height, probability=probability))
        return found

    def top_classes(self, k: int = 10) -> list[Graph]:
        """Return the Markov equivalence classes that were drawn most often, the most frequent first.

        Data alone cannot tell the graphs of a class apart, so a posterior that spreads over many graphs may still be
        sure of the class. The CPDAGs have a `probability`, the share of the stored draws that belong to the class, also
        if the result is exact; `k` is as for `top_graphs`.

        Examples
        --------
        >>> import parnidag
        >>> data = parnidag.simulate(nodes=2, edges=1, rows=100, seed=1).values
        >>> parnidag.exact(data, draws=100, seed=1).top_classes(1)
        [Graph: CPDAG, 2 nodes, 1 edge, probability 1
          X0 — X1]
        """
        tops = summaries.top_classes(self._record, k)
        return [Graph(self._record.nodes, adjacency, "cpdag", probability=share) for adjacency, share in tops]

    def median_graph(self) -> Graph:
        """Return the edges that more than half of the posterior has.

        Edges are taken one by one, so on rare occasions there is a cycle; `consensus_graph` never has one.
        """
        adjacency = self._probabilities > 0.5
        return self._named(adjacency, "dag" if topological_order(adjacency) is not None else "digraph")

    def consensus_graph(self) -> Graph:
        """Return the DAG with the smallest expected distance to the true graph, by structural Hamming distance.

        For every pair of nodes the likeliest of →, ← and no edge; cycles are resolved at the least cost.
        """
        from parnidag.graphs.consensus import consensus  # only here: it brings in the compiler

        return self._named(consensus(self._probabilities), "dag")

    def _named(self, adjacency: NDArray[np.bool_], kind: Literal["dag", "digraph"], **known: float) -> Graph:
        return Graph(self._record.nodes, adjacency, kind, probabilities=self._probabilities, **known)

    # ── what graphs have in common ────────────────────────────────────────────────────────────────────────────────────

    @property
    def cpdag_probabilities(self) -> CpdagProbabilities:
        """Probabilities of the edges of equivalence classes, directed and undirected, over the stored draws."""
        compelled, reversible = self._cpdag_matrices
        return CpdagProbabilities(self._labelled(compelled.copy()), self._labelled(reversible.copy()))

    @cached_property
    def _cpdag_matrices(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return summaries.cpdag_probabilities(self._record)

    @property
    def path_probabilities(self) -> pd.DataFrame:
        """Probability that a directed path leads from the row's node to the column's, over the stored draws."""
        return self._labelled(summaries.path_probabilities(self._record), "ancestor", "descendant")

    @property
    def blanket_probabilities(self) -> pd.DataFrame:
        """Probability that one node is in the other's Markov blanket, over the stored draws; symmetric.

        The blanket of a node are its parents, its children and the other parents of its children.
        """
        return self._labelled(summaries.blanket_probabilities(self._record), "node", "member")

    def expected_shd(self, graph: Any, reversal: Literal["once", "twice"] = "once") -> float:
        """Return the expected structural Hamming distance between a given graph and one drawn from the posterior.

        Parameters
        ----------
        graph
            Anything that `parnidag.graphs.as_graph` takes: an adjacency matrix, a data frame, a networkx graph …
        reversal : "once" or "twice"
            Whether an edge that points the other way counts as one mistake, or as one missing and one too many.

        Notes
        -----
        It counts as `parnidag.metrics.shd` does: an undirected edge of a CPDAG is one edge, a pair that a directed
        graph joins both ways (`graph` can have such) is two.
        """
        from parnidag.graphs.consensus import expected_shd  # only here: it brings in the compiler

        one_of(reversal, "reversal", ("once", "twice"))
        other = as_graph(graph, nodes=self._record.nodes)
        counted = 1 if reversal == "once" else 2
        return expected_shd(self._probabilities, other.adjacency, counted, undirected=other.kind == "cpdag")

    @property
    def learned(self) -> pd.DataFrame | None:
        """What was learned along with the graph, such as `scores.BGe(alpha_w="learn")`; None if nothing was.

        A line for each value: `parameter`, `value`, its probability before the data (`prior`) and after
        (`probability`). Edge probabilities and graphs average over all of them.
        """
        return learned_table(self._record)

    @property
    def edge_density(self) -> pd.DataFrame | None:
        """The posterior of the edge odds weight h beside its prior, if `EdgePrior(h=Beta(a, b))` was to be learned."""
        table = self.learned
        if table is None or not (table["parameter"] == "h").any():
            return None
        return table.loc[table["parameter"] == "h", ["value", "prior", "probability"]].reset_index(drop=True)

    @property
    def prior_probabilities(self) -> pd.DataFrame | None:
        """Probability of every edge before the data; None if the file was written before results kept it.

        These are the true marginals of the prior, smaller than its h: graphs with cycles have no weight.
        """
        prior = self._record.prior_probabilities
        return None if prior is None else self._labelled(prior.copy())

    @property
    def chain_probabilities(self) -> NDArray[np.float64]:
        """Edge probabilities of each chain by itself, (chain, parent, child); no chain if the result is exact."""
        record, n = self._record, len(self._record.nodes)
        chains = chain_probabilities(record.batch_counts, record.batch_iterations)
        flat = np.zeros((len(chains), n * n))
        flat[:, record.edge_codes] = chains
        return flat.reshape(-1, n, n)

    def _labelled(self, matrix: NDArray[np.float64], rows: str = "parent", columns: str = "child") -> pd.DataFrame:
        names = self.nodes
        return pd.DataFrame(matrix, index=pd.Index(names, name=rows), columns=pd.Index(names, name=columns))

    # ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def imputed(self, column: str | None = None) -> pd.DataFrame:
        """Tabulate what was drawn into empty cells of the table, averaged over graphs and all draws.

        Parameters
        ----------
        column : str, optional
            A column, whose empty cells alone are wanted; by default those of all.

        Returns
        -------
        pandas.DataFrame
            A line for each cell: its `row`, counted from 0 in the table as given, its `column`, and `value`: of a
            number the posterior mean, with its standard deviation `sd`; of a class the most probable level, with its
            `probability`. For one column, by row, `mean` and `sd`, or the probability of every level.

        Examples
        --------
        >>> import parnidag
        >>> table = parnidag.simulate(nodes=3, edges=3, rows=50, seed=1).values
        >>> table[4, 1] = float("nan")
        >>> posterior = parnidag.sample(table, draws=50, seed=1, progress=False)
        >>> posterior.imputed()[["row", "column"]]
           row column
        0    4     X1
        """
        return imputed_table(self.record, column)

    def probability(
        self, question: str | Callable[[Graph], bool], *, given: str | Callable[[Graph], bool] | None = None
    ) -> Probability:
        """Return the probability that a statement about the graph is true, over the stored draws.

        Parameters
        ----------
        question : str or function
            Statements joined by ``and``, ``or``, ``not`` and parentheses. ``a -> b`` is an edge, ``a -- b`` an edge
            either way, ``a => b`` a directed path (then a stands ``before`` b in every causal order, which may be said
            so), and ``a _||_ b | c, d`` says that a and b are independent given c and d (d-separation). ``a, b -> c``
            means both, ``a -> b -> c`` too. Names with blanks or signs are quoted. Or a function that takes a `Graph`
            and returns True or False; it is asked once for each different graph.
        given : str or function, optional
            A condition: only draws that fulfil it count.

        Returns
        -------
        Probability
            A number, with its Monte-Carlo standard error `mcse` and the number of `draws` it is of.

        Examples
        --------
        >>> import parnidag
        >>> data = parnidag.simulate(nodes=3, edges=2, rows=100, seed=1)
        >>> posterior = parnidag.sample(data.values, seed=1, progress=False)
        >>> posterior.probability("X0 -> X1 or X1 -> X0") == posterior.probability("X0 -- X1")
        True
        >>> posterior.probability("X0 => X1", given="X0 -> X1")
        1 (1499 draws)
        """
        from parnidag.effects import answers

        return answers.probability(self, question, given)

    # ── causes and effects ────────────────────────────────────────────────────────────────────────────────────────────

    def effects(
        self, *, standardised: bool | None = None, data: Any = None, seed: int | None = None
    ) -> Effects | ClassEffects:
        """Return the total causal effect of every node on every other, averaged over graphs and parameters.

        For every stored graph parameters are drawn from their exact posterior. Effects of numbers are in units of the
        columns; those of classes (`scores.BDeu`) are risk differences, see `ClassEffects`. Where numbers stand beside
        classes (`scores.Copula`) they are in standard deviations, see `Effects`. Curves (`scores.Spline`) have no one
        number: they have `dose_response` and `contrast`. In tables where chains drew cells, effects are averaged over
        graphs and parameters that were drawn with them, up to 256 of each chain.

        Parameters
        ----------
        standardised : bool, optional
            Give effects in standard deviations, or not; by default only where columns have no units.
        data
            The table of the run, if this result does not keep what it needs of it; it then says so.
        seed : int, optional
            Seed of the parameters; by default that of the run.

        Notes
        -----
        What is said of effects assumes that there are no hidden common causes, that relations are as the score has
        them, and that values like those set occur in the data.

        Examples
        --------
        >>> import parnidag
        >>> data = parnidag.simulate(nodes=2, edges=1, rows=100, seed=1)
        >>> effects = parnidag.sample(data.values, seed=1, progress=False).effects()
        >>> round(effects.probability.loc["X0", "X1"].item(), 1)
        0.5
        """
        from parnidag.effects import answers

        return answers.effects(self, data, standardised, seed)

    def coefficients(
        self,
        min_probability: float = 0.01,
        *,
        standardised: bool | None = None,
        data: Any = None,
        seed: int | None = None,
    ) -> pd.DataFrame:
        """Tabulate direct effects: what one unit more of a parent does to its child if all other parents stay.

        Parameters
        ----------
        min_probability : float, default 0.01
            Edges below it are left out.
        standardised, data, seed
            As for `effects`.

        Returns
        -------
        pandas.DataFrame
            Columns `parent`, `child`, `probability`, that of the edge; and of its coefficient, given that the graph has
            the edge, `mean`, `sd`, the quantiles `5%` and `95%`, and the probabilities `positive` and `negative` that
            it raises or lowers. With classes without order beside numbers also `set_to` and `versus`, the levels of
            the parent, and `level`, whose probability it is, of the child: empty for all others.
        """
        from parnidag.effects import answers

        return answers.coefficients(self, data, standardised, seed, min_probability)

    def intervene(
        self, do: Mapping[str, Any], *, data: Any = None, seed: int | None = None
    ) -> Outcomes | ClassOutcomes:
        """Return every variable after an intervention, such as ``{"x": 2.0, "z": 0.0}``.

        Nodes that are set no longer follow their parents; everything else goes on as before, in every stored graph
        with parameters drawn for it.

        Parameters
        ----------
        do : mapping
            The nodes that are set together, and to what: in units of the columns, or the level of a class. A node
            that is set to an ordered level, or to a value that many rows share, has any of the normal numbers behind
            it that those with the level have (`scores.Copula`).
        data, seed
            As for `effects`, whose assumptions hold here too.

        Examples
        --------
        >>> import parnidag
        >>> data = parnidag.simulate(nodes=3, edges=2, rows=100, seed=1)
        >>> posterior = parnidag.sample(data.values, seed=1, progress=False)
        >>> sorted(posterior.intervene({"X0": 1.0}).summary()["node"])
        ['X1', 'X2']
        """
        from parnidag.effects import answers

        return answers.intervene(self, do, data, seed)

    def contrast(
        self, *, do: Mapping[str, Any], versus: Mapping[str, Any], data: Any = None, seed: int | None = None
    ) -> Contrast | ClassContrast:
        """Return by how much every variable differs between two interventions; an empty mapping sets nothing.

        Parameters
        ----------
        do, versus : mapping
            The nodes that are set, and to what, as for `intervene`.
        data, seed
            As for `effects`.
        """
        from parnidag.effects import answers

        return answers.contrast(self, do, versus, data, seed)

    def dose_response(
        self,
        cause: str,
        effect: str,
        values: Sequence[float] | None = None,
        *,
        level: str | None = None,
        data: Any = None,
        seed: int | None = None,
    ) -> DoseResponse:
        """Return the mean of one node for each value that another is set to: a curve, with bands.

        Parameters
        ----------
        cause, effect : str
            The node that is set, and the one that is looked at; columns of numbers. With `scores.Copula` the effect
            may be a class.
        values : sequence of float, optional
            What the cause is set to; by default 25 values from the smallest to the largest of the data.
        level : str, optional
            Of a class, the level whose probability is asked; the last by default.
        data, seed
            As for `effects`. Curves (`scores.Spline`) need the rows of the table, which files do not keep.

        Examples
        --------
        >>> import parnidag
        >>> data = parnidag.simulate(nodes=2, edges=1, rows=100, seed=1)
        >>> posterior = parnidag.exact(data.values, score="spline", draws=100, seed=1)
        >>> posterior.dose_response("X0", "X1", [-1.0, 0.0, 1.0]).summary().shape
        (3, 6)
        """
        from parnidag.effects import answers

        return answers.dose_response(self, cause, effect, values, level, data, seed)

    def suggest_experiments(
        self, about: tuple[str, str] | None = None, *, nodes: Sequence[str] | None = None, data: Any = None
    ) -> pd.DataFrame:
        """Rank the nodes by what setting one of them, from outside and in many rows, would tell.

        An experiment shows the direction of every edge at its node. What counts is what more observation could not
        tell: directions that equivalence classes leave open, as far as the stored draws do not know them.

        Parameters
        ----------
        about : (str, str), optional
            A cause and an effect: rank by what is told of this effect instead of the whole graph.
        nodes : sequence of str, optional
            The nodes that can be set; all by default, but those of the past and static ones.
        data
            As for `effects`.

        Returns
        -------
        pandas.DataFrame
            A row for each node, the best first: `node`; `bits`, the expected information about directions, or with
            `about` the `share` of the variance between graphs (of the mean effect; for classes and curves of there
            being a path) that ends; `open_edges`, how many edges at the node are expected to have an open direction;
            and `why`, in words.

        Examples
        --------
        >>> import parnidag
        >>> data = parnidag.simulate(nodes=2, edges=1, rows=100, seed=1)
        >>> posterior = parnidag.exact(data.values, draws=4000, seed=1)
        >>> float(posterior.suggest_experiments()["bits"].max().round(1))
        1.0
        """
        from parnidag.effects import answers

        return answers.suggest_experiments(self, about, nodes, data)

    # ── over time ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def summary_graph(self, threshold: float = 0.5) -> nx.MultiDiGraph:
        """Return which variable acts on which, and after how many steps, of a result over a `Panel`.

        Parameters
        ----------
        threshold : float, default 0.5
            Smallest probability of an edge that is shown, above 0 and at most 1.

        Returns
        -------
        networkx.MultiDiGraph
            An edge for each lag, the key, with attributes `lag` (0 within a time) and `probability`. A variable that
            depends on its own past has an edge to itself. Nodes have an attribute `static`.
        """
        number(threshold, "threshold", above=0, most=1)
        return Slices.of(self._record.settings, "summary_graph").rolled(self._probabilities, threshold)

    def lag_probabilities(self) -> pd.DataFrame:
        """Tabulate, for a result over a `Panel`, how probable it is that one variable acts on another at each lag.

        Returns
        -------
        pandas.DataFrame
            Rows are pairs of variables (`parent`, `child`), the surest first; columns are lags, 0 within a time.
        """
        slices = Slices.of(self._record.settings, "lag_probabilities")
        pairs, values = slices.by_pair(self._probabilities)
        index = pd.MultiIndex.from_tuples(pairs, names=["parent", "child"])
        return pd.DataFrame(values, index=index, columns=pd.RangeIndex(values.shape[1], name="lag"))

    def unroll(self, steps: int, graph: Any = None) -> Graph:
        """Return the graph over several times, with nodes such as ``glucose[3]``, of a result over a `Panel`.

        Parameters
        ----------
        steps : int
            How many times; the first have no past.
        graph
            The graph over the nodes of the panel to roll out, in any form that `as_graph` takes; the consensus graph by
            default.
        """
        slices = Slices.of(self._record.settings, "unroll")
        whole(steps, "steps", 1)
        chosen = self.consensus_graph() if graph is None else as_graph(graph, self._record.nodes)
        return slices.unrolled(chosen.adjacency, self._probabilities, steps)

    def impulse_responses(
        self, cause: str, steps: int = 10, *, standardised: bool = False, data: Any = None, seed: int | None = None
    ) -> ImpulseResponses:
        """Return how all variables respond over time if one is set a unit higher once, of a result over a `Panel`.

        Parameters
        ----------
        cause : str
            The variable that is set.
        steps : int, default 10
            How many steps to follow it.
        standardised : bool, default False
            Whether to count in standard deviations.
        data, seed
            As for `effects`, whose assumptions hold here too.
        """
        from parnidag.effects import answers

        return answers.impulse_responses(self, cause, steps, standardised, data, seed)

    # ── to other tools and to disk ────────────────────────────────────────────────────────────────────────────────────

    def to_datatree(self, min_probability: float = 0.0) -> xr.DataTree | Any:
        """Return the draws as an xarray DataTree, in the form that the installed ArviZ reads.

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
        ``arviz.summary(posterior.to_datatree())`` works with any ArviZ from 0.23 on. ArviZ 1.x works on the tree
        itself. ArviZ 0.23 refuses trees, so where it is installed the same groups come as its `InferenceData`, whose
        method `to_datatree` gives the tree.
        """
        number(min_probability, "min_probability", least=0, most=1)
        from parnidag.results.datatree import as_arviz_reads_it, datatree_of

        return as_arviz_reads_it(datatree_of(self._record, self._probabilities, min_probability))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to a netCDF file that `parnidag.load` reads, and return its path.

        An existing file is replaced in one step.
        """
        from parnidag.results.netcdf import save_record

        return save_record(self._record, path)

    def report(self, path: str | os.PathLike[str] = "report.html", title: str | None = None) -> Path:
        """Write a report to look at: one HTML file that needs no network, with the graph, edges, traces and verdict.

        Returns the path of the file; an existing one is replaced in one step.

        Parameters
        ----------
        path : path, default "report.html"
            The file to write, ending in ``.html``.
        title : str, optional
            Heading of the report.
        """
        if Path(path).suffix.lower() not in (".html", ".htm") and not Path(path).is_dir():
            raise ParnidagError(f"path: the report is an HTML file, so name it *.html, not {path}")
        from parnidag.report.build import write_report

        return write_report(self, path, title=title)
