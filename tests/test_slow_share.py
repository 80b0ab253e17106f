"""Every slow test has its turn, and a run can be repeated."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from slow_share import SHARE, TURN, of_this_turn, slow_turn

MADE = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("number", range(7))
def test_slow(number): pass

def test_fast(): pass
"""


def collected(folder, *words, turn=0):
    """What pytest would run in a folder of made tests, and what it says."""
    for name in ("conftest.py", "slow_share.py"):
        shutil.copy(Path(__file__).parent / name, folder)
    (folder / "test_made.py").write_text(MADE)
    environment = {**os.environ, TURN: str(turn), "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "--collect-only", *words]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return set(re.findall(r"test_\w+\[\d\]|test_fast", done.stdout)), done.stdout + done.stderr


def test_each_share_runs_in_its_turn(tmp_path):
    shares = [collected(tmp_path, turn=turn) for turn in range(SHARE)]
    for turn, (_, said) in enumerate(shares):
        assert f"slow tests: share {turn + 1} of {SHARE} ({TURN}={turn} " in said
    names = [names for names, _ in shares]
    assert sorted(map(len, names)) == [3, 3, 4]
    assert set.intersection(*names) == {"test_fast"}
    everything, said = collected(tmp_path, "--slow", "all")
    assert everything == set.union(*names)
    assert len(everything) == 8
    assert "slow tests:" not in said
    assert f"{TURN}='9'" in collected(tmp_path, turn=9)[1]


def test_one_that_is_asked_for_alone_runs():
    assert all(of_this_turn(["it"], turn) == ["it"] for turn in range(SHARE))
    assert of_this_turn([], 2) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_commit_says_whose_turn_it_is(tmp_path, monkeypatch):
    assert slow_turn({}, tmp_path) in range(SHARE)  # outside of git, by the date
    for part in ("AUTHOR", "COMMITTER"):  # the same commits in every run of this test
        for key, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2000-01-01T00:00:00Z")):
            monkeypatch.setenv(f"GIT_{part}_{key}", value)
    git = ["git", "-C", str(tmp_path), "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    turns = set()
    for number in range(12):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
        turns.add(slow_turn({}, tmp_path))
    assert turns == set(range(SHARE))
    assert slow_turn({TURN: "1"}, tmp_path) == 1
