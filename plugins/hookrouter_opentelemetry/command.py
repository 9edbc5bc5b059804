"""``hookrouter traces``: passes on what the journal has new, and stays, or not."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.storage.interface import StoreBusy
from hookrouter.storage.journal import parsed
from hookrouter.storage.journal_query import Tail
from hookrouter.storage.own_file import read_own_json, write_own_json
from hookrouter.util.text import printable
from hookrouter_opentelemetry.spans import Spans

if TYPE_CHECKING:
    from hookrouter_opentelemetry.exporting import Exporting

__all__ = ["traces"]

_MISSING = "traces need the extra: pip install 'hookrouter[otel]'"
_FILE = "traces.json"
_LOCK = "traces", "export"
_BATCH = 500
_LOOK_SECONDS = 1.0
_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


def traces(
    once: Annotated[bool, typer.Option("--once", help="Pass on what is there, and end.")] = False,
    as_json: Json = False,
) -> int:
    """Export questions to OpenTelemetry: one trace for each, from the hook to the proof.

    It reads the journal, so hooks cost what they did, and continues where it ended; the first time it begins with what
    happens from then on. The variables of OpenTelemetry say where to: OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP) and
    its kin, OTEL_TRACES_EXPORTER=console to look. With [monitor] traces = true in config.toml, agents get the
    trace, and their own spans and their 'hookrouter answer' are part of it.

    With --json, for --once: spans, how many were exported.

    \b
    Examples:
      hookrouter traces
      hookrouter traces --once --json

    \b
    Exit codes:
      0  exported
      1  they could not be exported; the next run tries again
      2  wrong arguments; the extra or the exporter is missing, or another process exports them
    """
    try:
        from hookrouter_opentelemetry.exporting import ExportError, Exporting, make_exporter
    except ImportError:
        raise CommandError(_MISSING) from None
    app = Application.from_environ()
    machine = app.config.storage.machine or os.uname().nodename
    try:
        exporting = Exporting(make_exporter(app.environ), machine)
    except ExportError as error:
        raise CommandError(str(error)) from None
    try:
        with app.store.lock(*_LOCK, 0):
            journal = _Journal(app, machine, exporting)
            pause = _PAUSE
            while True:
                try:
                    journal.pass_on()
                    pause = _PAUSE
                except ExportError as error:
                    typer.echo(f"hookrouter traces: {printable(str(error))}", err=True)
                    if once:
                        return 1
                    time.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                if once:
                    break
                time.sleep(_LOOK_SECONDS)
    except StoreBusy:
        raise CommandError("another process passes the traces of this home on") from None
    finally:
        exporting.close()
    if as_json:
        echo_json({"spans": journal.sent})
    else:
        typer.echo(f"{journal.sent} spans were exported")
    return 0


class _Journal:
    """Where the reading of one home's journal stands, kept in the cache folder."""

    def __init__(self, app: Application, machine: str, exporting: Exporting) -> None:
        self._path = os.path.join(app.home.cache, _FILE)
        self._exporting = exporting
        kept = read_own_json(self._path)
        self._spans = Spans(machine, kept.get("open"))
        self._folder = app.home.logs
        self._tail = self._tail_at(kept.get("places"))
        self.sent = 0
        self._waiting: list[Any] = []
        self._save()

    def pass_on(self) -> None:
        """Pass on what is new. Raises ExportError, and does it again the next time."""
        # While they cannot be passed on, they wait in the journal, not here.
        for line in [] if self._waiting else self._tail.each():
            record = parsed(line)
            if record is not None:
                self._waiting += self._spans.take(record)
        while self._waiting:
            self.sent += self._exporting.send(self._waiting[:_BATCH])
            del self._waiting[:_BATCH]
        self._save()

    def _save(self) -> None:
        write_own_json(self._path, {"places": self._tail.places(), "open": self._spans.document()})

    def _tail_at(self, places: object) -> Tail:
        try:
            return Tail(self._folder, places=places)  # type: ignore[arg-type]
        except (AttributeError, TypeError, ValueError):
            return Tail(self._folder)
