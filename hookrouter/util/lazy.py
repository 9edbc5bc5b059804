"""Packages whose names are imported when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy_names"]


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
