"""Checkpoints that were damaged, cut short or made to do harm: refused in one line, both files left as they are."""

from __future__ import annotations

import io
import os
import pickle
import random
import shutil
import zipfile

import numpy as np
import pytest
from hostile import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stopped_runs import contents, differences, rewritten, run, stopped

from parnidag import ParnidagError
from parnidag.run.checkpoint import draws_path

WALKS = ("PARNI", "MC3", "OrderMCMC", "PartitionMCMC")
VALUES = [
    None,
    True,
    -1,
    0,
    1,
    2,
    40,
    41,
    699,
    701,
    2**31,
    2**62,
    2**63,
    10**30,
    0.5,
    1e308,
    "",
    "x",
    [],
    [0],
    [[]],
    {},
]
VALUES += [{"plus_one": True, "sums": False}, {"plus_one": False, "sums": True}, {"edges": [10**9]}, {"tried": "many"}]
NUMBERS = [
    -(2**62),
    -2,
    -1,
    0,
    1,
    2,
    5,
    6,
    7,
    40,
    700,
    2**16,
    2**31 - 1,
    2**62,
    0.5,
    -0.5,
    1e-300,
    1e300,
    np.nan,
    np.inf,
]
lenient = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """For each sampler a checkpoint in the middle of drawing, and one in the middle of tuning."""
    folder = tmp_path_factory.mktemp("made")
    return {(name, after): stopped(folder / f"{name}{after}.ckpt", name, after) for name in WALKS for after in (2, 11)}


@pytest.fixture(scope="module")
def wholes():
    return {name: run(name) for name in WALKS}


def outcome(path, sampler="MC3"):
    """The result of going on, or None if that was refused: in one line, and nothing was changed."""
    files = [each for each in (path, draws_path(path)) if each.is_file()]
    before = [each.read_bytes() for each in files]
    try:
        return run(sampler, checkpoint=path)
    except ParnidagError as error:
        said = str(error)
    assert said.startswith("checkpoint: ")
    assert "\n" not in said
    assert len(said) < 1000
    assert [each.read_bytes() for each in files] == before
    return None


def fresh_copy(made, folder, sampler="MC3", after=11):
    source = made[sampler, after]
    for each in (source, draws_path(source)):
        shutil.copy(each, folder)
    return folder / source.name


# ── bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), b"PK", bytes(1000), pickle.dumps({"a": 1})])
def test_other_files_are_refused(made, tmp_path, content):
    path = fresh_copy(made, tmp_path)
    path.write_bytes(content)
    assert outcome(path) is None


@lenient
@given(st.data())
def test_damaged_bytes_are_refused_or_do_not_matter(made, wholes, tmp_path, data):
    path = fresh_copy(made, tmp_path)
    victim = data.draw(st.sampled_from([path, draws_path(path)]))
    victim.write_bytes(damaged(victim.read_bytes(), data))
    result = outcome(path)
    # Some bytes mean nothing, such as the date of a member; and draws after the last checkpoint are made again.
    assert result is None or differences(result, wholes["MC3"]) == []


def test_no_files_and_strange_ones(made, tmp_path):
    path = fresh_copy(made, tmp_path)
    draws_path(path).unlink()
    assert outcome(path) is None
    assert not draws_path(path).exists()
    os.mkfifo(draws_path(path))
    assert outcome(path) is None
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ParnidagError, match="no regular file"):
        run("MC3", checkpoint=path)
    with pytest.raises(ParnidagError, match="is a folder"):
        run("MC3", checkpoint=tmp_path)


# ── texts and arrays ──────────────────────────────────────────────────────────────────────────────────────────────────


def places(node, path=()):
    """All places in a text of JSON."""
    yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


@lenient
@given(st.data())
def test_texts_that_lie_are_refused_or_harmless(made, tmp_path, data):
    sampler = data.draw(st.sampled_from(WALKS))
    path = fresh_copy(made, tmp_path, sampler, data.draw(st.sampled_from([2, 11])))
    manifest, arrays = contents(path)
    *way, last = data.draw(st.sampled_from([place for place in places(manifest) if place]))
    owner = manifest
    for key in way:
        owner = owner[key]
    value = data.draw(st.sampled_from([*VALUES, "remove"]))
    if value == "remove":
        del owner[last]
    else:
        owner[last] = value
    rewritten(path, manifest, arrays)
    outcome(path, sampler)


@pytest.mark.parametrize("value", [None, True, "", "x", [], 0, 1e308, float("inf"), float("nan")], ids=repr)
def test_a_best_graph_of_the_search_with_another_score_is_refused(made, tmp_path, value):
    path = fresh_copy(made, tmp_path, "PARNI")
    manifest, arrays = contents(path)
    assert manifest["shared"]["found"]["best"]
    manifest["shared"]["found"]["log_posterior"] = value
    rewritten(path, manifest, arrays)
    assert outcome(path, "PARNI") is None


@lenient
@given(st.data())
def test_states_that_no_chain_can_have_are_refused_or_harmless(made, tmp_path, data):
    sampler = data.draw(st.sampled_from(WALKS))
    path = fresh_copy(made, tmp_path, sampler, data.draw(st.sampled_from([2, 11])))
    manifest, arrays = contents(path)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(arrays)))
        arrays[name] = spoiled(arrays[name], random.Random(data.draw(st.integers(0, 2**32))))
    rewritten(path, manifest, arrays)
    outcome(path, sampler)


def spoiled(array, rng):
    """The same with some entries changed, or of another type or shape, or gone."""
    kind = rng.randrange(8)
    if kind == 0:
        return array.astype(rng.choice([np.float32, np.int8, np.float64, np.uint64]))
    if kind == 1:
        return rng.choice([array[None], array[:0], array.ravel(), np.concatenate([array, array])])
    changed = array.copy().ravel()
    if changed.size and kind == 2:
        rng.shuffle(changed)
    elif changed.size and kind == 3:
        changed[:] = changed[rng.randrange(changed.size)]
    else:
        for _ in range(min(changed.size, rng.choice([1, 1, 2, 8]))):
            value = rng.choice([*NUMBERS, changed[rng.randrange(changed.size)]])
            with np.errstate(all="ignore"):
                changed[rng.randrange(changed.size)] = fitting(value, changed.dtype)
    return changed.reshape(array.shape)


def fitting(value, dtype):
    if dtype.kind == "f":
        return float(value)
    whole = 0 if value != value else int(max(min(float(value), 2.0**62), -(2.0**62)))
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    return bool(whole) if limits is None else max(min(whole, int(limits.max)), int(limits.min))


def test_states_known_to_have_ended_the_process(made, tmp_path):
    """One for each way in which compiled code would leave its arrays, or never end, if nobody looked."""
    cases = {
        "PARNI": {
            "pair twice": ("own.parni.pairs", lambda a: np.full_like(a, a[0])),
            "no miss": ("own.parni.bucket_miss", np.zeros_like),
            "start beyond": ("own.parni.bucket_start", lambda a: a + 1),
            "odds of a loop": ("own.parni.eta_odds", lambda a: a + np.eye(len(a))),
        },
        "PartitionMCMC": {
            "no part": ("own.walk.integers", np.zeros_like),
            "order": ("own.walk.order", np.zeros_like),
            "level": ("own.walk.level", lambda a: a + 1),
        },
        "OrderMCMC": {"order": ("own.walk.order", np.zeros_like), "level": ("own.walk.level", lambda a: a[::-1] + 1)},
        "MC3": {
            "far arc": ("graph.edges", lambda a: np.full_like(a, 2**31 - 1)),
            "same arc": ("graph.edges", lambda a: np.full_like(a, a[0])),
            "cycle": (
                "graph.edges",
                lambda a: np.concatenate([a[1:], [a[1] >> 16 | (a[1] & 0xFFFF) << 16]], dtype=a.dtype),
            ),
            "countdown": ("recorder.integers", lambda a: a * 0 + [0, 40, 0, a[3]]),
            "buffer": ("recorder.integers", lambda a: np.add(a, [0, 0, 2**40, 0])),
            "late": ("graph.integers", lambda a: np.add(a, [0, 0, 2**40, 0, 0])),
        },
    }
    for sampler, spoilings in cases.items():
        for reason, (name, spoil) in spoilings.items():
            path = fresh_copy(made, tmp_path, sampler)
            manifest, arrays = contents(path)
            arrays[f"chain1.{name}"] = spoil(arrays[f"chain1.{name}"])
            rewritten(path, manifest, arrays)
            assert outcome(path, sampler) is None, reason


def test_starting_graphs_that_are_none(made, tmp_path):
    path = fresh_copy(made, tmp_path)
    manifest, arrays = contents(path)
    arrays["starts"][:] = True
    rewritten(path, manifest, arrays)
    assert outcome(path) is None


class Payload:
    ran = False

    def __reduce__(self):
        return setattr, (Payload, "ran", True)


def test_nothing_is_ever_unpickled(made, tmp_path):
    path = fresh_copy(made, tmp_path)
    evil = np.empty(contents(path)[1]["prior"].shape, object)
    evil[:] = Payload()
    buffer = io.BytesIO()
    np.save(buffer, evil, allow_pickle=True)
    replaced(path, "prior.npy", buffer.getvalue())
    assert outcome(path) is None
    assert not Payload.ran


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_packed_in_other_ways_are_refused(made, tmp_path, method):
    path = fresh_copy(made, tmp_path)
    replaced(path, "prior.npy", b"\x93NUMPY", method)
    assert outcome(path) is None


def test_headers_of_arrays_that_claim_too_much_are_refused(made, tmp_path):
    for header in (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (6, 6000000000000), }",
        "{" * 9000,
        "'a'" * 20_000,
    ):
        path = fresh_copy(made, tmp_path)
        text = header.encode().ljust(118) + b"\n"
        replaced(path, "prior.npy", b"\x93NUMPY\x01\x00" + (len(text) % 65536).to_bytes(2, "little") + text)
        assert outcome(path) is None


def replaced(path, name, content, method=zipfile.ZIP_DEFLATED):
    """Put another member into an archive in the place of one of that name."""
    with zipfile.ZipFile(path) as archive:
        others = {each: archive.read(each) for each in archive.namelist() if each != name}
    with zipfile.ZipFile(path, "w", method) as archive:
        for each, inside in {**others, name: content}.items():
            archive.writestr(each, inside)
