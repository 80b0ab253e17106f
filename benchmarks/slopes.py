"""How a cost grows: least squares on logarithmic axes, and whether one power describes all of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.harness.summaries import LEVEL, Interval

ALARM = 0.01
"""Probability of finding a bend in a straight line with noise, over all places where it could be."""
LEAST_BEND = 0.2
"""Powers closer than this are as good as the same: no one plans differently for them."""


class Bend(NamedTuple):
    """Where the power changes, and what it is on either side."""

    at: float
    below: Interval
    above: Interval


class Growth(NamedTuple):
    """The power over the whole range, and a bend if there is one."""

    power: Interval
    bend: Bend | None = None


def fit_growth(x: Sequence[float], y: Sequence[float]) -> Growth:
    """Fit y ∝ x^power to all points, replications included; intervals by Student's t on the residuals."""
    across, up = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    places = np.unique(across)
    if len(places) < 2:
        return Growth(Interval(math.nan, math.nan, math.nan))
    line = _Fit(np.column_stack([np.ones_like(across), across]), up)
    return Growth(line.interval([0, 1]), _bend(across, up, places, line))


class _Fit:
    """Least squares, and the intervals of sums of coefficients."""

    def __init__(self, columns: np.ndarray, up: np.ndarray) -> None:
        self.coefficients, *_ = np.linalg.lstsq(columns, up, rcond=None)
        self.left = float(((up - columns @ self.coefficients) ** 2).sum())
        self.free = len(up) - columns.shape[1]
        self.inverse = np.linalg.inv(columns.T @ columns)

    def interval(self, weights: Sequence[float]) -> Interval:
        """Return the interval of a weighted sum of coefficients; no interval when the fit is exact by its size."""
        chosen = np.asarray(weights, float)
        middle = float(chosen @ self.coefficients)
        if self.free < 1:
            return Interval(middle, math.nan, math.nan)
        error = math.sqrt(self.left / self.free * float(chosen @ self.inverse @ chosen))
        reach = float(stats.t.ppf((1 + LEVEL) / 2, self.free)) * error
        return Interval(middle, middle - reach, middle + reach)


def _bend(across: np.ndarray, up: np.ndarray, places: np.ndarray, line: _Fit) -> Bend | None:
    """Return the best place for a bend, if a broken line is better than chance would make it."""
    inner = places[1:-1]
    if len(inner) < 2 or len(up) < 5:
        return None

    def broken(at: float) -> _Fit:
        return _Fit(np.column_stack([np.ones_like(across), across, np.maximum(across - at, 0.0)]), up)

    at = min(inner, key=lambda place: broken(place).left)
    fit = broken(at)
    if abs(fit.coefficients[2]) < LEAST_BEND:
        return None
    ratio = (line.left - fit.left) / max(fit.left / fit.free, 1e-300)
    if float(stats.f.sf(ratio, 1, fit.free)) * len(inner) > ALARM:
        return None
    return Bend(float(np.exp(at)), fit.interval([0, 1, 0]), fit.interval([0, 1, 1]))


def power_text(symbol: str, power: Interval) -> str:
    """Write a power and its interval, as in n^0.3 (0.2 – 0.4)."""
    if math.isnan(power.middle):
        return "–"
    end = "" if math.isnan(power.low) else f" ({_number(power.low)} – {_number(power.high)})"
    return f"{symbol}^{_number(power.middle)}{end}"


def growth_text(symbol: str, what: str, growth: Growth) -> str:
    """Say how a cost grows, in words."""
    text = f"{what} ∝ {power_text(symbol, growth.power)}"
    if growth.bend is None:
        return text
    below, above = power_text(symbol, growth.bend.below), power_text(symbol, growth.bend.above)
    return f"{text}, which bends at {symbol} ≈ {growth.bend.at:,.4g}: {below} below, {above} above"


def _number(value: float) -> str:
    """Write two digits, with a proper minus and no negative zero."""
    shown = f"{value:.2f}"
    return "0.00" if shown == "-0.00" else shown.replace("-", "−")
