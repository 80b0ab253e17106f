"""Tables that come in pieces (large files, iterators, Dask data frames): each piece is summed up and let go."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw

from parnidag.data.reading import (
    as_frame,
    check_path,
    read_frame,
    read_table,
    readable,
    refuse_names,
    text_form,
)
from parnidag.data.statistics import Checked
from parnidag.data.summarised import finish
from parnidag.data.summary import MismatchError, Options, Summary, summarise
from parnidag.errors import DataError

STREAM_ABOVE = 10**9
"""Bytes that a file's numbers would take in memory, 8 each, beyond which `Data` reads it in batches by itself."""
BATCH_NUMBERS = 1 << 21
"""Numbers in a batch of a file (16 MB)."""
_SAMPLE = 1 << 16  # bytes of a text file from which the number of its rows is estimated


def streams(table: object, interventions: object) -> bool:
    """Ask whether a table is to be read in batches although nobody said so.

    One-pass iterators and Dask data frames are; large files are unless interventions are given by row, which only a
    table in memory can match.
    """
    if isinstance(table, (str, os.PathLike)):
        by_row = interventions is not None and not isinstance(interventions, str)
        return not by_row and bytes_in_memory(Path(table).expanduser()) > STREAM_ABOVE
    return is_dask(table) or (isinstance(table, Iterator) and not isinstance(table, io.IOBase))


def read_batches(
    batches: object, missing: str, names: Sequence[str] | None, kind: str | None, interventions: object
) -> Checked:
    """Sum up a table that comes in pieces and check its contents."""
    if interventions is not None and not isinstance(interventions, str):
        raise DataError(
            "interventions= of a table that is read in batches must be the name of a column of targets, not "
            f"{type(interventions).__name__}: rows are let go, so truth values or numbers of rows cannot be matched"
        )
    given = names if names is None or isinstance(names, str) else list(names)  # they are gone through with each batch
    return finish(_summed_up(batches, Options(missing, given, kind, interventions)), missing, kind)


def _summed_up(batches: object, options: Options) -> Summary:
    if isinstance(batches, (str, os.PathLike)):
        refuse_names(options.names, "a file")
        return _read_file(Path(batches).expanduser(), options)
    if is_dask(batches):
        refuse_names(options.names, "a table that has its own")
        return _on_cluster(batches, options)
    if not isinstance(batches, Iterable) or isinstance(as_frame(batches), (nw.DataFrame, nw.Series)):
        raise DataError(
            "batches must be the path of a file, an iterable of tables or a Dask data frame, got one "
            f"{type(batches).__name__}; a table in memory goes to Data(table)"
        )
    return _not_empty(_added(_numbered(batches, options), options), "")


def _numbered(batches: Iterable[Any], options: Options) -> Iterator[Summary]:
    for number, batch in enumerate(batches, start=1):
        yield summarise_batch(batch, number, options)


def summarise_batch(batch: object, number: int, options: Options) -> Summary:
    """Sum up one table of several; refusals name its number."""
    try:
        table = read_table(_as_table(batch), options.names, options.targets, fewest_rows=0)
        return summarise(table, number, options)
    except DataError as error:
        raise DataError(f"batch {number}: {error}") from None


def _as_table(batch: object) -> object:
    """Make a table of a record batch of pyarrow, which Narwhals does not know."""
    if type(batch).__name__ == "RecordBatch" and type(batch).__module__.partition(".")[0] == "pyarrow":
        return sys.modules["pyarrow"].Table.from_batches([batch])
    return batch


def _added(summaries: Iterator[Summary], options: Options) -> Summary | None:
    whole: Summary | None = None
    for summary in summaries:
        if whole is None:
            whole = summary
        else:
            whole.add(summary, options.kind)
    return whole


def _not_empty(summary: Summary | None, source: str) -> Summary:
    if summary is None:
        raise DataError(f"{source}there are no batches (an iterator can be gone through only once)")
    if summary.n_read == 0:
        raise DataError(f"{source}the table is empty: it has no rows")
    return summary


# ---------------------------------------------------------------------------------------------------------------------
# Files


def bytes_in_memory(path: Path) -> float:
    """Estimate how much memory the numbers of a file would take: Parquet says so, text by its first lines.

    What cannot be read counts as nothing; whoever reads it will say why.
    """
    try:
        with readable(path):
            return _bytes_of_parquet(path) if check_path(path) else _bytes_of_text(path)
    except DataError:
        return 0.0


def _bytes_of_parquet(path: Path) -> float:
    if importlib.util.find_spec("pyarrow") is None:
        return 0.0
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(path.absolute())
    return 8.0 * int(metadata.num_rows) * int(metadata.num_columns)


def _bytes_of_text(path: Path) -> float:
    size = path.stat().st_size
    if 4 * size <= STREAM_ABOVE:  # a number takes at least two characters, its separator among them
        return 0.0
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    marks = max(sample.count(mark) for mark in (b",", b"\t", b";", b" "))
    return 8.0 * (marks + sample.count(b"\n")) / len(sample) * size


def _read_file(path: Path, options: Options) -> Summary:
    source = f"{path.name}: "
    if check_path(path):
        return _not_empty(_of_frames(_parquet_batches(path), source, options), source)
    as_text: set[str] = set()
    while True:
        try:
            return _not_empty(_of_frames(_text_batches(path, as_text), source, options), source)
        except MismatchError as mismatch:
            # Words among numbers make a column text from its first row on, as when the file is read at once.
            if not set(mismatch.columns) - as_text:
                raise
            as_text = as_text | set(mismatch.columns)


def _of_frames(frames: Iterator[Any], source: str, options: Options) -> Summary | None:
    tables = (read_frame(nw.from_native(frame), options.targets, source, fewest_rows=0) for frame in frames)
    return _added((summarise(table, number, options) for number, table in enumerate(tables, start=1)), options)


def _parquet_batches(path: Path) -> Iterator[Any]:
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'parnidag[parquet]'")
    import pyarrow
    import pyarrow.parquet

    # Without pre_buffer=False all row groups would be fetched ahead, and the whole file would be in memory after all.
    with readable(path), pyarrow.parquet.ParquetFile(path.absolute(), pre_buffer=False) as file:
        size = max(1, BATCH_NUMBERS // max(1, file.metadata.num_columns))
        if file.metadata.num_rows == 0:
            yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=size):
            batch.validate(full=True)  # a broken file may hold codes of words that there are not
            yield pyarrow.Table.from_batches([batch])


def _text_batches(path: Path, as_text: set[str]) -> Iterator[Any]:
    with readable(path):
        text = text_form(path)
        pandas = nw.Implementation.PANDAS.to_native_namespace()
        written = {name: label for label, name in zip(text.header, text.names, strict=True)}
        options = text.options | {
            "chunksize": max(1, BATCH_NUMBERS // len(text.header)),
            "dtype": {written[name]: str for name in as_text},
        }
        with pandas.read_csv(path.absolute(), sep=text.separator, **options) as chunks:
            for chunk in chunks:
                yield text.named(nw.from_native(chunk)).to_native()


# ---------------------------------------------------------------------------------------------------------------------
# Dask


def is_dask(table: object) -> bool:
    """Ask whether a table is a Dask data frame, without importing Dask."""
    return type(table).__name__ == "DataFrame" and type(table).__module__.partition(".")[0] in ("dask", "dask_expr")


def _on_cluster(frame: Any, options: Options) -> Summary:
    """Sum up partitions where they are, and merge the summaries in a tree: only summaries travel."""
    dask: Any = importlib.import_module("dask")  # untyped
    sum_up, merge = dask.delayed(summarise_batch, pure=False), dask.delayed(_merged, pure=False)
    level = [sum_up(part, number, options) for number, part in enumerate(frame.to_delayed(), start=1)]
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [merge(*pair, options.kind) if len(pair) == 2 else pair[0] for pair in pairs]
    (summary,) = dask.compute(*level)
    return _not_empty(summary, "")


def _merged(one: Summary, other: Summary, kind: str | None) -> Summary:
    """Merge copies: Dask may run a task again, with the same arguments."""
    one, other = copy.deepcopy(one), copy.deepcopy(other)
    one.add(other, kind)
    return one
