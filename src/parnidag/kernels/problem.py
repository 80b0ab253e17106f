"""The target as kernels see it: what a score leaves of the data, and what the prior says of every edge.

Scores of the Gaussian family share one shape. With M a Gram matrix plus what the prior adds, P the columns of the
parents of node j, and s the part of M_jj that they leave unexplained (the Schur complement),

    score = A[q] + B[q] · log det M_PP + C[q] · log((1 − mix) · m_jj + mix · s),   q the number of columns.

So such a score is matrices and coefficients. A node is one column, or several as a parent when relations are curved.
Nodes that were set by an experimenter in some rows have matrices of their own, over the other rows.
Every other score is a function, called by its address (see `by_address`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.kernels.types import Bytes, Codes, Flags, Floats, Integers, Words, int64

FORBIDDEN, FREE, REQUIRED = 0, 1, 2
"""What the prior says of an edge."""
UNSCORED = int64(-1)
"""The pattern of a node that is a parent only, where the score is a function."""


class ScoreTable(NamedTuple):
    """All that kernels need of data and score."""

    gram: Floats
    """M, the matrices that are factorised (patterns × columns × columns)."""
    own: Floats
    """m_jj as it enters the residual of node j (n)."""
    coefficients: Floats
    """A, B and C for 0, 1, … columns (patterns × 3 × most columns + 1)."""
    pattern: Integers
    """Which matrix and coefficients each node has (n)."""
    first_column: Integers
    """The columns of node i as a parent are first_column[i] … first_column[i + 1] − 1 (n + 1)."""
    child_column: Integers
    """The column of each node as a child, or the first of them (n)."""
    child_width: Integers
    """How many columns each node has as a child (n): more than one for classes, and then they are those as a parent."""
    mix: float
    """Weight of the explained part."""
    function: int
    """Address of a score outside the Gaussian family, or NO_FUNCTION."""
    content: Bytes
    """What that function reads."""
    scale: float
    """What its result is multiplied by: 1, or less in a tempered search."""

    @property
    def walks(self) -> bool:
        """Is every node one column of a Gaussian score? Then tables are filled by walking through the sets."""
        return self.function == NO_FUNCTION and self.gram.shape[1] == len(self.pattern)

    @property
    def widest(self) -> int:
        """The most columns of a parent."""
        return int(np.diff(self.first_column).max())

    def without(self, nodes: Flags) -> ScoreTable:
        """Return the table of a score that says nothing of some nodes: they are parents only, and their score is 0."""
        if self.function != NO_FUNCTION:
            return self._replace(pattern=np.where(nodes, UNSCORED, self.pattern))
        nothing = np.eye(self.gram.shape[1])[None], np.zeros((1, *self.coefficients.shape[1:]))
        return self._replace(
            gram=np.concatenate([self.gram, nothing[0]]),
            own=np.where(nodes, 1.0, self.own),
            coefficients=np.concatenate([self.coefficients, nothing[1]]),
            pattern=np.where(nodes, np.int64(len(self.gram)), self.pattern),
        )

    def tempered(self, temperature: float) -> ScoreTable:
        return self._replace(coefficients=self.coefficients / temperature, scale=self.scale / temperature)


class Problem(NamedTuple):
    """The target as kernels see it: the same for all chains, never written to."""

    table: ScoreTable
    log_odds: Floats
    """Log prior odds of each edge (n × n)."""
    status: Bytes
    """Whether each edge is forbidden, free or required (n × n)."""
    free: Codes
    """The free edges, as arcs."""
    words: Words
    """Words that hash a node (row 1) and its set of parents (row 0), see `score_cache.hash_words`."""
    max_parents: int
    offset: float = 0.0
    """What every graph has beside its local scores: the log prior weight of values that are learned along with it."""
    by_children: Floats = np.zeros(0)
    """What a node adds beside its local score, by its number of children (n); empty if that makes no difference."""
    shift: float = 0.0
    """By how much the log odds of every edge exceed those of the tables that moves draw parents from."""


def gaussian_table(
    gram: Floats, own: Floats, coefficients: Floats, pattern: Integers, mix: float = 1.0, width: int = 1
) -> ScoreTable:
    """Return the table of a Gaussian score.

    With `width` above 1 the first n columns of the matrices are the nodes as children, and each node has `width`
    further columns as a parent.
    """
    n = len(pattern)
    first = np.arange(n + 1) if width == 1 else n + width * np.arange(n + 1)
    return ScoreTable(
        gram=np.ascontiguousarray(gram),
        own=np.ascontiguousarray(own),
        coefficients=np.ascontiguousarray(coefficients),
        pattern=np.ascontiguousarray(pattern, np.int64),
        first_column=first.astype(np.int64),
        child_column=np.arange(n, dtype=np.int64),
        child_width=np.ones(n, np.int64),
        mix=float(mix),
        function=int64(NO_FUNCTION),
        content=np.zeros(1, np.uint8),
        scale=1.0,
    )


def function_table(n_nodes: int, function: int, content: Bytes) -> ScoreTable:
    nobody = np.zeros(n_nodes, np.int64)
    empty = gaussian_table(np.zeros((1, 1, 1)), np.zeros(n_nodes), np.zeros((1, 3, 1)), nobody)
    return empty._replace(function=int64(function), content=np.ascontiguousarray(content, np.uint8))
