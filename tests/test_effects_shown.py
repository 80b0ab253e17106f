"""Effects as people see them: plots, the report and the command line."""

import json
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from commands import one_line_error
from matplotlib import pyplot as plt
from plotting import clipped_texts, legend_texts, tick_texts

import parnidag
from parnidag import plots, scores
from parnidag.cli import app as cli
from parnidag.effects.elimination import count_families
from parnidag.report.build import render_report
from parnidag.report.effects import three_digits

mpl.use("Agg")
NAMES = ["$rain$", "soil", "sun", "a name that is far too long for a plot"]


@pytest.fixture(scope="module")
def posterior():
    values = parnidag.simulate(nodes=4, edges=4, rows=60, seed=3).values
    return parnidag.sample(parnidag.Data(values, names=NAMES), draws=100, seed=1, progress=False)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_forest_shows_effects_and_the_chance_of_none(posterior):
    ax = plots.effects(posterior, cause="soil", count=2)
    table = posterior.effects().summary("soil").head(2)
    assert len(tick_texts(ax.yaxis)) == 2
    assert tick_texts(ax.yaxis)[0].startswith("soil → ")
    assert legend_texts(ax) == ["raises", "lowers", "no effect (by area)"]
    rings = [c for c in ax.collections if len(c.get_facecolors()) == 0]
    areas = [float(ring.get_sizes()[0]) for ring in rings]
    assert areas == pytest.approx([150 * zero for zero in table["zero"] if zero > 0])
    assert clipped_texts(ax.figure) == []


def test_the_map_shows_means(posterior):
    ax = plots.effect_matrix(posterior, order="given")
    shown = ax.images[0].get_array()
    expected = posterior.effects(standardised=True).mean.to_numpy()
    off = ~np.eye(4, dtype=bool)
    assert np.allclose(np.asarray(shown)[off], expected[off])
    assert clipped_texts(ax.figure) == []
    _, (left, right) = plt.subplots(1, 2)
    assert plots.effect_matrix(posterior, ax=right) is right
    assert plots.effects(posterior, ax=left) is left


def test_the_curve_shows_bands_and_the_chance_of_none(posterior):
    ax = plots.dose_response(posterior, "soil", "sun", values=[-1.0, 0.0, 2.0])
    found = posterior.dose_response("soil", "sun", [-1.0, 0.0, 2.0])
    mean = next(line for line in ax.lines if line.get_linewidth() == 2.0)
    assert np.allclose(mean.get_ydata(), found.mean)
    assert f"no effect with probability {found.no_effect:.2g}" in ax.get_title()
    assert legend_texts(ax) == ["mean", "50 % of the posterior", "90 %", "single draws"]
    assert clipped_texts(ax.figure) == []
    _, (left, _) = plt.subplots(1, 2)
    assert plots.dose_response(posterior, "soil", "sun", ax=left) is left


def test_plots_refuse_what_they_cannot_draw(posterior):
    with pytest.raises(parnidag.ParnidagError, match="count must be a whole number"):
        plots.effects(posterior, count=0)
    with pytest.raises(parnidag.ParnidagError, match="cause must be the name of a node"):
        plots.effects(posterior, cause="moon")
    with pytest.raises(parnidag.ParnidagError, match="order must be one of"):
        plots.effect_matrix(posterior, order="random")


def test_edges_that_decide_an_effect_are_named():
    """Where X0 reaches X1 by its own edge only, that edge tells all of what graphs differ in."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=40)
    values = np.column_stack([x, 0.4 * x + rng.normal(size=40), rng.normal(size=40)])
    prior = parnidag.EdgePrior(h=0.5, forbidden=[("X2", "X0"), ("X2", "X1"), ("X0", "X2"), ("X1", "X2")])
    effects = parnidag.exact(values, score=scores.BGe(), prior=prior, draws=500, seed=1).effects()
    table = effects.disagreement("X0", "X1")
    first = table.iloc[0]
    assert (first["parent"], first["child"], first["without"]) == ("X0", "X1", pytest.approx(0, abs=1e-12))
    assert first["share"] == pytest.approx(1.0)
    assert first["with"] == pytest.approx(effects.draws("X0", "X1")[effects.draws("X0", "X1") != 0].mean(), rel=0.2)


def test_the_report_has_a_section_on_effects(posterior):
    page = render_report(posterior)
    assert page == render_report(posterior)
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])
    table = posterior.effects().summary()
    listed = table[table["zero"] <= 0.95]
    assert len(data["effects"]["rows"]) == len(listed)
    first = data["effects"]["rows"][0]
    assert [data["nodes"][k] for k in first[:2]] == listed.iloc[0][["cause", "effect"]].tolist()
    assert first[2] == pytest.approx(listed.iloc[0]["mean"], rel=1e-3)
    place = data["columns"].index("coefficient")
    direct = posterior.coefficients(0.0, standardised=True).set_index(["parent", "child"])["mean"]
    for edge in data["edges"]:
        assert edge[place] == pytest.approx(direct[data["nodes"][edge[0]], data["nodes"][edge[1]]], rel=1e-3)
    assert f">{three_digits(first[3])} … {three_digits(first[4])}<" in page
    assert "no hidden common causes" in page


def test_reports_without_parameters_leave_effects_out():
    values = np.random.default_rng(1).normal(size=(40, 3))
    page = render_report(parnidag.exact(values, score=scores.Spline(), draws=20, seed=1))
    assert "effects-section" not in page


@pytest.fixture(scope="module")
def of_classes():
    rng = np.random.default_rng(1)
    x = rng.integers(2, size=80)
    rows = {"rain": np.array(["no", "yes"])[x], "soil": np.array(["dry", "moist", "wet"])[x + (rng.random(80) < 0.3)]}
    return parnidag.exact(parnidag.Data(pd.DataFrame(rows)), draws=200, seed=1)


def test_classes_have_plots_and_a_section_of_their_own(of_classes):
    table = of_classes.effects().summary("rain")
    ax = plots.effects(of_classes, cause="rain")
    assert tick_texts(ax.yaxis) == [f"rain = yes → soil = {level}" for level in table["level"]]
    assert ax.get_xlabel() == "risk difference, against the first level of the cause"
    shown = np.asarray(plots.effect_matrix(of_classes, order="given").images[0].get_array())
    largest = table.loc[table["mean"].abs().idxmax(), "mean"]
    assert shown[0, 1] == pytest.approx(largest)
    page = render_report(of_classes)
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["effects"]["classes"]
    row = next(row for row in data["effects"]["rows"] if row[:2] == [0, 1])
    assert row[2] == pytest.approx(largest, rel=1e-3)
    assert row[8].endswith("if set to yes instead of no")
    assert "risk differences" in page


def test_classes_on_the_command_line(of_classes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    saved = str(of_classes.save(tmp_path / "p.nc"))
    of_classes.effects()
    assert cli.run(["effects", saved, "--cause", "rain", "-o", "out.csv"]) == 0
    assert len(count_families.signatures) == 1  # tables from a file lie as those in memory
    out = capsys.readouterr().out
    assert "Found by exact sums" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "ratio_95%" in pd.read_csv("out.csv")
    assert cli.run(["effects", saved, "--do", "rain=yes", "--versus", "rain=no"]) == 0
    assert "the probabilities differ by" in capsys.readouterr().out
    assert cli.run(["effects", saved, "--do", "rain=maybe"]) == 2
    assert "must be one of the levels no, yes, got 'maybe'" in one_line_error(capsys.readouterr())


# ── the command line ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def saved(posterior, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return str(posterior.save(tmp_path / "p.nc"))


def test_effects_are_printed_as_json(saved, posterior, capsys):
    assert cli.run(["effects", saved, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    table = posterior.effects().summary()
    assert [row["mean"] for row in answer["effects"]] == pytest.approx(table["mean"].tolist(), rel=1e-12)
    assert answer["assumed"].startswith("Assumed: no hidden common causes")
    assert cli.run(["effects", saved, "--json", "--do", "soil=99", "--versus", "soil=0"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {row["node"] for row in answer["effects"]} == {*posterior.nodes} - {"soil"}
    assert "lies outside the data" in answer["notes"][0]
    assert cli.run(["effects", saved, "--json", "-o", "out.csv"]) == 2


def test_effects_are_printed_and_written(saved, posterior, capsys):
    assert cli.run(["effects", saved, "--cause", "soil", "-o", "out.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Total effects, in units of the columns.")
    assert "Assumed: no hidden common causes" in out
    written = pd.read_csv("out.csv")
    assert np.allclose(written["mean"], posterior.effects().summary("soil")["mean"])


def test_interventions_are_printed(saved, posterior, capsys):
    assert cli.run(["effects", saved, "--do", "soil=99", "--do", "sun=0", "-o", "out.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("If soil = 99 and sun = 0:")
    assert "Note: soil = 99 lies outside the data" in out
    assert np.allclose(
        pd.read_csv("out.csv")["mean"], posterior.intervene({"soil": 99.0, "sun": 0.0}).summary()["mean"]
    )
    assert cli.run(["effects", saved, "--do", "soil=1", "--versus", "soil=0"]) == 0
    assert "instead of soil = 0, the means differ by" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--do", "soil"], "--do soil: write NODE=VALUE"),
        (["--do", "moon=1"], "do must be the name of a node, got 'moon'"),
        (["--do", "soil=1", "--do", "soil=2"], "soil is set twice"),
        (["--versus", "soil=1"], "--versus belongs to --do"),
        (["--do", "soil=1", "--cause", "sun"], "leave out --cause"),
        (["--cause", "moon"], "--cause must be the name of a node, got 'moon'"),
        (["-o", "out.txt"], "name it *.csv"),
    ],
)
def test_mistakes_are_one_line(saved, capsys, arguments, message):
    assert cli.run(["effects", saved, *arguments]) == 2
    assert message in one_line_error(capsys.readouterr())
