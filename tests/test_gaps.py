"""Empty cells that stay in the table, to be drawn along with the graphs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tables import NAMES, example, frame, refusal

import parnidag
from parnidag.data import Data
from parnidag.errors import DataError


def with_holes():
    table = frame()
    table.loc[[2, 5], "pmek"] = np.nan
    table.loc[[5, 39], "PIP2"] = np.nan
    return table


def test_empty_cells_stay_where_they_are():
    data = Data(with_holes())
    assert (data.kind, data.kinds, data.needs_cells, data.dropped_rows) == ("continuous", ("number",) * 4, True, 0)
    np.testing.assert_array_equal(data.values, with_holes())
    np.testing.assert_array_equal(data.gaps, with_holes().isna())
    assert not data.gaps.flags.writeable
    assert data.in_words() == "4 columns: 4 numbers; 4 of 160 cells are empty and are drawn along with the graphs"
    assert Data(with_holes(), missing="drop").in_words() == "4 columns: 4 numbers; 3 rows left out for empty cells"
    assert [column["empty"] for column in data.describe()["columns"]] == [0, 2, 0, 2]
    assert data.describe()["columns"][1]["mean"] == pytest.approx(with_holes()["pmek"].mean(), rel=1e-5)
    assert "<td>2</td>" in data._repr_html_()
    whole = Data(frame())
    assert (whole.gaps, whole.needs_cells) == (None, False)


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: data.standardised_gram(),
        lambda data: data.standardised_values(),
        lambda data: data.centred_gram(),
        lambda data: data.discrete(),
        lambda data: data.scales(),
        lambda data: parnidag.exact(data, score="bge"),
        parnidag.space.pc,
    ],
)
def test_what_needs_a_whole_table_refuses_gaps_with_the_remedy(ask):
    with pytest.raises(DataError, match=r"without empty cells: pmek \(2\), PIP2 \(2\); missing='drop' leaves out"):
        ask(Data(with_holes()))


def test_classes_with_gaps_keep_their_codes():
    table = pd.DataFrame({"sex": ["m", None, "f", "m", "f"], "ill": [True, False, None, False, True]})
    data = Data(table)
    assert (data.kind, data.kinds) == ("discrete", ("binary", "binary"))
    np.testing.assert_array_equal(data.values, [[1, 1], [np.nan, 0], [0, np.nan], [1, 0], [0, 1]])


def test_rows_without_any_value_are_left_out_and_interventions_stay_in_line():
    table = with_holes()
    table.loc[[0, 7]] = np.nan
    data = Data(table, interventions={8: "praf", 7: "plcg"})
    assert (data.n_rows, data.dropped_rows) == (38, 2)
    np.testing.assert_array_equal(data.values, table.drop(index=[0, 7]))
    np.testing.assert_array_equal(np.argwhere(data.intervened), [[6, 0]])
    later = Data(Data(table), interventions={8: "praf"})
    np.testing.assert_array_equal(later.intervened, data.intervened)
    assert later.digest() == data.digest()


def test_rows_can_be_dropped_later():
    table = with_holes()
    table.loc[0] = np.nan
    at_once = Data(table, missing="drop", interventions={8: "praf"})
    for later in (
        Data(Data(table, interventions={8: "praf"}), missing="drop"),
        Data(Data(Data(table), missing="drop"), interventions={8: "praf"}),
    ):
        assert later.digest() == at_once.digest()
        assert (later.dropped_rows, later.gaps) == (at_once.dropped_rows, None)
        np.testing.assert_array_equal(later.standardised_gram(), at_once.standardised_gram())
    with pytest.raises(DataError, match="in which 4 rows had missing values"):
        Data(Data(table, missing="drop"), missing="refuse")


def test_digest_tells_gaps_from_numbers():
    other = with_holes()
    other.loc[2, "pmek"] = 0.0
    digests = {Data(table).digest() for table in (frame(), with_holes(), other)}
    assert len(digests) == 3
    odd = with_holes().to_numpy(copy=True)
    odd[np.isnan(odd)] = -np.float64(np.nan)  # another of the many bit patterns
    assert Data(pd.DataFrame(odd, columns=NAMES)).digest() == Data(with_holes()).digest()


def test_columns_with_hardly_any_value_are_refused_and_those_with_one_left_out():
    table = with_holes()
    table.loc[2:, "plcg"] = np.nan
    assert "columns with fewer than 3 values: plcg (2); remove them" in refusal(table)
    table = with_holes()
    table["plcg"] = np.where(np.arange(40) < 30, 2.5, np.nan)
    assert Data(table).left_out == {"plcg": "always 2.5"}


def test_interventions_need_their_values_and_something_left_to_learn_from():
    assert "values that nodes were set to are missing: pmek (1)" in refusal(with_holes(), interventions={2: "pmek"})
    table = with_holes()
    table.loc[3:, "pmek"] = np.nan
    table.loc[:4, "pmek"] = [1.0, 2.0, 4.0, 5.0, 6.0]
    set_rows = dict.fromkeys(range(3), "pmek")
    assert "pmek has 2 values where it was not set" in refusal(table, interventions=set_rows)
    table.loc[3:8, "pmek"] = 7.0
    assert "constant wherever they were not set: pmek" in refusal(table, interventions=set_rows)


def test_tables_in_batches_are_refused_with_the_remedy():
    parts = [with_holes()[:20], with_holes()[20:]]
    assert "cannot be drawn: the table is read in batches; missing='drop'" in refusal(iter(parts))
    assert Data(iter(parts), missing="drop").dropped_rows == 3


def test_refuse_has_an_older_name():
    assert refusal(with_holes(), missing="raise") == refusal(with_holes(), missing="refuse")
    assert Data(example(), missing="raise").n_rows == 40
