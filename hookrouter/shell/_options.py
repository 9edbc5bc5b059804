"""The options of a row of the table of programs."""

from __future__ import annotations

from hookrouter.util.lazy_pattern import IGNORECASE, MULTILINE, LazyPattern

__all__ = ["COMMANDS_IN_SQL", "NAME_OF_FILE", "VERSION", "Options"]


_RUNS = frozenset(
    ["text", "doubt", "config", "name", "number", "code", "sql", "module", "replaced", "file", "pipe", "python"]
)
"""Kinds of values that must be known."""

NAME_OF_FILE = LazyPattern(r"[\w:.,/@=+-]*")
"""A file, a module or an address of one, and no text in a language."""
VERSION = LazyPattern(r"(?:c?python|pypy)?@?[0-9.]*t?")
"""A version of Python, and no program."""
COMMANDS_IN_SQL = LazyPattern(
    r"\\|\b(?:program|system|source|edit|load_extension|writefile)\b|"
    r"^[ \t]*\.(?!(?:tables|schema|headers?|mode|dump|indexes|databases)\b)",
    IGNORECASE | MULTILINE,
)
"""What of a text has a database's client, or server, run a command, or write a file: ``\\!``, ``system``, ``.shell``,
``edit('ls', 'sh')``."""


class Options:
    """The options of a row of the table."""

    def __init__(self, row: str) -> None:
        self.kinds: dict[str, str] = {}
        self.others = False
        self.digits = False
        self.bundled = False
        self.dashes = False
        for one in row.split():
            if one == "*":
                self.others = True
            elif one == "-N":
                self.digits = True
            elif one == "-LONG":
                self.dashes = True
            elif one == "+":
                self.bundled = True
            else:
                name, _, kind = one.partition("=")
                mark = "" if kind else name[-1:] if name[-1:] in ":?!" else ""
                self.kinds[name.rstrip(":?!")] = kind or mark
        self.runs = not _RUNS.isdisjoint(self.kinds.values())

    @classmethod
    def of(cls, row: str) -> Options:
        if row not in _OPTIONS:
            _OPTIONS[row] = cls(row)
        return _OPTIONS[row]

    def _is_long(self, word: str) -> bool:
        """Whether a word with any number of dashes is, or begins, one of the long options."""
        name = word.lstrip("-").partition("=")[0]
        return len(name) > 1 and any(one.startswith(f"--{name}") for one in self.kinds)

    def match(self, word: str) -> tuple[str, str | None] | None:
        """Return the kind of an option and the value in its word, if any; None for one that is not known.

        The kind of several letters in one word is that of the last, or of the first that is more than a flag.
        """
        if self.digits and word[1:].isdigit():
            return "", None
        if self.dashes and self._is_long(word):
            word = f"--{word.lstrip('-')}"
        if word.startswith("--") and word != "--":
            name, sign, value = word.partition("=")
            kind = self.kinds.get(name)
            if kind is None:
                # GNU programs take the beginning of a long option for the whole.
                meant = {self.kinds[one] for one in self.kinds if one.startswith(name)}
                if meant & _RUNS:
                    return "doubt", None
                return ("", None) if self.others else None
            return kind, value if sign else None
        if word in self.kinds:
            return self.kinds[word], None
        single, sign, value = word.partition("=")
        if sign and len(single) > 2 and single in self.kinds:
            return self.kinds[single], value
        attached = next(
            (one for one, kind in self.kinds.items() if len(one) > 2 and kind in _RUNS and word.startswith(one)), ""
        )
        if attached and not attached.startswith("--"):
            return self.kinds[attached], word[len(attached) :]
        for place, letter in enumerate(word[1:], 1):
            pair = "-" + word[place : place + 2]
            if len(pair) > 2 and self.kinds.get(pair) in _RUNS:
                # `zip -qTT`
                return "doubt", None
            kind = self.kinds.get("-" + letter)
            if kind is None:
                if not self.others:
                    return None
                continue
            if kind == "?":
                return "", None
            if kind:
                rest = word[place + 1 :]
                if rest.startswith("=") and kind in _RUNS:
                    # To most programs the sign is part of the value, to some it is not.
                    return "doubt", None
                return kind, rest.removeprefix("=") if rest else None
        return "", None


_OPTIONS: dict[str, Options] = {}
"""The rows that were needed."""
