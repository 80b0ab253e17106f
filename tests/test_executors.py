"""Wherever segments run, and whatever happens to the workers, the draws are the same to the bit."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

import multiprocessing
import pickle
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from executor_cases import LONG, QUICK, TABLE, Inline, client, cluster, expected, expected_long, many_segments, quick
from judging import assert_same_run
from threadpoolctl import threadpool_info

import parnidag
from parnidag import samplers, scores
from parnidag._util.cores import usable_cores
from parnidag.errors import ParnidagError
from parnidag.run import pools, workers


@pytest.fixture(scope="module")
def spawned():
    """A user's pool of one process, which knows nothing of this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


# ── the same bits ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_executor_in_this_process_is_sent_no_work(expected, monkeypatch):
    monkeypatch.setattr(workers.Work, "packed", None)
    assert_same_run(expected, quick(Inline()))


@pytest.mark.parametrize("kind", ["threads", "spawned", "processes", "loky", "client", "executor of a client"])
def test_pools_and_clusters(expected, request, kind):
    if kind in ("threads", "loky"):
        with ThreadPoolExecutor(2) if kind == "threads" else pytest.importorskip("loky").ProcessPoolExecutor(1) as pool:
            assert_same_run(expected, quick(pool))
        return
    if kind == "processes":
        assert_same_run(expected, quick(parnidag.processes(2)))
        return
    executor = request.getfixturevalue(kind.split()[-1])
    assert_same_run(expected, quick(executor.get_executor() if "of a" in kind else executor))
    if kind == "client":  # all workers are used
        assert min(executor.run(works_known).values()) >= 1


def works_known():
    return len(workers.WORKS)


def test_forked_processes_find_the_work_and_use_one_thread(expected):
    """What the parent has kept they have too; on Linux a plain ProcessPoolExecutor forks before Python 3.14."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forking with threads
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            assert_same_run(expected, quick(pool))
            assert {library["num_threads"] for library in pool.submit(threadpool_info).result()} == {1}


@pytest.mark.parametrize("sampler", [samplers.PartitionMCMC(), samplers.Tempered()])
def test_tables_travel(sampler, spawned):
    options = {"sampler": sampler, "score": "gaussian", "thin": 20}
    assert_same_run(quick(**options), quick(spawned, **options))


def bic(node, parents):
    """A score in Python."""
    design = np.column_stack([np.ones(len(TABLE)), TABLE[:, list(parents)]])
    left = TABLE[:, node] - design @ np.linalg.lstsq(design, TABLE[:, node], rcond=None)[0]
    return float(-0.5 * len(TABLE) * np.log(left @ left) - 0.5 * np.log(len(TABLE)) * len(parents))


def test_score_in_python(spawned):
    options = {"score": scores.PythonScore(bic), "sampler": samplers.ADR()}
    assert_same_run(quick(**options), quick(spawned, **options))


def test_a_task_that_runs_twice_changes_nothing(expected):
    """A cluster runs a task again when its answer was lost."""

    class Twice(Inline):
        def submit(self, function, /, *args, **options):
            super().submit(function, *args, **options)
            return super().submit(function, *args, **options)

    assert_same_run(expected, quick(Twice()))


# ── what travels ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Weighing(Executor):
    """Notes how many bytes each task has on its way."""

    def __init__(self, inner):
        self._inner, self.bytes = inner, []

    def submit(self, function, /, *args, **options):
        self.bytes.append(len(pickle.dumps(args)))
        return self._inner.submit(function, *args, **options)


def sends_work_once(weighing, chains):
    """In the first round each chain finds that the worker knows nothing, and is sent again with the work."""
    first = 2 * chains
    return len(weighing.bytes) > 2 * first and max(weighing.bytes[first:]) < max(weighing.bytes) / 2


@pytest.mark.parametrize("wasteful", [False, True], ids=["as it is", "always with the work"])
def test_work_travels_once(spawned, monkeypatch, wasteful):
    if wasteful:
        submit = pools.AwayPool.submit

        def always(self, chain, steps, with_work=False):
            return submit(self, chain, steps, True)

        monkeypatch.setattr(pools.AwayPool, "submit", always)
    weighing = Weighing(spawned)
    table = parnidag.simulate(nodes=12, edges=12, rows=80, seed=5).values
    options = {**QUICK, "sampler": samplers.PartitionMCMC(), "thin": 40}
    parnidag.sample(table, executor=weighing, **options)
    assert sends_work_once(weighing, QUICK["chains"]) is not wasteful


def test_heavy_chains_are_away_for_longer(monkeypatch, expected_long):
    """They stay as long as batches allow, instead of an instant."""
    light, heavy = Weighing(Inline()), Weighing(Inline())
    monkeypatch.setattr(pools.AwayPool, "seconds", 1e-9)
    assert_same_run(expected_long, parnidag.sample(TABLE, executor=light, **LONG))
    monkeypatch.setattr(pools, "BYTES_PER_SECOND", 1.0)
    assert_same_run(expected_long, parnidag.sample(TABLE, executor=heavy, **LONG))
    assert len(heavy.bytes) < len(light.bytes) / 2


def test_one_thread_for_linear_algebra(spawned):
    quick(spawned)
    libraries = spawned.submit(threadpool_info).result()
    assert libraries
    assert {library["num_threads"] for library in libraries} == {1}
    if usable_cores() > 1:  # or else there is nothing to be seen
        assert max(library["num_threads"] for library in threadpool_info()) > 1


# ── what segments raise ───────────────────────────────────────────────────────────────────────────────────────────────


class Grumble(Exception):
    """An error that pickle cannot bring back: it is made from two words and keeps one."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def fails_elsewhere(node, parents):
    if multiprocessing.parent_process() is not None:
        raise ConnectionError("the score asked somebody who was not there")
    return -float(len(parents))


def grumbles_elsewhere(node, parents):
    if multiprocessing.parent_process() is not None:
        raise Grumble("no", "mood")
    return -float(len(parents))


def test_an_error_of_the_score_reaches_the_caller(spawned):
    """Though it looks like one of the executor's own, nothing is tried again."""
    weighing = Weighing(spawned)
    with pytest.raises(ParnidagError, match=r"fails_elsewhere raised ConnectionError: .* asked somebody") as caught:
        quick(weighing, score=scores.PythonScore(fails_elsewhere), sampler=samplers.ADR())
    assert "in a worker" in caught.value.__notes__[0]
    assert "fails_elsewhere" in caught.value.__notes__[0]
    assert len(weighing.bytes) <= 2 * QUICK["chains"]


def test_an_error_that_cannot_travel_arrives_in_words(spawned):
    with pytest.raises(ParnidagError, match="Grumble: no mood"):
        quick(spawned, score=scores.PythonScore(grumbles_elsewhere), sampler=samplers.ADR())


def test_an_error_of_the_score_in_threads_is_not_taken_for_a_loss():
    calls = []

    def fails_later(node, parents):
        calls.append(node)
        if len(calls) > 60:
            raise ConnectionError("the score asked somebody who was not there")
        return -float(len(parents))

    with ThreadPoolExecutor(1) as pool, pytest.raises(ParnidagError, match="asked somebody"):
        quick(pool, score=scores.PythonScore(fails_later), sampler=samplers.ADR())


def test_what_cannot_be_sent_is_named(spawned):
    lock = multiprocessing.Lock()
    with pytest.raises(ParnidagError, match=r"executor: .*unsendable.* cannot be sent to another process"):
        quick(spawned, score=scores.PythonScore(lambda node, parents: 0.0 if lock else 1.0, "unsendable"))


def test_a_worker_with_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(workers, "__version__", "0.0.1")
    with pytest.raises(ParnidagError, match=r"has parnidag 0\.0\.1, the run"):
        quick(Inline())
