"""What all plots share: colours, a place to draw on, words that stay words, and checks of what was passed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from parnidag._util.text import did_you_mean, one_line
from parnidag.errors import ParnidagError
from parnidag.results.record import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.artist import Artist
    from matplotlib.collections import PathCollection
    from matplotlib.text import Text

    from parnidag.results.posterior import Posterior

Floats = NDArray[np.float64]

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's colours, which the colour-blind can tell apart; their yellow is too pale for lines on white."""
BLUE, VERMILLION, _, _, ORANGE, _, BLACK = PALETTE
LINE_STYLES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
INK, GREY, PALE = "#1b1b1b", "#767676", "#d9d9d9"

PROBABILITY_MAP = LinearSegmentedColormap.from_list(
    "parnidag_probability",
    ["#ffffff", "#d4edfd", "#a5d7f7", "#75bae7", "#489ad4", "#1178b8", "#005793", "#00386b", "#0a1f44"],
)
"""From white through Okabe and Ito's blue to near black, in steps that look equal (equal distances in CIELAB)."""
EVIDENCE_LOOKS = {
    "included": (BLUE, "o"),
    "inconclusive": (ORANGE, "D"),
    "excluded": (GREY, "v"),
    "required": (BLACK, "P"),
    "forbidden": (BLACK, "X"),
    "not considered": (GREY, "s"),
}
"""Colour and marker of each class of evidence."""
NAME_WIDTH = 16
"""Letters of a name that a picture shows."""
MANY_POINTS = 1000
"""More points than this are drawn as an image within SVG and PDF files, which would become megabytes large."""
SAME = 0.1
"""Probabilities of an edge that differ by more than this between chains are called disagreement, as in diagnostics."""


# ── how chains look ───────────────────────────────────────────────────────────────────────────────────────────────────


def colour_of(k: int) -> str:
    return PALETTE[k % len(PALETTE)]


def line_of(k: int) -> Any:
    """Return the line style of the k-th chain; with the colour, 28 look different."""
    return LINE_STYLES[k % len(LINE_STYLES)]


def marker_of(k: int) -> str:
    """Return the marker of the k-th chain; with the colour, 56 look different."""
    return MARKERS[k % len(MARKERS)]


# ── a place to draw on ────────────────────────────────────────────────────────────────────────────────────────────────


def axes_for(ax: Axes | None, size: tuple[float, float], *, square: bool = False) -> tuple[Axes, bool]:
    """Return the axes to draw on, and whether they are in a figure made here, of this size in inches.

    `square` says that both axes will have the same scale, which the layout must know to keep labels on the figure.
    """
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(figsize=size, layout="compressed" if square else "constrained")[1], True
    if not isinstance(ax, Axes):
        raise ParnidagError(f"ax: must be a matplotlib Axes or None, not {one_line(repr(ax), 60)}")
    return ax, False


def describe(ax: Axes, title: str, x: str, y: str, *, closed: bool = False) -> None:
    """Write what the axes show; unless `closed`, take away the lines above and on the right, which carry nothing."""
    plain([ax.set_title(title), ax.set_xlabel(x), ax.set_ylabel(y)])
    if not closed:
        ax.spines[["top", "right"]].set_visible(False)


def dots(
    ax: Axes, x: Floats, y: Floats, size: float, colour: str, marker: str, *, alpha: float = 0.8, zorder: float = 4
) -> PathCollection:
    """Draw points, whole ones at the ends of the axes."""
    look: dict[str, Any] = {"color": colour, "marker": marker, "alpha": alpha, "linewidths": 0}
    return ax.scatter(x, y, s=size, **look, zorder=zorder, clip_on=False, rasterized=len(x) > MANY_POINTS)


def unit_limits(ax: Axes) -> None:
    """Show probabilities from 0 to 1 on both axes, with room for whole markers at the ends."""
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    ax.set_aspect("equal", adjustable="box")


def add_legend(ax: Axes, own: bool, handles: Sequence[Artist], labels: Sequence[str], inside: Any = "best") -> None:
    """Explain lines and markers: beside the axes in a figure of our own, else on them, where space is not ours."""
    shown = [f" {label}" if label.startswith("_") else label for label in labels]  # an underscore would hide it
    if own:
        legend = ax.legend(
            handles, shown, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False
        )
    else:
        legend = ax.legend(handles, shown, loc=inside, fontsize="small", framealpha=0.8)
    plain(legend.get_texts())


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def plain(texts: Iterable[Text]) -> None:
    """Keep names from being read as formulae: "$" and "_" mean nothing but themselves."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}
"""The same for labels of ticks, which have a second text that is hidden until it is needed."""


def short(name: str, width: int = NAME_WIDTH) -> str:
    """Return a name on one line, cut to a width, and shown even if it is empty."""
    visible = "".join(letter if letter.isprintable() else " " for letter in name)
    return one_line(visible, width) or repr(name)


def edge_names(posterior: Posterior, codes: Iterable[int]) -> list[str]:
    """Name edges given by their codes, parent · n + child."""
    names = [short(name) for name in posterior.nodes]
    pairs = (divmod(int(code), len(names)) for code in codes)
    return [f"{names[parent]} → {names[child]}" for parent, child in pairs]


# ── checks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_posterior(posterior: object) -> None:
    if not isinstance(getattr(posterior, "record", None), RunRecord):
        raise ParnidagError(
            "posterior: must be a Posterior, as parnidag.sample and parnidag.exact return it, "
            f"not {one_line(repr(posterior), 60)}"
        )


def codes_of(edges: object, nodes: Sequence[str]) -> list[int]:
    """Return the codes, parent · n + child, of edges given as (parent, child) names."""
    if isinstance(edges, str) or not isinstance(edges, Sequence) or not len(edges):
        raise ParnidagError(f"edges: must be a list of (parent, child) names, not {edges!r}")
    place = {name: k for k, name in enumerate(nodes)}
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise ParnidagError(f"edges: each must be a (parent, child) pair, not {edge!r}")
        for name in edge:
            if name not in place:
                raise ParnidagError(f"edges: there is no node {name!r}: {did_you_mean(str(name), nodes)}")
        if edge[0] == edge[1]:
            raise ParnidagError(f"edges: an edge joins two nodes, not {edge[0]!r} with itself")
    return [place[parent] * len(nodes) + place[child] for parent, child in edges]


def need_chains(posterior: Posterior, plot: str) -> None:
    check_posterior(posterior)
    if posterior.record.exact_probabilities is not None:
        raise ParnidagError(
            f"posterior: plots.{plot} shows the chains of a run, and an exact result has none (nor any Monte-Carlo "
            "error to look for); pass a result of parnidag.sample(..., sampler=samplers.PARNI())"
        )


def need_draws(posterior: Posterior, plot: str) -> None:
    check_posterior(posterior)
    if posterior.log_posterior.size == 0:
        raise ParnidagError(
            f"posterior: plots.{plot} shows stored draws, and this result has none; "
            "pass a result of parnidag.sample, or of parnidag.exact(data, draws=1000)"
        )
