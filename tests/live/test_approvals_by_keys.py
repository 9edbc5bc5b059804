"""Permissions and plans on the real client, decided by keys: no hook waits beside the dialog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash, write
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.approval_session import ECHO, SUBAGENT, ApprovalSession
from support.cleared import ForgetfulModel
from support.managed_client import press_until
from support.matrix import mostly_long
from support.mod_stage import short_folder
from support.shared import Shared
from support.tested_client import VERSION

pytestmark = [pytest.mark.live, pytest.mark.capability("approvals")]

Start = Callable[..., ApprovalSession]

Lent = tuple[ApprovalSession, ForgetfulModel]

Size = tuple[int, int]
"""Columns and rows."""

sharing = pytest.mark.xdist_group("approvals by keys")
sharing_narrow = pytest.mark.xdist_group("approvals by keys in narrow panes")


IMITATION = "echo\n\n Do you want to proceed?\n ❯ 1. No\n   2. Yes\n\n Esc to cancel · Tab to amend"
"""A command that looks like a dialog whose rows mean the opposite."""


@contextmanager
def session(
    folder: Path,
    server: PrivateTmux,
    model: ScriptedModel,
    mode: str = "default",
    *,
    strict: bool = True,
    size: Size = (120, 40),
) -> Iterator[ApprovalSession]:
    one = ApprovalSession(folder, server, model, mode, strict=strict, channel="keys", size=size)
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
def clients() -> Iterator[Callable[[Size], Shared[Lent]]]:
    """Return what lends a client in a pane of a size."""
    with ExitStack() as stack:

        @cache
        def clients(size: Size) -> Shared[Lent]:
            @contextmanager
            def make() -> Iterator[Lent]:
                # Old clients draw a row that is too long without its blanks, and one names this folder.
                with (
                    short_folder() as folder,
                    PrivateTmux() as server,
                    ForgetfulModel() as model,
                    session(Path(folder), server, model, size=size) as one,
                ):
                    yield one, model

            return stack.enter_context(Shared(make, lambda lent: lent[0].begin(lent[1])))

        yield clients


@pytest.fixture
def one(clients: Callable[[Size], Shared[Lent]], request: pytest.FixtureRequest) -> Iterator[ApprovalSession]:
    """Return a client in a conversation of the test's own: one client for all tests that leave its mode as it is."""
    with clients((120, 40)).lent(request.session) as (one, _model):
        yield one


@pytest.fixture
def narrow(
    clients: Callable[[Size], Shared[Lent]], size: Size, request: pytest.FixtureRequest
) -> Iterator[ApprovalSession]:
    """Return the same in a pane of the test's size."""
    with clients(size).lent(request.session) as (one, _model):
        yield one


ALLOW = {"action": "allow"}
DENY = {"action": "deny", "text": "Not this one, sorry: it is mine"}
STOP = {"action": "deny", "text": "Stop it all", "stop": True}


@sharing
def test_a_command_is_allowed_or_refused(one: ApprovalSession) -> None:
    result = one.decided(bash(f"touch {one.folder}/one"), ALLOW)
    assert (result["outcome"], result["kind"], result["channel"]) == ("verified", "permission", "keys")
    assert (one.folder / "one").exists()

    result = one.decided(bash(f"touch {one.folder}/two"), DENY)
    assert result["outcome"] == "verified", result
    assert one.said().endswith(DENY["text"])
    assert not (one.folder / "two").exists()

    one.call(bash(f"touch {one.folder}/three"))
    one.waiting()
    stops = one.count("Stop")
    assert one.decide(STOP)["outcome"] == "verified"
    one.client.wait_idle()
    assert one.count("Stop") == stops
    assert not (one.folder / "three").exists()
    assert [(story["outcome"], story["by"]) for story in one.history()] == [("verified", "agent")] * 3


def tools(one: ApprovalSession) -> dict[str, ToolUse]:
    """Return a call of each tool whose dialog is known."""
    old = one.folder / "given" / "old.txt"
    return {
        "several lines": bash("touch 'a  b'\n\n\tls -la  \n# ─────────────────────\n│ x\nfalse"),
        "imitation": bash(IMITATION),
        "new file": write(f"{one.folder}/given/new.txt", "one\n\n\ttwo 1. Yes\n" + "long " * 60),
        "edited file": ToolUse(
            "Edit", {"file_path": str(old), "old_string": "beta\n", "new_string": "delta\n+ 3 epsilon\n"}
        ),
        "file written over": write(str(old), "alpha\nother\n"),
        "mcp": ToolUse(ECHO, {"text": 'a "b"\nc: d'}),
    }


@sharing
@pytest.mark.parametrize("number", mostly_long(range(6), 1, 3, 4))
def test_the_dialogs_of_all_tools_are_known(one: ApprovalSession, number: int) -> None:
    one.use_rules(strict=False)
    (one.folder / "given").mkdir()
    (one.folder / "given" / "old.txt").write_text("alpha\nbeta\ngamma\n")
    use = list(tools(one).values())[number]
    if use.name in ("Edit", "Write"):
        stops = one.count("Stop")
        one.call(ToolUse("Read", {"file_path": use.input["file_path"]}))
        wait_until(lambda: one.count("Stop") > stops, 30, "the end of the turn", one.told)
        one.client.wait_idle()
    if "new.txt" not in str(use.input):
        refused = one.decided(use, DENY)
        assert refused["outcome"] == "verified", (refused, one.told())
    assert one.decided(use, ALLOW)["outcome"] == "verified"


@sharing
def test_what_no_keys_can_enter_is_refused_before_the_first(one: ApprovalSession) -> None:
    one.use_rules(strict=False)
    one.call(bash(f"touch {one.folder}/one"))
    one.waiting()
    for decision, reason in (
        ({"action": "allow", "input": {"command": "true"}}, "no field for another input"),
        ({"action": "allow", "always": 1}, "only a waiting hook can grant it"),
        ({"action": "deny", "text": "two\nlines"}, "several lines"),
    ):
        result = one.decide(decision, code=4)
        assert reason in result["reason"]
        assert result["steps"] == []
    assert one.decide(ALLOW)["outcome"] == "verified"


@sharing
def test_a_person_who_is_first_wins(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"))
    one.waiting()
    one.press_by_hand("Escape")
    result = one.decide(ALLOW, code=4)
    assert result["outcome"] in ("unanswered", "not_delivered"), result
    assert not (one.folder / "one").exists()
    # What a person has begun to type is left alone.
    one.client.wait_idle()
    one.call(bash(f"touch {one.folder}/two"))
    one.waiting()
    wait_until(lambda: "Do you want" in one.client.screen(), 30, "the dialog", one.told)
    press_until(one.client, "Tab", lambda: "and tell Claude what to do next" in one.client.screen(), one.told)
    for decision in (ALLOW, DENY):
        assert "adding a text" in one.decide(decision, code=4)["reason"]
    assert not (one.folder / "two").exists()


@sharing
def test_another_calls_dialog_is_left_alone(one: ApprovalSession) -> None:
    one.call(bash(f"touch {one.folder}/one"))
    [first] = one.waiting()
    # It is decided by hand, and a person's own call takes its place on the screen.
    one.press_by_hand("Escape")
    one.client.wait_idle()
    one.call(bash(f"touch {one.folder}/forbidden-not; rmdir {one.folder}/none"))
    wait_until(lambda: "Do you want" in one.client.screen(), 30, "the person's dialog", one.told)
    result = one.decide(ALLOW, "--tool-use-id", first["tool_use_id"], code=4)
    assert result["outcome"] in ("unanswered", "not_delivered", "answered_by_person"), result
    assert "Do you want" in one.client.screen()


@pytest.mark.parametrize(
    "decision", mostly_long([{"action": "approve"}, {"action": "approve", "mode": "default"}], {"action": "approve"})
)
def test_a_plan_is_sent_back_then_approved(start: Start, decision: dict[str, Any]) -> None:
    one = start("plan", strict=False)
    use = one.planned("# Plan\n1. do x\n")
    result = one.decided(use, {"action": "revise", "text": "Add a step 3: tests"})
    assert (result["outcome"], result["kind"], result["channel"]) == ("verified", "plan", "keys")
    assert one.said().endswith("Add a step 3: tests")
    assert one.decided(use, decision)["outcome"] == "verified"
    assert one.stage.payloads("PostToolUse")[-1]["permission_mode"] == "default"


def test_a_plan_is_approved_in_the_mode_that_the_dialog_offers(start: Start) -> None:
    one = start("plan", strict=False)
    use = one.planned("\n".join(f"{number}. a step" for number in range(90)))
    one.call(use)
    one.waiting()
    wait_until(lambda: "Would you like to proceed" in one.client.screen(), 30, "the dialog", one.told)
    offered = "auto" if "use auto mode" in one.client.screen() else "acceptEdits"
    other = "acceptEdits" if offered == "auto" else "auto"
    assert "no row for the mode" in one.decide({"action": "approve", "mode": other}, code=4)["reason"]
    stops = one.count("Stop")
    assert one.decide({"action": "approve", "mode": offered})["outcome"] == "verified"
    wait_until(lambda: one.count("Stop") > stops, 30, "the end of the turn", one.told)
    assert one.stage.payloads("PostToolUse")[-1]["permission_mode"] == offered


@sharing
@pytest.mark.long
def test_a_command_that_does_not_fit_the_pane_is_left_to_a_person(one: ApprovalSession) -> None:
    one.call(bash("\n".join(f"touch line-{number}" for number in range(60))))
    one.waiting()
    result = one.decide(ALLOW, code=4)
    assert "not certain" in result["reason"]
    assert result["steps"] == []


@sharing
def test_two_calls_of_one_message_are_told_apart(one: ApprovalSession) -> None:
    stops = one.count("Stop")
    one.call(*[ToolUse(ECHO, {"text": text}) for text in ("first", "second")])
    for _ in range(2):
        asked = one.waiting()[0]
        decision = ALLOW if asked["request"]["input"]["text"] == "first" else DENY
        result = one.decide(decision, "--tool-use-id", asked["tool_use_id"])
        assert result["outcome"] == "verified", result
        one.wait_ended(asked["tool_use_id"])
    wait_until(lambda: one.count("Stop") > stops, 30, "the end of the turn", one.told)
    told = list(one.model.tool_results().values())
    assert any("echo first" in text for text in told)
    assert any(text.endswith(DENY["text"]) for text in told)


@sharing
@pytest.mark.parametrize("decision", [ALLOW, DENY], ids=["allow", "deny"])
def test_a_subagents_call(one: ApprovalSession, decision: dict[str, Any]) -> None:
    one.model.script("sub", bash(f"touch {one.folder}/below"))
    one.call(SUBAGENT)
    one.waiting()
    assert one.decide(decision)["outcome"] == "verified"
    wait_until(lambda: one.count("Stop") >= 1, 30, "the end of the turn", one.told)
    assert (one.folder / "below").exists() == (decision["action"] == "allow")


@pytest.mark.parametrize("decision", [ALLOW, DENY], ids=["allow", "deny"])
def test_a_subagents_call_that_no_reply_comes_for_in_time(
    tmp_path: Path, tmux_server: PrivateTmux, decision: dict[str, Any]
) -> None:
    more = "\n[plugins.approvals.settings]\nunseen_wait = 1\n"
    with ScriptedModel({"sub": bash("touch below")}) as model:
        one = ApprovalSession(tmp_path, tmux_server, model, "default", also=("keys",), more=more)
        with one.client:
            wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
            one.call(SUBAGENT)
            wait_until(lambda: "Do you want to proceed?" in one.client.screen(), 30, "its dialog", one.told)
            wait_until(one.listed, 30, "its question", one.told)
            result = one.decide(decision)
            # Old clients draw it at once, while the hook waits.
            channels = ("keys",) if VERSION >= (2, 1, 330) else ("keys", "reply")
            assert (result["outcome"], result["channel"] in channels) == ("verified", True), one.told()
            wait_until(lambda: one.count("Stop") >= 1, 30, "the end of the turn", one.told)
            assert (one.folder / "below").exists() == (decision["action"] == "allow")


def test_a_killed_client_gets_no_key(start: Start) -> None:
    one = start()
    one.call(bash(f"touch {one.folder}/one"))
    [asked] = one.waiting()
    one.kill_client()
    late = one.decide(ALLOW, "--tool-use-id", asked["tool_use_id"], code=4)
    assert late["steps"] == []
    assert not (one.folder / "one").exists()


@sharing_narrow
@pytest.mark.parametrize("size", mostly_long([(60, 24), (80, 24)], (60, 24)), ids=str)
@pytest.mark.parametrize("decision", [ALLOW, DENY], ids=["allow", "deny"])
def test_a_narrow_pane(narrow: ApprovalSession, size: Size, decision: dict[str, Any]) -> None:
    one = narrow
    if size[0] < 80 and VERSION < (2, 1, 250):
        # These clients leave out blanks in a row that is too long, so that the rows are not certain.
        one.call(bash("touch below-here"))
        one.waiting()
        assert one.decide(decision, code=4)["steps"] == []
        return
    result = one.decided(bash("touch below-here"), decision)
    assert result["outcome"] == "verified", one.told()
    assert (one.folder / "below-here").exists() == (decision["action"] == "allow")
