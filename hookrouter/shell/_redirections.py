"""Reads redirections and here-documents, with what stands behind them on their line."""

from __future__ import annotations

import re

from hookrouter.shell._line import SUBSTITUTIONS, WORDS
from hookrouter.shell._words import METACHARACTERS, NotKnown
from hookrouter.shell.commands import Expansion, Literal, Redirection, RunBy, Why, Word
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from hookrouter.shell._line import Line
    from hookrouter.shell.commands import Direction

    By = tuple[RunBy, ...]

__all__ = ["has_pipeline", "read_outer", "read_redirect"]

_DELIMITER = LazyPattern(r"(?P<quote>['\"]?)(?P<name>[A-Za-z0-9_]+)(?P=quote)", re.ASCII)
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


def read_outer(line: Line, redirects: Sequence[Node | Word], by: By) -> None:
    """Read the redirections of a compound command."""
    for node in redirects:
        redirections, further = ([], [node]) if isinstance(node, Word) else read_redirect(line, node, by)
        line.redirections += redirections
        for word in further:
            line.doubt_word(Why.SYNTAX, word)


def read_redirect(line: Line, node: Node, by: By) -> tuple[list[Redirection], list[Word]]:
    """Read a redirection, and the words of the command that the tree counts as part of it."""
    if node.type == "heredoc_redirect":
        return _here_document(line, node, by)
    children = list(node.children)
    descriptor = None
    if not node.type.endswith("_redirect") or len(children) < 1:
        line.unknown(node, by)
        return [], []
    if children[0].type == "file_descriptor":
        written = line.text[children[0].start_byte : children[0].end_byte]
        if not re.fullmatch(r"[0-9]{1,4}", written) or children[0].end_byte != children[1].start_byte:
            line.unknown(node, by)
            return [], []
        descriptor = int(written)
        children = children[1:]
    elif re.search(r"[\w}]$", line.text[max(0, node.start_byte - 1) : node.start_byte]):
        # A word that the shell may take for the descriptor: `a 1>f`, `{x}>f`.
        before = re.search(r"[^\s;&|()<>]*$", line.text[max(0, node.start_byte - 50) : node.start_byte])
        if before and (before[0].isdigit() or before[0].startswith("{")):
            line.doubt(Why.SYNTAX, node.start_byte, node.end_byte)
    operator = children[0].type
    direction = "here-string" if operator == "<<<" else _DIRECTIONS.get(operator)
    targets = children[1:]
    # To a POSIX shell `&>f` is `&` and `>f`, so that a word behind it is a command.
    # To zsh `>!f` is an operator and `f`.
    is_foreign = (line.dialect == "sh" and operator in ("&>", "&>>", "<<<")) or (
        line.dialect == "zsh" and line.text[children[0].end_byte : children[0].end_byte + 1] in ("!", "|")
    )
    if direction is None or is_foreign or (direction == "close") != (not targets):
        line.unknown(node, by)
        return [], []
    at = children[0].end_byte
    for node_of_word in targets:
        line.gap(at, node_of_word.start_byte)
        at = node_of_word.end_byte
    words = [word for node_of_word in targets for word in line.word_or_none(node_of_word, by)]
    target = words[0] if words else None
    if direction == "duplicate" and target is not None and not re.fullmatch(r"\d+-?|-", target.value or ""):
        # `>&word` writes to a file, if the word is no number.
        direction = "out" if operator == ">&" else "in"
        if not re.fullmatch(r"[\w./+@%:,=][\w./+@%:,=-]*", target.value or ""):
            # bash expands the word twice: `>&'$(command)'` runs the command; `>& -x` is `>&-` and a word (5.2).
            line.doubt_word(Why.TEXT, target)
    place = line.place(node.start_byte, targets[0].end_byte if targets else node.end_byte)
    return [Redirection(direction, descriptor, target, *place)], words[1:]


def _here_document(line: Line, node: Node, by: By) -> tuple[list[Redirection], list[Word]]:
    children = {child.type: child for child in node.children}
    operator, start = node.children[0], children.get("heredoc_start")
    body, end = children.get("heredoc_body"), children.get("heredoc_end")
    if operator.type not in ("<<", "<<-") or start is None or end is None:
        line.unknown(node, by)
        return [], []
    delimiter = _DELIMITER.fullmatch(line.text, start.start_byte, start.end_byte)
    first = line.text.find("\n", start.end_byte)
    line.gap(operator.end_byte, start.start_byte)
    # What stands at the delimiter without a blank is part of it: `<<'EOF'-`.
    if delimiter is None or first < 0 or line.text[start.end_byte] not in METACHARACTERS:
        line.unknown(node, by)
        return [], []
    last = _end_of_document(line, first + 1, end.end_byte, delimiter["name"], tabs=operator.type == "<<-")
    if last is None or (body is not None and body.start_byte < first):
        line.unknown(node, by)
        return [], []
    if not _stays_whole(node):
        line.doubt(Why.SYNTAX, node.start_byte, last[1])
    further = _behind(line, node, start.end_byte, first, by)
    text = line.text[first + 1 : last[0]]
    parts: tuple[Literal | Expansion, ...] = (Literal(text),)
    if not delimiter["quote"]:
        inner = (*by, RunBy("here-document"))
        try:
            parts = line.document(first + 1, last[0], inner)
        except NotKnown as unknown:
            line.doubt(unknown.why, unknown.at, last[0])
            parts = (Expansion("parameter", text),)
            if body is not None:
                line.descend(body, inner)
    place = line.place(first + 1, last[0])
    words = [item for item in further if isinstance(item, Word)]
    redirections = [item for item in further if isinstance(item, Redirection)]
    found = Redirection("here-document", None, Word(text, parts, *place), *line.place(node.start_byte, last[1]))
    return [found, *redirections], words


def _end_of_document(line: Line, at: int, end: int, delimiter: str, *, tabs: bool) -> tuple[int, int] | None:
    """Return where a here-document's text and its last line end; None if that line does not end where it must."""
    pattern = re.compile((r"^\t*" if tabs else "^") + delimiter + "$", re.MULTILINE)
    found = pattern.search(line.text, at, end)
    if found is None or found.end() != end or line.text[end : end + 1] not in ("", "\n"):
        return None
    return found.span()


def _behind(line: Line, node: Node, start: int, end: int, by: By) -> list[Word | Redirection]:
    """Read what stands behind ``<<EOF`` on its line: the grammar has it as part of the here-document."""
    found: list[Word | Redirection] = []
    at, awaits = start, False
    for child in node.children:
        if child.start_byte < start or child.start_byte >= end:
            continue
        if child.end_byte > end:
            line.unknown(child, by)
            return found
        line.gap(at, child.start_byte)
        at = child.end_byte
        if child.type == "pipeline":
            _piped(line, child, by)
        elif child.type in ("&&", "||") and not awaits:
            awaits = True
        elif line.is_statement(child) and awaits:
            with line.variables.region():
                line.statement(child, by)
        elif child.type in ("file_redirect", "herestring_redirect") and not awaits:
            redirections, words = read_redirect(line, child, by)
            found += [*redirections, *words]
        elif child.type in WORDS and not awaits:
            found += line.word_or_none(child, by)
        else:
            line.unknown(child, by)
    line.gap(at, end)
    return found


def _piped(line: Line, node: Node, by: By) -> None:
    """Read ``| command | command`` behind a here-document."""
    at = node.start_byte
    for place, child in enumerate(node.children):
        line.gap(at, child.start_byte)
        at = child.end_byte
        if place % 2 == 0 and child.type in ("|", "|&"):
            continue
        if place % 2 == 0 or not line.is_statement(child):
            line.unknown(child, by)
        else:
            with line.variables.region():
                line.statement(child, by)


def has_pipeline(node: Node) -> bool:
    """Whether a here-document has ``| command`` behind it on its line."""
    return node.type == "heredoc_redirect" and any(child.type == "pipeline" for child in node.children)


def _stays_whole(node: Node) -> bool:
    """Whether a here-document stands in no substitution, or belongs to a simple command, or pipeline of those, alone.

    bash 5.2 writes out again what it has parsed there, and leaves out a ``;`` or two behind a here-document (measured).
    """
    outer = statement = node.parent
    while outer is not None and outer.type not in SUBSTITUTIONS:
        outer = outer.parent
    if outer is None:
        return True
    further = [one for child in node.children if child.type == "pipeline" for one in child.children]
    is_list = any(child.type in ("&&", "||") for child in node.children)
    is_plain = not is_list and all(one.type in ("|", "|&", "command") for one in further)
    return is_plain and [child for child in outer.named_children if child.type != "comment"] == [statement]
