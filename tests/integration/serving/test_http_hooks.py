"""The gate at its TCP address: http hooks of Claude Code, and nobody else's requests."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._serving import token as tokens
from hookrouter.serving import control
from hookrouter.storage.home import Home
from hookrouter.testing import sample
from hookrouter.testing.plugins import write_plugin
from support.gate_client import GateClient
from support.hook_place import BASH
from support.ports import free_port
from support.resident import PATIENCE, Resident, eventually
from support.shared import Shared

pytestmark = pytest.mark.xdist_group("http hooks")  # most share a router

HEADER = "import os, sys, time\nfrom hookrouter import hookimpl\nfrom hookrouter.replies import *\n"


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.plugins = folder / "home", folder / "plugins"
        self.home.mkdir()
        self.plugins.mkdir()
        self.port = free_port()
        (self.home / "config.toml").write_text(f'[serve]\nhttp = "127.0.0.1:{self.port}"\n')
        foreign = {"TMUX": "/tmp/not-mine", "CLAUDE_PROJECT_DIR": "/not-mine"}
        environ = {**os.environ, **foreign, "HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(self.plugins)}
        self.router = Resident(environ)

    def plugin(self, name: str, body: str) -> None:
        write_plugin(self.plugins, name, HEADER + body)

    def start(self) -> None:
        self.router.start()
        gate = GateClient(self.router)
        gate.wait()
        eventually(self.listens)

    def listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return bool(self.token)

    @property
    def token(self) -> str:
        return tokens.read_token(Home.from_environ(self.router.environ))

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=3 * PATIENCE)

    def headers(self, **more: str) -> dict[str, str]:
        common = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return common | {name.replace("_", "-"): value for name, value in more.items()}

    def send(self, event: str, payload: object, **more: str) -> http.client.HTTPConnection:
        """Send a hook's request; return the connection, whose answer is to be read."""
        connection = self.connection()
        connection.request("POST", f"/hook/{event}", json.dumps(payload), self.headers(**more))
        return connection

    def post(self, event: str, payload: object, **more: str) -> tuple[int, Any]:
        with closing(self.send(event, payload, **more)) as connection:
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None

    def waiting(self, event: str) -> Path:
        """Have calls of an event wait for ever; return the file that has the process of each."""
        began = self.folder / "began"
        self.plugin(
            "slow",
            f"""
@hookimpl
def {event}(event, context):
    with open({str(began)!r}, "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    while True:
        time.sleep(0.01)
""",
        )
        with open(self.home / "config.toml", "a") as file:
            file.write("[plugins.slow]\ntimeout = 60\n")
        return began


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.router.kill()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Place]]:
    @contextmanager
    def make() -> Iterator[Place]:
        made = Place(tmp_path_factory.mktemp("place"))
        try:
            made.start()
            yield made
        finally:
            made.router.kill()

    with Shared(make, lambda place: eventually(place.listens)) as shared:
        yield shared


@pytest.fixture
def serving(places: Shared[Place], request: pytest.FixtureRequest) -> Iterator[Place]:
    """Return a place whose router serves without a plugin, one for all tests that leave it as it is."""
    with places.lent(request.session) as place:
        yield place


@pytest.fixture(scope="module")
def waiting_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[tuple[Place, Path]]]:
    @contextmanager
    def make() -> Iterator[tuple[Place, Path]]:
        made = Place(tmp_path_factory.mktemp("waiting"))
        began = made.waiting("permission_request")
        try:
            made.start()
            yield made, began
        finally:
            made.router.kill()

    with Shared(make, lambda lent: eventually(lent[0].listens)) as shared:
        yield shared


@pytest.fixture
def waiting(waiting_places: Shared[tuple[Place, Path]], request: pytest.FixtureRequest) -> Iterator[tuple[Place, Path]]:
    """Return a place in which permission requests wait for ever, and the file that has the process of each."""
    with waiting_places.lent(request.session) as (place, began):
        began.unlink(missing_ok=True)
        yield place, began


def pids(began: Path) -> list[int]:
    text = began.read_text() if began.exists() else ""
    return [int(line) for line in text.splitlines()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


REQUEST = {**sample("PermissionRequest"), "tool_name": "Bash", "tool_input": {"command": "ls"}}


def test_a_guard_refuses_a_tool_call(place: Place) -> None:
    place.plugin("guard", "@hookimpl\ndef pre_tool_use(event):\n    return PreToolUseReply.deny('no')\n")
    place.start()
    status, answer = place.post("pre-tool-use", BASH)
    assert status == 200
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == "guard: no"
    assert place.post("stop", sample("Stop")) == (200, {})


def test_the_environment_is_the_gates_but_what_the_client_tells_of_its_session(place: Place) -> None:
    names = ["TMUX", "TMUX_PANE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"]
    place.plugin(
        "teller",
        f"""
@hookimpl
def pre_tool_use(event, context):
    return PreToolUseReply.deny(repr([os.getcwd(), *map(context.environ.get, {names})]))
""",
    )
    place.start()

    def said(**headers: str) -> str:
        payload = {**BASH, "cwd": str(place.folder), "session_id": "s-1"}
        _status, answer = place.post("pre-tool-use", payload, **headers)
        return str(answer["hookSpecificOutput"]["permissionDecisionReason"])

    here = str(place.folder)
    assert said() == f"teller: {[here, None, None, None, None, 's-1']!r}"
    told = said(x_HOOKROUTER_tmux="/tmp/t,1,2", X_Hookrouter_Tmux_Pane="%5", x_hookrouter_entrypoint="cli")
    assert told == f"teller: {[here, '/tmp/t,1,2', '%5', 'cli', None, 's-1']!r}"


def test_a_connection_serves_one_request_after_the_other(serving: Place) -> None:
    with closing(serving.connection()) as connection:
        for _ in range(5):
            connection.request("POST", "/hook/stop", json.dumps(sample("Stop")), serving.headers())
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"{}")
            assert connection.sock is not None


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer gr\xfc\xdf"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:{port}"}, 403),
        ({"Host": "localhost:{port}"}, 403),
        ({"Origin": "http://127.0.0.1:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": None}, 415),
    ],
)
def test_who_is_not_the_client_gets_nothing_and_makes_no_call(
    serving: Place, change: dict[str, str | None], status: int
) -> None:
    calls = serving.router.status()["calls"]
    changed = {name: value and value.replace("{port}", str(serving.port)) for name, value in change.items()}
    headers = {name: value for name, value in {**serving.headers(), **changed}.items() if value is not None}
    with closing(serving.connection()) as connection:
        connection.putrequest("POST", "/hook/pre-tool-use", skip_host="Host" in headers)
        body = json.dumps(BASH).encode()
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            connection.putheader(name, value.encode("latin-1"))
        connection.endheaders(body)
        response = connection.getresponse()
        assert (response.status, response.read()) == (status, b"")
        assert not [name for name, _ in response.getheaders() if name.lower().startswith("access-control")]
    assert serving.router.status()["calls"] == calls


@pytest.mark.parametrize(
    "begin",
    [
        b"POST /hook/stop HTTP/1.1\r\nX-Long: ",
        b"POST /",
        b"POST /hook/stop HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"POST /hook/stop HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: ",
    ],
)
def test_what_never_comes_to_an_end_is_not_kept(serving: Place, begin: bytes) -> None:
    with closing(socket.create_connection(("127.0.0.1", serving.port), PATIENCE)) as connection:
        connection.sendall(begin)
        with pytest.raises(ConnectionError):
            connection.sendall(b"a" * (64 << 20))
    assert serving.post("stop", sample("Stop")) == (200, {})


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/hook/stop", 405),
        ("OPTIONS", "/hook/stop", 405),
        ("POST", "/", 404),
        ("POST", "/v1/calls", 404),
        ("GET", "/health", 404),
        ("POST", "/hook/../stop", 404),
        ("POST", "/hook/stop/", 404),
        ("POST", "/hook/%73top", 404),
    ],
)
def test_there_is_one_path_and_one_method(serving: Place, method: str, path: str, status: int) -> None:
    for headers, expected in ((serving.headers(), status), ({}, 401)):
        with closing(serving.connection()) as connection:
            connection.request(method, path, "{}", headers)
            response = connection.getresponse()
            assert (response.status, response.read()) == (expected, b"")


def test_bodies_that_are_no_payload_are_refused(serving: Place) -> None:
    for body, status in ((b"", 400), (b"[1]", 400), (b"{", 400)):
        with closing(serving.connection()) as connection:
            connection.request("POST", "/hook/stop", body, serving.headers())
            assert connection.getresponse().status == status
    with closing(serving.connection()) as connection:
        # It is refused before it is sent.
        connection.request("POST", "/hook/stop", None, serving.headers(Content_Length=str((1 << 24) + 1)))
        assert connection.getresponse().status == 413
    assert serving.post("stop", sample("Stop")) == (200, {})


def test_another_user_gets_nothing_of_folder_socket_and_port(place: Place) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    place.start()
    code = """
import encodings.idna, http.client, os, socket, sys
folder, port = sys.argv[1], int(sys.argv[2])
os.setgid(65534); os.setuid(65534)
got = []
for name in ("http", "calls", "control"):
    try:
        socket.socket(socket.AF_UNIX).connect(os.path.join(folder, name))
        got.append(name)
    except OSError:
        pass
for path in (folder, os.path.join(os.path.dirname(folder), "http-token")):
    try:
        got.append(os.listdir(path) if path == folder else open(path).read())
    except OSError:
        pass
connection = http.client.HTTPConnection("127.0.0.1", port)
connection.request("POST", "/hook/stop", "{}", {"Content-Type": "application/json"})
response = connection.getresponse()
print(got, response.status, response.read())
"""
    for folder in [*place.home.parents]:
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    place.home.chmod(0o755)
    arguments = [sys.executable, "-c", code, place.router.folder, str(place.port)]
    done = subprocess.run(arguments, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 401 b''"


def test_the_token_is_made_once_and_is_this_users_alone(place: Place) -> None:
    home = Home.from_environ(place.router.environ)
    assert tokens.read_token(home) == ""
    first = tokens.made_token(home)
    assert len(first) > 40
    assert tokens.made_token(home) == first
    path = Path(tokens.token_file(home))
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="not this user's alone"):
        tokens.made_token(home)


def test_a_client_that_leaves_ends_its_call(waiting: tuple[Place, Path]) -> None:
    place, began = waiting
    connection = place.send("permission-request", REQUEST)
    eventually(lambda: len(pids(began)) == 1)
    connection.close()
    eventually(lambda: not is_running(pids(began)[0]))


@pytest.mark.parametrize(
    ("event", "more"),
    [
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls", "more": 1}}),
        ("PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ("Stop", {}),
        ("UserPromptSubmit", {}),
        ("SessionEnd", {}),
    ],
)
def test_a_person_who_answers_first_ends_the_request(
    waiting: tuple[Place, Path], event: str, more: dict[str, object]
) -> None:
    from hookrouter._contract.hook_names import command_word

    place, began = waiting
    with closing(place.send("permission-request", REQUEST)) as connection:
        eventually(lambda: len(pids(began)) == 1)
        session = REQUEST["session_id"]
        # The sample may be a subagent's.
        payload = {name: value for name, value in {**sample(event), **more}.items() if name != "agent_id"}
        assert place.post(command_word(event), {**payload, "session_id": "another"})[0] == 200
        other_call = {**payload, "session_id": session, "tool_input": {"command": "other"}}
        if event.startswith("PostToolUse"):
            assert place.post(command_word(event), other_call)[0] == 200
        assert is_running(pids(began)[0])
        assert place.post(command_word(event), {**payload, "session_id": session})[0] == 200
        assert connection.getresponse().read() == b"{}"
    eventually(lambda: not is_running(pids(began)[0]))


def test_an_address_that_another_process_has_is_taken_once_it_is_free(place: Place) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", place.port))
        other.listen()
        place.router.start()
        gate = GateClient(place.router)
        gate.wait()
        eventually(lambda: str(place.port) in (gate.health() or {})["problem"])
    eventually(lambda: (gate.health() or {})["problem"] == "")
    assert place.post("stop", sample("Stop")) == (200, {})


def test_a_request_that_waits_outlasts_a_router_that_begins_anew(place: Place) -> None:
    began = place.folder / "began"
    place.plugin(
        "slow",
        f"""
@hookimpl
def permission_request(event, context):
    open({str(began)!r}, "w").close()
    while not os.path.exists({str(place.folder / "go")!r}):
        time.sleep(0.01)
    return PermissionRequestReply.deny("waited")
""",
    )
    with open(place.home / "config.toml", "a") as file:
        file.write("[plugins.slow]\ntimeout = 60\n")
    place.start()
    first = GateClient(place.router).wait()["boot"]
    with closing(place.send("permission-request", REQUEST)) as connection:
        eventually(began.exists)
        control.ask(place.router.folder, "restart")
        eventually(lambda: (GateClient(place.router).health() or {}).get("boot", first) != first)
        eventually(place.listens)
        assert place.post("stop", sample("Stop")) == (200, {})
        (place.folder / "go").touch()
        answer = json.loads(connection.getresponse().read())
    assert answer["hookSpecificOutput"]["decision"] == {"behavior": "deny", "message": "slow: waited"}


def test_no_event_is_lost_while_the_router_begins_anew(place: Place) -> None:
    place.start()
    gate = GateClient(place.router)
    for _ in range(2):
        first = gate.wait()["boot"]
        control.ask(place.router.folder, "restart")
        answers = [place.post("stop", sample("Stop"))]
        while (gate.health() or {}).get("boot", first) == first:
            answers.append(place.post("stop", sample("Stop")))
        assert answers == [(200, {})] * len(answers)


def test_an_event_waits_for_the_gate_that_follows_one_that_was_killed(place: Place) -> None:
    place.start()
    killed = place.router.status()["gate"]["pid"]
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not is_running(killed))
    assert place.post("stop", sample("Stop")) == (200, {})
    assert place.router.status()["gate"]["pid"] != killed


def test_nobody_waits_for_a_gate_that_ends_as_soon_as_it_begins(place: Place) -> None:
    place.start()

    def process() -> int:
        pid: int = place.router.status()["gate"]["pid"]
        return pid

    def end() -> None:
        eventually(lambda: process() != 0)
        killed = process()
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: process() != killed)

    end()
    end()
    # The next one begins 2 s after this.
    with pytest.raises(ConnectionRefusedError):
        place.post("stop", sample("Stop"))
    eventually(place.listens)
    assert place.post("stop", sample("Stop")) == (200, {})


def test_a_router_that_ends_leaves_neither_socket_nor_address(place: Place) -> None:
    place.start()
    control.ask(place.router.folder, "stop")
    eventually(lambda: not os.path.lexists(os.path.join(place.router.folder, "http")))
    eventually(lambda: not place.listens())


def test_a_connection_that_a_client_keeps_is_closed_with_its_next_answer(place: Place) -> None:
    place.start()
    first = place.router.status()["gate"]["pid"]

    def posted() -> http.client.HTTPResponse:
        connection.request("POST", "/hook/stop", json.dumps(sample("Stop")), place.headers())
        response = connection.getresponse()
        assert response.read() == b"{}"
        return response

    with closing(place.connection()) as connection:
        assert not posted().will_close
        control.ask(place.router.folder, "restart")
        eventually(lambda: (place.router.status()["gate"] or {}).get("pid", 0) not in (0, first))
        assert posted().will_close
        assert connection.sock is None
        assert not posted().will_close
    eventually(lambda: not is_running(first))


def test_without_a_token_everybody_is_refused_and_nobody_waits(place: Place) -> None:
    path = Path(tokens.token_file(Home.from_environ(place.router.environ)))
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text("somebody else's")
    path.chmod(0o644)
    place.router.start()
    assert "not this user's alone" in GateClient(place.router).wait()["problem"]
    with closing(place.connection()) as connection:
        headers = {"Authorization": "Bearer somebody else's", "Content-Type": "application/json"}
        connection.request("POST", "/hook/stop", json.dumps(sample("Stop")), headers)
        assert connection.getresponse().status == 401
