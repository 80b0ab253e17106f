"""Processes killed in the middle of a run, at any moment, and gone on with."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stopped_runs import contents, differences, run

LONG = {"PARNI": 8000, "PartitionMCMC": 12_000}
"""Draws for which the runs take some seconds."""
HERE = Path(__file__).parent


def kill_a_run(sampler, path, draws, wait):
    """Start a run in another process and kill it some seconds after its checkpoint has changed; False if it ended."""
    before = path.stat().st_mtime_ns if path.exists() else None
    places = [str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, str(HERE / "killed_run.py"), sampler, str(path), str(draws)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        while process.poll() is None and (path.stat().st_mtime_ns if path.exists() else None) == before:
            time.sleep(0.001)
        time.sleep(wait)
        alive = process.poll() is None
        process.kill()
        output, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL if alive else output == b"ended\n", errors.decode()
        return alive
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(os.name != "posix", reason="processes end in other ways elsewhere")
@pytest.mark.parametrize("sampler", LONG)
def test_a_killed_process_loses_nothing(tmp_path, sampler):
    path, moments = tmp_path / "run.ckpt", random.Random(5)
    killed = [kill_a_run(sampler, path, LONG[sampler], 0.1 * moments.random()) for _ in range(3)]
    assert all(killed)
    assert any(chain["boundaries"] for chain in contents(path).facts["chains"])  # there is something left to do
    assert differences(run(sampler, checkpoint=path, draws=LONG[sampler]), run(sampler, draws=LONG[sampler])) == []
    assert [each.name for each in tmp_path.iterdir()] == ["run.ckpt"]
