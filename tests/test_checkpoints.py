from __future__ import annotations

import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest
from stopped_runs import (
    LENGTH,
    SAMPLERS,
    TABLE,
    contents,
    differences,
    rewritten,
    run,
    short_segments,
    stopped,
)

import parnidag
from parnidag import EdgePrior, ParnidagError, scores
from parnidag.moves.regroup import RegroupArrays
from parnidag.run import checkpoint
from parnidag.run.checkpoint import draws_path
from parnidag.run.draws import Block, FileStore
from parnidag.samplers import ADR, MC3, state

PATH_OF_CANDIDATES = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) == 1
"""A space so sparse that tables lack much of what chains meet: what is counted as outside is not zero."""


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_run_killed_at_any_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path, sampler):
    whole = run(sampler)
    for after in (1, 3, 9):
        path = stopped(tmp_path / f"{after}.ckpt", sampler, after)
        assert differences(run(sampler, checkpoint=path), whole) == []


def test_one_that_is_killed_again_and_again_too(tmp_path):
    path = tmp_path / "run.ckpt"
    for after in (2, 3, 2):
        stopped(path, after=after)
    assert differences(run(checkpoint=path), run()) == []


def test_draws_newer_than_the_checkpoint_are_never_counted_twice(tmp_path):
    """A chain that ran ahead leaves a block that the checkpoint does not know of, before one that it does."""
    path, every = tmp_path / "run.draws", np.arange(12.0)

    def block(start, stop):
        return Block(np.ones(stop - start, np.int32), np.arange(start, stop, dtype=np.int32), every[start:stop])

    def store(*known):
        found = FileStore(path, list(known), most_code=36)
        found.cut()
        return found

    first = store(0, 0)
    for chain, start, stop in ((0, 0, 3), (0, 3, 6), (1, 0, 4)):
        first.append(chain, block(start, stop))
    first.close()
    second = store(3, 4)  # it stopped before the second block of chain 0, which is now made again in other pieces
    for chain, start, stop in ((0, 3, 5), (1, 4, 8), (0, 5, 9)):
        second.append(chain, block(start, stop))
    second.close()
    third = store(9, 8)
    for chain, count in ((0, 9), (1, 8)):
        assert np.concatenate([each.scores for each in third.blocks(chain)]).tolist() == every[:count].tolist()
    third.close()


def fields():
    """All that is kept; what regroup counts is zero on so few nodes, and has a test of its own."""
    kinds = {kind: kept for kind, kept in state.KEPT.items() if kind is not RegroupArrays}
    return [(kind.__name__, name) for kind, kept in kinds.items() for name in kept.fields]


SPARSE = {"space": PATH_OF_CANDIDATES, "start": "empty"}
LATE = (17, 13, 19, 20, 21, 10, 11, 12, 14, 15, 16, 18)
RUNS = {
    "MoveCounts": ("MC3", {}),
    "ReversalState": ("REV", SPARSE),
    "ReversalArrays": ("REV", SPARSE),
    "OrderArrays": ("OrderMCMC", {}),
    "PartitionArrays": ("PartitionMCMC", {}),
    "PartitionState": ("PartitionMCMC", {}),
}


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """Checkpoints in the middle of drawing, and what the whole runs give; each made once."""
    made = {}

    def of(sampler, options):
        if sampler not in made:
            folder = tmp_path_factory.mktemp(sampler)
            paths = [stopped(folder / f"{after}.ckpt", sampler, after, **options) for after in LATE]
            made[sampler] = (paths, run(sampler, **options))
        return made[sampler]

    return of


@pytest.mark.parametrize(("kind", "name"), fields())
def test_whatever_is_kept_of_a_chain_is_needed(tmp_path, monkeypatch, late, kind, name):
    """A twin that forgets one array of the state must not give the same result, or not even be taken for a chain."""
    sampler, options = RUNS.get(kind, ("PARNI", SPARSE))
    sources, whole = late(sampler, options)
    monkeypatch.setattr(state, "KEPT", {each: forgetting(each, kept, kind, name) for each, kept in state.KEPT.items()})
    # By chance one moment may not need it: an order can be the one that its graph gives.
    assert any(differs_or_is_refused(sampler, whole, copied(source, tmp_path), **options) for source in sources)


def test_so_is_what_regroup_counts(tmp_path, monkeypatch, late):
    (source, *_), whole = late("PARNI", SPARSE)
    path = copied(source, tmp_path)
    manifest, arrays = contents(path)
    arrays["chain0.own.regroup.outside"] += 7
    for kept in (True, False):
        rewritten(path, manifest, arrays)
        shutil.copy(draws_path(source), draws_path(path))
        assert differences(run(checkpoint=path, **SPARSE), whole) == ["statistic regroup_outside"] * kept
        twin = {each: forgetting(each, old, "RegroupArrays", "outside") for each, old in state.KEPT.items()}
        monkeypatch.setattr(state, "KEPT", twin)


def forgetting(each, kept, kind, name):
    if each.__name__ != kind:
        return kept

    def sound(read, fresh, setting):  # or else compiled code would be given what ends the process
        return kept.sound({**read, name: getattr(fresh, name)}, fresh, setting)

    return state.Kept(tuple(field for field in kept.fields if field != name), sound)


def differs_or_is_refused(sampler, whole, path, **options):
    try:
        return bool(differences(run(sampler, checkpoint=path, **options), whole))
    except ParnidagError as error:
        return "damaged" in str(error)


@pytest.mark.parametrize(
    "name",
    [
        "edges",
        "since",
        "visits",
        "local",
        "rng",
        "integers",
        "floats",
        "recorder.best",
        "recorder.integers",
        "recorder.floats",
    ],
)
def test_so_is_all_of_its_graph(tmp_path, late, name):
    sources, whole = late("MC3", {})

    def notices(source):
        path = copied(source, tmp_path)
        manifest, arrays = contents(path)
        for chain in ("chain0", "chain1"):
            key = f"{chain}.{name}" if "." in name else f"{chain}.graph.{name}"
            arrays[key] = arrays[key][:0] if name in ("edges", "recorder.best") else np.zeros_like(arrays[key])
        rewritten(path, manifest, arrays)
        return differs_or_is_refused("MC3", whole, path)

    assert any(map(notices, sources))


def copied(source, folder):
    for path in (source, draws_path(source)):
        shutil.copy(path, folder)
    return folder / source.name


# ── refusals ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def cyclic_start(first, second):
    graph = np.zeros((6, 6), int)
    graph[first, second] = 1
    return graph


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"data": TABLE + 1e-9}, "the data differ"),
        ({"score": scores.BGe()}, "the score was .*Gaussian.*, now .*BGe"),
        ({"prior": EdgePrior(h=0.3)}, "the prior was .*, now .*0.3"),
        ({"sampler": ADR()}, "the sampler was .*MC3.*, now .*ADR"),
        ({"start": cyclic_start(0, 1)}, "start differs"),
        ({"chains": 3}, "chains was 2, now 3"),
        ({"tune": 701}, "tune was 700, now 701"),
        ({"thin": 41}, "thin was 40, now 41"),
        ({"seed": 12}, "seed was 11, now 12"),
    ],
)
def test_another_run_is_refused_by_what_differs(tmp_path, late, change, named):
    path = copied(late("MC3", {})[0][0], tmp_path)
    before = path.read_bytes(), draws_path(path).read_bytes()
    options = {"sampler": MC3(exchange=0.1), "progress": False, "checkpoint": path} | LENGTH | change
    with pytest.raises(ParnidagError, match=f"is of another run: {named}"):
        parnidag.sample(options.pop("data", TABLE), **options)
    assert (path.read_bytes(), draws_path(path).read_bytes()) == before


def test_another_space_and_version_are_refused(tmp_path, late, monkeypatch):
    path = copied(late("REV", SPARSE)[0][0], tmp_path)
    with pytest.raises(ParnidagError, match="another run: space differs"):
        run("REV", checkpoint=path, start="empty", space=~np.eye(6, dtype=bool))
    monkeypatch.setattr("parnidag.run.resume.__version__", "99.0")
    with pytest.raises(ParnidagError, match=r"the version of parnidag was .*, now 99\.0"):
        run("REV", checkpoint=path, **SPARSE)


def test_a_shorter_run_is_refused(tmp_path, late):
    path = copied(late("MC3", {})[0][0], tmp_path)
    with pytest.raises(ParnidagError, match="50 draws, now 49: a run can be made longer, not shorter"):
        run("MC3", checkpoint=path, draws=49)


def test_what_is_not_given_is_taken_from_the_checkpoint(tmp_path, late):
    (source, *_), whole = late("MC3", {})
    path = copied(source, tmp_path)
    assert differences(run("MC3", checkpoint=path, seed=None, tune=None, thin=None), whole) == []


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
        if not refused and not path.exists():
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


def test_ctrl_c_and_then_on(tmp_path):
    path, length = tmp_path / "run.ckpt", {"draws": 3000}
    whole = run("MC3", **length)

    def press():
        while not (path.exists() and draws_path(path).stat().st_size > 40_000):  # of about 240,000
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
