"""Drives one window of a GNU screen session, addressed by its server's process id and its number.

What screen does, measured on 4.9.0, and what follows from it here:

* ``-X`` reports success whatever happens, and ``-Q``, which waits for an answer, writes that answer onto the display
  that was attached last as well. So this backend attaches a small display of its own, which shows screen's blank
  window: it takes those messages, lets commands run that want a display, and changes no window's size.
* ``hardcopy`` writes only the low byte of each character, which tells whether anything has changed but not what is
  there. The text comes from copy mode, whose buffer is written out as UTF-8; the person's own buffer is put back.
* Keys stuffed into a window in copy mode go to copy mode. Nothing tells whether a window is in it, except that ``copy``
  then fails. So before each key copy mode is entered, which is certain to be so afterwards, and left.
* A new message holds up the whole server until the one before has been shown for ``msgminwait`` seconds, and while a
  message covers a window on some display, for ``msgwait`` seconds, the window's program is not read. Both are 0 while
  the display is attached, and then screen's defaults again: screen does not tell what they were.
* ``paste`` adds no brackets, and ``readreg`` turns newlines into Enter. So a register is filled by commands in a file,
  part by part. ``paste`` takes a copy only if several registers are named, after which they can be emptied at once.
* Two ``-Q`` at once get in each other's way, and so do two processes in one window's copy mode. So each method locks
  the socket folder. While a question is asked, a socket ``SESSION-queryA`` stands beside the session's.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter import override
from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend, TerminalError, TerminalGone

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

__all__ = ["KEYS", "ScreenBackend"]

KEYS: Mapping[str, bytes] = {
    "Enter": b"\r",
    "Escape": b"\x1b",
    "Tab": b"\t",
    "BTab": b"\x1b[Z",
    "Space": b" ",
    "Up": b"\x1b[A",
    "Down": b"\x1b[B",
    "Right": b"\x1b[C",
    "Left": b"\x1b[D",
    "Home": b"\x1b[1~",
    "End": b"\x1b[4~",
    "BSpace": b"\x7f",
    "C-e": b"\x05",
    "C-s": b"\x13",
    "C-u": b"\x15",
}
"""The named keys that ``press`` takes, and what a program reads; any other key is one printable character."""

_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")
_ASKS = 3
"""How often a question is asked that screen answers with nothing."""
_SIZE = re.compile(r"\(\d+,\d+\)/\((\d+),(\d+)\)")
_FOLDER = re.compile(r"^(?:\d+ Sockets?|No Sockets found) in (.+?)\.?$", re.MULTILINE)
_QUERY = re.compile(r"-query[A-Z]$")
_NO_WINDOW = "pre-select window"
_NOT_A_WINDOW_LAYER = "Must be on a window layer"
_ENTERED = "Copy mode - "
_LEAVE_COPY_MODE = b"\x1d"
"""Control-], which copy mode does not know and therefore ends at, and to which Claude Code gives no meaning."""
_MESSAGES = {"msgminwait": "1", "msgwait": "5"}
"""The settings for how long messages are shown, with screen's defaults in seconds."""
_WHOLE_SCREEN = "H L$ "
"""In copy mode: to the top left corner, mark, to the bottom row and its end, copy."""
_TEXT, _PART, _CLOSE, _SAVED = "\\001", "\\002", "\\003", "\\004"
"""Registers, by names that nobody types."""
_BEGIN, _END = b"\x1b[200~", b"\x1b[201~"
_CONFIGURATION = b"unsetenv SYSSCREENRC\nstartup_message off\n"
"""All the configuration of a session that is opened: the variable, set for screen alone, keeps the machine's out."""
_OPENED = "demo"
"""The name of a session that is opened."""
_PRIVATE, _SOCKETS = "hookrouter-screen-pane-", "sockets"
"""How the folder of a session that is opened begins, and the folder in it."""
_PART_BYTES = 300
"""How much of a text goes into one line of a command file, which holds 2048 characters."""


class _Window(NamedTuple):
    folder: str
    """The folder of the server's socket."""
    pid: str
    number: str


class _Display:
    """A display of our own: a terminal that shows nobody what screen draws."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        folder: str | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Run a ``command`` that attaches to a session; ``size`` is columns and rows, if they matter."""
        import subprocess
        import termios

        self._master, terminal = os.openpty()
        try:
            if size is not None:
                termios.tcsetwinsize(terminal, size[::-1])
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                cwd=folder,
                env={**environ, "TERM": "vt100"},
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(terminal)

    def attached(self, timeout: float) -> bool:
        """Whether the server draws on the display; waits for its first bytes."""
        return self._read(timeout) and self._process.poll() is None

    def living(self) -> bool:
        """Whether the display is still attached; also takes in what was drawn, which would hold up the server."""
        while self._read(0.0):
            pass
        return self._process.poll() is None

    def _read(self, timeout: float) -> bool:
        import select

        try:
            return bool(select.select([self._master], [], [], timeout)[0]) and bool(os.read(self._master, 1 << 16))
        except OSError:
            return False

    def close(self) -> None:
        os.close(self._master)
        self._process.terminate()
        self._process.wait()


class ScreenBackend(TerminalBackend):
    """The terminal backend for GNU screen 4.9. Keeps a display attached until :meth:`close` or the process's end."""

    name = "screen"
    can_open = True

    def __init__(self, timeout: float = 5.0) -> None:
        """``timeout`` is how many seconds one call of screen may take."""
        self._timeout = timeout
        self._displays: dict[tuple[str, str], _Display] = {}
        self._seen: dict[_Window, tuple[bytes, Screen]] = {}
        self._closed_at_exit = False

    def __enter__(self) -> ScreenBackend:
        """Return the backend itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Detach, see :meth:`close`."""
        self.close()

    def close(self) -> None:
        """Detach the displays. The backend can be used again."""
        for (folder, pid), display in self._displays.items():
            window = _Window(folder, pid, "-")
            with contextlib.suppress(TerminalError), self._alone(window):
                self._do(window, "eval", *(f"{setting} {seconds}" for setting, seconds in _MESSAGES.items()))
            display.close()
        self._displays.clear()
        self._seen.clear()

    @override
    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        """Return the window that ``STY`` and ``WINDOW`` name, or None outside screen.

        Raises TerminalGone if the session or its window does not exist.
        """
        pid, _, _ = environ.get("STY", "").partition(".")
        number = environ.get("WINDOW", "")
        if not _is_number(pid) or not _is_number(number):
            return None
        folder = environ.get("SCREENDIR") or self._default_folder(environ["STY"])
        window = _Window(folder, pid, number)
        with self._alone(window):
            session = self._session(window)
            # "@" keeps the answer off the displays of people; that there is one is enough.
            status, said = self._call(folder, ["-S", session, "-p", number, "-Q", "@number"])
        if status != 0:
            raise _failure(said, window)
        return TerminalAddress(self.name, session.partition(".")[2], f"{pid}:{number}", folder)

    @override
    def capture(self, address: TerminalAddress) -> Screen:
        """Return what the window shows, which in copy mode is what it showed when that began. Raises TerminalGone."""
        import tempfile

        window = _window(address)
        with self._alone(window), tempfile.TemporaryDirectory(prefix="hookrouter-screen-") as folder:
            self._attach(window)
            signs = _private_file(folder, "signs")
            self._do(window, "hardcopy", signs)
            width, height = self._size(window)
            with open(signs, "rb") as file:
                sign = b"%d %d\n" % (width, height) + file.read()
            known = self._seen.get(window)
            if known is not None and known[0] == sign:
                return known[1]
            text = _private_file(folder, "text")
            self._copy(window, text)
            width, height = self._size(window)
            with open(text, encoding="utf-8", errors="replace") as file:
                rows = _rows(file.read(), width, height)
        screen = Screen(rows, width, height)
        self._seen[window] = sign, screen
        return screen

    @override
    def press(self, address: TerminalAddress, key: str) -> None:
        """Press one of KEYS or one printable character, after leaving copy mode.

        Raises TerminalError for any other key, TerminalGone if the window is gone.
        """
        window = _window(address)
        if key in KEYS:
            sent = KEYS[key]
        elif len(key) == 1 and key.isprintable():
            sent = key.encode()
        else:
            raise TerminalError(f"not a key that can be pressed: {key!r}")
        with self._alone(window):
            self._leave_copy_mode(window)
            self._stuff(window, sent)
            self._size(window)

    @override
    def paste(self, address: TerminalAddress, text: str) -> None:
        """Paste ``text`` in one piece and in brackets, newlines included, without submitting it.

        Raises TerminalError for control characters other than newline and tab, because they would act as keys, and
        TerminalGone if the window is gone.
        """
        import tempfile

        window = _window(address)
        _check_text(text)
        with self._alone(window):
            self._leave_copy_mode(window)
            with tempfile.TemporaryDirectory(prefix="hookrouter-screen-") as folder:
                commands = _private_file(folder, "commands", _filling(text.encode()))
                said = self._said_after(window, "source", commands)
            if said is not None:
                raise TerminalError(f"GNU screen did not read the text: {said}")
            self._do(window, "paste", _TEXT + _CLOSE)
            for register in (_TEXT, _PART, _CLOSE):
                self._do(window, "register", register, "")
            self._size(window)

    @override
    def open_pane(
        self, command: Sequence[str], environ: Mapping[str, str], folder: str, size: tuple[int, int]
    ) -> TerminalAddress:
        """Run a program in a session of its own, with a socket folder of its own. Raises TerminalError."""
        import shutil
        import tempfile

        program = shutil.which("screen")
        if program is None:
            raise TerminalError("there is no screen program on PATH")
        private = os.path.realpath(tempfile.mkdtemp(prefix=_PRIVATE))
        try:
            sockets = os.path.join(private, _SOCKETS)
            os.mkdir(sockets, 0o700)
            configuration = _private_file(private, "screenrc", _CONFIGURATION)
            arguments = [program, "-U", "-c", configuration, "-S", _OPENED, *command]
            variables = {**environ, "SCREENDIR": sockets, "SYSSCREENRC": os.devnull}
            # A session that begins detached has 80 columns and 24 rows: this one begins on a display of that size.
            display = _Display(arguments, variables, folder, size)
            try:
                pid = self._opened(display, sockets)
            finally:
                display.close()
        except OSError as error:
            shutil.rmtree(private, ignore_errors=True)
            raise TerminalError(f"GNU screen cannot open a window: {error}") from error
        except BaseException:
            shutil.rmtree(private, ignore_errors=True)
            raise
        return TerminalAddress(self.name, _OPENED, f"{pid}:0", sockets)

    def _opened(self, display: _Display, sockets: str) -> str:
        """Wait for the session that begins on a display, and return its server's process id."""
        import time

        deadline, drawn = time.monotonic() + self._timeout, False
        while True:
            drawn = display.attached(0.05) or drawn
            names = _sessions(sockets)
            if drawn and names:
                pid = names[0].partition(".")[0]
                window = _Window(sockets, pid, "0")
                with self._alone(window):
                    self._size(window)
                return pid
            if not display.living():
                raise TerminalError("GNU screen ended at once")
            if time.monotonic() > deadline:
                raise TerminalError(f"GNU screen did not open a window within {self._timeout:g} s")

    @override
    def close_pane(self, address: TerminalAddress) -> None:
        """End the window and the program in it, and remove what ``open_pane`` made; nothing if it is gone."""
        import shutil
        import time

        window = _window(address)
        private = os.path.dirname(window.folder)
        is_ours = os.path.basename(window.folder) == _SOCKETS and os.path.basename(private).startswith(_PRIVATE)
        with contextlib.suppress(TerminalGone):
            with self._alone(window):
                self._do(window, "kill")
            deadline = time.monotonic() + self._timeout
            while is_ours and self._session(window) and time.monotonic() < deadline:
                time.sleep(0.02)
        if is_ours:
            if (window.folder, window.pid) in self._displays:
                self._detach(window)
            shutil.rmtree(private, ignore_errors=True)
        self._seen.pop(window, None)

    def _copy(self, window: _Window, path: str) -> None:
        """Write what the window shows to a file, with copy mode."""
        if not self._enter_copy_mode(window):
            # Somebody else's copy mode may show another part of the window, and have a mark set.
            self._stuff(window, _LEAVE_COPY_MODE)
            self._enter_copy_mode(window)
        self._do(window, "eval", f'register {_SAVED} ""', f"paste . {_SAVED}")
        self._stuff(window, _WHOLE_SCREEN.encode())
        self._do(window, "writebuf", "-e", "utf8", path)
        self._do(window, "eval", "readbuf /dev/null", f"paste {_SAVED} .", f'register {_SAVED} ""')

    def _leave_copy_mode(self, window: _Window) -> None:
        self._attach(window)
        self._enter_copy_mode(window)
        self._stuff(window, _LEAVE_COPY_MODE)

    def _enter_copy_mode(self, window: _Window) -> bool:
        """See to it that the window is in copy mode; False if it was before. Raises TerminalError."""
        said = self._said_after(window, "copy")
        if said is not None and said.startswith(_ENTERED):
            # The message came on another display that was attached after ours and shows this window.
            self._detach(window)
            self._attach(window)
            return True
        if said is not None and said != _NOT_A_WINDOW_LAYER:
            raise TerminalError(f"GNU screen did not enter copy mode: {said}")
        return said is None

    def _said_after(self, window: _Window, *command: str) -> str | None:
        """Carry out a command and return the message that it left on our display, or None."""
        mark = os.urandom(8).hex()
        self._ask(window, "echo", mark)
        self._do(window, *command)
        said = self._ask(window, "lastmsg")
        return None if said == mark else said.removeprefix("-X: ")

    def _size(self, window: _Window) -> tuple[int, int]:
        """Return columns and rows. Also waits for the commands before it, which screen carries out in order."""
        # On a busy machine an empty answer was seen, though it has one always.
        said = next(filter(None, (self._ask(window, "info") for _ in range(_ASKS))), "")
        # "CSI " and the like stand before it while a program is in the middle of an escape sequence.
        found = _SIZE.search(said)
        if found is None:
            raise TerminalError(f"GNU screen does not tell the window's size: {said!r}")
        return int(found[1]), int(found[2])

    def _stuff(self, window: _Window, sent: bytes) -> None:
        self._do(window, "stuff", _octal(sent))

    def _do(self, window: _Window, *command: str) -> None:
        status, said = self._call(window.folder, ["-S", self._session(window), "-p", window.number, "-X", *command])
        if status != 0:
            raise _failure(said, window)

    def _ask(self, window: _Window, *command: str) -> str:
        status, said = self._call(window.folder, ["-S", self._session(window), "-p", window.number, "-Q", *command])
        if status != 0:
            raise _failure(said, window)
        return said

    @contextlib.contextmanager
    def _alone(self, window: _Window) -> Iterator[None]:
        """Keep other processes that do the same away from the sessions of a folder. Raises TerminalError."""
        import fcntl
        import time

        deadline = time.monotonic() + 2 * self._timeout
        try:
            folder = os.open(window.folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise TerminalGone(f"there is no GNU screen session: {error}") from error
        try:
            while True:
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TerminalError("another process has kept GNU screen busy for too long") from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(folder)

    def _attach(self, window: _Window) -> None:
        """Attach our display to the session, unless it still is."""
        display = self._displays.get((window.folder, window.pid))
        if display is not None:
            if display.living():
                # Another process that has just detached has put them back.
                self._do(window, "eval", *(f"{setting} 0" for setting in _MESSAGES))
                return
            self._detach(window)
        if not self._closed_at_exit:
            import atexit

            atexit.register(self.close)
            self._closed_at_exit = True
        display = _Display(["screen", "-U", "-S", self._session(window), "-x", "-p", "-"], self._environ(window.folder))
        if not display.attached(self._timeout):
            display.close()
            # If the session is just ending, this says so.
            self._ask(window, "@number")
            raise TerminalError(f"GNU screen takes no display for session {window.pid} in {window.folder}")
        self._displays[window.folder, window.pid] = display
        self._do(window, "eval", *(f"{setting} 0" for setting in _MESSAGES))

    def _detach(self, window: _Window) -> None:
        self._displays.pop((window.folder, window.pid)).close()

    def _session(self, window: _Window) -> str:
        """Return the session's whole name. screen itself would also take one that only begins or ends like it."""
        try:
            names = [name for name in _sessions(window.folder) if name.startswith(f"{window.pid}.")]
        except OSError as error:
            raise TerminalGone(f"there is no GNU screen session: {error}") from error
        if not names:
            raise TerminalGone(f"GNU screen has no session {window.pid} in {window.folder}")
        return names[0]

    def _default_folder(self, session: str) -> str:
        _, said = self._call("", ["-ls", session])
        found = _FOLDER.search(said)
        if found is None:
            raise TerminalError(f"GNU screen does not tell where its sockets are: {said!r}")
        return found[1]

    def _call(self, folder: str, arguments: list[str]) -> tuple[int, str]:
        import subprocess

        try:
            done = subprocess.run(
                ["screen", *arguments],
                env=self._environ(folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self._timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TerminalError(f"GNU screen did not answer within {self._timeout:g} s") from None
        except FileNotFoundError:
            raise TerminalError("there is no screen program on PATH") from None
        return done.returncode, done.stdout.decode(errors="replace").strip()

    def _environ(self, folder: str) -> dict[str, str]:
        # STY is not passed on: whether the caller itself sits in some screen must not matter.
        environ = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {**environ, "SCREENDIR": folder} if folder else environ


def _sessions(folder: str) -> list[str]:
    return [name for name in os.listdir(folder) if not _QUERY.search(name)]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _window(address: TerminalAddress) -> _Window:
    pid, _, number = address.target.partition(":")
    if not _is_number(pid) or not _is_number(number) or not address.server:
        raise TerminalError(f"not the address of a GNU screen window: {address.target!r} on {address.server!r}")
    return _Window(address.server, pid, number)


def _failure(said: str, window: _Window) -> TerminalError:
    if _NO_WINDOW in said:
        return TerminalGone(f"GNU screen session {window.pid} has no window {window.number}")
    if "No screen session found" in said or "Cannot find" in said:
        return TerminalGone(f"GNU screen has no session {window.pid} in {window.folder}")
    return TerminalError(f"GNU screen: {said or 'failed'}")


def _private_file(folder: str, name: str, content: bytes = b"") -> str:
    """Make a file that only this user can read; screen writes into it without changing that."""
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    return path


def _octal(text: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in text)


def _filling(text: bytes) -> bytes:
    """Return the commands that fill the register with a text and the bracket before it."""
    lines = [f"register {_TEXT} {_octal(_BEGIN)}", f"register {_CLOSE} {_octal(_END)}"]
    for start in range(0, len(text), _PART_BYTES):
        lines.append(f"register {_PART} {_octal(text[start : start + _PART_BYTES])}")
        lines.append(f"paste {_TEXT}{_PART} {_TEXT}")
    return "".join(f"{line}\n" for line in lines).encode()


def _rows(text: str, width: int, height: int) -> tuple[str, ...]:
    """Return the rows of a copied window. screen joins rows that it wrapped itself, so these are parted again."""
    rows: list[str] = []
    for line in text.split("\n"):
        row, cells = "", 0
        for character in line:
            needed = _cells(character)
            if cells + needed > width:
                rows.append(row)
                row, cells = "", 0
            row += character
            cells += needed
        rows.append(row)
    rows += [""] * (height - len(rows))
    return tuple(row.rstrip(" ") for row in rows[:height])


def _cells(character: str) -> int:
    import unicodedata

    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _check_text(text: str) -> None:
    if not text:
        raise TerminalError("there is no text to paste")
    for character in text:
        code = ord(character)
        if character not in "\n\t" and (code < 0x20 or 0x7F <= code < 0xA0):
            raise TerminalError(f"text holds the control character U+{code:04X}, which would act as a key")
        if 0xD800 <= code < 0xE000:
            raise TerminalError(f"text holds U+{code:04X}, which is not a character")
