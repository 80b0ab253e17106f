"""Every kind of table gives the same numbers, and every one that cannot be read its own clear refusal."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import EPSILON, NAMES, example, frame, refusal, usable

from parnidag.data import Data
from parnidag.data.reading import read_table


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- what comes out ---------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("suffix", [".parquet", ".pq"])
def test_parquet_gives_the_same_numbers(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    pq.write_table(pa.Table.from_pandas(frame()), path)
    assert Data(path).digest() == Data(frame()).digest()


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


# --- refusals of columns ----------------------------------------------------------------------------------------------


def test_text_columns_of_a_csv_file(tmp_path):
    path = write(tmp_path, "sex,ill,age\nm,True,30\nf,False,\n,True,41\n")
    read = read_table(path)
    assert [coding and coding.labels for coding in read.codings] == [("f", "m"), ("False", "True"), None]
    np.testing.assert_array_equal(read.values, [[1, 1, 30], [0, 0, np.nan], [np.nan, 1, 41]])


def test_a_column_kept_aside_is_not_among_the_others(tmp_path):
    path = write(tmp_path, "a,target,b\n1,x,2\n3,,5\n5,y,6\n")
    objects = [[1, "x", 2], [3, None, 5], [5, "y", 6]]
    for read in (
        read_table(path, aside="target"),
        read_table(objects, ["a", "target", "b"], "target"),
    ):
        assert read.names == ("a", "b")
        np.testing.assert_array_equal(read.values, [[1, 2], [3, 5], [5, 6]])
        assert read.codings == (None, None)
        np.testing.assert_array_equal(read.aside.values, [0, np.nan, 1])
        assert read.aside.coding.labels == ("x", "y")
    numbers = read_table(np.arange(9.0).reshape(3, 3), aside="X1")
    np.testing.assert_array_equal(numbers.values, [[0, 2], [3, 5], [6, 8]])
    np.testing.assert_array_equal(numbers.aside.values, [1, 4, 7])


def test_a_column_kept_aside_does_not_count_as_a_node():
    assert "only 1 column" in refusal(pd.DataFrame({"a": [1, 2, 3], "t": ["a", "", ""]}), interventions="t")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([[1], [2], [3]], "list"),
        ([object(), object(), object()], "object"),
    ],
)
def test_objects_are_not_numeric(values, shown):
    message = refusal(pd.DataFrame({"x": [1.0, 2.0, 4.0], "odd": values}))
    assert message.startswith("not numeric: odd (")
    assert shown in message


@pytest.mark.parametrize("table", [example() * 1j, pd.DataFrame(example() * 1j, columns=[f"X{j}" for j in range(4)])])
def test_complex_columns_are_refused(table):
    assert refusal(table).startswith("complex columns are not supported: X0")


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
        ("a b\n1 2\n3 5\n5 4\n", "only 1 column when split at ',': check the separator"),
        ("a\n1\n2\n3\n", "check the separator"),
        ("a,b,a\n1,2,3\n4,6,5\n7,7,9\n", "duplicate column names: a (2 times)"),
        ("a,b\nr1,1,2\nr2,3,5\nr3,5,4\n", "first row has 3 fields, the header 2"),
        ("a,b\n1,2\n3,4,5\n6,6\n", "line 3 has 3 cells where those before it have 2: put cells with a separator"),
        ("0.5,1.25\n1,2\n3,5\n4,4\n", "the first line holds numbers (0.5, 1.25)"),
        (b"\x89PNG\xff\xfe\x00\x01\x02", "UTF-8"),
        (b"a,b\n1,2\n\xe9,3\n5,6\n", "UTF-8"),
        ("a,b\n1,2\n3,inf\n5,6\n", "infinite values"),
        ("a,b\n1,2\n3\n5,6\n", "columns with fewer than 3 values: b (2)"),
    ],
)
def test_unusable_csv_files(tmp_path, text, part):
    assert part in refusal(write(tmp_path, text))


@pytest.mark.parametrize("name", ["Unnamed: 0", "", " ", "__index_level_0__"])
def test_saved_row_names_are_left_out_of_any_table_and_refused_in_batches(name):
    table = frame().rename(columns={"praf": name})
    for given_table in (table, pl.from_pandas(table)):
        data = Data(given_table)
        assert name not in data.names
        assert data.n_nodes == 3
        assert "left out: a column without a name (row names that were saved)" in data.in_words()
        assert name not in Data(given_table, columns=["pmek", "plcg"]).names
        message = refusal(iter([given_table]))
        assert repr(name) in message
        assert "remove them or give them a name" in message
    assert repr(name) in refusal(table[[name, "plcg"]])


def test_row_names_that_were_saved_twice_are_left_out(tmp_path):
    frame().to_csv(tmp_path / "once.csv")
    pd.read_csv(tmp_path / "once.csv").to_csv(tmp_path / "twice.csv")
    for name in ("once.csv", "twice.csv"):
        assert Data(tmp_path / name).names == Data(frame()).names
        assert Data(pd.read_csv(tmp_path / name)).names == Data(frame()).names


def test_saved_index_of_a_parquet_file_is_left_out(tmp_path):
    path = tmp_path / "table.parquet"
    table = frame()
    table.index = np.random.default_rng(0).permutation(40)
    table.to_parquet(path)
    assert Data(path).names == Data(table).names


@pytest.mark.parametrize(("header", "names"), [("\ufeff0,1", ("0", "1")), ('"dose, mg","b"', ("dose, mg", "b"))])
def test_byte_order_marks_blank_lines_numbered_and_quoted_names(tmp_path, header, names):
    data = Data(write(tmp_path, f"{header}\n1,2\n\n3,5\n5,4\n"))
    assert data.names == names
    np.testing.assert_array_equal(data.values, [[1, 2], [3, 5], [5, 4]])


@pytest.mark.parametrize(
    ("name", "part"), [("none.csv", "none.csv: file not found"), ("t.xlsx", "'.xlsx'"), ("t", "no suffix")]
)
def test_paths_that_lead_nowhere(tmp_path, name, part):
    assert part in refusal(tmp_path / name)


# --- properties -------------------------------------------------------------------------------------------------------

quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


def sound(data):
    """Whether a table has a Gram matrix or levels."""
    if data.gaps is None:
        assert np.isfinite(data.values).all()
    if data.needs_cells:
        return not np.isinf(data.values).any() and len(data.kinds) == data.n_nodes
    if data.kind == "continuous":
        return np.isfinite(data.standardised_gram()).all()
    codes, labels = data.discrete()
    return all(0 <= row.min() < row.max() < len(names) for row, names in zip(codes, labels, strict=True))


@quick
@given(st.lists(st.lists(mixed_value, min_size=3, max_size=3), min_size=0, max_size=6), st.booleans())
def test_tables_of_anything_give_data_or_a_data_error(rows, as_frame):
    table = pd.DataFrame(rows, columns=list("abc"), dtype=object) if as_frame else rows
    data = usable(table)
    assert data is None or sound(data)
