"""Takes command hooks out of a text of Claude Code's settings, as ``[[scripts]]``, and puts them back.

A hook is taken only if all that its entry says can be kept exactly; for any other it is said why it stays.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._config.toml_edit import literal
from hookrouter._config.toml_lines import statements
from hookrouter._contract.matchers import is_read_alike
from hookrouter._contract.tables import EVENTS
from hookrouter._installation.command_line import parse_command, runs_hookrouter
from hookrouter._installation.json_edit import Array, Object, Scalar
from hookrouter._installation.registrations import UNBLOCKED_EVENTS
from hookrouter._installation.settings_document import opened, root, with_mark
from hookrouter.config import Script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._installation.json_edit import Document, Node

__all__ = ["Left", "Taken", "Taking", "give_back", "is_same", "take", "toml_of", "without_scripts"]

_KEYS = {"type", "command", "args", "shell", "timeout", "onFailure"}
_MOST_SECONDS = 86400
_EVENT_NAMES = {record.name for record in EVENTS.values()}


class Taken(NamedTuple):
    """A hook that was taken out."""

    script: Script
    matcher: str | None
    """The matcher of its group as the text spells it, None without one."""
    handler: str
    """Its entry, as the text spells it."""


class Left(NamedTuple):
    """A hook that stays."""

    event: str
    matcher: str
    what: str
    """Its command, or its type."""
    why: str


class Taking(NamedTuple):
    """What came of a text."""

    text: str
    """The text without the hooks that were taken."""
    taken: list[Taken]
    left: list[Left]


def take(text: str, path: str, project: str) -> Taking:
    """Take the command hooks out of a settings text: those of other programs than hookrouter.

    ``path`` is the file, ``project`` the project whose file it is, empty for none. Raises SettingsError for a text that
    cannot be read.
    """
    document = opened(text)
    taken: list[Taken] = []
    left: list[Left] = []
    places: list[tuple[str, int, int]] = []
    hooks = root(document).get("hooks")
    for event in hooks.elements if isinstance(hooks, Object) else ():
        for number, group in enumerate(event.value.elements if isinstance(event.value, Array) else ()):
            handlers = group.value.get("hooks") if isinstance(group.value, Object) else None
            for position, handler in enumerate(handlers.elements if isinstance(handlers, Array) else ()):
                # As floats: Python refuses whole numbers of thousands of digits.
                entry = json.loads(document.raw(handler.value), parse_int=float)
                keys = json.loads(document.raw(group.value), parse_int=float)
                if not isinstance(entry, dict) or _is_ours(entry):
                    continue
                why = _why_not(event.key or "", keys, entry)
                matcher = str(keys.get("matcher") or "")
                if why:
                    what = str(entry.get("command") or entry.get("type") or "")
                    left.append(Left(event.key or "", matcher, what, why))
                    continue
                node = group.value.get("matcher") if isinstance(group.value, Object) else None
                spelled = None if node is None else document.raw(node)
                script = _script(event.key or "", matcher, entry)._with(adopted_from=path, project=project)
                taken.append(Taken(script, spelled, document.raw(handler.value)))
                places.append((event.key or "", number, position))
    for place in reversed(places):
        document = _without(document, *place)
    return Taking(with_mark(text, document), taken, left)


def _is_ours(entry: dict[str, Any]) -> bool:
    command, arguments = entry.get("command"), entry.get("args")
    if entry.get("type") != "command" or not isinstance(command, str):
        return False
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else None
    return parse_command(command, words) is not None or runs_hookrouter(" ".join([command, *(words or ())]))


def _why_not(event: str, group: dict[str, Any], entry: dict[str, Any]) -> str:
    """Return why a hook cannot be kept exactly as a script; empty if it can."""
    kind, command, arguments = entry.get("type"), entry.get("command"), entry.get("args")
    matcher, timeout = group.get("matcher", ""), entry.get("timeout")
    if kind != "command":
        return f"it is of the type {kind}, not command"
    if event not in _EVENT_NAMES:
        return "the event is not known"
    for key in (*(set(group) - {"matcher", "hooks"}), *sorted(set(entry) - _KEYS)):
        return f"a script has nothing for its key {key!r}"
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        return "its command is no text"
    if arguments is not None and not (isinstance(arguments, list) and all(isinstance(one, str) for one in arguments)):
        return "its args are no list of texts"
    if arguments is not None and any(not one.strip() or "\0" in one for one in arguments):
        return "one of its args is empty, or holds a NUL"
    if entry.get("shell", "bash") != "bash":
        return f"its shell is {entry['shell']!r}"
    if entry.get("onFailure", "continue") not in ("continue", "block"):
        return "its onFailure is neither continue nor block"
    if "timeout" in entry and (
        not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout <= _MOST_SECONDS
    ):
        return f"its timeout is not above 0 and at most {_MOST_SECONDS}"
    if not isinstance(matcher, str) or not is_read_alike(event, matcher):
        return "its matcher is an expression that hookrouter may read otherwise than Claude Code"
    try:
        json.dumps([command, arguments, matcher], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "it holds characters that config.toml cannot"
    return ""


def _script(event: str, matcher: str, entry: dict[str, Any]) -> Script:
    blocks = entry.get("onFailure") == "block" and event not in UNBLOCKED_EVENTS
    arguments = entry.get("args")
    return Script(
        event=event,
        command=entry["command"],
        matcher=matcher,
        args=None if arguments is None else tuple(arguments),
        timeout=float(entry.get("timeout", 0)),
        on_error="closed" if blocks else "open",
    )


def _without(document: Document, event: str, group: int, position: int) -> Document:
    """Take one handler out, and what it leaves empty."""
    within: list[tuple[Object | Array, int]] = []
    node: Node = root(document)
    for step in ("hooks", event, group, "hooks", position):
        if isinstance(node, Object | Array):
            at = node.index(str(step)) if isinstance(node, Object) else int(step)
            within.append((node, at))
            node = node.elements[at].value
    whole, hooks, groups, _, handlers = within
    for container, at in (handlers, groups, hooks):
        if len(container.elements) > 1:
            return document.remove(container, at)
    return document.remove(*whole)


def give_back(text: str | None, taken: Sequence[tuple[str, str | None, str]]) -> str:
    """Return a settings text with hooks at the ends of their events: each event, matcher and entry as it was spelled.

    One that is there is not added again. Raises SettingsError for a text that cannot be read.
    """
    document = opened(text or "")
    for event, matcher, handler in taken:
        # As in take().
        settings = json.loads(document.text, parse_int=float)
        if _has(settings, event, None if matcher is None else json.loads(matcher), json.loads(handler)):
            continue
        group = {**({} if matcher is None else {"matcher": json.loads(matcher)}), "hooks": [json.loads(handler)]}
        hooks = root(document).get("hooks")
        if isinstance(hooks, Object) and isinstance(hooks.get(event), Object | Scalar):
            document = document.remove(hooks, hooks.index(event))
            hooks = root(document).get("hooks")
        if not isinstance(hooks, Object):
            if hooks is not None:
                document = document.remove(root(document), root(document).index("hooks"))
            document = document.append(root(document), {event: [group]}, "hooks")
        elif isinstance(groups := hooks.get(event), Array):
            document = document.append(groups, group)
        else:
            document = document.append(hooks, [group], event)
    return with_mark(text or "", document)


def _has(settings: dict[str, Any], event: str, matcher: object, handler: object) -> bool:
    hooks = settings.get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return any(
        isinstance(group, dict)
        and group.get("matcher") == matcher
        and isinstance(handlers := group.get("hooks"), list)
        and handler in handlers
        for group in (groups if isinstance(groups, list) else ())
    )


def is_same(one: Script, other: Script) -> bool:
    """Whether two scripts are one hook, whatever a person has set about its time and its errors since."""
    return all(
        getattr(one, name) == getattr(other, name) for name in ("event", "matcher", "command", "args", "project")
    )


def toml_of(scripts: Sequence[Script]) -> str:
    """Return scripts as tables of config.toml."""
    tables = []
    for script in scripts:
        lines = ["[[scripts]]"]
        for name in Script._fields:
            value = getattr(script, name)
            if name not in Script._required and value == getattr(Script, name):
                continue
            number = int(value) if isinstance(value, float) and value == int(value) else value
            lines.append(f"{name} = {literal(number)}")
        tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def without_scripts(text: str, indices: Sequence[int]) -> str:
    """Return a text of config.toml without some tables of ``[[scripts]]``, by their places in the list."""
    kept: list[str] = []
    for part in statements(text):
        is_gone = part.table[:1] == ("scripts",) and len(part.table) > 1 and part.table[1] in indices
        if not is_gone or not part.text.strip() or part.text.lstrip().startswith("#"):
            kept.append(part.text)
        elif part.is_header and len(kept) > 1 and not kept[-1].strip():
            # The blank line above it.
            kept.pop()
    return "".join(kept)
