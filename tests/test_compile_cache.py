"""The cache of compiled code: where it lies, whom it trusts, and that no edit of what it depends on goes unnoticed."""

from __future__ import annotations

import dis
import importlib
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path

import numba
import pytest
from numba import cloudpickle

import parnidag
from parnidag.kernels import jit
from parnidag.kernels.by_address import External
from parnidag.kernels.inner import InnerLibrary
from parnidag.kernels.source_digest import Sources, source_digest

PACKAGE = Path(parnidag.__file__).parent


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy") / "parnidag"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder, source_digest(folder, "")


EDITS = {
    "a callee in another file": ("kernels/random.py", "uint64(17)", "uint64(18)"),
    "a constant in another file": ("kernels/dag.py", "FIXED = ", "FIXED = -1 + "),
    "a constant in the same file": ("scores/bdeu.py", "MOST_KEPT = 4, 64", "MOST_KEPT = 4, 65"),
    "a field of a tuple": ("kernels/problem.py", "    log_odds: Floats\n", "    more: Bytes\n    log_odds: Floats\n"),
    "a field of a struct": ("kernels/dag.py", "    frame: Bytes\n", "    frame: Bytes\n    more: int\n"),
    "a decorator": ("kernels/jit.py", 'error_model="numpy", inline="always"', 'inline="always"'),
    "how callees are compiled": ("kernels/inner.py", '"no_cfunc_wrapper": True', '"no_cfunc_wrapper": False'),
    "what Numba is taught": ("kernels/struct.py", "mutable = True", "mutable = False"),
    "a step of a move": ("moves/swap_parent.py", "if other == j or ", "if other == i or "),
    "a default of all moves": ("moves/move.py", "burst: bool = True", "burst: bool = False"),
    "code that is written out": ("samplers/parni/mixture.py", "    if kind == {kind}", "    if {kind} == kind"),
    "a score called by its address": ("scores/bdeu.py", "log_whole - math.log(arity)", "log_whole + math.log(arity)"),
}
HARMLESS = {
    "an error message about tables": ("data/rows.py", "were not kept, since", "are gone, since"),
    "an error message about classes": ("data/levels.py", "cut such columns into", "put such columns into"),
    "an error message in a module of kernels": ("target.py", "is not allowed by the prior", "is against the prior"),
    "a helper for text": ("_util/text.py", 'text[: longest - 1] + "…"', 'text[: longest - 3] + "..."'),
    "a docstring of a kernel": ("kernels/local_score.py", "Score `node` given its first", "Score node given its first"),
}


@pytest.mark.parametrize("edit", [*EDITS, *HARMLESS])
def test_the_digest_follows_what_compiled_code_depends_on(copied, edit):
    folder, before = copied
    name, old, new = (EDITS | HARMLESS)[edit]
    path = folder / name
    source = path.read_text("utf-8")
    assert old in source
    path.write_text(source.replace(old, new, 1), "utf-8")
    after = source_digest(folder, "")
    path.write_text(source, "utf-8")
    assert (after != before) == (edit in EDITS)
    assert source_digest(folder, "") == before


def test_all_that_compiled_functions_use_is_covered():
    """What Python finds at run time must be among what was found in the text."""
    sources = Sources(PACKAGE)
    sources.cover_kernels()
    functions = compiled_functions()
    assert len(functions) > 200
    for function in functions:
        module = function.__module__.removeprefix("parnidag.")
        used = {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}
        for name in {function.__name__, *used}:
            assert_covered(sources, module, name)


def compiled_functions():
    found = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "parnidag."):
        if not module.name.endswith("__main__"):
            for value in vars(importlib.import_module(module.name)).values():
                function = value.function if isinstance(value, External) else getattr(value, "py_func", None)
                if function is not None and function.__module__.startswith("parnidag."):
                    found[function.__module__, function.__name__] = function
    return list(found.values())


def assert_covered(sources, module, name):
    for number, statement in enumerate(sources.statements(module)):
        if name in statement.binds and name in statement.imports:
            assert_covered(sources, *statement.imports[name])
        elif name in statement.binds:
            assert number in sources.covered[module], (module, name)


def test_no_dataclass_shapes_compiled_code():
    """The digest passes over their classes."""
    sources = Sources(PACKAGE)
    sources.cover_kernels()
    for module, numbers in sources.covered.items():
        values = vars(importlib.import_module(f"parnidag.{module}"))
        names = {name for number in numbers for name in sources.statements(module)[number].binds}
        made = [values[name] for name in names & values.keys() if not isinstance(values[name], type)]
        for value in made:
            assert not any(map(is_dataclass, value if isinstance(value, tuple) else [value])), (module, value)


def test_only_entries_have_machine_code():
    @jit.kernel
    def doubled(x: int) -> int:
        return 2 * x

    @numba.njit
    def called(x: int) -> int:
        return doubled(x) + 1

    assert called(3) == 7
    (inner,) = doubled.overloads.values()
    assert type(inner.library) is InnerLibrary
    assert not inner.library.codegen._engine.is_symbol_defined(inner.fndesc.llvm_func_name)
    assert doubled(3) == 6  # tests call kernels too
    assert doubled(1.5) == 3.0
    assert called(4) == 9
    assert pickle.loads(cloudpickle.dumps(doubled))(5) == 10


# --- where it lies ----------------------------------------------------------------------------------------------------


def roots(**variables):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PARNIDAG_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    code = "from parnidag.kernels import jit; print(*jit._cache_roots(), sep='\\n')"
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True, check=True
    )
    return [Path(line) for line in shown.stdout.splitlines()]


def test_variables_say_where_the_cache_lies(tmp_path):
    own, numbas, users = (str(tmp_path / name) for name in ("own", "numba", "xdg"))
    assert roots(NUMBA_CACHE_DIR=numbas, PARNIDAG_CACHE_DIR=own) == [tmp_path / "own"]
    assert roots(NUMBA_CACHE_DIR=numbas) == [tmp_path / "numba" / "parnidag"]
    found = roots(XDG_CACHE_HOME=users, TMPDIR=str(tmp_path))
    assert found == [tmp_path / "xdg" / "parnidag", tmp_path / f"parnidag-{os.getuid()}"]
    assert (tmp_path / f"parnidag-{os.getuid()}").stat().st_mode & 0o777 == 0o700


def test_there_need_not_be_a_home(monkeypatch, tmp_path):
    monkeypatch.delenv("PARNIDAG_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert list(jit._cache_roots()) == [tmp_path / f"parnidag-{os.getuid()}"]


def test_a_folder_that_others_can_write_to_is_not_trusted(tmp_path, monkeypatch):
    folder = tmp_path / "shared"
    assert jit._is_private(folder)
    folder.chmod(0o770)
    assert not jit._is_private(folder)
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    assert not jit._is_private(tmp_path / "link")
    monkeypatch.setattr(os, "getuid", lambda: 123_456)
    assert not jit._is_private(folder)
