"""The harness itself: a private tmux server that leaves nothing behind, and a model that the real client accepts."""

from __future__ import annotations

import json
import os
import shlex
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox import record_hook
from hookrouter._sandbox.client import ClientHome, ClientSession, find_client, prompt_box, read_payloads, wait_payload
from hookrouter._sandbox.scripted_model import Say, ScriptedModel, ToolUse, ask, bash
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxError
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until

if TYPE_CHECKING:
    from pathlib import Path

FORM = {
    "questions": [
        {
            "question": "Which approach?",
            "header": "Approach",
            "multiSelect": False,
            "options": [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}],
        }
    ]
}
OFFERED = {"tools": [{"name": "AskUserQuestion"}, {"name": "Bash"}]}


def user(*content: dict[str, Any] | str) -> dict[str, Any]:
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": "user", "content": blocks}


def result(identifier: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": "A"}


def test_the_replies_of_a_script_come_in_turn() -> None:
    model = ScriptedModel({"two": [ask(FORM), bash("true")]})
    first = user("please ASK two")
    answered = [first, {"role": "assistant", "content": []}, user(result())]
    done = [*answered, {"role": "assistant", "content": []}, user(result("toolu_2"))]
    replies = [model.reply_to({**OFFERED, "messages": messages}) for messages in ([first], answered, done)]
    assert [reply.name if isinstance(reply, ToolUse) else reply.text for reply in replies] == [
        "AskUserQuestion",
        "Bash",
        "Done.",
    ]


@pytest.mark.parametrize(
    "messages",
    [
        [user("please ASK form"), user(result(), "[Request interrupted by user for tool use]"), user("stop that")],
        [user("please ASK form"), user(result()), user("<system-reminder>ASK form</system-reminder>", "stop that")],
        [user("ASK unknown")],
    ],
)
def test_a_prompt_without_a_script_is_answered_in_text(messages: list[dict[str, Any]]) -> None:
    assert isinstance(ScriptedModel({"form": ask(FORM)}).reply_to({**OFFERED, "messages": messages}), Say)


def test_side_requests_without_tools_never_get_a_tool_call() -> None:
    assert isinstance(ScriptedModel({"form": ask(FORM)}).reply_to({"messages": [user("ASK form")]}), Say)


def test_plain_requests_and_token_counts() -> None:
    with ScriptedModel({"form": ask(FORM)}) as model:

        def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
            request = urllib.request.Request(model.url + path, json.dumps(body).encode(), method="POST")
            with urllib.request.urlopen(request, timeout=5) as response:
                answer: dict[str, Any] = json.load(response)
            return answer

        body = {**OFFERED, "model": "any-model", "messages": [user("ASK form")]}
        message = post("/v1/messages?beta=true", body)
        assert message["content"][1]["input"] == FORM
        assert message["stop_reason"] == "tool_use"
        assert post("/v1/messages/count_tokens", body)["input_tokens"] > 0
        assert [request.body for request in model.requests] == [body]


def test_prompt_box_is_told_from_dialogs_and_old_prompts() -> None:
    rule = "─" * 40
    assert prompt_box(f"❯ old prompt\n\n{rule}\n❯\u00a0typed  \n{rule}\n  auto mode on") == ("typed",)
    assert prompt_box(f"> old prompt\n\n{rule}\n> \n{rule}\n  ⏵⏵ bypass permissions on") == ("",)
    assert prompt_box(f"❯ old prompt\n\n{rule}\n>quoted\n{rule}") is None
    assert prompt_box(f"❯ old prompt\n{rule}\n ☐ Approach\n\n❯ 1. A\n  2. B\n{rule}\n  3. Chat about this") is None


@pytest.mark.tmux
def test_pane_shows_typed_text_and_leaves_no_process(tmp_path: Path) -> None:
    with PrivateTmux() as server:
        orphan = tmp_path / "orphan"
        script = f"setsid sleep 600 & echo $! > {shlex.quote(str(orphan))}; cat"
        pane = server.start("work", ["sh", "-c", script], width=60, height=10)
        pane.type("-;hello;x")
        assert "-;hello;x" in pane.wait_for("hello", 5)
        pid = int(wait_until(lambda: orphan.exists() and orphan.read_text().strip(), 5, "orphan"))
        with pytest.raises(WaitTimeoutError, match="hello"):
            pane.wait_for("never shown", 0.1)
        folder = server.folder
    assert not os.path.exists(folder)

    def gone() -> bool:
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    wait_until(gone, 5, "end of the orphan")


@pytest.mark.tmux
def test_programs_see_neither_the_users_environment_nor_another_server(
    monkeypatch: pytest.MonkeyPatch, tmux_server: PrivateTmux
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "1")
    pane = tmux_server.start("work", ["sh", "-c", "env; cat"], environ={"GIVEN": "yes"})
    screen = pane.wait_for("GIVEN=yes", 5)
    assert "SECRET_OF_THE_USER" not in screen
    assert f"TMUX={tmux_server.pane_environ(pane)['TMUX']}" in screen


@pytest.mark.live
def test_the_real_client_asks_and_reports_what_was_chosen(tmp_path: Path) -> None:
    record = str(tmp_path / "events.jsonl")
    with ScriptedModel({"form": ask(FORM)}) as model, PrivateTmux() as server:
        home = ClientHome(str(tmp_path))
        for event in ("PreToolUse", "PostToolUse"):
            home.add_hook(event, shlex.join([sys.executable, record_hook.__file__, record]))
        program = find_client()
        assert program is not None
        with ClientSession([program], server, home, home.environ(model)) as client:
            client.submit("please ASK form")
            client.wait_dialog("Which approach?")
            client.pane.press("Down")
            client.pane.wait_for("❯ 2. B")

            def press_until_taken() -> bool:
                if "❯ 2. B" in client.screen():
                    client.pane.press("Enter")
                return len(read_payloads(record)) > 1

            wait_until(press_until_taken, 5, "answer", client.screen)
            payload = wait_payload(record, "PostToolUse")
            assert payload["tool_response"]["answers"] == {"Which approach?": "B"}
            assert '"Which approach?"="B"' in model.wait_for_result(payload["tool_use_id"])
            client.wait_idle()


def test_a_payload_that_is_being_written_is_not_read_yet(tmp_path: Path) -> None:
    whole = json.dumps({"hook_event_name": "Stop", "text": "Größe"}, ensure_ascii=False).encode()
    for end in range(len(whole) + 1):
        (tmp_path / "payloads.jsonl").write_bytes(whole + b"\n" + whole[:end])
        assert len(read_payloads(str(tmp_path / "payloads.jsonl"))) == 1


def test_a_session_is_started_though_the_server_was_just_ending(
    tmux_server: PrivateTmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, failures = tmux_server.run, ["server exited unexpectedly"]

    def at_the_end(*arguments: str, stdin: str | None = None) -> str:
        if failures:
            raise TmuxError(f"tmux {arguments[0]}: {failures.pop()}")
        return run(*arguments, stdin=stdin)

    monkeypatch.setattr(tmux_server, "run", at_the_end)
    tmux_server.start("work", ["cat"])
    assert run("list-sessions", "-F", "#{session_name}").split() == ["work"]

    failures.append("something else")
    with pytest.raises(TmuxError, match="something else"):
        tmux_server.start("other", ["cat"])
