"""Does what the past leaves unexplained depend on what it left unexplained a step before? Then more lags are needed."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from parnidag.data.columns import Floats, Integers

SURE = 0.01
"""How often a panel with lags enough is said to need more: the level of all tests of a panel together."""
FEWEST_SPARE = 20
"""So many rows more than regressors make the test worth its while."""


def autocorrelation(values: Floats, variables: int, units: Integers, times: Integers) -> tuple[Floats, Floats] | None:
    """Return for each variable the correlation of its residuals with those a step before, and p for all together.

    The first columns of `values` are the variables, all others their past and what never changes. Each residual of a
    regression on these is regressed once more, on them and on itself a step before.
    """
    order = np.lexsort((times, units))
    now, past = values[order, :variables], values[order, variables:]
    follows = np.flatnonzero((np.diff(units[order]) == 0) & (np.diff(times[order]) == 1)) + 1
    design = _standardised(past)
    spare = follows.size - design.shape[1] - 1
    if spare < FEWEST_SPARE:
        return None
    residuals = _left(design, _standardised(now)[:, 1:])
    before = _left(design[follows], residuals[follows - 1])
    after = _left(design[follows], residuals[follows])
    length = np.sqrt((before**2).sum(axis=0) * (after**2).sum(axis=0))
    correlation = np.divide((before * after).sum(axis=0), length, out=np.zeros(variables), where=length > 0)
    correlation = np.clip(correlation, -1 + 1e-12, 1 - 1e-12)
    t = correlation * np.sqrt(spare / (1 - correlation**2))
    return correlation, np.minimum(2 * stdtr(spare, -np.abs(t)) * variables, 1.0)


def dependent(found: dict[str, tuple[float, float]]) -> list[str]:
    """Return the variables that still depend on the step before, the surest first."""
    return sorted((name for name, (_, p) in found.items() if p < SURE), key=lambda name: found[name][1])


def _standardised(columns: Floats) -> Floats:
    """Return columns on one scale, behind one of ones."""
    spread = columns.std(axis=0)
    scaled = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.hstack([np.ones((len(columns), 1)), scaled])


def _left(design: Floats, targets: Floats) -> Floats:
    return np.asarray(targets - design @ np.linalg.lstsq(design, targets, rcond=None)[0])
