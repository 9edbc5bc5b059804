"""Drives one tmux pane, named by its id on its server's socket.

Needs tmux 3.2: ``hold`` has a command run later (``run-shell -d … -C``), which older versions do not take. What tmux
does, measured on 3.3a, and what follows from it here:

* A session name as a target also matches by prefix, and ``display-message`` without a target answers for whatever
  client is attached. Only pane ids are used as targets, and an answer about a pane is checked to be about that pane.
* ``send-keys`` into a pane that is in a mode (copy, clock, tree) goes to the mode and reports success, so every mode
  is left first; ``copy-mode -q`` does nothing in a pane that is in none.
* ``synchronize-panes`` copies what ``send-keys`` sends to the window's other panes, but not what ``paste-buffer``
  does: there, keys go in as their bytes from a buffer, and the user's option stays as it is.
* ``select-pane -d`` keeps all keys and pastes out of a pane, those of ``send-keys`` and ``paste-buffer`` included,
  which report success, and changes neither the active pane nor the zoom. Commands of one call run without a person's
  key in between, so switching input on, sending, and switching it off again lets through exactly what is sent.
* A client that is killed leaves its pane to the shell that started it, at once. ``pane_current_command`` is asked of
  the system each time, so a condition within the call that sends tells a shell from a client (the name of one that has
  just ended and is still in the foreground is that of the pane's command).
* A trailing ``;`` of any argument separates commands and is lost as text; newlines sent as keys submit. Text is pasted
  from a buffer that is filled through stdin, in brackets (``-p``) and with newlines kept (``-r``).
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from typing import TYPE_CHECKING

from hookrouter.terminals import (
    Probe,
    RunningPane,
    Screen,
    StyledScreen,
    TerminalAddress,
    TerminalBackend,
    TerminalError,
    TerminalGone,
)
from hookrouter.util.short_program import Finished, run_short
from hookrouter_tmux.styles import styled_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter_tmux.flushing import InputFlusher

__all__ = ["KEYS", "MINIMUM_TMUX", "TmuxBackend"]

MINIMUM_TMUX = (3, 2)
"""The oldest tmux that has all that the backend uses."""

KEYS = {
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "BTab": "\x1b[Z",
    "Space": " ",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Left": "\x1b[D",
    "Right": "\x1b[C",
    "Home": "\x1b[1~",
    "End": "\x1b[4~",
    "BSpace": "\x7f",
    "C-e": "\x05",
    "C-s": "\x13",
    "C-u": "\x15",
}
"""The named keys that ``press`` takes, with what tmux sends for each; any other key is one printable character."""

_HOLD = "@hookrouter-hold"
"""The pane option that says who keeps other keys out; tmux itself ends a hold that is not renewed."""

_PROGRAM = "#{pane_pid} #{pane_current_command}"
"""A tmux format: which program is in the pane's foreground."""

_OFF_BY_USER = f"#{{&&:#{{pane_input_off}},#{{==:#{{{_HOLD}}},}}}}"
"""A tmux format: whether the input is off, and not for a hold."""

_GONE = (
    "can't find pane",
    "no server running",
    "no such file or directory",
    "connection refused",
    "server exited",
    "lost server",
)
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMUX_TMPDIR")


class TmuxBackend(TerminalBackend):
    """The terminal backend for tmux, MINIMUM_TMUX or newer; every method is one or two calls of ``tmux``."""

    name = "tmux"
    can_hold = True
    can_style = True

    def __init__(self, timeout: float = 5.0) -> None:
        """``timeout`` is how many seconds one call of tmux may take."""
        self._timeout = timeout
        self._held: dict[TerminalAddress, str] = {}
        self._guarded: dict[TerminalAddress, str] = {}
        self._clients: dict[TerminalAddress, int] = {}
        self._flushers: dict[TerminalAddress, InputFlusher] = {}

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        """Return the pane that ``TMUX_PANE`` and ``TMUX`` name, or None outside tmux.

        Raises TerminalGone if the pane or its server does not exist, TerminalError if tmux cannot be asked.
        """
        pane, server = environ.get("TMUX_PANE", ""), environ.get("TMUX", "").partition(",")[0]
        if not _is_pane_id(pane) or not server:
            return None
        address = TerminalAddress(self.name, "", pane, server)
        answer = self._tmux(address, "display-message", "-p", "-t", pane, "#{pane_id} #{session_name}")
        # For a pane that is gone, display-message answers about some other one.
        found, _, session = answer.rstrip("\n").partition(" ")
        if found != pane or not session:
            raise TerminalGone(f"tmux has no pane {pane} on {server}")
        return address._replace(session=session)

    def capture(self, address: TerminalAddress) -> Screen:
        """Return the visible rows of the pane. Raises TerminalGone also for a pane whose program has ended."""
        return self._captured(address)

    def capture_styled(self, address: TerminalAddress) -> StyledScreen:
        """Return the visible rows of the pane with the style of each part. Raises as :meth:`capture` does."""
        # Here, so that a hook that only asks where it is does not load it.

        drawn = self._captured(address, "-e")
        rows = styled_rows(drawn.lines)
        lines = tuple("".join(part.text for part in row) for row in rows)
        return StyledScreen(drawn._replace(lines=lines), rows)

    def _captured(self, address: TerminalAddress, *options: str) -> Screen:
        pane = _pane(address)
        state = "#{pane_id} #{pane_width} #{pane_height} #{pane_dead} #{window_activity}"
        asked = ("display-message", "-p", "-t", pane, state, ";", "capture-pane", *options, "-p", "-t", pane)
        answer = self._tmux(address, *asked)
        header, _, body = answer.partition("\n")
        fields = header.split(" ")
        if fields[0] != pane:
            raise TerminalGone(f"tmux has no pane {pane} on {address.server}")
        if fields[3] == "1":
            raise TerminalGone(f"the program in pane {pane} has ended")
        rows = body.removesuffix("\n").split("\n")
        # Whole seconds, rounded down, of the last output of any pane in the window.
        unchanged = max(0.0, time.time() - float(fields[4] or "inf") - 1)
        return Screen(tuple(row.rstrip(" ") for row in rows), int(fields[1]), int(fields[2]), unchanged)

    def press(self, address: TerminalAddress, key: str) -> None:
        """Press one of KEYS or one printable character, in this pane alone even if panes are synchronized.

        Raises TerminalError for any other key, if input to the pane is switched off, and if a hold of this
        object has run out; TerminalGone if the pane is gone.
        """
        pane = _pane(address)
        if key not in KEYS and not (len(key) == 1 and key.isprintable()):
            raise TerminalError(f"not a key that can be pressed: {key!r}")
        buffer = _buffer_name()
        text = _literal(KEYS.get(key, key))
        plain = f"send-keys -t {pane} {key}" if key in KEYS else f"send-keys -t {pane} -l -- {text}"
        alone = f"set-buffer -b {buffer} {text} ; paste-buffer -r -d -b {buffer} -t {pane}"
        self._send(address, f"if-shell -F -t {pane} '#{{pane_synchronized}}' {{ {alone} }} {{ {plain} }}")

    def paste(self, address: TerminalAddress, text: str) -> None:
        """Paste ``text`` in one piece, newlines included, without submitting it.

        Raises TerminalError for control characters other than newline and tab, because they would act as keys, and
        otherwise as :meth:`press` does.
        """
        pane = _pane(address)
        _check_text(text)
        buffer = _buffer_name()
        try:
            self._send(
                address,
                f"paste-buffer -p -r -d -b {buffer} -t {pane}",
                before=("load-buffer", "-b", buffer, "-", ";"),
                stdin=text.encode(),
            )
        except TerminalError:
            with contextlib.suppress(TerminalError):
                self._run(address, ["delete-buffer", "-b", buffer])
            raise

    def guard_program(self, address: TerminalAddress, client_pid: int = 0) -> None:
        """Have keys and pastes of this object reach only the program that is now in the pane's foreground.

        And only while the process ``client_pid`` runs, if it is known: tmux sees no difference where a shell without
        job control has started it.
        Raises TerminalGone if the pane is gone or its program has ended.
        """
        # Here, so that a hook that only asks where it is does not load it.
        from hookrouter_tmux.flushing import InputFlusher, foreground

        self._unguard(address)
        pane = _pane(address)
        state = f"#{{pane_id}} #{{pane_dead}} #{{pane_pid}} #{{pane_tty}}\n{_PROGRAM}"
        said = self._tmux(address, "display-message", "-p", "-t", pane, state)
        place, _, program = said.rstrip("\n").partition("\n")
        found, dead, pid, tty = [*place.split(" ", 3), "", "", ""][:4]
        if found != pane or dead != "0":
            raise TerminalGone(f"no program runs in pane {pane} of {address.server}")
        self._guarded[address] = program
        self._clients[address] = client_pid
        if watched := client_pid or foreground(int(pid)):
            flusher = self._flushers[address] = InputFlusher(tty, watched)
            flusher.start()

    def _unguard(self, address: TerminalAddress) -> None:
        self._guarded.pop(address, None)
        self._clients.pop(address, None)
        if (flusher := self._flushers.pop(address, None)) is not None:
            flusher.stop()

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        """Keep every key and paste but this object's out of the pane, for ``seconds`` from now or until released.

        Returns whether the pane was held without a gap since the call before; a first call returns False. The hold
        ends in time even if this process is killed. Raises TerminalError if the user has switched the pane's input
        off, and TerminalGone.
        """
        pane = _pane(address)
        token, former = f"{os.getpid()}-{os.urandom(4).hex()}", self._held.pop(address, "")
        ends = f"if-shell -F -t {pane} '#{{==:#{{{_HOLD}}},{token}}}' {{ {_free(pane)} }}"
        takes = (
            f"set-option -p -t {pane} {_HOLD} {token} ; select-pane -d -t {pane} ; "
            f"run-shell -b -d {seconds:g} -C {{ {ends} }} ; display-message -p held"
        )
        asks = ("display-message", "-p", "-t", pane, f"#{{pane_id}} #{{{_HOLD}}}", ";")
        said = self._tmux(address, *asks, "if-shell", "-F", "-t", pane, _OFF_BY_USER, "display-message -p off", takes)
        before, _, outcome = said.strip().partition("\n")
        found, _, holder = before.partition(" ")
        if found != pane:
            raise TerminalGone(f"tmux has no pane {pane} on {address.server}")
        if outcome != "held":
            raise TerminalError(_switched_off(pane))
        self._held[address] = token
        return bool(former) and holder == former

    def release(self, address: TerminalAddress) -> None:
        """End a hold and a guard of this object; does nothing if there is none, or the pane is gone."""
        self._unguard(address)
        pane, token = _pane(address), self._held.pop(address, "")
        if token:
            is_own = f"#{{==:#{{{_HOLD}}},{token}}}"
            with contextlib.suppress(TerminalError):
                self._run(address, ["if-shell", "-F", "-t", pane, is_own, _free(pane)])

    def probe(self) -> Probe:
        """Look whether a tmux is on PATH whose version can be driven; starts no server and needs none."""
        wanted = ".".join(map(str, MINIMUM_TMUX))
        install = f"install tmux {wanted} or newer"
        try:
            said = self._call(["tmux", "-V"])
        except TerminalError as error:
            return Probe(usable=False, message=str(error), fix=install)
        output = said.stdout.decode(errors="replace").strip()
        # "tmux 3.3a"; a build from the development tree says "tmux next-3.5".
        version = re.search(r"(\d+)\.(\d+)", output)
        if said.returncode != 0 or version is None:
            wrong = said.stderr.decode(errors="replace").strip() or output or f"exit status {said.returncode}"
            return Probe(usable=False, message=f"tmux -V does not tell its version: {wrong}", fix="reinstall tmux")
        if (int(version[1]), int(version[2])) < MINIMUM_TMUX:
            return Probe(usable=False, message=f"{output} is too old; {wanted} is needed", fix=install)
        return Probe(usable=True, message=output)

    def sessions(self, environ: Mapping[str, str]) -> list[str]:
        """Return the names of the sessions of the server that ``TMUX`` names, else of the user's own; starts none."""
        server = environ.get("TMUX", "").partition(",")[0]
        said = self._call(["tmux", "-u", *(["-S", server] if server else []), "list-sessions", "-F", "#{session_name}"])
        return said.stdout.decode(errors="replace").splitlines() if said.returncode == 0 else []

    def panes(self, environ: Mapping[str, str]) -> list[RunningPane]:
        """Return the panes of the server that ``TMUX`` names, else of the user's own, whose programs run."""
        server = environ.get("TMUX", "").partition(",")[0]
        # A folder's name may hold anything, a line that looks like another pane's too: only tmux knows the mark.
        mark = f"{os.urandom(8).hex()}\t"
        names = ("pane_id", "pane_dead", "socket_path", "session_name", "pane_current_command", "pane_current_path")
        form = "".join(f"{mark}#{{{name}}}" for name in names)
        said = self._call(["tmux", "-u", *(["-S", server] if server else []), "list-panes", "-a", "-F", form])
        if said.returncode != 0:
            return []
        found = []
        fields = said.stdout.decode(errors="replace").split(mark)[1:]
        for pane, dead, socket, session, program, folder in zip(*[iter(fields)] * len(names), strict=False):
            if _is_pane_id(pane) and dead == "0" and session:
                address = TerminalAddress(self.name, session, pane, socket)
                found.append(RunningPane(address, program, folder.removesuffix("\n")))
        return found

    def _send(
        self, address: TerminalAddress, command: str, *, before: tuple[str, ...] = (), stdin: bytes = b""
    ) -> None:
        """Run the command that puts something into the pane, unless somebody has switched its input off."""
        pane, token = _pane(address), self._held.get(address)
        leaves = ("copy-mode", "-q", "-t", pane, ";")
        if token is None:
            # The hold of a process that was killed has not run out yet, if there is one.
            freed = f"if-shell -F -t {pane} '#{{{_HOLD}}}' {{ {_free(pane)} }} ; {command}"
            test, then, otherwise = _OFF_BY_USER, "display-message -p off", freed
        else:
            passed = f"select-pane -e -t {pane} ; {command} ; select-pane -d -t {pane}"
            test, then, otherwise = f"#{{==:#{{{_HOLD}}},{token}}}", passed, "display-message -p lost"
        acts = (test, then, otherwise)
        if (program := self._guarded.get(address)) is not None:
            own = f"if-shell -F -t {pane} {_literal(test)} {{ {then} }} {{ {otherwise} }}"
            acts = (f"#{{==:{_PROGRAM},{_escaped(program)}}}", own, "display-message -p another")
        # Here, so that a hook that only asks where it is does not load it.
        from hookrouter.util.claude_process import is_gone

        if is_gone(self._clients.get(address, 0)):
            raise TerminalGone(f"the client that was in pane {pane} has ended")
        said = self._tmux(address, *before, *leaves, "if-shell", "-F", "-t", pane, *acts, stdin=stdin)
        if said.strip() == "another":
            raise TerminalGone(f"another program than before runs in pane {pane}: the client that was there has ended")
        if said.strip() == "off":
            raise TerminalError(_switched_off(pane))
        if said.strip() == "lost":
            raise TerminalError(f"it took so long that other keys may have come to pane {pane} in between; try again")

    def _tmux(self, address: TerminalAddress, *command: str, stdin: bytes = b"") -> str:
        finished = self._run(address, list(command), stdin)
        if finished.returncode == 0:
            return finished.stdout.decode(errors="replace")
        said = finished.stderr.decode(errors="replace").strip() or f"exit status {finished.returncode}"
        if any(sign in said.lower() for sign in _GONE):
            raise TerminalGone(f"tmux: {said}")
        raise TerminalError(f"tmux: {said}")

    def _run(self, address: TerminalAddress, command: list[str], stdin: bytes = b"") -> Finished:
        # -u: without a UTF-8 locale tmux would print every other character as "_".
        return self._call(["tmux", "-u", "-S", address.server, *command], stdin)

    def _call(self, arguments: list[str], stdin: bytes = b"") -> Finished:
        # Neither TMUX nor TMUX_PANE is passed on: whether the caller itself sits in some tmux must not matter.
        environ = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        try:
            return run_short(arguments, environ=environ, stdin=stdin, seconds=self._timeout)
        except TimeoutError as error:
            raise TerminalError(f"tmux did not answer within {self._timeout:g} s") from error
        except FileNotFoundError as error:
            raise TerminalError("there is no tmux program on PATH") from error
        except OSError as error:
            raise TerminalError(f"tmux cannot be run: {error}") from error


def _is_pane_id(target: str) -> bool:
    return target.startswith("%") and target[1:].isascii() and target[1:].isdigit()


def _pane(address: TerminalAddress) -> str:
    if not _is_pane_id(address.target) or not address.server:
        raise TerminalError(f"not the address of a tmux pane: {address.target!r} on {address.server!r}")
    return address.target


def _buffer_name() -> str:
    return f"hookrouter-{os.getpid()}-{os.urandom(6).hex()}"


def _literal(text: str) -> str:
    """Write ``text`` so that tmux's command parser takes each character for itself."""
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


def _escaped(text: str) -> str:
    """Write ``text`` so that a tmux format takes each character for itself."""
    return re.sub(r"[#,}]", r"#\g<0>", text)


def _free(pane: str) -> str:
    return f"select-pane -e -t {pane} ; set-option -p -u -t {pane} {_HOLD}"


def _switched_off(pane: str) -> str:
    return f"input to pane {pane} is switched off, so no key can reach it; `tmux select-pane -e -t {pane}` allows it"


def _check_text(text: str) -> None:
    if not text:
        raise TerminalError("there is no text to paste")
    for character in text:
        if character in "\n\t":
            continue
        code = ord(character)
        if code < 0x20 or 0x7F <= code < 0xA0:
            raise TerminalError(f"text holds the control character U+{code:04X}, which would act as a key")
        if 0xD800 <= code < 0xE000:
            raise TerminalError(f"text holds U+{code:04X}, which is not a character")
