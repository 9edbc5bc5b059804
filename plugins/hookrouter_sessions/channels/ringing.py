"""The deliverer's side of the prompt channel ``doorbell``: offers an item, rings, and sees whether it was taken."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptStatus
from hookrouter.queue.items import PROMPT
from hookrouter.storage.interface import StoreError
from hookrouter_sessions.channels.bells import TAKEN, bell_of, make_offer, read_offer, ring, watch_offer, withdraw
from hookrouter_sessions.channels.lengths import too_long

if TYPE_CHECKING:
    from hookrouter.queue.channels import PromptRequest

__all__ = ["DoorbellChannel"]

_FIRST_CLIENT = (2, 1, 150)
"""The oldest client that is known to have ``asyncRewake``: one without it would wait for the hook (2.1.50)."""

_LONGEST = 99_000
"""The longest text that is given, in UTF-16's units: of more than 100,000, with what it puts around it, the client cuts
out the middle (2.1.330)."""

_PHASE = "offered "
"""Begins the phase of an item that is, or may be, on offer; the id of the session whose bell it lies under follows."""

_TAKEN_SECONDS = 12.0
"""Seconds within which a hook must have taken an offer: one sees the bell within a second (2.1.330)."""

_AGAIN_SECONDS = 2.0
"""Seconds after which the bell is rung again: two rings in a row may make one event, and one may be lost."""

_LOOK = 0.25
"""Seconds between two looks, unless the offer changes before."""


class DoorbellChannel(PromptChannel):
    """See the module :mod:`hookrouter_sessions.channels.doorbell`."""

    name = "doorbell"
    is_exact = True

    def __init__(self, patience: float = _TAKEN_SECONDS) -> None:
        """``patience`` is how many seconds a hook has to take an offer."""
        self._patience = patience

    def refusal(self, request: PromptRequest) -> str:
        """Return why Claude cannot be woken with this item; empty if it can."""
        if request.item.kind != PROMPT:
            return "what wakes Claude is not carried out as a command: it takes plain prompts only"
        if why := too_long(request.item.text, _LONGEST):
            return why
        version = request.client_version
        if version is None:
            return "the version of Claude Code is not known, and not every one can be woken by a hook"
        if version < _FIRST_CLIENT:
            shown = ".".join(map(str, version))
            return f"Claude Code {shown} cannot be woken by a hook: that takes 2.1.150 or newer"
        try:
            bell = bell_of(request.store, request.session_id)
        except StoreError as error:
            return f"the session's bell cannot be looked up: {error}"
        return "" if bell else "the session was given no bell when it began"

    def submit(self, request: PromptRequest) -> PromptOutcome:
        """Offer the item and ring until a hook has taken it; withdraw it if none has."""
        try:
            if self._was_taken(request):
                return PromptOutcome(PromptStatus.UNCERTAIN, "a hook had taken it to wake Claude with it")
            if why := self.refusal(request):
                return PromptOutcome(PromptStatus.REFUSED, why)
            if why := request.stopped():
                return PromptOutcome(PromptStatus.NOT_NOW, why)
            request.save_phase(f"{_PHASE}{request.session_id}")
        except StoreError as error:
            return PromptOutcome(PromptStatus.NOT_NOW, str(error))
        try:
            return self._ring(request, bell_of(request.store, request.session_id))
        except StoreError as error:
            return PromptOutcome(PromptStatus.UNCERTAIN, f"it is not known whether a hook has taken it: {error}")

    def _was_taken(self, request: PromptRequest) -> bool:
        """Whether a hook has taken the item of an attempt that was cut off; if not, none takes it any more."""
        phase = request.item.phase
        if not phase.startswith(_PHASE):
            return False
        return not withdraw(request.store, phase.removeprefix(_PHASE), request.item.id)

    def _ring(self, request: PromptRequest, bell: str) -> PromptOutcome:
        """Offer the item and ring until a hook takes it; withdraw it if none does in time. Raises StoreError."""
        store, session_id, item = request.store, request.session_id, request.item
        steps = []
        with watch_offer(store, session_id) as watch:
            make_offer(store, session_id, item)
            steps.append("offered")
            deadline = min(time.monotonic() + self._patience, request.deadline)
            why, fault, next_ring = "", "", 0.0
            while read_offer(store, session_id, item.id) != TAKEN:
                at = time.monotonic()
                if at >= deadline or (why := request.stopped()):
                    break
                if at >= next_ring:
                    try:
                        ring(bell)
                    except OSError as error:
                        fault = f"the session's bell cannot be written: {error.strerror or error}"
                        break
                    steps.append("rung")
                    next_ring = at + _AGAIN_SECONDS
                watch.wait(_LOOK)
        if not withdraw(store, session_id, item.id):
            return PromptOutcome(PromptStatus.SUBMITTED, "a hook has woken Claude with it", steps=(*steps, "taken"))
        steps.append("withdrawn")
        _forget_phase(request)
        if why:
            return PromptOutcome(PromptStatus.NOT_NOW, why, steps=tuple(steps))
        patience = f"Claude Code has started no hook that takes it within {self._patience:g} s: see hookrouter doctor"
        return PromptOutcome(PromptStatus.UNAVAILABLE, fault or patience, steps=tuple(steps))


def _forget_phase(request: PromptRequest) -> None:
    """Say that nothing of the item is left in the session."""
    try:
        request.save_phase("")
    except StoreError:
        # The offer itself says so too.
        return
