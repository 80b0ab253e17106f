from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag import cli
from parnidag.errors import ParnidagError
from parnidag.simulation import example_network, simulate, write_csv

needs_api = pytest.mark.skipif(
    importlib.util.find_spec("parnidag.api") is None, reason="end to end: needs parnidag.api"
)

NODES = ["A", "B", "C"]
PROBABILITIES = pd.DataFrame([[0.0, 0.9, 0.2], [0.1, 0.0, 0.6], [0.0, 0.4, 0.0]], index=NODES, columns=NODES)


class StubPosterior:
    """What the command line asks of a result, with chosen figures."""

    def __init__(self, probabilities=PROBABILITIES, interrupted=False, log_evidence=None):
        self.nodes = list(probabilities.columns)
        self.edge_probabilities = probabilities
        self.settings = {"interrupted": interrupted}
        self.log_evidence = log_evidence

    def summary(self):
        cells = [(i, j, self.edge_probabilities.loc[i, j]) for i in self.nodes for j in self.nodes if i != j]
        table = pd.DataFrame(cells, columns=["parent", "child", "probability"])
        figures = [np.nan] * len(table) if self.log_evidence is not None else [0.01, *[np.nan] * (len(table) - 1)]
        return table.assign(mcse=figures, ess=figures, rhat=figures, evidence="positive")

    def diagnostics(self):
        return SimpleNamespace(
            verdict="Converged, as far as can be seen.", advice=["Run longer."], caveats=[], converged=True
        )

    def save(self, path):
        path.write_bytes(b"netCDF")

    def report(self, path, title=None):
        path.write_text(f"<!doctype html><title>{title}</title>")
        return path


class Calls(list):
    """Stands in for `parnidag.sample` or `parnidag.exact`: remembers the calls and gives a chosen result."""

    result = None

    def __call__(self, data, **options):
        self.append((data, options))
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.fixture
def calls(monkeypatch):
    calls = Calls()
    calls.result = StubPosterior()
    monkeypatch.setitem(vars(parnidag), "sample", calls)
    monkeypatch.setitem(vars(parnidag), "exact", calls)
    return calls


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.csv"
    simulation = simulate(3, 2, 50, 1)
    write_csv(path, NODES, simulation.values)
    return path


def command_line(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "parnidag", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def one_line_error(captured):
    assert captured.out == ""
    assert captured.err.startswith("parnidag: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


# ── start-up ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "arguments", [["--help"], ["sample", "--help"], ["demo", "--help"], ["--version"], ["sampl"], []]
)
def test_help_and_mistakes_answer_without_the_heavy_packages(arguments):
    code = (
        f"import sys; from parnidag.cli import run; run({arguments!r})\n"
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
    assert failed.stderr == "parnidag: error: nowhere.csv: no such file\n"


# ── the package's names ───────────────────────────────────────────────────────────────────────────────────────────────


def test_names_are_listed_and_lazily_resolved():
    assert set(parnidag.__all__) <= set(dir(parnidag))
    assert parnidag.ParnidagError is ParnidagError
    assert parnidag.simulate is simulate
    with pytest.raises(AttributeError, match="no attribute 'smaple'"):
        _ = parnidag.smaple


@needs_api
def test_every_public_name_exists():
    for name in parnidag.__all__:
        assert getattr(parnidag, name) is not None


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

MISTAKES = [
    (["sampl"], "Unknown command"),
    (["sample"], "DATA"),
    (["sample", "nowhere.csv"], "nowhere.csv: no such file"),
    (["sample", "."], "is a folder"),
    (["sample", "data.csv", "--bogus"], "--bogus"),
    (["sample", "data.csv", "--draws", "many"], "--draws"),
    (["sample", "data.csv", "--sampler", "best"], "--sampler"),
    (["sample", "data.csv", "--sampler", "adr", "--kernel", "gibbs"], "--kernel gibbs belongs to --sampler parni"),
    (["sample", "data.csv", "--sampler", "adr", "--moves", "paper"], "--moves paper belongs to --sampler parni"),
    (["sample", "data.csv", "--sampler", "rev", "--moves", "adr=1"], "--moves adr=1 belongs to --sampler parni"),
    (["sample", "data.csv", "--moves", "parni"], "moves must be one of ('paper', 'mixed') or weights by move"),
    (["sample", "data.csv", "--moves", ""], "moves must be one of ('paper', 'mixed') or weights by move"),
    (["sample", "data.csv", "--moves"], "--moves"),
    (["sample", "data.csv", "--moves", "parni=often"], "--moves parni=often: 'parni=often' is not of the form"),
    (["sample", "data.csv", "--moves", "parni=1,adr"], "'adr' is not of the form move=weight"),
    (["sample", "data.csv", "--moves", "parni=1,"], "'' is not of the form move=weight"),
    (["sample", "data.csv", "--moves", "parni=1=2"], "'parni=1=2' is not of the form move=weight"),
    (["sample", "data.csv", "--moves", "parni=0.5,parni=0.1"], "parni"),
    (["sample", "data.csv", "--moves", "parni=0.5,exchanges=0.5"], "moves has 'exchanges'; known moves are parni"),
    (["sample", "data.csv", "--moves", "=1"], "moves has ''; known moves are parni"),
    (["sample", "data.csv", "--moves", "parni=-1"], "moves['parni'] must be a number from 0"),
    (["sample", "data.csv", "--moves", "parni=nan"], "moves['parni'] must be a number from 0"),
    (["sample", "data.csv", "--moves", "parni=1e999"], "moves['parni'] must be a number from 0"),
    (["sample", "data.csv", "--moves", "exchange=1"], 'moves needs a weight of "parni" or "adr"'),
    (["sample", "data.csv", "--missing", "guess"], "--missing"),
    (["sample", "data.csv", "--draws", "1.9"], "1.9 is not a whole number"),
    (["simulate", "-o", "data.xlsx"], "name it *.csv"),
    (["simulate", "-o", "new.csv", "--nodes", "1"], "at least 2 nodes"),
    (["sample", "data.csv", "--forbid", "A"], "--forbid 'A'"),
    (["sample", "data.csv", "--require", "A,B,C"], "--require 'A,B,C'"),
    (["sample", "data.csv", "--forbid", "A,"], "--forbid 'A,'"),
    (["sample", "data.csv", "--h", "2"], "h=2"),
    (["sample", "data.csv", "--threshold", "1.5"], "--threshold 1.5"),
    (["sample", "data.csv", "-o", "nowhere/posterior.nc"], "there is no folder nowhere"),
    (["sample", "data.csv", "-o", "posterior.csv"], "netCDF"),
    (["sample", "data.csv", "-o", "folder.nc"], "is a folder"),
    (["sample", "data.csv", "--edges-csv", "data.csv"], "would overwrite"),
    (["sample", "data.csv", "-o", "same.nc", "--edges-csv", "same.nc"], "would overwrite"),
    (["sample", "data.csv", "--quiet"], "--quiet"),
    (["exact", "nowhere.csv"], "nowhere.csv: no such file"),
    (["exact", "data.csv", "--chains", "2"], "--chains"),
    (["simulate"], "--output"),
    (["simulate", "-o", "nowhere/data.csv"], "there is no folder nowhere"),
    (["simulate", "-o", "new.csv", "--edges", "1000"], "edges=1000"),
    (["simulate", "-o", "new.csv", "--truth", "new.csv"], "would overwrite"),
    (["demo", "--rows", "0"], "rows=0"),
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
        (ParnidagError("draws=0 is\n  too few"), "parnidag: error: --draws 0 is too few\n"),
        (PermissionError(13, "Permission denied", "/locked"), "parnidag: error: /locked: Permission denied\n"),
    ],
)
def test_errors_of_the_library_become_one_line(error, line, calls, table, capsys):
    calls.result = error
    assert cli.run(["sample", "data.csv", "-o", "posterior.nc"]) == 2
    assert capsys.readouterr() == ("", line)
    assert sorted(path.name for path in table.parent.iterdir()) == ["data.csv"]


@pytest.mark.usefixtures("table")
def test_a_fault_of_ours_is_not_dressed_up_as_the_users(calls):
    calls.result = KeyError("ours")
    with pytest.raises(KeyError):
        cli.run(["sample", "data.csv"])


# ── sample and exact ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("table")
def test_options_reach_the_sampler(calls):
    words = "sample data.csv --draws 7 --tune 8 --thin 9 --chains 2 --seed 3 --g 4 --h 0.2 --max-parents 2"
    assert (
        cli.run([*words.split(), "--sampler", "mc3", "--forbid", "A,B", "--forbid", "B -> C", "--require", "A→C"]) == 0
    )
    data, options = calls[0]
    assert data.names == ("A", "B", "C")
    expected = {"draws": 7, "tune": 8, "thin": 9, "chains": 2, "seed": 3, "progress": None}
    assert {name: options[name] for name in expected} == expected
    assert options["score"] == parnidag.scores.Gaussian(g=4.0)
    assert options["sampler"] == parnidag.samplers.MC3()
    assert options["prior"] == parnidag.EdgePrior(
        h=0.2, forbidden=[("A", "B"), ("B", "C")], required=[("A", "C")], max_parents=2
    )


@needs_api
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "sampler"),
    [
        ([], lambda samplers: samplers.PARNI()),
        (["--kernel", "gibbs"], lambda samplers: samplers.PARNI(kernel="gibbs")),
        (["--sampler", "parni", "--kernel", "printed"], lambda samplers: samplers.PARNI(kernel="printed")),
        (["--moves", "paper"], lambda samplers: samplers.PARNI(moves="paper")),
        (["--moves", "mixed", "--kernel", "printed"], lambda samplers: samplers.PARNI(kernel="printed")),
        (
            ["--moves", "parni=0.5,exchange=0.5"],
            lambda samplers: samplers.PARNI(moves={"parni": 0.5, "exchange": 0.5}),
        ),
        (
            ["--moves", " adr = 3, node_swap=1e0 ", "--kernel", "printed"],
            lambda samplers: samplers.PARNI(kernel="printed", moves={"adr": 0.75, "node_swap": 0.25}),
        ),
        (["--sampler", "adr"], lambda samplers: samplers.ADR()),
        (["--sampler", "rev"], lambda samplers: samplers.REV()),
        (["--sampler", "order"], lambda samplers: samplers.OrderMCMC()),
        (["--sampler", "partition"], lambda samplers: samplers.PartitionMCMC()),
        (["--sampler", "iterative"], lambda samplers: samplers.IterativeMCMC()),
    ],
)
def test_words_become_samplers(words, sampler, calls):
    assert cli.run(["sample", "data.csv", *words]) == 0
    assert calls[0][1]["sampler"] == sampler(parnidag.samplers)


@needs_api
@pytest.mark.usefixtures("table")
def test_words_become_search_spaces(calls, tmp_path, monkeypatch):
    assert cli.run(["sample", "data.csv"]) == 0
    assert calls[-1][1]["space"] is None
    assert cli.run(["sample", "data.csv", "--space", "pc", "--alpha", "0.2"]) == 0
    assert isinstance(calls[-1][1]["space"], parnidag.space.Skeleton)
    assert calls[-1][1]["space"].alpha == 0.2
    assert cli.run(["sample", "data.csv", "--space", "iterative", "--seed", "1"]) == 0
    assert isinstance(calls[-1][1]["space"], parnidag.space.SearchSpace)
    assert cli.run(["sample", "data.csv", "--space", "all"]) == 0
    assert calls[-1][1]["space"].sum() == 6
    matrix = pd.DataFrame([[0, 1, 0], [0, 0, 0], [0, 1, 0]], index=list("ABC"), columns=list("ABC"))
    for index in (True, False):
        matrix.to_csv("candidates.csv", index=index)
        assert cli.run(["sample", "data.csv", "--space", "candidates.csv"]) == 0
        assert calls[-1][1]["space"].loc["C", "B"] == 1


@needs_api
@pytest.mark.usefixtures("table")
def test_an_earlier_result_gives_space_and_start(tmp_path, capsys):
    short = ["--draws", "20", "--thin", "10", "--seed", "1", "--quiet"]
    assert cli.run(["sample", "data.csv", *short, "-o", "first.nc"]) == 0
    again = ["sample", "data.csv", *short, "--space", "first.nc", "--start", "first.nc", "-o", "second.nc"]
    assert cli.run(again) == 0
    first, second = parnidag.load("first.nc"), parnidag.load("second.nc")
    assert np.array_equal(first.space.considered, second.space.considered)
    assert "initialiser" in first.diagnostics().timings
    assert "initialiser" not in second.diagnostics().timings


@needs_api
@pytest.mark.usefixtures("table", "calls")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alpha", "0.1"], "--alpha belongs to --space pc"),
        (["--space", "ges"], "--space ges: use"),
        (["--space", "missing.csv"], "missing.csv"),
        (["--space", "missing.nc"], "missing.nc"),
        (["--start", "full"], "--start full: use"),
    ],
)
def test_mistaken_spaces_and_starts_are_named(words, message, capsys):
    assert cli.run(["sample", "data.csv", *words]) == 2
    assert message in capsys.readouterr().err


SAMPLE = ["sample", "data.csv", "--sampler", "mc3"]


@pytest.mark.usefixtures("table", "calls")
def test_sample_prints_probable_edges_and_says_that_nothing_is_saved(capsys):
    assert cli.run(SAMPLE) == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 nodes, 2 edges with probability 0.5 or more.",
        "parent  child  probability   mcse  ess   rhat  evidence",
        "A       B            0.900  0.010    0  0.010  positive",
        "B       C            0.600      -    -      -  positive",
        "Converged, as far as can be seen.",
        "- Run longer.",
        "The posterior itself was not saved: add -o posterior.nc to keep it.",
    ]


@pytest.mark.usefixtures("calls")
def test_sample_saves_both_files(table, capsys):
    assert cli.run([*SAMPLE, "-o", "posterior.nc", "--edges-csv", "edges.csv", "--threshold", "0.95"]) == 0
    assert (table.parent / "posterior.nc").read_bytes() == b"netCDF"
    saved = pd.read_csv(table.parent / "edges.csv", index_col="parent")
    np.testing.assert_array_equal(saved.to_numpy(), PROBABILITIES.to_numpy())
    assert list(saved.index) == list(saved.columns) == NODES
    out = capsys.readouterr().out
    assert "0 edges with probability 0.95" in out
    assert "Saved posterior.nc\nSaved edges.csv\n" in out
    assert "not saved" not in out


@pytest.mark.usefixtures("table")
def test_quiet_says_nothing(calls, capsys):
    assert cli.run([*SAMPLE, "-q", "-o", "posterior.nc"]) == 0
    assert calls[0][1]["progress"] is False
    assert capsys.readouterr() == ("", "")


def test_interrupted_sampling_is_printed_and_saved(calls, table, capsys):
    calls.result = StubPosterior(interrupted=True)
    assert cli.run([*SAMPLE, "-o", "posterior.nc"]) == 130
    captured = capsys.readouterr()
    assert "2 edges" in captured.out
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
    assert "parent  child  probability  evidence\n" in out
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
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in lines[2:-6]}
    assert rows["compost", "earthworms"] == ["0.980", "yes"]
    assert rows["rain", "altitude"] == ["0.750", "reversed"]
    assert rows["altitude", "rain"] == ["0.250", "yes"]
    assert rows["rain", "bees"] == ["0.500", "no"]
    assert len([kind for _, kind in rows.values() if kind == "yes"]) == 28
    assert "With probability 0.5 or more: 27 of the 28 true edges, 1 reversed, 1 not in the true graph." in lines
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


# ── end to end ────────────────────────────────────────────────────────────────────────────────────────────────────────


@needs_api
def test_sample_agrees_with_exact_end_to_end(table, capsys):
    words = ["--g", "10", "--forbid", "C->A"]
    assert cli.run(["exact", "data.csv", "-q", "--edges-csv", "exact.csv", *words]) == 0
    run = ["sample", "data.csv", "-o", "posterior.nc", "--edges-csv", "sampled.csv", "--seed", "1"]
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


@needs_api
def test_moves_reach_the_result_end_to_end(table, capsys):
    short = ["sample", "data.csv", "--draws", "20", "--thin", "10", "--seed", "1", "-o", "posterior.nc"]
    assert cli.run([*short, "--moves", "adr=1,exchange=1"]) == 0
    posterior = parnidag.load(table.parent / "posterior.nc")
    assert posterior.settings["sampler"]["moves"] == {"adr": 0.5, "exchange": 0.5}
    assert set(posterior.diagnostics().move_cost) == {"adr", "exchange"}
    assert set(posterior.diagnostics().move_acceptance) == {"add", "delete", "reverse", "exchange"}


@needs_api
@pytest.mark.parametrize("option", ["--forbid", "--require"])
@pytest.mark.usefixtures("table")
def test_unknown_nodes_are_refused_end_to_end(option, capsys):
    assert cli.run(["sample", "data.csv", option, "A,Nobody"]) == 2
    assert "Nobody" in one_line_error(capsys.readouterr())


@needs_api
def test_bad_tables_are_refused_end_to_end(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("A,B\n1.5,x\n2.5,y\n0.5,x\n")
    assert cli.run(["sample", str(path), "-o", str(tmp_path / "posterior.nc")]) == 2
    assert "B" in one_line_error(capsys.readouterr())
    assert [each.name for each in tmp_path.iterdir()] == ["data.csv"]
