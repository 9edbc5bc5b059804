"""The process that gives an answer for the page: ``python -m hookrouter_page.entry``. Imports no typer."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hookrouter.cli.application import Application
from hookrouter.dialogs.answers.answer import answer as give_answer
from hookrouter.dialogs.answers.identity import Author
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.machines import ErrandError
from hookrouter.messaging.spawn import push
from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["answer"]

_MOST_BYTES = 1024 * 1024


def answer() -> int:
    """Give the answer of a person at the page: read it from stdin, write the result to stdout. Returns the exit code.

    Read is a JSON object: ``session``, ``tool_use_id``, ``decisions`` as ``hookrouter answer`` takes them, ``who``,
    ``wait`` (seconds) and, if it is another one, ``machine``. Written is what that command writes with ``--json``.
    """
    request: dict[str, Any] = json.loads(sys.stdin.buffer.read(_MOST_BYTES))
    app = Application.from_environ()
    if request.get("machine"):
        return _told(*_answer_on(app, request))
    push(app.environ, app.home)
    result = give_answer(
        app,
        request["session"],
        json.dumps(request["decisions"]),
        tool_use_id=request["tool_use_id"],
        wait=float(request["wait"]),
        author=Author("person", request["who"], is_present=True),
    )
    return _told(result.exit_code, json.dumps(result.document()))


def _answer_on(app: Application, request: Mapping[str, Any]) -> tuple[int, str]:
    """Have another machine give the answer; return the exit code, and what it writes."""
    session, tool_use_id, who = request["session"], request["tool_use_id"], request["who"]
    of_question = (f"--session={session}", f"--tool-use-id={tool_use_id}", f"--wait={request['wait']}")
    words = ("answer", *of_question, f"--as=person:{who}" if who else "--as=person", "--json", "--file=-")
    try:
        with closing(app.machines()) as others:
            if not others.here:
                raise StoreError("no machines share an engine here any more")
            # Whoever is logged in here is there, as a person at a terminal is.
            done = others.run(request["machine"], words, json.dumps(request["decisions"]), person=who or "person")
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


if __name__ == "__main__":
    sys.exit(answer())
