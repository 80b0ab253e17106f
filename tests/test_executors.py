"""Wherever segments run, and whatever happens to the workers, the draws are the same to the bit."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from judging import assert_same_run
from threadpoolctl import threadpool_info

import parnidag
from parnidag import samplers, scores
from parnidag._cores import usable_cores
from parnidag.errors import ParnidagError, StoppedWarning
from parnidag.progress import SilentProgress
from parnidag.run import pools, workers

TABLE = parnidag.simulate(nodes=6, edges=7, rows=80, seed=5).values
QUICK = {"seed": 1, "draws": 30, "thin": 100, "chains": 3, "progress": False, "start": "empty"}
LONG = {**QUICK, "sampler": samplers.ADR(), "draws": 60, "thin": 300}


def quick(executor=None, **options):
    return parnidag.sample(TABLE, executor=executor, **{**QUICK, **options})


@pytest.fixture(autouse=True)
def many_segments(monkeypatch):
    """Segments of a ten-thousandth of a second, so that a short run has many."""
    monkeypatch.setattr("parnidag.run.pools.AwayPool.seconds", 1e-4)
    monkeypatch.setattr("parnidag.run.pools.BYTES_A_SECOND", np.inf)


@pytest.fixture(scope="module")
def expected():
    return quick()


@pytest.fixture(scope="module")
def expected_long():
    return parnidag.sample(TABLE, **LONG)


@pytest.fixture(scope="module")
def spawned():
    """A user's pool of one process, which knows nothing of this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        processes=True, n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60
    ) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    from distributed import Client

    with Client(cluster) as made:
        yield made


class Inline(Executor):
    """Runs everything at once, in this thread."""

    def submit(self, function, /, *args, **options):
        future = Future()
        try:
            future.set_result(function(*args, **options))
        except Exception as error:
            future.set_exception(error)
        return future


def failed(error):
    future = Future()
    future.set_exception(error)
    return future


class Watching(SilentProgress):
    """Notes what is said, and calls a function whenever a chain reports."""

    def __init__(self, action):
        self.notes, self.statuses, self._action = [], {}, action
        self.reports = 0

    def note(self, text):
        self.notes.append(text)

    def update(self, status):
        self.reports += 1
        self.statuses[status.chain] = status
        self._action(self)


@pytest.fixture
def watch(monkeypatch):
    """Have a function called whenever a chain reports."""

    def begin(action):
        watching = Watching(action)
        monkeypatch.setattr("parnidag.api.make_progress", lambda *_: watching)
        return watching

    return begin


def kill(process):
    os.kill(process, signal.SIGKILL)


# ── the same bits ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_threads_of_the_users(expected):
    with ThreadPoolExecutor(2) as pool:
        assert_same_run(expected, quick(pool))


def test_an_executor_in_this_process_is_sent_no_work(expected, monkeypatch):
    monkeypatch.setattr(pools, "packed", None)
    assert_same_run(expected, quick(Inline()))


def test_spawned_processes(expected, spawned):
    assert_same_run(expected, quick(spawned))


def test_processes_of_the_package(expected):
    assert_same_run(expected, quick(parnidag.processes(2)))


def test_forked_processes_find_the_work_and_use_one_thread(expected):
    """What the parent has on its shelf they have too; on Linux a plain ProcessPoolExecutor forks before Python 3.14."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forking with threads
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            assert_same_run(expected, quick(pool))
            assert {library["num_threads"] for library in pool.submit(threadpool_info).result()} == {1}


def test_loky(expected):
    loky = pytest.importorskip("loky")
    with loky.ProcessPoolExecutor(1) as pool:
        assert_same_run(expected, quick(pool))


def test_dask_client_uses_all_workers(expected, client):
    assert_same_run(expected, quick(client))
    assert min(client.run(shelf_size).values()) >= 1


def shelf_size():
    return len(workers._SHELF)


def test_executor_of_a_dask_client(expected, client):
    assert_same_run(expected, quick(client.get_executor()))


def test_tables_travel(spawned):
    options = {"sampler": samplers.PartitionMCMC(), "thin": 20}
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
    assert_same_run(expected_long, parnidag.sample(TABLE, executor=light, **LONG))
    monkeypatch.setattr(pools, "BYTES_A_SECOND", 1.0)
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
    with pytest.raises(ConnectionError, match="asked somebody") as caught:
        quick(weighing, score=scores.PythonScore(fails_elsewhere), sampler=samplers.ADR())
    assert "in a worker" in caught.value.__notes__[0]
    assert "fails_elsewhere" in caught.value.__notes__[0]
    assert len(weighing.bytes) <= 2 * QUICK["chains"]


def test_an_error_that_cannot_travel_arrives_in_words(spawned):
    with pytest.raises(RuntimeError, match="Grumble: no mood"):
        quick(spawned, score=scores.PythonScore(grumbles_elsewhere), sampler=samplers.ADR())


def test_an_error_of_the_score_in_threads_is_not_taken_for_a_loss():
    calls = []

    def fails_later(node, parents):
        calls.append(node)
        if len(calls) > 60:
            raise ConnectionError("the score asked somebody who was not there")
        return -float(len(parents))

    with ThreadPoolExecutor(1) as pool, pytest.raises(ConnectionError, match="asked somebody"):
        quick(pool, score=scores.PythonScore(fails_later), sampler=samplers.ADR())


def test_what_cannot_be_sent_is_named(spawned):
    lock = multiprocessing.Lock()
    with pytest.raises(ParnidagError, match=r"executor: .*unsendable.* cannot be sent to another process"):
        quick(spawned, score=scores.PythonScore(lambda node, parents: 0.0 if lock else 1.0, "unsendable"))


def test_a_worker_with_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(workers, "__version__", "0.0.1")
    with pytest.raises(ParnidagError, match=r"has parnidag 0\.0\.1, the run"):
        quick(Inline())


# ── workers that die ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_dask_workers_killed_twice(client, expected_long, watch):
    killed = []

    def action(watching):
        if watching.reports in (5, 60):
            killed.append(next(iter(client.run(os.getpid).values())))
            kill(killed[-1])

    watch(action)
    assert_same_run(expected_long, parnidag.sample(TABLE, executor=client, **LONG))
    assert len(set(killed)) == 2


def test_processes_killed_twice(expected_long, watch):
    made = []

    def make():
        made.append(parnidag.processes(2)())
        return made[-1]

    def action(watching):
        if watching.reports in (5, 40):
            kill(next(iter(made[-1]._processes)))

    watching = watch(action)
    assert_same_run(expected_long, parnidag.sample(TABLE, executor=make, **LONG))
    assert len(made) == 3
    assert sum("was replaced; the chains go on" in note for note in watching.notes) == 2


def test_a_users_pool_that_breaks_leaves_a_partial_result_and_a_checkpoint(expected_long, watch, tmp_path):
    def action(watching):
        begun = [status.iteration >= 3000 for status in watching.statuses.values()]
        if all(begun) and len(begun) == LONG["chains"] and pool._processes:
            kill(next(iter(pool._processes)))

    kept = tmp_path / "run.ckpt"
    watch(action)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.warns(StoppedWarning, match="BrokenProcessPool"),
    ):
        broken = parnidag.sample(TABLE, executor=pool, checkpoint=kept, tune=1500, **LONG)
    assert broken.settings["interrupted"]
    assert "pool of workers broke" in broken.settings["stopped_by"]
    assert 0 < broken.graphs.shape[1] < LONG["draws"]
    assert kept.exists()
    watch(lambda watching: None)
    whole = parnidag.sample(TABLE, tune=1500, **LONG)
    assert_same_run(whole, parnidag.sample(TABLE, checkpoint=kept, **LONG))


class Breaking(Inline):
    """Breaks as soon as it is asked for something."""

    def submit(self, function, /, *args, **options):
        return failed(BrokenProcessPool("a process ended"))


def test_a_pool_that_always_breaks_is_given_up():
    made = []

    def make():
        made.append(Breaking())
        return made[-1]

    with pytest.raises(ParnidagError, match=r"BrokenProcessPool: a process ended, 4 times in a row.*__main__"):
        quick(make)
    assert len(made) == 1 + pools.MOST_FAILURES


def test_a_chain_that_always_breaks_its_pool_is_given_up_though_others_get_on(monkeypatch, watch):
    submit = pools.AwayPool.submit

    def poisoned(self, chain, steps, with_work=False):
        future = submit(self, chain, steps, with_work)
        return failed(BrokenProcessPool("a process ended")) if chain.index == 1 and chain.iteration > 2000 else future

    monkeypatch.setattr(pools.AwayPool, "submit", poisoned)
    watching = watch(lambda watching: None)
    with pytest.warns(StoppedWarning, match="times in a row"):
        run = parnidag.sample(TABLE, executor=partial(Inline), tune=500, **LONG)
    assert run.settings["interrupted"]
    assert watching.statuses[0].iteration < watching.statuses[0].total / 2


def test_a_factory_that_fails_keeps_what_there_is():
    pools_left = [BreakingLater(after=60)]
    with pytest.warns(StoppedWarning, match="another could not be made: OSError: no room"):
        run = parnidag.sample(TABLE, executor=lambda: pools_left.pop() if pools_left else no_room(), tune=0, **LONG)
    assert run.graphs.shape[1] > 0


def no_room():
    raise OSError("no room")


class BreakingLater(Inline):
    """Breaks after some tasks."""

    def __init__(self, after):
        self._left = after

    def submit(self, function, /, *args, **options):
        self._left -= 1
        return super().submit(function, *args, **options) if self._left > 0 else failed(BrokenProcessPool("ended"))


def test_lost_workers_are_asked_again(expected, watch):
    """A cluster's word for a lost worker, now and then: the segment runs again."""

    class KilledWorker(Exception):
        pass

    class Losing(Inline):
        tasks = 0

        def submit(self, function, /, *args, **options):
            self.tasks += 1
            return failed(KilledWorker("gone")) if self.tasks % 5 == 0 else super().submit(function, *args, **options)

    watching = watch(lambda watching: None)
    assert_same_run(expected, quick(Losing()))
    assert any("a worker was lost (KilledWorker: gone); its segment is run again" in note for note in watching.notes)


# ── executors that were never usable ──────────────────────────────────────────────────────────────────────────────────


def closed_client(cluster):
    from distributed import Client

    client = Client(cluster.scheduler_address)
    client.close()
    return client


@pytest.mark.parametrize("kind", ["threads", "processes", "dask"])
def test_an_executor_shut_down_beforehand(kind, request):
    if kind == "dask":
        executor = closed_client(request.getfixturevalue("cluster"))
    else:
        executor = ThreadPoolExecutor(1) if kind == "threads" else ProcessPoolExecutor(1)
        executor.shutdown()
    with pytest.raises(ParnidagError, match=r"pool of workers broke: .*(after shutdown|closed).*nothing to return"):
        quick(executor)


def test_threads_shut_down_in_the_middle_leave_chains_whole(watch, monkeypatch, tmp_path):
    """Segments that still run end before their chains are looked at: the checkpoint goes on to the same draws."""
    pool = ThreadPoolExecutor(2)

    def action(watching):
        if len(watching.statuses) == QUICK["chains"] and watching.reports > 40:
            pool.shutdown(wait=False, cancel_futures=True)

    watch(action)
    monkeypatch.setattr("parnidag.run.pools.Pool.seconds", 1e-3)
    with pytest.warns(StoppedWarning, match="after shutdown|Cancelled"):
        quick(pool, checkpoint=tmp_path / "run.ckpt", draws=300, tune=500)
    watch(lambda watching: None)
    whole = quick(draws=300, tune=500)
    assert_same_run(whole, quick(checkpoint=tmp_path / "run.ckpt", draws=300))


@pytest.mark.parametrize("made", [3, None, "pool"])
def test_a_function_that_makes_no_executor(made):
    with pytest.raises(ParnidagError, match="executor is a function that returned"):
        quick(lambda: made)
