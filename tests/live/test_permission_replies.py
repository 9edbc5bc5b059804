"""What a plugin's replies to PermissionRequest and Elicitation do on the real client, for each kind of dialog.

A reply was seen to do what its docstring in :mod:`hookrouter.replies` says on the versions of Claude Code for which
these tests have run. ``HOOKROUTER_CLIENT_VERSION`` chooses one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.mcp_server import server_config
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.testing.plugins import write_plugin
from support.cleared import ForgetfulModel, clear
from support.managed_client import press_until
from support.plans import planned
from support.shared import Shared
from support.tested_client import VERSION

pytestmark = pytest.mark.live

DECIDER = """
import json
from hookrouter import hookimpl
from hookrouter.replies import ElicitationReply, PermissionRequestReply

def said(kind, place):
    with open({file!r}, encoding="utf-8") as file:
        decisions = json.load(file)
    if place not in decisions:
        return None
    name, arguments = decisions[place]
    return getattr(kind, name)(**arguments)

@hookimpl
def permission_request(event, context):
    return said(PermissionRequestReply, event.tool_name)

@hookimpl
def elicitation(event, context):
    return said(ElicitationReply, "elicitation")
"""

ECHO, FORM = "mcp__demo__echo", "mcp__demo__form"
EVENTS = ("PermissionRequest", "PostToolUse", "Elicitation", "Stop")


class Deciding:
    """A client whose permission dialogs a plugin answers, as the test says beforehand."""

    def __init__(self, folder: Path, server: PrivateTmux, model: ScriptedModel, *options: str) -> None:
        self.model = model
        self._decisions = folder / "decisions.json"
        self._turns = 0
        self.decide()
        write_plugin(folder / "site", "decider", DECIDER.format(file=str(self._decisions)))
        self.stage = Stage(str(folder))
        self.stage.variables["PYTHONPATH"] = str(folder / "site")
        self.stage.record(*EVENTS)
        self.stage.install()
        self._listed = folder / "listed"
        servers = folder / "mcp.json"
        servers.write_text(json.dumps(server_config(str(self._listed))))
        program = find_client()
        assert program is not None
        # Tools of servers would be offered by a search only.
        environ = {**self.stage.environ, **self.stage.client_home.environ(model), "ENABLE_TOOL_SEARCH": "false"}
        words = [program, "--mcp-config", str(servers), *options]
        self.client = ClientSession(words, server, self.stage.client_home, environ)

    def begin(self, model: ForgetfulModel) -> None:
        """Be as if new, for another test: nothing decided, counted or made. ``model`` is its own."""
        clear(self.client, self.stage, model)
        self.decide()
        for path in Path(self.stage.client_home.project).iterdir():
            path.unlink()

    def decide(self, **decisions: tuple[str, dict[str, Any]]) -> None:
        """Say what is replied from now on, by the tool's name or ``elicitation``: a constructor and its arguments."""
        self._decisions.write_text(json.dumps(decisions))

    def has_servers_tools(self) -> bool:
        """Whether the client has asked the server for its tools."""
        return self._listed.exists()

    def call(self, use: ToolUse) -> None:
        """Have Claude call a tool."""
        self._turns += 1
        self.model.script(f"t{self._turns}", use)
        self.client.submit(f"please RUN t{self._turns}")

    def played(self, use: ToolUse) -> str:
        """Have Claude call a tool, wait for the end of its turn, and return what it was told."""
        stops = len(self.stage.payloads("Stop"))
        self.call(use)
        wait_until(lambda: len(self.stage.payloads("Stop")) > stops, 30, "the end of the turn", self.client.screen)
        self.client.wait_idle()
        return self.told()

    def told(self) -> str:
        """Return what Claude was told of its last tool call."""
        return list(self.model.tool_results().values())[-1]

    def last(self, event: str) -> dict[str, Any]:
        return self.stage.payloads(event)[-1]

    def count(self, event: str) -> int:
        return len(self.stage.payloads(event))

    def offers_plan(self) -> bool:
        return "Would you like to proceed" in self.client.screen()

    def escape(self) -> None:
        """Leave the plan's dialog as a person does."""

        press_until(self.client, "Escape", lambda: not self.offers_plan(), self.client.screen)


Start = Callable[..., Deciding]
Lent = tuple[Deciding, ForgetfulModel]

sharing = pytest.mark.xdist_group("permission replies")


@contextmanager
def deciding(folder: Path, server: PrivateTmux, model: ScriptedModel, mode: str = "default") -> Iterator[Deciding]:
    one = Deciding(folder, server, model, "--permission-mode", mode)
    with one.client:
        wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
        yield one


@pytest.fixture
def start(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Start]:
    """Start a client of the test's own, for those that leave its mode, or change its rules."""
    with ExitStack() as stack:

        def started(mode: str = "default") -> Deciding:
            model = stack.enter_context(ScriptedModel())
            return stack.enter_context(deciding(tmp_path, tmux_server, model, mode))

        yield started


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Lent]]:
    @contextmanager
    def make() -> Iterator[Lent]:
        with (
            PrivateTmux() as server,
            ForgetfulModel() as model,
            deciding(tmp_path_factory.mktemp("deciding"), server, model) as one,
        ):
            yield one, model

    with Shared(make, lambda lent: lent[0].begin(lent[1])) as shared:
        yield shared


@pytest.fixture
def one(clients: Shared[Lent], request: pytest.FixtureRequest) -> Iterator[Deciding]:
    """Return a client in a conversation of the test's own: one client for all tests that leave its mode as it is."""
    with clients.lent(request.session) as (one, _model):
        yield one


@sharing
def test_a_command_is_allowed_changed_refused_or_ends_the_turn(one: Deciding) -> None:
    folder = Path(one.stage.client_home.project)
    one.decide(Bash=("allow", {}))
    one.played(bash(f"touch {folder}/allowed"))
    assert (folder / "allowed").exists()

    one.decide(Bash=("allow", {"updated_input": {"command": f"touch {folder}/changed", "description": "other"}}))
    one.played(bash(f"touch {folder}/meant"))
    assert (folder / "changed").exists()
    assert not (folder / "meant").exists()
    assert one.last("PostToolUse")["tool_input"]["command"] == f"touch {folder}/changed"

    one.decide(Bash=("deny", {"message": "The operator says no: use another file"}))
    assert one.played(bash(f"touch {folder}/refused")) == "decider: The operator says no: use another file"
    assert not (folder / "refused").exists()
    assert one.count("PostToolUse") == 2

    stops, requests = one.count("Stop"), one.count("PermissionRequest")
    one.decide(Bash=("deny", {"message": "Stop all of it", "interrupt": True}))
    one.call(bash(f"touch {folder}/refused"))
    wait_until(lambda: one.count("PermissionRequest") > requests, 30, "the request", one.client.screen)
    one.client.wait_idle()
    assert not (folder / "refused").exists()
    assert one.count("Stop") == stops


def test_a_rule_that_is_given_back_holds_for_the_next_call(start: Start) -> None:
    one = start()
    folder = Path(one.stage.client_home.project)
    rules = [{"toolName": "Bash", "ruleContent": "touch:*"}]
    update = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
    one.decide(Bash=("allow", {"updated_permissions": [update]}))
    one.played(bash(f"touch {folder}/one"))
    requests = one.count("PermissionRequest")
    one.decide()
    one.played(bash(f"touch {folder}/two"))
    assert (folder / "two").exists()
    assert one.count("PermissionRequest") == requests


@sharing
def test_a_tool_of_an_mcp_server_is_allowed_changed_or_refused(one: Deciding) -> None:
    one.decide(**{ECHO: ("allow", {})})
    assert "echo one" in one.played(ToolUse(ECHO, {"text": "one"}))
    one.decide(**{ECHO: ("allow", {"updated_input": {"text": "other"}})})
    assert "echo other" in one.played(ToolUse(ECHO, {"text": "two"}))
    assert one.last("PostToolUse")["tool_input"] == {"text": "other"}
    one.decide(**{ECHO: ("deny", {"message": "not this one"})})
    assert one.played(ToolUse(ECHO, {"text": "three"})) == "decider: not this one"


@sharing
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            ("accept", {"content": {"name": "bob", "ok": True}}),
            {"action": "accept", "content": {"name": "bob", "ok": True}},
        ),
        (("decline", {}), {"action": "decline"}),
        (("cancel", {}), {"action": "cancel"}),
    ],
    ids=["accept", "decline", "cancel"],
)
def test_a_servers_form_is_answered(one: Deciding, reply: tuple[str, dict[str, Any]], expected: dict[str, Any]) -> None:
    one.decide(**{FORM: ("allow", {})}, elicitation=reply)
    said = one.played(ToolUse(FORM, {}))
    assert one.last("Elicitation")["message"] == "Your name?"
    # Versions differ in whether an empty content goes with it.
    assert {name: value for name, value in json.loads(said).items() if value} == expected


def test_a_plan_is_approved_changed_or_sent_back(start: Start) -> None:
    one = start("plan")
    use = planned(one.client, one.model, lambda: one.count("Stop"), "# Plan\n1. do x\n")

    one.decide(ExitPlanMode=("deny", {"message": "Add a step 3: tests"}))
    assert one.played(use) == "decider: Add a step 3: tests"
    offered = one.last("PermissionRequest")["tool_input"]
    assert offered["plan"] == "# Plan\n1. do x\n"
    assert one.last("Stop")["permission_mode"] == "plan"

    changed = {**offered, "plan": "# Plan\n1. do y\n"}
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    one.decide(ExitPlanMode=("allow", {"updated_input": changed, "updated_permissions": [mode]}))
    assert "approved" in one.played(use)
    recorded = one.last("PostToolUse")
    assert recorded["permission_mode"] == "acceptEdits"
    assert recorded["tool_input"]["plan"] == "# Plan\n1. do y\n"
    assert "do y" in Path(recorded["tool_response"]["filePath"]).read_text()


@pytest.mark.skipif(VERSION < (2, 1, 200), reason="Claude Code 2.1.150 approves a plan without its input, too")
def test_a_plan_is_not_approved_without_its_input(start: Start) -> None:
    one = start("plan")
    use = planned(one.client, one.model, lambda: one.count("Stop"), "# Plan\n1. do x\n")
    one.decide(ExitPlanMode=("allow", {}))
    one.call(use)
    wait_until(one.offers_plan, 30, "the dialog", one.client.screen)
    wait_until(lambda: one.count("PermissionRequest") == 1, 30, "the request", one.client.screen)
    assert one.count("PostToolUse") == 0
    one.escape()
    one.client.wait_idle()


@pytest.mark.long
def test_a_plan_that_is_approved_as_it_is_leaves_plan_mode(start: Start) -> None:
    one = start("plan")
    use = planned(one.client, one.model, lambda: one.count("Stop"), "# Plan\n1. do x\n")
    one.decide(ExitPlanMode=("deny", {"message": "once more"}))
    one.played(use)
    echoed = one.last("PermissionRequest")["tool_input"]
    one.decide(ExitPlanMode=("allow", {"updated_input": echoed}))
    assert "approved" in one.played(use)
    assert one.last("PostToolUse")["permission_mode"] == "default"


def test_a_plan_without_an_input_is_approved_with_an_empty_one(start: Start) -> None:
    one = start("plan")
    use = ToolUse("ExitPlanMode", {})
    # 2.1.150 approves a plan without its input, too.
    if VERSION >= (2, 1, 200):
        one.decide(ExitPlanMode=("allow", {}))
        one.call(use)
        wait_until(lambda: "Exit plan mode?" in one.client.screen(), 30, "the dialog", one.client.screen)
        wait_until(lambda: one.count("PermissionRequest") == 1, 30, "the request", one.client.screen)
        assert one.last("PermissionRequest")["tool_input"] == {}
        assert one.count("PostToolUse") == 0
        press_until(one.client, "Escape", lambda: "Exit plan mode?" not in one.client.screen(), one.client.screen)
        one.client.wait_idle()

    one.decide(ExitPlanMode=("allow", {"updated_input": {}}))
    one.played(use)
    assert one.last("PostToolUse")["tool_name"] == "ExitPlanMode"
    assert one.last("PostToolUse")["permission_mode"] == "default"
