import ast
import json
import re

import numpy as np
import pandas as pd
import pytest
from made_results import exact_result, made_record, made_result
from report_pages import page_of

import parnidag
from parnidag.graphs.adjacency import topological_order
from parnidag.report.build import render_report
from parnidag.report.figures import TRACE_POINTS, WIDTH, figures, ticks, trace
from parnidag.report.names import box_width, label, shown_name
from parnidag.report.settings import reproducing_call
from parnidag.report.words import banner, readings

NAMES = [f"V{k}" for k in range(12)]


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_names_that_no_page_can_hold_become_text():
    for name in ["a\x00b", "\ud800", "\x1b[31m", "\ufffe"]:
        shown = shown_name(name)
        assert "\ufffd" in shown
        shown.encode("utf-8")
    assert shown_name("") == '""'
    assert render_report(made_result(["\x1b", "\x00", "c"])).encode("utf-8")


def test_labels_fit_their_boxes():
    assert label("x" * 300).endswith("…")
    assert len(label("x" * 300)) == 22
    assert len(label("雨" * 300)) < 13
    assert box_width("雨") > box_width("i") - 1
    assert box_width("soil_moisture") > box_width("rain")


# ── figures ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_traces_show_every_chain_in_few_points():
    draws = np.cumsum(np.random.default_rng(1).normal(size=(3, 5000)), axis=1)
    figure = trace(draws)
    lines = re.findall(r'<polyline class="line s(\d)" points="([^"]*)"', figure.svg)
    assert [kind for kind, _ in lines] == ["0", "1", "2"]
    assert all(2 <= len(points.split()) <= TRACE_POINTS for _, points in lines)
    assert figure.series == ("chain 1", "chain 2", "chain 3")
    heights = np.array([float(point.split(",")[1]) for point in lines[0][1].split()])
    kept = np.unique(np.linspace(0, 4999, TRACE_POINTS).astype(int))
    assert np.corrcoef(heights, draws[0, kept])[0, 1] < -0.999  # pixels grow downwards


def farthest_from_agreement(record):
    names = [("a", "b")] * len(record.edge_codes)
    figure = next(figure for figure in figures(record, names) if "agree" in figure.heading)
    x, y = np.array(re.findall(r"M(\d+) (\d+)h0", figure.svg), float).T
    return np.abs((x - 80) / (450 - 14 - 80) - (236 - 40 - y) / (236 - 12 - 40)).max()


def test_agreement_shows_what_chains_disagree_on():
    assert farthest_from_agreement(made_record(NAMES, draws=100, apart=0.6)) > 0.4
    assert farthest_from_agreement(made_record(NAMES, draws=2000)) < 0.1


def test_hostile_edge_names_are_not_in_drawings():
    record = made_record(NAMES)
    drawn = figures(record, [("<script>", "&")] * len(record.edge_codes))
    assert not any("script" in figure.svg for figure in drawn)
    assert any("<script>" in " ".join(figure.series) for figure in drawn)


def test_ticks_are_round_and_inside():
    for low, high in [(0, 1), (-9000.3, -8990.1), (3, 3.001), (27.5, 32.5), (0, 0.61)]:
        found = ticks(low, high)
        assert 2 <= len(found) <= 6
        assert all(low - 1e-9 <= value <= high + 1e-9 for value in found)


def test_no_tick_is_cut_off():
    """A thousand draws end at the right edge: a digit is about six pixels wide."""
    svg = trace(np.random.default_rng(0).normal(size=(2, 1000))).svg
    places = re.findall(r'<text class="tick" x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]*)<', svg)
    assert places[-1][1] == "1,000"
    assert all(float(x) + 3.5 * len(text) <= WIDTH for x, text in places)


# ── diagnostics and settings ──────────────────────────────────────────────────────────────────────────────────────────


def test_every_reading_is_judged_by_its_limit():
    good = {r.name: r for r in readings(made_result(NAMES, draws=300).diagnostics(), 4)}
    bad = {r.name: r for r in readings(made_result(NAMES, draws=300, apart=0.7).diagnostics(), 4)}
    assert good["Largest difference between chains"].mark in ("good", "bad")
    assert bad["Largest difference between chains"].mark == "bad"
    assert bad["Largest R-hat of an edge"].mark == "bad"
    assert good["Largest R-hat of an edge"].mark == "good"
    assert "1.05" in good["R-hat of the log posterior"].meaning
    assert readings(exact_result(NAMES).diagnostics(), 0) == []
    one = {r.name: r for r in readings(made_result(NAMES, chains=1).diagnostics(), 1)}
    assert one["Largest difference between chains"].value == "–"
    assert one["Largest difference between chains"].mark == ""


def test_shares_of_graphs_are_told_only_where_they_tell_something():
    def meaning(**options):
        result = made_result(["a", "b"], **options)
        return next(r.meaning for r in readings(result.diagnostics(), 4) if r.name.startswith("Distinct"))

    assert "top 10" not in meaning(edges=1, seed=2)
    assert meaning(edges=0) == "All draws are the same graph."


def test_the_banner_says_what_its_figures_are():
    notes = " ".join(banner(made_result(NAMES, draws=300, apart=0.7)).notes)
    assert re.search(r"probability of \S+ → \S+ in chains 1 to 4: (\d\.\d\d, ){3}\d\.\d\d", notes)


def test_the_call_gives_the_settings_again():
    prior = parnidag.EdgePrior(
        h=0.2, required=[("a", "b'\"c")], forbidden=[("d", "a")], tiers=[["a"], ["b'\"c", "d"]], max_parents=2
    )
    names = ["a", "b'\"c", "d"]
    cases = [
        (parnidag.samplers.PARNI(moves={"parni": 0.5, "adr": 0.5}), parnidag.scores.Gaussian(g=3.0)),
        (parnidag.samplers.PartitionMCMC(), parnidag.scores.BGe()),
        (parnidag.samplers.ADR(exchange=0.1), parnidag.scores.BDeu(ess=2.0)),
        (parnidag.samplers.REV(), parnidag.scores.BIC()),
        (parnidag.samplers.OrderMCMC(), parnidag.scores.Spline()),
        (parnidag.samplers.IterativeMCMC(), parnidag.scores.GPrior()),
        (parnidag.samplers.MC3(), parnidag.scores.Gaussian()),
    ]
    for sampler, score in cases:
        settings = {
            "sampler": sampler.describe(),
            "score": score.describe(),
            "prior": prior.describe(names),
            **{"draws": 50, "tune": 10, "thin": 5, "chains": 3, "seed": 9},
        }
        given = called(reproducing_call(json.loads(json.dumps(settings)), exact=False), "sample")
        assert given.pop("sampler").describe() == sampler.describe()
        assert given.pop("score").describe() == score.describe()
        assert given.pop("prior").describe(names) == prior.describe(names)
        assert given == {"draws": 50, "tune": 10, "thin": 5, "chains": 3, "seed": 9}


def called(text, function):
    """Run the call with a stand-in for the sampler, and return its keyword arguments."""
    kept = {}

    class Module:
        @staticmethod
        def sample(_, **keywords):
            kept.update(keywords)

        exact, Data = sample, staticmethod(lambda *_, **__: None)

    tree = ast.parse(text)
    tree.body = [line for line in tree.body if not isinstance(line, ast.Import)]
    scope = {"parnidag": Module}
    exec(compile(tree, "call", "exec"), scope)
    assert f"parnidag.{function}(" in text
    return kept


def test_what_settings_cannot_hold_is_said():
    text = reproducing_call(
        {
            "score": {"name": "PythonScore", "function": "mine"},
            "prior": {"h": 0.1, "forbidden": [["a", "b"]] * 60, "forbidden_edges": 60, "log_odds_edges": 3},
            "start": "given",
            "space": {"edges": [1], "given": True},
            "data": {"kind": "discrete", "dropped_rows": 2},
            "interventions": {"a": 5},
            "seed": 1,
        },
        exact=False,
    )
    read = 'parnidag.Data("data.csv", kind="discrete", missing="drop")'
    said = ("your own function mine", "60 forbidden edges", "log_odds of 3 edges", "start=...", "space=...", read)
    for words in (*said, "interventions"):
        assert words in text
    ast.parse(text)


def test_a_real_run_and_an_exact_one(tmp_path):
    table = parnidag.simulate(nodes=4, edges=3, rows=60, seed=1)
    sampled = parnidag.sample(table.values, draws=20, thin=20, chains=2, seed=1, progress=False)
    exact = parnidag.exact(table.values, draws=20, seed=1)
    for result, call in ((sampled, "sample"), (exact, "exact")):
        page = page_of(result)
        assert f"parnidag.{call}(" in page.text
        assert "seed 1" in page.text
        assert "60 columns 4" in page.text
        assert topological_order(result.consensus_graph().adjacency) is not None
        assert result.report(tmp_path / "report.html").stat().st_size < 200_000
    assert "space=" not in reproducing_call(sampled.settings, exact=False)
    in_space = parnidag.sample(table.values, draws=20, seed=1, space=1 - np.eye(4), progress=False)
    assert "space=..." in reproducing_call(in_space.settings, exact=False)
    given = called(reproducing_call(sampled.settings, exact=False), "sample")
    again = parnidag.sample(table.values, **given, progress=False)
    np.testing.assert_array_equal(again.edge_probabilities, sampled.edge_probabilities)


@pytest.mark.parametrize(("chains", "function"), [(1, "exact"), (3, "sample")])
def test_the_call_of_an_exact_result_gives_its_draws_again(tmp_path, monkeypatch, chains, function):
    monkeypatch.chdir(tmp_path)
    table = parnidag.simulate(nodes=5, edges=5, rows=40, seed=1)
    pd.DataFrame(table.values, columns=table.names).to_csv("data.csv", index=False)
    prior = parnidag.EdgePrior(h=0.3, forbidden=[(table.names[0], table.names[1])], max_parents=3)
    result = parnidag.sample("data.csv", prior=prior, draws=20, chains=chains, seed=4, progress=False)
    text, scope = reproducing_call(result.settings, exact=True), {}
    assert f"parnidag.{function}(" in text
    exec(text, scope)
    np.testing.assert_array_equal(scope["posterior"].graphs, result.graphs)
    page = page_of(result).text
    assert f"independent draws {20 * chains}" in page
    assert "per chain" not in page
