"""Means and medians with their uncertainty, and Markdown tables of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95


class Interval(NamedTuple):
    """An estimate and where it might be, at 95 %."""

    middle: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean and its interval by Student's t; no interval from one value."""
    found = np.asarray(values, float)
    if len(found) < 2:
        return Interval(float(found.mean()) if len(found) else math.nan, math.nan, math.nan)
    middle, error = float(found.mean()), float(found.std(ddof=1)) / math.sqrt(len(found))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(found) - 1)) * error
    return Interval(middle, middle - reach, middle + reach)


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median and an interval between two of the values that holds the true median at 95 % or more.

    Whatever the law: the number of values below the median is binomial. Fewer than six values cannot do it.
    """
    found = np.sort(np.asarray(values, float))
    middle = float(np.median(found)) if len(found) else math.nan
    below = int(stats.binom.ppf((1 - LEVEL) / 2, len(found), 0.5)) if len(found) else 0
    while below > 0 and 1 - 2 * stats.binom.cdf(below - 1, len(found), 0.5) < LEVEL:
        below -= 1
    if below < 1:
        return Interval(middle, math.nan, math.nan)
    return Interval(middle, float(found[below - 1]), float(found[-below]))


def plus_minus(interval: Interval, form: str = ".2f") -> str:
    """Write a mean with half the width of its interval."""
    if math.isnan(interval.middle):
        return "–"
    end = "" if math.isnan(interval.low) else f" ± {interval.half:{form}}"
    return f"{interval.middle:{form}}{end}"


def scientific(value: float) -> str:
    """Write a small number for people: 1.8·10⁻⁸."""
    if math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    lead = value / 10.0**power
    if round(lead, 1) >= 10:
        lead, power = lead / 10, power + 1
    return f"{lead:.1f}·10{str(power).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def scientific_range(interval: Interval) -> str:
    """Write a small number and its interval."""
    if math.isnan(interval.low):
        return scientific(interval.middle)
    return f"{scientific(interval.middle)} ({scientific(interval.low)} – {scientific(interval.high)})"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table; the first columns are aligned to the left, the others to the right."""
    rule = ["---" if k < left else "---:" for k in range(len(headings))]
    lines = [headings, rule, *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
