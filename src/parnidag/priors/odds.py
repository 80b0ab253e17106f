"""Odds of edges with a law of their own: learned along with the graph, or different for every node."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, expit, logit, logsumexp

from parnidag._util.checks import number
from parnidag.errors import PriorError

SPACING = 0.25
"""Between values of h that is learned, in log odds."""
LEAST_BETA, MOST_BETA = 1e-3, 1e9


@dataclass(frozen=True)
class Beta:
    """What is believed of the edge odds weight h if it is to be learned along with the graph: h ~ Beta(a, b).

    Given h a graph of E edges weighs (h/(1 − h))^E, divided by what all graphs weigh together, so that h by itself has
    the prior Beta(a, b), and the weight of a graph depends on its number of edges alone. In computations h has one of
    finitely many values, `SPACING` apart in log odds.

    Parameters
    ----------
    a, b
        Positive; the mean of h is a/(a + b).

    Examples
    --------
    >>> import parnidag
    >>> parnidag.EdgePrior(h=parnidag.Beta(1, 9)).h
    Beta(a=1, b=9)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            number(getattr(self, name), name, least=LEAST_BETA, most=MOST_BETA, error=PriorError)

    def grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return values of h, equally far apart in log odds, and the log of the probability of each."""
        least, most = logit(np.clip(betaincinv(self.a, self.b, (1e-6, 1.0 - 1e-9)), 1e-12, 1.0 - 1e-12)).tolist()
        h = expit(np.linspace(least, most, max(round((most - least) / SPACING), 1) + 1))
        logs = self.a * np.log(h) + self.b * np.log1p(-h)  # a density over log odds
        return h, logs - logsumexp(logs)


def weights_by_children(n: int, h: float, a: float) -> NDArray[np.float64]:
    """Return log B(a + c, b + n − 1 − c)/B(a, b) for c = 0 … n − 1 children, less what c edges of odds h weigh."""
    c, b = np.arange(n), a * (1.0 - h) / h
    logs = betaln(a + c, b + n - 1 - c) - betaln(a, b)
    return np.asarray(logs - c * (math.log(h) - math.log1p(-h)))
