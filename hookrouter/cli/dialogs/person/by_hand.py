"""``hookrouter answer`` without JSON: by the words of the command line, or by a dialog on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from hookrouter.cli.application import Application
from hookrouter.cli.dialogs.answer_request import UsageError
from hookrouter.cli.dialogs.person.asking import choose, from_dialog, from_words, tell
from hookrouter.cli.dialogs.person.plain import Gone, Left
from hookrouter.dialogs.answers.choosing import candidates, undecided
from hookrouter.dialogs.answers.ended import already_ended
from hookrouter.dialogs.answers.identity import AGENT, Author, is_person_there, login_name
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.messaging.spawn import push
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.cli.dialogs.answer_request import Request
    from hookrouter.cli.dialogs.person.asking import Terminal
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["answer_by_hand"]

_LEFT = 130
"""The exit code of a command that a person has left, as of one that Ctrl-C has ended."""


def answer_by_hand(request: Request, terminal: Terminal, author: Author | None) -> AnswerResult:
    """Answer as a person does. ``author`` is who decides; None for whoever runs the command.

    On a terminal that is the person at it, without one an agent. Raises UsageError.
    """
    words = list(request.words)
    if not request.names_question:
        if words and not words[0].strip():
            # Such as of a variable that is not set: without a name any session would be meant.
            raise UsageError("the session's name is empty; --any means the only one that asks")
        request = request._replace(session=words.pop(0)) if words else request._replace(any_session=True)
    is_there = is_person_there(at_terminal=terminal.can_ask)
    if author is None:
        author = Author("person", login_name()) if is_there else AGENT
    author = author._replace(is_present=author.is_person and is_there)
    if not words and (request.as_text or request.as_chat or not terminal.can_ask):
        raise UsageError(
            "the answer is missing: give the number of an option, its label, or words of your own; without any, a "
            "terminal is needed"
        )
    app = Application.from_environ()
    push(app.environ, app.home)
    try:
        if terminal.can_ask and (question := _chosen(app, request, terminal)) is not None:
            request = request._replace(session=question.session, tool_use_id=question.tool_use_id, any_session=False)
        decide = _Decide(app, request, terminal, words)
        return request.answered(app, decide, author)
    except Left:
        return _ended(request, author, "interrupted", _LEFT, "nothing was sent")
    except Gone as gone:
        request = request._replace(session=decide.session, tool_use_id=decide.tool_use_id)
        result = _ended(request, author, "not_delivered", ExitCode.NOT_DELIVERED, str(gone))
        return already_ended(app.store, result, request.tool_use_id)


class _Decide:
    """Has the person decide on the question that is meant."""

    def __init__(self, app: Application, request: Request, terminal: Terminal, words: Sequence[str]) -> None:
        self._app = app
        self._request = request
        self._terminal = terminal
        self._words = words
        self.session = request.session
        """The session of the question that is decided on."""
        self.tool_use_id = request.tool_use_id

    def __call__(self, question: Dialog, form: AskUserQuestionInput) -> list[dict[str, Any]]:
        """Return the decisions in their JSON form. Raises DecisionError, Left or Gone."""
        self.session, self.tool_use_id = question.session, question.tool_use_id
        if self._request.as_chat:
            decisions: list[dict[str, Any]] = [{"action": "chat", "text": " ".join(self._words)}]
            tell(decisions, form, self._say)
            return decisions
        if self._words:
            return from_words(
                self._terminal,
                self._words,
                form,
                as_text=self._request.as_text,
                say=self._say,
                takes_values=_takes_values(question),
            )
        return from_dialog(self._terminal, self._app.store, question, form)

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr if self._request.as_json else sys.stdout, flush=True)


def _takes_values(question: Dialog) -> bool:
    """Whether words that name no option are the values of fields, as a server's form takes them."""
    schema = question.request.get("schema")
    return isinstance(schema, dict) and bool(schema.get("properties"))


def _chosen(app: Application, request: Request, terminal: Terminal) -> Dialog | None:
    """Let the person choose if several questions could be meant; None if there is nothing to choose. Raises Left."""
    if request.tool_use_id is not None:
        return None
    try:
        _, found = candidates(app, request.session, any_session=request.any_session)
        waiting = undecided(app.store, found)
    except StoreError as error:
        raise UsageError(printable(str(error))) from None
    if request.expect is not None:
        waiting = [one for one in waiting if any(request.expect in form["question"] for form in one.questions)]
    return choose(terminal, waiting) if len(waiting) > 1 else None


def _ended(request: Request, author: Author, outcome: str, exit_code: int, reason: str) -> AnswerResult:
    return AnswerResult(
        outcome,
        exit_code,
        request.session,
        reason=reason,
        tool_use_id=request.tool_use_id or "",
        by=author.by,
        who=author.name,
    )
