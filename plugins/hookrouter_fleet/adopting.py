"""Delivers what a machine that is gone still had to tell.

Its messages stand in the engine. Any machine that has the gateway takes them over, each by one machine alone, and
delivers them from its own outbox under the same id; a gateway that has got one twice knows it by that. When the machine
comes back, it removes what others have taken.

A message is claimed, put into the own outbox, and called taken once it stands in the engine among the messages of the
machine that took it. Until then it goes to another one if that machine goes as well, and back to its own if that
returns.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents
from hookrouter.dialogs.messages.outgoing import is_for_person, wake_text
from hookrouter.dialogs.messages.reader import start_for
from hookrouter.messaging.message import decode
from hookrouter.messaging.pauses import is_paused
from hookrouter.messaging.spawn import KIND as MESSAGE
from hookrouter.messaging.spawn import spawn_delivery
from hookrouter.sharing import machine_name
from hookrouter.storage.engine import OUTBOX
from hookrouter.util.clock import iso
from hookrouter.util.text import printable
from hookrouter_fleet.everywhere import everywhere
from hookrouter_fleet.kinds import FLEET, TAKING
from hookrouter_fleet.replica import PRESENCE
from hookrouter_fleet.returning import GONE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Services
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.storage.interface import DocumentStore, Storage

__all__ = ["Adopting", "leave_taken"]

LOOK_SECONDS = 15.0
"""Seconds between two looks at all that is undelivered."""

_CLAIMED, _TAKEN = "claimed", "taken"

_WAKE = "question"
"""The kind of the message by which an agent is asked."""

_SENT_FOR = "(The machine {gone} is not there, so {here} sends this.)\n\n{text}"


class Adopting:
    """What one machine takes over. One thread calls :meth:`serve`."""

    def __init__(self, services: Services, storage: Storage, gone_seconds: float = GONE_SECONDS) -> None:
        """Looks at nothing yet."""
        self._services = services
        self._storage = storage
        self._everywhere = everywhere(storage, services.warn)
        self._here = machine_name(services.config.storage)
        self._gone_seconds = gone_seconds
        self._missed_since: dict[str, float] = {}
        """By this process's clock, since when each machine has not been seen: no two machines' clocks are compared."""
        self._due = float("-inf")
        self._claimed: dict[str, tuple[str, QueuedMessage]] = {}
        """By id, what is in the own outbox and not yet called taken, with the machine whose it was."""

    def serve(self, *, now: bool = False) -> int:
        """Take over what is due; return how many messages were put into the outbox. Raises StoreError.

        Call it after each round that has brought the outbox: then it calls taken what the call before has put in. Looks
        for more only if :data:`LOOK_SECONDS` have passed since the last look, or ``now`` is true.
        """
        self._settle()
        moment = time.monotonic()
        if moment < self._due and not now:
            return 0
        self._due = moment + LOOK_SECONDS
        leave_taken(self._services, self._storage)
        waiting: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for machine, name, document in self._everywhere.entries(OUTBOX, MESSAGE):
            if machine != self._here:
                waiting.setdefault(machine, []).append((name, document))
        self._missed_since = {machine: since for machine, since in self._missed_since.items() if machine in waiting}
        taken = 0
        for machine, messages in waiting.items():
            if self._is_gone(machine):
                # Oldest first, as their own machine would: messages of a session arrive in order.
                taken += sum(self._take(machine, name, document) for name, document in sorted(messages))
        return taken

    def _settle(self) -> None:
        """Call taken what stands in the engine among the own messages, and have it delivered."""
        are_ours = 0
        for name, (machine, message) in list(self._claimed.items()):
            claim = self._claim_of(self._here)
            is_ours = self._fleet(machine).replace(TAKING, name, {**claim, "state": _TAKEN}, unchanged=claim)
            del self._claimed[name]
            if is_ours:
                are_ours += 1
                record = {"event": "fleet", "outcome": "taken over", "machine": machine, "wake": name}
                self._services.journal.write({**record, "session": message.session}, message.session_id or None)
            else:
                # The machine is back, and sends it itself.
                self._services.outbox.remove(name)
        if are_ours:
            spawn_delivery(self._services.environ, self._services.home)

    def _is_gone(self, machine: str) -> bool:
        if self._fleet(machine).lock_holder(*PRESENCE) is not None:
            self._missed_since.pop(machine, None)
            return False
        since = self._missed_since.setdefault(machine, time.monotonic())
        return time.monotonic() - since >= self._gone_seconds

    def _take(self, machine: str, name: str, document: Mapping[str, Any]) -> bool:
        message = decode(name, document)
        config = self._services.config
        gateways = [one for one in message.gateways if one in config.gateways and not config.is_inbox(one)]
        if not gateways or not self._is_due(machine, message) or not self._claim(machine, name):
            return False
        text = _SENT_FOR.format(gone=printable(machine), here=printable(self._here), text=self._text(machine, message))
        # What it depends on, and what was to follow, is that machine's alone.
        changed = {"gateway": gateways[0], "fallbacks": gateways[1:], "text": text, "while_open": None, "then": []}
        is_new = self._services.outbox.take_in(name, {**document, **changed})
        self._claimed[name] = machine, message
        return is_new

    def _text(self, machine: str, message: QueuedMessage) -> str:
        """Return what it says, with the commands that work here: its own name the program and home of that machine."""
        config = self._services.config
        if message.kind != _WAKE or all(one.id != message.agent for one in config.agents):
            return message.text
        store = self._storage.store("", self._services.warn, machine)
        question = documents.find_question(store, message.session_id, message.tool_use_id)
        if question is None:
            return message.text
        start, others = start_for(machine, self._services.environ), documents.others(store, question)
        return wake_text(question, start, {}, others, to_person=is_for_person(config, message.agent))

    def _is_due(self, machine: str, message: QueuedMessage) -> bool:
        """Whether its own machine would deliver it now."""
        if message.fault or message.given_up or message.delivered_at or message.closes or message.is_for_later:
            return False
        store = self._storage.store("", self._services.warn, machine)
        if is_paused(store, message.session) is not None:
            return False
        return message.while_open is None or message.while_open.is_met(store)

    def _claim(self, machine: str, name: str) -> bool:
        """Say that this machine takes a message over; return whether it does: of several that try, one."""
        store, mine = self._fleet(machine), self._claim_of(self._here)
        found = store.create(TAKING, name, mine)
        if found is None or found == mine:
            return True
        # Whoever had begun may be gone as well. What it has taken stands among its own messages.
        former = str(found.get("by", ""))
        return (
            found.get("state") == _CLAIMED
            and former != self._here
            and self._is_gone(former)
            and store.replace(TAKING, name, mine, unchanged=found)
        )

    def _claim_of(self, machine: str) -> dict[str, object]:
        return {"version": 1, "by": machine, "state": _CLAIMED}

    def _fleet(self, machine: str) -> DocumentStore:
        return self._storage.store(FLEET, self._services.warn, machine)


def leave_taken(services: Services, storage: Storage) -> int:
    """Remove from this machine's outbox what others have taken over while it was gone; return how many messages.

    Call it with the lock of the machine in hand, at its return and from time to time: a machine that stood still was
    gone for the others, and need not know it. Raises StoreError.
    """
    store = storage.store(FLEET, services.warn)
    removed = 0
    for name, claim in store.entries(TAKING):
        if claim.get("state") == _TAKEN and services.outbox.remove(name):
            removed += 1
            by = str(claim.get("by", ""))
            record = {"event": "fleet", "outcome": "sent by another machine", "machine": by, "wake": name, "at": iso()}
            services.journal.write(record, None)
        # What was claimed and not taken is sent from here.
        store.delete(TAKING, name)
    return removed
