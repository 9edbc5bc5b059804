"""Structures payloads into the attrs classes of :mod:`hookrouter.events` and :mod:`hookrouter.tools` by cattrs.

Unknown fields are kept in ``raw`` and never an error, and an event that this version does not know becomes an
``UnknownEvent``. A required field that is missing or of the wrong JSON type is an error; an optional field of the wrong
type takes its default, as it does in a view.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, override
from cattrs.v import format_exception

from hookrouter import tools
from hookrouter.payloads import as_object, conforms, fields_of, json_type
from hookrouter.tables import FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.events import Event

__all__ = ["PayloadError", "make_converter", "record_class", "structure", "structure_event"]


class PayloadError(ValueError):
    """A payload that does not follow the contract."""

    def __init__(self, type_name: str, problems: list[str]) -> None:
        """``problems`` has one line for each fault, with the JSON path of it."""
        super().__init__(f"{type_name}: {'; '.join(problems)}")
        self.type_name = type_name
        self.problems = problems


class _WrongTypeError(ValueError):
    """A value whose JSON type is not the field's."""


def record_class(type_name: str) -> type:
    """Return the attrs class of a record of the contract. Raises KeyError for a name that it does not have."""
    fields_of(type_name)
    found: type | None = getattr(tools, type_name, None)
    return found or _event_class(type_name)


def _event_class(type_name: str) -> type:
    # Making the classes of all events takes longer than everything else that answering a question imports.
    from hookrouter import events

    found: type = getattr(events, type_name)
    return found


def make_converter(converter: cattrs.Converter | None = None) -> cattrs.Converter:
    """Return ``converter``, or a new one, with the hooks that structure every record of the contract."""
    if converter is None:
        converter = cattrs.Converter()
    from hookrouter.tool_fields import TOOL_FIELDS

    _register_with_nested([*reversed(FIELDS), *TOOL_FIELDS], converter, set())
    return converter


def _register_with_nested(type_names: list[str], converter: cattrs.Converter, known: set[str]) -> None:
    """Give ``converter`` the hooks for these records and for those in their fields, unless they are ``known``."""
    for type_name in type_names:
        if type_name in known:
            continue
        known.add(type_name)
        _register_with_nested([nested for *_, nested, _ in fields_of(type_name).values() if nested], converter, known)
        _register(type_name, converter)


def _register(type_name: str, converter: cattrs.Converter) -> None:
    record = record_class(type_name)
    overrides = {
        attribute: override(rename=wire, struct_hook=_field_hook(attribute, type_name, converter))
        for attribute, (wire, *_) in fields_of(type_name).items()
    }
    # cattrs' stubs want the keyword arguments to be its own options only.
    build: Any = make_dict_structure_fn
    structure_known = build(record, converter, _cattrs_forbid_extra_keys=False, raw=override(omit=True), **overrides)

    def structure_record(value: Any, _: type) -> Any:
        known = as_object(type_name, value)
        if not isinstance(known, dict):
            raise _WrongTypeError(f"found {json_type(value)}, allowed object")
        return attrs.evolve(structure_known(known, record), raw=value)

    converter.register_structure_hook(record, structure_record)


def _field_hook(attribute: str, type_name: str, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    _wire, kind, required, nested, default = fields_of(type_name)[attribute]

    def structure_field(value: Any, _: Any) -> Any:
        if not required and (value is None or not conforms(kind, nested, value)):
            return default
        if not conforms(kind, None, value):
            raise _WrongTypeError(f"found {json_type(value)}, allowed {kind}")
        if nested is not None and value is not None:
            record: Any = record_class(nested)
            if kind.startswith("record"):
                return converter.structure(value, record)
            if kind == "map<record>":
                return {key: converter.structure(item, record) for key, item in value.items()}
            if kind == "array<record|string>":
                return tuple(item if isinstance(item, str) else converter.structure(item, record) for item in value)
            return converter.structure(list(value), tuple[record, ...])
        return tuple(value) if kind.startswith("array") and value is not None else value

    return structure_field


@functools.cache
def _shared() -> tuple[cattrs.Converter, set[str]]:
    return cattrs.Converter(), set()


def _shared_for(type_name: str) -> cattrs.Converter:
    """Return the converter of this module, with the hooks for one record; each is built when it is first needed."""
    converter, known = _shared()
    _register_with_nested([type_name], converter, known)
    return converter


def structure(type_name: str, raw: object, converter: cattrs.Converter | None = None) -> Any:
    """Return ``raw`` as an object of the record's class.

    Raises PayloadError with one line for each fault, such as ``found number, allowed string @ $.tool_name``, and
    KeyError for a type name that the contract does not have.
    """
    record = record_class(type_name)
    try:
        return (converter or _shared_for(type_name)).structure(raw, record)
    except _WrongTypeError as error:
        raise PayloadError(type_name, [f"{error} @ $"]) from error
    except cattrs.BaseValidationError as error:
        raise PayloadError(type_name, cattrs.transform_error(error, format_exception=_format)) from error


def _format(error: BaseException, expected: type | None) -> str:
    return str(error) if isinstance(error, _WrongTypeError) else format_exception(error, expected)


def structure_event(payload: object, converter: cattrs.Converter | None = None) -> Event:
    """Return a hook payload as an object of its event's class, ``UnknownEvent`` for a name that is new.

    Raises PayloadError for a payload that lacks what its event must have.
    """
    from hookrouter.events import EVENT_CLASSES

    name = payload.get("hook_event_name") if isinstance(payload, dict) else None
    known = isinstance(name, str) and name in EVENT_CLASSES
    event: Event = structure(name if known and isinstance(name, str) else "UnknownEvent", payload, converter)
    return event
