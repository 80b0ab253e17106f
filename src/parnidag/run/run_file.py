"""The file of a run, an SQLite database: what its chains have drawn and, in a checkpoint, where they stand.

Everything goes in by transactions, so a crash at any moment leaves what the last one wrote. Draws only ever grow. The
rest are bundles, each a page of facts (JSON) with named arrays, which replace one another; digests tell when the file
was damaged. Nothing in it is ever executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from parnidag._util.files import why_not_writable
from parnidag._util.text import one_line
from parnidag.errors import ParnidagError
from parnidag.run.draws import Block

FORMAT = 2
"""Raised whenever an older parnidag could no longer read the file correctly."""
APPLICATION = int.from_bytes(b"pdag")
"""By this SQLite and the command `file` know whose file it is."""
PAGE_BYTES = 1 << 16
"""The largest: a file has megabytes of numbers in a row."""
WAITING_BYTES = 1 << 24
"""Draws beyond this are written though no checkpoint is due, so that any number of them takes little memory."""
PIECE_BYTES = 1 << 28
"""Larger arrays are stored in pieces: SQLite takes a gigabyte at most."""
COMPRESSION = 1
"""Most arrays are mostly zeros: the fastest setting does nearly all there is to do."""
TABLES = (
    "CREATE TABLE bundles (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, facts TEXT, digest TEXT)",
    "CREATE TABLE arrays (bundle INTEGER, name TEXT, dtype TEXT, shape TEXT, piece BLOB)",
    "CREATE TABLE draws (chain INTEGER, first INTEGER, lengths BLOB, codes BLOB, scores BLOB, checksum INTEGER,"
    " PRIMARY KEY (chain, first))",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)
NO_LOCKS = (sqlite3.SQLITE_IOERR_LOCK, sqlite3.SQLITE_IOERR_RDLOCK, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS)
"""What SQLite answers on network file systems that have none."""


class Bundle(NamedTuple):
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class RunFile:
    """A file that belongs to one run as long as it is open; what the disk has no room for waits in memory.

    It is made if there is none, and never changed before the first draws or bundles are written. A temporary one is for
    this run's draws only and goes away when it is closed, or when the process is killed.
    """

    def __init__(self, path: Path, temporary: bool = False) -> None:
        self.path, self._temporary = path, temporary
        self.trouble: str | None = None
        """Why draws or bundles could not be written, if so."""
        self._stored: Counter[int] = Counter()
        """Draws of each chain in the file that count; later ones are made again."""
        self._waiting: list[tuple[int, int, Block]] = []
        self._waiting_bytes, self._most_waiting = 0, WAITING_BYTES
        self._lock = threading.RLock()
        self._made = not path.exists()
        self._connection = _locked(path, temporary)
        self._inode = path.stat()
        _OPEN.add(self)
        if temporary and os.name == "posix":
            path.unlink()  # an open file stays without its name, and is gone whatever ends the process

    # ── draws ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, chain: int, block: Block) -> None:
        """Keep what a chain has drawn next; it waits in memory until there is enough of it, or for the next bundle."""
        self._waiting.append((chain, self.count(chain), block))
        self._waiting_bytes += sum(array.nbytes for array in block)
        if self._waiting_bytes > self._most_waiting:
            self.save({})

    def count(self, chain: int) -> int:
        return self._stored[chain] + sum(len(block.lengths) for owner, _, block in self._waiting if owner == chain)

    def blocks(self, chain: int) -> Iterator[Block]:
        """Go through the draws of a chain from the first, one block in memory at a time."""
        stored, expected = self._stored[chain], 0
        query = "SELECT * FROM draws WHERE chain = ? AND first < ? ORDER BY first"
        with self._reading():
            rows = self._connection.execute(query, (chain, stored)) if stored else ()
            for _, first, lengths, codes, scores, checksum in rows:
                if first != expected or zlib.crc32(lengths + codes + scores) != checksum:
                    raise self.damaged("draws of its chains are missing or changed")
                block = Block(np.frombuffer(lengths, "i4"), np.frombuffer(codes, "i4"), np.frombuffer(scores, "f8"))
                expected += len(block.lengths)
                yield block
        if expected != stored:
            raise self.damaged(f"it holds {expected} of {stored} draws of a chain")
        yield from (block for owner, _, block in self._waiting if owner == chain)

    def go_on_after(self, draws: list[int]) -> None:
        """Go on with so many draws of each chain, after reading them all: damage is better known now than later."""
        with self._lock, self._reading():
            problem = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise self.damaged(problem)
            self._stored = Counter(dict(enumerate(draws)))
            for chain in range(len(draws)):
                for _ in self.blocks(chain):
                    pass

    # ── bundles ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, bundles: dict[str, Bundle]) -> bool:
        """Write the draws that wait, and bundles in place of those of the same names: all of it, or nothing.

        Where the disk refuses, the file stays as it was, `trouble` says why, and a later call may have more luck.
        """
        try:
            if not self._temporary and not os.path.samestat(self.path.stat(), self._inode):
                raise FileNotFoundError(f"{self.path} was replaced by another file")
            with self._connection as connection:  # ends the transaction: all of it, or nothing
                connection.execute("BEGIN IMMEDIATE")
                if self.is_empty:
                    for command in TABLES:
                        connection.execute(command)
                self._insert_waiting()
                for name, bundle in bundles.items():
                    self._replace(name, bundle)
        except (OSError, sqlite3.Error) as error:
            self.trouble = f"{self.path}: {error}" if isinstance(error, sqlite3.Error) else str(error)
            self._most_waiting = self._waiting_bytes + WAITING_BYTES
            return False
        for chain, _, block in self._waiting:
            self._stored[chain] += len(block.lengths)
        self._waiting, self._waiting_bytes, self._most_waiting, self.trouble = [], 0, WAITING_BYTES, None
        return True

    def load(self, name: str) -> Bundle | None:
        """Return a bundle; None if none of this name was ever written."""
        with self._lock, self._reading():
            if self.is_empty and self._inode.st_size == 0:
                return None
            self._check_kind()
            found = self._connection.execute("SELECT id, facts, digest FROM bundles WHERE name = ?", (name,)).fetchone()
            if found is None:
                return None
            number, facts, digest = found
            rows = self._connection.execute(
                "SELECT name, dtype, shape, piece FROM arrays WHERE bundle = ? ORDER BY rowid", (number,)
            ).fetchall()
            if _digest(facts, rows) != digest:
                raise self.damaged("its content was changed")
            return Bundle(json.loads(facts), _assembled(rows))

    @property
    def is_empty(self) -> bool:
        return self._connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def close(self) -> None:
        """Let others have the file; one in which nothing was written goes away."""
        while not self._lock.acquire(timeout=0.1):  # whoever was left behind reading it is told to stop
            self._connection.interrupt()
        try:
            unused = self._temporary or (self._made and self.is_empty)
        except sqlite3.Error:  # closed before
            unused = False
        self._connection.close()
        self._lock.release()
        if unused:
            with contextlib.suppress(OSError):
                self.path.unlink()

    def damaged(self, reason: object) -> ParnidagError:
        return _damaged("checkpoint", self.path, reason)

    def _check_kind(self) -> None:
        application, version = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION:
            raise self.damaged("it is the database of another program")
        if version != FORMAT:
            raise ParnidagError(
                f"checkpoint: {self.path} has format {version}, and this version of parnidag reads format {FORMAT}; "
                "go on with the version that wrote it, or name another file"
            )

    def _insert_waiting(self) -> None:
        for chain in {chain for chain, _, _ in self._waiting}:
            self._connection.execute("DELETE FROM draws WHERE chain = ? AND first >= ?", (chain, self._stored[chain]))
        for chain, first, block in self._waiting:
            parts = [array.tobytes() for array in block]
            self._connection.execute(
                "INSERT INTO draws VALUES (?, ?, ?, ?, ?, ?)", (chain, first, *parts, zlib.crc32(b"".join(parts)))
            )

    def _replace(self, name: str, bundle: Bundle) -> None:
        """Write a bundle, and only then remove the old one: pages that are free already need no copy in the journal."""
        facts = json.dumps(bundle.facts, ensure_ascii=False)
        rows = [row for key, array in bundle.arrays.items() for row in _pieces(key, array)]
        number = self._connection.execute(
            "INSERT INTO bundles (name, facts, digest) VALUES (?, ?, ?)", (name, facts, _digest(facts, rows))
        ).lastrowid
        self._connection.executemany("INSERT INTO arrays VALUES (?, ?, ?, ?, ?)", ((number, *row) for row in rows))
        old = "SELECT id FROM bundles WHERE name = ? AND id < ?"
        self._connection.execute(f"DELETE FROM arrays WHERE bundle IN ({old})", (name, number))
        self._connection.execute("DELETE FROM bundles WHERE name = ? AND id < ?", (name, number))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except ParnidagError:
            raise
        except (sqlite3.Error, ValueError, zlib.error) as error:
            raise self.damaged(error) from error


_OPEN: WeakSet[RunFile] = WeakSet()
_OF_PARENT: list[RunFile] = []


def _leave_to_parent() -> None:
    """Never close the copies that a forked process has: that would change files which are its parent's."""
    _OF_PARENT.extend(_OPEN)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _locked(path: Path, temporary: bool) -> sqlite3.Connection:
    """Open the file, which is made if there is none, and let nobody else use it until it is closed."""
    argument = "output" if temporary else "checkpoint"
    problem = why_not_writable(path)
    if problem is None and path.exists():
        if not path.is_file():  # a pipe would be waited for without end
            problem = "it is no regular file"
        elif not os.access(path, os.W_OK):
            problem = "it may not be written to"
    if problem is not None:
        raise ParnidagError(f"{argument}: cannot write {path}: {problem}; name a file, for example run.ckpt")
    try:
        return _connected(path, temporary)
    except sqlite3.Error as error:
        code = error.sqlite_errorcode
        if code == sqlite3.SQLITE_BUSY:
            raise ParnidagError(
                f"{argument}: another run is writing to {path} at this moment; wait for it, or use another file"
            ) from error
        if code in NO_LOCKS:
            return _connected(path, temporary, "?nolock=1")
        raise _damaged(argument, path, error) from error


def _connected(path: Path, temporary: bool, options: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.absolute().as_uri() + options, uri=True, timeout=0.0, isolation_level=None, check_same_thread=False
    )
    try:
        for command in (
            f"PRAGMA page_size = {PAGE_BYTES}",
            "PRAGMA locking_mode = EXCLUSIVE",
            "PRAGMA secure_delete = OFF",
            *(("PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF") if temporary else ()),
            "BEGIN EXCLUSIVE",
            "ROLLBACK",  # the lock stays
        ):
            connection.execute(command)
    except BaseException:
        connection.close()
        raise
    return connection


def _damaged(argument: str, path: Path, reason: object) -> ParnidagError:
    said = "".join(character if character.isprintable() else "?" for character in one_line(reason))
    return ParnidagError(
        f"{argument}: {path} is damaged, or no checkpoint of this version of parnidag ({said}); remove it, or name "
        "another file"
    )


def _pieces(name: str, array: NDArray[Any]) -> Iterator[tuple[str, str, str, bytes]]:
    content = memoryview(array.tobytes())
    for start in range(0, max(len(content), 1), PIECE_BYTES):
        piece = zlib.compress(content[start : start + PIECE_BYTES], COMPRESSION)
        yield name, array.dtype.str, json.dumps(array.shape), piece


def _assembled(rows: list[tuple[str, str, str, bytes]]) -> dict[str, NDArray[Any]]:
    contents: dict[tuple[str, str, str], bytearray] = {}
    for *header, piece in rows:
        name, dtype, shape = header
        contents.setdefault((name, dtype, shape), bytearray()).extend(zlib.decompress(piece))
    return {
        name: np.frombuffer(content, np.dtype(dtype)).reshape(json.loads(shape))
        for (name, dtype, shape), content in contents.items()
    }


def _digest(facts: str, rows: list[tuple[str, str, str, bytes]]) -> str:
    digest = hashlib.sha256(facts.encode())
    for name, dtype, shape, piece in rows:
        digest.update(f"{name} {dtype} {shape}".encode())
        digest.update(piece)
    return digest.hexdigest()
