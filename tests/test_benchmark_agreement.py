"""The study of pairs of runs: what is compared, and what the table counts."""

from __future__ import annotations

from benchmarks.harness.study import Request
from benchmarks.harness.task import Outcome, Task
from benchmarks.studies.agreement import AGREEMENT, HEADINGS, LIMITS, line_of, two_runs


def test_two_runs_differ_by_their_seeds_alone():
    first, other = (two_runs("sparse", [8, 100, 0.2], method, seed=1).figures for method in ("default", "parni"))
    assert first["difference"] < 1e-12  # exact, twice
    assert 0 < other["difference"] < 0.05
    assert (first["believed"], other["believed"], other["on_ladders"]) == (2, 2, 0)


def pair(believed, difference):
    labels = {"family": "dense", "shape": "25-1000-0.35", "replication": 0, "method": "default"}
    figures = {"believed": believed, "difference": difference, "differing": 3, "on_ladders": 1, "cpu_seconds": 2.0}
    return Task("m:f", {}, labels), Outcome(figures=figures)


def test_only_pairs_that_both_say_converged_are_held_to_it():
    found = [pair(2, 0.01), pair(2, 0.1), pair(1, 0.9), pair(0, 0.3)]
    line = dict(zip(HEADINGS, line_of(found), strict=True))
    assert (line["pairs"], line["runs believed"], line["pairs believed"]) == ("4", "62%", "50%")
    assert [line[f"of these differ by > {limit}"] for limit in LIMITS] == ["1", "0"]
    assert (line["worst"], line["worst of all"], line["runs on ladders"]) == ("0.100", "0.900", "50%")


def test_pairs_that_do_not_know_and_those_that_failed_are_listed():
    request, size = Request(), AGREEMENT.sizes["quick"]
    crashed = AGREEMENT.tasks(request, size)[0], Outcome("crashed", note="out of luck")
    said = AGREEMENT.report(request, size, [pair(2, 0.01), pair(1, 0.9), crashed]).markdown
    assert "| dense | 25-1000-0.35 | 0 | default | 0.9 | 3 |" in said
    assert "out of luck" in said
