"""What another machine is asked to run when a person at this one's page answers a question that is there."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli.application import Application
from hookrouter.machines import Done, ErrandError, Machines
from hookrouter_page import entry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DECISIONS = [{"action": "deny", "text": "not now"}]


class Others(Machines):
    here = "desk"
    trouble: ErrandError | None = None

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def run(self, machine: str, words: Sequence[str], given: str = "", *, person: str = "") -> Done:
        self.asked.append((machine, list(words), json.loads(given), person))
        if self.trouble is not None:
            raise self.trouble
        return Done(0, '{"outcome": "verified"}', "")


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Others:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    others = Others()
    monkeypatch.setattr(Application, "machines", lambda _self: others)
    return others


def answered(monkeypatch: pytest.MonkeyPatch, **fields: object) -> int:
    request = {"session": "night", "tool_use_id": "toolu_1", "decisions": DECISIONS, "who": "anna", "wait": 20.0}
    data = json.dumps({**request, "machine": "worker", **fields}).encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    return entry.answer()


def test_it_runs_the_command_of_people_and_agents(
    others: Others, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert answered(monkeypatch) == 0
    about = ["--session=night", "--tool-use-id=toolu_1", "--wait=20.0"]
    words = ["answer", *about, "--as=person:anna", "--json", "--file=-"]
    assert others.asked == [("worker", words, DECISIONS, "anna")]
    assert json.loads(capfd.readouterr().out) == {"outcome": "verified"}


def test_somebody_without_a_name_is_a_person_too(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, who="")
    [(_, words, _, person)] = others.asked
    assert "--as=person" in words
    assert person


@pytest.mark.parametrize(("may_have_run", "outcome"), [(True, "not_confirmed"), (False, "not_delivered")])
def test_what_is_not_known_is_told(
    others: Others,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    may_have_run: bool,
    outcome: str,
) -> None:
    others.trouble = ErrandError("it has gone", may_have_run=may_have_run)
    assert answered(monkeypatch) != 0
    told = json.loads(capfd.readouterr().out)
    assert (told["outcome"], told["reason"]) == (outcome, "it has gone")
