"""Disks that fill up, folders that may not be written to, files that vanish: a run goes on, and no file is half."""

from __future__ import annotations

import errno
import shutil
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from stopped_runs import contents, differences, run, short_segments, stopped

import parnidag
from parnidag import ParnidagError, StoppedWarning
from parnidag.run.run_file import RunFile


@contextmanager
def full_disk(monkeypatch, after, until=10**9):
    """Let checkpoints be written so often, and from then on, until there is room again, let the file grow no more."""
    save, seen = RunFile.save, []

    def limited(self, bundles):
        seen.append(bundles)
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        most = max(pages, 1) if after < len(seen) <= until else 2**30
        self._connection.execute(f"PRAGMA max_page_count = {most}")
        return save(self, bundles)

    with monkeypatch.context() as patch, short_segments():
        patch.setattr(RunFile, "save", limited)
        yield


@pytest.mark.parametrize("after", [0, 3])
def test_a_full_disk_costs_nothing_but_the_checkpoint(tmp_path, monkeypatch, after):
    path, whole = tmp_path / "run.ckpt", run("MC3")
    monkeypatch.setattr("parnidag.run.run_file.PAGE_BYTES", 512)  # so that every checkpoint needs another page
    with full_disk(monkeypatch, after), pytest.warns(StoppedWarning, match="disk is full"):
        result = run("MC3", checkpoint=path)
    assert differences(result, whole) == []
    assert differences(run("MC3", checkpoint=path), whole) == []  # from the last checkpoint that could be written


def test_a_disk_with_room_again_gets_what_waited(tmp_path, monkeypatch):
    path, whole = tmp_path / "run.ckpt", run("MC3")
    monkeypatch.setattr("parnidag.run.run_file.PAGE_BYTES", 512)
    with full_disk(monkeypatch, 2, until=9), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert differences(run("MC3", checkpoint=path), whole) == []
    assert differences(run("MC3", checkpoint=path), whole) == []


def failing(*_, **__):
    raise OSError(errno.EIO, "Input/output error")


def test_a_disk_that_refuses_in_the_middle_leaves_the_earlier_checkpoint_whole(tmp_path, monkeypatch):
    """A limit on the size of files fails where SQLite writes, not where it is asked to."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("parnidag.run.run_file.PAGE_BYTES", 512)  # so that the file grows with every few draws
    path, whole = stopped(tmp_path / "run.ckpt", "MC3", 5), run("MC3")
    before, limits = contents(path), resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr("parnidag.run.run_file.WAITING_BYTES", 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, limits[1]))
    try:
        with short_segments(), pytest.warns(StoppedWarning, match="disk"):
            result = run("MC3", checkpoint=path, draws=200)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.log_posterior[:, :50].tobytes() == whole.log_posterior.tobytes()
    after = contents(path)
    assert after.facts["chains"][0]["draws"] >= before.facts["chains"][0]["draws"]
    assert differences(run("MC3", checkpoint=path, draws=200), result) == []


@pytest.mark.parametrize("what", ["removed", "replaced", "folder"])
def test_a_checkpoint_that_vanishes_is_still_in_the_result(tmp_path, monkeypatch, what):
    path = tmp_path / "runs" / "run.ckpt"
    path.parent.mkdir()
    append = RunFile.append

    def vanishing(self, chain, block):
        append(self, chain, block)
        if what == "folder":
            shutil.rmtree(path.parent, ignore_errors=True)
        elif path.exists() and path.stat().st_size:
            path.unlink()
            if what == "replaced":
                path.touch()

    monkeypatch.setattr(RunFile, "append", vanishing)
    with short_segments(), pytest.warns(StoppedWarning, match=r"run\.ckpt"):
        result = run("MC3", checkpoint=path)
    assert differences(result, run("MC3")) == []


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


def test_a_folder_that_may_not_be_written_to_is_refused_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(ParnidagError, match=r"checkpoint: cannot write .*may not be written to"):
        run("MC3", checkpoint=tmp_path / "run.ckpt")
    assert list(tmp_path.iterdir()) == []
