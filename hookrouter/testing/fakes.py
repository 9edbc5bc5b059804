"""A terminal and a gateway that exist in memory only; each is a plugin that contributes itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter._sandbox.fake_terminal import FakeTerminal
from hookrouter.markers import hookimpl
from hookrouter.messaging.gateway import Gateway, SendResult
from hookrouter.terminals import Screen, TerminalAddress, TerminalBackend, TerminalError, TerminalGone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.messaging.gateway import Message
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["FakeGateway", "FakePane"]

_KEYS = frozenset(
    [
        *("Enter", "Escape", "Tab", "BTab", "Space", "Up", "Down", "Left", "Right"),
        *("Home", "End", "BSpace", "C-e", "C-s", "C-u"),
    ]
)


class FakePane(TerminalBackend):
    """A terminal backend with one pane, in which every process runs; the plugin that contributes it as ``fake``.

    It shows ``lines``, or after :meth:`ask` a model of the client's question dialog, which takes keys as the client
    2.1.330 does. What it was given is in :attr:`log`.
    """

    name = "fake"

    def __init__(self, session: str = "fake", *, width: int = 120, height: int = 40) -> None:
        """Make the pane of a terminal session of this name, as many columns wide and rows high."""
        self.session = session
        self.width, self.height = width, height
        self.lines: list[str] = []
        """What the pane shows, if no form was asked."""
        self.log: list[tuple[str, str]] = []
        """Every ``("key", name)`` and ``("paste", text)`` that was accepted, oldest first."""
        self.gone = False
        """Whether the pane is closed: every act then raises TerminalGone."""
        self._client: FakeTerminal | None = None

    @hookimpl
    def terminal_backend(self) -> TerminalBackend:
        """Contribute this object."""
        return self

    @property
    def address(self) -> TerminalAddress:
        """The address of the pane."""
        return TerminalAddress(self.name, self.session, "%0", "")

    def ask(self, form: AskUserQuestionInput, clock: Callable[[], float] = time.monotonic) -> DialogModel:
        """Show the dialog of a form, and return its model, whose ``result`` is what the client would record.

        ``clock`` returns seconds; the dialog's delays go by it.
        """
        model = DialogModel(form)
        self._client = FakeTerminal(model, clock, width=self.width, height=self.height, opens_at=clock())
        return model

    def locate(self, environ: Mapping[str, str]) -> TerminalAddress | None:  # noqa: ARG002 - the interface
        """Return the pane. Raises TerminalGone if it is closed."""
        self._look()
        return self.address

    def capture(self, address: TerminalAddress) -> Screen:
        """Return what the pane shows. Raises TerminalGone."""
        self._look(address)
        if self._client is not None:
            return self._client.capture(address)
        shown = [line.rstrip() for text in self.lines for line in text.split("\n")][-self.height :]
        return Screen(tuple(shown + [""] * (self.height - len(shown))), self.width, self.height)

    def press(self, address: TerminalAddress, key: str) -> None:
        """Take one key. Raises TerminalGone, and TerminalError for a key that no backend takes."""
        self._look(address)
        if key not in _KEYS and not (len(key) == 1 and key.isprintable()):
            raise TerminalError(f"{key!r} is not a key's name")
        self.log.append(("key", key))
        if self._client is not None:
            self._client.press(address, key)

    def paste(self, address: TerminalAddress, text: str) -> None:
        """Take a text. Raises TerminalGone, and TerminalError for control characters."""
        self._look(address)
        if any(ord(character) < 32 and character not in "\n\t" for character in text):
            raise TerminalError("the text holds control characters")
        self.log.append(("paste", text))
        if self._client is not None:
            self._client.paste(address, text)

    def _look(self, address: TerminalAddress | None = None) -> None:
        if self.gone or (address is not None and address != self.address):
            raise TerminalGone(f"there is no pane {self.address if address is None else address}")


@attrs.frozen
class FakeSettings:
    """A ``[gateways.NAME]`` table with ``type = "fake"``, which has no keys of its own."""


class FakeGateway(Gateway):
    """A gateway that keeps what it is given; the plugin that contributes it as ``fake``.

    In config.toml: ``[gateways.NAME]`` with ``type = "fake"`` and no further keys.
    """

    type = "fake"
    settings = FakeSettings

    def __init__(self) -> None:
        """Make one that works."""
        self.wakes: list[Message] = []
        """The messages that arrived, each once however often it was sent."""
        self.attempts: list[Message] = []
        """Every message that it was asked to deliver, also those that failed."""
        self._failure: tuple[SendResult, int | None] | None = None

    @hookimpl
    def gateway(self) -> Gateway:
        """Contribute this object."""
        return self

    def fail(
        self,
        reason: str = "the fake gateway was told to fail",
        *,
        times: int | None = None,
        retry: bool = True,
        retry_after: float | None = None,
    ) -> None:
        """Fail from now on, ``times`` times or until :meth:`work`.

        ``retry`` says whether trying again can help, ``retry_after`` how many seconds it asks to wait.
        """
        self._failure = SendResult(delivered=False, reason=reason, retry=retry, retry_after=retry_after), times

    def work(self) -> None:
        """Deliver again."""
        self._failure = None

    def deliver(self, message: Message, settings: FakeSettings) -> SendResult:  # noqa: ARG002 - the interface
        """Keep the message, or fail as it was told to."""
        self.attempts.append(message)
        if self._failure is not None:
            woken, times = self._failure
            if times is None or times > 0:
                self._failure = woken, None if times is None else times - 1
                return woken
        if message.id not in {known.id for known in self.wakes}:
            self.wakes.append(message)
        return SendResult(delivered=True, reason="the fake gateway keeps it")
