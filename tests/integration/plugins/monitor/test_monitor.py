"""Metrics and probes of a router that runs, asked for as Prometheus and a load balancer ask."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter.storage.engine import open_store
from hookrouter.testing import wait_until
from hookrouter.testing.plugins import write_plugin
from hookrouter_fleet.locks import is_sharing
from support.hook_place import BASH, HookPlace
from support.managed_client import question
from support.monitor import Monitor, Said
from support.resident import Resident, eventually
from support.shared import Shared
from support.shelf import SHELF

TALKER = """
from hookrouter import hookimpl


@hookimpl
def pre_tool_use(event, context):
    context.note("outcome", event.tool_input["command"])
"""
sharing = pytest.mark.xdist_group("monitor")

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}])


class Place(HookPlace):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.plugins.mkdir()
        self.monitor = Monitor()
        self.config(self.monitor.config)
        self.router = Resident(self.environ)

    def pid(self) -> int:
        """The monitor's process; 0 while none runs."""
        status = self.router.status()["monitor"]
        return int(status["pid"]) if status else 0


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    with made.router:
        eventually(made.monitor.lives)
        yield made


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Place]]:
    @contextmanager
    def make() -> Iterator[Place]:
        made = Place(tmp_path_factory.mktemp("place"))
        with made.router:
            eventually(made.monitor.lives)
            yield made

    with Shared(make, lambda place: eventually(place.monitor.lives)) as shared:
        yield shared


@pytest.fixture
def shared(places: Shared[Place], request: pytest.FixtureRequest) -> Iterator[Place]:
    """Return what ``place`` returns, one for all tests that leave it as it is."""
    with places.lent(request.session) as place:
        yield place


@sharing
def test_hooks_are_counted_however_they_ran(shared: Place) -> None:
    before = shared.monitor.samples()
    assert before["router_up"] == 1
    assert shared.router.call("pre-tool-use", BASH).exit_code == 0
    assert shared.run() == {}
    after = shared.monitor.samples()
    for name in (
        'hook_runs_total{event="PreToolUse",outcome="no listener"}',
        'hook_duration_seconds_count{event="PreToolUse"}',
        'hook_duration_seconds_bucket{event="PreToolUse",le="+Inf"}',
    ):
        assert after[name] == before.get(name, 0) + 2
    assert after["router_calls_total"] == before["router_calls_total"] + 1


def test_no_label_grows_with_what_others_say(place: Place) -> None:
    active = 'plugins{status="active"}'
    known = place.monitor.samples()[active]
    write_plugin(place.plugins, "talker", TALKER)
    eventually(lambda: place.monitor.samples()[active] == known + 1)
    for number in range(3):
        place.run({**BASH, "tool_use_id": f"toolu_{number}", "tool_input": {"command": f"word{number}"}})
        place.router.call(f"invented-{number}", {**BASH, "hook_event_name": f"Invented{number}"})
    found = place.monitor.samples()
    assert found['hook_runs_total{event="PreToolUse",outcome="other"}'] == 3
    assert found['plugin_calls_total{outcome="none",plugin="talker"}'] == 3
    assert sum(count for name, count in found.items() if name.startswith('hook_runs_total{event="other"')) == 3
    text = place.monitor.get("/metrics").text
    assert not [word for word in ("word1", "Invented1", "toolu_") if word in text]


def test_counters_go_on_after_the_monitor_or_the_router_was_killed(place: Place) -> None:
    runs = 'hook_runs_total{event="PreToolUse",outcome="no listener"}'
    place.run()
    first = place.monitor.samples()
    assert (first[runs], first["router_starts_total"]) == (1, 1)
    former = place.pid()
    os.kill(former, signal.SIGKILL)
    place.run()
    eventually(lambda: place.pid() not in (0, former))
    assert place.monitor.samples()[runs] == 2
    place.router.kill()
    place.run()
    place.router.start()
    eventually(lambda: place.pid() != 0)
    last = place.monitor.samples()
    assert (last[runs], last["router_starts_total"]) == (3, 2)
    assert stat.S_IMODE((place.home / "cache" / "monitor.json").stat().st_mode) == 0o600


def test_a_restart_of_the_router_refuses_no_probe(place: Place) -> None:
    boot = place.router.boot()
    place.router.send_signal(signal.SIGHUP)
    answers = []

    def has_begun_anew() -> bool:
        answers.append(place.monitor.get("/healthz"))
        return place.router.boot() not in ("", boot)

    eventually(has_begun_anew)
    eventually(lambda: place.monitor.samples()["router_starts_total"] == 2)
    assert set(answers) == {Said(200, "ok\n")}


@sharing
def test_ready_says_what_is_missing_and_nothing_else(shared: Place) -> None:
    said = shared.monitor.get("/readyz")
    assert said.status == 200
    assert said.document == {"ready": True, "router": "answers", "state": "writable", "engine": "files"}
    assert shared.monitor.get("/readyz?engine=required").status == 200
    shared.router.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: shared.monitor.get("/readyz").status == 503)
        assert shared.monitor.get("/readyz").document["router"] == "silent"
        assert shared.monitor.lives()
    finally:
        shared.router.send_signal(signal.SIGCONT)
    eventually(lambda: shared.monitor.get("/readyz").status == 200)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_cannot_be_written_is_not_ready(place: Place) -> None:
    state = place.home / "state"
    state.chmod(0o500)
    try:
        eventually(lambda: place.monitor.get("/readyz").status == 503)
        assert place.monitor.get("/readyz").document["state"] == "not writable"
        assert place.monitor.samples()["state_writable"] == 0
    finally:
        state.chmod(0o700)


@sharing
def test_what_else_is_asked_is_refused(shared: Place) -> None:
    assert shared.monitor.get("/").status == 404
    assert shared.monitor.get("/metrics", method="POST").status == 405
    head = shared.monitor.get("/metrics", method="HEAD")
    assert (head.status, head.text) == (200, "")


@pytest.mark.parametrize("where", ["env", "file"])
def test_with_a_token_metrics_are_for_those_who_have_it_and_probes_for_all(tmp_path: Path, where: str) -> None:
    place = Place(tmp_path)
    file = tmp_path / "token"
    file.write_text("a secret of this test\n")
    file.chmod(0o600)
    place.environ["METRICS_TOKEN"] = "a secret of this test"
    key = 'token_env = "METRICS_TOKEN"' if where == "env" else f'token_file = "{file}"'
    address = place.monitor.address.replace("127.0.0.1", "0.0.0.0")
    place.config(f'[monitor]\naddress = "{address}"\n{key}\n')
    right = {"Authorization": "Bearer a secret of this test"}
    with Resident(place.environ):
        eventually(place.monitor.lives)
        assert place.monitor.get("/readyz").status == 200
        assert place.monitor.samples(right)["ready"] == 1
        for wrong in ({}, {"Authorization": "Bearer another"}, {"Authorization": "a secret of this test"}):
            refused = place.monitor.get("/metrics", wrong)
            assert (refused.status, "hookrouter" in refused.text) == (401, False)
        if where == "file":
            file.unlink()
            assert place.monitor.get("/metrics", right).status == 401
    logs = "".join(path.read_text() for path in (place.home / "logs").glob("*"))
    assert "a secret" not in logs


def test_it_follows_config_toml_and_an_address_that_is_taken_is_told(place: Place) -> None:
    place.config("")
    eventually(lambda: place.router.status()["monitor"] is None)
    eventually(lambda: not place.monitor.lives())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        place.config(f'[monitor]\naddress = "{address}"\n')
        eventually(lambda: "in use" in (place.router.status()["monitor"] or {}).get("problem", ""))
    place.config(place.monitor.config)
    eventually(place.monitor.lives)


def test_without_the_extra_the_router_serves_and_says_what_is_missing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.plugins / "sitecustomize.py").write_text("import sys\nsys.modules['prometheus_client'] = None\n")
    with place.router:
        eventually(place.monitor.lives)
        said = place.monitor.get("/metrics")
        assert (said.status, "pip install" in said.text) == (501, True)
        assert place.monitor.get("/readyz").status == 200
        assert place.run() == {}


def test_an_engine_that_is_away_is_told_and_the_machine_goes_on(tmp_path: Path) -> None:
    monitor = Monitor()
    write_plugin(tmp_path / "site", "shelf", SHELF)
    shelf = tmp_path / "shelf"
    stage = Stage(str(tmp_path), f'[storage]\nengine = "shelf"\nfolder = "{shelf}"\n{monitor.config}')
    stage.variables["PYTHONPATH"] = str(tmp_path / "site")
    with Resident(stage.environ):
        eventually(monitor.lives)
        wait_until(lambda: monitor.samples().get("engine_failures_total", 0) > 0, 30, "the first failure")
        alone = monitor.get("/readyz")
        assert (alone.status, alone.document["engine"]) == (200, "local")
        assert monitor.get("/readyz?engine=required").status == 503
        assert monitor.samples()["engine_up"] == 0
        stage.run("storage", "init")
        wait_until(lambda: monitor.get("/readyz?engine=required").status == 200, 30, "the engine")
        open_store(stage.home, pytest.fail).write("notice", "one", {"version": 1})
        written = 'engine_documents_total{change="written"}'
        wait_until(lambda: monitor.samples()[written] >= 1, 30, "what was brought")
        found = monitor.samples()
        assert (found["engine_up"], found["engine_seconds_since_reached"] < 30) == (1, True)
        stage.configure(monitor.config)
        wait_until(lambda: not is_sharing(stage.home), 30, "the end of its process")


def test_a_question_from_its_wake_to_its_proof(tmp_path: Path) -> None:
    monitor = Monitor()
    stage = Stage(str(tmp_path), f'[answer]\nchannels = ["reply"]\n{monitor.config}')
    stage.install()
    forms = {"way": {"questions": [question("Which way?")]}}
    with (
        Resident(stage.environ),
        stage.piped_stand_in(forms, width=80, height=24) as client,
    ):
        eventually(monitor.lives)
        client.submit("please ASK way")
        wait_until(lambda: monitor.samples()['questions_open{kind="question"}'] == 1, 20, "the question")
        found = monitor.samples()
        assert found['questions_asked_total{kind="question"}'] == 1
        assert found['outbox_messages{state="given_up"}'] == 0
        assert stage.run("answer", "--any", RIGHT).returncode == 0
        ended = 'questions_ended_total{kind="question",outcome="verified"}'
        wait_until(lambda: monitor.samples().get(ended) == 1, 20, "the end of the question")
        found = monitor.samples()
        assert found['questions_open{kind="question"}'] == 0
        assert found['answers_total{by="agent",outcome="delivered"}'] == 1
        assert found['question_open_seconds_count{kind="question"}'] == 1
        assert [name for name in found if name.startswith("questions_ended")] == [ended]
        text = monitor.get("/metrics").text
        assert not [word for word in ("Which way", "toolu_", str(tmp_path)) if word in text]
