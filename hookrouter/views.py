"""Views: JSON objects that read like the attrs classes of :mod:`hookrouter.events` and :mod:`hookrouter.tools`.

Hooks receive views because a view costs nothing to make: it looks at an attribute's place in the contract's tables when
the attribute is read. Neither attrs nor cattrs is imported for that. ``isinstance`` works, and :meth:`View.structured`
builds the real object; both import them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from hookrouter.payloads import as_object, conforms, fields_of

if TYPE_CHECKING:
    from typing import Literal, NoReturn

    from hookrouter.tools import AskUserQuestionInput, AskUserQuestionOutput

__all__ = ["View", "record_name", "tool_view", "view"]


class View:
    """A JSON object, read through the record ``type_name`` of the contract.

    An attribute that the object lacks, or that is not of the type that the contract gives it, reads as the attribute's
    default, which is None for most, and an empty value for what a tool's response should have. Arrays of records read
    as tuples of views. Attributes cannot be set.
    """

    __slots__ = ("_raw", "_structured", "_type_name", "_values")

    def __init__(self, type_name: str, raw: object) -> None:
        """Read ``raw``, parsed JSON of any shape, as ``type_name``, a record of the contract; KeyError for others."""
        fields_of(type_name)
        self._begin(type_name, raw)

    def _begin(self, type_name: str, raw: object) -> None:
        put = object.__setattr__
        put(self, "_type_name", type_name)
        put(self, "_raw", raw)
        put(self, "_values", {})
        put(self, "_structured", None)

    @property
    def raw(self) -> Any:
        """The JSON object itself, with all its fields."""
        return self._raw

    def structured(self) -> Any:
        """Return the object of the attrs class, made by cattrs.

        Raises :class:`hookrouter.converter.PayloadError` where a required field is missing or of the wrong type.
        """
        if self._structured is None:
            from hookrouter.converter import structure

            object.__setattr__(self, "_structured", structure(self._type_name, self._raw))
        return self._structured

    def __getattr__(self, name: str) -> Any:
        """Read one field."""
        values = self._values
        if name in values:
            return values[name]
        try:
            wire, kind, required, nested, default = fields_of(self._type_name)[name]
        except KeyError:
            raise AttributeError(
                f"{self._type_name!r} has no attribute {name!r}; fields that the contract does not know are in .raw"
            ) from None
        raw = self._raw if wire else as_object(self._type_name, self._raw)
        value: Any = raw.get(wire) if isinstance(raw, dict) else None
        # What is wrong inside of a required record shows where it is read.
        if value is None or not conforms(kind, None if required and nested is not None else nested, value):
            value = default
        if value is not None and nested is not None:
            value = _nested(kind, nested, value)
        elif value is not None and kind.startswith("array"):
            value = tuple(value)
        values[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse."""
        raise AttributeError(
            f"{name!r} cannot be set: what hooks receive is read only; return a reply to change something"
        )

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse."""
        raise AttributeError(f"{name!r} cannot be deleted: what hooks receive is read only")

    def __eq__(self, other: object) -> bool:
        """Compare all known fields, with a view or with an object of the attrs class."""
        if self is other:
            return True
        if type(other) is View:
            return self._type_name == other._type_name and (self._raw == other._raw or _items(self) == _items(other))
        if type(other).__name__ != self._type_name or type(other) is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in fields_of(self._type_name))

    def __hash__(self) -> int:
        """Return the hash of the structured object, which an equal view shares."""
        return hash(self.structured())

    def __repr__(self) -> str:
        """Return what attrs' own repr shows."""
        given = ", ".join(f"{name}={value!r}" for name, value in _items(self))
        return f"{self._type_name}({given})"

    def __dir__(self) -> list[str]:
        """Name the fields."""
        return [*fields_of(self._type_name), "raw", "structured"]

    def __reduce__(self) -> tuple[type[View], tuple[str, object]]:
        """Copy and pickle as name and JSON."""
        return View, (self._type_name, self._raw)

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """The attrs class, so that ``isinstance`` and attrs' own functions take a view for an object of it."""
            from hookrouter.converter import record_class

            return record_class(self._type_name)


def _items(record: View) -> list[tuple[str, Any]]:
    return [(name, getattr(record, name)) for name in fields_of(record._type_name)]


def _nested(kind: str, nested: str, value: Any) -> Any:
    if kind.startswith("record"):
        return View(nested, value)
    if kind == "map<record>":
        return {key: View(nested, item) for key, item in value.items()}
    return tuple(item if isinstance(item, str) else View(nested, item) for item in value)


@overload
def view(type_name: Literal["AskUserQuestionInput"], raw: object) -> AskUserQuestionInput: ...


@overload
def view(type_name: Literal["AskUserQuestionOutput"], raw: object) -> AskUserQuestionOutput: ...


@overload
def view(type_name: str, raw: object) -> Any: ...


def view(type_name: str, raw: object) -> Any:
    """Return ``raw`` as a view that reads like ``type_name``, the name of an event or of a record of the contract.

    Check it first with :func:`hookrouter.payloads.check`. A name that the contract does not know gives a view of the
    fields that every event has.
    """
    try:
        return View(type_name, raw)
    except KeyError:
        return View("UnknownEvent", raw)


def tool_view(tool: str, part: str, raw: object) -> Any:
    """Return ``raw`` as a view of the ``Input`` or the ``Output`` (``part``) of a tool of the contract.

    What such a record holds is looked up when the first field is read: most hooks look at few calls that closely.
    """
    record = View.__new__(View)
    record._begin(record_name(tool, part), raw)
    return record


def record_name(tool: str, part: str) -> str:
    """Return the name of a tool's record: ``Bash``, ``Input`` -> ``BashInput``."""
    return "".join(word[:1].upper() + word[1:] for word in tool.split("_")) + part
