"""The question loop on the real client: each test gets a client of its own, with hookrouter really installed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, dialog_is_open, find_client, prompt_box
from hookrouter._sandbox.scripted_model import ToolUses, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.dialogs.documents import list_questions
from hookrouter.messaging.outbox import Outbox
from hookrouter.storage.engine import open_store
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.cleared import ForgetfulModel, clear, come_to_prompt
from support.live_fronts import CALLS, VARIABLE, LiveRouters, chosen_front
from support.night import Night
from support.night import config as night_config
from support.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONFIG = """\
[[agents]]
id = "tester"
sessions = ["managed*"]
gateway = "file"

[gateways.file]
type = "command"
argv = {argv}
format = "json"
"""

PAUSING = """
import os, time
from hookrouter import hookimpl
from hookrouter_tmux.backend import TmuxBackend

FOLDER = {folder!r}
done = 0

class Pausing(TmuxBackend):
    name = "pausing"

    def pause(self, when):
        try:
            with open(os.path.join(FOLDER, "pause")) as file:
                wanted = file.read()
        except FileNotFoundError:
            return
        if wanted != f"{{when}} {{done}}":
            return
        os.rename(os.path.join(FOLDER, "pause"), os.path.join(FOLDER, "paused"))
        while not os.path.exists(os.path.join(FOLDER, "go")):
            time.sleep(0.005)

    def capture(self, address):
        self.pause("look")
        return super().capture(address)

    def press(self, address, key):
        global done
        done += 1
        self.pause("press")
        super().press(address, key)

    def paste(self, address, text):
        global done
        done += 1
        self.pause("press")
        super().paste(address, text)

if os.path.exists(os.path.join(FOLDER, "lets-others-in")):
    Pausing.can_hold = False

@hookimpl
def terminal_backend():
    return Pausing()
"""
"""A terminal backend that stops at one look or key, named in the file \"pause\", until there is a file \"go\"."""

APPEND = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


class Paused:
    """A ``hookrouter answer`` that stands still at one look or key; :meth:`finish` lets it go on."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self._folder = folder

    @property
    def reached(self) -> bool:
        """Whether it stands where it was to stop; False once it has ended without coming there."""

        def probe() -> bool:
            return (self._folder / "paused").exists() or self.process.poll() is not None

        wait_until(probe, 30, "the step to stop at")
        return (self._folder / "paused").exists()

    def go(self) -> None:
        (self._folder / "go").touch()

    def finish(self) -> subprocess.CompletedProcess[str]:
        """Let it go on, wait for its end, and return how it ended."""
        self.go()
        said, error = self.process.communicate(timeout=90)
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, said, error)


class Live:
    """One real client under hookrouter, and what its agent was told."""

    def __init__(
        self, stage: Stage, server: PrivateTmux, model: ForgetfulModel, wakes: Path, pauses: Path | None = None
    ) -> None:
        self.stage = stage
        self._pauses = pauses
        self.server = server
        self.model = model
        self._wakes = wakes
        self._turns = 0
        self._asked = 0
        self.client = self.start("managed")

    def begin(self) -> None:
        """Be as if new, for another test: another conversation on an empty screen, nothing asked, told or counted."""
        target = self.client.pane.target
        self.server.run("copy-mode", "-q", "-t", target)
        self.server.run("resize-window", "-t", target, "-x", "120", "-y", "40")
        clear(self.client, self.stage, self.model)
        self._wakes.unlink(missing_ok=True)

    def start(self, session: str) -> ClientSession:
        """Start a client in the tmux session ``session``."""
        program = find_client()
        assert program is not None
        client = self.stage.client(program, self.server, self.model, session=session)
        client.start()
        return client

    def ask(self, *questions: dict[str, Any], client: ClientSession | None = None) -> str:
        """Have Claude ask a form, wait until its dialog is on screen, and return its tool_use_id."""
        self.start_turn([*questions], client=client)
        return self.asked(1, questions[0]["question"], client=client)

    def start_turn(self, *forms: list[dict[str, Any]], client: ClientSession | None = None) -> None:
        """Give Claude a prompt on which it asks these forms, one after the other, in one turn."""
        self._turns += 1
        self._asked = len(self.stage.payloads("PreToolUse"))
        self.model.script(f"turn-{self._turns}", [ask({"questions": form}) for form in forms])
        (client or self.client).submit(f"please ASK turn-{self._turns}")

    def ask_together(self, *forms: list[dict[str, Any]]) -> dict[str, str]:
        """Have Claude ask several forms in one message; return the tool_use_id of each by its first question."""
        self._turns += 1
        before = len(self.stage.payloads("PreToolUse"))
        calls = tuple(ask({"questions": form}, text="") for form in forms)
        self.model.script(f"turn-{self._turns}", ToolUses(calls))
        self.client.submit(f"please ASK turn-{self._turns}")
        self.stage.wait_payload("PreToolUse", before + len(forms))
        payloads = self.stage.payloads("PreToolUse")[before:]
        return {payload["tool_input"]["questions"][0]["question"]: payload["tool_use_id"] for payload in payloads}

    def asked(self, number: int, text: str, client: ClientSession | None = None) -> str:
        """Wait until the turn's form with this number, counted from 1, shows ``text``, and return its tool_use_id."""
        identifier: str = self.stage.wait_payload("PreToolUse", self._asked + number)["tool_use_id"]
        (client or self.client).wait_dialog(text[:40])
        return identifier

    def answer(self, *decisions: dict[str, Any], options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run the real ``hookrouter answer`` from outside tmux, as an agent does: once it knows of the question."""
        self._wait_told()
        arguments = ("answer", "--session", "managed", "--json", "--wait", "30", *options)
        return self.stage.run(*arguments, "--file", "-", stdin=json.dumps(decisions))

    def start_answer(self, *decisions: dict[str, Any], options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Start the real ``hookrouter answer`` and return at once."""
        self._wait_told()
        arguments = ["answer", "--session", "managed", "--json", "--wait", "30", *options, json.dumps(decisions)]
        return subprocess.Popen(
            [*script_argv(), *arguments],
            env=self.stage.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _wait_told(self) -> None:
        """Wait until the agent was told of what its session asks now, as one that answers has been.

        Returns at once if nothing is on its way to it: the session is paused, or there is no message.
        """
        outbox = Outbox(self.stage.home, lambda _said: None)

        def probe() -> bool:
            coming = {one.tool_use_id for one in outbox.pending() if one.kind == "question"}
            return coming <= {wake["tool_use_id"] for wake in self.wakes("question")}

        if not self.stage.documents("paused"):
            wait_until(probe, 30, "the message to the agent", lambda: f"{self._wakes}: {self.stage.journal()}")

    @contextlib.contextmanager
    def paused(
        self, where: str, *decisions: dict[str, Any], options: tuple[str, ...] = (), holds: bool = True
    ) -> Iterator[Paused]:
        """Start the real ``hookrouter answer``, to stop at ``where``: ``look N`` or ``press N``.

        ``look N`` is before the first look after N keys and pastes, ``press N`` is between the look that decided the
        N-th of them and the key itself. ``holds`` says whether the terminal can keep a person's keys out. Wants a
        fixture whose terminal backend pauses.
        """
        assert self._pauses is not None
        for name in ("paused", "go"):
            (self._pauses / name).unlink(missing_ok=True)
        (self._pauses / "pause").write_text(where)
        lets_in = self._pauses / "lets-others-in"
        lets_in.unlink(missing_ok=True)
        if not holds:
            lets_in.touch()
        process = self.start_answer(*decisions, options=options)
        paused = Paused(process, self._pauses)
        try:
            yield paused
        finally:
            (self._pauses / "pause").unlink(missing_ok=True)
            paused.go()
            process.kill()
            process.communicate()

    def is_closed(self, client: ClientSession | None = None) -> bool:
        """Whether no dialog about a question is on screen."""
        screen = (client or self.client).screen()
        return not dialog_is_open(screen) and "2. Cancel" not in screen

    def press_until(
        self, key: str, over: Callable[[], object] | None = None, client: ClientSession | None = None
    ) -> None:
        """Press a key as a person does: again, while the dialog is there (it ignores keys in its first 0.2 s).

        ``over`` says when it has taken hold; by default, when the dialog is closed.
        """
        for _ in range(10):
            if not self.is_closed(client):
                (client or self.client).pane.press(key)
            try:
                wait_until(over or (lambda: self.is_closed(client)), 1.0, "the key to take hold")
            except WaitTimeoutError:
                continue
            return
        pytest.fail((client or self.client).screen())

    def leave_typed(self, text: str, row: str = "❯ 5.") -> None:
        """Type ``text`` into the row that takes one, as a person who then goes away, and see that it stands there.

        ``row`` is what the screen shows if that row has the cursor; it may be drawn before it takes a text.
        """
        pane = self.client.pane
        self.press_until("Up", lambda: row in self.client.screen())
        for _ in range(3):
            wait_until(pane.takes_keys, 20, "input of the pane", pane.state)
            pane.type(text)
            try:
                pane.wait_for(lambda screen: "Type something" not in screen, 3)
            except WaitTimeoutError:
                continue
            return
        pytest.fail(f"{self.client.screen()}\n{pane.state()}")

    def open_questions(self) -> list[str]:
        """Return the tool_use_id of each question that hookrouter keeps as open."""
        store = open_store(self.stage.home, lambda _said: None)
        return [question.tool_use_id for question in list_questions(store)]

    def prompt_texts(self) -> list[str]:
        """Return what was submitted as a prompt so far, by anybody, without this class's own prompts."""
        prompts = [payload["prompt"] for payload in self.stage.payloads("UserPromptSubmit")]
        return [prompt for prompt in prompts if not prompt.startswith("please ASK turn-")]

    def typed_in_prompt(self) -> str:
        """Return what stands in the prompt box, without the client's grey example; empty without a box."""
        box = prompt_box(self.client.screen())
        return "" if box is None or box.text.startswith("Try ") else box.text

    def recorded(self, tool_use_id: str) -> dict[str, Any]:
        """Wait for PostToolUse of one question and return the tool's response."""

        def probe() -> dict[str, Any] | None:
            found = [entry for entry in self.stage.payloads("PostToolUse") if entry["tool_use_id"] == tool_use_id]
            return found[0] if found else None

        payload = wait_until(probe, 30, "PostToolUse", self.client.screen)
        response: dict[str, Any] = payload["tool_response"]
        return response

    def outcome(self, tool_use_id: str) -> dict[str, Any]:
        """Wait for the journal record of one question's PostToolUse and return it."""

        def probe() -> dict[str, Any] | None:
            for record in self.stage.journal():
                if record.get("event") == "PostToolUse" and record.get("tool_use_id") == tool_use_id:
                    return record
            return None

        return wait_until(probe, 30, "journal record of PostToolUse", lambda: str(self.stage.journal()))

    def wakes(self, kind: str) -> list[dict[str, Any]]:
        """Return the agent's messages of one kind so far."""
        data = self._wakes.read_bytes() if self._wakes.exists() else b""
        wakes = [json.loads(line) for line in data.splitlines() if line.endswith(b"}")]
        return [wake for wake in wakes if wake["kind"] == kind]

    def wait_wake(self, kind: str, tool_use_id: str) -> dict[str, Any]:
        """Wait until the agent got a message of one kind about one question, and return it."""

        def probe() -> list[dict[str, Any]]:
            return [wake for wake in self.wakes(kind) if wake["tool_use_id"] == tool_use_id]

        return wait_until(probe, 30, f"{kind} wake", lambda: f"{self._wakes}: {self.stage.journal()}")[0]


def pytest_report_header() -> str:
    """Say what starts the hooks."""
    return f"{VARIABLE}: {chosen_front()}"


@pytest.fixture(scope="session", autouse=True)
def live_routers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveRouters | None]:
    """Have the stages of this session use the front that is asked for, if one is; say what the routers did."""
    if (name := chosen_front()) == "cold":
        yield None
        return
    routers = LiveRouters(name, tmp_path_factory.getbasetemp())
    with pytest.MonkeyPatch.context() as monkeypatch, routers.installed(monkeypatch):
        yield routers


@pytest.fixture(autouse=True)
def _served(live_routers: LiveRouters | None, record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Make sure, after each test, that a router served its hooks."""
    before = live_routers.calls() if live_routers is not None else 0
    yield
    if live_routers is not None:
        live_routers.assert_served()
        record_property(CALLS, live_routers.calls() - before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many hook calls the routers took."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    counts = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == CALLS]
    if counts:
        terminalreporter.write_line(f"{sum(counts)} hook calls went through the {chosen_front()} front to a router")


@contextlib.contextmanager
def _stage(
    folder: Path,
    server: PrivateTmux,
    *,
    pauses: Path | None = None,
    channels: str = '["keys"]',
    more: str = "",
    whole: str = "",
    settings: Mapping[str, object] | None = None,
    keybindings: Mapping[str, object] | None = None,
) -> Iterator[Live]:
    wakes = folder / "wakes.jsonl"
    argv = json.dumps([sys.executable, "-c", APPEND, str(wakes)])
    config = f"{CONFIG.format(argv=argv)}\n[answer]\nchannels = {channels}\n"
    if pauses is not None:
        config += 'terminal = "pausing"\n'
    config += more
    stage = Stage(str(folder), whole or config)
    stage.record("PreToolUse", "PermissionRequest", "PostToolUse", "Stop", "UserPromptSubmit")
    stage.install()
    if settings is not None:
        stage.client_home.write_settings({**stage.client_home.read_settings(), **settings})
    if keybindings is not None:
        Path(stage.client_home.settings_file).with_name("keybindings.json").write_text(json.dumps(keybindings))
    with ForgetfulModel() as model:
        yield Live(stage, server, model, wakes, pauses)


@contextlib.contextmanager
def _pausing(folder: Path, server: PrivateTmux) -> Iterator[Live]:
    pauses = folder / "pauses"
    pauses.mkdir()
    write_plugin(folder / "site", "pausing", PAUSING.format(folder=str(pauses)))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPATH", str(folder / "site"))
        with _stage(folder, server, pauses=pauses) as live:
            yield live


@pytest.fixture
def live(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Live]:
    """Return a managed client whose settings hold hookrouter's hooks and hooks of the user's own."""
    with _stage(tmp_path, tmux_server) as live:
        yield live


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Live]]:
    """Lend what ``live`` returns to test after test of a module: see ``conversation``."""

    @contextlib.contextmanager
    def make() -> Iterator[Live]:
        with PrivateTmux() as server, _stage(tmp_path_factory.mktemp("lives"), server) as live:
            yield live

    with Shared(make, lambda live: live.begin()) as shared:
        yield shared


@pytest.fixture
def conversation(lives: Shared[Live], request: pytest.FixtureRequest) -> Iterator[Live]:
    """Return what ``live`` returns, in a conversation of the test's own: one client for all tests of a module."""
    with lives.lent(request.session) as live:
        yield live


@pytest.fixture
def pausing(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Live]:
    """Return the same, with a terminal backend that can be stopped at any step; see :meth:`Live.paused`."""
    with _pausing(tmp_path, tmux_server) as live:
        yield live


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Return what ``pausing`` returns, one for all tests of a module: each must leave it at an empty prompt."""
    with PrivateTmux() as server, _pausing(tmp_path_factory.mktemp("shared"), server) as live:
        yield live


@pytest.fixture(scope="module")
def replying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Return a managed client whose questions are answered by the waiting hook; one for all tests of a module."""
    folder = tmp_path_factory.mktemp("replying")
    with PrivateTmux() as server, _stage(folder, server, channels='["reply", "keys"]') as live:
        yield live


@pytest.fixture(params=["python", "native"])
def fronted(
    request: pytest.FixtureRequest,
    live_routers: LiveRouters | None,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    tmux_server: PrivateTmux,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[Live, LiveRouters]]:
    """Return a managed client whose hooks a front brings to a router, and that router."""
    if live_routers is not None:
        pytest.skip(f"{VARIABLE} has chosen a front for all tests")
    routers = LiveRouters(request.param, tmp_path_factory.getbasetemp())
    with (
        routers.installed(monkeypatch),
        _stage(tmp_path, tmux_server, channels='["reply", "keys"]') as live,
    ):
        yield live, routers


@pytest.fixture(scope="module")
def vim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Return a managed client in vim mode; one for all tests of a module."""
    with (
        PrivateTmux() as server,
        _stage(tmp_path_factory.mktemp("vim"), server, settings={"editorMode": "vim"}) as live,
    ):
        yield live


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Return a client whose questions go to an agent with a plan for each; one for all chapters of a night."""
    folder = tmp_path_factory.mktemp("night")
    with (
        PrivateTmux() as server,
        _stage(folder, server, whole=night_config(folder)) as live,
        Night(live.stage, live.client, live.model, folder, live.press_until) as night,
    ):
        yield night


@pytest.fixture
def enter_is_newline(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Live]:
    """Return a managed client in whose prompt box Enter makes a new line."""
    bindings = {"bindings": [{"context": "Chat", "bindings": {"enter": "chat:newline", "ctrl+d": "chat:submit"}}]}
    with _stage(tmp_path, tmux_server, keybindings=bindings) as live:
        yield live


@pytest.fixture
def impatient(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Live]:
    """Return one whose hook waits for a second only."""
    with _stage(tmp_path, tmux_server, channels='["reply", "keys"]', more="wait = 1\n") as live:
        yield live


@pytest.fixture
def rested(shared: Live) -> Iterator[Live]:
    """Return the shared client at its prompt, and bring it back there afterwards."""
    shared.client.wait_idle()
    yield shared
    come_to_prompt(shared.client)


@pytest.fixture
def calm(rested: Live) -> Iterator[Live]:
    """Return the shared client, and see afterwards that no key went astray: nothing typed, nothing said."""
    before = rested.prompt_texts()
    yield rested
    assert rested.typed_in_prompt() == ""
    assert rested.prompt_texts() == before
