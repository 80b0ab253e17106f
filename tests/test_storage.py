from __future__ import annotations

from importlib import util

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_results import bare_record

from parnidag.errors import ParnidagError
from parnidag.results import netcdf as storage
from parnidag.results.netcdf import FORMAT_VERSION, load, save_record
from parnidag.results.posterior import Posterior
from parnidag.results.record import RunRecord

if util.find_spec("resource"):
    import resource
else:
    resource = None


def run_record(nodes=("A", "β → γ", "naïve 数"), **changes):
    rng = np.random.default_rng(1)
    fields = {
        "nodes": nodes,
        "log_posterior": rng.normal(size=(2, 5)) * 1e3,
        "graph_index": rng.integers(0, 3, size=(2, 5)),
        "graph_offsets": np.array([0, 0, 2, 3]),
        "graph_edges": np.array([1, 5, 2], dtype=np.int32),
        "edge_codes": np.array([1, 2, 5], dtype=np.int32),
        "batch_counts": rng.integers(0, 11, size=(2, 4, 3)),
        "batch_iterations": np.full((2, 4), 10),
        "best_edges": np.array([1, 5], dtype=np.int32),
        "best_log_posterior": -0.1 - 0.2,
        "statistics": {
            "acceptance": np.array([0.1, np.nan]),
            "iterations": np.array([40, 2**60]),
            "odd/key of a sampler": np.array([1.5, -np.inf]),
            "stuck": np.array([True, False]),
        },
        "settings": {
            "seed": 2**70,
            "score": {"name": "Gaussian", "g": 10.0},
            "timings": {"échantillon": 0.1},
            "interrupted": False,
            "x": None,
        },
        "start_offsets": np.array([0, 2, 2]),
        "start_edges": np.array([1, 5], dtype=np.int32),
    }
    return RunRecord(**(fields | changes))


def exact_record():
    known = run_record()
    matrix = np.random.default_rng(2).random((3, 3))
    return bare_record(nodes=known.nodes, settings=known.settings, exact_probabilities=matrix, log_evidence=-1234.5678)


def assert_same(found, expected):
    for name in RunRecord.__dataclass_fields__:
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_equal(one, other, err_msg=name)
        pairs = [(one[key], other[key]) for key in other] if name == "statistics" else [(one, other)]
        for this, that in pairs:
            assert getattr(this, "dtype", type(this)) == getattr(that, "dtype", type(that)), name


@pytest.mark.parametrize("make", [run_record, exact_record])
def test_round_trip_is_exact(tmp_path, make):
    record = make()
    path = Posterior(record).save(tmp_path / "posterior.nc")
    assert path == tmp_path / "posterior.nc"
    assert_same(load(path).record, record)
    assert [file.name for file in tmp_path.iterdir()] == ["posterior.nc"]


def test_exact_draws_without_batches_round_trip(tmp_path):
    record = run_record(
        batch_counts=np.zeros((0, 0, 3), dtype=np.int64),
        batch_iterations=np.zeros((0, 0), dtype=np.int64),
        start_offsets=None,
        start_edges=None,
        exact_probabilities=np.full((3, 3), 0.25),
        log_evidence=1e5,
    )
    assert_same(load(save_record(record, tmp_path / "exact.nc")).record, record)


def test_files_that_do_not_say_where_chains_started_are_read(tmp_path):
    record = run_record()
    dataset = xr.load_dataset(save_record(record, tmp_path / "new.nc"), engine="h5netcdf")
    older = dataset.drop_vars(["start_offsets", "start_edges"])
    older.to_netcdf(tmp_path / "older.nc", engine="h5netcdf")
    found = load(tmp_path / "older.nc").record
    assert found.starts is None
    assert_same(found, run_record(start_offsets=None, start_edges=None))


def test_large_arrays_are_compressed_and_exact(tmp_path):
    rng = np.random.default_rng(3)
    record = run_record(
        log_posterior=np.round(rng.normal(size=(2, 20_000)), 1), graph_index=np.zeros((2, 20_000), dtype=np.int64)
    )
    path = save_record(record, tmp_path / "large.nc")
    assert_same(load(path).record, record)
    assert path.stat().st_size < record.log_posterior.nbytes / 2


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=3, max_size=3, unique=True
    )
)
def test_any_unicode_name_survives(tmp_path, names):
    path = save_record(run_record(tuple(names)), tmp_path / "names.nc")
    assert load(path).nodes == names


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_are_no_text_are_refused_and_nothing_is_written(tmp_path, name):
    with pytest.raises(ParnidagError, match="cannot be stored as text"):
        save_record(run_record(("A", "B", name)), tmp_path / "names.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_string_path_and_an_existing_file_are_fine(tmp_path):
    path = tmp_path / "posterior.nc"
    path.write_text("something older")
    save_record(run_record(), str(path))
    assert load(str(path)).nodes == list(run_record().nodes)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = save_record(run_record(), tmp_path / "posterior.nc")
    before = path.read_bytes()

    def full_disk(self, store, **_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xr.Dataset, "dump_to_store", full_disk)
    with pytest.raises(ParnidagError, match="No space left"):
        save_record(exact_record(), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["posterior.nc"]


@pytest.mark.skipif(resource is None, reason="needs limits on the size of files")
@pytest.mark.parametrize("room", [0, 100, 4000, 9000, 12_000])
def test_the_hdf5_library_survives_a_full_disk(tmp_path, room):
    """It ended the process now and then when it closed a file that the disk had no room for."""
    path = tmp_path / "posterior.nc"
    path.write_bytes(b"something older")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(ParnidagError, match="cannot write"):
            save_record(run_record(), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"something older"
    assert [each.name for each in tmp_path.iterdir()] == ["posterior.nc"]


def test_impossible_targets_are_refused(tmp_path):
    with pytest.raises(ParnidagError, match="does not exist"):
        save_record(run_record(), tmp_path / "no folder" / "posterior.nc")
    with pytest.raises(ParnidagError, match="is a folder"):
        save_record(run_record(), tmp_path)


def test_files_of_a_newer_version_are_refused_with_both_versions(tmp_path, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(storage, "FORMAT_VERSION", FORMAT_VERSION + 1)
        newer.setattr(storage, "__version__", "99.0")
        path = save_record(run_record(), tmp_path / "posterior.nc")
    with pytest.raises(ParnidagError, match=rf"newer parnidag \(99.0, file format {FORMAT_VERSION + 1}\).*upgrade"):
        load(path)
