"""Two results side by side: where their edge probabilities differ, and by how many Monte-Carlo errors."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag.errors import ParnidagError
from parnidag.posterior import Posterior
from parnidag.results.edge_table import with_gaps
from parnidag.wording import shorten

Floats = NDArray[np.float64]


def compare(first: Posterior, second: Posterior, min_difference: float = 0.0) -> pd.DataFrame:
    """Compare the edge probabilities of two results over the same nodes, the largest difference first.

    Parameters
    ----------
    first, second : Posterior
        Results of any kind, sampled or exact; the order of their nodes may differ.
    min_difference : float, default 0
        Leave out edges that differ by no more than this.

    Returns
    -------
    pandas.DataFrame
        Columns `parent`, `child`, `first`, `second`, `difference` (second minus first), `mcse`, the Monte-Carlo
        standard error of the difference, and `z`, how many of these it is. The last two are <NA> where an error is not
        known: an edge that never changed in a sampled result.

    Examples
    --------
    >>> import parnidag
    >>> data = parnidag.simulate(nodes=4, edges=3, rows=100, seed=1).values
    >>> compare(parnidag.exact(data), parnidag.exact(data)).empty
    True
    """
    order = _places(first, second)
    a = first.edge_probabilities.to_numpy()
    b = second.edge_probabilities.to_numpy()[np.ix_(order, order)]
    squared = _errors(first) ** 2 + _errors(second)[np.ix_(order, order)] ** 2
    difference = b - a
    listed = np.argwhere(np.abs(difference) > min_difference)
    listed = listed[np.argsort(-np.abs(difference[tuple(listed.T)]), kind="stable")]
    at = tuple(listed.T)
    names = np.array(first.nodes, dtype=object)
    errors = np.sqrt(squared[at])
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


def _places(first: Posterior, second: Posterior) -> list[int]:
    """Return where each node of the first result is in the second."""
    place = {name: k for k, name in enumerate(second.nodes)}
    if set(place) != set(first.nodes):
        only = sorted(set(place) ^ set(first.nodes))
        raise ParnidagError(f"the results are over different nodes; only one of them has {shorten(only)}")
    return [place[name] for name in first.nodes]


def _errors(posterior: Posterior) -> Floats:
    """Return the Monte-Carlo error of every edge: 0 if exact, NaN where it is not known."""
    n = len(posterior.nodes)
    if posterior.record.exact_probabilities is not None:
        return np.zeros((n, n))
    table = posterior.summary(min_probability=0)
    errors = np.full((n, n), np.nan)
    place = {name: k for k, name in enumerate(posterior.nodes)}
    rows, columns = ([place[name] for name in table[end]] for end in ("parent", "child"))
    errors[rows, columns] = table["mcse"].to_numpy(dtype=float, na_value=np.nan)
    return errors
