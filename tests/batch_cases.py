"""Tables cut into batches, and what must not depend on it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from parnidag.data import Data
from parnidag.errors import DataError

TOLERANCE = 1e-10
"""Relative; thousands of roundings of double precision."""


def cut(table, rng, batches=7):
    """The table in random pieces, some of them empty, at least one of a single row."""
    ends = np.sort(rng.integers(0, len(table) + 1, size=batches - 1))
    ends = [0, 0, *(1 + ends[ends > 0]), len(table)]
    rows = table.iloc if hasattr(table, "iloc") else table
    return [rows[start : max(start, end)] for start, end in itertools.pairwise(ends)]


def classes(rows=300, seed=1):
    """Text, truth values, whole numbers and categories, with levels that occur late only, and out of order."""
    rng = np.random.default_rng(seed)
    rows_of = np.arange(rows)
    return pd.DataFrame(
        {
            "text": np.where(rows_of > 250, "aardvark", rng.choice(["y", "x", "m"], rows)),
            "truth": rng.random(rows) < 0.3,
            "whole": np.where(rows_of > 200, -(rows_of % 5), 10 + rows_of % 3),
            "declared": pd.Categorical(rng.choice(["b", "a"], rows), ["never", "b", "a"]),
        }
    )


def with_targets(table, seed=1):
    """A table with a column of targets, which names one or two of its first columns, or none."""
    rng = np.random.default_rng(seed)
    a, b = table.columns[:2]
    return table.assign(target=rng.choice(["", a, b, f"{a}; {b}", "none"], len(table), p=[0.3, 0.2, 0.2, 0.2, 0.1]))


def assert_same(batched, whole):
    """All that is asked of data, but for the rows themselves."""
    assert (batched.names, batched.kind, batched.n_rows) == (whole.names, whole.kind, whole.n_rows)
    assert batched.dropped_rows == whole.dropped_rows
    assert repr(batched) == repr(whole)
    np.testing.assert_array_equal(batched.set_rows(), whole.set_rows())
    for one, other in zip(batched.describe()["columns"], whole.describe()["columns"], strict=True):
        assert one.keys() == other.keys()
        for key, figure in other.items():  # six digits of the spread
            is_number = isinstance(figure, float)
            assert one[key] == (
                pytest.approx(figure, rel=2e-6, abs=1e-9 * other.get("sd", 0.0)) if is_number else figure
            )
    pattern, groups = whole.patterns()
    batched_pattern, batched_groups = batched.patterns()
    np.testing.assert_array_equal(batched_pattern, pattern)
    if whole.kind == "discrete":
        assert_same_levels(batched, whole)
    if not any(whole._codings):
        for rows, mask in zip(batched_groups, groups, strict=True):
            assert_same_grams(batched, whole, rows, mask)


def assert_same_grams(batched, whole, rows, mask):
    assert batched.count_rows(rows) == whole.count_rows(mask)
    size = whole.n_rows - 1
    assert_close(batched.standardised_gram(), whole.standardised_gram(), size)
    assert_close(batched.scaled_gram(rows), whole.scaled_gram(mask), size)
    assert_close(batched.scaled_moments(rows)[1], whole.scaled_moments(mask)[1], 1.0)
    try:
        gram, mean = whole.centred_gram(mask)
    except DataError as refusal:
        with pytest.raises(DataError, match=str(refusal)[:40]):
            batched.centred_gram(rows)
        return
    deviation = np.sqrt(np.diagonal(gram))
    batched_gram, batched_mean = batched.centred_gram(rows)
    assert_close(batched_gram / deviation / deviation[:, None], gram / deviation / deviation[:, None], 1.0)
    np.testing.assert_allclose(batched_mean, mean, rtol=TOLERANCE, atol=TOLERANCE * deviation.max())


def assert_close(one, other, size):
    np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE * size)


def assert_same_levels(batched, whole):
    assert batched.discrete().labels == whole.discrete().labels
    for rows, mask in zip(batched.patterns()[1], whole.patterns()[1], strict=True):
        np.testing.assert_array_equal(all_rows(batched, rows), all_rows(whole, mask))


def all_rows(data, rows):
    """The codes of every row, in an order of their own."""
    codes, counts = data.discrete().codes, data.row_counts()
    counts = np.ones(codes.shape[1], int) if counts is None else counts
    if rows is not None:
        counts = counts * data.codes_used(rows)
    repeated = np.repeat(codes, counts, axis=1).astype(int)
    return repeated[:, np.lexsort(repeated)]


def both_refusals(table, batches, **options):
    """The refusal of a table in memory and that of its batches, without the number of the batch."""
    messages = []
    for make, given in ((Data, table), (Data.from_batches, batches)):
        with pytest.raises(DataError) as caught:
            make(given, **options)
        messages.append(str(caught.value))
    return messages[0], messages[1].partition(": ")[2] if messages[1].startswith("batch ") else messages[1]
