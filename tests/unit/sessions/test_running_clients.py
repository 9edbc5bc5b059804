"""The client's registry of sessions: what is taken from it, and what never is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.sessions.running_clients import RunningClient, process_environ, running_clients

OWN = os.getpid()
# As client 2.1.330 writes it, at an open picker.
ENTRY = {
    "pid": OWN,
    "sessionId": "s-1",
    "cwd": "/project",
    "kind": "interactive",
    "entrypoint": "cli",
    "tmux": "managed:@0.%0",
    "status": "waiting",
    "waitingFor": "dialog open",
    "updatedAt": 1764000000000,
}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude" / "sessions"
    folder.mkdir(parents=True)
    return folder


def listed(registry: Path) -> list[RunningClient]:
    return running_clients({"HOME": str(registry.parents[1])})


def write(registry: Path, name: str = "1.json", **changes: Any) -> None:
    (registry / name).write_text(json.dumps({**ENTRY, **changes}))


def test_a_client_that_waits(registry: Path) -> None:
    write(registry)
    assert listed(registry) == [RunningClient(OWN, "s-1", "/project", "waiting", "dialog open")]


def test_a_client_whose_session_goes_on_in_the_background(registry: Path) -> None:
    write(registry, parkedJobId="29b608eb")
    assert [one.parked_job for one in listed(registry)] == ["29b608eb"]


def test_an_old_client_says_less(registry: Path) -> None:
    (registry / "1.json").write_text(json.dumps({"pid": OWN, "sessionId": "s-1", "cwd": "/project"}))
    assert listed(registry) == [RunningClient(OWN, "s-1", "/project", "", "")]


def test_another_folder_of_the_client(registry: Path) -> None:
    write(registry)
    assert running_clients({"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(registry.parent)}) != []
    assert running_clients({"HOME": "/nowhere"}) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "bg"},
        {"pid": 0},
        {"pid": -1},
        {"pid": True},
        {"pid": "1"},
        {"pid": 2**22 + 1},
        {"pid": 2**31},
        {"pid": 2**70},
    ],
    ids=str,
)
def test_what_is_no_running_interactive_client(registry: Path, changes: dict[str, Any]) -> None:
    write(registry, **changes)
    assert listed(registry) == []


def test_only_json_files_count(registry: Path) -> None:
    write(registry, "1.json.tmp")
    (registry / "2.json").mkdir()
    assert listed(registry) == []


@given(
    st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*ENTRY, "x"]), inner),
        ).map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass")),
    )
)
def test_whatever_stands_there_raises_nothing(registry: Path, data: bytes) -> None:
    (registry / "1.json").write_bytes(data)
    for one in listed(registry):
        assert one.pid > 0
        assert all(isinstance(text, str) for text in one[1:])


def test_the_environment_of_a_process() -> None:
    assert process_environ(OWN).get("PATH")
    assert process_environ(2**22 + 1) == {}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1795363608636, "2026-11-22T16:06:48.636Z"),
        (None, ""),
        (True, ""),
        ("1795363608636", ""),
        (1.5, ""),
        (2**70, ""),
        (-(2**70), ""),
    ],
    ids=str,
)
def test_since_when_it_has_its_state(registry: Path, value: object, told: str) -> None:
    write(registry, statusUpdatedAt=value)
    assert [one.changed_at for one in listed(registry)] == [told]
