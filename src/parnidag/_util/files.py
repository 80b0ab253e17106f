"""Files: which can be read or written, how they are replaced in one step, and tables as CSV.

Libraries that read tables also fetch addresses, wait at pipes and fill the memory from devices, so `why_not_readable`
is asked first. What is written comes beside its destination and is then renamed: a crash leaves the old file or the new
one, never half.

Spreadsheets run a cell that begins like a formula. As OWASP recommends, such a name in a CSV file gets an apostrophe in
front, and all names are quoted. A name may also hold a character at which some spreadsheets, set to another language,
begin a new cell; what follows it is made safe too. Every reader of this package takes the apostrophes away again.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/")
"""http://, s3:// and the like; one letter is a drive. `Path` makes one slash of two."""

_BEGINS_CELL = r'(?:\A|(?<=[,;"\t\r\n]))'
_RUNS = r"'*[^\S\t\r\n]*[=+\-@＝＋－＠\t\r\n]"
"""What spreadsheets run (some skip white space first), or what looks like it was made safe already."""
_UNSAFE = re.compile(f"{_BEGINS_CELL}(?={_RUNS})")
_MADE_SAFE = re.compile(f"{_BEGINS_CELL}'(?={_RUNS})")


def why_not_readable(path: Path) -> str | None:
    """Say why a path cannot be read as a file, None if it can.

    Examples
    --------
    >>> why_not_readable(Path("https://example.org/table.csv"))
    'is an address, and only files on this computer are read: download it first'
    >>> why_not_readable(Path("no-such-file.csv"))
    'file not found'
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if _ADDRESS.match(str(path)):
            return "is an address, and only files on this computer are read: download it first"
        return "file not found"
    except ValueError:  # a NUL in the name
        return "file not found"
    except OSError as error:  # a loop of links, a name that is too long, a folder that may not be entered
        return f"cannot be opened: {error.strerror}"
    if stat.S_ISDIR(mode):
        return "this is a folder, not a file"
    if not stat.S_ISREG(mode):
        return "this is a pipe or a device, not a regular file: save the table to a file first"
    return None


def why_not_writable(path: Path) -> str | None:
    """Say why no file can be put there; None if one can, as far as is known beforehand."""
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    if path.is_dir():
        return "it is a folder"
    if not os.access(path.parent, os.W_OK):
        return f"the folder {path.parent} may not be written to"
    return None


@contextmanager
def replacing(path: str | os.PathLike[str], example: str = "graph.txt") -> Iterator[Path]:
    """Give a temporary file to fill, and put it in the place of `path` when the block ends without an error.

    It is in the same folder: a rename is one step only within a file system. To those who named a folder, the message
    gives an `example` of a file name.
    """
    target = Path(path)
    problem = why_not_writable(target)
    if problem is not None:
        advice = f"; name a file, for example {example}" if target.is_dir() else ""
        raise ParnidagError(f"path: cannot write {target}: {problem}{advice}")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)
    except UnicodeEncodeError as error:
        raise ParnidagError(
            f"path: the text for {target} has half a character in it ({error.reason}), which no file can hold; "
            "rename the node"
        ) from error
    except OSError as error:
        raise ParnidagError(f"path: cannot write {target}: {error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Bring a new name to the disk too, where folders can be synchronised."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)


class PatientFile(io.FileIO):
    """A file for a library that falls over when a write fails: it is told nothing, and leaving the block raises.

    The HDF5 library ends the process now and then when it is to close a file for which the disk has no room.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.error: OSError | None = None

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        self.close()
        if self.error is not None and (kind is None or issubclass(kind, Exception)):
            raise self.error

    def write(self, content: Buffer) -> int:
        """Write everything, or note why not."""
        left = memoryview(content).cast("B")
        size, end = len(left), self.tell() + len(left)
        try:
            while left and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        self.seek(end)
        return size

    def readinto(self, buffer: Buffer) -> int:
        """Read as much as is asked for; zeros where there is nothing."""
        left = memoryview(buffer).cast("B")
        size = len(left)
        while left and (count := super().readinto(left)):
            left = left[count:]
        left[:] = bytes(len(left))
        return size

    def truncate(self, size: int | None = None) -> int:
        """Set the length, or note why not."""
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return self.tell() if size is None else size


def write_atomically(path: str | os.PathLike[str], text: str, example: str = "graph.txt") -> Path:
    """Write a text in UTF-8, all of it or nothing; line ends stay as they are."""
    with replacing(path, example) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return Path(path)


def escaped(name: str) -> str:
    """Put an apostrophe wherever a spreadsheet would run what follows as a formula.

    Examples
    --------
    >>> escaped("=cmd()"), escaped("a;=1"), escaped("rain"), unescaped(escaped("=cmd()"))
    ("'=cmd()", "a;'=1", 'rain', '=cmd()')
    """
    return _UNSAFE.sub("'", name)


def unescaped(cell: str) -> str:
    """Undo `escaped`."""
    return _MADE_SAFE.sub("", cell)


def write_csv(
    path: str | os.PathLike[str],
    names: Sequence[str],
    values: Any,
    *,
    row_names: Sequence[str] | None = None,
    corner: str = "",
) -> Path:
    """Write a matrix as CSV, all of it or nothing, and floats so that they read back exactly.

    Rows begin with their names, if there are any, under the heading `corner`. `Data` and `as_graph` read the file.
    """
    with replacing(path, "table.csv") as temporary, temporary.open("x", newline="", encoding="utf-8") as file:
        _write_table(file, names, values, row_names, corner)
    return Path(path)


def csv_text(names: Sequence[str], values: Any, *, row_names: Sequence[str] | None = None, corner: str = "") -> str:
    """Return what `write_csv` writes."""
    written = io.StringIO()
    _write_table(written, names, values, row_names, corner)
    return written.getvalue()


def _write_table(file: TextIO, names: Sequence[str], values: Any, row_names: Sequence[str] | None, corner: str) -> None:
    import numpy as np  # only here: the command line asks about files before anything heavy is loaded

    # quotes around all names: a lone carriage return in one would else end the line
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    heading = [escaped(name) for name in names]
    writer.writerow(heading if row_names is None else [corner, *heading])
    for i, row in enumerate(np.asarray(values)):
        writer.writerow(row.tolist() if row_names is None else [escaped(row_names[i]), *row.tolist()])
