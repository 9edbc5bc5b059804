"""One text that is read: what was found in it, and what can be said of it without its tree.

Commands of each kind are read by functions that are given this, and go on through it to what stands inside them.
"""

from __future__ import annotations

import re

from hookrouter.shell._lists import NAME, split_words
from hookrouter.shell._settings import is_state
from hookrouter.shell._tests import arithmetic
from hookrouter.shell._variables import Variables
from hookrouter.shell._words import METACHARACTERS
from hookrouter.shell.commands import Doubt, Literal, Redirection, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from hookrouter.shell._words import Dialect
    from hookrouter.shell._work import Work
    from hookrouter.shell.commands import Expansion, RunBy

    By = tuple[RunBy, ...]

__all__ = ["BLANKS", "LINES", "SUBSTITUTIONS", "WORDS", "Line", "is_integer"]

LINES = LazyPattern(r"(?:[ \t\n]|(?<=[ \t\n])\\\n)*")
"""What may stand between two commands."""
BLANKS = LazyPattern(r"(?:[ \t]|(?<=[ \t\n])\\\n)*")
"""What may stand between two words."""
_INTEGER = LazyPattern(r"[+-]?[0-9]+", re.ASCII)

WORDS = split_words(
    "word number string raw_string ansi_c_string concatenation simple_expansion expansion command_substitution "
    "process_substitution arithmetic_expansion brace_expression extglob_pattern variable_name test_operator"
)
SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])


class Line:
    """A text, and what of it was found so far."""

    def __init__(self, text: str, dialect: Dialect, work: Work, by: By, holder: Word | None, depth: int) -> None:
        """``by`` is what runs the text, ``holder`` the word that it is in, if a command runs it."""
        self.text = text
        self.dialect = dialect
        self.work = work
        self.depth = depth
        self.commands: list[SimpleCommand] = []
        self.words: list[Word] = []
        self.redirections: list[Redirection] = []
        self.doubts: list[Doubt] = []
        self.by = by
        self.holder = holder
        self.variables = Variables()
        self.outside: dict[int, By] = {}
        """What runs the commands of a list but its last one, or a whole pipeline, by the node's id."""
        self.at = 0
        """Where the command begins that is read."""

    # What the tree's reader adds

    def is_statement(self, node: Node) -> bool:
        """Whether a node is a command of a kind that is known."""
        raise NotImplementedError

    def statement(self, node: Node, by: By, redirects: Sequence[Node | Word] = ()) -> None:
        """Read a command of any kind. ``redirects`` are those that stand behind it."""
        raise NotImplementedError

    def sequence(self, nodes: Sequence[Node], start: int, end: int, by: By) -> bool:
        """Read commands with what ends each; return whether the last one is ended before what follows."""
        raise NotImplementedError

    def unknown(self, node: Node, by: By, why: str = Why.SYNTAX) -> None:
        """Doubt a node, and list the commands in it."""
        raise NotImplementedError

    def descend(self, node: Node, by: By) -> None:
        """List the commands in a node."""
        raise NotImplementedError

    def scanned(self, at: int, by: By, *, is_pattern: bool = False) -> tuple[Word, int]:
        """Read the word that begins at an offset; return where it ends, too. Raises NotKnown."""
        raise NotImplementedError

    def word_or_none(self, node: Node, by: By, *, is_pattern: bool = False) -> list[Word]:
        """Return the word that a node is; if it is none, doubt it."""
        raise NotImplementedError

    def document(self, start: int, end: int, by: By) -> tuple[Literal | Expansion, ...]:
        """Read the text of a here-document, in which things are expanded. Raises NotKnown."""
        raise NotImplementedError

    def add(self, command: SimpleCommand) -> None:
        """Take a command, and what it runs."""
        raise NotImplementedError

    # What is known of the text

    def doubt(self, why: str, start: int, end: int) -> None:
        """Note why the reading is not certain."""
        start, end = self.place(min(start, end), max(start, end))
        self.doubts.append(Doubt(why, start, end))

    def doubt_word(self, why: str, word: Word) -> None:
        """The same, for a word."""
        self.doubts.append(Doubt(why, word.start, word.end))

    def assigned(self, name: str, value: str | bool = False) -> None:
        """Note that a variable gets a value: whether it is a number for certain, or the name of another variable."""
        if is_state(name):
            self.doubt(Why.VARIABLE, self.at, self.at)
        self.variables.assigned(name, value, self.at)

    def index(self, name: str, at: int) -> None:
        """Note that a variable is evaluated as a number."""
        self.variables.evaluated(name, at, at, at + len(name))

    def array(self, name: str) -> None:
        """Note that a variable may be an array."""
        self.variables.array(name)

    def compound(self, name: str, value: Word) -> None:
        """Note that a variable gets a value that, if it is an array, is read as that of one."""
        self.variables.compound(name, value.start, value.end)

    def let(self, text: str, word: Word) -> bool:
        """Take a word that is evaluated as arithmetic; return whether it is of a form that is known."""
        return self._evaluate(text, self.at, word.start, word.end)

    def is_number(self, word: Word) -> bool:
        """Whether a word is an integer for certain, as far as it is known yet: its variable is looked at in the end."""
        if len(word.parts) != 1:
            return False
        part = word.parts[0]
        if isinstance(part, Literal):
            return is_integer(part.text)
        if part.kind in ("number", "arithmetic"):
            return True
        name = part.text.strip("${}")
        if part.kind != "parameter" or not re.fullmatch(NAME, name):
            return False
        self.variables.evaluated(name, self.at, word.start, word.end)
        return True

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where something stands in the whole line: for a text that a command runs, where its word stands."""
        return (self.holder.start, self.holder.end) if self.holder else (start, end)

    def gap(self, start: int, end: int, pattern: re.Pattern[str] = BLANKS) -> bool:
        """Check that a gap between two nodes is empty to a shell; return whether it holds the end of a line."""
        if not pattern.fullmatch(self.text, start, end) or (
            self.text.endswith("\\\n", start, end) and self.text[end : end + 1] in ("#", "(", "<", ">")
        ):
            self.doubt(Why.SYNTAX, start, end)
        return "\n" in self.text[start:end].replace("\\\n", "")

    def start(self, node: Node) -> int:
        """Return where a node begins, without the blanks that the grammar puts before a substitution in a string."""
        at, end = node.start_byte, node.end_byte
        while at < end and self.text[at] in " \t\n":
            at += 1
        return at

    def is_word(self, keyword: Node) -> bool:
        """Whether a reserved word is a word of its own."""
        return self.text[keyword.end_byte : keyword.end_byte + 1] in ("", *METACHARACTERS)

    def check_arithmetic(self, start: int, end: int) -> None:
        """Check arithmetic: it may run what the values of its variables hold."""
        if not self._evaluate(self.text[start:end], start, start, end):
            self.doubt(Why.ARITHMETIC, start, end)

    def _evaluate(self, text: str, at: int, start: int, end: int) -> bool:
        found = arithmetic(text)
        for name, offset in found.evaluated:
            self.variables.evaluated(name, at + offset, start, end)
        for name, offset in found.assigned:
            if is_state(name):
                # PATH=1 is a folder.
                self.doubt(Why.VARIABLE, start, end)
            self.variables.assigned(name, True, at + offset)
        return found.known


def is_integer(text: str | None) -> bool:
    """Whether a text that is known is an integer."""
    return bool(_INTEGER.fullmatch(text or ""))
