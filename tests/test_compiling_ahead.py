"""Compiling beside other work and beforehand: the same code for every table, in another process, with a count."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag.cli import compiling
from parnidag.cli.app import run
from parnidag.effects.kernels import draw_coefficients, effects_of, fit_families, lay_out, mean_effects_of
from parnidag.exact_solver import draws
from parnidag.graphs.ancestors import count_ancestors
from parnidag.graphs.equivalence import compelled_edges
from parnidag.kernels import ahead, jit
from parnidag.samplers.parni.ahead import compile_mixture
from parnidag.samplers.parni.mixture import advance_mixture
from parnidag.target import score_families

NUMBERS = parnidag.simulate(6, 6, 80, seed=1).values
FEW = {"draws": 2, "tune": 50, "thin": 10, "chains": 1, "seed": 1, "progress": False}


def with_an_empty_cell():
    table = pd.DataFrame(NUMBERS)
    table.iloc[3, 2] = np.nan
    return table


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        (NUMBERS, {}),
        (NUMBERS, {"sampler": parnidag.samplers.PARNI(moves="paper")}),
        (NUMBERS, {"sampler": parnidag.samplers.PARNI(moves={"adr": 1})}),
        (np.digitize(NUMBERS, [0.0]), {}),
        (with_an_empty_cell(), {}),
    ],
    ids=["default", "paper", "no tables", "classes", "empty cell"],
)
@pytest.mark.filterwarnings("ignore")
def test_one_compiled_mixture_serves_every_table(table, settings):
    """What another process compiles from an example is what all runs call."""
    compile_mixture()
    (types,) = advance_mixture.signatures
    parnidag.sample(table, **FEW, **settings)
    assert advance_mixture.signatures == [types]


def test_another_process_has_the_same_modules_and_cache(tmp_path):
    started = ahead.in_another_process("os", "mkdir", str(tmp_path / "made"))
    assert started.wait(60) == 0
    assert (tmp_path / "made").is_dir()
    assert ahead.in_another_process("parnidag.kernels.jit", "cache_folder").wait(60) == 0


class Process:
    """One that has ended with a status."""

    def __init__(self, status=0):
        self.returncode = status

    def poll(self):
        return self.returncode


def test_another_process_compiles_only_where_that_helps(monkeypatch):
    asked = []
    monkeypatch.setattr(ahead, "in_another_process", lambda *call: asked.append(call) or Process())
    monkeypatch.setattr(ahead, "_STARTED", {})
    monkeypatch.setattr(ahead, "usable_cores", lambda: 1)
    monkeypatch.setattr(ahead, "is_kept", lambda entry: False)
    assert not ahead.compile_beside(advance_mixture, "module", "function")  # there is no second core
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    assert ahead.compile_beside(advance_mixture, "module", "function")
    assert not ahead.compile_beside(advance_mixture, "module", "function")  # it is at it
    assert ahead.compile_beside(advance_mixture, "module", "other")
    monkeypatch.setattr(ahead, "is_kept", lambda entry: True)
    assert not ahead.compile_beside(advance_mixture, "module", "third")
    assert asked == [("module", "function"), ("module", "other")]


@pytest.mark.filterwarnings("ignore")
def test_what_answers_take_is_compiled_for_every_table(tmp_path):
    """What another process compiles for a result made up is what results of any size call."""
    compiling.compile_answers()
    entries = (draws._draw, lay_out, fit_families, draw_coefficients, effects_of, mean_effects_of, score_families)
    entries += compelled_edges, count_ancestors
    before = [list(entry.signatures) for entry in entries]
    for table in (NUMBERS, NUMBERS[:, :2]):
        parnidag.sample(table, draws=20, chains=2, seed=1, progress=False).report(tmp_path / "report.html")
    assert [entry.signatures for entry in entries] == before


SHARED = '''
import pathlib, sys, time
from numba.core import event
from parnidag.kernels import jit, once

@jit.entry
def doubled(x: int) -> int:
    return 2 * x

begun, awaited = map(pathlib.Path, sys.argv[1:])

class Slow(event.Listener):
    """Compiles until somebody waits for it."""

    def on_start(self, event):
        print(event.kind, flush=True)
        (awaited if event.kind == once.WAITING else begun).touch()
        until = time.monotonic() + 60
        while not awaited.exists() and time.monotonic() < until:
            time.sleep(0.01)

    def on_end(self, event):
        pass

for kind in ("numba:compile", once.WAITING):
    event.register(kind, Slow())
assert doubled(4) == 8
'''


@pytest.mark.skipif(sys.platform == "win32", reason="there each process compiles for itself")
def test_what_one_process_compiles_others_wait_for(tmp_path):
    (tmp_path / "shared.py").write_text(SHARED)
    begun = tmp_path / "begun"
    environment = os.environ | {"PARNIDAG_CACHE_DIR": str(tmp_path / "cache")}
    call = [sys.executable, str(tmp_path / "shared.py"), str(begun), str(tmp_path / "awaited")]
    first = subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, text=True)
    while not begun.exists():
        time.sleep(0.01)
    second = subprocess.run(call, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert first.communicate(timeout=60)[0] == "numba:compile\n"
    assert second.stdout == "parnidag:waiting\n"


def test_compiled_code_copies_by_loops():
    """Assigning one array to a part of another makes Numba compile how it would word an error, for a second or two."""
    for path in Path(parnidag.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef) and {"entry", "kernel", "leaf", "external"} & set(
                map(ast.unparse, function.decorator_list)
            ):
                copied = [
                    ast.unparse(step)
                    for step in ast.walk(function)
                    if isinstance(step, ast.Assign)
                    and isinstance(step.targets[0], ast.Subscript)
                    and any(isinstance(part, ast.Slice) for part in ast.walk(step.targets[0].slice))
                    and any(isinstance(part, ast.Name | ast.Subscript) for part in ast.walk(step.value))
                ]
                assert not copied, (path, function.name)


def test_what_is_kept_is_known(tmp_path, monkeypatch):
    compile_mixture()
    assert ahead.is_kept(advance_mixture)
    monkeypatch.setattr(advance_mixture._cache._cache_file, "_index_path", str(tmp_path / "none.nbi"))
    assert not ahead.is_kept(advance_mixture)
    assert ahead.is_kept(numba.njit(lambda x: x))  # it never is, and nobody should wait for it


def test_compilation_is_told_and_counted():
    scope = {"__name__": "parnidag.made_up"}
    exec("def one(x): return two(x)\ndef two(x): return x + 1", scope)
    scope["two"] = jit.kernel(scope["two"])
    said = []
    with ahead.compilation_told(said.append):
        assert numba.njit(scope["one"])(1) == 2
        assert numba.njit(lambda x: x)(1) == 1
    assert said == ["compiling function 1, once on this machine"]
    numba.njit(scope["one"])(1)
    assert len(said) == 1


def test_the_command_goes_through_all_kinds(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(ahead, "in_another_process", lambda *call: asked.append(call[2]) or Process())
    assert run(["compile"]) == 0
    assert asked == list(compiling.KINDS)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "compiling 1 of 6, once on this machine: numbers, 23 columns and more"
    assert str(jit.cache_folder()) in said[-1]


def test_the_command_says_what_could_not_be_compiled(monkeypatch, capsys):
    monkeypatch.setattr(ahead, "in_another_process", lambda *call: Process(int(call[2] == "classes")))
    assert run(["compile"]) == 2
    assert "could not compile for classes" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", compiling.KINDS)
def test_each_kind_is_a_run(kind):
    compiling.compile_kind(kind)
