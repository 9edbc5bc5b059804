"""Reads simple commands from their parts: words, assignments and redirections; and ``[[ … ]]``."""

from __future__ import annotations

import re

from hookrouter.shell._line import BLANKS, LINES, WORDS, is_integer
from hookrouter.shell._lists import NAME, RESERVED
from hookrouter.shell._redirections import has_pipeline, read_outer, read_redirect
from hookrouter.shell._tests import test_doubts
from hookrouter.shell._words import METACHARACTERS, NotKnown
from hookrouter.shell.commands import Assignment, Expansion, Literal, Redirection, RunBy, SimpleCommand, Why, Word
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from hookrouter.shell._line import Line

    By = tuple[RunBy, ...]

__all__ = ["SIMPLE"]

_DASH = LazyPattern(r"[ \t]+(-)[ \t]*")
_ASSIGNMENT = LazyPattern(rf"(?P<name>{NAME})(?:\[(?:[@*]|-?\d+|\$?(?P<index>{NAME}))\])?\+?=", re.ASCII)
_LOOKS_ASSIGNED = LazyPattern(r"\w+(?:\[.*\])?\+?=", re.DOTALL)
_CONDITION_OPERATOR = LazyPattern(r"&&|\|\||[()<>]|!(?=[ \t])")
_REGEX = LazyPattern(r"(?:[A-Za-z0-9_.^*+?|()\[\]:/@%=,-]|\\[.+*?/()\[\]|^$-]|\$(?=[ \t)|]))+")
_NAMES = frozenset(["command_name", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"])
"""What the name of a command is in the tree."""
_DECLARATIONS = frozenset(["declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"])


def read_command(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    _spaced(line, node.children, node)
    _simple(line, [*node.children, *redirects], by, node)


def read_redirected(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    children = node.children
    parts = _spaced(line, children, node)
    if children and line.is_statement(children[0]):
        line.statement(children[0], by, [*parts[1:], *redirects])
    else:
        _simple(line, [*children, *redirects], by, node)


def read_assignments(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    children = node.children if node.type == "variable_assignments" else [node]
    _spaced(line, children, node)
    _simple(line, [*children, *redirects], by, node)


def read_test(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    opening, closing = node.children[0], node.children[-1]
    if (opening.type, closing.type) not in (("[", "]"), ("[[", "]]")) or not line.is_word(opening):
        line.unknown(node, by)
        return
    if opening.type == "[":
        _simple_test(line, node, by, redirects)
        return
    try:
        at, end = opening.end_byte, closing.start_byte
        _condition(line, at, end, by)
    except NotKnown as unknown:
        line.doubt(unknown.why, unknown.at, node.end_byte)
    line.descend(node, by)
    read_outer(line, redirects, by)


def _simple_test(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    """Read ``[ … ]``: a command whose words the tree shows as an expression."""
    words: list[Word] = []
    at = node.start_byte
    try:
        while at < node.end_byte:
            word, word_end = line.scanned(at, by)
            words.append(word)
            blanks = BLANKS.match(line.text, word_end, node.end_byte)
            at = blanks.end() if blanks else word_end
            if at == word_end != node.end_byte:
                raise NotKnown(Why.SYNTAX, at)
    except NotKnown as unknown:
        line.doubt(unknown.why, unknown.at, node.end_byte)
        line.descend(node, by)
    _simple(line, redirects, by, node, words)


def _condition(line: Line, at: int, end: int, by: By) -> None:
    """Read what stands in ``[[ … ]]``. Raises NotKnown."""
    tokens: list[str | Word] = []
    while True:
        blanks = LINES.match(line.text, at, end)
        at = blanks.end() if blanks else at
        if at >= end:
            break
        operator = _CONDITION_OPERATOR.match(line.text, at, end)
        is_regex = bool(tokens) and isinstance(tokens[-1], Word) and tokens[-1].text == "=~"
        if is_regex:
            regex = _REGEX.match(line.text, at, end)
            if regex and regex[0].count("(") == regex[0].count(")") and line.text[regex.end()] in " \t\n":
                tokens.append(Word(regex[0], (Literal(regex[0]),), *line.place(at, regex.end())))
                at = regex.end()
                continue
        if operator:
            tokens.append(operator[0])
            at = operator.end()
            continue
        word, at = line.scanned(at, by, is_pattern=True)
        tokens.append(word)
        if line.text[at : at + 1] not in (" ", "\t", "\n", ")"):
            raise NotKnown(Why.SYNTAX, at)
    line.words += [token for token in tokens if isinstance(token, Word)]
    line.at = end
    for why, word in test_doubts(line, tokens):
        line.doubt_word(why, word)


def _spaced(line: Line, children: Sequence[Node], node: Node) -> list[Node | Word]:
    """Check that nothing but blanks is between the parts of a command; return them.

    The grammar has no node for a ``-`` before a here-document: it is added.
    """
    at = node.start_byte
    parts: list[Node | Word] = []
    for child in children:
        dash = _DASH.fullmatch(line.text, at, child.start_byte) if child.type == "heredoc_redirect" else None
        if dash:
            parts.append(Word("-", (Literal("-"),), *line.place(*dash.span(1))))
        else:
            line.gap(at, child.start_byte)
        parts.append(child)
        at = child.end_byte
    if at != node.end_byte:
        line.doubt(Why.SYNTAX, at, node.end_byte)
    return parts


def _simple(line: Line, nodes: Sequence[Node | Word], by: By, node: Node, words: Sequence[Word] = ()) -> None:
    """Read a simple command from its parts; ``words`` are those that are known already."""
    found = list(words)
    assignments: list[Assignment] = []
    redirections: list[Redirection] = []
    if any(not isinstance(child, Word) and has_pipeline(child) for child in nodes):
        by = (*by, RunBy("pipeline"))
    line.at = node.start_byte
    lasts = not words and all(isinstance(child, Word) or child.type not in _NAMES for child in nodes)
    for child in nodes:
        if isinstance(child, Word):
            found.append(child)
        elif child.type == "variable_assignment" and not found:
            assignments += _assignment(line, child, by, lasts=lasts)
        elif child.type == "variable_assignment":
            found += line.word_or_none(child, by)
        elif child.type.endswith("_redirect"):
            redirection, further = read_redirect(line, child, by)
            redirections += redirection
            found += further
        elif child.type == "command_name" and len(child.children) == 1:
            found += line.word_or_none(child.children[0], by)
        elif child.type in WORDS or (not child.is_named and child.type in _DECLARATIONS):
            found += line.word_or_none(child, by)
        else:
            line.unknown(child, by)
    # Words may hold commands of their own.
    line.at = node.start_byte
    start, end = line.place(node.start_byte, node.end_byte)
    first = found[0] if found else None
    if first is not None and _is_odd(first):
        line.doubt_word(Why.SYNTAX, first)
    if first is None and redirections and line.dialect == "zsh":
        # zsh runs $NULLCMD, or $READNULLCMD.
        line.doubt(Why.NAME, node.start_byte, node.end_byte)
    line.add(SimpleCommand(tuple(found), tuple(assignments), tuple(redirections), by, start, end))


def _is_odd(name: Word) -> bool:
    """Whether a name, as it is written, may be something else: a reserved word, an assignment, or a group."""
    text = name.text
    is_bare = text == name.value and (text in RESERVED or not {"{", "}"}.isdisjoint(text))
    return is_bare or bool(_LOOKS_ASSIGNED.match(text))


def _assignment(line: Line, node: Node, by: By, *, lasts: bool) -> list[Assignment]:
    text = line.text[node.start_byte : node.end_byte]
    found = _ASSIGNMENT.match(text)
    if found is None:
        line.unknown(node, by)
        return []
    if found["index"]:
        line.index(found["index"], node.start_byte)
    at = node.start_byte + found.end()
    if line.text[node.end_byte : node.end_byte + 1] not in ("", "`", *METACHARACTERS):
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    value = node.children[-1]
    values: list[Word] = []
    if value.type == "array" or "[" in found[0]:
        line.variables.array(found["name"])
    if value.type == "array":
        values = _array(line, value, by)
    elif at < node.end_byte:
        if value.start_byte != at and line.start(value) != at:
            line.unknown(node, by)
            return []
        try:
            word, word_end = line.scanned(at, by)
            if word_end != node.end_byte:
                raise NotKnown(Why.SYNTAX, at)
            # What is assigned is one word, whatever is expanded.
            whole = (one if isinstance(one, Literal) else one._with(splits=False) for one in word.parts)
            values = [word._with(parts=tuple(whole))]
        except NotKnown as unknown:
            line.doubt(unknown.why, node.start_byte, node.end_byte)
            line.descend(node, by)
            values = [Word(text, (Expansion("parameter", text, splits=True),), *line.place(at, node.end_byte))]
    name = found["name"]
    line.variables.assigned(name, _value(values), node.end_byte, lasts=lasts)
    return [Assignment(name, tuple(values), *line.place(node.start_byte, node.end_byte))]


def _value(values: Sequence[Word]) -> str | bool:
    """Return whether what is assigned is a number, or the variable that it comes from."""
    if len(values) == 1 and len(values[0].parts) == 1:
        part = values[0].parts[0]
        name = part.text.strip("${}")
        if isinstance(part, Expansion) and part.kind == "parameter" and re.fullmatch(NAME, name):
            return name
        if isinstance(part, Expansion):
            return part.kind in ("number", "arithmetic")
    return all(is_integer(word.value) for word in values)


def _array(line: Line, node: Node, by: By) -> list[Word]:
    words: list[Word] = []
    at = node.start_byte
    for place, child in enumerate(node.children):
        line.gap(at, child.start_byte, LINES)
        at = child.end_byte
        if child.type in WORDS:
            if line.text[child.start_byte] == "[":
                # [subscript]=value: a subscript is arithmetic.
                line.doubt(Why.ARITHMETIC, child.start_byte, child.end_byte)
            words += line.word_or_none(child, by)
        elif child.type not in ("(", ")") or (place not in (0, len(node.children) - 1)):
            line.unknown(child, by)
    return words


SIMPLE = {
    "command": read_command,
    "redirected_statement": read_redirected,
    "declaration_command": read_command,
    "unset_command": read_command,
    "test_command": read_test,
    "variable_assignment": read_assignments,
    "variable_assignments": read_assignments,
}
"""What reads each kind of simple command."""
