"""Disks that fill up, folders that may not be written to, files that vanish: a run goes on, and no file is half."""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from stopped_runs import differences, run, short_segments, stopped

import parnidag
from parnidag import ParnidagError, StoppedWarning
from parnidag.run import container, draws
from parnidag.run.checkpoint import draws_path
from parnidag.run.draws import Block, FileStore


@contextmanager
def full_disk(monkeypatch, after, until=10**9):
    """Let the disk take so many blocks of draws, and then, until there is room again, half a block at most."""
    real, seen = draws.write_all, []

    def write_all(file, content):
        seen.append(len(content))
        if after < len(seen) <= until:
            real(file, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, content)

    with monkeypatch.context() as patch, short_segments():
        patch.setattr(draws, "write_all", write_all)
        yield


@pytest.mark.parametrize("after", [0, 3])
def test_a_full_disk_costs_nothing_but_the_checkpoint(tmp_path, monkeypatch, after):
    path, whole = tmp_path / "run.ckpt", run("MC3")
    with full_disk(monkeypatch, after), pytest.warns(StoppedWarning, match="No space left on device"):
        result = run("MC3", checkpoint=path)
    assert differences(result, whole) == []
    assert differences(run("MC3", checkpoint=path), whole) == []  # from the last checkpoint that could be written


def test_a_disk_with_room_again_gets_what_waited(tmp_path, monkeypatch):
    path, whole = tmp_path / "run.ckpt", run("MC3")
    with full_disk(monkeypatch, 2, until=9), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert differences(run("MC3", checkpoint=path), whole) == []
    assert differences(run("MC3", checkpoint=path), whole) == []


def failing(*_, **__):
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("what", ["parnidag.run.draws.os.fsync", "parnidag.run.container.zipfile.ZipFile.writestr"])
def test_the_earlier_checkpoint_stays_when_the_next_cannot_be_written(tmp_path, monkeypatch, what):
    path, whole = stopped(tmp_path / "run.ckpt", "MC3", 5), run("MC3")
    before = path.read_bytes()
    with monkeypatch.context() as patch, short_segments():
        patch.setattr(what, failing)
        with pytest.warns(StoppedWarning, match="Input/output error"):
            result = run("MC3", checkpoint=path)
    assert differences(result, whole) == []
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".tmp")] == []
    assert differences(run("MC3", checkpoint=path), whole) == []


def test_a_writer_that_is_not_atomic_would_be_noticed(tmp_path, monkeypatch):
    """The twin writes in place: what it leaves when the disk fills up is no checkpoint."""
    path = stopped(tmp_path / "run.ckpt", "MC3", 5)

    @contextmanager
    def in_place(target, example=""):
        try:
            yield target
        except OSError as error:
            raise ParnidagError(f"path: {error}") from error

    with monkeypatch.context() as patch, short_segments():
        patch.setattr(container, "replacing", in_place)
        patch.setattr("parnidag.run.container.npy.write_array", failing)
        with pytest.warns(StoppedWarning, match="Input/output error"):
            run("MC3", checkpoint=path)
    with pytest.raises(ParnidagError, match="damaged"):
        run("MC3", checkpoint=path)


@pytest.mark.parametrize("replaced", [False, True])
def test_draws_that_vanish_are_still_in_the_result(tmp_path, replaced):
    path, whole = tmp_path / "run.ckpt", run("MC3")
    append = FileStore.append

    def vanishing(self, chain, block):
        append(self, chain, block)
        if self.count(0) > 10 and draws_path(path).exists() and draws_path(path).stat().st_size:
            draws_path(path).unlink()
            if replaced:
                draws_path(path).touch()

    with pytest.MonkeyPatch.context() as patch, short_segments():
        patch.setattr(FileStore, "append", vanishing)
        with pytest.warns(StoppedWarning, match=r"run\.ckpt\.draws"):
            result = run("MC3", checkpoint=path)
    assert differences(result, whole) == []


def test_the_file_of_draws_itself_is_cut_back_after_half_a_block(tmp_path, monkeypatch):
    store = FileStore(tmp_path / "run.draws", [0])
    block = Block(np.array([1], np.int32), np.array([3], np.int32), np.array([-1.5]))
    store.append(0, block)
    size = store.path.stat().st_size
    with full_disk(monkeypatch, 0):
        store.append(0, block)
    assert store.path.stat().st_size == size
    assert [each.scores.tolist() for each in store.blocks(0)] == [[-1.5], [-1.5]]
    assert store.sync()
    store.close()


# ── the result's own file ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_result_that_cannot_be_written_is_returned(tmp_path, monkeypatch):
    whole = run("MC3")
    monkeypatch.setattr("xarray.Dataset.dump_to_store", failing)
    with pytest.warns(StoppedWarning, match="it is in memory only.*Input/output error"):
        result = run("MC3", output=tmp_path / "posterior.nc")
    assert differences(result, whole) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mapped", [False, True])
def test_a_result_written_while_it_is_made_is_the_same(tmp_path, monkeypatch, mapped):
    whole = run("MC3")
    if mapped:
        monkeypatch.setattr("parnidag.results.netcdf.MAPPED_FROM_BYTES", 64)
        monkeypatch.setattr("parnidag.results.assemble.MOST_IN_MEMORY", 64)
    result = run("MC3", output=tmp_path / "posterior.nc")
    assert (result.record.deferred is not None) == mapped
    assert differences(result, whole) == []
    np.testing.assert_array_equal(result.cpdag_probabilities.compelled, whole.cpdag_probabilities.compelled)
    saved = parnidag.load(whole.save(tmp_path / "saved.nc"))
    assert differences(parnidag.load(tmp_path / "posterior.nc"), saved) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["posterior.nc", "saved.nc"]


def test_the_spool_goes_away_after_errors_too(tmp_path, monkeypatch):
    monkeypatch.setattr("parnidag.samplers.MC3.advance", failing)
    with pytest.raises(OSError, match="Input/output error"):
        run("MC3", output=tmp_path / "posterior.nc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    path = stopped(tmp_path / "run.ckpt", "MC3", 5)
    tmp_path.chmod(0o500)
    try:
        with pytest.warns(StoppedWarning, match="ermission"):
            run("MC3", checkpoint=path)
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_that_is_gone(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    append = FileStore.append

    def removing(self, chain, block):
        append(self, chain, block)
        shutil.rmtree(folder, ignore_errors=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileStore, "append", removing)
        with pytest.warns(StoppedWarning, match=r"run\.ckpt"):
            result = run("MC3", checkpoint=folder / "run.ckpt")
    assert differences(result, run("MC3")) == []
