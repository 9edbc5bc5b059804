"""What the operating system does in its own way: the one module that knows Linux from macOS.

Linux is what hookrouter is developed and tested on. What is done on macOS is written after XNU's source and Apple's
headers, and was run where Python has the same functions, not on a Mac: ``docs/guides/macos.md`` says what that proves.
The fronts are programs of their own, which import nothing, and have their own copies of what they need.
"""

from __future__ import annotations

import os
import sys

from hookrouter.util.time_limit import signal

TYPE_CHECKING = False

if TYPE_CHECKING:
    import socket
    from typing import IO, Any

__all__ = [
    "PATH_ONLY",
    "POLL_TELLS_OF_ENDS",
    "ProcessStatus",
    "boot_id",
    "end_descendants",
    "end_with",
    "fork",
    "get_ready_to_end",
    "go_on_without",
    "is_darwin",
    "launchd_descriptors",
    "memory_file",
    "peak_memory",
    "peer",
    "process_began",
    "process_environ",
    "process_space",
    "process_status",
    "sync",
    "thread_count",
]

_LOOKS = 8
"""How often processes are looked for that were started while others were being stopped."""

_TICKS = 0.02
"""Seconds by which the age of a process may be told wrongly: the system counts it in ticks."""

is_darwin = sys.platform == "darwin"
"""Whether this is macOS."""

PATH_ONLY: int = getattr(os, "O_PATH", os.O_RDONLY)
"""How to open a folder that one may be in and may not list; macOS has no such way."""

POLL_TELLS_OF_ENDS = not is_darwin
"""Whether ``poll`` tells of the end of a descriptor of which nothing else is asked. XNU asks kqueue, for no filter."""


def fork() -> int:
    """Fork, as :func:`os.fork`, which is called nowhere else. Raises OSError.

    From 3.12 on Python warns in a process that has threads: one of them may hold a lock that the child then waits for.
    A plugin, or a test's server, may have started some. What hookrouter does in a child takes no lock of a thread's.
    """
    warnings = sys.modules.get("warnings")
    if warnings is None:
        # Nobody has asked for it to be an error, and it is not shown by default.
        return os.fork()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def memory_file() -> IO[bytes]:
    """Return a file without a name, for one process and its children: in memory if the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("hookrouter", os.MFD_CLOEXEC), "w+b", buffering=0)
    # Slow to import.
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def sync(descriptor: int) -> None:
    """Have a file's or folder's content be on the disk. Raises OSError.

    macOS writes it to the disk's own cache with ``fsync``, and further with F_FULLFSYNC, which not all of its file
    systems know (fsync(2) of macOS).
    """
    if is_darwin:
        import fcntl

        try:
            fcntl.fcntl(descriptor, getattr(fcntl, "F_FULLFSYNC", 51))
        except OSError:
            pass
        else:
            return
    os.fsync(descriptor)


def get_ready_to_end() -> None:
    """Have SIGIO end this process, whatever it is doing: once, before :func:`end_with`."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    if is_darwin:
        import ctypes

        # There the signal is discarded by default (XNU, sigprop). A handler in Python would wait for C code to return.
        library = ctypes.CDLL(None)
        library.signal(int(signal.SIGIO), library._exit)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGIO])


def end_with(descriptor: int) -> None:
    """Have the system send SIGIO to this process once the other end of a pipe is closed. Raises OSError.

    It says nothing of an end that was closed before: look for that afterwards.
    """
    import fcntl

    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


def go_on_without(descriptor: int) -> None:
    """Let this process go on when the other end of a pipe that was given to :func:`end_with` is closed."""
    import fcntl

    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_ASYNC)


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a Unix socket; 0 and -1 for what the system does not say."""
    import socket
    import struct

    try:
        if hasattr(socket, "SO_PEERCRED"):
            pid, user, _group = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return pid, user
        # LOCAL_PEERCRED of SOL_LOCAL, a struct xucred: version, user, and groups that do not matter here.
        return 0, struct.unpack_from("Ii", connection.getsockopt(0, 1, 76))[1]
    except (OSError, struct.error):
        return 0, -1


class ProcessStatus:
    """What the system says of a process."""

    __slots__ = ("foreground", "group", "has_terminal", "started", "state")

    def __init__(self, state: str, group: int, foreground: int, started: str, *, has_terminal: bool) -> None:
        """Take it as it is."""
        self.state = state
        """A letter, as ``ps`` has it: ``T`` for one that was stopped, ``Z`` for one that has ended."""
        self.group = group
        """Its process group."""
        self.foreground = foreground
        """The process group in the foreground of its terminal; 0 or less for none."""
        self.started = started
        """When it began, in the system's own count."""
        self.has_terminal = has_terminal
        """Whether it has a terminal."""


def process_status(pid: int) -> ProcessStatus | None:
    """Return what the system says of a process; None where it does not say."""
    if is_darwin:
        return _darwin_status(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The state stands behind the program's name, which may hold anything.
            said = file.read().rpartition(b")")[2].split()
        state, started = said[0].decode("ascii"), said[19].decode("ascii")
        return ProcessStatus(
            "T" if state == "t" else "Z" if state == "X" else state,
            int(said[2]),
            int(said[5]),
            started,
            has_terminal=said[4] != b"0",
        )
    except (OSError, ValueError, IndexError):
        return None


def end_descendants(pid: int, within: float) -> None:
    """End what a process has started in these last seconds, and what that has started, but for other sessions.

    What a shell has left behind that has ended is not found: it has another parent by then. Raises nothing.
    """
    found: set[int] = set()
    try:
        session = os.getsid(pid)
        for _ in range(_LOOKS):
            fresh = _descendants(pid, session, within) - found
            if not fresh:
                break
            found |= fresh
            for one in fresh:
                # What is stopped starts nothing more, and leaves no children to others.
                _send(one, signal.SIGSTOP)
    except OSError:
        # The process itself has ended, or the system does not say.
        pass
    for one in found:
        _send(one, signal.SIGKILL)


def _descendants(pid: int, session: int, within: float) -> set[int]:
    children: dict[int, list[tuple[int, float]]] = {}
    for one, parent, age in _darwin_processes() if is_darwin else _linux_processes():
        children.setdefault(parent, []).append((one, age))
    found, parents = set(), [pid]
    while parents:
        for one, age in children.get(parents.pop(), ()):
            if age <= within + _TICKS and one not in found and _session(one) == session:
                found.add(one)
                parents.append(one)
    return found


def _linux_processes() -> list[tuple[int, int, float]]:
    """Return each process, its parent and its age in seconds. Raises OSError."""
    with open("/proc/uptime", "rb") as file:
        now = float(file.read().split()[0])
    tick, found = os.sysconf("SC_CLK_TCK"), []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    said = file.read().rpartition(b")")[2].split()
                found.append((int(name), int(said[1]), now - int(said[19]) / tick))
            except (OSError, ValueError, IndexError):
                # It has ended meanwhile.
                continue
    return found


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        # It has ended, or is another user's.
        return


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def process_began(pid: int) -> float | None:
    """Return when a process began, in seconds since 1970; None where the system does not say."""
    status = process_status(pid)
    if status is None:
        return None
    try:
        if is_darwin:
            return float(status.started)
        with open("/proc/stat", "rb") as file:
            [boot] = [int(line.split()[1]) for line in file if line.startswith(b"btime ")]
        return boot + int(status.started) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def process_environ(pid: int) -> dict[str, str]:
    """Return the environment that a process of this user was started with; empty where the system does not tell.

    It may hold secrets: never write it anywhere.
    """
    if is_darwin:
        # KERN_PROCARGS2: the number of arguments, the program's path, blanks, arguments, variables.
        said = _sysctl(1, 49, pid)
        count = int.from_bytes(said[:4], sys.byteorder)
        entries = said[4:].partition(b"\0")[2].lstrip(b"\0").split(b"\0")[count:]
        # Behind an empty one stands what Apple's loader gets.
        entries = entries[: entries.index(b"")] if b"" in entries else entries
    else:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                entries = file.read().split(b"\0")
        except OSError:
            return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs}


def process_space() -> str:
    """Return what tells this machine's, or this container's, process ids from others'."""
    if is_darwin:
        # A Mac's name changes with the network that it is in.
        return _host_uuid() or os.uname().nodename
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{os.uname().nodename} {space}".strip()


def boot_id() -> str:
    """Return what tells one start of this machine from all others; empty where the system does not say."""
    if is_darwin:
        return _sysctl_by_name("kern.bootsessionuuid").rstrip(b"\0").decode("ascii", "replace")
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""


def thread_count() -> int:
    """Return how many threads this process has; those of C code too, on Linux."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def peak_memory() -> int:
    """Return how much memory this process has had in use at most, in kB."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Which macOS counts in bytes.
    return peak // 1024 if is_darwin else peak


def launchd_descriptors(name: str) -> list[int]:
    """Return the listening sockets that launchd keeps for this process under a name of its agent's file."""
    import ctypes

    library = ctypes.CDLL(None)
    numbers, count = ctypes.POINTER(ctypes.c_int)(), ctypes.c_size_t()
    if library.launch_activate_socket(name.encode(), ctypes.byref(numbers), ctypes.byref(count)):
        return []
    descriptors = numbers[: count.value]
    library.free(numbers)
    return descriptors


_STATES = {1: "I", 2: "R", 3: "S", 4: "T", 5: "Z"}
"""SIDL, SRUN, SSLEEP, SSTOP and SZOMB of ``sys/proc.h``."""

_KINFO_BYTES = 648
_BEGAN, _STATE, _PID, _PARENT, _GROUP, _TERMINAL, _FOREGROUND = 0, 36, 40, 560, 564, 572, 576
"""Where p_starttime, p_stat, p_pid, e_ppid, e_pgid, e_tdev and e_tpgid stand in a ``struct kinfo_proc`` of 64 bits."""


def _darwin_status(pid: int) -> ProcessStatus | None:
    import struct

    # CTL_KERN, KERN_PROC, KERN_PROC_PID
    said = _sysctl(1, 14, 1, pid)
    if len(said) != _KINFO_BYTES or struct.unpack_from("i", said, _PID)[0] != pid:
        return None
    seconds, micros = struct.unpack_from("qi", said, _BEGAN)
    group, terminal, foreground = (
        struct.unpack_from("i", said, place)[0] for place in (_GROUP, _TERMINAL, _FOREGROUND)
    )
    return ProcessStatus(
        _STATES.get(said[_STATE], "?"), group, foreground, f"{seconds}.{micros:06}", has_terminal=terminal != -1
    )


def _darwin_processes() -> list[tuple[int, int, float]]:
    """Return each process, its parent and its age in seconds."""
    import struct
    import time

    # CTL_KERN, KERN_PROC, KERN_PROC_ALL
    said, now, found = _sysctl(1, 14, 0), time.time(), []
    for start in range(0, len(said) - _KINFO_BYTES + 1, _KINFO_BYTES):
        seconds, micros = struct.unpack_from("qi", said, start + _BEGAN)
        pid, parent = (struct.unpack_from("i", said, start + place)[0] for place in (_PID, _PARENT))
        found.append((pid, parent, now - seconds - micros / 1e6))
    return found


def _sysctl(*numbers: int) -> bytes:
    """Return what the system says under a name of numbers; nothing if it says nothing."""
    import ctypes

    name = (ctypes.c_int * len(numbers))(*numbers)

    def ask(library: Any, into: Any, size: Any) -> int:
        return int(library.sysctl(name, ctypes.c_uint(len(numbers)), into, size, None, ctypes.c_size_t(0)))

    return _asked(ask)


def _sysctl_by_name(name: str) -> bytes:
    import ctypes

    def ask(library: Any, into: Any, size: Any) -> int:
        return int(library.sysctlbyname(name.encode(), into, size, None, ctypes.c_size_t(0)))

    return _asked(ask)


def _asked(ask: Any) -> bytes:
    """Return what a function like sysctl says: it is asked for the size, and then for all of it."""
    import ctypes

    size = ctypes.c_size_t()
    try:
        library = ctypes.CDLL(None)
        if ask(library, None, ctypes.byref(size)):
            return b""
        into = ctypes.create_string_buffer(size.value)
        return into.raw[: size.value] if not ask(library, into, ctypes.byref(size)) else b""
    except (OSError, AttributeError):
        return b""


def _host_uuid() -> str:
    """Return the id of this Mac's hardware; empty if the system does not say."""
    import ctypes

    class Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    found = ctypes.create_string_buffer(16)
    try:
        failed = ctypes.CDLL(None).gethostuuid(found, ctypes.byref(Timespec(5, 0)))
    except (OSError, AttributeError):
        return ""
    return "" if failed else found.raw.hex()
