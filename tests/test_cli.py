"""The command line: how it starts, what it prints and saves, and its agreement with the library."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from commands import NODES, PROBABILITIES, StubPosterior, calls, table

import parnidag
from parnidag.cli import app as cli
from parnidag.cli import runs
from parnidag.errors import ParnidagError
from parnidag.simulation import example_network, simulate


def command_line(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "parnidag", *map(str, arguments)], capture_output=True, text=True, check=False
    )


# ── start-up ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "arguments", [["--help"], ["sample", "--help"], ["demo", "--help"], ["--version"], ["sampl"], []]
)
def test_help_and_mistakes_answer_without_the_heavy_packages(arguments):
    code = (
        f"import sys; from parnidag.cli.app import run; run({arguments!r})\n"
        "heavy = {'numba', 'numpy', 'scipy', 'pandas', 'xarray', 'networkx'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, parnidag; dir(parnidag); sys.exit('numba' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_version(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"parnidag {parnidag.__version__}\n"


@pytest.mark.parametrize("command", ["demo", "sample", "exact", "simulate"])
def test_every_command_has_plain_help_in_a_pipe(command, capsys):
    assert cli.run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Usage: parnidag {command}" in text
    assert not re.search(r"[\x1b╭│─]", text)
    options = re.findall(r"^  --\S+.*$", text, flags=re.MULTILINE)
    assert len(options) >= 2
    assert all(": " in option for option in options)  # none without an explanation


def test_exit_code_of_the_real_process():
    assert command_line("--version").returncode == 0
    failed = command_line("sample", "nowhere.csv")
    assert failed.returncode == 2
    assert failed.stderr == "parnidag: error: nowhere.csv: file not found\n"


# ── the package's names ───────────────────────────────────────────────────────────────────────────────────────────────


def test_names_are_listed_and_lazily_resolved():
    assert set(parnidag.__all__) <= set(dir(parnidag))
    assert parnidag.ParnidagError is ParnidagError
    assert parnidag.simulate is simulate
    assert all(getattr(parnidag, name) is not None for name in parnidag.__all__)
    with pytest.raises(AttributeError, match="no attribute 'smaple'"):
        _ = parnidag.smaple


# ── sample and exact ──────────────────────────────────────────────────────────────────────────────────────────────────


SAMPLE = ["sample", "data.csv", "--sampler", "mc3"]


@pytest.mark.usefixtures("table", "calls")
def test_sample_prints_probable_edges_and_says_that_nothing_is_saved(capsys):
    assert cli.run(SAMPLE) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 nodes, 2 pairs joined with probability 0.5 or more.",
        "parent     child  joined  direction   mcse  ess   rhat  evidence",
        "A       →  B       1.000       0.90  0.010    0  0.010  positive",
        "B       –  C       1.000  0.60/0.40      -    -      -  direction open",
        "Where a – stands the direction is open, and both of its probabilities are given.",
        "Converged, as far as can be seen.",
        "- Run longer.",
        "The posterior itself was not saved: add -o posterior.nc to keep it.",
    ]


@pytest.mark.usefixtures("calls")
def test_sample_saves_both_files(table, capsys):
    assert cli.run([*SAMPLE, "-o", "posterior.nc", "--edges-csv", "edges.csv", "--threshold", "1"]) == 0
    assert (table.parent / "posterior.nc").read_bytes() == b"netCDF"
    saved = pd.read_csv(table.parent / "edges.csv", index_col="parent")
    np.testing.assert_array_equal(saved.to_numpy(), PROBABILITIES.to_numpy())
    assert list(saved.index) == list(saved.columns) == NODES
    out = capsys.readouterr().out
    assert "2 pairs joined with probability 1 or more" in out
    assert "Saved posterior.nc\nSaved edges.csv\n" in out
    assert "not saved" not in out


@pytest.mark.usefixtures("table")
def test_json_is_all_that_stands_on_standard_output(calls, capsys):
    calls.result = StubPosterior()
    assert cli.run([*SAMPLE, "--json", "-o", "posterior.nc"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(pair["parent"], pair["child"], pair["told"]) for pair in answer["pairs"]] == [
        ("A", "B", True),
        ("B", "C", False),
    ]
    assert answer["verdict"] == "Converged, as far as can be seen."
    assert answer["saved"] == ["posterior.nc"]
    assert cli.run([*SAMPLE, "--json", "-q", "-o", "posterior.nc"]) == 2
    assert "--json" in capsys.readouterr().err


@pytest.mark.usefixtures("table")
def test_quiet_says_nothing(calls, capsys):
    assert cli.run([*SAMPLE, "-q", "-o", "posterior.nc"]) == 0
    assert calls[0][1]["progress"] is False
    assert capsys.readouterr() == ("", "")


def test_interrupted_sampling_is_printed_and_saved(calls, table, capsys):
    calls.result = StubPosterior(interrupted=True)
    assert cli.run([*SAMPLE, "-o", "posterior.nc"]) == 130
    captured = capsys.readouterr()
    assert "2 pairs" in captured.out
    assert "interrupted" in captured.err
    assert (table.parent / "posterior.nc").exists()


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(("reason", "line"), [((), "interrupted\n"), (("nothing yet",), "interrupted: nothing yet\n")])
def test_interrupt_elsewhere_says_why_nothing_is_left(reason, line, calls, capsys):
    calls.result = KeyboardInterrupt(*reason)
    assert cli.run(SAMPLE) == 130
    assert capsys.readouterr() == ("", f"parnidag: {line}")


@pytest.mark.usefixtures("table")
def test_exact_prints_the_evidence_and_only_the_columns_it_has(calls, capsys):
    calls.result = StubPosterior(log_evidence=-123.456)
    assert cli.run(["exact", "data.csv", "--draws", "5", "--seed", "2", "--g", "3"]) == 0
    out = capsys.readouterr().out
    assert "parent     child  joined  direction  evidence\n" in out
    assert "log evidence -123.4560" in out
    _, options = calls[0]
    assert (options["draws"], options["seed"]) == (5, 2)
    assert options["score"] == parnidag.scores.Gaussian(g=3.0)


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "-o", "data.csv"]])
def test_a_reader_who_leaves_is_no_error(arguments, tmp_path):
    command = [sys.executable, "-m", "parnidag", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert errors == b""
    assert process.returncode != 0


# ── simulate and demo ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_simulate_writes_the_table_and_the_truth(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = "simulate -o data.csv --truth truth.csv --nodes 5 --edges 4 --rows 30 --seed 9 --noise 0.5"
    assert cli.run(words.split()) == 0
    expected = simulate(5, 4, 30, 9, noise=0.5)
    data = pd.read_csv("data.csv")
    assert tuple(data.columns) == expected.names
    np.testing.assert_array_equal(data.to_numpy(), expected.values)
    truth = pd.read_csv("truth.csv", index_col="parent")
    np.testing.assert_array_equal(truth.to_numpy(), expected.adjacency)
    assert "30 rows, 5 nodes, 4 edges, seed 9" in capsys.readouterr().out


def test_demo_compares_with_the_truth(calls, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    garden = example_network()
    names = list(garden.names)
    probabilities = pd.DataFrame(0.98 * garden.adjacency, index=names, columns=names)
    probabilities.loc["altitude", "rain"], probabilities.loc["rain", "altitude"] = 0.25, 0.75
    probabilities.loc["rain", "bees"] = 0.5
    calls.result = StubPosterior(probabilities)
    assert cli.run(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {tuple(line.split()[0:3:2]): line.split(maxsplit=5)[3:] for line in lines[2:] if line[16:17] in ("→", "–")}
    assert rows["compost", "earthworms"] == ["0.980", "0.98", "yes"]
    assert rows["rain", "altitude"] == ["1.000", "0.75/0.25", "direction open"]
    assert rows["rain", "bees"] == ["0.500", "0.50", "no"]
    assert len([kind for *_, kind in rows.values() if kind == "yes"]) == 27
    summary = "28 of the 28 true edges (27 in the true direction, 1 of open direction, 0 reversed), and 1 other pair."
    assert f"Joined with probability 0.5 or more: {summary}" in lines
    assert "Converged, as far as can be seen." in lines
    assert lines[-2] == "Report: parnidag-demo.html"
    assert (tmp_path / "parnidag-demo.html").is_file()
    assert lines[-1].endswith("parnidag sample your.csv -o posterior.nc --report report.html")
    data, options = calls[0]
    assert list(data.names) == names
    assert options["seed"] == garden.seed


def test_demo_options(calls, capsys, tmp_path):
    names = list(example_network().names)
    calls.result = StubPosterior(pd.DataFrame(0.0, index=names, columns=names))
    assert cli.run(["demo", "--seed", "5", "--rows", "60", "--report", str(tmp_path / "look.html")]) == 0
    assert (tmp_path / "look.html").is_file()
    assert calls[0][0].values.shape == (60, 20)
    assert calls[0][1]["seed"] == 5
    assert "60 simulated rows (seed 5)" in capsys.readouterr().out


@pytest.mark.parametrize(("terminal", "left"), [(True, True), (True, False), (False, True)])
def test_a_demo_in_a_terminal_leaves_the_rest_to_be_compiled(terminal, left, calls, capsys, tmp_path, monkeypatch):
    names = list(example_network().names)
    calls.result = StubPosterior(pd.DataFrame(0.0, index=names, columns=names))
    asked = []
    monkeypatch.setattr(runs, "compile_rest_beside", lambda: asked.append(True) or left)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert cli.run(["demo", "--report", str(tmp_path / "look.html")]) == 0
    assert len(asked) == terminal
    assert ("In the background, once on this machine" in capsys.readouterr().out) == (terminal and left)


# ── end to end ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sample_agrees_with_exact_end_to_end(table, capsys):
    words = ["--g", "10", "--forbid", "C->A"]
    assert cli.run(["exact", "data.csv", "-q", "--edges-csv", "exact.csv", *words]) == 0
    run = [
        "sample",
        "data.csv",
        "-o",
        "posterior.nc",
        "--edges-csv",
        "sampled.csv",
        "--seed",
        "1",
        "--sampler",
        "parni",
    ]
    assert cli.run([*run, *words]) == 0
    assert "Saved posterior.nc" in capsys.readouterr().out
    exact = pd.read_csv(table.parent / "exact.csv", index_col="parent")
    sampled = pd.read_csv(table.parent / "sampled.csv", index_col="parent")
    assert exact.loc["C", "A"] == sampled.loc["C", "A"] == 0
    posterior = parnidag.load(table.parent / "posterior.nc")
    errors = posterior.summary().set_index(["parent", "child"])["mcse"]
    # Five Monte-Carlo standard errors; an edge that never changed in the run has none, and is rarer than one in 1000.
    tolerance = np.array([[errors.get((i, j), np.nan) for j in NODES] for i in NODES]) * 5
    difference = np.abs(exact.to_numpy() - sampled.to_numpy())
    assert (difference <= np.where(np.isnan(tolerance), 1e-3, tolerance)).all()
