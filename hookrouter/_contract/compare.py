"""Compares two contracts of Claude Code: what a new client version changes, and what that means for plugins.

A contract is a file as that of :mod:`hookrouter._contract.document`. Types that this version has never seen are
compared as the texts that they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter._contract.document import ATTRIBUTES, MCP_PATTERN, TOOL_EVENTS, snake
from hookrouter.util.errors import HookrouterError
from hookrouter.util.fastjson import json_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Contract", "ContractError", "Difference", "compare", "read_contract_file"]

EVENT_FACTS = {
    "kebab": "its name on hookrouter's command line",
    "blockable": "whether a plugin can block it",
    "matcher_field": "the field that matchers look at",
    "default_timeout_s": "the seconds that a hook has by default",
    "discarded_universal_fields": "what Claude Code ignores in replies to it",
    "exit2": "what exit code 2 does",
    "carries_permission_mode": "whether the permission mode is sent with it",
}
"""Key of an event -> what it says."""

MAX_FAULTS = 20


class ContractError(HookrouterError, ValueError):
    """A file is no contract; the message says what was found and what is allowed."""


@attrs.frozen
class Field:
    """One field of an event, an input or a response."""

    type: str
    required: bool
    values: frozenset[str] = frozenset()


@attrs.frozen
class Contract:
    """What is compared of a contract."""

    version: str
    events: Mapping[str, Mapping[str, Any]]
    fields: Mapping[str, Mapping[str, Field]]
    """Event -> path -> field, those that all events have included."""
    tools: Mapping[str, Mapping[str, Mapping[str, Field] | None]]
    """Tool -> ``tool_input`` or ``tool_response`` -> path -> field; None if they are not published."""
    aliases: Mapping[str, str]


@attrs.frozen
class Difference:
    """One difference."""

    kind: str
    """``event``, ``tool``, ``field``, ``value`` or ``alias``."""
    change: str
    """``added``, ``removed`` or ``changed``."""
    where: str
    """What it is about: ``Stop``, ``Bash``, ``Stop.stop_hook_active``, ``Bash.tool_input.command``."""
    before: str | None
    after: str | None
    effect: str
    """What it means for a plugin."""


def read_contract_file(path: str) -> Contract:
    """Read a contract. Raises ContractError if the file cannot be read or is none."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        return read(document)
    except OSError as error:
        raise ContractError(error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise ContractError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise ContractError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ContractError(f"not JSON: {error}") from None


def read(document: object) -> Contract:
    """Read a parsed contract. Raises ContractError, which names every key that is missing or of the wrong type."""
    faults = list(_faults(document))
    if not isinstance(document, dict) or faults:
        more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
        raise ContractError("not a contract: " + "; ".join([*faults[:MAX_FAULTS], *more]))
    common = _event_fields(document["common_input"], {})
    rules = document.get("matcher_rules")
    aliases = rules.get("legacy_aliases") if isinstance(rules, dict) else None
    return Contract(
        version=document["claude_code_version"],
        events=document["events"],
        fields={name: {**common, **_event_fields(entry["input"], entry)} for name, entry in document["events"].items()},
        tools={
            name: {"tool_input": _shape(entry.get("input")), "tool_response": _shape(entry.get("output"))}
            for name, entry in document["tools"].items()
            if name != MCP_PATTERN
        },
        aliases=aliases if isinstance(aliases, dict) else {},
    )


def _faults(document: object) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"found {json_type(document)}, allowed object"
        return
    version = document.get("claude_code_version")
    if not isinstance(version, str):
        yield f"claude_code_version: found {json_type(version)}, allowed string"
    yield from _input_faults("common_input", document.get("common_input"))
    for key in ("events", "tools"):
        table = document.get(key)
        if not isinstance(table, dict):
            yield f"{key}: found {json_type(table)}, allowed object"
            continue
        for name, entry in table.items():
            if not isinstance(entry, dict):
                yield f"{key}.{name}: found {json_type(entry)}, allowed object"
            elif key == "events":
                yield from _input_faults(f"{key}.{name}.input", entry.get("input"))


def _input_faults(where: str, table: object) -> Iterator[str]:
    if not isinstance(table, dict):
        yield f"{where}: found {json_type(table)}, allowed object"
        return
    for key, text in table.items():
        if not isinstance(text, str):
            yield f"{where}.{key}: found {json_type(text)}, allowed string"


def _event_fields(table: dict[str, str], event: dict[str, Any]) -> dict[str, Field]:
    """Read the fields of an event, whose types are texts: ``'a'|'b' (note)``; a ``?`` after the name: optional."""
    fields = {}
    for key, text in table.items():
        wire = key.removesuffix("?")
        values = re.findall(r"'([^']*)'", re.sub(r"\([^)]*\)", "", text)) if text.lstrip().startswith("'") else []
        matched = event.get("matcher_values")
        if event.get("matcher_field") == wire and isinstance(matched, list):
            values += [value for value in matched if isinstance(value, str)]
        kind = "string" if values else re.sub(r"\s+\(.*|\s*\(.*\)$", "", text, flags=re.DOTALL).strip()
        fields[wire] = Field(kind, not key.endswith("?"), frozenset(values))
    return fields


def _shape(shape: object) -> dict[str, Field] | None:
    """Return the fields of a tool's input or response by their paths; None if they are not published."""
    if shape is None:
        return None
    fields: dict[str, Field] = {}
    _collect(shape, "", True, fields)
    fields.pop("", None)
    return fields


def _collect(shape: object, path: str, required: bool, fields: dict[str, Field]) -> str:
    """Add what a shape holds to ``fields``; return the name of its type."""
    kind, values = "object", frozenset[str]()
    if isinstance(shape, str):
        values = frozenset(re.findall(r'"([^"]*)"', shape))
        kind = "string" if values else shape
    elif isinstance(shape, list):
        kind = f"array of {_collect(shape[0], f'{path}[]', True, fields)}" if shape else "array"
    elif not isinstance(shape, dict):
        kind = json.dumps(shape)
    elif isinstance(shape.get("oneOf"), list):
        kind = _collect_forms(shape["oneOf"], path, fields)
    elif "array" in shape or isinstance(shape.get("tuple"), list):
        held = shape["array"] if "array" in shape else (shape["tuple"] or [{}])[0]
        kind = f"array of {_collect(held, f'{path}[]', True, fields)}"
    else:
        _collect_members(shape, path, fields)
    _add(fields, path, Field(kind, required, values))
    return kind


def _collect_members(shape: dict[str, Any], path: str, fields: dict[str, Field]) -> None:
    members = shape
    properties, needed = shape.get("properties"), shape.get("required")
    if isinstance(properties, dict):
        # A JSON Schema.
        always = needed if isinstance(needed, list) else []
        members = {
            key: {"type": entry.get("type"), "required": key in always}
            for key, entry in properties.items()
            if isinstance(entry, dict)
        }
    for key, entry in members.items():
        if not key.startswith("[") and isinstance(entry, dict):
            below = f"{path}.{key}" if path else key
            _collect(entry.get("type"), below, entry.get("required") is True, fields)


def _collect_forms(forms: list[Any], path: str, fields: dict[str, Field]) -> str:
    """Add what every one of several forms holds; what not all of them have is optional."""
    kinds, found = [], []
    for form in forms:
        below: dict[str, Field] = {}
        kinds.append(_collect(form, path, True, below))
        below.pop(path, None)
        found.append(below)
    shaped = [below for form, below in zip(forms, found, strict=True) if isinstance(form, dict)]
    for below in found:
        for name, field in below.items():
            everywhere = all(name in other for other in shaped)
            _add(fields, name, attrs.evolve(field, required=field.required and everywhere))
    return " or ".join(dict.fromkeys(kinds))


def _add(fields: dict[str, Field], path: str, field: Field) -> None:
    known = fields.get(path)
    if known is not None:
        kinds = dict.fromkeys([*known.type.split(" or "), *field.type.split(" or ")])
        field = Field(" or ".join(kinds), known.required and field.required, known.values | field.values)
    fields[path] = field


def compare(old: Contract, new: Contract) -> list[Difference]:
    """Return what differs: events, then tools, then former names of tools, each in the order of their names."""
    return [*_compare_events(old, new), *_compare_tools(old, new), *_compare_aliases(old, new)]


def _compare_events(old: Contract, new: Contract) -> Iterator[Difference]:
    for name in sorted({*old.events, *new.events}):
        hook = snake(name)
        if name not in old.events:
            effect = f"a new hook {hook}; until hookrouter has it, raw_event alone sees this event"
            yield Difference("event", "added", name, None, None, effect)
        elif name not in new.events:
            yield Difference("event", "removed", name, None, None, f"the hook {hook} is not called any more")
        else:
            yield from _compare_facts(name, old.events[name], new.events[name])
            yield from _compare_fields(name, "event", old.fields[name], new.fields[name])


def _compare_facts(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for key, said in EVENT_FACTS.items():
        before, after = old.get(key), new.get(key)
        if before != after:
            texts = (_text(before), _text(after))
            yield Difference("event", "changed", f"{name}:{key}", *texts, f"{said}, for the hook {snake(name)}")


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compare_tools(old: Contract, new: Contract) -> Iterator[Difference]:
    for name in sorted({*old.tools, *new.tools}):
        suffix = snake(name)
        hooks = ", ".join(f"{snake(event)}_{suffix}" for event in TOOL_EVENTS)
        if name not in old.tools:
            effect = f"new hooks {hooks}; until hookrouter has them, the hooks of all tools alone see its calls"
            yield Difference("tool", "added", name, None, None, effect)
        elif name not in new.tools:
            today = new.aliases.get(name)
            effect = f"renamed to {today}" if isinstance(today, str) else "not called any more"
            yield Difference("tool", "removed", name, None, None, f"the hooks {hooks}: {effect}")
        else:
            for part in ("tool_input", "tool_response"):
                yield from _compare_shapes(name, part, old.tools[name][part], new.tools[name][part])


def _compare_shapes(
    tool: str, part: str, old: Mapping[str, Field] | None, new: Mapping[str, Field] | None
) -> Iterator[Difference]:
    if old is not None and new is not None:
        yield from _compare_fields(f"{tool}.{part}", part, old, new)
    elif old is not new:
        before, after = (None if shape is None else "published" for shape in (old, new))
        effect = f"{part} is in {part}.raw only" if new is None else f"{part} can be typed: run the generator"
        yield Difference("tool", "changed", f"{tool}.{part}", before, after, effect)


def _compare_fields(
    where: str, variable: str, old: Mapping[str, Field], new: Mapping[str, Field]
) -> Iterator[Difference]:
    for path in sorted({*old, *new}):
        place, name = f"{where}.{path}", f"{variable}.{_attribute(path)}"
        before, after = old.get(path), new.get(path)
        if before is None and after is not None:
            effect = f"{name} can be typed; until then it is in {variable}.raw"
            yield Difference("field", "added", place, None, _described(after), effect)
        elif after is None and before is not None:
            effect = f"{name} is missing from now on" + ("" if before.required else "; it could be missing before")
            yield Difference("field", "removed", place, _described(before), None, effect)
        elif before is not None and after is not None:
            yield from _compare_field(place, name, before, after)


def _compare_field(place: str, name: str, before: Field, after: Field) -> Iterator[Difference]:
    if (before.type, before.required) != (after.type, after.required):
        effects = []
        if before.type != after.type:
            effects.append(f"{name} has another type; if it does not fit, it reads as missing")
        if before.required and not after.required:
            effects.append(f"{name} may be missing: its type becomes `... | None`")
        if after.required and not before.required:
            effects.append(f"{name} is always there: its type loses `| None`")
        yield Difference("field", "changed", place, _described(before), _described(after), "; ".join(effects))
    for value in sorted(after.values - before.values):
        yield Difference("value", "added", place, None, value, f"{name} may be {value!r}")
    for value in sorted(before.values - after.values):
        yield Difference("value", "removed", place, value, None, f"{name} is not {value!r} any more")


def _described(field: Field) -> str:
    return f"{field.type}, {'required' if field.required else 'optional'}"


def _attribute(path: str) -> str:
    """Return a path with the names that plugins use."""
    return ".".join(ATTRIBUTES.get(part) or snake(part) for part in path.split("."))


def _compare_aliases(old: Contract, new: Contract) -> Iterator[Difference]:
    for name in sorted({*old.aliases, *new.aliases}):
        before, after = _text(old.aliases.get(name)), _text(new.aliases.get(name))
        if before != after:
            change = "added" if before is None else "removed" if after is None else "changed"
            effect = f"calls of {name} reach " + ("no hook of a tool" if after is None else f"the hooks of {after}")
            yield Difference("alias", change, name, before, after, effect)
