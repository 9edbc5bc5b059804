"""A server's form that a person fills in on the command line."""

from __future__ import annotations

import os
from typing import Any

import pytest

from hookrouter.cli.dialogs.answer_request import Request
from hookrouter.cli.dialogs.person import by_hand
from hookrouter.cli.dialogs.person.asking import Terminal
from hookrouter.dialogs.answers.identity import Author
from hookrouter.replies import ElicitationReply

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "ok": {"type": "boolean"}, "count": {"type": "integer"}},
    "required": ["name"],
}
ONE_FIELD = {"type": "object", "properties": {"name": {"type": "string"}}}
PERSON = Author("person", "eve")


@pytest.fixture
def asked(asking: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(by_hand.Application, "from_environ", lambda *_: asking.app)
    monkeypatch.setattr(by_hand, "push", lambda *_: None)
    return asking


def ask(asked: Any, schema: dict[str, Any]) -> None:
    fields = {"mcp_server_name": "demo", "message": "Who\nare you?", "mode": "form", "requested_schema": schema}
    asked.wait("elicitation", **fields)


def answer(*words: str, **options: Any) -> Any:
    request = Request(words=words, any_session=True, wait=10, **options)
    return by_hand.answer_by_hand(request, Terminal.here(os.environ), PERSON)


@pytest.mark.parametrize(
    ("schema", "words", "content"),
    [
        (SCHEMA, ["name=Bob", "ok=yes"], {"name": "Bob", "ok": True}),
        (SCHEMA, ["name=Bob", "Smith", "ok=no", "count=3"], {"name": "Bob Smith", "ok": False, "count": 3}),
        (SCHEMA, ['{"name": "Bob"}'], {"name": "Bob"}),
        (ONE_FIELD, ["Bob", "Smith"], {"name": "Bob Smith"}),
    ],
)
def test_the_values_of_a_form_need_no_option(
    asked: Any, capsys: pytest.CaptureFixture[str], schema: dict[str, Any], words: list[str], content: dict[str, Any]
) -> None:
    ask(asked, schema)
    assert answer(*words).outcome == "verified"
    assert asked.given() == ElicitationReply.accept(content)
    said = capsys.readouterr().out
    assert "\\x0a" not in said
    assert "is no option" not in said


def test_a_form_is_declined_by_its_option(asked: Any) -> None:
    ask(asked, SCHEMA)
    assert answer("decline").outcome == "verified"
    assert asked.given() == ElicitationReply.decline()


def test_values_that_do_not_fit_are_refused_with_what_is_allowed(asked: Any) -> None:
    ask(asked, SCHEMA)
    refused = answer("ok=perhaps")
    assert (refused.outcome, refused.exit_code) == ("invalid", 2)
    assert '"name" is missing' in refused.reason
