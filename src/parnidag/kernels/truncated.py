"""Normal numbers between bounds, by rejection: from the normal itself, a uniform or an exponential (Robert 1995).

Whichever proposal is used, at least about four in ten are accepted, however far out in a tail the bounds lie.
"""

from __future__ import annotations

import math

from parnidag.kernels.jit import kernel
from parnidag.kernels.random import RandomState, happens, normal, uniform

WIDE = 2.5
"""Bounds with the mode between them that are further apart than this hold enough of the normal law to draw from it."""


@kernel
def normal_between(rng: RandomState, low: float, high: float) -> float:
    """Return a standard normal number between two bounds, either of which may be infinite."""
    if low > 0.0:
        return tail(rng, low, high)
    if high < 0.0:
        return -tail(rng, -high, -low)
    while True:
        if high - low > WIDE:
            x = normal(rng)
            if low <= x <= high:
                return x
        else:
            x = low + (high - low) * uniform(rng)
            if happens(rng, math.exp(-0.5 * x * x)):
                return x


@kernel
def tail(rng: RandomState, low: float, high: float) -> float:
    """Return a standard normal number between bounds above 0."""
    if 0.5 * (high - low) * (high + low) < 1.0:  # the density falls by less than a factor of e
        while True:
            x = low + (high - low) * uniform(rng)
            if happens(rng, math.exp(0.5 * (low - x) * (low + x))):
                return x
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    inside = -math.expm1(-rate * (high - low))
    while True:
        x = low - math.log1p(-uniform(rng) * inside) / rate
        if x <= high and happens(rng, math.exp(-0.5 * (x - rate) ** 2)):
            return x
