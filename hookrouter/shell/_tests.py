"""Arithmetic, ``test`` and ``[[``: what of them evaluates text, which may run commands (``a[$(command)]``).

Known are forms in which every text that is evaluated is a number, or a variable to which the line assigns only numbers.
"""

from __future__ import annotations

from hookrouter.shell._lists import NAME
from hookrouter.shell.commands import Why, Word
from hookrouter.util.lazy_pattern import ASCII, LazyPattern
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    class Numbers(Protocol):
        """Who knows which words are numbers."""

        def is_number(self, word: Word) -> bool:
            """Whether a word is a number for certain, as far as it is known yet."""


__all__ = ["Arithmetic", "arithmetic", "bracket_doubts", "test_doubts"]

_TOKEN = LazyPattern(
    rf"(?P<name>{NAME})|\$(?P<expanded>{NAME})|\$\{{(?P<braced>{NAME})\}}|(?P<known>\$[?#$!]|\$\{{#{NAME}(?:\[[@*]\])?\}})"
    r"|(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)|(?P<operator>\+\+|--|<<=|>>=|[-+*/%&|^]=|[<>=!]=|&&|\|\||\*\*|<<|>>"
    r"|[-+*/%<>=!&|?:,()~^])|(?P<blank>[ \t\n]+)",
    ASCII,
)
_LENGTH = 2_000
"""Characters of arithmetic that are read."""
_ASSIGNS = frozenset(["++", "--", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
_FILE_TESTS = frozenset(f"-{letter}" for letter in "abcdefghkLnNOGprsSuwxz")
"""Operators of one word that evaluate nothing. Not here: ``-v`` and ``-R``, which take a subscript; ``-t``, which zsh
evaluates; ``-o``, which joins."""
_COMPARISONS = frozenset(["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", "=~"])
_NUMERIC = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])


class Arithmetic(Value):
    """What an arithmetic expression does with variables, each with where it stands in the text."""

    evaluated: list[tuple[str, int]]
    assigned: list[tuple[str, int]]
    known: bool
    """Whether it is of a form that is known."""


def arithmetic(text: str) -> Arithmetic:
    """Read an arithmetic expression."""
    evaluated: list[tuple[str, int]] = []
    assigned: list[tuple[str, int]] = []
    unknown = Arithmetic(evaluated, assigned, False)
    if len(text) > _LENGTH:
        return unknown
    at, depth = 0, 0
    previous = operand = ""
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return unknown
        start, at = at, found.end()
        if found["blank"]:
            continue
        name = found["name"] or found["expanded"] or found["braced"]
        operator = found["operator"]
        if name or found["known"] or found["number"]:
            if operand:
                # `1 a`, or `1$a`, which makes one number of both.
                return unknown
            operand = found["name"] or "0"
            if name:
                evaluated.append((name, start))
                if previous in ("++", "--") and found["name"]:
                    assigned.append((name, start))
        else:
            depth += (operator == "(") - (operator == ")")
            if depth < 0 or (operator == "(" and operand):
                return unknown
            if operator in _ASSIGNS and operand not in ("", "0"):
                assigned.append((operand, start))
                if operator == "=":
                    evaluated.pop()
            if operator not in ("++", "--", ")"):
                operand = ""
        previous = operator or ""
    return Arithmetic(evaluated, assigned, depth == 0)


def test_doubts(numbers: Numbers, tokens: Sequence[str | Word]) -> Iterator[tuple[str, Word]]:
    """Yield what is not certain of the words and operators of ``[[ … ]]``. Operators are strings."""
    place, joined = 0, list(tokens)
    awaits_operand = True
    while place < len(joined):
        token = joined[place]
        if isinstance(token, str):
            if token in ("&&", "||"):
                awaits_operand = True
            elif token in ("<", ">"):
                yield from _syntax(joined)
                return
            place += 1
            continue
        if not awaits_operand:
            yield Why.SYNTAX, token
            return
        awaits_operand = False
        following = joined[place + 1] if place + 1 < len(joined) else None
        beyond = joined[place + 2] if place + 2 < len(joined) else None
        if token.text in _FILE_TESTS and isinstance(following, Word) and not _is_operator(following, beyond):
            place += 2
        elif _is_operator(following, beyond) and isinstance(beyond, Word):
            operator = following if isinstance(following, str) else following.text if following else ""
            if operator in _NUMERIC:
                yield from ((Why.ARITHMETIC, word) for word in (token, beyond) if not numbers.is_number(word))
            place += 3
        elif token.text.startswith("-"):
            # An operator that evaluates, or one that is not known.
            yield Why.ARITHMETIC, token
            return
        else:
            place += 1


def _syntax(tokens: Sequence[str | Word]) -> Iterator[tuple[str, Word]]:
    word = next((token for token in tokens if isinstance(token, Word)), None)
    if word is not None:
        yield Why.SYNTAX, word


def _is_operator(token: str | Word | None, right: str | Word | None) -> bool:
    """Whether a token is an operator between two words."""
    text = token if isinstance(token, str) else token.text if token else ""
    return text in _COMPARISONS | _NUMERIC and isinstance(right, Word)


def bracket_doubts(numbers: Numbers, words: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    """Yield what is not certain of the words of ``test``, or those between ``[`` and ``]``."""
    for word in words:
        if word.splits and not numbers.is_number(word):
            # It may become an operator and what that one evaluates.
            yield Why.ARITHMETIC, word
    rest = list(words)
    while rest and rest[0].value == "!" and len(rest) > 1:
        rest = rest[1:]
    parts: list[list[Word]] = [[]]
    if any(word.value in ("-a", "-o") for word in rest[2:]) and len(rest) > 4:
        for word in rest:
            if word.value in ("-a", "-o") and parts[-1]:
                parts.append([])
            else:
                parts[-1].append(word)
        # With more than four words, a word that is not known may be taken for an operator.
        unknown = [word for word in rest if word.value is None and not numbers.is_number(word)]
        yield from ((Why.ARITHMETIC, word) for word in unknown)
    else:
        parts = [rest]
    for part in parts:
        yield from _one_test(numbers, part)


def _one_test(numbers: Numbers, words: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    values = [word.value for word in words]
    if len(words) <= 1:
        return
    if len(words) == 2:
        if values[0] not in _FILE_TESTS and values[0] != "!":
            yield Why.ARITHMETIC, words[0]
    elif len(words) == 3 and values[1] in _COMPARISONS:
        return
    elif len(words) == 3 and values[1] in _NUMERIC:
        yield from ((Why.ARITHMETIC, word) for word in (words[0], words[2]) if not numbers.is_number(word))
    else:
        yield Why.ARITHMETIC, words[0]
