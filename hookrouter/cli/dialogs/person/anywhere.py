"""``hookrouter answer`` at a terminal, without an answer: the person chooses among the questions of all machines."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from hookrouter.cli.application import Application
from hookrouter.cli.dialogs.answer_request import UsageError
from hookrouter.cli.dialogs.person.asking import choose, from_dialog
from hookrouter.cli.dialogs.person.plain import Gone, Left
from hookrouter.cli.fleet.asking import run_on
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import AUTO, undecided
from hookrouter.dialogs.answers.result import ExitCode
from hookrouter.dialogs.elsewhere import open_elsewhere
from hookrouter.dialogs.form import FormError, form_of
from hookrouter.machines import ErrandError
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from hookrouter.cli.dialogs.answer_request import Request
    from hookrouter.cli.dialogs.person.asking import Terminal
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.elsewhere import Elsewhere
    from hookrouter.machines import Machines

__all__ = ["chosen_anywhere"]

_LEFT = 130
"""The exit code of a command that a person has left, as of one that Ctrl-C has ended."""


def chosen_anywhere(request: Request, terminal: Terminal) -> Request | int:
    """Let the person choose and fill in a question of another machine, and have that answer; return the exit code.

    If a question of this machine is chosen, or none of another one is meant, return the request that goes on here.
    Raises UsageError, and ErrandError.
    """
    application = Application.from_environ()
    if request.as_text or request.as_chat:
        return request
    with closing(application.machines()) as others:
        return _chosen_among(application, others, request, terminal)


def _chosen_among(application: Application, others: Machines, request: Request, terminal: Terminal) -> Request | int:
    try:
        found = [one for one in open_elsewhere(others) if _is_meant(request, one.question)]
    except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
        # What is on this machine can be answered all the same.
        reason = str(error) if isinstance(error, StoreError) else describe_error(error)
        sys.stderr.write(f"hookrouter: the other machines could not be asked: {printable(reason)}\n")
        return request
    if not found:
        return request
    try:
        return _chosen(application, others, found, request, terminal)
    except Left:
        sys.stderr.write(f"hookrouter {request.command}: interrupted: nothing was sent\n")
        return _LEFT
    except Gone as gone:
        sys.stderr.write(f"hookrouter {request.command}: not delivered: {printable(str(gone))}\n")
        return ExitCode.NOT_DELIVERED
    except ErrandError:
        raise
    except StoreError as error:
        raise UsageError(str(error)) from None


def _chosen(
    application: Application, others: Machines, found: list[Elsewhere], request: Request, terminal: Terminal
) -> Request | int:
    here = [one for one in documents.list_questions(application.store) if _is_meant(request, one)]
    waiting = undecided(application.store, here)
    shown = [*waiting, *(_named(one) for one in found)]
    number = shown.index(choose(terminal, shown)) if len(shown) > 1 else 0
    if number < len(waiting):
        one = waiting[number]
        return request._replace(session=one.session, tool_use_id=one.tool_use_id, any_session=False)
    machine, question = found[number - len(waiting)]
    try:
        form = form_of(question)
    except FormError as error:
        raise UsageError(f"this question cannot be shown here: {error}") from None
    decisions = from_dialog(terminal, others.store(machine), question, form)
    meant = request._replace(session="", any_session=False, tool_use_id=question.tool_use_id)
    author = [] if request.author else ["--as=person"]
    return run_on(others, machine, [*meant.options(), *author, "--file=-"], json.dumps(decisions))


def _named(one: Elsewhere) -> Dialog:
    """Return a question as a person sees it in the list: with its machine."""
    return one.question._replace(session=f"{one.question.session} on {one.machine}")


def _is_meant(request: Request, question: Dialog) -> bool:
    if request.expect is not None and not any(request.expect in form["question"] for form in question.questions):
        return False
    if request.tool_use_id is not None:
        return question.tool_use_id == request.tool_use_id
    return request.session in ("", AUTO, question.session)
