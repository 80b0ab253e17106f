"""What text cells say: numbers where that is certain, empty cells, and refusals with a remedy where it is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tables import refusal

from parnidag.cli.screens import in_option_words
from parnidag.data import Data

ROWS = 40
NUMBERS = np.random.default_rng(1).normal(50, 20, ROWS).round(2)


def beside(cells, name="x", **options):
    """A table of these cells, repeated to 40 rows, beside numbers."""
    repeated = [cells[k % len(cells)] for k in range(ROWS)]
    return Data(pd.DataFrame({name: repeated, "y": NUMBERS}), **options)


def refused(cells, **options):
    repeated = [cells[k % len(cells)] for k in range(ROWS)]
    return refusal(pd.DataFrame({"x": repeated, "y": NUMBERS}), **options)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["26.4", "13.25", "7", "-1e3"], [26.4, 13.25, 7, -1000]),
        (["26,4", "13,25", "7"], [26.4, 13.25, 7]),
        (["0,123", "1,234", "0,500"], [0.123, 1.234, 0.5]),
        (["1,234.5", "17.25", "12,345,678"], [1234.5, 17.25, 12345678]),
        (["1.234,5", "17,25", "12.345.678"], [1234.5, 17.25, 12345678]),
        (["1 234,5", "17,25", "12\u00a0345"], [1234.5, 17.25, 12345]),
        (["1'234.5", "17.25", "3"], [1234.5, 17.25, 3]),
        ([" 1.5", "2.5 ", "3"], [1.5, 2.5, 3]),
        (["1", "2", "?", "4"], [1, 2, np.nan, 4]),
        (["1.5", ".", "N/A", "na", "2.5", "-", "none"], [1.5, np.nan, np.nan, np.nan, 2.5, np.nan, np.nan]),
    ],
)
def test_numbers_are_read_where_their_notation_is_certain(cells, numbers):
    expected = [numbers[k % len(numbers)] for k in range(ROWS)]
    np.testing.assert_array_equal(beside(cells).values[:, 0], expected)


def test_decimal_commas_and_semicolons_of_a_file_are_found(tmp_path):
    for suffix, separator in ((".txt", ";"), (".csv", ";"), (".csv", "\t"), (".csv", "|"), (".tsv", ";")):
        path = tmp_path / f"table{suffix}"
        rows = "\n".join(f"{a}{separator}{b}".replace(".", ",") for a, b in zip(NUMBERS, NUMBERS[::-1], strict=True))
        path.write_text(f"raf{separator}mek\n{rows}\n")
        data = Data(path)
        assert (data.kind, data.names) == ("continuous", ("raf", "mek"))
        np.testing.assert_array_equal(data.values[:, 0], NUMBERS)


def test_quoted_numbers_and_names_with_commas_in_a_file(tmp_path):
    path = tmp_path / "table.csv"
    rows = "\n".join(f'"{a:.2f}";"{b:.2f}"' for a, b in zip(NUMBERS, NUMBERS[::-1], strict=True))
    path.write_text(f'"weight, kg";"height, cm"\n{rows}\n')
    assert Data(path).names == ("weight, kg", "height, cm")
    np.testing.assert_array_equal(Data(path).values[:, 0], NUMBERS)


def test_words_that_stand_for_empty_are_empty_in_classes_too(tmp_path):
    path = tmp_path / "table.csv"
    cells = ["None", "drug", "?", "NA", ""]
    path.write_text("arm,y\n" + "".join(f"{cells[k % 5]},{NUMBERS[k]}\n" for k in range(ROWS)))
    data = Data(path)
    assert data.kinds == ("binary", "number")
    assert data.gaps[:, 0].sum() == 3 * ROWS / 5
    assert data.describe()["columns"][0]["most_frequent"] == "None"  # a treatment, not a gap
    truth = beside(["true", "FALSE", "None"])
    assert (truth.kinds[0], int(truth.gaps.sum())) == ("binary", len(range(2, ROWS, 3)))


def test_few_whole_numbers_given_as_text_are_classes_and_so_are_codes_with_zeros():
    assert beside(["1", "2", "3"]).kinds[0] == "class"
    assert beside([f"{k:05d}" for k in range(12)]).kinds[0] == "class"
    assert beside([str(k) for k in range(12)]).kinds[0] == "count"


@pytest.mark.parametrize(
    ("cells", "part", "option"),
    [
        (["1,234", "5,678", "12,500"], "'1,234' may be 1.234 or 1234); write them with a decimal point", None),
        (["1,5", "2.5", "3"], "numbers that are written in different ways: x ('1,5' beside '2.5')", None),
        ([*map(str, range(19)), "n.d."], "x (2 of 40 cells, for example 'n.d.')", "--kind x=class"),
        (["1.5", "<0.5", *map(str, range(18))], "limits of detection among their numbers: x (2 of 40 cells", None),
        (["1.5", "< LOD", *map(str, range(18))], "put a number in their place (half the limit is usual)", None),
        (["2020-01-31", "2020-02-01", "2021-07-12"], "columns of dates or times: x ('2020-01-31')", "--drop x"),
        (["31.1.20", "1.2.20", "2.12.2021"], "columns of dates or times: x", "--drop x"),
        (["12:30", "12:45:10", "9:00"], "columns of dates or times: x", "--drop x"),
        (["5 kg", "12.5 kg", "9 kg", "7 kg", "8 kg"], "around them: x ('12.5 kg')", "--kind x=class"),
        (["5%", "12.5%", "9%", "7%", "8%"], "numbers with something written around them", "--kind x=class"),
        (["€5", "€1,250", "€9", "€7", "€8"], "take it out, so that numbers are left", "--kind x=class"),
        ([f"patient {k}" for k in range(ROWS)], "another one in almost every row", "--drop x"),
    ],
)
def test_what_is_not_certain_is_asked_about_and_never_made_classes(cells, part, option):
    message = refused(cells)
    assert part in message
    if option:
        assert option in in_option_words(message)


def test_told_classes_are_not_looked_into():
    cells = [*map(str, range(19)), "n.d."]
    assert beside(cells, kinds={"x": "class"}).kinds[0] == "class"
    assert beside([f"patient {k}" for k in range(ROWS)], kinds={"x": "class"}).n_nodes == 2
    assert beside(["low", "1", "2"] * 5).kinds[0] == "class"
    assert beside(["ward 1", "ward 2", "ward 3", "ward 4", "ward 5"]).kinds[0] == "class"
    assert beside(["5 kg", "6 kg", "7 kg"]).kinds[0] == "class"


def test_columns_can_be_chosen_and_dropped(tmp_path):
    rows = {"id": [f"p{k}" for k in range(ROWS)], "y": NUMBERS, "when": ["2020-01-31"] * ROWS, "z": NUMBERS[::-1]}
    table = pd.DataFrame(rows)
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    for given in (table, path, pl.from_pandas(table)):
        for chosen in (Data(given, drop=["when", "id"]), Data(given, columns=["z", "y"])):
            assert chosen.names == ("y", "z")
    array = np.column_stack([NUMBERS, NUMBERS, NUMBERS[::-1]])
    np.testing.assert_array_equal(Data(array, drop="X1").values, array[:, [0, 2]])
    assert Data(iter([table[:20], table[20:]]), drop=["when", "id"]).names == ("y", "z")
    assert "drop: 'wen' is no column; did you mean 'when'?" in refusal(table, drop=["wen"])
    assert "columns: 'x' is no column" in refusal(table, columns=["x", "y"])
    set_rows = table.assign(target=[""] * 39 + ["y"])
    assert Data(set_rows, columns=["y", "z"], interventions="target").set_rows().tolist() == [1, 0]
