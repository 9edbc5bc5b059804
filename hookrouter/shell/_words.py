"""Reads words: what is quoted, what is expanded, and where a word ends.

It knows a list of forms. What is none of them raises :class:`NotKnown`, and never passes for plain text.
"""

from __future__ import annotations

from hookrouter.shell._lists import NAME
from hookrouter.shell.commands import Expansion, Literal, Why
from hookrouter.util.lazy_pattern import LazyPattern

TYPE_CHECKING = False

if TYPE_CHECKING:
    import re
    from typing import Protocol

    from hookrouter.shell.commands import ExpansionKind

    class Budget(Protocol):
        """How much work is left."""

        parts: int
        """How many parts of words may still be read."""

    class Nested(Protocol):
        """Reads what a word holds that is a command line, or arithmetic, of its own."""

        @property
        def work(self) -> Budget:
            """How much work is left."""

        def substitution(self, at: int) -> int:
            """Read the substitution that begins there; return where it ends. Raises NotKnown if there is none."""

        def arithmetic(self, at: int) -> int:
            """Read ``$((…))``; return where it ends. Raises NotKnown if there is none."""

        def index(self, name: str, at: int) -> None:
            """Note that a variable is evaluated as a number."""

        def assigned(self, name: str) -> None:
            """Note that an expansion may assign a variable (``${x:=…}``)."""


__all__ = ["METACHARACTERS", "Dialect", "NotKnown", "Scanner"]

Dialect = str
"""``bash``, ``zsh``, or ``sh`` for what a POSIX shell reads."""

METACHARACTERS = frozenset(" \t\n;&|<>()")
"""Characters that end a word if they are not quoted."""
_DEPTH = 20

_PLAIN = LazyPattern(r"[^ \t\n;&|<>()'\"\\`$*?\[\]{}~=:,.#]+")
_IN_DOUBLE_QUOTES = LazyPattern(r"[^\"\\`$]+")
_IN_DOCUMENT = LazyPattern(r"[^\\`$]+")
_ANSI_C = LazyPattern(r"(?:[^'\\]|\\[nt\\'\"abefrv])*")
_ANSI_C_ESCAPES = {"n": "\n", "t": "\t", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "r": "\r", "v": "\v"}
_ESCAPED = LazyPattern(r"\\(.)")
_TILDE = LazyPattern(r"(?:^|[=:])~")
_PARAMETER = LazyPattern(rf"\$(?:(?P<name>{NAME})|(?P<number>[?#$!])|(?P<other>[@*0-9-]))")
_BRACED = LazyPattern(
    rf"\$\{{(?P<length>\#)?(?P<name>{NAME}|\d+|[@*?\#$!-])(?:\[(?:[@*]|-?\d+|\$?(?P<index>{NAME}))\])?"
)
_OPERATOR = LazyPattern(r":?[-=+?]|\#\#?|%%?|//|/[#%]?|\^\^?|,,?|@[QULu]|:\ ?-?\d+(?::-?\d+)?")
_WITH_TEXT = (":-", "-", ":=", "=", ":+", "+", ":?", "?")
_WITH_PATTERN = ("#", "##", "%", "%%", "/", "//", "/#", "/%")
_OPERAND = LazyPattern(r"(?:[A-Za-z0-9_./:,@%+=^ ~-]|\\[/.*?-])+")
_PATTERN = LazyPattern(r"(?:[A-Za-z0-9_./:,@%+=^ ~*?\[\]#-]|\\[/.*?-])+")
_LONE_DOLLAR = frozenset(" \t\n;|&)")
_LONE_DOLLAR_QUOTED = _LONE_DOLLAR | frozenset('"./,]}%')


class NotKnown(Exception):
    """A form that the reader does not know."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why = why
        self.at = at


class Scanner:
    """Reads one word, or here-document."""

    def __init__(self, text: str, dialect: Dialect, nested: Nested) -> None:
        self._text = text
        self._dialect = dialect
        self._nested = nested
        self._parts: list[Literal | Expansion] = []
        self._mask: list[str] = []
        """Of each character of a literal part itself if it is not quoted, else NUL; also for each expansion."""
        self._depth = 0

    def word(self, at: int, *, is_pattern: bool = False) -> tuple[tuple[Literal | Expansion, ...], int]:
        """Read the word that begins at an offset; return its parts and its end. Raises NotKnown.

        A backquote in it ends it unless it begins a substitution. ``is_pattern`` is for a word of which nothing becomes
        a file's name: its wildcards are literal.
        """
        start, text = at, self._text
        if text.startswith("#", at):
            raise NotKnown(Why.SYNTAX, at)
        while at < len(text):
            character = text[at]
            if text[at : at + 2] in ("<(", ">(") and at == start:
                end = self._nested.substitution(at)
                self._expand("process substitution", at, end, splits=False)
                at = end
            elif character in METACHARACTERS:
                if at > start and text[at : at + 2] in ("<(", ">("):
                    # To bash, a part of the word.
                    raise NotKnown(Why.SYNTAX, at)
                break
            elif character == "`":
                try:
                    at = self._substitution(at, quoted=False)
                except NotKnown:
                    # It may end the backquotes that the word stands in: the reader sees whether that is so.
                    break
            else:
                at = self._unquoted(at, character)
        return self._finished(start, at, is_pattern), at

    def document(self, at: int, end: int) -> tuple[Literal | Expansion, ...]:
        """Read a here-document whose delimiter is not quoted. Raises NotKnown."""
        while at < end:
            at = self._quoted_step(at, end, _IN_DOCUMENT)
        if at != end:
            raise NotKnown(Why.SYNTAX, at)
        return _joined(self._parts) or (Literal(""),)

    def _unquoted(self, at: int, character: str) -> int:
        text = self._text
        if character == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise NotKnown(Why.SYNTAX, at)
            self._literal(text[at + 1 : end], quoted=True)
            return end + 1
        if character == '"':
            return self._double_quoted(at)
        if character == "\\":
            if at + 1 >= len(text) or text[at + 1] == "\n":
                raise NotKnown(Why.SYNTAX, at)
            self._literal(text[at + 1], quoted=True)
            return at + 2
        if character == "$":
            return self._dollar(at, quoted=False)
        plain = _PLAIN.match(text, at)
        end = plain.end() if plain else at + 1
        self._literal(text[at:end], quoted=False)
        return end

    def _double_quoted(self, at: int) -> int:
        self._literal("", quoted=True)
        at += 1
        while not self._text.startswith('"', at):
            if at >= len(self._text):
                raise NotKnown(Why.SYNTAX, at)
            at = self._quoted_step(at, len(self._text), _IN_DOUBLE_QUOTES)
        return at + 1

    def _quoted_step(self, at: int, end: int, plain: re.Pattern[str]) -> int:
        """Read one part of what double quotes, or a here-document, hold."""
        text = self._text
        found = plain.match(text, at, end)
        if found:
            self._literal(found[0], quoted=True)
            return found.end()
        if text[at] == "`":
            return self._substitution(at, quoted=True)
        if text[at] == "$":
            return self._dollar(at, quoted=True)
        following = text[at + 1 : at + 2]
        if following in ("", "\n"):
            raise NotKnown(Why.SYNTAX, at)
        escaped = '$`"\\' if plain is _IN_DOUBLE_QUOTES else "$`\\"
        self._literal(following if following in escaped else "\\" + following, quoted=True)
        return at + 2

    def _dollar(self, at: int, *, quoted: bool) -> int:
        text = self._text
        if text.startswith("$((", at):
            end = self._nested.arithmetic(at)
            self._expand("arithmetic", at, end, splits=False)
            return end
        if text.startswith("$(", at):
            return self._substitution(at, quoted=quoted)
        if text.startswith("${", at):
            return self._braced(at, quoted=quoted)
        if text.startswith("$'", at) and not quoted and self._dialect != "sh":
            found = _ANSI_C.match(text, at + 2)
            end = found.end() if found else at
            if not text.startswith("'", end):
                raise NotKnown(Why.SYNTAX, at)
            decoded = _ESCAPED.sub(lambda one: _ANSI_C_ESCAPES.get(one[1], one[1]), text[at + 2 : end])
            self._literal(decoded, quoted=True)
            return end + 1
        found = _PARAMETER.match(text, at)
        if found is None:
            following = text[at + 1 : at + 2]
            if following and following not in (_LONE_DOLLAR_QUOTED if quoted else _LONE_DOLLAR):
                raise NotKnown(Why.SYNTAX, at)
            self._literal("$", quoted=True)
            return at + 1
        end = found.end()
        self._check_end(found, end)
        kind: ExpansionKind = "number" if found["number"] else "parameter"
        # Before the first command in the background `$!` is empty.
        splits = found[0] == "$@" or (not quoted and (kind == "parameter" or found[0] == "$!"))
        self._expand(kind, at, end, splits=splits)
        return end

    def _check_end(self, found: re.Match[str], end: int) -> None:
        """Raise NotKnown if a shell may read more as the parameter."""
        following, beyond = self._text[end : end + 1], self._text[end + 1 : end + 2]
        if following and not following.isascii() and following.isalnum():
            raise NotKnown(Why.SYNTAX, end)
        if self._dialect != "zsh":
            return
        # zsh: $x[1], $x:h, $10, $#x
        if following == "[" or (following == ":" and (beyond.isalpha() or beyond == "&")):
            raise NotKnown(Why.SYNTAX, end)
        if found["name"] is None and (following.isalnum() or following in tuple("_#$*@?!-")):
            raise NotKnown(Why.SYNTAX, end)

    def _braced(self, at: int, *, quoted: bool) -> int:
        """Read ``${…}``."""
        text = self._text
        found = _BRACED.match(text, at)
        self._depth += 1
        if found is None or self._depth > _DEPTH:
            raise NotKnown(Why.SYNTAX, at)
        end = found.end()
        name = found["name"]
        if found["index"]:
            self._nested.index(found["index"], at)
        if not text.startswith("}", end):
            operator = _OPERATOR.match(text, end)
            if operator is None or found["length"] or not (name.isalnum() or "_" in name):
                raise NotKnown(Why.SYNTAX, at)
            end = operator.end()
            if operator[0] in _WITH_TEXT:
                end = self._operand(end, _OPERAND, quoted=quoted)
                if "=" in operator[0]:
                    self._nested.assigned(name)
            elif operator[0] in _WITH_PATTERN:
                end = self._operand(end, _PATTERN, quoted=quoted)
        if not text.startswith("}", end):
            raise NotKnown(Why.SYNTAX, at)
        self._depth -= 1
        is_number = bool(found["length"]) or name in ("?", "#", "$", "!")
        several = name == "@" or "[@]" in found[0]
        self._expand(
            "number" if is_number else "parameter",
            at,
            end + 1,
            splits=(not is_number or (name == "!" and not found["length"])) and (several or not quoted),
        )
        return end + 1

    def _operand(self, at: int, plain: re.Pattern[str], *, quoted: bool) -> int:
        """Read what stands behind the operator of ``${…}``: its parts are no parts of the word."""
        parts, mask, text = self._parts, self._mask, self._text
        self._parts, self._mask = [], []
        while not text.startswith("}", at):
            found = plain.match(text, at)
            if found:
                at = found.end()
            elif text.startswith("$", at) and text[at + 1 : at + 2] not in ("'", '"', "}"):
                at = self._dollar(at, quoted=quoted)
            elif text.startswith('"', at) and not quoted:
                at = self._double_quoted(at)
            else:
                raise NotKnown(Why.SYNTAX, at)
        self._parts, self._mask = parts, mask
        return at

    def _substitution(self, at: int, *, quoted: bool) -> int:
        end = self._nested.substitution(at)
        self._expand("command substitution", at, end, splits=not quoted)
        return end

    def _expand(self, kind: ExpansionKind, start: int, end: int, *, splits: bool) -> None:
        self._count(start)
        self._parts.append(Expansion(kind, self._text[start:end], splits))
        self._mask.append("\0")

    def _count(self, at: int) -> None:
        self._nested.work.parts -= 1
        if self._nested.work.parts < 0:
            raise NotKnown(Why.SIZE, at)

    def _literal(self, text: str, *, quoted: bool) -> None:
        self._count(0)
        self._parts.append(Literal(text))
        self._mask.append("\0" * len(text) if quoted else text)

    def _finished(self, start: int, end: int, is_pattern: bool) -> tuple[Literal | Expansion, ...]:
        """Return the parts of a word, with what is unquoted and stands for something else as an expansion."""
        mask = "".join(self._mask)
        if self._dialect == "zsh" and _is_closing(mask):
            raise NotKnown(Why.SYNTAX, start)
        specials = frozenset() if is_pattern else _specials(mask, self._dialect)
        if not specials:
            return _joined(self._parts)
        parts: list[Literal | Expansion] = []
        in_tilde = False
        for part, shown in zip(self._parts, self._mask, strict=True):
            if isinstance(part, Expansion) or "\0" in shown or not (in_tilde or specials.intersection(shown)):
                in_tilde = False
                parts.append(part)
                continue
            for character, seen in zip(part.text, shown, strict=True):
                if seen in "{[" and seen in specials:
                    # What follows is not known: `{a,b}`, `[ab]`.
                    kind: ExpansionKind = "brace" if seen == "{" else "filename"
                    return (*_joined(parts), Expansion(kind, self._text[start:end], splits=True))
                if in_tilde and seen not in "/:":
                    # All up to the slash: `~user/x`.
                    parts[-1] = Expansion("tilde", parts[-1].text + seen)
                    continue
                in_tilde = seen == "~" and "~" in specials
                if in_tilde:
                    parts.append(Expansion("tilde", seen))
                elif seen in specials:
                    parts.append(Expansion("filename", seen, splits=True))
                else:
                    parts.append(Literal(character))
        return _joined(parts)


def _is_closing(mask: str) -> bool:
    """Whether an unquoted brace closes what the word did not open: zsh ends a group there."""
    depth = 0
    for character in mask:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return True
    return False


def _specials(mask: str, dialect: Dialect) -> frozenset[str]:
    """Return the characters of a word that, where they are not quoted, stand for something else."""
    found = set(mask) & set("*?")
    if "[" in mask and "]" in mask[mask.index("[") :]:
        found.add("[")
    inner = mask[mask.find("{") : mask.rfind("}")] if "{" in mask else ""
    if "," in inner or ".." in inner:
        found.add("{")
    if _TILDE.search(mask):
        found.add("~")
    if dialect == "zsh" and mask.startswith("="):
        found.add("=")
    return frozenset(found)


def _joined(parts: list[Literal | Expansion]) -> tuple[Literal | Expansion, ...]:
    """Return parts with neighbouring literals as one."""
    joined: list[Literal | Expansion] = []
    is_one = len(parts) == 1
    for part in parts:
        if isinstance(part, Literal) and not part.text and not is_one:
            continue
        last = joined[-1] if joined else None
        if isinstance(part, Literal) and isinstance(last, Literal):
            joined[-1] = Literal(last.text + part.text)
        else:
            joined.append(part)
    return tuple(joined) or tuple(parts[:1])
