"""On which machine the session or item is that a command is about, where no ``--machine`` says it.

What is here comes first only if nothing of the same name is elsewhere: of two sessions that are called alike neither is
guessed at.
"""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.asking import run_on
from hookrouter.cli.fleet.option import OPTION
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import AUTO
from hookrouter.dialogs.elsewhere import Elsewhere, open_elsewhere
from hookrouter.messaging.pauses import pauses
from hookrouter.queue.documents import ended_items, list_queues, read_queue
from hookrouter.queue.editing import NotThereError, find_id
from hookrouter.sessions.records import read_record
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.dialogs.documents import Dialog
    from hookrouter.machines import Machines
    from hookrouter.storage.interface import DocumentStore

    Line = Callable[[], tuple[Sequence[str], str]]
    """Returns the words for another machine, and what they get on stdin; called only if they are for one."""

__all__ = ["SeveralMachinesError", "answered_elsewhere", "done_elsewhere", "item_done_elsewhere"]


class SeveralMachinesError(CommandError):
    """Several machines have what is meant; the message names them."""

    candidates: tuple[Mapping[str, str], ...] = ()
    """The open questions of which one could be meant, as ``hookrouter answer --json`` tells them, with ``machine``."""


def answered_elsewhere(session: str, tool_use_id: str | None, line: Line) -> int | None:
    """Have the machine answer whose question is meant; return the exit code, None if that is this machine.

    ``session`` is empty for whichever asks. Raises SeveralMachinesError if several machines could be meant.
    """

    def is_meant(question: Dialog) -> bool:
        if tool_use_id is not None:
            return question.tool_use_id == tool_use_id
        return session in ("", AUTO, question.session)

    meant: list[Elsewhere] = []

    def found(others: Machines, application: Application) -> set[str]:
        here = [Elsewhere(others.here, question) for question in documents.list_questions(application.store)]
        meant[:] = [one for one in (*here, *open_elsewhere(others)) if is_meant(one.question)]
        return {one.machine for one in meant}

    try:
        return _elsewhere(found, line)
    except SeveralMachinesError as error:
        error.candidates = tuple(_candidate(one) for one in meant)
        raise


def _candidate(one: Elsewhere) -> dict[str, str]:
    question = one.question
    return {
        "machine": one.machine,
        "session": question.session,
        "tool_use_id": question.tool_use_id,
        "asked_at": question.saved_at,
    }


def done_elsewhere(session: str, line: Line) -> int | None:
    """The same for what is done with a session of this name."""

    def found(others: Machines, application: Application) -> set[str]:
        there = {name for name in others.names() if _knows(others.store(name), session)}
        return there | ({others.here} if _knows(application.store, session) else set())

    return _elsewhere(found, line)


def item_done_elsewhere(names: Sequence[str], line: Callable[[list[str]], tuple[Sequence[str], str]]) -> int | None:
    """The same for what is done with items of queues; ``line`` gets their whole ids.

    ``names`` are ids, or parts of ids. Raises CommandError if one is none, or could be several.
    """
    ids: list[str] = []

    def found(others: Machines, application: Application) -> set[str]:
        stores = {others.here: application.store, **{name: others.store(name) for name in others.names()}}
        try:
            places = _places(names, stores)
        except NotThereError as error:
            raise CommandError(str(error)) from None
        ids[:] = [item for item, _ in places]
        return {machine for _, machine in places}

    return _elsewhere(found, lambda: line(ids))


def _places(names: Sequence[str], stores: Mapping[str, DocumentStore]) -> list[tuple[str, str]]:
    """Return id and machine of items. Raises NotThereError, and StoreError."""
    waiting = {
        item.id: machine for machine, store in stores.items() for one in list_queues(store) for item in one.items
    }
    try:
        # What waits is meant before what has ended.
        return [(found, waiting[found]) for found in (find_id(name, waiting) for name in names)]
    except NotThereError:
        ended = {item.id: machine for machine, store in stores.items() for _, item in ended_items(store)}
        known = {**ended, **waiting}
        ids = (name if name in waiting else find_id(name, known) for name in names)
        return [(found, known[found]) for found in ids]


def _knows(store: DocumentStore, session: str) -> bool:
    """Whether a machine has a session of this name, or has something to do for one."""
    if read_record(store, session) is not None or any(one.session == session for one in pauses(store)):
        return True
    queue = read_queue(store, session)
    return bool(queue.items or queue.hold)


def _elsewhere(found: Callable[[Machines, Application], set[str]], line: Line) -> int | None:
    application = Application.from_environ()
    try:
        with closing(application.machines()) as others:
            if not others.here:
                return None
            machines = sorted(found(others, application))
            if len(machines) > 1:
                raise SeveralMachinesError(
                    f"several machines match: {', '.join(machines)}; say which with {OPTION} NAME"
                )
            if not machines or machines == [others.here]:
                return None
            return run_on(others, machines[0], *line())
    except CommandError:
        raise
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        # What is on this machine can be answered all the same.
        reason = str(error) if isinstance(error, StoreError) else describe_error(error)
        sys.stderr.write(f"hookrouter: the other machines could not be asked: {printable(reason)}\n")
        return None
