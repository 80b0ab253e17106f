"""Tables that come in pieces (large files, iterators, Dask data frames): each piece is summed up and let go."""

from __future__ import annotations

import copy
import importlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import narwhals as nw

from parnidag.data import files
from parnidag.data.reading import as_frame, read_frame, read_table, refuse_names
from parnidag.data.summary import MismatchError, Options, Summary, summarise
from parnidag.errors import DataError


def streams(table: object, interventions: object) -> bool:
    """Ask whether a table is to be read in batches although nobody said so.

    One-pass iterators and Dask data frames are; large files are unless interventions are given by row, which only a
    table in memory can match.
    """
    if isinstance(table, (str, os.PathLike)):
        by_row = interventions is not None and not isinstance(interventions, str)
        return not by_row and files.bytes_in_memory(Path(table).expanduser()) > files.STREAM_ABOVE
    return is_dask(table) or (isinstance(table, Iterator) and not isinstance(table, io.IOBase))


def sum_up(batches: object, options: Options) -> Summary:
    if options.interventions is not None and options.targets is None:
        raise DataError(
            "interventions= of a table that is read in batches must be the name of a column of targets, not "
            f"{type(options.interventions).__name__}: rows are let go, so truth values or numbers of rows cannot be "
            "matched"
        )
    if isinstance(batches, (str, os.PathLike)):
        refuse_names(options.names, "a file")
        return _of_file(Path(batches).expanduser(), options)
    if is_dask(batches):
        refuse_names(options.names, "a table that has its own")
        return _on_cluster(batches, options)
    if not isinstance(batches, Iterable) or isinstance(as_frame(batches), (nw.DataFrame, nw.Series)):
        raise DataError(
            "batches must be the path of a file, an iterable of tables or a Dask data frame, got one "
            f"{type(batches).__name__}; a table in memory goes to Data(table)"
        )
    return _added((summarise_batch(batch, number, options) for number, batch in enumerate(batches, start=1)), options)


def summarise_batch(batch: object, number: int, options: Options) -> Summary:
    """Sum up one table of several; refusals name its number."""
    try:
        if type(batch).__name__ == "RecordBatch" and _library(batch) == "pyarrow":  # Narwhals does not know these
            batch = sys.modules["pyarrow"].Table.from_batches([batch])
        table = read_table(batch, options.names, options.targets, 0, options.wanted(is_part=True))
        return summarise(table, number, options)
    except DataError as error:
        raise DataError(f"batch {number}: {error}") from None


def _library(table: object) -> str:
    return type(table).__module__.partition(".")[0]


def _added(summaries: Iterator[Summary], options: Options, source: str = "") -> Summary:
    whole = next(summaries, None)
    if whole is None:
        raise DataError(f"{source}there are no batches (an iterator can be gone through only once)")
    for summary in summaries:
        whole.add(summary, options.kind)
    if whole.tally.n_read == 0:
        raise DataError(f"{source}the table is empty: it has no rows")
    return whole


def _of_file(path: Path, options: Options) -> Summary:
    source = f"{path.name}: "
    as_text: set[str] = set()
    while True:
        frames = files.file_batches(path, as_text)
        wanted = options.wanted(as_text, is_part=True)
        tables = (read_frame(frame, options.targets, source, 0, wanted) for frame in frames)
        try:
            summaries = (summarise(table, number, options) for number, table in enumerate(tables, start=1))
            return _added(summaries, options, source)
        except MismatchError as mismatch:
            # Words among numbers make a column text from its first row on, as when the file is read at once.
            if files.is_parquet(path) or not set(mismatch.columns) - as_text:
                raise
            as_text = as_text | set(mismatch.columns)


def is_dask(table: object) -> bool:
    return type(table).__name__ == "DataFrame" and _library(table) in ("dask", "dask_expr")


def _on_cluster(frame: Any, options: Options) -> Summary:
    """Sum up partitions where they are, and merge the summaries in a tree: only summaries travel."""
    dask: Any = importlib.import_module("dask")  # untyped
    sum_up, merge = dask.delayed(summarise_batch, pure=False), dask.delayed(_merged, pure=False)
    level = [sum_up(part, number, options) for number, part in enumerate(frame.to_delayed(), start=1)]
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [merge(*pair, options.kind) if len(pair) == 2 else pair[0] for pair in pairs]
    return _added(iter(dask.compute(*level)), options)


def _merged(one: Summary, other: Summary, kind: str | None) -> Summary:
    """Merge copies: Dask may run a task again, with the same arguments."""
    one, other = copy.deepcopy(one), copy.deepcopy(other)
    one.add(other, kind)
    return one
