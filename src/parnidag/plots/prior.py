"""What the data say of each edge beyond the prior: Bayes factors, and the way from prior to posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from parnidag._util.checks import number, one_of
from parnidag.errors import ParnidagError
from parnidag.plots._axes import (
    BLUE,
    EVIDENCE_LOOKS,
    GREY,
    PALE,
    PLAIN,
    Floats,
    add_legend,
    axes_for,
    check_posterior,
    codes_of,
    describe,
    dots,
    edge_names,
)
from parnidag.plots._labels import MOST_LABELS, label_points
from parnidag.results.edge_table import BAYES_FACTOR_LIMIT, edge_evidence

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from parnidag.results.posterior import Posterior

_NAMES_UP_TO = 45
"""Edges up to which each has its name on the axis."""
_MOST_TICKS, _NOTICED = 10, 1e-3
_NAMED = 6
"""Edges that the plot of evidence names."""
_LIMIT = math.log10(BAYES_FACTOR_LIMIT)
_UNDER_LIMITS = np.array([(x, sign * (_LIMIT + 0.3)) for x in np.linspace(0.7, 1.0, 7) for sign in (-1, 1)])
"""Where the names of the limits are, which labels shall not cover."""
_LARGEST_EXPONENT = 8
"""Bayes factors beyond ten to this are drawn as "more": no run is long enough to tell them apart."""


def evidence(posterior: Posterior, *, ax: Axes | None = None) -> Axes:
    """Plot by how much the data change the odds of each edge (its Bayes factor), against its posterior probability.

    Bayes factors compare with the true marginal probability of the edge under the prior, the one that graphs without
    cycles have. From 10 on edges count as included, up to 1/10 as excluded; between these lines the data do not decide.
    Factors and classes are those of `Posterior.summary`: edges that the prior decides, or that the sampler could not
    visit, are only counted.
    Named are the edges next to the upper line: first those just not included, then those just included.
    """
    _prior_of(posterior, "evidence")
    matrix = posterior.edge_probabilities.to_numpy()
    codes = np.flatnonzero(~np.eye(len(matrix), dtype=bool))
    factors, classes = edge_evidence(posterior.record, matrix)
    probabilities, factors, classes = matrix.ravel()[codes], factors[codes], classes[codes]
    exponents, heights, top = _exponents(factors)
    ax, own = axes_for(ax, (6.8, 4.4))
    _draw_limits(ax)
    handles: list[Artist] = []
    labels = []
    for name in ("included", "inconclusive", "excluded"):
        chosen = classes == name
        handles.append(dots(ax, probabilities[chosen], heights[chosen], 30, *EVIDENCE_LOOKS[name]))
        labels.append(f"{name} ({int(chosen.sum()):,})")
    for words, names in (("set by the prior", ("required", "forbidden")), ("not considered", ("not considered",))):
        count = int(np.isin(classes, names).sum())
        if count:
            handles.append(Line2D([], [], linestyle="none"))
            labels.append(f"{words} ({count:,})")
    named = _next_to_limit(exponents)
    points = np.column_stack([probabilities, heights])
    label_points(ax, points[named], edge_names(posterior, codes[named]), np.concatenate([points, _UNDER_LIMITS]))
    _exponent_ticks(ax, heights, top)
    ax.set_xlim(-0.03, 1.03)
    describe(ax, "Evidence for edges", "posterior probability of the edge", "log10 Bayes factor of the edge")
    add_legend(ax, own, handles, labels, "lower right")
    return ax


def _prior_of(posterior: Posterior, plot: str) -> Floats:
    check_posterior(posterior)
    prior = posterior.prior_probabilities
    if prior is None:
        raise ParnidagError(
            f"posterior: plots.{plot} needs the probabilities of edges under the prior, and this result, from a file "
            "of an older version, does not have them; sample again"
        )
    return prior.to_numpy().ravel()


def _exponents(factors: Floats) -> tuple[Floats, Floats, int]:
    """Return the logarithms of Bayes factors, how high to draw them, and the largest power of ten on the scale."""
    with np.errstate(divide="ignore"):
        exponents = np.log10(factors)
    known = np.abs(exponents[np.isfinite(exponents)])
    top = int(np.clip(math.ceil(known.max(initial=0.0)), 2, _LARGEST_EXPONENT))
    return exponents, np.where(np.abs(exponents) > top, np.sign(exponents) * (top + 1), exponents), top


def _draw_limits(ax: Axes) -> None:
    """Draw the lines between which data do not decide."""
    ax.axhspan(-_LIMIT, _LIMIT, color=PALE, alpha=0.35, linewidth=0, zorder=0)
    for sign, words in ((1, ""), (-1, "1/")):
        ax.axhline(sign * _LIMIT, color=GREY, linestyle=(0, (4, 2)), linewidth=1.0, zorder=1)
        side = "bottom" if sign > 0 else "top"
        label = f"Bayes factor {words}{BAYES_FACTOR_LIMIT:g}"
        text = ax.text(1.03, sign * (_LIMIT + 0.05), label, ha="right", va=side, fontsize="small", color=GREY)
        text.set_in_layout(False)


def _exponent_ticks(ax: Axes, heights: Floats, top: int) -> None:
    """Number the powers of ten, and say "more" or "less" where edges are beyond them."""
    step = math.ceil(top / 4)
    ticks = list(range(-(top // step) * step, top + 1, step))
    labels = [str(tick).replace("-", "−") for tick in ticks]
    above, below = bool((heights > top).any()), bool((heights < -top).any())
    if above:
        ticks, labels = [*ticks[:-1], top + 1], [*labels[:-1], f"> {top}"]
    if below:
        ticks, labels = [-top - 1, *ticks[1:]], [f"< −{top}", *labels[1:]]
    ax.set_yticks(ticks, labels)
    ax.set_ylim(-top - 0.4 - below, top + 0.4 + above)


def _next_to_limit(exponents: Floats) -> NDArray[np.intp]:
    """Return the edges to name: inconclusive ones from the highest down, then included ones from the lowest up."""
    open_ones = np.flatnonzero((exponents > 0) & (exponents < _LIMIT))
    sure = np.flatnonzero((exponents >= _LIMIT) & np.isfinite(exponents))
    open_ones = open_ones[np.argsort(-exponents[open_ones], kind="stable")]
    return np.concatenate([open_ones, sure[np.argsort(exponents[sure], kind="stable")]])[:_NAMED]


def prior_posterior(
    posterior: Posterior,
    edges: Sequence[tuple[str, str]] | None = None,
    *,
    min_probability: float = 0.01,
    ax: Axes | None = None,
) -> Axes:
    """Plot how the data move the probability of edges from prior to posterior, each edge a line, in falling order.

    Up to 45 edges are named along the axis; of more, those on which the data do not decide are, at most ten.

    Parameters
    ----------
    edges : list of (parent, child), optional
        Which edges; by default all of at least `min_probability`.
    min_probability : float, default 0.01
        Smallest posterior probability of an edge that is shown, unless edges are named.

    Examples
    --------
    >>> from parnidag import exact, plots, simulate
    >>> ax = plots.prior_posterior(exact(simulate(nodes=3, edges=2, rows=50, seed=1).values), [("X0", "X1")])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['X0 → X1']
    """
    prior = _prior_of(posterior, "prior_posterior")
    probabilities = posterior.edge_probabilities.to_numpy().ravel()
    codes = _listed(posterior, edges, min_probability)
    before, after = prior[codes], probabilities[codes]
    classes = edge_evidence(posterior.record, probabilities)[1][codes]
    named = len(codes) <= _NAMES_UP_TO
    ax, own = axes_for(ax, (float(np.clip(3.4 + 0.17 * len(codes), 6.6, 9.5)), 4.6 if named else 3.8))
    ranks = np.arange(1, len(codes) + 1)
    colours = [EVIDENCE_LOOKS[name][0] for name in classes]
    size = float(np.clip(2400 / len(codes), 8, 40))
    ax.vlines(ranks, before, after, colors=colours, linewidth=1.5 if named else 0.6, alpha=0.6, zorder=2)
    prior_dots = ax.scatter(ranks, before, s=size, facecolors="white", edgecolors=GREY, linewidths=0.9, zorder=3)
    handles, labels = [prior_dots], ["prior"]
    for name in dict.fromkeys(classes):
        chosen = classes == name
        handles.append(dots(ax, ranks[chosen], after[chosen], 1.2 * size, *EVIDENCE_LOOKS[name]))
        labels.append(f"posterior, {name}")
    names = edge_names(posterior, codes)
    if named:
        ax.set_xticks(ranks, names, rotation=90, fontsize="small" if len(codes) > 20 else "medium", **PLAIN)
    else:
        open_ones = np.flatnonzero(classes == "inconclusive")[:MOST_LABELS]
        points = np.concatenate([np.column_stack([ranks, values]) for values in (before, after)])
        label_points(ax, points[len(codes) :][open_ones], [names[k] for k in open_ones], points)
    ax.set(xlim=(0.2, len(codes) + 0.8), ylim=(-0.03, 1.03))
    expected = f"{prior.sum():.1f} → {probabilities.sum():.1f} edges expected"
    x = "edge" if named else "edge (rank by posterior probability)"
    describe(ax, f"From prior to posterior: {expected}", x, "probability of the edge")
    add_legend(ax, own, handles, labels)
    return ax


def _listed(posterior: Posterior, edges: Sequence[tuple[str, str]] | None, min_probability: float) -> NDArray[np.intp]:
    """Return the codes of the edges to show, the most probable first."""
    matrix = posterior.edge_probabilities.to_numpy()
    if edges is not None:
        codes = np.array(codes_of(edges, posterior.nodes))
    else:
        number(min_probability, "min_probability", least=0, most=1)
        codes = np.flatnonzero((matrix >= min_probability) & ~np.eye(len(matrix), dtype=bool))
        if not codes.size:
            raise ParnidagError(f"min_probability: no edge has a probability of {min_probability:g} or more")
    return codes[np.argsort(-matrix.ravel()[codes], kind="stable")]


def learned(posterior: Posterior, *, parameter: str | None = None, ax: Axes | None = None) -> Axes:
    """Plot what was learned along with the graph: how probable each value is, beside how probable it was.

    Parameters
    ----------
    parameter : str, optional
        Which one, such as "alpha_w" or "h"; the first that was learned by default.

    Examples
    --------
    >>> from parnidag import exact, plots, simulate
    >>> plots.learned(exact(simulate(nodes=4, edges=3, rows=100, seed=1).values)).get_xlabel()
    'alpha_w'
    """
    check_posterior(posterior)
    table = posterior.learned
    if table is None:
        raise ParnidagError(
            "posterior: nothing was learned along with the graph; pass a result of a score such as "
            'scores.BGe(alpha_w="learn"), or of a prior such as EdgePrior(h=Beta(1, 9))'
        )
    names = table["parameter"].unique().tolist()
    chosen = names[0] if parameter is None else parameter
    one_of(chosen, "parameter", tuple(names))
    shown = table[table["parameter"] == chosen]
    noticed = np.flatnonzero(shown[["prior", "probability"]].max(axis=1) > _NOTICED)
    shown = shown.iloc[noticed.min() : noticed.max() + 1]
    ax, own = axes_for(ax, (6.2, 3.4))
    places = np.arange(len(shown))
    after = ax.bar(places, shown["probability"], width=0.7, color=BLUE, zorder=2)[0]
    (before,) = ax.plot(places, shown["prior"], "o-", color=GREY, markersize=4, linewidth=1.0, zorder=3)
    step = math.ceil(len(shown) / _MOST_TICKS)
    ax.set_xticks(places[::step], [f"{value:.2g}" for value in shown["value"][::step]])
    describe(ax, "Learned along with the graph", chosen, "probability")
    ax.set_ylim(bottom=0)
    add_legend(ax, own, [after, before], ["after the data", "before"], "upper right")
    return ax
