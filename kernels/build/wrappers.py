"""Write the functions through which Python calls the kernels of a library, in LLVM's language.

Numba's own wrappers need numba's runtime when they run, and trust that somebody has looked at the
arguments. These need CPython alone. They take arguments in an array, turn each into what the kernel
takes, give back the GIL meanwhile, and turn the result into an object. An array must be C-ordered,
of the kernel's dtype and number of dimensions, and writable where the kernel may write; else there
is a TypeError.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.np.numpy_support import as_dtype

from structgen.kernels.build.decorators import Kernel
from structgen.kernels.build.library import name_of
from structgen.kernels.build.pointers import Reference

BYTE, INT, WORD, OBJECT = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
# Where numpy (of version 2) and CPython have what is asked for, in bytes.
TYPE_OF = 8  # of any object
DATA, DIMENSIONS, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64  # of an array
KIND, ORDER, SIZE = 24, 26, 40  # of a dtype
C_ORDERED, ALIGNED, WRITABLE = 0x1, 0x100, 0x400
# Where a kernel has what it knows of an array.
MEMORY, PARENT, COUNT, ITEM_SIZE, ITEMS, LENGTHS = 0, 8, 16, 24, 32, 40
WRONG_ARRAY = "a kernel was given something else than an array of the dtype and order that it takes"
WRONG_COUNT = "a kernel was given another number of arguments than it takes"
FAILED = "a kernel failed"


def machine() -> Any:
    """The machine that a library is for, as NUMBA_CPU_NAME says; its code may lie anywhere."""
    codegen = cpu_target.target_context.codegen()
    _, name, features = codegen.magic_tuple()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="small"
    )


def object_of(kernels: list[Kernel]) -> bytes:
    """An object file with the kernels of a module, and their wrappers; nothing else is seen."""
    made = machine()
    whole = llvm.parse_assembly(_with_wrappers(kernels))
    builder = llvm.create_pass_builder(made, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(whole, builder)
    for kernel in kernels:
        whole.link_in(llvm.parse_assembly(_compiled(kernel).library.get_llvm_str()))
    shown = set()
    for kernel in kernels:
        name = name_of(kernel.function)
        whole.get_function(_compiled(kernel).fndesc.llvm_func_name).name = f"{name}.native"
        shown |= {name, f"{name}.native"}
    for each in (*whole.functions, *whole.global_variables):
        if not each.is_declaration:
            each.linkage = "external" if each.name in shown else "internal"
    code: bytes = made.emit_object(whole)
    return code


def _compiled(kernel: Kernel) -> Any:
    (compiled,) = kernel.function.overloads.values()
    return compiled


def _with_wrappers(kernels: list[Kernel]) -> str:
    module = ir.Module("wrappers")
    module.triple = llvm.get_process_triple()
    module.data_layout = str(cpu_target.target_context.codegen().target_data)
    for kernel in kernels:
        _Wrapper(module, kernel).write()
    return str(module)


class _Writer:
    """What wrappers and their helpers have in common: a function that is being written."""

    def __init__(self, module: Any, name: str, result: Any, *given: Any) -> None:
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(result, given), name)
        self.builder = ir.IRBuilder(self.function.append_basic_block())

    def call(self, name: str, result: Any, *given: Any) -> Any:
        """Call a function of CPython."""
        function = self.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [value.type for value in given])
            function = ir.Function(self.module, kind, name)
        return self.builder.call(function, given)

    def global_object(self, name: str) -> Any:
        """The address of an object of CPython."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.GlobalVariable(self.module, BYTE, name)
        return self.builder.bitcast(found, OBJECT)

    def at(self, start: Any, offset: Any, kind: Any) -> Any:
        """A pointer to what lies so many bytes behind a place."""
        if isinstance(offset, int):
            offset = WORD(offset)
        place = self.builder.gep(start, [offset], source_etype=BYTE)
        return self.builder.bitcast(place, kind.as_pointer())

    def load(self, start: Any, offset: Any, kind: Any) -> Any:
        """What lies there."""
        return self.builder.load(self.at(start, offset, kind), typ=kind)

    def store(self, start: Any, offset: Any, value: Any) -> None:
        """Put something there."""
        self.builder.store(value, self.at(start, offset, value.type))

    def raise_error(self, kind: str, message: str) -> None:
        """Set an error of Python."""
        text = cgutils.global_constant(self.module, "text", cgutils.make_bytearray(
            message.encode() + b"\0"
        ))  # fmt: skip
        text.linkage = "internal"
        error = self.builder.load(
            self.builder.bitcast(self.global_object(kind), OBJECT.as_pointer()), typ=OBJECT
        )
        self.call("PyErr_SetString", ir.VoidType(), error, self.builder.bitcast(text, OBJECT))

    def leave_if(self, wrong: Any, result: Any) -> None:
        """Return early."""
        with self.builder.if_then(wrong, likely=False):
            self.builder.ret(result)


class _Wrapper(_Writer):
    """One wrapper: `object(array type, arguments, how many)`."""

    def __init__(self, module: Any, kernel: Kernel) -> None:
        super().__init__(module, name_of(kernel.function), OBJECT, OBJECT, OBJECT, WORD)
        self.context = cpu_target.target_context
        self.kernel = kernel
        self.arrays, self.arguments, self.count = self.function.args

    def write(self) -> None:
        """Arguments, call, result."""
        builder, described = self.builder, _compiled(self.kernel).fndesc
        kinds, result = described.argtypes, described.restype
        with builder.if_then(builder.icmp_signed("!=", self.count, WORD(len(kinds))), likely=False):
            self.raise_error("PyExc_TypeError", WRONG_COUNT)
            builder.ret(OBJECT(None))
        values = [
            self.value(kind, self.load(self.arguments, 8 * i, OBJECT))
            for i, kind in enumerate(kinds)
        ]
        native = ir.Function(
            self.module,
            self.context.call_conv.get_function_type(result, kinds),
            described.llvm_func_name,
        )
        if not self.kernel.keeps_gil:
            thread = self.call("PyEval_SaveThread", OBJECT)
        status, value = self.context.call_conv.call_function(builder, native, result, kinds, values)
        if not self.kernel.keeps_gil:
            self.call("PyEval_RestoreThread", ir.VoidType(), thread)
        with builder.if_then(status.is_error, likely=False):
            self.raise_error("PyExc_SystemError", FAILED)
            builder.ret(OBJECT(None))
        builder.ret(self.boxed(result, value))

    def value(self, kind: Any, given: Any) -> Any:
        """What a kernel takes in place of an object."""
        builder = self.builder
        wanted = self.context.get_value_type(kind)
        if isinstance(kind, types.Boolean):
            truth = self.call("PyObject_IsTrue", INT, given)
            self.leave_if(builder.icmp_signed("<", truth, INT(0)), OBJECT(None))
            return builder.icmp_signed("!=", truth, INT(0))
        if isinstance(kind, types.Integer):
            room = cgutils.alloca_once(builder, WORD)
            wrong = builder.call(_int_reader(self.module), [given, room])
            self.leave_if(builder.icmp_signed("!=", wrong, INT(0)), OBJECT(None))
            return builder.trunc(builder.load(room), wanted) if kind.bitwidth < 64 else (
                builder.load(room)
            )  # fmt: skip
        if isinstance(kind, types.Array | types.BaseTuple):
            return builder.load(self.written(kind, given))
        if isinstance(kind, Reference):
            return self.reference(kind, given)
        raise NotImplementedError(f"no kernel that Python calls has taken {kind} before")

    def written(self, kind: Any, given: Any, room: Any = None) -> Any:
        """Where an array or a tuple is written down, as kernels have it."""
        builder = self.builder
        if room is None:
            room = cgutils.alloca_once(builder, self.context.get_value_type(kind))
        place = builder.bitcast(room, OBJECT)
        if isinstance(kind, types.Array):
            reader, wanted = _array_reader(self.module), WORD(_wanted(kind))
            wrong = builder.call(reader, [given, self.arrays, place, wanted])
            self.leave_if(builder.icmp_signed("!=", wrong, INT(0)), OBJECT(None))
        elif all(isinstance(part, types.Array) for part in kind):
            wanted = _constant(self.module, [_wanted(part) for part in kind])
            reader, count = _tuple_reader(self.module), WORD(len(kind))
            wrong = builder.call(reader, [given, self.arrays, place, wanted, count])
            self.leave_if(builder.icmp_signed("!=", wrong, INT(0)), OBJECT(None))
        else:
            for i, part in enumerate(kind):
                item = self.call("PyTuple_GetItem", OBJECT, given, WORD(i))
                self.leave_if(cgutils.is_null(builder, item), OBJECT(None))
                inner = cgutils.gep_inbounds(builder, room, 0, i)
                if isinstance(part, types.Array | types.BaseTuple):
                    self.written(part, item, inner)
                else:
                    builder.store(self.value(part, item), inner)
        return room

    def reference(self, kind: Any, given: Any) -> Any:
        """The address of a tuple: an int, or where the tuple in hand is written down."""
        builder = self.builder
        room = cgutils.alloca_once(builder, WORD)
        is_int = builder.icmp_unsigned(
            "==", self.load(given, TYPE_OF, OBJECT), self.global_object("PyLong_Type")
        )
        with builder.if_else(is_int) as (as_int, as_tuple):
            with as_int:
                builder.store(self.value(types.int64, given), room)
            with as_tuple:
                builder.store(builder.ptrtoint(self.written(kind.kind, given), WORD), room)
        return builder.load(room)

    def boxed(self, kind: Any, value: Any) -> Any:
        """A result as an object."""
        builder = self.builder
        if isinstance(kind, types.NoneType):
            none = self.global_object("_Py_NoneStruct")
            self.call("Py_IncRef", ir.VoidType(), none)
            return none
        if isinstance(kind, types.Boolean):
            return self.call("PyBool_FromLong", OBJECT, builder.zext(value, WORD))
        if isinstance(kind, types.Integer) and kind.signed:
            wide = value if kind.bitwidth == 64 else builder.sext(value, WORD)
            return self.call("PyLong_FromLongLong", OBJECT, wide)
        raise NotImplementedError(f"no kernel that Python calls has returned {kind} before")


def _int_reader(module: Any) -> Any:
    """`status(object, room)`: write an int, or what is like one, as 64 bits; not 0 on an error."""
    name = "read_int"
    if name in module.globals:
        return module.globals[name]
    writer = _Writer(module, name, INT, OBJECT, WORD.as_pointer())
    writer.function.linkage = "internal"
    builder, (given, room) = writer.builder, writer.function.args

    def read(source: Any) -> Any:
        """Whether that failed; a number may be -1, too."""
        found = writer.call("PyLong_AsLongLong", WORD, source)
        builder.store(found, room)
        with builder.if_then(builder.icmp_signed("!=", found, WORD(-1)), likely=True):
            builder.ret(INT(0))
        return cgutils.is_not_null(builder, writer.call("PyErr_Occurred", OBJECT))

    failed = read(given)
    with builder.if_then(builder.not_(failed)):
        builder.ret(INT(0))
    # a number that is no index, such as numpy's bool
    is_number = writer.call("PyNumber_Check", INT, given)
    with builder.if_then(builder.icmp_signed("==", is_number, INT(0))):
        builder.ret(INT(1))
    writer.call("PyErr_Clear", ir.VoidType())
    number = writer.call("PyNumber_Long", OBJECT, given)
    with builder.if_then(cgutils.is_null(builder, number)):
        builder.ret(INT(1))
    found = writer.call("PyLong_AsLongLong", WORD, number)
    writer.call("Py_DecRef", ir.VoidType(), number)
    builder.store(found, room)
    with builder.if_then(builder.icmp_signed("!=", found, WORD(-1))):
        builder.ret(INT(0))
    failed = cgutils.is_not_null(builder, writer.call("PyErr_Occurred", OBJECT))
    builder.ret(builder.zext(failed, INT))
    return writer.function


def _wanted(kind: Any) -> int:
    """Which arrays a type accepts, in one word: see `_array_reader`."""
    if not isinstance(kind, types.Array) or kind.layout != "C":
        raise NotImplementedError(f"kernels take C-ordered arrays, not {kind}")
    dtype = as_dtype(kind.dtype)
    needs = C_ORDERED | ALIGNED | (WRITABLE if kind.mutable else 0)
    return int(ord(dtype.kind) | dtype.itemsize << 8 | kind.ndim << 16 | needs << 32)


def _constant(module: Any, words: list[int]) -> Any:
    """The address of a table of words."""
    table = ir.Constant(ir.ArrayType(WORD, len(words)), words)
    made = cgutils.global_constant(module, "words", table)
    made.linkage = "internal"
    return made.bitcast(OBJECT)


def _tuple_reader(module: Any) -> Any:
    """`status(object, array type, room, wanted, count)`: write the arrays of a tuple down.

    wanted: of each array, see `_array_reader`. Not 0 on an error.
    """
    name = "read_tuple"
    if name in module.globals:
        return module.globals[name]
    writer = _Writer(module, name, INT, OBJECT, OBJECT, OBJECT, OBJECT, WORD)
    writer.function.linkage = "internal"
    builder = writer.builder
    given, arrays, room, wanted, count = writer.function.args
    at = cgutils.alloca_once_value(builder, room)
    with cgutils.for_range(builder, count) as loop:
        item = writer.call("PyTuple_GetItem", OBJECT, given, loop.index)
        writer.leave_if(cgutils.is_null(builder, item), INT(-1))
        each = writer.load(wanted, builder.mul(loop.index, WORD(8)), WORD)
        place = builder.load(at)
        wrong = builder.call(_array_reader(module), [item, arrays, place, each])
        writer.leave_if(builder.icmp_signed("!=", wrong, INT(0)), INT(-1))
        dimensions = builder.and_(builder.lshr(each, WORD(16)), WORD(255))
        size = builder.add(builder.mul(dimensions, WORD(16)), WORD(LENGTHS))
        builder.store(builder.gep(place, [size], source_etype=BYTE), at)
    builder.ret(INT(0))
    return writer.function


def _array_reader(module: Any) -> Any:
    """`status(object, array type, room, wanted)`: write down what kernels know of an array.

    wanted: the dtype's kind, the bytes of an item, dimensions, and in the upper half the flags that
    it must have. Not 0 on an error.
    """
    name = "read_array"
    if name in module.globals:
        return module.globals[name]
    writer = _Writer(module, name, INT, OBJECT, OBJECT, OBJECT, WORD)
    writer.function.linkage = "internal"
    builder = writer.builder
    given, arrays, room, wanted = writer.function.args
    kind, size, dimensions = (
        builder.and_(builder.lshr(wanted, WORD(shift)), WORD(255)) for shift in (0, 8, 16)
    )
    kind, dimensions = builder.trunc(kind, BYTE), builder.trunc(dimensions, INT)
    needs = builder.trunc(builder.lshr(wanted, WORD(32)), INT)

    def refuse_unless(right: Any) -> None:
        with builder.if_then(builder.not_(right), likely=False):
            writer.raise_error("PyExc_TypeError", WRONG_ARRAY)
            builder.ret(INT(-1))

    # an array, or one of a class derived from it
    found = writer.load(given, TYPE_OF, OBJECT)
    with builder.if_then(builder.icmp_unsigned("!=", found, arrays), likely=False):
        derived = writer.call("PyType_IsSubtype", INT, found, arrays)
        refuse_unless(builder.icmp_signed("!=", derived, INT(0)))
    # of the dtype, order and dimensions that the kernel was compiled for
    flags, dtype = writer.load(given, FLAGS, INT), writer.load(given, DTYPE, OBJECT)
    has_flags = builder.icmp_signed("==", builder.and_(flags, needs), needs)
    swapped = BYTE(ord(">" if np.little_endian else "<"))
    for right in (
        builder.icmp_signed("==", writer.load(given, DIMENSIONS, INT), dimensions),
        builder.icmp_signed("==", writer.load(dtype, KIND, BYTE), kind),
        builder.icmp_signed("==", writer.load(dtype, SIZE, WORD), size),
        builder.icmp_signed("!=", writer.load(dtype, ORDER, BYTE), swapped),
    ):
        has_flags = builder.and_(has_flags, right)
    refuse_unless(has_flags)
    # what kernels know of it
    count = cgutils.alloca_once_value(builder, WORD(1))
    lengths, strides = writer.load(given, SHAPE, OBJECT), writer.load(given, STRIDES, OBJECT)
    number = builder.sext(dimensions, WORD)
    behind = builder.add(builder.mul(number, WORD(8)), WORD(LENGTHS))
    with cgutils.for_range(builder, number) as loop:
        axis = builder.mul(loop.index, WORD(8))
        length = writer.load(lengths, axis, WORD)
        builder.store(builder.mul(builder.load(count), length), count)
        writer.store(room, builder.add(axis, WORD(LENGTHS)), length)
        writer.store(room, builder.add(axis, behind), writer.load(strides, axis, WORD))
    writer.store(room, MEMORY, OBJECT(None))
    writer.store(room, PARENT, given)
    writer.store(room, COUNT, builder.load(count))
    writer.store(room, ITEM_SIZE, size)
    writer.store(room, ITEMS, writer.load(given, DATA, OBJECT))
    builder.ret(INT(0))
    return writer.function
