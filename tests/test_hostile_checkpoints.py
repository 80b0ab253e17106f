"""Checkpoints that were damaged, or are something else: refused in one line, and left as they are."""

import os
import pickle
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from hostile import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stopped_runs import contents, differences, rewritten, run, stopped

from parnidag import ParnidagError


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A checkpoint in the middle of drawing."""
    return stopped(tmp_path_factory.mktemp("made") / "run.ckpt", "MC3", 11)


@pytest.fixture(scope="module")
def whole():
    return run("MC3")


def outcome(path):
    """The result of going on, or None if that was refused: in one line, and nothing was changed."""
    before = path.read_bytes()
    try:
        return run("MC3", checkpoint=path)
    except ParnidagError as error:
        said = str(error)
    assert said.startswith("checkpoint: ")
    assert "\n" not in said
    assert len(said) < 1000
    assert path.read_bytes() == before
    return None


def zipped(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")


def execute(path, command):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(command)


OTHERS = {
    "the format of old": zipped,
    "another program's database": lambda path: execute(path, "CREATE TABLE other (number INTEGER)"),
    "zeros": lambda path: path.write_bytes(bytes(1000)),
    "pickle": lambda path: path.write_bytes(pickle.dumps({"a": 1})),
    "text": lambda path: path.write_text("not a checkpoint " * 100),
    "a short text": lambda path: path.write_text("x"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_files_are_refused(tmp_path, kind):
    path = tmp_path / "run.ckpt"
    OTHERS[kind](path)
    assert outcome(path) is None
    assert [each.name for each in tmp_path.iterdir()] == ["run.ckpt"]


def test_an_empty_file_is_as_good_as_none(tmp_path, whole):
    path = tmp_path / "run.ckpt"
    path.touch()
    assert differences(outcome(path), whole) == []


def test_a_file_of_another_format_is_refused(made, tmp_path):
    path = Path(shutil.copy(made, tmp_path))
    execute(path, "PRAGMA user_version = 99")
    with pytest.raises(ParnidagError, match="has format 99, and this version of parnidag reads format"):
        run("MC3", checkpoint=path)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_bytes_are_refused_or_do_not_matter(made, whole, tmp_path, data):
    path = Path(shutil.copy(made, tmp_path))
    path.write_bytes(damaged(path.read_bytes(), data))
    result = outcome(path)
    # Much of a page is empty, and an empty file is none.
    assert result is None or differences(result, whole) == []


@pytest.mark.parametrize(
    "command",
    [
        "UPDATE bundles SET facts = replace(facts, '0.0', '0.5') WHERE name = 'chains'",
        "UPDATE arrays SET piece = zeroblob(20) WHERE name = '0.graph.visits'",
        "DELETE FROM arrays WHERE name = '0.graph.visits'",
        "DELETE FROM bundles WHERE name = 'chains'",
        "UPDATE draws SET codes = zeroblob(length(codes)) WHERE first = 0",
        "DELETE FROM draws WHERE chain = 1 AND first = 0",
        "DROP TABLE draws",
    ],
)
def test_what_was_lost_or_changed_is_noticed(made, tmp_path, command):
    path = Path(shutil.copy(made, tmp_path))
    execute(path, command)
    assert outcome(path) is None


def test_an_array_of_another_shape_is_refused(made, tmp_path):
    path = Path(shutil.copy(made, tmp_path))
    chains = contents(path)
    chains.arrays["0.graph.visits"] = chains.arrays["0.graph.visits"][:-1]
    rewritten(path, chains=chains)
    with pytest.raises(ParnidagError, match=r"graph\.visits is int64 of shape \(5, 6\), a chain of this run has"):
        run("MC3", checkpoint=path)


def test_strange_places(tmp_path):
    with pytest.raises(ParnidagError, match="is a folder"):
        run("MC3", checkpoint=tmp_path)
    with pytest.raises(ParnidagError, match="does not exist"):
        run("MC3", checkpoint=tmp_path / "none" / "run.ckpt")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ParnidagError, match="no regular file"):
        run("MC3", checkpoint=tmp_path / "pipe")
