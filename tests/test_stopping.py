"""How runs end early: nothing twice, nothing lost, nothing left locked."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

import parnidag
from parnidag import api
from parnidag.errors import StoppedWarning
from parnidag.run.chain_log import ChainLog
from parnidag.run.loop import Run
from parnidag.run.plan import merging
from parnidag.run.pools import Pool, open_pool
from parnidag.run.progress import LiveProgress
from parnidag.run.run_file import RunFile
from parnidag.run.signals import catching_signals
from parnidag.samplers.parni import mixture
from parnidag.target import Target

TABLE = parnidag.simulate(nodes=4, edges=3, rows=50, seed=1).values


def stopped_twice(future, in_place):
    """What a run takes that is told twice to stop while it waits for a segment."""
    taken, waiting = [], {future: ("log", 5)}
    pool = SimpleNamespace(in_place=in_place, seconds=1.0, abandoned=False, result=lambda future: future.result())
    run = SimpleNamespace(_absorb=lambda log, segment, aim: taken.append((log, segment)), draws=lambda: 1)
    run._take_last = lambda *arguments: Run._take_last(run, *arguments)
    Run._stop(run, pool, waiting)
    Run._stop(run, pool, waiting)
    return taken


@pytest.mark.parametrize("in_place", [True, False])
def test_a_segment_that_came_back_is_taken_once_however_often_the_run_stops(in_place):
    future = Future()
    future.set_result("segment")
    assert stopped_twice(future, in_place) == [("log", "segment")]


def test_an_exception_of_a_chain_that_was_changed_in_place_is_not_passed_over():
    failed = Future()
    failed.set_exception(SystemExit(3))
    with pytest.raises(SystemExit):
        stopped_twice(failed, in_place=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    """A forked pool outlives a killed parent; its copy of the file must not lock out the next run."""
    script = """
import os, sys, time
from pathlib import Path
from parnidag.run.run_file import RunFile
file = RunFile(Path(sys.argv[1]))
if os.fork() == 0:
    time.sleep(60)
    os._exit(0)
print(os.getpid(), flush=True)
os.kill(os.getpid(), 9)
"""
    path = tmp_path / "run.ckpt"
    started = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, start_new_session=True
    )
    started.stdout.readline()
    started.wait()
    try:
        RunFile(path).close()
    finally:
        os.killpg(started.pid, 9)
        started.stdout.close()


def test_draws_on_their_way_to_a_result_leave_no_file_behind(tmp_path):
    file = RunFile(tmp_path / ".x.draws", temporary=True)
    assert os.name != "posix" or list(tmp_path.iterdir()) == []
    file.close()


def test_a_terminal_that_has_gone_costs_nothing():
    class Gone:
        encoding = "utf-8"

        def isatty(self):
            return True

        def write(self, *text):
            raise OSError(5, "Input/output error")

        flush = write

    progress = LiveProgress(Gone(), time.monotonic)
    progress.note("stopping")
    progress._live = type("Broken", (), {"__exit__": lambda self, *details: Gone().flush()})()
    progress.__exit__(None, None, None)


def test_an_interrupted_reader_does_not_keep_the_file(tmp_path):
    """Ctrl-C leaves the thread behind that reads a long checkpoint; closing the file ends it."""
    file = RunFile(tmp_path / "run.ckpt")
    begun = threading.Event()

    def read():
        with file._lock:
            begun.set()
            slow = "WITH RECURSIVE n(k) AS (VALUES(1) UNION ALL SELECT k + 1 FROM n) SELECT sum(k) FROM n"
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                file._connection.execute(slow).fetchone()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    begun.wait()
    file.close()
    reader.join(10)
    assert not reader.is_alive()
    RunFile(tmp_path / "run.ckpt").close()


def test_extended_runs_keep_batches_of_one_length(tmp_path):
    options = {"thin": 10, "tune": 200, "chains": 2, "seed": 1, "progress": False, "checkpoint": tmp_path / "run.ckpt"}
    for draws in (40, 80, 120, 800):
        lengths = parnidag.sample(TABLE, draws=draws, **options).record.batch_iterations
        assert lengths.sum() == 2 * 10 * draws
        assert len(np.unique(lengths[:, :-1])) == 1
        assert lengths.shape[1] <= 41
    assert merging(20, total=8000) == 10


def test_slow_scores_have_short_segments():
    log = SimpleNamespace(rate=2.0, boundaries=[1000], chain=SimpleNamespace(iteration=0))
    assert ChainLog.next_steps(log, 0.25) == 3
    log.rate = 1e6
    assert ChainLog.next_steps(log, 0.25) == 1000


def test_a_second_ctrl_c_does_not_wait_for_threads():
    begun, over = threading.Event(), threading.Event()
    segments = []

    def segment():
        begun.set()
        over.wait(60)

    def interrupted():
        with open_pool(None, None, 1) as pool:
            segments.append(pool.executor.submit(segment))
            begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert segments[0].running()
    over.set()


@pytest.mark.parametrize("presses", [1, 2])
def test_a_second_ctrl_c_is_one_whatever_comes_of_it(presses):
    """An archive that is being written answers it by an error of its own."""

    def mistaken():
        with catching_signals():
            try:
                for _ in range(presses):
                    signal.raise_signal(signal.SIGINT)
            finally:
                raise ValueError("cannot be closed")

    with pytest.raises(KeyboardInterrupt if presses == 2 else ValueError):
        mistaken()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nor_is_one_lost_that_comes_into_a_score_in_python():
    """Compiled code that asks the score can raise nothing, so what comes into it is kept for later."""

    def pressed(node, parents):
        signal.raise_signal(signal.SIGINT)
        return 0.0

    table = parnidag.Data([[0.0, 1.0], [1.0, 0.5], [2.0, 3.0]])
    target = Target.build(table, parnidag.scores.PythonScore(pressed), parnidag.EdgePrior(h="paper"))
    with pytest.raises(KeyboardInterrupt), catching_signals():
        target.log_posterior(np.zeros((2, 2), bool))


INTERRUPTED_SEARCH = """
import os, signal, time
import parnidag
from parnidag.samplers.parni import start

def endless(*given, stream, **named):
    if stream == 0:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(300)

start.expand = endless
try:
    parnidag.sample(parnidag.simulate(nodes=4, edges=3, rows=50, seed=1).values, thin=500, progress=False)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_script_that_was_interrupted_in_the_set_up_ends():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_SEARCH], capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


# ── after the last iteration ──────────────────────────────────────────────────────────────────────────────────────────

SHORT = {"draws": 20, "thin": 10, "tune": 100, "chains": 2, "seed": 1, "progress": False}


def test_nothing_is_run_only_to_be_timed(monkeypatch):
    """Up to 5,000 iterations of every kind of move were, after each run, and after Ctrl-C."""
    advance, made = mixture.advance_mixture, []

    def counted(*arguments):
        made.append(advance(*arguments))
        return made[-1]

    monkeypatch.setattr(mixture, "advance_mixture", counted)
    parnidag.sample(TABLE, start="empty", **SHORT)
    assert sum(made) == SHORT["chains"] * (SHORT["tune"] + SHORT["draws"] * SHORT["thin"])


def test_ctrl_c_while_the_result_is_written_does_not_cost_it(tmp_path, monkeypatch):
    real = api.save_record

    def interrupted(record, path):
        os.kill(os.getpid(), signal.SIGINT)
        return real(record, path)

    monkeypatch.setattr(api, "save_record", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests may ignore it
    try:
        parnidag.sample(TABLE, **SHORT, output=tmp_path / "x.nc")
    finally:
        signal.signal(signal.SIGINT, before)
    assert parnidag.load(tmp_path / "x.nc").log_posterior.shape == (2, 20)


def test_warnings_come_after_the_result_is_written(tmp_path, monkeypatch):
    """Users turn warnings into errors; the file must be there all the same."""
    execute = Run.execute

    def ended_early(self, *arguments):
        execute(self, *arguments)
        self.stopped = "SIGTERM"

    monkeypatch.setattr(Run, "execute", ended_early)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(StoppedWarning):
            parnidag.sample(TABLE, **SHORT, output=tmp_path / "x.nc")
    assert parnidag.load(tmp_path / "x.nc").settings["stopped_by"] == "SIGTERM"


def test_a_pool_that_an_interrupt_left_open_waits_for_nobody(monkeypatch):
    """A Ctrl-C can come before the block is left; the collector of garbage must not close the pool then, and wait."""
    closed = []
    monkeypatch.setattr(Pool, "close", lambda self: closed.append("closed"))
    opened = open_pool(None, None, 1)
    opened.__enter__()
    del opened
    gc.collect()
    assert closed == []
