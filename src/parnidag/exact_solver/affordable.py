"""Whether the exact answer costs no more than chains would: decided by counting, so that it is the same everywhere."""

from __future__ import annotations

from math import comb

from parnidag.errors import ParnidagError
from parnidag.exact_solver.size import MAX_NODES, SECONDS_PER_TERM
from parnidag.exact_solver.sums import Solution, add_up, bounded, count_terms
from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.kernels.types import Floats
from parnidag.scores.custom import OwnScore, PythonScore
from parnidag.tables.all_sets import AllSets
from parnidag.target import Target

MOST_SECONDS = 20.0
"""About what chains of some twenty nodes take, search and all."""
CHECK_SECONDS = 7.0
"""What the check of a run may take: 16 discrete columns are within it."""
WALKED, FACTORISED, COMPILED, CALLED = 2e-7, 4e-6, 1.2e-5, 3e-4
"""Seconds to score a parent set: in a walk through all sets, by a factorisation of its own, by a compiled function on
a table of some thousand rows, and by a function in Python."""


def tables_are_affordable(target: Target, most_seconds: float = MOST_SECONDS) -> bool:
    """May the scores of all parent sets be computed?"""
    n = target.n_nodes
    if n > MAX_NODES:
        return False
    sets = n * sum(comb(n - 1, k) for k in range(min(target.max_parents, n - 1) + 1))
    return sets * seconds_per_set(target) <= most_seconds


def seconds_per_set(target: Target) -> float:
    table = target.problem.table
    if table.function == NO_FUNCTION:
        return WALKED if table.walks else FACTORISED
    return CALLED if isinstance(target.score, PythonScore) else COMPILED


def solution_if_affordable(target: Target, most_seconds: float = MOST_SECONDS) -> Solution | None:
    """Add up all graphs, unless that takes too long."""
    if not tables_are_affordable(target, most_seconds):
        return None
    sets = AllSets.of(target).sums
    completions = bounded(sets)
    if count_terms(completions) * SECONDS_PER_TERM > most_seconds:
        return None
    return add_up(sets, completions)


def check_of_chains(target: Target) -> Floats | None:
    """Return exact edge probabilities to compare a run of chains with, if they take a few seconds.

    A user's score is not asked for sets that the chains did not ask for, and no trouble here costs a finished run.
    """
    if isinstance(target.score, OwnScore):
        return None
    try:
        solution = solution_if_affordable(target, CHECK_SECONDS)
    except (ParnidagError, MemoryError):
        return None
    return None if solution is None else solution.edge_probabilities
