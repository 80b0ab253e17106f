"""What tests of executors share: a table, runs on it, and a cluster."""

from concurrent.futures import Executor, Future

import numpy as np
import pytest

import parnidag
from parnidag import samplers

TABLE = parnidag.simulate(nodes=6, edges=7, rows=80, seed=5).values
QUICK = {"seed": 1, "draws": 30, "thin": 100, "chains": 3, "progress": False, "start": "empty"}
LONG = {**QUICK, "sampler": samplers.ADR(), "draws": 60, "thin": 300}


def quick(executor=None, **options):
    return parnidag.sample(TABLE, executor=executor, **{**QUICK, **options})


@pytest.fixture(autouse=True)
def many_segments(monkeypatch):
    """Segments of a ten-thousandth of a second, so that a short run has many."""
    monkeypatch.setattr("parnidag.run.pools.AwayPool.seconds", 1e-4)
    monkeypatch.setattr("parnidag.run.pools.BYTES_PER_SECOND", np.inf)


@pytest.fixture(scope="module")
def expected():
    return quick()


@pytest.fixture(scope="module")
def expected_long():
    return parnidag.sample(TABLE, **LONG)


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
