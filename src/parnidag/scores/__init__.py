"""Local scores: how well a node is explained by a set of parents."""

from __future__ import annotations

from parnidag.scores.gaussian import Gaussian

__all__ = ["Gaussian"]
