"""The command ``hookrouter history``."""

from __future__ import annotations

import json
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.asking import AWAY, echo_others, with_others
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.options import earliest
from hookrouter.dialogs.columns import COLUMNS, whole
from hookrouter.dialogs.documents import FORM
from hookrouter.dialogs.messages.formatting import one_line
from hookrouter.dialogs.stories.history import history as read_history
from hookrouter.dialogs.stories.story import OPEN
from hookrouter.messaging.spawn import push
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import local
from hookrouter.util.text import duration, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.cli.fleet.option import Call
    from hookrouter.machines import Machines

__all__ = ["history", "story_lines"]


def _away(call: Call, machines: Machines, machine: str) -> int | None:
    """Tell what the engine keeps of a machine that is not there, if it does; return the exit code."""
    asked = call.options
    try:
        if machines.is_there(machine):
            return None
    except Exception:  # noqa: BLE001 - an engine of a third party may raise anything; whoever asks it next says it
        return None
    found = machines.stories(asked["session"], _begin(asked["since"], asked["limit"]), asked["limit"], machine)
    if machine not in found:
        return None
    if asked["as_json"]:
        rows = [{**whole(story), "machine": machine} for story in found[machine]]
        typer.echo(json.dumps({"questions": rows, "machines": [{"machine": machine, "problem": AWAY}]}, indent=2))
    else:
        typer.echo(f"Machine {printable(machine)}: {AWAY}; this is what it had written before:")
        _tell(found[machine], asked["session"])
    return 0


@on_any_machine("history", away=_away)
def history(
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="Only the questions of this session.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Only what was asked or ended since then: 45s, 30m, 2h, 3d, 1w, or an ISO 8601 date or time "
            "(local unless it says otherwise).",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Only the last N questions; 0: all.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document for programs.")] = False,
) -> int:
    """Show Claude's questions and how they ended, in the order in which they were asked.

    Permissions, plans, forms of MCP servers and other dialogs are listed as well, by their kind.

    For each question: when it was asked, how it ended, who answered (the agent, a person, or nobody), through which
    channel, how long that took, and what was answered. Of an answer by `hookrouter answer`, "verified" says that Claude
    Code recorded exactly what was meant, and "mismatch" shows both sides. An unanswered question says why.

    \b
    Outcomes:
      verified            `hookrouter answer` answered, and that is what was recorded
      mismatch            `hookrouter answer` answered, and something else was recorded
      unverified          an answer was recorded, but it could not be compared
      answered_by_person  a person answered at the session's terminal
      chat                somebody chose to talk about it instead of answering
      unanswered          declined, cancelled, or its session ended; the reason says which
      open                it waits for an answer
      unknown             nothing says how it ended

    \b
    {columns}

    The journal keeps 30 days of silent sessions, and long texts are cut. Other machines that share an engine follow,
    each with its last N: as the engine keeps them, else as the machines themselves say. With --json all are in one
    list, each with its machine, and only the last N of all.

    \b
    Examples:
      hookrouter history --since 1d
      hookrouter history --session work --limit 0
      hookrouter history --json | jq '.questions[] | select(.verified == false)'

    Exit codes: 0 shown; 1 the state folder cannot be read; 2 wrong arguments.
    """
    app = Application.from_environ()
    push(app.environ, app.home)
    try:
        begin = _begin(since, limit)
    except CommandError as error:
        typer.echo(f"hookrouter history: {printable(str(error))}", err=True)
        return 2
    try:
        stories = read_history(app.journal, app.store, session=session, since=begin, limit=limit or None)
    except StoreError as error:
        typer.echo(f"hookrouter history: {error}", err=True)
        return 1
    options = [("--session", session), ("--since", since)]
    words = ["history", *(f"{name}={value}" for name, value in options if value is not None), f"--limit={limit}"]
    with closing(app.machines()) as others:
        kept = others.stories(session, begin, limit)
    if as_json:
        document = with_others(app, {"questions": stories}, [*words, "--json"], ["questions"], kept)
        document["questions"] = [whole(story) for story in document["questions"]]
        document["questions"].sort(key=lambda story: story.get("asked_at") or story.get("ended_at") or "")
        document["questions"] = document["questions"][-limit:] if limit else document["questions"]
        typer.echo(json.dumps(document, indent=2))
    else:
        _tell(stories, session)
        for machine, found in kept.items():
            typer.echo(f"\nMachine {printable(machine)}:")
            _tell(found, session)
        echo_others(app, words, kept)
    return 0


_WIDTH = 116
_JSON = (
    'With --json: {"questions": [...]}, each with '
    + ", ".join(f"{one.name} ({one.meaning})" if one.meaning else one.name for one in COLUMNS)
    + ". Times are UTC there; people get local ones with the zone."
)
history.__doc__ = (history.__doc__ or "").replace("{columns}", textwrap.fill(_JSON, _WIDTH).replace("\n", "\n    "))


def _begin(since: str | None, limit: int) -> float | None:
    """Return what --since means, in seconds since 1970; None without it. Raises CommandError, for --limit too."""
    if limit < 0:
        raise CommandError("--limit: a number, 0 or more")
    return earliest(since)


def _tell(stories: Sequence[Mapping[str, Any]], session: str | None) -> None:
    """Tell a person of all questions, or those of a session."""
    if not stories:
        typer.echo(f"No question{f' of session {printable(session)}' if session is not None else ''} is known.")
    for story in stories:
        typer.echo("\n".join(story_lines(story)))


def story_lines(story: Mapping[str, Any]) -> list[str]:
    """Return the lines that tell a person what became of one question, without control characters."""
    person = f"by person {story['who']}" if story["who"] else "by a person"
    who = {"agent": f"by agent {story['agent']}", "person": person}.get(story["by"] or "", "")
    if story["outcome"] == "answered_by_person":
        who = ""
    facts = [f"{story['outcome'].replace('_', ' ')} {who}".strip()]
    if story["kind"] != FORM:
        facts[0] = f"{story['kind']} {facts[0]}"
    if story["channel"]:
        facts[0] += f" through {story['channel']}"
    if story.get("rule"):
        facts.append(f"rule {story['rule']}")
    if story["seconds"] is not None:
        facts.append(f"after {duration(story['seconds'])}")
    if story["missed"]:
        facts.append("asked during a pause")
    if story["reminders"]:
        facts.append("reminded once" if story["reminders"] == 1 else f"reminded {story['reminders']} times")
    if story["escalated"]:
        facts.append("escalated")
    head = f"{local(story['asked_at'] or story['ended_at'] or '')}  {story['session']}: {', '.join(facts)}"
    lines = [f"{head}  ({story['tool_use_id']})"]
    for number, entry in enumerate(story["questions"], 1):
        lines.append(f"  {number}. {one_line(entry['question'])}{_answer(entry)}")
        if story["outcome"] == "mismatch" and entry.get("result") != "match":
            lines.append(f"     meant: {_shown(entry.get('intended'))}{_note(entry.get('intended_notes'))}")
    if story["chat"]:
        lines.append(f"  said: {story['chat']}")
    if story["reason"] and story["outcome"] not in ("verified", OPEN):
        lines.append(f"  why: {story['reason']}")
    return [printable(line) for line in lines]


def _answer(entry: Mapping[str, Any]) -> str:
    return f" -> {_shown(entry['recorded'])}{_note(entry.get('recorded_notes'))}" if "recorded" in entry else ""


def _note(text: object) -> str:
    return f" (note: {text})" if text else ""


def _shown(value: object) -> str:
    if value is None:
        return "(nothing)"
    return value if isinstance(value, str) else json.dumps(value)
