"""A model of the client's prompt box as a terminal: it takes keys and pastes, wraps, scrolls, and submits.

What it does was seen on the real clients 2.1.330 and 2.0.76 (``old``), whose box grows beyond the pane and has its menu
below it. Time comes from a clock that a test moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hookrouter._sandbox.dialog_model import broken_into_lines
from hookrouter.terminals import (
    Screen,
    StyledScreen,
    StyledText,
    TerminalAddress,
    TerminalBackend,
    TerminalError,
    TerminalGone,
)

__all__ = ["ADDRESS", "Clock", "PromptModel", "UnstyledPromptModel"]

ADDRESS = TerminalAddress("model", "work", "%0", "")
SWITCH = """\
  Switch model?
  Your next response will be slower and use more tokens

  This conversation is cached for the current model. Switching to {model} means the full history gets re-read.

  ❯ 1. Yes, switch to {model}
    2. No, go back

  Enter to confirm · Esc to cancel"""
VIEW = "  Showing detailed transcript · ctrl+o to toggle · ? for shortcuts"
COMMANDS = ("clear", "compact", "context", "hookrouter-contract", "model", "usage (cost)")


class Clock:
    """Seconds that pass only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class _Event(NamedTuple):
    at: float
    kind: str
    what: str


class UnstyledPromptModel(TerminalBackend):
    """A terminal with one pane, in which the client waits for a prompt. It cannot tell faint text."""

    name = "model"

    def __init__(
        self, clock: Clock, *, width: int = 100, height: int = 30, old: bool = False, latency: float = 0.03
    ) -> None:
        self.clock = clock
        self.width, self.height, self.old, self.latency = width, height, old, latency
        self.text, self.mode, self.stash = "", "", ""
        self.hint = ""
        """What the client itself shows in an empty box."""
        self.submitted: list[str] = []
        self.busy_until = 0.0
        self.cover = ""
        """A dialog or view, which is drawn in place of the box and takes the keys."""
        self.switches: Mapping[str, str] = {}
        """Model names of ``/model`` that lead to a dialog, with what it shows for them."""
        self.switched: list[str] = []
        self.log: list[tuple[str, str]] = []
        self.lost: set[int] = set()
        """The numbers of keys and pastes in ``log`` that the client loses."""
        self.late: dict[int, float] = {}
        """Seconds by which such a key is late; what follows it waits for it."""
        self.enter_is_newline = False
        self.room = 1000
        """Rows of its text with which the box fits the pane; of more its lower edge is below that."""
        self.draws: Callable[[str], str] = lambda text: text
        """What the client draws of what stands in its box."""
        self.before: Callable[[int], None] = lambda number: None
        """Called before each key and paste of the channel, with its number in ``log``."""
        self.gone = False
        self._queue: list[_Event] = []

    # What a terminal does

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:
        return None

    def capture(self, address: TerminalAddress) -> Screen:
        if self.gone:
            raise TerminalGone("the pane is gone")
        self._apply()
        lines = [line.rstrip(" ") for line in self._render()][-self.height :]
        return Screen((*lines, *[""] * (self.height - len(lines))), self.width, self.height)

    def press(self, address: TerminalAddress, key: str) -> None:
        self._given("key", key)

    def paste(self, address: TerminalAddress, text: str) -> None:
        self._given("paste", text)

    def _given(self, kind: str, what: str) -> None:
        self.before(len(self.log))
        if self.gone:
            raise TerminalGone("the pane is gone")
        self._check()
        number = len(self.log)
        self.log.append((kind, what))
        if number not in self.lost:
            self._enqueue(kind, what, self.late.get(number, 0.0))

    def _check(self) -> None:
        """Refuse if a hold has run out."""

    def by_hand(self, *keys: str) -> None:
        """Press keys as a person does; longer ones are typed texts."""
        for key in keys:
            self._enqueue("key" if len(key) == 1 or key in ("Enter", "C-s", "C-u", "BSpace") else "typed", key)

    def _enqueue(self, kind: str, what: str, late: float = 0.0) -> None:
        due = self.clock() + self.latency + late
        self._queue.append(_Event(max(due, self._queue[-1].at if self._queue else 0.0), kind, what))

    def _apply(self) -> None:
        while self._queue and self._queue[0].at <= self.clock():
            event = self._queue.pop(0)
            if self.cover:
                self._to_cover(event)
            elif event.kind == "key":
                self._key(event.what)
            else:
                self._put(event.what, pasted=event.kind == "paste")

    # What the client does

    def _to_cover(self, event: _Event) -> None:
        if event.what == "Escape" or (event.what == "Enter" and "Switch model?" in self.cover):
            if event.what == "Enter":
                found = re.search(r"Yes, switch to (.+)", self.cover)
                assert found is not None
                self.switched.append(found[1])
            self.cover = ""

    def _put(self, text: str, *, pasted: bool) -> None:
        if pasted and (text.count("\n") > 2 or len(text) > 800):
            text = f"[Pasted text #1 +{text.count(chr(10))} lines]"
        if not self.text and not self.mode and text.startswith("!") and not (self.old and pasted):
            self.mode, text = "!", text[1:]
        self.text += text

    def _key(self, key: str) -> None:
        if key == "Enter":
            self._enter()
        elif key == "BSpace":
            self.mode = self.mode if self.text else ""
            self.text = self.text[:-1]
        elif key == "C-u":
            rows = self._rows()
            if rows[-1] or not self.old:
                self.text = self.text[: -len(rows[-1])] if rows[-1] else self.text[:-1]
            if not self._rows()[-1] and self.text.endswith(" "):
                self.text = self.text.rstrip(" ")
        elif key == "C-s":
            if self.text or self.stash:
                self.text, self.stash = (self.stash, "") if not self.text else ("", self.text)
        elif len(key) == 1:
            self._put(key, pasted=False)

    def _enter(self) -> None:
        text = self.mode + self.text
        if not text.strip():
            return
        if self.enter_is_newline or text.endswith("\\"):
            self.text = (self.text.removesuffix("\\") if text.endswith("\\") else self.text) + "\n"
            return
        if (menu := self._menu()) and not self.mode:
            text = f"/{menu[0].split()[0]}"
        if text.rsplit(None, 1)[-1].startswith("@") and not text.endswith(" ") and self.old:
            self.text = f"{text.rsplit('@', 1)[0]}@readme.txt "
            return
        self.submitted.append(text)
        self.text, self.mode = self.stash, ""
        self.stash = ""
        name, _, argument = text.strip().removeprefix("/").partition(" ")
        if text.startswith("/") and name == "model" and argument in self.switches:
            self.cover = SWITCH.format(model=self.switches[argument])
        if not text.startswith("/"):
            self.busy_until = self.clock() + 0.5

    # What it draws

    def _rows(self) -> list[str]:
        return broken_into_lines(self.draws(self.text), self.width - 3)

    def _menu(self) -> list[str]:
        if self.mode or not re.fullmatch(r"/\S*", self.text):
            return []
        found = [each for each in COMMANDS if self.text[1:] in each.split("(")[0] or f"({self.text[1:]})" in each]
        return sorted(found, key=lambda each: each != self.text[1:])

    def _render(self) -> list[str]:
        lines = ["● Hello, this is Claude.", ""]
        for text in self.submitted:
            lines += [f"❯ {text.splitlines()[0]}", "", "● Done.", ""]
        busy = self.clock() < self.busy_until
        if self.cover:
            edge = "─" * self.width if self.cover.startswith(VIEW[:10]) else "▔" * self.width
            return [*lines, edge, *self.cover.split("\n")]
        if busy:
            lines += ["✻ Mulling… (1s · ↓ 5 tokens)", ""]
        menu = [f"/{each:<28}what it does" for each in self._menu()]
        if menu and not self.old:
            lines += [f"  {'❯' if not at else ' '} {row}" for at, row in enumerate(menu)]
        if self.stash:
            lines.append("› Stashed (auto-restores after submit)" if self.old else f"{'draft stashed':>{self.width}}")
        rows, edge = self._rows(), "─" * self.width
        glyph = self.mode or (">" if self.old else "❯")
        drawn = [f"{glyph}\u00a0{rows[0] if self.text else self.hint}", *(f"  {row}" for row in rows[1:])]
        most = max(3, self.height // 3)
        if len(drawn) > most and not self.old:
            edge = f"─── ↑ {len(drawn) - most} more ".ljust(self.width, "─")
            drawn = drawn[-most:]
        if len(drawn) > self.room:
            return [*lines, edge, *drawn[: self.room]]
        lines += [edge, *drawn, "─" * self.width]
        if menu and self.old:
            return lines + [f"  {row}" for row in menu]
        return [*lines, "  ! for shell mode" if self.mode else f"  ? for shortcuts{' · esc to interrupt' * busy}"]


class PromptModel(UnstyledPromptModel):
    """A terminal that can also tell faint text, and keep a person's keys out."""

    can_hold = True
    can_style = True
    _held_until: float | None = None

    def capture_styled(self, address: TerminalAddress) -> StyledScreen:
        screen = self.capture(address)
        rows: list[tuple[StyledText, ...]] = []
        for line in screen.lines:
            if self.hint and not self.text and line[1:] == f"\u00a0{self.hint}":
                parts = (
                    StyledText(line[:2]),
                    StyledText(line[2], is_reversed=True),
                    StyledText(line[3:], is_dim=True),
                )
                rows.append(parts)
            else:
                rows.append((StyledText(line),) if line else ())
        return StyledScreen(screen, tuple(rows))

    def hold(self, address: TerminalAddress, seconds: float) -> bool:
        was_held = self._held_until is not None and self.clock() < self._held_until
        self._held_until = self.clock() + seconds
        return was_held

    def release(self, address: TerminalAddress) -> None:
        self._held_until = None

    def _check(self) -> None:
        if self._held_until is not None and self.clock() >= self._held_until:
            raise TerminalError("it took so long that other keys may have come in between")

    def by_hand(self, *keys: str) -> None:
        if self._held_until is None or self.clock() >= self._held_until:
            super().by_hand(*keys)
