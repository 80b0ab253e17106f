"""Curved columns: the natural cubic splines of a variable, less its straight line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]


def curves(x: Floats, count: int) -> Floats:
    """Return curved columns of a standardised variable: centred, orthogonal to it and to each other, of variance 1.

    They span the natural cubic splines with `count` + 2 knots at quantiles, less the straight lines. Where few distinct
    values leave no room for so many bends, the rest are zero: they explain nothing, and cost nothing.
    """
    return _curves(x, count)[0]


def curve_weights(x: Floats, count: int) -> tuple[Floats, Floats]:
    """Return knots and weights with which `curves` can be had at any other place.

    The columns at t are [1, t, (t − knot)³ where positive, …] times the weights (terms × columns).
    """
    _, knots, lines, turn = _curves(x, count)
    weights = np.zeros((2 + len(knots), count))
    if turn.size == 0:
        return knots, weights
    last, inner = knots[-1], knots[:-2]
    natural = np.zeros((len(knots), len(inner)))
    natural[np.arange(len(inner)), np.arange(len(inner))] = 1.0 / (last - inner)
    natural[-1] = 1.0 / (last - knots[-2]) - 1.0 / (last - inner)
    natural[-2] = -1.0 / (last - knots[-2])
    weights[:, : turn.shape[1]] = np.vstack([-lines, natural]) @ turn
    return knots, weights


def _curves(x: Floats, count: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the curved columns, their knots, the lines that natural splines lose, and how the rest is turned."""
    knots = np.unique(np.quantile(x, np.linspace(0.0, 1.0, count + 2)))
    found = np.zeros((len(x), count))
    if len(knots) < 3:
        return found, knots, np.zeros((2, 0)), np.zeros((0, 0))
    basis = _natural(x, knots)
    lines = np.column_stack([np.ones_like(x), x])
    lost = np.linalg.lstsq(lines, basis, rcond=None)[0]
    bent = basis - lines @ lost
    scale = np.abs(basis).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    u, size, turned = np.linalg.svd(bent / scale, full_matrices=False)
    kept = int((size > 1e-8 * max(size.max(), 1e-300)).sum()) if size.max() > 1e-10 * math.sqrt(len(x)) else 0
    root = math.sqrt(len(x) - 1)
    found[:, :kept] = u[:, :kept] * root
    return found, knots, lost, turned[:kept].T / scale[:, None] / size[:kept] * root


def _natural(x: Floats, knots: Floats) -> Floats:
    """Return the curved functions of the natural cubic spline basis: straight beyond the outermost knots."""
    last = knots[-1]

    def truncated(knot: float) -> Floats:
        return np.asarray((np.maximum(x - knot, 0.0) ** 3 - np.maximum(x - last, 0.0) ** 3) / (last - knot))

    reference = truncated(knots[-2])
    return np.column_stack([truncated(knot) - reference for knot in knots[:-2]])
