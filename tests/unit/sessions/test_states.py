"""What a session does, weighed from hooks, registry and dialogs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.sessions.records import BUSY, GONE, IDLE, LIMITED, STOPPED, WAITING, SessionRecord
from hookrouter.sessions.running_clients import RunningClient
from hookrouter.sessions.states import REGISTRY_LAG_SECONDS, UNKNOWN, OpenDialog, SessionState, weigh
from hookrouter.util.clock import iso

NOW = 1_795_000_000.0


def ago(seconds: float) -> str:
    return iso(NOW - seconds)


def record(state: str, since: float = 60, **more: Any) -> SessionRecord:
    return SessionRecord("work", "s-1", state, ago(since), client_pid=1, **more)


def client(status: str, changed: float | None = 30, waiting_for: str = "") -> RunningClient:
    return RunningClient(1, "s-1", "/p", status, waiting_for, "" if changed is None else ago(changed))


def dialog(since: float = 30, kind: str = "question") -> OpenDialog:
    return OpenDialog(kind, ago(since))


def state(told: SessionRecord | None, seen: RunningClient | None, *dialogs: OpenDialog, **more: Any) -> SessionState:
    return weigh(told, seen, dialogs, at=NOW, **more)


@pytest.mark.parametrize("told", [IDLE, BUSY, STOPPED, LIMITED])
def test_without_a_registry_hooks_are_believed(told: str) -> None:
    assert state(record(told), None) == SessionState(told, ago(60))


def test_after_esc_only_the_registry_is_right() -> None:
    assert state(record(BUSY, 60), client("idle", 30)) == SessionState(IDLE, ago(30))
    # Without a time of the change the age of what hooks have told decides.
    assert state(record(BUSY, 60), client("idle", None)) == SessionState(IDLE, "")


@pytest.mark.parametrize(("told", "seen"), [(BUSY, "idle"), (IDLE, "busy"), (STOPPED, "busy")])
@pytest.mark.parametrize("changed", [30.0, None])
def test_a_hook_of_just_now_is_ahead_of_the_registry(told: str, seen: str, changed: float | None) -> None:
    assert state(record(told, 0.5), client(seen, changed)).state == told
    assert state(record(told, REGISTRY_LAG_SECONDS), client(seen, changed)).state != told


def test_a_registry_that_has_changed_since_the_hook_is_believed_at_once() -> None:
    assert state(record(BUSY, 1), client("idle", 0.5)).state == IDLE


def test_a_hook_of_the_future_is_not_ahead() -> None:
    # The clock was set back.
    assert state(record(BUSY, -3600), client("idle", 30)).state == IDLE


def test_a_turn_that_nothing_but_the_registry_tells_of() -> None:
    assert state(record(IDLE), client("busy", 30)) == SessionState(BUSY, ago(30))
    assert state(None, client("busy", 30)) == SessionState(BUSY, ago(30))
    assert state(None, client("idle", None)) == SessionState(IDLE, "")


def test_the_turn_is_over_while_a_shell_runs_in_the_background() -> None:
    assert state(record(IDLE), client("shell", 30)) == SessionState(IDLE, ago(60))


@pytest.mark.parametrize("told", [STOPPED, LIMITED])
def test_the_registry_knows_nothing_of_errors(told: str) -> None:
    assert state(record(told), client("idle", 30)).state == told
    assert state(record(told), client("busy", 30)).state == BUSY


def test_a_limit_that_is_over() -> None:
    assert state(record(LIMITED, limited_until=ago(-90)), client("idle")) == SessionState(
        LIMITED, ago(60), until=ago(-90)
    )
    assert state(record(LIMITED, limited_until=ago(5)), client("idle")) == SessionState(IDLE, ago(5))
    assert state(record(LIMITED, limited_until="tomorrow"), None).state == LIMITED


@pytest.mark.parametrize(
    ("status", "words", "told"),
    [("waiting", "input needed", "input needed"), ("waiting", "dialog open", "dialog open"), ("waiting", "", "dialog")],
)
def test_what_it_waits_for_by_the_registry_alone(status: str, words: str, told: str) -> None:
    assert state(record(BUSY), client(status, 30, words)) == SessionState(WAITING, ago(30), told)


def test_the_documents_say_better_what_it_waits_for() -> None:
    open_dialogs = dialog(20, "permission"), dialog(40, "question"), dialog(10, "question")
    found = state(record(BUSY), client("waiting", 30, "input needed"), *open_dialogs)
    assert found == SessionState(WAITING, ago(40), "permission, question")


def test_a_dialog_without_a_registry() -> None:
    assert state(record(BUSY), None, dialog()) == SessionState(WAITING, ago(30), "question")
    assert state(None, client(""), dialog()) == SessionState(WAITING, ago(30), "question")


def test_a_dialog_that_a_hook_holds_back_while_the_registry_calls_it_busy() -> None:
    assert state(record(BUSY), client("busy", 60), dialog(30, "elicitation")).waiting_for == "elicitation"


def test_a_document_that_esc_has_left() -> None:
    assert state(record(BUSY), client("idle", 10), dialog(30)) == SessionState(IDLE, ago(10))


def test_a_dialog_of_just_now_is_ahead_of_the_registry() -> None:
    assert state(record(BUSY), client("idle", 60), dialog(0.5)).state == WAITING


def test_gone() -> None:
    assert state(record(GONE), None) == SessionState(GONE, ago(60))
    assert state(record(BUSY), None, dialog(), is_gone=True) == SessionState(GONE, "")
    assert state(record(GONE), None, is_gone=True) == SessionState(GONE, ago(60))
    # Another client has begun there.
    assert state(record(GONE), client("idle", 30)).state == IDLE
    assert state(record(GONE, 0.5), client("idle", 30)).state == GONE


def test_a_client_that_says_nothing() -> None:
    assert state(None, client("")) == SessionState(UNKNOWN)
    assert state(None, client("sleeping")) == SessionState(UNKNOWN)
    assert state(record(BUSY), client("")).state == BUSY
    assert state(record("dancing"), None).state == UNKNOWN


_STATES = st.sampled_from([IDLE, BUSY, STOPPED, LIMITED, GONE, WAITING, "dancing"])
_TIMES = st.one_of(st.floats(-10, 100).map(ago), st.sampled_from(["", "x", "2026-01-01T00:00:00.000Z"]))
_RECORDS = st.builds(
    SessionRecord, st.just("work"), st.just("s-1"), _STATES, _TIMES, limited_until=_TIMES, client_pid=st.just(1)
)
_CLIENTS = st.builds(
    RunningClient,
    st.just(1),
    st.just("s-1"),
    st.just("/p"),
    st.sampled_from(["idle", "busy", "shell", "waiting", "", "other"]),
    st.sampled_from(["", "dialog open"]),
    _TIMES,
)
_DIALOGS = st.lists(st.builds(OpenDialog, st.sampled_from(["question", "plan"]), _TIMES), max_size=3)


@given(st.none() | _RECORDS, st.none() | _CLIENTS, _DIALOGS, st.booleans())
def test_whatever_is_known(
    told: SessionRecord | None, seen: RunningClient | None, dialogs: list[OpenDialog], is_gone: bool
) -> None:
    found = state(told, seen, *dialogs, is_gone=is_gone)
    assert found.state in {IDLE, BUSY, WAITING, LIMITED, STOPPED, GONE, UNKNOWN}
    assert bool(found.waiting_for) == (found.state == WAITING)
    assert not found.until or found.state == LIMITED
    assert found.state == GONE or not is_gone
    assert found.state != GONE or is_gone or (told is not None and told.state == GONE)
    if found.state in (LIMITED, STOPPED):
        assert told is not None
        assert told.state == found.state
    if seen is not None and seen.status == "waiting" and not is_gone and (told is None or told.since < ago(10)):
        assert found.state == WAITING
