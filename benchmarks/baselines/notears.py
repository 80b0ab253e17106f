"""NOTEARS of gcastle: least squares with an acyclicity penalty, by NumPy and SciPy alone."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.base import Baseline, Estimate, Package

FILE = "algorithms/gradient/notears/linear.py"


def run_notears(
    values: NDArray[np.float64], seed: int, seconds: float, *, lambda1: float, w_threshold: float, max_iter: int
) -> Estimate:
    learner = notears_class()(lambda1=lambda1, w_threshold=w_threshold, max_iter=max_iter)
    learner.learn(np.asarray(values))
    return Estimate(np.asarray(learner.causal_matrix) != 0)


def notears_class() -> Any:
    """Return gcastle's class `Notears` without the gigabytes of torch.

    `castle.algorithms` imports torch, and so does a helper that `Notears` imports, for a function that it never
    calls. So its file is loaded by itself, with an empty module in place of torch if there is none.
    """
    with quiet_logging(), stand_in("torch"):
        import castle

        file = Path(castle.__path__[0]) / FILE
        spec = importlib.util.spec_from_file_location("castle_notears_linear", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.Notears


@contextmanager
def stand_in(name: str) -> Iterator[None]:
    """Let `import name` succeed for a while where the library is missing."""
    missing = importlib.util.find_spec(name) is None
    if missing:
        sys.modules[name] = ModuleType(name)
    try:
        yield
    finally:
        if missing:
            del sys.modules[name]


@contextmanager
def quiet_logging() -> Iterator[None]:
    """Undo what gcastle does to the root logger when it is imported: a handler, and every step on the screen."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


NOTEARS = Baseline(
    "NOTEARS",
    Package("castle", "gcastle", "baselines"),
    run_notears,
    {"standardise": False, "lambda1": 0.1, "w_threshold": 0.3, "max_iter": 100},
)
"""With the λ₁ and the threshold of its authors, who do not standardise either: it reads the order from the scales."""
