"""hookrouter's entries in the text of Claude Code's settings.json: found, compared, put in and taken out.

Every other key, hook and character of the text stays as it is: edits are made in the text
(:mod:`hookrouter._installation.json_edit`). An entry is ours by its command, the program ``hookrouter`` with the word
``run`` and an event, alone or behind a front, whatever folder either is in; so an entry of a former installation is
updated, never doubled.

A line that runs hookrouter inside something else (``timeout 30 hookrouter run stop || true``) was changed by hand. It
is left as it is, and nothing is added beside it: hooks would run twice.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, NamedTuple

from attrs import evolve, field, frozen

from hookrouter._contract.matchers import covers, overlap
from hookrouter._installation.command_line import parse_command, runs_hookrouter
from hookrouter._installation.http_entries import is_ours
from hookrouter._installation.json_edit import Array, Object, Scalar
from hookrouter._installation.settings_document import Entry, SettingsError, opened, root, shape_error, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter._installation.json_edit import Document, Node
    from hookrouter._installation.registrations import Registration

__all__ = [
    "Difference",
    "InstallState",
    "SettingsError",
    "differences",
    "hooks_disabled",
    "merge",
    "registered",
    "wrapped",
]

_STRICT_EVENTS = ("PreToolUse", "PermissionRequest")
"""Events under which an entry of a wrong shape makes Claude Code refuse the whole file; under any other it drops the
entry alone, and it drops events that it does not know."""


_WHY_OUT_OF_DATE = "a plugin was added or removed, or its on_error or timeout changed"


class Difference(NamedTuple):
    """One way in which a settings file is not what an install would make it."""

    text: str
    harmless: bool
    """Whether every hook is still called as it should be."""
    fix: str = ""
    """What mends it, if an install does not."""


@frozen
class InstallState:
    """What the settings file lacked before the first install, so that uninstall can take it away again."""

    missing: bool = False
    """The file was not there."""
    folders: tuple[str, ...] = ()
    """The folders that were made for it, innermost first."""
    text: str | None = None
    """The file's whole text if it held no member at all."""
    hooks: str | None = None
    """The text of an empty ``hooks`` object or of its null, "" if there was none, None if it had events."""
    events: Mapping[str, str] = field(factory=dict)
    """The same for each event's array that was empty ("[]", as it was spelled), null or not there ("")."""
    denied: tuple[str, ...] = ()
    """What was added to ``permissions.deny``."""


def registered(text: str) -> list[Entry]:
    """Return our entries in a settings file's text. Raises SettingsError."""
    return _entries(_parse(text))


def wrapped(text: str) -> list[Entry]:
    """Return the entries that run hookrouter inside a command line of someone else's. Raises SettingsError."""
    return _entries(_parse(text), _wrapped_command)


def differences(text: str | None, wanted: Sequence[Registration]) -> list[Difference]:
    """Compare a settings text (None: no file) with what is wanted; nothing if it is current.

    Raises SettingsError for a text that cannot be used.
    """
    missing = list(wanted)
    found = []
    unmatched = []
    by_hand = [] if text is None else wrapped(text)
    for entry in [] if text is None else registered(text):
        label = _label(entry.event, entry.matcher)
        match = _match(entry, missing)
        if match is None:
            unmatched.append(entry)
            continue
        missing.remove(match)
        for double in by_hand:
            if _overlap(double, match):
                why = f"{label}: runs twice, because of {_by_hand(double)} beside it"
                found.append(Difference(why, harmless=False, fix="remove the entry that was changed by hand"))
        if entry.command != match.command:
            found.append(Difference(f"{label}: runs {entry.command!r} instead of {match.command!r}", harmless=False))
            continue
        if entry.handler.get("args") is not None:
            found.append(Difference(f"{label}: has its arguments in args, which old clients ignore", harmless=True))
        if _seconds(entry.handler.get("timeout")) != match.timeout:
            found.append(Difference(f"{label}: its timeout is not {match.timeout:g} s", harmless=True))
        if match.block_on_failure and not _blocks_on_failure(entry.handler):
            text = f'{label}: it lacks "onFailure": "block", so a plugin that fails closed cannot refuse in a crash'
            found.append(Difference(text, harmless=False))
        elif _blocks_on_failure(entry.handler) and not match.block_on_failure:
            text = f'{label}: it has "onFailure": "block", and no plugin that fails closed listens'
            found.append(Difference(text, harmless=True))
    grouped = _grouped_otherwise(unmatched, missing)
    for event in dict.fromkeys(want.event for want in grouped):
        lacks = [want for want in grouped if want.event == event and want.block_on_failure]
        open_entries = [entry for entry in unmatched if not _blocks_on_failure(entry.handler)]
        harmless = not any(_overlap(entry, want) for want in lacks for entry in open_entries)
        found.append(Difference(f"{event}: its entries are out of date ({_WHY_OUT_OF_DATE})", harmless=harmless))
    for entry in unmatched:
        if not any(_overlap(entry, want) for want in missing):
            label = _label(entry.event, entry.matcher)
            found.append(Difference(f"{label}: registered, but no active plugin needs it", harmless=True))
    for want in missing:
        if want not in grouped:
            other = next((entry for entry in by_hand if _overlap(entry, want)), None)
            found.append(_not_registered(want, other))
    return found


def _grouped_otherwise(entries: Sequence[Entry], missing: Sequence[Registration]) -> list[Registration]:
    """Return the wanted entries all of whose calls entries of other matchers take together."""
    return [
        want
        for want in missing
        if all(
            any(
                (entry.event, entry.wakes) == (want.event, want.wakes) and covers(entry.event, entry.matcher, part)
                for entry in entries
            )
            for part in (want.matcher or "").split("|")
        )
    ]


def _not_registered(want: Registration, other: Entry | None) -> Difference:
    """Describe a wanted entry that is not there. ``other``, changed by hand, serves all or some of its calls."""
    label = _label(want.event, want.matcher)
    if other is None:
        return Difference(f"{label}: not registered", harmless=False)
    fix = "remove that entry by hand, then run: hookrouter install"
    if covers(want.event, other.matcher, want.matcher):
        text = f"{label}: served by {_by_hand(other)}; install does not update it, and uninstall leaves it"
        return Difference(text, harmless=not want.block_on_failure, fix=fix)
    return Difference(f"{label}: not registered for all calls, because of {_by_hand(other)}", harmless=False, fix=fix)


def _by_hand(entry: Entry) -> str:
    return f"an entry that was changed by hand, {entry.command!r} ({_label(entry.event, entry.matcher)})"


def _overlap(entry: Entry, want: Registration) -> bool:
    """Say whether there may be a call that both are about."""
    is_of = (entry.event, entry.wakes) == (want.event, want.wakes)
    return is_of and overlap(entry.event, entry.matcher, want.matcher)


def hooks_disabled(text: str) -> bool:
    """Say whether a settings file switches all hooks off (``disableAllHooks``). Raises SettingsError."""
    switch = root(_parse(text)).get("disableAllHooks")
    return isinstance(switch, Scalar) and switch.value is True


def merge(
    text: str | None, wanted: Sequence[Registration], state: InstallState | None
) -> tuple[str | None, InstallState]:
    """Put our entries into a settings text (None: no file), or take them out with an empty ``wanted``.

    Entries that are already there are left, or updated in place; nothing is added beside one that was changed by hand.
    Entries that nothing asks for are removed, with every container that ``state`` says an install had made for them.
    ``state`` None means that this is not known: then whatever our entries leave empty goes. Returns the new text (None:
    the file should not be there) and what the next call needs to know. Raises SettingsError for a text that cannot be
    used.
    """
    bom = "\ufeff" if text is not None and text.startswith("\ufeff") else ""
    body = None if text is None else text[len(bom) :]
    blank = body is None or not body.strip(" \t\r\n")
    document = _parse(body or "")
    found = _entries(document)
    if not found:
        if not wanted:
            return text, InstallState()
        state = _initial_state(document, body if blank else None, missing=body is None)
    elif state is None:
        state = InstallState(hooks="", events={entry.event: "" for entry in found})

    missing = list(wanted)
    touched = []
    position = 0
    while position < len(found):
        entry = found[position]
        match = _match(entry, missing)
        if match is None:
            document = _drop(document, entry)
            touched.append(entry.event)
        else:
            missing.remove(match)
            document = _update(document, entry, match)
            position += 1
        found = _entries(document)
    by_hand = _entries(document, _wrapped_command)
    for want in missing:
        if any(_overlap(entry, want) for entry in by_hand):
            continue
        state = evolve(state, events={**_new_event(document, want.event), **state.events})
        document = _add(document, want)
    for event in dict.fromkeys(touched):
        document = _prune_event(document, event, state)
    hooks = _hooks(document)
    if touched and hooks is not None and not hooks.elements:
        document = _prune_hooks(document, state)
        if state.missing and not root(document).elements:
            return None, state
        if state.text is not None and not root(document).elements:
            return bom + state.text, state
    return bom + document.text, state


def _label(event: str, matcher: str | None) -> str:
    return event if matcher is None else f"{event} ({matcher})"


def _parse(text: str) -> Document:
    """Parse a settings text and check the shapes that the edits go through. A blank one holds nothing."""
    document = opened(text)
    hooks = root(document).get("hooks")
    if hooks is None or _is_null(hooks):
        return document
    if not isinstance(hooks, Object):
        raise shape_error(document, hooks, '"hooks"', "an object")
    for event in hooks.elements:
        if event.key not in _STRICT_EVENTS or _is_null(event.value):
            continue
        if not isinstance(event.value, Array):
            raise shape_error(document, event.value, f'"hooks.{event.key}"', "an array")
        for number, group in enumerate(event.value.elements):
            place = f"hooks.{event.key}[{number}]"
            if not isinstance(group.value, Object):
                raise shape_error(document, group.value, f'"{place}"', "an object")
            handlers = group.value.get("hooks")
            if handlers is None:
                continue
            if not isinstance(handlers, Array):
                raise shape_error(document, handlers, f'"{place}.hooks"', "an array")
            for index, handler in enumerate(handlers.elements):
                if not isinstance(handler.value, Object):
                    raise shape_error(document, handler.value, f'"{place}.hooks[{index}]"', "an object")
    return document


def _is_null(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _hooks(document: Document) -> Object | None:
    hooks = root(document).get("hooks")
    return hooks if isinstance(hooks, Object) else None


def _event(document: Document, event: str) -> Array | None:
    hooks = _hooks(document)
    groups = None if hooks is None else hooks.get(event)
    return groups if isinstance(groups, Array) else None


def _handlers(document: Document, event: str, group: int) -> Array:
    groups = _event(document, event)
    value = groups.elements[group].value if groups is not None else None
    handlers = value.get("hooks") if isinstance(value, Object) else None
    assert isinstance(handlers, Array)  # noqa: S101 - only called for a place that _entries has found
    return handlers


def _entries(document: Document, command_of: Callable[[Object], str | None] | None = None) -> list[Entry]:
    """Return the handlers for which ``command_of`` returns a command line; by default those that are ours."""

    def ours(handler: Object) -> str | None:
        return _our_command(document, handler)

    find = ours if command_of is None else command_of
    hooks = _hooks(document)
    found = []
    for event in hooks.elements if hooks is not None else ():
        for number, group in enumerate(_elements(event.value)):
            if not isinstance(group, Object):
                continue
            for position, handler in enumerate(_elements(group.get("hooks"))):
                command = find(handler) if isinstance(handler, Object) else None
                if isinstance(handler, Object) and command is not None:
                    found.append(Entry(event.key or "", _matcher(group), command, number, position, handler))
    return found


def _elements(node: Node | None) -> list[Node]:
    return [element.value for element in node.elements] if isinstance(node, Array) else []


def _matcher(group: Object) -> str | None:
    matcher = group.get("matcher")
    if matcher is None:
        return None
    text = string_of(matcher)
    if text is None:
        return ""
    return text if text not in ("", "*") else None


def _our_command(document: Document, handler: Object) -> str | None:
    """Return what an entry of ours calls, a command line or a URL; None for any other entry."""
    if string_of(handler.get("type")) == "http":
        # As floats: Python refuses whole numbers of thousands of digits.
        keys = json.loads(document.raw(handler), parse_int=float)
        return str(keys["url"]) if is_ours(keys) else None
    command, arguments = _command_line(handler)
    if command is None or not parse_command(command, arguments):
        return None
    return command if arguments is None else shlex.join([command, *arguments])


def _wrapped_command(handler: Object) -> str | None:
    command, arguments = _command_line(handler)
    if command is None or parse_command(command, arguments):
        return None
    # Not shlex.join, which would quote a script that is the argument of a shell.
    line = command if arguments is None else " ".join([command, *arguments])
    return line if runs_hookrouter(line) else None


def _command_line(handler: Object) -> tuple[str | None, list[str] | None]:
    """Return a handler's command, None if it runs none, and its ``args``, None without the key."""
    command = string_of(handler.get("command"))
    if string_of(handler.get("type")) != "command":
        return None, None
    arguments = handler.get("args")
    if arguments is None:
        return command, None
    words = [string_of(word) for word in _elements(arguments)]
    texts = [word for word in words if word is not None]
    return (command, texts) if len(texts) == len(words) else (None, None)


def _match(entry: Entry, wanted: Sequence[Registration]) -> Registration | None:
    is_of = (entry.event, entry.matcher, entry.wakes)
    return next((want for want in wanted if (want.event, want.matcher, want.wakes) == is_of), None)


def _outdated(document: Document, handler: Object, want: Registration) -> bool:
    for key, value in want.handler().items():
        node = handler.get(key)
        if key != "timeout" and (node is None or json.loads(document.raw(node), parse_int=float) != value):
            return True
    if any(handler.get(key) is not None for key in _of_others(want)):
        return True
    return _seconds(handler.get("timeout")) != want.timeout or _blocks_on_failure(handler) != want.block_on_failure


def _of_others(want: Registration) -> list[str]:
    """Return the keys that an entry has if it calls hookrouter in another way."""
    return ["args", "url", "headers", "allowedEnvVars"] if want.http is None else ["args", "command"]


def _blocks_on_failure(handler: Object) -> bool:
    return string_of(handler.get("onFailure")) == "block"


def _seconds(timeout: Node | None) -> float | None:
    if not isinstance(timeout, Scalar) or timeout.is_string or not isinstance(timeout.value, str):
        return None
    return float(timeout.value)


def _initial_state(document: Document, text: str | None, *, missing: bool) -> InstallState:
    """Describe what is not there before the first entry goes in. ``text`` is that of a file without any JSON."""
    members, hooks = root(document), _hooks(document)
    if text is None and not members.elements and not missing:
        text = document.text
    if hooks is None:
        null = members.get("hooks")
        return InstallState(missing=missing, text=text, hooks="" if null is None else document.raw(null))
    return InstallState(missing=missing, text=text, hooks=None if hooks.elements else document.raw(hooks))


def _new_event(document: Document, event: str) -> dict[str, str]:
    groups, hooks = _event(document, event), _hooks(document)
    if groups is None:
        null = None if hooks is None else hooks.get(event)
        return {event: "" if null is None else document.raw(null)}
    return {} if groups.elements else {event: document.raw(groups)}


def _update(document: Document, entry: Entry, want: Registration) -> Document:
    """Bring one handler up to date.

    Keys that someone added to it stay, but for those of another way of calling hookrouter, such as ``args``, and an
    ``onFailure`` that blocks though no plugin asks for that.
    """
    if not _outdated(document, entry.handler, want):
        return document
    superfluous = _of_others(want)
    if _blocks_on_failure(entry.handler) and not want.block_on_failure:
        superfluous.append("onFailure")
    for key in superfluous:
        handler = _handler(document, entry)
        if handler.get(key) is not None:
            document = document.remove(handler, handler.index(key))
    for key, value in want.handler().items():
        handler = _handler(document, entry)
        current = handler.get(key)
        if current is None:
            document = document.append(handler, value, key)
        elif key != "timeout" or _seconds(current) != want.timeout:
            document = document.replace(current, json.dumps(value, ensure_ascii=False))
    return document


def _handler(document: Document, entry: Entry) -> Object:
    handler = _handlers(document, entry.event, entry.group).elements[entry.position].value
    assert isinstance(handler, Object)  # noqa: S101 - the place of an entry that _entries has found
    return handler


def _drop(document: Document, entry: Entry) -> Document:
    """Take one handler out, and its group if nothing else is in it."""
    handlers = _handlers(document, entry.event, entry.group)
    if len(handlers.elements) > 1:
        return document.remove(handlers, entry.position)
    groups = _event(document, entry.event)
    assert groups is not None  # noqa: S101 - the place of an entry that _entries has found
    return document.remove(groups, entry.group)


def _add(document: Document, want: Registration) -> Document:
    groups, hooks = _event(document, want.event), _hooks(document)
    if groups is not None:
        return document.append(groups, want.group())
    if hooks is not None:
        other = hooks.get(want.event)
        if other is None:
            return document.append(hooks, [want.group()], want.event)
        if not _is_null(other):
            raise shape_error(document, other, f'"hooks.{want.event}"', "an array")
        return _add(document.replace(other, "[]"), want)
    null = root(document).get("hooks")
    if null is not None:
        return _add(document.replace(null, "{}"), want)
    return document.append(root(document), {want.event: [want.group()]}, "hooks")


def _prune_event(document: Document, event: str, state: InstallState) -> Document:
    """Bring an event's array, if our entries left it empty, back to what it was before them."""
    groups, hooks = _event(document, event), _hooks(document)
    before = state.events.get(event)
    if groups is None or hooks is None or groups.elements or before is None:
        return document
    return document.replace(groups, before) if before else document.remove(hooks, hooks.index(event))


def _prune_hooks(document: Document, state: InstallState) -> Document:
    members, hooks = root(document), _hooks(document)
    if hooks is None or state.hooks is None:
        return document
    return document.replace(hooks, state.hooks) if state.hooks else document.remove(members, members.index("hooks"))
