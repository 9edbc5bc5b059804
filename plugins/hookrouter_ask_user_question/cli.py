"""The commands ``hookrouter answer`` and ``hookrouter questions``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.application import Application
from hookrouter.clock import iso, seconds
from hookrouter.executable import script_argv
from hookrouter.names import printable
from hookrouter.outbox import push
from hookrouter.pause import pauses
from hookrouter.store import StoreError
from hookrouter_ask_user_question import documents
from hookrouter_ask_user_question.formatting import duration

if TYPE_CHECKING:
    from hookrouter.pause import Pause
    from hookrouter_ask_user_question.documents import Question

__all__ = ["answer", "questions"]

_Json = Annotated[bool, typer.Option("--json", help="Write one JSON document for programs.")]


def _open_sessions() -> list[str]:
    """Return the sessions that ask, for a shell that completes."""
    from hookrouter.cli.completion import plain

    return plain(question.session for question in documents.list_questions(Application.from_environ().store))


def answer(
    decisions: Annotated[
        str | None, typer.Argument(metavar="[DECISIONS]", help="The decisions as a JSON array, or - for stdin.")
    ] = None,
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="NAME",
            help='The session that asks; "auto": whichever has the one open question. May be left out with '
            "--tool-use-id.",
            autocompletion=_open_sessions,
        ),
    ] = "",
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Read the decisions from a file, or - for stdin.")
    ] = None,
    tool_use_id: Annotated[
        str | None, typer.Option("--tool-use-id", metavar="ID", help="Answer this question and no other.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="NAME", help="Use this channel instead of the configured ones.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for what Claude Code records; 0: not.")
    ] = 10.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the decisions and show the plan; do nothing.")
    ] = False,
    as_json: _Json = False,
) -> int:
    """Answer the question that a Claude Code session is asking, and say what was recorded.

    \b
    DECISIONS is a JSON array with one decision for each question, in order; options count from 0:
      {"action": "select", "optionIndex": N}
      {"action": "type", "text": T}
      {"action": "multi-select", "selectedIndices": [...], "text": T}
      {"action": "chat", "text": T}          say T instead of answering; the last decision of a form
    "notes": T may go with a choice where options have previews.

    Nothing is done before all of it is checked against the question. The answer goes through the first of the
    configured channels that can serve the session; then this waits until Claude Code has recorded it, and compares.

    \b
    Exit codes, and "outcome" in the --json result:
      0  verified            Claude Code recorded exactly what was meant
         delivered           with --wait 0: on its way, not waited for
         chat                the form was declined, and the text was said
         planned             with --dry-run: "steps" says what would be done
      2  invalid             bad input: nothing was saved, nothing was done
      3  mismatch            recorded differently; "questions" holds intended and recorded, side by side
      4  not_delivered       no such question, several and none named (see "candidates"), or no channel could serve
         paused              a person has paused the session; `hookrouter resume` ends that
         answered_by_person  a person was first
         unanswered          the question was closed without an answer
      5  not_confirmed       delivered, but what was recorded is not known
      128+N  interrupted     by the signal N

    \b
    With --json, the result also has ok, exit_code, session, tool_use_id, channel, reason (one sentence),
    questions (question, intended, recorded, result for each), steps (what was done) and candidates
    (session, tool_use_id, asked_at of the open questions, where none could be chosen).

    \b
    Examples:
      hookrouter answer --session auto '[{"action": "select", "optionIndex": 1}]'
      hookrouter answer --tool-use-id toolu_01AbC --file decisions.json --json
      hookrouter answer --session work --dry-run - < decisions.json
    """
    from hookrouter_ask_user_question.answer_command import run

    return run(
        decisions=decisions,
        session=session,
        file=file,
        tool_use_id=tool_use_id,
        channel=channel,
        wait=wait,
        dry_run=dry_run,
        as_json=as_json,
    )


def questions(
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="NAME",
            help="Only this session, with the whole text.",
            autocompletion=_open_sessions,
        ),
    ] = None,
    dismiss: Annotated[
        str | None, typer.Option("--dismiss", metavar="ID", help="Remove a notice that has been read.")
    ] = None,
    to_watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and write a line when a question opens and when one closes.")
    ] = False,
    as_json: _Json = False,
) -> int:
    """List the questions that wait for an answer, and the notices about questions that are over.

    Each question is shown with its age, its agent and gateway, whether a hook waits beside its dialog to take the
    answer, whether an answer is being delivered, and how often the agent was reminded. With --session, the whole
    message is shown as the agent gets it, with the command that answers it.

    With --watch this goes on until it is interrupted (exit code 130) or nobody reads its output any more: first a line
    for each question that is open, then one whenever a question opens or closes, with how it ended. With --json each
    line is a JSON document: "event" is "opened" or "closed", and the rest is what this command or `hookrouter history`
    shows of the question.

    \b
    With --json: {"questions": [...], "notices": [...], "paused": [...], "missed": [...]}. A question that was asked
    while its session was paused has "missed": true until its agent is woken by `hookrouter resume`; the list "missed"
    holds what was asked during the pauses that last, as `hookrouter history` tells it.

    \b
    Examples:
      hookrouter questions --session work
      hookrouter questions --json | jq -r '.questions[].command'
      hookrouter questions --watch --json | while read -r event; do ...; done

    Exit codes: 0 listed; 1 the state folder cannot be read, or there is no such notice; 2 wrong arguments.
    """
    from hookrouter import notices

    app = Application.from_environ()
    push(app.environ, app.home)
    try:
        if dismiss is not None and not notices.dismiss(app.store, dismiss):
            typer.echo(f"hookrouter questions: there is no notice {_safe(dismiss)}", err=True)
            return 1
        if to_watch:
            from hookrouter_ask_user_question.watching import watch

            return watch(app, lambda one: _entry(app, one, app.outbox.pending()), session, as_json=as_json)
        waiting = [question for question in documents.list_questions(app.store) if session in (None, question.session)]
        kept = notices.listing(app.store, session)
        messages = app.outbox.pending() if waiting else []
        entries = [_entry(app, question, messages) for question in waiting]
        paused = [one for one in pauses(app.store) if session in (None, one.session) or one.session is None]
        missed = _missed(app, paused, session)
    except (StoreError, OSError) as error:
        typer.echo(f"hookrouter questions: {error}", err=True)
        return 1
    if as_json:
        shown = [{key: value for key, value in notice.items() if key != "version"} for notice in kept]
        document = {"questions": entries, "notices": shown, "paused": [one._asdict() for one in paused]}
        typer.echo(json.dumps({**document, "missed": missed}, indent=2))
        return 0
    blocks = [
        _full(app, question) if session is not None else _summary(entry)
        for question, entry in zip(waiting, entries, strict=True)
    ]
    if not blocks:
        of_session = f" in session {_safe(session)}" if session is not None else ""
        blocks = [f"No question is waiting{of_session}."]
    blocks += [_safe(f"{one.described()[:1].upper()}{one.described()[1:]}.") for one in paused]
    if over := [story for story in missed if story["outcome"] != "open"]:
        from hookrouter_ask_user_question.cli_history import story_lines

        blocks.append("\n".join(["Missed during the pause:", *(line for story in over for line in story_lines(story))]))
    blocks += [_notice(notice, whole=session is not None) for notice in kept]
    typer.echo("\n\n".join(blocks))
    return 0


def _missed(app: Application, paused: list[Pause], session: str | None) -> list[dict[str, Any]]:
    """Return what became of the questions that were asked during pauses that last."""
    if not paused:
        return []
    from hookrouter_ask_user_question.cli_pause import missed_since

    return [story for story in missed_since(app, paused) if session in (None, story["session"])]


def _is_hook_waiting(app: Application, question: Question) -> bool:
    """Whether a hook waits beside the dialog, to give the answer to Claude Code at once."""
    from hookrouter.answering import WaitingChannel
    from hookrouter_ask_user_question.answer import FormError, form_of

    channels = [one for one in app.plugins.answer_channels().values() if isinstance(one, WaitingChannel)]
    try:
        form = form_of(question)
        return any(channel.is_waiting(app.store, question.session_id, form) for channel in channels)
    except FormError:
        return False


def _entry(app: Application, question: Question, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a program reads about one question."""
    from hookrouter_ask_user_question.formatting import answer_command
    from hookrouter_ask_user_question.reminders import reminded
    from hookrouter_ask_user_question.sweep import is_being_answered

    pending = documents.read_pending(app.store, question.session, question.tool_use_id)
    told = reminded(question, app.journal.records(question.session_id, seconds(question.saved_at)), messages)
    noted = None
    if pending is not None:
        noted = {
            "saved_at": pending.saved_at,
            "channel": pending.channel,
            "running": is_being_answered(app.store, question),
        }
    return {
        "session": question.session,
        "session_id": question.session_id,
        "tool_use_id": question.tool_use_id,
        "asked_at": question.saved_at,
        "age_seconds": _age(question.saved_at),
        "agent": question.agent,
        "gateway": question.gateway,
        "cwd": question.cwd,
        "permission_mode": question.permission_mode,
        "terminal": question.terminal._asdict() if question.terminal is not None else None,
        "questions": question.questions,
        "pending_answer": noted,
        "hook_waits": _is_hook_waiting(app, question),
        "missed": question.missed,
        "client_gone": documents.is_client_gone(question),
        "reminded_at": list(told.reminders),
        "escalated_at": told.escalated_at,
        "next_reminder_at": told.next_at,
        "command": answer_command(question, script_argv(), os.environ),
    }


def _summary(entry: dict[str, Any]) -> str:
    age, terminal, pending = entry["age_seconds"], entry["terminal"], entry["pending_answer"]
    facts = [f"asked {duration(age)} ago" if age is not None else "", entry["tool_use_id"]]
    facts += [f"pane {terminal['target']}" if terminal else "no terminal", f"agent {entry['agent']}"]
    facts.append(f"gateway {entry['gateway']}")
    if entry["missed"]:
        facts.append("missed: the agent was not woken, because the session was paused")
    if entry["client_gone"]:
        facts.append("its client has ended")
    if entry["hook_waits"]:
        facts.append("a hook waits for the answer")
    if pending:
        how = f"by {pending['channel']}" if pending["channel"] else ""
        state = "is being delivered" if pending["running"] else "was delivered or given up"
        facts.append(f"an answer {state} {how}".strip())
    if entry["reminded_at"]:
        count = len(entry["reminded_at"])
        facts.append("reminded once" if count == 1 else f"reminded {count} times")
    if entry["escalated_at"]:
        facts.append(f"escalated {duration(_age(entry['escalated_at']) or 0)} ago")
    lines = [f"{_safe(entry['session'])}: {_safe(', '.join(filter(None, facts)))}"]
    for number, form in enumerate(entry["questions"], 1):
        labels = " | ".join(f"{index} {option['label']}" for index, option in enumerate(form["options"]))
        lines += [_safe(f"  {number}. {form['question']}"), _safe(f"     {labels}")]
    return "\n".join(lines)


def _full(app: Application, question: Question) -> str:
    from hookrouter.prompts import read_prompt
    from hookrouter_ask_user_question.formatting import question_message

    try:
        prompt = read_prompt(app.home, "ask_user_question.md")
    except OSError:
        prompt = ""
    others = documents.others(app.store, question)
    return question_message(question, script_argv(), os.environ, prompt, others).rstrip()


def _notice(notice: dict[str, Any], *, whole: bool) -> str:
    head = f"Notice {notice.get('id', '')} ({notice.get('created_at', '')}): {notice.get('subject', '')}"
    return f"{_safe(head)}\n{_text(str(notice.get('text', '')))}".rstrip() if whole else _safe(head)


def _age(saved_at: str) -> float | None:
    """Return the seconds since an ISO 8601 time; None for one that is none."""
    from datetime import datetime

    try:
        then, now = datetime.fromisoformat(saved_at), datetime.fromisoformat(iso())
        return max(0.0, round((now - then).total_seconds(), 1))
    except (ValueError, TypeError):
        return None


def _safe(text: str) -> str:
    return printable(text)


def _text(text: str) -> str:
    return printable(text, keep_newlines=True)
