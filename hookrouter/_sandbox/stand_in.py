"""A stand-in for the Claude Code client: a terminal program that asks scripted questions and runs the real hooks.

``python -P -m hookrouter._sandbox.stand_in SCRIPT`` reads ``SCRIPT``, a JSON object with ``forms`` (AskUserQuestion
inputs by name), ``calls`` (calls of Bash and ExitPlanMode by name: ``tool``, ``input`` and ``mode``), ``settings``
(the path of a settings.json whose command hooks are run) and ``session_id``. It shows a prompt box; the prompt
``ASK <name>`` asks that form, or for that call: PreToolUse hooks, then the dialog
(:class:`hookrouter._sandbox.dialog_model.DialogModel` or :class:`hookrouter._sandbox.list_dialog.ListDialog`) with the
PermissionRequest hooks beside it, then PostToolUse with what was chosen, then Stop. Nothing is carried out. It begins
with SessionStart; ``/clear`` ends the session and begins another one, with another id. It imitates only what hookrouter
can see of the client 2.1.330, and needs no client and no network.

With ``screen`` in the script, the path of a file, it needs no terminal either: it reads prompts from stdin, one a line,
and writes what it shows into that file, ``width`` columns and ``height`` rows.
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
import tempfile
import termios
import tty
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.list_dialog import PLAN_TOOL, ListDialog, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["KeyReader", "PasteInput", "StandIn", "main"]

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
_COMMANDS = {"/clear": "Start a new session with an empty context"}
"""The slash commands that there are, and what their menu says of them."""


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
        """Take one item off the buffer; None if it is unfinished, an empty string if it means nothing."""
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


class _Display(Protocol):
    """What this program reads keys from and draws on."""

    def size(self) -> tuple[int, int]:
        """Return columns and rows."""

    def draw(self, screen: str) -> None:
        """Show the last rows of a screen."""

    def read(self, others: Sequence[int] = ()) -> list[str | PasteInput] | None:
        """Wait for input; an empty list at its end, None if one of the descriptors ``others`` has something instead."""


class _Piped:
    """No terminal: prompts come from stdin, line by line, and the screen goes into a file."""

    def __init__(self, path: str, width: int, height: int) -> None:
        self._path = path
        self._size = (width, height)

    def size(self) -> tuple[int, int]:
        return self._size

    def draw(self, screen: str) -> None:
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            file.write("\n".join(screen.splitlines()[-self._size[1] :]))
        os.replace(f"{self._path}.new", self._path)

    def read(self, others: Sequence[int] = ()) -> list[str | PasteInput] | None:
        if 0 not in select.select([0, *others], [], [])[0]:
            return None
        text = os.read(0, 4096).decode()
        return ["Enter" if sign == "\n" else "Space" if sign == " " else sign for sign in text]


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

    def size(self) -> tuple[int, int]:
        size = shutil.get_terminal_size((120, 40))
        return size.columns, size.lines

    def draw(self, screen: str) -> None:
        height = self.size()[1]
        rows = screen.splitlines()[-height:]
        self._write("\x1b[H" + "\r\n".join(f"{row}\x1b[K" for row in rows) + "\x1b[J")

    def read(self, others: Sequence[int] = ()) -> list[str | PasteInput] | None:
        while True:
            if self._reader.waiting and not select.select([self._input], [], [], _ESCAPE_WAIT)[0]:
                items = self._reader.flush()
                if items:
                    return items
            if others and self._input not in select.select([self._input, *others], [], [])[0]:
                return None
            data = os.read(self._input, 4096)
            if not data:
                return []
            items = self._reader.feed(data)
            if items:
                return items


class StandIn:
    """The program: a transcript, a prompt box, and at times a dialog."""

    def __init__(self, script: Mapping[str, Any], terminal: _Display) -> None:
        """``script`` has the keys that the module's docstring names."""
        self._forms: dict[str, dict[str, Any]] = script["forms"]
        self._calls: dict[str, dict[str, Any]] = script.get("calls", {})
        self._mode = "default"
        self._settings: str = script["settings"]
        self._session_id: str = script["session_id"]
        self._terminal = terminal
        self._transcript = ["Stand-in for the Claude Code client", ""]
        self._beside: list[subprocess.Popen[bytes]] = []
        """The PermissionRequest hooks that run beside the dialog."""

    def run(self) -> None:
        """Take prompts until the input ends."""
        self._hooks("SessionStart", source="startup")
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
        rows = [*self._transcript, status, *_menu(text), rule, f"❯\u00a0{shown}", rule, "  stand-in"]
        self._terminal.draw("\n".join(rows))

    def _prompt(self, prompt: str) -> None:
        if not prompt.strip():
            return
        if prompt.strip() in _COMMANDS:
            self._clear()
            return
        self._transcript += [f"❯ {prompt}", ""]
        # At once: who still sees the prompt in the box takes its Enter for lost, and the next one answers the dialog.
        self._draw_box("", "✻ Thinking… (running UserPromptSubmit hook)")
        self._hooks("UserPromptSubmit", prompt=prompt)
        name = re.search(r"\bASK ([\w.-]+)", prompt)
        if name is not None and name.group(1) in self._calls:
            self._call(self._calls[name.group(1)])
            return
        if name is None or name.group(1) not in self._forms:
            self._transcript += ["● Understood.", ""]
            self._hooks("Stop", stop_hook_active=False, last_assistant_message="Understood.")
            return
        self._ask(self._forms[name.group(1)])

    def _clear(self) -> None:
        """End the session, and begin another one."""
        self._hooks("SessionEnd", reason="clear")
        self._session_id = str(uuid.uuid4())
        self._transcript = ["Stand-in for the Claude Code client", "", "❯ /clear", ""]
        self._hooks("SessionStart", source="clear")

    def _ask(self, form: dict[str, Any]) -> None:
        call = {"tool_name": "AskUserQuestion", "tool_use_id": f"toolu_{secrets.token_hex(12)}"}
        self._transcript += ["● One question."]
        self._draw_box("", "✻ Asking… (running PreToolUse hook)")
        self._hooks("PreToolUse", tool_input=form, **call)
        result = self._dialog(form, call)
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

    def _dialog(self, form: dict[str, Any], call: Mapping[str, str]) -> dict[str, Any] | None:
        """Draw the dialog until it closes, by a key or by what a hook says.

        None if it was declined, no answers if chat was chosen.
        """
        dialog = DialogModel(form)

        def take(item: str | PasteInput) -> bool:
            if isinstance(item, PasteInput):
                dialog.paste(item.text)
            else:
                dialog.press(item)
            return dialog.outcome is not None

        decision = self._show(dialog.render, take, tool_input=form, **call)
        if decision is None:
            return None if dialog.outcome == "declined" else dialog.result or {}
        if decision.get("behavior") != "allow":
            return {}
        return {key: value for key, value in decision.get("updatedInput", {}).items() if key not in form}

    def _call(self, script: Mapping[str, Any]) -> None:
        """Ask for permission for one call of a tool, and say that it ran, or was refused."""
        tool, given = str(script["tool"]), dict(script["input"])
        before, self._mode = self._mode, str(script["mode"])
        call = {"tool_name": tool, "tool_use_id": f"toolu_{secrets.token_hex(12)}"}
        self._transcript += [f"● {tool}"]
        self._draw_box("", "✻ Working… (running PreToolUse hook)")
        self._hooks("PreToolUse", tool_input=given, **call)
        dialog = ListDialog(tool, given)

        def take(item: str | PasteInput) -> bool:
            if isinstance(item, str):
                dialog.press(item)
            return dialog.is_closed

        decision = self._show(lambda width, _height: dialog.render(width), take, tool_input=given, **call)
        row = dialog.chosen if decision is None else _row(decision)
        if row is None or not row.allows:
            self._transcript += ["  ⎿  Rejected", ""]
        else:
            ran = {**given, **((decision or {}).get("updatedInput") or {})}
            self._mode = row.mode or before
            response = {"plan": ran.get("plan"), "filePath": ran.get("planFilePath")} if tool == PLAN_TOOL else {}
            self._transcript += ["  ⎿  Done", ""]
            self._draw_box("", "✻ Reading… (running PostToolUse hook)")
            self._hooks("PostToolUse", tool_input=ran, tool_response=response, duration_ms=1, **call)
        self._mode = before
        self._hooks("Stop", stop_hook_active=False, last_assistant_message="Done.")

    def _show(
        self,
        render: Callable[[int, int], list[str]],
        take: Callable[[str | PasteInput], bool],
        **fields: object,
    ) -> dict[str, Any] | None:
        """Draw a dialog until a key has closed it, or a hook has decided; return what the hook said, None for a key."""
        # As the client does, a hook that still waits when the dialog closes is left alone, and not listened to.
        self._beside = list(self._start("PermissionRequest", **fields))
        is_closed = False
        while not is_closed:
            width, height = self._terminal.size()
            self._terminal.draw("\n".join([*self._transcript, *render(width, height)]))
            items = self._terminal.read([hook.stdout.fileno() for hook in self._beside if hook.stdout is not None])
            if items is None:
                decided = self._decided()
                if decided is not None:
                    return decided
                continue
            if not items:
                sys.exit(1)
            for item in items:
                is_closed = take(item)
        return None

    def _decided(self) -> dict[str, Any] | None:
        """Take what a hook beside the dialog has decided; None if it says nothing."""
        for hook in list(self._beside):
            if hook.stdout is None or not select.select([hook.stdout], [], [], 0)[0]:
                continue
            self._beside.remove(hook)
            said = hook.communicate()[0]
            try:
                decision: dict[str, Any] = json.loads(said)["hookSpecificOutput"]["decision"]
            except (ValueError, LookupError, TypeError):
                continue
            return decision
        return None

    def _hooks(self, event: str, **fields: object) -> None:
        """Run the command hooks that settings.json registers for this event, one after the other."""
        for hook in self._start(event, **fields):
            errors = hook.communicate()[1]
            if hook.returncode != 0:
                error = errors.decode("utf-8", "replace").strip() or f"exit {hook.returncode}"
                self._transcript += [f"  ⎿  {event} hook error: {error}"]

    def _start(self, event: str, **fields: object) -> Iterator[subprocess.Popen[bytes]]:
        """Start the command hooks that settings.json registers for this event; each gets its payload."""
        payload = {
            "session_id": self._session_id,
            "transcript_path": "",
            "cwd": os.getcwd(),
            "permission_mode": self._mode,
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
                yield self._start_one(hook, payload)

    @staticmethod
    def _start_one(hook: Mapping[str, Any], payload: Mapping[str, object]) -> subprocess.Popen[bytes]:
        arguments = hook.get("args")
        command = [hook["command"], *arguments] if isinstance(arguments, list) else ["/bin/sh", "-c", hook["command"]]
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(payload).encode())
            file.seek(0)
            environ = {**os.environ, "CLAUDE_PID": str(os.getpid())}
            return subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)


def _menu(text: str) -> list[str]:
    """Return the menu of the commands that begin with what is typed; the first is the chosen one."""
    if not text.startswith("/") or len(text.split()) != 1:
        return []
    fitting = [f"{name}    {about}" for name, about in _COMMANDS.items() if name.startswith(text)]
    return [f"  {' ' if number else '❯'} {row}" for number, row in enumerate(fitting)]


def _row(decision: Mapping[str, Any]) -> Row:
    """Return what a hook's decision means, as a row would."""
    modes = [one.get("mode", "") for one in decision.get("updatedPermissions") or () if one.get("type") == "setMode"]
    return Row("", decision.get("behavior") == "allow", modes[-1] if modes else "")


def main(arguments: list[str]) -> int:
    """Run the script named in ``arguments[0]`` until the terminal closes."""
    with open(arguments[0], encoding="utf-8") as file:
        script = json.load(file)
    if "screen" in script:
        StandIn(script, _Piped(script["screen"], script["width"], script["height"])).run()
        return 0
    terminal = _Terminal()
    with terminal.raw():
        StandIn(script, terminal).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
