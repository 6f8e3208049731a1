"""An application kernel as it is stored with results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Implementation = Literal["explicit vectors", "compiled loops", "library"]

Limit = Literal["", "gather", "chain"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """An application kernel as its catalogue describes it; stored with results, so that they need no catalogue.

    A measurement belongs to the kernel whose name is its case's probe. Its numbers stand in the measurement's
    :class:`Work`; the formulas here say how they come about.

    Attributes
    ----------
    name, family : str
        ``"stream_triad_nt"``, ``"stream"``. A name is unique; families: ``"stream"``, ``"vector"``, ``"dense"``,
        ``"sparse"``, ``"stencil"``, ``"convolution"``, ``"spectral"``, ``"neural"``.
    title : str
        The few words a person reads: ``"triad, non-temporal stores"``.
    implementation : str
        Who made the code: vector instructions written out, the compiler from ordinary loops, or another library.
    flop, read, written, compulsory, traffic : str
        FLOP, bytes loaded and stored (program bytes), each datum once, and modelled traffic of the level that the data
        live in, as formulas in the problem size; ``s`` is the bytes of an element.
    source : str
        Where the formulas come from.
    instructions : str
        The kind of arithmetic whose roof applies (``"fma"``, ``"add"``, ``"mul"``, ...); empty without arithmetic.
    mix : str
        The access mix nearest to its own, whose memory roof applies.
    limit : str
        What it may hit before a roof: ``"gather"`` (single elements through an index), ``"chain"`` (each step needs
        the one before); empty for streams and blocked code.
    nominal : bool
        Whether its FLOP count is a convention and not what the code does (FFT: 5 N log2 N).
    ladder : str
        Name of the series of implementations of one algorithm that it is a rung of; empty for none.
    rung : int
        Its place on the ladder, from 1, slow to fast.
    notes : str
        What else a reader of its numbers should know: what is counted for a division or an exponential, and so on.
    """

    name: str
    family: str
    title: str
    implementation: Implementation
    flop: str
    read: str
    written: str
    compulsory: str
    traffic: str
    source: str
    instructions: str = ""
    mix: str = "load"
    limit: Limit = ""
    nominal: bool = False
    ladder: str = ""
    rung: int = 0
    notes: str = ""
