"""How probable an answer is: a question put to every different graph once, and counted over the draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from parnidag.effects.monte_carlo import standard_errors
from parnidag.effects.question import Each, Either, Not, Question, Statement, read_question
from parnidag.errors import ParnidagError
from parnidag.graphs.adjacency import adjacency_from_codes
from parnidag.graphs.graph import Graph
from parnidag.graphs.separation import reaches, separates
from parnidag.kernels.types import Flags, Floats

if TYPE_CHECKING:
    from parnidag.results.record import RunRecord

Asked = str | Callable[[Graph], bool]


class Probability(float):
    """A probability, with how well the draws know it; in every other way a number.

    Attributes
    ----------
    mcse : float
        Monte-Carlo standard error; NaN if all draws agree, which cannot tell it.
    draws : int
        How many stored draws it is of; with a condition, how many fulfil it.
    """

    mcse: float
    draws: int

    def __new__(cls, value: float, mcse: float, draws: int) -> Probability:
        made = super().__new__(cls, value)
        made.mcse, made.draws = mcse, draws
        return made

    def __repr__(self) -> str:
        error = "" if np.isnan(self.mcse) else f" ± {self.mcse:.1g}"
        return f"{float(self):.4g}{error} ({self.draws} draws)"

    def __reduce__(self) -> tuple[type[Probability], tuple[float, float, int]]:
        return Probability, (float(self), self.mcse, self.draws)


def probability_of(record: RunRecord, question: Asked, given: Asked | None, independent: bool) -> Probability:
    """Count how many draws a question is true of, among those that fulfil a condition."""
    if record.graph_index.size == 0:
        raise ParnidagError("this result has no stored graphs to ask: ask for some, with exact(..., draws=1000)")
    true = ask(record, question, "question")[record.graph_index].astype(float)
    holds = np.ones_like(true) if given is None else ask(record, given, "given")[record.graph_index].astype(float)
    if not holds.any():
        raise ParnidagError("given: none of the stored graphs fulfils it, so nothing can be said of those that do")
    value = float((true * holds).mean() / holds.mean())
    error = _error((true - value) * holds / holds.mean(), independent) if 0.0 < value < 1.0 else float("nan")
    return Probability(value, error, int(holds.sum()))


def _error(values: Floats, independent: bool) -> float:
    """Return the error of a ratio of means, from how each draw moves it."""
    return float(standard_errors(values[:, :, None], independent)[0])


def ask(record: RunRecord, question: Asked, argument: str) -> Flags:
    """Say of each different graph whether a question is true of it."""
    if isinstance(question, str):
        return _true_of(record, read_question(question, record.nodes, argument))
    if not callable(question):
        raise ParnidagError(
            f"{argument} must be a text such as 'a -> b', or a function of a Graph, got {question!r}", argument=argument
        )
    found = np.zeros(len(record.graph_offsets) - 1, bool)
    for graph in range(len(found)):
        adjacency = adjacency_from_codes(record.graph_codes(graph), len(record.nodes))
        answer = question(Graph(record.nodes, adjacency))
        if not isinstance(answer, bool | np.bool_):
            raise ParnidagError(
                f"{argument}: the function must return True or False, got {answer!r}", argument=argument
            )
        found[graph] = answer
    return found


def _true_of(record: RunRecord, question: Question) -> Flags:
    if isinstance(question, Statement):
        return _stated(record, question)
    if isinstance(question, Not):
        return ~_true_of(record, question.part)
    join = {Each: np.logical_and, Either: np.logical_or}[type(question)]
    return reduce(join, [_true_of(record, part) for part in question.parts])


def _stated(record: RunRecord, said: Statement) -> Flags:
    n, offsets, codes = len(record.nodes), record.graph_offsets, record.graph_edges
    if said.kind == "separated":
        sets = np.zeros((3, n), bool)
        for row, nodes in enumerate((said.one, said.other, said.given)):
            sets[row, list(nodes)] = True
        return separates(n, offsets, codes, *sets)
    (i,), (j,) = said.one, said.other
    if said.kind == "path":
        return reaches(n, offsets, codes, i, j)
    edges = _having(record, i * n + j)
    return edges | _having(record, j * n + i) if said.kind == "adjacent" else edges


def _having(record: RunRecord, code: int) -> Flags:
    """Say of each different graph whether it has an edge."""
    found = np.zeros(len(record.graph_offsets) - 1, bool)
    places = np.flatnonzero(record.graph_edges == code)
    found[np.searchsorted(record.graph_offsets, places, side="right") - 1] = True
    return found
