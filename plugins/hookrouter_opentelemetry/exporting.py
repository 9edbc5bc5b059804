"""Hands spans to an exporter of OpenTelemetry: the one that its own environment variables choose."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from hookrouter import __version__
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.messaging.trace_context import TraceContext
    from hookrouter_opentelemetry.spans import SpanRow

__all__ = ["ExportError", "Exporting", "make_exporter"]

GROUP = "opentelemetry_traces_exporter"
"""The entry points by which packages of OpenTelemetry offer exporters."""

CHOICE = "OTEL_TRACES_EXPORTER"
OTLP = "otlp"
_OTLP_HTTP = "otlp_proto_http"


class ExportError(HookrouterError):
    """Spans cannot be handed on; the message says why."""


class Exporting:
    """One exporter, and what all spans have in common."""

    def __init__(self, exporter: SpanExporter, machine: str) -> None:
        """``machine`` is what this machine is called."""
        self._exporter = exporter
        # What the variables of OpenTelemetry say comes before this.
        found = Resource({"service.version": __version__, "host.name": machine}).merge(Resource.create())
        if str(found.attributes.get("service.name", "")).startswith("unknown_service"):
            found = found.merge(Resource({"service.name": "hookrouter"}))
        self._resource = found
        self._scope = InstrumentationScope("hookrouter", __version__)

    def send(self, rows: Iterable[SpanRow]) -> int:
        """Hand spans on; return how many. Raises ExportError."""
        spans = [self._span(row) for row in rows]
        if not spans:
            return 0
        try:
            result = self._exporter.export(spans)
        except Exception as error:
            raise ExportError(f"the exporter failed: {type(error).__name__}: {error}") from error
        if result is not SpanExportResult.SUCCESS:
            raise ExportError("the exporter could not hand the spans on")
        return len(spans)

    def close(self) -> None:
        """End the exporter."""
        self._exporter.shutdown()

    def _span(self, row: SpanRow) -> ReadableSpan:
        return ReadableSpan(
            row.name,
            context=_context(row.trace, row.span),
            parent=_context(row.trace, row.parent) if row.parent else None,
            resource=self._resource,
            attributes=row.attributes,
            links=[_link(row.link)] if row.link is not None else [],
            kind=SpanKind.PRODUCER if row.name.startswith("message") else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if row.is_error else StatusCode.OK),
            start_time=row.start,
            end_time=row.end,
            instrumentation_scope=self._scope,
        )


def make_exporter(environ: Mapping[str, str]) -> SpanExporter:
    """Return the exporter that ``OTEL_TRACES_EXPORTER`` names, OTLP over HTTP by default. Raises ExportError."""
    name = environ.get(CHOICE) or OTLP
    found = {one.name: one for one in entry_points(group=GROUP)}
    chosen = found.get(_OTLP_HTTP if name == OTLP else name)
    if chosen is None:
        offered = ", ".join(sorted({OTLP, *found}))
        raise ExportError(f"{CHOICE} is {name!r}, and no installed package offers it; there are: {offered}")
    try:
        exporter = chosen.load()()
    except Exception as error:
        raise ExportError(f"the exporter {name} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(exporter, SpanExporter):
        raise ExportError(f"the exporter {name} is none of spans")
    return exporter


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _link(context: TraceContext) -> Link:
    return Link(_context(context.trace, context.span))
