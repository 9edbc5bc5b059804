"""What the front in Python does: it brings one hook call to the router, or is the cold run if no router takes it.

It imports nothing that is not built in, but ``_socket``: everything else costs more than the call. What it says to the
router is in :mod:`hookrouter._serving.protocol`; ``native.c`` does the same.
"""

import posix
import sys
import time

_PATIENCE = 2.0
"""Seconds for the router to say that it is ready. One that says nothing is hung: its socket is removed."""

_MOST = 16 * 1024 * 1024 + 1
"""Bytes of stdin that are kept: one more than is routed, so that a payload that is too large is seen as such."""

_CHUNK = 1 << 20
_ATTEMPTS = 2


def main(folder: str, cold: list[str]) -> int:
    """Bring the call to the router, and return the exit code; or run cold, which may not return."""
    payload = None
    for _attempt in range(_ATTEMPTS if _is_fit() else 0):
        greeted = _greeted(folder, cold)
        if greeted is None:
            break
        try:
            if payload is None:
                payload = _read_stdin()
            files = [_memory_file(payload), _memory_file(b""), _memory_file(b"")]
            life = posix.pipe()
        except (OSError, MemoryError):
            # Nothing was given away: the cold run says what is wrong, or copes with it.
            break
        end = _served(greeted, files, life)
        if end:
            is_written = _copy(files[1], 1)
            # A reason that nobody reads makes a refusal none the less.
            _copy(files[2], 2)
            return _ended(end) if is_written else end[2]
    return _run_cold(cold, payload)


def _is_fit() -> bool:
    """Whether stdin, stdout and stderr are such that a call can be given away."""
    try:
        for descriptor in (0, 1, 2):
            # A socket must not get the number of one that is closed.
            posix.fstat(descriptor)
        return not posix.isatty(0)
    except OSError:
        return False


def _greeted(folder: str, cold: list[str]):  # type: ignore[no-untyped-def]
    """Return the connection to a router that is ready for the call, and the folder's descriptor; None for none."""
    import _socket

    here, deadline = -1, time.monotonic() + _PATIENCE
    try:
        here = _open_folder()
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.settimeout(_PATIENCE)
        # The path may be longer than an address can be.
        posix.chdir(folder)
        try:
            connection.connect("calls")
        finally:
            posix.fchdir(here)
        if not _is_ours(connection):
            raise PermissionError
        connection.sendall(_hello(cold))
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        if connection.recv(1) == b"R":
            return connection, here
    except TimeoutError:
        _remove(f"{folder}/calls")
    except OSError:
        # No router, one that has just ended, or another user's.
        pass
    if here >= 0:
        posix.close(here)
    return None


def _is_ours(connection) -> bool:  # type: ignore[no-untyped-def]
    """Whether this user or root listens, as the system says: another one would get all that a hook is told.

    See :func:`hookrouter.util.unix_socket.check_listener`.
    """
    import _socket

    if hasattr(_socket, "SO_PEERCRED"):
        found = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:
        found = connection.getsockopt(0, 1, 76)
    return int.from_bytes(found[4:8], sys.byteorder) in (posix.geteuid(), 0)


def _open_folder() -> int:
    try:
        return posix.open(".", posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    except PermissionError:
        # One may be in a folder that one may not list.
        if not hasattr(posix, "O_PATH"):
            raise
        return posix.open(".", posix.O_PATH | posix.O_CLOEXEC)


def _remove(path: str) -> None:
    try:
        posix.unlink(path)
    except OSError:
        return


def _hello(cold: list[str]) -> bytes:
    mask = posix.umask(0o77)
    posix.umask(mask)
    words = [word.encode(sys.getfilesystemencoding(), "surrogateescape") for word in cold]
    variables = [name + b"=" + value for name, value in posix.environ.items()]
    head = [b"%d" % posix.getppid(), b"%o" % mask, b"%d" % len(words)]
    body = b"\0".join([*head, *words, *variables, b""])
    return b"HKR3" + len(body).to_bytes(4, "big") + body


def _read_stdin() -> bytes:
    """Read stdin to its end, and return as much as matters. Raises OSError if it cannot be read."""
    if not posix.get_blocking(0):
        posix.set_blocking(0, True)
    chunks, kept = [], 0
    while data := posix.read(0, _CHUNK):
        chunks.append(data[: _MOST - kept])
        kept += len(chunks[-1])
    return b"".join(chunks)


def _memory_file(data: bytes) -> int:
    """Return the descriptor of a file without a name that holds this, at its beginning. Raises OSError."""
    if hasattr(posix, "memfd_create"):
        file = posix.memfd_create("hook", posix.MFD_CLOEXEC)
    else:
        folder = posix.environ.get(b"TMPDIR", b"/tmp")
        path = b"%s/hookrouter-%d-%s" % (folder, posix.getpid(), posix.urandom(8).hex().encode())
        file = posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o600)
        posix.unlink(path)
    if data:
        _write(file, data)
        posix.lseek(file, 0, 0)
    return file


def _write(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[posix.write(descriptor, data) :]
        except BlockingIOError:
            posix.set_blocking(descriptor, True)


def _copy(file: int, descriptor: int) -> bool:
    """Write what a file holds to a descriptor; return whether all of it could be written."""
    try:
        if posix.lseek(file, 0, 2) and posix.lseek(file, 0, 0) == 0:
            while data := posix.read(file, _CHUNK):
                _write(descriptor, data)
    except (OSError, MemoryError):
        return False
    return True


def _served(greeted, files: list[int], life: tuple[int, int]) -> bytes:  # type: ignore[no-untyped-def]
    """Give the call away, and wait for its end; return how it ended, empty if router and call are gone.

    What is written goes into files, which count only with that end: a call that is lost has written nothing. ``life``
    is the pipe whose end tells the call that this process has ended.
    """
    import _socket

    connection, here = greeted
    given = b"".join(number.to_bytes(4, sys.byteorder) for number in (*files, here, life[0]))
    end = b""
    try:
        connection.sendmsg([b"G"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, given)])
        connection.settimeout(None)
        while len(end) < 3 and (part := connection.recv(3 - len(end))):
            end += part
    except OSError:
        end = b""
    connection.close()
    for descriptor in (here, *life):
        posix.close(descriptor)
    return end if len(end) == 3 and end[:1] in (b"X", b"K", b"E") else b""


def _ended(end: bytes) -> int:
    """Return the exit code of a call; end as its process did if that was killed."""
    number = end[1]
    if end[:1] != b"K":
        return number
    import signal

    if number not in signal.valid_signals():
        return 1
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    posix.kill(posix.getpid(), number)
    return 128 + number


def _run_cold(cold: list[str], payload: bytes | None) -> int:
    """Be the process that ``cold`` starts; with what was read of stdin, if it was.

    In this process, if the program is that of this interpreter: a second start would cost as much as the whole run.
    """
    if payload is not None:
        posix.dup2(_fed(payload), 0)
    program = cold[:-2]
    own = sys.executable.rpartition("/")[0] + "/hookrouter"
    if program not in ([own], [sys.executable, "-P", "-m", "hookrouter"]):
        posix.execv(cold[0], cold)
    # What the interpreter does at its start without -S.
    import site

    site.main()
    sys.argv = [own, *cold[-2:]]
    from hookrouter.__main__ import main as hookrouter

    return hookrouter(cold[-2:])


def _fed(payload: bytes) -> int:
    """Return a descriptor from which a payload is read."""
    try:
        return _memory_file(payload)
    except OSError:
        # The system lets this process write no file of that size: another process writes it into a pipe.
        reading, writing = posix.pipe()
        if not posix.fork():
            posix.close(reading)
            try:
                _write(writing, payload)
            finally:
                posix._exit(0)
        posix.close(writing)
        return reading
