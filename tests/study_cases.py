"""Functions that tasks of the tests call in other processes."""

from __future__ import annotations

import os
import signal

import numpy as np

from benchmarks.harness.task import Impossible, MissingLibrary, Outcome


def square(number, place=None):
    return Outcome(figures={"square": number**2}, arrays={"twice": np.array([number, number])})


def ask_for_a_library(number):
    raise MissingLibrary("needs invented: pip install 'invented[all]'")


def refuse(number):
    raise Impossible("more nodes than rows")


def fail(number):
    raise ValueError(f"no {number}")


def die(number):
    """Be ended by someone else, such as a system that runs out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def never_end(number):
    """Be busy inside compiled code, where no exception of Python's can reach."""
    return Outcome(figures={"bits": (3 ** (4 * 10**8 + number)).bit_length()})


def which_process(number):
    return Outcome(figures={"process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]})
