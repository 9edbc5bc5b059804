"""All that is known of each session, from hooks, registry, dialogs and queues."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hookrouter.cli.application import Application
from hookrouter.dialogs.documents import Dialog, save_question
from hookrouter.messaging import pauses
from hookrouter.queue import editing
from hookrouter.queue.items import STARTED
from hookrouter.queue.overview import SessionView, overview
from hookrouter.sessions.usage import ContextUsed
from hookrouter.terminals import TerminalAddress
from hookrouter.util.claude_process import process_space
from hookrouter.util.clock import iso, now

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from support.sessions import Machine

FORM = [{"question": "Which?", "header": "W", "multiSelect": False, "options": [{"label": "A"}, {"label": "B"}]}]


def seen(**options: Any) -> list[SessionView]:
    return overview(Application.from_environ(), **options)


def only(**options: Any) -> SessionView:
    (view,) = seen(**options)
    return view


def test_nothing_is_known(machine: Machine) -> None:
    assert seen() == []


def test_a_session_that_all_tell_of(machine: Machine, hookrouter_home: Path, tmp_path: Path) -> None:
    (hookrouter_home / "config.toml").write_text('[[agents]]\nid = "night"\nsessions = ["work"]\ngateway = "inbox"\n')
    transcript = tmp_path / "t.jsonl"
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 149_000}
    message = {"model": "claude-opus-5-5", "usage": usage}
    transcript.write_text(json.dumps({"type": "assistant", "message": message, "version": "2.1.330"}))
    pid = machine.client("s-1", "busy")
    address = TerminalAddress("tmux", "work", "%1", "")
    told = machine.record(
        "work",
        pid,
        "busy",
        terminal=address,
        cwd="/project/sub",
        transcript_path=str(transcript),
        permission_mode="plan",
        last_message="Done.\nMore.",
        background=("bash: sleep 5",),
    )
    first, _ = machine.put("work", "go on", "/clear")
    machine.set_state("work", first, STARTED)
    pauses.begin(machine.store, "work", "lunch")
    view = only()
    assert (view.session, view.session_id, view.client_pid, view.terminal) == ("work", "s-1", pid, address)
    assert (view.state.state, view.state.since, view.cwd) == ("busy", told.since, "/project/sub")
    assert (view.model, view.context) == ("claude-opus-5-5", ContextUsed(150_000, 1_000_000, "claude-opus-5-5"))
    assert (view.agent, view.permission_mode, view.last_message) == ("night", "plan", "Done.\nMore.")
    assert view.background == ("bash: sleep 5",)
    assert view.pause is not None
    assert view.queue == machine.queue("work")


def test_a_session_that_only_the_registry_knows(machine: Machine) -> None:
    pid = machine.client("abcdefgh-1", "waiting", waitingFor="dialog open")
    view = only()
    assert (view.session, view.client_pid, view.cwd) == ("claude-abcdefgh", pid, "/project")
    assert (view.state.state, view.state.waiting_for, view.context) == ("waiting", "dialog open", None)
    assert view.agent == "default"


def test_a_client_in_a_terminal_has_the_terminals_name(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    address = TerminalAddress("tmux", "work", "%1", "")
    monkeypatch.setattr("hookrouter.queue.overview.locate", lambda *_: (address, ""))
    machine.client("abcdefgh-1")
    view = only()
    assert (view.session, view.terminal) == ("work", address)


def test_another_client_has_taken_the_place_of_one_that_ended(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookrouter.queue.overview.locate", lambda *_: (TerminalAddress("tmux", "work", "%1", ""), ""))
    gone = machine.client("s-1")
    machine.record("work", gone, "busy", last_message="old")
    machine.kill(gone)
    pid = machine.client("s-2", "idle")
    machine.put("work", "go on")
    view = only()
    assert (view.session_id, view.client_pid, view.state.state, view.last_message) == ("s-2", pid, "idle", "")
    assert len(view.queue.items) == 1


def test_after_esc(machine: Machine) -> None:
    pid = machine.client("s-1", "idle")
    machine.record("work", pid, "busy", since=iso(now() - 60))
    assert only().state.state == "idle"


def test_a_resumed_session_is_known_by_its_id(machine: Machine) -> None:
    pid = machine.client("s-1", "busy")
    machine.record("work", 0, "idle", since=iso(now() - 60))
    assert [(view.session, view.client_pid, view.state.state) for view in seen()] == [("work", pid, "busy")]


def test_a_client_that_was_killed_is_gone_and_leaves_the_list_later(machine: Machine) -> None:
    pid = machine.client("s-1", "busy")
    machine.record("work", pid, "busy")
    machine.kill(pid)
    assert only().state.state == "gone"
    machine.record("work", pid, "busy", since=iso(now() - 7200))
    assert seen() == []
    assert only(every=True).session == "work"
    # What waits is still to be seen.
    machine.put("work", "go on")
    assert only().session == "work"


def test_a_client_of_another_machine_is_not_gone(machine: Machine) -> None:
    machine.record("work", 2**22 + 1, "idle", client_host="other machine")
    assert only().state.state == "idle"


def test_a_queue_without_a_client(machine: Machine) -> None:
    machine.put("later", "go on")
    view = only()
    assert (view.session, view.state.state, view.client_pid) == ("later", "gone", 0)


def test_a_registry_of_another_configuration_folder(machine: Machine, tmp_path: Path) -> None:
    registry = tmp_path / "other" / "sessions"
    registry.mkdir(parents=True)
    pid = machine.client("s-1", "busy", kind="bg")
    machine.record("work", pid, "busy", since=iso(now() - 60))
    assert only().state.state == "busy"


def question(pid: int = 0, **more: Any) -> Dialog:
    known = {"session": "work", "session_id": "s-1", "tool_use_id": "toolu_1", "saved_at": iso(now() - 5)}
    known |= {"client_pid": pid, "client_host": process_space(), "cwd": "/p"}
    return Dialog(questions=FORM, terminal=None, agent="default", gateway="inbox", **{**known, **more})


def test_an_open_question_is_what_it_waits_for(machine: Machine) -> None:
    pid = machine.client("s-1", "waiting", waitingFor="input needed")
    machine.record("work", pid, "busy", since=iso(now() - 60))
    asked = question(pid)
    save_question(machine.store, asked)
    assert (only().state.waiting_for, only().state.since) == ("question", asked.saved_at)


def test_a_question_of_a_session_that_no_record_tells_of(machine: Machine) -> None:
    save_question(machine.store, question())
    view = only()
    assert (view.session, view.session_id, view.cwd) == ("work", "s-1", "/p")
    assert (view.state.state, view.state.waiting_for) == ("waiting", "question")


def test_a_question_that_its_transcript_shows_over(machine: Machine, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "The user doesn't want to"}
    blocks = [{"type": "tool_use", "id": "toolu_1"}, result]
    transcript.write_text("\n".join(json.dumps({"message": {"content": [one]}}) for one in blocks))
    machine.record("work", 0, "busy")
    save_question(machine.store, question(transcript_path=str(transcript)))
    assert only().state.state == "busy"


def test_the_model_with_its_mark_if_a_hook_has_said_it(machine: Machine, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    message = {"model": "claude-sonnet-4-6", "usage": {"input_tokens": 100_000}}
    transcript.write_text(json.dumps({"type": "assistant", "message": message, "version": "2.1.330"}))
    machine.record("work", model="claude-sonnet-4-6[1m]", transcript_path=str(transcript))
    view = only()
    assert view.context is not None
    assert (view.model, view.context.percent) == ("claude-sonnet-4-6[1m]", 10)
    machine.record("work", model="claude-opus-5-5", transcript_path=str(transcript))
    view = only()
    assert view.context is not None
    assert (view.model, view.context.tokens, view.context.percent) == ("claude-sonnet-4-6", 100_000, None)
    assert only(with_context=False).model == "claude-opus-5-5"


def test_sessions_stand_by_name(machine: Machine) -> None:
    for name in ("b", "a/../c", "a"):
        machine.record(name, session_id=f"s-{name}")
    editing.hold(machine.store, "b", "wait")
    assert [(view.session, view.queue.hold is None) for view in seen()] == [("a", True), ("a/../c", True), ("b", False)]
