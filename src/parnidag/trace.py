"""What a chain writes down while it runs: stored draws and the best graph so far.

Kernels call `observe` once after every iteration. Draws go into a buffer of arcs; when it might not hold one more, the
segment ends early and the run empties the buffer, so a chain of any length needs bounded memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag._jit import kernel, leaf, make_frame, struct
from parnidag._room import room
from parnidag._types import Bytes, Codes, Floats, Integers
from parnidag.net import ONE, ZERO, Net, recompute_log_posterior

IMPROVEMENT = 1e-12
"""A graph is a new best only when it beats the old one by more than rounding, relative to the score."""


class TraceArrays(NamedTuple):
    """The arrays behind a `Trace`."""

    frame: Bytes
    draw_codes: Codes
    """Arcs of the buffered draws, one draw after the other."""
    draw_ends: Integers
    """Where each buffered draw ends in `draw_codes`."""
    draw_scores: Floats
    """Log posterior of each buffered draw."""
    best_codes: Codes
    integers: Integers
    """Iterations to the next draw, iterations between draws, draws in the buffer, edges of the best graph."""
    floats: Floats
    """Log posterior of the best graph."""


@struct
class Trace:
    """The mutable struct over `TraceArrays`."""

    frame: Bytes
    draw_codes: Codes
    draw_ends: Integers
    draw_scores: Floats
    best_codes: Codes
    until_draw: int
    thin: int
    buffered: int
    best_count: int
    best_score: float


def make_trace(max_edges: int, buffer_codes: int, buffer_draws: int) -> TraceArrays:
    """Return an empty record with room for `buffer_draws` draws of together `buffer_codes` edges."""
    return TraceArrays(
        frame=make_frame(),
        draw_codes=room(buffer_codes, np.int32),
        draw_ends=np.zeros(buffer_draws, np.int64),
        draw_scores=np.zeros(buffer_draws),
        best_codes=room(max_edges, np.int32),
        integers=np.array([-1, 0, 0, 0], np.int64),
        floats=np.array([-np.inf]),
    )


@kernel
def open_trace(arrays: TraceArrays) -> Trace:
    """Build the struct on top of the arrays."""
    return Trace(
        arrays.frame,
        arrays.draw_codes,
        arrays.draw_ends,
        arrays.draw_scores,
        arrays.best_codes,
        arrays.integers[0],
        arrays.integers[1],
        arrays.integers[2],
        arrays.integers[3],
        arrays.floats[0],
    )


@kernel
def close_trace(trace: Trace, arrays: TraceArrays) -> None:
    """Write back what the struct holds by value."""
    arrays.integers[0] = trace.until_draw
    arrays.integers[2] = trace.buffered
    arrays.integers[3] = trace.best_count
    arrays.floats[0] = trace.best_score


@kernel
def begin_segment(net: Net, trace: Trace) -> bool:
    """Take note of the graph a chain starts at; False when the buffer must be emptied first."""
    if net.now == ZERO:
        keep_best(net, trace)
    return has_room(trace)


@leaf
def observe(net: Net, trace: Trace) -> bool:
    """Finish one iteration; False when the buffer must be emptied before the next."""
    net.now += ONE
    if net.log_posterior > trace.best_score + IMPROVEMENT * (1.0 + abs(trace.best_score)):
        keep_best(net, trace)
    trace.until_draw -= ONE
    if trace.until_draw == ZERO:
        store_draw(net, trace)
        return has_room(trace)
    return True


@kernel
def has_room(trace: Trace) -> bool:
    """Does the buffer hold one more draw, however many edges it may have?"""
    used = trace.draw_ends[trace.buffered - 1] if trace.buffered > 0 else ZERO
    return trace.buffered < trace.draw_ends.size and trace.draw_codes.size - used >= trace.best_codes.size


@kernel
def keep_best(net: Net, trace: Trace) -> None:
    """Copy the present graph as the best one seen."""
    recompute_log_posterior(net)
    trace.best_score = net.log_posterior
    trace.best_count = net.edge_count
    for k in range(net.edge_count):
        trace.best_codes[k] = net.edges[k]


@kernel
def store_draw(net: Net, trace: Trace) -> None:
    """Append the present graph to the buffer.

    The log posterior is summed afresh here: draws fall at the same iterations however a run is cut into segments.
    """
    recompute_log_posterior(net)
    start = trace.draw_ends[trace.buffered - 1] if trace.buffered > 0 else ZERO
    for k in range(net.edge_count):
        trace.draw_codes[start + k] = net.edges[k]
    trace.draw_ends[trace.buffered] = start + net.edge_count
    trace.draw_scores[trace.buffered] = net.log_posterior
    trace.buffered += ONE
    trace.until_draw = trace.thin
