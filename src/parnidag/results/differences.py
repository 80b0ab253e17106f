"""Two results on the same nodes, brought into one order, with the Monte-Carlo errors of their edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parnidag._util.text import one_line, shorten
from parnidag.errors import ParnidagError
from parnidag.results.edge_table import edge_figures
from parnidag.results.record import RunRecord

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior

Floats = NDArray[np.float64]


class SideBySide(NamedTuple):
    """Edge probabilities of two results and their errors (0 if exact, NaN if not known), all in the first one's order.

    Each is a matrix (parent, child).
    """

    first: Floats
    second: Floats
    first_error: Floats
    second_error: Floats


def side_by_side(first: Posterior, second: Posterior, arguments: tuple[str, str]) -> SideBySide:
    """Match the edges of two results by the names of their nodes.

    Parameters
    ----------
    first, second : Posterior
        Results of any kind on the same nodes, in any order.
    arguments : (str, str)
        What to call them in an error.
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
    (a, a_error), (b, b_error) = _with_errors(first), _with_errors(second)
    matched = np.ix_(order, order)
    return SideBySide(a, b[matched], a_error, b_error[matched])


def _with_errors(result: Posterior) -> tuple[Floats, Floats]:
    """Return edge probabilities and their Monte-Carlo errors."""
    record, probabilities = result.record, result.edge_probabilities.to_numpy()
    if record.exact_probabilities is not None:
        return probabilities, np.zeros_like(probabilities)
    errors = np.full(probabilities.size, np.nan)
    errors[record.edge_codes] = edge_figures(record, probabilities.ravel()[record.edge_codes])["mcse"]
    return probabilities, errors.reshape(probabilities.shape)
