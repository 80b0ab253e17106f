"""Long runs on the command line: stopped by signals, resumed from checkpoints, in processes and on a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from judging import assert_same_run

import parnidag
from parnidag._util.files import write_csv
from parnidag.cli import app as cli
from parnidag.cli import main
from parnidag.cli.options import RunningOptions
from parnidag.simulation import simulate

PATIENCE = 240.0
"""Seconds within which a command must get going, on however busy a machine."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    made = simulate(6, 7, 60, 1)
    write_csv(path, made.names, made.values)
    return path


def long_command(table, tmp_path, *more):
    """Start a command that would take hours, and wait until its checkpoint knows of draws."""
    checkpoint = tmp_path / "run.ckpt"
    options = ["--draws", "100000000", "--thin", "20", "--tune", "1000", "--chains", "2", "--seed", "3"]
    started = subprocess.Popen(
        [sys.executable, "-m", "parnidag", "sample", table, *options, "--checkpoint", checkpoint, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + PATIENCE
    while not (checkpoint.exists() and checkpoint.stat().st_size > 1_000_000):  # half of it without any draws
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return started


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_what_there_is_and_the_checkpoint_goes_on(number, code, table, tmp_path):
    output = tmp_path / "posterior.nc"
    started = long_command(table, tmp_path, "-o", output)
    began = time.monotonic()
    started.send_signal(number)
    said, complained = started.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < 30  # about a second, but machines can be busy
    assert started.returncode == code
    assert "Traceback" not in complained
    assert "interrupted: this is what the chains had found by then" in complained
    assert f"Saved {output}" in said
    partial = parnidag.load(output)
    assert partial.settings["stopped_by"] == number.name
    drawn = partial.log_posterior.shape[1]
    assert drawn > 0
    # the same chains, never stopped, and the checkpoint made a little longer
    options = {"thin": 20, "tune": 1000, "chains": 2, "seed": 3, "progress": False}
    expected = parnidag.sample(table, draws=drawn, **options)
    assert (partial.log_posterior == expected.log_posterior).all()
    assert list(tmp_path.glob(".*")) == []  # nothing temporary is left


@pytest.mark.parametrize("more", [1, 20])
def test_further_ctrl_cs_end_at_once(more, table, tmp_path):
    started = long_command(table, tmp_path)
    started.send_signal(signal.SIGINT)
    for _ in range(more):
        time.sleep(0.01)
        started.send_signal(signal.SIGINT)
    _, complained = started.communicate(timeout=PATIENCE)
    assert "Traceback" not in complained
    assert started.returncode == 130, complained


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
from parnidag.cli import main

main(sys.argv[2:])
"""

INTERRUPTED_EXTENSION = """
import _imp, ctypes, functools, operator, os, signal, sys
from importlib.machinery import ExtensionFileLoader
from parnidag.cli import main

def exec_module(self, module):
    load = functools.partial(_imp.exec_dynamic, module)
    if module.__name__ == sys.argv[1]:
        # Sent and left waiting by C alone: the first to hear of it is the Python that the extension calls.
        send = functools.partial(ctypes.CDLL(None).kill, os.getpid(), signal.SIGINT)
        list(map(operator.call, [send, load]))
    else:
        load()

ExtensionFileLoader.exec_module = exec_module
main(sys.argv[2:])
"""

INTERRUPTED_CALL = """
import os, signal, sys
from importlib import import_module
from parnidag.cli import main

def interrupt(module, name):
    work = getattr(module, name)

    def interrupted(*given, **named):
        os.kill(os.getpid(), signal.SIGINT)
        return work(*given, **named)

    setattr(module, name, interrupted)

for place in sys.argv[1].split(","):
    module, _, name = place.partition(":")
    interrupt(import_module(module), name)
main(sys.argv[2:])
"""

INTERRUPTED_LATER = """
import os, signal, sys, threading
from parnidag.cli import main

ctrl_c = threading.Timer(float(sys.argv[1]), os.kill, [os.getpid(), signal.SIGINT])
ctrl_c.daemon = True
ctrl_c.start()
main(sys.argv[2:])
"""


def interrupt(script, *words, table, tmp_path):
    arguments = ["sample", str(table), "-q", "--draws", "50", "--sampler", "parni", "-o", str(tmp_path / "x.nc")]
    return subprocess.run(
        [sys.executable, "-c", script, *words, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    ("script", "place"),
    [
        *((INTERRUPTED_IMPORT, module) for module in ("cyclopts", "rich.console", "numba")),
        # These would call the table unreadable, raise an ImportError, or forget it.
        (INTERRUPTED_EXTENSION, "pandas._libs.pandas_parser"),
        (INTERRUPTED_EXTENSION, "numba._devicearray"),
        (INTERRUPTED_EXTENSION, "numpy.random._generator"),
        (INTERRUPTED_CALL, "pandas:read_csv"),
        (INTERRUPTED_CALL, "parnidag.api:prior_of_edges"),
        (INTERRUPTED_CALL, "parnidag.run.setup:found_space"),
        (INTERRUPTED_CALL, "pandas:read_csv,parnidag.cli.process:_threads_end_soon"),  # and again, on the way out
    ],
)
def test_ctrl_c_before_there_are_chains(script, place, table, tmp_path):
    ended = interrupt(script, place, table=table, tmp_path=tmp_path)
    assert (ended.returncode, ended.stderr) == (130, "parnidag: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_commands_run_in_any_thread_and_leave_ctrl_c_as_it_was(tmp_path):
    """Only the main thread can listen to signals; elsewhere they are the caller's affair."""
    codes = []

    def command():
        with pytest.raises(SystemExit) as left:
            main(["simulate", "--nodes", "3", "--rows", "5", "-o", str(tmp_path / "table.csv")])
        codes.append(left.value.code)

    before = signal.getsignal(signal.SIGINT)
    command()
    thread = threading.Thread(target=command)
    thread.start()
    thread.join(PATIENCE)
    assert codes == [0, 0]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0])
def test_ctrl_c_at_any_time(seconds, table, tmp_path):
    """Whatever the process is doing then, importing, reading, compiling, searching or sampling."""
    ended = interrupt(INTERRUPTED_LATER, str(seconds), table=table, tmp_path=tmp_path)
    assert ended.returncode in (130, 0)  # all may be done by then
    sampled = ended.returncode == 0 or "what the chains had found by then" in ended.stderr
    assert ended.stderr.count("\n") == (ended.returncode == 130)
    assert [path.name for path in tmp_path.iterdir()] == (["x.nc"] if sampled else [])


def test_resuming_by_the_same_command(table, tmp_path, capsys):
    checkpoint, output = tmp_path / "run.ckpt", tmp_path / "posterior.nc"

    def command(draws):
        options = ["--draws", draws, "--thin", "20", "--tune", "500", "--chains", "2", "--seed", "3", "-q"]
        return cli.run(["sample", str(table), *map(str, options), "--checkpoint", str(checkpoint), "-o", str(output)])

    assert command(50) == 0
    assert command(120) == 0
    options = {"thin": 20, "tune": 500, "chains": 2, "seed": 3, "progress": False}
    expected = parnidag.sample(table, draws=120, **options)
    found = parnidag.load(output)
    assert (found.log_posterior == expected.log_posterior).all()
    np.testing.assert_allclose(found.edge_probabilities, expected.edge_probabilities, rtol=1e-12)
    assert command(60) == 2
    assert "a run can be made longer, not shorter" in capsys.readouterr().err


def test_processes_give_the_same_result(table, tmp_path):
    options = ["--draws", "30", "--chains", "2", "--seed", "3", "-q"]
    for name, more in (("threads", []), ("processes", ["--processes", "2"])):
        assert cli.run(["sample", str(table), *options, "-o", str(tmp_path / f"{name}.nc"), *more]) == 0
    assert_same_run(parnidag.load(tmp_path / "threads.nc"), parnidag.load(tmp_path / "processes.nc"))


def test_a_dask_cluster_by_its_address(table, tmp_path):
    from dask.distributed import LocalCluster

    options = ["--draws", "30", "--chains", "2", "--seed", "3", "-q"]
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=":0") as cluster:
        path = tmp_path / "dask.nc"
        address = cluster.scheduler_address
        assert cli.run(["sample", str(table), *options, "-o", str(path), "--dask", address]) == 0
    expected = parnidag.sample(table, draws=30, chains=2, seed=3, progress=False)
    assert_same_run(expected, parnidag.load(path))


def test_a_scheduler_that_does_not_answer(table, capsys, monkeypatch):
    monkeypatch.setattr("parnidag.cli.options.DASK_SECONDS", 0.5)
    assert cli.run(["sample", str(table), "--dask", "tcp://127.0.0.1:1"]) == 2
    assert "no scheduler answers there" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--sampler", "parni"]], ids=["exact", "parni"])
def test_a_full_disk_at_the_end_leaves_the_screen_and_an_error(words, table, tmp_path, monkeypatch, capsys):
    """The result is printed all the same, and nothing claims that it was saved."""

    def refuse(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    output = tmp_path / "posterior.nc"
    code = cli.run(["sample", str(table), "--draws", "30", "--chains", "2", "--seed", "3", "-o", str(output), *words])
    said, complained = capsys.readouterr()
    assert code == 1
    assert "No space left on device" in complained
    assert "6 nodes" in said
    assert "Saved" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_grown_space_is_the_same_when_the_command_is_given_again(tmp_path, capsys):
    """Without a seed it would be another one each time, and the checkpoint of another run."""
    table, made = tmp_path / "wide.csv", simulate(15, 20, 60, 1)
    write_csv(table, made.names, made.values)
    for draws in (20, 30):
        options = ["--draws", str(draws), "--thin", "20", "--chains", "2", "--space", "iterative", "-q"]
        files = ["--checkpoint", str(tmp_path / "run.ckpt"), "-o", str(tmp_path / "posterior.nc")]
        assert cli.run(["sample", str(table), *options, *files]) == 0, capsys.readouterr().err
    assert parnidag.load(tmp_path / "posterior.nc").log_posterior.shape == (2, 30)
    seed = parnidag.load(tmp_path / "posterior.nc").settings["seed"]
    assert RunningOptions(checkpoint=tmp_path / "run.ckpt").seed(None) == seed
    assert isinstance(RunningOptions(checkpoint=tmp_path / "new.ckpt").seed(None), int)
    assert RunningOptions(checkpoint=tmp_path / "run.ckpt").seed(7) == 7
