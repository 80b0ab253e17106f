"""What runs in workers: one segment of one chain, a pure function wherever it runs.

Segments of one run share their work: sampler, target and candidate tables, which can be large. It is kept on a shelf in
every process and travels to each once. In this process threads find it there and advance chains in place. Elsewhere a
chain travels as bytes: a worker that dies, or a task that a cluster runs twice, changes nothing here.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from parnidag.errors import ParnidagError
from parnidag.net import Scratch
from parnidag.run.chain_log import joined, take_draws
from parnidag.run.draws import Block
from parnidag.samplers.base import Chain, Sampler
from parnidag.space.tables import CandidateTables
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


def here() -> tuple[str, int]:
    """Return which process of which machine this is."""
    return socket.gethostname(), os.getpid()


_SHELF: OrderedDict[str, Work] = OrderedDict()
_SHELF_LOCK = threading.Lock()


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


def packed(work: Work) -> bytes:
    """Return the work of a run as it travels."""
    return pickle.dumps(work, pickle.HIGHEST_PROTOCOL)


def packed_chain(chain: Chain) -> bytes:
    """Return a chain as it travels: without what all chains share, and without working memory."""
    return pickle.dumps(replace(chain, tables=None), pickle.HIGHEST_PROTOCOL)


def remote_segment(key: str, chain: bytes, steps: int, work: bytes | None) -> bytes | None:
    """Run a segment in a worker; None if the worker does not know the work of this run and was not sent it."""
    known = _from_shelf(key)
    if known is None:
        if work is None:
            return None
        known = pickle.loads(work)
        if known.home != here():
            _use_one_thread()
        put_on_shelf(key, known)
    scratch = known.scratches.pop() if known.scratches else None
    moved = replace(pickle.loads(chain), tables=known.tables, _scratch=scratch)
    segment = run_segment(known, moved, steps)
    known.scratches.append(moved.scratch(known.target))
    return pickle.dumps(segment._replace(chain=replace(moved, tables=None)), pickle.HIGHEST_PROTOCOL)


def unpacked(segment: bytes, work: Work) -> Segment:
    """Return a segment that has come back."""
    arrived: Segment = pickle.loads(segment)
    arrived.chain.tables = work.tables
    return arrived


def _use_one_thread() -> None:
    """Keep linear algebra to one core: a worker is one of many."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def as_is(value: bytes) -> bytes:
    """Return the value: a task whose result a cluster can make again when the worker that held it is lost."""
    return value
