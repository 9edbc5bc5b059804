"""The base of the small immutable records that every hook run builds, without the cost of importing ``typing``."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["Value"]


class Value:
    """An immutable record: equal by its fields, hashable where they are, with a repr that shows them."""

    __slots__: tuple[str, ...] = ()

    def _set(self, **fields: object) -> None:
        """Set the fields; for ``__init__`` alone."""
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
        bases = reversed(type(self).__mro__)
        return [(name, getattr(self, name)) for base in bases for name in vars(base).get("__slots__", ())]

    def __eq__(self, other: object) -> bool:
        """Compare by class and fields."""
        if type(other) is not type(self) or not isinstance(other, Value):
            return NotImplemented
        return self._items() == other._items()

    def __hash__(self) -> int:
        """Hash by class and fields. Raises TypeError where a field cannot be hashed."""
        return hash((type(self), *self._items()))

    def __repr__(self) -> str:
        """Show the class and all fields."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._items())})"

    def __copy__(self) -> Value:
        """Return itself: a value needs no copy."""
        return self

    def __deepcopy__(self, _memo: object) -> Value:
        """Return itself: a value needs no copy."""
        return self
