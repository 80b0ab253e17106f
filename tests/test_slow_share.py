"""Every slow test has its turn, and a run can be repeated."""

import datetime
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from slow_share import DATE, SHARE, date_of_tests, of_this_turn

MADE = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("number", range(7))
def test_slow(number): pass

def test_fast(): pass
"""


def collected(folder, *words, date="2026-01-31"):
    """What pytest would run in a folder of made tests, and what it says."""
    for name in ("conftest.py", "slow_share.py"):
        shutil.copy(Path(__file__).parent / name, folder)
    (folder / "test_made.py").write_text(MADE)
    environment = {**os.environ, DATE: date, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "--collect-only", *words]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return set(re.findall(r"test_\w+\[\d\]|test_fast", done.stdout)), done.stdout + done.stderr


def test_each_share_runs_within_as_many_days(tmp_path):
    days = ["2026-01-31", "2026-02-01", "2026-02-02"]
    shares = [collected(tmp_path, date=day) for day in days]
    for day, (_, said) in zip(days, shares, strict=True):
        assert f"slow tests: the share of {day}, one of {SHARE} ({DATE}={day} " in said
    names = [names for names, _ in shares]
    assert sorted(map(len, names)) == [3, 3, 4]
    assert set.intersection(*names) == {"test_fast"}
    everything, said = collected(tmp_path, "--slow", "all")
    assert everything == set.union(*names)
    assert len(everything) == 8
    assert "slow tests:" not in said
    assert f"{DATE}='tomorrow'" in collected(tmp_path, date="tomorrow")[1]


def test_one_that_is_asked_for_alone_runs():
    days = [datetime.date(2026, 1, day) for day in range(1, 1 + SHARE)]
    assert all(of_this_turn(["it"], day) == ["it"] for day in days)
    assert of_this_turn([], days[0]) == []


def test_the_date_is_today_unless_it_is_told():
    days = {datetime.datetime.now(datetime.UTC).date()}
    found = date_of_tests({})
    assert found in days | {datetime.datetime.now(datetime.UTC).date()}
    assert date_of_tests({DATE: "2026-11-19"}) == datetime.date(2026, 11, 19)
