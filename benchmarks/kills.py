"""Do runs survive being killed? Every sampler is killed again and again, and its result compared with a whole run.

    python -m benchmarks.kills [kills of each sampler]

The run is in a process of its own (tests/killed_run.py), ended by SIGKILL at a random moment after its checkpoint has
last changed, and started again. When it has been killed often enough it goes on to its end here. A result is the same
only if every array is, bit for bit.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from stopped_runs import SAMPLERS, contents, differences, run
from test_checkpoint_kills import kill_a_run

DRAWS = {"PARNI": 8000, "ADR": 400_000, "MC3": 400_000, "REV": 100_000}
MANY_DRAWS = 30_000
"""Enough that chains are not at their end when they are killed for the last time."""
LONGEST_WAIT = 0.3


def measure(sampler, kills, moments):
    """Kill one sampler; return how often it was, how far it had come, how it ended, and the seconds in all."""
    draws, began = DRAWS.get(sampler, MANY_DRAWS), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        killed = sum(kill_a_run(sampler, path, draws, LONGEST_WAIT * moments.random()) for _ in range(kills))
        done = min(chain["draws"] for chain in contents(path).facts["chains"]) / draws
        wrong = differences(run(sampler, checkpoint=path, draws=draws), run(sampler, draws=draws))
    return killed, done, wrong, time.perf_counter() - began


def main():
    kills, moments = int(sys.argv[1]) if len(sys.argv) > 1 else 4, random.Random(1)
    print(f"{'sampler':<15} {'killed':>6} {'done by then':>12} {'seconds':>8}  result")
    for sampler in SAMPLERS:
        killed, done, wrong, seconds = measure(sampler, kills, moments)
        told = "the same, bit for bit" if not wrong else f"DIFFERS in {', '.join(wrong)}"
        print(f"{sampler:<15} {killed:>6} {done:>12.0%} {seconds:>8.1f}  {told}", flush=True)


if __name__ == "__main__":
    main()
