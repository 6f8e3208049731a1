"""Takes turns: two runs that measure at once on one machine would both be wrong.

A run holds a lock on a file (flock(2)), which the kernel lets go when the process ends, however it ends: a lock never
outlives its holder, and a file that was left behind means nothing. The file lies where every user may write, so that
runs of different users meet; runs in containers that share no such folder do not see each other.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDERS = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
"""Tried in this order, the same for every user: ``/run/lock`` is shared even where ``/tmp`` is each service's own."""

NAME = "ert-roofline.lock"

MODE = 0o666
"""Any user may take the lock; nothing but the number of the process that has it stands in the file."""

GLANCE = 0.05
"""Seconds after which a lock that was taken is tried again: the doctor takes it for a moment to see whether it is."""

ELSEWHERE = (
    "No folder can hold a lock that other runs of this tool would see: whether two measured at once here is not known."
)


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose turn it is.

    Attributes
    ----------
    alone : bool or None
        Whether no other run is measuring; None where that cannot be known.
    waited : bool
        Whether another run had to end first.
    notes : tuple of str
        For the result: why it cannot be known.
    """

    alone: bool | None
    waited: bool = False
    notes: tuple[str, ...] = ()


@contextlib.contextmanager
def turn(
    tell: Callable[[int | None], None], *, wait: bool = True, folders: Sequence[Path] | None = None
) -> Iterator[Turn]:
    """Hold the lock while the block runs.

    Parameters
    ----------
    tell : callable
        Called once before waiting, with the number of the process that has the lock, or None if it is not known.
    wait : bool
        Whether to wait for another run to end; if not, the block runs beside it. An exception of a signal handler
        (Ctrl-C) ends the wait.
    folders : sequence of Path, optional
        Where to look for the file, instead of :data:`FOLDERS` and the system's folder for temporary files.
    """
    descriptor, alone = _begin(folders)
    if descriptor is None:
        yield Turn(None, notes=(ELSEWHERE,))
        return
    try:
        waited = False
        if not alone:
            tell(_holder(descriptor))
            if wait:
                # Without polling, which would disturb the run that is measuring.
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                alone = waited = True
        if alone:
            _write(descriptor, f"{os.getpid()}\n")
        yield Turn(alone, waited)
        if alone:
            _write(descriptor, "")
    finally:
        os.close(descriptor)


def is_free(folders: Sequence[Path] | None = None) -> tuple[bool | None, int | None]:
    """Return whether no run is measuring (None if that cannot be known), and the number of the process that is."""
    descriptor, free = _begin(folders)
    if descriptor is None:
        return None, None
    try:
        return free, None if free else _holder(descriptor)
    finally:
        os.close(descriptor)


def _begin(folders: Sequence[Path] | None) -> tuple[int | None, bool]:
    """Open the file in the first folder where that is possible, and try to lock it; return whether it is ours now.

    Without such a folder the descriptor is None.
    """
    if fcntl is None:
        return None, False
    for folder in (*FOLDERS, Path(tempfile.gettempdir())) if folders is None else folders:
        try:
            # Other users must find the same folder, also where only this one may write to an earlier one.
            if folders is None and folder in FOLDERS and not folder.stat().st_mode & stat.S_IWOTH:
                continue
            descriptor = _open(folder / NAME)
        except OSError:
            continue
        try:
            return descriptor, _taken(descriptor)
        except OSError:  # a file system without locks
            os.close(descriptor)
    return None, False


def _open(path: Path) -> int:
    """Open or make the file; OSError if that is not possible or it is no file that may be locked."""
    # What lies there may have been put there by anybody: no link is followed, and opening a pipe must not wait.
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        # A lock needs no right to write. Made without O_CREAT where it exists: in folders for all users the kernel
        # forbids that for files of others (fs.protected_regular).
        try:
            descriptor = os.open(path, os.O_RDWR | flags)
        except PermissionError:
            descriptor = os.open(path, os.O_RDONLY | flags)
    except FileNotFoundError:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, MODE)
            os.fchmod(descriptor, MODE)  # what umask took away
        except FileExistsError:
            return _open(path)  # another run was faster
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileExistsError(f"{path}: not a file")
    return descriptor


def _taken(descriptor: int) -> bool:
    """Take the lock; False if another process has it."""
    for pause in (GLANCE, 0.0):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
        else:
            return True
    return False


def _holder(descriptor: int) -> int | None:
    """Return the number that the holder wrote, if there is such a process."""
    text = os.pread(descriptor, 20, 0).strip()
    if not text.isdigit() or int(text) < 1:
        return None
    try:
        os.kill(int(text), 0)
    except PermissionError:
        pass  # it belongs to another user
    except (OSError, OverflowError):
        return None
    return int(text)


def _write(descriptor: int, text: str) -> None:
    """Make this the content of the file, where it may be written."""
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode("ascii"), 0)
