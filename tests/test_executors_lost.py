"""Workers that die and pools that break: the run goes on to the same bits, or ends with what there is."""

# ruff: noqa: F401, F811 (fixtures are imported, and named again by the tests that take them)

import contextlib
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context

import pytest
from executor_cases import LONG, QUICK, TABLE, Inline, client, cluster, expected, expected_long, many_segments, quick
from judging import assert_same_run

import parnidag
from parnidag.errors import ParnidagError, StoppedWarning
from parnidag.run import pools
from parnidag.run.progress import Progress


def failed(error):
    future = Future()
    future.set_exception(error)
    return future


class Watching(Progress):
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
        wanted = 1 + (watching.reports >= 5) + (watching.reports >= 15)
        if len(made) < wanted:  # again, if it was idle: then nobody notices
            with contextlib.suppress(ProcessLookupError, StopIteration):
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
    """Breaks after some tasks, or as soon as it is asked for something."""

    def __init__(self, after=0):
        self._left = after

    def submit(self, function, /, *args, **options):
        self._left -= 1
        working = self._left > 0
        return super().submit(function, *args, **options) if working else failed(BrokenProcessPool("a process ended"))


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
    pools_left = [Breaking(after=60)]
    with pytest.warns(StoppedWarning, match="another could not be made: OSError: no room"):
        run = parnidag.sample(TABLE, executor=lambda: pools_left.pop() if pools_left else no_room(), tune=0, **LONG)
    assert run.graphs.shape[1] > 0


def no_room():
    raise OSError("no room")


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
