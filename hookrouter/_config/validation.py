"""Plain values from TOML into attrs classes, strictly, with every fault named by its key.

Shared by what checks ``config.toml`` and by what checks a plugin's settings. Nothing is converted that is not what was
asked for: no text into a number, no text into a list of letters. Imports cattrs, so not on the way of
``hookrouter run``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, TypeVar

import attrs
import cattrs
from cattrs.errors import AttributeValidationNote, IterableValidationNote
from cattrs.gen import make_dict_structure_fn, override

from hookrouter.util.text import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = [
    "FAULTS",
    "Fault",
    "Problem",
    "each",
    "hide",
    "is_secret",
    "misplaced",
    "plain",
    "problems_of",
    "refuse_secret",
    "table_hook",
    "unknown_key",
    "without_secrets",
    "wrong",
]

FAULTS = (cattrs.BaseValidationError, cattrs.ForbiddenExtraKeysError, ValueError, TypeError)
"""What structuring raises."""

SECRETS = ("token", "password", "passwd", "secret", "api_key", "apikey", "authorization", "dsn")
_VARIABLE, _FILE = "_env", "_file"
_PLACES = {_VARIABLE: "the name of an environment variable", _FILE: "an absolute path, or one that begins with ~"}
INDIRECT = tuple(_PLACES)
_HIDDEN = "(hidden)"
_LARGEST = 2**63 - 1
_NOT_SHOWN = "found a value that is not shown"

T = TypeVar("T")


class Problem(NamedTuple):
    """One thing that is wrong with a file."""

    key: str
    """Where: ``agents[0].id``; empty for the file as a whole."""
    text: str
    """What, in one line, with what was found and what is allowed."""
    found: str = ""
    allowed: str = ""
    suggestion: str = ""
    """What was probably meant; empty if nothing is close."""

    @property
    def line(self) -> str:
        """The key and the text."""
        return f"{self.key}: {self.text}" if self.key else self.text


class Fault(ValueError):
    """A value that is not allowed. The message says what was found and what is allowed."""

    def __init__(self, found: str, allowed: str, suggestion: str = "", key: str = "") -> None:
        """Take texts for a person; ``key`` is that of the table's keys which is wrong beside the others."""
        hint = f", did you mean {suggestion!r}?" if suggestion else ""
        super().__init__(f"found {found}{hint}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed
        self.suggestion = suggestion
        self.key = key


def wrong(value: object, allowed: str) -> Fault:
    """Return the fault of a value from the file."""
    return Fault(_found(value), allowed)


def is_secret(key: str) -> bool:
    """Say whether a key's name tells that its value is a secret itself, not where one is."""
    return _normal(key).endswith(SECRETS)


def misplaced(key: str, value: object) -> str:
    """Return what belongs under a key that says where something is, as ``token_env``, if it is not what stands there.

    Empty for all other keys. What stands there may be the secret itself, so nobody may be shown it.
    """
    name = _normal(key)
    suffix = next((suffix for suffix in INDIRECT if name.endswith(suffix)), "")
    if not suffix or value in ("", None) or isinstance(value, bool):
        return ""
    if not isinstance(value, str | int | float):
        # Such as the list of the variables that a program gets.
        return _PLACES[suffix] if is_secret(name.removesuffix(suffix)) else ""
    text = str(value)
    is_right = text.isascii() and text.isidentifier() if suffix == _VARIABLE else text.startswith(("/", "~"))
    return "" if is_right else _PLACES[suffix]


def refuse_secret(key: str, value: object) -> None:
    """Raise ValueError, which does not show the value, if it is a secret, by its key, or may be one."""
    if is_secret(key):
        raise ValueError(f"a secret does not belong here; allowed: {key}_env or {key}_file, which name where it is")
    name = _normal(key)
    if any(name.endswith(suffix) and is_secret(name.removesuffix(suffix)) for suffix in INDIRECT) and (
        allowed := misplaced(key, value)
    ):
        raise ValueError(f"{_NOT_SHOWN}; allowed: {allowed}")


def without_secrets(text: str, table: Mapping[str, object]) -> str:
    """Return what is said of a table without the values in it that are not shown."""
    for key, value in table.items():
        if hide(key, value) == _HIDDEN and isinstance(value, str | int | float) and str(value):
            text = text.replace(str(value), _HIDDEN)
    return text


def _normal(key: str) -> str:
    return key.lower().replace("-", "_")


def hide(key: str, value: object) -> object:
    """Return a value for showing, in which whatever is a secret by its key, or may be one, is left out."""
    if is_secret(key) or misplaced(key, value):
        return _HIDDEN
    if isinstance(value, dict):
        return {name: hide(str(name), item) for name, item in value.items()}
    if isinstance(value, list):
        return [hide("", item) for item in value]
    return value


def problems_of(error: BaseException, path: str = "") -> list[Problem]:
    """Return one problem for each fault in what structuring raised. ``path`` is the key of what was structured."""
    if isinstance(error, cattrs.ClassValidationError | cattrs.IterableValidationError):
        noted, other = error.group_exceptions()
        places = [(fault, _item(path, note)) for fault, note in noted] + [(fault, path) for fault in other]
        return [found for fault, place in places for found in problems_of(fault, place)]
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        allowed = [field.name for field in attrs.fields(error.cl) if field.init]
        return [unknown_key(f"{path}.{key}".lstrip("."), key, allowed) for key in sorted(error.extra_fields)]
    if isinstance(error, KeyError):
        return [Problem(path, "missing; it is required")]
    if isinstance(error, Fault):
        path = f"{path}.{error.key}".strip(".")
        key = path.rpartition(".")[2].partition("[")[0]
        if is_secret(key) or _normal(key).endswith(INDIRECT):
            return [Problem(path, f"{_NOT_SHOWN}; allowed: {error.allowed}", "", error.allowed)]
        return [Problem(path, str(error), error.found, error.allowed, error.suggestion)]
    said = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    return [Problem(path, said or type(error).__name__)]


def unknown_key(path: str, key: str, allowed: Collection[str]) -> Problem:
    """Return the problem of a key, at ``path``, that is none of those which are allowed."""
    close = closest(key, allowed)
    hint = f", did you mean {close!r}?" if close else ""
    listed = ", ".join(allowed) or "none"
    return Problem(path, f"unknown key{hint}; allowed: {listed}", key, listed, close)


def _item(path: str, note: AttributeValidationNote | IterableValidationNote) -> str:
    key = note.index if isinstance(note, IterableValidationNote) else note.name
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")


def _found(value: object) -> str:
    """Describe a value from the file in a few words."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return str(value).lower()
    if _is_too_large(value):
        # Python does not write one of thousands of digits.
        return f"a whole number above {_LARGEST}" if value > 0 else f"a whole number below -{_LARGEST}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _is_too_large(value: object) -> TypeGuard[int]:
    """Whether it is a number that neither TOML nor every reader of JSON has."""
    return isinstance(value, int) and not -_LARGEST <= value <= _LARGEST


def plain(value: object) -> object:
    """Return a value of a free table, which must be one that JSON has too. Raises what structuring raises."""
    if isinstance(value, dict):
        return dict(zip(value, each(value.items(), plain, dict), strict=True))
    if isinstance(value, list):
        return each(enumerate(value), plain, list)
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(value, "a finite number")
    if _is_too_large(value):
        raise wrong(value, "a whole number of 64 bits")
    if not isinstance(value, (str, int, float)):
        raise wrong(value, "a text in quotes instead of a date or time")
    return value


def each(
    items: Iterable[tuple[object, Any]], structure: Callable[[Any], T], kind: Any, *, keyed: bool = False
) -> list[T]:
    """Structure each item, and raise the faults of all of them at once, each with its index or key."""
    result, faults = [], []
    for index, value in items:
        try:
            result.append(structure((index, value) if keyed else value))
        except FAULTS as fault:
            fault.add_note(IterableValidationNote(f"at {index!r}", index, kind))  # type: ignore[arg-type]
            faults.append(fault)
    if faults:
        raise cattrs.IterableValidationError("faults", faults, kind)
    return result


def table_hook(
    kind: type[Any], converter: cattrs.Converter, reads: Mapping[str, Callable[[Any], Any]] | None = None
) -> Callable[[Any, Any], Any]:
    """Return what structures a table into an attrs class. ``reads`` holds what reads a field, if its type does not."""
    own: dict[str, Any] = {name: override(struct_hook=_hook(read)) for name, read in (reads or {}).items()}
    structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **own)

    def hook(value: Any, _kind: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong(value, "a table")
        return structure(value, kind)

    return hook


def _hook(read: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, _kind: read(value)
