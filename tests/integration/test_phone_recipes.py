"""The recipes of ``docs/guides/phone.md``, each as it stands there, with a stand-in of its service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.messaging.outbox import Outbox
from support.ports import free_port
from support.push_services import RECIPES, SECRETS, PushServices, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

PERSON = '[[agents]]\nid = "me"\nkind = "person"\ngateway = "phone"\n'
NASTY = 'Which way? <!channel> <@U1> & <https://evil.example|here> *bold* `code` \u202e\x1b[31m "q" $text %41 日本 👍'
FORM = {
    "question": NASTY,
    "header": "Way",
    "multiSelect": False,
    "options": [{"label": "Left", "description": "l"}, {"label": "Right", "description": "r"}],
}


class Told:
    """A home whose person is told by one of the recipes."""

    def __init__(self, folder: Path, services: PushServices, recipe: str) -> None:
        self.services = services
        page = f'[page]\naddress = "127.0.0.1:{free_port()}"\nurl = "https://claude.example.org"\n'
        self.stage = Stage(str(folder), PERSON + page + services.in_place_of_the_services(RECIPES[recipe]))
        self.stage.variables.update(SECRETS)

    def hook(self, event: str, number: int = 1, form: dict[str, Any] = FORM, **more: Any) -> None:
        payload = {
            "hook_event_name": event,
            "tool_name": "AskUserQuestion",
            "tool_use_id": f"toolu_{number}",
            "tool_input": {"questions": [form]},
            "session_id": "s-1",
            "transcript_path": "",
            "cwd": self.stage.home.root,
        }
        done = self.stage.run("run", event, stdin=json.dumps({**payload, **more}))
        assert done.returncode == 0, done.stderr

    def answer(self, label: str, number: int = 1, form: dict[str, Any] = FORM) -> None:
        """The person at the terminal answers."""
        answers = {form["question"]: label}
        response = {"questions": [form], "answers": answers}
        self.hook("PostToolUse", number, form, tool_input=response, tool_response=response)

    def wait_shown(self, what: str, fits: Any) -> list[Shown]:
        wait_until(lambda: fits(list(self.services.shown.values())), 20, what, self.state)
        return list(self.services.shown.values())

    def wait_outbox(self, kinds: list[str]) -> None:
        outbox = Outbox(self.stage.home, pytest.fail)
        wait_until(
            lambda: [one.kind for one in outbox.pending() if not one.is_early] == kinds, 20, str(kinds), self.state
        )

    def state(self) -> str:
        outbox = Outbox(self.stage.home, print).pending()
        return f"{self.services.shown}\n{self.services.requests}\n{outbox}\n{self.stage.journal()[-5:]}"


@pytest.fixture
def services() -> Iterator[PushServices]:
    with PushServices() as running:
        yield running


def test_all_four_are_there() -> None:
    assert sorted(RECIPES) == ["Pushover", "Slack", "Telegram", "ntfy"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_question_comes_with_its_link_and_is_edited_when_it_is_answered(
    tmp_path: Path, services: PushServices, recipe: str
) -> None:
    told = Told(tmp_path, services, recipe)
    checked = told.stage.run("config", "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    told.hook("PreToolUse")
    [shown] = told.wait_shown("the question", bool)
    told.wait_outbox(["closed"])
    assert "https://claude.example.org/link/" in shown.url + shown.text
    assert "Which way? <!channel>" in shown.text
    assert "日本 👍" in shown.text
    assert not set("\u202e\x1b") & set(shown.text + shown.title)
    assert shown.rings
    listed = json.loads(told.stage.run("outbox", "list", "--json").stdout)
    assert [(one["kind"], one["state"]) for one in listed if one["kind"] == "closed"] == [("closed", "waits")]

    told.answer("Right")
    [over] = told.wait_shown("its end", lambda all_: not all_[0].rings)
    if recipe != "Pushover":
        assert "Answered at the terminal" in over.title + over.text
        assert "> Right" in over.text
        assert "/link/" not in over.text + over.url
    told.wait_outbox([])
    # Nothing is tried again, and nothing comes after it.
    assert len(services.shown) == 1


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_outage_at_its_end_is_waited_for(tmp_path: Path, services: PushServices, recipe: str) -> None:
    told = Told(tmp_path, services, recipe)
    told.hook("PreToolUse")
    told.wait_shown("the question", bool)
    told.wait_outbox(["closed"])
    services.is_down = True
    before = len(services.requests)
    told.answer("Left")
    wait_until(lambda: len(services.requests) > before, 20, "a try", told.state)
    services.is_down = False
    told.wait_shown("its end", lambda all_: not all_[0].rings)
    told.wait_outbox([])


@pytest.mark.parametrize("recipe", ["Slack", "Telegram", "Pushover"])
def test_what_a_person_has_deleted_is_no_trouble(tmp_path: Path, services: PushServices, recipe: str) -> None:
    told = Told(tmp_path, services, recipe)
    told.hook("PreToolUse")
    told.wait_shown("the question", bool)
    told.wait_outbox(["closed"])
    services.shown.clear()
    told.answer("Left")
    told.wait_outbox([])
    assert services.shown == {}

    def closed() -> list[dict[str, Any]]:
        return [one for one in told.stage.journal() if one.get("kind") == "closed"]

    # It is told a moment after the message is gone.
    wait_until(closed, 20, "what became of it", told.state)
    last = closed()[-1]
    assert (last["outcome"], last["level"]) == ("dropped", "warning")
    assert "not" in str(last["reason"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_long_question_is_cut_as_the_service_wants_it(tmp_path: Path, services: PushServices, recipe: str) -> None:
    told = Told(tmp_path, services, recipe)
    told.hook("PreToolUse", form={**FORM, "question": "日本 & <b> " * 2000})
    [shown] = told.wait_shown("the question", bool)
    assert "cut here" in shown.text
    # What answers it stands before what is cut.
    assert "/link/" in shown.text


@pytest.mark.parametrize(
    ("recipe", "name"), [(recipe, name) for recipe, text in RECIPES.items() for name in SECRETS if name in text]
)
def test_a_wrong_secret_is_said_and_never_shown(tmp_path: Path, services: PushServices, recipe: str, name: str) -> None:
    told = Told(tmp_path, services, recipe)
    wrong = f"Bearer wrong-{name.lower()}" if "AUTH" in name else f"wrong-{name.lower()}"
    told.stage.variables[name] = wrong
    told.hook("PreToolUse")
    outbox = Outbox(told.stage.home, pytest.fail)
    wait_until(
        lambda: outbox.pending()[0].failures and "answered" in (outbox.pending()[0].last_error or ""), 20, "a try"
    )
    assert services.shown == {}
    kept = "".join(file.read_text() for file in Path(told.stage.home.root).rglob("*") if file.is_file())
    for secret in {**SECRETS, name: wrong}.values():
        assert secret.removeprefix("Bearer ") not in kept
