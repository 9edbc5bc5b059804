"""Dialogs that read alike, on the real client: one decision never goes into another dialog.

A client draws one dialog at a time and names no call in it. What tells two of them apart is what can be read on the
screen, which is not all that was asked: white space, accents, emoji and some signs get lost on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import dialog_is_open
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash
from hookrouter._sandbox.waiting import wait_until
from support.approval_session import SUBAGENT, ApprovalSession
from support.matrix import mostly_long
from support.tested_client import VERSION

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

# The class is in conftest.py, which cannot be imported from here.
Live = Any

BESIDE = SUBAGENT._replace(input={**SUBAGENT.input, "run_in_background": True})
ALLOW = {"action": "allow"}


def form(text: str, header: str = "Deploy", *labels: str) -> dict[str, Any]:
    options = [{"label": label, "description": f"{label}, now"} for label in labels or ("Yes", "No")]
    return {"question": text, "header": header, "multiSelect": False, "options": options}


@pytest.fixture
def live(request: pytest.FixtureRequest) -> Iterator[Live]:
    """Return the client that the channels of the test's parameter want, at its prompt again afterwards."""
    one: Live = request.getfixturevalue(request.param)
    yield one
    for _ in range(6):
        if dialog_is_open(one.client.screen()):
            one.client.pane.press("Escape")
    one.client.wait_idle()


PAIRS = {
    "emoji": (form("Shall I deploy? 🟢"), form("Shall I deploy? 🔴")),
    "accents": (form("Shall I remove résumé?"), form("Shall I remove resume?")),
    "signs": (form("Shall I run `a^b`?"), form("Shall I run ab?")),
    "labels": (form("Deploy where?", "Where", "Prod 🟢", "No"), form("Deploy where?", "Where", "Prod 🔴", "No")),
    "a question of several": (form("Shall I deploy? 🟢"), form("Shall I deploy?")),
}


@pytest.mark.parametrize("live", ["shared"], indirect=True)
@pytest.mark.parametrize("pair", mostly_long(PAIRS.values(), PAIRS["emoji"], PAIRS["a question of several"]), ids=PAIRS)
def test_no_key_goes_into_one_of_two_open_forms_that_read_alike(
    live: Live, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    first, second = pair
    more = [form("And then?", "Then")] if second["question"] == "Shall I deploy?" else []
    live.ask_together([first], [second, *more])
    # Their hooks run at once, so the payloads come in any order.
    payloads = sorted(live.stage.payloads("PreToolUse")[-2:], key=lambda one: len(one["tool_input"]["questions"]))
    nothing_goes_in(live, [payload["tool_use_id"] for payload in payloads], len(more))


def nothing_goes_in(live: Live, ids: list[str], more: int = 0) -> None:
    """See that neither is answered by keys, and that the other one is once a person has answered one."""
    live.client.wait_dialog("")
    before = len(live.stage.payloads("PostToolUse"))

    def recorded() -> bool:
        return len(live.stage.payloads("PostToolUse")) > before

    for number in (1, 0):
        done = answered(live, ids[number], 1 + more * number)
        assert done["outcome"] == "not_delivered", done
        assert done["steps"] == []
        assert "reads like" in done["reason"]
    assert not recorded()
    # A person decides the one on the screen, which frees the other one.
    live.client.pane.press("1")
    wait_until(lambda: recorded() or "And then?" in live.client.screen(), 30, "a person's answer", live.client.screen)
    if not recorded():
        # The one with two questions was on the screen, and is not whole yet.
        return
    wait_until(lambda: len(live.open_questions()) == 1, 30, "the end of the first", live.client.screen)
    [last] = live.open_questions()
    done = answered(live, last, 1 + more * ids.index(last))
    assert done["outcome"] == "verified", done


def answered(live: Live, tool_use_id: str, count: int = 1) -> dict[str, Any]:
    decisions = [{"action": "select", "optionIndex": 0}] * count
    done = live.answer(*decisions, options=("--tool-use-id", tool_use_id))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("live", ["replying"], indirect=True)
def test_no_channel_answers_one_of_two_open_forms_of_equal_words(live: Live) -> None:
    live.ask_together([form("Shall I deploy?")], [form("Shall I deploy?")])
    nothing_goes_in(live, [payload["tool_use_id"] for payload in live.stage.payloads("PreToolUse")[-2:]])


@pytest.fixture
def beside(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[ApprovalSession]:
    with ScriptedModel() as model:
        one = ApprovalSession(tmp_path, tmux_server, model, "default", channel="keys")
        with one.client:
            wait_until(one.has_servers_tools, 30, "the server's tools", one.client.screen)
            yield one


def both_asked(one: ApprovalSession, main: ToolUse, below: ToolUse) -> None:
    """Have the session and a subagent of it call a tool, until both calls have begun and a dialog is drawn."""
    one.model.script("sub", below)
    one.model.script("both", [BESIDE, main])
    one.stage.record("PreToolUse")
    one.client.submit("please RUN both")
    wait_until(lambda: "Do you want" in one.client.screen(), 30, "a dialog", one.told)


def test_a_call_that_rules_leave_to_a_person_is_not_allowed_by_the_decision_about_one_that_reads_alike(
    beside: ApprovalSession,
) -> None:
    # Rules of the stage leave "* forbidden*" to a person.
    both_asked(beside, bash("touch a-é\necho forbidden"), bash("touch a-e\necho forbiddén"))
    [agents] = [one["tool_use_id"] for one in beside.waiting(2) if one["request"].get("decider") != "person"]
    result = beside.decide(ALLOW, "--tool-use-id", agents, code=4)
    # An old client draws the subagent's dialog so that it shows less.
    assert "looks just like" in result["reason"] or "shows too little of the call" in result["reason"], result
    assert result["steps"] == []
    assert list(beside.folder.glob("a-*")) == []


@pytest.mark.skipif(VERSION < (2, 1, 200), reason="an agent in the background of this client asks nobody")
def test_two_dialogs_that_wait_are_both_decided(beside: ApprovalSession) -> None:
    """2.1.300 and later write "1 of 2" at the right of the title."""
    both_asked(beside, bash("touch aaa"), bash("touch bbb"))
    beside.waiting(2)
    left = {one["tool_use_id"] for one in beside.waiting(2)}
    for _ in range(8):
        for each in sorted(left):
            if beside.decide(ALLOW, "--tool-use-id", each, code=None)["outcome"] == "verified":
                left.discard(each)
        if not left:
            break
    assert not left, beside.told()
    assert sorted(path.name for path in beside.folder.iterdir() if path.name in ("aaa", "bbb")) == ["aaa", "bbb"]
