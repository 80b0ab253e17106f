"""What a run has collected from one chain, besides its draws."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parnidag.graphs.adjacency import codes_of_arcs
from parnidag.kernels.declare import named
from parnidag.run.draws import Block
from parnidag.samplers.base import Chain, Sampler

FIRST_SEGMENT = 256

Batch = tuple[NDArray[np.int32], NDArray[np.int64], int]
"""Edge codes, in how many iterations of the batch each was present, iterations of the batch."""


@dataclass
class ChainLog:
    """A chain, its edge counts by batch, and how fast it runs."""

    chain: Chain
    boundaries: list[int]
    """Iterations at which edge counts are still to be taken."""
    batches: list[Batch] = field(default_factory=list)
    at_tune_end: dict[str, float] | None = None
    cpu_seconds: float = 0.0
    rate: float = 0.0
    """Iterations per CPU second, by which segments are sized."""
    clock: tuple[float, int] | None = None
    """Wall time and iteration after the first segment, which includes compilation."""
    counted: NDArray[np.int64] | None = None
    """In how many iterations each edge had been present at the last boundary."""
    counted_at: int = 0

    def wall_rate(self) -> float:
        """Return iterations per second of wall time: chains may have to share a core."""
        now = time.perf_counter()
        if self.clock is None:
            self.clock = (now, self.chain.iteration)
        since, iteration = self.clock
        return (self.chain.iteration - iteration) / (now - since) if now > since else 0.0

    @property
    def finished(self) -> bool:
        return not self.boundaries

    def next_steps(self, seconds: float) -> int:
        """Return how many iterations a segment of about so many seconds has; it ends at a boundary at the latest."""
        # A first guess, and the least that is worth the way, unless a slow score would take more than a second for it.
        least = min(FIRST_SEGMENT, int(self.rate) + 1) if self.rate > 0.0 else FIRST_SEGMENT
        steps = max(least, int(self.rate * seconds))
        return min(steps, self.boundaries[0] - self.chain.iteration)

    def note_speed(self, done: int, seconds: float, aim: float) -> None:
        """Take the speed of a segment; that of the first, a short one, may include compilation and says little."""
        self.cpu_seconds += seconds if self.rate > 0.0 else 0.0
        self.rate = min(done / max(seconds, 1e-6), 4.0 * self.rate + FIRST_SEGMENT / aim)

    def pass_boundaries(self, sampler: Sampler, thin: int) -> None:
        """Do what is due at the present iteration: start drawing at the end of tuning, close a batch elsewhere."""
        while self.boundaries and self.chain.iteration == self.boundaries[0]:
            if self.counted is None:
                self.counted = self.chain.graph.visits.ravel().copy()
                self.counted_at = self.chain.iteration
                self.at_tune_end = sampler.totals(self.chain)
                self.chain.level_draws[:] = 0
                if self.chain.cells is not None:
                    self.chain.cells.forget()
                recorder = named(self.chain.recorder)
                recorder.until_draw = recorder.thin = thin
            else:
                self.close_batch()
            self.boundaries.pop(0)

    def close_batch(self) -> None:
        if self.counted is None or self.chain.iteration == self.counted_at:
            return
        counts = self.chain.graph.visits.ravel()
        present = np.flatnonzero(counts != self.counted).astype(np.int32)
        length = self.chain.iteration - self.counted_at
        self.batches.append((present, counts[present] - self.counted[present], length))
        self.counted[present] = counts[present]
        self.counted_at = self.chain.iteration

    def merge_batches(self, group: int) -> None:
        """Make one batch of every `group` neighbouring ones, from the first; what is left over stays as it is."""
        whole = len(self.batches) // group * group
        merged = [_sum_of(self.batches[start : start + group]) for start in range(0, whole, group)]
        self.batches[:whole] = merged


def take_draws(chain: Chain) -> Block | None:
    """Empty the buffer of a chain; None if there was nothing in it."""
    trace = chain.recorder
    count = named(trace).buffered
    if count == 0:
        return None
    ends = trace.draw_ends[:count]
    codes = codes_of_arcs(trace.draw_codes[: int(ends[-1])], len(chain.graph.degree))
    named(trace).buffered = 0
    return Block(np.diff(ends, prepend=0).astype(np.int32), codes, trace.draw_scores[:count].copy())


def _sum_of(batches: list[Batch]) -> Batch:
    codes = np.unique(np.concatenate([present for present, _, _ in batches]))
    counts = np.zeros(codes.size, np.int64)
    for present, count, _ in batches:
        counts[np.searchsorted(codes, present)] += count
    return codes, counts, sum(length for _, _, length in batches)
