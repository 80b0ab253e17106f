"""Scores that users bring: a Python function, or one that Numba compiles.

Either way samplers call it by its address and remember what it said, so it is asked once for each parent set they meet.
"""

from __future__ import annotations

import ctypes
import math
import uuid
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numba
import numpy as np

from parnidag._util.checks import is_number
from parnidag._util.text import one_line
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.kernels.by_address import SIGNATURE, address_of, pack_arrays, packed, packed_shape, pointed
from parnidag.kernels.problem import ScoreTable, function_table
from parnidag.kernels.types import Bytes, Floats
from parnidag.scores.base import Patterns, Score, refuse_interventions

MOST_KNOWN = 1_000_000  # answers that are remembered across chains and tables
MOST_NAMED = 16  # parents of a set in trouble that are remembered
TROUBLE, NODE, COUNT, PARENTS = range(4)  # what is remembered of trouble: its kind, the node, how many parents, which
RECORD = PARENTS + MOST_NAMED
FINE, NO_SCORE, RAISED = 0, 1, 2
MOST_ARRIVED = 8


class OwnScore(Score):
    """What users' scores have in common: in another process they arrive once, however often they are sent.

    There the function is compiled, and its answers are remembered, from one segment of a chain to the next.
    """

    takes_gaps: ClassVar[bool] = True  # whatever the function makes of them

    def __init__(self, function: Callable[..., float], name: str | None, arguments: str) -> None:
        if not callable(function):
            raise ParnidagError(f"function must be callable as function({arguments}), got {function!r}")
        self._python = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._token = uuid.uuid4().hex

    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        refuse_interventions(self, data)
        return function_table(data.n_nodes, self.function(), self._read_by_function())

    def _read_by_function(self) -> Bytes:
        return np.zeros(1, np.uint8)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrive, (self._token, type(self), self.__getstate__())

    def describe(self) -> dict[str, object]:
        return {"name": type(self).__name__, "function": self.name}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def _failed(self, what: str, node: int, parents: Sequence[int]) -> ParnidagError:
        more = ", …" if len(parents) == MOST_NAMED else ""
        given = f"[{', '.join(map(str, parents))}{more}]"
        return ParnidagError(
            f"the score {self.name} {what} for node {node} given {given}; it must return a number, or −inf for what is "
            "impossible"
        )


_ARRIVED: dict[str, Any] = {}


def _arrive(token: str, kind: type, state: dict[str, Any]) -> Any:
    if token not in _ARRIVED:
        score: Any = object.__new__(kind)
        score.__dict__.update(state)
        while len(_ARRIVED) >= MOST_ARRIVED:
            _ARRIVED.pop(next(iter(_ARRIVED)))
        _ARRIVED[token] = score
    return _ARRIVED[token]


class PythonScore(OwnScore):
    """Any Python function as a score.

    It is called once for each node and parent set that a run meets, holding Python's lock: use `Compiled` or a score of
    the package when that is too slow.

    Parameters
    ----------
    function
        ``function(node, parents) -> float``: the log score of a node, a column index from 0, given a tuple of sorted
        column indices. It must return the same value whenever it is asked the same, and −inf for what is impossible.
    name
        What results say; the function's own name by default.

    Examples
    --------
    >>> import parnidag
    >>> fewer_is_better = parnidag.scores.PythonScore(lambda node, parents: -2.0 * len(parents), name="sparse")
    >>> posterior = parnidag.exact([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0]], score=fewer_is_better)
    >>> round(float(posterior.edge_probabilities.iloc[0, 1]), 3)
    0.107
    """

    def __init__(self, function: Callable[[int, tuple[int, ...]], float], name: str | None = None) -> None:
        super().__init__(function, name, "node, parents")
        self._errors: list[BaseException] = []
        self._callback: tuple[int, object] | None = None
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def function(self) -> int:
        if self._callback is None:
            self._callback = self._as_callback()
        return self._callback[0]

    def _answer(self, node: int, parents: tuple[int, ...]) -> float:
        try:
            answer = self._python(node, parents)
            value = float(answer) if is_number(answer) else math.nan
        except Exception as error:
            raise self._failed(f"raised {_shown(error)}", node, parents) from error
        if math.isnan(value) or value == math.inf:
            raise self._failed(f"gave {one_line(repr(answer), 80)}", node, parents)
        return value

    def _as_callback(self) -> tuple[int, object]:
        def ask(node: int, parents: Any, count: int, content: Any) -> float:
            # Compiled code cannot raise, so errors are kept for `check`, Ctrl-C at any place among them.
            try:
                question = int(node), tuple(int(parents[k]) for k in range(count))
                known = self._known.get(question)
                if known is not None:
                    return known
                if self._errors:
                    return -math.inf
                value = self._answer(*question)
                if len(self._known) == MOST_KNOWN:
                    self._known.clear()
                self._known[question] = value
                return value
            except BaseException as error:
                self._errors.append(error)
                return -math.inf

        if numba.config.DISABLE_JIT:
            return address_of(ask), ask
        kind = ctypes.CFUNCTYPE(
            ctypes.c_double, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_void_p
        )
        callback = kind(ask)
        return int(ctypes.cast(callback, ctypes.c_void_p).value or 0), callback

    def check(self, content: Bytes) -> None:
        """Raise what the function raised, but Ctrl-C and the end of the process before anything else."""
        errors, self._errors[:] = list(self._errors), []
        for error in sorted(errors, key=lambda error: isinstance(error, Exception)):
            raise error

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_errors": [], "_callback": None, "_known": {}}


class Compiled(OwnScore):
    """A score that Numba compiles, for users' own models at full speed.

    Parameters
    ----------
    function
        ``function(node, parents, content) -> float``, in the part of Python that Numba knows: the log score of a node,
        given a sorted int64 array of column indices, and `content`.
    content
        A 2-D array of numbers that the function reads: the data, a Gram matrix, or what else it needs.
    name
        What results say; the function's own name by default.

    Examples
    --------
    >>> import numpy as np
    >>> from parnidag import scores
    >>> def fewer_is_better(node, parents, content):
    ...     return content[0, 0] * len(parents)
    >>> scores.Compiled(fewer_is_better, np.array([[-2.0]])).name
    'fewer_is_better'
    """

    def __init__(self, function: Callable[..., float], content: Floats, name: str | None = None) -> None:
        super().__init__(getattr(function, "py_func", function), name, "node, parents, content")
        try:
            numbers = np.ascontiguousarray(content, float)
        except (TypeError, ValueError):
            raise ParnidagError(f"content must be a 2-D array of numbers, got {type(content).__name__}") from None
        if np.ndim(content) != 2:
            raise ParnidagError(f"content must be a 2-D array of numbers, got {np.ndim(content)}-D")
        self.content = numbers
        self._compiled: Any = None

    def _read_by_function(self) -> Bytes:
        return pack_arrays(np.zeros(RECORD, np.int64), self.content)

    def function(self) -> int:
        if self._compiled is None:
            try:
                self._compiled = _compile(self._python)
            except Exception as error:  # Numba has many, and its own bugs show as any other
                raise ParnidagError(
                    f"Numba cannot compile the score {self.name}: {one_line(error, 400)}; use the part of Python that "
                    "Numba knows, or PythonScore"
                ) from error
        return address_of(self._compiled)

    def check(self, content: Bytes) -> None:
        """Raise an error if the function raised one, or gave no score, in compiled code."""
        start = int(content[:8].view(np.int64)[0])
        record = content[start : start + 8 * RECORD].view(np.int64)
        trouble, node, count = record[TROUBLE], int(record[NODE]), int(record[COUNT])
        parents = record[PARENTS : PARENTS + min(count, MOST_NAMED)].copy()
        if trouble == NO_SCORE:
            raise self._failed("gave NaN or +inf", node, parents.tolist())
        if trouble == RAISED:
            cause = None
            try:  # as plain Python, since compiled code cannot hand on what it raises
                if count <= MOST_NAMED:
                    self._python(node, parents, self.content)
            except Exception as error:
                cause = error
            what = "raised an exception" if cause is None else f"raised {_shown(cause)}"
            raise self._failed(what, node, parents.tolist()) from cause

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": None}


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(error)}" if str(error) else type(error).__name__


def _compile(function: Callable[..., float]) -> Any:
    if numba.config.DISABLE_JIT:
        inner: Any = function
    else:
        inner = numba.njit(nogil=True, error_model="numpy")(function)

    def score(node: int, parents: Any, count: int, content: Any) -> float:
        record, given = packed(content, 0).view(np.int64), pointed(parents, count)
        numbers = packed(content, 1).view(np.float64).reshape(packed_shape(content, 1))
        value, trouble = -np.inf, FINE
        try:
            value = inner(node, given, numbers)
        except Exception:  # there is nobody to raise it to here: `check` does
            trouble = RAISED
        if value != value or value == np.inf:
            trouble = NO_SCORE
        if trouble == FINE:
            return value
        if record[TROUBLE] == FINE:  # the first trouble is reported
            record[NODE], record[COUNT] = node, count
            for k in range(min(count, MOST_NAMED)):
                record[PARENTS + k] = given[k]
            record[TROUBLE] = trouble
        return -np.inf

    return score if numba.config.DISABLE_JIT else numba.cfunc(SIGNATURE, error_model="numpy")(score)
