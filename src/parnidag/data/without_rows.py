"""A problem that has no table: nodes by name, whose local scores are given."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from parnidag.data.table import Data
from parnidag.errors import DataError


class WithoutRows(Data):
    """The nodes of a problem whose data nobody has; whatever asks for rows or sums over them is refused.

    Parameters
    ----------
    names
        The nodes.
    score
        The score that knows them.
    """

    def __init__(self, names: Sequence[str], score: Any) -> None:
        self.names, self.kind, self.own_score = tuple(names), "local scores", score
        self.n_rows, self.dropped_rows = 0, 0
        self.kinds = ("local scores",) * len(self.names)
        self._codings, self._targets = (None,) * len(self.names), None

    def require_rows(self, what: str) -> None:
        raise DataError(f"local scores have no rows; {what} needs the table that they were made from")

    @property
    def values(self) -> Any:
        self.require_rows("values")

    def _standard(self) -> Any:
        self.require_rows("another score than their own")

    def discrete(self) -> Any:
        self.require_rows("a discrete score")

    def sums(self) -> dict[str, Any]:
        return {}

    def describe(self) -> dict[str, Any]:
        columns = [{"name": name} for name in self.names]
        return {"rows": 0, "kind": self.kind, "dropped_rows": 0, "columns": columns}

    def in_words(self) -> str:
        return repr(self)

    def digest(self) -> str:
        """The names: the scores describe themselves."""
        return hashlib.sha256(repr(self.names).encode("utf-8", "replace")).hexdigest()[:32]

    def __repr__(self) -> str:
        return f"local scores of {len(self.names)} nodes"

    def _repr_html_(self) -> str:
        return repr(self)
