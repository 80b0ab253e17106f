"""Names, tables and files as only an enemy, or an unlucky user, would make them."""

import io
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from made_results import HOSTILE as OF_REPORTS
from plotting import HOSTILE as OF_PLOTS
from test_exports import HOSTILE as OF_EXPORTS

MORE = (
    "e\u0301¦\u00e9¦"  # é in two characters, and in one: names of two columns
    "\u2126¦\u03a9¦"  # ohm, and the same as a Greek letter
    "\u202eevil¦\u200b¦a\u200bb¦\x1b[31mred\x1b]0;title\x07¦\x9b2J¦" + "x" * 1000 + "¦"
    "$\\frac{¦+cmd|' /C calc'!A0¦-2¦@SUM(A1)¦\r=1¦a;=1+1¦a,'+1¦a\t=1¦＝1¦None¦NA¦inf¦True¦"
    "index¦parent¦child¦a.1¦\ufeffmark¦\U0010ffff¦a/b¦..¦_"
).split("¦")
NAMES = tuple(dict.fromkeys(name for name in (*OF_EXPORTS, *OF_REPORTS, *OF_PLOTS, *MORE) if name.strip()))
"""Columns without a name are refused."""


def table_for(names, rows=40, seed=1):
    """Numbers for so many columns, each like the one before it."""
    values = np.random.default_rng(seed).normal(size=(rows, len(names)))
    values[:, 1:] += 0.9 * values[:, :-1]
    return values


def parquet_bytes(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def small_parquets():
    """Files of numbers, of text and of columns within columns, packed in every way."""
    values = table_for("abc", rows=12)
    tables = [
        pa.table({"a": values[:, 0], "b": values[:, 1], "c": values[:, 2]}),
        pa.table(
            {"a": ["x", "y", "z"] * 4, "b": [True, False, None] * 4, "c": pa.array(["u", "v"] * 6).dictionary_encode()}
        ),
        pa.table({"a": [{"x": 1, "y": [1, 2]}] * 12, "b": [[1.0, 2.0], None, []] * 4, "c": range(12)}),
    ]
    ways = ({"compression": "none"}, {"compression": "zstd"}, {"use_dictionary": False}, {"data_page_version": "2.0"})
    return [parquet_bytes(table, **way) for table in tables for way in ways]


# ── exact arithmetic ──────────────────────────────────────────────────────────────────────────────────────────────────


def log_of(number):
    """Logarithm of a positive fraction of any size."""
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    return math.log(float(number / Fraction(2) ** shift)) + shift * math.log(2)


def exact_moments(values):
    """Centred cross products and means of the numbers as they are stored, as fractions."""
    columns = [[Fraction(float(value)) for value in column] for column in np.asarray(values, float).T]
    rows = len(columns[0])
    means = [sum(column) / rows for column in columns]
    columns = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
    return [[sum(x * y for x, y in zip(one, other, strict=True)) for other in columns] for one in columns], means, rows


def eliminated(matrix, parents, node):
    """The determinant of the parents' part of a matrix, and what they leave of the node's diagonal."""
    members = [*parents, node]
    part = [[matrix[i][j] for j in members] for i in members]
    determinant = Fraction(1)
    for k in range(len(parents)):
        determinant *= part[k][k]
        for row in range(k + 1, len(part)):
            factor = part[row][k] / part[k][k]
            part[row] = [x - factor * y for x, y in zip(part[row], part[k], strict=True)]
    return determinant, part[-1][-1]


def damaged(content, data):
    """Return bytes with one place flipped, cut off, set or swapped with another, as hypothesis chooses."""
    content = bytearray(content)
    place = data.draw(st.integers(0, len(content) - 17))
    kind = data.draw(st.sampled_from(["flip", "cut", "swap", "set"]))
    if kind == "cut":
        del content[place:]
    elif kind == "swap":
        here, there = slice(place, place + 16), slice(other := data.draw(st.integers(0, len(content) - 17)), other + 16)
        content[here], content[there] = content[there], content[here]
    elif kind == "flip":
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    else:
        content[place : place + 8] = data.draw(st.sampled_from([b"\xff" * 8, bytes(8), b"\x7f" * 8]))
    return bytes(content)
