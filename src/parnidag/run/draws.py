"""Where the draws of a run are kept while it goes on: in memory, or in a file that only ever grows.

A block is what one segment of one chain has drawn. In the file each block stands behind a short header with a checksum,
so that a file cut short anywhere still gives every whole block before the cut, and a damaged one is noticed. A
checkpoint says how many draws of each chain it knows of; blocks written after it are left out when a run resumes, and
made again, bit for bit.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from parnidag.errors import ParnidagError

_HEADER = struct.Struct("<4sIIII")
"""Mark, chain, draws, codes, checksum of what follows."""
_MARK = b"pdb1"
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

    Parameters
    ----------
    path
        The file. An existing one is read first.
    known
        Draws of each chain that a checkpoint knows of; all others in the file are ignored.
    temporary
        Whether the file goes away when the store is closed.
    """

    def __init__(self, path: Path, known: list[int], temporary: bool = False) -> None:
        self.path, self._temporary = path, temporary
        self._counts = [0] * len(known)
        self._places: list[list[int]] = [[] for _ in known]
        self._waiting: list[tuple[int, Block]] = []
        self.trouble: OSError | None = None
        """Why blocks wait in memory, if they do."""
        exists = any(known)
        try:
            self._file: IO[bytes] = path.open("r+b" if exists else "w+b", buffering=0)
        except OSError as error:
            raise ParnidagError(f"checkpoint: the draws that belong to it cannot be opened: {error}") from error
        _lock(self._file, path)
        self._end = self._find(known) if exists else 0
        self._file.truncate(self._end)

    def _find(self, known: list[int]) -> int:
        """Note where the blocks of each chain are; return where the last one that is needed ends."""
        end = 0
        with self.path.open("rb") as file:
            while self._counts != known:
                header = _read_header(file, len(known))
                if header is None:
                    raise ParnidagError(
                        f"checkpoint: {self.path} is damaged or cut short: it holds {self._counts} of the {known} "
                        "draws that the checkpoint knows of; start again with another checkpoint"
                    )
                chain, draws, codes, _ = header
                if self._counts[chain] + draws <= known[chain]:
                    self._places[chain].append(end)
                    self._counts[chain] += draws
                end += _HEADER.size + _payload_bytes(draws, codes)
                file.seek(end)
        return end

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
        except OSError as error:
            self.trouble = error
            return False
        return True

    def count(self, chain: int) -> int:
        """Return how many draws of a chain there are."""
        return self._counts[chain]

    def blocks(self, chain: int) -> Iterator[Block]:
        """Go through the draws of a chain from the first, one block in memory at a time."""
        with self.path.open("rb") as file:
            for place in self._places[chain]:
                file.seek(place)
                yield self._read(file, chain)
        for owner, block in self._waiting:
            if owner == chain:
                yield block

    def _read(self, file: IO[bytes], chain: int) -> Block:
        header = _read_header(file, len(self._counts))
        if header is not None and header[0] == chain:
            _, draws, codes, checksum = header
            body = file.read(_payload_bytes(draws, codes))
            if len(body) == _payload_bytes(draws, codes) and zlib.crc32(body) == checksum:
                return _parsed(body, draws, codes)
        raise ParnidagError(f"checkpoint: {self.path} is damaged; start again with another checkpoint")

    def close(self) -> None:
        """Close the file, and remove it if it was meant for this run only."""
        self._file.close()
        if self._temporary:
            self.path.unlink(missing_ok=True)


def write_all(file: IO[bytes], content: bytes) -> None:
    """Write to a file without buffer, which may take only a part at a time."""
    view = memoryview(content)
    while view:
        written = file.write(view)
        view = view[written:]


def _payload_bytes(draws: int, codes: int) -> int:
    return 12 * draws + 4 * codes


def _read_header(file: IO[bytes], chains: int) -> tuple[int, int, int, int] | None:
    """Read what is said of the next block; None at the end of the file or where it is damaged."""
    raw = file.read(_HEADER.size)
    if len(raw) < _HEADER.size:
        return None
    mark, chain, draws, codes, checksum = _HEADER.unpack(raw)
    if mark != _MARK or chain >= chains or not 0 < draws <= _MOST_DRAWS or codes > _MOST_CODES:
        return None
    return chain, draws, codes, checksum


def _parsed(body: bytes, draws: int, codes: int) -> Block:
    lengths = np.frombuffer(body, np.int32, draws)
    numbers = np.frombuffer(body, np.int32, codes, offset=4 * draws)
    # The scores begin at a multiple of 4, not of 8, so they are copied to where processors like them.
    scores = np.frombuffer(body[4 * (draws + codes) :], np.float64, draws)
    if lengths.min() < 0 or int(lengths.sum(dtype=np.int64)) != codes:
        raise ParnidagError("checkpoint: the draws that belong to it contradict themselves; start again with another")
    return Block(lengths, numbers, scores)


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a file that another run is writing to; where locks do not exist, nobody is refused."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ParnidagError(
            f"checkpoint: another run is writing to {path} at this moment; wait for it, or use another checkpoint"
        ) from error
    except OSError:
        return  # some network file systems have no locks
