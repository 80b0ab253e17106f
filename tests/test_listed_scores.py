"""Local scores in place of data: files that others write and read, and the posterior that they define."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from commands import one_line_error
from dags import all_dags
from judging import chain_probabilities, smallest_p_value

import parnidag
from parnidag import EdgePrior, scores
from parnidag.cli import app as cli
from parnidag.errors import ParnidagError
from parnidag.samplers import PARNI, PartitionMCMC

NAMES = ("a", "b", "c", "d")


def made_up(rng, most=3, share=0.8):
    """Scores of random parent sets of four nodes; without parents always."""
    listed = {}
    for node in NAMES:
        others = [name for name in NAMES if name != node]
        sets = [family for k in range(most + 1) for family in combinations(others, k)]
        listed[node] = {family: rng.normal(0, 2) for family in sets if not family or rng.random() < share}
    return listed


def by_enumeration(listed):
    """Edge probabilities by going through all graphs."""
    total, edges = 0.0, np.zeros((4, 4))
    for graph in all_dags(4):
        families = [tuple(NAMES[i] for i in np.flatnonzero(graph[:, j])) for j in range(4)]
        log = sum(listed[NAMES[j]].get(family, -np.inf) for j, family in enumerate(families))
        total += np.exp(log)
        edges += np.exp(log) * graph
    return edges / total


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_posterior_is_that_of_enumeration(seed):
    listed = made_up(np.random.default_rng(seed))
    found = parnidag.exact(scores.Table(listed))
    np.testing.assert_allclose(found.edge_probabilities, by_enumeration(listed), atol=1e-12)
    listed["a"][()] += 0.1  # a twin with one other score is told apart
    assert abs(by_enumeration(listed) - found.edge_probabilities.to_numpy()).max() > 1e-4


@pytest.mark.parametrize("sampler", [PARNI(), PartitionMCMC()])
def test_chains_have_that_posterior(sampler):
    listed = made_up(np.random.default_rng(5))
    run = parnidag.sample(scores.Table(listed), sampler=sampler, draws=100, thin=100, chains=12, seed=1, progress=False)
    assert smallest_p_value(chain_probabilities(run), by_enumeration(listed)) > 1e-4
    listed["b"][()] += 1.0
    assert smallest_p_value(chain_probabilities(run), by_enumeration(listed)) < 1e-4


def test_a_file_is_the_same_posterior_as_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    values = parnidag.simulate(nodes=6, edges=7, rows=100, seed=2).values
    names = [f"gene{k}" for k in range(6)]
    pd.DataFrame(values, columns=names).to_csv("data.csv", index=False)
    options = ["--score", "bge", "--require", "gene0->gene3", "--forbid", "gene1->gene2", "--max-parents", "3"]
    assert cli.run(["scores", "data.csv", "-o", "scores.jkl", *options]) == 0
    assert "parent sets of 6 nodes" in capsys.readouterr().out
    prior = EdgePrior(required=[("gene0", "gene3")], forbidden=[("gene1", "gene2")], max_parents=3)
    expected = parnidag.exact(parnidag.Data(values, names=names), score=scores.BGe(), prior=prior)
    found = parnidag.exact("scores.jkl")
    np.testing.assert_allclose(found.edge_probabilities, expected.edge_probabilities, atol=1e-9)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-6)
    table = scores.Table.read("scores.jkl")
    assert table.write("again.jkl").read_bytes() == (tmp_path / "scores.jkl").read_bytes()
    assert found.settings["score"] == table.describe()
    assert cli.run(["sample", "scores.jkl", "-q", "-o", "result.nc", "--report", "report.html"]) == 0
    assert parnidag.load("result.nc").edge_probabilities.loc["gene0", "gene3"] == 1.0


def test_learned_values_are_chosen_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["simulate", "-o", "data.csv", "--nodes", "5", "--rows", "60", "--seed", "1"]) == 0
    assert cli.run(["scores", "data.csv", "-o", "scores.jkl"]) == 0
    chosen = float(capsys.readouterr().out.split("alpha_w ")[1].split(",")[0])
    expected = parnidag.exact("data.csv", score=scores.BGe(alpha_w=chosen))
    np.testing.assert_allclose(parnidag.exact("scores.jkl").edge_probabilities, expected.edge_probabilities, atol=1e-9)


def test_many_nodes_and_other_processes(tmp_path):
    """Chains on a table of more nodes than all parents are considered for, in processes that read it anew."""
    data = parnidag.simulate(nodes=14, edges=14, rows=200, seed=4).values
    path = tmp_path / "scores.jkl"
    pd.DataFrame(data).to_csv(tmp_path / "data.csv", index=False)
    assert cli.run(["scores", str(tmp_path / "data.csv"), "-o", str(path), "--max-parents", "2"]) == 0
    options = {"sampler": PARNI(), "draws": 50, "chains": 2, "seed": 1, "progress": False}
    here = parnidag.sample(path, **options)
    there = parnidag.sample(path, executor=parnidag.processes(2), **options)
    assert (here.log_posterior == there.log_posterior).all()
    assert here.graphs.sum(axis=2).max() <= 2


def test_effects_are_refused_without_data():
    found = parnidag.exact(scores.Table(made_up(np.random.default_rng(1))), draws=10)
    with pytest.raises(ParnidagError, match="Table has none"):
        found.effects()
    with pytest.raises(ParnidagError, match="have no rows"):
        parnidag.exact(scores.Table(made_up(np.random.default_rng(1))), score="bge")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ends where the number of nodes"),
        ("x,y\n1,2\n", "line 1: a .jkl file begins with the number of nodes"),
        ("2\na 1\n0.0 0\n", "ends where a node"),
        ("2\na one\n", "line 2: expected a node"),
        ("2\na 2\n0.0 0\nb 1\n", "line 4: expected a score"),
        ("2\na 1\n0.0 2 b\nb 1\n0.0 0\n", "line 3: 2 parents are announced, 1 are named"),
        ("2\na 1\n0.0 1 z\nb 1\n0.0 0\n", "line 3: z is no node"),
        ("2\na 1\n0.0 1 a\nb 1\n0.0 0\n", "no parent of its own"),
        ("2\na 2\n0.0 0\n1.0 0\nb 1\n0.0 0\n", "is there twice"),
        ("2\na 1\nnan 0\nb 1\n0.0 0\n", "has nan"),
        ("2\na 1\n0.0 0\na 1\n0.0 0\n", "a node twice"),
        ("2\na 1\n0.0 0\nb 1\n0.0 0\nc 1\n", "line 6: the file goes on"),
        ("2\na 0\nb 1\n0.0 0\n", "no parent set for a"),
        ("²\n", "line 1: a .jkl file begins with the number of nodes"),
        (f"{'9' * 5000}\n", "line 1: a .jkl file begins with the number of nodes"),
        ("2\na ²\n", "line 2: expected a node"),
        (f"2\na 1\nx {'y ' * 5000}\n", "line 3: expected a score"),
        ("2\na 1\n1e308 0\nb 1\n0.0 0\n", "a with parents none has 1e.308; scores beyond"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path, text, message):
    path = tmp_path / "scores.jkl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ParnidagError, match=message) as refused:
        scores.Table.read(path)
    assert len(str(refused.value)) < 200


def test_a_mark_of_byte_order_is_no_part_of_a_file(tmp_path):
    path = scores.Table({"a": {(): 0.0, ("b",): 1.0}, "b": {(): 0.0}}).write(tmp_path / "scores.jkl")
    plain = scores.Table.read(path).describe()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert scores.Table.read(path).describe() == plain


@pytest.mark.parametrize("of_one", [-np.inf, 0.0], ids=["weightless", "cyclic"])
def test_scores_that_allow_no_graph_are_refused(of_one):
    listed = {"a": {("b",) if of_one == 0 else (): of_one}, "b": {("a",) if of_one == 0 else (): 0.0}}
    with pytest.raises(ParnidagError, match="no graph is possible"):
        parnidag.exact(scores.Table(listed))
    with pytest.raises(ParnidagError, match="rules it out"):
        parnidag.sample(scores.Table(listed), sampler=PARNI(), draws=5, progress=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample", "s.jkl", "--kind", "discrete"], "--kind is about a table"),
        (["sample", "s.jkl", "--score", "bge"], "--score is about a table"),
        (["scores", "s.csv", "-o", "s.txt"], "written as FILE.jkl"),
    ],
)
def test_options_that_make_no_sense(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    scores.Table({"a": {(): 0.0}, "b": {(): 0.0}}).write("s.jkl")
    (tmp_path / "s.csv").write_text("a,b\n1.5,2\n2.5,1\n3.5,7\n")
    assert cli.run(arguments) == 2
    assert message in one_line_error(capsys.readouterr())
