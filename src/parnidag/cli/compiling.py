"""The command that compiles beforehand what first runs would compile: for containers, clusters and lessons."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from parnidag._util.text import number_of
from parnidag.cli.screens import UsageError, say

if TYPE_CHECKING:
    from parnidag.results.posterior import Posterior

POLL_SECONDS = 0.05


def compile_() -> int:
    """Compile for this machine what runs need, so that the first run on each kind of table is as fast as later ones.

    Otherwise code is compiled when it is first needed. It is kept in $PARNIDAG_CACHE_DIR, or else in the user's folder
    for caches, by versions of parnidag, Python, NumPy and Numba and by kind of processor: another kind compiles anew.
    """
    from parnidag._util.cores import usable_cores
    from parnidag.kernels.ahead import in_another_process
    from parnidag.kernels.jit import cache_folder

    folder = cache_folder()
    if folder is None:
        raise UsageError("no folder for compiled code can be written; name one by PARNIDAG_CACHE_DIR")
    began = time.perf_counter()
    waiting, working, failed = list(enumerate(KINDS, 1)), dict[str, Any](), list[str]()
    while waiting or working:
        for kind in [kind for kind, process in working.items() if process.poll() is not None]:
            if working.pop(kind).returncode != 0:
                failed.append(kind)
        if waiting and len(working) < usable_cores():
            number, kind = waiting.pop(0)
            say(f"compiling {number} of {len(KINDS)}, once on this machine: {kind}")
            working[kind] = in_another_process(__name__, "compile_kind", kind)
            if working[kind] is None:
                raise UsageError("this Python cannot start another one to compile")
        time.sleep(POLL_SECONDS)
    if failed:
        raise UsageError(f"could not compile for {' and '.join(failed)}; a run on such a table says why")
    files = [path for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc")]
    size = sum(path.stat().st_size for path in files) / 1e6
    say(f"{number_of(len(files), 'file')}, {size:.0f} MB, in {folder}, after {time.perf_counter() - began:.0f} s")
    return 0


def compile_kind(kind: str) -> None:
    """Compile for one kind of table, by a short run on a small one."""
    KINDS[kind]()


def _numbers(nodes: int) -> Any:
    from parnidag.simulation import simulate

    return simulate(nodes, nodes, 60, seed=1).values


def _run(table: Any, **settings: Any) -> Posterior:
    import warnings

    from parnidag import sample

    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        posterior = sample(table, draws=4, chains=2, seed=1, progress=False, **settings)
        posterior.report(Path(folder) / "report.html")
    return posterior


def _many() -> None:
    from parnidag.samplers import PARNI

    for settings in ({}, {"sampler": PARNI(rungs=2)}):  # on a ladder if chains disagree
        _run(_numbers(24), tune=200, thin=20, **settings)


def _few() -> None:
    posterior = _run(_numbers(4))
    posterior.intervene({posterior.nodes[0]: 1.0})


def _panel() -> None:
    import numpy as np
    import pandas as pd

    from parnidag import Panel

    table = pd.DataFrame(_numbers(3), columns=list("abc"))
    unit, week = np.divmod(np.arange(len(table)), 20)
    _run(Panel(table.assign(unit=unit, week=week), time="week", unit="unit"))


def _some() -> None:
    from parnidag.samplers import Tempered

    _run(_numbers(4), sampler=Tempered(), tune=20, thin=2)


def _classes() -> None:
    import numpy as np

    for nodes, settings in ((4, {}), (24, {"tune": 100, "thin": 20})):
        _run(np.digitize(_numbers(nodes), [-0.5, 0.7]), **settings)


def _mixed() -> None:
    import numpy as np
    import pandas as pd

    numbers = _numbers(5)
    table = pd.DataFrame(numbers, columns=list("abcde"))
    table["a"] = np.where(numbers[:, 0] > 0, "high", "low")
    table.loc[:4, "b"] = np.nan
    for settings in ({}, {"tune": 2000, "thin": 500}):
        _run(table, **settings)


def compile_answers_beside() -> None:
    """Let another process compile what answers take, while this one adds up graphs or samples them."""
    from parnidag.effects.kernels import lay_out
    from parnidag.kernels.ahead import compile_beside

    compile_beside(lay_out, __name__, "compile_answers")


def compile_answers() -> None:
    """Compile what is asked of a sum over graphs: draws, and the report of a result made up, of three columns."""
    from types import SimpleNamespace

    import numpy as np

    from parnidag import Data, EdgePrior
    from parnidag.api import posterior_of_answer
    from parnidag.exact_solver.draws import compile_draws
    from parnidag.scores import BGe
    from parnidag.target import Target

    compile_draws()
    data = Data(_numbers(3))
    target = Target.build(data, BGe(), EdgePrior())
    graphs = np.zeros((4, 3, 3), bool)
    graphs[:, 0, 1] = graphs[1:, 0, 2] = True
    levels = 1 if target.levels is None else target.levels.count
    answer: Any = SimpleNamespace(
        draw=lambda draws, seed: graphs,
        edge_probabilities=graphs.mean(axis=0),
        level_probabilities=np.full(levels, 1 / levels),
        solutions=dict.fromkeys(range(min(levels, 2))),
        log_total=0.0,
        cancellation=0.0,
    )
    posterior = posterior_of_answer(data, target, answer, draws=2, chains=2, seed=1, began=0.0)
    with TemporaryDirectory() as folder:
        posterior.report(Path(folder) / "report.html")


def compile_rest_beside() -> bool:
    """Let a process that goes on after this one compile for every kind of table, if nothing has been; is it at it?"""
    from parnidag.kernels.ahead import compile_beside
    from parnidag.samplers.parni.mixture import advance_mixture

    return compile_beside(advance_mixture, __name__, "compile_all")


def compile_all() -> None:
    for kind in KINDS:
        compile_kind(kind)


KINDS: dict[str, Callable[[], None]] = {
    "numbers, 23 columns and more": _many,
    "numbers, few columns": _few,
    "numbers, 21 or 22 columns": _some,
    "classes": _classes,
    "numbers beside classes, empty cells": _mixed,
    "panels": _panel,
}
"""What is compiled, in this order: what takes longest comes first, and what stands on it last."""
