"""Chains on the processes that mpiexec or srun starts, on as many machines as they are on.

mpiexec -n 3 python -m mpi4py.futures examples/mpi_cluster.py [FOLDER]

The first process runs this script, the others run segments of chains. Started as usual, without mpiexec, it samples on
threads. It needs pip install '.[mpi]' and an MPI library (pip install mpich, if the machine has none).
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import parnidag


def workers() -> AbstractContextManager[Any]:
    """Return an executor on the other processes of this job, None if there are none."""
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError):  # not installed, or without an MPI library
        return nullcontext(None)
    return MPIPoolExecutor() if MPI.COMM_WORLD.Get_size() > 1 else nullcontext(None)


def main(folder: Path) -> None:
    """Sample, or go on where an earlier job was stopped."""
    network = parnidag.simulate(nodes=30, edges=40, rows=300, seed=1)
    data = parnidag.Data(network.values, names=network.names)
    with workers() as executor:
        print("threads" if executor is None else f"{executor.num_workers} workers of MPI")
        posterior = parnidag.sample(
            data, draws=50, chains=4, seed=1, executor=executor, checkpoint=folder / "run.ckpt", progress=False
        )
    posterior.save(folder / "posterior.nc")
    print(posterior.diagnostics().verdict)
    print(f"Written to {folder / 'posterior.nc'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="parnidag-")))
