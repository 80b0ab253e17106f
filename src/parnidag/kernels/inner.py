"""Compiled functions that only compiled functions call: code to be linked, without machine code of its own.

Numba makes each function ready to be called from Python: it wraps it for Python and for C, and turns it, with all that
it calls, into machine code. For functions inside an entry all of that is thrown away, since the entry is turned into
machine code as a whole. Here it is not made in the first place; what is optimised and linked stays the same, and so
does the entry. Where Python does call such a function, as tests do, it is compiled for that once more, as Numba would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

OPTIONS = {"nogil": True, "error_model": "numpy"}
"""What all compiled functions share."""


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is optimised and ready to be linked into that of callers."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):  # type: ignore[misc]
    """As Numba's own, but for the library and for what Python would call."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        found = object()  # callers' code finds the function by this key, which for others is what Python calls
        state.targetctx.insert_user_function(found, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state.cr = state.cr._replace(cfunc=found)
        return True


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "inner")
        passes.passes = [(InnerLowering if one is NativeLowering else one, why) for one, why in passes.passes]
        passes._finalized = False
        passes.finalize()
        return [passes]


class InnerFunction(CPUDispatcher):  # type: ignore[misc]
    """What `kernel` makes of a function; see the module."""

    def __init__(self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None) -> None:
        without = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, locals, {**OPTIONS, **without, **(targetoptions or {})}, InnerCompiler)
        self._for_python: Any = None

    def add_overload(self, compiled: Any) -> None:
        """Remember what was compiled for callers, but not as something that Python could call."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    def _compile_for_args(self, *values: Any, **named: Any) -> Any:
        """Return what Python calls."""
        if self._for_python is None:
            self._for_python = numba.njit(**OPTIONS)(self.py_func)
        return self._for_python._compile_for_args(*values, **named)
