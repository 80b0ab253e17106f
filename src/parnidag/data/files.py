"""Files of tables, whole or in batches: text by pandas, Parquet by pyarrow.

Not by polars, which could read both: it ends the whole process on some broken Parquet files.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw

from parnidag._util.files import unescaped, why_not_readable
from parnidag._util.text import is_number_text, one_line, shorten
from parnidag.data.columns import checked_names, is_row_name, refuse_duplicate_names, refuse_too_many
from parnidag.errors import DataError

STREAM_ABOVE = 10**9
"""Bytes that a file's numbers would take in memory, 8 each, beyond which `Data` reads it in batches by itself."""
BATCH_NUMBERS = 1 << 21
"""Numbers in a batch of a file (16 MB)."""
_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t;,|", ".txt": "\t,;|"}
"""What columns may be separated by, the likeliest first."""
_EMPTY = ("", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "-nan", "NULL", "null")
"""What pandas is to read as an empty cell. "None" is not among them: it may be a class, such as no treatment."""
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_RAGGED = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
"""How pandas puts it."""
_GLANCE = 1 << 16  # bytes that tell a text from something else, and how many rows it has
_CELL = 8  # bytes of a number or a code


def read_file(path: Path) -> nw.DataFrame[Any]:
    with _readable(path):
        if is_parquet(path):
            return _read_parquet(path)
        text = _text_form(path)
        return text.named(text.read())


def file_batches(path: Path, as_text: set[str]) -> Iterator[nw.DataFrame[Any]]:
    """Read a file in batches; of a text file, the columns `as_text` are text whatever they hold."""
    with _readable(path):
        yield from _parquet_batches(path) if is_parquet(path) else _text_batches(path, as_text)


def bytes_in_memory(path: Path) -> float:
    """Estimate how much memory the numbers of a file would take: Parquet says so, text by its first lines.

    What cannot be read counts as nothing; an attempt to read it will say why.
    """
    try:
        with _readable(path):
            return _bytes_of_parquet(path) if is_parquet(path) else _bytes_of_text(path)
    except DataError:
        return 0.0


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() in _PARQUET_SUFFIXES


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Refuse what is no file of a known kind, and turn the errors of the libraries that read it into a `DataError`."""
    known, suffix = _TEXT_SUFFIXES + _PARQUET_SUFFIXES, path.suffix.lower()
    if suffix not in known:
        raise DataError(f"{path}: unknown kind of file {suffix or '(no suffix)'!r}; known are {', '.join(known)}")
    problem = why_not_readable(path)
    if problem is not None:
        raise DataError(f"{path}: {problem}")
    try:
        yield
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not readable as UTF-8 text, so save it as such: {one_line(error)}") from error
    except MemoryError as error:
        raise DataError(f"{path}: the table needs more memory than there is") from error
    except Exception as error:  # each reader has errors of its own
        if ragged := _RAGGED.search(str(error)):
            expected, line, found = ragged.groups()
            reason = f"line {line} has {found} cells where those before it have {expected}"
            raise DataError(f"{path}: {reason}: put cells with a separator inside between quotes") from error
        raise DataError(f"{path}: not readable: {one_line(error) or type(error).__name__}") from error


# ---------------------------------------------------------------------------------------------------------------------
# Text


def file_name(table: object) -> str | None:
    """Return the name of a table's file, without its folder; None if the table is no file."""
    return Path(table).name if isinstance(table, str | os.PathLike) else None


class TextForm(NamedTuple):
    """How a text file is written, and what its columns are called."""

    path: Path
    separator: str
    header: list[str]
    names: tuple[str, ...]

    def read(self, **options: Any) -> Any:
        """Let pandas read the file.

        It must never turn a column into row labels on its own, take a relative path such as "http:/x.csv" for an
        address, or unpack anything.
        """
        import pandas

        return pandas.read_csv(
            self.path.absolute(),
            sep=r"\s+" if self.separator == " " else self.separator,
            index_col=False,
            low_memory=False,
            encoding="utf-8-sig",
            compression=None,
            keep_default_na=False,
            na_values=_EMPTY,
            **options,
        )

    def named(self, native: Any) -> nw.DataFrame[Any]:
        """Give the columns of what pandas has read their names, if it has read the first line as it stands."""
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        if frame.columns != self.header:
            source = self.path.name
            raise DataError(f"{source}: the first line can be read in two ways; put quotes around all column names")
        renamed = {old: new for old, new in zip(self.header, self.names, strict=True) if old != new}
        return frame.rename(renamed) if renamed else frame


def _text_batches(path: Path, as_text: set[str]) -> Iterator[nw.DataFrame[Any]]:
    text = _text_form(path)
    kinds = {label: str for label, name in zip(text.header, text.names, strict=True) if name in as_text}
    with text.read(chunksize=max(1, BATCH_NUMBERS // len(text.header)), dtype=kinds) as chunks:
        yield from map(text.named, chunks)


def _bytes_of_text(path: Path) -> float:
    size = path.stat().st_size
    if 4 * size <= STREAM_ABOVE:  # a number takes at least two characters, its separator among them
        return 0.0
    with path.open("rb") as file:
        sample = file.read(_GLANCE)
    marks = max(sample.count(mark) for mark in (b",", b"\t", b";", b"|", b" "))
    return float(_CELL) * (marks + sample.count(b"\n")) / len(sample) * size


def _text_form(path: Path) -> TextForm:
    """Check the first lines of a text file, and say how it is to be read."""
    with path.open("rb") as bytes_:
        if b"\0" in bytes_.read(_GLANCE):
            raise DataError(f"{path}: not readable as UTF-8 text (it has zero bytes), so save it as such")
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = (line for line in file if line.strip())
        first = next(lines, None)
        if first is None:
            raise DataError(f"{path}: the file is empty")
        separator = _separator(first, path.suffix.lower())
        blank = separator == " "  # then any run of blanks is one separator
        text = (line.strip() if blank else line for line in chain([first], lines))
        records = csv.reader(text, delimiter=separator, skipinitialspace=blank)
        header, row = next(records), next(records, [])
    refuse_too_many(len(header), f"{path.name}: ")
    named = set(header)
    header = [name or _name_of_pandas(place, named) for place, name in enumerate(header)]
    return TextForm(path, separator, header, _check_header(path, header, row, separator))


def _name_of_pandas(place: int, named: set[str]) -> str:
    """Return what pandas calls a column without a name."""
    name = f"Unnamed: {place}"
    return f"{name}.1" if name in named else name


def _separator(header: str, suffix: str) -> str:
    """Guess from the first line what separates columns: what occurs most, outside of quoted names."""
    marks, unquoted = _SEPARATORS[suffix], re.sub('"[^"]*"', "", header)
    found = max(marks, key=unquoted.count)  # the first of equals
    return found if found in unquoted else " " if suffix == ".txt" else marks[0]


def _check_header(path: Path, header: list[str], row: list[str], separator: str) -> tuple[str, ...]:
    """Return the names, refusing what pandas would quietly repair: repeated names, row names, no header, no columns."""
    source = f"{path.name}: "
    if len(header) == 1:
        raise DataError(
            f"{source}only 1 column when split at {separator!r}: check the separator (commas, semicolons, tabs and "
            "bars are known; in a .txt blanks, too)"
        )
    if len(row) > len(header):
        raise DataError(
            f"{source}the first row has {len(row)} fields, the header {len(header)}: remove the unnamed column "
            "(saved row names?) or name it in the header"
        )
    refuse_duplicate_names(header, source)
    names = tuple(map(unescaped, header))
    checked_names((name for name in names if not is_row_name(name)), source)  # row names may be left out later
    if all(map(is_number_text, names)) and not all(name.strip().isdigit() for name in names):
        raise DataError(f"{source}the first line holds numbers ({shorten(names)}): it must hold the column names")
    return names


# ---------------------------------------------------------------------------------------------------------------------
# Parquet


def _parquet(path: Path) -> Any:
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install 'parnidag[parquet]'")
    return importlib.import_module("pyarrow.parquet")


def _read_parquet(path: Path) -> nw.DataFrame[Any]:
    """Read a file alone: names of folders such as "year=2020" are no columns, and "*" is no pattern."""
    with _parquet(path).ParquetFile(path.absolute()) as file:
        _refuse_unbelievable(path, file.metadata)
        table = file.read()
    table.validate(full=True)  # a broken file may hold codes of words that there are not
    return nw.from_native(table, eager_only=True)


def _parquet_batches(path: Path) -> Iterator[nw.DataFrame[Any]]:
    parquet = _parquet(path)
    from pyarrow import Table

    # Without pre_buffer=False all row groups would be fetched ahead, and the whole file would be in memory after all.
    with parquet.ParquetFile(path.absolute(), pre_buffer=False) as file:
        size = max(1, BATCH_NUMBERS // max(1, file.metadata.num_columns))
        if file.metadata.num_rows == 0:
            yield nw.from_native(file.schema_arrow.empty_table(), eager_only=True)
        for batch in file.iter_batches(batch_size=size):
            batch.validate(full=True)
            yield nw.from_native(Table.from_batches([batch]), eager_only=True)


def _bytes_of_parquet(path: Path) -> float:
    metadata = _parquet(path).read_metadata(path.absolute())
    return float(_CELL) * int(metadata.num_rows) * int(metadata.num_columns)


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
