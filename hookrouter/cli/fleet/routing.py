"""On which machine the session is that an answer or a prompt is meant for, where no ``--machine`` says it.

What is here comes first only if nothing of the same name is elsewhere: of two sessions that are called alike neither is
guessed at.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hookrouter._fleet.others import Others
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.asking import run_on
from hookrouter.cli.fleet.option import OPTION
from hookrouter.config import FILES
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import AUTO
from hookrouter.sessions.records import read_record
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.dialogs.documents import Question

    Line = Callable[[], tuple[Sequence[str], str]]
    """Returns the words for another machine, and what they get on stdin; called only if they are for one."""

__all__ = ["answered_elsewhere", "sent_elsewhere"]


def answered_elsewhere(session: str, tool_use_id: str | None, line: Line) -> int | None:
    """Have the machine answer whose question is meant; return the exit code, None if that is this machine.

    ``session`` is empty for whichever asks. Raises CommandError if several machines could be meant.
    """

    def is_meant(question: Question) -> bool:
        if tool_use_id is not None:
            return question.tool_use_id == tool_use_id
        return session in ("", AUTO, question.session)

    def here(application: Application) -> bool:
        return any(is_meant(question) for question in documents.list_questions(application.store))

    def there(others: Others) -> list[str]:
        return [one.machine for one in others.questions() if is_meant(one.question)]

    return _elsewhere(here, there, line)


def sent_elsewhere(session: str, line: Line) -> int | None:
    """The same for what is sent to a session of this name."""

    def here(application: Application) -> bool:
        return read_record(application.store, session) is not None

    return _elsewhere(here, lambda others: others.with_session(session), line)


def _elsewhere(here: Callable[[Application], bool], there: Callable[[Others], list[str]], line: Line) -> int | None:
    application = Application.from_environ()
    if application.config.storage.engine == FILES:
        return None
    try:
        others = Others.of(application)
        if others is None:
            return None
        try:
            machines = sorted(set(there(others)) | ({others.here} if here(application) else set()))
            if len(machines) > 1:
                raise CommandError(
                    f"several machines have what is meant: {', '.join(machines)}; say which with {OPTION} NAME"
                )
            if not machines or machines == [others.here]:
                return None
            return run_on(others, machines[0], *line())
        finally:
            others.close()
    except CommandError:
        raise
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        # What is on this machine can be answered all the same.
        reason = str(error) if isinstance(error, StoreError) else describe_error(error)
        sys.stderr.write(f"hookrouter: the other machines could not be asked: {printable(reason)}\n")
        return None
