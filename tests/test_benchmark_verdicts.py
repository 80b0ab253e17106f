"""The study of verdicts: its data sets, what is counted of a run, and what the table says of many."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.battery import FAMILIES, errors, judge_run, real_tables
from benchmarks.harness.study import Request, grouped
from benchmarks.harness.task import Outcome, Task
from benchmarks.studies.verdicts import DATA_SET, HEADINGS, LIMITS, VERDICTS, line_of
from parnidag.results.verdict import SUM_DIFFERS

# ── data sets ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", FAMILIES)
def test_shapes_are_what_they_say_and_seeds_decide(name):
    family = FAMILIES[name]
    for shape in family.shapes:
        assert family.make(*shape, 1).data.values.shape == (shape[1], shape[0])
    first, again, other = (family.make(*family.shapes[0], seed).data.values for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_scales_have_the_data_sets_they_promise():
    found = {
        scale: [(task, Outcome()) for task in VERDICTS.tasks(Request(scale), VERDICTS.sizes[scale])]
        for scale in ("quick", "standard")
    }
    assert 24 <= len(grouped(found["quick"], DATA_SET)) <= 32
    assert len(grouped(found["standard"], DATA_SET)) >= 150
    assert {task.labels["family"] for task, _ in found["quick"]} == set(FAMILIES)


def test_tables_of_a_folder(tmp_path):
    """Numbers only, neither too many columns nor constant ones; gaps cost their rows."""
    values = np.random.default_rng(1).standard_normal((60, 5)).round(3)
    good = pd.DataFrame(values, columns=list("abcde"))
    for name, table in {
        "good": good,
        "gaps": good.where(values < 2),
        "few-rows": good[:20],
        "text": good.assign(f="x"),
        "constant": good.assign(f=1.0),
        "wide": pd.DataFrame(np.random.default_rng(2).standard_normal((60, 21))),
    }.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    assert real_tables(tmp_path) == ["gaps.csv", "good.csv"]
    tasks = VERDICTS.tasks(Request(data=tmp_path), VERDICTS.sizes["quick"])
    task = next(task for task in tasks if task.labels["shape"] == "good.csv")
    assert task.run().figures["nodes"] == 5


# ── one run ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["default", "tempered"])
def test_a_run_is_set_beside_the_truth(method):
    outcome = judge_run("sparse", [6, 100, 0.3], method, 200, seed=1)
    figures, kept = outcome.figures, outcome.arrays
    if method == "default":
        assert (figures["converged"], figures["z_count"], figures["claimed_error"]) == ("yes", 0, None)
        assert figures["error"] < 1e-9
        return
    found = np.zeros(36)
    found[kept["edge_codes"]] = (kept["counts"].sum(axis=1) / kept["lengths"].sum(axis=1)[:, None]).mean(axis=0)
    assert figures["error"] == pytest.approx(np.abs(found - kept["truth"].ravel()).max())
    assert 0 < figures["claimed_error"] < 0.1
    assert figures["z_count"] > 10


def test_errors_are_counted_by_edge():
    """Of three edges one has no claimed error, one is too rare to be judged, one is wrong by twice what is claimed."""
    table = pd.DataFrame({"parent": ["a", "a", "b"], "child": ["b", "c", "c"], "probability": [1.0, 0.5, 0.02]})
    table["mcse"] = pd.array([pd.NA, 0.05, 0.01], dtype="Float64")
    nodes = pd.DataFrame(np.zeros((3, 3)), columns=list("abc"))
    posterior = SimpleNamespace(summary=lambda min_probability: table, edge_probabilities=nodes)
    truth = np.array([[0, 0.7, 0.4], [0, 0, 0.001], [0, 0, 0]])
    found = errors(posterior, truth)
    assert found["error"] == found["error_unclaimed"] == pytest.approx(0.3)
    assert found["claimed_error"] == 0.05
    assert (found["z_squares"], found["z_large"], found["z_count"]) == (pytest.approx(4.0), 0, 1)


# ── the table ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def run_with(converged, error, z=1.0, verdict=""):
    figures = {"converged": converged, "error": error, "cpu_seconds": 2.0, "verdict": verdict}
    figures |= {"z_squares": 10 * z**2, "z_large": 10 * (z > 3), "z_count": 10}
    return Task("m:f", {}, {"method": "parni"}), Outcome(figures=figures)


def test_shares_are_of_what_they_say():
    """Two of five runs converge; one of these is wrong by 0.1. Two of the others are right, and false alarms.

    The chains of the last agreed, and the exact sum differed.
    """
    found = [
        run_with("yes", 0.01, z=1.0),
        run_with("yes", 0.1, z=7.0),
        run_with("no", 0.001),
        run_with("unknown", 0.02),
    ]
    found += [run_with("no", 0.5, verdict=f"{SUM_DIFFERS}, by up to 0.50")]
    found += [(found[0][0], Outcome("crashed", note="out of luck"))]
    line = dict(zip(HEADINGS, line_of(found), strict=True))
    assert (line["runs"], line["converged"], line["worst"]) == ("5", "40%", "0.100")
    assert line["agreed, and caught by the check"] == "1"
    wrong = [line[f"of these wrong by > {limit}"] for limit in LIMITS]
    assert wrong == ["1 (50.0%)", "1 (50.0%)", "0 (0.0%)"]
    assert line[f"alarms at error ≤ {LIMITS[0]}"] == "2 (66.7%)"
    assert (line["rms z"], line["z > 3"]) == ("5.00", "50.0%")


def test_what_was_wrong_and_what_failed_is_in_the_report():
    request, size = Request(methods=("adr",)), VERDICTS.sizes["quick"]
    first, second = VERDICTS.tasks(request, size)[:2]
    figures = {**run_with("yes", 0.31)[1].figures, "claimed_error": None, "ess_edges_min": 12.0}
    figures |= dict.fromkeys(("disagreement_max", "rhat_edges_max", "rhat_log_posterior"), 1.01)
    found = [(first, Outcome(figures=figures)), (second, replace(Outcome("crashed"), note="out of luck"))]
    said = VERDICTS.report(request, size, found).markdown
    assert "out of luck" in said
    assert "| 0.31 | – | 1.01 | 1.01 | 1.01 | 12 |" in said
