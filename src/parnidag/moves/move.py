"""What a move says of itself: enough for a mixture to offer, make, count and explain it.

A move is one file of this package that ends in ``MOVE = Move(…)``, and one line in the list of `parnidag.moves`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from parnidag.kernels.types import Floats
from parnidag.target import Target


class Move(NamedTuple):
    """A move that leaves the posterior invariant, as mixtures see it.

    Compiled code calls ``step(dag)`` and takes True for "the graph changed". A move that draws parents from candidate
    tables is called with ``tables`` next, and one that has arrays of its own with these last.
    """

    name: str
    """What users call it when they weigh moves."""
    about: str
    """What it does, in a few words that complete a list."""
    step: Callable[..., bool]
    make: Callable[[Target, Floats], Any] | None = None
    """Returns a chain's own arrays, a NamedTuple, if it needs some. The second argument says how probable every edge is
    thought to be (n × n)."""
    open: Callable[..., Any] | None = None
    """Makes the struct of these arrays that `step` takes, in compiled code."""
    needs_tables: bool = False
    burst: bool = True
    """Whether a step tries one change only: an iteration then makes as many as PARNI evaluates neighbourhoods."""
    reaches_all: bool = False
    """Whether it leads to every graph without the help of other moves."""
    parts: tuple[str, ...] = ()
    """If its steps are counted by kind: the kinds, in the order of ``tried`` and ``accepted`` among its own arrays."""

    @property
    def arguments(self) -> str:
        """What `step` takes, as a call is written; the move's own struct goes by its name."""
        return ", ".join(["dag", *["tables"] * self.needs_tables, *[self.name] * (self.open is not None)])
