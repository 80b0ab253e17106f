"""Scores that are functions of their own, called by their address.

The Gaussian scores share one formula that is part of every sampler. Any other score is one compiled function

    score(node, parents, count, content) -> float

of the node, a pointer to its sorted parents, their number, and a pointer to whatever it reads: its content. Samplers
call it by address, so that they need not be compiled again for a new score, and a score is compiled only if it is used.
Addresses differ from process to process: a `Target` asks its score again wherever it arrives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from parnidag.kernels.jit import cached_below, kernel
from parnidag.kernels.types import Bytes, Integers

NO_FUNCTION = 0
SIGNATURE = types.float64(types.int64, types.CPointer(types.int64), types.int64, types.CPointer(types.uint8))

_PLAIN: dict[int, Callable[..., float]] = {}
"""Without a compiler: the functions by their made-up addresses."""


class External:
    """A function of this package that is compiled when its address is first asked for, and kept on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    @functools.cached_property
    def _compiled(self) -> Any:
        if numba.config.DISABLE_JIT:
            return self.function
        with cached_below() as cache:
            return numba.cfunc(SIGNATURE, cache=cache, error_model="numpy")(self.function)

    def address(self) -> int:
        return address_of(self._compiled)


external = External
"""Marks a function that scores a node; see the module for what it takes."""


def address_of(compiled: Any) -> int:
    """Return the address of a compiled function; it must be kept alive by whoever uses the address."""
    if numba.config.DISABLE_JIT:
        _PLAIN[id(compiled)] = compiled
        return id(compiled)
    return int(compiled.address)


@intrinsic
def _call(
    typing_context: Any, address: Any, node: Any, parents: Any, count: Any, content: Any
) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place, node_value, parents_value, count_value, content_value = values
        family = make_array(signature.args[2])(context, builder, parents_value).data
        read = make_array(signature.args[4])(context, builder, content_value).data
        integer, number = ir.IntType(64), ir.DoubleType()
        shape = ir.FunctionType(number, [integer, family.type, integer, read.type])
        return builder.call(builder.inttoptr(place, shape.as_pointer()), [node_value, family, count_value, read])

    return types.float64(types.int64, types.int64, parents, types.int64, content), generate


if numba.config.DISABLE_JIT:

    def call_score(address: int, node: int, parents: Integers, count: int, content: Bytes) -> float:
        return float(_PLAIN[int(address)](node, parents, count, content))

    def pointed(pointer: Any, size: int) -> NDArray[Any]:
        return np.asarray(pointer[:size])  # without a compiler a pointer is the array itself

else:

    @kernel
    def call_score(address: int, node: int, parents: Integers, count: int, content: Bytes) -> float:
        return _call(address, node, parents, count, content)

    @kernel
    def pointed(pointer: Any, size: int) -> NDArray[Any]:
        """Return the array that begins at a pointer."""
        array: NDArray[Any] = numba.carray(pointer, (size,))
        return array


# ---------------------------------------------------------------------------------------------------------------------
# Contents: several arrays as one block of bytes


def pack_arrays(*arrays: NDArray[Any]) -> Bytes:
    """Return a content that holds arrays of at most two dimensions, which `packed` and `packed_shape` find again."""
    head = np.zeros((len(arrays), 4), np.int64)
    stop = head.nbytes
    parts = []
    for k, array in enumerate(arrays):
        part = np.ascontiguousarray(array).ravel().view(np.uint8)
        head[k, 0], head[k, 1], head[k, 2:] = stop, stop + part.size, (*array.shape, 1, 1)[:2]
        parts.append(np.pad(part, (0, -part.size % 8)))
        stop += parts[-1].size
    return np.concatenate([head.ravel().view(np.uint8), *parts])


@kernel
def packed(content: Any, place: int) -> Bytes:
    """Return the bytes of an array of a content, given by its place among them: a view, to be viewed as its type."""
    head = pointed(content, 32 * (place + 1)).view(np.int64)
    return pointed(content, head[4 * place + 1])[head[4 * place] :]


@kernel
def packed_shape(content: Any, place: int) -> tuple[int, int]:
    """Return the shape of an array of a content; the second number is 1 if it has one dimension."""
    head = pointed(content, 32 * (place + 1)).view(np.int64)
    return head[4 * place + 2], head[4 * place + 3]
