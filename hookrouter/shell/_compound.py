"""Reads compound commands: lists, pipelines, groups, conditions, loops, functions.

Each function checks the shape of a node against the text, and reads what stands in it; ``redirects`` are the
redirections behind the command.
"""

from __future__ import annotations

import re

from hookrouter.shell._line import BLANKS, LINES, WORDS, is_integer
from hookrouter.shell._lists import INTEGER_VARIABLES, NAME, RESERVED
from hookrouter.shell._redirections import read_outer
from hookrouter.shell._settings import is_state
from hookrouter.shell._words import METACHARACTERS
from hookrouter.shell.commands import RunBy, Why
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from hookrouter.shell._line import Line
    from hookrouter.shell.commands import Word

    By = tuple[RunBy, ...]

__all__ = ["COMPOUND"]

_INTEGER_RANGE = LazyPattern(r"\{-?[0-9]+\.\.-?[0-9]+(?:\.\.-?[0-9]+)?\}", re.ASCII)
_FUNCTION = LazyPattern(r"[A-Za-z_][A-Za-z0-9_.:-]*", re.ASCII)
_ELSE = LazyPattern(r"(?:elif then ?)*(?:else)?")


def read_list(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    _joined(line, node, by, redirects, ("&&", "||"), line.outside.get(node.id, by))


def read_pipeline(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    first = node.children[0]
    by = line.outside.get(node.id, by)
    if first.type == "redirected_statement":
        # To the grammar `a && b 2>&1 | c` is a pipeline of a list; to shells only its last command is in it.
        line.outside[first.children[0].id] = by
    by = (*by, RunBy("pipeline"))
    _joined(line, node, by, redirects, ("|", "|&"), by)


def _joined(
    line: Line, node: Node, by: By, redirects: Sequence[Node | Word], operators: Sequence[str], before_last: By
) -> None:
    children = node.children
    at = node.start_byte
    for place, child in enumerate(children):
        is_operator = place % 2 == 1
        line.gap(at, child.start_byte, BLANKS if is_operator else LINES)
        at = child.end_byte
        if is_operator:
            if child.type not in operators:
                line.unknown(child, by)
        elif not line.is_statement(child):
            line.unknown(child, by)
        elif place == 0 and "&&" in operators:
            line.statement(child, *((by, redirects) if len(children) == 1 else (before_last, ())))
        else:
            with line.variables.region():
                line.statement(child, *((by, redirects) if place == len(children) - 1 else (before_last, ())))
    if len(children) % 2 == 0:
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)


def read_negated(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    children = node.children
    if len(children) != 2 or not line.is_statement(children[1]) or not line.is_word(children[0]):
        line.unknown(node, by)
        return
    line.gap(children[0].end_byte, children[1].start_byte)
    line.statement(children[1], by, redirects)


def read_subshell(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    if line.text.startswith("((", node.start_byte):
        # Arithmetic to shells, if they can read it as such.
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    with line.variables.region():
        _enclosed(line, node, (*by, RunBy("subshell")), "(", ")")
    read_outer(line, redirects, by)


def read_group(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    opening = node.children[0]
    if opening.type == "((":
        closing = node.children[-1]
        if closing.type != "))" or closing.end_byte - closing.start_byte != 2:
            line.unknown(node, by)
        else:
            line.check_arithmetic(opening.end_byte, closing.start_byte)
    elif not line.is_word(opening) or not _enclosed(line, node, (*by, RunBy("group")), "{", "}"):
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    read_outer(line, redirects, by)


def _enclosed(line: Line, node: Node, by: By, opening: str, closing: str) -> bool:
    """Read what stands between the first and the last child; return whether its last command is ended."""
    children = node.children
    if len(children) < 3 or (children[0].type, children[-1].type) != (opening, closing):
        line.unknown(node, by)
        return False
    return not line.sequence(children[1:-1], children[0].end_byte, children[-1].start_byte, by)


def _blocks(line: Line, nodes: Sequence[Node], by: By, keywords: Sequence[str]) -> None:
    """Read ``KEYWORD commands KEYWORD commands … KEYWORD``; ``nodes`` begin and end with one."""
    found = [place for place, node in enumerate(nodes) if not node.is_named and node.type in RESERVED]
    if [nodes[place].type for place in found] != list(keywords) or not found:
        line.doubt(Why.SYNTAX, nodes[0].start_byte, nodes[-1].end_byte)
    for place, following in zip(found, [*found[1:], len(nodes)], strict=True):
        keyword, inner = nodes[place], nodes[place + 1 : following]
        end = nodes[following].start_byte if following < len(nodes) else nodes[-1].end_byte
        is_last = following == len(nodes)
        if not line.is_word(keyword):
            line.doubt(Why.SYNTAX, keyword.start_byte, keyword.end_byte)
        if inner or not is_last:
            with line.variables.region():
                open_end = line.sequence(inner, keyword.end_byte, end, by)
            if not inner or (open_end and not is_last):
                line.doubt(Why.SYNTAX, keyword.start_byte, end)


def read_if(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    by_if = (*by, RunBy("condition"))
    nodes: list[Node] = []
    for child in node.children:
        # Their parts are what stands between the keywords of the whole.
        nodes += child.children if child.type in ("elif_clause", "else_clause") else [child]
    words = [child.type for child in nodes if not child.is_named and child.type in RESERVED]
    middle = words[2:-1]
    if words[:2] != ["if", "then"] or words[-1:] != ["fi"] or not _ELSE.fullmatch(" ".join(middle)):
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    _blocks(line, nodes, by_if, words)
    read_outer(line, redirects, by)


def read_while(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    inner = (*by, RunBy("loop"))
    body = node.children[-1]
    if body.type != "do_group":
        line.unknown(node, inner)
    else:
        nodes = [*node.children[:-1], *body.children]
        _blocks(line, nodes, inner, [node.children[0].type, "do", "done"])
    read_outer(line, redirects, by)


def read_for(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    inner = (*by, RunBy("loop"))
    children = node.children
    body, variable = children[-1], children[1]
    name = line.text[variable.start_byte : variable.end_byte]
    if body.type != "do_group" or not re.fullmatch(NAME, name) or not line.is_word(children[0]):
        line.unknown(node, inner)
        return
    at, terminators, is_in = children[0].end_byte, 0, False
    words: list[Word] = []
    for child in children[1:-1]:
        line.gap(at, child.start_byte)
        at = child.end_byte
        if child.type == "in" and not is_in and not terminators:
            is_in = True
        elif child.type in (";", "\n") and not terminators:
            terminators += 1
        elif child.type in WORDS and is_in and not terminators:
            words += line.word_or_none(child, inner)
        elif child.start_byte != variable.start_byte:
            line.unknown(child, inner)
    if not line.gap(at, body.start_byte, LINES) and not terminators:
        line.doubt(Why.SYNTAX, at, body.start_byte)
    line.words += words
    are_numbers = children[0].type == "for" and words and all(_is_integer(word) for word in words)
    if is_state(name):
        line.doubt(Why.VARIABLE, variable.start_byte, variable.end_byte)
    if name in INTEGER_VARIABLES and not are_numbers:
        line.doubt(Why.ARITHMETIC, variable.start_byte, variable.end_byte)
    with line.variables.region():
        line.variables.assigned(name, bool(are_numbers), at)
        _blocks(line, body.children, inner, ["do", "done"])
    read_outer(line, redirects, by)


def _is_integer(word: Word) -> bool:
    return bool(is_integer(word.value) or _INTEGER_RANGE.fullmatch(word.text))


def read_c_style_for(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    inner = (*by, RunBy("loop"))
    children = node.children
    body = children[-1]
    closing = next((child for child in children if child.type == "))"), None)
    if body.type != "do_group" or closing is None or children[1].type != "((":
        line.unknown(node, inner)
        return
    line.gap(children[0].end_byte, children[1].start_byte)
    between = [child for child in children[children.index(closing) + 1 : -1] if child.type not in (";", "\n")]
    parts = line.text[children[1].end_byte : closing.start_byte].split(";")
    gap = line.text[closing.end_byte : body.start_byte]
    if between or len(parts) != 3 or not re.fullmatch(r"[ \t]*[;\n]?[ \t\n]*", gap):
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    at = children[1].end_byte
    for part in parts:
        line.check_arithmetic(at, at + len(part))
        at += len(part) + 1
    _blocks(line, body.children, inner, ["do", "done"])
    read_outer(line, redirects, by)


def read_case(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    inner = (*by, RunBy("case"))
    children = node.children
    kinds = [child.type for child in children]
    items = [child for child in children[3:-1] if child.type not in ("comment", "\n")]
    if kinds[:1] + kinds[2:3] + kinds[-1:] != ["case", "in", "esac"] or kinds[1] not in WORDS:
        line.unknown(node, inner)
        return
    if not all(line.is_word(children[place]) for place in (0, 2, -1)):
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    line.gap(children[0].end_byte, children[1].start_byte)
    line.words += line.word_or_none(children[1], inner)
    line.gap(children[1].end_byte, children[2].start_byte, LINES)
    at = children[2].end_byte
    for place, item in enumerate(children[3:]):
        line.gap(at, item.start_byte, LINES)
        at = item.end_byte
        if item.type == "case_item":
            _case_item(line, item, inner, is_last=bool(items) and item.start_byte == items[-1].start_byte)
        elif item.type not in ("comment", "\n", "esac"):
            line.unknown(item, inner)
        elif item.type == "comment" and line.text[item.start_byte - 1] not in METACHARACTERS:
            line.doubt(Why.SYNTAX, item.start_byte, item.end_byte)
        del place
    read_outer(line, redirects, by)


def _case_item(line: Line, node: Node, by: By, *, is_last: bool) -> None:
    children = list(node.children)
    at = node.start_byte
    closing = next((place for place, child in enumerate(children) if child.type == ")"), None)
    if closing is None:
        line.unknown(node, by)
        return
    for place, child in enumerate(children[: closing + 1]):
        line.gap(at, child.start_byte)
        at = child.end_byte
        if child.type in WORDS:
            line.words += line.word_or_none(child, by, is_pattern=True)
        elif child.type not in ("|", ")") and not (child.type == "(" and place == 0):
            line.unknown(child, by)
    rest = children[closing + 1 :]
    end = node.end_byte
    if rest and rest[-1].type in (";;", ";&", ";;&"):
        if rest[-1].type != ";;":
            line.doubt(Why.SYNTAX, rest[-1].start_byte, rest[-1].end_byte)
        end = rest.pop().start_byte
    elif not is_last:
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    with line.variables.region():
        is_open = line.sequence(rest, at, end, by)
    if is_open and end == node.end_byte and "\n" not in line.text[end:].lstrip(" \t")[:1]:
        # Without ;; the last command must end before `esac`.
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)


def read_function(line: Line, node: Node, by: By, redirects: Sequence[Node | Word]) -> None:
    children = list(node.children)
    if children[0].type == "function":
        if not line.is_word(children[0]):
            line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
        children = children[1:]
    kinds = [child.type for child in children]
    name = line.text[children[0].start_byte : children[0].end_byte]
    bodies = ("compound_statement", "subshell")
    if kinds[1:-1] not in ([], ["(", ")"]) or kinds[-1] not in bodies or not _FUNCTION.fullmatch(name):
        line.unknown(node, by)
        return
    if name in RESERVED or name == "time" or (len(children) == 2 and node.children[0].type != "function"):
        line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    at = children[0].end_byte
    for child in children[1:]:
        line.gap(at, child.start_byte, LINES if child is children[-1] else BLANKS)
        at = child.end_byte
    with line.variables.region():
        line.statement(children[-1], (*by, RunBy("function", name)), redirects)


COMPOUND = {
    "list": read_list,
    "pipeline": read_pipeline,
    "negated_command": read_negated,
    "subshell": read_subshell,
    "compound_statement": read_group,
    "if_statement": read_if,
    "while_statement": read_while,
    "for_statement": read_for,
    "c_style_for_statement": read_c_style_for,
    "case_statement": read_case,
    "function_definition": read_function,
}
"""What reads each kind of compound command."""
