"""A prompt channel for tests: it reads the box, pastes, reads it back and presses Enter once.

It knows only what the tests need of the client's screen. It saves its phase before each act, so that tests can kill its
process anywhere. With the files ``stop-at`` and ``go`` in the folder of ``HOOKROUTER_TEST_TYPING`` it can be stopped
before an act.
"""

from __future__ import annotations

import os
import time

from hookrouter import hookimpl
from hookrouter._sandbox.client import prompt_box
from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptRequest, PromptStatus
from hookrouter.storage.interface import StoreError
from hookrouter.terminals import TerminalError

__all__: list[str] = []

TYPED, ENTERED = "typed", "entered"


class TypingChannel(PromptChannel):
    """See the module."""

    name = "typing"

    def refusal(self, request: PromptRequest) -> str:
        """Refuse outside terminals."""
        return "" if request.address is not None else "the session is drawn in no known terminal"

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Type the item and press Enter."""
        try:
            return self._submit(request)
        except (StoreError, TerminalError) as error:
            return PromptOutcome(PromptStatus.UNCERTAIN, str(error))

    def _submit(self, request: PromptRequest) -> PromptOutcome:
        terminal, address, text = request.terminal, request.address, request.item.text
        assert terminal is not None
        assert address is not None
        box = _box(request)
        if reason := request.stopped():
            return PromptOutcome(PromptStatus.NOT_NOW, reason)
        if box is None:
            return PromptOutcome(PromptStatus.NOT_NOW, "no prompt box is on screen")
        phase = request.item.phase
        holds = _squeezed(box) == _squeezed(text)
        if phase == ENTERED and not holds:
            return PromptOutcome(PromptStatus.UNCERTAIN, "Enter may have been pressed")
        if not phase or (phase == TYPED and not box):
            if box:
                return PromptOutcome(PromptStatus.NOT_NOW, "a person types", is_person=True)
            _pause("paste")
            request.save_phase(TYPED)
            terminal.paste(address, text)
        elif not holds:
            return PromptOutcome(PromptStatus.NOT_NOW, "a person types", is_person=True)
        deadline = time.monotonic() + 5
        while _squeezed(_box(request) or "") != _squeezed(text):
            if time.monotonic() > deadline:
                return PromptOutcome(PromptStatus.UNCERTAIN, f"the box never held the text, but {_box(request)!r}")
            time.sleep(0.02)
        _pause("enter")
        request.save_phase(ENTERED)
        terminal.press(address, "Enter")
        return PromptOutcome(PromptStatus.SUBMITTED, "Enter was pressed")


def _box(request: PromptRequest) -> str | None:
    assert request.terminal is not None
    assert request.address is not None
    lines = request.terminal.capture(request.address).lines
    # In shell mode the glyph is another one.
    screen = "\n".join(f"❯ !{line[1:].strip()}" if line[:2] in ("! ", "!\u00a0") else line for line in lines)
    if "esc to interrupt" in screen:
        return None
    box = prompt_box(screen)
    return None if box is None else "" if box.text.startswith("Try ") else box.text


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _pause(where: str) -> None:
    folder = os.environ.get("HOOKROUTER_TEST_TYPING", "")
    wanted = os.path.join(folder, "stop-at")
    try:
        with open(wanted) as file:
            if file.read() != where:
                return
    except OSError:
        return
    os.rename(wanted, os.path.join(folder, "stopped"))
    while not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.005)


@hookimpl
def prompt_channel() -> TypingChannel:
    """Contribute it."""
    return TypingChannel()
