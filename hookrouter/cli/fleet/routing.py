"""Which machines of a fleet have what a command is about, for :func:`hookrouter.cli.fleet.option.on_any_machine`.

Each takes what the command is called with, and returns what looks for it; None if it names nothing to look for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.cli.errors import CommandError
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import AUTO
from hookrouter.dialogs.elsewhere import open_elsewhere
from hookrouter.messaging.pauses import pauses
from hookrouter.queue.documents import ended_items, list_queues, read_queue
from hookrouter.queue.editing import NotThereError, find_id
from hookrouter.sessions.records import read_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.cli.fleet.option import Find, Found, Options
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.machines import Machines
    from hookrouter.storage.interface import DocumentStore

__all__ = ["dialog_of", "of_items", "of_session", "of_the_dialog"]


def of_session(options: Options) -> Find | None:
    """The machines that know the session, by ``session``; none is looked for with ``any_session``."""
    session = options.get("session")
    if not session or options.get("any_session"):
        return None
    return lambda machines, here: {
        name: () for name, store in _stores(machines, here).items() if _knows(store, session)
    }


def of_items(options: Options) -> Find:
    """The machines that have the items of queues: ``name`` or ``names``, and ``before``, ids or parts of ids."""
    named = [*options.get("names", ()), options.get("name"), options.get("before")]
    return lambda machines, here: _places([name for name in named if name], _stores(machines, here))


def of_the_dialog(options: Options) -> Find:
    """The machines that have the open dialog: by ``session`` and ``tool_use_id``, or with neither the only one."""
    return dialog_of(options["session"], options["tool_use_id"])


def dialog_of(session: str, tool_use_id: str | None) -> Find:
    """The same, whatever the options are called. ``session`` is empty for whichever asks."""

    def is_meant(question: Dialog) -> bool:
        if tool_use_id is not None:
            return question.tool_use_id == tool_use_id
        return session in ("", AUTO, question.session)

    def find(machines: Machines, here: DocumentStore) -> Found:
        found: dict[str, list[Dialog]] = {}
        own = [(machines.here, question) for question in documents.list_questions(here)]
        for machine, question in (*own, *open_elsewhere(machines)):
            if is_meant(question):
                found.setdefault(machine, []).append(question)
        return found

    return find


def _stores(machines: Machines, here: DocumentStore) -> dict[str, DocumentStore]:
    return {machines.here: here, **{name: machines.store(name) for name in machines.names()}}


def _places(names: Sequence[str], stores: Mapping[str, DocumentStore]) -> Found:
    """Return the machines of items. Raises CommandError if one is none, or could be several; and StoreError."""
    waiting = {
        item.id: machine for machine, store in stores.items() for one in list_queues(store) for item in one.items
    }
    try:
        try:
            # What waits is meant before what has ended.
            return {waiting[find_id(name, waiting)]: () for name in names}
        except NotThereError:
            ended = {item.id: machine for machine, store in stores.items() for _, item in ended_items(store)}
            known = {**ended, **waiting}
            return {known[name if name in waiting else find_id(name, known)]: () for name in names}
    except NotThereError as error:
        raise CommandError(str(error)) from None


def _knows(store: DocumentStore, session: str) -> bool:
    """Whether a machine has a session of this name, or has something to do for one."""
    if read_record(store, session) is not None or any(one.session == session for one in pauses(store)):
        return True
    queue = read_queue(store, session)
    return bool(queue.items or queue.hold)
