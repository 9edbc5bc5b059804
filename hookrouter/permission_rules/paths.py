"""Whether a file is one of a rule's: ``/src/**`` of the project, ``~/notes/**``, ``//etc/**`` anywhere."""

from __future__ import annotations

import os

from hookrouter.permission_rules.rule import MAYBE, NO, YES, folded
from hookrouter.shell.commands import Literal
from hookrouter.util.glob import fits_glob, has_wildcard
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrouter.shell.commands import Word

__all__ = ["Named", "PathPattern", "Place", "named_by", "places"]

_HOME_NAMES = ("~", "$HOME", "${HOME}", '"$HOME"')
_KEEPS_FOLDER = {"number", "filename", "home"}
"""Expansions that put no ``..`` into a path."""


class Named(Value):
    """How a word of a command names a file."""

    path: str | None
    """The path, not resolved; None if it is not known."""
    prefix: str = ""
    """What one that is not known begins with, as it is written."""
    stays: bool = False
    """Whether whatever one that is not known becomes lies below its prefix."""
    like: str | None = None
    """One of the paths that it may be, if they differ in numbers alone."""


def named_by(word: Word, home: str) -> Named:
    """Return how a word names a file. ``home`` is the user's folder; empty if that, or ``$PWD``, is not known."""
    texts: list[str] = []
    prefix: str | None = None
    kinds = set()
    for at, part in enumerate(word.parts):
        if isinstance(part, Literal):
            texts.append(part.text)
        elif at == 0 and home and part.text in _HOME_NAMES:
            texts.append(home)
            if part.text != "~":
                kinds.add("home")
        elif at == 0 and home and part.text in ("~+", "$PWD", "${PWD}"):
            texts.append(".")
            if part.text != "~+":
                kinds.add("home")
        elif at == 0 and part.kind == "tilde" and os.path.isabs(folder := os.path.expanduser(part.text)):
            # Another user's, or to zsh that of a variable.
            texts.append(folder)
            kinds.add("home")
        else:
            prefix = "".join(texts) if prefix is None else prefix
            texts.append("0")
            kinds.add(part.kind)
    path = "".join(texts)
    if not kinds:
        return Named(path)
    # $HOME is what it is called: but who grants wants to be certain.
    prefix = path if prefix is None else prefix
    stays = kinds <= _KEEPS_FOLDER and ".." not in path
    return Named(None, prefix, stays, path if kinds == {"number"} and stays else None)


class Place(Value):
    """Where a path leads."""

    full: str
    """The path, absolute and without ``.`` and ``..``."""
    real: str | None
    """Behind links; None if the system will not say."""


def places(path: str, bases: Iterable[str]) -> list[Place]:
    """Return where a path leads from each of the folders that it may be meant from. Raises nothing."""
    found = []
    for base in bases:
        joined = os.path.join(base, path)
        full = os.path.normpath(joined)
        try:
            # The system goes up from where a link leads, not from the link.
            found.append(Place(full, os.path.realpath(joined)))
        except (OSError, ValueError):
            found.append(Place(full, None))
    return found


class PathPattern:
    """What stands in the brackets of a rule about files."""

    def __init__(self, specifier: str, folder: str, *, refuses: bool, folds: bool = False) -> None:
        """Read it.

        ``folder`` is the project's, below which patterns are that name no other. ``refuses`` is whether the rule
        refuses: it is then about a file by any of its paths, with ``folds`` in any spelling; one that grants is about
        it only by all of them.
        """
        if specifier.startswith("//"):
            pattern = specifier[1:]
        elif specifier.startswith("~/"):
            pattern = os.path.expanduser(specifier)
        else:
            pattern = os.path.join(folder, specifier.removeprefix("./").lstrip("/"))
        self._refuses, self._folds = refuses, refuses and folds
        self._is_known = os.path.isabs(pattern)
        self.text = pattern
        self._fixed = _fixed(pattern)
        self._parts = self._cased(pattern).split("/")

    def fit(self, found: Sequence[Place], *, with_folders: bool = False) -> int:
        """Return whether a path is one of the pattern's, by where it may lead, the likeliest last.

        ``with_folders``: what is done to a folder is done to all that is in it.
        """
        if not self._is_known or not found:
            return MAYBE if self._refuses else NO
        fits = [self._fit_place(place, with_folders) for place in found]
        if not self._refuses:
            return min(fits)
        # The last folder is where the line is, if all has gone well.
        return fits[-1] if fits[-1] == YES else min(max(fits), MAYBE)

    def fit_unknown(self, named: Named, bases: Iterable[str]) -> int:
        """Return whether a path that is not known may be one of the pattern's, going by what it begins with."""
        if not self._refuses:
            return NO
        fixed = self._cased(self._fixed)
        tail = named.prefix.rpartition("/")[2]
        for place in places(named.prefix[: len(named.prefix) - len(tail)], bases):
            for folder in {place.full, place.real or place.full}:
                known = self._cased(os.path.join(folder, tail))
                if known.startswith(fixed) or fixed.startswith(known):
                    return MAYBE
        return NO

    def _fit_place(self, place: Place, with_folders: bool) -> int:
        full, real = place.full, place.real
        if real is None:
            return MAYBE if self._refuses else NO
        if self._refuses:
            found = any(self._has(path) or (with_folders and self._is_within(path)) for path in {full, real})
        elif full == real:
            found = self._has(full)
        else:
            # A rule's own folder may be reached by a link, such as /tmp on macOS.
            moved = os.path.realpath(self._fixed) + self.text[len(self._fixed) :]
            found = _covers(moved.split("/"), real.split("/"))
        return YES if found else NO

    def _has(self, path: str) -> bool:
        return _covers(self._parts, self._cased(path).split("/"))

    def _is_within(self, folder: str) -> bool:
        return f"{self._cased(self._fixed)}/".startswith(f"{self._cased(folder).rstrip('/')}/")

    def _cased(self, text: str) -> str:
        return folded(text) if self._folds else text


def _fixed(pattern: str) -> str:
    """Return the folders of a pattern before the first that has a wildcard."""
    kept = []
    for part in pattern.split("/"):
        if has_wildcard(part):
            break
        kept.append(part)
    return "/".join(kept)


def _covers(wanted: list[str], parts: list[str]) -> bool:
    places = {0}
    for index, one in enumerate(wanted):
        if one == "**":
            least = 1 if index == len(wanted) - 1 else 0
            places = {further for place in places for further in range(place + least, len(parts) + 1)}
        else:
            places = {place + 1 for place in places if place < len(parts) and fits_glob(parts[place], one)}
    return len(parts) in places
