"""Dask data frames: partitions are summed up where they are, and only the sums travel."""

import pickle

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from batch_cases import TOLERANCE, assert_same, classes, with_targets
from dask.distributed import Client, LocalCluster
from tables import NAMES, example, frame

import parnidag
from parnidag.data import Data, as_data, batches
from parnidag.data.summary import Options
from parnidag.errors import DataError


@pytest.fixture
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("partitions", [1, 2, 5, 8])
def test_partitions_are_batches(here, partitions):
    for table in (frame(), classes()):
        assert_same(as_data(dd.from_pandas(table, npartitions=partitions)), Data(table))
        given = with_targets(table)
        data = Data.from_batches(dd.from_pandas(given, npartitions=partitions), interventions="target")
        assert_same(data, Data(given, interventions="target"))


def test_partitions_that_do_not_fit_are_named(here):
    parts = [frame(), frame().rename(columns={"praf": "raf"})]
    mixed = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame(), verify_meta=False)
    with pytest.raises(DataError, match="batch 2 has raf, which the first batch has not and lacks praf"):
        Data(mixed)
    holes = frame().mask(np.eye(40, 4, dtype=bool))
    with pytest.raises(DataError, match=r"missing values in praf \(1\), pmek \(1\)"):
        Data(dd.from_pandas(holes, npartitions=3))
    assert Data(dd.from_pandas(holes, npartitions=3), missing="drop").dropped_rows == 4
    with pytest.raises(DataError, match="names= is for arrays only"):
        Data(dd.from_pandas(frame(), npartitions=3), names=NAMES)
    with pytest.raises(DataError, match="must be the name of a column of targets"):
        Data(dd.from_pandas(frame(), npartitions=3), interventions={3: "praf"})


def test_summaries_are_small_and_merging_can_be_repeated():
    rng = np.random.default_rng(1)
    one, other = (batches.summarise_batch(rng.normal(size=(100_000, 5)) * 10**k, k + 1, Options()) for k in range(2))
    assert len(pickle.dumps(one)) < 10_000
    first, again = (batches._merged(one, other, None) for _ in range(2))
    assert first.tally.n_rows == again.tally.n_rows == 200_000
    for moments in zip(first.moments.values(), again.moments.values(), strict=True):
        np.testing.assert_array_equal(moments[0].gram, moments[1].gram)


def test_a_cluster_of_processes():
    table = pd.DataFrame(example(rows=400), columns=NAMES)
    with (  # any free port for its dashboard: the usual one may be taken, and without an address it is taken too
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        data = Data(dd.from_pandas(table, npartitions=5))
        discrete = Data(dd.from_pandas(classes(), npartitions=3))
        posterior = parnidag.exact(dd.from_pandas(table, npartitions=4))
    assert_same(data, Data(table))
    assert_same(discrete, Data(classes()))
    expected = parnidag.exact(table).edge_probabilities
    np.testing.assert_allclose(posterior.edge_probabilities, expected, rtol=0, atol=TOLERANCE)
