"""Whether this CPU really executes what LLVM says it can: each doubtful instruction is run once, where it may fail.

Some hypervisors report instruction sets that they do not let a guest use. The instructions run in a child process that
has no threads and forks once more for each of them, so that an illegal one ends a process that nobody needs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from microbench import isa
from microbench.catalog import EXTENSIONS, Extension, precision
from microbench.isa import Isa

TRIAL_SECONDS = 10.0
"""How long the child process may take; it needs about 0.1 s."""

_CHILD = """\
import json, sys
given = json.load(sys.stdin)
sys.path[:] = given["path"]
from microbench.confirm import run_trials
print(json.dumps(run_trials(given["trials"])))
"""

Trials = dict[str, str]
"""Name of each thing to try, and a function ``void trial(ptr)`` in LLVM's language that does it once."""

_FMA, _VECTOR = "fma", "vector"
_WORDS = {_VECTOR: "vectors", _FMA: "fused multiply-add"}


def confirmed(found: Isa, fails: Callable[[Trials], dict[str, str]]) -> tuple[Isa, tuple[str, ...]]:
    """Return the instruction set without what this CPU turns out not to execute.

    Parameters
    ----------
    found : Isa
        As LLVM describes the CPU.
    fails : callable
        Runs trials and returns those that failed with the reason, as :func:`run` does.

    Returns
    -------
    Isa
        Confirmed.
    notes : tuple of str
        One sentence for each thing that LLVM was wrong about, or for why it could not be found out.
    """
    trials = trials_of(found)
    try:
        failed = fails(trials)
    except OSError as error:
        return found, (f"LLVM's word is taken for what this CPU executes; it could not be tried: {error}",)
    wrong: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for name, reason in failed.items():
        what, bits = name.split()
        wrong.setdefault(what, []).append(bits)
        reasons.setdefault(what, reason)
    notes = tuple(
        f"LLVM says that this CPU has {_WORDS.get(what, what)} ({', '.join(bits)} bits), but running it ended in: "
        f"{reasons[what]}. It is not measured."
        for what, bits in wrong.items()
    )
    lost = set(wrong)
    # Wider vectors are what the other instructions of these sets work on.
    for bits, beginning in (("512", "avx512"), ("256", "avx")):
        if bits in wrong.get(_VECTOR, ()):
            lost |= {feature for feature in found.features if feature.startswith(beginning)}
    return (
        replace(
            found,
            features=tuple(feature for feature in found.features if feature not in lost),
            vector_bits=tuple(bits for bits in found.vector_bits if str(bits) not in wrong.get(_VECTOR, ())),
            fma=found.fma and _FMA not in lost,
            registers=found.registers if "512" not in wrong.get(_VECTOR, ()) else min(found.registers, 16),
        ),
        notes,
    )


@cache
def host() -> tuple[Isa, tuple[str, ...]]:
    """Return the instruction set of the CPU this runs on, confirmed, and notes on what LLVM was wrong about."""
    return confirmed(isa.host(), run)


def trials_of(found: Isa) -> Trials:
    """Return a trial for each vector width, for multiply-adds, and for each extension that LLVM says the CPU has."""
    trials = {f"{_VECTOR} {bits}": _operation("fadd", bits) for bits in found.vector_bits}
    if found.fma and found.vector_bits:
        trials[f"{_FMA} {found.vector_bits[0]}"] = _intrinsic("double", "f64", found.vector_bits[0] // 64)
    for entry in EXTENSIONS:
        if entry.family != found.family or not set(entry.features) <= set(found.features):
            continue
        for bits in entry.vector_bits:
            if bits not in found.vector_bits:
                continue
            trials[f"{entry.features[0]} {bits}"] = _extension(entry, bits)
    return trials


def run(trials: Trials) -> dict[str, str]:
    """Run trials in a child process; return the name of each that failed, and why.

    Raises
    ------
    OSError
        If nothing can be tried: the system knows no forks, or the child process did not answer.
    """
    if not hasattr(os, "fork"):
        raise OSError("this system has no processes to fork")
    given = json.dumps({"path": sys.path, "trials": trials})
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD], input=given, capture_output=True, text=True, timeout=TRIAL_SECONDS
        )
        failed = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise OSError(f"the process that should try gave no answer ({type(error).__name__})") from None
    return {str(name): str(reason) for name, reason in failed.items()}


def run_trials(trials: Trials) -> dict[str, str]:
    """Run each trial in a fork of this process, which must have one thread; return those that failed, and why."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    running = {}
    for name, text in trials.items():
        child = os.fork()
        if child == 0:
            _try(text)
        running[name] = child
    failed = {}
    for name, child in running.items():
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            failed[name] = signal.strsignal(number) or f"signal {number}"
        elif status:
            failed[name] = "LLVM makes no code for it"
    return failed


def _try(text: str) -> None:
    """Compile and run one trial, and end this process: with 0 if all went well."""
    import ctypes

    from llvmlite import binding

    status = 1
    try:
        # What LLVM prints of code that it cannot make, and a dump of this process, are of no use to anybody.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(null, stream)
        _no_core()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=1
        )
        engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
        block = (ctypes.c_char * 192)()
        aligned = (ctypes.addressof(block) + 63) & ~63
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("trial"))(aligned)
        status = 0
    finally:
        os._exit(status)


def _no_core() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass


def _whole(kind: str, result: str, declarations: Iterable[str] = (), before: Iterable[str] = ()) -> str:
    return "\n".join([
        *declarations,
        'define void @trial(ptr %at) "min-legal-vector-width"="512" {',
        f"  %v = load volatile {kind}, ptr %at, align 64",
        *(f"  {line}" for line in before),
        f"  %r = {result}",
        f"  store volatile {kind} %r, ptr %at, align 64",
        "  ret void",
        "}",
    ])  # fmt: skip


def _operation(name: str, bits: int) -> str:
    kind = f"<{bits // 64} x double>"
    return _whole(kind, f"{name} {kind} %v, %v")


def _intrinsic(element: str, suffix: str, lanes: int) -> str:
    kind = f"<{lanes} x {element}>"
    name = f"@llvm.fma.v{lanes}{suffix}"
    declared = f"declare {kind} {name}({kind}, {kind}, {kind})"
    return _whole(kind, f"call {kind} {name}({kind} %v, {kind} %v, {kind} %v)", [declared])


def _extension(entry: Extension, bits: int) -> str:
    """Return the trial of an extension: as it is measured, by inline assembly, a function, or LLVM's own operation."""
    if entry.assembly:
        kind = f"<{bits // 32} x i32>"
        arguments = f"({kind} %v, {kind} %v, {kind} %v)"
        return _whole(kind, f'call {kind} asm sideeffect "{entry.assembly}", "{entry.constraints}"{arguments}')
    if entry.intrinsic:
        integer = precision(entry.precision).integer
        kind = f"<{bits // 32} x {'i32' if integer else 'float'}>"
        operand = f"<{bits // (8 * precision(entry.precision).bytes)} x {entry.operand}>"
        cast = f"%o = bitcast {kind} %v to {operand}"
        call = f"call {kind} @{entry.intrinsic}({kind} %v, {operand} %o, {operand} %o)"
        return _whole(kind, call, [f"declare {kind} @{entry.intrinsic}({kind}, {operand}, {operand})"], [cast])
    return _intrinsic("half", "f16", bits // 16)
