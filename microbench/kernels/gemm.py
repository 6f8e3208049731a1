"""Matrix product C = A B as a ladder: plain loops, reordered, in register tiles, blocked, packed, and NumPy's BLAS."""

from __future__ import annotations

from functools import partial
from typing import Any

from microbench.kernels import blas, packed, rungs
from microbench.kernels.formula import Formula
from microbench.kernels.kernel import Request, Spec, fixed, plain

SMALL, USUAL = 512, 2048
"""n of the rungs that take seconds for more, and of the others."""

BLOCK_STEPS = 128
"""Rows of a block of B: for each tile of C that is loaded and stored, as many multiply-adds a vector."""

LARGER = ((8, 4096), (64, 8192))
"""Threads from which n is larger, so that each still has a part worth packing: at these numbers of threads as much as
one has at the usual n."""

# ------------------------------------------------------------------------------------------------------- sizes


def _usual(request: Request) -> int:
    """Return the n of a request: what is usual, and more for many threads where their memory holds it."""
    n = USUAL
    for threads, larger in LARGER:
        if request.threads >= threads and 3 * larger**2 * request.element_bytes <= request.bytes:
            n = larger
    return n


def _fit_blocked(request: Request) -> dict[str, int | str]:
    """Return n and the blocks of B: half of L2 holds one."""
    width = rungs.tile_of(request).width
    half = request.capacities.get("L2", packed.L2) // 2
    nc = max(1, half // (BLOCK_STEPS * request.element_bytes) // width) * width
    return {"n": _usual(request), "kc": BLOCK_STEPS, "nc": nc}


# ----------------------------------------------------------------------------------------------------- catalogue


def _rung(rung: int, name: str, title: str, implementation: str, **facts: Any) -> Spec:
    return Spec(
        name=name,
        family="dense",
        title=title,
        implementation=implementation,
        source="Counted from the loops: n³ multiplications and as many additions",
        flop=Formula("2*n**3"),
        compulsory=Formula("3*s*n**2"),
        instructions="fma",
        mix="load",
        ladder="gemm",
        rung=rung,
        representative=("fp64",),
        **facts,
    )


_IN_TILES: dict[str, Any] = {
    "implementation": "explicit vectors",
    "read": Formula("s*tiles*(n*(mr+nr)+(blocks-1)*mr*nr)"),
    "written": Formula("s*tiles*blocks*mr*nr"),
    "allocate": Formula("s*tiles*mr*nr"),
    "working_set": Formula("s*held"),
    "quantities": rungs.quantities,
}
_SLOW = f"Runs at n = {SMALL} unless told otherwise, because larger ones take seconds"
_TILES = (
    "Tiles of mr x nr elements of C are held in registers; rows and columns of the last ones are filled up with zeros, "
    "whose operations are not counted"
)
SERIES = (32, 64, 128, 256, 512, 1024)
"""n of the series of sizes: small ones are bound by the packing and the memory, large ones by the arithmetic."""


def _packed(request: Request, n: int | None = None) -> dict[str, int | str]:
    return packed.fit(_usual(request) if n is None else n, request)


KERNELS = (
    _rung(
        1,
        "gemm_naive",
        "GEMM, three plain loops",
        "compiled loops",
        read=Formula("2*s*n**3"),
        written=Formula("s*n**2"),
        allocate=Formula("s*n**2"),
        traffic=Formula("s*(n**3+3*n**2)"),
        working_set=Formula("3*s*n**2"),
        sizes=("n",),
        fit=fixed(n=SMALL),
        quantities=plain,
        task=partial(rungs.plain_loops, rungs.gemm_naive),
        limit="chain",
        notes=f"{_SLOW}. Traffic: B once for each row of A",
    ),
    _rung(
        2,
        "gemm_reordered",
        "GEMM, loops reordered",
        "compiled loops",
        read=Formula("s*(2*n**3+n**2)"),
        written=Formula("s*(n**3+n**2)"),
        allocate=Formula("s*n**2"),
        traffic=Formula("s*(n**3+3*n**2)"),
        working_set=Formula("3*s*n**2"),
        sizes=("n",),
        fit=fixed(n=SMALL),
        quantities=plain,
        task=partial(rungs.plain_loops, rungs.gemm_reordered),
        notes=f"{_SLOW}. Traffic: B once for each row of A",
    ),
    _rung(
        3,
        "gemm_vectorised",
        "GEMM, vectors in register tiles",
        traffic=Formula("s*(strips*n**2+3*n**2)"),
        sizes=("n",),
        fit=fixed(n=SMALL),
        task=rungs.vectorised,
        notes=f"{_SLOW}. {_TILES}. Traffic: B once for each of the strips, the rows of tiles",
        **_IN_TILES,
    ),
    _rung(
        4,
        "gemm_blocked",
        "GEMM, blocked for the caches",
        traffic=Formula("s*(passes*n**2+t*n**2+2*blocks*n**2)"),
        sizes=("n", "kc", "nc"),
        fit=_fit_blocked,
        task=rungs.blocked,
        notes=f"{_TILES}. Blocks of kc x nc elements of B stay in L2. Traffic: A once for each of the passes over it, "
        "B once for each thread, C read and written for each block of the inner dimension",
        **_IN_TILES,
    ),
    _rung(
        5,
        "gemm_packed",
        "GEMM, packed panels",
        "explicit vectors",
        read=Formula("s*(copied+tiles*(n*(mr+nr)+(blocks-1)*mr*nr))"),
        written=Formula("s*(packed+tiles*blocks*mr*nr)"),
        allocate=Formula("s*tiles*mr*nr"),
        traffic=Formula("s*(copied+2*blocks*tiles*mr*nr)"),
        working_set=Formula("s*(2*n**2+held)"),
        sizes=("n", "mc", "kc", "nc"),
        fit=_packed,
        quantities=packed.quantities,
        task=packed.task,
        series=lambda request: tuple(_packed(request, n) for n in SERIES),
        notes=f"{_TILES}. Copies of mc x kc elements of A stay in L2, of kc x nc elements of B in L3. Traffic: A and B "
        "as they are copied, C read and written for each block of the inner dimension",
    ),
    _rung(
        6,
        "gemm_blas",
        "GEMM, NumPy's BLAS",
        "library",
        read=Formula("2*s*n**2"),
        written=Formula("s*n**2"),
        allocate=Formula("s*n**2"),
        working_set=Formula("3*s*n**2"),
        sizes=("n",),
        fit=lambda request: {"n": _usual(request)},
        quantities=plain,
        task=blas.task,
        series=lambda request: tuple({"n": n} for n in SERIES),
        notes="What the library loads and stores is not known: bytes are those of A, B and C, each once",
    ),
)
