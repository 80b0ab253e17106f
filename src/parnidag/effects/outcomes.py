"""What columns of numbers are when an experimenter sets some of them, and how two such settings compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parnidag.effects.monte_carlo import standard_errors
from parnidag.effects.nodes import level_number, node_number
from parnidag.kernels.types import Floats

LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every variable after an intervention, over graphs and parameters, in units of the columns.

    Where the table has classes beside numbers (`scores.Copula`) there is a probability for each of their levels.

    Attributes
    ----------
    do : dict
        The nodes that are set, and to what.
    notes : list of str
        What to be careful about, such as values that the data never come near.
    """

    names: tuple[str, ...]
    """Of nodes; those with levels are named once for each."""
    do: Mapping[str, float | str]
    expected: Floats
    """The mean of each node, or probability of each level, under the parameters of each draw (chain, draw, node)."""
    single: Floats
    """One new row for each draw (chain, draw, node)."""
    given_graph: Floats
    """Posterior means given the graph of each draw (chain, draw, node)."""
    independent: bool
    notes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """The level of each, empty for numbers; nothing at all where there are numbers only."""

    @property
    def mean(self) -> pd.Series:
        """The expected value of every variable, or the probability of each level."""
        return pd.Series(self.given_graph.mean(axis=(0, 1)), index=_index(self.names, self.levels), name="mean")

    def summary(self) -> pd.DataFrame:
        """Tabulate the variables that are not set.

        Returns
        -------
        pandas.DataFrame
            Columns `node`; `mean`, the expected value; `mean_5%` and `mean_95%`, how well graphs and parameters let it
            be known; `sd`, `5%` and `95%` of a single new row; and `mcse`, the Monte-Carlo standard error of the mean.
            Where there are classes also `level`, empty for numbers: then `mean` is its probability, and a row has 1 or
            0.
        """
        low, high = np.quantile(self.expected, [LOW, HIGH], axis=(0, 1))
        one_low, one_high = np.quantile(self.single, [LOW, HIGH], axis=(0, 1))
        table = pd.DataFrame(
            {
                **_words(self.names, self.levels),
                "mean": self.mean.to_numpy(),
                "mean_5%": low,
                "mean_95%": high,
                "sd": self.single.std(axis=(0, 1)),
                "5%": one_low,
                "95%": one_high,
                "mcse": standard_errors(self.given_graph, self.independent),
            }
        )
        return table[~table["node"].isin(list(self.do))].reset_index(drop=True)

    def draws(self, node: str, rows: bool = False, level: str | None = None) -> Floats:
        """Return the expected value of a node in every draw, (chain, draw); with `rows`, a single new row of each.

        Of a class it is the probability of a `level`, the last unless one is given.
        """
        place = _place(self.names, self.levels, node, level)
        return np.asarray((self.single if rows else self.expected)[:, :, place])

    def __repr__(self) -> str:
        head = f"Outcomes under do({in_words(self.do)})"
        return shown(head, _some(self.summary(), "mean", "mean_5%", "mean_95%", "sd"), self.notes)


@dataclass(frozen=True, eq=False)
class Contrast:
    """By how much expected values differ between two interventions, over graphs and parameters.

    Attributes
    ----------
    do, versus : dict
        The nodes that are set in the one and in the other, and to what.
    notes : list of str
        What to be careful about.
    """

    names: tuple[str, ...]
    do: Mapping[str, float | str]
    versus: Mapping[str, float | str]
    difference: Floats
    """(chain, draw, node)"""
    given_graph: Floats
    independent: bool
    notes: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    """As for `Outcomes`."""

    @property
    def mean(self) -> pd.Series:
        """The expected difference of every variable."""
        return pd.Series(self.given_graph.mean(axis=(0, 1)), index=_index(self.names, self.levels), name="mean")

    def summary(self) -> pd.DataFrame:
        """Tabulate the variables that are set in neither: columns as in `Effects.summary`, levels as for `Outcomes`."""
        low, high = np.quantile(self.difference, [LOW, HIGH], axis=(0, 1))
        table = pd.DataFrame(
            {
                **_words(self.names, self.levels),
                "mean": self.mean.to_numpy(),
                "sd": self.difference.std(axis=(0, 1)),
                "5%": low,
                "95%": high,
                "positive": (self.difference > 0).mean(axis=(0, 1)),
                "zero": (self.difference == 0).mean(axis=(0, 1)),
                "negative": (self.difference < 0).mean(axis=(0, 1)),
                "mcse": standard_errors(self.given_graph, self.independent),
            }
        )
        return table[~table["node"].isin([*self.do, *self.versus])].reset_index(drop=True)

    def draws(self, node: str, level: str | None = None) -> Floats:
        """Return the difference for a node in every draw, (chain, draw); of a class for a level, as for `Outcomes`."""
        return np.asarray(self.difference[:, :, _place(self.names, self.levels, node, level)])

    def __repr__(self) -> str:
        head = f"Difference between do({in_words(self.do)}) and do({in_words(self.versus)})"
        return shown(head, _some(self.summary(), "mean", "5%", "95%", "zero"), self.notes)


def contrast_of(one: Outcomes, other: Outcomes) -> Contrast:
    """Compare two interventions; both must have been made with the same draws of parameters."""
    return Contrast(
        one.names,
        one.do,
        other.do,
        one.expected - other.expected,
        one.given_graph - other.given_graph,
        one.independent,
        tuple(dict.fromkeys(one.notes + other.notes)),
        one.levels,
    )


def _words(names: tuple[str, ...], levels: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {"node": names, "level": levels} if levels else {"node": names}


def _index(names: tuple[str, ...], levels: tuple[str, ...]) -> pd.Index:
    if levels:
        return pd.MultiIndex.from_arrays([names, levels], names=["node", "level"])
    return pd.Index(names, name="node")


def _some(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return table[[name for name in ("node", "level", *columns) if name in table]]


def _place(names: tuple[str, ...], levels: tuple[str, ...], node: str, level: str | None) -> int:
    first = node_number(names, node, "node")
    here = names.count(node)
    if level is None:
        return first + here - 1
    return first + level_number(levels[first : first + here] if levels else (), level, "level")


def in_words(do: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in do.items()
    )


def shown(head: str, table: pd.DataFrame, notes: tuple[str, ...]) -> str:
    """Return the text that stands for an answer: its first rows, and what to be careful about."""
    body = table.head(12).to_string(index=False, float_format=lambda value: f"{value:.3g}")
    more = [f"… and {len(table) - 12} more"] if len(table) > 12 else []
    return "\n".join([head, body, *more, *(f"note: {note}" for note in notes)])
