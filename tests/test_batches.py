"""Tables read in batches: the same statistics as in memory, however they are cut, and the same refusals."""

import copy
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from batch_cases import TOLERANCE, all_rows, assert_close, assert_same, both_refusals, classes, cut, with_targets
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import NAMES, example, frame

from parnidag.data import Data, as_data, counts, summary
from parnidag.data.counts import RowCounts
from parnidag.errors import DataError

# --- numbers ----------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), rows=st.integers(5, 60), batches=st.integers(1, 12))
def test_random_tables_in_random_batches(seed, rows, batches):
    rng = np.random.default_rng(seed)
    table = example(rows=rows, seed=seed)
    assert_same(Data.from_batches(cut(table, rng, batches)), Data(table))
    assert_same(Data.from_batches(table[k : k + 1] for k in range(rows)), Data(table))


SHAPES = {
    "large offset": lambda x: x + 1e9,
    "larger offset": lambda x: 1e-6 * x + 1e5,
    "huge": lambda x: x * 1e150,
    "tiny": lambda x: x * 1e-150,
    "near the ends": lambda x: x * [1e307, 1e-307, 1.0, 1e-290],
    "every column its own": lambda x: x * [1e-3, 1.0, 1e6, 1e-140] + [1e9, -1e12, 0.0, 1e-130],
    "drifting": lambda x: x + np.linspace(-1e6, 1e6, len(x))[:, None],
    "a batch far away": lambda x: x + np.outer(np.arange(len(x)) < 30, [1e5, -2e5, 0.0, 1e4]),
    "constant at first": lambda x: np.where(np.arange(len(x))[:, None] < 50, 1e-140 + x[0] * 0, x * 1e-145),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_offsets_and_scales_cost_no_digits(shape):
    rng = np.random.default_rng(3)
    table = SHAPES[shape](rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)))
    assert_same(Data.from_batches(cut(table, rng, 20)), Data(table))


def naive_gram(table):
    """The twin that sums squares in one pass."""
    gram, sums = np.zeros((table.shape[1],) * 2), np.zeros(table.shape[1])
    for row in table:
        gram, sums = gram + np.outer(row, row), sums + row
    gram -= np.outer(sums, sums) / len(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        return gram / np.sqrt(np.outer(np.diagonal(gram), np.diagonal(gram))) * (len(table) - 1)


@pytest.mark.parametrize("shape", ["large offset", "larger offset", "tiny", "every column its own"])
def test_the_tolerance_tells_a_naive_sum_of_squares(shape):
    rng = np.random.default_rng(3)
    table = SHAPES[shape](rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4)))
    with np.errstate(invalid="ignore"), pytest.raises(AssertionError):
        assert_close(naive_gram(table), Data(table).standardised_gram(), len(table) - 1)


def test_sums_are_exact_where_exact_sums_are_known():
    # 1e9 + k for k = 0 … 999 and its squares: the second is no function of rounding but of k alone
    k = np.arange(1000.0)
    table = np.column_stack([1e9 + k, 2.0**-400 * (k % 7), 1e15 - k**2])
    data = Data.from_batches(table[start : start + 64] for start in range(0, 1000, 64))
    left = np.column_stack([k, k % 7, -(k**2)])
    left -= left.mean(axis=0)
    correlation = left.T @ left / np.sqrt(np.outer((left**2).sum(0), (left**2).sum(0)))
    assert_close(data.standardised_gram(), 999 * correlation, 999)


@pytest.mark.parametrize(
    "convert",
    [
        lambda part: part,
        pl.from_pandas,
        lambda part: pa.Table.from_pandas(part, preserve_index=False),
        lambda part: pa.RecordBatch.from_pandas(part, preserve_index=False),
        lambda part: pl.from_pandas(part).lazy(),
    ],
)
def test_batches_of_every_library(convert):
    parts = [convert(part) for part in cut(frame(), np.random.default_rng(1))]
    assert_same(Data.from_batches(parts), Data(frame()))
    assert_same(Data(iter(parts)), Data(frame()))


def test_readers_and_generators_are_taken_by_themselves():
    table = frame()
    reader = pa.Table.from_pandas(table, preserve_index=False).to_reader(max_chunksize=7)
    assert_same(as_data(reader), Data(table))
    arrays = (example()[k : k + 9] for k in range(0, 40, 9))
    assert_same(Data(arrays, names=NAMES), Data(table))


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [lambda part: part, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("seed", range(4))
def test_levels_are_those_of_the_whole_table(convert, seed):
    table = classes(seed=seed)
    parts = [convert(part.reset_index(drop=True)) for part in cut(table, np.random.default_rng(seed))]
    data = Data.from_batches(parts)
    assert_same(data, Data(convert(table)))
    assert data.discrete().labels[0] == ("aardvark", "m", "x", "y")
    assert data.discrete().labels[2] == ("-4", "-3", "-2", "-1", "0", "10", "11", "12")
    assert data.discrete().codes.dtype == np.uint8


def test_order_of_different_rows_does_not_depend_on_the_batches():
    table = classes()
    ways = [Data.from_batches(cut(table, np.random.default_rng(seed), 9)) for seed in range(3)]
    for other in ways[1:]:
        np.testing.assert_array_equal(other.discrete().codes, ways[0].discrete().codes)
        np.testing.assert_array_equal(other.row_counts(), ways[0].row_counts())


@pytest.mark.parametrize("levels", [9, 10, 11])
def test_kind_is_found_over_all_batches(levels):
    table = np.column_stack([np.arange(60) % levels, np.sort(np.arange(60) % levels), np.arange(60) % 3]).astype(float)
    for kind in (None, "discrete", "continuous") if levels <= 10 else ("discrete", "continuous"):
        whole = Data(table, kind=kind)
        data = Data.from_batches(cut(table, np.random.default_rng(levels)), kind=kind)
        assert_same(data, whole)
    if levels > 10:
        with pytest.raises(DataError, match=r"2 numbers, 1 ordinal .*, but it is read in batches.*kind='continuous'"):
            Data.from_batches([table])


def test_many_levels_and_a_late_fraction():
    rng = np.random.default_rng(1)
    table = np.column_stack([np.arange(70_000) % 66_000, rng.integers(0, 2, 70_000)]).astype(float)
    wide = Data.from_batches([table[:40_000], table[40_000:]], kind="discrete")
    assert len(wide.discrete().labels[0]) == 66_000
    assert wide.discrete().codes.dtype == np.uint32
    np.testing.assert_array_equal(all_rows(wide, None), all_rows(Data(table, kind="discrete"), None))
    table = rng.integers(0, 3, (100, 3)).astype(float)
    table[80, 1] = 0.5
    assert_same(Data.from_batches([table[:50], table[50:]], kind="continuous"), Data(table, kind="continuous"))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32), sizes=st.lists(st.integers(0, 40), min_size=1, max_size=8), kinds=st.integers(1, 50))
def test_counted_rows_are_all_rows(seed, sizes, kinds):
    rng = np.random.default_rng(seed)
    parts = [rng.integers(0, kinds, (2, size)).astype(np.uint8) for size in sizes]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counts, "_FEWEST_SORTED", 5)
        patched.setattr(counts, "_MOST_IN_VAIN", 30)
        tally = RowCounts(parts[0])
        for part in parts[1:]:
            tally.add(RowCounts(part))
    codes, numbers = tally.collect()
    repeated = codes if numbers is None else np.repeat(codes, numbers, axis=1)
    expected = np.concatenate(parts, axis=1)
    np.testing.assert_array_equal(repeated[:, np.lexsort(repeated)], expected[:, np.lexsort(expected)])


def test_repeated_rows_take_no_memory():
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 2, (6, 10_000)).astype(np.uint8) for _ in range(20)]
    tally = RowCounts(parts[0])
    for part in parts[1:]:
        tally.add(RowCounts(part))
    assert tally.n_bytes <= 20 * 64 * (6 + 8)
    assert tally.collect()[1].sum() == 200_000


def test_rows_without_repetitions_are_refused_beyond_the_limit(monkeypatch):
    table = np.random.default_rng(1).integers(0, 10, (1000, 20)).astype(float)
    parts = [table[:500], table[500:]]
    assert_same(Data.from_batches(parts), Data(table))
    monkeypatch.setattr(summary, "MOST_ROW_MEMORY", 30_000)  # 20,000 of them for words
    with pytest.raises(DataError, match=r"take .* GB after 1000 rows.*kind='continuous'"):
        Data.from_batches(parts)
    assert Data.from_batches(parts, kind="continuous").n_rows == 1000
    repeated = [np.tile(part[:20], (25, 1)) for part in parts]  # 20 kinds of rows of 20 bytes in each batch
    assert Data.from_batches(repeated * 40).n_rows == 40_000


def test_more_rows_than_counts_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr("parnidag.data.table.MOST_COUNTED", 299)
    with pytest.raises(DataError, match="300 rows of classes are more than 299"):
        Data.from_batches([classes()])


# --- missing values and interventions ---------------------------------------------------------------------------------


def test_rows_with_missing_values_are_dropped_and_counted():
    rng = np.random.default_rng(2)
    table = frame().mask(rng.random((40, 4)) < 0.1)
    data = Data.from_batches(cut(table, rng), missing="drop")
    assert_same(data, Data(table, missing="drop"))
    assert data.dropped_rows > 5
    table = classes().astype({"truth": object, "whole": float})
    table.loc[table["text"] == "aardvark", "whole"] = np.nan
    table.loc[5:9, ["text", "truth"]] = None
    dropped = Data.from_batches(cut(table, rng, 12), missing="drop")
    assert_same(dropped, Data(table, missing="drop"))
    assert dropped.discrete().labels[0] == ("m", "x", "y")


@pytest.mark.parametrize("table", [frame().astype(object), classes()])
def test_batches_without_a_value_in_some_column(table):
    table.iloc[:10, 0] = None
    assert_same(Data.from_batches([table[:10], table[10:]], missing="drop"), Data(table, missing="drop"))


@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_targets(seed):
    rng = np.random.default_rng(seed)
    for table in (frame(), classes()):
        table = with_targets(table, seed)
        options = {"interventions": "target", "missing": "drop"}
        if "praf" in table:
            table.loc[3, "praf"] = np.nan
        data = Data.from_batches(cut(table, rng), **options)
        assert data.has_interventions
        assert_same(data, Data(table, **options))


def test_sums_over_some_rows_survive_values_that_were_set_far_away():
    table = with_targets(frame())
    chosen = table["target"].str.contains("praf")
    table.loc[chosen, "praf"] = 1e13 + np.arange(chosen.sum())
    whole = Data(table, interventions="target")
    assert_same(Data.from_batches(cut(table, np.random.default_rng(1)), interventions="target"), whole)


def test_a_column_of_targets_that_names_none():
    table = frame().assign(target="none")
    data = Data.from_batches(cut(table, np.random.default_rng(1)), interventions="target")
    assert data.intervened is None
    assert_same(data, Data(frame()))


# --- refusals ---------------------------------------------------------------------------------------------------------


def changed(**columns):
    return frame().assign(**columns)


MISTAKES = {
    "missing": (changed(praf=np.where(np.arange(40) % 9, 1.0 * np.arange(40), np.nan)), {"missing": "refuse"}),
    "nothing left": (changed(praf=np.where(np.arange(40) > 1, np.nan, np.arange(40))), {"missing": "drop"}),
    "no value": (changed(praf=np.nan), {"missing": "drop", "columns": NAMES}),
    "infinite": (changed(praf=np.where(np.arange(40) % 9, 1.0 * np.arange(40), np.inf)), {}),
    "constant": (changed(praf=3.0), {"columns": NAMES}),
    "constant up to rounding": (changed(praf=1e9 + 1e-7 * (np.arange(40) > 30)), {}),
    "constant text": (changed(praf="x"), {"columns": NAMES}),
    "copies": (changed(praf=3.7 * frame()["pmek"] - 11.3, plcg=frame()["pmek"]), {}),
    "few rows": (frame()[:2], {}),
    "no rows": (frame()[:0], {}),
    "text in a continuous table": (changed(praf=["x", "y"] * 20), {"kind": "continuous"}),
    "fractions as classes": (frame(), {"kind": "discrete"}),
    "dates": (changed(praf=pd.date_range("2020-01-01", periods=40)), {"columns": NAMES}),
    "one column": (frame()[["praf"]], {}),
    "unknown target": (changed(target="nobody"), {"interventions": "target"}),
    "no such column": (frame(), {"interventions": "tarrget"}),
    "set too often": (changed(target=["praf"] * 38 + ["", ""]), {"interventions": "target"}),
    "constant unless set": (
        changed(praf=np.where(np.arange(40) < 20, 1.0 * np.arange(40), 7.0), target=["praf"] * 20 + [""] * 20),
        {"interventions": "target"},
    ),
    "unknown missing": (frame(), {"missing": "keep"}),
    "unknown kind": (frame(), {"kind": "both"}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused_in_the_words_of_tables_in_memory(mistake):
    table, options = MISTAKES[mistake]
    parts = [table[:13], table[13:14], table[14:]] if len(table) > 2 else [table]
    whole, batched = both_refusals(table, parts, **options)
    assert batched == whole
    assert "\n" not in batched


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([frame(), frame()[NAMES[::-1]]], r"batch 2 has its columns in another order \(PIP2, .* than the first batch"),
        ([frame(), frame(), frame().rename(columns={"praf": "raf"})], "batch 3 has raf, .* and lacks praf"),
        ([frame(), frame().drop(columns="PIP2")], "batch 2 lacks PIP2; all batches need the same columns"),
        ([frame(), changed(plcg="x")], r"batch 2 holds something else .* plcg \(text, before numbers\)"),
        ([changed(plcg=True), changed(plcg="x")], r"plcg \(text, before truth values\)"),
        ([example(), example()[0]], "batch 2: an array must be 2-D"),
        ([frame(), 3], "batch 2: data of type int are not supported"),
        ([], "no batches"),
        (iter(()), "no batches"),
        (frame(), "got one DataFrame; a table in memory goes to Data"),
        (frame()["praf"], "got one Series"),
        (7, "got one int"),
        (example(), "batch 1: an array must be 2-D"),
        ([pd.DataFrame({"a": pd.Categorical([1, "1"]), "b": [1, 2]})], "batch 1: .* written alike, in a"),
    ],
)
def test_batches_that_do_not_fit_are_named(parts, message):
    with pytest.raises(DataError, match=message):
        Data.from_batches(parts)


@pytest.mark.parametrize("interventions", [{3: "praf"}, np.zeros((40, 4), bool), pd.DataFrame({"praf": [True] * 40})])
def test_interventions_by_row_are_refused(interventions):
    with pytest.raises(DataError, match=r"must be the name of a column of targets, not .*cannot be matched"):
        Data.from_batches([frame()], interventions=interventions)


@pytest.mark.parametrize("batches", [[frame()], "table.csv"])
def test_names_are_for_arrays_only(batches):
    with pytest.raises(DataError, match="names= is for arrays only"):
        Data.from_batches(batches, names=NAMES)


def test_what_needs_rows_says_that_they_are_gone():
    data = Data.from_batches([with_targets(frame())], interventions="target")
    plain = Data.from_batches([frame()])
    needs = {
        "values": lambda: data.values,
        "intervened": lambda: data.intervened,
        r"standardised_values\(\)": data.standardised_values,
        "truth values": lambda: data.scaled_gram(np.ones(40, bool)),
        "truth values for them": lambda: data.centred_gram(np.ones(40, bool)),
        "interventions=": lambda: Data(plain, interventions={3: "praf"}),
        "another kind": lambda: Data(plain, kind="discrete"),
    }
    for what, ask in needs.items():
        with pytest.raises(DataError, match=rf"rows of this table were not kept.*{what}.* needs them"):
            ask()
    with pytest.raises(DataError, match=r"a discrete score needs classes or whole numbers, not fractions: praf"):
        plain.discrete()
    whole_numbers = np.arange(60.0).reshape(20, 3) ** 2 % 97
    with pytest.raises(DataError, match=r"discrete\(\) of a continuous table needs them; kind='discrete' keeps"):
        Data.from_batches([whole_numbers]).discrete()
    with pytest.raises(DataError, match="has interventions; declare them once"):
        Data(data, interventions={3: "praf"})


def test_data_from_batches_pass_through_and_can_be_copied():
    data = Data.from_batches([classes()])
    assert as_data(data) is data
    assert_same(Data(data), data)
    assert_same(copy.deepcopy(data), data)
    numbers = Data.from_batches([np.arange(30.0).reshape(10, 3) ** 2 % 7])
    assert Data(numbers, kind="continuous").kind == "continuous"
    assert_close(numbers.standardised_gram(), Data(numbers, kind="continuous").standardised_gram(), TOLERANCE)


def test_nothing_is_imported_for_tables_of_others():
    code = (
        "import sys, numpy as np\n"
        "from parnidag.data import Data\n"
        "Data(np.random.default_rng(1).normal(size=(9, 3)) for _ in range(3))\n"
        "print([name for name in ('dask', 'distributed', 'pyarrow', 'polars', 'pandas') if name in sys.modules])\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_digest_does_not_depend_on_the_batches():
    rng = np.random.default_rng(0)
    numbers, words = rng.normal(size=(200, 4)), rng.choice(["a", "b", "c"], size=(200, 3))
    hardly_repeated = rng.integers(10, size=(200, 12)).astype(str)
    assert Data.from_batches([hardly_repeated]).row_counts() is None
    for values in (numbers, words, hardly_repeated):
        digests = {Data.from_batches(np.split(values, places)).digest() for places in ([30], [1, 4, 150], [])}
        assert len(digests) == 1
        values[0, 0] = values[values[:, 0] != values[0, 0], 0][0]
        assert Data.from_batches([values]).digest() not in digests
