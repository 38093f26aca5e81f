"""A numba type for the address of a tuple of arrays, which kernels take and pass on in one word.

Numba hands over a tuple of arrays word by word: two hundred words for the tables of a schema, in
each call and in the code of each. A reference is one word: where the tuple is written down. Python
hands over the tuple itself, which is written down for the call, or the address at which it had it
written down before (`kernels.masks.entry_points`), which takes a tenth of the time.
"""

from __future__ import annotations

import inspect
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv.castgraph import Conversion
from numba.core.typeconv.rules import default_type_manager
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)
from numba.np.numpy_support import as_dtype

DATA, SHAPE = 4, 5  # members of an array as numba has it


class Reference(types.Type):
    """The address of a named tuple of C-ordered arrays; nobody writes there while a kernel runs."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        made = kind.instance_class
        super().__init__(f"{made.__module__}.{made.__name__}*")

    def can_convert_from(self, _: Any, other: Any) -> Any:
        """A tuple in hand is written down on the way; an int is where that was done."""
        return Conversion.safe if other in (self.kind, types.int64) else None


def reference(kind: Any) -> Reference:
    """The type of the addresses of such tuples; Python may hand over the tuples themselves."""
    made = Reference(kind)
    default_type_manager.set_safe_convert(kind, made)
    default_type_manager.set_safe_convert(types.int64, made)
    return made


@register_model(Reference)
class _Address(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager.lookup(types.int64).get_value_type())


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, given: Any, name: Any) -> Any:  # type: ignore[override]
        kind = given.kind
        return kind.types[kind.fields.index(name)] if name in kind.fields else None


def loaded(
    context: Any, builder: Any, given: Reference, value: Any, name: str, *within: int
) -> Any:
    """A word of an array that a reference leads to. LLVM may load it once and keep it.

    name: of the field; within: where in the array, as numba has it.
    """
    tuples = context.get_value_type(given.kind).as_pointer()
    field = given.kind.fields.index(name)
    word = cgutils.gep_inbounds(builder, builder.inttoptr(value, tuples), 0, field, *within)
    found = builder.load(word)
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, given: Reference, value: Any, name: str) -> Any:
    """The array, made of where its items are and how many; the rest follows from C order."""
    kind = given.kind.types[given.kind.fields.index(name)]
    item = as_dtype(kind.dtype).itemsize
    items, strides = context.get_constant(types.intp, 1), [context.get_constant(types.intp, item)]
    shape = [loaded(context, builder, given, value, name, SHAPE, axis) for axis in range(kind.ndim)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    for length in shape:
        items = builder.mul(items, length)
    made = context.make_array(kind)(context, builder)
    made.meminfo = context.get_constant_null(types.MemInfoPointer(types.voidptr))
    made.parent = context.get_constant_null(types.pyobject)
    made.nitems, made.itemsize = items, strides[-1]
    made.data = loaded(context, builder, given, value, name, DATA)
    made.shape = cgutils.pack_array(builder, shape)
    made.strides = cgutils.pack_array(builder, strides)
    return made._getvalue()


def _written(context: Any, builder: Any, value: Any) -> Any:
    """The address of a tuple, written down for as long as the function runs."""
    place = cgutils.alloca_once_value(builder, value)
    return builder.ptrtoint(place, context.get_value_type(types.int64))


@lower_cast(types.BaseTuple, Reference)
def _cast(context: Any, builder: Any, kind: Any, given: Any, value: Any) -> Any:  # noqa: ARG001
    return _written(context, builder, value)


@unbox(Reference)
def _unboxed(given: Reference, handed: Any, c: Any) -> Any:
    builder = c.builder
    word = c.context.get_value_type(types.int64)
    address = cgutils.alloca_once_value(builder, c.pyapi.long_as_longlong(handed))
    wrong = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_then(c.pyapi.c_api_error(), likely=False):  # no int
        c.pyapi.err_clear()
        native = c.unbox(given.kind, handed)
        place = cgutils.alloca_once(builder, native.value.type)
        builder.store(native.value, place)
        builder.store(builder.ptrtoint(place, word), address)
        builder.store(native.is_error, wrong)
    return NativeValue(builder.load(address), is_error=builder.load(wrong))


@intrinsic
def stored(typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001  numba passes it
    """Write a tuple of arrays down at an address, as kernels have it."""

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        place, written = values
        builder.store(written, builder.inttoptr(place, written.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, value), generate


def loader_of(kind: Any) -> Any:
    """Make a function that takes an address where a tuple is `stored` for a reference to it."""

    @intrinsic
    def load(typing: Any, address: Any) -> Any:  # noqa: ARG001
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            del context, builder
            return values[0]

        return kind(types.int64), generate

    return load


def by_address(function: Any, place: int) -> Any:
    """Make a function that calls a compiled one by its address in `t.info[place]`."""
    (wanted,) = function.signatures
    result = function.overloads[wanted].signature.return_type

    def call(typing: Any, t: Any, *rest: Any) -> Any:  # noqa: ARG001  numba passes them
        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            places = loaded(context, builder, t, values[0], "info", DATA)
            address = builder.load(builder.gep(places, [context.get_constant(types.intp, place)]))
            kind = context.call_conv.get_function_type(result, wanted)
            at = builder.inttoptr(address, kind.as_pointer())
            status, value = context.call_conv.call_function(builder, at, result, wanted, values)
            del status  # kernels raise nothing
            return value

        return result(*wanted), generate

    typing = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = inspect.signature(function.py_func).parameters.values()
    call.__signature__ = inspect.Signature([typing, *given])  # type: ignore[attr-defined]
    return intrinsic(call)


@intrinsic
def borrowed(typing: Any, size: Any) -> Any:  # noqa: ARG001
    """Bytes from the C library: see `kernels.build.memory`."""
    kind = types.Array(types.uint8, 1, "C")

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        given = ir.FunctionType(cgutils.voidptr_t, [cgutils.intp_t])
        malloc = cgutils.get_or_insert_function(builder.module, given, "malloc")
        made = context.make_array(kind)(context, builder)
        made.data = builder.bitcast(builder.call(malloc, values), made.data.type)
        made.meminfo = context.get_constant_null(types.MemInfoPointer(types.voidptr))
        made.parent = context.get_constant_null(types.pyobject)
        made.nitems, made.itemsize = values[0], context.get_constant(types.intp, 1)
        made.shape = cgutils.pack_array(builder, [values[0]])
        made.strides = cgutils.pack_array(builder, [made.itemsize])
        return made._getvalue()

    return kind(types.intp), generate


@intrinsic
def give_back(typing: Any, array: Any) -> Any:  # noqa: ARG001
    """Give back bytes that were borrowed."""

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        given = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t])
        free = cgutils.get_or_insert_function(builder.module, given, "free")
        data = context.make_array(array)(context, builder, values[0]).data
        builder.call(free, [builder.bitcast(data, cgutils.voidptr_t)])
        return context.get_dummy_value()

    return types.void(array), generate
