"""Who decides, by what the environment says: a person elsewhere counts only if hookrouter itself says so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hookrouter.dialogs.answers import identity
from hookrouter.dialogs.answers.identity import (
    PERSON_VARIABLE,
    PROOF_VARIABLE,
    is_person_there,
    login_name,
    person_elsewhere,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    for name in (PERSON_VARIABLE, PROOF_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return str(tmp_path / "state")


def take(monkeypatch: pytest.MonkeyPatch, told: dict[str, str], parent: int | None = None) -> None:
    """Have this process be one that was started with these variables."""
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(identity.os, "getppid", lambda: os.getpid() if parent is None else parent)


def test_a_variable_alone_makes_nobody_a_person(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del state
    take(monkeypatch, {PERSON_VARIABLE: "eve"})
    assert not is_person_there(at_terminal=False)
    assert login_name() != "eve"
    assert is_person_there(at_terminal=True)


def test_whoever_starts_the_command_says_that_a_person_asks(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with person_elsewhere(state, "ann ü") as told:
        take(monkeypatch, told)
        assert is_person_there(at_terminal=False)
        assert login_name() == "ann ü"
    assert os.listdir(state) == []
    assert not is_person_there(at_terminal=False)


def test_nobody_else_is_that_person(state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with person_elsewhere(state, "ann") as told:
        take(monkeypatch, told, parent=1)
        assert not is_person_there(at_terminal=False)
        take(monkeypatch, {**told, PERSON_VARIABLE: "eve"})
        assert not is_person_there(at_terminal=False)
        other = tmp_path / os.path.basename(told[PROOF_VARIABLE])
        other.write_text(f"{os.getpid()} ann\n")
        take(monkeypatch, {**told, PROOF_VARIABLE: str(other)})
        assert not is_person_there(at_terminal=False)
        take(monkeypatch, told)
        assert is_person_there(at_terminal=False)


def test_without_a_person_nothing_is_said(state: str) -> None:
    with person_elsewhere(state, "") as told:
        assert told == {}
