"""Studies as one command: tasks run once, in processes with limits, and their outcomes are kept."""

from __future__ import annotations

import csv
import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import parnidag
from benchmarks import __main__ as command
from benchmarks.harness import summaries
from benchmarks.harness.store import Store
from benchmarks.harness.study import Report, Request, Study, rows_of
from benchmarks.harness.task import Task, own_version
from benchmarks.harness.workers import run_all
from benchmarks.studies import STUDIES

QUIET = Console(quiet=True)


def task(function="square", number=3, **more):
    return Task(f"study_cases:{function}", {"number": number}, {"function": function, "number": number}, **more)


# ── tasks and what is known of them ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("other", [task(number=4), task("refuse"), task(version="library 2"), task(limit=5.0)])
def test_whatever_decides_a_result_is_in_its_name(other):
    assert task().digest != other.digest


def test_what_does_not_decide_a_result_is_not_in_its_name():
    assert task().digest == replace(task(), labels={"called": "otherwise"}, place={"place": "elsewhere"}).digest


def test_edited_sources_ask_for_new_results(monkeypatch):
    before, of_library = task().digest, task(version="library 1").digest
    monkeypatch.setattr("benchmarks.harness.task.own_version", lambda: "parnidag 1 another digest")
    assert task().digest != before
    assert task(version="library 1").digest != of_library, "our metrics judge other libraries too"


def test_sources_that_are_not_compiled_count_too(tmp_path, monkeypatch):
    package = tmp_path / "parnidag"
    shutil.copytree(Path(parnidag.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(parnidag, "__file__", str(package / "__init__.py"))
    before = own_version.__wrapped__()
    assert before == own_version.__wrapped__()
    with (package / "errors.py").open("a") as file:
        file.write("\n# edited\n")
    assert own_version.__wrapped__() != before


def test_an_outcome_is_kept_with_its_arrays(tmp_path):
    store, outcome = Store(tmp_path), task().run()
    store.put(task(), outcome)
    kept = store.get(task())
    assert kept is not None
    assert (kept.status, kept.figures) == ("done", {"square": 9})
    np.testing.assert_array_equal(kept.arrays["twice"], [3, 3])
    assert store.get(task(number=4)) is None


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no archive", None])
def test_a_damaged_file_counts_as_nothing(tmp_path, damage):
    store = Store(tmp_path)
    store.put(task(), task().run())
    path = store.path(task())
    path.write_bytes(path.read_bytes()[:200] if damage is None else damage)
    assert store.get(task()) is None


@pytest.mark.parametrize(
    ("function", "status", "kept"), [("refuse", "failed", True), ("ask_for_a_library", "missing", False)]
)
def test_only_what_would_happen_again_is_kept(tmp_path, function, status, kept):
    store, outcome = Store(tmp_path), task(function).run()
    store.put(task(function), outcome)
    assert outcome.status == status
    assert (store.get(task(function)) is not None) == kept


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_processes_outlive_bad_tasks_and_are_replaced():
    tasks = [task("fail"), task("die", limit=50.0), task(number=5), task("which_process"), task("square", 6)]
    found = {}
    run_all(tasks, 1, lambda done, outcome: found.__setitem__(done.digest, outcome))
    outcomes = [found[one.digest] for one in tasks]
    assert [one.status for one in outcomes] == ["crashed", "crashed", "done", "done", "done"]
    assert "no 3" in outcomes[0].note
    assert "code -9" in outcomes[1].note, "which is not the limit of CPU time"
    assert outcomes[2].figures["square"] == 25
    assert outcomes[3].figures["threads"] == "1"


@pytest.mark.skipif(sys.platform == "win32", reason="the kernel's limit of CPU time")
def test_a_limit_ends_even_compiled_code():
    found = []
    run_all([task("never_end", limit=1.0), task()], 1, lambda done, outcome: found.append(outcome))
    assert [one.status for one in found] == ["stopped", "done"]
    assert found[0].note == "not finished after 1 CPU seconds"


# ── a study ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def made_study():
    def tasks(request, size):
        return [task(number=request.seed + k) for k in range(request.replications or size)]

    def report(request, size, found):
        return Report(rows_of(found), f"{len(found)} squares", {})

    return Study("squares", "squares of numbers", ("square",), {"quick": 2}, tasks, report)


def test_a_study_that_is_stopped_goes_on_with_what_is_missing(tmp_path, monkeypatch):
    ran = []

    def running(tasks, jobs, report):
        for one in tasks:
            ran.append(report(one, one.run()))
            if len(ran) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_all", running)
    with pytest.raises(KeyboardInterrupt):
        command.run_study(made_study(), Request(replications=3), tmp_path, 1, QUIET)
    for replications, ever in ((3, 3), (3, 3), (5, 5)):
        files = command.run_study(made_study(), Request(replications=replications), tmp_path, 1, QUIET)
        assert len(ran) == ever
    rows = list(csv.DictReader((tmp_path / "squares-quick.csv").read_text().splitlines()))
    assert [row["square"] for row in rows] == ["1", "4", "9", "16", "25"]
    assert (tmp_path / "squares-quick.md").read_text().startswith("5 squares\n\n(Not the whole of scale quick: 5 rep")
    said = json.loads((tmp_path / "squares-quick.json").read_text())
    assert {"machine", "python", "packages", "commit", "scale", "seed"} <= set(said)
    assert all(path.exists() for path in files)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["invented"], "invalid choice"),
        (["table1", "--replications", "0"], "not a whole number from 1 on"),
        (["all", "--data", __file__], "is a file; all takes a folder"),
        (["table1", "--seconds", "nan"], "not a positive number"),
        (["table1", "--methods", "adr,guess"], "'guess' is not one of"),
        (["table1", "--data", "/nowhere/at/all"], "does not exist"),
        (["fifty", "--data", "."], "makes its own data"),
        (["table1", "--out", __file__], "File exists"),
    ],
)
def test_mistakes_are_named(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        command.read_options(words)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("study", "file"), [("table1", "sachs.csv"), ("laws", "ecoli70_nodes.csv")])
def test_a_folder_without_the_data_is_no_reason_to_take_others(study, file, tmp_path, capsys):
    assert command.main([study, "--data", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert f"has no {file}" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["a,b\n1,2\n3,\n4,5\n", "a,b\n1,x\n2,y\n", "", "a,b\n1,2\n1,3\n1,5\n"])
def test_tables_that_cannot_be_used_are_refused_in_a_line(text, tmp_path, capsys):
    table = tmp_path / "own.csv"
    table.write_text(text, encoding="utf-8")
    assert command.main(["table2", "--data", str(table), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2
    assert said[1].startswith("table2: ")


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", ["quick", "standard", "paper"])
def test_the_tasks_of_every_study_differ(name, scale):
    study = STUDIES[name]
    try:
        tasks = study.tasks(Request(scale=scale), study.sizes[scale])
    except command.MissingData as missing:
        pytest.skip(str(missing))
    assert len({one.digest for one in tasks}) == len(tasks) > 0
    json.dumps([dict(one.settings) for one in tasks])
    seeds = {one.digest for one in study.tasks(Request(scale=scale, seed=10**6), study.sizes[scale])}
    assert not seeds & {one.digest for one in tasks if "seed" in one.settings}


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_intervals_of_means_cover_as_often_as_they_say():
    """With 5 normal values; by the normal quantile 1.96 instead of Student's they would cover 88 %."""
    rng, times = np.random.default_rng(1), 1000
    covered = 0
    for _ in range(times):
        interval = summaries.mean_interval(rng.standard_normal(5))
        covered += interval.low < 0 < interval.high
    assert abs(covered / times - 0.95) < 4 * math.sqrt(0.95 * 0.05 / times)


@pytest.mark.parametrize("size", [6, 8, 20])
def test_intervals_of_medians_cover_at_least_as_often_as_they_say(size):
    rng, times = np.random.default_rng(1), 2000
    covered = 0
    for _ in range(times):
        interval = summaries.median_interval(rng.lognormal(size=size))
        covered += interval.low <= 1.0 <= interval.high
    assert covered / times > 0.95 - 4 * math.sqrt(0.95 * 0.05 / times)
    assert math.isnan(summaries.median_interval([1.0, 2.0, 3.0, 4.0, 100.0]).low), "too few for an interval"


def test_seeds_of_studies_do_not_overlap():
    one, other = Request(seed=1), Request(seed=2)
    assert not {one.seed_of(k) for k in range(1000)} & {other.seed_of(k) for k in range(1000)}
