"""What ``hookrouter answer`` reads and writes: the decisions from where they are, the result for people or programs.

An agent gives JSON; what is none is a person's, see :mod:`hookrouter.cli.dialogs.person`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from hookrouter.cli.application import Application
from hookrouter.cli.dialogs.answer_request import UsageError, check_options
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.option import SeveralMachinesError
from hookrouter.cli.fleet.routing import dialog_of
from hookrouter.cli.text_file import read_text
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.identity import AGENT, Author, author_option, is_person_there
from hookrouter.dialogs.answers.result import AnswerResult, ExitCode
from hookrouter.dialogs.messages.formatting import one_line
from hookrouter.dialogs.messages.words import is_json
from hookrouter.machines import ErrandError
from hookrouter.messaging.spawn import push
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from typing import TextIO

    from hookrouter.cli.dialogs.answer_request import Request
    from hookrouter.cli.fleet.option import Call, Find, Options
    from hookrouter.dialogs.documents import Dialog

__all__ = ["dialog_meant", "run", "told"]


def dialog_meant(options: Options) -> Find | None:
    """Return what looks for the machine whose dialog ``hookrouter answer`` is to answer; None if nothing says which.

    A person who gives no answer chooses among those of all machines.
    """
    words, session, tool_use_id = options["words"] or (), options["session"], options["tool_use_id"]
    if not words and options["file"] is None:
        return None
    if not (session or tool_use_id or options["any_session"]):
        if not words or is_json(words[0]):
            return None
        session = words[0]
    return dialog_of(session, tool_use_id)


def told(call: Call, error: CommandError | ErrandError) -> int:
    """Write that no machine has answered, as ``hookrouter answer`` writes a result; return the exit code."""
    result = _refused(error, call.options["session"])
    return _write_result(result, call.command, as_json=call.options["as_json"])


def run(request: Request) -> int:
    """Answer, write the result to stdout (a failure to stderr, unless it is JSON), and return the exit code.

    What another machine asks is answered there, and it writes the result.
    """
    if len(request.words) == 2 and not request.names_question and is_json(request.words[1], or_nothing=False):
        request = request._replace(session=request.words[0], words=request.words[1:])
    try:
        author = None if request.author is None else _author(request.author)
        result = _answered(request, author)
    except (UsageError, CommandError, ErrandError) as error:
        result = _refused(error, request.session)
    return result if isinstance(result, int) else _write_result(result, request.command, as_json=request.as_json)


def _refused(error: UsageError | CommandError | ErrandError, session: str) -> AnswerResult:
    """Return why nothing was answered, or may not have been."""
    if isinstance(error, ErrandError) and error.may_have_run:
        return AnswerResult("not_confirmed", ExitCode.NOT_CONFIRMED, "", reason=str(error))
    if isinstance(error, ErrandError):
        return AnswerResult("not_delivered", ExitCode.NOT_DELIVERED, "", reason=str(error))
    if isinstance(error, SeveralMachinesError):
        candidates = tuple(_candidate(machine, one) for machine, found in error.found.items() for one in found)
        return AnswerResult("not_delivered", ExitCode.NOT_DELIVERED, session, reason=str(error), candidates=candidates)
    return AnswerResult("invalid", ExitCode.BAD_INPUT, session, reason=str(error))


def _candidate(machine: str, question: Dialog) -> dict[str, str]:
    return {
        "machine": machine,
        "session": question.session,
        "tool_use_id": question.tool_use_id,
        "asked_at": question.saved_at,
    }


def _write_result(result: AnswerResult, command: str, *, as_json: bool) -> int:
    """Write a result for a program or a person; return its exit code."""
    if as_json:
        _write(sys.stdout, json.dumps(result.document()))
        return result.exit_code
    failed = result.exit_code not in (ExitCode.OK, ExitCode.RECORDED_DIFFERENTLY)
    _write(sys.stderr if failed else sys.stdout, "\n".join(_told(result, command, failed=failed)))
    return result.exit_code


def _author(option: str) -> Author:
    try:
        return author_option(option)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _answered(request: Request, author: Author | None) -> AnswerResult | int:
    """Answer with an agent's JSON, or without it as a person does.

    Return the exit code alone if a machine has answered that the person has chosen. Raises UsageError, CommandError and
    ErrandError.
    """
    if request.is_json:
        text = _decisions(request)
    else:
        from hookrouter.cli.dialogs.person.asking import Terminal
        from hookrouter.cli.dialogs.person.by_hand import answer_by_hand

        terminal = Terminal.here(os.environ, request.plain)
        if terminal.can_ask and not request.words:
            from hookrouter.cli.dialogs.person.anywhere import chosen_anywhere

            chosen = chosen_anywhere(request, terminal)
            if isinstance(chosen, int):
                return chosen
            request = chosen
        if request.words or terminal.can_ask:
            check_options(request)
            return answer_by_hand(request, terminal, author)
        # There is none, and this says so.
        text = _decisions(request)
    check_options(request)
    if not request.names_question:
        raise UsageError(f"--session is missing{_waiting()}")
    app = Application.from_environ()
    push(app.environ, app.home)
    if author is not None and author.is_person:
        from hookrouter.cli.dialogs.person.asking import Terminal

        author = author._replace(is_present=is_person_there(at_terminal=Terminal.here(os.environ).can_ask))
    return request.answered(app, text, author or AGENT)


def _told(result: AnswerResult, command: str, *, failed: bool) -> list[str]:
    """Return the lines of a result for people."""
    outcome, reason = result.outcome.replace("_", " "), result.reason
    is_persons = result.by == "person"
    if is_persons and result.outcome == "verified":
        outcome, reason = "recorded exactly", "Claude Code recorded what you meant"
    lines = [printable(f"{outcome}: {reason}" if reason else outcome, keep_newlines=True)]
    if failed:
        lines[0] = f"hookrouter {command}: {lines[0]}"
    else:
        lines += [f"  {line}" for entry in result.questions for line in _shown(entry)]
    if result.outcome == "planned":
        lines += [printable(f"  {number}. {step}") for number, step in enumerate(result.steps, 1)]
    return lines


def _write(stream: TextIO, text: str) -> None:
    """Write a line. If it cannot be written, that changes nothing about the answer, nor its exit code."""
    try:
        encoding = stream.encoding or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except (OSError, ValueError):
        # What is still buffered would fail again at the interpreter's end.
        _discard(stream)


def _discard(stream: TextIO) -> None:
    try:
        target = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, target)
        os.close(null)
    except (OSError, ValueError):
        return


def _decisions(request: Request) -> str:
    """Return the JSON text from where the command line says it is. Raises UsageError, CommandError."""
    file = request.file
    if len(request.words) > 1:
        raise UsageError("give the JSON array alone, as one argument")
    argument = request.words[0] if request.words else None
    if argument is not None and file is not None:
        raise UsageError("give the decisions either as an argument or with --file, not both")
    if argument is None and file is None:
        raise UsageError("the decisions are missing: give a JSON array, --file FILE, or --file - for stdin")
    if argument is not None and argument != "-":
        return argument
    return read_text("-" if file is None else file)


def _waiting() -> str:
    try:
        waiting = documents.list_questions(Application.from_environ().store)
        names = list(dict.fromkeys(question.session for question in waiting))
    except StoreError:
        names = []
    return f"; these sessions have a question: {', '.join(names)}" if names else "; no session has a question"


def _shown(entry: Any) -> list[str]:
    """Return the lines about one answered question, both sides if they differ."""
    lines = [f"{printable(one_line(entry['question']))}: {printable(entry['intended'])}"]
    if entry["result"] not in ("match", "unknown", "chat"):
        recorded = entry["recorded"]
        shown = recorded if isinstance(recorded, str) else json.dumps(recorded)
        lines = [printable(one_line(entry["question"])), f"  intended: {printable(entry['intended'])}"]
        lines.append(f"  recorded: {printable(shown) if recorded is not None else '(nothing)'} ({entry['result']})")
        if entry["result"] == "notes_differ":
            lines.append(f"  intended note: {printable(str(entry.get('intended_notes') or '(none)'))}")
            lines.append(f"  recorded note: {printable(str(entry.get('recorded_notes') or '(none)'))}")
    return lines
