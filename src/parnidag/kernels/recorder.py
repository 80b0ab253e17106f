"""What a chain writes down while it runs: stored draws and the best graph so far.

A loop over iterations is `open_chain`, `begin_segment`, `observe` after every iteration while that says so, and
`close_chain`. Draws go into a buffer of arcs; when it might not hold one more, the segment ends early and the run
empties the buffer, so a chain of any length needs bounded memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.kernels.dag import ONE, ZERO, Dag, GraphArrays, Scratch, close_dag, open_dag, recompute_log_posterior
from parnidag.kernels.declare import closer, first_numbers, opener, struct_over
from parnidag.kernels.jit import kernel, leaf, make_frame
from parnidag.kernels.lazy_zeros import lazy_zeros
from parnidag.kernels.problem import Problem
from parnidag.kernels.types import Bytes, Codes, Floats, Integers

IMPROVEMENT = 1e-12
"""A graph is a new best only when it beats the old one by more than rounding, relative to the score."""


class RecorderArrays(NamedTuple):
    frame: Bytes
    draw_codes: Codes
    """Arcs of the buffered draws, one draw after the other."""
    draw_ends: Integers
    """Where each buffered draw ends in `draw_codes`."""
    draw_scores: Floats
    best_codes: Codes
    integers: Integers
    floats: Floats
    """The numbers that `Recorder` declares."""


class ChainArrays(NamedTuple):
    """What every loop over iterations works on."""

    problem: Problem
    graph: GraphArrays
    scratch: Scratch
    recorder: RecorderArrays


@struct_over
class Recorder(RecorderArrays):
    """The same as a struct."""

    until_draw: int
    """Iterations to the next draw; negative while there are none."""
    thin: int
    buffered: int
    best_count: int
    best_score: float
    start: int = ZERO
    end: int = ZERO
    """Where this segment began, and where it is to end."""


open_recorder, close_recorder = opener(Recorder), closer(Recorder)


def make_recorder(max_edges: int, buffer_codes: int, buffer_draws: int) -> RecorderArrays:
    """Return an empty record with room for `buffer_draws` draws of together `buffer_codes` edges."""
    return RecorderArrays(
        frame=make_frame(),
        draw_codes=lazy_zeros(buffer_codes, np.int32),
        draw_ends=np.zeros(buffer_draws, np.int64),
        draw_scores=np.zeros(buffer_draws),
        best_codes=lazy_zeros(max_edges, np.int32),
        **first_numbers(Recorder, until_draw=-1, best_score=-np.inf),
    )


@leaf
def open_chain(parts: ChainArrays) -> tuple[Dag, Recorder]:
    return open_dag(parts.problem, parts.graph, parts.scratch), open_recorder(parts.recorder)


@leaf
def close_chain(dag: Dag, recorder: Recorder, parts: ChainArrays) -> int:
    """Write back what the structs hold by value, and return how many iterations this segment had."""
    close_dag(dag, parts.graph)
    close_recorder(recorder, parts.recorder)
    return dag.now - recorder.start


@kernel
def begin_segment(dag: Dag, recorder: Recorder, steps: int) -> bool:
    """Begin a segment of at most `steps` iterations; False when there are none, or the buffer must be emptied first.

    A new chain takes note of the graph it starts at.
    """
    if dag.now == ZERO:
        keep_best(dag, recorder)
    recorder.start, recorder.end = dag.now, dag.now + steps
    return steps > ZERO and has_space(recorder)


@leaf
def observe(dag: Dag, recorder: Recorder) -> bool:
    """Finish one iteration; False at the end of the segment, or when the buffer must be emptied before the next."""
    dag.now += ONE
    if dag.log_posterior > recorder.best_score + IMPROVEMENT * (1.0 + abs(recorder.best_score)):
        keep_best(dag, recorder)
    recorder.until_draw -= ONE
    if recorder.until_draw == ZERO:
        store_draw(dag, recorder)
        return dag.now < recorder.end and has_space(recorder)
    return dag.now < recorder.end


@kernel
def has_space(recorder: Recorder) -> bool:
    """Does the buffer hold one more draw, however many edges it may have?"""
    used = recorder.draw_ends[recorder.buffered - 1] if recorder.buffered > 0 else ZERO
    return recorder.buffered < recorder.draw_ends.size and recorder.draw_codes.size - used >= recorder.best_codes.size


@kernel
def keep_best(dag: Dag, recorder: Recorder) -> None:
    recompute_log_posterior(dag)
    recorder.best_score = dag.log_posterior
    recorder.best_count = dag.edge_count
    for k in range(dag.edge_count):
        recorder.best_codes[k] = dag.edges[k]


@kernel
def store_draw(dag: Dag, recorder: Recorder) -> None:
    """Append the present graph to the buffer.

    The log posterior is summed afresh here: draws fall at the same iterations however a run is cut into segments.
    """
    recompute_log_posterior(dag)
    start = recorder.draw_ends[recorder.buffered - 1] if recorder.buffered > 0 else ZERO
    for k in range(dag.edge_count):
        recorder.draw_codes[start + k] = dag.edges[k]
    recorder.draw_ends[recorder.buffered] = start + dag.edge_count
    recorder.draw_scores[recorder.buffered] = dag.log_posterior
    recorder.buffered += ONE
    recorder.until_draw = recorder.thin
