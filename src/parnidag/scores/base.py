"""What every score is: settings that reduce data to a table for kernels (`kernels.problem`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, final

from parnidag._util.checks import is_number
from parnidag.data.gaps import refuse_gaps
from parnidag.data.table import Data
from parnidag.errors import ParnidagError
from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.kernels.problem import ScoreTable
from parnidag.kernels.types import Bytes, Integers


class Patterns(NamedTuple):
    """Which rows each node may use: those in which no experimenter set it."""

    of_node: Integers
    """The pattern of each node (n)."""
    rows: list[Any]
    """The rows of each pattern, as `Data.scaled_gram`, `centred_gram`, `count_rows` and `codes_used` take them; None
    for all rows."""


class Score(ABC):
    """A local score: settings that reduce data to a table for kernels.

    A subclass says in `by_pattern` what it makes of the data. It is told there which rows each node may use, so that
    no score can overlook interventions; `table` cannot be overridden.
    """

    joint: ClassVar[bool] = False
    """Are there parents that explain a node together, and not at all alone, and is a score quick to compute?"""
    takes_gaps: ClassVar[bool] = False
    """Can tables be scored that have empty cells?"""
    usual_h: ClassVar[float | None] = None
    """The edge odds that belong to it, as `EdgePrior.h`, if they are not the usual ones."""
    learns: ClassVar[str] = ""
    """The field that may be "learn", or a tuple of values that are equally probable beforehand, if there is one.

    Tuples are kept in increasing order.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "table" in vars(cls):
            raise TypeError(f"{cls.__name__} must define by_pattern(data, patterns), not table(data)")

    @final
    def table(self, data: Data) -> ScoreTable:
        """Reduce the data to what kernels need."""
        return self.by_pattern(data, Patterns(*data.patterns()))

    @property
    def is_learned(self) -> bool:
        """Is there a field whose value is to be learned along with the graph?"""
        return bool(self.learns) and isinstance(getattr(self, self.learns), str | tuple)

    @property
    def is_listed(self) -> bool:
        """Are the values to learn from a list of the user's, with any gaps between them?"""
        return bool(self.learns) and isinstance(getattr(self, self.learns), tuple)

    def learned_values(self, n_nodes: int) -> tuple[float, ...]:
        """Return the values that a field may have if it is "learn"."""
        raise NotImplementedError

    def variants(self, n_nodes: int) -> list[Score]:
        """Return this score with every value that its learned field may have; itself alone if it has none."""
        if not self.is_learned:
            return [self]
        given = getattr(self, self.learns)
        values = self.learned_values(n_nodes) if isinstance(given, str) else given
        return [replace(self, **{self.learns: value}) for value in values]  # type: ignore[type-var]

    @abstractmethod
    def by_pattern(self, data: Data, patterns: Patterns) -> ScoreTable:
        """Reduce the data to what kernels need, each node's from the rows of its pattern alone."""

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold: by default the fields of a dataclass."""
        settings: dict[str, object] = {"name": type(self).__name__}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if is_number(value):
                value = float(value) if "float" in str(field.type) else int(value)
            settings[field.name] = list(value) if isinstance(value, tuple) else value
        return settings

    def function(self) -> int:
        """Return the address of the compiled score in this process; by default there is none, as in `gaussian`."""
        return NO_FUNCTION

    def check(self, content: Bytes) -> None:  # noqa: B027 – most scores cannot fail
        """Raise what went wrong inside compiled code, which cannot raise; `content` is that of the table."""


def check_learnable(score: Score, check: Callable[[object], object], numbers: str) -> None:
    """Check the field of a score that may be learned: one value, "learn", or several values to choose from."""
    argument, value = score.learns, getattr(score, score.learns)
    if isinstance(value, str):
        if value != "learn":
            raise ParnidagError(f'{argument} must be {numbers}, several of them, or "learn", got {value!r}')
    elif isinstance(value, tuple | list):
        for one in value:
            check(one)
        if len(set(value)) < max(len(value), 2):
            raise ParnidagError(f"{argument} must have two values or more to learn from, all different, got {value!r}")
        object.__setattr__(score, argument, tuple(sorted(float(one) for one in value)))
    else:
        check(value)


def table_of(score: Any, data: Data) -> ScoreTable:
    """Ask a score for its table; whatever is no `Score` is not told of interventions."""
    if not isinstance(score, Score):
        refuse_interventions(score, data)
    elif not score.takes_gaps:
        refuse_gaps(data.gaps, data.names, f"the score {type(score).__name__}")
    table: ScoreTable = score.table(data)
    return table


def refuse_interventions(score: object, data: Data) -> None:
    """Refuse a score that is not told of interventions, rather than ignore them."""
    if data.has_interventions:
        raise ParnidagError(
            f"{score!r} is a score of your own, which is not told of interventions: leave out the rows inside the "
            "function, and pass the data without interventions="
        )
