"""Columns of every type: text, truth values and categories become levels, and what is mixed is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tables import refusal

from parnidag.data.columns import Coding
from parnidag.data.reading import read_table

LIBRARIES = pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])


@LIBRARIES
def test_text_and_truth_values_are_read_as_levels(library):
    read = read_table(library({"x": [1.5, 2.0, 4.0], "sex": ["m", None, "f"], "ill": [True, False, None]}))
    np.testing.assert_array_equal(read.values, [[1.5, 1, 1], [2, np.nan, 0], [4, 0, np.nan]])
    assert read.codings[0] is None
    assert read.codings[1] == Coding(("f", "m"), False, "String")
    assert read.codings[2][:2] == (("False", "True"), True)


@pytest.mark.parametrize(
    ("column", "labels", "declared"),
    [
        (pd.Series(pd.Categorical(["b", None, "a"], categories=["c", "b", "a"])), ("c", "b", "a"), True),
        (pd.Series(pd.Categorical(["b", None, "a"], categories=["c", "b", "a"], ordered=True)), ("c", "b", "a"), True),
        (pd.Series(pd.Categorical([2.0, None, 10.0], categories=[10.0, 2.0, 0.5])), ("10", "2", "0.5"), True),
        (pd.cut(pd.Series([1.0, None, 9.0]), [0, 5, 10, 15]), ("(0, 5]", "(5, 10]", "(10, 15]"), True),
        (pd.Series(["b", None, "a"], dtype="string"), ("a", "b"), False),
        (pd.Series(["b", None, "a"], dtype=object), ("a", "b"), False),
        (pd.Series(["b", None, "a"], dtype=pd.ArrowDtype(pa.string())), ("a", "b"), False),
        (pd.Series(["b", None, "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))), ("a", "b"), False),
        (pd.Series([True, None, False], dtype="boolean"), ("False", "True"), True),
        (pd.Series([True, None, False], dtype=object), ("False", "True"), True),
        (pl.Series(["b", None, "a"], dtype=pl.Enum(["c", "b", "a"])), ("c", "b", "a"), True),
        (pl.Series(["b", None, "a"], dtype=pl.Categorical), ("a", "b"), False),
        (pl.Series([True, None, False]), ("False", "True"), True),
        (pl.Series([True, None, False], dtype=pl.Object), ("False", "True"), True),
    ],
)
def test_levels_of_every_type(column, labels, declared):
    library = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    read = read_table(library({"x": [1.5, 2.0, 4.0], "arm": column}))
    assert read.codings[1][:2] == (labels, declared)
    shown = [None if np.isnan(code) else labels[int(code)] for code in read.values[:, 1]]
    given = column.to_list()
    expected = [given[0], None, given[2]]
    assert shown == [None if value is None else str(value).replace(".0", "") for value in expected]


def test_levels_of_polars_categoricals_do_not_leak_between_columns():
    table = pl.DataFrame({"a": ["u", "v", "u"], "b": ["w", "u", "w"]}, schema=dict.fromkeys("ab", pl.Categorical))
    assert [coding.labels for coding in read_table(table).codings] == [("u", "v"), ("u", "w")]


def test_levels_of_pyarrow_dictionaries_are_those_of_all_chunks():
    def chunk(codes, levels):
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(levels))

    column = pa.chunked_array([chunk([0, None], ["c", "b"]), chunk([1, 0], ["b", "d"])])
    read = read_table(pa.table({"x": [1.5, 2.0, 4.0, 3.0], "arm": column}))
    assert read.codings[1][:2] == (("c", "b", "d"), True)
    np.testing.assert_array_equal(read.values[:, 1], [0, np.nan, 2, 1])


@pytest.mark.parametrize(
    "array",
    [
        np.array([["a", "2"], ["b", "1"], ["a", "10"]]),
        np.array([["a", "2"], ["b", "1"], ["a", "10"]], dtype=np.dtypes.StringDType()),
        [["a", "2"], ["b", "1"], ["a", "10"]],
        np.ma.array([["a", "2"], ["b", "1"], ["a", "10"]]),
    ],
)
def test_arrays_of_text_are_levels_in_the_order_of_text(array):
    read = read_table(array)
    assert [coding.labels for coding in read.codings] == [("a", "b"), ("1", "10", "2")]
    np.testing.assert_array_equal(read.values, [[0, 2], [1, 0], [0, 1]])


def test_text_without_any_value_has_no_levels():
    hollow = np.array([["", "a"]] * 3, dtype=np.dtypes.StringDType(na_object=None))
    hollow[:, 0] = None
    read = read_table(hollow)
    assert read.codings[0] is None
    assert np.isnan(read.values[:, 0]).all()


@pytest.mark.parametrize(
    ("values", "shown"),
    [([1, "b", 3.0], "str, for example 'b'"), ([True, 2, 3], "bool, for example True"), (["a", True, None], "'a'")],
)
def test_columns_of_mixed_values_are_refused(values, shown):
    message = refusal(pd.DataFrame({"X0": [1, 2, 3], "X1": pd.Series(values, dtype=object)}))
    assert message.startswith("columns that mix numbers, text or truth values: X1 (")
    assert shown in message
    assert "X0" not in message


@pytest.mark.parametrize("hole", [None, pd.NA, float("nan"), Decimal("NaN"), Decimal("sNaN"), np.float32("nan")])
@pytest.mark.parametrize("values", [["b", "a"], [True, False], [2, 0.5]])
def test_missing_values_among_objects(hole, values):
    read = read_table([[1.5, values[0]], [2.5, hole], [2.0, values[1]]])
    assert np.isnan(read.values[:, 1]).tolist() == [False, True, False]
