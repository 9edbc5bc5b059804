"""The prompt channel ``mod``: hookrouter's module inside the client submits prompts and runs commands, without keys.

It needs ``hookrouter install --front mod`` (Claude Code 2.1.287 and newer) and the resident router. A person's
half-typed text stays where it is. The module carries no ``!`` commands, and no built-in command that may open a panel:
the client would wait at it until somebody presses Escape (2.1.330).

What keeps an item from going in twice: it is handed over under an id that is saved first, and the module acts on an id
once, as long as it is loaded; it names itself by an id of its own, which is saved as well. The plugin ``mod-prompts``.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless
from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptStatus
from hookrouter.queue.items import COMMAND, PROMPT, SHELL, command_of
from hookrouter.sessions.mods import Handover, ModError, ModGate, ModUnknown
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptRequest
    from hookrouter.queue.items import Item
    from hookrouter.sessions.mods import Said

__all__ = ["ModChannel"]

NAME = "mod"

_SLICE = 0.5
"""Seconds between two looks whether an event or record has proven it, which a command's end may follow late."""

_RETURN_SECONDS = 15.0
"""Seconds for which a router that was restarted, and a module that asks it anew, are waited for."""
_PAUSE = 0.2

_NOTHING_DONE = ("busy", "typing", "dropped")


class ModChannel(PromptChannel):
    """See the module."""

    name = NAME
    sees_idle = True
    is_exact = True

    def refusal(self, request: PromptRequest) -> str:
        """Return why the module cannot bring this item in; empty if it may."""
        if request.item.kind == SHELL:
            return "the client's own interface runs no shell commands"
        if request.home is None or not ModGate(request.home.router).is_there():
            return "no router is running that serves a mod"
        return ""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Hand the item over, and wait until the module has said what became of it."""
        why = self.refusal(request)
        if request.item.phase:
            return self._again(request)
        if why or request.home is None:
            return PromptOutcome(PromptStatus.REFUSED, why)
        gate = ModGate(request.home.router)
        try:
            mod = gate.mod_of(request.session_id)
        except (ModError, ModUnknown) as error:
            return PromptOutcome(PromptStatus.UNAVAILABLE, str(error))
        if mod is None:
            return PromptOutcome(PromptStatus.UNAVAILABLE, "no mod of the session's client asks for prompts")
        if stopped := request.stopped():
            return PromptOutcome(PromptStatus.NOT_NOW, stopped)
        attempt = os.urandom(8).hex()
        try:
            request.save_phase(f"{mod} {attempt}")
        except StoreError as error:
            return PromptOutcome(PromptStatus.NOT_NOW, printable(f"it is not passed on: {error}"))
        return _Handing(request, gate, mod, attempt, is_new=True).run()

    def _again(self, request: PromptRequest) -> PromptOutcome:
        """Go on with an attempt that was cut off: the same id is no second attempt for a module that still has it."""
        mod, _, attempt = request.item.phase.partition(" ")
        if request.home is None or not attempt:
            return PromptOutcome(PromptStatus.UNCERTAIN, "it was passed to the client's mod, which cannot be asked")
        return _Handing(request, ModGate(request.home.router), mod, attempt, is_new=False).run()


class _Handing:
    """One handover, until its outcome is known, or nobody can tell."""

    def __init__(self, request: PromptRequest, gate: ModGate, mod: str, attempt: str, *, is_new: bool) -> None:
        self._request = request
        self._gate = gate
        self._mod = mod
        self._handover = _handover(request.item, attempt)
        self._is_new = is_new
        """Whether it cannot have reached the module yet."""
        self._steps = [f"passed to the mod {mod}" if is_new else f"asked the mod {mod} what became of it"]

    def run(self) -> PromptOutcome:
        """Return the outcome."""
        missing_since: float | None = None
        while time.monotonic() < self._request.deadline:
            fault = ""
            try:
                said = self._gate.hand(self._mod, self._handover, _SLICE)
                missing_since = None
            except ModUnknown as error:
                if self._is_new:
                    return self._nothing_done("the client's mod has ended")
                fault = str(error)
            except ModError as error:
                fault = str(error)
            else:
                if said is not None:
                    return self._outcome(said)
            self._is_new = False
            if self._request.is_proven():
                return self._ended(PromptStatus.SUBMITTED, "an event or record has proven it")
            if fault:
                missing_since = missing_since or time.monotonic()
                if time.monotonic() - missing_since > _RETURN_SECONDS:
                    return self._ended(PromptStatus.UNCERTAIN, f"its mod cannot be asked any more: {fault}")
                time.sleep(_PAUSE)
        return self._ended(PromptStatus.UNCERTAIN, "the client has not taken it up in time")

    def _outcome(self, said: Said) -> PromptOutcome:
        if said.outcome == "submitted":
            return self._ended(PromptStatus.SUBMITTED, "the client has taken it")
        if said.outcome in _NOTHING_DONE:
            # Who throws a prompt away that waits, by Escape, is at the keyboard.
            return self._nothing_done(said.reason, is_person=said.outcome != "busy")
        if said.outcome == "refused":
            # A plain prompt is refused for what the client is at, as after Escape.
            is_prompt = self._request.item.kind == PROMPT
            return self._nothing_done(
                said.reason, status=PromptStatus.UNAVAILABLE if is_prompt else PromptStatus.REFUSED
            )
        return self._ended(PromptStatus.UNCERTAIN, f"the client says: {said.reason}")

    def _nothing_done(
        self, reason: str, *, status: str = PromptStatus.NOT_NOW, is_person: bool = False
    ) -> PromptOutcome:
        # If it cannot be saved, the next attempt asks the module once more, and hears the same.
        with suppress(StoreError):
            self._request.save_phase("")
        return self._ended(status, reason, is_person=is_person)

    def _ended(self, status: str, reason: str, *, is_person: bool = False) -> PromptOutcome:
        return PromptOutcome(status, reason, is_person, (*self._steps, f"{status}: {reason}"))


def _handover(item: Item, attempt: str) -> Handover:
    if item.kind == COMMAND:
        name, arguments = command_of(item.text)
        return Handover(attempt, "command", name, arguments)
    return Handover(attempt, "prompt", item.text)


@hookimpl
@stateless
def prompt_channel() -> PromptChannel:
    """Contribute the channel."""
    return ModChannel()
