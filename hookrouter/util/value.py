"""Small immutable records that every hook run builds, and their JSON form, without the cost of attrs or ``typing``.

::

    class Agent(Value):
        '''One entry.'''

        id: str
        sessions: tuple[str, ...] = ()

A class lists its fields as annotations, with defaults if it has them; :class:`Value` makes the rest, and type
checkers read it as they read a frozen dataclass. :func:`encode` and :func:`decode` write a value as JSON and read it
again, checked against the annotations.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn, Self, TypeVar, dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_options):
        return lambda kind: kind


__all__ = ["NO_ITEMS", "Value", "decode", "encode"]

NO_ITEMS: Mapping[str, Any] = {}
"""The default of a field that holds a table. Nobody may add to it."""


@dataclass_transform(frozen_default=True)
class Value:
    """An immutable record: equal by its fields, hashable if they are, with a repr that shows them.

    A subclass with ``kw_only=True`` among its bases takes its fields by name alone. One with an ``__init__`` of its own
    sets its fields with :meth:`_set`.
    """

    __slots__ = ()

    _fields: tuple[str, ...] = ()
    _positional: tuple[str, ...] = ()
    _known: frozenset[str] = frozenset()
    _required: frozenset[str] = frozenset()

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        """Take the fields from the annotations; those of base classes come first."""
        super().__init_subclass__()
        own = vars(cls)
        names = own.get("__slots__")
        if names is None:
            names = [name for name in own.get("__annotations__") or cls.__annotations__ if not name.startswith("_")]
        added = tuple(name for name in names if name not in cls._fields)
        cls._required = cls._required.union(added).difference(own)
        cls._fields = (*cls._fields, *added)
        cls._known = frozenset(cls._fields)
        if not kw_only:
            cls._positional = (*cls._positional, *added)
        cls.__match_args__ = cls._positional  # type: ignore[attr-defined,misc] # what match statements read

    def __init__(self, *values: Any, **named: Any) -> None:
        """Take the fields as they are, in order or by name. Raises TypeError for one too many, too few, or twice."""
        fields = self.__dict__
        if values:
            if len(values) > len(self._positional):
                raise TypeError(f"{type(self).__name__} takes {len(self._positional)} values, and got {len(values)}")
            fields.update(zip(self._positional, values))  # noqa: B905 - strict= is slower, and the length is checked
        # Sets, not loops: every hook run makes a hundred values, most of them by name.
        if not self._known.issuperset(named) or not fields.keys().isdisjoint(named):
            name = next(name for name in named if name in fields or name not in self._known)
            why = "got twice the value of" if name in fields else "has no field"
            raise TypeError(f"{type(self).__name__} {why} {name!r}")
        fields.update(named)
        if not self._required.issubset(fields):
            name = next(name for name in self._fields if name in self._required and name not in fields)
            raise TypeError(f"{type(self).__name__} needs a value of {name!r}")

    def _set(self, **fields: object) -> None:
        """Set the fields; for ``__init__`` and other constructors alone."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: values do not change."""
        raise AttributeError(f"{type(self).__name__} is immutable; {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: values do not change."""
        raise AttributeError(f"{type(self).__name__} is immutable; {name!r} cannot be deleted")

    def _items(self) -> list[tuple[str, object]]:
        """Return the fields in order of their declaration, base classes first."""
        return [(name, getattr(self, name)) for name in self._fields]

    def _with(self, **changes: object) -> Self:
        """Return a value of the same class with some fields changed."""
        return type(self)(**{**dict(self._items()), **changes})

    def __eq__(self, other: object) -> bool:
        """Compare by class and fields."""
        if type(other) is not type(self) or not isinstance(other, Value):
            return NotImplemented
        return self._items() == other._items()

    def __hash__(self) -> int:
        """Hash by class and fields. Raises TypeError if a field cannot be hashed."""
        return hash((type(self), *self._items()))

    def __repr__(self) -> str:
        """Show the class and all fields."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._items())})"

    def __copy__(self) -> Self:
        """Return itself: a value needs no copy."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        """Return itself: a value needs no copy."""
        return self


def encode(value: object, *, sparse: bool = False) -> Any:
    """Return a value, or anything that JSON has and holds values, as JSON: a value is an object with its fields.

    ``sparse`` leaves out the fields that have their defaults, which :func:`decode` fills in again.
    """
    if isinstance(value, Value):
        fields, defaults = value._items(), type(value)
        if sparse:
            fields = [(name, item) for name, item in fields if item != getattr(defaults, name, _NO_DEFAULT)]
        return {name: encode(item, sparse=sparse) for name, item in fields}
    if isinstance(value, dict):
        return {name: encode(item, sparse=sparse) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item, sparse=sparse) for item in value]
    return value


_NO_DEFAULT = object()


def decode(kind: type[V], document: object) -> V:
    """Return the value that :func:`encode` wrote. Raises TypeError for all that it never writes.

    Fields that are missing have their defaults. Understood are the annotations ``str``, ``bool``, ``int``, ``float``,
    ``object``, ``None``, a class of values, and ``X | Y``, ``tuple[X, ...]``, ``tuple[X, Y]``, ``Mapping[str, X]`` and
    ``dict[str, X]`` of them; ``Annotated[X, ...]`` is X. A list is read as the fields in their order.
    """
    readers = _READERS_OF.get(kind)
    if readers is None:
        readers = _READERS_OF[kind] = _Readers(kind)
    if isinstance(document, list):
        document = dict(zip(kind._fields, document, strict=False)) if len(document) <= len(kind._fields) else None
    if not isinstance(document, dict):
        raise TypeError(f"found {type(document).__name__} for a {kind.__name__}")
    if kind.__init__ is not Value.__init__:
        return kind(**{name: readers[name](item) for name, item in document.items()})
    # As __init__ does, without another look at the names: the readers know them. Each hook run may read hundreds.
    made = kind.__new__(kind)
    fields = made.__dict__
    for name, item in document.items():
        fields[name] = readers[name](item)
    if not kind._required.issubset(fields):
        missing = next(name for name in kind._fields if name in kind._required and name not in fields)
        raise TypeError(f"{kind.__name__} needs a value of {missing!r}")
    return made


class _Readers(dict[str, "Callable[[object], object]"]):
    """What reads each field of a class. Made for a field when it is first met: many documents hold few of them."""

    def __init__(self, kind: type[Value]) -> None:
        self._kind = kind

    def __missing__(self, name: str) -> Callable[[object], object]:
        for base in self._kind.__mro__ if name in self._kind._fields else ():
            if base not in (object, Value) and name in base.__annotations__:
                self[name] = _reader(base.__annotations__[name], vars(sys.modules[base.__module__]))
                return self[name]
        raise TypeError(f"{self._kind.__name__} has no field {name!r}")


_READERS_OF: dict[type[Value], _Readers] = {}


def _reader(annotation: str, names: Mapping[str, Any]) -> Callable[[object], object]:
    """Return what reads a JSON value as an annotation says. Raises TypeError for one that is not understood."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation in _PLAIN_ROWS:
        return _PLAIN_ROWS[annotation]
    if annotation.startswith("Annotated["):
        # The rest may be anything, brackets in texts among it.
        return _reader(_first(annotation[10:]), names)
    arms = _split(annotation, "|")
    if len(arms) > 1:
        return _either([_reader(arm, names) for arm in arms])
    outer, _, inner = annotation.partition("[")
    items = _split(inner.removesuffix("]"), ",") if inner else []
    if outer == "tuple" and len(items) == 2 and items[1] == "...":
        return _row(_reader(items[0], names))
    if outer == "tuple" and items:
        return _fixed_row([_reader(item, names) for item in items])
    if outer in ("Mapping", "dict") and len(items) == 2 and items[0] == "str":
        return _table(_reader(items[1], names))
    kind = names.get(annotation)
    if not isinstance(kind, type) or not issubclass(kind, Value):
        raise TypeError(f"no JSON is read as {annotation}")
    return lambda document: decode(kind, document)


def _split(text: str, separator: str) -> list[str]:
    """Split an annotation where it is outside all brackets."""
    if separator not in text:
        return [text]
    if "[" not in text:
        return [part.strip() for part in text.split(separator)]
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == separator and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _first(items: str) -> str:
    """Return the first of several arguments of an annotation."""
    end = items.find(",")
    while items.count("[", 0, end) != items.count("]", 0, end):
        end = items.find(",", end + 1)
    return items[:end]


def _either(readers: Sequence[Callable[[object], object]]) -> Callable[[object], object]:
    def read(document: object) -> object:
        for reader in readers:
            try:
                return reader(document)
            except TypeError:
                continue
        raise TypeError(f"found {document!r}")

    return read


def _row(item: Callable[[object], object]) -> Callable[[object], object]:
    return lambda document: tuple(map(item, _checked(document, list)))


def _plain_row(kind: type) -> Callable[[object], object]:
    kinds = {kind}

    def read(document: object) -> object:
        row = _checked(document, list)
        # Most of what every hook run reads: looked at without a call for each item.
        return tuple(row) if kinds.issuperset(map(type, row)) else tuple([_checked(item, kind) for item in row])

    return read


def _fixed_row(items: Sequence[Callable[[object], object]]) -> Callable[[object], object]:
    length = len(items)

    def read(document: object) -> object:
        row = _checked(document, list)
        if len(row) != length:
            raise TypeError(f"found {len(row)} items for {length}")
        return tuple([reader(item) for reader, item in zip(items, row, strict=True)])

    return read


def _table(item: Callable[[object], object]) -> Callable[[object], object]:
    return lambda document: {name: item(value) for name, value in _checked(document, dict).items()}


def _checked(document: object, kind: type) -> Any:
    if type(document) is kind:
        return document
    if not isinstance(document, kind) or (isinstance(document, bool) and kind is not bool):
        raise TypeError(f"found {document!r} for a {kind.__name__}")
    return document


def _number(document: object) -> float:
    if isinstance(document, bool) or not isinstance(document, (int, float)):
        raise TypeError(f"found {document!r} for a number")
    return float(document)


_PLAIN: dict[str, Callable[[object], object]] = {
    "str": lambda document: document if type(document) is str else _checked(document, str),
    "bool": lambda document: _checked(document, bool),
    "int": lambda document: _checked(document, int),
    "float": _number,
    "None": lambda document: _checked(document, type(None)),
    "object": lambda document: document,
    "Any": lambda document: document,
}
_PLAIN_ROWS = {f"tuple[{kind.__name__}, ...]": _plain_row(kind) for kind in (str, bool, int)}
