"""Sets one key in a TOML text, or adds tables to it, and leaves every other character as it is.

A change is tried in the places where it may belong, and the first text that parses to exactly what is wanted is taken.
So whatever the text looks like (dotted keys, inline tables, lists over several lines), nothing else can change.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookrouter._config.toml_lines import statements
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter._config.toml_lines import Path, Statement

__all__ = ["TomlEditError", "Value", "add_tables", "dotted", "literal", "set_value"]

Value = bool | int | float | str | list[str]
"""What a key can be set to."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ATTACHED = re.compile(r"[ \t]*#")


class TomlEditError(HookrouterError):
    """The key cannot be set in this text; the message is what to write instead."""


def set_value(text: str, path: tuple[str, ...], value: Value) -> str:
    """Return the text with the key at ``path`` set to ``value``; the tables above it are made if they are missing.

    Raises tomllib.TOMLDecodeError if the text is not TOML and TomlEditError if no edit does it, such as for a key
    below one that is no table.
    """
    before = tomllib.loads(text)
    wanted = copy.deepcopy(before)
    table: Any = wanted
    for name in path[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise TomlEditError(_advice(path, value))
    if path[-1] in table and _same(table[path[-1]], value):
        return text
    table[path[-1]] = value
    for candidate in _candidates(text, path, value):
        try:
            if _same(tomllib.loads(candidate), wanted):
                return candidate
        except (ValueError, RecursionError):
            continue
    raise TomlEditError(_advice(path, value))


def add_tables(text: str, tables: str, *, before: tuple[str, ...] = ()) -> str:
    """Return the text with further tables: ``tables``, a TOML text of whole tables with their comments, at its end.

    With ``before`` they come before the first header of this table, and the comments above that. Items of a list of
    tables are added to those that are there. Raises tomllib.TOMLDecodeError if the text is not TOML and TomlEditError
    if they cannot be added: because there is such a table already, or as inline tables.
    """
    newline = _newline(text)
    added = tables.replace("\n", newline)
    parts = statements(text)
    texts = [part.text for part in parts]
    place = next((at for at, part in enumerate(parts) if before and part.table[: len(before)] == before), len(parts))
    while 0 < place < len(parts) and _ATTACHED.match(texts[place - 1]):
        place -= 1
    if place == len(parts):
        above = _ended(text, newline)
        candidate = f"{above}{newline if above.strip() else ''}{added}"
    else:
        candidate = "".join([*texts[:place], added, newline, *texts[place:]])
    old, new = tomllib.loads(text), tomllib.loads(tables)
    try:
        if _same(tomllib.loads(candidate), _merged(old, new, first=place < len(parts))):
            return candidate
    except (ValueError, RecursionError):
        pass
    raise TomlEditError(f"add yourself:\n{tables}")


def _merged(old: Any, new: Any, *, first: bool) -> Any:
    """Return two TOML values as one: tables with the keys of both, lists with the items of both."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = {key: _merged(old[key], new[key], first=first) for key in old.keys() & new.keys()}
        return {**old, **new, **both}
    if isinstance(old, list) and isinstance(new, list):
        return [*new, *old] if first else [*old, *new]
    return new


def _advice(path: Sequence[str], value: Value) -> str:
    return f"write it yourself: {dotted(path)} = {literal(value)}"


def _candidates(text: str, path: tuple[str, ...], value: Value) -> Iterator[str]:
    parts = statements(text)
    newline = _newline(text)
    written = literal(value)

    def spliced(place: int, *replacement: str) -> str:
        """Put texts in the place of one statement."""
        texts = [part.text for part in parts]
        return "".join([*texts[:place], *replacement, *texts[place + 1 :]])

    for place, part in enumerate(parts):
        if path in part.paths and not part.is_header:
            for changed in _with_other_value(part.text, written, newline):
                yield spliced(place, changed)
    parent = path[:-1]
    for place, part in enumerate(parts):
        if part.is_header and part.table == parent:
            yield spliced(place, _ended(part.text, newline), f"{dotted(path[-1:])} = {written}{newline}")
    for place, part in enumerate(parts):
        if parent in part.paths and not part.is_header:
            yield from (spliced(place, changed) for changed in _into_braces(part.text, path[-1:], written))
            yield _after(parts, place, path, written, newline)
    yield _as_new_table(parts, parent, f"{dotted(path[-1:])} = {written}", newline)
    for place, part in enumerate(parts):
        if part.paths and not part.is_header and part.paths[0][0] == path[0]:
            yield from (spliced(place, changed) for changed in _into_braces(part.text, parent[1:] + path[-1:], written))
            yield _after(parts, place, path, written, newline)
    for place, part in enumerate(parts):
        if part.is_header and part.table == path[:1]:
            yield spliced(place, _ended(part.text, newline), f"{dotted(path[1:])} = {written}{newline}")


def _with_other_value(text: str, written: str, newline: str) -> Iterator[str]:
    """Replace what may be the value in a statement, once for each value and list that can be seen in it."""
    for begin, end in _values(text):
        yield text[:begin] + written + text[end:]
    opens = [match.start() for match in re.finditer(r"\[", text)]
    closes = [match.end() for match in re.finditer(r"\]", text)]
    for begin in opens:
        for end in reversed(closes):
            if begin < end:
                comments = "".join(f"{comment}{newline}" for comment in _comments(text[begin:end]))
                yield comments + text[:begin] + written + text[end:]


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Return where what may be a value begins and ends: after each ``=`` the shortest text that is one, and no list."""
    for match in re.finditer(r"=[ \t]*", text):
        begin = match.end()
        for delimiter in re.finditer(r"[,}#\n]|$", text[begin:]):
            value = text[begin : begin + delimiter.start()].rstrip()
            try:
                tomllib.loads(f"value = {value}")
            except (ValueError, RecursionError):
                continue
            if not value.startswith("["):
                yield begin, begin + len(value)
            break


def _comments(text: str) -> Iterator[str]:
    """Return the comments in a list over several lines, which has one line afterwards."""
    for line in text.split("\n"):
        for match in re.finditer("#", line):
            before = line[: match.start()]
            if before.count('"') % 2 == before.count("'") % 2 == 0:
                yield line[match.start() :].rstrip("\r")
                break


def _into_braces(text: str, path: Sequence[str], written: str) -> Iterator[str]:
    """Add a key to an inline table, once for each brace that can be seen in a statement."""
    for begin in range(len(path)):
        for match in re.finditer(r"\{[ \t]*(\})?", text):
            added = f"{dotted(path[begin:])} = {written}"
            if match[1]:
                yield f"{text[: match.start()]}{{ {added} }}{text[match.end() :]}"
            else:
                yield f"{text[: match.start()]}{{ {added}, {text[match.end() :]}"


def _after(parts: Sequence[Statement], place: int, path: Sequence[str], written: str, newline: str) -> str:
    """Add a dotted key in the line after a statement, in the table of that statement."""
    inside = len(parts[place].table)
    texts = [part.text for part in parts]
    added = f"{dotted(path[inside:])} = {written}{newline}" if inside < len(path) else ""
    return "".join([*texts[:place], _ended(texts[place], newline), added, *texts[place + 1 :]])


def _as_new_table(parts: Sequence[Statement], parent: Path, line: str, newline: str) -> str:
    """Add a table: before the first one that is in it, with the comments above that, or at the end."""
    texts = [part.text for part in parts]
    added = f"[{dotted([str(name) for name in parent])}]{newline}{line}{newline}"
    for place, part in enumerate(parts):
        if part.is_header and part.table[: len(parent)] == parent:
            while place and _ATTACHED.match(texts[place - 1]):
                place -= 1
            return "".join([*texts[:place], added, newline, *texts[place:]])
    above = _ended("".join(texts), newline)
    return f"{above}{newline if above.strip() else ''}{added}"


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def literal(value: object) -> str:
    """Return a JSON value other than null as TOML writes it in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{dotted((key,))} = {literal(of)}" for key, of in value.items()) + "}"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def dotted(path: Sequence[str]) -> str:
    """Return a key below tables as TOML writes it."""
    return ".".join(name if _BARE.fullmatch(name) else _quoted(name) for name in path)


def _quoted(text: str) -> str:
    """Write a text as TOML: as JSON does, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _same(one: object, other: object) -> bool:
    """Compare two values from TOML: types too, and NaN is itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other)
