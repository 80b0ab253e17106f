"""What columns are taken for, and what that makes of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tables import refusal

from parnidag.data import Data

ROWS = 200


def columns():
    """One column of each kind, 200 rows."""
    rng = np.random.default_rng(1)
    return {
        "weight": rng.normal(size=ROWS),
        "age": rng.integers(18, 90, ROWS),
        "visits": rng.poisson(6.0, ROWS),
        "stage": rng.integers(1, 5, ROWS),
        "smokes": rng.integers(0, 2, ROWS),
        "sex": rng.choice(["f", "m"], ROWS),
        "ill": rng.random(ROWS) < 0.3,
        "site": rng.choice(["Lund", "Oslo", "Turku"], ROWS),
        "grade": pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), ["low", "mid", "high"], ordered=True),
        "arm": pd.Categorical(rng.choice(["a", "b", "c"], ROWS)),
    }


KINDS = ("number", "number", "count", "ordinal", "binary", "binary", "binary", "class", "ordinal", "class")


def table(*names):
    return pd.DataFrame({name: column for name, column in columns().items() if not names or name in names})


@pytest.mark.parametrize("convert", [lambda t: t, pa.Table.from_pandas])
def test_every_column_is_taken_for_what_it_holds(convert):
    data = Data(convert(table()))
    assert data.kinds == KINDS
    assert (data.kind, data.needs_cells, data.gaps) == ("mixed", True, None)
    assert data.in_words() == (
        "10 columns: 2 numbers, 1 count (visits), 2 ordinal (stage, grade), 3 binary (smokes, sex, ill), "
        "2 classes (site, arm)"
    )
    described = data.describe()["columns"]
    assert [column["kind"] for column in described] == list(KINDS)
    assert described[7]["levels"] == 3


def test_polars_has_categories_without_an_order():
    frame = pl.from_pandas(table("weight", "site")).with_columns(pl.col("site").cast(pl.Categorical))
    assert Data(frame).kinds == ("number", "class")


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("weight", "age"), "continuous"),
        (("age", "visits"), "continuous"),
        (("stage", "smokes", "site"), "discrete"),
        (("grade", "arm"), "discrete"),
        (("weight", "smokes"), "mixed"),
        (("site", "age"), "mixed"),
    ],
)
def test_the_kinds_of_columns_make_the_kind_of_the_table(names, kind):
    data = Data(table(*names))
    assert data.kind == kind
    assert data.needs_cells == (kind == "mixed")


def test_whole_numbers_turn_at_ten_levels_and_counts_where_rows_hardly_ever_tie():
    numbers = np.random.default_rng(2).normal(size=1000)
    for levels, kind in ((10, "ordinal"), (11, "count"), (20, "count"), (21, "number")):
        assert Data(np.column_stack([numbers, np.arange(1000) % levels])).kinds[1] == kind
    assert Data(np.column_stack([numbers, np.arange(1000) % 12 - 3])).kinds[1] == "number"
    few = np.column_stack([numbers[:6], np.arange(6.0)])
    assert Data(few).kinds == ("number", "number")
    assert Data(few[:, [1, 1]] * [1, 1] + [[0, k % 2] for k in range(6)]).kind == "discrete"


@pytest.mark.parametrize("kind", ["continuous", "discrete", "mixed"])
def test_a_kind_can_be_asked_for_the_whole_table(kind):
    data = Data(table("age", "stage", "visits"), kind=kind)
    assert data.kind == kind
    kinds = {"continuous": ("number",) * 3, "discrete": ("ordinal",) * 3, "mixed": ("number", "count", "ordinal")}
    assert data.kinds == kinds[kind]


def test_kinds_can_be_told():
    told = {"age": "count", "stage": "class", "visits": "number", "smokes": "ordinal"}
    data = Data(table(), kinds=told)
    assert dict(zip(data.names, data.kinds, strict=True)) == {**dict(zip(data.names, KINDS, strict=True)), **told}
    assert Data(table(), kinds=told).digest() != Data(table()).digest()
    assert Data(Data(table()), kinds=told).kinds == data.kinds
    assert Data(table("stage", "smokes")).kind == "discrete"
    assert Data(table("stage", "smokes"), kinds={"stage": "ordinal"}).kind == "mixed"
    assert Data(table("stage", "smokes"), kinds={"stage": "number"}).kind == "mixed"
    assert Data(table("weight", "stage"), kinds={"stage": "number"}).kind == "continuous"
    assert Data(table("weight", "stage"), kind="continuous", kinds={"stage": "ordinal"}).kind == "mixed"


def test_text_gets_the_order_that_is_told():
    order = ["Turku", "Lund", "Oslo"]
    data = Data(table("site", "weight"), kinds={"site": order})
    assert data.kinds == ("number", "ordinal")
    assert [order[int(code)] for code in data.values[:, 1]] == table("site")["site"].tolist()
    again = Data(data, kinds={"weight": "number"})
    assert again.kinds == data.kinds


@pytest.mark.parametrize(
    ("told", "part"),
    [
        ({"site": "ordinal"}, "the order of the levels of site is not known; list them in their order"),
        ({"site": ["Lund", "Oslo"]}, "site has levels that its list lacks: 'Turku'"),
        ({"stage": [1, 2, 3, 4]}, "stage holds numbers, which have an order: say 'ordinal'"),
        ({"site": "number"}, "site cannot be 'number': it holds"),
        ({"weight": "count"}, "weight cannot be 'count': it holds fractions"),
        ({"weight": "class"}, "weight cannot be 'class': it holds fractions, for example"),
        ({"stage": "binary"}, "stage cannot be 'binary': it has 4 different values"),
        ({"stag": "ordinal"}, "kinds: 'stag' is no column; did you mean 'stage'?"),
        ({"stage": "order"}, "stage is said to be 'order'; use one of number, count, ordinal, binary, class"),
        (["ordinal"], "kinds must be a mapping"),
    ],
)
def test_kinds_that_columns_cannot_have_are_refused(told, part):
    assert part in refusal(table(), kinds=told)


def test_batches_need_one_kind_of_columns():
    parts = [table("weight", "stage")[:100], table("weight", "stage")[100:]]
    assert "1 number, 1 ordinal (stage)), which needs its rows, but it is read in batches" in refusal(iter(parts))
    assert Data(iter(parts), kind="continuous").kinds == ("number", "number")
    assert "kinds= needs the rows of a table" in refusal(iter(parts), kinds={"stage": "ordinal"})
