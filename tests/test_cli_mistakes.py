"""Mistakes on the command line: one line each, before any work."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

from __future__ import annotations

import pytest
from commands import calls, one_line_error, table

from parnidag.cli import app as cli
from parnidag.cli.screens import UsageError, error_line
from parnidag.errors import DataError, ParnidagError

MISTAKES = [
    (["sampl"], "Unknown command"),
    (["sample"], "sample needs DATA: see parnidag sample --help"),
    (["sample", "data.csv", "more.csv"], "sample has no use for more.csv: see parnidag sample --help"),
    (["simulate"], "simulate needs --output: see parnidag simulate --help"),
    (["sample", "nowhere.csv"], "nowhere.csv: file not found"),
    (["sample", "."], "is a folder"),
    (["sample", "data.csv", "--bogus"], "--bogus"),
    (["sample", "data.csv", "--draws", "many"], "--draws"),
    (["sample", "data.csv", "--sampler", "best"], "--sampler"),
    (["sample", "data.csv", "--sampler", "adr", "--kernel", "gibbs"], "--kernel gibbs belongs to --sampler parni"),
    (["sample", "data.csv", "--sampler", "adr", "--moves", "paper"], "--moves paper belongs to --sampler parni"),
    (["sample", "data.csv", "--sampler", "rev", "--rungs", "4"], "--rungs 4 belongs to --sampler parni or tempered"),
    (["sample", "data.csv", "--rungs", "0"], "--rungs must be a whole number, 1 or more"),
    (["sample", "data.csv", "--sampler", "rev", "--moves", "adr=1"], "--moves adr=1 belongs to --sampler parni"),
    (["sample", "data.csv", "--moves", "parni"], "--moves must be one of ('paper', 'mixed') or weights by move"),
    (["sample", "data.csv", "--moves", ""], "--moves must be one of ('paper', 'mixed') or weights by move"),
    (["sample", "data.csv", "--moves"], "--moves"),
    (["sample", "data.csv", "--moves", "parni=often"], "--moves parni=often: 'parni=often' is not of the form"),
    (["sample", "data.csv", "--moves", "parni=1,adr"], "'adr' is not of the form move=weight"),
    (["sample", "data.csv", "--moves", "parni=1,"], "'' is not of the form move=weight"),
    (["sample", "data.csv", "--moves", "parni=1=2"], "'parni=1=2' is not of the form move=weight"),
    (["sample", "data.csv", "--moves", "parni=0.5,parni=0.1"], "parni"),
    (["sample", "data.csv", "--moves", "parni=0.5,exchanges=0.5"], "--moves has 'exchanges'; known moves are parni"),
    (["sample", "data.csv", "--moves", "=1"], "--moves has ''; known moves are parni"),
    (["sample", "data.csv", "--moves", "parni=-1"], "moves['parni'] must be a number from 0"),
    (["sample", "data.csv", "--moves", "parni=nan"], "moves['parni'] must be a number from 0"),
    (["sample", "data.csv", "--moves", "parni=1e999"], "moves['parni'] must be a number from 0"),
    (["sample", "data.csv", "--moves", "exchange=1"], '--moves needs a weight of "parni" or "adr"'),
    (["sample", "data.csv", "--missing", "guess"], "--missing"),
    (["sample", "data.csv", "--interventions", "set"], "--interventions set is not a column; known are"),
    (["sample", "data.csv", "--draws", "1.9"], "1.9 is not a whole number"),
    (["simulate", "-o", "data.xlsx"], "name it *.csv"),
    (["simulate", "-o", "new.csv", "--nodes", "1"], "at least 2 nodes"),
    (["sample", "data.csv", "--forbid", "A"], "--forbid 'A'"),
    (["sample", "data.csv", "--require", "A,B,C"], "--require 'A,B,C'"),
    (["sample", "data.csv", "--forbid", "A,"], "--forbid 'A,'"),
    (["sample", "data.csv", "--require", "A,A"], "--require: 'A' → 'A' leads from a node to itself"),
    (
        ["sample", "data.csv", "--h", "2"],
        '--h must be a number between 0 and 1 (both excluded), a Beta, "paper" for 1/n, got 2.0',
    ),
    (["sample", "data.csv", "--threshold", "1.5"], "--threshold 1.5"),
    (["sample", "data.csv", "-o", "nowhere/posterior.nc"], "the folder nowhere does not exist"),
    (["sample", "data.csv", "-o", "posterior.csv"], "netCDF"),
    (["sample", "data.csv", "-o", "folder.nc"], "is a folder"),
    (["sample", "data.csv", "--edges-csv", "data.csv"], "would overwrite"),
    (["sample", "data.csv", "-o", "same.nc", "--edges-csv", "same.nc"], "would overwrite"),
    (["sample", "data.csv", "--checkpoint", "run.html", "--report", "run.html"], "would overwrite another file"),
    (["sample", "data.csv", "-o", "old.nc", "--start", "old.nc"], "would overwrite another file of this command"),
    (["sample", "data.csv", "-o", "old.nc", "--space", "old.nc"], "would overwrite another file of this command"),
    (["sample", "data.csv", "--quiet"], "--quiet"),
    (["sample", "data.csv", "--alpha", "0.1"], "--alpha belongs to --space pc"),
    (["sample", "data.csv", "--space", "ges"], "--space ges: use"),
    (["sample", "data.csv", "--space", "missing.csv"], "missing.csv"),
    (["sample", "data.csv", "--space", "missing.nc"], "missing.nc"),
    (["sample", "data.csv", "--start", "full"], "--start full: use"),
    (["sample", "data.csv", "--processes", "0"], "--processes 0 must be 1 or more"),
    (["sample", "data.csv", "--processes", "2", "--dask", "tcp://127.0.0.1:1"], "exclude each other"),
    (["sample", "data.csv", "--dask", "nonsense://here"], "--dask nonsense://here: write the address of the scheduler"),
    (["sample", "data.csv", "--checkpoint", "no/such/run.ckpt"], "--checkpoint no/such/run.ckpt"),
    (["exact", "nowhere.csv"], "nowhere.csv: file not found"),
    (["exact", "data.csv", "--chains", "2"], "--chains"),
    (["simulate"], "--output"),
    (["simulate", "-o", "nowhere/data.csv"], "the folder nowhere does not exist"),
    (["simulate", "-o", "new.csv", "--edges", "1000"], "--edges 1000 is too many"),
    (["simulate", "-o", "new.csv", "--truth", "new.csv"], "would overwrite"),
    (["demo", "--rows", "0"], "--rows must be a whole number, 1 or more, got 0"),
]


@pytest.mark.parametrize(
    ("arguments", "named"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_mistake_is_one_line_before_any_work(arguments, named, calls, table, capsys):
    (table.parent / "folder.nc").mkdir()
    before = sorted(table.parent.iterdir())
    assert cli.run(arguments) == 2
    assert named in one_line_error(capsys.readouterr())
    assert not calls
    assert sorted(table.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ParnidagError("draws must be\n  1 or more", argument="draws"), "parnidag: error: --draws must be 1 or more\n"),
        (PermissionError(13, "Permission denied", "/locked"), "parnidag: error: /locked: Permission denied\n"),
    ],
)
def test_errors_of_the_library_become_one_line(error, line, calls, table, capsys):
    calls.result = error
    assert cli.run(["sample", "data.csv", "-o", "posterior.nc"]) == 2
    assert capsys.readouterr() == ("", line)
    assert sorted(path.name for path in table.parent.iterdir()) == ["data.csv"]


@pytest.mark.parametrize(
    ("kind", "message", "more", "line"),
    [
        (UsageError, "path: draws=500: file not found", {}, "path: draws=500: file not found"),
        (ParnidagError, "path: draws=500.nc is damaged", {}, "draws=500.nc is damaged"),
        (ParnidagError, "truth: tune=3: no table", {}, "--truth: tune=3: no table"),
        (ParnidagError, "max_parents is 'draws=5'", {"argument": "max_parents"}, "--max-parents is 'draws=5'"),
        (ParnidagError, "df must be 2 or more", {"argument": "df"}, "df must be 2 or more"),
        (DataError, "kind='discrete' in kind='a'", {"argument": "kind"}, "--kind discrete in kind='a'"),
        (DataError, "draws=5 and kind='x' are constant", {}, "draws=5 and kind='x' are constant"),
        (DataError, "empty: kind='x'", {"remedy": "use missing='drop'"}, "empty: kind='x'; use --missing drop"),
    ],
)
def test_arguments_become_options_and_paths_and_names_stay(kind, message, more, line):
    assert error_line(kind(message, **more), {"max_parents", "kind", "truth"}) == line


def test_a_path_that_looks_like_an_argument_is_shown_as_it_is(capsys):
    assert cli.run(["sample", "runs/draws=500.csv"]) == 2
    assert capsys.readouterr().err == "parnidag: error: runs/draws=500.csv: file not found\n"


@pytest.mark.usefixtures("table")
def test_a_fault_of_ours_is_not_dressed_up_as_the_users(calls):
    calls.result = KeyError("ours")
    with pytest.raises(KeyError):
        cli.run(["sample", "data.csv"])


@pytest.mark.parametrize("option", ["--forbid", "--require"])
@pytest.mark.usefixtures("table")
def test_unknown_nodes_are_refused_end_to_end(option, capsys):
    assert cli.run(["sample", "data.csv", option, "A,Nobody"]) == 2
    assert f"{option}: unknown node 'Nobody'" in one_line_error(capsys.readouterr())


def test_bad_tables_are_refused_end_to_end(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("A,B\n1.5,2024-01-01\n2.5,2024-01-02\n0.5,2024-01-03\n")
    assert cli.run(["sample", str(path), "-o", str(tmp_path / "posterior.nc")]) == 2
    assert "columns of dates or times: B" in one_line_error(capsys.readouterr())
    assert [each.name for each in tmp_path.iterdir()] == ["data.csv"]
