"""The process that gives an answer for the page. Imports no typer."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from typing import Any

from hookrouter._fleet.errands import PAGE_ANSWER
from hookrouter.cli.application import Application
from hookrouter.dialogs.answers.answer import answer as give_answer
from hookrouter.dialogs.answers.identity import Author
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.machines import ErrandError
from hookrouter.messaging.spawn import push
from hookrouter.storage.interface import StoreError

__all__ = ["answer"]

_MOST_BYTES = 1024 * 1024


def answer() -> int:
    """Give the answer of a person at the page: read it from stdin, write the result to stdout. Returns the exit code.

    Read is a JSON object: ``session``, ``tool_use_id``, ``decisions`` on the dialog's form as ``hookrouter answer``
    takes them of a question, ``who``, ``wait`` (seconds) and, if it is another one, ``machine``. Written is what
    ``hookrouter answer --json`` writes.
    """
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read(_MOST_BYTES))
    app = Application.from_environ()
    machine = request.pop("machine", "")
    if machine:
        code, text = _answer_on(machine, app, request)
        return _told(code, text)
    push(app.environ, app.home)
    result = give_answer(
        app,
        request["session"],
        lambda _question, _form: request["decisions"],
        tool_use_id=request["tool_use_id"],
        wait=float(request["wait"]),
        author=Author("person", request["who"], is_present=True),
    )
    return _told(result.exit_code, json.dumps(result.document()))


def _answer_on(machine: str, app: Application, request: dict[str, Any]) -> tuple[int, str]:
    """Have another machine give the answer; return the exit code, and what it writes."""
    session, tool_use_id = request["session"], request["tool_use_id"]
    try:
        with closing(app.machines()) as others:
            if not others.here:
                raise StoreError("no machines share an engine here any more")
            done = others.run(machine, PAGE_ANSWER, json.dumps(request))
    except StoreError as error:
        is_open = isinstance(error, ErrandError) and error.may_have_run
        outcome, code = (
            ("not_confirmed", ExitCode.NOT_CONFIRMED) if is_open else ("not_delivered", ExitCode.NOT_DELIVERED)
        )
        result = AnswerResult(outcome, code, session, tool_use_id=tool_use_id, reason=str(error), by="person")
        return code, json.dumps(result.document())
    sys.stderr.write(done.stderr)
    return done.code, done.stdout


def _told(code: int, text: str) -> int:
    try:
        os.write(1, text.encode("ascii", "backslashreplace"))
    except OSError:
        # The page is gone, and the answer is given all the same.
        return code
    return code
