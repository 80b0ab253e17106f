"""Results made by hand, and what to look for on a drawn figure."""

import matplotlib as mpl
import numpy as np
from made_results import bare_record, packed
from matplotlib.text import Text

from parnidag.results.posterior import Posterior

mpl.use("Agg")

HOSTILE = ("$x$", "_hidden_", "a^2_{b", "\\alpha", "50 % & more", "<script>", "a name that is far too long for a plot")


def upper(n, seed=1, share=0.3):
    """Edge probabilities above the diagonal only, so that independent draws of edges are DAGs; some 0, some 1."""
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.beta(0.3, 0.3, (n, n)), 1) * (rng.random((n, n)) < share)
    matrix[0, n - 1] = 1.0
    return np.round(matrix, 3)


def names_of(n):
    return tuple(f"V{k + 1}" for k in range(n))


def sampled(by_chain, nodes=None, draws=40, batches=8, batch=1000, seed=2, **changes):
    """A run whose counters are exactly these probabilities, (chain, n, n), in every batch; draws are independent."""
    by_chain = np.asarray(by_chain, dtype=float)
    chains, n, _ = by_chain.shape
    rng = np.random.default_rng(seed)
    codes = np.flatnonzero(by_chain.any(axis=0)).astype(np.int32)
    kept = by_chain.reshape(chains, 1, -1)[:, :, codes]
    graphs = np.zeros((chains, draws, n * n), bool)
    graphs[:, :, codes] = rng.random((chains, draws, len(codes))) < kept
    fields = {
        "nodes": tuple(nodes or names_of(n)),
        "log_posterior": -50.0 + rng.normal(size=(chains, draws)),
        "edge_codes": codes,
        "batch_counts": np.repeat(np.round(kept * batch).astype(np.int64), batches, axis=1),
        "batch_iterations": np.full((chains, batches), batch),
        "settings": {"thin": 25},
        **packed(graphs.reshape(chains, draws, n, n)),
    }
    return made(n, fields | changes)


def exact(matrix, nodes=None, **changes):
    """An exact result without draws."""
    n = len(matrix)
    fields = {"nodes": tuple(nodes or names_of(n)), "log_posterior": np.zeros((1, 0)), "log_evidence": -10.0}
    return made(n, {**fields, "exact_probabilities": np.asarray(matrix, dtype=float), **changes})


def made(n, fields):
    prior = np.where(np.eye(n, dtype=bool), 0.0, 0.1)
    return Posterior(bare_record(**({"prior_probabilities": prior} | fields)))


def four_chains(matrix):
    return np.repeat(np.asarray(matrix)[None], 4, axis=0)


def texts_of(ax):
    """All words on the axes that are not the numbers of a scale."""
    return [text.get_text() for text in ax.texts]


def tick_texts(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def boxes_of(ax, texts):
    """The places of texts on the drawn figure, in pixels."""
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    return [Text.get_window_extent(text, renderer) for text in texts]


def clipped_texts(figure):
    """Words that leave the figure, even in part."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    found = []
    for text in {id(text): text for axes in figure.axes for text in _words(axes)}.values():
        box = text.get_window_extent(renderer)
        if text.get_text() and (min(box.x0, box.y0) < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1):
            found.append(text.get_text())
    return found


def _words(axes):
    """All texts of the axes that are drawn: a tick outside the limits keeps its label, undrawn."""
    words = [axes.title, *axes.texts, *(axes.get_legend().get_texts() if axes.get_legend() else [])]
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axes.axison:
            low, high = sorted(limits)
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            words += [
                axis.label,
                *(label for tick in ticks for label in (tick.label1, tick.label2) if label.get_visible()),
            ]
    return words


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
