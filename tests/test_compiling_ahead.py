"""Compiling beside other work and beforehand: the same code for every table, in another process, with a count."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag.cli import compiling
from parnidag.cli.app import run
from parnidag.kernels import ahead, jit
from parnidag.samplers.parni.ahead import compile_mixture
from parnidag.samplers.parni.mixture import advance_mixture

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
        self.returncode, self.waited = status, 0

    def poll(self):
        return self.returncode

    def wait(self):
        self.waited += 1


def test_another_process_compiles_only_where_that_helps(monkeypatch):
    asked = []
    monkeypatch.setattr(ahead, "in_another_process", lambda *call: asked.append(call) or Process())
    monkeypatch.setattr(ahead, "usable_cores", lambda: 1)
    monkeypatch.setattr(ahead, "is_kept", lambda entry: False)
    ahead.compile_beside(advance_mixture, "module", "function")
    assert not asked  # there is no second core
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    ahead.compile_beside(advance_mixture, "module", "function")
    ahead.compile_beside(advance_mixture, "module", "function")
    assert asked == [("module", "function")]
    (started,) = ahead._UNDER_WAY
    ahead.await_compiled()
    ahead.await_compiled()
    assert started.waited == 1
    monkeypatch.setattr(ahead, "is_kept", lambda entry: True)
    ahead.compile_beside(advance_mixture, "module", "function")
    assert len(asked) == 1


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
    assert said[0] == "compiling 1 of 5, once on this machine: numbers, 23 columns and more"
    assert str(jit.cache_folder()) in said[-1]


def test_the_command_says_what_could_not_be_compiled(monkeypatch, capsys):
    monkeypatch.setattr(ahead, "in_another_process", lambda *call: Process(int(call[2] == "classes")))
    assert run(["compile"]) == 2
    assert "could not compile for classes" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", compiling.KINDS)
def test_each_kind_is_a_run(kind):
    compiling.compile_kind(kind)
