"""Chains on a Dask cluster, with a checkpoint, and the same draws as on threads.

python examples/dask_cluster.py [FOLDER] [tcp://SCHEDULER:8786]

Without an address it makes a cluster of two processes on this machine. It needs pip install '.[dask]'.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from distributed import Client, LocalCluster

import parnidag


def main(folder: Path, address: str | None) -> None:
    """Sample twice, there and here, and compare."""
    network = parnidag.simulate(nodes=30, edges=40, rows=300, seed=1)
    data = parnidag.Data(network.values, names=network.names)
    settings = {"draws": 50, "chains": 4, "seed": 1, "progress": False}

    with ExitStack() as stack:
        if address is None:
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            client = stack.enter_context(Client(stack.enter_context(cluster)))
        else:
            client = stack.enter_context(Client(address))
        there = parnidag.sample(data, executor=client, checkpoint=folder / "run.ckpt", **settings)
        print(f"{len(client.scheduler_info()['workers'])} workers sampled {there.graphs.shape[1]} draws per chain")
    there.save(folder / "posterior.nc")

    here = parnidag.sample(data, **settings)
    print(f"the same draws as on threads: {bool((here.graphs == there.graphs).all())}")
    print(f"Written to {folder}")


if __name__ == "__main__":
    words = sys.argv[1:]
    address = words.pop() if words and "://" in words[-1] else None
    main(Path(words[0] if words else tempfile.mkdtemp(prefix="parnidag-")), address)
