"""What every score is: settings that reduce data to a table for kernels (`kernels.problem`)."""

from __future__ import annotations

from typing import Protocol

from parnidag.data.table import Data
from parnidag.kernels.problem import ScoreTable


class Score(Protocol):
    """A local score: settings that reduce data to a table for kernels."""

    def table(self, data: Data) -> ScoreTable:
        """Reduce the data to what kernels need."""
        ...

    def describe(self) -> dict[str, object]:
        """Return the settings in a form that JSON can hold."""
        ...

    def function(self) -> int:
        """Return the address of the compiled score in this process, NO_FUNCTION in the Gaussian family."""
        ...
