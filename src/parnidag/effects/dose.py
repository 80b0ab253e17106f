"""What becomes of a node when a cause is set to one value after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from parnidag.effects.monte_carlo import standard_errors
from parnidag.effects.outcomes import HIGH, LOW, shown
from parnidag.kernels.types import Floats


@dataclass(frozen=True, eq=False)
class DoseResponse:
    """The mean of one node for each value that another is set to, over graphs and parameters.

    Attributes
    ----------
    cause, effect : str
        The node that is set, and the one that is looked at.
    values : array
        What the cause is set to, in units of its column.
    no_effect : float
        Probability that there is no directed path: then the curve is level.
    notes : list of str
        What to be careful about, such as values that the data never come near.
    """

    cause: str
    effect: str
    values: Floats
    expected: Floats
    """The mean of the effect under the parameters of each draw (chain, draw, value)."""
    given_graph: Floats
    """Its posterior mean given the graph of each draw, where that has a closed form (chain, draw, value)."""
    no_effect: float
    independent: bool
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> pd.Series:
        """The expected value of the effect for each value of the cause."""
        index = pd.Index(self.values, name=self.cause)
        return pd.Series(self.given_graph.mean(axis=(0, 1)), index=index, name=self.effect)

    def summary(self) -> pd.DataFrame:
        """Tabulate the curve.

        Returns
        -------
        pandas.DataFrame
            Columns `value`, what the cause is set to; `mean`, the expected value of the effect; `sd`, `5%` and `95%`,
            how well graphs and parameters let it be known; and `mcse`, the Monte-Carlo standard error of the mean.
        """
        low, high = np.quantile(self.expected, [LOW, HIGH], axis=(0, 1))
        return pd.DataFrame(
            {
                "value": self.values,
                "mean": self.mean.to_numpy(),
                "sd": self.expected.std(axis=(0, 1)),
                "5%": low,
                "95%": high,
                "mcse": standard_errors(self.given_graph, self.independent),
            }
        )

    def draws(self) -> Floats:
        """Return the curve of every draw, (chain, draw, value)."""
        return self.expected.copy()

    def __repr__(self) -> str:
        head = f"{self.effect} if {self.cause} is set; no effect with probability {self.no_effect:.3g}"
        return shown(head, self.summary(), self.notes)
