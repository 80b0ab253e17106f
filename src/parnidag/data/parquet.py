"""Parquet files: one file at a time, and no larger than the memory.

By pyarrow alone: polars, which could read them too, ends the whole process on some broken files.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import narwhals as nw

from parnidag.errors import DataError

_CELL = 8  # bytes of a number or a code


def read_parquet(path: Path) -> nw.DataFrame[Any]:
    """Read a file alone: names of folders such as "year=2020" are no columns, and "*" is no pattern."""
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'parnidag[parquet]'")
    from pyarrow import parquet, types

    with parquet.ParquetFile(path.absolute()) as file:
        _refuse_unbelievable(path, file.metadata)
        schema = file.schema_arrow
    words = [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]
    # a text that repeats is stored once, and stays so until it is known how long the column would be
    with parquet.ParquetFile(path.absolute(), read_dictionary=words) as file:
        table = file.read()
    table.validate(full=True)  # a broken file may hold codes of words that there are not
    _refuse_long(path, sum(_text_bytes(column) for column in table.select(words).columns))
    return nw.from_native(table.cast(schema), eager_only=True)


def _text_bytes(column: Any) -> int:
    from pyarrow import compute

    lengths = [compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
    return sum(compute.sum(compute.cast(length, "int64")).as_py() or 0 for length in lengths)


def _refuse_long(path: Path, size: int) -> None:
    if 2 * size > _memory():  # once as it is, once while it is read
        raise DataError(f"{path}: its text has {size / 1e9:.3g} GB when unpacked, too much for the memory")


def _refuse_unbelievable(path: Path, metadata: Any) -> None:
    """Refuse what the memory cannot hold, before it is unpacked: a few bytes can stand for any number of rows."""
    rows, columns = metadata.num_rows, metadata.num_columns
    unpacked = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
    needed, memory = max(_CELL * rows * columns, unpacked), _memory()
    if rows < 0 or needed > memory:
        raise DataError(
            f"{path}: the file says that it holds {rows} rows of {columns} columns ({needed / 1e9:.3g} GB), more than "
            f"the memory of this computer ({memory / 1e9:.3g} GB)"
        )


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not on every system
        return float("inf")
