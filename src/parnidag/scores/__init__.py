"""Local scores: how well a node is explained by a set of parents."""

from __future__ import annotations

from parnidag.scores.bdeu import BDeu
from parnidag.scores.custom import Compiled, PythonScore
from parnidag.scores.gaussian import BIC, BGe, Gaussian, GPrior
from parnidag.scores.spline import Spline

__all__ = ["BIC", "BDeu", "BGe", "Compiled", "GPrior", "Gaussian", "PythonScore", "Spline"]
