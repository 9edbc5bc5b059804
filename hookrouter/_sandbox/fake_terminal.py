"""A terminal backend for tests without a terminal: a client with a prompt box in front of a model of its dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._sandbox.dialog_model import broken_into_lines
from hookrouter.terminals import Screen, TerminalBackend, TerminalGone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter._sandbox.dialog_model import DialogModel
    from hookrouter.terminals import TerminalAddress

__all__ = ["FakeTerminal"]


class FakeTerminal(TerminalBackend):
    """A terminal backend in front of a dialog model: a client with a prompt box, its delays and its input guard.

    Time comes from ``clock``, in seconds, so that a test decides how it passes.
    """

    name = "fake"

    def __init__(
        self,
        model: DialogModel,
        clock: Callable[[], float],
        *,
        width: int = 120,
        height: int = 40,
        opens_at: float = 0.0,
        guard: float = 0.15,
        latency: float = 0.03,
    ) -> None:
        """Put a client around ``model``.

        ``opens_at`` is when the dialog is drawn, ``guard`` for how long after that Enter, Space and characters are
        ignored, ``latency`` how long after a key its effect is drawn.
        """
        self.model = model
        self.clock = clock
        self.width, self.height = width, height
        self.opens_at, self.guard, self.latency = opens_at, guard, latency
        self.prompt = ""
        self.prompts: list[str] = []
        """What was sent as prompts."""
        self.log: list[tuple[str, str]] = []
        """Every ``("key", name)`` and ``("paste", text)``, oldest first."""
        self.to_prompt: list[int] = []
        """The numbers of the keys and pastes in ``log`` that reached the prompt box instead of the dialog."""
        self.closed_by: int | None = None
        """The number in ``log`` of the key that closed the dialog."""
        self.gone = False
        self.lost: set[int] = set()
        """The numbers of the keys in ``log`` that the client loses."""
        self._queue: list[tuple[float, str, str, int]] = []
        self._drawn: tuple[float, list[str]] | None = None

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:  # noqa: ARG002
        """Return None: a fake terminal runs no program."""
        return None

    def capture(self, address: TerminalAddress) -> Screen:  # noqa: ARG002
        """Return the screen, with every key applied whose time has come."""
        if self.gone:
            raise TerminalGone("the fake terminal is gone")
        self._apply()
        lines = ["● One question."]
        if self.model.outcome is None and self.clock() >= self.opens_at:
            lines = (lines + self.model.render(self.width, self.height))[-self.height :]
        else:
            lines += self._transcript()
            lines += [f"❯ {prompt}" for prompt in self.prompts]
            rule = "─" * self.width
            lines += [
                "",
                rule,
                *(f"{'❯ ' if not at else '  '}{part}" for at, part in enumerate(self.prompt.split("\n"))),
            ]
            lines += [rule, "  ⏵⏵ bypass permissions on (shift+tab to cycle)"]
            lines = lines[-self.height :]
        lines += [""] * (self.height - len(lines))
        return Screen(tuple(line.rstrip() for line in lines), self.width, self.height, self._unchanged(lines))

    def _unchanged(self, lines: list[str]) -> float:
        """Return for how long these lines stand already, as exactly as tmux knows it."""
        if self._drawn is None:
            self._drawn = self.opens_at, lines
        elif lines != self._drawn[1]:
            self._drawn = self.clock(), lines
        return max(0.0, self.clock() - self._drawn[0] - 1)

    def press(self, address: TerminalAddress, key: str) -> None:  # noqa: ARG002
        """Queue a key."""
        self._send("key", key)

    def paste(self, address: TerminalAddress, text: str) -> None:  # noqa: ARG002
        """Queue a paste."""
        self._send("paste", text)

    def _send(self, kind: str, what: str) -> None:
        if self.gone:
            raise TerminalGone("the fake terminal is gone")
        self._apply()
        self.log.append((kind, what))
        if len(self.log) - 1 not in self.lost:
            self._queue.append((self.clock() + self.latency, kind, what, len(self.log) - 1))

    def _apply(self) -> None:
        while self._queue and self._queue[0][0] <= self.clock():
            at, kind, what, number = self._queue.pop(0)
            was_open = self.model.outcome is None
            if not was_open or at < self.opens_at:
                self.to_prompt.append(number)
                self._to_prompt(kind, what)
            elif kind == "paste":
                self.model.paste(what)
            elif at - self.latency >= self.opens_at + self.guard or not (what in ("Enter", "Space") or len(what) == 1):
                self.model.press(what)
            if was_open and self.model.outcome is not None:
                self.closed_by = number

    def _to_prompt(self, kind: str, what: str) -> None:
        if kind == "paste" or len(what) == 1:
            self.prompt += what
        elif what == "Enter" and self.prompt.strip():
            self.prompts.append(self.prompt)
            self.prompt = ""

    def _transcript(self) -> list[str]:
        if self.model.outcome is None:
            return []
        questions = [question.text for question in self.model.questions]
        if self.model.result is not None:
            answers = self.model.result["answers"]
            said = [f"{question} → {answers.get(question, '')}" for question in questions]
            lines = ["", "● Answered Claude's questions:"]
        else:
            said = questions
            lines = ["", "● Declined to answer Claude's questions:"]
        for number, line in enumerate(said):
            lines += [
                f"{'  ⎿  ' if not number and not at else '     '}· {part}"
                for at, part in enumerate(broken_into_lines(line, self.width - 8))
            ]
        return lines
