"""Large graphs end to end: seconds and memory of every stage of the default call and of all that follows it.

python -m benchmarks.large [--nodes N] [--edges E] [--rows R] [--draws D] [--warm-up]

Run it in a process of its own, as here: memory that a process once took it may keep. A thread notes the resident memory
twenty times a second; the stages that `sample` timed are laid over its notes. With `--warm-up` a small run in another
process first fills the cache of compiled code, so that no stage waits for the compiler.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import parnidag
from parnidag._util.free_memory import free_bytes
from parnidag.run.memory import memory_need

SECONDS_BETWEEN_NOTES = 0.05
WARM_UP = "import parnidag; t = parnidag.simulate(nodes=30, rows=100, seed=1).values; p = parnidag.sample(t, draws=50)"


def resident_bytes() -> int:
    """Return the memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Notes the resident memory and when that was, until it is stopped."""

    def __init__(self) -> None:
        self.notes: list[tuple[float, int]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_NOTES):
            self.notes.append((time.perf_counter(), resident_bytes()))

    def stop(self) -> None:
        """Note no more."""
        self._stopped.set()
        self._thread.join()

    def peak(self, begin: float, end: float) -> int:
        """Return the most memory in a stretch of time; the note before it counts, for short ones."""
        before = [size for moment, size in self.notes if moment <= end]
        return max([size for moment, size in self.notes if begin <= moment <= end] or before[-1:] or [0])


def measured(values: Any, draws: int) -> tuple[list[tuple[str, float, int]], parnidag.Posterior, Watch]:
    """Run the default call and everything that reads its result; return seconds and peak bytes by stage."""
    watch = Watch()
    rows: list[tuple[str, float, int]] = []
    begin = time.perf_counter()
    posterior = parnidag.sample(values, draws=draws, seed=1)
    end = time.perf_counter()
    timings = dict(posterior.settings["timings"])
    timings.pop("total")
    stages = [("data and target", 0.0), *timings.items()]
    moment = begin
    for stage, seconds in stages:
        rows.append((stage, seconds, watch.peak(moment, moment + seconds)))
        moment += seconds
    rows.append(("the rest of sample", end - moment, watch.peak(moment, end)))
    with tempfile.TemporaryDirectory() as folder:
        file, page = Path(folder) / "posterior.nc", Path(folder) / "report.html"
        after: list[tuple[str, Callable[[], object]]] = [
            ("diagnostics()", posterior.diagnostics),
            ("summary()", posterior.summary),
            ("repr", lambda: repr(posterior)),
            ("consensus_graph()", posterior.consensus_graph),
            ("cpdag_probabilities", lambda: posterior.cpdag_probabilities),
            ("path_probabilities", lambda: posterior.path_probabilities),
            ("save()", lambda: posterior.save(file)),
            ("load()", lambda: parnidag.load(file)),
            ("report()", lambda: posterior.report(page)),
            ("plots.heatmap", lambda: parnidag.plots.heatmap(posterior).figure.savefig(Path(folder) / "heatmap.png")),
            ("plots.graph", lambda: parnidag.plots.graph(posterior).figure.savefig(Path(folder) / "graph.png")),
        ]
        for name, action in after:
            start = time.perf_counter()
            action()
            stop = time.perf_counter()
            rows.append((name, stop - start, watch.peak(start, stop)))
        rows.append(
            (f"file of {file.stat().st_size / 1e6:.1f} MB, report of {page.stat().st_size / 1e6:.1f} MB", 0.0, 0)
        )
    rows.append(("all of sample", end - begin, watch.peak(begin, end)))
    watch.stop()
    return rows, posterior, watch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--edges", type=int, help="1.5 a node by default")
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--warm-up", action="store_true")
    arguments = parser.parse_args()
    if arguments.warm_up:
        subprocess.run([sys.executable, "-c", WARM_UP], check=True)
    network = parnidag.simulate(nodes=arguments.nodes, edges=arguments.edges, rows=arguments.rows, seed=1)
    before = resident_bytes()
    rows, posterior, _ = measured(network.values, arguments.draws)
    table = Table(title=f"n={arguments.nodes}, N={arguments.rows}, {network.adjacency.sum()} edges")
    for heading in ("stage", "seconds", "peak MB"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage, seconds, size in rows:
        table.add_row(stage, f"{seconds:.1f}" if seconds else "", f"{size / 1e6:,.0f}" if size else "")
    console = Console()
    console.print(table)
    console.print(f"before sample: {before / 1e6:,.0f} MB; edges within chains: {posterior.record.statistics['edges']}")
    free = free_bytes()
    need = memory_need(arguments.nodes, chains=4)
    console.print(
        f"estimated need: {need.total / 1e6:,.0f} MB of {'unknown' if free is None else f'{free / 1e6:,.0f} MB'}"
    )
    console.print(posterior.diagnostics().verdict)


if __name__ == "__main__":
    main()
