"""A stand-in for the Claude Code client: a terminal program that asks scripted questions and runs the real hooks.

``python -P -m hookrouter.testing.stand_in SCRIPT`` reads ``SCRIPT``, a JSON object with ``forms`` (AskUserQuestion
inputs by name), ``settings`` (the path of a settings.json whose command hooks are run) and ``session_id``. It shows a
prompt box; the prompt ``ASK <name>`` asks that form: PreToolUse hooks, then the dialog
(:class:`hookrouter.testing.fake_dialog.DialogModel`), then PostToolUse with what was chosen, then Stop. It imitates
only what the question loop can see of the client 2.1.330, and needs no client and no network.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import shutil
import subprocess
import sys
import termios
import tty
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.testing.fake_dialog import DialogModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["KeyReader", "PasteInput", "main"]

_SEQUENCES = {
    b"\x1b[A": "Up",
    b"\x1b[B": "Down",
    b"\x1b[C": "Right",
    b"\x1b[D": "Left",
    b"\x1bOA": "Up",
    b"\x1bOB": "Down",
    b"\x1bOC": "Right",
    b"\x1bOD": "Left",
    b"\x1b[H": "Home",
    b"\x1b[F": "End",
    b"\x1b[1~": "Home",
    b"\x1b[4~": "End",
    b"\x1b[Z": "BTab",
}
_CONTROLS = {b"\r": "Enter", b"\t": "Tab", b"\x7f": "BSpace", b" ": "Space"}
_PASTE_START = b"\x1b[200~"
_PASTE_END = b"\x1b[201~"
_ESCAPE_WAIT = 0.05
_RULE = "─"


class PasteInput(NamedTuple):
    """Text that came as one bracketed paste."""

    text: str


class KeyReader:
    """Turns the bytes of a terminal into pastes and keys, named as tmux does (``Enter``, ``Up``, ``C-e``, ``a``)."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._buffer = b""

    def feed(self, data: bytes) -> list[str | PasteInput]:
        """Take bytes and return what is complete; an unfinished sequence waits for more, or for :meth:`flush`."""
        self._buffer += data
        found: list[str | PasteInput] = []
        while self._buffer:
            item = self._next()
            if item is None:
                break
            if item:
                found.append(item)
        return found

    def flush(self) -> list[str | PasteInput]:
        """Return what the waiting bytes mean if nothing follows them: a lone escape byte is the Escape key."""
        waiting, self._buffer = self._buffer, b""
        if waiting == b"\x1b":
            return ["Escape"]
        if waiting.startswith(_PASTE_START):
            self._buffer = waiting
        return []

    @property
    def waiting(self) -> bool:
        """Whether unfinished bytes are held."""
        return bool(self._buffer)

    def _next(self) -> str | PasteInput | None:
        """Take one item off the buffer; None where it is unfinished, an empty string where it means nothing."""
        buffer = self._buffer
        if buffer.startswith(_PASTE_START):
            end = buffer.find(_PASTE_END)
            if end < 0:
                return None
            self._buffer = buffer[end + len(_PASTE_END) :]
            return PasteInput(buffer[len(_PASTE_START) : end].decode("utf-8", "replace").replace("\r", "\n"))
        if buffer[:1] == b"\x1b":
            return self._escape(buffer)
        first = buffer[:1]
        if first in _CONTROLS:
            self._buffer = buffer[1:]
            return _CONTROLS[first]
        if first < b" ":
            self._buffer = buffer[1:]
            return f"C-{chr(first[0] + 0x60)}" if 1 <= first[0] <= 26 else ""
        length = 1 if first[0] < 0x80 else 2 if first[0] < 0xE0 else 3 if first[0] < 0xF0 else 4
        if len(buffer) < length:
            return None
        self._buffer = buffer[length:]
        return buffer[:length].decode("utf-8", "replace")

    def _escape(self, buffer: bytes) -> str | None:
        sequence = re.match(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[@-~])", buffer)
        if sequence is not None:
            self._buffer = buffer[sequence.end() :]
            return _SEQUENCES.get(sequence.group(), "")
        if re.fullmatch(rb"\x1b(?:\[[0-9;?]*|O)?", buffer):
            return None
        self._buffer = buffer[1:]
        return "Escape"


class _Terminal:
    """The raw terminal that this program runs in."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._reader = KeyReader()

    @contextlib.contextmanager
    def raw(self) -> Iterator[None]:
        before = termios.tcgetattr(self._input)
        tty.setraw(self._input)
        self._write("\x1b[?2004h\x1b[?25l")
        try:
            yield
        finally:
            self._write("\x1b[?2004l\x1b[?25h\r\n")
            termios.tcsetattr(self._input, termios.TCSADRAIN, before)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    @staticmethod
    def size() -> tuple[int, int]:
        size = shutil.get_terminal_size((120, 40))
        return size.columns, size.lines

    def draw(self, screen: str) -> None:
        height = self.size()[1]
        rows = screen.splitlines()[-height:]
        self._write("\x1b[H" + "\r\n".join(f"{row}\x1b[K" for row in rows) + "\x1b[J")

    def read(self) -> list[str | PasteInput]:
        """Wait for input; an empty list at its end."""
        while True:
            if self._reader.waiting and not select.select([self._input], [], [], _ESCAPE_WAIT)[0]:
                items = self._reader.flush()
                if items:
                    return items
            data = os.read(self._input, 4096)
            if not data:
                return []
            items = self._reader.feed(data)
            if items:
                return items


class _StandIn:
    """The program: a transcript, a prompt box, and at times a dialog."""

    def __init__(self, script: Mapping[str, Any], terminal: _Terminal) -> None:
        self._forms: dict[str, dict[str, Any]] = script["forms"]
        self._settings: str = script["settings"]
        self._session_id: str = script["session_id"]
        self._terminal = terminal
        self._transcript = ["Stand-in for the Claude Code client", ""]

    def run(self) -> None:
        text = ""
        while True:
            self._draw_box(text)
            items = self._terminal.read()
            if not items:
                return
            for item in items:
                if isinstance(item, PasteInput):
                    text += item.text
                elif item == "Enter":
                    prompt, text = text, ""
                    self._prompt(prompt)
                elif item == "BSpace":
                    text = text[:-1]
                elif item == "Space" or len(item) == 1:
                    text += " " if item == "Space" else item

    def _draw_box(self, text: str, status: str = "") -> None:
        rule = _RULE * self._terminal.size()[0]
        shown = text.replace("\n", "\n  ")
        self._terminal.draw("\n".join([*self._transcript, status, rule, f"❯\u00a0{shown}", rule, "  stand-in"]))

    def _prompt(self, prompt: str) -> None:
        if not prompt.strip():
            return
        self._transcript += [f"❯ {prompt}", ""]
        self._hooks("UserPromptSubmit", prompt=prompt)
        name = re.search(r"\bASK ([\w.-]+)", prompt)
        if name is None or name.group(1) not in self._forms:
            self._transcript += ["● Understood.", ""]
            self._hooks("Stop", stop_hook_active=False, last_assistant_message="Understood.")
            return
        self._ask(self._forms[name.group(1)])

    def _ask(self, form: dict[str, Any]) -> None:
        call = {"tool_name": "AskUserQuestion", "tool_use_id": f"toolu_{secrets.token_hex(12)}"}
        self._transcript += ["● One question."]
        self._draw_box("", "✻ Asking… (running PreToolUse hook)")
        self._hooks("PreToolUse", tool_input=form, **call)
        result = self._dialog(form)
        if result is None:
            self._transcript += ["● Declined to answer Claude's questions:", ""]
            return
        if result.get("answers") is None:
            self._transcript += ["● The user wants to clarify these questions.", "", "● Understood.", ""]
            self._hooks("Stop", stop_hook_active=False, last_assistant_message="Understood.")
            return
        self._transcript += ["● Answered Claude's questions:"]
        self._transcript += [f"  ⎿  · {question} → {answer}" for question, answer in result["answers"].items()]
        recorded = {**form, **result}
        self._draw_box("", "✻ Reading… (running PostToolUse hook)")
        self._hooks("PostToolUse", tool_input=recorded, tool_response=recorded, duration_ms=1, **call)
        self._transcript += ["", "● Done.", ""]
        self._hooks("Stop", stop_hook_active=False, last_assistant_message="Done.")

    def _dialog(self, form: dict[str, Any]) -> dict[str, Any] | None:
        """Draw the dialog until it closes; None where it was declined, no answers where chat was chosen."""
        dialog = DialogModel(form)
        while dialog.outcome is None:
            width, height = self._terminal.size()
            self._terminal.draw("\n".join([*self._transcript, *dialog.render(width, height)]))
            items = self._terminal.read()
            if not items:
                sys.exit(1)
            for item in items:
                if isinstance(item, PasteInput):
                    dialog.paste(item.text)
                else:
                    dialog.press(item)
        if dialog.outcome == "declined":
            return None
        return dialog.result or {}

    def _hooks(self, event: str, **fields: object) -> None:
        """Run the command hooks that settings.json registers for this event, one after the other."""
        payload = {
            "session_id": self._session_id,
            "transcript_path": "",
            "cwd": os.getcwd(),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        with open(self._settings, encoding="utf-8") as file:
            entries = json.load(file).get("hooks", {}).get(event, [])
        for entry in entries:
            matcher = entry.get("matcher")
            if matcher not in (None, "", "*") and not re.fullmatch(matcher, str(fields.get("tool_name", ""))):
                continue
            for hook in entry.get("hooks", []):
                self._hook(hook, payload)

    def _hook(self, hook: Mapping[str, Any], payload: Mapping[str, object]) -> None:
        arguments = hook.get("args")
        command = [hook["command"], *arguments] if isinstance(arguments, list) else ["/bin/sh", "-c", hook["command"]]
        done = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=hook.get("timeout", 600),
            check=False,
        )
        if done.returncode != 0:
            error = done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
            self._transcript += [f"  ⎿  {payload['hook_event_name']} hook error: {error}"]


def main(arguments: list[str]) -> int:
    """Run the script named in ``arguments[0]`` until the terminal closes."""
    with open(arguments[0], encoding="utf-8") as file:
        script = json.load(file)
    terminal = _Terminal()
    with terminal.raw():
        _StandIn(script, terminal).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
