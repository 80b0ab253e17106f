"""Where the draws of a run are kept while it goes on: in memory, or in a file that only ever grows.

A block is what one segment of one chain has drawn. In the file each block stands behind a short header with a checksum,
so that a file cut short anywhere still gives every whole block before the cut, and a damaged one is noticed. A
checkpoint says how many draws of each chain it knows of; blocks written after it are marked as void when a run resumes,
and made again, bit for bit.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError

_HEADER = struct.Struct("<4sIIII")
"""Mark, chain, draws, codes, checksum of what follows."""
_MARK, _VOID = b"pdb1", b"pdv1"
"""Of a block, and of one that was made again later: a run that had resumed twice would count it twice."""
_NOBODY = -1
_MOST_DRAWS = 1 << 26
_MOST_CODES = 1 << 29
"""No block is larger: a header that claims more is damaged."""


class Block(NamedTuple):
    """Some draws of one chain, in order."""

    lengths: NDArray[np.int32]
    """Edges of each draw."""
    codes: NDArray[np.int32]
    """Their codes parent · n + child, draw by draw, in any order; required edges are left out."""
    scores: NDArray[np.float64]
    """Log posterior of each draw."""


class DrawStore(Protocol):
    """What a run asks of the place where draws go."""

    def append(self, chain: int, block: Block) -> None:
        """Keep what a chain has drawn next."""
        ...

    def count(self, chain: int) -> int:
        """Return how many draws of a chain there are."""
        ...

    def blocks(self, chain: int) -> Iterator[Block]:
        """Go through the draws of a chain from the first."""
        ...

    def close(self) -> None:
        """Let go of files."""
        ...


class MemoryStore:
    """Draws in memory."""

    def __init__(self, chains: int) -> None:
        self._blocks: list[list[Block]] = [[] for _ in range(chains)]
        self._counts = [0] * chains

    def append(self, chain: int, block: Block) -> None:
        """Keep what a chain has drawn next."""
        self._blocks[chain].append(block)
        self._counts[chain] += len(block.lengths)

    def count(self, chain: int) -> int:
        """Return how many draws of a chain there are."""
        return self._counts[chain]

    def blocks(self, chain: int) -> Iterator[Block]:
        """Go through the draws of a chain from the first."""
        return iter(self._blocks[chain])

    def close(self) -> None:
        """Do nothing: there are no files."""


class FileStore:
    """Draws in a file, one block after the other; what the disk has no room for waits in memory.

    An existing file is read and locked, but not changed before `cut` is called: a run that is refused after all leaves
    everything as it was.

    Parameters
    ----------
    path
        The file.
    known
        Draws of each chain that a checkpoint knows of; all others in the file are ignored.
    most_code
        Codes of edges are smaller than this.
    temporary
        Whether the file goes away when the store is closed.
    """

    def __init__(self, path: Path, known: list[int], most_code: int = 1 << 30, temporary: bool = False) -> None:
        self.path, self._temporary, self._most_code = path, temporary, most_code
        self._counts = [0] * len(known)
        self._places: list[list[int]] = [[] for _ in known]
        self._waiting: list[tuple[int, Block]] = []
        self.trouble: OSError | None = None
        """Why blocks wait in memory, if they do."""
        self._unknown: list[int] = []
        """Where blocks are that the checkpoint does not know of, before others that it does."""
        self._file = _opened(path, any(known), "output" if temporary else "checkpoint")
        _OPEN.add(self)
        try:
            _lock(self._file, path)
            self._end = self._find(known)
            if temporary and os.name == "posix":
                path.unlink()  # an open file stays without its name, and is gone whatever ends the process
        except BaseException:
            self._file.close()
            raise

    def _find(self, known: list[int]) -> int:
        """Note where the blocks of each chain are; return where the last one that is needed ends.

        All of them are read: what is damaged is better known now than when the run has ended.
        """
        end, size = 0, os.fstat(self._file.fileno()).st_size
        while any(have < wanted for have, wanted in zip(self._counts, known, strict=True)):
            self._file.seek(end)
            header = _read_header(self._file, len(known))
            if header is None or end + _HEADER.size + _payload_bytes(*header[1:3]) > size:
                raise ParnidagError(
                    f"checkpoint: {self.path} is damaged or cut short: it holds {_few(self._counts)} of the "
                    f"{_few(known)} draws that the checkpoint knows of; start again with another checkpoint"
                )
            chain, draws, codes, _ = header
            if chain != _NOBODY and self._counts[chain] < known[chain]:
                self._read(end, chain)
                self._places[chain].append(end)
                self._counts[chain] += draws
            elif chain != _NOBODY:
                self._unknown.append(end)
            end += _HEADER.size + _payload_bytes(draws, codes)
        if self._counts != known:
            raise ParnidagError(f"checkpoint: {self.path} is of another run; start again with another checkpoint")
        return end

    def cut(self) -> None:
        """Forget what the file has beyond the draws that are known: the run makes it again."""
        try:
            for place in self._unknown:
                self._file.seek(place)
                write_all(self._file, _VOID)
            self._file.truncate(self._end)
        except OSError as error:
            raise ParnidagError(f"checkpoint: {self.path} cannot be written to: {error}") from error

    def append(self, chain: int, block: Block) -> None:
        """Write a block; if the disk has no room it waits in memory, and the file stays as it was."""
        self._counts[chain] += len(block.lengths)
        self._waiting.append((chain, block))
        self.write_waiting()

    def write_waiting(self) -> bool:
        """Write what waits in memory; return whether nothing waits any more."""
        while self._waiting:
            chain, block = self._waiting[0]
            try:
                self._write(chain, block)
            except OSError as error:
                self.trouble = error
                self._forget_rest()
                return False
            self._waiting.pop(0)
        self.trouble = None
        return True

    def _write(self, chain: int, block: Block) -> None:
        body = block.lengths.tobytes() + block.codes.tobytes() + block.scores.tobytes()
        header = _HEADER.pack(_MARK, chain, len(block.lengths), len(block.codes), zlib.crc32(body))
        self._file.seek(self._end)
        write_all(self._file, header + body)
        self._places[chain].append(self._end)
        self._end += len(header) + len(body)

    def _forget_rest(self) -> None:
        """Cut off a block that was only written in part."""
        with contextlib.suppress(OSError):  # the next block is written over it anyway
            self._file.truncate(self._end)

    def sync(self) -> bool:
        """Bring everything to the disk itself; False if something still waits in memory."""
        if not self.write_waiting():
            return False
        try:
            os.fsync(self._file.fileno())
            if not os.path.samestat(self.path.stat(), os.fstat(self._file.fileno())):
                raise FileNotFoundError(f"{self.path} was replaced by another file")
        except OSError as error:
            self.trouble = error
            return False
        return True

    def count(self, chain: int) -> int:
        """Return how many draws of a chain there are."""
        return self._counts[chain]

    def blocks(self, chain: int) -> Iterator[Block]:
        """Go through the draws of a chain from the first, one block in memory at a time."""
        for place in self._places[chain]:  # by the open file, which is there even if its name has gone
            yield self._read(place, chain)
        for owner, block in self._waiting:
            if owner == chain:
                yield block

    def _read(self, place: int, chain: int) -> Block:
        try:
            self._file.seek(place)
            header = _read_header(self._file, len(self._counts))
            if header is not None and header[0] == chain:
                _, draws, codes, checksum = header
                body = read_all(self._file, _payload_bytes(draws, codes))
                if len(body) == _payload_bytes(draws, codes) and zlib.crc32(body) == checksum:
                    return _parsed(body, draws, codes, self._most_code)
        except (OSError, ValueError) as error:
            raise ParnidagError(
                f"checkpoint: {self.path} cannot be read ({error}); start again with another"
            ) from error
        raise ParnidagError(f"checkpoint: {self.path} is damaged; start again with another checkpoint")

    def close(self) -> None:
        """Close the file, and remove it if it was meant for this run only."""
        self._file.close()
        if self._temporary:
            self.path.unlink(missing_ok=True)


_OPEN: WeakSet[FileStore] = WeakSet()


def _leave_to_parent() -> None:
    """Close the copies that a forked process has: it would hold their locks for as long as it lives."""
    for store in list(_OPEN):
        store._file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def write_all(file: IO[bytes], content: bytes) -> None:
    """Write to a file without buffer, which may take only a part at a time."""
    view = memoryview(content)
    while view:
        written = file.write(view)
        view = view[written:]


def read_all(file: IO[bytes], size: int) -> bytes:
    """Read from a file without buffer, which may give only a part at a time; less only at its end."""
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _payload_bytes(draws: int, codes: int) -> int:
    return 12 * draws + 4 * codes


def _read_header(file: IO[bytes], chains: int) -> tuple[int, int, int, int] | None:
    """Read what is said of the next block; None at the end of the file or where it is damaged.

    The chain of a void block is `_NOBODY`.
    """
    raw = read_all(file, _HEADER.size)
    if len(raw) < _HEADER.size:
        return None
    mark, chain, draws, codes, checksum = _HEADER.unpack(raw)
    if mark not in (_MARK, _VOID) or chain >= chains or not 0 < draws <= _MOST_DRAWS or codes > _MOST_CODES:
        return None
    return (chain if mark == _MARK else _NOBODY), draws, codes, checksum


def _parsed(body: bytes, draws: int, codes: int, most_code: int) -> Block:
    lengths = np.frombuffer(body, np.int32, draws)
    numbers = np.frombuffer(body, np.int32, codes, offset=4 * draws)
    # The scores begin at a multiple of 4, not of 8, so they are copied to where processors like them.
    scores = np.frombuffer(body[4 * (draws + codes) :], np.float64, draws)
    if (
        lengths.min() < 0
        or int(lengths.sum(dtype=np.int64)) != codes
        or numbers.min(initial=0) < 0
        or numbers.max(initial=0) >= most_code
    ):
        raise ValueError("its draws contradict themselves")
    return Block(lengths, numbers, scores)


def _few(counts: list[int]) -> str:
    """Show a list of counts, cut short where there are many."""
    return f"[{', '.join(map(str, counts[:8]))}{', …' if len(counts) > 8 else ''}]"


def _opened(path: Path, must_exist: bool, argument: str) -> IO[bytes]:
    """Open the file to read and write, as it is; make it if it need not exist."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(f"{path} is no regular file")
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | (0 if must_exist else os.O_CREAT)
        return open(os.open(path, flags, 0o666), "r+b", buffering=0)  # noqa: PTH123
    except OSError as error:
        raise ParnidagError(f"{argument}: the draws that belong to it cannot be opened: {error}") from error


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a file that another run is writing to; where locks do not exist, nobody is refused."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ParnidagError(
            f"checkpoint: another run is writing to {path} at this moment; wait for it, or use another checkpoint"
        ) from error
    except OSError:
        return  # some network file systems have no locks
