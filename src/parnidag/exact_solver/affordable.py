"""Whether the exact answer costs no more than chains would: decided by counting, so that it is the same everywhere."""

from __future__ import annotations

from parnidag._util.free_memory import KEPT_FREE, free_bytes
from parnidag.errors import ParnidagError
from parnidag.exact_solver.folded import count_sets
from parnidag.exact_solver.over_levels import Answer, Bound, add_up_levels
from parnidag.exact_solver.size import MAX_NODES, SECONDS_PER_TERM, bytes_of_sums
from parnidag.exact_solver.sums import count_terms
from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.kernels.types import Floats
from parnidag.scores.custom import OwnScore, PythonScore
from parnidag.target import Target

MOST_SECONDS, MOST_SECONDS_LEARNED = 20.0, 60.0
"""About what chains of some twenty nodes take, search and all; and where values are learned along with the graph, so
that several sums are needed, and chains take longer too."""
LARGE = 19
"""Below so many nodes every machine has room."""
USUAL_LEVELS = 3
"""Of these values so many usually matter: the best and its neighbours."""
CHECK_SECONDS = 7.0
"""What the check of a run may take: 16 discrete columns are within it."""
WALKS_OF_FOLDED = 3
"""Where nodes are parents only, all parent sets are scored for the sum, for the edges and for draws."""
WALKED, FACTORISED, COMPILED, CALLED = 1.2e-7, 4e-6, 1.2e-5, 3e-4
"""Seconds to score a parent set: in a walk through all sets, by a factorisation of its own, by a compiled function on
a table of some thousand rows, and by a function in Python."""


def tables_are_affordable(target: Target, most_seconds: float = MOST_SECONDS) -> bool:
    """May the scores of all parent sets be made in so many seconds, at every level that matters, and kept?"""
    if target.levels is not None:
        most_seconds *= MOST_SECONDS_LEARNED / MOST_SECONDS / (2 * levels_that_matter(target))
    if target.cells is not None or target.problem.by_children.size:
        return False
    if target.scored.size > MAX_NODES or not has_room(target):
        return False
    times = 1 if target.parents_only is None else WALKS_OF_FOLDED
    return times * count_sets(target) * seconds_per_set(target) <= most_seconds


def levels_that_matter(target: Target) -> int:
    """Return about how many of the values that are learned along with the graph have tables of their own.

    Each twice: for what it weighs by orders, and for the sum itself.
    """
    return 1 if target.levels is None else min(target.levels.count, USUAL_LEVELS)


def seconds_per_set(target: Target) -> float:
    table = target.problem.table
    if table.function == NO_FUNCTION:
        return WALKED if table.walks else FACTORISED
    return CALLED if isinstance(target.score, PythonScore) else COMPILED


def seconds_of_a_sum(target: Target) -> float:
    """Return about how long one sum over all graphs takes, scores of all parent sets and all, at one level."""
    return count_sets(target) * seconds_per_set(target) + SECONDS_PER_TERM * 3.0**target.n_nodes


def has_room(target: Target) -> bool:
    """Does this machine have the memory for the sums of all levels that matter, which the draws of graphs need?"""
    nodes = target.scored.size
    free = free_bytes() if nodes >= LARGE else None
    return free is None or bytes_of_sums(nodes) * levels_that_matter(target) <= (1.0 - KEPT_FREE) * free


def answer_if_affordable(target: Target, most_seconds: float = MOST_SECONDS) -> Answer | None:
    """Add up all graphs, unless that takes too long: at one level, or at all those together that matter."""
    left = most_seconds if levels_that_matter(target) == 1 else most_seconds * MOST_SECONDS_LEARNED / MOST_SECONDS
    if not tables_are_affordable(target, most_seconds):
        return None
    first = Bound.of(target)
    if count_terms(first.completions) * SECONDS_PER_TERM > left:
        return None

    return add_up_levels(target, lambda bound, levels: count_terms(bound) * SECONDS_PER_TERM * levels <= left, first)


def check_of_chains(target: Target) -> Floats | None:
    """Return exact edge probabilities to compare a run of chains with, if they take a few seconds.

    A user's score is not asked for sets that the chains did not ask for, and no trouble here costs a finished run.
    """
    if isinstance(target.score, OwnScore):
        return None
    try:
        answer = answer_if_affordable(target, CHECK_SECONDS)
    except (ParnidagError, MemoryError):
        return None
    return None if answer is None else answer.edge_probabilities
