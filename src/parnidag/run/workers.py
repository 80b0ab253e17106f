"""What runs in workers: one segment of one chain, a pure function wherever it runs.

Threads of this process advance chains in place. Elsewhere a chain travels as what a checkpoint keeps of it: a worker
that dies, or a task that a cluster runs twice, changes nothing here. Segments of one run share their work: sampler,
target and candidate tables, which can be large; every process keeps it, and it travels to each once.

What a segment raises comes back as its result. So whatever an executor raises itself is about workers, never about the
score, and only that is worth another try.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
import traceback
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from parnidag._version import __version__
from parnidag.errors import ParnidagError
from parnidag.kernels.dag import Scratch
from parnidag.run.chain_log import take_draws
from parnidag.run.draws import Block
from parnidag.samplers.base import Chain, Prepared, Sampler
from parnidag.samplers.levels import advance_on_levels
from parnidag.samplers.state import chain_state, restored_chain
from parnidag.target import Target

KEPT_RUNS = 4
"""Runs whose work a process keeps: a worker of a cluster lives longer than they do."""
COMPRESSION = 1
"""Most arrays are mostly zeros: the fastest setting does nearly all there is to do."""


@dataclass(frozen=True)
class Work:
    """What all segments of a run share."""

    sampler: Sampler
    target: Target
    prepared: Prepared
    tune: int
    home: tuple[str, int]
    """Where the run itself is: host and process."""
    scratches: list[Scratch] = field(default_factory=list, compare=False)
    """Working memory to be used again: what it remembers never changes a result."""

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "scratches": []}

    def packed(self) -> bytes:
        """Return it as it travels.

        cloudpickle, which Dask and loky bring along, also sends functions of a notebook, and those without a name.
        """
        try:
            from cloudpickle import dumps
        except ImportError:
            dumps = pickle.dumps
        try:
            content: bytes = dumps(self, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # whatever users' own objects raise
            raise ParnidagError(
                f"executor: {self.target.score} cannot be sent to another process ({' '.join(str(error).split())}); "
                "a function at the top of a module can, and threads (executor=None) need nothing sent"
            ) from error
        return content

    def unpacked_chain(self, index: int, content: bytes) -> Chain:
        try:
            scratch = self.scratches.pop()
        except IndexError:  # the first here, or all are in use by other threads
            scratch = None
        state = pickle.loads(zlib.decompress(content))
        chain = restored_chain(self.target, self.sampler, self.prepared, self.tune, index, state, scratch)
        self.target.check_score()
        return chain


class Segment(NamedTuple):
    chain: Chain
    draws: Block | None
    done: int
    seconds: float
    """CPU time."""


class Failure(NamedTuple):
    error: Exception


def here() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


WORKS: dict[str, Work] = {}
"""Of the last runs that this process has to do with."""


def keep_work(key: str, work: Work) -> None:
    WORKS[key] = work
    for old in list(WORKS)[:-KEPT_RUNS]:
        WORKS.pop(old, None)


def run_segment(work: Work, chain: Chain, steps: int) -> Segment:
    """Advance a chain in place by `steps` iterations, emptying its buffer of draws as often as it fills."""
    began = time.thread_time()
    blocks: list[Block] = []
    done = 0
    while done < steps:
        made = advance_on_levels(work.sampler, work.target, chain, steps - done)
        done += made
        block = take_draws(chain)
        if block is not None:
            blocks.append(block)
        elif made == 0:
            raise ParnidagError(f"the sampler {work.sampler.name} makes no step and no draw")
    work.target.check_score()
    draws = Block(*map(np.concatenate, zip(*blocks, strict=True))) if blocks else None
    return Segment(chain, draws, done, time.thread_time() - began)


def local_segment(work: Work, chain: Chain, steps: int) -> Segment | Failure:
    try:
        return run_segment(work, chain, steps)
    except Exception as error:
        return Failure(error)


def packed_chain(chain: Chain) -> bytes:
    return zlib.compress(pickle.dumps(chain_state(chain), pickle.HIGHEST_PROTOCOL), COMPRESSION)


def remote_segment(key: str, version: str, index: int, chain: bytes, steps: int, work: bytes | None) -> Any:
    """Run a segment in a worker; None if the worker does not know the work of this run and was not sent it."""
    try:
        known = _known_work(key, version, work)
        if known is None:
            return None
        segment = run_segment(known, known.unpacked_chain(index, chain), steps)
        known.scratches.append(segment.chain.scratch(known.target))
        return index, packed_chain(segment.chain), *segment[1:]
    except Exception as error:
        return Failure(_portable(error))


def _known_work(key: str, version: str, work: bytes | None) -> Work | None:
    if version != __version__:
        raise ParnidagError(
            f"executor: a worker ({here()[0]}) has parnidag {__version__}, the run {version}: install the same there"
        )
    known = WORKS.get(key)
    if known is None and work is not None:
        known = pickle.loads(work)
        keep_work(key, known)
    if known is not None and known.home != here():
        _use_one_thread()
    return known


def unpacked(outcome: Any, work: Work) -> Segment:
    index, content, *rest = outcome
    chain = work.unpacked_chain(index, content)
    work.scratches.append(chain.scratch(work.target))
    return Segment(chain, *rest)


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


@cache
def _use_one_thread() -> None:
    """Keep linear algebra to one core: a worker is one of many."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
