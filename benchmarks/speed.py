"""How fast: iterations a second of CPU time, beside the peers' figures.

python -m benchmarks.speed [--data-dir DIR] [--seconds S] [--skip-commands]

Rates are CPU time of one thread after tuning. Samplers with a search space start from a searched graph in the space of
the PC skeleton and one more parent, which is the kind that the peers use. The peers' figures were measured on another
machine (one core of an AMD EPYC virtual machine), so ratios across machines are rough.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.problems import Problem, load, simulated
from parnidag.samplers import ADR, MC3, PARNI, REV, OrderMCMC, PartitionMCMC
from parnidag.samplers.base import Chain, Sampler, new_chain
from parnidag.space.default import default_skeleton

PEERS = {  # iterations a second
    ("PARNI", "protein"): ("authors' R code", 903),
    ("PARNI", "gsim100"): ("authors' R code", 154),
    ("ADR", "protein"): ("authors' R code", 8_751),
    ("ADR", "gsim100"): ("authors' R code", 855),
    ("OrderMCMC", "gsim100"): ("BiDAG", 12_500),
    ("PartitionMCMC", "gsim100"): ("BiDAG", 1_100),
    ("PartitionMCMC", "protein"): ("BiDAG", 450),
}
GOALS = {
    ("PARNI", "protein"): 600_000,
    ("PARNI", "gsim100"): 150_000,
    ("PARNI", "n=1000"): 60_000,
    ("ADR", "gsim100"): 3_000_000,
    ("OrderMCMC", "gsim100"): 300_000,
    ("PartitionMCMC", "gsim100"): 50_000,
}


def tuned_chain(sampler: Sampler, problem: Problem, tune: int, seed: int = 1) -> Chain:
    target = problem.target
    considered = None if sampler.default_space == "none" else default_skeleton(problem.data, target).considered
    prepared = sampler.prepare(target, considered, seed, chains=1)
    assert prepared.starts is not None
    chain = new_chain(target, prepared.starts[0], seed, 0)
    sampler.begin(target, prepared, chain, tune)
    sampler.advance(target, chain, 10)  # compile
    sampler.advance(target, chain, tune)
    return chain


def rate(sampler: Sampler, problem: Problem, chain: Chain, seconds: float) -> tuple[float, float]:
    """Return iterations a CPU second and evaluated neighbourhoods an iteration; the median of five stretches."""
    steps, rates = 2_000, []
    before = sampler.totals(chain).get("evaluations", 0.0), chain.iteration
    while len(rates) < 5:
        start = time.thread_time()
        sampler.advance(problem.target, chain, steps)
        taken = time.thread_time() - start
        if taken < seconds / 5:
            steps = int(steps * max(1.2, min(10.0, seconds / 5 / max(taken, 1e-4))))
            continue
        rates.append(steps / taken)
    evaluations = (sampler.totals(chain).get("evaluations", 0.0) - before[0]) / (chain.iteration - before[1])
    return float(np.median(rates)), evaluations


def rates_table(data_dir: Path | None, seconds: float) -> Table:
    table = Table(title="iterations a second of CPU time, one chain")
    for heading in ("sampler", "data", "per second", "evaluated", "memo hits", "goal", "peer", "ratio"):
        table.add_column(heading, justify="right" if heading not in ("sampler", "data", "peer") else "left")
    problems = {name: load(name, data_dir) for name in ("protein", "gsim100")}
    problems["n=1000"] = simulated("n=1000, N=200, 1500 edges, simulated", 1000, 1500, 200)
    cases: list[tuple[str, Sampler, str]] = [("PARNI", PARNI(moves="paper"), name) for name in problems]
    cases += [("PARNI mixed", PARNI(), name) for name in problems]
    cases += [("PARNI printed", PARNI(kernel="printed", moves="paper"), name) for name in problems]
    cases += [("ADR", ADR(), name) for name in problems] + [("MC3", MC3(), "gsim100")]
    for sampler in (OrderMCMC(), PartitionMCMC(), REV()):
        cases += [(sampler.name, sampler, name) for name in problems]
    for label, sampler, name in cases:
        problem = problems[name]
        tune = 3_000_000 if sampler.default_space == "none" else 300_000
        chain = tuned_chain(sampler, problem, tune)
        per_second, evaluations = rate(sampler, problem, chain, seconds)
        peer, figure = PEERS.get((label, name), ("", 0))
        goal = GOALS.get((label, name))
        table.add_row(
            label,
            problem.name,
            f"{per_second:,.0f}",
            f"{evaluations:.1f}" if evaluations else "",
            f"{chain.memo_hit_rate:.3f}",
            f"{goal:,}" if goal else "",
            f"{peer} {figure:,}" if figure else "",
            f"{per_second / figure:,.0f}×" if figure else "",
        )
    return table


def threads_line(data_dir: Path | None, seconds: float) -> str:
    """Two chains on two threads against one, in wall time, on the same iterations; the best of three."""
    problem, sampler = load("gsim100", data_dir), PARNI()
    chains = [tuned_chain(sampler, problem, 200_000, seed) for seed in (1, 1)]
    steps = int(rate(sampler, problem, chains[0], seconds)[0] * seconds)
    sampler.advance(problem.target, chains[1], chains[0].iteration - chains[1].iteration)
    gains = []
    for _ in range(3):
        start = time.perf_counter()
        for chain in chains:
            sampler.advance(problem.target, chain, steps)
        alone = time.perf_counter() - start
        start = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda chain: sampler.advance(problem.target, chain, steps), chains))
        gains.append(alone / (time.perf_counter() - start))
    shown = ", ".join(f"{gain:.2f}" for gain in gains)
    return f"two chains on two threads, {os.cpu_count()} cores: {max(gains):.2f}× (runs: {shown})"


def rows_line(seconds: float) -> str:
    """Data of one network with 10³ and with 10⁶ rows: nothing a kernel reads depends on the number of rows."""
    sampler, figures = PARNI(), []
    for rows in (1_000, 1_000_000):
        problem = simulated("", 20, 30, rows)
        chain = tuned_chain(sampler, problem, 200_000)
        per_second, evaluations = rate(sampler, problem, chain, seconds)
        figures.append(1e9 / per_second / evaluations)
    return f"ns an evaluated neighbourhood at N=10³: {figures[0]:.0f}, at N=10⁶: {figures[1]:.0f}"


def memory_line() -> str:
    """A whole default-like run at n = 1000 in a process of its own, four chains."""
    script = (
        "import parnidag; from pathlib import Path; s = parnidag.simulate(nodes=1000, edges=1500, rows=200, seed=1); "
        "p = parnidag.sample(s.values, draws=50, thin=2000, tune=50000, seed=1, progress=False); "
        "p.summary(); p.diagnostics(); status = Path('/proc/self/status').read_text(); "
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return f"peak memory of sample() at n=1000, four chains, summary and diagnostics: {done.stdout.strip()} MB"


def commands_lines() -> list[str]:
    """Wall seconds of the first and the second demo ever, and of --help."""
    command = [sys.executable, "-m", "parnidag"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PARNIDAG_CACHE_DIR": folder}
        lines = []
        for label, words in (("first demo (cold)", ["demo"]), ("second demo", ["demo"]), ("--help", ["--help"])):
            start = time.perf_counter()
            subprocess.run(command + words, env=environment, capture_output=True, check=True)
            lines.append(f"{label}: {time.perf_counter() - start:.2f} s")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder with sachs.csv and gsim100.csv; simulated without it")
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU seconds of each measurement")
    parser.add_argument("--skip-commands", action="store_true", help="leave out the timing of the command line")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(rates_table(options.data_dir, options.seconds))
    console.print(threads_line(options.data_dir, options.seconds))
    console.print(rows_line(options.seconds))
    console.print(memory_line())
    if not options.skip_commands:
        for line in commands_lines():
            console.print(line)


if __name__ == "__main__":
    main()
