"""An engine of a third party in real processes: chosen, set up, filled from files and emptied again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.testing import wait_until
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from hookrouter_fleet import state
from hookrouter_fleet.locks import SHARING, is_sharing
from support.shelf import SHELF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DOCUMENTS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "documents.md"

CONFIG = '[storage]\nengine = "shelf"\nmachine = "{machine}"\nfolder = "{folder}"\n'

QUESTION = {
    "session_id": "s-1",
    "transcript_path": "",
    "cwd": "/",
    "permission_mode": "default",
    "hook_event_name": "PreToolUse",
    "tool_name": "AskUserQuestion",
    "tool_input": {
        "questions": [
            {
                "question": "Which way?",
                "header": "Way",
                "multiSelect": False,
                "options": [{"label": "Left", "description": ""}, {"label": "Right", "description": ""}],
            }
        ]
    },
    "tool_use_id": "toolu_1",
}


class Machine:
    """A home with the shelf's plugin installed."""

    def __init__(self, folder: Path, name: str = "one") -> None:
        self.name = name
        self.home = folder / f"home-{name}"
        self.shelf = folder / "shelf"
        self.home.mkdir()
        write_plugin(folder / "site", "shelf", SHELF)
        self.environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        self.environ |= {"HOOKROUTER_HOME": str(self.home), "PYTHONPATH": str(folder / "site")}

    def choose(self, machine: str = "") -> None:
        (self.home / "config.toml").write_text(CONFIG.format(folder=self.shelf, machine=machine or self.name))

    def run(self, *words: str, code: int = 0, given: object = None) -> str:
        done = subprocess.run(
            [*script_argv(), *words],
            input=json.dumps(given),
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done
        return done.stdout + done.stderr

    def told(self, *words: str, code: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", code=code))

    def ask(self, identifier: str = "toolu_1") -> None:
        self.run("run", "pre-tool-use", given={**QUESTION, "tool_use_id": identifier})

    def open_questions(self) -> list[str]:
        return sorted(one["tool_use_id"] for one in self.told("questions")["questions"])

    def on_the_shelf(self, kind: str = "question") -> list[str]:
        return sorted(path.name for path in (self.shelf / self.name).rglob(f"{kind}-*.json"))

    def storage_findings(self) -> list[tuple[str, str]]:
        """Return what doctor says of the engine."""
        found = subprocess.run(
            [*script_argv(), "doctor", "--json"], env=self.environ, capture_output=True, text=True, check=False
        )
        findings = json.loads(found.stdout)["findings"]
        return [(one["level"], one["message"]) for one in findings if one["check"] == "storage"]

    def stop_sharing(self) -> None:
        """Have the process that writes documents end, as it does when config.toml changes."""
        (self.home / "config.toml").write_text("")
        wait_until(lambda: not is_sharing(Home.in_folder(str(self.home))), 20, "the end of the process")


@pytest.fixture
def make_machine(tmp_path: Path) -> Iterator[Callable[[str], Machine]]:
    made: list[Machine] = []

    def make(name: str) -> Machine:
        made.append(Machine(tmp_path, name))
        return made[-1]

    yield make
    for machine in made:
        machine.stop_sharing()


@pytest.fixture
def machine(make_machine: Callable[[str], Machine]) -> Machine:
    return make_machine("one")


def test_what_a_hook_asks_is_brought_to_the_engine_by_itself(machine: Machine) -> None:
    machine.choose()
    assert machine.told("storage", "init")["done"] == ["the folder was made"]
    assert machine.run("storage", "init") == "all is there already\n"
    machine.ask()
    wait_until(machine.on_the_shelf, 20, "the question")
    found = machine.told("storage", "check")
    assert found == {"engine": "shelf", "machine": "one", "ok": True, "problems": [], "machines": ["one"]}
    assert machine.run("config", "check").endswith("nothing is wrong\n")
    assert machine.storage_findings() == [("ok", "shelf is shared; this machine is one")]
    (name,) = machine.on_the_shelf()
    os.unlink(next((machine.home / "state").glob("question-*.json")))
    wait_until(lambda: not machine.on_the_shelf(), 20, "the end of the question")
    assert name.startswith("question-s-1:claude-s-1:toolu_1".replace(":", "%3A"))


def test_a_home_is_brought_with_all_that_is_open_and_comes_back_to_an_empty_disk(
    machine: Machine, make_machine: Callable[[str], Machine]
) -> None:
    machine.ask("toolu_1")
    machine.ask("toolu_2")
    machine.run("pause", "--session", "claude-s-1")
    waiting = {one["id"] for one in machine.told("outbox", "list")}
    machine.choose()
    machine.run("storage", "init")
    # The process that brings documents by itself may have begun.
    dry = machine.told("storage", "copy", "--from", "files", "--dry-run")
    brought = machine.told("storage", "copy", "--from", "files")
    assert dry["written"] + dry["same"] == brought["written"] + brought["same"] > 5
    assert brought["deleted"] == 0
    assert machine.open_questions() == ["toolu_1", "toolu_2"]
    again = machine.told("storage", "copy", "--from", "files")
    assert (again["written"], again["same"]) == (0, brought["written"] + brought["same"])
    machine.stop_sharing()

    other = make_machine("new")
    other.choose("one")
    said = other.run("storage", "copy", "--from", "files", code=2)
    assert "the documents under the name 'one' are another home's" in said
    back = other.told("storage", "copy", "--to", "files")
    assert back["written"] == again["same"]
    assert other.open_questions() == ["toolu_1", "toolu_2"]
    assert {one["id"] for one in other.told("outbox", "list")} == waiting
    machine.choose()
    assert "are another home's" in machine.run("storage", "copy", "--from", "files", code=2)


def test_beside_the_process_that_brings_documents_a_copy_has_it_bring_them(machine: Machine) -> None:
    machine.choose()
    machine.run("storage", "init")
    machine.ask("toolu_1")
    machine.ask("toolu_2")
    wait_until(lambda: len(machine.on_the_shelf()) == 2, 20, "the questions")
    lost, *_ = (machine.shelf / "one").rglob("question-*.json")
    lost.rename(lost.with_name("question-over.json"))
    found = machine.told("storage", "copy", "--from", "files")
    assert (found["written"], found["deleted"]) == (1, 1)
    assert found["by"].startswith("process ")
    assert lost.exists()
    assert len(machine.on_the_shelf()) == 2
    assert "there already; by the process that writes documents (" in machine.run("storage", "copy", "--from", "files")
    machine.stop_sharing()
    machine.choose()


def test_two_homes_of_one_name_do_not_write_over_each_other(
    machine: Machine, make_machine: Callable[[str], Machine]
) -> None:
    machine.choose()
    machine.run("storage", "init")
    machine.ask()
    wait_until(machine.on_the_shelf, 20, "the question")
    other = make_machine("other")
    other.choose("one")
    other.ask("toolu_9")
    wait_until(lambda: "error" in dict(other.storage_findings()), 20, "what doctor says")
    ((_level, message),) = other.storage_findings()
    assert "give this one another name ([storage] machine in" in message
    # With the other home's process at work and without it.
    for _ in range(2):
        found = other.told("storage", "check", code=1)
        assert "are another home's" in found["problems"][0]
        assert not found["ok"]
        machine.stop_sharing()
    assert other.open_questions() == ["toolu_9"]
    assert len(machine.on_the_shelf()) == 1


def test_while_the_engine_is_away_all_goes_on_and_is_brought_afterwards(machine: Machine) -> None:
    machine.choose()
    machine.run("storage", "init")
    machine.ask("toolu_1")
    wait_until(machine.on_the_shelf, 20, "the first question")
    away = machine.shelf.with_suffix(".away")
    machine.shelf.rename(away)
    machine.shelf.touch()
    machine.ask("toolu_2")
    assert machine.open_questions() == ["toolu_1", "toolu_2"]
    wait_until(lambda: "error" in dict(machine.storage_findings()), 20, "what doctor says")
    machine.shelf.unlink()
    away.rename(machine.shelf)
    wait_until(lambda: len(machine.on_the_shelf()) == 2, 40, "the second question")


@pytest.mark.parametrize("mended", ["config.toml", "elsewhere"])
def test_what_was_wrong_is_not_said_any_more_once_it_is_mended(machine: Machine, mended: str) -> None:
    machine.choose()
    machine.run("storage", "init")
    store = Store(str(machine.home / "state"), pytest.fail)
    # No process of this home begins meanwhile.
    with store.lock(*SHARING, 0):
        state.note(store, "shelf", "one", "the folder is upside down")
        assert machine.storage_findings() == [("error", "shelf: the folder is upside down")]
        if mended == "config.toml":
            machine.choose()
        else:
            machine.run("storage", "check")
        assert machine.storage_findings() == [("ok", "shelf is shared; this machine is one")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("init",), "[storage] engine is files, which need nothing"),
        (("copy",), "copy takes --from files or --to files"),
        (("copy", "--from", "files", "--to", "files"), "copy takes --from files or --to files"),
        (("copy", "--to", "files", "--dry-run"), "--dry-run goes with --from files"),
    ],
)
def test_without_another_engine_there_is_nothing_to_do(machine: Machine, words: tuple[str, ...], said: str) -> None:
    assert said in machine.run("storage", *words, code=2)


def test_what_is_wrong_is_said_with_what_to_do(machine: Machine) -> None:
    machine.choose()
    assert machine.run("storage", "check", code=1) == "the folder is missing; see: hookrouter storage init\n"
    assert machine.storage_findings() == [("error", "shelf: the folder is missing; see: hookrouter storage init")]
    assert "there is no version 7; allowed: 1" in machine.run("storage", "migrate", "--to", "7", code=2)
    assert machine.run("storage", "migrate") == "it has this form already\n"
    (machine.home / "config.toml").write_text('[storage]\nengine = "shelve"\n')
    found = machine.told("config", "check", code=1)["problems"]
    assert [(one["key"], one["suggestion"]) for one in found] == [("storage.engine", "shelf")]
    assert "no active plugin offers it" in machine.run("storage", "check", code=2)
    # A machine whose engine cannot be had goes on by itself.
    machine.ask()
    assert machine.open_questions() == ["toolu_1"]
    (machine.home / "config.toml").write_text('[storage]\nengine = "shelf"\n')
    (problem,) = machine.told("config", "check", code=1)["problems"]
    assert (problem["key"], problem["message"]) == ("storage.folder", "missing; it is required")
