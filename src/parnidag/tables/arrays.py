"""How candidate tables lie in memory: as arrays that Python owns, and as the struct that kernels pass around."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO
from parnidag.kernels.declare import keeps, opener, struct_over
from parnidag.kernels.jit import leaf, make_frame
from parnidag.kernels.types import Bytes, Codes, Floats, Integers, int64

NEVER, SUBSET = int64(0), int64(-1)
"""A parent that no set has; one that belongs to the subsets, as a candidate or required."""


class TableArrays(NamedTuple):
    """The tables as kernels read them: the same for all chains, never written to after they are filled."""

    candidates: Codes
    """Candidate parents of each node in increasing order: bit k of a subset is the k-th (n × most candidates)."""
    extras: Codes
    """Parents from outside that may join a subset (n × most extras)."""
    required: Codes
    """Parents in every set (n × most required)."""
    column: Codes
    """For parent i of j at [j, i]: the column of an extra, or one of NEVER and SUBSET (n × n)."""
    candidate_count: Integers
    extra_count: Integers
    required_count: Integers
    first_entry: Integers
    """Where each node's rows begin in `scores` and `ratios`; a row has 1 + extra_count entries."""
    first_row: Integers
    """Where each node's rows begin in `log_alone`."""
    scores: Floats
    ratios: Floats
    log_alone: Floats
    ranked: Codes
    """The subsets of each node's candidates, best score first, in the places of `log_alone`; empty with extras."""


@keeps()
class DrawArrays(NamedTuple):
    """What one chain needs beside the tables that all chains share."""

    frame: Bytes
    weights: Floats
    chosen: Integers
    peaks: Floats
    """The best score inside each subset, in the shape of `scores`; empty when no one asks for it."""


def draw_arrays(arrays: TableArrays, peaks: Floats | None = None) -> DrawArrays:
    most = max(1 << int(arrays.candidate_count.max(initial=0)), 1 + int(arrays.extra_count.max(initial=0)))
    return DrawArrays(make_frame(), np.zeros(most), np.zeros(most, np.int64), np.zeros(0) if peaks is None else peaks)


@functools.cache
def no_tables() -> TableArrays:
    """Return tables of no node, which stand in for those that a chain does not have."""
    laid_out: dict[str, tuple[type, int]] = {
        **dict.fromkeys(("candidates", "extras", "required", "column"), (np.int32, 2)),
        **dict.fromkeys(("scores", "ratios", "log_alone"), (np.float64, 1)),
        "ranked": (np.int32, 1),
    }
    kinds = (laid_out.get(name, (np.int64, 1)) for name in TableArrays._fields)
    return TableArrays._make(np.zeros([0] * dimensions, dtype) for dtype, dimensions in kinds)


@struct_over
class Tables(TableArrays, DrawArrays):  # type: ignore[misc]
    """Both in one struct, with the answers of the draws."""

    drawn_subset: int = ZERO
    drawn_column: int = ZERO


open_tables = opener(Tables)


@leaf
def row_of(tables: Tables, j: int, subset: int) -> int:
    return tables.first_entry[j] + subset * (ONE + tables.extra_count[j])
