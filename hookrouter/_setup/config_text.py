"""The text of ``config.toml`` for some choices: what each key means, and the keys that one changes next.

The comments are the meanings that config.toml's schema and the gateways' settings classes give, so that they are what
``hookrouter config`` and the manual say. The same choices make the same bytes.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from hookrouter._config.schema import schema
from hookrouter._config.toml_edit import dotted, literal
from hookrouter.config import GUARDS_ALONE, LAST
from hookrouter.permission_rules.presets import preset_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from hookrouter._setup.choices import Choices, NewGateway

__all__ = ["guards_file", "new_file", "new_tables"]

_WIDTH = 58
"""A terminal of 60 columns shows the comments as they are."""

_HEAD = """\
# config.toml of hookrouter, written by `hookrouter init`,
# and yours to change. A line such as `# key = value` is an
# example: without its `# ` it holds.
# `hookrouter config check` names every mistake,
# `hookrouter config show --all` shows all keys that hold.
"""

_REMIND_AFTER = 600
_REMINDERS = 3
_ESCALATE_AFTER = 3600

_NEXT = {
    "agents": ("workdirs",),
    "answer": ("wait", "escalate_to"),
    "command": ("timeout", "cwd", "format", "env"),
    "openclaw": ("token_env", "token_file", "route", "session_key"),
    "webhook": ("headers", "body", "url_file"),
}
"""The keys that are shown as examples, if they are not set."""


class _Key(NamedTuple):
    name: str
    meaning: str
    example: str


def new_file(choices: Choices, classes: Mapping[str, type[Any]]) -> str:
    """Return the whole file. ``classes`` are the settings classes of the gateways' types."""
    rules = f"\n{preset_text(choices.preset)}" if choices.preset else ""
    return f"{_HEAD}\n{new_tables(choices, classes)}\n{_answer(choices)}{rules}"


def guards_file() -> str:
    """Return the whole file of a home in which nobody answers, and guards alone are called."""
    meaning, keys = _table("[plugins]")
    return f"{_HEAD}\n{''.join(_comment(meaning))}{_lines('[plugins]', keys, {GUARDS_ALONE: True}, [LAST])}"


def new_tables(
    choices: Choices, classes: Mapping[str, type[Any]], *, with_agent: bool = True, known: Container[str] = ()
) -> str:
    """Return the tables of the agent, if it is asked for, and of the gateways but for ``known`` ones; may be empty."""
    gateways = [
        _gateway(one, classes[one.type], _NEXT.get(one.type, ()) if one is choices.gateway else ())
        for one in choices.new_gateways
        if one.name not in known
    ]
    return "\n".join([_agent(choices), *gateways] if with_agent else gateways)


def _agent(choices: Choices) -> str:
    values: dict[str, Any] = {
        "id": choices.agent,
        "kind": "person" if choices.is_person else "agent",
        "sessions": list(choices.sessions),
        "gateway": choices.gateway_name,
    }
    meaning, keys = _table("[[agents]]")
    return "".join(_comment(meaning)) + _lines("[[agents]]", keys, values, _NEXT["agents"])


def _answer(choices: Choices) -> str:
    values: dict[str, Any] = {
        "remind_after": _REMIND_AFTER,
        "reminders": _REMINDERS,
        "escalate_after": _ESCALATE_AFTER,
    }
    if choices.escalate_to:
        values["escalate_to"] = choices.escalate_to
    meaning, keys = _table("[answer]")
    return "".join(_comment(meaning)) + _lines("[answer]", keys, values, _NEXT["answer"])


def _gateway(gateway: NewGateway, kind: type[Any], examples: Iterable[str]) -> str:
    keys = [_Key("type", "The type of the gateway; `hookrouter config check` lists those that there are.", "")]
    for field in attrs.fields(kind):
        meaning = str(field.metadata.get("help", ""))
        keys.append(_Key(field.name, f"{meaning[:1].upper()}{meaning[1:]}.", str(field.metadata.get("example", ""))))
    header = f"[{dotted(('gateways', gateway.name))}]"
    values: dict[str, Any] = {"type": gateway.type, **gateway.table}
    return _lines(header, keys, values, examples)


def _table(header: str) -> tuple[str, list[_Key]]:
    (table,) = (one for one in schema() if one.header == header)
    return table.help, [_Key(key.name, key.help, key.example) for key in table.keys]


def _lines(header: str, keys: Sequence[_Key], values: Mapping[str, Any], examples: Iterable[str]) -> str:
    """Return a table: each key that has a value, and of the others those that are shown as examples."""
    return "".join([f"{header}\n", *_entries(keys, values, frozenset(examples))])


def _entries(keys: Sequence[_Key], values: Mapping[str, Any], examples: frozenset[str]) -> Iterator[str]:
    for key in keys:
        if key.name in values:
            yield from _comment(key.meaning)
            yield f"{key.name} = {literal(values[key.name])}\n"
        elif key.name in examples:
            yield from _comment(key.meaning)
            yield f"# {key.name} = {key.example}\n"


def _comment(text: str) -> list[str]:
    return [f"# {line}\n" for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)]
