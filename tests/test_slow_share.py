"""Every slow test has its turn, and a run can be repeated."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from slow_share import SHARE, TURN, of_this_turn, slow_turn

HERE = Path(__file__).parent
MADE = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("number", range(7))
def test_slow(number): pass

def test_fast(): pass
"""


@pytest.fixture
def folder(tmp_path):
    for name in ("conftest.py", "slow_share.py"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "test_made.py").write_text(MADE)
    return tmp_path


def collected(folder, *words, turn=None):
    environment = {key: value for key, value in os.environ.items() if key not in (TURN, "PYTEST_ADDOPTS")}
    environment |= {"PYTHONPATH": str(folder)} | ({} if turn is None else {TURN: str(turn)})
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    command += ["--collect-only", *words, str(folder)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return set(re.findall(r"test_\w+\[\d\]|test_fast", done.stdout)), done.stdout + done.stderr


def test_each_share_runs_in_its_turn(folder):
    shares = [collected(folder, turn=turn) for turn in range(SHARE)]
    for turn, (names, said) in enumerate(shares):
        assert f"share {turn + 1} of {SHARE} ({TURN}={turn} " in said
        assert "test_fast" in names
    slow = [names - {"test_fast"} for names, _ in shares]
    assert sorted(map(len, slow)) == [2, 2, 3]
    assert len(set.union(*slow)) == 7
    everything, said = collected(folder, "--slow", "all")
    assert everything == set.union(*slow) | {"test_fast"}
    assert "slow tests: share" not in said
    assert f"{TURN}='9'" in collected(folder, turn=9)[1]


def test_one_that_is_asked_for_alone_runs():
    assert all(of_this_turn(["it"], turn) == ["it"] for turn in range(SHARE))
    assert of_this_turn([], 2) == []


def test_the_commit_says_whose_turn_it_is(tmp_path):
    outside = slow_turn({"PATH": os.environ["PATH"]}, tmp_path)
    assert outside in range(SHARE)
    if shutil.which("git") is None:
        pytest.skip("no git")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    turns = set()
    for number in range(20):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
        turns.add(slow_turn({}, tmp_path))
        assert slow_turn({}, tmp_path) == slow_turn({}, tmp_path)
        assert slow_turn({TURN: "1"}, tmp_path) == 1
    assert turns == set(range(SHARE))
