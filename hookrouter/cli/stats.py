"""``hookrouter stats``."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.completion import plugin_names
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, Since, earliest, echo_json
from hookrouter.cli.terminal import Progress, has_unicode, width
from hookrouter.clock import iso, now, seconds
from hookrouter.figures import QUESTION_OUTCOMES, Figures
from hookrouter.home import Home
from hookrouter.journal import Journal
from hookrouter.journal_reading import Selection, entries, size
from hookrouter.names import printable
from hookrouter.plots import columns, sparkline

if TYPE_CHECKING:
    from hookrouter.figures import Calls, Timeline

__all__ = ["stats"]

_STRETCHES = 60
"""Into how many stretches the time is divided for programs, and at most for the plots."""
_MARGIN = 10
"""Columns of what stands left of a plot."""
_HEIGHT = 4
_TIMES = (("median", "median_ms"), ("95 %", "p95_ms"), ("longest", "longest_ms"))
_ROWS = 20
"""Rows of a table; the rarer ones are counted together."""


def stats(
    since: Since = "7d",
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME|ID", help="Only this session: its name, or the beginning of its id."),
    ] = None,
    plugin: Annotated[
        str | None,
        typer.Option(
            "--plugin", metavar="NAME", help="Only runs in which this plugin was called.", autocompletion=plugin_names
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Count what the journal tells: hook runs, how long they and each plugin took, and what became of questions.

    A run that failed is one at the level "error": a plugin failed in it, or its payload was refused. A plugin's time
    includes what it waits for, for example an answer. Questions are counted by how they ended, as `hookrouter history`
    tells it; the time to answer is from the question to Claude Code's record of the answer.

    \b
    With --json: {"since", "until", "sessions", "runs": {...}, "events": [{"event", "tool", ...}],
    "plugins": [{"plugin", "hook", ...}], "questions": {...}, "timeline": {...}}. runs, events and plugins have calls,
    failed, outcomes, median_ms, p95_ms and longest_ms; timeline has start, seconds (of one stretch), calls, median_ms,
    verified and mismatch, each a list with one item for each stretch of time.

    \b
    Examples:
      hookrouter stats --since 1d
      hookrouter stats --plugin bash-guard
      hookrouter stats --json | jq '.plugins[] | select(.p95_ms > 100)'

    Exit codes: 0 shown; 2 wrong arguments.
    """
    start, end = earliest(since), now()
    if start is not None and start >= end:
        raise CommandError(f"--since {since!r} is in the future")
    journal = Journal(Home.from_environ(os.environ).logs)
    figures = Figures(plugin)
    try:
        selection = Selection(journal, session=session, plugin=plugin)
        with Progress("reading the journal", size(journal, start)) as progress:
            for entry in entries(journal, start, progress.add):
                if entry in selection:
                    figures.add(entry.record)
    except KeyboardInterrupt:
        return 130
    room = min(_STRETCHES, width() - _MARGIN - 2)
    timeline = figures.timeline(_STRETCHES if as_json else room, start, end)
    if as_json:
        echo_json(_document(figures, timeline, start, end))
    else:
        typer.echo("\n".join(_lines(figures, timeline, start)))
    return 0


def _document(figures: Figures, timeline: Timeline | None, start: float | None, end: float) -> dict[str, Any]:
    return {
        "since": None if start is None else iso(start),
        "until": iso(end),
        "sessions": len(figures.sessions),
        "runs": figures.runs.document(),
        "events": [
            {"event": event, "tool": tool or None, **found.document()}
            for (event, tool), found in _by_count(figures.by_event)
        ],
        "plugins": [
            {"plugin": name, "hook": hook, **found.document()} for (name, hook), found in _by_count(figures.by_plugin)
        ],
        "questions": figures.questions(),
        "timeline": None if timeline is None else timeline._asdict(),
    }


def _by_count(found: dict[tuple[str, str], Calls]) -> list[tuple[tuple[str, str], Calls]]:
    return sorted(found.items(), key=lambda item: (-item[1].count, item[0]))


def _lines(figures: Figures, timeline: Timeline | None, start: float | None) -> list[str]:
    runs = figures.runs.document()
    period = "" if start is None else f" since {_local(start)}"
    if not runs["calls"]:
        lines = [f"no hook run{period}"]
    else:
        sessions = f"{len(figures.sessions)} session{'' if len(figures.sessions) == 1 else 's'}"
        times = ", ".join(f"{name} {_number(runs[key])} ms" for name, key in _TIMES)
        lines = [f"{runs['calls']} hook runs in {sessions}{period}, {runs['failed']} failed; {times}"]
    if timeline is not None:
        lines += _plots(timeline)
    lines += _table("event and tool", figures.by_event)
    lines += _table("plugin and hook", figures.by_plugin)
    return [*lines, *_questions(figures, timeline)]


def _plots(timeline: Timeline) -> list[str]:
    lines = []
    for title, values in (("hook runs", timeline.calls), ("median ms", timeline.median_ms)):
        rows = columns(values, _HEIGHT, blocks=has_unicode())
        labels = [_number(max((value for value in values if value), default=0)), *[""] * (_HEIGHT - 2), "0"]
        lines += ["", f"{title}, {_duration(timeline.seconds)} a column"]
        lines += [f"{label:>{_MARGIN}} |{row}".rstrip() for label, row in zip(labels, rows, strict=True)]
    first = seconds(timeline.start) or 0.0
    begin, end = _local(first), _local(first + timeline.seconds * len(timeline.calls))
    gap = len(timeline.calls) - len(begin) - len(end)
    return [*lines, " " * (_MARGIN + 2) + (f"{begin}{' ' * gap}{end}" if gap > 0 else begin)]


def _table(title: str, found: dict[tuple[str, str], Calls]) -> list[str]:
    if not found:
        return []
    ordered = _by_count(found)
    rows = [[title, "calls", "failed", *(f"{name} ms" for name, _ in _TIMES)]]
    for key, some in ordered[:_ROWS]:
        entry = some.document()
        times = [_number(entry[key]) for _, key in _TIMES]
        rows.append([printable(" ".join(filter(None, key))), str(entry["calls"]), str(entry["failed"]), *times])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(f"{cell:{'>' if column else '<'}{widths[column]}}" for column, cell in enumerate(row)) for row in rows
    ]
    if len(ordered) > _ROWS:
        lines.append(f"and {len(ordered) - _ROWS} more; --json has all")
    return ["", *lines]


def _questions(figures: Figures, timeline: Timeline | None) -> list[str]:
    counts = figures.questions()
    if not counts["asked"]:
        return []
    ended = [f"{counts[how]} {how.replace('_', ' ')}" for how in (*QUESTION_OUTCOMES, "open") if counts[how]]
    lines = ["", f"questions: {counts['asked']}; {', '.join(ended)}"]
    took = counts["seconds"]
    if took["median"] is not None:
        times = f"median {_duration(took['median'])}, 95 % within {_duration(took['p95'])}"
        lines.append(f"time to answer: {times}, longest {_duration(took['longest'])}")
    if timeline is not None:
        for name, values in (("verified", timeline.verified), ("mismatch", timeline.mismatch)):
            lines.append(f"{name:>{_MARGIN}} |{sparkline(values, blocks=has_unicode())}".rstrip())
    return lines


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def _duration(amount: float) -> str:
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if amount >= 2 * length:
            return f"{amount / length:.1f} {unit}"
    return f"{amount:.1f} s"


def _local(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
