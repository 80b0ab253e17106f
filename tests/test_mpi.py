"""Chains on processes that MPI starts: where there is MPI, the command of the docs runs, and gives the same draws."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from judging import assert_same_run

import parnidag

EXAMPLE = Path(__file__).parents[1] / "examples" / "mpi_cluster.py"
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Open MPI wants to be asked twice in containers, and has fewer slots than processes on small machines."""

pytestmark = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="needs pip install '.[mpi]' and mpiexec"
)


def test_the_example_on_three_processes(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, start in ((here, []), (there, [MPIEXEC, "-n", "3"])):
        folder.mkdir()
        module = ["-m", "mpi4py.futures"] if start else []
        command = [*start, sys.executable, *module, str(EXAMPLE), str(folder)]
        done = subprocess.run(
            command, env={**os.environ, **AS_ROOT}, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("2 workers of MPI" if start else "threads") in done.stdout
    assert_same_run(parnidag.load(here / "posterior.nc"), parnidag.load(there / "posterior.nc"))
