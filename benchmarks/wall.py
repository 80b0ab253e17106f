"""What users wait for, in wall time: two chains on two threads, and the commands."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.harness.workers import ONE_THREAD
from parnidag.samplers.base import Chain, Sampler
from parnidag.target import Target

PILOT_STEPS = 20_000


def wall_figures(
    sampler: Sampler, target: Target, chains: list[Chain], seconds: float, repeats: int, cold: bool
) -> dict[str, float | int | str | None]:
    """Return medians over repeats; `cold` times the first demo ever too."""
    with tempfile.TemporaryDirectory() as folder:
        first = command_seconds(["demo"], Path(folder), {"PARNIDAG_CACHE_DIR": folder}) if cold else None
        cache = {"PARNIDAG_CACHE_DIR": folder} if cold else {}
        if not cold:
            command_seconds(["demo"], Path(folder), cache)  # whatever is not compiled yet
        demos = [command_seconds(["demo"], Path(folder), cache) for _ in range(repeats)]
        helps = [command_seconds(["--help"], Path(folder), cache) for _ in range(repeats)]
    return {
        "threads_gain": float(np.median([threads_gain(sampler, target, chains, seconds) for _ in range(repeats)])),
        "cores": os.cpu_count(),
        "cold_demo_seconds": first,
        "demo_seconds": float(np.median(demos)),
        "help_seconds": float(np.median(helps)),
    }


def threads_gain(sampler: Sampler, target: Target, chains: list[Chain], seconds: float) -> float:
    """Return by how much two chains are faster on two threads than one after the other, on as many iterations."""
    start = time.perf_counter()
    sampler.advance(target, chains[0], PILOT_STEPS)
    sampler.advance(target, chains[1], PILOT_STEPS)
    steps = max(1, int(2 * PILOT_STEPS * seconds / (time.perf_counter() - start)))
    start = time.perf_counter()
    for chain in chains:
        sampler.advance(target, chain, steps)
    alone = time.perf_counter() - start
    start = time.perf_counter()
    with ThreadPoolExecutor(len(chains)) as pool:
        list(pool.map(lambda chain: sampler.advance(target, chain, steps), chains))
    return alone / (time.perf_counter() - start)


def command_seconds(words: list[str], folder: Path, variables: dict[str, str]) -> float:
    """Return the wall seconds of `parnidag …`, run where its files may lie about, on as many threads as it likes."""
    usual = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "parnidag", *words],
        cwd=folder,
        env={**usual, **variables},
        capture_output=True,
        check=True,
    )
    return time.perf_counter() - start
