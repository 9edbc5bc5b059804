"""``hookrouter stats``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter._diagnostics.statistics import Figures
from hookrouter.cli.application import Application
from hookrouter.cli.bar_chart import bar_chart, sparkline
from hookrouter.cli.completion import plugin_names
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, Since, earliest, echo_json
from hookrouter.cli.terminal import Progress, has_unicode, width
from hookrouter.dialogs.stories.statistics import DialogStatistics
from hookrouter.hookspecs.commands import ReadingSection
from hookrouter.storage.interface import StoreError
from hookrouter.storage.journal_query import Selection, entries, size
from hookrouter.util.clock import iso, local, now, seconds
from hookrouter.util.text import duration, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter._diagnostics.statistics import Calls, Timeline
    from hookrouter.hookspecs.commands import StatisticsSection

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

    A run that failed is one at the level "error": a plugin failed in it, or its payload was refused. What a plugin
    waits for outside, such as an answer, is not part of these times; it is shown separately. Plugins may add figures:
    questions are counted by how they ended and by their kind, as `hookrouter history` tells it, and the time to answer
    is from the question to Claude Code's record of it.

    \b
    With --json: {"since", "until", "sessions", "runs": {...}, "events": [{"event", "tool", ...}],
    "plugins": [{"plugin", "hook", ...}], "waits": [{"plugin", "hook", ...}], "questions": {...}, "timeline": {...}}.
    runs, events, plugins and waits have calls, failed, outcomes, median_ms, p95_ms and longest_ms; timeline has start,
    seconds (of one stretch), calls, median_ms, verified and mismatch, each a list with one item for each stretch of
    time.

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
    app = Application.from_environ(share=False)
    waiting = {(info.name, hook) for info in app.plugins.listing() for hook in info.waits}
    journal, figures, dialogs = app.journal, Figures(plugin, waiting), DialogStatistics()
    sections: dict[str, StatisticsSection] = {dialogs.name: dialogs, **app.plugins.contributions("statistics_section")}
    try:
        selection = Selection(journal, session=session, plugin=plugin)
        with Progress("reading the journal", size(journal, start)) as progress:
            for entry in entries(journal, start, progress.add):
                if entry in selection:
                    figures.add(entry.record)
                    for section in sections.values():
                        section.add(entry.record)
        for section in sections.values():
            if isinstance(section, ReadingSection):
                section.read(app, since=start, session=session, plugin=plugin)
    except KeyboardInterrupt:
        return 130
    except StoreError as error:
        raise CommandError(str(error)) from None
    room = min(_STRETCHES, width() - _MARGIN - 2)
    happened = {name: moments for section in sections.values() for name, moments in section.moments().items()}
    timeline = figures.timeline(_STRETCHES if as_json else room, start, end, happened)
    if as_json:
        own = {section.name: section.document() for section in sections.values()}
        echo_json(_document(figures, timeline, start, end, own))
    else:
        typer.echo("\n".join([*_lines(figures, timeline, start), *_sections(sections.values(), timeline)]))
    return 0


def _document(
    figures: Figures, timeline: Timeline | None, start: float | None, end: float, sections: dict[str, Any]
) -> dict[str, Any]:
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
        "waits": [
            {"plugin": name, "hook": hook, **found.document()} for (name, hook), found in _by_count(figures.waits)
        ],
        **sections,
        "timeline": None if timeline is None else timeline.document(),
    }


def _by_count(found: dict[tuple[str, str], Calls]) -> list[tuple[tuple[str, str], Calls]]:
    return sorted(found.items(), key=lambda item: (-item[1].count, item[0]))


def _lines(figures: Figures, timeline: Timeline | None, start: float | None) -> list[str]:
    runs = figures.runs.document()
    period = "" if start is None else f" since {local(start, to='minutes')}"
    if not runs["calls"]:
        lines = [f"no hook run{period}"]
    else:
        sessions = f"{len(figures.sessions)} session{'' if len(figures.sessions) == 1 else 's'}"
        times = ", ".join(f"{name} {_number(runs[key])} ms" for name, key in _TIMES)
        lines = [f"{runs['calls']} hook runs in {sessions}{period}, {runs['failed']} failed", f"time of a run: {times}"]
    if timeline is not None:
        lines += _plots(timeline)
    lines += _table("event and tool", figures.by_event)
    lines += _table("plugin and hook", figures.by_plugin)
    return lines + _waits(figures)


def _plots(timeline: Timeline) -> list[str]:
    lines = []
    for title, values in (("hook runs", timeline.calls), ("median ms", timeline.median_ms)):
        rows = bar_chart(values, _HEIGHT, blocks=has_unicode())
        labels = [_number(max((value for value in values if value), default=0)), *[""] * (_HEIGHT - 2), "0"]
        lines += ["", f"{title}, {duration(timeline.seconds)} a column"]
        lines += [f"{label:>{_MARGIN}} |{row}".rstrip() for label, row in zip(labels, rows, strict=True)]
    first = seconds(timeline.start) or 0.0
    begin, end = (local(at, to="minutes") for at in (first, first + timeline.seconds * len(timeline.calls)))
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


def _waits(figures: Figures) -> list[str]:
    """Return how long calls waited for something outside, such as an answer: not how long a tool was held up by us."""
    lines = []
    for (plugin, hook), found in _by_count(figures.waits):
        entry = found.document()
        times = [f"{name} {duration(entry[key] / 1000)}" for name, key in _TIMES if entry[key] is not None]
        lines.append(printable(f"waited: {plugin} {hook}, {entry['calls']} times; {', '.join(times)}"))
    return ["", *lines] if lines else []


def _sections(sections: Iterable[StatisticsSection], timeline: Timeline | None) -> list[str]:
    """Return what plugins add: words, and a row of the timeline for each kind of moment."""
    lines = []
    for section in sections:
        told = [printable(line) for line in section.lines()]
        if not told:
            continue
        lines += ["", *told]
        for name in section.moments() if timeline is not None else ():
            row = sparkline(timeline.rows[name], blocks=has_unicode()) if timeline is not None else ""
            lines.append(f"{printable(name):>{_MARGIN}} |{row}".rstrip())
    return lines


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
