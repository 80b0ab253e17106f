"""Column names of every kind go through everything, come back exactly, and are never taken for anything but text."""

import csv
import io
import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hostile import NAMES, table_for
from hypothesis import given
from hypothesis import strategies as st
from made_results import made_result
from matplotlib import pyplot as plt
from tables import refusal
from test_plots import NAMES as PLOTS
from test_plots import drawn

import parnidag
from parnidag._util.files import csv_text, escaped, unescaped, write_csv
from parnidag.cli import app as cli
from parnidag.data import Data
from parnidag.errors import ParnidagError
from parnidag.graphs.graph import as_graph

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What steers a terminal or turns text round; a line feed ends our own lines."""


@pytest.fixture(scope="module")
def result():
    return made_result(NAMES)


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_tables_keep_every_name(library):
    columns = dict(zip(NAMES, table_for(NAMES).T, strict=True))
    data = Data(library(columns))
    assert data.names == NAMES
    assert "\n" not in repr(data)
    assert "<script" not in data._repr_html_()


def test_tables_written_by_us_come_back_exactly(tmp_path):
    path, values = tmp_path / "table.csv", table_for(NAMES)
    write_csv(path, NAMES, values)
    data = Data(path)
    assert data.names == NAMES
    np.testing.assert_array_equal(data.values, values)


@pytest.mark.parametrize("name", ["half \ud83d", "\udcff", "zero\0"])
def test_names_that_no_file_can_hold_are_refused_at_the_border(name):
    for message in (
        refusal(table_for("ab"), names=[name, "b"]),
        refusal(pd.DataFrame(table_for("ab"), columns=pd.Index([name, "b"], dtype=object))),
    ):
        assert "which no file can hold" in message
        assert ascii(name) in message
        message.encode("utf-8")


def test_classes_that_no_file_can_hold_are_refused_at_the_border():
    table = pd.DataFrame({"sex": pd.Series(["m", "\ud83d", "f"], dtype=object), "ill": [0, 1, 0]})
    assert "text with half a character in it (a lone surrogate): sex ('\\ud83d')" in refusal(table)


def test_names_that_become_one_are_refused(tmp_path):
    assert "duplicate column names: 1 (2 times)" in refusal(pd.DataFrame(table_for("ab"), columns=[1, "1"]))
    path = tmp_path / "table.csv"
    path.write_text("=a,'=a\n1,2\n3,5\n4,4\n")  # the second is the first, made safe
    assert "duplicate column names: =a (2 times)" in refusal(path)


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_results_show_save_and_export_every_name(result, tmp_path):
    assert set(result.summary()["parent"]) <= set(NAMES)
    repr(result), repr(result.diagnostics()), repr(result.consensus_graph())
    for page in (result._repr_html_(), result.consensus_graph()._repr_html_()):
        assert not re.search(r"<(script|img)", page)
    back = parnidag.load(result.save(tmp_path / "result.nc"))
    assert tuple(back.nodes) == NAMES
    pd.testing.assert_frame_equal(back.edge_probabilities, result.edge_probabilities)
    assert tuple(result.to_datatree()["edges"]["parent"].values) == NAMES
    page = result.report(tmp_path / "report.html", title=NAMES[-1]).read_text(encoding="utf-8")
    assert "<script>window.hacked" not in page


def test_graphs_export_every_name(result, tmp_path):
    graph = result.best
    assert as_graph(graph.to_csv(tmp_path / "graph.csv")).nodes == NAMES
    np.testing.assert_array_equal(as_graph(tmp_path / "graph.csv").adjacency, graph.adjacency)
    assert tuple(nx.parse_gml(graph.to_gml()).nodes) == NAMES
    assert tuple(graph.to_networkx().nodes) == NAMES
    assert [node.get_name() for node in graph.to_causal_learn().get_nodes()] == list(NAMES)
    assert graph.to_dot().count("->") == len(graph.edges) + 1
    with pytest.raises(ParnidagError, match="a character that XML cannot hold"):
        graph.to_graphml()


@pytest.mark.parametrize("name", PLOTS)
def test_plots_draw_every_name_as_text(result, name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        drawn(name, result)
        for number in plt.get_fignums():
            plt.figure(number).savefig(io.BytesIO(), format="svg" if name == "graph" else "png")
    plt.close("all")


# ── the command line ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_line_shows_and_reads_every_name(result, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    result.save("one.nc")
    made_result(NAMES, seed=2).save("two.nc")
    result.best.to_csv("truth.csv")
    write_csv("data.csv", NAMES, table_for(NAMES))
    calls = []
    monkeypatch.setitem(vars(parnidag), "sample", lambda *given, **options: calls.append((given, options)) or result)
    for words in (
        ["compare", "one.nc", "two.nc", "--difference", "0"],
        ["compare", "one.nc", "--truth", "truth.csv"],
        ["report", "one.nc", "-o", "report.html"],
        ["sample", "data.csv", "--space", "truth.csv", "--edges-csv", "edges.csv", "--threshold", "0"],
    ):
        assert cli.run(words) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        assert not STEERING.search(shown.out)
    assert calls[0][0][0].names == NAMES
    assert calls[0][1]["space"].nodes == NAMES
    rows = read_cells((tmp_path / "edges.csv").read_bytes().decode(), ",")
    assert tuple(map(unescaped, rows[0][1:])) == tuple(unescaped(row[0]) for row in rows[1:]) == NAMES
    listed = [line for line in shown.out.splitlines() if line.startswith("parent") and "direction" in line]
    assert len(listed) == 1  # no name begins a line of its own


# ── spreadsheets ──────────────────────────────────────────────────────────────────────────────────────────────────────


def read_cells(text, separator):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def formulas(text):
    """The cells that would run, in spreadsheets of any language."""
    cells = [cell for separator in ",;\t" for row in read_cells(text, separator) for cell in row]
    # A program that knows no quotes would see lines and fields instead.
    cells += [cell for separator in ",;\t" for line in re.split("[\r\n]+", text) for cell in line.split(separator)]
    return [cell for cell in cells if FORMULA.match(cell)]


def test_no_cell_that_we_write_is_a_formula(result, tmp_path):
    write_csv(tmp_path / "table.csv", NAMES, np.ones((2, len(NAMES))))
    write_csv(tmp_path / "matrix.csv", NAMES, np.eye(len(NAMES)), row_names=NAMES, corner="parent")
    for text in (
        (tmp_path / "table.csv").read_bytes().decode(),
        (tmp_path / "matrix.csv").read_bytes().decode(),
        result.best.to_csv(),
    ):
        assert not formulas(text)


def test_an_apostrophe_at_the_start_alone_would_not_do():
    marked = [f"'{name}" if FORMULA.match(name) else name for name in NAMES]
    assert formulas(",".join(f'"{name}"' for name in marked))
    assert formulas("=1\n")
    assert formulas('"a","b;=1"\n')


@given(st.text(alphabet="'=+-@\t\r\n ,;\"a1＝\x0b\u00a0", max_size=12) | st.text())
def test_escaping_loses_nothing_and_leaves_no_formula(name):
    assert unescaped(escaped(name)) == name
    assert not formulas(csv_text([name, "last"], np.ones((1, 2))))
