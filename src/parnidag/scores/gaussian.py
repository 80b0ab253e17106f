"""Scores for linear relations with Gaussian noise: the paper's, Zellner's g-prior, BGe and BIC.

All are matrices and coefficients for the one kernel in `kernels.local_score` (`kernels.problem` has its formula).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from parnidag._util.checks import is_number, number
from parnidag._util.text import shorten
from parnidag.data.table import Data
from parnidag.errors import DataError, ParnidagError
from parnidag.kernels.problem import ScoreTable, gaussian_table
from parnidag.kernels.types import Floats, Integers
from parnidag.scores.base import Patterns, Score, check_learnable

LEAST_G, MOST_G = 1e-8, 1e12  # slab variances between which the arithmetic is sound
LEARNED_G = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
LEARNED_WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
LEARNED_ROWS = tuple(2.0**k for k in range(-2, 7))  # what BGe's prior covariance may count, beside the least
SINGULAR = 1e-11  # the least eigenvalue of a correlation matrix that is no rounding
MOST_SETS = 2000  # sets of columns that are checked one by one
SLIGHT = 0.01  # sum of squares, in rows' worth of BGe's prior, below which ten thousand rows would say nothing


class Moments(NamedTuple):
    """Cross products over the rows that each group of nodes may use."""

    grams: Floats
    """Centred on these rows (patterns × n × n)."""
    counts: Floats
    """Numbers of rows (patterns)."""
    pattern: Integers
    """The group of each node (n)."""

    def own(self) -> Floats:
        """Return the diagonal, each node's from its own rows."""
        nodes = np.arange(len(self.pattern))
        return np.asarray(self.grams[self.pattern, nodes, nodes])


def standardised_moments(data: Data, patterns: Patterns) -> Moments:
    """Return the moments of the columns in units of their standard deviation over all rows.

    A column that does not vary in the rows of a group is zero there, and so are its cross products.
    """
    grams = [data.scaled_gram(rows) for rows in patterns.rows]
    counts = [data.count_rows(rows) for rows in patterns.rows]
    return Moments(np.array(grams), np.array(counts, float), patterns.of_node)


def moments_to_invert(data: Data, patterns: Patterns) -> Moments:
    """Return `standardised_moments` for scores that add nothing to the matrix they factorise.

    Columns that do not vary in some rows explain nothing there, instead of leaving 0/0. The price of their coefficients
    is that of any other, since these scores do not know the scale of a column.
    """
    moments = standardised_moments(data, patterns)
    columns = np.arange(data.n_nodes)
    diagonal = moments.grams[:, columns, columns]
    moments.grams[:, columns, columns] = np.where(diagonal > 0.0, diagonal, 1.0)
    return moments


def coefficients(constant: Floats, determinant: float, quadratic: Floats) -> Floats:
    """Return the factors of the kernel's three terms (patterns × 3 × numbers of columns that parents may have)."""
    return np.stack(np.broadcast_arrays(constant, determinant, quadratic), axis=1)


def check_positive(value: object, argument: str = "g", note: str = " (the slab variance)") -> None:
    number(value, argument, least=LEAST_G, most=MOST_G, what=f"a positive number{note}")


def refuse_wide_slab(matrices: Floats, rows: Floats, g: float, argument: str = "g") -> None:
    """Refuse a slab so wide that it does not tell apart columns that depend on each other; the default never is."""
    if g * float(rows.max()) * SINGULAR > 1.0 and any(map(is_singular, matrices)):
        raise DataError(
            f"some columns are linear combinations of others, which {argument}={g:g} cannot tell apart in double "
            f"precision; use a smaller {argument}"
        )


@dataclass(frozen=True)
class Gaussian(Score):
    """The paper's score: spike-and-slab linear regression of each node on its parents (Appendix A).

    Coefficients have the prior Normal(0, g σ²), noise variances p(σ²) ∝ 1/σ²; both are integrated out. The columns are
    centred and divided by their standard deviation first. Every constant of the marginal likelihood is included.
    This score is not score-equivalent: graphs that imply the same independences can score differently.

    Parameters
    ----------
    g
        Prior variance of a coefficient relative to the noise variance; 10 in the paper. ``"learn"`` learns it along
        with the graph, one value for all nodes, from 0.01 to 100; a tuple gives the values to choose from, which are
        equally probable beforehand.
    """

    learns: ClassVar[str] = "g"

    g: float | tuple[float, ...] | Literal["learn"] = 10.0

    def __post_init__(self) -> None:
        check_learnable(self, check_positive, "a positive number (the slab variance)")

    def learned_values(self, n_nodes: int) -> tuple[float, ...]:
        return LEARNED_G

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        moments, g = standardised_moments(data, patterns), float(self.g)  # type: ignore[arg-type]
        q, rows = np.arange(data.n_nodes), moments.counts[:, None]
        constant = flat_constant(rows) - q / 2 * math.log(g)
        shifted = moments.grams + np.eye(data.n_nodes) / g
        refuse_wide_slab(shifted, rows, g)
        return gaussian_table(shifted, moments.own(), coefficients(constant, -0.5, -rows / 2), moments.pattern)


def flat_constant(rows: Floats) -> Floats:
    """Return log Γ(N/2) − N/2 log π: what the flat prior on log σ² leaves for every node."""
    return np.asarray(gammaln(rows / 2) - rows / 2 * math.log(math.pi))


def is_singular(matrix: Floats) -> bool:
    """Ask whether columns depend on each other so nearly that factorising their matrix would give rounding errors.

    That is, whether the matrix, scaled to a diagonal of 1, has an eigenvalue below `SINGULAR`: variances that are left
    then have relative errors up to about 10⁻⁴.
    """
    root = np.sqrt(np.diagonal(matrix))
    try:
        np.linalg.cholesky(matrix / root[:, None] / root - SINGULAR * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return True
    return False


def refuse_dependent(data: Data, moments: Moments, spare: int, reason: str) -> None:
    """Refuse columns that are linear combinations of others in the rows that some nodes use.

    Those that matter are a node and its parents, which must be fewer than rows; with `spare` 1 the parents alone.
    """
    for group, (gram, rows) in enumerate(zip(moments.grams, moments.counts, strict=True)):
        if rows > data.n_nodes and not is_singular(gram):
            continue  # then no part of it is
        if any(is_singular(gram[np.ix_(columns, columns)]) for columns in _sets_to_check(gram, int(rows), spare)):
            nodes = shorten([data.names[j] for j in np.flatnonzero(moments.pattern == group).tolist()])
            where = f" in the rows without interventions on {nodes}" if rows < data.n_rows else ""
            raise DataError(f"some columns are linear combinations of others{where}: {reason}")


def _sets_to_check(gram: Floats, rows: int, spare: int) -> Iterator[Sequence[int]]:
    """Give the pair that is most alike, and all sets of the largest size there can be.

    Where there would be too many, they are of a smaller size: few rows leave very many sets, and to find those that
    depend on each other is a search of its own.
    """
    n = len(gram)
    most = min(n, rows - 1) - spare
    if most >= 2:
        root = np.sqrt(np.diagonal(gram))
        alike = np.triu(np.abs(gram / root[:, None] / root), 1)
        yield np.unravel_index(int(alike.argmax()), alike.shape)  # type: ignore[misc]
    yield from combinations(range(n), max((k for k in range(3, most + 1) if math.comb(n, k) <= MOST_SETS), default=0))


@dataclass(frozen=True)
class GPrior(Score):
    """Zellner's g-prior: coefficients are Normal(0, g σ² (XᵀX)⁻¹), so that their scale follows the data's.

    The remark of the paper's Appendix A. Otherwise as `Gaussian`; it is not score-equivalent either. Sets of N − 1 or
    more parents, which leave no row to learn from, have probability 0. Parents that are linear combinations of each
    other have no such prior, and are refused.

    Parameters
    ----------
    g
        Weight of the prior: one row's worth with N (the unit information prior), which None stands for. ``"learn"``
        learns it along with the graph, one value for all nodes, from 1 to 3000; a tuple gives the values to choose
        from.
    """

    learns: ClassVar[str] = "g"

    g: float | tuple[float, ...] | Literal["learn"] | None = None

    def __post_init__(self) -> None:
        if self.g is not None:
            check_learnable(self, check_positive, "a positive number")

    def learned_values(self, n_nodes: int) -> tuple[float, ...]:
        return LEARNED_WEIGHTS

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        moments = moments_to_invert(data, patterns)
        g = float(data.n_rows if self.g is None else self.g)  # type: ignore[arg-type]
        spare = 1 if g * SINGULAR < 1.0 else 0  # a wide prior lets parents that explain all of a node explain all of it
        refuse_dependent(data, moments, spare, "they have no g-prior; use another score, such as Gaussian")
        q, rows = np.arange(data.n_nodes), moments.counts[:, None]
        constant = np.where(q < rows - 1, flat_constant(rows) - q / 2 * math.log1p(g), -np.inf)
        factors = coefficients(constant, 0.0, -rows / 2)
        return gaussian_table(moments.grams, moments.own(), factors, moments.pattern, mix=g / (1 + g))


@dataclass(frozen=True)
class BIC(Score):
    """The Bayesian information criterion of linear regressions, −BIC/2: an approximation that needs no prior.

    It is the largest log likelihood of the standardised columns less ½ log N for every coefficient, intercept and
    variance; graphs that imply the same independences score the same. Sets of N − 1 or more parents are ruled out.
    """

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        moments = moments_to_invert(data, patterns)
        refuse_dependent(data, moments, 0, "their BIC is infinite; use another score")
        q, rows = np.arange(data.n_nodes), moments.counts[:, None]
        constant = -rows / 2 * (np.log(2 * math.pi / rows) + 1) - (q + 2) / 2 * np.log(rows)
        factors = coefficients(np.where(q < rows - 1, constant, -np.inf), 0.0, -rows / 2)
        return gaussian_table(moments.grams, moments.own(), factors, moments.pattern)


@dataclass(frozen=True)
class BGe(Score):
    """Bayesian Gaussian score-equivalent: a normal-Wishart prior on mean and precision of all nodes together.

    The form of Geiger and Heckerman as corrected by Kuipers, Moffa and Heckerman (2014, Annals of Statistics 42).
    Graphs that imply the same independences score the same. The prior covariance has equal variances, so columns are
    divided by their standard deviations first; with ``standardise=False`` they are taken as they are, and should be on
    comparable scales around 1. Columns that vary so little that the prior would outweigh them are then refused, and
    those whose means are about 10⁶ standard deviations from the prior mean, where rounding would decide.

    Parameters
    ----------
    alpha_mu
        How many rows' worth the prior mean counts.
    alpha_w
        Degrees of freedom of the Wishart prior, more than n + 1 for n nodes; None means n + alpha_mu + 1. The more, the
        weaker the effects that it expects. ``"learn"`` learns it along with the graph, from n + 1¼ to n + 65; a tuple
        gives the values to choose from, which are equally probable beforehand. Since it is one for the whole table,
        graphs that imply the same independences still score the same.
    mean
        The prior mean of each column, or one number for all; None means 0.
    standardise
        Whether columns are centred and divided by their standard deviations first.
    """

    learns: ClassVar[str] = "alpha_w"

    alpha_mu: float = 1.0
    alpha_w: float | tuple[float, ...] | Literal["learn"] | None = None
    mean: float | Sequence[float] | None = None
    standardise: bool = True

    def __post_init__(self) -> None:
        check_positive(self.alpha_mu, "alpha_mu", "")
        if self.alpha_w is not None:
            check_learnable(self, partial(check_positive, argument="alpha_w", note=""), "a positive number")
        if not isinstance(self.standardise, bool):
            raise ParnidagError(f"standardise must be True or False, got {self.standardise!r}")
        if self.mean is not None:
            numbers = as_numbers(self.mean)
            if not is_number(self.mean):
                object.__setattr__(self, "mean", numbers)

    def learned_values(self, n_nodes: int) -> tuple[float, ...]:
        return tuple(n_nodes + 1 + rows for rows in LEARNED_ROWS)

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        n, alpha_mu = data.n_nodes, float(self.alpha_mu)
        alpha_w = n + alpha_mu + 1 if self.alpha_w is None else float(self.alpha_w)  # type: ignore[arg-type]
        if alpha_w <= n + 1:
            raise ParnidagError(f"alpha_w must be more than n + 1 = {n + 1} for {n} nodes, got {self.alpha_w!r}")
        moments_of = data.scaled_moments if self.standardise else data.centred_gram
        grams, means = map(np.array, zip(*map(moments_of, patterns.rows), strict=True))
        if not self.standardise:
            refuse_slight(self, data, np.diagonal(grams, axis1=1, axis2=2).max(axis=0))
        rows = np.array([data.count_rows(rows) for rows in patterns.rows], float)
        prior_scale = bge_prior_scale(n, alpha_mu, alpha_w)
        off = means - bge_prior_mean(self, n)
        weight = (rows * alpha_mu / (rows + alpha_mu))[:, None, None]
        with np.errstate(over="ignore", invalid="ignore"):
            matrices = grams + weight * off[:, :, None] * off[:, None, :] + prior_scale * np.eye(n)
        if not np.isfinite(matrices).all() or any(map(is_singular, matrices)):
            raise DataError(
                "BGe cannot tell the columns apart in double precision: they are nearly linear combinations of others, "
                "or their means are too far from the prior mean beside their spread; "
                + ("use a larger alpha_mu" if self.standardise else "use standardise=True")
            )
        factors = bge_coefficients(rows, n, alpha_mu, alpha_w)
        nodes = np.arange(n)
        return gaussian_table(matrices, matrices[patterns.of_node, nodes, nodes], factors, patterns.of_node)


def refuse_slight(score: BGe, data: Data, squares: Floats) -> None:
    """Refuse columns whose sums of squares are so small beside one row's worth of the prior that only that speaks."""
    slight = squares < SLIGHT * bge_prior_scale(data.n_nodes, float(score.alpha_mu), data.n_nodes + 2)
    if slight.any():
        raise DataError(
            f"{shorten([data.names[j] for j in np.flatnonzero(slight).tolist()])}: the prior of BGe expects columns on "
            "a scale around 1 and outweighs what varies so little, so that its edges would be the prior's; use "
            "standardise=True, or other units"
        )


def bge_prior_mean(score: BGe, n: int) -> Floats:
    """Return the prior mean of each of n columns."""
    mean = np.asarray(0.0 if score.mean is None else score.mean, float)
    if mean.shape not in ((), (n,)):
        raise ParnidagError(f"mean must be one number or {n} of them, one for each node, got {mean.size}")
    return np.broadcast_to(mean, (n,))


def bge_prior_scale(n: int, alpha_mu: float, alpha_w: float) -> float:
    """Return t: the prior covariance of n columns is a Wishart law's with the scale matrix t I."""
    return alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)


def bge_coefficients(rows: Floats, n: int, alpha_mu: float, alpha_w: float) -> Floats:
    """Return the coefficients of BGe on n columns, for each group of rows."""
    q, rows = np.arange(n), rows[:, None]
    before, after = (alpha_w - n + q + 1) / 2, (rows + alpha_w - n + q + 1) / 2
    constant = (
        -rows / 2 * math.log(math.pi)
        + 0.5 * np.log(alpha_mu / (rows + alpha_mu))
        + gammaln(after)
        - gammaln(before)
        + (alpha_w - n + 2 * q + 1) / 2 * math.log(bge_prior_scale(n, alpha_mu, alpha_w))
    )
    return coefficients(constant, -0.5, -after)


def as_numbers(given: object) -> tuple[float, ...]:
    """Return the numbers of a list, which keeps the settings comparable."""
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1 or not np.isfinite(values).all():
        raise ParnidagError(f"mean must be a number, a list of numbers or None, got {given!r}")
    return tuple(values.ravel().tolist())
