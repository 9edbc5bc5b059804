"""``hookrouter traces``: what OpenTelemetry gets of a question, over OTLP, from real hooks and a real answer."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hookrouter._sandbox.stage import Stage
from hookrouter.messaging.trace_context import TraceContext, parsed
from hookrouter.storage.engine import open_store
from hookrouter.testing import wait_until
from hookrouter.util.program import script_argv
from hookrouter_opentelemetry.spans import QUESTION
from support.managed_client import question

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}])


AGENT = """\
import os, sys
with open(sys.argv[1], "w") as file:
    file.write(os.environ.get("TRACEPARENT", "none"))
"""


class Collector:
    """Takes OTLP over HTTP, as a collector does."""

    def __init__(self) -> None:
        self.spans: dict[str, Any] = {}
        self.resources: list[dict[str, str]] = []
        self.status = 200
        collector = self

        class _Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                if collector.status == 200:
                    collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        for group in request.resource_spans:
            self.resources.append({one.key: one.value.string_value for one in group.resource.attributes})
            for scope in group.scope_spans:
                self.spans |= {span.name: span for span in scope.spans}


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


class Place:
    def __init__(self, folder: Path, collector: Collector, *, traces: bool = True) -> None:
        self.handed = folder / "handed"
        (folder / "agent.py").write_text(AGENT)
        argv = json.dumps([sys.executable, str(folder / "agent.py"), str(self.handed)])
        agent = '[[agents]]\nid = "me"\nsessions = ["*"]\ngateway = "program"\n'
        config = f'{agent}[gateways.program]\ntype = "command"\nargv = {argv}\n'
        switched = f"[monitor]\ntraces = {str(traces).lower()}\n"
        self.stage = Stage(
            str(folder), f'{config}{switched}[answer]\nchannels = ["reply"]\n[storage]\nmachine = "build-3"\n'
        )
        self.stage.variables |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "TRACEPARENT": ""}
        self.stage.install()

    def asked(self) -> str:
        """Wait until the agent was woken; return what it was handed."""
        wait_until(lambda: self.handed.exists() and self.handed.read_text(), 30, "the wake")
        return self.handed.read_text()

    def export(self) -> int:
        done = self.stage.run("traces", "--once", "--json")
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout)["spans"])


def test_a_question_is_one_trace_from_the_hook_to_the_proof(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, collector)
    assert place.export() == 0
    forms = {"way": {"questions": [question("Which way?")]}}
    with place.stage.piped_stand_in(forms, width=80, height=24) as client:
        client.submit("please ASK way")
        handed = parsed(place.asked())
        assert handed is not None
        mine = TraceContext(handed.trace, "00f067aa0ba902b7")
        place.stage.variables["TRACEPARENT"] = mine.header()
        assert place.stage.run("answer", "--any", RIGHT).returncode == 0
        wait_until(lambda: "verified" in str(place.stage.journal()), 30, "the proof")
    place.stage.variables["TRACEPARENT"] = ""
    assert place.export() >= 5
    spans = collector.spans
    whole = spans[QUESTION]
    assert {span.trace_id.hex() for span in spans.values()} == {handed.trace}
    assert whole.parent_span_id == b""
    assert spans["message question"].span_id.hex() == handed.span
    assert spans["answer"].parent_span_id.hex() == mine.span
    others = {name for name, span in spans.items() if span.parent_span_id == whole.span_id}
    assert others == {"hook PreToolUse", "hook PostToolUse", "message question"}
    attributes = {one.key: one.value.string_value for one in whole.attributes}
    assert (attributes["hookrouter.outcome"], attributes["hookrouter.machine"]) == ("verified", "build-3")
    for span in spans.values():
        assert whole.start_time_unix_nano - 10**9 <= span.start_time_unix_nano <= span.end_time_unix_nano
    assert {(one["service.name"], one["host.name"]) for one in collector.resources} == {("hookrouter", "build-3")}
    assert "Which way" not in str(spans)
    collector.spans.clear()
    assert place.export() == 0


def test_what_cannot_be_passed_on_is_passed_on_the_next_time(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, collector)
    place.export()
    with place.stage.piped_stand_in({"way": {"questions": [question("Which?")]}}, width=80, height=24) as client:
        client.submit("please ASK way")
        place.asked()
        wait_until(lambda: '"delivered"' in json.dumps(place.stage.journal()), 30, "the record of the wake")
    collector.status = 400
    failed = place.stage.run("traces", "--once")
    assert (failed.returncode, "could not hand the spans on" in failed.stderr) == (1, True)
    collector.status = 200
    assert place.export() >= 2
    assert {"hook PreToolUse", "message question"} <= set(collector.spans)


def test_one_that_stays_passes_on_what_happens(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, collector)
    place.export()
    with subprocess.Popen([*script_argv(), "traces"], env=place.stage.environ, stdout=subprocess.DEVNULL) as follower:
        with place.stage.piped_stand_in({"way": {"questions": [question("Which?")]}}, width=80, height=24) as client:
            client.submit("please ASK way")
            wait_until(lambda: "message question" in collector.spans, 30, "the span of the wake")
            collector.status = 503
            assert place.stage.run("answer", "--any", RIGHT).returncode == 0
            collector.status = 200
            wait_until(lambda: QUESTION in collector.spans, 60, "the span of the question")
        follower.terminate()


def test_without_traces_nothing_is_handed_on(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, collector, traces=False)
    with place.stage.piped_stand_in({"way": {"questions": [question("Which?")]}}, width=80, height=24) as client:
        client.submit("please ASK way")
        assert place.asked() in ("none", "")


def test_an_exporter_that_is_not_there_and_a_second_process_are_refused(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, collector)
    with open_store(place.stage.home, pytest.fail).lock("traces", "export", 0):
        busy = place.stage.run("traces", "--once")
    assert (busy.returncode, "another process" in busy.stderr) == (2, True)
    place.stage.variables["OTEL_TRACES_EXPORTER"] = "zipkin"
    refused = place.stage.run("traces", "--once")
    assert refused.returncode == 2
    assert (
        "OTEL_TRACES_EXPORTER is 'zipkin', and no installed package offers it; there are: console, otlp"
        in refused.stderr
    )
