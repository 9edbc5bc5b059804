"""Counts lines of code."""

from __future__ import annotations

import ast
import io
import tokenize

__all__ = ["code_lines"]


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code: not empty, not a comment, no docstring."""
    prose: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            prose |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        line for token in tokens if token.type not in blank for line in range(token.start[0], token.end[0] + 1)
    } - prose
