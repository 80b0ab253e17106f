"""Local scores: how well a node is explained by a set of parents.

Examples
--------
>>> from parnidag import scores
>>> scores.Gaussian(g=5), scores.BGe(alpha_mu=0.5), scores.BDeu()
(Gaussian(g=5), BGe(alpha_mu=0.5, alpha_w=None, mean=None, standardise=True), BDeu(ess=1.0))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parnidag.scores.by_name import load

if TYPE_CHECKING:
    from parnidag.scores.bdeu import BDeu
    from parnidag.scores.copula import Copula
    from parnidag.scores.custom import Compiled, PythonScore
    from parnidag.scores.gaussian import BIC, BGe, Gaussian, GPrior
    from parnidag.scores.listed import Table
    from parnidag.scores.spline import Spline

__all__ = ["BIC", "BDeu", "BGe", "Compiled", "Copula", "GPrior", "Gaussian", "PythonScore", "Spline", "Table"]


def __getattr__(name: str) -> object:
    return load(name)
