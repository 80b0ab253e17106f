"""The data of a problem: the Gram matrix to rounding, and a clear refusal of numbers that cannot be used."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tables import EPSILON, NAMES, example, frame, refusal, usable

from parnidag.data import Data, as_data
from parnidag.data import gram as gram_module
from parnidag.errors import DataError

# --- what comes out ---------------------------------------------------------------------------------------------------


def test_names_values_and_sizes_are_those_of_the_table():
    data = Data(frame())
    assert data.names == tuple(NAMES)
    assert (data.n_rows, data.n_nodes, data.dropped_rows) == (40, 4, 0)
    np.testing.assert_array_equal(data.values, example())
    assert data.values.dtype == np.float64
    assert data.values.flags.c_contiguous
    assert not data.values.flags.writeable


def test_gram_is_that_of_the_standardised_columns():
    table = example()
    standardised = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    gram = Data(table).standardised_gram()
    np.testing.assert_allclose(Data(table).standardised_values(), standardised, rtol=0, atol=64 * EPSILON)
    np.testing.assert_allclose(gram, standardised.T @ standardised, rtol=0, atol=39 * 64 * EPSILON)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.diagonal(gram), 39.0)


def test_gram_is_computed_once(monkeypatch):
    data = Data(example())
    monkeypatch.setattr(gram_module, "standardise", lambda *_: pytest.fail("computed again"))
    data.standardised_gram()
    Data(data).standardised_gram()


def test_later_changes_to_arrays_do_not_reach_the_data():
    table = example()
    data = Data(table)
    table[:] = 0
    data.standardised_gram()[:] = 0
    np.testing.assert_array_equal(data.values, example())
    np.testing.assert_array_equal(data.standardised_gram(), Data(example()).standardised_gram())


def test_data_passes_through():
    data = Data(example())
    assert as_data(data) is data
    assert as_data(example()).names == data.names
    again = Data(data, missing="drop")
    assert again.names == data.names
    np.testing.assert_array_equal(again.values, data.values)
    with pytest.raises(DataError, match="missing='keep'"):
        Data(data, missing="keep")


def test_repr_is_short():
    assert repr(Data(frame())) == "Data(40 rows × 4 columns: praf, pmek, plcg, PIP2)"
    table = example(columns=20)
    table[3, 2] = np.nan
    shown = repr(Data(table, missing="drop"))
    assert shown == "Data(39 rows × 20 columns: X0, X1, X2, X3, X4 and 15 more; 1 dropped for missing values)"


# --- numerical robustness ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-1000, -500, 500, 1000])
def test_gram_and_values_are_the_same_at_extreme_magnitudes(exponent):
    # A power of two loses nothing; one column stays as it is, so that magnitudes are mixed too.
    table = np.random.default_rng(3).normal(size=(30, 3))
    one, other, some = Data(table), Data(table * np.ldexp(1.0, [exponent, exponent, 0])), np.arange(30) % 3 > 0
    np.testing.assert_array_equal(other.standardised_gram(), one.standardised_gram())
    np.testing.assert_array_equal(other.scaled_gram(some), one.scaled_gram(some))
    np.testing.assert_array_equal(other.standardised_values(), one.standardised_values())


def test_gram_survives_the_whole_range_of_doubles():
    table = np.random.default_rng(3).uniform(-1, 1, size=(30, 3))
    table[:2] = [[1, 1, -1], [-1, -1, 1]]
    largest, smallest = np.finfo(float).max, np.finfo(float).smallest_subnormal
    gram = Data(table).standardised_gram()
    np.testing.assert_allclose(Data(table * largest).standardised_gram(), gram, rtol=0, atol=29 * 64 * EPSILON)
    whole = np.round(table * 1000)
    gram = Data(whole).standardised_gram()
    np.testing.assert_allclose(Data(whole * smallest).standardised_gram(), gram, rtol=0, atol=29 * 64 * EPSILON)


def test_gram_survives_a_mean_that_dwarfs_the_spread():
    # Small integers plus 2⁵⁰ are stored exactly, so every difference would come from the arithmetic.
    table = np.random.default_rng(4).integers(0, 1000, size=(500, 3)).astype(float)
    np.testing.assert_allclose(
        Data(table + 2.0**50).standardised_gram(), Data(table).standardised_gram(), rtol=0, atol=499 * 64 * EPSILON
    )


def test_gram_in_blocks_is_the_gram_of_the_whole(monkeypatch):
    table = example(rows=1000)
    whole = Data(table).standardised_gram()
    monkeypatch.setattr(gram_module, "_BLOCK", 4 * 37)
    np.testing.assert_allclose(Data(table).standardised_gram(), whole, rtol=0, atol=999 * 64 * EPSILON)


# --- missing values ---------------------------------------------------------------------------------------------------


def with_holes():
    table = frame()
    table.loc[[2, 5], "pmek"] = np.nan
    table.loc[[5, 39], "PIP2"] = np.nan
    return table


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, pa.Table.from_pandas, pd.DataFrame.to_numpy])
def test_missing_values_are_refused_with_columns_and_counts(convert):
    message = refusal(convert(with_holes()), missing="refuse")
    second, fourth = ("X1", "X3") if convert is pd.DataFrame.to_numpy else ("pmek", "PIP2")
    assert f"{second} (2), {fourth} (2)" in message
    assert "missing='drop'" in message


def test_nan_and_null_in_polars_and_masked_entries_are_missing():
    masked = np.ma.array([[1, 2], [3, 5], [4, 4], [0, 9]], mask=[[0, 1], [0, 0], [0, 0], [0, 0]])
    assert "X1 (1)" in refusal(masked, missing="refuse")
    table = pl.DataFrame({"a": [1.0, float("nan"), 3.0, 4.0, 9.0], "b": [2.0, 1.0, None, 5.0, 4.0]})
    assert "a (1), b (1)" in refusal(table, missing="refuse")
    np.testing.assert_array_equal(Data(table, missing="drop").values, [[1, 2], [4, 5], [9, 4]])


def test_a_data_is_asked_about_missing_values_too():
    data = Data(with_holes(), missing="drop")
    assert Data(data).dropped_rows == Data(data, missing="drop").dropped_rows == 3
    with pytest.raises(DataError, match=r"missing='refuse' was given together with a Data .* in which 3 rows had"):
        Data(data, missing="refuse")


def test_drop_keeps_the_complete_rows_in_order(monkeypatch):
    monkeypatch.setattr(gram_module, "_BLOCK", 4 * 7)
    data = Data(with_holes(), missing="drop")
    assert data.dropped_rows == 3
    np.testing.assert_array_equal(data.values, np.delete(example(), [2, 5, 39], axis=0))
    assert data.values.flags.c_contiguous
    assert not data.values.flags.writeable


def test_drop_that_leaves_too_little_says_so():
    message = refusal([[1, np.nan], [np.nan, 2], [3, 4], [5, 7]], missing="drop")
    assert "too few rows: 2 left" in message
    assert "2 with missing values were dropped" in message


@pytest.mark.parametrize("empty", [[None] * 4, [np.nan] * 4])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_without_any_value(empty, library):
    table = library({"a": [1.0, 2.0, 4.0, 3.0], "hollow": empty})
    assert "missing values in hollow (4)" in refusal(table, missing="refuse")
    for missing in ("drop", "impute"):
        assert "columns without any value: hollow" in refusal(table, missing=missing)  # nothing else would be left
        assert "columns without any value: hollow" in refusal(table, missing=missing, columns=["a", "hollow"])


# --- refusals of columns ----------------------------------------------------------------------------------------------


def test_infinite_values_are_refused_with_columns_and_counts():
    table = frame()
    table.loc[[1, 2], "plcg"] = np.inf
    table.loc[7, "plcg"] = -np.inf
    assert "infinite values (or too large for double precision) in plcg (3);" in refusal(table)
    assert "infinite values (or too large for double precision) in X1 (1)" in refusal([[1, 10**400], [2, 1], [4, 2]])


@pytest.mark.parametrize(
    ("value", "shown"), [(3.5, "always 3.5"), (0.0, "always 0"), (-1e300, "always -1e+300"), ("x", "always 'x'")]
)
def test_constant_columns_are_refused(value, shown):
    table = frame()
    table["pmek"] = value
    for named in ({"columns": list(NAMES)}, {"kinds": {"pmek": "class"}}, {"interventions": np.zeros((40, 4), bool)}):
        assert f"constant columns: pmek ({shown});" in refusal(table, **named)
    assert f"constant columns: pmek ({shown});" in refusal(iter([table[:20], table[20:]]))


def test_columns_that_can_be_no_node_are_left_out_and_named():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(day) for day in range(40)]
    odd = {"always": 3.5, "same": "x", "hollow": np.nan, "day": days, "stamp": pd.to_datetime(days)}
    odd |= {"written": list(map(str, days)), "who": [f"patient {k}" for k in range(40)]}
    table = pd.concat([pd.DataFrame(odd, index=range(40)), frame()], axis=1)
    reasons = ["always 3.5", "always 'x'", "empty", *["dates or times"] * 3, "another text in almost every row"]
    for held in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
        data = Data(held)
        assert data.left_out == dict(zip(odd, reasons, strict=True))
        np.testing.assert_array_equal(data.values, example())
        assert data.digest() == Data(frame()).digest()
        assert (
            "4 columns: 4 numbers; left out: always (always 3.5), same (always 'x'), hollow (empty)" in data.in_words()
        )
        assert Data(held, drop=list(odd)).left_out == {}
    assert "columns of dates or times: day" in refusal(table, columns=["day", "plcg", "pmek"])
    assert "another one in almost every row" in refusal(table[["who", "pmek"]])  # nothing would be left
    assert Data(table, kinds={"who": "class"}).names[0] == "who"


def test_columns_that_vary_by_rounding_only_are_constant():
    table = frame()
    table["pmek"] = 0.3
    table.loc[::2, "pmek"] = 0.1 + 0.2
    assert "constant columns: pmek (0.3 up to rounding)" in refusal(table)


def test_small_but_real_differences_are_neither_constant_nor_copies():
    small = np.random.default_rng(0).normal(size=40)
    assert Data(frame().assign(pmek=1.0 + 1e-12 * small)).n_nodes == 4
    assert Data(frame().assign(copy=lambda table: table["praf"] + 1e-5 * small)).n_nodes == 5


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x,
        lambda x: -x,
        lambda x: 1.8 * x + 32,
        lambda x: 1e6 - x / 3,
        lambda x: 1e12 + x,
        lambda x: x.astype(np.float32),
    ],
)
def test_copies_of_columns_are_refused_by_pair(copy):
    table = pd.DataFrame(np.random.default_rng(5).normal(size=(40, 3)), columns=["a", "b", "celsius"])
    table["fahrenheit"] = copy(table["celsius"])
    message = refusal(table)
    assert "duplicate columns" in message
    assert "celsius and fahrenheit;" in message


# --- properties -------------------------------------------------------------------------------------------------------

any_number = st.floats(allow_nan=True, allow_infinity=True, width=64)
tame_number = st.integers(-50, 50).map(float)
sizes = st.tuples(st.integers(0, 12), st.integers(0, 5))
random_tables = sizes.flatmap(lambda size: hnp.arrays(float, size, elements=st.one_of(any_number, tame_number)))
usual_tables = st.tuples(st.integers(5, 20), st.integers(2, 5)).flatmap(
    lambda size: hnp.arrays(float, size, elements=tame_number)
)
quick = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@quick
@given(random_tables, st.sampled_from(["refuse", "drop"]), st.sampled_from(["array", "pandas", "polars"]))
def test_random_tables_give_a_sound_gram_or_a_data_error(table, missing, library):
    names = [f"n{j}" for j in range(table.shape[1])]
    make = {"array": lambda t: t, "pandas": lambda t: pd.DataFrame(t, columns=names)}
    make["polars"] = lambda t: pl.DataFrame({name: t[:, j] for j, name in enumerate(names)})
    try:
        data = Data(make[library](table), missing=missing, kind="continuous")
    except DataError:
        return
    gram = data.standardised_gram()
    assert data.n_rows + data.dropped_rows == len(table)
    assert data.names == (tuple(names) if library != "array" else tuple(f"X{j}" for j in range(table.shape[1])))
    assert np.isfinite(gram).all()
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(np.diagonal(gram), data.n_rows - 1, rtol=4 * EPSILON)
    assert np.abs(gram).max() <= (data.n_rows - 1) * (1 + 4 * EPSILON)


@quick
@given(usual_tables, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_shifting_and_scaling_columns_does_not_matter(table, shift, factor):
    data = usable(table, kind="continuous")  # few whole numbers would count as discrete, where copies are allowed
    assume(data is not None)
    moved = Data(table * factor + shift)
    # A whole number has a spread of at least 1/n; the stored sum loses at most ε·(|shift| + 50·factor) of factor/n.
    loss = EPSILON * (abs(shift) / factor + 50) * len(table)
    np.testing.assert_allclose(
        moved.standardised_gram(), data.standardised_gram(), rtol=0, atol=len(table) * (64 * EPSILON + 8 * loss)
    )
