"""What a result over a panel says of time: lags, graphs rolled up and out, responses, pictures, the report."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from commands import calls
from matplotlib import pyplot as plt
from panels import simulated
from plotting import clipped_texts

import parnidag
from parnidag import Panel, ParnidagError, Posterior, plots, scores
from parnidag.cli import app as cli
from parnidag.effects.answers import _linear_of, _model
from parnidag.report.build import render_report
from parnidag.report.settings import reproducing_call

STATIC = {"dose": [0.3, 1.2, 0.7, 2.5, 1.9, 0.1]}


@pytest.fixture(scope="module")
def result() -> Posterior:
    table = simulated(times=60).merge(pd.DataFrame({"unit": [f"u{k}" for k in range(6)], **STATIC}))
    panel = Panel(table, time="week", unit="unit", lags=2, static=["dose"])
    return parnidag.exact(panel, score=scores.BGe(), draws=300, seed=1)


def test_lags_of_pairs_are_the_edges(result: Posterior) -> None:
    table, edges = result.lag_probabilities(), result.edge_probabilities
    assert table.columns.tolist() == [0, 1, 2]
    for (one, other), row in table.iterrows():
        assert row.tolist() == [edges.loc[name, other] for name in (one, f"{one}[t-1]", f"{one}[t-2]")]
    rolled = result.summary_graph(0.9)
    assert isinstance(rolled, nx.MultiDiGraph)
    assert rolled["a"]["a"][1]["probability"] == edges.loc["a[t-1]", "a"]
    assert all(data["probability"] >= 0.9 for _, _, data in rolled.edges(data=True))
    assert rolled.nodes["dose"]["static"]


def test_unrolled_graph_has_every_edge_whose_ends_are_there(result: Posterior) -> None:
    graph = nx.DiGraph([("a[t-1]", "a"), ("a", "b"), ("b[t-2]", "b"), ("dose", "b")])
    graph.add_nodes_from(result.nodes)
    rolled_out = result.unroll(3, graph)
    assert rolled_out.nodes[:4] == ("dose", "a[1]", "b[1]", "a[2]")
    assert set(rolled_out.edges) == {
        *((f"a[{k}]", f"b[{k}]") for k in (1, 2, 3)),
        *(("dose", f"b[{k}]") for k in (1, 2, 3)),
        ("a[1]", "a[2]"),
        ("a[2]", "a[3]"),
        ("b[1]", "b[3]"),
    }


def matrix_of(linear: Any, draw: int, steps: int) -> np.ndarray[Any, Any]:
    """Total effects in the graph of a draw rolled out over time, by an inverse."""
    graphs, names = linear.graphs, linear.names
    coefficients = np.zeros((len(names),) * 2)
    first = graphs.laid.first[graphs.graph_of[draw]]
    for child in range(len(names)):
        for slot in range(first[child], first[child + 1]):
            parent = graphs.laid.parents[slot]
            ratio = linear.scales.units[child] / linear.scales.units[parent]
            coefficients[parent, child] = linear.drawn[linear.start[draw] + slot - first[0]] * ratio
    n = 2 * (steps + 1)
    rolled_out = np.zeros((n, n))
    for time in range(steps + 1):
        for lag in range(min(2, time) + 1):
            rolled_out[2 * (time - lag) : 2 * (time - lag) + 2, 2 * time : 2 * time + 2] = coefficients[
                2 * lag : 2 * lag + 2, :2
            ]
    return np.linalg.inv(np.eye(n) - rolled_out)


def test_responses_are_effects_in_the_graph_rolled_out(result: Posterior) -> None:
    found = result.impulse_responses("a", steps=4)
    linear = _linear_of(_model(result, None, None), "responses")
    for draw in (0, 17, 299):
        expected = matrix_of(linear, draw, 4)[0].reshape(5, 2)
        np.testing.assert_allclose(found.values[draw], expected, atol=1e-12)
    assert (found.low <= found.mean).all().all()
    assert found.draws("b").shape == (1, 300, 5)
    table = found.summary().set_index(["effect", "step"])
    assert table.loc[("a", 0), ["mean", "zero"]].tolist() == [1.0, 0.0]
    in_deviations = result.impulse_responses("a", steps=4, standardised=True)
    ratio = (in_deviations.mean["b"] / found.mean["b"]).dropna()
    assert ratio.std() < 1e-9


def test_responses_find_what_was_simulated(result: Posterior) -> None:
    """a: 0.4 of itself; b: 0.2 of a at once, then 0.3 of a before and 0.2 of itself."""
    found = result.impulse_responses("a", steps=2)
    expected = np.array([[1.0, 0.2], [0.4, 0.3 + 0.2 * 0.4 + 0.2 * 0.2]])
    spread = found.values.std(axis=0)[:2]
    assert (np.abs(found.mean.to_numpy()[:2] - expected) <= 4 * np.maximum(spread, 1e-12)).all()


def test_files_keep_time(result: Posterior, tmp_path: Any) -> None:
    read = parnidag.load(result.save(tmp_path / "panel.nc"))
    pd.testing.assert_frame_equal(read.lag_probabilities(), result.lag_probabilities())
    pd.testing.assert_frame_equal(read.impulse_responses("a").mean, result.impulse_responses("a").mean)


def test_results_without_time_say_so() -> None:
    plain = parnidag.exact(simulated()[["a", "b"]], draws=5, seed=1)
    for asked in (plain.summary_graph, plain.lag_probabilities, lambda: plain.unroll(2)):
        with pytest.raises(ParnidagError, match=r"needs a result over time: make the data a parnidag\.Panel"):
            asked()
    with pytest.raises(ParnidagError, match=r"plots\.lags shows time"):
        plots.lags(plain)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("slices", {}),
        ("slices", {"steps": 4, "threshold": 0.2}),
        ("rolled", {"threshold": 0.2}),
        ("lags", {"count": 3}),
        ("impulse", {"cause": "a"}),
    ],
)
def test_pictures_of_time_have_words_that_fit(result: Posterior, name: str, options: dict[str, Any]) -> None:
    ax = getattr(plots, name)(result, **options)
    assert ax.get_title()
    assert clipped_texts(ax.figure) == []
    _, given = plt.subplots()
    assert getattr(plots, name)(result, ax=given, **options) is given
    plt.close("all")


def test_edges_past_other_times_stay_in_the_picture(result: Posterior) -> None:
    for options in ({"threshold": 0.01}, {"threshold": 0.01, "steps": 5}):
        ax = plots.slices(result, **options)
        ax.figure.canvas.draw()
        inside = ax.get_window_extent()
        for arrow in ax.patches:
            edge = arrow.get_window_extent()
            assert inside.y0 <= edge.y0
            assert edge.y1 <= inside.y1
    plt.close("all")


def test_rolled_picture_names_lags_and_rings(result: Posterior) -> None:
    words = [text.get_text() for text in plots.rolled(result, threshold=0.9).texts]
    assert {"a", "b", "dose"} <= set(words)
    assert sum(word == "1" for word in words) >= 2
    plt.close("all")


def test_report_has_a_view_of_time(result: Posterior) -> None:
    page = render_report(result)
    assert 'id="time-section"' in page
    assert "2 variables with 2 lags" in page
    assert "still depends on the step before" not in page
    call = reproducing_call(result.settings, exact=True)
    assert "parnidag.Panel(\"data.csv\", time='week', unit='unit', lags=2, static=['dose']" in call
    plain = parnidag.exact(simulated()[["a", "b"]], draws=5, seed=1)
    assert "The past is held as it was" in page
    plain_page = render_report(plain)
    assert 'id="time-section"' not in plain_page
    assert "The past is held as it was" not in plain_page


def test_experiments_are_on_variables_now(result: Posterior) -> None:
    assert sorted(result.suggest_experiments()["node"]) == ["a", "b"]
    assert result.suggest_experiments(nodes=["a[t-1]"])["bits"].tolist() == [0.0]


def test_command_line_says_that_effects_are_of_one_step(result: Posterior, tmp_path: Any, capsys: Any) -> None:
    result.save(tmp_path / "panel.nc")
    assert cli.run(["effects", str(tmp_path / "panel.nc"), "--cause", "a[t-1]"]) == 0
    assert "Note: the past is held as it was" in " ".join(capsys.readouterr().out.split())


def test_command_line_makes_a_panel(calls: Any, tmp_path: Any, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    table = simulated().assign(sex=lambda one: one["unit"].str[1:].astype(int) % 2)
    table.to_csv("panel.csv", index=False)
    words = "sample panel.csv --time week --unit unit --lags 2 --static sex --require a[t-1]->b"
    words += " --within none --autoregression forbidden"
    assert cli.run(words.split()) == 0
    made = calls[0][0]
    assert isinstance(made, Panel)
    assert made.names == ("a", "b", "a[t-1]", "b[t-1]", "a[t-2]", "b[t-2]", "sex")
    assert made.rules.forbidden[[0, 2], [1, 0]].all()
    assert cli.run(["sample", "panel.csv", "--unit", "unit"]) == 2
    assert "--unit belongs to a panel" in capsys.readouterr().err
