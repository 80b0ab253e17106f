"""Discrete tables: when a table is one, its levels, and a clear refusal of what is neither classes nor numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import refusal

from parnidag.data import Data
from parnidag.errors import DataError

LIBRARIES = pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
SEX = ["m", "f", "f", "m", "f"]
ILL = [True, False, True, True, False]
AGE = [30, 9, 41, 9, 30]
WEIGHT = [70.5, 31.0, 60.25, 28.0, 55.0]


def asia():
    return pd.DataFrame({"sex": SEX, "ill": ILL, "age": AGE})


def decoded(data):
    """The table written out in labels, row by row."""
    codes, labels = data.discrete()
    return [tuple(labels[j][code] for j, code in enumerate(row)) for row in codes.T.tolist()]


# --- the kind of a table ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"sex": SEX, "ill": ILL}, "discrete"),
        ({"sex": SEX, "age": AGE}, "discrete"),
        ({"ill": ILL, "age": AGE}, "discrete"),
        ({"arm": pd.Categorical(SEX), "age": AGE}, "discrete"),
        ({"age": AGE, "dose": [0.0, 1.0, 2.0, 1.0, 0.0]}, "discrete"),
        ({"age": AGE, "weight": WEIGHT}, "continuous"),
    ],
)
def test_kind_is_found_from_the_columns(columns, kind):
    data = Data(pd.DataFrame(columns))
    assert data.kind == kind
    assert (", discrete:" in repr(data)) == (kind == "discrete")


@pytest.mark.parametrize("rows", [30, 3000])
def test_whole_numbers_are_discrete_up_to_ten_levels(rows):
    # The number that tips the balance comes last, where a glance at the first rows misses it.
    table = np.random.default_rng(1).integers(0, 10, size=(rows, 3)).astype(float)
    table[:10, 1] = np.arange(10)
    assert Data(table).kind == "discrete"
    table[-1, 1] = 10
    assert Data(table).kind == "mixed"
    table[-1, 1] = 8.5
    assert Data(table).kind == "mixed"


def test_kind_can_be_asked_for():
    numbers = pd.DataFrame({"age": AGE, "dose": [0, 1, 2, 1, 0]})
    assert Data(numbers, kind="continuous").kind == "continuous"
    many = np.random.default_rng(1).integers(0, 500, size=(400, 2))
    assert Data(many).kind == "continuous"
    assert Data(many, kind="discrete").kind == "discrete"


def test_kind_that_is_impossible_is_refused():
    message = refusal(asia(), kind="continuous")
    assert message.startswith("kind='continuous' needs numbers: sex (String, for example 'f'), ill (Boolean);")
    assert "age" not in message
    for table in (pd.DataFrame({"age": AGE, "weight": WEIGHT}), pd.DataFrame({"sex": SEX, "weight": WEIGHT})):
        message = refusal(table, kind="discrete")
        assert "kind='discrete' needs classes or whole numbers, not fractions: weight (for example 70.5);" in message
        assert "pandas.cut" in message
        assert "age" not in message
    assert "kind='ordinal' is not known: use 'continuous', 'discrete', 'mixed'" in refusal(asia(), kind="ordinal")


# --- levels -----------------------------------------------------------------------------------------------------------


@LIBRARIES
def test_levels_of_text_truth_values_and_whole_numbers(library):
    data = Data(library({"sex": SEX, "ill": ILL, "age": AGE}))
    codes, labels = data.discrete()
    assert labels == (("f", "m"), ("False", "True"), ("9", "30", "41"))
    np.testing.assert_array_equal(codes, [[1, 0, 0, 1, 0], [1, 0, 1, 1, 0], [1, 0, 2, 0, 1]])
    assert codes.dtype == np.int32
    assert codes.flags.c_contiguous
    assert not codes.flags.writeable
    assert data.discrete() is data.discrete()
    np.testing.assert_array_equal(data.values, np.column_stack([codes[0], codes[1], AGE]))
    assert data.values.dtype == np.float64


def test_numbers_are_ordered_as_numbers_and_text_as_text():
    data = Data(pd.DataFrame({"number": [10.0, 9, -1, -0.0, 2], "text": ["10", "9", "-1", "0", "2"]}))
    assert data.discrete().labels == (("-1", "0", "2", "9", "10"), ("-1", "0", "10", "2", "9"))


def test_whole_numbers_of_continuous_data_have_levels():
    table = np.random.default_rng(1).integers(0, 500, size=(400, 2)).astype(float)
    data = Data(table)
    assert data.kind == "continuous"
    assert np.array_equal(np.array(decoded(data), dtype=float), table)


def test_fractions_have_no_levels():
    with pytest.raises(DataError, match=r"not fractions: weight \(for example 70.5\); .*pandas.cut") as caught:
        Data(pd.DataFrame({"age": AGE, "weight": WEIGHT})).discrete()
    assert "age" not in str(caught.value)


# --- missing values ---------------------------------------------------------------------------------------------------


@LIBRARIES
def test_missing_values_are_refused_in_columns_of_every_kind(library):
    table = library({"sex": ["m", None, "f", "m"], "ill": [True, False, None, False], "age": [1, 2, 1, None]})
    assert "missing values in sex (1), ill (1), age (1);" in refusal(table, missing="refuse")


def test_levels_that_occur_in_dropped_rows_only_are_gone_unless_declared():
    table = pd.DataFrame({"sex": ["m", "o", "z", "f", "f"], "age": [1, None, 2, 3, 2]})
    data = Data(table, missing="drop")
    assert data.dropped_rows == 1
    assert data.discrete().labels == (("f", "m", "z"), ("1", "2", "3"))
    assert decoded(data) == [("m", "1"), ("z", "2"), ("f", "3"), ("f", "2")]
    np.testing.assert_array_equal(data.values, np.add(data.discrete().codes.T, [0, 1]))
    declared = Data(table.astype({"sex": "category"}), missing="drop")
    assert declared.discrete().labels[0] == ("f", "m", "o", "z")
    assert decoded(declared) == decoded(data)


# --- refusals of columns ----------------------------------------------------------------------------------------------


def test_copies_of_columns_are_classes_but_have_no_gram():
    data = Data(pd.DataFrame({"a": [0, 1, 1, 0, 1], "b": [1, 0, 0, 1, 0], "c": [0, 0, 1, 1, 1]}))
    assert data.discrete().labels == (("0", "1"),) * 3
    for ask in (data.standardised_gram, data.standardised_values, data.centred_gram, data.scaled_gram):
        with pytest.raises(DataError, match=r"duplicate columns .*: a and b;"):
            ask()
    assert "duplicate columns" in refusal(data, kind="continuous")


def test_gram_of_text_is_refused():
    data = Data(asia())
    sick = np.array(ILL)
    for ask in (data.standardised_gram, data.standardised_values, data.centred_gram, lambda: data.scaled_gram(sick)):
        with pytest.raises(DataError, match=r"needs numbers: sex \(String, .*\), ill \(Boolean\); use scores.BDeu"):
            ask()


# --- the object -------------------------------------------------------------------------------------------------------


def test_data_survive_copying_and_pickling():
    data = Data(asia())
    levels = data.discrete()
    assert Data(data).discrete() is levels
    assert "kind='continuous' needs numbers" in refusal(data, kind="continuous")
    for copy in (pickle.loads(pickle.dumps(data)), pickle.loads(pickle.dumps(Data(data, interventions={0: "ill"})))):
        assert (copy.kind, copy.names) == (data.kind, data.names)
        np.testing.assert_array_equal(copy.values, data.values)
        assert decoded(copy) == decoded(data)
    np.testing.assert_array_equal(np.argwhere(copy.intervened), [[0, 1]])


# --- properties -------------------------------------------------------------------------------------------------------

columns_of = {
    "text": st.text(alphabet="abé 1", max_size=2).map("a".__add__),
    "truth": st.booleans(),
    "number": st.integers(-60, 40),
}
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def discrete_tables(draw):
    rows = draw(st.integers(3, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(columns_of)), min_size=2, max_size=5))
    cells = [draw(st.lists(st.one_of(columns_of[kind], st.none()), min_size=rows, max_size=rows)) for kind in kinds]
    return {f"n{j}": column for j, column in enumerate(cells)}


@quick
@given(discrete_tables(), st.sampled_from(["objects", "pandas", "polars", "pyarrow"]))
def test_codes_and_labels_give_the_table_back(columns, library):
    names = list(columns)
    rows = [row for row in zip(*columns.values(), strict=True) if None not in row]
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    make["objects"] = lambda t: pd.DataFrame(t, dtype=object)
    try:
        data = Data(make[library](columns), missing="drop", kind="discrete", columns=names)
    except DataError:
        assert len(rows) < 3 or any(len(set(column)) == 1 for column in zip(*rows, strict=True))
        return
    assert data.names == tuple(names)
    assert decoded(data) == [tuple(map(str, row)) for row in rows]
    for labels, codes in zip(data.discrete().labels, data.discrete().codes, strict=True):
        assert len(set(labels)) == len(labels)
        assert set(codes.tolist()) == set(range(len(labels)))
