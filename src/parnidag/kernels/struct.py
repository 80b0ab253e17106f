"""A Numba type for mutable structs that live in memory owned by Python, and count no references.

Numba's own structref is a counted object: compiled functions that take one increase and decrease its count, atomically,
again and again. In these kernels that took more than half of the run time. Here a struct is a bare pointer into a byte
array, its array fields are stored without their owners, and whoever calls the compiled entry keeps everything alive.
See docs/adr/0001-numba-and-state-layout.md.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import type_callable
from numba.np import arrayobj

FRAME_BYTES = 4096
"""Room for one struct."""


class StructPointer(types.Type):
    """Type of a struct: its Python class and the types of its fields, in order."""

    mutable = True

    def __init__(self, struct_name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        self.places = {name: place for place, (name, _) in enumerate(fields)}
        super().__init__(f"{struct_name}({', '.join(f'{name}: {kind}' for name, kind in fields)})")

    @property
    def payload(self) -> Any:
        """The fields as a tuple type, which fixes their layout in memory."""
        return types.Tuple([kind for _, kind in self.fields])


@register_default(StructPointer)
class _StructModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.PointerType(ir.IntType(8)))


@infer_getattr
class _StructAttributes(AttributeTemplate):
    key = StructPointer

    def generic_resolve(self, kind: StructPointer, name: str) -> Any:
        return dict(kind.fields).get(name)


def _field(context: Any, builder: Any, kind: StructPointer, value: Any, name: str) -> Any:
    payload = context.get_value_type(kind.payload)
    base = builder.bitcast(value, payload.as_pointer())
    return cgutils.gep_inbounds(builder, base, 0, kind.places[name])


@lower_getattr_generic(StructPointer)
def _read(context: Any, builder: Any, kind: StructPointer, value: Any, name: str) -> Any:
    loaded = builder.load(_field(context, builder, kind, value, name))
    return impl_ret_borrowed(context, builder, dict(kind.fields)[name], loaded)


@lower_setattr_generic(StructPointer)
def _write(context: Any, builder: Any, signature: Any, values: Any, name: str) -> None:
    kind, given = signature.args
    struct, value = values
    value = context.cast(builder, value, given, dict(kind.fields)[name])
    builder.store(value, _field(context, builder, kind, struct, name))


def register_struct(cls: type, names: list[str]) -> None:
    """Let compiled code call `cls` with a frame and the other fields to place a struct in the frame."""
    if names[0] != "frame":
        raise TypeError(f"the first field of {cls.__name__} must be `frame`")

    def struct_type(*kinds: Any) -> StructPointer:
        plain = (types.unliteral(kind) for kind in kinds)
        return StructPointer(cls.__name__, tuple(zip(names, plain, strict=True)))

    # Numba reads the parameters of the typing function, so it must name each field
    listed = ", ".join(names)
    scope: dict[str, Any] = {"struct_type": struct_type}
    exec(f"def typer({listed}):\n    return struct_type({listed})", scope)
    type_callable(cls)(lambda context: scope["typer"])

    @lower_builtin(cls, types.VarArg(types.Any))
    def _construct(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.return_type
        size = context.get_abi_sizeof(context.get_value_type(kind.payload))
        if size > FRAME_BYTES:
            raise TypeError(f"{cls.__name__} takes {size} bytes, more than a frame has")
        frame = arrayobj.make_array(signature.args[0])(context, builder, values[0])
        struct = builder.bitcast(frame.data, ir.PointerType(ir.IntType(8)))
        for (name, field), given, value in zip(kind.fields, signature.args, values, strict=True):
            value = _disowned(context, builder, field, context.cast(builder, value, given, field))
            builder.store(value, _field(context, builder, kind, struct, name))
        return struct


def _disowned(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return an array, or a tuple that holds arrays, without the owners whose references would be counted."""
    if isinstance(kind, types.Array):
        view = arrayobj.make_array(kind)(context, builder, value)
        view.meminfo = view.meminfo.type(None)
        view.parent = view.parent.type(None)
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        for place, inner in enumerate(kind):
            part = _disowned(context, builder, inner, builder.extract_value(value, place))
            value = builder.insert_value(value, part, place)
    return value
