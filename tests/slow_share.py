"""Which of the slow tests run: a third of them, another one with every commit."""

from __future__ import annotations

import datetime
import subprocess

SHARE = 3
"""One of so many slow tests runs unless all are asked for; any that is asked for alone."""

TURN = "PARNIDAG_SLOW_TURN"


def slow_turn(environment, folder):
    """Which share runs: as the environment says, or by the present commit, or outside of git by the date."""
    told = environment.get(TURN)
    if told is not None:
        if told not in map(str, range(SHARE)):
            raise ValueError(f"{TURN}={told!r}: it can be 0 to {SHARE - 1}")
        return int(told)
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return datetime.date.today().toordinal() % SHARE
    return int(found.stdout, 16) % SHARE


def of_this_turn(slow, turn):
    return slow[turn % min(SHARE, len(slow)) :: SHARE] if slow else []
