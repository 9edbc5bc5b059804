"""The command ``hookrouter questions``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hookrouter.answering.interfaces import answer_channels
from hookrouter.cli.application import Application
from hookrouter.cli.completion import open_sessions
from hookrouter.cli.errand import refuse_endless
from hookrouter.cli.fleet.asking import Kept, echo_others, with_others
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.options import Json  # noqa: TC001 - typer reads it
from hookrouter.dialogs import documents
from hookrouter.dialogs.kinds import find_kind
from hookrouter.dialogs.messages.reader import start_of_reader
from hookrouter.messaging.pauses import pauses
from hookrouter.messaging.spawn import push, spawn_delivery
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import iso, local, now, seconds
from hookrouter.util.program import script_argv
from hookrouter.util.text import duration, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.dialogs.columns import Story
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.pauses import Pause
    from hookrouter.storage.interface import DocumentStore

__all__ = ["questions"]

_LINES = 12
"""Of a longer text, such as a plan, the list shows so many lines."""
_REASON = 120
"""Characters of why an answer was refused that are shown."""


@on_any_machine("questions")
def questions(
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="NAME", help="Only this session, with the whole text.", autocompletion=open_sessions
        ),
    ] = None,
    dismiss: Annotated[
        list[str] | None,
        typer.Option(
            "--dismiss", metavar="ID", help='Remove a notice that has been read; "all": every notice. Repeatable.'
        ),
    ] = None,
    tool_use_id: Annotated[
        str | None, typer.Option("--tool-use-id", metavar="ID", help="Only this question, with the whole text.")
    ] = None,
    to_guide: Annotated[
        bool,
        typer.Option("--guidance", help="Show the advice on how to decide that an agent gets with its first question."),
    ] = False,
    to_watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and print a line whenever a question opens or closes.")
    ] = False,
    as_json: Json = False,
) -> int:
    """List the open questions, and the notices about questions that have ended.

    Permissions, plans, forms of MCP servers and other dialogs that wait are listed as well, by their kind.

    Each question is shown with its age, its agent and gateway, whether a hook waits beside its dialog to take the
    answer, whether an answer is being delivered, how often the agent was reminded, and whether it took the question and
    gives no sign. With --session or --tool-use-id, the whole message is shown as the agent gets it, with the command
    that answers it. What was asked while config.toml had mistakes goes to the agents that it names now.

    With --guidance nothing is listed: the advice on how to decide is shown, for the project of the session's question,
    or without one for the project in this folder.

    With --watch this runs until it is interrupted (exit code 130) or nobody reads its output any more: first a line
    for each question that is open, then one whenever a question opens or closes, with how it ended. With --json each
    line is a JSON document: "event" is "opened" or "closed", and the rest is what this command or `hookrouter history`
    shows of the question.

    \b
    With --json: {"questions": [...], "notices": [...], "paused": [...], "missed": [...]}. Of each question, "kind" is
    question, permission, plan, elicitation, blocked or one that a plugin contributes, "request" what a dialog other
    than a question is about, "command" is what an agent puts before its JSON, and "by_hand" the line that a person
    types. A question that was asked while its session was paused has "missed": true until its agent is woken by
    `hookrouter resume`; the list "missed" holds what was asked during the pauses that last, as `hookrouter history`
    tells it.

    \b
    Examples:
      hookrouter questions --session work
      hookrouter questions --guidance
      hookrouter questions --dismiss all
      hookrouter questions --json | jq -r '.questions[].command'
      hookrouter questions --watch --json | while read -r event; do ...; done

    Exit codes: 0 listed; 1 the state folder cannot be read, or there is no such notice; 2 wrong arguments.
    """
    app = Application.from_environ()
    push(app.environ, app.home)
    try:
        if unknown := _dismiss(app, dismiss or (), session):
            typer.echo(f"hookrouter questions: there is no notice {_safe(', '.join(unknown))}", err=True)
            return 1
        if to_guide:
            typer.echo(_text(_guidance(app, session, tool_use_id)))
            return 0
        if to_watch:
            refuse_endless("questions --watch")
            from hookrouter.cli.dialogs.watching import watch

            return watch(app, lambda one: _entry(app, one, app.outbox.pending()), session, as_json=as_json)
        _bring_to_agents(app)
        listing = _listing(app, session, tool_use_id)
    except (StoreError, OSError) as error:
        typer.echo(f"hookrouter questions: {error}", err=True)
        return 1
    options = [("--session", session), ("--tool-use-id", tool_use_id)]
    words = ["questions", *(f"{name}={value}" for name, value in options if value is not None)]
    kept = Kept(
        lambda store: {"questions": _entries_elsewhere(store, session, tool_use_id)},
        lambda store: "\n\n".join(_summary(app, one) for one in _entries_elsewhere(store, session, tool_use_id)).split(
            "\n"
        ),
    )
    if as_json:
        found = with_others(app, listing.document(), [*words, "--json"], ["questions"], kept=kept)
        typer.echo(json.dumps(found, indent=2))
    else:
        typer.echo("\n\n".join(listing.blocks(app)))
        echo_others(app, words, kept=kept)
    return 0


class _Listing(NamedTuple):
    """What one call lists: of one session or of one question, if it asks for these."""

    session: str | None
    tool_use_id: str | None
    waiting: list[Dialog]
    entries: list[dict[str, Any]]
    """What a program reads about each of these."""
    notices: list[dict[str, Any]]
    paused: list[Pause]
    missed: list[Story]
    """What became of the questions that were asked during these pauses."""

    def document(self) -> dict[str, Any]:
        """Return this as JSON."""
        return {
            "questions": self.entries,
            "notices": [{key: value for key, value in one.items() if key != "version"} for one in self.notices],
            "paused": [one._asdict() for one in self.paused],
            "missed": self.missed,
        }

    def blocks(self, app: Application) -> list[str]:
        """Return this for people, in paragraphs."""
        if self.session is None and self.tool_use_id is None:
            blocks = [_summary(app, entry) for entry in self.entries]
        else:
            blocks = [_full(app, question) for question in self.waiting]
        if not blocks:
            of_session = f" in session {_safe(self.session)}" if self.session is not None else ""
            blocks = [f"No question is waiting{of_session}."]
        notices = (_notice(one, whole=self.session is not None) for one in self.notices)
        return [*blocks, *_pause_blocks(self.paused, self.missed), *notices]


def _listing(app: Application, session: str | None, tool_use_id: str | None) -> _Listing:
    """Read what is to be listed. Raises StoreError, OSError."""
    from hookrouter.messaging import notices

    waiting = _waiting(app.store, session, tool_use_id)
    kept = notices.listing(app.store, session)
    messages = app.outbox.pending() if waiting else []
    entries = [_entry(app, question, messages) for question in waiting]
    paused = [one for one in pauses(app.store) if session in (None, one.session) or one.session is None]
    return _Listing(session, tool_use_id, waiting, entries, kept, paused, _missed(app, paused, session))


def _bring_to_agents(app: Application) -> None:
    """Bring what was asked while config.toml had problems to the agents that it names now.

    And what could not be saved when it was asked. Raises StoreError.
    """
    from hookrouter.dialogs.unsaved import open_unsaved

    open_unsaved(app)
    found = documents.list_questions(app.store)
    if any(question.provisional for question in found):
        from hookrouter.dialogs.rerouting import reroute

        if reroute(app, found):
            try:
                spawn_delivery(app.environ, app.home)
            except OSError as error:
                app.warn(f"no deliverer could be started: {error}")


def _pause_blocks(paused: list[Pause], missed: list[Story]) -> Iterator[str]:
    """Yield what is said of the pauses that last, and of the questions that have ended during them."""
    for one in paused:
        yield _safe(f"{one.described()[:1].upper()}{one.described()[1:]}.")
    if ended := [story for story in missed if story["outcome"] != "open"]:
        from hookrouter.cli.dialogs.history import story_lines

        yield "\n".join(["Missed during the pause:", *(line for story in ended for line in story_lines(story))])


def _dismiss(app: Application, names: Sequence[str], session: str | None) -> list[str]:
    """Remove notices by their ids, or all (of a session); return the ids that no notice has. Raises StoreError."""
    from hookrouter.messaging import notices

    if "all" in names:
        notices.dismiss_all(app.store, session)
        return []
    return [name for name in names if not notices.dismiss(app.store, name)]


def _missed(app: Application, paused: list[Pause], session: str | None) -> list[Story]:
    """Return what became of the questions that were asked during pauses that last."""
    if not paused:
        return []
    from hookrouter.cli.dialogs.pause import missed_since

    return [story for story in missed_since(app, paused) if session in (None, story["session"])]


def _is_hook_waiting(app: Application, question: Dialog) -> bool:
    """Whether a hook waits beside the dialog, to give the answer to Claude Code at once."""
    from hookrouter.dialogs.answers.channels import is_awaited
    from hookrouter.dialogs.form import FormError, form_of

    try:
        form = form_of(question)
        return any(is_awaited(app, question, form, one) for one in answer_channels(app.plugins).values())
    except FormError:
        return False


def _entry(app: Application, question: Dialog, messages: list[QueuedMessage]) -> dict[str, Any]:
    """Return what a program reads about one question."""
    from hookrouter.dialogs.messages.reminders import refused_answers, reminded, silent_since

    pending = documents.read_pending(app.store, question.session, question.tool_use_id)
    records = list(app.journal.records(question.session_id, seconds(question.saved_at)))
    told = reminded(question, records, messages)
    noted = None
    if pending is not None:
        noted = {
            "saved_at": pending.saved_at,
            "channel": pending.channel,
            "running": documents.is_being_answered(app.store, question),
        }
    return {
        **_facts(question, is_alone=not documents.others(app.store, question)),
        "pending_answer": noted,
        "hook_waits": _is_hook_waiting(app, question),
        "client_gone": documents.is_client_gone(question),
        "reminded_at": list(told.reminders),
        "escalated_at": told.escalated_at,
        "next_reminder_at": told.next_at,
        "agent_silent_since": silent_since(question, records, app.config, now()),
        "refused_answers": refused_answers(question, records),
    }


def _entries_elsewhere(store: DocumentStore, session: str | None, tool_use_id: str | None) -> list[dict[str, Any]]:
    """Return the same about the questions of a machine that cannot be asked. Raises StoreError.

    What only it knows is not known: nothing waits there, and nothing is sent.
    """
    unknown: dict[str, Any] = {
        "pending_answer": None,
        "hook_waits": False,
        "client_gone": False,
        "reminded_at": [],
        "escalated_at": None,
        "next_reminder_at": None,
        "agent_silent_since": None,
        "refused_answers": None,
    }
    return [{**_facts(one, is_alone=False), **unknown} for one in _waiting(store, session, tool_use_id)]


def _facts(question: Dialog, *, is_alone: bool) -> dict[str, Any]:
    from hookrouter.dialogs.messages.formatting import answer_command
    from hookrouter.dialogs.messages.words import line_to_type

    reader = start_of_reader()
    return {
        "kind": question.kind,
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
        "request": {key: value for key, value in question.request.items() if key not in ("how", "answer_schema")},
        "missed": question.missed,
        "command": answer_command(question, *(reader or (script_argv(), os.environ))),
        # Where another machine reads it, the name alone may be that of a session there.
        "by_hand": line_to_type(question, is_alone=reader is None and is_alone),
    }


def _summary(app: Application, entry: dict[str, Any]) -> str:
    age, terminal, pending = entry["age_seconds"], entry["terminal"], entry["pending_answer"]
    facts = [f"asked {duration(age)} ago" if age is not None else "", entry["tool_use_id"]]
    facts += [entry["kind"]] if entry["kind"] != documents.FORM else []
    facts += [f"pane {terminal['target']}" if terminal else "no terminal", f"agent {entry['agent'] or 'not known yet'}"]
    facts.append(f"gateway {entry['gateway']}")
    if entry["missed"]:
        why = "because the session was paused" if entry["agent"] else "because config.toml has problems and names none"
        facts.append(f"missed: the agent was not woken, {why}")
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
    if entry["agent_silent_since"]:
        facts.append(f"no sign of the agent for {duration(_age(entry['agent_silent_since']) or 0)}")
    if refused := entry["refused_answers"]:
        from hookrouter.dialogs.messages.formatting import one_line

        times = "once" if refused["count"] == 1 else f"{refused['count']} times"
        reason = one_line(refused["reason"])[:_REASON]
        facts.append(f"an answer refused {times}, {duration(_age(refused['last_at']) or 0)} ago: {reason}")
    if entry["escalated_at"]:
        facts.append(f"escalated {duration(_age(entry['escalated_at']) or 0)} ago")
    lines = [f"{_safe(entry['session'])}: {_safe(', '.join(filter(None, facts)))}"]
    for number, form in enumerate(entry["questions"], 1):
        more = " (any number of them)" if form.get("multiSelect") else ""
        first, *others = f"{form['question']}{more}".split("\n")
        shown = [f"  {number}. {first}", *(f"     {line}" for line in others if line.strip())]
        lines += map(_safe, shown[:_LINES])
        if len(shown) > _LINES:
            lines.append(f"     ({len(shown) - _LINES} more lines: hookrouter questions --session NAME)")
        for index, option in enumerate(form["options"]):
            lines.append(_safe(f"     {index}  {option['label']}"))
            if isinstance(description := option.get("description"), str) and description:
                lines.append(_safe(f"        {description}"))
    lines += [_safe(f"  To answer: {entry['by_hand']}"), "             or without numbers, to be asked"]
    kind = find_kind(app.plugins, entry["kind"])
    if kind is not None and kind.commands:
        which = f"--tool-use-id {entry['tool_use_id']}"
        short = ", ".join(f"hookrouter {name} {which}{text}" for name, text in kind.commands)
        lines.append(_safe(f"             or: {short}"))
    return "\n".join(lines)


def _waiting(store: DocumentStore, session: str | None, tool_use_id: str | None) -> list[Dialog]:
    """Return the open questions, of one session or with one id if these are given. Raises StoreError."""
    return [
        question
        for question in documents.list_questions(store)
        if session in (None, question.session) and tool_use_id in (None, question.tool_use_id)
    ]


def _full(app: Application, question: Dialog) -> str:
    from hookrouter.dialogs.composer import surroundings
    from hookrouter.dialogs.guidance import guidance
    from hookrouter.dialogs.messages.formatting import question_message

    others, around = documents.others(app.store, question), surroundings(question, app)
    start = start_of_reader() or (script_argv(), os.environ)
    has_guidance = bool(guidance(app, question.cwd, question.kind).strip())
    text = question_message(question, *start, "", others, surroundings=around, has_guidance=has_guidance)
    return text.rstrip()


def _guidance(app: Application, session: str | None, tool_use_id: str | None) -> str:
    from hookrouter.dialogs.guidance import guidance

    waiting = _waiting(app.store, session, tool_use_id) if session or tool_use_id else []
    return guidance(app, waiting[0].cwd, waiting[0].kind) if waiting else guidance(app, os.getcwd())


def _notice(notice: dict[str, Any], *, whole: bool) -> str:
    head = f"Notice {notice.get('id', '')} ({local(notice.get('created_at') or '')}): {notice.get('subject', '')}"
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
