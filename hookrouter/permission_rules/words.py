"""Whether the words of a command are those of a rule: ``git push:*``, ``npm run *``, ``git * main``.

``*`` alone stands for words (one or more; none or more at the end), within a word for letters. A word that is not known
before the line runs is for certain only what ``*`` stands for, and may be whatever its known parts allow.
"""

from __future__ import annotations

import os

from hookrouter.permission_rules.rule import MAYBE, NO, YES, folded
from hookrouter.util.glob import fits_glob, has_wildcard, may_fit_glob
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hookrouter.shell.commands import SimpleCommand, Word

__all__ = ["CommandPattern", "Shape", "Shaped", "fit_words"]

_ANY = "*"


class Shape(Value):
    """What is known of one word."""

    value: str | None
    """The word; None if it is not known."""
    prefix: str = ""
    """What it begins with for certain."""
    suffix: str = ""
    """What it ends with for certain."""
    splits: bool = False
    """Whether it may become no word, or several."""
    is_any: bool = False
    """Whether these may begin and end otherwise."""

    def map(self, change: Callable[[str], str]) -> Shape:
        """Return the shape with its texts changed."""
        value = None if self.value is None else change(self.value)
        return Shape(value, change(self.prefix), change(self.suffix), self.splits, self.is_any)


class Shaped:
    """What is known of a command's words, in the forms in which rules may name it."""

    __slots__ = ("all", "names", "written")

    def __init__(self, command: SimpleCommand) -> None:
        """Look at a command."""
        self.written = [_shapes_of(command.words)]
        """As it is written, and without options before a subcommand."""
        if command.bare != command.words:
            self.written.append(_shapes_of(command.bare))
        self.all = [form for shapes in self.written for form in _with_base(shapes)]
        """With the program's name without its folder, too."""
        firsts = [form[0].value for form in self.all if form]
        self.names = None if None in firsts else frozenset(one for one in firsts if one is not None)
        """What the program may be called; None if that is not known."""


def _with_base(shapes: tuple[Shape, ...]) -> Iterator[tuple[Shape, ...]]:
    yield shapes
    if shapes and "/" in f"{shapes[0].value or ''}{shapes[0].prefix}":
        first = shapes[0]
        base = Shape(os.path.basename(first.value)) if first.value is not None else first._with(prefix="")
        yield base, *shapes[1:]


def _shapes_of(words: Iterable[Word]) -> tuple[Shape, ...]:
    found = []
    for word in words:
        value = word.value
        found.append(
            Shape(value) if value is not None else Shape(None, word.prefix, word.suffix, word.splits, word.is_any)
        )
    return tuple(found)


class CommandPattern:
    """What stands in the brackets of a rule about commands."""

    def __init__(self, specifier: str, *, refuses: bool = False, folds: bool = False) -> None:
        """Read it.

        ``refuses`` is whether the rule refuses: it is then also about the program by its path, and, where file names
        take no account of case (``folds``), by any spelling.
        """
        wanted = specifier.removesuffix(":*").split()
        if specifier.endswith(":*"):
            wanted.append(_ANY)
        self._folds = folds and refuses
        self._refuses = refuses
        self.wanted = tuple(folded(one) for one in wanted) if self._folds else tuple(wanted)

    def fit(self, command: Shaped) -> int:
        """Return whether a command is one of the pattern's, with or without options before a subcommand."""
        if self._folds:
            return max(fit_words(self.wanted, tuple(shape.map(folded) for shape in shapes)) for shapes in command.all)
        return max(fit_words(self.wanted, shapes) for shapes in (command.all if self._refuses else command.written))


def fit_words(wanted: Sequence[str], words: Sequence[Shape]) -> int:
    """Return whether words are those of a pattern. Takes time in proportion to the product of both."""
    if not _reaches(wanted, words, surely=False):
        return NO
    return YES if _reaches(wanted, words, surely=True) else MAYBE


def _reaches(wanted: Sequence[str], words: Sequence[Shape], *, surely: bool) -> bool:
    # The places that a prefix of the pattern may reach: a set, so that no pattern takes exponential time. A word that
    # splits may be passed, and stayed at, by whoever asks what may be.
    splitting = frozenset() if surely else frozenset(at for at, word in enumerate(words) if word.splits)
    places = _closed({0}, splitting)
    for index, one in enumerate(wanted):
        if not places:
            return False
        if one == _ANY:
            start = min(places)
            least = start
            if index < len(wanted) - 1:
                # At least one word that is there for certain; or a splitting one, for what may be.
                while surely and least < len(words) and words[least].splits:
                    least += 1
                least += 1
            places = set(range(least, len(words) + 1)) | {place for place in splitting if place >= start}
        else:
            fits = {
                at
                for at in places
                if at < len(words) and (_is(words[at], one) if surely else _may_be(words[at], one, begins=index == 0))
            }
            places = {at + 1 for at in fits} | (fits & splitting)
        places = _closed(places, splitting)
    return len(words) in places


def _closed(places: set[int], splitting: frozenset[int]) -> set[int]:
    """Add the places behind words that may be none."""
    for at in sorted(splitting):
        if at in places:
            places.add(at + 1)
    return places


def _is(word: Shape, wanted: str) -> bool:
    if word.value is not None:
        return fits_glob(word.value, wanted)
    fixed = wanted[:-1]
    return not word.splits and wanted.endswith(_ANY) and not has_wildcard(fixed) and word.prefix.startswith(fixed)


def _may_be(word: Shape, wanted: str, *, begins: bool) -> bool:
    if word.value is not None:
        return fits_glob(word.value, wanted)
    if word.is_any:
        # Whatever it becomes, the first word begins as it does.
        return not begins or may_fit_glob(wanted, word.prefix)
    return may_fit_glob(wanted, word.prefix, word.suffix)
