"""The text of config.toml: it says what was chosen, explains it, and is the same bytes for the same choices."""

from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._config.reader import examine
from hookrouter._config.schema import schema, structure
from hookrouter._setup.choices import Choices, NewGateway
from hookrouter._setup.config_text import new_file, new_tables
from hookrouter_command.program import CommandSettings
from hookrouter_openclaw.posting import OpenClawSettings
from hookrouter_webhook.settings import WebhookSettings

CLASSES = {"command": CommandSettings, "openclaw": OpenClawSettings, "webhook": WebhookSettings}

NAMES = st.one_of(
    st.sampled_from(["agent", "night-shift", "a.b", 'q"uo', "é\u2028", "\x7f\x1b[2J", "#", "[x]"]),
    st.text(min_size=1).filter(lambda text: text.strip() and not re.search(r"[\ud800-\udfff\0\n]", text)),
)


@st.composite
def gateways(draw: st.DrawFn, name: str) -> NewGateway:
    kind = draw(st.sampled_from(sorted(CLASSES)))
    if kind == "command":
        argv = [draw(NAMES), *draw(st.lists(NAMES, max_size=3))]
        return NewGateway(name, kind, {"argv": argv, "timeout": 600, "format": "json"}, "--command")
    if kind == "openclaw":
        return NewGateway(name, kind, {"url": draw(NAMES), "agent": draw(NAMES), "token_env": "T"}, "--openclaw")
    return NewGateway(name, kind, {"url": draw(NAMES)}, "--webhook")


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    agent = draw(NAMES.filter(lambda name: name not in ("inbox", "chat")))
    return Choices(
        agent=agent,
        is_person=draw(st.booleans()),
        gateway=draw(st.none() | gateways(agent)),
        sessions=tuple(draw(st.lists(NAMES, max_size=3))),
        escalation=draw(st.just("") | st.just("inbox") | gateways("chat")),
    )


@given(choices())
def test_the_file_says_what_was_chosen(chosen: Choices) -> None:
    text = new_file(chosen, CLASSES)
    assert text == new_file(chosen, CLASSES)
    assert examine(text.encode()) == []
    config = structure(tomllib.loads(text)).value()
    (agent,) = config.agents
    assert (agent.id, agent.sessions, agent.gateway) == (chosen.agent, chosen.sessions, chosen.gateway_name)
    who = "person" if chosen.is_person else "agent"
    assert getattr(agent, "kind", who) == who
    assert config.answer.escalate_to == chosen.escalate_to
    assert (config.answer.remind_after, config.answer.reminders) == (600, 3)
    tables = {one.name: {"type": one.type, **one.table} for one in chosen.new_gateways}
    assert {name: dict(table) for name, table in config.gateways.items() if name != "inbox"} == tables


def example(kind: str) -> str:
    tables: dict[str, dict[str, object]] = {
        "command": {"argv": ["/bin/agent"], "timeout": 600},
        "openclaw": {"url": "http://127.0.0.1:1", "agent": "main"},
        "webhook": {"url": "https://example.org"},
    }
    return new_file(Choices("agent", gateway=NewGateway("agent", kind, tables[kind], "")), CLASSES)


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_every_key_is_explained_and_every_example_is_one(kind: str) -> None:
    lines = example(kind).splitlines()
    assert max(map(len, lines)) <= 60
    keys = [number for number, line in enumerate(lines) if re.match(r"(# )?[a-z_]+ = ", line)]
    for number in keys:
        assert lines[number - 1].startswith("# "), lines[number]
        assert not re.match(r"# [a-z_]+ = ", lines[number - 1]), lines[number]
    examples = [number for number in keys if lines[number].startswith("# ")]
    assert examples
    for number in examples:
        changed = [*lines[:number], lines[number].removeprefix("# "), *lines[number + 1 :]]
        faults = [fault.line for fault in examine("\n".join(changed).encode())]
        # It names a gateway that there may be.
        assert all(fault.startswith("answer.escalate_to: found 'chat'") for fault in faults), faults


def test_the_meanings_are_those_of_the_schema() -> None:
    text = " ".join(line.removeprefix("# ") for line in example("command").splitlines())
    (agents,) = (table for table in schema() if table.header == "[[agents]]")
    assert agents.help in text
    assert next(key.help for key in agents.keys if key.name == "workdirs") in text
    assert "The program and its arguments; no shell reads it." in text


def test_what_is_there_already_is_not_written_again() -> None:
    chosen = Choices("a", gateway=NewGateway("a", "webhook", {"url": "https://example.org"}, ""))
    assert tomllib.loads(new_tables(chosen, CLASSES, known={"a"})).keys() == {"agents"}
    assert tomllib.loads(new_tables(chosen, CLASSES, with_agent=False)).keys() == {"gateways"}
    assert new_tables(chosen, CLASSES, with_agent=False, known={"a"}) == ""
