"""Loops of explicit vector instructions, emitted as LLVM IR: nothing is left to automatic vectorisation.

A :class:`Loop` says what one trip contains; :func:`compile_loop` makes machine code of it and keeps the assembly,
for :mod:`microbench.assembly` to read. The compiled function is ``void loop(arguments, trips)``: `arguments` points to
`ARGUMENTS` 64-bit words: the array pointers, the bytes of each array, the address of the register block. One flat loop
does all passes: the offset into the arrays wraps round without a branch, so that short working sets pay no mispredicted
loop exit between passes.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir
from numba import cfunc, types
from numba.core import cgutils
from numba.extending import intrinsic

from microbench.catalog import Extension
from microbench.clock import opaque
from microbench.loop import A_SLOT, ARRAYS, FIRST_SLOT, SLOT_BYTES, X_SLOT, Loop

_I64 = ir.IntType(64)
_I8 = ir.IntType(8)
_ELEMENTS = {
    "fp64": (ir.DoubleType(), 64, "f64"),
    "fp32": (ir.FloatType(), 32, "f32"),
    "fp16": (ir.HalfType(), 16, "f16"),
    # Of the accumulators of their dot products. What is multiplied comes in registers of the same type, as bits.
    "bf16": (ir.FloatType(), 32, "f32"),
    "int8": (ir.IntType(32), 32, "i32"),
    # Scalars of general registers: addresses, indices and sums that may wrap round.
    "int64": (_I64, 64, "i64"),
    "int32": (ir.IntType(32), 32, "i32"),
}
_OPERAND_BITS = {"bfloat": 16, "i8": 8}
_ARM = ("aarch64", "arm64")
_SINK_CONSTRAINTS = {
    **dict.fromkeys(("x86_64", "amd64"), ("v", "v", "v")),
    **dict.fromkeys(_ARM, ("w", "w", "w")),
    "riscv64": ("r", "f", "f"),
    "ppc64le": ("r", "^wa", "^wa"),
    "s390x": ("r", "f", "v"),
    "loongarch64": ("r", "f", "f"),
}
"""Registers of an integer, of another scalar and of a vector in inline assembly, by machine (LLVM Language Reference,
"Supported Constraint Code List"). LLVM ends the process at a constraint that does not fit."""


class _Named(ir.Type):  # type: ignore[misc]
    """An element type by LLVM's name of it, since llvmlite has no bfloat."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _to_string(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Emitter:
    """Writes the instructions of one trip. Vectors are `bits` wide and hold elements of `precision`."""

    def __init__(self, builder: ir.IRBuilder, precision: str, bits: int, machine: str) -> None:
        self.builder = builder
        element, element_bits, suffix = _ELEMENTS[precision]
        self.machine = machine
        self.lanes = bits // element_bits
        self.bytes = bits // 8
        self.type = ir.VectorType(element, self.lanes) if self.lanes > 1 else element
        self._suffix = f"v{self.lanes}{suffix}" if self.lanes > 1 else suffix
        whole, scalar, vector = _SINK_CONSTRAINTS.get(machine.lower(), ("r", "r", "r"))
        self._sink = vector if self.lanes > 1 else whole if isinstance(element, ir.IntType) else scalar
        # The non-temporal store of aarch64 moves a pair of registers; alone, one vector would be stored by halves.
        self._in_pairs = bits == 128 and machine.lower() in _ARM
        self._held: tuple[Any, Any, int] | None = None

    def load(self, pointer: Any, offset: int = 0) -> Any:
        """Load one vector from `pointer` plus a constant number of bytes."""
        value = self.builder.load(self._at(pointer, offset), typ=self.type)
        value.align = self.bytes
        return value

    def store(self, value: Any, pointer: Any, offset: int = 0, nontemporal: bool = False) -> None:
        """Store one vector, past the caches if asked for."""
        if nontemporal and self._in_pairs:
            held = self._held
            if held is None or held[1] is not pointer or held[2] + self.bytes != offset:
                self.flush()
                self._held = (value, pointer, offset)
                return
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), 2 * self.lanes), list(range(2 * self.lanes)))
            value, offset = self.builder.shuffle_vector(held[0], value, lanes), held[2]
            self._held = None
        self._store(value, pointer, offset, nontemporal)

    def flush(self) -> None:
        """Store what :meth:`store` still holds back to make a pair of it."""
        if self._held is not None:
            held, self._held = self._held, None
            self._store(*held, True)

    def _store(self, value: Any, pointer: Any, offset: int, nontemporal: bool) -> None:
        instruction = self.builder.store(value, self._at(pointer, offset))
        instruction.align = self.bytes
        if nontemporal:
            one = self.builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
            instruction.set_metadata("nontemporal", one)

    def fma(self, accumulator: Any, x: Any, a: Any) -> Any:
        """Return accumulator * x + a, rounded once."""
        return self._intrinsic("fma", accumulator, x, a)

    def mul_add_unfused(self, accumulator: Any, x: Any, a: Any) -> Any:
        """Return accumulator * x + a in two instructions, rounded twice."""
        return self.builder.fadd(self.builder.fmul(accumulator, x), a)

    def add(self, accumulator: Any, x: Any, a: Any) -> Any:
        """Return a - accumulator: an addition in every respect, and done twice it changes nothing."""
        return self.builder.fsub(a, accumulator)

    def mul(self, accumulator: Any, x: Any, a: Any) -> Any:
        """Return accumulator * x."""
        return self.builder.fmul(accumulator, x)

    def divide(self, operand: Any, x: Any, a: Any) -> Any:
        """Return a / operand."""
        return self.builder.fdiv(a, operand)

    def sqrt(self, operand: Any, x: Any, a: Any) -> Any:
        """Return the square root of the operand."""
        return self._intrinsic("sqrt", operand)

    def larger(self, value: Any, bound: Any) -> Any:
        """Return the larger of two, of which none may be NaN: then one instruction does it everywhere."""
        return self._intrinsic("maxnum", value, bound, flags=("nnan",))

    def smaller(self, value: Any, bound: Any) -> Any:
        """Return the smaller of two, of which none may be NaN."""
        return self._intrinsic("minnum", value, bound, flags=("nnan",))

    def dot(self, extension: Extension, accumulator: Any, x: Any, a: Any) -> Any:
        """Return accumulator + x . a by the instruction of an extension; x and a are bits of any type."""
        if extension.intrinsic:
            element = _Named(extension.operand)
            operand = ir.VectorType(element, 8 * self.bytes // _OPERAND_BITS[extension.operand])
            function = cgutils.get_or_insert_function(
                self.builder.module, ir.FunctionType(self.type, [self.type, operand, operand]), extension.intrinsic
            )
            bits = [self.builder.bitcast(value, operand) for value in (x, a)]
            return self.builder.call(function, [accumulator, *bits])
        function = ir.FunctionType(self.type, [self.type] * 3)
        return self.builder.asm(function, extension.assembly, extension.constraints, [x, a, accumulator], False)

    def opaque(self, value: Any) -> Any:
        """Return `value`, of which LLVM then knows nothing, without spending an instruction on it."""
        function = ir.FunctionType(self.type, [self.type])
        return self.builder.asm(function, "", f"={self._sink},0", [value], True)

    def sink(self, value: Any) -> None:
        """Force `value` into a register without spending an instruction on it."""
        function = ir.FunctionType(ir.VoidType(), [self.type])
        self.builder.call(ir.InlineAsm(function, "", self._sink, side_effect=True), [value])

    def follow(self, address: Any) -> Any:
        """Load what lies at `address`, itself an element: the next address of a chain."""
        if self.type != _I64:
            address = self.builder.bitcast(self._held_in_vector(address), _I64)
        return self.load(self.builder.inttoptr(address, ir.PointerType()))

    def element(self, pointer: Any, index: Any) -> Any:
        """Load the element number `index`, an integer of any width, of the array at `pointer`."""
        if index.type != _I64:
            index = self.builder.sext(index, _I64)
        value = self.builder.load(self.builder.gep(pointer, [index], source_etype=self.type), typ=self.type)
        value.align = self.bytes
        return value

    def part(self) -> None:
        """Keep what follows apart from what came before, so that neighbouring loads never become one vector."""
        self.builder.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", side_effect=True), [])

    def _held_in_vector(self, value: Any) -> Any:
        """Return `value` through an empty inline assembly that wants it in a vector register."""
        function = ir.FunctionType(self.type, [self.type])
        return self.builder.call(ir.InlineAsm(function, "", f"={self._sink},0", side_effect=True), [value])

    def _intrinsic(self, name: str, *arguments: Any, flags: tuple[str, ...] = ()) -> Any:
        function = cgutils.get_or_insert_function(
            self.builder.module,
            ir.FunctionType(self.type, [self.type] * len(arguments)),
            f"llvm.{name}.{self._suffix}",
        )
        return self.builder.call(function, arguments, fastmath=flags)

    def _at(self, pointer: Any, offset: int) -> Any:
        return self.builder.gep(pointer, [ir.Constant(_I64, offset)], source_etype=_I8)


@dataclass(frozen=True, slots=True)
class Machinecode:
    """A compiled loop: its address, its assembly (empty if it cannot be seen), and whoever keeps it alive."""

    address: int
    assembly: str
    owner: Any = field(repr=False)


def emit(builder: ir.IRBuilder, loop: Loop, arguments: Any, trips: Any, machine: str) -> None:
    """Emit the whole of `loop` at the end of the builder's block: set-up, `trips` trips, accumulators stored."""
    emitter = Emitter(builder, loop.precision, loop.vector_bits, machine)
    block = builder.inttoptr(arguments, ir.PointerType())

    def argument(index: int) -> Any:
        return builder.load(builder.gep(block, [ir.Constant(_I64, index)], source_etype=_I64), typ=_I64)

    arrays = [builder.inttoptr(argument(index), ir.PointerType()) for index in range(ARRAYS)] if loop.step else []
    length = argument(ARRAYS)
    registers = builder.inttoptr(argument(ARRAYS + 1), ir.PointerType())
    x, a = (emitter.load(registers, slot * SLOT_BYTES) for slot in (X_SLOT, A_SLOT))
    slots = [(FIRST_SLOT + index) * SLOT_BYTES for index in range(loop.accumulators)]
    starts = [emitter.load(registers, slot) for slot in slots]

    held = builder.gep(registers, [ir.Constant(_I64, A_SLOT * SLOT_BYTES)], source_etype=_I8)
    begin = builder.load(held, typ=_I64) if loop.drifts else ir.Constant(_I64, 0)
    rim = builder.sub(length, ir.Constant(_I64, loop.step))
    entry = builder.block
    body, done = builder.append_basic_block("trip"), builder.append_basic_block("done")
    builder.branch(body)
    builder.position_at_end(body)
    left, offset = builder.phi(_I64), builder.phi(_I64)
    left.add_incoming(trips, entry)
    offset.add_incoming(begin, entry)
    accumulators = [builder.phi(emitter.type) for _ in starts]
    for accumulator, start in zip(accumulators, starts, strict=True):
        accumulator.add_incoming(start, entry)

    _barrier(builder)
    stores = loop.counts.stores + loop.counts.nontemporal_stores > 0
    pointers = [_advanced(builder, array, offset, hidden=stores) for array in arrays[: loop.streams]]
    pointers += arrays[loop.streams :]
    after = loop.body(emitter, pointers, list(accumulators), x, a)
    emitter.flush()
    last = builder.block  # another one than `body` where a trip contains a loop itself
    for accumulator, value in zip(accumulators, after, strict=True):
        accumulator.add_incoming(value, last)
    advanced = builder.add(offset, ir.Constant(_I64, loop.step))
    if loop.drifts:
        # Hidden from LLVM, which would make a chain of five instructions of these two.
        over = opaque(builder, builder.sub(offset, rim))
        wrapped = builder.select(builder.icmp_signed("<", over, ir.Constant(_I64, 0)), advanced, over)
    else:
        wrapped = builder.select(builder.icmp_unsigned("==", advanced, length), ir.Constant(_I64, 0), advanced)
    offset.add_incoming(wrapped if loop.step else offset, last)
    rest = builder.sub(left, ir.Constant(_I64, 1))
    left.add_incoming(rest, last)
    builder.cbranch(builder.icmp_unsigned("!=", rest, ir.Constant(_I64, 0)), body, done)

    builder.position_at_end(done)
    for value, slot in zip(after, slots, strict=True):
        emitter.store(value, registers, slot)
    if loop.drifts:
        builder.store(wrapped, held)
    if loop.counts.nontemporal_stores:
        # Non-temporal stores are not done when they retire; without the fence the last ones would go untimed.
        builder.fence("seq_cst")


def _advanced(builder: ir.IRBuilder, array: Any, offset: Any, *, hidden: bool) -> Any:
    """Return the address at an offset; if hidden, as one register of which LLVM knows no parts.

    Intel cores from Haswell to Skylake have three units that make addresses, and the third, for stores alone, adds no
    index register (https://stackoverflow.com/questions/50557636, with measurements): with base and index in each
    address, two loads and a store would share two units.
    """
    if not hidden:
        return builder.gep(array, [offset], source_etype=_I8)
    address = builder.add(builder.ptrtoint(array, _I64), offset)
    whole = builder.asm(ir.FunctionType(_I64, [_I64]), "", "=r,0", [address], False)
    return builder.inttoptr(whole, ir.PointerType())


def _barrier(builder: ir.IRBuilder) -> None:
    """Keep trips apart: nothing in memory is known across it, and the loop may not be unrolled (``convergent``)."""
    function = ir.FunctionType(ir.VoidType(), [])
    assembly = ir.InlineAsm(function, "", "~{memory}", side_effect=True)
    builder.call(assembly, [], attrs=("convergent",))


def compile_loop(loop: Loop) -> Machinecode:
    """Compile `loop` for this CPU, in this process and without a cache, so that its assembly can be read.

    Raises
    ------
    KeyError
        If the precision has no element type here.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def whole(typingctx: Any, arguments: Any, trips: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
            emit(builder, loop, args[0], args[1], platform.machine())
            return context.get_dummy_value()

        return types.void(arguments, trips), codegen

    def probe(arguments: Any, trips: Any) -> None:
        whole(arguments, trips)

    compiled = cfunc(types.void(types.uint64, types.int64), nopython=True, cache=False)(probe)
    return Machinecode(compiled.address, assembly_of(compiled), compiled)


def assembly_of(compiled: Any) -> str:
    """Return the assembly of a compiled callback, empty if it cannot be seen."""
    # Numba shows the assembly of dispatchers (inspect_asm) but not of C callbacks; both read it from the library.
    try:
        return str(compiled._library.get_asm_str())
    except AttributeError:
        return ""
