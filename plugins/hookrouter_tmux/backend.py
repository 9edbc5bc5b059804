"""Drives one tmux pane, named by its id on its server's socket.

What tmux does, measured on 3.3a, and what follows from it here:

* A session name as a target also matches by prefix, and ``display-message`` without a target answers for whatever
  client is attached. Only pane ids are used as targets, and an answer about a pane is checked to be about that pane.
* ``send-keys`` into a pane that is in a mode (copy, clock, tree) goes to the mode and reports success, so every mode
  is left first; ``copy-mode -q`` does nothing in a pane that is in none.
* A trailing ``;`` of any argument separates commands and is lost as text; newlines sent as keys submit. Text is pasted
  from a buffer that is filled through stdin, in brackets (``-p``) and with newlines kept (``-r``).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter.answering import Screen, TerminalAddress, TerminalError, TerminalGone
from hookrouter_tmux.process import Finished, ProcessTimeoutError, run

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEYS", "TmuxBackend"]

KEYS = frozenset(
    ["Enter", "Escape", "Tab", "BTab", "Space", "Up", "Down", "Left", "Right", "Home", "End", "BSpace", "C-e", "C-u"]
)
"""The named keys that ``press`` takes; any other key is one printable character."""

_GONE = (
    "can't find pane",
    "no server running",
    "no such file or directory",
    "connection refused",
    "server exited",
    "lost server",
)
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE")


class TmuxBackend:
    """The terminal backend for tmux, 3.2 or newer. Holds no state; every method is one or two calls of ``tmux``."""

    name = "tmux"

    def __init__(self, timeout: float = 5.0) -> None:
        """``timeout`` is how many seconds one call of tmux may take."""
        self._timeout = timeout

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        """Return the pane that ``TMUX_PANE`` and ``TMUX`` name, or None outside tmux.

        Raises TerminalGone where the pane or its server does not exist, TerminalError where tmux cannot be asked.
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
        pane = _pane(address)
        state = "#{pane_id} #{pane_width} #{pane_height} #{pane_dead}"
        answer = self._tmux(address, "display-message", "-p", "-t", pane, state, ";", "capture-pane", "-p", "-t", pane)
        header, _, body = answer.partition("\n")
        fields = header.split(" ")
        if fields[0] != pane:
            raise TerminalGone(f"tmux has no pane {pane} on {address.server}")
        if fields[3] == "1":
            raise TerminalGone(f"the program in pane {pane} has ended")
        rows = body.removesuffix("\n").split("\n")
        return Screen(tuple(row.rstrip(" ") for row in rows), int(fields[1]), int(fields[2]))

    def press(self, address: TerminalAddress, key: str) -> None:
        """Press one of KEYS or one printable character.

        Raises TerminalError for any other key, TerminalGone where the pane is gone.
        """
        pane = _pane(address)
        if key in KEYS:
            send = ["send-keys", "-t", pane, key]
        elif len(key) == 1 and key.isprintable():
            # tmux takes an argument's trailing ";" for the end of the command, and "\;" for a literal one.
            send = ["send-keys", "-t", pane, "-l", "--", "\\;" if key == ";" else key]
        else:
            raise TerminalError(f"not a key that can be pressed: {key!r}")
        self._tmux(address, "copy-mode", "-q", "-t", pane, ";", *send)

    def paste(self, address: TerminalAddress, text: str) -> None:
        """Paste ``text`` in one piece, newlines included, without submitting it.

        Raises TerminalError for control characters other than newline and tab, because they would act as keys, and
        TerminalGone where the pane is gone.
        """
        pane = _pane(address)
        _check_text(text)
        buffer = f"hookrouter-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            self._tmux(
                address,
                *("load-buffer", "-b", buffer, "-", ";"),
                *("copy-mode", "-q", "-t", pane, ";"),
                *("paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane),
                stdin=text.encode(),
            )
        except TerminalError:
            self._run(address, ["delete-buffer", "-b", buffer])
            raise

    def _tmux(self, address: TerminalAddress, *command: str, stdin: bytes = b"") -> str:
        finished = self._run(address, list(command), stdin)
        if finished is None:
            raise TerminalError(f"tmux did not answer within {self._timeout:g} s")
        if finished.status == 0:
            return finished.output.decode(errors="replace")
        said = finished.errors.decode(errors="replace").strip() or f"exit status {finished.status}"
        if any(sign in said.lower() for sign in _GONE):
            raise TerminalGone(f"tmux: {said}")
        raise TerminalError(f"tmux: {said}")

    def _run(self, address: TerminalAddress, command: list[str], stdin: bytes = b"") -> Finished | None:
        # Neither TMUX nor TMUX_PANE is passed on: whether the caller itself sits in some tmux must not matter.
        environ = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        # -u: without a UTF-8 locale tmux would print every other character as "_".
        arguments = ["tmux", "-u", "-S", address.server, *command]
        try:
            return run(arguments, environ=environ, timeout=self._timeout, stdin=stdin)
        except ProcessTimeoutError:
            return None
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
            raise TerminalError(f"text holds U+{code:04X}, which is no character")
