"""The reader of assembly: what it counts, what it accepts, and all that it must reject, in small listings."""

from __future__ import annotations

import pytest

from microbench.assembly import Counts, count, innermost_loops, verify

# Two loaded vectors, each the multiplier of two chains: four multiply-adds of 512 bits a trip.
STREAM = """
kernel:
	.cfi_startproc
	movq	(%rdi), %rax
	vmovapd	(%rdx), %zmm8           # the addend
	vmovapd	64(%rdx), %zmm1
	.p2align	4
.LBB0_1:                                # =>This Inner Loop Header: Depth=1
	#APP
	#NO_APP
	vmovapd	(%rax), %zmm0
	vfmadd213pd	%zmm8, %zmm0, %zmm1
	vfmadd213pd	%zmm8, %zmm0, %zmm2
	vmovapd	64(%rax), %zmm0
	vfmadd213pd	%zmm8, %zmm0, %zmm3
	vfmadd213pd	%zmm8, %zmm0, %zmm4
	addq	$128, %rax
	decq	%rcx
	jne	.LBB0_1
	vmovapd	%zmm1, 64(%rdx)
	vzeroupper
	retq
"""
STREAM_COUNTS = Counts(fma=4, loads=2, vector_bits=512)

ARM_STREAM = """
loop:
	ldr	x8, [x0]
	.p2align	5, , 16
.LBB0_1:
	//APP
	//NO_APP
	ldp	q0, q1, [x8], #32
	fmla	v2.2d, v0.2d, v4.2d
	fmla	v3.2d, v1.2d, v4.2d
	csel	x10, xzr, x10, eq
	subs	x1, x1, #1
	b.ne	.LBB0_1
	ret
"""
ARM_COUNTS = Counts(fma=2, loads=2, vector_bits=128)

FIRST_FMA = "\tvfmadd213pd\t%zmm8, %zmm0, %zmm1\n"
SECOND_LOAD = "\tvmovapd\t64(%rax), %zmm0\n"
BODY = STREAM[STREAM.index("\tvmovapd\t(%rax)") : STREAM.index("\tdecq")]


def with_line(line: str) -> str:
    """Return the stream with one more instruction in its loop."""
    return STREAM.replace(FIRST_FMA, FIRST_FMA + f"\t{line}\n")


def test_the_stream_is_accepted() -> None:
    assert verify(STREAM, STREAM_COUNTS, "x86") == (STREAM_COUNTS, "")
    # Code without a frame uses the frame pointer's register for any pointer.
    assert verify(STREAM.replace("%rax", "%rbp"), STREAM_COUNTS, "x86") == (STREAM_COUNTS, "")
    indexed = STREAM.replace("(%rax)", "(%rbp,%rax)")
    assert verify(indexed, STREAM_COUNTS, "x86") == (STREAM_COUNTS, "")
    assert verify(ARM_STREAM, ARM_COUNTS, "arm") == (ARM_COUNTS, "")


ONE_TRIAL = Counts(fma=2, loads=1, stores=1, vector_bits=512)
# Two trials of one multiply-add chain each after the compiler fused the loop over trials into that over the data.
FUSED_TRIALS = """
kernel:
.LBB0_1:
	vmovapd	(%rax), %zmm0
	vmovapd	%zmm8, %zmm1
	vfmadd213pd	%zmm9, %zmm0, %zmm1
	vfmadd213pd	%zmm9, %zmm0, %zmm1
	vfmadd213pd	%zmm9, %zmm0, %zmm1
	vfmadd213pd	%zmm9, %zmm0, %zmm1
	vmovapd	%zmm1, (%rax)
	addq	$64, %rax
	cmpq	%rcx, %rax
	jne	.LBB0_1
"""

REMAINDER = STREAM.replace("\tretq\n", "") + BODY.join([".LBB0_7:\n", "\tdecq\t%rcx\n\tjne\t.LBB0_7\n\tretq\n"])


@pytest.mark.parametrize(
    ("listing", "expected", "reason"),
    [
        pytest.param(FUSED_TRIALS, ONE_TRIAL, "fma 4 instead of 2", id="trial loop fused: arithmetic of two"),
        pytest.param(
            FUSED_TRIALS,
            Counts(fma=4, loads=2, stores=2, vector_bits=512),
            "loads 1 instead of 2; stores 1 instead of 2",
            id="trial loop fused: one load shared by two",
        ),
        pytest.param(
            with_line("vmovupd\t%zmm1, -64(%rsp)\n\tvmovupd\t-64(%rsp), %zmm1"),
            STREAM_COUNTS,
            "spills 2 instead of 0",
            id="spill",
        ),
        pytest.param(
            STREAM.replace("%zmm8, %zmm0, %zmm1", "128(%rsp), %zmm0, %zmm1"),
            STREAM_COUNTS,
            "spills 1 instead of 0",
            id="spilled constant folded into the arithmetic",
        ),
        pytest.param(
            with_line("vmovupd\t%zmm1, -64(%rbp)\n\tcmpq\t%rax, %rbp"),
            STREAM_COUNTS,
            "spills 1 instead of 0",
            id="spill to a frame",
        ),
        pytest.param(with_line("pushq\t%rbx"), STREAM_COUNTS, "spills 1 instead of 0", id="push"),
        pytest.param(
            STREAM.replace("zmm", "ymm"), STREAM_COUNTS, "vector bits 256 instead of 512", id="half the width"
        ),
        pytest.param(
            STREAM.replace(BODY, BODY.replace("zmm", "ymm") * 2),
            STREAM_COUNTS,
            "fma 8 instead of 4; loads 4 instead of 2; vector bits 256 instead of 512",
            id="each vector split in two",
        ),
        pytest.param(
            STREAM.replace(FIRST_FMA, FIRST_FMA.replace("zmm", "ymm")),
            STREAM_COUNTS,
            "vector bits -1 instead of 512",
            id="mixed widths",
        ),
        pytest.param(
            STREAM.replace("vmova", "vmov").replace("pd\t", "sd\t").replace("zmm", "xmm"),
            STREAM_COUNTS,
            "vector bits 64 instead of 512",
            id="scalar",
        ),
        pytest.param(
            STREAM.replace("%zmm0, %zmm1\n", "%zmm0, %zmm1 {%k1}\n"),
            STREAM_COUNTS,
            "vector bits -1 instead of 512",
            id="elements masked out",
        ),
        pytest.param(
            STREAM.replace(FIRST_FMA, "\tvaddpd\t%zmm8, %zmm0, %zmm1\n"),
            STREAM_COUNTS,
            "fma 3 instead of 4; add 1 instead of 0",
            id="first multiply-add folded into an addition",
        ),
        pytest.param(
            STREAM.replace(FIRST_FMA, ""), STREAM_COUNTS, "fma 3 instead of 4", id="multiply-add optimised away"
        ),
        pytest.param(
            STREAM.replace(BODY, BODY * 2),
            STREAM_COUNTS,
            "fma 8 instead of 4; loads 4 instead of 2",
            id="unrolled twice",
        ),
        pytest.param(
            REMAINDER, STREAM_COUNTS, "the generated code has 2 innermost loops instead of one", id="loop and remainder"
        ),
        pytest.param(
            STREAM.replace("\tjne\t.LBB0_1\n", ""),
            STREAM_COUNTS,
            "the generated code has 0 innermost loops instead of one",
            id="no loop",
        ),
        pytest.param(
            STREAM.replace("\tjne\t.LBB0_1\n", "\tjne\t.LBB0_9\n.LBB0_9:\n"),
            STREAM_COUNTS,
            "the generated code has 0 innermost loops instead of one",
            id="jump forward only",
        ),
        pytest.param(with_line("callq\tfma@PLT"), STREAM_COUNTS, "calls 1 instead of 0", id="fma of libm"),
        pytest.param(with_line("callq\t*%r14"), STREAM_COUNTS, "calls 1 instead of 0", id="call through a register"),
        pytest.param(
            STREAM.replace("%zmm8, %zmm0, %zmm1", ".LCPI0_0(%rip), %zmm0, %zmm1"),
            STREAM_COUNTS,
            "loads 3 instead of 2",
            id="constant loaded by the arithmetic",
        ),
        pytest.param(
            STREAM.replace("%zmm8, %zmm0, %zmm1", ".LCPI0_0(%rip){1to8}, %zmm0, %zmm1"),
            STREAM_COUNTS,
            "loads 3 instead of 2",
            id="constant broadcast by the arithmetic",
        ),
        pytest.param(
            with_line("vbroadcastsd\t.LCPI0_0(%rip), %zmm8"),
            STREAM_COUNTS,
            "loads 3 instead of 2",
            id="constant loaded each trip",
        ),
        pytest.param(
            with_line("movq\t8(%rdi), %r9"), STREAM_COUNTS, "other loads 1 instead of 0", id="pointer loaded each trip"
        ),
        pytest.param(
            with_line("incq\t(%r9)"),
            STREAM_COUNTS,
            "other loads 1 instead of 0; other stores 1 instead of 0",
            id="counter kept in memory",
        ),
        pytest.param(
            with_line("vmovapd\t%zmm1, (%rax)"), STREAM_COUNTS, "stores 1 instead of 0", id="unexpected store"
        ),
        pytest.param(
            with_line("vmovntpd\t%zmm1, (%rax)"),
            Counts(fma=4, loads=2, stores=1, vector_bits=512),
            "stores 0 instead of 1; nontemporal stores 1 instead of 0",
            id="non-temporal store instead of an ordinary one",
        ),
        pytest.param(
            with_line("vpermpd\t$78, %zmm1, %zmm1"), STREAM_COUNTS, "other vector 1 instead of 0", id="shuffle"
        ),
        pytest.param(
            with_line("vmaxpd\t%zmm8, %zmm1, %zmm1"), STREAM_COUNTS, "other vector 1 instead of 0", id="maximum"
        ),
        pytest.param(
            STREAM.replace(SECOND_LOAD, "\tje\t.LBB0_3\n" + SECOND_LOAD).replace("\taddq", ".LBB0_3:\n\taddq"),
            STREAM_COUNTS,
            "the loop of the generated code branches, so that what it contains is not what a trip does",
            id="half of the loop skipped at times",
        ),
        pytest.param("", STREAM_COUNTS, "the generated code cannot be seen", id="no listing"),
        pytest.param(
            "\t.file\t<string>\n",
            STREAM_COUNTS,
            "the generated code has 0 innermost loops instead of one",
            id="listing without code",
        ),
    ],
)  # fmt: skip
def test_x86_is_rejected_with_the_reason(listing: str, expected: Counts, reason: str) -> None:
    found, said = verify(listing, expected, "x86")
    assert reason in said
    assert found != expected


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ldp\tq0, q1, [x8], #32", "ldr\tq0, [x8], #16", "loads 1 instead of 2"),
        ("ldp\tq0, q1, [x8], #32", "ldp\td0, d1, [x8], #16", "vector bits -1 instead of 128"),
        ("subs", "ldr\tq4, [sp, #16]\n\tsubs", "spills 1 instead of 0"),
        ("subs", "stp\tq4, q5, [x29, #-32]\n\tsubs", "spills 2 instead of 0"),
        ("subs", "ld1r\t{ v4.2d }, [x9]\n\tsubs", "loads 3 instead of 2"),
        ("subs", "ldr\tx9, [x0, #8]\n\tsubs", "other loads 1 instead of 0"),
        ("subs", "bl\tfma\n\tsubs", "calls 1 instead of 0"),
        ("fmla\tv2.2d, v0.2d, v4.2d", "fadd\tv2.2d, v0.2d, v4.2d", "fma 1 instead of 2; add 1 instead of 0"),
        ("v2.2d, v0.2d, v4.2d", "v2.2s, v0.2s, v4.2s", "vector bits -1 instead of 128"),
        ("v2.2d, v0.2d, v4.2d", "z2.d, p0/m, z0.d, z4.d", "vector bits -1 instead of 128"),
        ("subs", "ext\tv2.16b, v2.16b, v2.16b, #8\n\tsubs", "other vector 1 instead of 0"),
        ("b.ne\t.LBB0_1", "b.ne\t.LBB0_2\n.LBB0_2:", "the generated code has 0 innermost loops instead of one"),
        ("subs", "tbnz\tw9, #3, .LBB0_2\n\tsubs", "branches"),
    ],
)
def test_arm_is_rejected_with_the_reason(old: str, new: str, reason: str) -> None:
    assert old in ARM_STREAM
    listing = ARM_STREAM.replace(old, new, 1)
    found, said = verify(listing, ARM_COUNTS, "arm")
    assert reason in said
    assert found != ARM_COUNTS


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vfmadd213pd\t64(%rax,%rcx,8), %zmm0, %zmm1", Counts(fma=1, loads=1, vector_bits=512)),
        ("vfmadd132ps\t(%rax), %ymm0, %ymm1", Counts(fma=1, loads=1, vector_bits=256)),
        ("vfnmadd231sd\t%xmm0, %xmm1, %xmm2", Counts(fma=1, vector_bits=64)),
        ("vfmadd213ss\t%xmm0, %xmm1, %xmm2", Counts(fma=1, vector_bits=32)),
        ("vfmadd213ph\t%zmm0, %zmm1, %zmm2", Counts(fma=1, vector_bits=512)),
        ("vfmaddpd\t%xmm3, (%rax), %xmm1, %xmm0", Counts(fma=1, loads=1, vector_bits=128)),
        ("vfmaddsub213pd\t%ymm0, %ymm1, %ymm2", Counts(other_vector=1, vector_bits=256)),
        ("addpd\t(%rax), %xmm1", Counts(add=1, loads=1, vector_bits=128)),
        ("vsubps\t%ymm0, %ymm1, %ymm2", Counts(add=1, vector_bits=256)),
        ("mulsd\t%xmm0, %xmm1", Counts(mul=1, vector_bits=64)),
        ("vdivpd\t%zmm0, %zmm1, %zmm2", Counts(divide=1, vector_bits=512)),
        ("vsqrtps\t(%rax), %ymm1", Counts(sqrt=1, loads=1, vector_bits=256)),
        ("vdpbf16ps\t%zmm0, %zmm1, %zmm2", Counts(dot=1, vector_bits=512)),
        ("vpdpbusd\t%ymm0, %ymm1, %ymm2", Counts(dot=1, vector_bits=256)),
        ("{vex} vpdpbusd %ymm0, %ymm1, %ymm2", Counts(dot=1, vector_bits=256)),
        ("{evex}\tvpdpbusd\t%ymm0, %ymm1, %ymm2", Counts(dot=1, vector_bits=256)),
        ("vmovups\t32(%rax), %ymm3", Counts(loads=1, vector_bits=256)),
        ("vmovdqa64\t(%rax), %zmm3", Counts(loads=1, vector_bits=512)),
        ("vmovsd\t(%rax), %xmm3", Counts(loads=1, vector_bits=64)),
        ("movaps\t%xmm3, (%rax)", Counts(stores=1, vector_bits=128)),
        ("vmovntps\t%ymm3, (%rax)", Counts(nontemporal_stores=1, vector_bits=256)),
        ("vmovapd\t%zmm3, %zmm4", Counts()),
        ("movq\t(%rax), %rbx", Counts(other_loads=1)),
        ("movq\t%rbx, (%rax)", Counts(other_stores=1)),
        ("cmpq\t%rbx, (%rax)", Counts(other_loads=1)),
        ("movb\t$1, (%rax)", Counts(other_stores=1)),
        ("popcntq\t%rax, %rbx", Counts()),
        ("popq\t%rbx", Counts(spills=1)),
        ("leaq\t64(%rax,%rcx), %rbx", Counts()),
        ("prefetcht0\t1024(%rax)", Counts()),
        ("nopw\t%cs:(%rax,%rax)", Counts()),
        ("vzeroupper", Counts()),
    ],
)
def test_one_x86_instruction(line: str, expected: Counts) -> None:
    assert count(innermost_loops(f".L1:\n\t{line}\n\tjne\t.L1\n")[0], "x86") == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ldp\tq0, q1, [x1, #32]", Counts(loads=2, vector_bits=128)),
        ("ldnp\tq0, q1, [x1]", Counts(loads=2, vector_bits=128)),
        ("ldr\tq0, [x1], #16", Counts(loads=1, vector_bits=128)),
        ("ldr\tq0, [x1, x2, lsl #4]", Counts(loads=1, vector_bits=128)),
        ("ldur\tq0, [x1, #-16]", Counts(loads=1, vector_bits=128)),
        ("ldr\td0, [x1]", Counts(loads=1, vector_bits=64)),
        ("ld1\t{ v0.2d, v1.2d, v2.2d, v3.2d }, [x1], #64", Counts(loads=4, vector_bits=128)),
        ("ld1.2d\t{ v0, v1 }, [x1]", Counts(loads=2, vector_bits=128)),
        ("ld1r\t{ v0.4s }, [x1]", Counts(loads=1, vector_bits=128)),
        ("ld1d\t{ z0.d }, p0/z, [x1]", Counts(loads=1, vector_bits=-1)),
        ("stp\tq0, q1, [x1], #32", Counts(stores=2, vector_bits=128)),
        ("str\tq0, [x1, #16]!", Counts(stores=1, vector_bits=128)),
        ("st1\t{ v0.2d }, [x1]", Counts(stores=1, vector_bits=128)),
        ("stnp\tq0, q1, [x1, #-64]", Counts(nontemporal_stores=2, vector_bits=128)),
        ("stnp\td0, d1, [x1]", Counts(nontemporal_stores=2, vector_bits=64)),
        ("str\tq0, [sp, #32]", Counts(spills=1)),
        ("ldp\tx0, x1, [x2]", Counts(other_loads=2)),
        ("strb\tw0, [x2]", Counts(other_stores=1)),
        ("fmla\tv0.4s, v1.4s, v2.4s", Counts(fma=1, vector_bits=128)),
        ("fmla\tv0.2d, v1.2d, v2.d[1]", Counts(fma=1, vector_bits=128)),
        ("fmla.2d\tv0, v1, v2", Counts(fma=1, vector_bits=128)),
        ("fmla.4s\tv0, v1, v2[3]", Counts(fma=1, vector_bits=128)),
        ("fmls\tv0.2s, v1.2s, v2.2s", Counts(fma=1, vector_bits=64)),
        ("fmadd\td0, d1, d2, d3", Counts(fma=1, vector_bits=64)),
        ("fmadd\ts0, s1, s2, s3", Counts(fma=1, vector_bits=32)),
        ("fmla\tz0.d, p0/m, z1.d, z2.d", Counts(fma=1, vector_bits=-1)),
        ("fadd.2d\tv0, v1, v2", Counts(add=1, vector_bits=128)),
        ("fmul\tv0.2d, v1.2d, v2.2d", Counts(mul=1, vector_bits=128)),
        ("fdiv\td0, d1, d2", Counts(divide=1, vector_bits=64)),
        ("fsqrt\tv0.2d, v1.2d", Counts(sqrt=1, vector_bits=128)),
        ("bfdot\tv0.4s, v1.8h, v2.8h", Counts(dot=1, vector_bits=128)),
        ("mov\tv0.16b, v1.16b", Counts()),
        ("mov.16b\tv0, v1", Counts()),
        ("dup\tv0.2d, v1.d[0]", Counts(other_vector=1, vector_bits=128)),
        ("csel\tx10, xzr, x10, eq", Counts()),
        ("add\tx8, x8, #1024", Counts()),
        ("blr\tx9", Counts(calls=1)),
        ("; InlineAsm Start", Counts()),
        ("// kill: def $q0 killed $q0", Counts()),
    ],
)
def test_one_arm_instruction(line: str, expected: Counts) -> None:
    assert count(innermost_loops(f".L1:\n\t{line}\n\tb.ne\t.L1\n")[0], "arm") == expected


@pytest.mark.parametrize("jump", ["b.ne\t.L1", "cbnz\tx8, .L1", "tbz\tw8, #0, .L1", "b\t.L1"])
def test_arm_loops_end_with_any_jump_back(jump: str) -> None:
    loops = innermost_loops(f".L1:\n\tfadd\td0, d0, d1\n\t{jump}\n")
    assert [instruction.mnemonic for instruction in loops[0]] == ["fadd", jump.split("\t")[0]]


def test_only_the_innermost_of_nested_loops_counts() -> None:
    nested = "outer:\n\tcallq\tclock\n" + STREAM + "\tdecq\t%rbx\n\tjne\touter\n"
    assert verify(nested, STREAM_COUNTS, "x86") == (STREAM_COUNTS, "")


def test_code_outside_the_loop_does_not_count() -> None:
    before = STREAM.replace("kernel:\n", "kernel:\n" + FIRST_FMA * 5 + "\tcallq\tclock\n")
    assert verify(before, STREAM_COUNTS, "x86") == (STREAM_COUNTS, "")


def test_instructions_after_a_semicolon_count() -> None:
    joined = STREAM.replace(FIRST_FMA, FIRST_FMA.rstrip() + "; vfmadd213pd %zmm8, %zmm0, %zmm7\n")
    assert verify(joined, STREAM_COUNTS, "x86")[1] == "fma 5 instead of 4"


def test_other_families_cannot_be_read() -> None:
    assert verify(STREAM, STREAM_COUNTS, "riscv64")[1] == "assembly of 'riscv64' cannot be read; known: x86, arm"
    with pytest.raises(ValueError, match="assembly of 'ppc64le' cannot be read"):
        count([], "ppc64le")
