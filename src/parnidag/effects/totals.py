"""Total causal effects of every node on every other, over graphs and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from parnidag._util.checks import whole
from parnidag.effects.draws import LinearDraws, linear_draws, one_graph
from parnidag.effects.monte_carlo import split_rhat, standard_errors
from parnidag.effects.nodes import level_number, node_number
from parnidag.effects.normal import ScoreDraws
from parnidag.effects.source import Source
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import as_graph
from parnidag.kernels.types import Floats

LOW, HIGH = 0.05, 0.95
STATISTICS = ("mean", "between", "within", "low", "high", "positive", "zero", "negative", "mcse", "rhat")


@dataclass(frozen=True, eq=False)
class Effects:
    """The posterior of total causal effects: what one unit more of a cause, set from outside, adds to a node.

    It is averaged over the stored graphs and, for each, over coefficients drawn from their exact posterior. Without a
    directed path the effect is exactly zero. Effects assume that there are no hidden common causes, that relations are
    as the score has them, and that values like those set occur.

    In tables where chains drew cells it is averaged over what these may be, too. Of `scores.Copula` effects are in
    standard deviations of normal scores: one deviation more of the cause, in those of the effect. Levels without order
    stand for themselves there: set instead of the first level, and the probability of each.

    Attributes
    ----------
    standardised : bool
        Whether effects are in standard deviations of both columns, instead of their own units.

    Examples
    --------
    >>> import parnidag
    >>> data = parnidag.simulate(nodes=4, edges=4, rows=200, seed=1).values
    >>> effects = parnidag.sample(data, seed=1, progress=False).effects()
    >>> effects.mean.shape
    (4, 4)
    """

    linear: LinearDraws | ScoreDraws
    source: Source | None
    independent: bool
    standardised: bool = False

    @property
    def nodes(self) -> list[str]:
        return list(self.linear.names)

    @property
    def in_scores(self) -> bool:
        """Whether effects are between normal scores (`scores.Copula`)."""
        return isinstance(self.linear, ScoreDraws)

    @property
    def units(self) -> str:
        """What effects are measured in, in words."""
        if self.in_scores:
            classes = ", of classes without order in probabilities" if self.linear.places.has_levels else ""
            return f"standard deviations of normal scores{classes}"
        return "standard deviations" if self.standardised else "units of the columns"

    @cached_property
    def _ratios(self) -> Floats:
        """What an effect of i on j in the score's units is in the units that are shown."""
        return self.linear.ratios(self.standardised)

    @cached_property
    def _statistics(self) -> dict[str, Floats]:
        n = len(self.linear.places.node)
        found = {name: np.zeros((n, n)) for name in STATISTICS}
        for cause in range(n):
            for name, values in self._statistics_of(cause).items():
                found[name][cause] = values
        return found

    def _statistics_of(self, cause: int) -> dict[str, Floats]:
        """Summarise the effects of one cause on every node."""
        graphs, ratios = self.linear.graphs, self._ratios[cause]
        drawn = self.linear.effects_of(cause) * ratios
        given_graph = (self.linear.mean_effects_of(cause) * ratios)[graphs.graph_of]
        by_chain = given_graph.reshape(*graphs.index.shape, -1)
        low, high = np.quantile(drawn, [LOW, HIGH], axis=0)
        return {
            "mean": given_graph.mean(axis=0),
            "between": given_graph.var(axis=0),
            "within": ((drawn - given_graph) ** 2).mean(axis=0),
            "low": low,
            "high": high,
            "positive": (drawn > 0).mean(axis=0),
            "zero": (drawn == 0).mean(axis=0),
            "negative": (drawn < 0).mean(axis=0),
            "mcse": standard_errors(by_chain, self.independent),
            "rhat": split_rhat(by_chain),
        }

    def _labelled(self, matrix: Floats) -> pd.DataFrame:
        places = self.linear.places
        names = [self.linear.names[node] for node in places.node]
        if not places.has_levels:
            return pd.DataFrame(matrix, index=pd.Index(names, name="cause"), columns=pd.Index(names, name="effect"))
        index, columns = (
            pd.MultiIndex.from_arrays([names, places.level], names=called)
            for called in (["cause", "set_to"], ["effect", "level"])
        )
        return pd.DataFrame(matrix, index=index, columns=columns)

    def _place(self, node: str, level: str | None, argument: str, of_level: str) -> int:
        """Return the place of a node, or of one of its levels: the last, unless another is asked for."""
        here = np.flatnonzero(self.linear.places.node == node_number(self.linear.names, node, argument))
        levels = [self.linear.places.level[k] for k in here]
        if level is None:
            return int(here[-1])
        return int(here[level_number(tuple(levels), level, of_level)])

    @property
    def mean(self) -> pd.DataFrame:
        """Posterior mean of every effect: rows are causes, columns effects; 1 on the diagonal.

        Given a graph it is exact; over graphs it is the mean over the stored draws.
        """
        return self._labelled(self._statistics["mean"].copy())

    @property
    def sd(self) -> pd.DataFrame:
        """Posterior standard deviation of every effect, over graphs and parameters."""
        return self._labelled(np.sqrt(self._statistics["between"] + self._statistics["within"]))

    @property
    def probability(self) -> pd.DataFrame:
        """Probability that there is an effect at all, that is a directed path."""
        return self._labelled(1.0 - self._statistics["zero"])

    def summary(self, cause: str | None = None, effect: str | None = None) -> pd.DataFrame:
        """Tabulate the effects, those that are surest to exist first.

        Parameters
        ----------
        cause, effect : str, optional
            Only the effects of this node, or on this one.

        Returns
        -------
        pandas.DataFrame
            Columns `cause`, `effect`; `mean` and `sd` over graphs and parameters; the quantiles `5%` and `95%`;
            `positive`, `zero` and `negative`, the probabilities that the effect raises, that there is no directed path,
            and that it lowers; `graphs`, the share of the variance that is disagreement between graphs, the rest being
            uncertainty of parameters given the graph; `mcse`, the Monte-Carlo standard error of the mean; and `rhat`,
            split R-hat of what the graphs say of it, <NA> where all say the same. Where there are classes without
            order, also `set_to` and `versus`, the levels of the cause, and `level`, that of the effect: empty for all
            others.
        """
        names, stats, places = self.linear.names, self._statistics, self.linear.places
        pairs = places.node[:, None] != places.node
        for given, argument, axis in ((cause, "cause", 0), (effect, "effect", 1)):
            if given is not None:
                chosen = places.node == node_number(names, given, argument)
                pairs &= chosen[:, None] if axis == 0 else chosen
        i, j = np.nonzero(pairs)
        order = np.lexsort((-np.abs(stats["mean"][i, j]), stats["zero"][i, j]))
        i, j = i[order], j[order]
        at = {name: values[i, j] for name, values in stats.items()}
        variance = at["between"] + at["within"]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where((variance > 0) & self.linear.splits, at["between"] / variance, np.nan)
        words = {
            "cause": [names[places.node[k]] for k in i],
            "set_to": [places.level[k] for k in i],
            "versus": [places.versus[k] for k in i],
            "effect": [names[places.node[k]] for k in j],
            "level": [places.level[k] for k in j],
        }
        return pd.DataFrame(
            {
                **{name: said for name, said in words.items() if places.has_levels or name in ("cause", "effect")},
                "mean": at["mean"],
                "sd": np.sqrt(variance),
                "5%": at["low"],
                "95%": at["high"],
                "positive": at["positive"],
                "zero": at["zero"],
                "negative": at["negative"],
                "graphs": pd.array(share, dtype="Float64"),
                "mcse": at["mcse"],
                "rhat": pd.array(at["rhat"], dtype="Float64"),
            }
        )

    def largest(self) -> pd.DataFrame:
        """Return of each pair of nodes the row of `summary` with the largest mean; only levels have several."""
        table = self.summary()
        table = table.iloc[np.argsort(-table["mean"].abs().to_numpy(), kind="stable")]
        return table.drop_duplicates(["cause", "effect"]).sort_index().reset_index(drop=True)

    def draws(self, cause: str, effect: str, set_to: str | None = None, level: str | None = None) -> Floats:
        """Return the effect in every draw, (chain, draw), for ArviZ or a plot; 0 where there is no directed path.

        `set_to` and `level` are for classes without order: their last levels unless they are given.
        """
        i, j = self._place(cause, set_to, "cause", "set_to"), self._place(effect, level, "effect", "level")
        drawn = self.linear.effects_of(i)[:, j] * self._ratios[i, j]
        return np.asarray(drawn.reshape(self.linear.shape))

    def disagreement(self, cause: str, effect: str, count: int = 5) -> pd.DataFrame:
        """Tabulate the edges on which an effect depends most, those first whose presence tells most of it.

        Returns
        -------
        pandas.DataFrame
            Columns `parent`, `child`; `probability` of the edge; `with` and `without`, the mean effect in graphs that
            have it and in those that do not; and `share`, by how much less graphs vary if the edge is known.
        """
        whole(count, "count", 1)
        i, j = self._place(cause, None, "cause", "set_to"), self._place(effect, None, "effect", "level")
        graphs, n = self.linear.graphs, len(self.nodes)
        values = self.linear.mean_effects_of(i)[:, j] * self._ratios[i, j]
        times = np.bincount(graphs.graph_of, minlength=len(values)) / graphs.graph_of.size
        codes = graphs.laid.parents * n + graphs.children
        graph_of_slot = np.repeat(np.arange(len(values)), graphs.edges)
        there = np.bincount(codes, times[graph_of_slot], n * n)
        sums = np.bincount(codes, (times * values)[graph_of_slot], n * n)
        total = float(times @ values)
        open_ = np.flatnonzero((there > 0) & (there < 1 - 1e-12))
        p, with_edge = there[open_], sums[open_] / there[open_]
        without = (total - sums[open_]) / (1 - p)
        variance = float(times @ (values - total) ** 2)
        share = p * (1 - p) * (with_edge - without) ** 2 / variance if variance > 0 else np.zeros(len(p))
        best = np.argsort(-share, kind="stable")[:count]
        return pd.DataFrame(
            {
                "parent": [self.nodes[code // n] for code in open_[best]],
                "child": [self.nodes[code % n] for code in open_[best]],
                "probability": p[best],
                "with": with_edge[best],
                "without": without[best],
                "share": share[best],
            }
        )

    def given_graph(self, graph: object) -> pd.DataFrame:
        """Return the exact posterior mean of every effect if this were the graph; rows are causes.

        Parameters
        ----------
        graph
            A DAG: anything that `parnidag.as_graph` takes.
        """
        if self.source is None or not isinstance(self.linear, LinearDraws):
            raise ParnidagError(
                "given_graph needs numbers that are all known, in units of their columns: not normal scores "
                "(scores.Copula), nor cells that chains drew, given the graphs they met"
            )
        adjacency = as_graph(graph, self.linear.names)
        if adjacency.undirected or not adjacency.is_acyclic:
            raise ParnidagError("graph must be a DAG: effects need a direction for every edge, and no cycle")
        alone = linear_draws(self.source, one_graph(adjacency.adjacency), self.linear.seed)
        rows = [alone.mean_effects_of(cause)[0] for cause in range(len(self.nodes))]
        return self._labelled(np.array(rows) * self._ratios)

    def __repr__(self) -> str:
        chains, draws = self.linear.shape
        shown = ["cause", "set_to", "effect", "level", "mean", "5%", "95%", "zero"]
        table = self.summary().head(8)
        table = table[[name for name in shown if name in table]]
        head = f"Effects: {len(self.nodes)} nodes, {chains * draws} draws, in {self.units}"
        return head + "\n" + table.to_string(index=False, float_format=lambda value: f"{value:.3g}")
