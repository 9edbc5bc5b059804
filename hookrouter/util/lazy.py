"""What is made when it is first used: names of a package, attributes of an object."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from functools import cached_property as cached_property
    from typing import Any
else:

    class cached_property:  # noqa: N801 - in the place of another
        """An attribute that a method makes: ``functools.cached_property``, without what importing functools costs."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            """Take the method."""
            self.func = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Take the attribute's name."""
            self._name = name

        def __get__(self, owner: Any, kind: type) -> Any:
            """Make the attribute of an object, which keeps it; of the class, the property itself."""
            if owner is None:
                return self
            value = vars(owner)[self._name] = self.func(owner)
            return value


__all__ = ["cached_property", "lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package; ``homes`` is module -> the names that it has, with spaces between.

    For type checkers, the package imports the same names under ``TYPE_CHECKING``.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        if name == "__all__":
            return [*modules]
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(__import__(modules[name], fromlist=[name]), name)

    return find
