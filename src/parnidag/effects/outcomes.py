"""What columns of numbers are when an experimenter sets some of them, and how two such settings compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parnidag.effects.monte_carlo import standard_errors
from parnidag.effects.nodes import node_number
from parnidag.kernels.types import Floats

LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Every variable after an intervention, over graphs and parameters, in units of the columns.

    Attributes
    ----------
    do : dict
        The nodes that are set, and to what.
    notes : list of str
        What to be careful about, such as values that the data never come near.
    """

    names: tuple[str, ...]
    do: Mapping[str, float]
    expected: Floats
    """The mean of each node under the parameters of each draw (chain, draw, node)."""
    single: Floats
    """One new row for each draw (chain, draw, node)."""
    given_graph: Floats
    """Posterior means given the graph of each draw (chain, draw, node)."""
    independent: bool
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> pd.Series:
        """The expected value of every variable."""
        return pd.Series(self.given_graph.mean(axis=(0, 1)), index=pd.Index(self.names, name="node"), name="mean")

    def summary(self) -> pd.DataFrame:
        """Tabulate the variables that are not set.

        Returns
        -------
        pandas.DataFrame
            Columns `node`; `mean`, the expected value; `mean_5%` and `mean_95%`, how well graphs and parameters let it
            be known; `sd`, `5%` and `95%` of a single new row; and `mcse`, the Monte-Carlo standard error of the mean.
        """
        low, high = np.quantile(self.expected, [LOW, HIGH], axis=(0, 1))
        one_low, one_high = np.quantile(self.single, [LOW, HIGH], axis=(0, 1))
        table = pd.DataFrame(
            {
                "node": self.names,
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

    def draws(self, node: str, rows: bool = False) -> Floats:
        """Return the expected value of a node in every draw, (chain, draw); with `rows`, a single new row of each."""
        return np.asarray((self.single if rows else self.expected)[:, :, node_number(self.names, node, "node")])

    def __repr__(self) -> str:
        head = f"Outcomes under do({in_words(self.do)})"
        return shown(head, self.summary()[["node", "mean", "mean_5%", "mean_95%", "sd"]], self.notes)


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
    do: Mapping[str, float]
    versus: Mapping[str, float]
    difference: Floats
    """(chain, draw, node)"""
    given_graph: Floats
    independent: bool
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> pd.Series:
        """The expected difference of every variable."""
        return pd.Series(self.given_graph.mean(axis=(0, 1)), index=pd.Index(self.names, name="node"), name="mean")

    def summary(self) -> pd.DataFrame:
        """Tabulate the variables that are set in neither: columns as in `Effects.summary`."""
        low, high = np.quantile(self.difference, [LOW, HIGH], axis=(0, 1))
        table = pd.DataFrame(
            {
                "node": self.names,
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

    def draws(self, node: str) -> Floats:
        """Return the difference for a node in every draw, (chain, draw)."""
        return np.asarray(self.difference[:, :, node_number(self.names, node, "node")])

    def __repr__(self) -> str:
        head = f"Difference between do({in_words(self.do)}) and do({in_words(self.versus)})"
        return shown(head, self.summary()[["node", "mean", "5%", "95%", "zero"]], self.notes)


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
    )


def in_words(do: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in do.items()
    )


def shown(head: str, table: pd.DataFrame, notes: tuple[str, ...]) -> str:
    """Return the text that stands for an answer: its first rows, and what to be careful about."""
    body = table.head(12).to_string(index=False, float_format=lambda value: f"{value:.3g}")
    more = [f"… and {len(table) - 12} more"] if len(table) > 12 else []
    return "\n".join([head, body, *more, *(f"note: {note}" for note in notes)])
