"""What a result keeps of its table, and the table that can be made of it again, whose rows have lost their order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from parnidag.data import gram, levels
from parnidag.data.classes import Classes
from parnidag.data.counts import different_rows as different
from parnidag.data.gaps import refuse_unlearnable
from parnidag.data.interventions import check_interventions
from parnidag.data.numbers import Numbers
from parnidag.data.summary import FEWEST_ROWS, group_by_targets, moments_by_group

MOST_KEPT_SUMS = 64 * 10**6
"""Bytes that the sums a result keeps of its table may take."""
MOST_KEPT_CELLS = 4 * 10**6
"""Cells of the different rows of classes that a result keeps."""


class Kept(Numbers, Classes):
    """What effects ask of a table, with or without its rows."""

    @classmethod
    def from_sums(cls, names: Sequence[str], sums: Mapping[str, Any]) -> Self:
        """Give back a table, without the order of its rows, from what `sums` or `different_rows` kept."""
        data = cls.__new__(cls)
        if "classes_codes" in sums:
            data._take_different_rows(tuple(names), sums)
            return data
        data.names, data.kind, data._codings = tuple(names), "continuous", (None,) * len(names)
        data.kinds = ("number",) * len(names)
        data._targets = np.asarray(sums["sums_targets"], bool)
        data._group_rows = np.asarray(sums["sums_rows"], np.int64)
        data._columns = [levels.SeenColumn("numbers") for _ in names]
        data._group_moments = [
            gram.Moments(int(rows), gram.Spread(low, high), matrix, shift, offset, unit)
            for rows, matrix, (low, high, shift, offset, unit) in zip(
                data._group_rows, sums["sums_gram"], sums["sums_columns"], strict=True
            )
        ]
        data.n_rows, data.dropped_rows = int(data._group_rows.sum()), 0
        data._check()
        return data

    def _take_different_rows(self, names: tuple[str, ...], kept: Mapping[str, Any]) -> None:
        self.names, self.kind, self._codings = names, "discrete", (None,) * len(names)
        self._targets = np.asarray(kept["sums_targets"], bool)
        self._group_rows = np.asarray(kept["sums_rows"], np.int64)
        self._row_counts = np.asarray(kept["classes_rows"], np.int64)
        self._group_of_code = np.asarray(kept["classes_group"], np.int64)
        labels = json.loads(np.asarray(kept["classes_labels"], np.uint8).tobytes())
        self._levels = levels.Levels(np.asarray(kept["classes_codes"]), tuple(map(tuple, labels)))
        self.kinds = tuple("binary" if len(one) == 2 else "class" for one in labels)
        self.n_rows, self.dropped_rows = int(self._group_rows.sum()), 0
        self._check()

    def sums(self) -> dict[str, NDArray[Any]]:
        """Give what scores of linear relations need of the table, as arrays without rows; nothing if it is much.

        Rows in which the same columns were set are one group: for each these columns, the number of rows, the cross
        products, and what tells their units. `from_sums` makes a table of it again.
        """
        moments, targets, counts = self._group_moments, self._targets, self._group_rows
        if self._values is not None and self.kind == "continuous":
            group_of_row, groups = group_by_targets(self._targets, self.n_rows, self.n_nodes)
            if len(groups) * self.n_nodes**2 * 8 > MOST_KEPT_SUMS:
                return {}
            bits = np.frombuffer(b"".join(groups), np.uint8).reshape(len(groups), -1)
            targets = np.unpackbits(bits, axis=1, count=self.n_nodes).astype(bool)
            counts = np.array(list(groups.values()), np.int64)
            moments = list(moments_by_group(self._values, group_of_row, list(groups)).values())
        if not moments or targets is None or counts is None or len(moments) * self.n_nodes**2 * 8 > MOST_KEPT_SUMS:
            return {}
        return {
            "sums_targets": np.asarray(targets, np.uint8),
            "sums_rows": counts,
            "sums_gram": np.array([one.gram for one in moments]),
            "sums_columns": np.array([[*one.spread, one.shift, one.offset, one.unit] for one in moments]),
        }

    def different_rows(self) -> dict[str, NDArray[Any]]:
        """Give what scores of classes need of the table: its different rows and their numbers; nothing if it is much.

        `from_sums` makes a table of it again, in which rows have lost their order.
        """
        codes, labels = self.discrete()
        if self._values is None:
            targets, rows, groups = self._targets, self._group_rows, self._group_of_code
            assert targets is not None
            assert rows is not None
            assert groups is not None
            counts = np.ones(codes.shape[1], np.int64) if self._row_counts is None else self._row_counts
        else:
            group_of_row, bits = group_by_targets(self._targets, self.n_rows, self.n_nodes)
            flags = np.frombuffer(b"".join(bits), np.uint8).reshape(len(bits), -1)
            targets = np.unpackbits(flags, axis=1, count=self.n_nodes).astype(bool)
            rows = np.array(list(bits.values()), np.int64)
            members, place = different(np.vstack([codes, group_of_row]))
            counts, groups, codes = np.bincount(place), group_of_row[members], codes[:, members]
        if codes.size > MOST_KEPT_CELLS:
            return {}
        return {
            "sums_targets": np.asarray(targets, np.uint8),
            "sums_rows": rows,
            "classes_codes": np.asarray(codes, np.int32),
            "classes_rows": np.asarray(counts, np.int64),
            "classes_group": np.asarray(groups, np.int64),
            "classes_labels": np.frombuffer(json.dumps(labels).encode(), np.uint8),
        }

    def _check(self) -> None:
        check_interventions(self.set_rows(), self.n_rows, self.names, FEWEST_ROWS)
        if self.gaps is not None:
            refuse_unlearnable(self.values, self.gaps, self._targets, self.names, FEWEST_ROWS)
            return
        if self.kind == "continuous":
            self._standard()  # now rather than when a score asks, so that the refusal is about the table
