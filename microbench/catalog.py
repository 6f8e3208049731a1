"""What can be measured, as plain facts: precisions, access mixes, instructions. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

STEP_BYTES = 1024
"""Bytes of one array that one trip of a memory loop moves: 16 vectors of 512 bits, 32 of 256, 64 of 128.

Long enough that the three scalar instructions which advance and wrap the offset are hidden, short enough for the
micro-op cache.
"""

PAGE_BYTES = 4096

HUGE_PAGE = 2 << 20
"""Bytes of a huge page of the usual size: arenas, and parts of them that threads share, begin at whole ones."""

GAP_BYTES = PAGE_BYTES + 320
"""Bytes between arrays of one working set beyond their length in whole pages.

Equal low 12 bits of a load's and an earlier store's address make a core believe that they overlap (4 KiB aliasing). 320
bytes, five lines, keep three arrays apart within a page, also while vectors of 64 bytes are in flight.
"""

MULTIPLY_ADDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""The k of the intensity sweep: multiply-adds per loaded element."""


@dataclass(frozen=True, slots=True)
class Precision:
    """An element type.

    Attributes
    ----------
    name : str
        ``"fp64"``, ``"bf16"``, ...
    bytes : int
        Of one element.
    integer : bool
        Whether its operations are counted in OP instead of FLOP.
    accumulated : int
        Elements that a dot product sums up in each element of its accumulator, which is 32 bits wide; 0 for precisions
        with ordinary arithmetic.
    """

    name: str
    bytes: int
    integer: bool = False
    accumulated: int = 0


@dataclass(frozen=True, slots=True)
class Mix:
    """How a memory loop touches its arrays, per element and step.

    Attributes
    ----------
    reads, writes : int
        Loads and stores of one vector of each array it uses.
    arrays : int
        Arrays that make up the working set.
    allocates : int
        Stores to lines that were not read first: with ordinary stores a cache reads each such line before it is
        overwritten.
    fma : int
        Multiply-adds done on the way.
    nontemporal : bool
        Whether the stores bypass the caches.
    """

    name: str
    reads: int
    writes: int
    arrays: int
    allocates: int = 0
    fma: int = 0
    nontemporal: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """A kind of arithmetic.

    Attributes
    ----------
    name : str
        Of the kind; a mix of several is named by its shares.
    steps : tuple of str
        What neighbouring chains do in one step, in turn: names of steps in :data:`STEPS`.
    chained : bool
        Whether each step of a chain needs the one before. If not, accumulators only receive results.
    """

    name: str
    steps: tuple[str, ...]
    chained: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a chain: operations on one element, and the instructions it takes, as counted in assembly."""

    flop: int
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Extension:
    """Instructions of a precision that only some CPUs have.

    Attributes
    ----------
    precision : str
        Name of the precision.
    family : str
        Of the CPU: ``"x86"`` or ``"arm"``.
    name : str
        What the vendor calls the instruction set.
    mnemonic : str
        The instruction.
    features : tuple of str
        LLVM's names of what the CPU must have, all of it; the first is the extension itself.
    vector_bits : tuple of int
        Widths that the instruction works on with these features.
    assembly, constraints : str
        One step as LLVM's inline assembly: ``$0`` is the accumulator, ``$1`` and ``$2`` are multiplied.
    intrinsic, operand : str
        Instead of that, LLVM's function of this CPU family for one step, and the element type of what it multiplies.
        Without either, LLVM has the operation for every CPU.
    """

    precision: str
    family: str
    name: str
    mnemonic: str
    features: tuple[str, ...]
    vector_bits: tuple[int, ...]
    assembly: str = ""
    constraints: str = ""
    intrinsic: str = ""
    operand: str = ""


PRECISIONS = (
    Precision("fp64", 8),
    Precision("fp32", 4),
    Precision("fp16", 2),
    Precision("bf16", 2, accumulated=2),
    Precision("int8", 1, integer=True, accumulated=4),
)

STEPS = {
    "fma": Step(2, (("fma", 1),)),
    "mul_add_unfused": Step(2, (("mul", 1), ("add", 1))),
    "add": Step(1, (("add", 1),)),
    "mul": Step(1, (("mul", 1),)),
    "divide": Step(1, (("divide", 1),)),
    "sqrt": Step(1, (("sqrt", 1),)),
    "dot": Step(2, (("dot", 1),)),
}

INSTRUCTIONS = (
    Instruction("fma", ("fma",)),
    Instruction("mul_add_unfused", ("mul_add_unfused",)),
    Instruction("dot", ("dot",)),
    Instruction("fma_add_2_1", ("fma", "fma", "add")),
    Instruction("fma_add_1_1", ("fma", "add")),
    Instruction("fma_add_1_2", ("fma", "add", "add")),
    Instruction("add", ("add",)),
    Instruction("mul", ("mul",)),
    Instruction("divide", ("divide",), chained=False),
    Instruction("sqrt", ("sqrt",), chained=False),
)

# These instructions change no flag, but LLVM keeps the loop's counter in the flags across inline assembly of integers
# unless it is told not to: without the clobber such a loop never ended.
_FLAGS = "~{flags}"
EXTENSIONS = (
    Extension("fp16", "x86", "AVX512-FP16", "vfmadd231ph", ("avx512fp16",), (128, 256, 512)),
    Extension("fp16", "arm", "FEAT_FP16", "fmla .8h", ("fullfp16",), (128,)),
    Extension("bf16", "x86", "AVX512-BF16", "vdpbf16ps", ("avx512bf16",), (512,), "vdpbf16ps $2, $1, $0", "=v,v,v,0"),
    Extension(
        "bf16", "x86", "AVX512-BF16", "vdpbf16ps", ("avx512bf16", "avx512vl"), (128, 256), "vdpbf16ps $2, $1, $0",
        "=v,v,v,0",
    ),
    Extension(
        "bf16", "arm", "FEAT_BF16", "bfdot", ("bf16",), (128,), intrinsic="llvm.aarch64.neon.bfdot.v4f32.v8bf16",
        operand="bfloat",
    ),
    Extension(
        "int8", "x86", "AVX512-VNNI", "vpdpbusd", ("avx512vnni",), (512,), "vpdpbusd $2, $1, $0",
        f"=v,v,v,0,{_FLAGS}",
    ),
    Extension(
        "int8", "x86", "AVX512-VNNI", "vpdpbusd", ("avx512vnni", "avx512vl"), (128, 256), "vpdpbusd $2, $1, $0",
        f"=v,v,v,0,{_FLAGS}",
    ),
    # The older encoding reaches the lower 16 registers only, which is what "x" means.
    Extension(
        "int8", "x86", "AVX-VNNI", "vpdpbusd", ("avxvnni",), (128, 256), "{vex} vpdpbusd $2, $1, $0",
        f"=x,x,x,0,{_FLAGS}",
    ),
    Extension(
        "int8", "arm", "FEAT_DotProd", "sdot", ("dotprod",), (128,), intrinsic="llvm.aarch64.neon.sdot.v4i32.v16i8",
        operand="i8",
    ),
)  # fmt: skip
"""In the order of preference where a CPU has several for one precision and width."""

TILES = {"AMX": ("amx-tile",), "SME": ("sme",)}
"""Matrix units, and LLVM's names of what a CPU with them has. There is no probe of them yet."""

MIXES = (
    Mix("load", reads=1, writes=0, arrays=1),
    Mix("load2_store1", reads=2, writes=1, arrays=3, allocates=1),
    Mix("copy", reads=1, writes=1, arrays=2, allocates=1),
    Mix("triad", reads=2, writes=1, arrays=3, allocates=1, fma=1),
    Mix("update", reads=1, writes=1, arrays=1, fma=1),
    Mix("store", reads=0, writes=1, arrays=1, allocates=1),
    Mix("load2_store1_nt", reads=2, writes=1, arrays=3, nontemporal=True),
    Mix("copy_nt", reads=1, writes=1, arrays=2, nontemporal=True),
    Mix("triad_nt", reads=2, writes=1, arrays=3, fma=1, nontemporal=True),
    Mix("update_nt", reads=1, writes=1, arrays=1, fma=1, nontemporal=True),
    Mix("store_nt", reads=0, writes=1, arrays=1, nontemporal=True),
)

PROBES = ("compute", "memory", "intensity", "latency", "gather", "stride", "overhead")

LINE_BYTES = 64
"""Bytes from one datum to the next in a random access. On cores with longer lines (Apple's 128) two share one."""

PATTERNS = ("random", "page")
"""Orders of a pointer chase: over the whole working set, and inside pages that are visited one after the other."""

GENERAL_CHAINS = 8
"""Chains of a pointer chase whose addresses stay in general registers; of more they are kept in vector registers, which
are more and cost a few cycles a step. 16 general ones, less stack and counter, would hold no more than 12."""

DATA_PER_INDEX = 4
"""How many times as long as its index array the data of a gather are: with both alike, half of the working set would be
a stream, and with much less index many lines would never be read."""

GATHER_STEP = 128
"""Bytes of the index array that one trip of a gather reads. With more, LLVM's order of the loads needs more registers
than aarch64 has."""

GATHERS = (("int32", 32), ("int64", 64))
"""Element, and bits of the index, of the gathers measured: 4 and 8 bytes each."""

STRIDES = (1, 2, 4, 8, 16, 32, 64)
"""Distances in elements of 8 bytes from one strided read to the next."""

STRIDE_LOADS, STRIDE_STEP = 16, 4096
"""Reads of one trip at a stride, enough to hide the loop, and the most bytes that a trip may step over, few enough for
the longest stride to fit an L1."""

_T = TypeVar("_T", Precision, Mix, Instruction)


def precision(name: str) -> Precision:
    """Return the precision called `name`; KeyError names the known ones."""
    return _find(name, PRECISIONS, "precision")


def mix(name: str) -> Mix:
    """Return the access mix called `name`; KeyError names the known ones."""
    return _find(name, MIXES, "access mix")


def instruction(name: str) -> Instruction:
    """Return the kind of arithmetic called `name`; KeyError names the known ones."""
    return _find(name, INSTRUCTIONS, "instruction")


def instructions_of(precision_name: str) -> tuple[Instruction, ...]:
    """Return the kinds of arithmetic that a precision has."""
    dot = bool(precision(precision_name).accumulated)
    return tuple(entry for entry in INSTRUCTIONS if (entry.name == "dot") == dot)


def round_working_set(mix_name: str, size: int) -> int:
    """Return the largest working set in bytes not above `size` that the loop of a mix fills evenly.

    At least one step of every array.
    """
    granule = mix(mix_name).arrays * STEP_BYTES
    return max(granule, size // granule * granule)


def round_gather(size: int) -> int:
    """Return the largest working set in bytes not above `size` that a gather fills evenly, at least one trip of it."""
    granule = (1 + DATA_PER_INDEX) * GATHER_STEP
    return max(granule, size // granule * granule)


def stride_loads(stride: int) -> int:
    """Return the reads of one trip at a stride of so many elements of 8 bytes."""
    return min(STRIDE_LOADS, STRIDE_STEP // (8 * stride))


def array_pitch(length: int) -> int:
    """Return the bytes from one array of `length` bytes to the next of the same working set."""
    return -(-length // PAGE_BYTES) * PAGE_BYTES + GAP_BYTES


def arena_bytes(mix_name: str, working_set: int) -> int:
    """Return the bytes of memory that one thread needs for a working set of a mix, gaps included."""
    arrays = mix(mix_name).arrays
    return arrays * array_pitch(working_set // arrays)


def _find(name: str, known: tuple[_T, ...], what: str) -> _T:
    for entry in known:
        if entry.name == name:
            return entry
    raise KeyError(f"unknown {what} {name!r}; known: {', '.join(entry.name for entry in known)}")
