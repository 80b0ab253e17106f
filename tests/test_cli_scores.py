"""Scores and interventions on the command line."""

import numpy as np
import pandas as pd
import pytest
from commands import one_line_error

import parnidag
from parnidag.cli import app as cli

SHORT = ["--draws", "20", "--thin", "10", "--seed", "1", "--quiet", "-o", "posterior.nc"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    numbers = pd.DataFrame({"x": x, "y": x + rng.normal(size=60), "z": rng.normal(size=60)})
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    classes = numbers.apply(lambda column: pd.cut(column, 3, labels=["low", "mid", "high"]))
    classes.to_csv(tmp_path / "classes.csv", index=False)
    numbers.assign(target=["x" if k % 3 == 0 else "" for k in range(60)]).to_csv(tmp_path / "set.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings_of(*arguments):
    assert cli.run([*arguments, *SHORT]) == 0
    return parnidag.load("posterior.nc").settings


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        ("numbers", [], {"name": "BGe", "alpha_w": "learn", "standardise": True}),
        ("numbers", ["--score", "paper"], {"name": "Gaussian", "g": 10.0}),
        ("numbers", ["--score-option", "alpha_mu=2"], {"alpha_mu": 2.0, "alpha_w": "learn"}),
        ("numbers", ["--g", "4"], {"name": "Gaussian", "g": 4.0}),
        ("numbers", ["--score", "gprior"], {"name": "GPrior", "g": None}),
        ("numbers", ["--score", "bic"], {"name": "BIC"}),
        ("numbers", ["--score", "spline", "--score-option", "df=3"], {"df": 3, "g": 10.0}),
        ("numbers", ["--score", "bge", "--score-option", "alpha_w=7.5"], {"alpha_w": 7.5, "standardise": True}),
        ("numbers", ["--score", "bge", "--score-option", "standardise=no"], {"alpha_w": None, "standardise": False}),
        ("classes", [], {"name": "BDeu", "ess": 1.0}),
        ("classes", ["--score-option", "ess=5"], {"name": "BDeu", "ess": 5.0}),
    ],
)
def test_scores_are_chosen(table, options, expected):
    found = settings_of("sample", f"{table}.csv", *options)["score"]
    assert expected.items() <= found.items()


def test_the_screen_says_which_score_was_chosen(capsys):
    for table, words in (
        ("numbers", "Score: BGe (alpha_mu 1.0, alpha_w learn, standardise True)."),
        ("classes", "Score: BDeu (ess 1.0)."),
    ):
        assert cli.run(["exact", f"{table}.csv"]) == 0
        assert words in capsys.readouterr().out


def test_the_exact_solver_takes_the_same_options():
    assert cli.run(["exact", "numbers.csv", "--score", "bge", "-o", "exact.nc", "--quiet"]) == 0
    assert parnidag.load("exact.nc").settings["score"]["name"] == "BGe"


def test_interventions_take_a_column_away():
    settings = settings_of("sample", "set.csv", "--interventions", "target", "--score", "bge")
    assert list(parnidag.load("posterior.nc").nodes) == ["x", "y", "z"]
    assert settings["interventions"] == {"x": 20}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["numbers.csv", "--score", "bge", "--g", "3"], "has no option 'g'"),
        (["numbers.csv", "--score-option", "g"], "NAME=VALUE"),
        (["numbers.csv", "--score-option", "g=5", "--g", "20"], "given twice"),
        (["numbers.csv", "--score-option", "gg=3"], "has no option 'gg'"),
        (["numbers.csv", "--score", "bdeu"], "whole numbers"),
        (["classes.csv", "--score", "gaussian"], "needs numbers"),
        (["classes.csv", "--score", "spline"], "needs numbers"),
        (["numbers.csv", "--interventions", "nobody"], "nobody"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments, words, capsys):
    assert cli.run(["sample", *arguments, *SHORT]) == 2
    assert words in one_line_error(capsys.readouterr())
