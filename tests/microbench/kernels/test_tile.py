"""Register tiles and row products on other CPUs: the inner loops hold what they are meant to, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llvmlite import ir

from microbench import assembly
from microbench.kernels import dots, tile
from microbench.kernels.dense import CHAINS, FOUR
from microbench.kernels.rungs import TILE_ROWS, TILE_VECTORS
from microbench.kernels.tile import Tile
from microbench.kernels.writer import Writer
from tests.emission import NEHALEM, WITH_FMA, Target, assembly_of

I64, POINTER = ir.IntType(64), ir.IntType(8).as_pointer()


def shapes(precision: str, target: Target) -> list[Tile]:
    bits, registers = target.vector_bits[-1], target.isa.registers if target.family == "x86" else 32
    largest = tile.largest(precision, bits, registers)
    return [
        largest,
        Tile(precision, bits, TILE_ROWS, TILE_VECTORS, packed=False),
        Tile(precision, bits, FOUR, largest.vectors, packed=False),
        Tile(precision, bits, 1, largest.vectors, chains=CHAINS, packed=False),
    ]


def tile_code(shape: Tile, target: Target) -> str:
    def body(builder: ir.IRBuilder, found: Sequence[Any]) -> None:
        add = builder.icmp_signed("!=", found[7], ir.Constant(I64, 0))
        tile.emit(builder, shape, *found[:7], add, target.machine)

    return assembly_of(target, [POINTER, I64, POINTER, I64, POINTER, I64, I64, I64], body)


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("target", WITH_FMA, ids=str)
def test_tiles_keep_their_accumulators_in_registers(target: Target, precision: str) -> None:
    for shape in shapes(precision, target):
        expected = shape.counts(True, target.family == "arm")
        assert assembly.contains(tile_code(shape, target), expected, target.family) == (expected, ""), shape


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("target", [*WITH_FMA, NEHALEM], ids=str)
def test_products_of_rows_load_each_element_once(target: Target, precision: str) -> None:
    bits = target.vector_bits[-1]

    def body(builder: ir.IRBuilder, found: Sequence[Any]) -> None:
        dots.emit(builder, Writer(builder, precision, bits, target.machine), *found)

    expected = dots.counts(bits, fused=target is not NEHALEM)
    code = assembly_of(target, [POINTER, I64, POINTER, I64, POINTER], body)
    assert assembly.contains(code, expected, target.family) == (expected, "")


def test_a_tile_without_vectors_is_of_scalars() -> None:
    assert Tile("fp64", 0, 6, 2).width == 2
    assert Tile("fp64", 64, 6, 2).width == 2
    assert Tile("fp32", 512, 6, 2).width == 32
