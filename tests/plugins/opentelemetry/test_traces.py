"""Traces: what OpenTelemetry's ids and spans are made of, and what carries them on."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.messaging.http import send
from hookrouter.messaging.trace_context import TraceContext, handed_on, parsed, span_id, trace_id
from hookrouter_opentelemetry.spans import QUESTION, Spans
from support.paired_http import PairedServer, paired_http


def test_another_trace_is_linked_and_not_taken_over() -> None:
    given = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    record = {
        "at": "2026-01-01T00:00:00.000Z",
        "event": "answer",
        "session_id": "s",
        "tool_use_id": "t",
        "outcome": "x",
    }
    (row,) = Spans("m").take({**record, "traceparent": given.header()})
    assert (row.trace, row.parent, row.link) == (trace_id("s", "t"), span_id(row.trace, QUESTION), given)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "none",
        "00-0-0-01",
        f"00-{'0' * 32}-{'1' * 16}-01",
        f"01-{'1' * 32}-{'1' * 16}-01",
        f"00-{'g' * 32}-{'1' * 16}-01",
    ],
)
def test_what_is_no_trace_context_is_none(value: str) -> None:
    assert parsed(value) is None


@given(st.text(), st.text())
def test_ids_are_as_w3c_wants_them_and_are_read_back(session: str, call: str) -> None:
    trace = trace_id(session, call)
    context = TraceContext(trace, span_id(trace, "message"))
    assert parsed(context.header()) == context


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.lists(st.integers(), max_size=2)
)
KEYS = st.sampled_from(
    [*("at", "event", "outcome", "ms", "pid", "wake", "tool_use_id", "session_id", "traceparent", "kind")]
)
WORDS = st.sampled_from(["answer", "delivery", "dialog", "asked", "verified", "2026-01-01T00:00:00.000Z", "toolu_1"])


@given(st.lists(st.dictionaries(KEYS, VALUES | WORDS), max_size=5))
def test_any_record_makes_spans_that_hold_or_none(records: list[dict[str, Any]]) -> None:
    spans = Spans("m")
    for record in records:
        for row in spans.take(record):
            assert 0 <= row.start <= row.end
            assert (len(row.trace), len(row.span)) == (32, 16)


def test_a_message_over_http_has_the_header_and_only_while_it_is_handed_on() -> None:
    heard: list[str | None] = []

    class _Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.headers.get("traceparent"))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = PairedServer(("127.0.0.1", 0), _Handler)
    url = f"http://127.0.0.1:{server.port}/"
    context, environ = TraceContext("1" * 32, "2" * 16), {"TRACEPARENT": "somebody else's"}
    with paired_http():
        with handed_on(context, environ):
            assert environ["TRACEPARENT"] == context.header()
            send("POST", url, body=b"x", timeout=10)
        send("POST", url, body=b"x", timeout=10)
        with handed_on(None, environ):
            send("POST", url, body=b"x", timeout=10)
    server.server_close()
    assert heard == [context.header(), None, None]
    assert environ == {"TRACEPARENT": "somebody else's"}
