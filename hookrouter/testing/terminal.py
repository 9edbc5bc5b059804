"""A private tmux server for tests and the demo: no user configuration, no user environment, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

__all__ = [
    "RUN_MARK",
    "Pane",
    "PrivateTmux",
    "TmuxError",
    "WaitTimeoutError",
    "ending_on_signals",
    "find_tmux",
    "reap",
    "remove_folder",
    "wait_until",
]

RUN_MARK = "HOOKROUTER_TEST_RUN"
"""The environment variable that marks every process of one private server, so that orphans are found as well."""

_CONFIG = """\
set -g status off
set -g remain-on-exit on
set -g history-limit 2000
set -g default-terminal tmux-256color
set -g default-shell /bin/sh
"""

_ENDING = "server exited unexpectedly"
_POLL = 0.02
_STAYS_AWAY = 0.7
_GRACE = 1.0
_LONGEST_BASE = 70

T = TypeVar("T")


class TmuxError(Exception):
    """The tmux program refused a command; the message holds the command and what tmux said."""


class WaitTimeoutError(Exception):
    """What was waited for did not come in time; the message holds the last observation."""


def find_tmux() -> str | None:
    """Return the path of the tmux program on PATH, or None."""
    return shutil.which("tmux")


PATIENCE_VARIABLE = "HOOKROUTER_TEST_PATIENCE"
"""How many times longer than on an idle machine everything is waited for."""


def wait_until(probe: Callable[[], T | None], timeout: float, what: str, last: Callable[[], str] | None = None) -> T:
    """Call ``probe`` until it returns something true, and return that.

    ``timeout`` is in seconds, for an idle machine: the variable HOOKROUTER_TEST_PATIENCE multiplies it. ``last``
    describes the final state for the error. Raises WaitTimeoutError.
    """
    timeout *= float(os.environ.get(PATIENCE_VARIABLE) or 1)
    deadline = time.monotonic() + timeout
    while True:
        value = probe()
        if value is not None and value:
            return value
        if time.monotonic() >= deadline:
            state = f"; last seen:\n{last()}" if last is not None else ""
            raise WaitTimeoutError(f"no {what} within {timeout:g} s{state}")
        time.sleep(_POLL)


def remove_folder(path: str, timeout: float = 5.0) -> None:
    """Remove a folder, also where programs that were just ended still write, for ``timeout`` seconds. Never raises.

    A client that is ended writes its transcript and calls its last hooks meanwhile, so the folder must stay away.
    """
    since = time.monotonic()

    def gone() -> bool:
        nonlocal since
        if os.path.exists(path):
            shutil.rmtree(path, ignore_errors=True)
            since = time.monotonic()
        return time.monotonic() - since >= _STAYS_AWAY

    with contextlib.suppress(WaitTimeoutError):
        wait_until(gone, timeout, f"end of the folder {path}")


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP into KeyboardInterrupt; later ones do not disturb the cleaning up."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(_number: int, _frame: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Pane:
    """One pane of a private tmux server."""

    def __init__(self, server: PrivateTmux, target: str) -> None:
        """Wrap the pane with the id ``target``, for example ``%0``."""
        self.server = server
        self.target = target

    def capture(self) -> str:
        """Return the visible rows, without trailing blanks."""
        return self.server.run("capture-pane", "-p", "-t", self.target)

    def state(self) -> str:
        """Return what else decides what becomes of a key: size, whether input is off, whether tmux is in a mode."""
        shown = "#{pane_width}x#{pane_height} input_off=#{pane_input_off} mode=#{pane_mode} dead=#{pane_dead}"
        return self.server.run("display-message", "-p", "-t", self.target, shown).strip()

    def takes_keys(self) -> bool:
        """Whether keys reach the pane's program; while ``hookrouter answer`` types, no others do."""
        return "input_off=0" in self.state()

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, one per call to tmux."""
        for key in keys:
            self.server.run("send-keys", "-t", self.target, key)

    def type(self, text: str) -> None:
        """Type text literally, without Enter."""
        self.server.run("send-keys", "-t", self.target, "-l", "--", text)

    def wait_for(self, what: str | Callable[[str], object], timeout: float = 10.0) -> str:
        """Wait until the screen holds the text ``what`` (or ``what(screen)`` is true) and return the screen.

        ``timeout`` is in seconds. Raises WaitTimeoutError with the last screen.
        """
        screen = ""

        def probe() -> bool:
            nonlocal screen
            screen = self.capture()
            return what in screen if isinstance(what, str) else bool(what(screen))

        name = repr(what) if isinstance(what, str) else getattr(what, "__name__", "matching screen")
        wait_until(probe, timeout, f"{name} on screen", lambda: f"{screen}\n{self.state()}")
        return screen

    def dead(self) -> bool:
        """Whether the pane's program has ended, or the pane is gone."""
        try:
            return self.server.run("display-message", "-p", "-t", self.target, "#{pane_dead}").strip() != "0"
        except TmuxError:
            return True


class _Process(NamedTuple):
    pid: int
    parent: int
    marked: bool


def _processes(mark: str) -> list[_Process]:
    """List this user's processes; ``marked`` says whether one's environment holds ``mark``."""
    found = []
    if os.path.isdir("/proc/self"):
        wanted = mark.encode()
        for entry in os.listdir("/proc"):
            if not entry.isdecimal():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                marked = False
                with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                    marked = wanted in file.read().split(b"\0")
                found.append(_Process(int(entry), parent, marked))
        return found
    listing = subprocess.run(["ps", "axeww", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=False)
    for line in listing.stdout.splitlines():
        fields = line.split(None, 2)
        if len(fields) >= 2 and fields[0].isdecimal() and fields[1].isdecimal():
            found.append(_Process(int(fields[0]), int(fields[1]), len(fields) > 2 and mark in fields[2].split()))
    return found


def _family(roots: Iterable[int], mark: str) -> set[int]:
    """Return ``roots`` with all their descendants and every process that carries ``mark``, without this process."""
    processes = _processes(mark)
    family = set(roots) | {process.pid for process in processes if process.marked}
    while True:
        more = {process.pid for process in processes if process.parent in family} - family
        if not more:
            return family - {os.getpid()}
        family |= more


def reap(roots: Iterable[int], mark: str, grace: float = _GRACE) -> None:
    """End ``roots``, their descendants and the processes whose environment holds ``mark`` (``NAME=value``).

    They get SIGTERM, and SIGKILL after ``grace`` seconds. Never raises.
    """
    family = _family(roots, mark)
    for pid in family:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while family and time.monotonic() < deadline:
        living = {process.pid for process in _processes(mark)}
        family = {pid for pid in family if pid in living and not _is_zombie(pid)}
        if family:
            time.sleep(_POLL)
    for pid in family | _family((), mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


class PrivateTmux:
    """A tmux server on a socket of its own, in a folder of its own; use it as a context manager.

    Programs run in it see only ``environ`` (default: PATH and a UTF-8 locale) and what :meth:`start` adds.
    Leaving the context ends every process that was started in it, also those that left their pane.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Prepare the server; it runs once the first session is started. Raises TmuxError without a tmux program."""
        program = find_tmux()
        if program is None:
            raise TmuxError("tmux is not on PATH; install tmux (https://github.com/tmux/tmux)")
        self._program = program
        # The path of a socket holds about 100 bytes, less than the temporary folder of some systems.
        parent = "/tmp" if len(os.fsencode(tempfile.gettempdir())) > _LONGEST_BASE else None  # noqa: S108
        self.folder = tempfile.mkdtemp(prefix="hookrouter-tmux-", dir=parent)
        self.socket = os.path.join(self.folder, "socket")
        self.mark = f"{RUN_MARK}={uuid.uuid4().hex}"
        base = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        self._environ = {**base, **(environ or {}), "TERM": "xterm-256color"}
        name, _, value = self.mark.partition("=")
        self._environ[name] = value
        self._config = os.path.join(self.folder, "tmux.conf")
        with open(self._config, "w", encoding="utf-8") as file:
            file.write(_CONFIG)

    def __enter__(self) -> PrivateTmux:
        """Return the server itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server, see :meth:`stop`."""
        self.stop()

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Run one tmux command on this server and return its output. Raises TmuxError."""
        command = [self._program, "-S", self.socket, "-f", self._config, *arguments]
        try:
            done = subprocess.run(
                command, env=self._environ, input=stdin, capture_output=True, text=True, timeout=20, check=False
            )
        except subprocess.TimeoutExpired:
            raise TmuxError(f"tmux {' '.join(arguments[:2])}: no answer in 20 s") from None
        if done.returncode != 0:
            raise TmuxError(f"tmux {' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def start(
        self,
        session: str,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        width: int = 120,
        height: int = 40,
    ) -> Pane:
        """Start ``command`` (an argument list) in a new session and return its pane.

        ``environ`` is added to the server's own. A program that ends leaves its last screen in the pane.
        Raises TmuxError.
        """
        arguments = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", session, "-x", str(width), "-y", str(height)]
        arguments += ["-c", cwd or self.folder]
        for name, value in (environ or {}).items():
            arguments += ["-e", f"{name}={value}"]
        # tmux hands a single word to a shell; two or more it runs as they are.
        words = list(command) if len(command) > 1 else ["env", *command]
        try:
            return Pane(self, self.run(*arguments, "--", *words).strip())
        except TmuxError as error:
            if _ENDING not in str(error):
                raise
            # The server was just ending because its last session had; the next command starts another.
            return Pane(self, self.run(*arguments, "--", *words).strip())

    def pane_environ(self, pane: Pane) -> dict[str, str]:
        """Return the variables that tmux gives to programs in ``pane``: what a process needs to be taken for one."""
        pid = self.run("display-message", "-p", "-t", pane.target, "#{pid},#{session_id}").strip()
        server, _, session = pid.partition(",")
        return {"TMUX": f"{self.socket},{server},{session.lstrip('$')}", "TMUX_PANE": pane.target}

    def stop(self) -> None:
        """End the server and every process of it, and remove its folder. Never raises; may be called twice."""
        roots: list[int] = []
        if os.path.exists(self.socket):
            with contextlib.suppress(TmuxError, ValueError):
                roots = [int(pid) for pid in self.run("list-panes", "-a", "-F", "#{pane_pid}").split()]
            family = _family(roots, self.mark)
            with contextlib.suppress(TmuxError):
                self.run("kill-server")
            reap(family, self.mark)
        else:
            reap((), self.mark, grace=0)
        shutil.rmtree(self.folder, ignore_errors=True)
