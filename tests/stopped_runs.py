"""Runs that are stopped at a checkpoint, as a kill would, and what they leave behind."""

from __future__ import annotations

from contextlib import closing, contextmanager
from unittest import mock

import numpy as np

import parnidag
from parnidag.run import checkpoint, pools
from parnidag.run.run_file import RunFile
from parnidag.samplers import ADR, MC3, PARNI, REV, IterativeMCMC, OrderMCMC, PartitionMCMC

TABLE = parnidag.simulate(nodes=6, edges=7, rows=60, seed=3).values
SAMPLERS = {
    "PARNI": PARNI(moves={"parni": 0.4, "adr": 0.2, "regroup": 0.2, "edge_reversal": 0.1, "node_swap": 0.1}),
    "ADR": ADR(),
    "MC3": MC3(exchange=0.1),
    "REV": REV(plus_one=False),
    "OrderMCMC": OrderMCMC(graph_every=17),  # no divisor of where checkpoints are: states are in between
    "PartitionMCMC": PartitionMCMC(graph_every=17),
    "IterativeMCMC": IterativeMCMC(),
}
LENGTH = {"draws": 50, "thin": 40, "tune": 700, "chains": 2, "seed": 11}


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it."""


def run(sampler="PARNI", **options):
    """A short run; a sampler by its name in `SAMPLERS`."""
    return parnidag.sample(TABLE, **({"sampler": SAMPLERS[sampler], "progress": False} | LENGTH | options))


@contextmanager
def short_segments():
    """Let chains rest often, and write a checkpoint each time."""
    with (
        mock.patch.object(checkpoint, "INTERVAL_SECONDS", 0.0),
        mock.patch.object(checkpoint, "MOST_SHARE", 1e9),
        mock.patch.object(pools.Pool, "seconds", 1e-4),
    ):
        yield


@contextmanager
def killing(after):
    """End the process, as it were, right after so many checkpoints were written."""
    write, written = checkpoint.Checkpointer.write, []

    def counted(self):
        write(self)
        written.append(self.file.trouble)
        if len(written) == after:
            raise Killed

    with short_segments(), mock.patch.object(checkpoint.Checkpointer, "write", counted):
        yield


def stopped(path, sampler="PARNI", after=4, **options):
    """Leave behind the checkpoint of a run that was killed after so many were written; return its path."""
    try:
        with killing(after):
            run(sampler, checkpoint=path, **options)
    except Killed:
        return path
    raise AssertionError("the run ended before it was killed")


def arrays_of(posterior):
    """Everything in a result that does not depend on the clock."""
    record = posterior.record
    found = {
        name: getattr(record, name) for name in record.__dataclass_fields__ if name not in ("statistics", "settings")
    }
    timed = ("cpu_seconds", "memo_hit_rate")  # working memory, and with it what it remembers, is made anew
    return found | {f"statistic {name}": values for name, values in record.statistics.items() if name not in timed}


def differences(one, other):
    """The names of the arrays in which two results differ by a single bit."""
    first, second = arrays_of(one), arrays_of(other)
    assert first.keys() == second.keys()
    return [name for name in first if not _same(first[name], second[name])]


def _same(one, other):
    if not isinstance(one, np.ndarray):
        return one == other or (one != one and other != other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def contents(path, name="chains"):
    """A bundle of a checkpoint: facts and arrays that may be changed."""
    with closing(RunFile(path)) as file:
        return file.load(name)


def rewritten(path, **bundles):
    """Put other bundles into a checkpoint, with digests that fit them."""
    with closing(RunFile(path)) as file:
        assert file.save(bundles), file.trouble
