"""Permissions, plans and forms of MCP servers on the real client: decided by ``hookrouter answer``, and verified."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import check_client, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash, write
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.approval_session import ECHO, FORM, SUBAGENT, ApprovalSession
from support.cleared import ForgetfulModel
from support.managed_client import press_until
from support.matrix import mostly_long
from support.shared import Shared

pytestmark = [pytest.mark.live, pytest.mark.capability("approvals")]

calls, filled = pytest.mark.xdist_group("approvals of calls"), pytest.mark.xdist_group("approvals of forms")
"""The tests of each share a client."""

BOB = {"name": "bob", "ok": True}

Start = Callable[..., ApprovalSession]

Lent = tuple[ApprovalSession, ForgetfulModel]


@contextmanager
def session(
    folder: Path, server: PrivateTmux, model: ScriptedModel, mode: str = "default", *, strict: bool = True
) -> Iterator[ApprovalSession]:
    one = ApprovalSession(folder, server, model, mode, strict=strict)
    with one.client:
        wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
        yield one


@pytest.fixture
def start(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Start]:
    """Start a client of the test's own, for those that leave its mode, or do not leave it alive."""
    with ExitStack() as stack:

        def started(mode: str = "default", *, strict: bool = True) -> ApprovalSession:
            model = stack.enter_context(ScriptedModel())
            return stack.enter_context(session(tmp_path, tmux_server, model, mode, strict=strict))

        yield started


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Lent]]:
    @contextmanager
    def make() -> Iterator[Lent]:
        with (
            PrivateTmux() as server,
            ForgetfulModel() as model,
            session(tmp_path_factory.mktemp("approvals"), server, model) as one,
        ):
            yield one, model

    with Shared(make, lambda lent: lent[0].begin(lent[1])) as shared:
        yield shared


@pytest.fixture
def one(clients: Shared[Lent], request: pytest.FixtureRequest) -> Iterator[ApprovalSession]:
    """Return a client in a conversation of the test's own: one client for all tests that leave its mode as it is."""
    with clients.lent(request.session) as (one, _model):
        yield one


@calls
def test_a_command_is_allowed_changed_or_refused(one: ApprovalSession) -> None:
    result = one.decided(bash(f"touch {one.folder}/one"), {"action": "allow"})
    assert (result["outcome"], result["kind"], result["channel"]) == ("verified", "permission", "reply")
    assert (one.folder / "one").exists()

    changed = {"command": f"touch {one.folder}/changed", "description": "another"}
    assert one.decided(bash(f"touch {one.folder}/two"), {"action": "allow", "input": changed})["outcome"] == "verified"
    assert (one.folder / "changed").exists()
    assert not (one.folder / "two").exists()

    result = one.decided(bash(f"touch {one.folder}/three"), [{"action": "deny", "text": "Not this one"}])
    assert result["outcome"] == "verified"
    assert not (one.folder / "three").exists()
    assert one.said().endswith("Not this one")
    assert [(story["kind"], story["outcome"], story["by"]) for story in one.history()] == [
        ("permission", "verified", "agent")
    ] * 3


@calls
def test_a_refusal_ends_the_turn(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"))
    one.waiting()
    result = one.decide({"action": "deny", "text": "Stop it all", "stop": True})
    assert result["outcome"] == "verified"
    one.client.wait_idle()
    assert not (one.folder / "one").exists()
    assert one.count("Stop") == 0


def test_a_proposal_of_the_client_holds_for_the_next_call(start: Start) -> None:
    one = start(strict=False)
    one.call(bash(f"touch {one.folder}/one"))
    [asked] = one.waiting()
    [mode] = [number for number, one in enumerate(asked["request"]["suggestions"], 1) if one["type"] == "setMode"]
    assert one.decide({"action": "allow", "always": mode})["outcome"] == "verified"
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    one.client.wait_idle()
    one.call(bash(f"touch {one.folder}/two"))
    wait_until(lambda: one.count("Stop") == 2, 30, "the end of the turn", one.told)
    assert (one.folder / "two").exists()


@calls
def test_a_tool_of_an_mcp_server(one: ApprovalSession) -> None:
    assert one.decided(ToolUse(ECHO, {"text": "one"}), {"action": "allow"})["outcome"] == "verified"
    assert "echo one" in one.said()
    changed = {"action": "allow", "input": {"text": "other"}}
    assert one.decided(ToolUse(ECHO, {"text": "two"}), changed)["outcome"] == "verified"
    assert "echo other" in one.said()
    assert one.decided(ToolUse(ECHO, {"text": "three"}), {"action": "deny", "text": "no"})["outcome"] == "verified"


@calls
def test_rules_decide_at_once_and_no_agent_oversteps_them(one: ApprovalSession) -> None:
    one.call(bash("touch forbidden-1"))
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    assert "A rule of the user forbids this" in one.said()
    one.client.wait_idle()
    one.call(bash(f"mkdir {one.folder}/allowed"))
    wait_until(lambda: one.count("Stop") == 2, 30, "the end of the turn", one.told)
    assert (one.folder / "allowed").is_dir()
    one.client.wait_idle()
    # The strictest of the commands counts: this one is a person's.
    one.call(bash(f"mkdir {one.folder}/b && rmdir {one.folder}/b"))
    [reserved] = one.waiting()
    assert reserved["request"]["decider"] == "person"
    one.deny_by_hand()
    wait_until(lambda: one.count("Stop") == 3, 30, "the end of the turn", one.told)
    one.client.wait_idle()
    # A rule that was made stricter meanwhile holds when the answer comes.
    one.call(bash(f"touch {one.folder}/late"))
    one.waiting()
    with open(one.stage.home.config_file, encoding="utf-8") as file:
        text = file.read()
    with open(one.stage.home.config_file, "w", encoding="utf-8") as file:
        file.write(text.replace('tool = "Bash"\ndecide = "agent"', 'tool = "Bash"\ndecide = "person"'))
    refused = one.decide({"action": "allow"}, code=2)
    assert "no agent may decide this" in refused["reason"]
    assert not (one.folder / "late").exists()
    # Whoever only says to be a person is held to the rules, too.
    assert one.decide({"action": "allow"}, "--as", "person:eve", code=2)["outcome"] == "invalid"
    assert not (one.folder / "late").exists()
    press_until(one.client, "Enter", lambda: "Do you want" not in one.client.screen(), one.told)
    wait_until((one.folder / "late").exists, 30, "what the person has allowed", one.told)


@calls
def test_a_person_may_be_first(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"))
    one.waiting()
    one.press_by_hand("Enter")
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    assert (one.folder / "one").exists()
    wait_until(lambda: one.history()[-1]["outcome"] == "answered_by_person", 15, "its end", one.told)
    late = one.decide({"action": "deny", "text": "too late"}, code=4)
    assert late["outcome"] == "answered_by_person"
    assert one.stage.documents("reply-waiting") == []


@calls
def test_escape_refuses(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"))
    one.waiting()
    one.press_by_hand("Escape")
    one.client.wait_idle()
    one.call(bash(f"mkdir {one.folder}/next"))
    wait_until(lambda: one.count("Stop") >= 1, 30, "the end of the next turn", one.told)
    assert one.history()[-1]["outcome"] == "answered_by_person"
    assert one.listed() == []


@calls
def test_two_calls_at_once_are_told_apart(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"), bash(f"touch {one.folder}/two"))
    first = one.waiting()[0]
    text = first["request"]["input"]["command"]
    decided = one.decide({"action": "deny", "text": f"not {text}"}, "--tool-use-id", first["tool_use_id"])
    assert decided["outcome"] == "verified"
    wait_until(lambda: [w["tool_use_id"] for w in one.waiting()] != [first["tool_use_id"]], 30, "the other", one.told)
    [second] = one.waiting()
    assert one.decide({"action": "allow"}, "--tool-use-id", second["tool_use_id"])["outcome"] == "verified"
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    assert not Path(text.removeprefix("touch ")).exists()
    assert Path(second["request"]["input"]["command"].removeprefix("touch ")).exists()


@calls
def test_the_same_call_twice_at_once_is_left_to_the_person(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"), bash(f"touch {one.folder}/one"))

    def is_left() -> bool:
        return any("it could be any of" in str(record.get("reason")) for record in one.stage.journal())

    wait_until(lambda: one.listed() != [] or is_left(), 30, "the request", one.told)
    # If the client begins the second only after the first, it is known which is meant.
    if listed := one.listed():
        assert len(listed) == 1
        one.waiting()
        assert one.decide({"action": "allow"})["outcome"] == "verified"


LITTLE = {"name": "bob", "ok": True}
ALL = {"name": "bob", "mail": "bob@example.com", "size": "l", "areas": ["db"]}
DECIDED = {
    "submit": ({"action": "submit", "content": LITTLE}, {"action": "accept", "content": LITTLE}),
    "submit-all": ({"action": "submit", "content": ALL}, {"action": "accept", "content": ALL}),
    "decline": ({"action": "decline"}, {"action": "decline"}),
    "cancel": ({"action": "cancel"}, {"action": "cancel"}),
}


@filled
@pytest.mark.parametrize(
    ("decision", "expected"),
    mostly_long(DECIDED.values(), DECIDED["submit-all"], DECIDED["cancel"], several=True),
    ids=DECIDED,
)
def test_a_servers_form(one: ApprovalSession, decision: dict[str, Any], expected: dict[str, Any]) -> None:
    one.call(ToolUse(FORM, {}))
    [asked] = one.waiting()
    assert (
        one.decide({"action": "allow"}, "--tool-use-id", asked["tool_use_id"], "--wait", "0")["outcome"] == "delivered"
    )
    wait_until(lambda: [w["kind"] for w in one.waiting()] == ["elicitation"], 30, "the form", one.told)
    [asked] = one.waiting()
    own = ("--tool-use-id", asked["tool_use_id"])
    wrong = one.decide({"action": "submit", "content": {"ok": "yes", "mail": "bob", "areas": ["x"]}}, *own, code=2)
    assert wrong["reason"].splitlines() == [
        '"name" is missing',
        '"ok" is "yes"; allowed is a value of the type boolean',
        '"mail" is "bob"; allowed is an e-mail address, such as user@example.com',
        '"areas" has "x"; allowed are ui, db',
    ]
    assert one.decide(decision, *own)["outcome"] == "verified"
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    assert {name: value for name, value in json.loads(one.said()).items() if value} == expected


@filled
def test_a_person_fills_in_a_form_without_json(one: ApprovalSession) -> None:
    one.call(ToolUse(FORM, {}))
    one.waiting()
    assert json.loads(one.stage.run("allow", "--session", "managed", "--json", "--wait", "0").stdout)["ok"]
    wait_until(lambda: [w["kind"] for w in one.waiting()] == ["elicitation"], 30, "the form", one.told)
    typed = ("answer", "managed", "name=Bob", "Smith", "ok=yes", "size=Large", "areas=ui,db", "--text", "--json")
    done = one.stage.run(*typed)
    assert json.loads(done.stdout)["outcome"] == "verified", (done.stdout, done.stderr)
    wait_until(lambda: one.count("Stop") == 1, 30, "the end of the turn", one.told)
    content = {"name": "Bob Smith", "ok": True, "size": "l", "areas": ["ui", "db"]}
    assert json.loads(one.said()) == {"action": "accept", "content": content}


@filled
@pytest.mark.parametrize("said", mostly_long(["accept", "decline", "cancel"]))
def test_a_form_that_is_left_is_filled_in_by_a_person(one: ApprovalSession, said: str) -> None:
    """Nobody decides in time, so its dialog opens, and ElicitationResult tells what the person said there."""
    config = Path(one.stage.home.config_file)
    config.write_text(f"{config.read_text()}\n[plugins.approvals.settings]\nelicitation_wait = 1\n")
    one.call(ToolUse(FORM, {}))
    one.decide({"action": "allow"}, "--tool-use-id", one.waiting()[0]["tool_use_id"], "--wait", "0")
    one.client.pane.wait_for("requests your input", 30)
    wait_until(lambda: [each["outcome"] for each in forms(one)] == ["unanswered"], 20, "the end of the wait", one.told)
    late = one.decide({"action": "decline"}, "--tool-use-id", forms(one)[0]["tool_use_id"], code=4)
    assert late["outcome"] == "unanswered"
    if said == "accept":
        press_until(one.client, "b", lambda: "Name: b" in one.client.screen(), one.told)
    if said != "cancel":
        press_until(one.client, "Down", lambda: "❯ Accept" in one.client.screen(), one.told)
    if said == "decline":
        press_until(one.client, "Right", lambda: "❯ Decline" in one.client.screen(), one.told)
    key = "Escape" if said == "cancel" else "Enter"
    press_until(one.client, key, lambda: "requests your input" not in one.client.screen(), one.told)
    wait_until(lambda: one.count("Stop") > 0, 30, "the end of the turn", one.told)
    [story] = forms(one)
    assert (story["outcome"], story["by"]) == ("answered_by_person", "person"), story
    recorded = story["questions"][0]["recorded"]
    told = json.loads(one.said())
    assert told["action"] == said
    content = told.get("content") or {}
    assert recorded == (f"{said} {json.dumps(content, separators=(',', ':'))}" if content else said)
    assert bool(content) == (said == "accept")


def forms(one: ApprovalSession) -> list[dict[str, Any]]:
    return [story for story in one.history() if story["kind"] == "elicitation"]


def test_a_plan_is_sent_back_then_approved_with_a_change(start: Start) -> None:
    one = start("plan", strict=False)
    use = one.planned("# Plan\n1. do x\n")
    result = one.decided(use, {"action": "revise", "text": "Add a step 3: tests"})
    assert (result["outcome"], result["kind"]) == ("verified", "plan")
    assert one.said().endswith("Add a step 3: tests")
    changed = {"action": "approve", "mode": "acceptEdits", "plan": "# Plan\n1. do y\n"}
    assert one.decided(use, changed)["outcome"] == "verified"
    recorded = one.stage.payloads("PostToolUse")[-1]
    assert recorded["permission_mode"] == "acceptEdits"
    assert "do y" in Path(recorded["tool_response"]["filePath"]).read_text()


@pytest.mark.parametrize("mode", mostly_long([None, "default", "auto"], None))
def test_a_plan_is_approved(start: Start, mode: str | None) -> None:
    one = start("plan", strict=False)
    use = one.planned("# Plan\n1. do x\n")
    result = one.decided(use, {"action": "approve", **({"mode": mode} if mode else {})})
    assert result["outcome"] == "verified", result
    assert one.stage.payloads("PostToolUse")[-1]["permission_mode"] == (mode or "default")


@pytest.mark.long
def test_a_plan_without_an_input_is_approved(start: Start) -> None:
    one = start("plan", strict=False)
    result = one.decided(ToolUse("ExitPlanMode", {}), {"action": "approve"})
    assert result["outcome"] == "verified", result
    assert one.stage.payloads("PostToolUse")[-1]["permission_mode"] == "default"


@calls
def test_a_person_types_no_json(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"))
    one.waiting()
    done = one.stage.run("answer", "managed", "0", "--json", "--wait", "30")
    assert json.loads(done.stdout)["outcome"] == "verified", (done.stdout, done.stderr)
    assert (one.folder / "one").exists()


@calls
@pytest.mark.parametrize(
    "decision", [{"action": "allow"}, {"action": "deny", "text": "not below"}], ids=["allow", "deny"]
)
def test_a_subagents_call(one: ApprovalSession, decision: dict[str, Any]) -> None:
    one.model.script("sub", bash(f"touch {one.folder}/below"))
    one.call(SUBAGENT)
    [asked] = one.waiting()
    assert asked["request"]["input"]["command"] == f"touch {one.folder}/below"
    assert one.decide(decision)["outcome"] == "verified"
    wait_until(lambda: one.count("Stop") >= 1, 30, "the end of the turn", one.told)
    assert (one.folder / "below").exists() == (decision["action"] == "allow")
    assert one.history()[-1]["outcome"] == "verified"


def test_a_killed_client_leaves_nothing(start: Start) -> None:
    one = start()
    one.call(bash(f"touch {one.folder}/one"))
    [asked] = one.waiting()
    one.kill_client()
    # The hook ends by itself, or with the terminal: then only its lock says so.
    wait_until(lambda: not any(each["hook_waits"] for each in one.listed()), 20, "the end of the hook", one.told)
    late = one.decide({"action": "allow"}, "--tool-use-id", asked["tool_use_id"], code=4)
    assert late["outcome"] == "unanswered"
    assert one.listed() == []


@calls
def test_a_new_file_is_shown_as_a_difference_and_only_one_of_the_rules_folder(one: ApprovalSession) -> None:
    one.call(write(f"{one.folder}/new.txt", "first\nsecond\n"))
    wait_until(lambda: "Do you want" in one.client.screen(), 30, "the dialog", one.told)
    assert one.listed() == []
    press_until(one.client, "Escape", lambda: "Do you want" not in one.client.screen(), one.told)
    one.client.wait_idle()
    one.call(write(f"{one.folder}/given/new.txt", "first\nsecond\n"))
    [asked] = one.waiting()
    assert "+first\n+second" in asked["questions"][0]["question"]
    assert one.decide({"action": "allow"})["outcome"] == "verified"
    assert (one.folder / "given" / "new.txt").read_text() == "first\nsecond\n"


def test_without_any_terminal(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    """``claude -p`` draws no dialog: what it asks permission for is refused, unless somebody decides."""
    with ScriptedModel() as model:
        one = ApprovalSession(tmp_path, tmux_server, model, "default", sessions='["*"]')
        model.script("t1", bash(f"touch {one.folder}/one"))
        program = find_client()
        assert program is not None
        process = subprocess.Popen(
            [program, "--permission-mode", "default", "-p", "please RUN t1"],
            env={**one.stage.environ, **one.stage.client_home.environ(model)},
            cwd=one.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until(lambda: one.listed() or process.poll() is not None, 30, "the request", lambda: str(one.listed()))
            if not one.listed():
                # Up to 2.1.250 it is refused at once, and no hook hears of it.
                version = check_client(program, one.stage.environ).split()[0]
                assert tuple(map(int, version.split("."))) < (2, 1, 287)
                assert not (one.folder / "one").exists()
                return
            [asked] = one.listed()
            done = one.stage.run("allow", "--session", asked["session"], "--json", "--wait", "30")
            assert json.loads(done.stdout)["outcome"] == "verified", (done.stdout, done.stderr)
            assert process.wait(30) == 0
            assert (one.folder / "one").exists()
        finally:
            process.kill()
            process.communicate()
