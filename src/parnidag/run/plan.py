"""How long a run is, and at which iterations edge counts are taken."""

from __future__ import annotations

from dataclasses import dataclass

BATCHES = 20
"""Edge counts are kept for this many equal parts of each chain; errors and R-hat are computed from them."""


@dataclass(frozen=True)
class Plan:
    """How long and how many: `tune` iterations that are not kept, then `draws` draws, one every `thin` iterations."""

    draws: int
    tune: int
    thin: int
    chains: int
    seed: int

    @property
    def total(self) -> int:
        """Iterations of one chain."""
        return self.tune + self.draws * self.thin

    def boundaries(self) -> list[int]:
        """Return the iterations at which edge counts are taken: the end of tuning and of each batch."""
        kept = self.draws * self.thin
        batches = BATCHES if kept >= 2 * BATCHES else min(kept, 2)
        return [self.tune + kept * k // batches for k in range(batches + 1)]

    def further_boundaries(self, finished: int, batch: int) -> list[int]:
        """Return the boundaries that a run still needs which was planned to end at iteration `finished`.

        Its batches have `batch` iterations, and those to come have as many, so that all weigh the same; only the last
        may be shorter.

        Examples
        --------
        >>> Plan(draws=10, tune=100, thin=10, chains=4, seed=1).further_boundaries(150, batch=20)
        [170, 190, 200]
        """
        inner = list(range(finished + batch, self.total, batch))
        return [*inner, self.total] if self.total > finished else []


def merging(length: int, total: int) -> int:
    """Return how many neighbouring batches of this length become one when a run is extended to `total` iterations.

    The longer run has at most twice as many batches as usual.
    """
    return max(1, -(-total // (2 * BATCHES * length)))
