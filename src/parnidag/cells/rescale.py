"""Another scale for a column of which data tell only on which side of one cut each cell lies: compiled.

Of yes or no nothing but the prior says how large the latent numbers are. A sweep that draws cells given the parameters
and parameters given the cells moves that scale by a share of about 1/√N, and so hardly at all in a large table. Here
all of it changes at once: cells z_c around the cut k by a factor s, and with them the parameters, so that the residuals
of the column become s times as large and those of other columns stay,

    z_c → k + s (z_c − k),   σ_c → s σ_c,   β_ic → s β_ic,   β_cd → β_cd / s,   means to fit.

No cell crosses the cut. The density of the cells falls by as much as their volume grows, so that only the prior of the
parameters decides. With a the prior's shape of σ²_c, t its scale, h the number of children d of c, and

    Q = (t + α_μ μ²_c) / σ²_c + Σ_d (t β²_cd + α_μ μ²_d) / σ²_d,

a step on log s is accepted with the ratio exp(−(2a + h) log s − (Q' − Q) / 2). (Moves by a group of transformations:
Liu and Sabatti 2000; the scale of probit models: Liu and Wu 1999.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from parnidag.cells.arrays import CellArrays, CellLayout
from parnidag.kernels.jit import kernel
from parnidag.kernels.random import RandomState, normal, uniform
from parnidag.kernels.types import int64

TRIES, STEP = 3, 0.4


class CellPrior(NamedTuple):
    """The prior of the parameters of columns."""

    alpha_mu: float
    """Rows that the prior mean counts for."""
    alpha_w: float
    """Degrees of freedom."""
    scale: float
    """The diagonal of the prior's matrix."""


@kernel
def rescale_columns(layout: CellLayout, own: CellArrays, prior: CellPrior, rng: RandomState) -> None:
    for c in range(layout.cut.size):
        if not math.isnan(layout.cut[c]):
            factor = draw_factor(layout.cut[c], own, prior, int64(c), rng)
            if factor != 1.0:
                rescale(layout.cut[c], own, int64(c), factor)


@kernel
def draw_factor(cut: float, own: CellArrays, prior: CellPrior, c: int, rng: RandomState) -> float:
    """Take a few steps on log s."""
    degrees = prior.alpha_w - own.totals.size + own.member_count[c] + 1.0 + own.child_count[c]
    factor, before = 1.0, penalty(cut, own, prior, c, 1.0)
    for _ in range(TRIES):
        tried = factor * math.exp(STEP * normal(rng))
        after = penalty(cut, own, prior, c, tried)
        if math.log(uniform(rng)) < degrees * math.log(factor / tried) + 0.5 * (before - after):
            factor, before = tried, after
    return factor


@kernel
def penalty(cut: float, own: CellArrays, prior: CellPrior, c: int, factor: float) -> float:
    """Q, were the column rescaled."""
    mean = factor * own.intercepts[c] + (1.0 - factor) * cut
    total: float = (prior.scale + prior.alpha_mu * mean * mean) / (own.noise[c] * factor * factor)
    for k in range(own.child_count[c]):
        d = own.children[c, k]
        coefficient = own.drawn[c, d] / factor
        mean = own.intercepts[d] - coefficient * (1.0 - factor) * cut
        total += (prior.scale * coefficient * coefficient + prior.alpha_mu * mean * mean) / own.noise[d]
    return total


@kernel
def rescale(cut: float, own: CellArrays, c: int, factor: float) -> None:
    for row in range(own.table.shape[1]):
        own.table[c, row] = cut + factor * (own.table[c, row] - cut)
        own.residuals[c, row] *= factor
    own.intercepts[c] = factor * own.intercepts[c] + (1.0 - factor) * cut
    own.noise[c] *= factor * factor
    for k in range(own.member_count[c]):
        own.drawn[own.members[c, k], c] *= factor
    for k in range(own.child_count[c]):
        d = own.children[c, k]
        own.drawn[c, d] /= factor
        own.intercepts[d] -= own.drawn[c, d] * (1.0 - factor) * cut
