"""What follows, step by step, if a variable is set a little higher once: impulse responses.

Let A₀ hold the coefficients within a time and A_l those of lag l, [to, from]. What one unit more of a variable at time
t adds to all variables at that time is a column of R₀ = (I − A₀)⁻¹, and h steps later of

    R_h = (I − A₀)⁻¹ (A₁ R_{h−1} + … + A_L R_{h−L}),

the total effects in the graph rolled out over time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from parnidag.effects.draws import LinearDraws
from parnidag.effects.nodes import node_number
from parnidag.effects.totals import HIGH, LOW
from parnidag.kernels.types import Floats, Integers
from parnidag.results.dynamics import Slices

MOST_NUMBERS = 1 << 24
"""Coefficients that are held as matrices at a time (128 MB)."""


@dataclass(frozen=True, eq=False)
class ImpulseResponses:
    """How all variables respond over time to one unit more of a cause, set from outside at one time and then let go.

    Attributes
    ----------
    cause : str
        The variable that is set.
    variables : tuple of str
        The variables that respond, the cause among them.
    standardised : bool
        Whether responses are in standard deviations of both columns, instead of their own units.

    Examples
    --------
    >>> import numpy, parnidag
    >>> noise = numpy.random.default_rng(1).normal(size=(200, 2))
    >>> for t in range(1, 200):
    ...     noise[t, 1] += 0.8 * noise[t - 1, 0]
    >>> posterior = parnidag.sample(parnidag.Panel(noise, names=["x", "y"]), seed=1, progress=False)
    >>> print(posterior.impulse_responses("x", steps=2).mean["y"].abs().round(0).tolist())
    [0.0, 1.0, 0.0]
    """

    cause: str
    variables: tuple[str, ...]
    values: Floats
    """The response in every draw (draws × steps × variables)."""
    shape: tuple[int, int]
    standardised: bool = False

    def _table(self, values: Floats) -> pd.DataFrame:
        steps = pd.RangeIndex(values.shape[0], name="step")
        return pd.DataFrame(values, index=steps, columns=pd.Index(self.variables, name="effect"))

    @property
    def mean(self) -> pd.DataFrame:
        """Mean response: rows are steps after the cause was set, from 0 on, columns variables."""
        return self._table(self.values.mean(axis=0))

    @property
    def low(self) -> pd.DataFrame:
        """The 5 % quantile of every response over graphs and parameters."""
        return self._table(self._quantiles[0])

    @property
    def high(self) -> pd.DataFrame:
        """The 95 % quantile."""
        return self._table(self._quantiles[1])

    @cached_property
    def _quantiles(self) -> Floats:
        return np.asarray(np.quantile(self.values, [LOW, HIGH], axis=0))

    def draws(self, effect: str) -> Floats:
        """Return the response of a variable in every draw (chain, draw, step)."""
        return np.asarray(self.values[:, :, node_number(self.variables, effect, "effect")].reshape(*self.shape, -1))

    def summary(self) -> pd.DataFrame:
        """Tabulate the responses.

        Returns
        -------
        pandas.DataFrame
            Columns `effect`, `step`, `mean`, `5%`, `95%`, and `zero`, the probability that no path leads there.
        """
        steps, count = self.values.shape[1:]
        return pd.DataFrame(
            {
                "effect": np.repeat(self.variables, steps),
                "step": np.tile(np.arange(steps), count),
                "mean": self.values.mean(axis=0).T.ravel(),
                "5%": self._quantiles[0].T.ravel(),
                "95%": self._quantiles[1].T.ravel(),
                "zero": (self.values == 0.0).mean(axis=0).T.ravel(),
            }
        )

    def __repr__(self) -> str:
        units = "standard deviations" if self.standardised else "units of the columns"
        head = f"Responses to one more of {self.cause}, in {units}: mean at steps 0 to {self.values.shape[1] - 1}"
        return head + "\n" + self.mean.to_string(float_format=lambda value: f"{value:.3g}")


def impulse_responses(
    linear: LinearDraws, slices: Slices, cause: str, steps: int, standardised: bool
) -> ImpulseResponses:
    """Follow one unit more of a cause through every draw of a graph and its coefficients."""
    start, p, lags = node_number(slices.variables, cause, "cause"), len(slices.variables), slices.lags
    draws = linear.graphs.index.size
    found = np.empty((draws, steps + 1, p))
    at_once = max(MOST_NUMBERS // (p * p * (1 + lags)), 1)
    for first in range(0, draws, at_once):
        some = slice(first, min(first + at_once, draws))
        by_lag = _matrices(linear, np.arange(draws)[some], p, lags)
        pushed = np.zeros((len(by_lag), p))
        pushed[:, start] = 1.0
        for step in range(steps + 1):
            if step:
                pushed = np.zeros((len(by_lag), p))
            for lag in range(1, min(lags, step) + 1):
                pushed += _onwards(by_lag[:, lag], found[some, step - lag])
            found[some, step] = _within(by_lag[:, 0], pushed)
    if standardised:
        deviations = linear.scales.deviations[:p]
        found *= deviations[start] / deviations
    return ImpulseResponses(cause, slices.variables, found, linear.shape, standardised)


def _matrices(linear: LinearDraws, draws: Integers, p: int, lags: int) -> Floats:
    """Return the coefficients of some draws in units of the columns (draws × lag × from × to)."""
    graphs, units = linear.graphs, linear.scales.units
    found = np.zeros((draws.size, p * (1 + lags), p))
    for place, draw in enumerate(draws.tolist()):
        graph = graphs.graph_of[draw]
        slots = slice(graphs.laid.first[graph, 0], graphs.laid.first[graph, -1])
        parents, children = graphs.laid.parents[slots], graphs.children[slots]
        own = linear.drawn[linear.start[draw] : linear.start[draw] + parents.size] * units[children] / units[parents]
        moving = parents < p * (1 + lags)  # what never changes passes nothing on
        found[place, parents[moving], children[moving]] = own[moving]
    return found.reshape(draws.size, 1 + lags, p, p)


def _onwards(coefficients: Floats, values: Floats) -> Floats:
    """Return what values add to the nodes one edge on (draws × p); exactly 0 where there is no edge."""
    return np.asarray((values[:, None, :] @ coefficients)[:, 0])


def _within(coefficients: Floats, pushed: Floats) -> Floats:
    """Add up what follows within the time, along paths of any length; exactly 0 where there is no path."""
    total, last = pushed.copy(), pushed
    while last.any():
        last = _onwards(coefficients, last)
        total += last
    return total
