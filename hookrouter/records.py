"""Records: what hooks receive, JSON objects that read like frozen classes.

A record costs nothing to make: a field is looked up, and its type compared, when it is read. The classes are those of
:mod:`hookrouter.events` and :mod:`hookrouter.tools`. On the way of ``hookrouter run``: imports nothing but ``util``,
and the reader of commands when a command is read.
"""

from __future__ import annotations

import os

from hookrouter.util.fastjson import json_type

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Literal, NoReturn, Self, TypeVar, dataclass_transform

    from hookrouter.shell.commands import Reading

    _R = TypeVar("_R", bound="Record")
else:

    def dataclass_transform(**_):
        """Return what leaves a class as it is: only type checkers need more, and ``typing`` takes time to import."""
        return lambda cls: cls


__all__ = ["CommandInput", "Field", "FileInput", "Record", "ToolInput", "ToolResponse", "check", "field", "replace"]

MAX_FAULTS = 20
"""Faults that one check reports; a payload of a million bad items is described well enough by these."""

_ALLOWED = {
    "record": "object",
    "map<record>": "object of objects",
    "array<string>": "array of strings",
    "array<object>": "array of objects",
    "array<record>": "array of objects",
    "array<record|string>": "array of objects and strings",
    "array<any>": "array",
    "any": "any value",
}


class Field:
    """One field of a record class: where it stands in the JSON object, and what it may hold.

    ``kind`` is one of ``string``, ``number``, ``integer``, ``boolean``, ``object``, ``any``, ``record``,
    ``map<record>`` (an object whose values are records), ``array<string>``, ``array<object>``, ``array<any>``,
    ``array<record>`` or ``array<record|string>``; ``|null`` after it allows null, too.
    """

    __slots__ = ("default", "kind", "name", "record", "required", "wire")

    wire: str
    name: str

    def __init__(
        self, kind: str, wire: str | None, record: type[Record] | None, *, default: object, required: bool
    ) -> None:
        """Describe a field; ``record`` is the class of nested objects, ``default`` what it reads as if it is unfit."""
        self.kind = kind
        if wire is not None:
            self.wire = wire
        self.record = record
        self.default = default
        self.required = required

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name, which is also the name in JSON if no other was given."""
        self.name = name
        if not hasattr(self, "wire"):
            self.wire = name

    def __get__(self, owner: Record | None, kind: type) -> Any:
        """Read the field of a record; of the class, the field itself."""
        if owner is None:
            return self
        try:
            return owner._values[self.name]
        except KeyError:
            value = owner._values[self.name] = self._read(owner._raw)
            return value

    def _read(self, raw: object) -> object:
        holder = raw if self.wire else {"": raw}
        value: Any = holder.get(self.wire) if isinstance(holder, dict) else None
        kind, record = self.kind, self.record
        # What is wrong inside of a required record shows if it is read.
        if value is None or not _conforms(kind, None if self.required and record is not None else record, value):
            value = self.default
        if value is None:
            return None
        if record is None:
            return tuple(value) if kind.startswith("array") else value
        if kind.startswith("record"):
            return record.from_json(value)
        if kind == "map<record>":
            return {key: record.from_json(item) for key, item in value.items()}
        return tuple(item if isinstance(item, str) else record.from_json(item) for item in value)

    @property
    def allowed(self) -> str:
        """Say in words which values fit."""
        kind = self.kind.removesuffix("|null")
        return _ALLOWED.get(kind, kind) + (" or null" if kind != self.kind else "")


class _FieldsOfClass:
    """Collects the fields of a class when they are first needed: most classes that are imported are never used."""

    def __init__(self) -> None:
        self._known: dict[type, dict[str, Field]] = {}

    def __get__(self, owner: object, kind: type) -> dict[str, Field]:
        if kind not in self._known:
            found = {name: value for base in kind.__mro__[::-1] for name, value in vars(base).items()}
            self._known[kind] = {name: value for name, value in found.items() if type(value) is Field}
        return self._known[kind]


_MISSING: Any = object()


def field(
    kind: str,
    wire: str | None = None,
    *,
    record: type[Record] | None = None,
    default: object = _MISSING,
    empty: object = None,
) -> Any:
    """Declare a field of a record class; ``wire`` is its name in JSON, by default the attribute's.

    A field without a ``default`` is required; ``empty`` is what it reads as if the object lacks it nevertheless.
    """
    required = default is _MISSING
    return Field(kind, wire, record, default=empty if required else default, required=required)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class Record:
    """A JSON object, read through the fields of its class.

    A field that the object lacks, or that is not of the field's type, reads as the field's default: None for most, and
    an empty value for what a tool's response should have. Arrays read as tuples, objects in them as records.
    Attributes cannot be set. Two records are equal if they are of one class and all fields are.

    Made from JSON by :meth:`from_json`, or in tests from values: ``BashInput(command="ls")``.
    """

    __slots__ = ("_raw", "_values")

    if TYPE_CHECKING:
        FIELDS: ClassVar[dict[str, Field]]
        """Attribute -> field, inherited ones first."""

        _raw: Any
        _values: dict[str, Any]
    else:
        FIELDS = _FieldsOfClass()

    if not TYPE_CHECKING:  # Type checkers derive the arguments from the fields, and know that there are no others.

        def __init__(self, **values):
            """Make a record of the values of its fields; raises TypeError for an unknown or missing one."""
            known = type(self).FIELDS
            for name in values:
                if name not in known:
                    raise TypeError(f"{type(self).__name__} has no field {name!r}")
            missing = [name for name, field in known.items() if field.required and name not in values]
            if missing:
                raise TypeError(f"{type(self).__name__} lacks {', '.join(missing)}")
            raw = {
                known[name].wire: _plain(value)
                for name, value in values.items()
                if value is not None or known[name].required
            }
            object.__setattr__(self, "_raw", raw.get("", raw))
            object.__setattr__(self, "_values", {**{name: field.default for name, field in known.items()}, **values})

        def __getattr__(self, name):
            """Say where to look for what is no field."""
            raise AttributeError(
                f"{type(self).__name__!r} has no attribute {name!r}; fields that the contract does not know are in .raw"
            )

    @classmethod
    def from_json(cls, raw: object) -> Self:
        """Read ``raw``, parsed JSON of any shape. Nothing is checked: :func:`check` does that."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_raw", raw)
        object.__setattr__(made, "_values", {})
        return made

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON object itself, with the fields that the contract does not know."""
        raw: Mapping[str, Any] = self._raw
        return raw

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse."""
        raise AttributeError(
            f"{name!r} cannot be set: what hooks receive is read only; return a reply to change something"
        )

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse."""
        raise AttributeError(f"{name!r} cannot be deleted: what hooks receive is read only")

    def __eq__(self, other: object) -> bool:
        """Compare all fields; those that the contract does not know are left out."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._raw == other._raw or _values(self) == _values(other)

    def __hash__(self) -> int:
        """Return a hash of the fields; raises TypeError if one holds an object of unknown fields."""
        return hash((type(self), *_values(self)))

    def __repr__(self) -> str:
        """Return the class and its fields."""
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).FIELDS)
        return f"{type(self).__name__}({given})"

    def __dir__(self) -> list[str]:
        """Name the fields."""
        return [*type(self).FIELDS, "raw"]

    def __reduce__(self) -> tuple[Any, tuple[object]]:
        """Copy and pickle as class and JSON."""
        return type(self).from_json, (self._raw,)

    def __replace__(self, **changes: object) -> Self:
        """Return a copy with other values, for ``copy.replace`` of Python 3.13."""
        return replace(self, **changes)


class ToolInput(Record):
    """The input of a tool. A required field that is missing, or of another type, reads as None."""

    __slots__ = ()

    TOOL: ClassVar[str] = ""
    """The tool."""

    if TYPE_CHECKING:

        def changed(self, *_: Any, **changes: Any) -> dict[str, Any]:
            """Return the whole input as JSON with other values for some fields, for ``update_input`` and ``allow``.

            All that is not named is kept, fields that the contract does not know, too. None takes an optional field
            away. Raises TypeError for a name that is no field, a value that does not fit its field, and for an input
            that is no JSON object.
            """

    else:

        def changed(self, /, **changes):
            """Return the whole input as JSON with other values for some fields."""
            return _changed(self, changes)

    def _given(self, name: str) -> object:
        """Return what the JSON object holds, of any type; None if it lacks it."""
        return self._raw.get(name) if isinstance(self._raw, dict) else None


class CommandInput(ToolInput):
    """The input of a tool that has a shell run a command: ``BashInput``, ``MonitorInput``."""

    __slots__ = ()

    def commands(self, shell: Literal["bash", "zsh"] | None = None) -> Reading:
        """Return what the command runs.

        ``shell`` is by default the one that Claude Code takes: :func:`hookrouter.shell.reader.client_shell`. A guard
        refuses a reading that is not ``certain``. That of a command that is missing, empty or no text is not; a Monitor
        of a WebSocket runs nothing, for certain.
        """
        from hookrouter.shell.reader import client_shell, read, unreadable

        command = self._given("command")
        if command is None and self._given("ws") is not None:
            return read("")
        if not isinstance(command, str) or not command:
            return unreadable()
        return read(command, shell or client_shell(os.environ))


class FileInput(ToolInput):
    """The input of a tool that reads or writes files by their paths: ``Read``, ``Write``, ``Edit``, ``NotebookEdit``,
    ``Glob`` and ``Grep``.
    """

    __slots__ = ()

    def reads(self, folder: str) -> tuple[str, ...] | None:
        """Return the paths that the call reads; for a search, the file or folder that it goes through.

        ``folder`` is the session's, ``context.cwd``. Paths are absolute, without ``.``, ``..`` and ``~``, as Claude
        Code makes them (:func:`hookrouter.util.client_paths.client_path`). Symbolic links are not followed: that does
        ``os.path.realpath``. None if it is not known what is read, because a path is missing or no text: a guard
        refuses that.
        """
        return self._paths(folder, writes=False)

    def writes(self, folder: str) -> tuple[str, ...] | None:
        """Return the paths that the call writes, as :meth:`reads` does."""
        return self._paths(folder, writes=True)

    def _paths(self, folder: str, *, writes: bool) -> tuple[str, ...] | None:
        from hookrouter.util.client_paths import paths_of

        return paths_of(self.TOOL, self._raw if isinstance(self._raw, dict) else {}, folder, writes=writes)


class ToolResponse(Record):
    """What a tool returned. A required field that is missing, or of another type, reads as an empty value."""

    __slots__ = ()

    TOOL: ClassVar[str] = ""
    """The tool."""

    @property
    def raw(self) -> Any:
        """What the tool returned, as parsed from JSON: an object of these fields, or anything else."""
        return self._raw


def replace(record: _R, **changes: object) -> _R:
    """Return a copy of ``record`` with other values for some fields. Raises TypeError for a name that is no field."""
    values = {name: getattr(record, name) for name in type(record).FIELDS}
    make: Any = type(record)
    made: _R = make(**{**values, **changes})
    return made


def _changed(record: ToolInput, changes: Mapping[str, object]) -> dict[str, Any]:
    name, known = type(record).__name__, type(record).FIELDS
    if not isinstance(record._raw, dict):
        raise TypeError(f"{name} was made of {json_type(record._raw)}, so it has no fields to keep")
    made = dict(record._raw)
    for attribute, value in changes.items():
        field = known.get(attribute)
        if field is None:
            raise TypeError(f"{name} has no field {attribute!r}; it has {', '.join(known)}")
        plain = _plain(value)
        if value is None and not field.required:
            made.pop(field.wire, None)
        elif _conforms(field.kind, field.record, plain):
            made[field.wire] = plain
        else:
            raise TypeError(f"{name}.{attribute}: found {json_type(plain)}, allowed {field.allowed}")
    return made


def _values(record: Record) -> list[Any]:
    return [getattr(record, name) for name in type(record).FIELDS]


def _plain(value: object) -> object:
    """Return a field's value as JSON."""
    if isinstance(value, Record):
        return value.raw
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def check(record: type[Record], payload: object) -> tuple[list[str], list[str]]:
    """Compare parsed JSON with a record class; return errors and warnings.

    An error is a required field that is missing or of the wrong JSON type; a warning is an optional field of the wrong
    type, which then reads as missing. Each text names the field by its path, what was found and what is allowed.
    Unknown fields and new values of an enumeration are neither. Never raises for any parsed JSON.
    """
    errors: list[str] = []
    warnings: list[str] = []
    if any(field.wire == "" for field in record.FIELDS.values()):
        payload = {"": payload}
    if isinstance(payload, dict):
        _check_record(record, payload, "", errors, warnings)
    else:
        errors.append(f"{record.__name__}: found {json_type(payload)}, allowed object")
    return _limited(errors), _limited(warnings)


def _limited(faults: list[str]) -> list[str]:
    if len(faults) <= MAX_FAULTS:
        return faults
    return [*faults[:MAX_FAULTS], f"and {len(faults) - MAX_FAULTS} more"]


def _check_record(
    kind: type[Record], record: dict[str, object], path: str, errors: list[str], warnings: list[str]
) -> None:
    for known in kind.FIELDS.values():
        wire = known.wire
        if wire not in record:
            if known.required:
                errors.append(f"{path}{wire}: missing, allowed {known.allowed}")
            continue
        value = record[wire]
        if known.required or value is not None:
            faults = errors if known.required else warnings
            if not _is_kind(known.kind, value):
                faults.append(f"{path}{wire}: found {json_type(value)}, allowed {known.allowed}")
            elif known.record is not None or known.kind.startswith("array<"):
                _check_inside(known.kind, known.record, value, f"{path}{wire}", faults, warnings)


def _check_inside(
    kind: str, record: type[Record] | None, value: object, where: str, errors: list[str], warnings: list[str]
) -> None:
    """Check what an array or object holds."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if kind == "array<string>":
                if not isinstance(item, str):
                    errors.append(f"{where}[{index}]: found {json_type(item)}, allowed string")
            elif not (kind.startswith("array<any>") or (isinstance(item, str) and kind == "array<record|string>")):
                _check_nested(record, item, f"{where}[{index}]", errors, warnings)
    elif kind == "map<record>" and isinstance(value, dict):
        for key, item in value.items():
            _check_nested(record, item, f"{where}[{key!r}]", errors, warnings)
    elif value is not None:
        _check_nested(record, value, where, errors, warnings)


def _check_nested(
    record: type[Record] | None, item: object, where: str, errors: list[str], warnings: list[str]
) -> None:
    if not isinstance(item, dict):
        errors.append(f"{where}: found {json_type(item)}, allowed object")
    elif record is not None:
        _check_record(record, item, f"{where}.", errors, warnings)


def _is_kind(kind: str, value: object) -> bool:
    """Say whether the outer type of a value is right; what arrays and objects hold is not looked at."""
    if kind == "any":
        return True
    if kind == "string":
        return isinstance(value, str)
    if kind.endswith("|null"):
        return value is None or _is_kind(kind[:-5], value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.startswith("array"):
        return isinstance(value, list | tuple)
    return isinstance(value, dict)


def _conforms(kind: str, record: type[Record] | None, value: object) -> bool:
    """Say whether a value has the type of a field, required fields of nested records included."""
    if not _is_kind(kind, value):
        return False
    if value is None or (record is None and not kind.startswith("array<")):
        return True
    errors: list[str] = []
    _check_inside(kind, record, value, "", errors, [])
    return not errors
