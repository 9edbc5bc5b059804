"""The attrs classes by which plugins declare their settings: what they allow, and tables read into them.

Imports attrs and cattrs, so not on the way of ``hookrouter run``: there, what a scan found here is used
(:mod:`hookrouter._plugins.discovery`).
"""

from __future__ import annotations

import enum
import functools
import json
import math
import os
import types
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
import cattrs

from hookrouter._config.validation import (
    FAULTS,
    Fault,
    Problem,
    each,
    problems_of,
    table_hook,
    without_secrets,
    wrong,
)
from hookrouter._plugins.index import OwnSettings
from hookrouter.util.text import closest

__all__ = ["check", "declared", "default_of", "structure", "type_text"]

T = TypeVar("T")

_LISTS: dict[Any, Any] = {
    list: list,
    Sequence: tuple,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    Set: frozenset,
}
_TABLES = (dict, Mapping)


def declared(result: object, what: str = "plugin_settings() returned") -> type[Any] | None:
    """Return the settings class that ``plugin_settings()`` has returned, or a gateway declares; None for none.

    ``what`` begins the message of the TypeError that this raises if it is no attrs class, or one with a field that no
    TOML value fits.
    """
    if result is None:
        return None
    if not isinstance(result, type) or not attrs.has(result):
        raise TypeError(f"{what} {result!r}; allowed: an attrs class, or None")
    try:
        _CONVERTER.get_structure_hook(result)
    except NameError as error:
        raise TypeError(f"{what} {result!r}: {error}; import what annotations name at run time") from None
    return result


def check(kind: type[Any], table: Mapping[str, object], key: str) -> OwnSettings:
    """Read a plugin's table, which stands below ``key``, into its class, and return what is known of it.

    Never raises for the table's sake.
    """
    problems: list[Problem] = []
    settings = None
    try:
        settings = structure(kind, table)
    except Exception as error:  # noqa: BLE001 - a converter or validator of the plugin may raise anything
        found = problems_of(error, key)
        problems = [problem._replace(text=without_secrets(problem.text, table)) for problem in found]
        with suppress(Exception):
            settings = structure(kind, {})
    values = None if settings is None else _values(settings)
    return OwnSettings(
        target=f"{kind.__module__}:{kind.__qualname__}",
        fields=tuple(
            (
                field.name,
                type_text(field.type).removeprefix("a "),
                field.default is attrs.NOTHING,
                default_of(field),
                str(field.metadata.get("help", "")),
            )
            for field in attrs.fields(kind)
            if field.init
        ),
        values=values,
        problems=tuple(problems),
        tuples=_quick(settings, values),
    )


def structure(kind: type[T], table: Mapping[str, object]) -> T:
    """Read a table into a settings class. Raises what :data:`hookrouter._config.validation.FAULTS` names."""
    return _CONVERTER.structure(table, kind)


def default_of(field: attrs.Attribute[Any]) -> object:
    """Return the default of a field as a JSON value; None if it has none, or one that depends on other fields."""
    default: Any = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        default = None if default.takes_self else default.factory()
    return None if default is attrs.NOTHING else _plain(default)


def type_text(kind: Any) -> str:
    """Say in words what a field of this type takes: ``a text``, ``a list of whole numbers``."""
    origin, args = _origin(kind), get_args(kind)
    if origin is Annotated:
        return type_text(args[0])
    if kind in _WORDS:
        return _WORDS[kind]
    if origin is Literal:
        return " or ".join(json.dumps(item) for item in args)
    if origin in (Union, types.UnionType):
        return " or ".join(type_text(item) for item in args if item is not types.NoneType)
    if origin in _LISTS:
        items = [item for item in args if item is not Ellipsis]
        if not items:
            return "a list"
        return f"a list of {' and '.join(map(_plural, items))}"
    if origin in _TABLES:
        return "a table" if len(args) < 2 else f"a table of {_plural(args[1])}"
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return " or ".join(json.dumps(item.value) for item in kind)
    if isinstance(kind, type) and attrs.has(kind):
        return "a table"
    supertype = getattr(kind, "__supertype__", None)
    return getattr(kind, "__name__", repr(kind)) if supertype is None else type_text(supertype)


_WORDS: dict[Any, str] = {
    None: "anything",
    Any: "anything",
    object: "anything",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}


def _plural(kind: Any) -> str:
    text = type_text(kind)
    return f"{text[2:]}s" if text.startswith("a ") and " of " not in text and " or " not in text else text


def _values(settings: Any) -> dict[str, object]:
    return {field.name: _plain(getattr(settings, field.name)) for field in attrs.fields(type(settings))}


def _plain(value: object) -> object:
    """Return a value of a settings object as a JSON value; as its repr if JSON has none."""
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return [_plain(item) for item in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return _values(value) if attrs.has(type(value)) else repr(value)


def _quick(settings: Any, values: Mapping[str, object] | None) -> tuple[str, ...] | None:
    """Return the fields that are tuples, if the object can be built from its plain values; None if it cannot."""
    if settings is None or values is None:
        return None
    tuples = tuple(name for name in values if isinstance(getattr(settings, name), tuple))
    try:
        built = OwnSettings(values=json.loads(json.dumps(values)), tuples=tuples).quickly_built(type(settings))
    except Exception:  # noqa: BLE001 - whatever the class raises, the long way remains
        return None
    return tuples if all(_same(getattr(built, name), getattr(settings, name)) for name in values) else None


def _same(one: object, other: object) -> bool:
    """Compare two values, and the types of all that is in them."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    return type(one) in (str, int, float, bool, types.NoneType) and one == other


def _checked(kind: Any, found: object, *allowed: type) -> Any:
    if not isinstance(found, allowed) or (isinstance(found, bool) and bool not in allowed):
        raise wrong(found, type_text(kind))
    return found


def _number(found: object, kind: Any) -> float:
    number = _checked(kind, found, int, float)
    if not math.isfinite(number):
        raise wrong(found, "a finite number")
    return float(number)


def _list_hook(kind: Any, converter: cattrs.Converter) -> Any:
    result = _LISTS[_origin(kind)]
    args = get_args(kind)
    fixed = tuple(args) if result is tuple and args and Ellipsis not in args and _origin(kind) is tuple else ()
    item = args[0] if args else Any
    for one in fixed or (item,):
        converter.get_structure_hook(one)

    def hook(found: object, _kind: Any) -> Any:
        items = _checked(kind, found, list)
        if fixed and len(items) != len(fixed):
            raise wrong(found, f"a list of {len(fixed)} values")
        kinds = fixed or (item,) * len(items)
        structured = each(
            enumerate(zip(items, kinds, strict=True)), lambda pair: converter.structure(pair[0], pair[1]), result
        )
        return result(structured)

    return hook


def _dict_hook(kind: Any, converter: cattrs.Converter) -> Any:
    args = get_args(kind)
    item = args[1] if len(args) == 2 else Any
    converter.get_structure_hook(item)

    def hook(found: object, _kind: Any) -> Any:
        table = _checked(kind, found, dict)
        return dict(zip(table, each(table.items(), lambda value: converter.structure(value, item), dict), strict=True))

    return hook


def _union_hook(kind: Any, converter: cattrs.Converter) -> Any:
    arms = [arm for arm in get_args(kind) if arm is not types.NoneType]
    for arm in arms:
        converter.get_structure_hook(arm)

    def hook(found: object, _kind: Any) -> Any:
        if len(arms) == 1:
            # Its faults say more than that nothing fits.
            return converter.structure(found, arms[0])
        for arm in arms:
            try:
                return converter.structure(found, arm)
            except FAULTS:
                continue
        raise wrong(found, type_text(kind))

    return hook


def _choice_hook(kind: Any, _converter: cattrs.Converter) -> Any:
    """Return what structures a Literal or an Enum."""
    if _origin(kind) is Literal:
        choices = [(item, item) for item in get_args(kind)]
    else:
        choices = [(item.value, item) for item in kind]

    def hook(found: object, _kind: Any) -> Any:
        for value, chosen in choices:
            if type(value) is type(found) and value == found:
                return chosen
        texts = [value for value, _ in choices if isinstance(value, str)]
        close = closest(found, texts) if isinstance(found, str) else ""
        raise Fault(repr(found), type_text(kind), close) if close else wrong(found, type_text(kind))

    return hook


def _annotated_hook(kind: Any, converter: cattrs.Converter) -> Any:
    """Return what structures ``Annotated[T, rule, ...]``: each rule that can be called takes the value and returns it.

    A rule raises :class:`hookrouter._config.validation.Fault`, or a ValueError, for a value that is not allowed.
    """
    inner, *rules = get_args(kind)
    converter.get_structure_hook(inner)

    def hook(found: object, _kind: Any) -> Any:
        value = converter.structure(found, inner)
        for rule in rules:
            if callable(rule):
                value = rule(value)
        return value

    return hook


def _path(found: object, kind: Any) -> Path:
    text = _checked(kind, found, str)
    if not text or "\0" in text:
        raise wrong(found, "a path")
    return Path(text).expanduser()


def _unreadable(kind: Any) -> Any:
    raise TypeError(f"plugin_settings(): a field has the type {kind!r}, which no value of config.toml fits")


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, structure_fallback_factory=_unreadable)
    converter.register_structure_hook(str, lambda found, kind: _checked(kind, found, str))
    converter.register_structure_hook(bool, lambda found, kind: _checked(kind, found, bool))
    converter.register_structure_hook(int, lambda found, kind: _checked(kind, found, int))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(bytes, lambda found, kind: _checked(kind, found, bytes))
    converter.register_structure_hook(Path, _path)
    factories: tuple[tuple[Callable[[Any], bool], Callable[[Any, cattrs.Converter], Any]], ...] = (
        (lambda kind: _origin(kind) is Annotated, _annotated_hook),
        (lambda kind: kind in (None, Any, object), lambda _kind, _converter: lambda found, _: found),
        (lambda kind: _origin(kind) in _LISTS, _list_hook),
        (lambda kind: _origin(kind) in _TABLES, _dict_hook),
        (lambda kind: _origin(kind) in (Union, types.UnionType), _union_hook),
        (lambda kind: _origin(kind) is Literal, _choice_hook),
        (lambda kind: isinstance(kind, type) and issubclass(kind, enum.Enum), _choice_hook),
        (attrs.has, table_hook),
    )
    for fits, make in factories:
        converter.register_structure_hook_factory(fits, functools.partial(_made, make, converter))
    return converter


def _made(make: Callable[[Any, cattrs.Converter], Any], converter: cattrs.Converter, kind: Any) -> Any:
    return make(kind, converter)


def _origin(kind: Any) -> Any:
    """Return ``list`` for ``list[int]``, and a type without arguments as it is."""
    origin: Any = get_origin(kind)
    return kind if origin is None else origin


_CONVERTER = _make_converter()
