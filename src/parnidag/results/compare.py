"""Two results side by side: where their edge probabilities differ, and by how many Monte-Carlo errors."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from parnidag._util.checks import number
from parnidag.results.differences import side_by_side
from parnidag.results.edge_table import with_gaps
from parnidag.results.posterior import Posterior


def compare(first: Posterior, second: Posterior, min_difference: float = 0.0) -> pd.DataFrame:
    """Compare the edge probabilities of two results over the same nodes, the largest difference first.

    Parameters
    ----------
    first, second : Posterior
        Results of any kind, sampled or exact; the order of their nodes may differ.
    min_difference : float, default 0
        Leave out edges that differ by no more than this, a number from 0 to 1.

    Returns
    -------
    pandas.DataFrame
        Columns `parent`, `child`, `first`, `second`, `difference` (second minus first), `mcse`, the Monte-Carlo
        standard error of the difference, and `z`, how many of these it is. The last two are <NA> where an error is not
        known: an edge that never changed in a sampled result. Two exact results differ for real: `mcse` is 0 and `z`
        <NA>.

    Examples
    --------
    >>> import parnidag
    >>> data = parnidag.simulate(nodes=4, edges=3, rows=100, seed=1).values
    >>> compare(parnidag.exact(data), parnidag.exact(data)).empty
    True
    """
    a, b, a_error, b_error = side_by_side(first, second, ("first", "second"))
    number(min_difference, "min_difference", least=0, most=1)
    difference = b - a
    listed = np.argwhere(np.abs(difference) > min_difference)
    listed = listed[np.argsort(-np.abs(difference[tuple(listed.T)]), kind="stable")]
    at = tuple(listed.T)
    names = np.array(first.nodes, dtype=object)
    errors = np.hypot(a_error[at], b_error[at])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference[at] / errors
    z[errors == 0] = np.nan
    return pd.DataFrame(
        {
            "parent": names[at[0]],
            "child": names[at[1]],
            "first": a[at],
            "second": b[at],
            "difference": difference[at],
            "mcse": with_gaps(errors),
            "z": with_gaps(z),
        }
    )


def root_mean_square(first: Posterior, second: Posterior) -> float:
    """Return the root mean square difference over all n(n − 1) edges."""
    n = len(first.nodes)
    squares = (compare(first, second)["difference"] ** 2).sum()
    return math.sqrt(float(squares) / (n * (n - 1)))
