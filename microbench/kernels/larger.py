"""The larger of two numbers, so that LLVM makes vectors of the search for the largest of many. Imports no compiler."""

from __future__ import annotations

from typing import Any

_NO_NAN = ("nnan", "nsz")
"""Without these flags on both instructions LLVM goes through a row one by one; Numba sets none on a choice."""


def make_larger() -> Any:
    """Return the intrinsic ``larger(a, b)``; neither may be NaN."""
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def larger(typingctx: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            above = builder.fcmp_ordered(">", args[0], args[1], flags=_NO_NAN)
            return builder.select(above, args[0], args[1], flags=_NO_NAN)

        return a(a, b), emit

    return larger
