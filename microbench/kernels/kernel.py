"""What an application kernel is: its counts, its sizes, its data, its code and its oracle. Imports no compiler.

A kernel is a :class:`Spec`: facts, formulas, and a function that makes the task of a :class:`Problem`. There are three
kinds of tasks: a :class:`Stream` is a loop of explicit vectors over each thread's own arrays, a :class:`Program` is a
Python function that Numba compiles (with vectors written out where its helpers are intrinsics), and a :class:`Library`
calls somebody else's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from microbench import catalog
from microbench.assembly import Counts
from microbench.kernels.formula import Formula
from microbench.loop import Loop

if TYPE_CHECKING:
    from microbench.team import Worker

DTYPES: dict[str, Any] = {"fp64": np.float64, "fp32": np.float32}
PRECISIONS = tuple(DTYPES)

Sizes = Mapping[str, int | str]
"""Sizes of a problem by name; texts name a matrix."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thread's part of the work: `index` of `count`."""

    index: int = 0
    count: int = 1

    def share(self, total: int, granule: int = 1) -> tuple[int, int]:
        """Return the half-open range of `total` things that is this part's, cut at multiples of `granule`.

        Parts differ by at most one granule; those beyond the last granule are empty.
        """
        granules = -(-total // granule)
        begin = granules * self.index // self.count * granule
        end = granules * (self.index + 1) // self.count * granule
        return min(begin, total), min(end, total)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be computed, by whom.

    Attributes
    ----------
    precision : str
        ``"fp64"`` or ``"fp32"``.
    sizes : mapping of str to int or str
        By the names of :attr:`Spec.sizes`.
    threads : int
        Threads that share the work.
    vector_bits : int
        Width of explicit vectors.
    registers : int
        Vector registers that code can name.
    seed : int
        Of random data.
    fma : bool
        Whether a multiply-add is one instruction.
    """

    precision: str
    sizes: Sizes
    threads: int = 1
    vector_bits: int = 128
    registers: int = 16
    seed: int = 1
    fma: bool = True

    @property
    def dtype(self) -> Any:
        """NumPy's type of an element."""
        return np.dtype(DTYPES[self.precision])

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return catalog.precision(self.precision).bytes

    def size(self, name: str) -> int:
        """Return the number of that name; KeyError if the problem has none."""
        return int(self.sizes[name])

    def parts(self) -> tuple[Part, ...]:
        """Return every thread's part."""
        return tuple(Part(index, self.threads) for index in range(self.threads))


@dataclass(frozen=True, slots=True)
class Request:
    """How large a problem should be.

    Attributes
    ----------
    precision : str
        Of its elements.
    bytes : int
        Of all its data, over all threads; a problem comes near to it and not above.
    threads : int
        Threads that share it.
    capacities : mapping of str to int
        Effective capacity of each cache for one thread in bytes, from L1 outwards.
    vector_bits, registers
        As of :class:`Problem`.
    """

    precision: str
    bytes: int
    threads: int = 1
    capacities: Mapping[str, int] = field(default_factory=dict)
    vector_bits: int = 128
    registers: int = 16

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return catalog.precision(self.precision).bytes


class Unsuitable(ValueError):
    """A problem that a kernel cannot compute, or not sensibly; the sentence says why."""


# -------------------------------------------------------------------------------------------------- tasks


@dataclass(frozen=True, slots=True)
class Stream:
    """A loop of explicit vectors over each thread's own arrays of equal length.

    Attributes
    ----------
    loop : Loop
        What runs; its `step` divides `length`.
    arrays : int
        Arrays of one thread.
    length : int
        Bytes of each.
    prepare : callable
        (worker, length) -> None; fills registers and arrays and points to them, as probes do.
    check : callable
        (worker, length, trips since prepare) -> one sentence if the results are wrong, else ``""``.
    """

    loop: Loop
    arrays: int
    length: int
    prepare: Callable[[Worker, int], None]
    check: Callable[[Worker, int, int], str]


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a program works on, C-contiguous.

    Attributes
    ----------
    name : str
        As the function's parameter and the oracle call it.
    dtype : dtype
        NumPy's.
    shape : callable
        part -> its shape. Of a shared array it is the same for every part.
    fill : callable
        (part, array) -> None; fills it, on the thread that owns the part. Of a shared array each part fills its own
        range, so that its pages lie near the thread that uses them.
    shared : bool
        Whether all threads work on one array; else each has its own.
    """

    name: str
    dtype: Any
    shape: Callable[[Part], tuple[int, ...]]
    fill: Callable[[Part, np.ndarray[Any, Any]], None]
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number that a program takes: part -> its value."""

    name: str
    value: Callable[[Part], int]


@dataclass(frozen=True, slots=True)
class Real:
    """A number of the problem's precision that a program takes."""

    name: str
    value: float


Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Program:
    """A Python function that Numba compiles; one call is one pass over one part.

    Attributes
    ----------
    body : callable
        The function. It allocates nothing, raises nothing, and calls only what `helpers` names.
    arguments : tuple of Array, Integer or Real
        In the order of its parameters.
    check : callable
        (part, arrays by name, passes) -> one sentence if the results are wrong, else ``""``.
    helpers : mapping of str to callable
        Global names of the body: Python functions that are compiled with it; each may call those before it.
    makers : mapping of str to callable
        Global names of body and helpers whose values (intrinsics) need the compiler: () -> value, called when the
        program is compiled.
    fastmath : frozenset of str
        LLVM's fast-math flags. ``contract`` lets a product and a sum become one multiply-add; ``reassoc`` lets a sum be
        vectorised.
    expects : Counts or None
        What its innermost loop must be seen to contain, where that is written out; None for what the compiler makes.
    """

    body: Callable[..., None]
    arguments: tuple[Array | Integer | Real, ...]
    check: Callable[[Part, Arrays, int], str]
    helpers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    makers: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    fastmath: frozenset[str] = frozenset({"contract"})
    expects: Counts | None = None

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Its arrays, in order."""
        return tuple(argument for argument in self.arguments if isinstance(argument, Array))


@dataclass(frozen=True, slots=True)
class Library:
    """A call into another library, which brings threads of its own.

    Attributes
    ----------
    prepare : callable
        () -> whatever `call` and `check` work on.
    call : callable
        (data) -> None; one pass.
    check : callable
        (data) -> one sentence if the results are wrong, else ``""``.
    describe : callable
        () -> which code of which library runs, in a few words; called while the thread limit is in force.
    """

    prepare: Callable[[], Any]
    call: Callable[[Any], None]
    check: Callable[[Any], str]
    describe: Callable[[], str]


Task = Stream | Program | Library


# -------------------------------------------------------------------------------------------------- kernels


NOTHING = Formula("0")

THIN, THIN_SIZE = 2, 1 << 20
"""Operations for each element moved, up to which a kernel is nearly all loads and stores; and a size to tell by."""


def no_series(request: Request) -> tuple[dict[str, int | str], ...]:
    """Return no further sizes."""
    return ()


@dataclass(frozen=True, slots=True)
class Spec:
    """A kernel of the catalogue. Texts and kinds are those of the stored kernel, see the attributes there.

    Attributes
    ----------
    name, family, title, implementation, source, instructions, mix, limit, nominal, ladder, rung, notes
        Stored with results: name, family and title; ``"explicit vectors"``, ``"compiled loops"`` or ``"library"``;
        where the formulas come from; the kind of arithmetic and the access mix whose roofs apply; what may limit it
        before a roof (``"gather"``, ``"chain"``); whether its FLOP are a convention; its place on a ladder; what else
        to know.
    flop, read, written, compulsory, working_set : Formula
        Of one pass over all threads: additions and multiplications; bytes loaded and stored by the code; each datum
        counted once; bytes of all its data.
    allocate : Formula
        Bytes of the lines that ordinary stores write without having read them.
    traffic : Formula or None
        Bytes across the level that the data live in, beyond L1; None for what streams: read + written + allocate.
    gathered : Formula
        Single elements read through an index.
    sizes : tuple of str
        Names that a problem of it has, the first is the one that a bare ``--size N`` sets.
    fit : callable
        Request -> sizes. Streaming kernels follow its bytes, others choose what is usual.
    quantities : callable
        Problem -> the numbers its formulas depend on, beside ``s``, the bytes of an element, and ``t``, the threads.
    task : callable
        Problem -> Task; raises :class:`Unsuitable`, as `quantities` may, of problems that it cannot compute.
    series : callable
        Request -> further complete sets of sizes, beside that of `fit`, that show something when all of them are run.
    usual_series : callable
        Those of them that belong in an ordinary sweep.
    streaming : bool
        Whether it is measured at each level and not in memory alone.
    representative : tuple of str
        Precisions in which it belongs to an ordinary sweep.
    most_threads : int
        Threads that it can use; more are not measured.
    """

    name: str
    family: str
    title: str
    implementation: str
    source: str
    flop: Formula
    read: Formula
    written: Formula
    compulsory: Formula
    working_set: Formula
    sizes: tuple[str, ...]
    fit: Callable[[Request], dict[str, int | str]]
    task: Callable[[Problem], Task]
    quantities: Callable[[Problem], Mapping[str, int]]
    allocate: Formula = NOTHING
    traffic: Formula | None = None
    gathered: Formula = NOTHING
    instructions: str = ""
    mix: str = "load"
    limit: str = ""
    nominal: bool = False
    ladder: str = ""
    rung: int = 0
    notes: str = ""
    streaming: bool = False
    representative: tuple[str, ...] = ()
    most_threads: int = 1 << 30
    series: Callable[[Request], tuple[dict[str, int | str], ...]] = no_series
    usual_series: Callable[[Request], tuple[dict[str, int | str], ...]] = no_series

    @property
    def thin(self) -> bool:
        """Whether it does no more than a few operations on each element that it loads."""
        sizes = dict.fromkeys(self.flop.names | self.read.names | self.written.names, THIN_SIZE) | {"s": 1}
        return self.flop(sizes) <= THIN * (self.read(sizes) + self.written(sizes))

    def numbers(self, problem: Problem) -> dict[str, int]:
        """Return every number that its formulas may name."""
        return {"s": problem.element_bytes, "t": problem.threads, **self.quantities(problem)}

    def count(self, problem: Problem) -> Tally:
        """Return the counts of one pass over all threads."""
        numbers = self.numbers(problem)
        read, written, allocate = self.read(numbers), self.written(numbers), self.allocate(numbers)
        return Tally(
            flop=self.flop(numbers),
            read=read,
            written=written,
            allocate=allocate,
            compulsory=self.compulsory(numbers),
            traffic=read + written + allocate if self.traffic is None else self.traffic(numbers),
            working_set=self.working_set(numbers),
            gathered=self.gathered(numbers),
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Exact counts of one pass over all threads: FLOP, bytes, and elements gathered."""

    flop: int
    read: int
    written: int
    allocate: int
    compulsory: int
    traffic: int
    working_set: int
    gathered: int


def plain(problem: Problem) -> dict[str, int]:
    """Return the sizes of a problem that are numbers: the quantities of kernels whose formulas need no others."""
    return {name: value for name, value in problem.sizes.items() if isinstance(value, int)}


def as_many(arrays: int, granule: int = 1) -> Callable[[Request], dict[str, int | str]]:
    """Return a fit for kernels over `arrays` vectors of n elements: as many elements as the bytes hold.

    n is a multiple of `granule` for each thread, and at least that.
    """

    def fit(request: Request) -> dict[str, int | str]:
        unit = granule * request.threads
        return {"n": max(unit, request.bytes // (arrays * request.element_bytes) // unit * unit)}

    return fit


def fixed(**sizes: int | str) -> Callable[[Request], dict[str, int | str]]:
    """Return a fit for kernels of the same size everywhere."""
    return lambda request: dict(sizes)


# ---------------------------------------------------------------------------------------------- fill, check

CHECKED = 4096
"""Elements of a large result that an oracle looks at, spread over it with its first and last."""


def sampled(total: int, most: int = CHECKED) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return up to `most` positions of `total`, evenly spread, with the first and the last."""
    if total <= most:
        return np.arange(total)
    return np.unique(np.linspace(0, total - 1, most).astype(np.int64))


def pattern(positions: np.ndarray[Any, Any], dtype: Any, salt: int = 0) -> np.ndarray[Any, Any]:
    """Return test data for any positions: between 0.5 and 1.5, with 8 bits behind the point, no two neighbours alike.

    So small sums and products of a few are exact in every precision, and any element can be stated without the others.
    """
    mixed = (np.asarray(positions, np.int64) * 40503 + salt * 9973) >> 3
    return (0.5 + (mixed & 255) / 256.0).astype(dtype)


def fill_pattern(array: np.ndarray[Any, Any], begin: int, end: int, salt: int = 0, first: int = 0) -> None:
    """Fill the elements from `begin` to `end` of a flat array with the pattern of positions that count from `first`."""
    block = 1 << 16
    for start in range(begin, end, block):
        stop = min(end, start + block)
        array[start:stop] = pattern(np.arange(first + start, first + stop), array.dtype, salt)


def differs(found: Any, expected: Any, tolerance: float, what: str = "element") -> str:
    """Compare with an oracle's values; one sentence naming the first that is off by more than `tolerance` (relative).

    Values that should be 0 are compared absolutely. Returns ``""`` if all agree.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return f"{what}: {found.shape} values instead of {expected.shape}"
    wide = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    # Written so that a NaN counts as wrong.
    wrong = ~(wide <= tolerance * np.maximum(np.abs(expected.astype(np.float64)), 1e-30) + (expected == 0) * tolerance)
    if not wrong.any():
        return ""
    where = int(np.argmax(wrong.ravel()))
    return f"{what} {where} holds {found.ravel()[where]!r} instead of {expected.ravel()[where]!r}"
