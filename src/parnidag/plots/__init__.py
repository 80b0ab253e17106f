"""Pictures of a result, drawn with matplotlib.

Each function takes a `Posterior` and draws on the axes (`matplotlib.axes.Axes`) given as ``ax=``, or on a new figure of
a size that suits the number of nodes, and returns the axes. Nothing is shown or saved, and no setting of matplotlib is
changed; to save a picture, ``plots.graph(posterior).figure.savefig("graph.pdf")``. `trace`, `rank`, `running` and
`agreement` look at chains, which exact results do not have.

Examples
--------
>>> from parnidag import plots, sample, simulate
>>> table = simulate(nodes=3, edges=2, rows=50, seed=1)
>>> posterior = sample(table.values, draws=50, tune=500, thin=10, chains=2, seed=1, progress=False)
>>> plots.trace(posterior).get_xlabel(), plots.agreement(posterior).get_xlabel()
('draw (one every 10 iterations)', 'edge probability in chain 2')
"""

from __future__ import annotations

from parnidag.plots.causes import dose_response, effect_matrix, effects
from parnidag.plots.chains import agreement, edge_count, rank, running, trace
from parnidag.plots.comparison import compare
from parnidag.plots.graphs import graph
from parnidag.plots.maps import heatmap
from parnidag.plots.prior import evidence, learned, prior_posterior
from parnidag.plots.time import impulse, lags, rolled, slices
from parnidag.plots.truth import calibration, roc, shd_threshold

__all__ = [
    "agreement",
    "calibration",
    "compare",
    "dose_response",
    "edge_count",
    "effect_matrix",
    "effects",
    "evidence",
    "graph",
    "heatmap",
    "impulse",
    "lags",
    "learned",
    "prior_posterior",
    "rank",
    "roc",
    "rolled",
    "running",
    "shd_threshold",
    "slices",
    "trace",
]
