"""Words of the command line become options of the library."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from commands import calls, table

import parnidag
from parnidag import samplers
from parnidag.cli import app as cli


@pytest.mark.usefixtures("table")
def test_options_reach_the_sampler(calls):
    words = "sample data.csv --draws 7 --tune 8 --thin 9 --chains 2 --seed 3 --g 4 --h 0.2 --max-parents 2"
    edges = ["--forbid", "A,B", "--forbid", "B -> C", "--require", "A→C"]
    assert cli.run([*words.split(), "--sampler", "mc3", *edges]) == 0
    data, options = calls[0]
    assert data.names == ("A", "B", "C")
    expected = {"draws": 7, "tune": 8, "thin": 9, "chains": 2, "seed": 3, "progress": None}
    assert {name: options[name] for name in expected} == expected
    assert options["score"] == parnidag.scores.Gaussian(g=4.0)
    assert options["sampler"] == parnidag.samplers.MC3()
    assert options["prior"] == parnidag.EdgePrior(
        h=0.2, forbidden=[("A", "B"), ("B", "C")], required=[("A", "C")], max_parents=2
    )


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("words", "sampler"),
    [
        ([], None),
        (["--kernel", "gibbs"], samplers.PARNI(kernel="gibbs")),
        (["--sampler", "parni", "--kernel", "printed"], samplers.PARNI(kernel="printed")),
        (["--moves", "paper"], samplers.PARNI(moves="paper")),
        (["--rungs", "4"], samplers.PARNI(rungs=4)),
        (["--sampler", "tempered", "--rungs", "4"], samplers.Tempered(rungs=4)),
        (["--moves", "mixed", "--kernel", "printed"], samplers.PARNI(kernel="printed")),
        (["--moves", "parni=0.5,exchange=0.5"], samplers.PARNI(moves={"parni": 0.5, "exchange": 0.5})),
        (
            ["--moves", " adr = 3, node_swap=1e0 ", "--kernel", "printed"],
            samplers.PARNI(kernel="printed", moves={"adr": 0.75, "node_swap": 0.25}),
        ),
        (["--sampler", "adr"], samplers.ADR()),
        (["--sampler", "rev"], samplers.REV()),
        (["--sampler", "order"], samplers.OrderMCMC()),
        (["--sampler", "partition"], samplers.PartitionMCMC()),
        (["--sampler", "iterative"], samplers.IterativeMCMC()),
        (["--sampler", "tempered"], samplers.Tempered()),
    ],
)
def test_words_become_samplers(words, sampler, calls):
    assert cli.run(["sample", "data.csv", *words]) == 0
    assert calls[0][1]["sampler"] == sampler


@pytest.mark.usefixtures("table")
def test_words_become_search_spaces(calls, tmp_path, monkeypatch):
    def space(*words):
        assert cli.run(["sample", "data.csv", *words]) == 0
        return calls[-1][1]["space"]

    assert space() is None
    assert isinstance(space("--space", "pc", "--alpha", "0.2"), parnidag.space.Skeleton)
    assert calls[-1][1]["space"].alpha == 0.2
    assert isinstance(space("--space", "iterative", "--seed", "1"), parnidag.space.SearchSpace)
    assert space("--space", "all").sum() == 6
    matrix = pd.DataFrame([[0, 1, 0], [0, 0, 0], [0, 1, 0]], index=list("ABC"), columns=list("ABC"))
    for index in (True, False):
        matrix.to_csv("candidates.csv", index=index)
        assert space("--space", "candidates.csv").edges == [("A", "B"), ("C", "B")]


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


def test_moves_reach_the_result_end_to_end(table, capsys):
    short = ["sample", "data.csv", "--draws", "20", "--thin", "10", "--seed", "1", "-o", "posterior.nc"]
    assert cli.run([*short, "--moves", "adr=1,exchange=1"]) == 0
    posterior = parnidag.load(table.parent / "posterior.nc")
    assert posterior.settings["sampler"]["moves"] == {"adr": 0.5, "exchange": 0.5}
    assert set(posterior.diagnostics().move_acceptance) == {"add", "delete", "reverse", "exchange"}


def mixed_file(tmp_path):
    rng = np.random.default_rng(1)
    columns = {"patient, id": [f"p{k}" for k in range(60)], "when": ["2020-01-31", "2020-02-01"] * 30}
    columns |= {"stage": rng.choice(["low", "mid", "high"], 60), "visits": rng.integers(0, 5, 60)}
    path = tmp_path / "patients.csv"
    pd.DataFrame(columns | {"weight": rng.normal(size=60)}).to_csv(path, index=False)
    return path


def test_words_say_what_columns_are_and_which_are_nodes(tmp_path, calls):
    path = mixed_file(tmp_path)
    chosen = ["--drop", '"patient, id",when', "--kind", "stage=low<mid<high", "--kind", "visits=number"]
    assert cli.run(["sample", str(path), *chosen, "--score", "bge"]) == 0
    data = calls[0][0]
    assert (data.names, data.kinds) == (("stage", "visits", "weight"), ("ordinal", "number", "number"))
    assert data.describe()["columns"][0]["kind"] == "ordinal"
    columns = ["--columns", "visits,weight", "--kind", "continuous", "--missing", "refuse"]
    assert cli.run(["sample", str(path), *columns]) == 0
    assert (calls[1][0].names, calls[1][0].kind) == (("visits", "weight"), "continuous")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--columns", "stage,when"],
            "columns of dates or times: when ('2020-01-31'); turn them into numbers, such as",
        ),
        (["--columns", '"patient, id",stage'], """leave them out: --drop '"patient, id"'"""),
        (["--drop", "wen"], "error: --drop: 'wen' is no column; did you mean 'when'?"),
        (["--columns", "visits,weigth"], "error: --columns: 'weigth' is no column; did you mean 'weight'?"),
        (["--columns", "stage,visits", "--kind", "stage=ordinal"], "error: --kind: the order of the levels of stage"),
        (["--columns", "stage,visits", "--kind", "stages=class"], "error: --kind: 'stages' is no column; did you mean"),
        (["--kind", "ordinal"], "--kind ordinal: write COLUMN=ordinal, or one of continuous, discrete, mixed for all"),
        (["--kind", "mixed", "--kind", "discrete"], "--kind: mixed and discrete are both given"),
        (["--kind", "stage=class", "--kind", "stage=ordinal"], "--kind: stage is given twice"),
    ],
)
def test_mistakes_in_columns_name_the_option(tmp_path, words, line, capsys):
    assert cli.run(["exact", str(mixed_file(tmp_path)), *words]) == 2
    assert line in capsys.readouterr().err
