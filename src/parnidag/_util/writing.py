"""Files written beside their destination and then renamed: a crash leaves the old one or the new one, never half."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from parnidag.errors import ParnidagError

if TYPE_CHECKING:
    from typing_extensions import Buffer


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

    Parameters
    ----------
    path : path
        The file to write; an existing one is replaced.
    example : str
        A file name for the message to those who named a folder.

    Yields
    ------
    pathlib.Path
        The file to write now. It is in the same folder: a rename is one step only within a file system.
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
    r"""Write a text in UTF-8, all of it or nothing; line ends stay as they are.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    text : str
        What it shall hold.
    example : str
        A file name for the message to those who named a folder.

    Returns
    -------
    pathlib.Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "notes.txt", "rain → wet\n").read_text(encoding="utf-8")
    'rain → wet\n'
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParnidagError(
            f"path: the text for {path} has half a character in it ({error.reason}), which no file can hold; "
            "rename the node"
        ) from error
    with replacing(path, example) as temporary:
        temporary.write_bytes(content)
    return Path(path)
