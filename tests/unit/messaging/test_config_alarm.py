"""A config.toml with problems is told once: on Claude's screen, to its agents, to the escalation gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hookrouter import _wiring
from hookrouter._config.cache import file_key, load
from hookrouter._config_alarm import tell_of_gateway
from support.alarm_place import ALL_TOLD, BROKEN, GOOD, Place

BROKEN_OTHERWISE = GOOD + "wait = -1\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path)

    def note(_services: object, **_: object) -> None:
        found.deliveries += 1

    monkeypatch.setattr(_wiring, "start_delivery", note)
    monkeypatch.setattr(_wiring, "push_outbox", lambda *_: None)
    return found


def test_it_is_told_once_on_the_screen_to_each_agent_and_to_the_escalation_gateway(place: Place) -> None:
    place.write(GOOD)
    assert place.hook() == ""
    place.write(BROKEN)
    shown = place.hook()
    assert "answer.remind_aftr: unknown key, did you mean 'remind_after'?" in shown
    assert "what it said before holds" in shown
    assert place.told() == ALL_TOLD
    assert place.deliveries == 1
    assert place.hook() == place.hook("UserPromptSubmit", "s-2") == ""
    assert place.told() == ALL_TOLD
    [message] = [one for one in place.services().outbox.pending() if one.gateway == "chat"]
    assert message.fallbacks == ("inbox",)
    assert "> config.toml: answer.remind_aftr: unknown key" in message.text
    assert "what it said before holds" in message.text
    records = [record for record in place.services().journal.records("s-1") if record["event"] == "Stop"]
    assert [record["level"] for record in records[1:]] == ["warning", "warning"]


def test_a_new_session_is_told_at_its_start_in_any_case(place: Place) -> None:
    place.write(BROKEN)
    assert "answer.remind_aftr" in place.hook()
    assert "answer.remind_aftr" in place.hook("SessionStart", "s-2")
    assert "the defaults hold" in place.hook("SessionStart", "s-3")


@pytest.mark.parametrize("event", ["Stop", "SessionStart"])
def test_what_a_key_says_steers_no_terminal_and_begins_no_line(place: Place, event: str) -> None:
    place.write('[answer]\n"a\\u001b[2J\\nhookrouter: all is well" = 1\n')
    shown = place.hook(event)
    assert r"answer.a\x1b[2J\x0ahookrouter: all is well: unknown key" in shown
    assert "\x1b" not in shown


def test_the_start_of_a_session_counts_as_told(place: Place) -> None:
    place.write(BROKEN)
    assert place.hook("SessionStart").count("answer.remind_aftr") == 1
    assert place.hook() == ""


def test_another_mistake_is_told_and_the_first_one_again_only_after_a_repair(place: Place) -> None:
    place.write(GOOD)
    place.hook()
    place.write(BROKEN)
    assert "remind_aftr" in place.hook()
    place.write(BROKEN_OTHERWISE)
    assert "answer.wait" in place.hook()
    assert len(place.told()) == 2 * len(ALL_TOLD)
    # Saved again, with a blank line more.
    place.write(BROKEN + "\n")
    assert place.hook() == ""
    place.write(GOOD)
    assert place.hook() == ""
    place.write(BROKEN)
    assert "remind_aftr" in place.hook()
    assert len(place.told()) == 3 * len(ALL_TOLD)


def test_a_file_that_is_removed_is_no_mistake(place: Place) -> None:
    place.write(BROKEN)
    assert place.hook() != ""
    place.file.unlink()
    assert place.hook() == ""
    assert load(place.home).problems == ()


def test_a_file_that_cannot_be_read_is_told_and_the_last_good_one_holds(place: Place) -> None:
    place.write(GOOD)
    place.hook()
    place.file.unlink()
    place.file.mkdir()
    assert "cannot be read" in place.hook()
    assert place.told() == ALL_TOLD
    place.file.rmdir()
    place.write(GOOD)
    assert place.hook() == ""
    assert load(place.home).problems == ()


def test_a_file_whose_permissions_were_corrected_is_read_again(place: Place) -> None:
    place.write(GOOD)
    before = file_key(str(place.file))
    place.file.chmod(0o400)
    assert file_key(str(place.file)) != before


def test_without_a_file_that_was_right_nobody_but_the_inbox_can_be_told(place: Place) -> None:
    place.write(BROKEN)
    shown = place.hook()
    assert "the defaults hold, so no agent is woken" in shown
    assert place.told() == [("config", "default", "inbox")]


def test_a_file_without_agents_holds_too(place: Place) -> None:
    """As one of guards alone has none."""
    place.write('[plugins]\nlast = ["guard"]\n')
    assert place.hook() == ""
    place.write(BROKEN)
    for shown in (place.hook(), place.hook("SessionStart", "s-2")):
        assert "what it said before holds" in shown
        assert "the defaults" not in shown


def test_a_client_without_a_screen_does_not_count(place: Place) -> None:
    place.write(BROKEN)
    assert place.hook(CLAUDE_CODE_ENTRYPOINT="sdk-cli") == ""
    assert place.told() == [("config", "default", "inbox")]
    assert "remind_aftr" in place.hook(CLAUDE_CODE_ENTRYPOINT="cli")


def test_an_escalation_gateway_that_an_agent_has_is_told_once(place: Place) -> None:
    place.write(GOOD.replace('"person"\n', '"chat"\n'))
    place.hook()
    place.write(BROKEN.replace('"person"\n', '"chat"\n'))
    place.hook()
    assert place.told() == ALL_TOLD[:2]


def test_agents_that_share_a_gateway_are_told_once_through_it(place: Place) -> None:
    shared = '[[agents]]\nid = "day"\nsessions = ["day"]\ngateways = ["chat", "person"]\n'
    place.write(GOOD + shared)
    place.hook()
    place.write(BROKEN + shared)
    place.hook()
    assert place.told() == ALL_TOLD[:2]
    [message] = [one for one in place.services().outbox.pending() if one.gateway == "chat"]
    assert message.fallbacks == ("inbox", "person")


def test_a_gateway_that_cannot_be_asked_is_told_once_to_all_whom_another_one_reaches(place: Place) -> None:
    place.write(GOOD)
    reason = "config.toml: gateways.chat.timeout: found 'x'"
    services = place.services()
    assert tell_of_gateway(services, "chat", reason)
    told = [("config", "night", "inbox"), ("config", "night", "person")]
    assert place.told() == told
    message = place.services().outbox.pending()[0]
    assert message.subject == "the gateway chat cannot be used until [gateways.chat] is corrected"
    assert f"\n> {reason}\n" in message.text
    assert "are tried as soon as the table is corrected and hookrouter runs again" in message.text
    assert "This message is repeated only if the problem is still there after another change" in message.text
    assert not tell_of_gateway(services, "chat", reason)
    assert place.told() == told
    # The file is another one, but the mistake is the same.
    place.write(GOOD + "\n")
    assert tell_of_gateway(place.services(), "chat", reason)


def test_a_gateway_that_is_missing_because_of_the_file_is_not_told_of_beside_it(place: Place) -> None:
    place.write(BROKEN)
    assert not tell_of_gateway(place.services(), "chat", "config.toml has no [gateways.chat]")
    assert place.told() == []


def test_agents_are_told_later_if_the_outbox_cannot_be_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.interface import StoreError

    def full(*_given: Any, **_named: Any) -> None:
        raise StoreError("no space left")

    place.write(BROKEN)
    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "put", full)
        assert "remind_aftr" in place.hook()
    assert place.told() == []
    place.hook()
    assert place.told() == [("config", "default", "inbox")]
