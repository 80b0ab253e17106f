"""How long, and with how much memory, a large file is read in batches.

Run with `python -m benchmarks.big_tables`. A file is written in pieces, never whole in memory, and read in a fresh
process, whose largest size is what the operating system says. `--rows` and `--text-rows` set the sizes of the Parquet
and of the CSV file, `--folder` where they are kept meanwhile (4 GB for ten million rows of fifty numbers).
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

COLUMNS, PIECE = 50, 200_000
READER = """
import resource, sys, time
import parnidag
parnidag.Data
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, work = time.perf_counter(), time.process_time()
data = parnidag.Data.from_batches(sys.argv[1])
took, cpu = time.perf_counter() - start, time.process_time() - work
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{data.n_rows} rows x {data.n_nodes} columns: {took:.1f} s ({cpu:.1f} s of CPU time), "
      f"at most {peak / 1024:.0f} MB (before reading: {base / 1024:.0f} MB)")
"""


def pieces(rows: int):
    """Correlated columns with means and scales of their own, or classes."""
    rng = np.random.default_rng(1)
    mixing = np.eye(COLUMNS) + np.triu(rng.normal(size=(COLUMNS, COLUMNS)) * (rng.random((COLUMNS, COLUMNS)) < 0.05), 1)
    for start in range(0, rows, PIECE):
        size = min(PIECE, rows - start)
        yield rng.normal(size=(size, COLUMNS)) @ mixing * np.logspace(-3, 3, COLUMNS) + np.linspace(-1e3, 1e3, COLUMNS)


def write_parquet(path: Path, rows: int, classes: bool = False):
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"X{j}" for j in range(COLUMNS)]
    schema = pa.schema([(name, pa.int8() if classes else pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=classes) as writer:
        for piece in pieces(rows):
            values = levels_of(piece) if classes else piece
            writer.write_table(pa.table([pa.array(column) for column in values.T], schema=schema))


def levels_of(piece):
    """Noisy copies of four hidden classes of two levels each, so that rows repeat as they do in surveys."""
    rng = np.random.default_rng(len(piece))
    hidden = rng.integers(0, 2, (len(piece), 4), dtype=np.int8)
    return hidden[:, np.arange(COLUMNS) % 4] ^ (rng.random(piece.shape) < 0.01)


def write_text(path: Path, rows: int):
    with path.open("w") as file:
        file.write(",".join(f"X{j}" for j in range(COLUMNS)) + "\n")
        for piece in pieces(rows):
            np.savetxt(file, piece, fmt="%.8g", delimiter=",")


def measure(what: str, path: Path):
    shown = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True)
    print(f"{what}, {path.stat().st_size / 1e9:.2f} GB on disk, {shown.stdout.strip()}", flush=True)
    path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--text-rows", type=int, default=10**6)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for what, name, write, arguments in (
            ("Parquet", "numbers.parquet", write_parquet, (options.rows,)),
            ("Parquet of classes", "classes.parquet", write_parquet, (options.rows, True)),
            ("CSV", "numbers.csv", write_text, (options.text_rows,)),
        ):
            path = Path(folder, name)
            writer = multiprocessing.get_context("spawn").Process(target=write, args=(path, *arguments))
            writer.start()  # in a process of its own: the reader inherits the largest size of the one that starts it
            writer.join()
            measure(what, path)


if __name__ == "__main__":
    main()
