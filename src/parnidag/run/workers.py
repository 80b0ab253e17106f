"""What runs in workers: one segment of one chain, a pure function wherever it runs.

Segments of one run share their work: sampler, target and candidate tables, which can be large. It is kept on a shelf in
every process and travels to each once. In this process threads find it there and advance chains in place. Elsewhere a
chain travels as bytes: a worker that dies, or a task that a cluster runs twice, changes nothing here.

What a segment raises comes back as its result. So whatever an executor raises itself is about workers, never about the
score, and only that is worth another try.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
import traceback
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.kernels.dag import Scratch
from parnidag.run.chain_log import joined, take_draws
from parnidag.run.draws import Block
from parnidag.run.travel import Arrays, arrays_of, pack, unpack
from parnidag.samplers.base import Chain, Sampler
from parnidag.tables.build import CandidateTables
from parnidag.target import Target

KEPT_RUNS = 4
"""Runs whose work a process keeps: a worker of a cluster lives longer than they do."""


@dataclass(frozen=True)
class Work:
    """What all segments of a run share."""

    sampler: Sampler
    target: Target
    tables: CandidateTables | None
    home: tuple[str, int]
    """Where the run itself is: host and process."""
    base: Arrays
    """A chain as it was when the run began; of travelling ones only what differs from it is sent. Empty if none do."""
    scratches: list[Scratch] = field(default_factory=list, compare=False)
    """Working memory to be used again: what it remembers never changes a result."""

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "scratches": []}


class Segment(NamedTuple):
    """What a segment leaves behind."""

    chain: Chain
    draws: Block | None
    done: int
    seconds: float
    """CPU time."""


class Failure(NamedTuple):
    """What a segment raised."""

    error: Exception


def here() -> tuple[str, int]:
    """Return which process of which machine this is."""
    return socket.gethostname(), os.getpid()


_SHELF: OrderedDict[str, Work] = OrderedDict()
_SHELF_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):  # a process forked while another thread holds the lock could never take it
    os.register_at_fork(
        before=_SHELF_LOCK.acquire, after_in_parent=_SHELF_LOCK.release, after_in_child=_SHELF_LOCK.release
    )


def put_on_shelf(key: str, work: Work) -> None:
    """Keep the work of a run, in place of the one used longest ago."""
    with _SHELF_LOCK:
        _SHELF[key] = work
        while len(_SHELF) > KEPT_RUNS:
            _SHELF.popitem(last=False)


def take_off_shelf(key: str) -> None:
    """Forget the work of a run."""
    with _SHELF_LOCK:
        _SHELF.pop(key, None)


def _from_shelf(key: str) -> Work | None:
    with _SHELF_LOCK:
        work = _SHELF.get(key)
        if work is not None:
            _SHELF.move_to_end(key)
        return work


def run_segment(work: Work, chain: Chain, steps: int) -> Segment:
    """Advance a chain in place by `steps` iterations, emptying its buffer of draws as often as it fills."""
    began = time.thread_time()
    blocks: list[Block] = []
    done = 0
    while done < steps:
        made = work.sampler.advance(work.target, chain, steps - done)
        done += made
        block = take_draws(chain)
        if block is not None:
            blocks.append(block)
        elif made == 0:
            raise ParnidagError(f"the sampler {work.sampler.name} makes no step and no draw")
    work.target.check_score()
    return Segment(chain, joined(blocks), done, time.thread_time() - began)


def local_segment(work: Work, chain: Chain, steps: int) -> Segment | Failure:
    """Run a segment in this process, in place."""
    try:
        return run_segment(work, chain, steps)
    except Exception as error:
        return Failure(error)


def packed(work: Work) -> bytes:
    """Return the work of a run as it travels.

    cloudpickle, which Dask and loky bring along, also sends functions of a notebook, and those without a name.
    """
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        content: bytes = dumps(work, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # whatever users' own objects raise
        raise ParnidagError(
            f"executor: {work.target.score} cannot be sent to another process ({' '.join(str(error).split())}); "
            "a function at the top of a module can, and threads (executor=None) need nothing sent"
        ) from error
    return content


def packed_chain(chain: Chain, work: Work) -> bytes:
    """Return a chain as it travels: without what all chains share, and without working memory."""
    return pack(_alone(chain), work.base)


def base_of(chain: Chain) -> Arrays:
    """Return the arrays of a chain as they are now, for others to be told apart from."""
    return [array.copy() for array in arrays_of(_alone(chain))]


def _alone(chain: Chain) -> Chain:
    return replace(chain, tables=None, _scratch=None)


def remote_segment(key: str, version: str, chain: bytes, steps: int, work: bytes | None) -> bytes | None:
    """Run a segment in a worker; None if the worker does not know the work of this run and was not sent it."""
    try:
        known = _known_work(key, version, work)
        return None if known is None else pack(_moved(known, chain, steps), known.base)
    except Exception as error:
        return pack(Failure(_portable(error)), [])


def _known_work(key: str, version: str, work: bytes | None) -> Work | None:
    """Return the work of the run, from the shelf or as it was sent."""
    if version != __version__:
        raise ParnidagError(
            f"executor: a worker ({here()[0]}) has parnidag {__version__}, the run {version}: install the same there"
        )
    known = _from_shelf(key)
    if known is None and work is not None:
        known = pickle.loads(work)
        put_on_shelf(key, known)
    if known is not None and known.home != here():
        _use_one_thread()
    return known


def _moved(work: Work, chain: bytes, steps: int) -> Segment:
    """Advance a chain that has come here."""
    try:
        scratch = work.scratches.pop()
    except IndexError:  # the first here, or all are in use by other threads of this worker
        scratch = None
    moved = replace(unpack(chain, work.base), tables=work.tables, _scratch=scratch)
    segment = run_segment(work, moved, steps)
    work.scratches.append(moved.scratch(work.target))
    moved.recorder.draw_codes[:] = 0  # a buffer that was emptied need not travel
    return segment._replace(chain=_alone(moved))


def _portable(error: Exception) -> Exception:
    """Return the error with a note on where it came from; in words if it would not survive the journey.

    An error that cannot be unpickled would break a pool of processes instead of being shown.
    """
    error.add_note(f"in a worker ({here()[0]}, process {here()[1]}):\n{''.join(traceback.format_exception(error))}")
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:  # whatever users' own exceptions raise
        pass
    words = RuntimeError(f"{type(error).__name__}: {error}")
    words.__notes__ = error.__notes__
    return words


def unpacked(outcome: bytes, work: Work) -> Segment:
    """Return a segment that has come back, or raise what it raised."""
    arrived: Segment | Failure = unpack(outcome, work.base)
    if isinstance(arrived, Failure):
        raise arrived.error
    arrived.chain.tables = work.tables
    return arrived


@cache
def _use_one_thread() -> None:
    """Keep linear algebra to one core: a worker is one of many."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def as_is(value: bytes) -> bytes:
    """Return the value: a task whose result a cluster can make again when the worker that held it is lost."""
    return value
