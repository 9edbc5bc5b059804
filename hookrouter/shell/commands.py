"""What a command line runs, as values: simple commands with their words, assignments and redirections.

The names are those of bash's manual. Nothing here reads anything: :mod:`hookrouter.shell.reader` makes these values.
"""

from __future__ import annotations

from hookrouter.util.glob import fits_glob, may_fit_glob
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal as OneOf

    ExpansionKind = OneOf[
        "brace", "tilde", "parameter", "number", "command substitution", "process substitution", "arithmetic",
        "filename", "input",
    ]  # fmt: skip
    RunByKind = OneOf[
        "pipeline", "background", "condition", "loop", "case", "function", "subshell", "group", "command substitution",
        "process substitution", "here-document", "program",
    ]  # fmt: skip
    Direction = OneOf["in", "out", "append", "in and out", "duplicate", "close", "here-document", "here-string"]

__all__ = [
    "Assignment",
    "Doubt",
    "Expansion",
    "Literal",
    "Reading",
    "Redirection",
    "RunBy",
    "SimpleCommand",
    "Why",
    "Word",
]


class Literal(Value):
    """A part of a word that is what it says, without its quotes."""

    text: str


class Expansion(Value):
    """A part of a word that the shell replaces by something that is not known before the line runs."""

    kind: ExpansionKind
    """Bash's name of the expansion. ``number`` is a parameter that is always a number, such as ``$?`` or ``${#x}``;
    ``input`` is what a program such as ``xargs`` adds to a command."""
    text: str
    """As it is written."""
    splits: bool = False
    """Whether it may become no word, or several."""


class Word(Value):
    """One word of a command."""

    text: str
    """As it is written, with its quotes."""
    parts: tuple[Literal | Expansion, ...]
    start: int
    """Where it begins in the line: an offset in characters. Of a word in a text that another command runs
    (``bash -c '…'``), where the word that holds that text begins."""
    end: int

    @property
    def value(self) -> str | None:
        """What the command is given; None if that is not known."""
        parts = [part.text for part in self.parts if isinstance(part, Literal)]
        return "".join(parts) if len(parts) == len(self.parts) else None

    @property
    def prefix(self) -> str:
        """What the word begins with for certain; empty if nothing is."""
        known = []
        for part in self.parts:
            if isinstance(part, Expansion):
                break
            known.append(part.text)
        return "".join(known)

    @property
    def suffix(self) -> str:
        """What the word ends with for certain, behind its last expansion; empty if nothing is."""
        last = self.parts[-1] if self.parts else None
        return last.text if isinstance(last, Literal) else ""

    @property
    def splits(self) -> bool:
        """Whether it may become no word, or several."""
        return any(isinstance(part, Expansion) and part.splits for part in self.parts)

    @property
    def is_any(self) -> bool:
        """Whether it may become words that do not begin and end as it does: more than the names of files do."""
        return any(isinstance(part, Expansion) and part.splits and part.kind != "filename" for part in self.parts)

    def may_be(self, pattern: str) -> bool:
        """Whether the word, or one that it becomes, may fit a pattern with ``*``, ``?`` and ``[…]``."""
        value = self.value
        if value is not None:
            return fits_glob(value, pattern)
        return self.is_any or may_fit_glob(pattern, self.prefix, self.suffix)


class Assignment(Value):
    """``NAME=VALUE``, before a command, alone, or behind ``export`` and its like."""

    name: str
    """The variable, without a subscript."""
    values: tuple[Word, ...]
    """One word, none for an empty value, or those of an array."""
    start: int
    end: int


class Redirection(Value):
    """Where a command reads from or writes to instead."""

    direction: Direction
    """``duplicate`` is a file descriptor that becomes another (``2>&1``); ``close`` closes one (``2>&-``)."""
    descriptor: int | None
    """The one that is redirected, if it is written; None for the operator's own, which is both 1 and 2 for ``&>``."""
    target: Word | None
    """The file, the descriptor, or the text of a here-document or here-string; None for ``close``."""
    start: int
    end: int


class RunBy(Value):
    """What a command stands in, or which program runs it."""

    kind: RunByKind
    name: str = ""
    """Of a program: its name, such as ``xargs`` or ``git``. Of a function: its own."""


class SimpleCommand(Value):
    """One simple command: assignments, redirections, and the words of what is run, of which the first is its name."""

    words: tuple[Word, ...]
    """Empty for a line that only assigns or redirects."""
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    run_by: tuple[RunBy, ...] = ()
    """From the outside in; empty for a command that the line itself runs."""
    start: int = 0
    end: int = 0
    bare: tuple[Word, ...] = ()
    """The words without the options that stand before a subcommand: of ``git -C dir push``, ``git push``. The same as
    ``words`` for programs without subcommands."""

    @property
    def name(self) -> str | None:
        """The name of the program, function or builtin; None if there is none, or it is not known."""
        return self.words[0].value if self.words else None

    def may_match(self, rule: str) -> bool:
        """Whether the command has, or may have, the words of a rule such as ``git push --force*``, in this order.

        The first is the program's name, without its folder. Other words may stand between them. A word that is not
        known before the line runs may be any.
        """
        wanted = rule.split()
        if not self.words or not wanted:
            return False
        name = self.name
        if name is not None and not fits_glob(name.rpartition("/")[2], wanted[0]):
            return False
        at = 1
        for pattern in wanted[1:]:
            while at < len(self.words) and not self.words[at].may_be(pattern):
                at += 1
            if at == len(self.words):
                return False
            # One that may become several may be the next, too.
            at += not self.words[at].splits
        return True


class Why:
    """Why a reading is not certain, in words that may follow "not certain: "."""

    SYNTAX = "a form that the reader does not know, or that the shell would not accept"
    CHARACTER = "a control character"
    SIZE = "too long, too deep, or too many commands"
    NAME = "the name of a command is not known before it runs"
    ARITHMETIC = "arithmetic with text that is not known to be a number, which may run commands"
    TEXT = "a command runs a text that is not known"
    INPUT = "a shell runs what it reads"
    OPTION = "an option that is not known, or a word that may be an option that runs something"
    FILE = "the shell reads commands from a file"
    WRITTEN = "a file is run that the same line may have written"
    STATE = "a command changes how the shell reads, or finds, what comes after it"
    VARIABLE = "a variable is set that changes what shells or programs run"
    CODE = "a program is given a text in its own language, which may run commands"


class Doubt(Value):
    """One reason why a reading is not certain."""

    why: str
    """One of the texts of :class:`Why`."""
    start: int
    """Where, as in :attr:`Word.start`."""
    end: int


class Reading(Value):
    """What a reader found in a command line."""

    text: str
    """The line."""
    commands: tuple[SimpleCommand, ...]
    """Every simple command that was seen, also those that others run; commands in a substitution come before the one
    that it is part of, those that a program runs behind the program's."""
    words: tuple[Word, ...] = ()
    """Words outside of simple commands: what a ``for`` goes through, what ``case`` and ``[[`` look at."""
    redirections: tuple[Redirection, ...] = ()
    """Those of compound commands (``done < file``); those of simple commands are in them."""
    doubts: tuple[Doubt, ...] = ()
    """Why it is not certain that these are all commands, and that their words are these."""

    @property
    def certain(self) -> bool:
        """Whether the line runs no command that is not in :attr:`commands`, whatever its variables and files hold.

        A refusing rule may also use the commands of a reading that is not certain; a granting one must not.
        """
        return not self.doubts
