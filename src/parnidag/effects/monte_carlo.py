"""Monte-Carlo errors and R-hat of many averages at once, from their draws (chain, draw, quantity)."""

from __future__ import annotations

import numpy as np

from parnidag.kernels.types import Floats

MOST_BATCHES = 20
"""Batches that a chain is cut into."""


def standard_errors(values: Floats, independent: bool) -> Floats:
    """Return the standard error of the mean over all draws of each quantity.

    Of a chain's draws it is the larger of what batch means and what chain means say, as for edges; NaN where there are
    too few draws to tell.
    """
    chains, draws = values.shape[:2]
    if chains * draws < 2:
        return np.full(values.shape[2:], np.nan)
    if independent:
        return np.asarray(values.std(axis=(0, 1), ddof=1) / np.sqrt(chains * draws))
    batches = min(MOST_BATCHES, draws // 2)
    if batches * chains < 2:
        return np.full(values.shape[2:], np.nan)
    size = draws // batches
    means = values[:, draws - batches * size :].reshape(chains, batches, size, *values.shape[2:]).mean(axis=2)
    variance = means.var(axis=(0, 1), ddof=1) / (chains * batches)
    grand = means.mean(axis=(0, 1))
    variance = np.maximum(variance, ((means - grand) ** 2).mean(axis=(0, 1)) / (chains * batches))
    if chains > 1:
        variance = np.fmax(variance, values.mean(axis=1).var(axis=0, ddof=1) / chains)
    return np.asarray(np.sqrt(variance))


def split_rhat(values: Floats) -> Floats:
    """Return split R-hat of each quantity: NaN where nothing varies, infinity where only the halves differ."""
    half = values.shape[1] // 2
    if half < 2:
        return np.full(values.shape[2:], np.nan)
    halves = np.concatenate([values[:, :half], values[:, values.shape[1] - half :]])
    still = np.ptp(halves, axis=1) == 0
    spread = halves.var(axis=1, ddof=1)
    within = np.where(still, 0.0, spread).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    apart = np.ptp(halves, axis=(0, 1)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt((half - 1) / half + between / within)
    return np.asarray(np.where(within > 0, rhat, np.where(apart, np.inf, np.nan)))
