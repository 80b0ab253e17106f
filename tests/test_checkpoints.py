from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from stopped_runs import LENGTH, SAMPLERS, TABLE, differences, run, short_segments, stopped

import parnidag
from parnidag import EdgePrior, ParnidagError, scores
from parnidag.kernels.declare import named
from parnidag.run import checkpoint
from parnidag.run.draws import Block
from parnidag.run.run_file import Bundle, RunFile
from parnidag.samplers import ADR, MC3
from parnidag.samplers.base import Asked, new_chain
from parnidag.samplers.single_edge import MoveCounts
from parnidag.samplers.state import chain_state, restored_chain
from parnidag.target import Target


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_run_killed_at_any_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path, sampler):
    whole = run(sampler)
    for after in (1, 3, 9):
        path = stopped(tmp_path / f"{after}.ckpt", sampler, after)
        assert differences(run(sampler, checkpoint=path), whole) == []


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_restored_chain_makes_the_steps_of_the_one_it_was_taken_from(sampler):
    """Wherever it was taken, and outside a narrow space too; every counter goes on."""
    chosen, tune = SAMPLERS[sampler], 90
    target = Target.build(parnidag.Data(TABLE[:15]), scores.Gaussian(), EdgePrior(h=0.6, required=[(5, 0)]))
    narrow = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) == 1
    prepared = chosen.prepare(target, Asked(considered=None if chosen.default_space == "none" else narrow))
    chain = new_chain(target, target.required, 1, 0)
    chosen.begin(target, prepared, chain, tune)
    for steps in (1, 2, 5, 11, 17, 30, 41, 60, 7, 100, 3, 8, 13, 21, 29, 37, 43, 58):
        chosen.advance(target, chain, steps)
        taken = chain_state(chain)
        chosen.advance(target, chain, 20)
        twin = restored_chain(target, chosen, prepared, tune, 0, taken)
        chosen.advance(target, twin, 20)
        for each in (chain, twin):
            named(each.graph).hits = named(each.graph).misses = 0  # the cache of scores is made anew
        assert chosen.totals(twin) == chosen.totals(chain)
        state = chain_state(chain)
        for name, array in chain_state(twin).items():
            np.testing.assert_array_equal(array, state[name], err_msg=name)


def test_one_that_is_killed_again_and_again_too(tmp_path):
    path = tmp_path / "run.ckpt"
    for after in (2, 3, 2):
        stopped(path, after=after)
    assert differences(run(checkpoint=path), run()) == []


def block(start, stop):
    return Block(np.ones(stop - start, np.int32), np.arange(start, stop, dtype=np.int32), np.arange(start, stop) * 1.0)


def test_draws_newer_than_the_checkpoint_are_never_counted_twice(tmp_path):
    """A chain that ran ahead leaves draws that no checkpoint knows of: they are made again, in other pieces."""
    pieces = {0: [(0, 0, 3), (0, 3, 6), (1, 0, 4)], 1: [(0, 3, 5), (1, 4, 8), (0, 5, 9)], 2: []}
    for step, known in enumerate(([0, 0], [3, 4], [9, 8])):
        file = RunFile(tmp_path / "run.ckpt")
        if step:
            file.go_on_after(known)
        for chain, start, stop in pieces[step]:
            file.append(chain, block(start, stop))
        assert file.save({})
        for chain, count in enumerate([[6, 4], [9, 8], [9, 8]][step]):
            assert file.count(chain) == count
            drawn = np.concatenate([each.scores for each in file.blocks(chain)])
            np.testing.assert_array_equal(drawn, np.arange(count))
        file.close()


def test_many_draws_do_not_wait_for_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("parnidag.run.run_file.WAITING_BYTES", 1000)
    file = RunFile(tmp_path / "run.ckpt")
    file._most_waiting = 1000
    for start in range(0, 500, 50):
        file.append(0, block(start, start + 50))
        assert file._waiting_bytes <= 1000
    assert np.concatenate([each.codes for each in file.blocks(0)]).tolist() == list(range(500))
    file.close()


def test_large_arrays_are_stored_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("parnidag.run.run_file.PIECE_BYTES", 1000)
    arrays = {"large": np.arange(999.0).reshape(3, 333), "empty": np.zeros((0, 2), np.int32), "small": np.ones(3, bool)}
    file = RunFile(tmp_path / "run.ckpt")
    for k in range(3):
        assert file.save({"chains": Bundle({"k": k}, arrays)})
    found = file.load("chains")
    assert file._connection.execute("SELECT count(*) FROM arrays").fetchone() == (10,)  # those of the last bundle
    file.close()
    assert found.facts == {"k": 2}
    assert found.arrays.keys() == arrays.keys()
    for name, array in found.arrays.items():
        np.testing.assert_array_equal(array, arrays[name], strict=True)


def test_arrays_that_do_not_say_what_must_be_kept_are_an_error_of_the_sampler(tmp_path, monkeypatch):
    monkeypatch.delattr(MoveCounts, "kept")
    with pytest.raises(TypeError, match="MoveCounts does not say which of its arrays a checkpoint must keep"):
        run("MC3", checkpoint=tmp_path / "run.ckpt")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A checkpoint in the middle of drawing."""
    return stopped(tmp_path_factory.mktemp("kept") / "run.ckpt", "MC3", 17)


def copied(source, folder):
    return Path(shutil.copy(source, folder))


def test_draws_that_came_before_the_first_checkpoint_are_made_again(tmp_path):
    file = RunFile(tmp_path / "run.ckpt")
    file.append(0, block(0, 20))
    assert file.save({})
    file.close()
    assert differences(run("MC3", checkpoint=tmp_path / "run.ckpt"), run("MC3")) == []


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def cyclic_start(first, second):
    graph = np.zeros((6, 6), int)
    graph[first, second] = 1
    return graph


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"data": TABLE + 1e-9}, "the data differ"),
        ({"score": scores.GPrior()}, "the score was .*BGe.*, now .*GPrior"),
        ({"prior": EdgePrior(h=0.3)}, "the prior was .*, now .*0.3"),
        ({"sampler": ADR()}, "the sampler was .*MC3.*, now .*ADR"),
        ({"start": cyclic_start(0, 1)}, "start differs"),
        ({"chains": 3}, "chains was 2, now 3"),
        ({"tune": 701}, "tune was 700, now 701"),
        ({"thin": 41}, "thin was 40, now 41"),
        ({"seed": 12}, "seed was 11, now 12"),
    ],
)
def test_another_run_is_refused_by_what_differs(tmp_path, kept, change, named):
    path = copied(kept, tmp_path)
    before = path.read_bytes()
    options = {"sampler": MC3(exchange=0.1), "progress": False, "checkpoint": path} | LENGTH | change
    with pytest.raises(ParnidagError, match=f"is of another run: {named}"):
        parnidag.sample(options.pop("data", TABLE), **options)
    assert path.read_bytes() == before


def test_another_space_and_version_are_refused(tmp_path, monkeypatch):
    given = {"space": np.abs(np.subtract.outer(np.arange(6), np.arange(6))) == 1, "start": "empty"}
    path = stopped(tmp_path / "run.ckpt", "REV", 3, **given)
    with pytest.raises(ParnidagError, match="another run: space differs"):
        run("REV", checkpoint=path, start="empty", space=~np.eye(6, dtype=bool))
    monkeypatch.setattr("parnidag.run.checkpoint.__version__", "99.0")
    with pytest.raises(ParnidagError, match=r"the version of parnidag was .*, now 99\.0"):
        run("REV", checkpoint=path, **given)


def test_a_shorter_run_is_refused(tmp_path, kept):
    path = copied(kept, tmp_path)
    with pytest.raises(ParnidagError, match="is of a run of 50 draws, now 49: a run can be made longer, not shorter"):
        run("MC3", checkpoint=path, draws=49)


def test_what_is_not_given_is_taken_from_the_checkpoint(tmp_path, kept):
    path = copied(kept, tmp_path)
    assert differences(run("MC3", checkpoint=path, seed=None, tune=None, thin=None), run("MC3")) == []


# ── going on ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("after", [5, 11, None])
def test_a_longer_run_continues_the_shorter_one(tmp_path, after):
    path = tmp_path / "run.ckpt"
    if after is None:
        run("MC3", checkpoint=path)
    else:
        stopped(path, "MC3", after)
    longer, fresh = run("MC3", checkpoint=path, draws=130), run("MC3", draws=130)
    assert longer.log_posterior.tobytes() == fresh.log_posterior.tobytes()
    np.testing.assert_allclose(longer.edge_probabilities, fresh.edge_probabilities, rtol=0, atol=1e-12)
    again = run("MC3", checkpoint=path, draws=131)
    np.testing.assert_array_equal(again.log_posterior[:, :130], fresh.log_posterior)


def test_a_finished_run_returns_at_once(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    first = run("MC3", checkpoint=path)

    def advance(*_):
        raise AssertionError("there is nothing left to do")

    monkeypatch.setattr(MC3, "advance", advance)
    assert differences(run("MC3", checkpoint=path), first) == []


def test_two_runs_do_not_write_one_checkpoint(tmp_path):
    """Neither while the first has no checkpoint yet, nor later; and the first one does not notice."""
    path, refused = tmp_path / "run.ckpt", []
    whole = run("MC3")
    keep, write = checkpoint.Checkpointer.keep, checkpoint.Checkpointer.write

    def intrude():
        with pytest.raises(ParnidagError, match="another run is writing to") as error:
            run("MC3", checkpoint=path)
        refused.append(error)

    def kept(self, log):
        keep(self, log)
        if not refused and self.file.is_empty:
            intrude()

    def written(self):
        write(self)
        if len(refused) == 1:
            intrude()

    with pytest.MonkeyPatch.context() as patch, short_segments():
        patch.setattr(checkpoint.Checkpointer, "keep", kept)
        patch.setattr(checkpoint.Checkpointer, "write", written)
        assert differences(run("MC3", checkpoint=path), whole) == []
    assert len(refused) == 2
    assert differences(run("MC3", checkpoint=path), whole) == []


def test_a_call_that_is_refused_leaves_no_file(tmp_path):
    with pytest.raises(ParnidagError):
        run("MC3", checkpoint=tmp_path / "run.ckpt", start=np.ones((6, 6), bool))
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_and_then_on(tmp_path):
    path, length = tmp_path / "run.ckpt", {"draws": 3000}
    whole = run("MC3", **length)

    def press():
        while not path.exists() or path.stat().st_size < 500_000:  # of about 700,000
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    with short_segments():
        presser = threading.Thread(target=press)
        presser.start()
        part = run("MC3", checkpoint=path, **length)
        presser.join()
    assert part.settings["interrupted"]
    assert part.log_posterior.shape[1] < 3000
    assert differences(run("MC3", checkpoint=path, **length), whole) == []
    assert [each.name for each in tmp_path.iterdir()] == ["run.ckpt"]
