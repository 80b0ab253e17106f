"""`parnidag report` and `parnidag compare`, and the reports of the other commands, on real results and files."""

from __future__ import annotations

import webbrowser
from datetime import date

import numpy as np
import pytest

import parnidag
from parnidag._util.files import write_csv
from parnidag.cli import app as cli
from parnidag.cli import written
from parnidag.simulation import simulate


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, its true graph, and two results: with and without a prior that forbids an edge."""
    folder = tmp_path_factory.mktemp("results")
    truth = simulate(5, 5, 150, seed=2)
    write_csv(folder / "data.csv", truth.names, truth.values)
    write_csv(folder / "truth.csv", truth.names, truth.adjacency.astype(int), row_names=truth.names, corner="parent")
    parent, child = truth.edges[0]
    prior = parnidag.EdgePrior(forbidden=[(parent, child)])
    parnidag.exact(folder / "data.csv", score="paper", draws=200, seed=1).save(folder / "free.nc")
    parnidag.exact(folder / "data.csv", score="paper", draws=200, seed=1, prior=prior).save(folder / "forbidden.nc")
    return folder


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


def test_report_is_written_beside_the_result(files, capsys):
    assert cli.run(["report", str(files / "free.nc")]) == 0
    written = files / "free.html"
    assert lines_of(capsys) == [f"Report: {written}"]
    assert written.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_report_takes_a_file_and_a_title(files, tmp_path, capsys):
    path = tmp_path / "mine.html"
    assert cli.run(["report", str(files / "free.nc"), "-o", str(path), "--title", "Peas & <beans>"]) == 0
    assert "Peas &amp; &lt;beans&gt;" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("works", [True, False])
def test_open_shows_the_report_in_the_browser_or_says_that_there_is_none(files, tmp_path, monkeypatch, capsys, works):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or works)
    path = tmp_path / "mine.html"
    assert cli.run(["report", str(files / "free.nc"), "-o", str(path), "--open"]) == 0
    assert opened == [path.as_uri()]
    assert ("No browser" in capsys.readouterr().out) is not works


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.nc"], "parnidag: error: there is no file nothing.nc"),
        (["{files}/data.csv"], "data.csv cannot be read as a parnidag result"),
        (["{files}/free.nc", "-o", "report.txt"], "--output report.txt: the report is an HTML file, so name it *.html"),
        (["{files}/free.nc", "-o", "no/such/folder/report.html"], "--output no/such/folder/report.html: the folder"),
    ],
)
def test_mistakes_are_one_line_and_leave_with_2(files, arguments, words, capsys):
    assert cli.run(["report", *(argument.format(files=files) for argument in arguments)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_exact_and_sample_write_reports_too(files, tmp_path, capsys):
    path = tmp_path / "exact.html"
    assert cli.run(["exact", str(files / "data.csv"), "--report", str(path)]) == 0
    assert f"Saved {path}" in capsys.readouterr().out
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("threshold", [0.0, 0.001])
def test_a_low_threshold_lists_improbable_edges_too(files, capsys, threshold):
    assert cli.run(["exact", str(files / "data.csv"), "--score", "paper", "--threshold", str(threshold)]) == 0
    probabilities = parnidag.load(files / "free.nc").edge_probabilities.to_numpy()
    joined = np.triu(probabilities + probabilities.T, 1)
    wanted = int((joined >= threshold).sum() if threshold else 10)
    assert wanted > (joined >= 0.5).sum()
    assert lines_of(capsys)[0] == f"5 nodes, {wanted} pairs joined with probability {threshold:g} or more."


def test_where_the_demo_puts_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert written.demo_report_path().resolve() == tmp_path / "parnidag-demo.html"
    monkeypatch.setattr(written.os, "access", lambda path, mode: False)
    assert written.demo_report_path().parent != tmp_path


def test_compare_lists_the_edges_that_differ(files, capsys):
    assert cli.run(["compare", str(files / "free.nc"), str(files / "forbidden.nc")]) == 0
    lines = lines_of(capsys)
    table = parnidag.compare(parnidag.load(files / "free.nc"), parnidag.load(files / "forbidden.nc"))
    assert f"largest difference {table['difference'].abs().max():.3f}" in lines[0]
    assert lines[1].split() == ["parent", "child", "first", "second", "difference", "in", "MC", "errors"]
    assert len(lines) == 2 + (table["difference"].abs() > 0.05).sum()
    assert lines[2].split()[:2] == [table["parent"][0], table["child"][0]]


def test_compare_with_itself_finds_nothing(files, tmp_path, capsys):
    copy = tmp_path / "copy.nc"
    copy.write_bytes((files / "free.nc").read_bytes())
    assert cli.run(["compare", str(files / "free.nc"), str(copy)]) == 0
    assert lines_of(capsys)[-1] == "No edge differs by more than 0.05."


def test_compare_with_the_truth(files, capsys):
    assert cli.run(["compare", str(files / "free.nc"), "--truth", str(files / "truth.csv")]) == 0
    figures = dict(line.rsplit(maxsplit=1) for line in lines_of(capsys)[1:])
    posterior = parnidag.load(files / "free.nc")
    truth = np.loadtxt(files / "truth.csv", delimiter=",", skiprows=1, usecols=range(1, 6))
    assert figures["consensus_shd"] == str(parnidag.metrics.shd(posterior.consensus_graph().adjacency, truth))
    assert float(figures["roc_area"]) == pytest.approx(
        parnidag.metrics.evaluate(posterior, truth)["roc_area"], abs=6e-4
    )


def test_a_difference_may_be_chosen_for_two_results_beside_the_truth(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert cli.run(["compare", "free.nc", "forbidden.nc", "--truth", "truth.csv", "--difference", "1"]) == 0
    lines = lines_of(capsys)
    assert lines[1] == "No edge differs by more than 1."
    assert lines[2].split() == ["against", "the", "truth", "free.nc", "forbidden.nc"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs two results"),
        (["free.nc"], "needs two results"),
        (["free.nc", "free.nc"], "named twice"),
        (["free.nc", "forbidden.nc", "more.nc"], "takes two results, not 3"),
        (["free.nc", "forbidden.nc", "--difference", "2"], "must be between 0 and 1"),
        (["free.nc", "forbidden.nc", "--difference", "nan"], "must be between 0 and 1"),
        (["free.nc", "--truth", "truth.csv", "--difference", "0.1"], "--difference belongs to two results, not 1"),
        (["a.nc", "b.nc", "c.nc", "--truth", "truth.csv", "--difference", "0.05"], "belongs to two results, not 3"),
        (["free.nc", "nothing.nc"], "parnidag: error: there is no file nothing.nc"),
        (["free.nc", "--truth", "missing.csv"], "--truth: missing.csv: file not found"),
    ],
)
def test_senseless_comparisons_are_refused(files, arguments, words, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert cli.run(["compare", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_whole_numbers_can_be_declared_measurements(tmp_path, capsys):
    rng = np.random.default_rng(1)
    write_csv(tmp_path / "likert.csv", ("a", "b", "c"), rng.integers(1, 6, (80, 3)))
    assert cli.run(["exact", str(tmp_path / "likert.csv")]) == 0
    assert "Score: BDeu" in capsys.readouterr().out
    assert cli.run(["exact", str(tmp_path / "likert.csv"), "--kind", "continuous"]) == 0
    assert "Score: BGe" in capsys.readouterr().out


def test_dropped_rows_are_counted(tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    rows = "".join(f"{k * 0.37 % 1},{k * 0.71 % 1}\n" for k in range(20))
    path.write_text("a,b\n" + rows + ",1.5\n2.5,\n")
    assert cli.run(["exact", str(path), "--missing", "drop"]) == 0
    assert "2 rows with missing values left out." in capsys.readouterr().out


def test_results_know_their_file_and_day(files, monkeypatch):
    monkeypatch.chdir(files)
    settings = parnidag.load("free.nc").settings
    assert settings["source"] == "data.csv"
    chains = parnidag.samplers.MC3()
    sampled = parnidag.sample("data.csv", sampler=chains, draws=10, thin=5, chains=2, seed=1, progress=False)
    assert sampled.settings["source"] == "data.csv"
    assert date.fromisoformat(sampled.settings["date"]) >= date.fromisoformat(settings["date"])
    assert "source" not in parnidag.exact(parnidag.Data("data.csv").values).settings
