"""Rows of level codes, kept in little memory: each kind of row once, with its number, while that saves memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[Any]
Counts = NDArray[np.int64]

_FEWEST_SORTED = 1 << 16  # new rows that are worth a look for repetitions
_MOST_IN_VAIN = 1 << 22  # rows after which repetitions are no longer looked for, if few were found


def different_rows(codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one row of each kind, and the kind of every row, for codes (columns × rows).

    Rows are told apart by a hash of 64 bits. Should two kinds ever share one, every row counts as a kind of its own.
    """
    keys = np.zeros(codes.shape[1], np.uint64)
    for column in codes:
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    _, members, place = np.unique(keys, return_index=True, return_inverse=True)
    if any((column[members][place] != column).any() for column in codes):
        members = place = np.arange(codes.shape[1])
    return members, place


def smallest_codes(codes: Sequence[Codes], levels: int) -> Codes:
    """Put columns of codes together, in the smallest type of whole numbers that holds so many levels."""
    return np.array(codes, dtype=np.min_scalar_type(max(levels - 1, 0)))


class RowCounts:
    """A table of codes that grows.

    New rows are appended as they come. Once they are as many as the rows before, repetitions among all of them are
    counted: every row is sorted a few times, however many batches there are.
    """

    def __init__(self, codes: Codes) -> None:
        self.n_rows = codes.shape[1]
        self._blocks: list[tuple[Codes, Counts | None]] = [(codes, None)]
        self._in_vain = False
        self.compact()

    @property
    def n_bytes(self) -> int:
        return sum(codes.nbytes + (0 if counts is None else counts.nbytes) for codes, counts in self._blocks)

    def rename(self, new_codes: Sequence[NDArray[np.int64]]) -> None:
        """Replace the codes of each column: code k becomes `new_codes[column][k]`."""
        levels = max((int(new.max()) + 1 for new in new_codes if new.size), default=0)
        self._blocks = [
            (smallest_codes([new[column] for new, column in zip(new_codes, codes, strict=True)], levels), counts)
            for codes, counts in self._blocks
        ]

    def add(self, other: RowCounts) -> None:
        self._blocks += other._blocks
        self.n_rows += other.n_rows
        sizes = [codes.shape[1] for codes, _ in self._blocks]
        if sum(sizes[1:]) >= max(_FEWEST_SORTED, sizes[0]):
            self.compact()

    def collect(self) -> tuple[Codes, Counts | None]:
        """Return the codes (columns × different rows) and their numbers, None if all are 1; and forget them.

        The order depends on the rows alone, not on how they were cut into batches, unless there are hardly any
        repetitions.
        """
        self.compact()
        joined = self._joined()
        self._blocks = []
        return joined

    def compact(self) -> None:
        """Count repetitions, if that makes the table smaller."""
        if self._in_vain:
            return
        codes, counts = self._joined()
        members, place = different_rows(codes)
        row_bytes = len(codes) * codes.itemsize
        if len(members) * (row_bytes + 8) < self.n_rows * row_bytes:
            numbers = np.bincount(place, weights=counts, minlength=len(members)).astype(np.int64)
            codes, counts = np.ascontiguousarray(codes[:, members]), numbers
        else:
            self._in_vain = self.n_rows >= _MOST_IN_VAIN
            codes, counts = codes if counts is None else np.repeat(codes, counts, axis=1), None
        self._blocks = [(codes, counts)]

    def _joined(self) -> tuple[Codes, Counts | None]:
        if len(self._blocks) == 1:
            return self._blocks[0]
        codes, counts = zip(*self._blocks, strict=True)
        if all(numbers is None for numbers in counts):
            return np.concatenate(codes, axis=1), None
        ones = [np.ones(block.shape[1], np.int64) if n is None else n for block, n in self._blocks]
        return np.concatenate(codes, axis=1), np.concatenate(ones)
