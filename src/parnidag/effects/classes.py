"""What classes are when an experimenter sets some of them, how two such settings compare, and all effects at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from parnidag.effects.monte_carlo import split_rhat, standard_errors
from parnidag.effects.nodes import level_number, node_number
from parnidag.effects.outcomes import HIGH, LOW, in_words, shown
from parnidag.effects.tables import TableDraws
from parnidag.kernels.types import Flags, Floats, Integers

Labels = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class ClassOutcomes:
    """The probability of every level of every node after an intervention, over graphs and parameters.

    Attributes
    ----------
    do : dict
        The nodes that are set, and to what.
    method : str
        How probabilities were found: by exact sums, or for large graphs from simulated rows.
    notes : list of str
        What to be careful about, such as levels that never occur in the data.
    """

    names: tuple[str, ...]
    labels: Labels
    do: Mapping[str, str]
    probability: Floats
    """(chain, draw, level), the levels of one node after those of another."""
    given_graph: Floats
    """Posterior means given the graph of each draw (chain, draw, level)."""
    independent: bool
    method: str
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> pd.Series:
        """The posterior probability of every level, by node and level."""
        return _by_level(self.names, self.labels, self.given_graph.mean(axis=(0, 1)), "probability")

    def summary(self) -> pd.DataFrame:
        """Tabulate the nodes that are not set, a level a row.

        Returns
        -------
        pandas.DataFrame
            Columns `node`, `level`; `probability`, that a new row has this level; `sd`, `5%` and `95%`, how well graphs
            and parameters let it be known; and `mcse`, its Monte-Carlo standard error.
        """
        low, high = np.quantile(self.probability, [LOW, HIGH], axis=(0, 1))
        table = self.mean.reset_index()
        table["sd"] = self.probability.std(axis=(0, 1))
        table["5%"], table["95%"] = low, high
        table["mcse"] = standard_errors(self.given_graph, self.independent)
        return table[~table["node"].isin(list(self.do))].reset_index(drop=True)

    def draws(self, node: str, level: str) -> Floats:
        """Return the probability of a level in every draw, (chain, draw)."""
        return np.asarray(self.probability[:, :, _place(self.names, self.labels, node, level)])

    def __repr__(self) -> str:
        return shown(f"Outcomes under do({in_words(self.do)})", self.summary().drop(columns="mcse"), self.notes)


@dataclass(frozen=True, eq=False)
class ClassContrast:
    """By how much probabilities differ between two interventions: risk differences and risk ratios.

    Attributes
    ----------
    do, versus : dict
        The nodes that are set in the one and in the other, and to what.
    method : str
        As for `ClassOutcomes`.
    """

    one: ClassOutcomes
    other: ClassOutcomes
    changed: Flags
    """Whether the graph of each draw lets the interventions make a node differ (chain, draw, node)."""

    @property
    def do(self) -> Mapping[str, str]:
        return self.one.do

    @property
    def versus(self) -> Mapping[str, str]:
        return self.other.do

    @property
    def method(self) -> str:
        return self.one.method

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.one.notes + self.other.notes))

    @cached_property
    def _by_level(self) -> Flags:
        return np.repeat(self.changed, [len(one) for one in self.one.labels], axis=2)

    @cached_property
    def difference(self) -> Floats:
        """Risk differences (chain, draw, level): exactly zero where the graph has no directed path."""
        return np.where(self._by_level, self.one.probability - self.other.probability, 0.0)

    @cached_property
    def ratio(self) -> Floats:
        """Risk ratios (chain, draw, level)."""
        return ratio_of(self.one.probability, self.other.probability, self._by_level)

    @cached_property
    def given_graph(self) -> Floats:
        """Posterior means of the risk differences given the graph of each draw (chain, draw, level)."""
        return np.where(self._by_level, self.one.given_graph - self.other.given_graph, 0.0)

    @property
    def mean(self) -> pd.Series:
        """The posterior mean of every risk difference, by node and level."""
        return _by_level(self.one.names, self.one.labels, self.given_graph.mean(axis=(0, 1)), "mean")

    def summary(self) -> pd.DataFrame:
        """Tabulate the nodes that are set in neither, a level a row.

        Returns
        -------
        pandas.DataFrame
            Columns `node`, `level`; of the risk difference `mean`, `sd`, the quantiles `5%` and `95%`, and the
            probabilities `positive`, `zero` (no directed path) and `negative`; of the risk ratio the median `ratio`,
            and the quantiles `ratio_5%` and `ratio_95%`; and `mcse`, the Monte-Carlo standard error of the mean.
        """
        table = self.mean.reset_index()
        for name, values in risk_figures(self.difference, self.ratio, (0, 1)).items():
            table[name] = values
        table["mcse"] = standard_errors(self.given_graph, self.one.independent)
        return table[~table["node"].isin([*self.do, *self.versus])].reset_index(drop=True)

    def draws(self, node: str, level: str, ratio: bool = False) -> Floats:
        """Return the risk difference, or the risk ratio, of a level in every draw, (chain, draw)."""
        values = self.ratio if ratio else self.difference
        return np.asarray(values[:, :, _place(self.one.names, self.one.labels, node, level)])

    def __repr__(self) -> str:
        head = f"Difference between do({in_words(self.do)}) and do({in_words(self.versus)})"
        return shown(head, self.summary()[["node", "level", "mean", "5%", "95%", "zero", "ratio"]], self.notes)


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """Effects of every node on every other, of classes: risk differences, over graphs and parameters.

    A cause is set to each of its levels, and compared with its first level; of an effect, every level but the first is
    shown, since probabilities add up to one. So a pair of nodes with two levels has one number: by how much the
    probability of the effect's second level differs. `Posterior.contrast` answers all other comparisons. Assumptions
    are those of `Effects`.

    Attributes
    ----------
    method : str
        How probabilities are found: by exact sums, or for large graphs from simulated rows.

    Examples
    --------
    >>> import parnidag
    >>> rows = [["no", "dry"], ["no", "dry"], ["yes", "wet"], ["yes", "wet"], ["yes", "dry"]] * 20
    >>> data = parnidag.Data(rows, names=["rain", "street"])
    >>> posterior = parnidag.exact(data, draws=200, seed=1)
    >>> posterior.effects().mean.shape
    (2, 2)
    """

    tables: TableDraws
    independent: bool

    @property
    def nodes(self) -> list[str]:
        return list(self.tables.names)

    @property
    def method(self) -> str:
        return self.tables.method

    def contrast_of(self, cause: int, level: int, versus: int = 0) -> tuple[Floats, Floats, Floats, Flags]:
        """Return risks with a cause at a level, risks with it at another, mean differences, and what can differ.

        All are (draws × levels).
        """
        tables, n = self.tables, len(self.tables.names)
        risks, means = [], []
        for one in (level, versus):
            fixed = np.full(n, -1)
            fixed[cause] = one
            risks.append(tables.set_nodes(fixed))
            means.append(tables.mean_given_graphs(fixed))
        return risks[0], risks[1], (means[0] - means[1])[tables.graphs.graph_of], self._follows(cause)

    def _follows(self, cause: int) -> Flags:
        n, tables = len(self.tables.names), self.tables
        fixed = np.full((2, n), -1)
        fixed[:, cause] = 0, 1
        found = tables.changed(*fixed)[tables.graphs.graph_of]
        return np.repeat(found, tables.counted.arity, axis=1)

    @cached_property
    def _statistics(self) -> dict[str, Floats]:
        """Figures of all contrasts (cause and setting × levels)."""
        rows = [figures for cause in range(len(self.nodes)) for figures in self._statistics_of(cause)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _statistics_of(self, cause: int) -> list[dict[str, Floats]]:
        tables, n = self.tables, len(self.tables.names)
        risks, means = [], []
        for level in range(int(tables.counted.arity[cause])):
            fixed = np.full(n, -1)
            fixed[cause] = level
            risks.append(tables.set_nodes(fixed))
            means.append(tables.mean_given_graphs(fixed))
        follows, found = self._follows(cause), []
        for risk, mean in zip(risks[1:], means[1:], strict=True):
            drawn = np.where(follows, risk - risks[0], 0.0)
            given_graph = np.where(follows, (mean - means[0])[tables.graphs.graph_of], 0.0)
            by_chain = given_graph.reshape(*tables.shape, -1)
            found.append(
                {
                    "mean": given_graph.mean(axis=0),
                    **risk_figures(drawn, ratio_of(risk, risks[0], follows), (0,)),
                    "sd": np.sqrt(given_graph.var(axis=0) + ((drawn - given_graph) ** 2).mean(axis=0)),
                    "graphs": given_graph.var(axis=0),
                    "mcse": standard_errors(by_chain, self.independent),
                    "rhat": split_rhat(by_chain),
                }
            )
        return found

    @cached_property
    def _pairs(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Cause and setting of each row of the figures, effect and level of each column."""
        arity = self.tables.counted.arity
        causes = np.repeat(np.arange(len(arity)), arity - 1)
        settings = np.concatenate([np.arange(1, one) for one in arity])
        return causes, settings, np.repeat(np.arange(len(arity)), arity), np.concatenate([np.arange(k) for k in arity])

    @property
    def mean(self) -> pd.DataFrame:
        """Posterior means: rows are causes and what they are set to, columns effects and their levels, but the first.

        Each is the probability of the level if the cause is set so, less that if it is set to its first level.
        """
        return self._matrix("mean")

    @property
    def probability(self) -> pd.DataFrame:
        """Probability that a node has any effect on another, that is a directed path: rows are causes."""
        causes, settings, effects, levels = self._pairs
        zero = self._statistics["zero"][np.ix_(settings == 1, levels == 0)]
        names = self.nodes
        found = pd.DataFrame(np.nan, pd.Index(names, name="cause"), pd.Index(names, name="effect"))
        found.iloc[causes[settings == 1], effects[levels == 0]] = 1.0 - zero
        return found

    def _matrix(self, name: str) -> pd.DataFrame:
        causes, settings, effects, levels = self._pairs
        names, labels = self.nodes, self.tables.labels
        rows = [(names[i], labels[i][a]) for i, a in zip(causes, settings, strict=True)]
        kept = levels > 0
        columns = [(names[j], labels[j][b]) for j, b in zip(effects[kept], levels[kept], strict=True)]
        return pd.DataFrame(
            self._statistics[name][:, kept],
            pd.MultiIndex.from_tuples(rows, names=["cause", "set_to"]),
            pd.MultiIndex.from_tuples(columns, names=["effect", "level"]),
        )

    def summary(self, cause: str | None = None, effect: str | None = None) -> pd.DataFrame:
        """Tabulate the effects, those that are surest to exist first.

        Parameters
        ----------
        cause, effect : str, optional
            Only the effects of this node, or on this one.

        Returns
        -------
        pandas.DataFrame
            Columns `cause`, `set_to`, `versus` (its first level), `effect`, `level`; then as in `Effects.summary`, of
            risk differences; and `ratio`, `ratio_5%` and `ratio_95%`, the median and quantiles of the risk ratio.
        """
        causes, settings, effects, levels = self._pairs
        shown_pairs = (causes[:, None] != effects) & (levels > 0)
        if cause is not None:
            shown_pairs &= (causes == node_number(self.tables.names, cause, "cause"))[:, None]
        if effect is not None:
            shown_pairs &= effects == node_number(self.tables.names, effect, "effect")
        row, column = np.nonzero(shown_pairs)
        at = {name: values[row, column] for name, values in self._statistics.items()}
        order = np.lexsort((-np.abs(at["mean"]), at["zero"]))
        at = {name: values[order] for name, values in at.items()}
        i, a, j, b = causes[row[order]], settings[row[order]], effects[column[order]], levels[column[order]]
        names, labels = self.nodes, self.tables.labels
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(at["sd"] > 0, at["graphs"] / at["sd"] ** 2, np.nan)
        return pd.DataFrame(
            {
                "cause": [names[k] for k in i],
                "set_to": [labels[k][level] for k, level in zip(i, a, strict=True)],
                "versus": [labels[k][0] for k in i],
                "effect": [names[k] for k in j],
                "level": [labels[k][level] for k, level in zip(j, b, strict=True)],
                **{name: at[name] for name in ("mean", "sd", "5%", "95%", "positive", "zero", "negative")},
                "graphs": pd.array(share, dtype="Float64"),
                **{name: at[name] for name in ("ratio", "ratio_5%", "ratio_95%", "mcse")},
                "rhat": pd.array(at["rhat"], dtype="Float64"),
            }
        )

    def largest(self) -> pd.DataFrame:
        """Return of each pair of nodes the row of `summary` with the largest mean risk difference."""
        table = self.summary()
        table = table.iloc[np.argsort(-table["mean"].abs().to_numpy(), kind="stable")]
        return table.drop_duplicates(["cause", "effect"]).sort_index().reset_index(drop=True)

    def draws(
        self, cause: str, effect: str, set_to: str | None = None, level: str | None = None, ratio: bool = False
    ) -> Floats:
        """Return a risk difference, or a risk ratio, in every draw, (chain, draw); 0, or 1, without a directed path.

        `set_to` and `level` are the last levels of cause and effect unless they are given.
        """
        i = node_number(self.tables.names, cause, "cause")
        a = level_number(self.tables.labels[i], self.tables.labels[i][-1] if set_to is None else set_to, "set_to")
        j = node_number(self.tables.names, effect, "effect")
        b = level_number(self.tables.labels[j], self.tables.labels[j][-1] if level is None else level, "level")
        one, other, _, follows = self.contrast_of(i, a)
        place = int(self.tables.counted.level[j]) + b
        values = ratio_of(one, other, follows) if ratio else np.where(follows, one - other, 0.0)
        return np.asarray(values[:, place].reshape(self.tables.shape))

    def __repr__(self) -> str:
        chains, draws = self.tables.shape
        table = self.summary().head(8)[["cause", "set_to", "effect", "level", "mean", "5%", "95%", "zero"]]
        head = f"Effects: {len(self.nodes)} nodes, {chains * draws} draws, risk differences; {self.method}"
        return head + "\n" + table.to_string(index=False, float_format=lambda value: f"{value:.3g}")


def risk_figures(difference: Floats, ratio: Floats, axis: Any) -> dict[str, Floats]:
    """Summarise risk differences and risk ratios over draws."""
    low, high = np.quantile(difference, [LOW, HIGH], axis=axis)
    ratio_low, middle, ratio_high = np.quantile(ratio, [LOW, 0.5, HIGH], axis=axis, method="nearest")  # may be infinite
    return {
        "sd": difference.std(axis=axis),
        "5%": low,
        "95%": high,
        "positive": (difference > 0).mean(axis=axis),
        "zero": (difference == 0).mean(axis=axis),
        "negative": (difference < 0).mean(axis=axis),
        "ratio": middle,
        "ratio_5%": ratio_low,
        "ratio_95%": ratio_high,
    }


def ratio_of(one: Floats, other: Floats, changed: Flags) -> Floats:
    """Return risk ratios: 1 where nothing changes, infinite where the other risk vanishes, or all but vanishes."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.where(changed, one / other, 1.0)
    return np.asarray(np.where(np.isnan(found), 1.0, found))


def _place(names: tuple[str, ...], labels: Labels, node: str, level: object) -> int:
    j = node_number(names, node, "node")
    return sum(map(len, labels[:j])) + level_number(labels[j], level, "level")


def _by_level(names: tuple[str, ...], labels: Labels, values: Floats, called: str) -> pd.Series:
    pairs = [(name, label) for name, levels in zip(names, labels, strict=True) for label in levels]
    return pd.Series(values, pd.MultiIndex.from_tuples(pairs, names=["node", "level"]), name=called)
