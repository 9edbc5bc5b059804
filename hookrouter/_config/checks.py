"""What is allowed for keys of ``config.toml``: the checks that :mod:`hookrouter.config` names, in words and code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter import config as values
from hookrouter._config.validation import Fault, each, plain, wrong
from hookrouter._contract.matchers import is_read_alike
from hookrouter._contract.tables import EVENTS
from hookrouter.util.text import closest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Check", "check_of"]

_OWN_HOSTS = ("127.0.0.1", "[::1]", "localhost")
"""The hosts that are this machine to itself alone."""

_WAKE_KINDS = (*values.DIALOG_KINDS, *values.SESSION_KINDS)
_WAKE_WORDS = ", ".join([f'"{values.EVERY_KIND}" for all dialogs', *_WAKE_KINDS])

_MAX_SECONDS = 86400
_MAX_COUNT = 100
_MAX_PORT = 65535
_LONGEST_MACHINE = 64
_MACHINE_MARKS = str.maketrans("", "", "._-")


class Check(NamedTuple):
    """What is allowed for a key."""

    words: str
    read: Callable[[Any], Any]
    """Returns the value as it is kept. Raises what :data:`hookrouter._config.validation.FAULTS` names."""


def check_of(name: str | tuple[str, ...]) -> Check:
    """Return the check of this name, or the one that allows only these words. Raises KeyError for an unknown name."""
    return _CHECKS[name] if isinstance(name, str) else _one_of(name)


def _one_of(choices: tuple[str, ...]) -> Check:
    *others, last = (f'"{one}"' for one in choices)
    words = f"{', '.join(others)} or {last}"

    def read(value: object) -> str:
        if value not in choices:
            raise wrong(value, words)
        return str(value)

    return Check(words, read)


def _number(kind: str, least: float, most: float, *, is_over: bool = False) -> Check:
    """Return the check of a number of a ``kind``: at least ``least``, or with ``is_over`` more than that."""
    words = f"{kind}, {'more than' if is_over else 'at least'} {least:g} and at most {most}"

    def read(value: object) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= most or (is_over and value == least):  # type: ignore[operator] # a number
            raise wrong(value, words)
        return float(value)  # type: ignore[arg-type] # as above

    return Check(words, read)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(value, _TEXT.words)
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong(value, _FLAG.words)
    return value


def _folder(value: object) -> str:
    text = _text(value)
    if not text.startswith(("/", "~/", "*")) and text != "~":
        raise wrong(value, "an absolute folder, or one that begins with ~/ or *")
    return text


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        raise wrong(value, _COUNT.words)
    return value


def _wake_kind(value: object) -> str:
    """Return a kind that wakes an agent. A plugin's own may not look like a typing error in one of hookrouter's."""
    if value == values.EVERY_KIND or value in _WAKE_KINDS:
        return str(value)
    if not isinstance(value, str) or not _is_kind(value) or closest(value, _WAKE_KINDS):
        raise wrong(value, f"{_WAKE_WORDS}, or the kind of a dialog that a plugin adds")
    return value


def _is_kind(value: str) -> bool:
    return value.isascii() and value[:1].isalpha() and value.replace("_", "").replace("-", "").isalnum()


def _rule(value: object) -> str:
    from hookrouter.permission_rules.rule import RuleError, parse

    text = _text(value)
    try:
        parse(text)
    except RuleError as error:
        raise Fault(repr(text), str(error).removeprefix("allowed: ")) from None
    return text


def _event(value: object) -> str:
    if not isinstance(value, str):
        raise wrong(value, _EVENT.words)
    names = [record.name for record in EVENTS.values()]
    if value not in names:
        raise Fault(repr(value), _EVENT.words, closest(value, names) or "")
    return value


def _matcher(value: object) -> str:
    if not isinstance(value, str) or not is_read_alike("", value):
        raise wrong(value, _MATCHER.words)
    return value


def _path_or_nothing(value: object) -> str:
    if not isinstance(value, str) or (value and not value.startswith("/")) or "\0" in value:
        raise wrong(value, _PATH_OR_NOTHING.words)
    return value


def _loopback(value: object) -> str:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if host not in _OWN_HOSTS or not (port.isascii() and port.isdigit() and len(port) <= len(str(_MAX_PORT))):
        raise wrong(value, _LOOPBACK.words)
    if not 1 <= int(port) <= _MAX_PORT:
        raise wrong(value, _LOOPBACK.words)
    return str(value)


def _machine(value: object) -> str:
    text = _text(value)
    if len(text) > _LONGEST_MACHINE or not text.isascii() or not text.translate(_MACHINE_MARKS).isalnum():
        raise wrong(value, _MACHINE.words)
    return text


def _table(value: object) -> dict[str, object]:
    table = plain(value)
    if not isinstance(table, dict):
        raise wrong(value, _TABLE.words)
    return table


def _list_of(words: str, item: Callable[[Any], Any] = _text, *, least: int = 0, once: str = "") -> Check:
    """Return the check of a list; with ``once``, which says what, no item may come twice."""

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) < least:
            raise wrong(value, words)
        items = tuple(each(enumerate(value), item, tuple))
        if once and len(set(items)) != len(items):
            raise Fault(repr(list(items)), f"each {once} once")
        return items

    return Check(words, read)


_TEXT = Check("a non-empty string", _text)
_FLAG = Check("true or false", _flag)
_COUNT = Check(f"a whole number, at least 0 and at most {_MAX_COUNT}", _count)
_LOOPBACK = Check(f"127.0.0.1:PORT, with a port from 1 to {_MAX_PORT}", _loopback)
_TABLE = Check("a table", _table)
_EVENT = Check("an event of Claude Code, such as PreToolUse", _event)
_MATCHER = Check(
    "names joined by |, or a regular expression of what JavaScript and Python read alike: letters, groups, | . * + ? "
    "^ $ {N,M}, character classes, and \\d \\w \\s \\b",
    _matcher,
)
_PATH_OR_NOTHING = Check("an absolute path, or nothing", _path_or_nothing)
_MACHINE = Check(f"a name of letters, digits, dots, dashes and underscores, at most {_LONGEST_MACHINE}", _machine)

_CHECKS = {
    "channels": _list_of("one or more channel names", least=1, once="channel"),
    "count": _COUNT,
    "event": _EVENT,
    "first plugins": _list_of("a list of plugin names; no plugin can be called order", once="plugin"),
    "flag": _FLAG,
    "folders": _list_of("a list of folders", _folder),
    "gateways": _list_of("a list of one or more gateway names", least=1),
    "last plugins": _list_of("a list of plugin names; no plugin can be called last", once="plugin"),
    "loopback": _LOOPBACK,
    "machine": _MACHINE,
    "matcher": _MATCHER,
    "path or nothing": _PATH_OR_NOTHING,
    "rule": Check("a permission rule, as in Claude Code's settings", _rule),
    "seconds": _number("seconds", 0, _MAX_SECONDS, is_over=True),
    "seconds or 0": _number("seconds", 0, _MAX_SECONDS),
    "table": _TABLE,
    "text": _TEXT,
    "texts": _list_of("a list of texts"),
    "wake kinds": _list_of(f"a list of {_WAKE_WORDS}, or kinds of plugins", _wake_kind, once="kind"),
}
"""The checks by the names that the fields of :mod:`hookrouter.config` have."""
