"""The other machines that share this one's engine, and what stands in it of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter._fleet.errands import run_elsewhere
from hookrouter._fleet.everywhere import everywhere
from hookrouter._fleet.kinds import FLEET
from hookrouter._fleet.replica import PRESENCE
from hookrouter._fleet.spawn import ALONE_VARIABLE
from hookrouter._plugins.storage_engines import machine_name, open_engine
from hookrouter.config import FILES
from hookrouter.dialogs import documents
from hookrouter.messaging import trace_context
from hookrouter.storage.history import history_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hookrouter._fleet.errands import Done
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.storage.interface import DocumentStore, Storage

__all__ = ["Elsewhere", "Others"]


class Elsewhere(NamedTuple):
    """An open question of another machine."""

    machine: str
    """The machine."""
    question: Dialog
    """The question, as its document in the engine has it."""


class Others:
    """The machines of a fleet beside this one. Each method may raise StoreError."""

    def __init__(self, services: Services, storage: Storage) -> None:
        """``storage`` is the engine that they share."""
        self._services = services
        self._storage = storage
        self._everywhere = everywhere(storage, services.warn)
        self.here = machine_name(services.config.storage)
        """What this machine is called."""

    @classmethod
    def of(cls, services: Services) -> Others | None:
        """Return them; None if nothing is shared, or this process does what another machine asked for.

        Raises StoreError if the engine cannot be had.
        """
        if services.config.storage.engine == FILES or services.environ.get(ALONE_VARIABLE):
            return None
        return cls(services, open_engine(services.home, services.config.storage, services.plugins))

    def names(self) -> list[str]:
        """Return their names, sorted."""
        return [name for name in self._storage.machines() if name != self.here]

    def is_there(self, machine: str) -> bool:
        """Whether a machine's process is at work, so that it can be asked to do something."""
        return self._storage.store(FLEET, self._services.warn, machine).lock_holder(*PRESENCE) is not None

    def keeps_history(self, machine: str) -> bool:
        """Whether the engine has the history of one."""
        history = history_of(self._storage)
        return history is not None and machine in history.machines()

    def store(self, machine: str) -> DocumentStore:
        """Return what stands in the engine of one, to be read."""
        return self._storage.store("", self._services.warn, machine)

    def questions(self) -> list[Elsewhere]:
        """Return what is open on them, by machine and age."""
        rows = self._everywhere.entries("", documents.QUESTION)
        found = [(name, documents.question_of(document)) for name, _, document in rows if name != self.here]
        open_ones = [Elsewhere(name, question) for name, question in found if question is not None]
        return sorted(open_ones, key=lambda one: (one.machine, one.question.session, one.question.saved_at))

    def documents(self, kind: str) -> list[tuple[str, dict[str, object]]]:
        """Return name and document of all of one kind that stand in the engine of them."""
        return [
            (name, document) for machine, name, document in self._everywhere.entries("", kind) if machine != self.here
        ]

    def changed(self, kinds: Collection[str], since: object | None) -> tuple[object, set[str]]:
        """Return where the changes of them are by now, and which of these kinds have changed ``since`` then.

        ``since`` is what the last call returned first; None asks for the place alone.
        """
        place, changed = self._everywhere.changed("", kinds, since)
        return place, {kind for machine, kind in changed if machine != self.here}

    def run(self, machine: str, words: Sequence[str], given: str = "", *, person: str = "") -> Done:
        """Have a machine run ``hookrouter WORDS...``; ``person`` is at this terminal. Raises ErrandError too.

        It goes on with the trace of this process's environment.
        """
        trace = self._services.environ.get(trace_context.VARIABLE, "")
        return run_elsewhere(self._storage, machine, words, given, self._services.warn, person=person, trace=trace)

    def close(self) -> None:
        """Let go of the engine. Raises nothing."""
        self._storage.close()
