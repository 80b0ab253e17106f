"""Pictures of a result, drawn with matplotlib.

Each function takes a `Posterior` and draws on the axes (`matplotlib.axes.Axes`) given as ``ax=``, or on a new figure of
a size that suits the number of nodes, and returns the axes. Nothing is shown or saved, and no setting of matplotlib is
changed; to save a picture, ``plots.graph(posterior).figure.savefig("graph.pdf")``. `trace`, `rank`, `running` and
`agreement` look at chains, which exact results do not have.
"""

from __future__ import annotations

from parnidag.plots.chains import agreement, edge_count, rank, running, trace
from parnidag.plots.comparison import compare
from parnidag.plots.graphs import graph
from parnidag.plots.maps import heatmap
from parnidag.plots.prior import evidence, prior_posterior
from parnidag.plots.truth import roc, shd_threshold

__all__ = [
    "agreement",
    "compare",
    "edge_count",
    "evidence",
    "graph",
    "heatmap",
    "prior_posterior",
    "rank",
    "roc",
    "running",
    "shd_threshold",
    "trace",
]
