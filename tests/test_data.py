"""Tables in: every kind of table gives the same numbers, and every unusable one its own clear refusal."""

from __future__ import annotations

import datetime
import importlib.util
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parnidag import data as data_module
from parnidag.data import Data, as_data
from parnidag.errors import DataError

EPSILON = np.finfo(float).eps


def example(rows=40, columns=4, seed=1):
    """A table of correlated columns with different means and scales."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(columns, columns))
    return (rng.normal(size=(rows, columns)) @ mixing) * 10.0 ** np.arange(columns) + np.arange(columns)


NAMES = ["praf", "pmek", "plcg", "PIP2"]


def frame():
    return pd.DataFrame(example(), columns=NAMES)


def refusal(table, **options):
    with pytest.raises(DataError) as caught:
        Data(table, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


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
    np.testing.assert_allclose(gram, standardised.T @ standardised, rtol=0, atol=39 * 64 * EPSILON)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.diagonal(gram), 39.0)


def test_gram_handed_out_cannot_change_the_data():
    data = Data(example())
    data.standardised_gram()[:] = 0
    np.testing.assert_array_equal(data.standardised_gram(), Data(example()).standardised_gram())


def test_gram_is_computed_once(monkeypatch):
    data = Data(example())
    monkeypatch.setattr(data_module, "_centred_gram", lambda *_: pytest.fail("computed again"))
    data.standardised_gram()
    Data(data).standardised_gram()


def test_later_changes_to_the_array_do_not_reach_the_data():
    table = example()
    data = Data(table)
    table[:] = 0
    np.testing.assert_array_equal(data.values, example())


@pytest.mark.parametrize(
    "convert",
    [
        pd.DataFrame.to_numpy,
        lambda table: table.to_numpy().tolist(),
        lambda table: np.asfortranarray(table.to_numpy()),
        lambda table: np.ma.masked_invalid(table.to_numpy()),
        lambda table: table.astype(object),
        lambda table: table.convert_dtypes(),
        lambda table: table.astype(pd.ArrowDtype(pa.float64())),
        pl.from_pandas,
        lambda table: pl.from_pandas(table).lazy(),
        pa.Table.from_pandas,
        Data,
    ],
)
def test_every_kind_of_table_gives_the_same_gram(convert):
    np.testing.assert_array_equal(Data(convert(frame())).standardised_gram(), Data(frame()).standardised_gram())


@pytest.mark.parametrize(
    ("name", "separator"), [("t.csv", ","), ("t.tsv", "\t"), ("t.txt", "\t"), ("t.txt", " "), ("t.txt", ";")]
)
@pytest.mark.parametrize("as_text", [False, True])
def test_text_files_give_the_same_gram(tmp_path, name, separator, as_text):
    path = tmp_path / name
    frame().to_csv(path, sep=separator, index=False)
    data = Data(str(path) if as_text else path)
    assert data.names == tuple(NAMES)
    # Older readers of CSV may miss the nearest double by one unit in the last place.
    np.testing.assert_allclose(data.values, example(), rtol=2 * EPSILON)
    np.testing.assert_allclose(
        data.standardised_gram(), Data(frame()).standardised_gram(), atol=39 * 64 * EPSILON, rtol=0
    )


@pytest.mark.parametrize("absent", [(), ("pyarrow",)])
@pytest.mark.parametrize("suffix", [".parquet", ".pq"])
def test_parquet_gives_the_same_gram(tmp_path, monkeypatch, absent, suffix):
    without(monkeypatch, absent)
    path = tmp_path / f"table{suffix}"
    pq.write_table(pa.Table.from_pandas(frame()), path)
    data = Data(path)
    assert data.names == tuple(NAMES)
    np.testing.assert_array_equal(data.standardised_gram(), Data(frame()).standardised_gram())


def without(monkeypatch, absent):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in absent else find(name, *rest))


def test_integers_decimals_and_short_floats_are_numbers():
    columns = {
        "small": np.array([1, 5, 2, 9], dtype=np.int8),
        "unsigned": np.array([2**63 + 2**20, 1, 7, 3], dtype=np.uint64),
        "half": np.array([0.5, 0.25, 8, -1], dtype=np.float16),
        "beyond": [10**30, -(10**29), 3, 10**28],
        "money": [Decimal("0.10"), Decimal("2.55"), Decimal("1"), Decimal("-3")],
    }
    values = Data(pd.DataFrame(columns)).values
    np.testing.assert_array_equal(values, np.column_stack([np.array(list(map(float, c))) for c in columns.values()]))


def test_wide_integers_and_decimals_of_other_libraries_are_numbers():
    money = [Decimal("0.10"), Decimal("2.55"), None, Decimal("1"), Decimal("-3")]
    wide = [2**60 + 1, 3, 4, -(2**61), 0]
    expected = np.array([[0.1, 2.0**60], [2.55, 3], [1, -(2.0**61)], [-3, 0]])
    for table in (
        pl.DataFrame({"m": money, "w": wide}, schema_overrides={"w": pl.Int128}),
        pa.table({"m": pa.array(money), "w": pa.array(wide)}),
    ):
        data = Data(table, missing="drop")
        np.testing.assert_allclose(data.values, expected, rtol=2 * EPSILON)
        assert data.dropped_rows == 1


def test_names_that_are_no_strings_become_strings():
    assert Data(pd.DataFrame(example(columns=3), columns=[7, 2.5, ("a", "b")])).names == ("7", "2.5", "('a', 'b')")


def test_arrays_get_default_names_or_those_given():
    assert Data(example(columns=3)).names == ("X0", "X1", "X2")
    assert Data(example(columns=3), names=["c", "a", "b"]).names == ("c", "a", "b")


def test_data_passes_through():
    data = Data(example())
    assert as_data(data) is data
    assert as_data(example()).names == data.names
    again = Data(data, missing="drop")
    assert again.names == data.names
    np.testing.assert_array_equal(again.values, data.values)
    with pytest.raises(DataError, match="missing='keep'"):
        as_data(data, missing="keep")


def test_repr_is_short():
    assert repr(Data(frame())) == "Data(40 rows × 4 columns: praf, pmek, plcg, PIP2)"
    table = example(columns=20)
    table[3, 2] = np.nan
    shown = repr(Data(table, missing="drop"))
    assert shown == "Data(39 rows × 20 columns: X0, X1, X2, X3, X4 and 15 more; 1 dropped for missing values)"


# --- numerical robustness ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-1000, -500, 500, 1000])
def test_gram_is_the_same_at_extreme_magnitudes(exponent):
    # A power of two loses nothing; one column stays as it is, so that magnitudes are mixed too.
    table = np.random.default_rng(3).normal(size=(30, 3))
    scaled = table * np.ldexp(1.0, [exponent, exponent, 0])
    np.testing.assert_array_equal(Data(scaled).standardised_gram(), Data(table).standardised_gram())


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
    monkeypatch.setattr(data_module, "_BLOCK", 4 * 37)
    np.testing.assert_allclose(Data(table).standardised_gram(), whole, rtol=0, atol=999 * 64 * EPSILON)


# --- missing values ---------------------------------------------------------------------------------------------------


def with_holes():
    table = frame()
    table.loc[[2, 5], "pmek"] = np.nan
    table.loc[[5, 39], "PIP2"] = np.nan
    return table


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, pa.Table.from_pandas, pd.DataFrame.to_numpy])
def test_missing_values_are_refused_with_columns_and_counts(convert):
    message = refusal(convert(with_holes()))
    second, fourth = ("X1", "X3") if convert is pd.DataFrame.to_numpy else ("pmek", "PIP2")
    assert f"{second} (2), {fourth} (2)" in message
    assert "missing='drop'" in message


def test_nan_in_polars_counts_as_missing_like_null():
    table = pl.DataFrame({"a": [1.0, float("nan"), 3.0, 4.0, 9.0], "b": [2.0, 1.0, None, 5.0, 4.0]})
    assert "a (1), b (1)" in refusal(table)
    np.testing.assert_array_equal(Data(table, missing="drop").values, [[1, 2], [4, 5], [9, 4]])


@pytest.mark.parametrize("hole", [None, pd.NA, float("nan"), Decimal("NaN")])
def test_missing_values_among_objects(hole):
    table = pd.DataFrame({"a": pd.Series([1, hole, 3, Decimal(4), 6], dtype=object), "b": [2.0, 1, 7, 5, 5]})
    assert "missing values in a (1)" in refusal(table)
    assert Data(table, missing="drop").dropped_rows == 1


def test_masked_entries_are_missing():
    table = np.ma.array([[1, 2], [3, 5], [4, 4], [0, 9]], mask=[[0, 1], [0, 0], [0, 0], [0, 0]])
    assert "X1 (1)" in refusal(table)


def test_drop_keeps_the_complete_rows_in_order(monkeypatch):
    monkeypatch.setattr(data_module, "_BLOCK", 4 * 7)
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
    assert "missing values in hollow (4)" in refusal(table)
    assert "columns without any value: hollow" in refusal(table, missing="drop")


def test_unknown_way_with_missing_values_is_refused():
    message = refusal(example(), missing="impute")
    assert "missing='impute'" in message
    assert "'raise'" in message
    assert "'drop'" in message


# --- refusals of columns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_discrete_columns_are_not_supported_yet(library):
    table = {"x": [1.0, 2.0, 4.0], "sex": ["f", "m", "f"], "ill": [True, False, True]}
    message = refusal(library(table))
    assert message.startswith("discrete columns are not supported yet: sex (String, for example 'f'), ill (Boolean)")


def test_categorical_columns_are_not_supported_yet():
    values = ["u", "v", "u"]
    for table in (
        pd.DataFrame({"x": [1.0, 2.0, 4.0], "arm": pd.Categorical(values)}),
        pl.DataFrame({"x": [1.0, 2.0, 4.0], "arm": pl.Series(values, dtype=pl.Categorical)}),
    ):
        assert "discrete columns are not supported yet: arm (Categorical" in refusal(table)


@pytest.mark.parametrize(
    "table", [[[1, "a"], [2, "b"], [3, "c"]], pd.DataFrame({"X0": [1, 2, 3], "X1": [1, "b", 3.0]})]
)
def test_numbers_mixed_with_text_name_the_text(table):
    message = refusal(table)
    assert "discrete columns are not supported yet: X1 (str" in message
    assert "X0" not in message


@pytest.mark.parametrize("array", [np.eye(3, dtype=bool), np.array([["1", "2"], ["3", "4"], ["5", "7"]])])
def test_arrays_of_booleans_or_text_are_discrete(array):
    message = refusal(array)
    assert message.startswith("discrete columns are not supported yet: X0")
    assert "X1" in message


def test_example_value_is_the_one_that_is_no_number(tmp_path):
    path = write(tmp_path, "a,b\n1,2\n3,?\n5,6\n7,7\n")
    assert "b (String, for example '?')" in refusal(path)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-05"]), "Datetime"),
        ([datetime.date(2020, 1, day) for day in (1, 2, 5)], "date"),
        ([[1], [2], [3]], "list"),
        ([object(), object(), object()], "object"),
    ],
)
def test_dates_and_objects_are_not_numeric(values, shown):
    message = refusal(pd.DataFrame({"x": [1.0, 2.0, 4.0], "odd": values}))
    assert message.startswith("not numeric: odd (")
    assert shown in message


def test_dates_in_arrays_are_not_numeric():
    assert refusal(np.array([["2020-01-01"] * 2] * 3, dtype="datetime64[D]")).startswith("not numeric: X0")


@pytest.mark.parametrize("table", [example() * 1j, pd.DataFrame(example() * 1j, columns=[f"X{j}" for j in range(4)])])
def test_complex_columns_are_refused(table):
    assert refusal(table).startswith("complex columns are not supported: X0")


def test_infinite_values_are_refused_with_columns_and_counts():
    table = frame()
    table.loc[[1, 2], "plcg"] = np.inf
    table.loc[7, "plcg"] = -np.inf
    assert "infinite values" in refusal(table)
    assert "plcg (3);" in refusal(table)


def test_values_beyond_double_precision_count_as_infinite():
    assert "infinite values (or too large for double precision) in X1 (1)" in refusal([[1, 10**400], [2, 1], [4, 2]])


@pytest.mark.parametrize(("value", "shown"), [(3.5, "always 3.5"), (0.0, "always 0"), (-1e300, "always -1e+300")])
def test_constant_columns_are_refused(value, shown):
    table = frame()
    table["pmek"] = value
    assert f"constant columns: pmek ({shown});" in refusal(table)


def test_columns_that_vary_by_rounding_only_are_constant():
    table = frame()
    table["pmek"] = 0.3
    table.loc[::2, "pmek"] = 0.1 + 0.2
    assert "constant columns: pmek (0.3 up to rounding)" in refusal(table)


def test_small_but_real_variation_is_not_constant():
    table = frame()
    table["pmek"] = 1.0 + 1e-12 * np.random.default_rng(0).normal(size=40)
    assert Data(table).n_nodes == 4


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


def test_strongly_correlated_columns_are_not_copies():
    table = np.random.default_rng(5).normal(size=(40, 2))
    assert Data(np.column_stack([table[:, 0], table[:, 0] + 1e-5 * table[:, 1]])).n_nodes == 2


def test_long_lists_of_columns_are_shortened():
    message = refusal(np.ones((5, 22)))
    assert "X4 (always 1) and 17 more" in message
    assert "X5" not in message


# --- refusals of tables -----------------------------------------------------------------------------------------------


def test_duplicate_names_are_refused():
    twice = ["a", "b", "a", "c"]
    tables = [
        pd.DataFrame(example(), columns=twice),
        pa.Table.from_arrays([pa.array(column) for column in example().T], names=twice),
        pd.DataFrame(example(columns=2), columns=[1, "1"]),
    ]
    for table, name in zip(tables, "aa1", strict=True):
        assert f"duplicate column names: {name} (2 times)" in refusal(table)
    assert "duplicate column names: a (2 times)" in refusal(example(), names=twice)


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (np.empty((0, 3)), "no rows"),
        (np.empty((5, 0)), "no columns"),
        (np.arange(5.0)[:, None], "only 1 column"),
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"a": [], "b": []}), "no rows"),
        (pl.DataFrame({"a": [], "b": []}), "no rows"),
        (pl.DataFrame({"a": [1.0, 2.0, 3.0]}), "only 1 column"),
        ([[1, 2], [3, 5]], "too few rows: 2"),
        (np.arange(5.0), "1-D with shape (5,)"),
        (np.zeros((2, 3, 4)), "3-D with shape (2, 3, 4)"),
        ([], "1-D with shape (0,)"),
        (pd.Series([1.0, 2.0]), "a single column"),
        ([[1, 2], [3]], "2-D array"),
        (None, "type NoneType"),
        (3.5, "type float"),
        ({"a": [1, 2]}, "type dict"),
    ],
)
def test_tables_of_the_wrong_shape_or_type(table, part):
    assert part in refusal(table)


def test_names_are_for_arrays_only(tmp_path):
    path = tmp_path / "table.csv"
    frame().to_csv(path, index=False)
    for table in (frame(), path, Data(frame())):
        assert "names= is for arrays only" in refusal(table, names=NAMES)


@pytest.mark.parametrize(("names", "part"), [(["a"], "names has 1 entries"), ("abcd", "names='abcd'")])
def test_names_must_fit_the_array(names, part):
    assert part in refusal(example(), names=names)


def test_lazy_table_that_fails_is_refused():
    lazy = pl.LazyFrame({"a": [1, 2, 3], "b": [3, 1, 2]}).select(pl.col("absent"))
    assert "could not be collected" in refusal(lazy)


# --- refusals of files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "the file is empty"),
        ("\n  \n", "the file is empty"),
        ("a,b\n", "no rows"),
        ("a;b\n1;2\n3;5\n5;4\n", "only 1 column when split at ','; the header contains ';': check the separator"),
        ("a\n1\n2\n3\n", "check the separator"),
        ("a,b,a\n1,2,3\n4,6,5\n7,7,9\n", "duplicate column names: a (2 times)"),
        (",a,b\n0,1,2\n1,3,5\n2,5,4\n", "columns without a name (''), which look like saved row names"),
        ("a,b\nr1,1,2\nr2,3,5\nr3,5,4\n", "first row has 3 fields, the header 2"),
        ("a,b\n1,2\n3,4,5\n6,6\n", "not readable"),
        ("0.5,1.25\n1,2\n3,5\n4,4\n", "the first line holds numbers (0.5, 1.25)"),
        (b"\x89PNG\xff\xfe\x00\x01\x02", "UTF-8"),
        (b"a,b\n1,2\n\xe9,3\n5,6\n", "UTF-8"),
        ("a,b\n1,2\n3,inf\n5,6\n", "infinite values"),
        ("a,b\n1,2\n3\n5,6\n", "missing values in b (1)"),
    ],
)
def test_unusable_csv_files(tmp_path, text, part):
    message = refusal(write(tmp_path, text))
    assert part in message


@pytest.mark.parametrize("name", ["Unnamed: 0", "", " ", "__index_level_0__"])
def test_saved_row_names_are_refused_in_any_table(name):
    table = frame().rename(columns={"praf": name})
    for given_table in (table, pl.from_pandas(table)):
        message = refusal(given_table)
        assert repr(name) in message
        assert "remove them or give them a name" in message


def test_saved_index_of_a_parquet_file_is_refused(tmp_path):
    path = tmp_path / "table.parquet"
    table = frame()
    table.index = np.random.default_rng(0).permutation(40)
    table.to_parquet(path)
    assert "__index_level_0__" in refusal(path)


def test_csv_with_byte_order_mark_blank_lines_and_numbered_names(tmp_path):
    path = write(tmp_path, "\ufeff0,1\n1,2\n\n3,5\n5,4\n".encode())
    data = Data(path)
    assert data.names == ("0", "1")
    np.testing.assert_array_equal(data.values, [[1, 2], [3, 5], [5, 4]])


def test_quoted_headers_keep_their_commas(tmp_path):
    path = write(tmp_path, '"dose, mg","b"\n1,2\n3,5\n5,4\n')
    assert Data(path).names == ("dose, mg", "b")


def test_broken_parquet_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path, b"PAR1 and then nonsense", "table.parquet")
    assert "table.parquet: not readable: " in refusal(path)
    without(monkeypatch, ("pyarrow",))
    assert "table.parquet: not readable: " in refusal(path)


def test_parquet_without_a_reader_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.Table.from_pandas(frame()), path)
    without(monkeypatch, ("pyarrow", "polars"))
    assert "pip install parnidag[parquet]" in refusal(path)


@pytest.mark.parametrize(
    ("name", "part"), [("none.csv", "none.csv: file not found"), ("t.xlsx", "'.xlsx'"), ("t", "no suffix")]
)
def test_paths_that_lead_nowhere(tmp_path, name, part):
    assert part in refusal(tmp_path / name)


def test_folders_are_no_files(tmp_path):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    assert "folder.csv: this is a folder" in refusal(folder)


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


def usable(table):
    try:
        return Data(table)
    except DataError:
        return None


@quick
@given(random_tables, st.sampled_from(["raise", "drop"]), st.sampled_from(["array", "pandas", "polars"]))
def test_random_tables_give_a_sound_gram_or_a_data_error(table, missing, library):
    names = [f"n{j}" for j in range(table.shape[1])]
    make = {"array": lambda t: t, "pandas": lambda t: pd.DataFrame(t, columns=names)}
    make["polars"] = lambda t: pl.DataFrame({name: t[:, j] for j, name in enumerate(names)})
    try:
        data = Data(make[library](table), missing=missing)
    except DataError:
        return
    gram = data.standardised_gram()
    assert data.n_rows + data.dropped_rows == len(table)
    assert data.names == (tuple(names) if library != "array" else tuple(f"X{j}" for j in range(table.shape[1])))
    assert np.isfinite(gram).all()
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(np.diagonal(gram), data.n_rows - 1, rtol=4 * EPSILON)
    assert np.abs(gram).max() <= (data.n_rows - 1) * (1 + 4 * EPSILON)


mixed_value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.complex_numbers(),
    st.decimals(),
    st.dates(),
)


@quick
@given(st.lists(st.lists(mixed_value, min_size=3, max_size=3), min_size=0, max_size=6), st.booleans())
def test_tables_of_anything_give_data_or_a_data_error(rows, as_frame):
    table = pd.DataFrame(rows, columns=list("abc"), dtype=object) if as_frame else rows
    data = usable(table)
    assert data is None or np.isfinite(data.standardised_gram()).all()


@quick
@given(st.binary(max_size=200), st.sampled_from([".csv", ".tsv", ".txt", ".parquet"]))
def test_files_of_anything_give_data_or_a_data_error(tmp_path_factory, content, suffix):
    path = write(tmp_path_factory.getbasetemp(), content, f"anything{suffix}")
    data = usable(path)
    assert data is None or np.isfinite(data.standardised_gram()).all()


@quick
@given(usual_tables, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(table, random):
    data = usable(table)
    assume(data is not None)
    order = list(range(len(table)))
    random.shuffle(order)
    shuffled = Data(table[order]).standardised_gram()
    np.testing.assert_allclose(shuffled, data.standardised_gram(), rtol=0, atol=len(table) * 64 * EPSILON)


@quick
@given(usual_tables, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_shifting_and_scaling_columns_does_not_matter(table, shift, factor):
    data = usable(table)
    assume(data is not None)
    moved = Data(table * factor + shift)
    # A whole number has a spread of at least 1/n; the stored sum loses at most ε·(|shift| + 50·factor) of factor/n.
    loss = EPSILON * (abs(shift) / factor + 50) * len(table)
    np.testing.assert_allclose(
        moved.standardised_gram(), data.standardised_gram(), rtol=0, atol=len(table) * (64 * EPSILON + 8 * loss)
    )


@quick
@given(usual_tables, st.permutations(range(5)))
def test_columns_keep_their_order(table, order):
    data = usable(table)
    assume(data is not None)
    order = [j for j in order if j < table.shape[1]]
    names = [f"node {j}" for j in order]
    permuted = Data(pd.DataFrame(table[:, order], columns=names))
    assert permuted.names == tuple(names)
    np.testing.assert_allclose(
        permuted.standardised_gram(),
        data.standardised_gram()[np.ix_(order, order)],
        rtol=0,
        atol=len(table) * 64 * EPSILON,
    )
