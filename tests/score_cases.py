"""The scores of the package: whatever is listed here gets the tests that every score must pass.

That is its exact transition matrix on three nodes, enumeration on four, and values that were set by an experimenter,
which must say nothing about the parents of the node that was set.
"""

from __future__ import annotations

import reference

from parnidag import scores
from parnidag.data import Data

SCORES = {
    "Gaussian": scores.Gaussian(),
    "GPrior": scores.GPrior(g=10),
    "BGe": scores.BGe(),
    "BIC": scores.BIC(),
    "Spline": scores.Spline(),
    "Copula": scores.Copula(alpha_w=None),
    "BDeu": scores.BDeu(),
}
DISCRETE = ("BDeu",)
"""Scores of classes; all others are of measurements."""


def values_for(name, n, rows=25):
    """A table of the kind that a score takes."""
    values = reference.small_values(n, n_rows=rows)
    return (values > 0.3).astype(float) if name in DISCRETE else values


def data_for(name, values, **options):
    return Data(values, kind="discrete" if name in DISCRETE else "continuous", **options)
