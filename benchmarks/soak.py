"""Very many draws in bounded memory: ``python -m benchmarks.soak --draws 10000000``.

Samples a simulated table with draws a few iterations apart, streams them to a file, opens the file again and asks it
for everything a user would, while a thread notes the memory of the process. Anonymous memory is what the process itself
takes; mapped pages of the file count as resident too, but the system takes them back whenever it needs room.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import warnings
from pathlib import Path

import parnidag

SECONDS_BETWEEN_READINGS = 0.5


class Memory:
    """Reads the memory of this process now and then, in another thread."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, float, float]] = []
        self._began = time.perf_counter()
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_READINGS):
            self.readings.append((time.perf_counter() - self._began, *resident()))

    def peak_since(self, place: int) -> tuple[float, float]:
        """Return the largest anonymous and resident memory since a reading, in MB."""
        self.readings.append((time.perf_counter() - self._began, *resident()))
        chosen = self.readings[place:]
        return max(anonymous for _, anonymous, _ in chosen), max(whole for _, _, whole in chosen)


def resident() -> tuple[float, float]:
    """Return anonymous and all resident memory of this process in MB (Linux)."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "VmRSS"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000_000, help="draws in all, of four chains together")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--thin", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=None, help="where the file goes; a temporary folder by default")
    parser.add_argument("--curve", action="store_true", help="print the memory over time too")
    options = parser.parse_args()
    table = parnidag.simulate(nodes=options.nodes, edges=int(1.6 * options.nodes), rows=100, seed=1)
    parnidag.sample(table.values[:, :20], draws=10, seed=1, progress=False)  # compiles, or loads compiled code
    memory = Memory()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "soak.nc"

        def step(name: str, work) -> object:
            began, place = time.perf_counter(), len(memory.readings)
            result = work()
            anonymous, whole = memory.peak_since(place)
            print(
                f"{name:<22} {time.perf_counter() - began:8.1f} s   {anonymous:8.0f} MB   {whole:8.0f} MB", flush=True
            )
            return result

        print(f"{'':<22} {'time':>10}   {'anonymous':>11}   {'resident':>11}")
        print(f"{'before':<22} {'':>10}   {resident()[0]:8.0f} MB   {resident()[1]:8.0f} MB")
        settings = {"draws": options.draws // 4, "thin": options.thin, "tune": 100_000, "chains": 4, "seed": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            step("sample to a file", lambda: parnidag.sample(table.values, **settings, progress=False, output=path))
        print(f"the file has {path.stat().st_size / 1e9:.2f} GB")
        posterior = step("load", lambda: parnidag.load(path))
        step("edge probabilities", lambda: posterior.edge_probabilities)
        step("summary", posterior.summary)
        step("diagnostics", posterior.diagnostics)
        step("path probabilities", lambda: posterior.path_probabilities)
        step("top graphs", lambda: posterior.top_graphs(5))
        step("report", lambda: posterior.report(Path(folder) / "soak.html"))
    if options.curve:
        print("seconds, anonymous MB, resident MB")
        for reading in memory.readings[:: max(1, len(memory.readings) // 60)]:
            print("{:8.1f} {:9.0f} {:9.0f}".format(*reading))


if __name__ == "__main__":
    main()
