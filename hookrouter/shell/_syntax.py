"""Reads the syntax of one text: which simple commands it has, by the tree of tree-sitter-bash.

The tree is not trusted. It says where commands, words and substitutions begin and end; each shape that it has is
compared with the text, and a shape, a gap or a word that is not one of those known here is a doubt. Commands below it
are still listed, for rules that refuse.
"""

from __future__ import annotations

import re
from contextlib import contextmanager

from hookrouter.shell._compound import COMPOUND
from hookrouter.shell._line import LINES, SUBSTITUTIONS, Line
from hookrouter.shell._running import run
from hookrouter.shell._simple import SIMPLE
from hookrouter.shell._words import METACHARACTERS, NotKnown, Scanner
from hookrouter.shell._work import Work
from hookrouter.shell.commands import Doubt, Expansion, Literal, RunBy, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from hookrouter.shell._words import Dialect
    from hookrouter.shell.commands import RunByKind

    By = tuple[RunBy, ...]

__all__ = ["LineReader"]

_CONTROL = LazyPattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_NOT_POSIX = ("[[", "((", "function", "select")
_TERMINATORS = frozenset([";", "&", "\n"])
_STATEMENTS = {**COMPOUND, **SIMPLE}
"""What reads each kind of command. A node of another kind is not known."""


class LineReader(Line):
    """Reads one text; what it finds is in its lists."""

    def __init__(
        self,
        text: str,
        dialect: Dialect,
        work: Work,
        by: By = (),
        holder: Word | None = None,
        depth: int = 0,
    ) -> None:
        super().__init__(text, dialect, work, by, holder, depth)
        self._has_error = False
        self._substitutions: dict[int, Node] = {}
        self._read: set[int] = set()
        """Where the substitutions begin that were read."""
        self._inner_by: By = ()
        """What the word stands in that is read."""

    def is_statement(self, node: Node) -> bool:
        """See Line."""
        return node.type in _STATEMENTS

    def read(self) -> None:
        """Read the whole text."""
        if len(self.text) > Work.LENGTH:
            self.doubt(Why.SIZE, 0, len(self.text))
            return
        control = _CONTROL.search(self.text)
        if control:
            self.doubt(Why.CHARACTER, control.start(), control.end())
            return
        # Each character as one byte, so that offsets are the same: to shells those above ASCII are letters.
        source = re.sub(r"[^\x00-\x7f]", "x", self.text).encode("ascii")
        root = self.work.parse(source)
        if root is None or not self._survey(root):
            self.doubt(Why.SIZE, 0, len(self.text))
            return
        self._has_error = root.has_error
        if root.has_error:
            self.doubt(Why.SYNTAX, root.start_byte, root.end_byte)
        self.sequence(root.children, 0, len(self.text), self.by)
        for start, end in self.variables.doubtful():
            self.doubt(Why.ARITHMETIC, start, end)

    def add(self, command: SimpleCommand) -> None:
        """Take a command, and what it runs."""
        self.work.commands -= 1
        if self.work.commands < 0:
            self.doubts.append(Doubt(Why.SIZE, command.start, command.end))
            return
        run(self, command)

    def read_text(self, text: str, holder: Word, by: By, dialect: Dialect) -> None:
        """Read a text that a command runs as a command line."""
        if self.depth >= Work.TEXTS:
            self.doubt_word(Why.SIZE, holder)
            return
        inner = LineReader(text, dialect, self.work, by, holder, self.depth + 1)
        inner.read()
        self.commands += inner.commands
        self.words += inner.words
        self.redirections += inner.redirections
        self.doubts += inner.doubts

    def substitution(self, at: int) -> int:
        """Read the substitution that begins there; return where it ends. Raises NotKnown if there is none."""
        node = self._substitutions.get(at)
        if node is None or node.type not in SUBSTITUTIONS:
            raise NotKnown(Why.SYNTAX, at)
        if at not in self._read:
            self._read.add(at)
            self._inside(node, self._inner_by or self.by)
        return node.end_byte

    def arithmetic(self, at: int) -> int:
        """Read ``$((…))``; return where it ends. Raises NotKnown if there is none."""
        node = self._substitutions.get(at)
        if node is None or node.type != "arithmetic_expansion" or not self.text.endswith("))", at, node.end_byte):
            raise NotKnown(Why.SYNTAX, at)
        self.check_arithmetic(at + 3, node.end_byte - 2)
        return node.end_byte

    def _survey(self, root: Node) -> bool:
        """Find the substitutions. Return False if there are too many nodes, or they are too deep."""
        cursor = root.walk()
        while True:
            self.work.nodes -= 1
            if self.work.nodes < 0:
                return False
            node = cursor.node
            if node is not None and (node.type in SUBSTITUTIONS or node.type == "arithmetic_expansion"):
                self._substitutions.setdefault(self.start(node), node)
            if node is not None and not node.is_named and not self._is_token(node):
                self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
            if cursor.goto_first_child():
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return True

    def _is_token(self, node: Node) -> bool:
        """Whether a sign is all of its token: the grammar makes a word before one part of it, as in ``-<<EOF``."""
        written, sign = self.text[node.start_byte : node.end_byte], node.type
        # `$$` is one to it, and blanks before a substitution in a string are.
        return written == sign or not written.removesuffix(sign).strip(" \t\n\\$")

    def unknown(self, node: Node, by: By, why: str = Why.SYNTAX) -> None:
        """Doubt a node, and list the commands in it."""
        self.doubt(why, node.start_byte, node.end_byte)
        self.descend(node, by)

    def descend(self, node: Node, by: By) -> None:
        with self._deeper(node) as is_allowed:
            for child in node.children if is_allowed else ():
                if child.type in _STATEMENTS:
                    self.statement(child, by)
                elif child.type in SUBSTITUTIONS:
                    if self.start(child) not in self._read:
                        self._read.add(self.start(child))
                        self._inside(child, by)
                elif child.child_count:
                    self.descend(child, by)

    @contextmanager
    def _deeper(self, node: Node) -> Iterator[bool]:
        """Go one level down, if that is allowed; else doubt the node."""
        self.work.depth += 1
        if self.work.depth > self.work.DEPTH:
            self.doubt(Why.SIZE, node.start_byte, node.end_byte)
        try:
            yield self.work.depth <= self.work.DEPTH
        finally:
            self.work.depth -= 1

    def sequence(self, nodes: Sequence[Node], start: int, end: int, by: By) -> bool:
        """Read commands with what ends each; return whether the last one is ended before what follows."""
        at, is_open = start, False
        for place, node in enumerate(nodes):
            kind = node.type
            ends_line = self.gap(at, node.start_byte, LINES)
            if kind == "comment":
                before = self.text[node.start_byte - 1] if node.start_byte else " "
                if before not in METACHARACTERS or "\n" in self.text[node.start_byte : node.end_byte]:
                    self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
                is_open = is_open and not ends_line
            elif kind in _TERMINATORS:
                # To zsh `&!` and `&|` are one operator.
                is_other = (
                    kind == "&" and self.dialect == "zsh" and self.text[node.end_byte : node.end_byte + 1] in ("!", "|")
                )
                if not is_open or is_other or (ends_line and kind != "\n"):
                    self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
                is_open = False
            elif kind in _STATEMENTS:
                if is_open and not ends_line:
                    self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
                if place + 1 < len(nodes) and nodes[place + 1].type == "&":
                    with self.variables.region():
                        self.statement(node, (*by, RunBy("background")))
                else:
                    self.statement(node, by)
                is_open = True
            else:
                self.unknown(node, by)
            at = node.end_byte
        return not self.gap(at, end, LINES) and is_open

    def statement(self, node: Node, by: By, redirects: Sequence[Node | Word] = ()) -> None:
        """Read a command of any kind. ``redirects`` are those that stand behind it."""
        if self.dialect == "sh" and self.text.startswith(_NOT_POSIX, node.start_byte):
            # To a POSIX shell `((` is two subshells, and the others are names of commands.
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        with self._deeper(node) as is_allowed:
            if not is_allowed:
                return
            try:
                _STATEMENTS[node.type](self, node, by, redirects)
            except IndexError:
                # In a tree with an error, any child may be missing.
                if not self._has_error:
                    raise
                self.unknown(node, by)

    def word_or_none(self, node: Node, by: By, *, is_pattern: bool = False) -> list[Word]:
        """Return the word that a node is; if it is none, doubt it."""
        try:
            word, end = self.scanned(node.start_byte, by, is_pattern=is_pattern)
            following = self.text[node.end_byte : node.end_byte + 1]
            if end == node.end_byte and following in ("", "`", *METACHARACTERS):
                return [word]
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        except NotKnown as unknown:
            self.doubt(unknown.why, node.start_byte, node.end_byte)
        self.descend(node, by)
        start, end = self.place(node.start_byte, node.end_byte)
        text = self.text[node.start_byte : node.end_byte]
        return [Word(text, (Expansion("parameter", text, splits=True),), start, end)]

    def scanned(self, at: int, by: By, *, is_pattern: bool = False) -> tuple[Word, int]:
        """Read the word that begins at an offset; return where it ends, too. Raises NotKnown."""
        outer, self._inner_by = self._inner_by, by
        try:
            parts, end = Scanner(self.text, self.dialect, self).word(at, is_pattern=is_pattern)
        finally:
            self._inner_by = outer
        if end == at:
            raise NotKnown(Why.SYNTAX, at)
        return Word(self.text[at:end], parts, *self.place(at, end)), end

    def document(self, start: int, end: int, by: By) -> tuple[Literal | Expansion, ...]:
        """Read the text of a here-document, in which things are expanded. Raises NotKnown."""
        outer, self._inner_by = self._inner_by, by
        try:
            return Scanner(self.text, self.dialect, self).document(start, end)
        finally:
            self._inner_by = outer

    def _inside(self, node: Node, by: By) -> None:
        """Read the commands of a substitution."""
        at, text = self.start(node), self.text
        kind: RunByKind = "process substitution" if node.type == "process_substitution" else "command substitution"
        by = (*by, RunBy(kind))
        children = node.children
        opening = children[0]
        if text.startswith("`", at):
            end = text.find("`", at + 1)
            if end + 1 != node.end_byte or "\\" in text[at:end]:
                self.unknown(node, by)
                return
        elif len(children) < 3 or children[-1].type != ")" or not text.startswith(("$(", "<(", ">("), at):
            self.unknown(node, by)
            return
        with self.variables.region():
            self.sequence(children[1:-1], opening.end_byte, children[-1].start_byte, by)
