"""``hookrouter logs``."""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.completion import event_words, plugin_names
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, Since, earliest
from hookrouter.cli.terminal import BOLD, DIM, RED, YELLOW, Progress, Style, width
from hookrouter.storage.home import Home, ensure
from hookrouter.storage.journal import Journal
from hookrouter.storage.journal_query import (
    Selection,
    SessionNames,
    Tail,
    calls,
    entries,
    entry_of,
    latest,
    number,
    size,
)
from hookrouter.util.clock import local
from hookrouter.util.fields import text
from hookrouter.util.folder_watch import FolderWatch, wait_while_read
from hookrouter.util.text import printable
from hookrouter.util.text_width import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.storage.journal_query import Entry

__all__ = ["logs"]

_LOOK_SECONDS = 60.0
"""How often to look although the system tells of no change; it may have lost one when very many came at once."""

_COLOURS = {"debug": DIM, "warning": YELLOW, "error": RED}


class Level(StrEnum):
    """How grave a record is."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow: print new records as they arrive.")] = False,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME|ID", help="Only this session: its name, or the beginning of its id."),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            "--event",
            metavar="E",
            help="Only this event: PreToolUse or pre-tool-use; also answer, delivery.",
            autocompletion=event_words,
        ),
    ] = None,
    level: Annotated[Level, typer.Option("--level", help="Only records of this level or higher.")] = Level.DEBUG,
    plugin: Annotated[
        str | None,
        typer.Option(
            "--plugin", metavar="NAME", help="Only runs in which this plugin was called.", autocompletion=plugin_names
        ),
    ] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Only the last N records; 0: all.")] = 50,
    as_json: Json = False,
) -> int:
    """Show the journal: a line for each hook run, answer and delivery, of all sessions, in the order of time.

    A line has the time, the record's id (for `hookrouter replay`), event and tool, session, outcome, who gave it, the
    milliseconds of the run, what each plugin did, and what went wrong. On a terminal it is cut at its width.

    With --follow, what is written from now on follows, until it is interrupted (exit code 130) or nobody reads the
    output any more.

    \b
    With --json each line is a JSON document: the record, with its "id". At debug are the runs in which nobody listened.

    \b
    Examples:
      hookrouter logs --level warning --since 1d
      hookrouter logs --follow --session work
      hookrouter logs --event PreToolUse --limit 0 --json | jq -r 'select(.outcome == "deny") | .by'

    Exit codes: 0 shown; 2 wrong arguments; 130 interrupted.
    """
    if limit < 0:
        raise CommandError(f"--limit {limit}: a number, 0 or more")
    start = earliest(since)
    home = Home.from_environ(os.environ)
    journal = Journal(home.logs)
    style = Style(sys.stdout, os.environ)
    columns = width() if sys.stdout.isatty() else None
    names = SessionNames(journal)
    show: Callable[[Entry], str] = _json_line if as_json else lambda entry: _line(entry, names, style, columns)
    try:
        tail = None
        if follow:
            ensure(home.logs)
            # Before the past is read, so that nothing falls between the two.
            tail = Tail(home.logs)
        selection = Selection(journal, session=session, event=event, level=level.value, plugin=plugin)
        with Progress("reading the journal", size(journal, start)) as progress:
            for entry in latest((one for one in entries(journal, start, progress.add) if one in selection), limit):
                _print(show(entry))
        sys.stdout.flush()
        if tail is not None:
            _follow(home.logs, tail, selection, show)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # What the interpreter still holds for stdout must not fail again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise CommandError(f"{home.logs}: {error.strerror or error}") from None
    return 0


def _follow(folder: str, tail: Tail, selection: Selection, show: Callable[[Entry], str]) -> None:
    """Go on until interrupted, or until nobody reads; then raises KeyboardInterrupt or BrokenPipeError."""
    with FolderWatch(folder) as changes:
        while True:
            found = [entry for line in tail.lines() if (entry := entry_of(line)) is not None and entry in selection]
            for entry in latest(found, 0):
                _print(show(entry))
            sys.stdout.flush()
            wait_while_read(changes, _LOOK_SECONDS)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _json_line(entry: Entry) -> str:
    return json.dumps({"id": entry.id, **entry.record})


def _line(entry: Entry, names: SessionNames, style: Style, columns: int | None) -> str:
    record = entry.record
    level = text(record, "level") or "info"
    at, event, grave = _time(record), printable(text(record, "event") or "-"), f"{printable(level):<7}"
    facts = [text(record, "tool"), names.of(record), *_facts(record)]
    rest = printable("  ".join(fact for fact in facts if fact))
    if columns is not None:
        rest = shortened(rest, columns - len(f"{at}  {entry.id}  {grave}  {event}  "))
    return f"{style(at, DIM)}  {entry.id}  {style(grave, _COLOURS.get(level, ''))}  {style(event, BOLD)}  {rest}"


def _time(record: Mapping[str, Any]) -> str:
    """Return the local time of a record, with its zone."""
    return local(str(record.get("at")), otherwise="?" * len(local()))


def _facts(record: Mapping[str, Any]) -> list[str]:
    outcome, by, ms = text(record, "outcome"), text(record, "by"), number(record, "ms")
    facts = [f"{outcome} by {by}" if by else outcome]
    if ms is not None:
        facts.append(f"{ms:.1f} ms")
    facts.append(", ".join(_call(call) for call in calls(record)))
    facts.append(text(record, "reason"))
    warnings = record.get("warnings")
    return facts + [str(one) for one in warnings] if isinstance(warnings, list) else facts


def _call(call: Mapping[str, Any]) -> str:
    ms = number(call, "ms")
    took = "" if ms is None else f" {ms:.1f} ms"
    error = text(call, "error")
    return f"{text(call, 'plugin')} {text(call, 'outcome')}{took}" + (f" ({error})" if error else "")
