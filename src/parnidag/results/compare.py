"""Two results side by side: where their edge probabilities differ, and by how many Monte-Carlo errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parnidag._util.checks import number
from parnidag._util.text import one_line, shorten
from parnidag.errors import ParnidagError
from parnidag.results.edge_table import edge_figures, with_gaps
from parnidag.results.record import RunRecord

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior

Floats = NDArray[np.float64]


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
    parents, children = np.nonzero(np.abs(difference) > min_difference)
    order = np.argsort(-np.abs(difference[parents, children]), kind="stable")
    at = parents[order], children[order]
    names = np.array(first.nodes, dtype=object)
    errors = np.hypot(a_error[at], b_error[at])
    z = difference[at] / np.where(errors == 0, np.nan, errors)
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


def side_by_side(first: Posterior, second: Posterior, arguments: tuple[str, str]) -> tuple[Floats, ...]:
    """Match the edges of two results by the names of their nodes, in the first one's order.

    Returns the probabilities of the first and of the second, then their errors: 0 if exact, NaN if unknown.
    """
    for result, argument in zip((first, second), arguments, strict=True):
        if not isinstance(getattr(result, "record", None), RunRecord):
            raise ParnidagError(
                f"{argument}: must be a Posterior, as parnidag.sample and parnidag.exact return it, "
                f"not {one_line(repr(result), 60)}"
            )
    place = {name: k for k, name in enumerate(second.nodes)}
    only = sorted(set(place) ^ set(first.nodes))
    if only:
        raise ParnidagError(
            f"{arguments[1]}: must be on the same nodes as {arguments[0]}; only one of them has {shorten(only)}"
        )
    order = [place[name] for name in first.nodes]
    matched = np.ix_(order, order)
    (a, a_error), (b, b_error) = _with_errors(first), _with_errors(second)
    return a, b[matched], a_error, b_error[matched]


def _with_errors(result: Posterior) -> tuple[Floats, Floats]:
    record, probabilities = result.record, result.edge_probabilities.to_numpy()
    if record.exact_probabilities is not None:
        return probabilities, np.zeros_like(probabilities)
    errors = np.full(probabilities.size, np.nan)
    errors[record.edge_codes] = edge_figures(record, probabilities.ravel()[record.edge_codes])["mcse"]
    return probabilities, errors.reshape(probabilities.shape)
