"""Reads the syntax of one text: which simple commands it has, by the tree of tree-sitter-bash.

The tree is not trusted. It says where commands, words and substitutions begin and end; each shape that it has is
compared with the text, and a shape, a gap or a word that is not one of those known here is a doubt. Commands below it
are still listed, for rules that refuse.
"""

from __future__ import annotations

import re
from contextlib import contextmanager

from hookrouter.shell._lists import NAME, RESERVED, split_words
from hookrouter.shell._running import is_state, run
from hookrouter.shell._tests import arithmetic, test_doubts
from hookrouter.shell._variables import Variables
from hookrouter.shell._words import METACHARACTERS, NotKnown, Scanner
from hookrouter.shell._work import Work
from hookrouter.shell.commands import (
    Assignment,
    Doubt,
    Expansion,
    Literal,
    Redirection,
    RunBy,
    SimpleCommand,
    Why,
    Word,
)
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from hookrouter.shell._words import Dialect
    from hookrouter.shell.commands import Direction, RunByKind

    By = tuple[RunBy, ...]

__all__ = ["LineReader"]

_LINES = LazyPattern(r"(?:[ \t\n]|(?<=[ \t\n])\\\n)*")
_BLANKS = LazyPattern(r"(?:[ \t]|(?<=[ \t\n])\\\n)*")
_DASH = LazyPattern(r"[ \t]+(-)[ \t]*")
_CONTROL = LazyPattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_ASSIGNMENT = LazyPattern(rf"(?P<name>{NAME})(?:\[(?:[@*]|-?\d+|\$?(?P<index>{NAME}))\])?\+?=", re.ASCII)
_LOOKS_ASSIGNED = LazyPattern(r"\w+(?:\[.*\])?\+?=", re.DOTALL)
_DELIMITER = LazyPattern(r"(?P<quote>['\"]?)(?P<name>[A-Za-z0-9_]+)(?P=quote)", re.ASCII)
_INTEGER = LazyPattern(r"[+-]?[0-9]+", re.ASCII)
_INTEGER_RANGE = LazyPattern(r"\{-?[0-9]+\.\.-?[0-9]+(?:\.\.-?[0-9]+)?\}", re.ASCII)
_FUNCTION = LazyPattern(r"[A-Za-z_][A-Za-z0-9_.:-]*", re.ASCII)

_WORDS = split_words(
    "word number string raw_string ansi_c_string concatenation simple_expansion expansion command_substitution "
    "process_substitution arithmetic_expansion brace_expression extglob_pattern variable_name test_operator"
)
_SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])
_DIRECTIONS: dict[str, Direction] = {
    "<": "in",
    ">": "out",
    ">|": "out",
    "&>": "out",
    ">>": "append",
    "&>>": "append",
    "<&": "duplicate",
    ">&": "duplicate",
    "<&-": "close",
    ">&-": "close",
}
_NOT_POSIX = ("[[", "((", "function", "select")
_TERMINATORS = frozenset([";", "&", "\n"])


class LineReader:
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
        self.text = text
        self.dialect = dialect
        self.work = work
        self.depth = depth
        self.commands: list[SimpleCommand] = []
        self.words: list[Word] = []
        self.redirections: list[Redirection] = []
        self.doubts: list[Doubt] = []
        self._by = by
        self._holder = holder
        """The word that this text is in, for a text that a command runs."""
        self._substitutions: dict[int, Node] = {}
        self._read: set[int] = set()
        """Where the substitutions begin that were read."""
        self._variables = Variables()
        self._outside: dict[int, By] = {}
        """What runs the commands of a list but its last one, or a whole pipeline, by the node's id."""
        self._at = 0
        """Where the command begins that is read."""

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
        self._sequence(root.children, 0, len(self.text), self._by)
        for start, end in self._variables.doubtful():
            self.doubt(Why.ARITHMETIC, start, end)

    # What running.py needs

    def doubt(self, why: str, start: int, end: int) -> None:
        """Note why the reading is not certain."""
        start, end = self._place(min(start, end), max(start, end))
        self.doubts.append(Doubt(why, start, end))

    def doubt_word(self, why: str, word: Word) -> None:
        """The same, for a word."""
        self.doubts.append(Doubt(why, word.start, word.end))

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

    def assigned(self, name: str, value: str | bool = False) -> None:
        """Note that a variable gets a value: whether it is a number for certain, or the name of another variable."""
        if is_state(name):
            self.doubt(Why.VARIABLE, self._at, self._at)
        self._variables.assigned(name, value, self._at)

    def index(self, name: str, at: int) -> None:
        """Note that a variable is evaluated as a number."""
        self._variables.evaluated(name, at, at, at + len(name))

    def array(self, name: str) -> None:
        """Note that a variable may be an array."""
        self._variables.array(name)

    def compound(self, name: str, value: Word) -> None:
        """Note that a variable gets a value that, if it is an array, is read as that of one."""
        self._variables.compound(name, value.start, value.end)

    def let(self, text: str, word: Word) -> bool:
        """Take a word that is evaluated as arithmetic; return whether it is of a form that is known."""
        return self._evaluate(text, self._at, word.start, word.end)

    def is_number(self, word: Word) -> bool:
        """Whether a word is an integer for certain, as far as it is known yet: its variable is looked at in the end."""
        if len(word.parts) != 1:
            return False
        part = word.parts[0]
        if isinstance(part, Literal):
            return bool(_INTEGER.fullmatch(part.text))
        if part.kind in ("number", "arithmetic"):
            return True
        name = part.text.strip("${}")
        if part.kind != "parameter" or not re.fullmatch(NAME, name):
            return False
        self._variables.evaluated(name, self._at, word.start, word.end)
        return True

    # Nested readers of words

    def substitution(self, at: int) -> int:
        """Read the substitution that begins there; return where it ends. Raises NotKnown if there is none."""
        node = self._substitutions.get(at)
        if node is None or node.type not in _SUBSTITUTIONS:
            raise NotKnown(Why.SYNTAX, at)
        if at not in self._read:
            self._read.add(at)
            self._inside(node)
        return node.end_byte

    def arithmetic(self, at: int) -> int:
        """Read ``$((…))``; return where it ends. Raises NotKnown if there is none."""
        node = self._substitutions.get(at)
        if node is None or node.type != "arithmetic_expansion" or not self.text.endswith("))", at, node.end_byte):
            raise NotKnown(Why.SYNTAX, at)
        self._arithmetic(at + 3, node.end_byte - 2)
        return node.end_byte

    # The tree

    def _survey(self, root: Node) -> bool:
        """Find the substitutions. Return False if there are too many nodes, or they are too deep."""
        cursor = root.walk()
        while True:
            self.work.nodes -= 1
            if self.work.nodes < 0:
                return False
            node = cursor.node
            if node is not None and (node.type in _SUBSTITUTIONS or node.type == "arithmetic_expansion"):
                self._substitutions.setdefault(self._start(node), node)
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

    def _start(self, node: Node) -> int:
        """Return where a node begins, without the blanks that the grammar puts before a substitution in a string."""
        at, end = node.start_byte, node.end_byte
        while at < end and self.text[at] in " \t\n":
            at += 1
        return at

    def _place(self, start: int, end: int) -> tuple[int, int]:
        return (self._holder.start, self._holder.end) if self._holder else (start, end)

    def _unknown(self, node: Node, by: By, why: str = Why.SYNTAX) -> None:
        """Doubt a node, and list the commands in it."""
        self.doubt(why, node.start_byte, node.end_byte)
        self._descend(node, by)

    def _descend(self, node: Node, by: By) -> None:
        with self._deeper(node) as is_allowed:
            for child in node.children if is_allowed else ():
                if child.type in _STATEMENTS:
                    self._statement(child, by)
                elif child.type in _SUBSTITUTIONS:
                    if self._start(child) not in self._read:
                        self._read.add(self._start(child))
                        self._inside(child)
                elif child.child_count:
                    self._descend(child, by)

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

    def _gap(self, start: int, end: int, pattern: re.Pattern[str] = _BLANKS) -> bool:
        """Check that a gap between two nodes is empty to a shell; return whether it holds the end of a line."""
        if not pattern.fullmatch(self.text, start, end) or (
            self.text.endswith("\\\n", start, end) and self.text[end : end + 1] in ("#", "(", "<", ">")
        ):
            self.doubt(Why.SYNTAX, start, end)
        return "\n" in self.text[start:end].replace("\\\n", "")

    def _sequence(self, nodes: Sequence[Node], start: int, end: int, by: By) -> bool:
        """Read commands with what ends each; return whether the last one is ended before what follows."""
        at, is_open = start, False
        for place, node in enumerate(nodes):
            kind = node.type
            ends_line = self._gap(at, node.start_byte, _LINES)
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
                    with self._variables.region():
                        self._statement(node, (*by, RunBy("background")))
                else:
                    self._statement(node, by)
                is_open = True
            else:
                self._unknown(node, by)
            at = node.end_byte
        return not self._gap(at, end, _LINES) and is_open

    def _statement(self, node: Node, by: By, redirects: Sequence[Node | Word] = ()) -> None:
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
                self._unknown(node, by)

    def _command(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        self._spaced(node.children, node)
        self._simple([*node.children, *redirects], by, node)

    def _redirected(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        children = node.children
        parts = self._spaced(children, node)
        if children and children[0].type in _STATEMENTS:
            self._statement(children[0], by, [*parts[1:], *redirects])
        else:
            self._simple([*children, *redirects], by, node)

    def _list(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        self._joined(node, by, redirects, ("&&", "||"), self._outside.get(node.id, by))

    def _pipeline(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        first = node.children[0]
        by = self._outside.get(node.id, by)
        if first.type == "redirected_statement":
            # To the grammar `a && b 2>&1 | c` is a pipeline of a list; to shells only its last command is in it.
            self._outside[first.children[0].id] = by
        by = (*by, RunBy("pipeline"))
        self._joined(node, by, redirects, ("|", "|&"), by)

    def _joined(
        self, node: Node, by: By, redirects: Sequence[Node | Word], operators: Sequence[str], before_last: By
    ) -> None:
        children = node.children
        at = node.start_byte
        for place, child in enumerate(children):
            is_operator = place % 2 == 1
            self._gap(at, child.start_byte, _BLANKS if is_operator else _LINES)
            at = child.end_byte
            if is_operator:
                if child.type not in operators:
                    self._unknown(child, by)
            elif child.type not in _STATEMENTS:
                self._unknown(child, by)
            elif place == 0 and "&&" in operators:
                self._statement(child, *((by, redirects) if len(children) == 1 else (before_last, ())))
            else:
                with self._variables.region():
                    self._statement(child, *((by, redirects) if place == len(children) - 1 else (before_last, ())))
        if len(children) % 2 == 0:
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)

    def _negated(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        children = node.children
        if len(children) != 2 or children[1].type not in _STATEMENTS or not self._is_word(children[0]):
            self._unknown(node, by)
            return
        self._gap(children[0].end_byte, children[1].start_byte)
        self._statement(children[1], by, redirects)

    def _subshell(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        if self.text.startswith("((", node.start_byte):
            # Arithmetic to shells, if they can read it as such.
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        with self._variables.region():
            self._enclosed(node, (*by, RunBy("subshell")), "(", ")")
        self._outer(redirects, by)

    def _group(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        opening = node.children[0]
        if opening.type == "((":
            closing = node.children[-1]
            if closing.type != "))" or closing.end_byte - closing.start_byte != 2:
                self._unknown(node, by)
            else:
                self._arithmetic(opening.end_byte, closing.start_byte)
        elif not self._is_word(opening) or not self._enclosed(node, (*by, RunBy("group")), "{", "}"):
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        self._outer(redirects, by)

    def _enclosed(self, node: Node, by: By, opening: str, closing: str) -> bool:
        """Read what stands between the first and the last child; return whether its last command is ended."""
        children = node.children
        if len(children) < 3 or (children[0].type, children[-1].type) != (opening, closing):
            self._unknown(node, by)
            return False
        return not self._sequence(children[1:-1], children[0].end_byte, children[-1].start_byte, by)

    def _blocks(self, nodes: Sequence[Node], by: By, keywords: Sequence[str]) -> None:
        """Read ``KEYWORD commands KEYWORD commands … KEYWORD``; ``nodes`` begin and end with one."""
        found = [place for place, node in enumerate(nodes) if not node.is_named and node.type in RESERVED]
        if [nodes[place].type for place in found] != list(keywords) or not found:
            self.doubt(Why.SYNTAX, nodes[0].start_byte, nodes[-1].end_byte)
        for place, following in zip(found, [*found[1:], len(nodes)], strict=True):
            keyword, inner = nodes[place], nodes[place + 1 : following]
            end = nodes[following].start_byte if following < len(nodes) else nodes[-1].end_byte
            is_last = following == len(nodes)
            if not self._is_word(keyword):
                self.doubt(Why.SYNTAX, keyword.start_byte, keyword.end_byte)
            if inner or not is_last:
                with self._variables.region():
                    open_end = self._sequence(inner, keyword.end_byte, end, by)
                if not inner or (open_end and not is_last):
                    self.doubt(Why.SYNTAX, keyword.start_byte, end)

    def _is_word(self, keyword: Node) -> bool:
        """Whether a reserved word is a word of its own."""
        return self.text[keyword.end_byte : keyword.end_byte + 1] in ("", *METACHARACTERS)

    def _if(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        by_if = (*by, RunBy("condition"))
        nodes: list[Node] = []
        for child in node.children:
            # Their parts are what stands between the keywords of the whole.
            nodes += child.children if child.type in ("elif_clause", "else_clause") else [child]
        words = [child.type for child in nodes if not child.is_named and child.type in RESERVED]
        middle = words[2:-1]
        if words[:2] != ["if", "then"] or words[-1:] != ["fi"] or not _ELSE.fullmatch(" ".join(middle)):
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        self._blocks(nodes, by_if, words)
        self._outer(redirects, by)

    def _while(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        inner = (*by, RunBy("loop"))
        body = node.children[-1]
        if body.type != "do_group":
            self._unknown(node, inner)
        else:
            nodes = [*node.children[:-1], *body.children]
            self._blocks(nodes, inner, [node.children[0].type, "do", "done"])
        self._outer(redirects, by)

    def _for(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        inner = (*by, RunBy("loop"))
        children = node.children
        body, variable = children[-1], children[1]
        name = self.text[variable.start_byte : variable.end_byte]
        if body.type != "do_group" or not re.fullmatch(NAME, name) or not self._is_word(children[0]):
            self._unknown(node, inner)
            return
        at, terminators, is_in = children[0].end_byte, 0, False
        words: list[Word] = []
        for child in children[1:-1]:
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "in" and not is_in and not terminators:
                is_in = True
            elif child.type in (";", "\n") and not terminators:
                terminators += 1
            elif child.type in _WORDS and is_in and not terminators:
                words += self._word_or_none(child, inner)
            elif child.start_byte != variable.start_byte:
                self._unknown(child, inner)
        if not self._gap(at, body.start_byte, _LINES) and not terminators:
            self.doubt(Why.SYNTAX, at, body.start_byte)
        self.words += words
        are_numbers = children[0].type == "for" and words and all(self._is_integer(word) for word in words)
        if is_state(name):
            self.doubt(Why.VARIABLE, variable.start_byte, variable.end_byte)
        with self._variables.region():
            self._variables.assigned(name, bool(are_numbers), at)
            self._blocks(body.children, inner, ["do", "done"])
        self._outer(redirects, by)

    @staticmethod
    def _is_integer(word: Word) -> bool:
        return bool(_INTEGER.fullmatch(word.value or "") or _INTEGER_RANGE.fullmatch(word.text))

    def _c_style_for(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        inner = (*by, RunBy("loop"))
        children = node.children
        body = children[-1]
        closing = next((child for child in children if child.type == "))"), None)
        if body.type != "do_group" or closing is None or children[1].type != "((":
            self._unknown(node, inner)
            return
        self._gap(children[0].end_byte, children[1].start_byte)
        between = [child for child in children[children.index(closing) + 1 : -1] if child.type not in (";", "\n")]
        parts = self.text[children[1].end_byte : closing.start_byte].split(";")
        gap = self.text[closing.end_byte : body.start_byte]
        if between or len(parts) != 3 or not re.fullmatch(r"[ \t]*[;\n]?[ \t\n]*", gap):
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        at = children[1].end_byte
        for part in parts:
            self._arithmetic(at, at + len(part))
            at += len(part) + 1
        self._blocks(body.children, inner, ["do", "done"])
        self._outer(redirects, by)

    def _case(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        inner = (*by, RunBy("case"))
        children = node.children
        kinds = [child.type for child in children]
        items = [child for child in children[3:-1] if child.type not in ("comment", "\n")]
        if kinds[:1] + kinds[2:3] + kinds[-1:] != ["case", "in", "esac"] or kinds[1] not in _WORDS:
            self._unknown(node, inner)
            return
        if not all(self._is_word(children[place]) for place in (0, 2, -1)):
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        self._gap(children[0].end_byte, children[1].start_byte)
        self.words += self._word_or_none(children[1], inner)
        self._gap(children[1].end_byte, children[2].start_byte, _LINES)
        at = children[2].end_byte
        for place, item in enumerate(children[3:]):
            self._gap(at, item.start_byte, _LINES)
            at = item.end_byte
            if item.type == "case_item":
                self._case_item(item, inner, is_last=bool(items) and item.start_byte == items[-1].start_byte)
            elif item.type not in ("comment", "\n", "esac"):
                self._unknown(item, inner)
            elif item.type == "comment" and self.text[item.start_byte - 1] not in METACHARACTERS:
                self.doubt(Why.SYNTAX, item.start_byte, item.end_byte)
            del place
        self._outer(redirects, by)

    def _case_item(self, node: Node, by: By, *, is_last: bool) -> None:
        children = list(node.children)
        at = node.start_byte
        closing = next((place for place, child in enumerate(children) if child.type == ")"), None)
        if closing is None:
            self._unknown(node, by)
            return
        for place, child in enumerate(children[: closing + 1]):
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type in _WORDS:
                self.words += self._word_or_none(child, by, is_pattern=True)
            elif child.type not in ("|", ")") and not (child.type == "(" and place == 0):
                self._unknown(child, by)
        rest = children[closing + 1 :]
        end = node.end_byte
        if rest and rest[-1].type in (";;", ";&", ";;&"):
            if rest[-1].type != ";;":
                self.doubt(Why.SYNTAX, rest[-1].start_byte, rest[-1].end_byte)
            end = rest.pop().start_byte
        elif not is_last:
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        with self._variables.region():
            is_open = self._sequence(rest, at, end, by)
        if is_open and end == node.end_byte and "\n" not in self.text[end:].lstrip(" \t")[:1]:
            # Without ;; the last command must end before `esac`.
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)

    def _function(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        children = list(node.children)
        if children[0].type == "function":
            if not self._is_word(children[0]):
                self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
            children = children[1:]
        kinds = [child.type for child in children]
        name = self.text[children[0].start_byte : children[0].end_byte]
        bodies = ("compound_statement", "subshell")
        if kinds[1:-1] not in ([], ["(", ")"]) or kinds[-1] not in bodies or not _FUNCTION.fullmatch(name):
            self._unknown(node, by)
            return
        if name in RESERVED or name == "time" or (len(children) == 2 and node.children[0].type != "function"):
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        at = children[0].end_byte
        for child in children[1:]:
            self._gap(at, child.start_byte, _LINES if child is children[-1] else _BLANKS)
            at = child.end_byte
        with self._variables.region():
            self._statement(children[-1], (*by, RunBy("function", name)), redirects)

    def _declaration(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        self._command(node, by, redirects)

    def _assignments(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        children = node.children if node.type == "variable_assignments" else [node]
        self._spaced(children, node)
        self._simple([*children, *redirects], by, node)

    def _test(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        opening, closing = node.children[0], node.children[-1]
        if (opening.type, closing.type) not in (("[", "]"), ("[[", "]]")) or not self._is_word(opening):
            self._unknown(node, by)
            return
        if opening.type == "[":
            self._simple_test(node, by, redirects)
            return
        try:
            at, end = opening.end_byte, closing.start_byte
            self._condition(at, end, by)
        except NotKnown as unknown:
            self.doubt(unknown.why, unknown.at, node.end_byte)
        self._descend(node, by)
        self._outer(redirects, by)

    def _simple_test(self, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
        """Read ``[ … ]``: a command whose words the tree shows as an expression."""
        words: list[Word] = []
        at = node.start_byte
        try:
            while at < node.end_byte:
                words.append(self._scanned(at, by))
                blanks = _BLANKS.match(self.text, self._scan_end, node.end_byte)
                at = blanks.end() if blanks else self._scan_end
                if at == self._scan_end != node.end_byte:
                    raise NotKnown(Why.SYNTAX, at)
        except NotKnown as unknown:
            self.doubt(unknown.why, unknown.at, node.end_byte)
            self._descend(node, by)
        self._simple(redirects, by, node, words)

    def _condition(self, at: int, end: int, by: By) -> None:
        """Read what stands in ``[[ … ]]``. Raises NotKnown."""
        tokens: list[str | Word] = []
        while True:
            blanks = _LINES.match(self.text, at, end)
            at = blanks.end() if blanks else at
            if at >= end:
                break
            operator = _CONDITION_OPERATOR.match(self.text, at, end)
            is_regex = bool(tokens) and isinstance(tokens[-1], Word) and tokens[-1].text == "=~"
            if is_regex:
                regex = _REGEX.match(self.text, at, end)
                if regex and regex[0].count("(") == regex[0].count(")") and self.text[regex.end()] in " \t\n":
                    tokens.append(Word(regex[0], (Literal(regex[0]),), *self._place(at, regex.end())))
                    at = regex.end()
                    continue
            if operator:
                tokens.append(operator[0])
                at = operator.end()
                continue
            tokens.append(self._scanned(at, by, is_pattern=True))
            at = self._scan_end
            if self.text[at : at + 1] not in (" ", "\t", "\n", ")"):
                raise NotKnown(Why.SYNTAX, at)
        self.words += [token for token in tokens if isinstance(token, Word)]
        self._at = end
        for why, word in test_doubts(self, tokens):
            self.doubt_word(why, word)

    # Simple commands

    def _spaced(self, children: Sequence[Node], node: Node) -> list[Node | Word]:
        """Check that nothing but blanks is between the parts of a command; return them.

        The grammar has no node for a ``-`` before a here-document: it is added.
        """
        at = node.start_byte
        parts: list[Node | Word] = []
        for child in children:
            dash = _DASH.fullmatch(self.text, at, child.start_byte) if child.type == "heredoc_redirect" else None
            if dash:
                parts.append(Word("-", (Literal("-"),), *self._place(*dash.span(1))))
            else:
                self._gap(at, child.start_byte)
            parts.append(child)
            at = child.end_byte
        if at != node.end_byte:
            self.doubt(Why.SYNTAX, at, node.end_byte)
        return parts

    def _simple(self, nodes: Sequence[Node | Word], by: By, node: Node, words: Sequence[Word] = ()) -> None:
        """Read a simple command from its parts; ``words`` are those that are known already."""
        found = list(words)
        assignments: list[Assignment] = []
        redirections: list[Redirection] = []
        if any(not isinstance(child, Word) and _has_pipeline(child) for child in nodes):
            by = (*by, RunBy("pipeline"))
        self._at = node.start_byte
        lasts = not words and all(isinstance(child, Word) or child.type not in _NAMES for child in nodes)
        for child in nodes:
            if isinstance(child, Word):
                found.append(child)
            elif child.type == "variable_assignment" and not found:
                assignments += self._assignment(child, by, lasts=lasts)
            elif child.type == "variable_assignment":
                found += self._word_or_none(child, by)
            elif child.type.endswith("_redirect"):
                redirection, further = self._redirect(child, by)
                redirections += redirection
                found += further
            elif child.type == "command_name" and len(child.children) == 1:
                found += self._word_or_none(child.children[0], by)
            elif child.type in _WORDS or (not child.is_named and child.type in _DECLARATIONS):
                found += self._word_or_none(child, by)
            else:
                self._unknown(child, by)
        # Words may hold commands of their own.
        self._at = node.start_byte
        start, end = self._place(node.start_byte, node.end_byte)
        first = found[0] if found else None
        if first is not None and self._is_odd(first):
            self.doubt_word(Why.SYNTAX, first)
        if first is None and redirections and self.dialect == "zsh":
            # zsh runs $NULLCMD, or $READNULLCMD.
            self.doubt(Why.NAME, node.start_byte, node.end_byte)
        self.add(SimpleCommand(tuple(found), tuple(assignments), tuple(redirections), by, start, end))

    @staticmethod
    def _is_odd(name: Word) -> bool:
        """Whether a name, as it is written, may be something else: a reserved word, an assignment, or a group."""
        text = name.text
        is_bare = text == name.value and (text in RESERVED or not {"{", "}"}.isdisjoint(text))
        return is_bare or bool(_LOOKS_ASSIGNED.match(text))

    def _word_or_none(self, node: Node, by: By, *, is_pattern: bool = False) -> list[Word]:
        """Return the word that a node is; if it is none, doubt it."""
        try:
            word = self._scanned(node.start_byte, by, is_pattern=is_pattern)
            following = self.text[node.end_byte : node.end_byte + 1]
            if self._scan_end == node.end_byte and following in ("", "`", *METACHARACTERS):
                return [word]
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        except NotKnown as unknown:
            self.doubt(unknown.why, node.start_byte, node.end_byte)
        self._descend(node, by)
        start, end = self._place(node.start_byte, node.end_byte)
        text = self.text[node.start_byte : node.end_byte]
        return [Word(text, (Expansion("parameter", text, splits=True),), start, end)]

    def _scanned(self, at: int, by: By, *, is_pattern: bool = False) -> Word:
        """Read the word that begins at an offset. Raises NotKnown."""
        outer, self._inner_by = self._inner_by, by
        try:
            parts, end = Scanner(self.text, self.dialect, self).word(at, is_pattern=is_pattern)
        finally:
            self._inner_by = outer
        self._scan_end = end
        if end == at:
            raise NotKnown(Why.SYNTAX, at)
        return Word(self.text[at:end], parts, *self._place(at, end))

    _has_error = False
    _inner_by: By = ()
    """What the word stands in that is read."""
    _scan_end = 0

    def _inside(self, node: Node) -> None:
        """Read the commands of a substitution."""
        at, text = self._start(node), self.text
        kind: RunByKind = "process substitution" if node.type == "process_substitution" else "command substitution"
        by = (*(self._inner_by or self._by), RunBy(kind))
        children = node.children
        opening = children[0]
        if text.startswith("`", at):
            end = text.find("`", at + 1)
            if end + 1 != node.end_byte or "\\" in text[at:end]:
                self._unknown(node, by)
                return
        elif len(children) < 3 or children[-1].type != ")" or not text.startswith(("$(", "<(", ">("), at):
            self._unknown(node, by)
            return
        with self._variables.region():
            self._sequence(children[1:-1], opening.end_byte, children[-1].start_byte, by)

    def _assignment(self, node: Node, by: By, *, lasts: bool) -> list[Assignment]:
        text = self.text[node.start_byte : node.end_byte]
        found = _ASSIGNMENT.match(text)
        if found is None:
            self._unknown(node, by)
            return []
        if found["index"]:
            self.index(found["index"], node.start_byte)
        at = node.start_byte + found.end()
        if self.text[node.end_byte : node.end_byte + 1] not in ("", "`", *METACHARACTERS):
            self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        value = node.children[-1]
        values: list[Word] = []
        if value.type == "array" or "[" in found[0]:
            self._variables.array(found["name"])
        if value.type == "array":
            values = self._array(value, by)
        elif at < node.end_byte:
            if value.start_byte != at and self._start(value) != at:
                self._unknown(node, by)
                return []
            try:
                word = self._scanned(at, by)
                if self._scan_end != node.end_byte:
                    raise NotKnown(Why.SYNTAX, at)
                # What is assigned is one word, whatever is expanded.
                whole = (one if isinstance(one, Literal) else one._with(splits=False) for one in word.parts)
                values = [word._with(parts=tuple(whole))]
            except NotKnown as unknown:
                self.doubt(unknown.why, node.start_byte, node.end_byte)
                self._descend(node, by)
                values = [Word(text, (Expansion("parameter", text, splits=True),), *self._place(at, node.end_byte))]
        name = found["name"]
        self._variables.assigned(name, self._value(values), node.end_byte, lasts=lasts)
        return [Assignment(name, tuple(values), *self._place(node.start_byte, node.end_byte))]

    def _value(self, values: Sequence[Word]) -> str | bool:
        """Return whether what is assigned is a number, or the variable that it comes from."""
        if len(values) == 1 and len(values[0].parts) == 1:
            part = values[0].parts[0]
            name = part.text.strip("${}")
            if isinstance(part, Expansion) and part.kind == "parameter" and re.fullmatch(NAME, name):
                return name
            if isinstance(part, Expansion):
                return part.kind in ("number", "arithmetic")
        return all(_INTEGER.fullmatch(word.value or "") for word in values)

    def _array(self, node: Node, by: By) -> list[Word]:
        words: list[Word] = []
        at = node.start_byte
        for place, child in enumerate(node.children):
            self._gap(at, child.start_byte, _LINES)
            at = child.end_byte
            if child.type in _WORDS:
                if self.text[child.start_byte] == "[":
                    # [subscript]=value: a subscript is arithmetic.
                    self.doubt(Why.ARITHMETIC, child.start_byte, child.end_byte)
                words += self._word_or_none(child, by)
            elif child.type not in ("(", ")") or (place not in (0, len(node.children) - 1)):
                self._unknown(child, by)
        return words

    def _outer(self, redirects: Sequence[Node | Word], by: By) -> None:
        """Read the redirections of a compound command."""
        for node in redirects:
            redirections, further = ([], [node]) if isinstance(node, Word) else self._redirect(node, by)
            self.redirections += redirections
            for word in further:
                self.doubt_word(Why.SYNTAX, word)

    def _redirect(self, node: Node, by: By) -> tuple[list[Redirection], list[Word]]:
        """Read a redirection, and the words of the command that the tree counts as part of it."""
        if node.type == "heredoc_redirect":
            return self._here_document(node, by)
        children = list(node.children)
        descriptor = None
        if not node.type.endswith("_redirect") or len(children) < 1:
            self._unknown(node, by)
            return [], []
        if children[0].type == "file_descriptor":
            written = self.text[children[0].start_byte : children[0].end_byte]
            if not re.fullmatch(r"[0-9]{1,4}", written) or children[0].end_byte != children[1].start_byte:
                self._unknown(node, by)
                return [], []
            descriptor = int(written)
            children = children[1:]
        elif re.search(r"[\w}]$", self.text[max(0, node.start_byte - 1) : node.start_byte]):
            # A word that the shell may take for the descriptor: `a 1>f`, `{x}>f`.
            before = re.search(r"[^\s;&|()<>]*$", self.text[max(0, node.start_byte - 50) : node.start_byte])
            if before and (before[0].isdigit() or before[0].startswith("{")):
                self.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        operator = children[0].type
        direction = "here-string" if operator == "<<<" else _DIRECTIONS.get(operator)
        targets = children[1:]
        # To a POSIX shell `&>f` is `&` and `>f`, so that a word behind it is a command.
        # To zsh `>!f` is an operator and `f`.
        is_foreign = (self.dialect == "sh" and operator in ("&>", "&>>", "<<<")) or (
            self.dialect == "zsh" and self.text[children[0].end_byte : children[0].end_byte + 1] in ("!", "|")
        )
        if direction is None or is_foreign or (direction == "close") != (not targets):
            self._unknown(node, by)
            return [], []
        at = children[0].end_byte
        for node_of_word in targets:
            self._gap(at, node_of_word.start_byte)
            at = node_of_word.end_byte
        words = [word for node_of_word in targets for word in self._word_or_none(node_of_word, by)]
        target = words[0] if words else None
        if direction == "duplicate" and target is not None and not re.fullmatch(r"\d+-?|-", target.value or ""):
            # `>&word` writes to a file, if the word is no number.
            direction = "out" if operator == ">&" else "in"
            if not re.fullmatch(r"[\w./+@%:,=][\w./+@%:,=-]*", target.value or ""):
                # bash expands the word twice: `>&'$(command)'` runs the command; `>& -x` is `>&-` and a word (5.2).
                self.doubt_word(Why.TEXT, target)
        place = self._place(node.start_byte, targets[0].end_byte if targets else node.end_byte)
        return [Redirection(direction, descriptor, target, *place)], words[1:]

    def _here_document(self, node: Node, by: By) -> tuple[list[Redirection], list[Word]]:
        children = {child.type: child for child in node.children}
        operator, start = node.children[0], children.get("heredoc_start")
        body, end = children.get("heredoc_body"), children.get("heredoc_end")
        if operator.type not in ("<<", "<<-") or start is None or end is None:
            self._unknown(node, by)
            return [], []
        delimiter = _DELIMITER.fullmatch(self.text, start.start_byte, start.end_byte)
        first = self.text.find("\n", start.end_byte)
        self._gap(operator.end_byte, start.start_byte)
        # What stands at the delimiter without a blank is part of it: `<<'EOF'-`.
        if delimiter is None or first < 0 or self.text[start.end_byte] not in METACHARACTERS:
            self._unknown(node, by)
            return [], []
        last = self._end_of_document(first + 1, end.end_byte, delimiter["name"], tabs=operator.type == "<<-")
        if last is None or (body is not None and body.start_byte < first):
            self._unknown(node, by)
            return [], []
        if not _stays_whole(node):
            self.doubt(Why.SYNTAX, node.start_byte, last[1])
        further = self._behind(node, start.end_byte, first, by)
        text = self.text[first + 1 : last[0]]
        parts: tuple[Literal | Expansion, ...] = (Literal(text),)
        if not delimiter["quote"]:
            outer, self._inner_by = self._inner_by, (*by, RunBy("here-document"))
            try:
                parts = Scanner(self.text, self.dialect, self).document(first + 1, last[0])
            except NotKnown as unknown:
                self.doubt(unknown.why, unknown.at, last[0])
                parts = (Expansion("parameter", text),)
                if body is not None:
                    self._descend(body, (*by, RunBy("here-document")))
            self._inner_by = outer
        place = self._place(first + 1, last[0])
        words = [item for item in further if isinstance(item, Word)]
        redirections = [item for item in further if isinstance(item, Redirection)]
        found = Redirection("here-document", None, Word(text, parts, *place), *self._place(node.start_byte, last[1]))
        return [found, *redirections], words

    def _end_of_document(self, at: int, end: int, delimiter: str, *, tabs: bool) -> tuple[int, int] | None:
        """Return where a here-document's text and its last line end; None if that line does not end where it must."""
        pattern = re.compile((r"^\t*" if tabs else "^") + delimiter + "$", re.MULTILINE)
        found = pattern.search(self.text, at, end)
        if found is None or found.end() != end or self.text[end : end + 1] not in ("", "\n"):
            return None
        return found.span()

    def _behind(self, node: Node, start: int, end: int, by: By) -> list[Word | Redirection]:
        """Read what stands behind ``<<EOF`` on its line: the grammar has it as part of the here-document."""
        found: list[Word | Redirection] = []
        at, awaits = start, False
        for child in node.children:
            if child.start_byte < start or child.start_byte >= end:
                continue
            if child.end_byte > end:
                self._unknown(child, by)
                return found
            self._gap(at, child.start_byte)
            at = child.end_byte
            if child.type == "pipeline":
                self._piped(child, by)
            elif child.type in ("&&", "||") and not awaits:
                awaits = True
            elif child.type in _STATEMENTS and awaits:
                with self._variables.region():
                    self._statement(child, by)
            elif child.type in ("file_redirect", "herestring_redirect") and not awaits:
                redirections, words = self._redirect(child, by)
                found += [*redirections, *words]
            elif child.type in _WORDS and not awaits:
                found += self._word_or_none(child, by)
            else:
                self._unknown(child, by)
        self._gap(at, end)
        return found

    def _piped(self, node: Node, by: By) -> None:
        """Read ``| command | command`` behind a here-document."""
        at = node.start_byte
        for place, child in enumerate(node.children):
            self._gap(at, child.start_byte)
            at = child.end_byte
            if place % 2 == 0 and child.type in ("|", "|&"):
                continue
            if place % 2 == 0 or child.type not in _STATEMENTS:
                self._unknown(child, by)
            else:
                with self._variables.region():
                    self._statement(child, by)

    # Numbers

    def _arithmetic(self, start: int, end: int) -> None:
        """Check arithmetic: it may run what the values of its variables hold."""
        if not self._evaluate(self.text[start:end], start, start, end):
            self.doubt(Why.ARITHMETIC, start, end)

    def _evaluate(self, text: str, at: int, start: int, end: int) -> bool:
        found = arithmetic(text)
        for name, offset in found.evaluated:
            self._variables.evaluated(name, at + offset, start, end)
        for name, offset in found.assigned:
            self._variables.assigned(name, True, at + offset)
        return found.known


def _has_pipeline(node: Node) -> bool:
    """Whether a here-document has ``| command`` behind it on its line."""
    return node.type == "heredoc_redirect" and any(child.type == "pipeline" for child in node.children)


def _stays_whole(node: Node) -> bool:
    """Whether a here-document stands in no substitution, or belongs to a simple command, or pipeline of those, alone.

    bash 5.2 writes out again what it has parsed there, and leaves out a ``;`` or two behind a here-document (measured).
    """
    outer = statement = node.parent
    while outer is not None and outer.type not in _SUBSTITUTIONS:
        outer = outer.parent
    if outer is None:
        return True
    further = [one for child in node.children if child.type == "pipeline" for one in child.children]
    is_list = any(child.type in ("&&", "||") for child in node.children)
    is_plain = not is_list and all(one.type in ("|", "|&", "command") for one in further)
    return is_plain and [child for child in outer.named_children if child.type != "comment"] == [statement]


_ELSE = LazyPattern(r"(?:elif then ?)*(?:else)?")
_CONDITION_OPERATOR = LazyPattern(r"&&|\|\||[()<>]|!(?=[ \t])")
_REGEX = LazyPattern(r"(?:[A-Za-z0-9_.^*+?|()\[\]:/@%=,-]|\\[.+*?/()\[\]|^$-]|\$(?=[ \t)|]))+")
_NAMES = frozenset(["command_name", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"])
"""What the name of a command is in the tree."""
_DECLARATIONS = frozenset(["declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"])
_STATEMENTS = {
    "command": LineReader._command,
    "redirected_statement": LineReader._redirected,
    "list": LineReader._list,
    "pipeline": LineReader._pipeline,
    "negated_command": LineReader._negated,
    "subshell": LineReader._subshell,
    "compound_statement": LineReader._group,
    "if_statement": LineReader._if,
    "while_statement": LineReader._while,
    "for_statement": LineReader._for,
    "c_style_for_statement": LineReader._c_style_for,
    "case_statement": LineReader._case,
    "function_definition": LineReader._function,
    "declaration_command": LineReader._declaration,
    "unset_command": LineReader._declaration,
    "test_command": LineReader._test,
    "variable_assignment": LineReader._assignments,
    "variable_assignments": LineReader._assignments,
}
"""What reads each kind of command. A node of another kind is not known."""
