"""``hookrouter answer`` without typer, whose import takes longer than the answer itself.

Agents call it with plain words, ``--name value`` and one argument; :func:`quick` understands just these, and leaves
everything else, faults and ``--help`` included, to the form that typer reads (:mod:`hookrouter_ask_user_question.cli`).
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from hookrouter.application import Application
from hookrouter.names import printable
from hookrouter.outbox import push
from hookrouter.store import StoreError
from hookrouter_ask_user_question import documents
from hookrouter_ask_user_question.answer import AnswerResult, ExitCode, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WAIT", "quick", "run"]

WAIT = 10.0
"""Seconds to wait for what Claude Code records, where ``--wait`` does not say it."""

_MAX_BYTES = 1024 * 1024
_TEXTS = {
    "--session": "session",
    "--file": "file",
    "--tool-use-id": "tool_use_id",
    "--channel": "channel",
    "--wait": "wait",
}
_FLAGS = {"--dry-run": "dry_run", "--json": "as_json"}


def quick(app: Application, words: Sequence[str]) -> int | None:
    """Run ``hookrouter answer`` with these words and return its exit code; None, and nothing done, where typer must."""
    options = read(words)
    return None if options is None else run(app=app, **options)


def read(words: Sequence[str]) -> dict[str, Any] | None:
    """Return the arguments of :func:`run` that these words mean; None where they are not all plain."""
    options: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in _FLAGS:
            options[_FLAGS[word]] = True
        elif name in _TEXTS:
            given = value if equals else next(rest, None)
            if given is None:
                return None
            options[_TEXTS[name]] = given
        elif (word.startswith("-") and word != "-") or "decisions" in options:
            return None
        else:
            options["decisions"] = word
    if "wait" in options:
        try:
            options["wait"] = float(options["wait"])
        except ValueError:
            return None
    return options


def run(
    *,
    app: Application | None = None,
    decisions: str | None = None,
    session: str = "",
    file: str | None = None,
    tool_use_id: str | None = None,
    channel: str | None = None,
    wait: float = WAIT,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Answer, write the result to stdout (a failure to stderr, unless it is JSON), and return the exit code.

    The arguments are those of the command line; see ``hookrouter answer --help``.
    """
    try:
        text = _decisions(decisions, file)
        if not session and not tool_use_id:
            raise _UsageError(f"--session is missing{_waiting()}")
        if not 0 <= wait < float("inf"):
            raise _UsageError("--wait: a number of seconds, 0 or more")
    except _UsageError as error:
        result = AnswerResult(outcome="invalid", exit_code=ExitCode.BAD_INPUT, session=session, reason=str(error))
    else:
        app = app or Application.from_environ()
        push(app.environ, app.home)
        result = answer(
            app,
            session,
            text,
            tool_use_id=tool_use_id,
            channel=channel,
            wait=wait,
            dry_run=dry_run,
        )
    if as_json:
        _write(sys.stdout, json.dumps(result.document()))
        return result.exit_code
    failed = result.exit_code not in (ExitCode.OK, ExitCode.RECORDED_DIFFERENTLY)
    outcome = result.outcome.replace("_", " ")
    lines = [printable(f"{outcome}: {result.reason}" if result.reason else outcome, keep_newlines=True)]
    if failed:
        lines[0] = f"hookrouter answer: {lines[0]}"
    else:
        lines += [f"  {line}" for entry in result.questions for line in _shown(entry)]
    if result.outcome == "planned":
        lines += [printable(f"  {number}. {step}") for number, step in enumerate(result.steps, 1)]
    _write(sys.stderr if failed else sys.stdout, "\n".join(lines))
    return result.exit_code


def _write(stream: Any, text: str) -> None:
    """Write a line; that nobody reads it any more changes nothing about the answer."""
    try:
        stream.write(f"{text}\n")
        stream.flush()
    except BrokenPipeError:
        # What is still buffered would fail again at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _UsageError(Exception):
    """The command line cannot be used."""


def _decisions(argument: str | None, file: str | None) -> str:
    """Return the JSON text from where the command line says it is."""
    if argument is not None and file is not None:
        raise _UsageError("give the decisions either as an argument or with --file, not both")
    if argument is None and file is None:
        raise _UsageError("the decisions are missing: give a JSON array, --file FILE, or --file - for stdin")
    if argument is not None and argument != "-":
        return argument
    try:
        if file is None or file == "-":
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with open(file, "rb") as stream:
                data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise _UsageError(f"the decisions are larger than {_MAX_BYTES} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise _UsageError(f"--file {printable(file or '-')}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise _UsageError(f"the decisions are not UTF-8: {error.reason} at byte {error.start}") from None


def _waiting() -> str:
    try:
        waiting = documents.list_questions(Application.from_environ().store)
        names = list(dict.fromkeys(question.session for question in waiting))
    except StoreError:
        names = []
    return f"; these sessions have a question: {', '.join(names)}" if names else "; no session has a question"


def _shown(entry: Any) -> list[str]:
    """Return the lines about one answered question, both sides where they differ."""
    lines = [f"{printable(entry['question'])}: {printable(entry['intended'])}"]
    if entry["result"] not in ("match", "unknown", "chat"):
        recorded = entry["recorded"]
        shown = recorded if isinstance(recorded, str) else json.dumps(recorded)
        lines = [printable(entry["question"]), f"  intended: {printable(entry['intended'])}"]
        lines.append(f"  recorded: {printable(shown) if recorded is not None else '(nothing)'} ({entry['result']})")
        if entry["result"] == "notes_differ":
            lines.append(f"  intended note: {printable(str(entry.get('intended_notes') or '(none)'))}")
            lines.append(f"  recorded note: {printable(str(entry.get('recorded_notes') or '(none)'))}")
    return lines
