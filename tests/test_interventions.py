"""Interventions: every form gives the same rows, every mistake its own refusal, and sums over some rows are exact."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tables import EPSILON, NAMES, example, frame, refusal

from parnidag.data import Data
from parnidag.data import gram as gram_module
from parnidag.errors import DataError

ROWS = {3: "pmek", 4: ["pmek", "PIP2"], 7: "praf"}
TARGETS = {3: "pmek", 4: "pmek; PIP2", 7: "praf"}


def mask():
    """The interventions of all forms below."""
    expected = np.zeros((40, 4), dtype=bool)
    for row, column in [(3, 1), (4, 1), (4, 3), (7, 0)]:
        expected[row, column] = True
    return expected


def with_targets(texts=TARGETS, empty=None):
    """The example with a column of targets in its middle."""
    table = frame()
    table.insert(2, "target", pd.Series([texts.get(row, empty) for row in range(40)], dtype=object))
    return table


def rejected(interventions, table=None):
    message = refusal(frame() if table is None else table, interventions=interventions)
    assert "interventions" in message
    return message


# --- the forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "interventions",
    [
        ROWS,
        {np.int64(3): ("pmek",), 4: {"PIP2", "pmek"}, 7: ["praf"], 9: []},
        mask(),
        mask().tolist(),
        mask().astype(object),
        pd.DataFrame(mask(), columns=NAMES),
        pd.DataFrame(mask(), columns=NAMES, index=range(100, 140)).astype("boolean"),
        pd.DataFrame(mask(), columns=NAMES).astype(object),
        pl.DataFrame(mask()[:, ::-1], schema=NAMES[::-1]),
        pl.DataFrame(mask()[:, ::-1], schema=NAMES[::-1]).lazy(),
        pa.Table.from_pandas(pd.DataFrame(mask(), columns=NAMES).drop(columns="plcg")),
    ],
)
def test_every_form_gives_the_same_rows(interventions):
    data = Data(frame(), interventions=interventions)
    np.testing.assert_array_equal(data.intervened, mask())
    assert data.intervened.dtype == np.bool_
    assert not data.intervened.flags.writeable
    np.testing.assert_array_equal(data.values, example())


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("empty", [None, "", " ", "none", "None", "OBS", "Observational", "-"])
def test_a_column_of_targets_is_no_node(convert, empty):
    data = Data(convert(with_targets(empty=empty)), interventions="target")
    assert data.names == tuple(NAMES)
    np.testing.assert_array_equal(data.values, example())
    np.testing.assert_array_equal(data.intervened, mask())


@pytest.mark.parametrize("text", ["pmek;PIP2", "pmek,PIP2", " PIP2 , pmek ", "pmek; PIP2;", "pmek;pmek;PIP2"])
def test_several_targets_in_a_row(text):
    data = Data(with_targets(TARGETS | {4: text}), interventions="target")
    np.testing.assert_array_equal(data.intervened, mask())


def test_names_win_over_separators_and_over_words_for_nothing():
    names = ["a,b", "a;b", "none", "a"]
    targets = ["a,b", "a;b", "none", "a,b;a", "None", ""]
    table = pd.DataFrame(example(6), columns=names).assign(target=targets)
    expected = np.zeros((6, 4), dtype=bool)
    for row, column in [(0, 0), (1, 1), (2, 2), (3, 0), (3, 3)]:
        expected[row, column] = True
    np.testing.assert_array_equal(Data(table, interventions="target").intervened, expected)


def test_numbered_targets_of_numbered_columns():
    table = pd.DataFrame(example(6, 3), columns=[0, 1, "2.5"]).assign(target=[np.nan, 1.0, 2.5, np.nan, 0.0, 1.0])
    data = Data(table, interventions="target")
    np.testing.assert_array_equal(np.argwhere(data.intervened), [[1, 1], [2, 2], [4, 0], [5, 1]])


def test_categories_arrays_and_files_with_targets(tmp_path):
    table, path = with_targets(), tmp_path / "table.csv"
    table.to_csv(path, index=False)
    by_array = Data(table.to_numpy(), names=list(table.columns), interventions="target")
    for data in (by_array, *(Data(t, interventions="target") for t in (path, table.astype({"target": "category"})))):
        assert data.names == tuple(NAMES)
        np.testing.assert_array_equal(data.intervened, mask())


@pytest.mark.parametrize("interventions", [None, {}, {3: []}, np.zeros((40, 4), dtype=bool)])
def test_no_interventions_at_all(interventions):
    data = Data(frame(), interventions=interventions)
    assert data.intervened is None
    assert data.patterns()[1] == [None]
    assert repr(data) == repr(Data(frame()))


def test_a_column_without_targets_is_left_out_all_the_same():
    data = Data(with_targets({}), interventions="target")
    assert data.names == tuple(NAMES)
    assert data.intervened is None


# --- together with the rest -------------------------------------------------------------------------------------------


def test_rows_are_those_of_the_table_as_given_also_after_some_were_dropped():
    table = frame()
    table.loc[[1, 4], "plcg"] = np.nan
    at_once = Data(table, missing="drop", interventions=ROWS)
    dropped = Data(table, missing="drop")
    complete = np.delete(mask(), [1, 4], axis=0)
    named = Data(table.assign(target=with_targets()["target"]), missing="drop", interventions="target")
    for data in (at_once, named, Data(table, missing="drop", interventions=mask())):
        np.testing.assert_array_equal(data.intervened, complete)
        np.testing.assert_array_equal(data.values, np.delete(example(), [1, 4], axis=0))
    for later in (ROWS, mask(), complete, pd.DataFrame(mask(), columns=NAMES), pl.DataFrame(mask(), schema=NAMES)):
        np.testing.assert_array_equal(Data(dropped, interventions=later).intervened, at_once.intervened)
    assert Data(Data(dropped), interventions=ROWS).digest() == at_once.digest()
    assert Data(dropped, interventions={1: "praf"}).intervened is None
    with pytest.raises(DataError, match="counted from 0 to 39"):
        Data(dropped, interventions={40: "praf"})


def test_repr_counts_nodes_and_rows():
    table = pd.DataFrame({"sex": ["m", "f"] * 5, "ill": [True] * 4 + [False] * 6, "by": ["ill"] * 4 + ["none"] * 6})
    shown = repr(Data(table, interventions="by"))
    assert shown == "Data(10 rows × 2 columns, discrete: sex, ill; 1 node set in 4 rows)"
    shown = repr(Data(frame(), interventions=ROWS))
    assert shown == "Data(40 rows × 4 columns: praf, pmek, plcg, PIP2; 3 nodes set in 3 rows)"
    holes = frame()
    holes.loc[0, "praf"] = np.nan
    shown = repr(Data(holes, missing="drop", interventions={3: "pmek"}))
    assert shown.endswith("PIP2; 1 node set in 1 row; 1 dropped for missing values)")


def test_data_pass_on_their_interventions():
    data, plain = Data(frame(), interventions=ROWS), Data(frame())
    for made in (Data(data), Data(plain, interventions=ROWS), Data(plain, interventions=mask())):
        np.testing.assert_array_equal(made.intervened, mask())
    assert plain.intervened is None
    assert "declare them once" in refusal(data, interventions=ROWS)
    assert "interventions='praf': the columns of a Data are all nodes" in refusal(plain, interventions="praf")


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interventions", "part"),
    [
        ("target", "interventions='target' is not a column; known are praf, pmek, plcg, PIP2"),
        ("pmec", "interventions='pmec' is not a column; did you mean 'pmek'?"),
        ({40: "pmek"}, "40 is not a row; rows are counted from 0 to 39"),
        ({-1: "pmek"}, "-1 is not a row"),
        ({True: "pmek"}, "True is not a row"),
        ({"r1": "pmek"}, "'r1' is not a row"),
        ({1.0: "pmek"}, "1.0 is not a row"),
        ({3: "pmeg"}, "row 3 has an unknown node 'pmeg'; did you mean 'pmek'?"),
        ({3: ["zzz"]}, "row 3 has an unknown node 'zzz'; known are praf, pmek, plcg, PIP2"),
        ({3: 1}, "row 3 has 1; give the name of a node or a list of names"),
        ({3: None}, "row 3 has None; give the name"),
        ({3: ["pmek", 2]}, "row 3 has ['pmek', 2]; give the name"),
        (mask()[1:], "shape (39, 4), but the table has 40 rows and 4 columns"),
        (mask()[:, 1:], "shape (40, 3), but the table has 40 rows and 4 columns"),
        (mask()[0], "shape (4,)"),
        (mask().astype(int), "the array must hold True and False only, not 0 (numbers become truth values with == 1)"),
        (mask().astype(float).tolist(), "must hold True and False only, not 0.0"),
        (np.where(mask(), True, None), "must hold True and False only, not None"),
        (np.ma.array(mask(), mask=mask()), "masked entries"),
        (pd.DataFrame(mask(), columns=NAMES)[1:], "interventions has 39 rows, but the table has 40"),
        (pd.DataFrame(mask(), columns=[*NAMES[:3], "PIP3"]), "column 'PIP3' is no node; did you mean 'PIP2'?"),
        (pd.DataFrame(mask(), columns=[*NAMES[:3], "praf"]), "interventions: duplicate column names: praf (2 times)"),
        (pd.DataFrame(mask().astype(int), columns=NAMES), "its column 'praf' must hold True and False only, not 0"),
        (pl.DataFrame({"pmek": [None] + [True] * 39}), "its column 'pmek' must hold True and False only, not None"),
        (pd.Series(mask()[:, 0]), "shape (40,)"),
        ([[True], [True, False]], "could not be read as an array"),
        (pl.LazyFrame({"a": [True]}).select(pl.col("absent")), "could not be collected"),
        (3, "of type int are not known; give truth values"),
        (object(), "of type object are not known"),
    ],
)
def test_mistakes_are_named(interventions, part):
    assert part in rejected(interventions)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("pmeg", "interventions='target': 'pmeg' is no node; did you mean 'pmek'?"),
        ("pmek; zzz", "interventions='target': 'zzz' is no node; known are praf, pmek, plcg, PIP2"),
        ("pmek praf", "'pmek praf' is no node"),
        ("target", "'target' is no node"),
        (True, "'True' is no node"),
    ],
)
def test_unknown_targets_are_named(text, part):
    message = rejected("target", with_targets({3: text}))
    assert part in message
    assert "'none'" in message


@pytest.mark.parametrize(("left", "refused"), [(0, True), (2, True), (3, False)])
def test_nodes_need_rows_in_which_they_were_not_set(left, refused):
    chosen = np.zeros((40, 4), dtype=bool)
    chosen[left:, 2] = True
    if refused:
        assert f"plcg ({left} of 40 rows left); at least 3" in rejected(chosen)
    else:
        assert Data(frame(), interventions=chosen).n_nodes == 4


def test_columns_that_vary_only_where_they_were_set_are_refused():
    table = frame()
    table.loc[5:, "pmek"] = 2.0
    chosen = dict.fromkeys(range(5), "pmek")
    assert "columns constant wherever they were not set: pmek;" in rejected(chosen, table)
    assert "constant wherever they were not set: pmek;" in rejected(chosen, Data(table))
    table.loc[39, "pmek"] = 2.5
    assert Data(table, interventions=chosen).n_nodes == 4


def test_classes_that_vary_only_where_they_were_set_have_no_gram():
    table = np.array([[0, 1], [0, 0], [0, 1], [0, 2], [1, 1]])
    data = Data(table, interventions={4: "X0"})
    assert data.kind == "discrete"
    with pytest.raises(DataError, match="constant wherever they were not set: X0"):
        data.standardised_gram()
    assert Data(table).standardised_gram().shape == (2, 2)
    assert "constant wherever" in refusal(data, kind="continuous")


# --- sums over some rows ----------------------------------------------------------------------------------------------


def some_rows(seed=3, rows=40):
    return np.random.default_rng(seed).random(rows) < 0.6


@pytest.mark.parametrize("rows", [None, some_rows(), np.ones(40, dtype=bool)])
@pytest.mark.parametrize("block", [1 << 19, 4 * 7])
def test_grams_over_rows_are_those_of_the_rows(monkeypatch, rows, block):
    monkeypatch.setattr(gram_module, "_BLOCK", block)
    data = Data(example())
    chosen = example() if rows is None else example()[rows]
    centred = chosen - chosen.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    gram, mean = data.centred_gram(rows)
    tolerance = len(chosen) * 64 * EPSILON
    np.testing.assert_allclose(mean, chosen.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(gram / np.outer(size, size), centred.T @ centred / np.outer(size, size), atol=tolerance)
    np.testing.assert_array_equal(gram, gram.T)
    deviation = example().std(axis=0, ddof=1)
    expected = (centred / deviation).T @ (centred / deviation)
    scaled = data.scaled_gram(rows)
    np.testing.assert_allclose(scaled, expected, rtol=0, atol=40 * 64 * EPSILON)
    np.testing.assert_array_equal(scaled, scaled.T)


def test_grams_over_rows_survive_values_that_were_set_far_away():
    # Rows that were set to 2⁵⁰ must leave no trace: neither in the units nor in the centre of the others.
    table = np.random.default_rng(4).integers(0, 1000, size=(500, 3)) / 1024
    rows = np.arange(500) < 400
    expected, mean = Data(table[rows]).centred_gram()
    table[~rows, 0] = 2.0**50 + np.arange(100)
    gram, mean_of_rows = Data(table).centred_gram(rows)
    np.testing.assert_array_equal(gram, expected)
    np.testing.assert_array_equal(mean_of_rows, mean)


@pytest.mark.parametrize("exponent", [-1000, -540, 520, 1000])
def test_raw_gram_beyond_the_range_of_doubles_is_refused(exponent):
    data = Data(np.random.default_rng(3).normal(size=(30, 3)) * np.ldexp(1.0, [0, exponent, 0]))
    with pytest.raises(DataError, match="too large or too small to be squared in X1; rescale"):
        data.centred_gram()


@pytest.mark.parametrize("exponent", [-505, 500])
def test_raw_gram_near_the_ends_of_the_range_is_exact(exponent):
    table = np.random.default_rng(3).normal(size=(30, 3))
    gram, mean = Data(table).centred_gram()
    scaled, scaled_mean = Data(np.ldexp(table, exponent)).centred_gram()
    np.testing.assert_array_equal(scaled, np.ldexp(gram, 2 * exponent))
    np.testing.assert_array_equal(scaled_mean, np.ldexp(mean, exponent))


def test_raw_gram_keeps_its_digits_when_units_squared_would_lose_them():
    table = np.random.default_rng(3).normal(size=(5000, 2))
    gram, _ = Data(np.ldexp(table, -514)).centred_gram()
    np.testing.assert_array_equal(np.diagonal(gram), np.ldexp(np.diagonal(Data(table).centred_gram()[0]), -1028))


def test_columns_that_do_not_vary_in_the_rows_have_zeros():
    table = example()
    rows = np.arange(40) < 10
    table[rows, 2] = 1 / 3
    data = Data(table)
    for gram in (data.centred_gram(rows)[0], data.scaled_gram(rows)):
        np.testing.assert_array_equal(gram[2], 0.0)
        assert (np.diagonal(gram)[[0, 1, 3]] > 0).all()
    table[:5, 2] = np.nextafter(1 / 3, 1)
    np.testing.assert_array_equal(Data(table).scaled_gram(rows)[2], 0.0)


@pytest.mark.parametrize(
    "rows", [np.ones(39, dtype=bool), np.zeros(40, dtype=bool), np.arange(40), np.ones((40, 4), dtype=bool), [0, 1]]
)
def test_rows_must_be_truth_values(rows):
    data = Data(example())
    for ask in (data.centred_gram, data.scaled_gram):
        with pytest.raises(DataError, match="rows must be 40 truth values, at least one of them True"):
            ask(rows)


# --- patterns ---------------------------------------------------------------------------------------------------------


def test_patterns_are_numbered_by_first_appearance():
    pattern, masks = Data(example(columns=5), interventions={3: ["X1", "X4"], 5: ["X2"]}).patterns()
    np.testing.assert_array_equal(pattern, [0, 1, 2, 0, 1])
    assert pattern.dtype == np.int64
    assert masks[0] is None
    np.testing.assert_array_equal(np.flatnonzero(~masks[1]), [3])
    np.testing.assert_array_equal(np.flatnonzero(~masks[2]), [5])


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(bool, st.tuples(st.integers(4, 12), st.integers(2, 6))), st.permutations(range(6)))
def test_patterns_partition_the_nodes_by_their_rows(chosen, order):
    chosen = np.vstack([chosen, np.zeros((3, chosen.shape[1]), dtype=bool)])
    chosen = chosen[:, [j % chosen.shape[1] for j in order]]  # so that some nodes share their rows
    data = Data(example(*chosen.shape), interventions=chosen)
    pattern, masks = data.patterns()
    assert [*dict.fromkeys(pattern.tolist())] == list(range(len(masks)))
    used = [np.ones(len(chosen), dtype=bool) if mask is None else mask for mask in masks]
    assert len({rows.tobytes() for rows in used}) == len(used)
    for j in range(chosen.shape[1]):
        np.testing.assert_array_equal(used[pattern[j]], ~chosen[:, j])
        assert (masks[pattern[j]] is None) == (not chosen[:, j].any())
