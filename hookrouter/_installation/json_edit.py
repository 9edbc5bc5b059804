"""Edits JSON text in place, so that everything that an edit is not about stays as its owner wrote it.

A :class:`Document` knows where each value lies in the text. Adding an element and removing it again gives the same
text, character by character; number literals, escapes, order and spacing of all else are never rewritten.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

from attrs import field, frozen

from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Array", "Document", "Element", "JsonTextError", "Object", "Scalar"]

_WHITESPACE = " \t\n\r"
_DEFAULT_INDENT = "  "


class JsonTextError(HookrouterError, ValueError):
    """The text is not strict JSON, or not unambiguous. The message holds line and column, both from 1."""


@frozen
class Scalar:
    """A string, number, true, false or null."""

    start: int
    end: int
    value: object
    """Strings, booleans and null as Python has them; a number as the text that spells it."""
    is_string: bool


@frozen
class Element:
    """One member of an object (with its key) or one item of an array (key None)."""

    start: int
    end: int
    key: str | None
    value: Node


@frozen
class Object:
    """A JSON object; ``text[start]`` is ``{`` and ``text[end - 1]`` is ``}``."""

    start: int
    end: int
    elements: tuple[Element, ...]

    def get(self, key: str) -> Node | None:
        """Return the member's value, or None if there is none."""
        return next((element.value for element in self.elements if element.key == key), None)

    def index(self, key: str) -> int:
        """Return the member's position. Raises KeyError."""
        for position, element in enumerate(self.elements):
            if element.key == key:
                return position
        raise KeyError(key)


@frozen
class Array:
    """A JSON array; ``text[start]`` is ``[`` and ``text[end - 1]`` is ``]``."""

    start: int
    end: int
    elements: tuple[Element, ...]


Node = Object | Array | Scalar


@frozen
class Document:
    """One JSON text and its parse. Every edit returns a new document."""

    text: str
    root: Node = field(init=False)

    @root.default
    def _parse(self) -> Node:
        return _Parser(self.text).document()

    def raw(self, node: Node | Element) -> str:
        """Return the text that spells this value."""
        return self.text[node.start : node.end]

    def position(self, offset: int) -> str:
        """Return ``line L column C`` of an offset."""
        return _position(self.text, offset)

    def replace(self, node: Node | Element, raw: str) -> Document:
        """Put other JSON text in the place of a value."""
        return self._splice(node.start, node.end, raw)

    def remove(self, container: Object | Array, index: int) -> Document:
        """Take one element out, with the comma and the white space that came with it."""
        elements = container.elements
        if len(elements) == 1:
            return self._splice(container.start + 1, container.end - 1, "")
        if index:
            return self._splice(elements[index - 1].end, elements[index].end, "")
        return self._splice(elements[0].start, elements[1].start, "")

    def append(self, container: Object | Array, value: object, key: str | None = None) -> Document:
        """Add an element (for an object: with its key) at the end, in the style of its neighbours.

        A container whose elements stand on one line stays on one line; an empty one is opened up, except in a text that
        is all on one line.
        """
        elements = container.elements
        newline = "\r\n" if "\r\n" in self.text else "\n"
        if elements:
            gap = self._gap_before(container, len(elements) - 1)
            if "\n" in gap:
                indent = gap[gap.rindex("\n") + 1 :]
                added = f",{newline}{indent}{self._render(value, key, indent, newline)}"
            else:
                space = "" if self._is_tight(container, gap) else " "
                added = f",{space}{self._render_inline(value, key, space)}"
            return self._splice(elements[-1].end, elements[-1].end, added)
        brackets = "{}" if isinstance(container, Object) else "[]"
        if self._on_one_line():
            space = "" if self._is_tight(self.root, "") else " "
            inner = self._render_inline(value, key, space)
        else:
            outer = self._line_indent(container.start)
            indent = outer + self.indent_unit()
            inner = f"{newline}{indent}{self._render(value, key, indent, newline)}{newline}{outer}"
        return self._splice(container.start, container.end, brackets[0] + inner + brackets[1])

    def indent_unit(self) -> str:
        """Return the white space of one level: that of the first nested line, or two spaces."""
        for container in _containers(self.root):
            if container.elements and "\n" in (gap := self._gap_before(container, 0)):
                indent = gap[gap.rindex("\n") + 1 :]
                outer = self._line_indent(container.start)
                if indent.startswith(outer) and len(indent) > len(outer):
                    return indent[len(outer) :]
        return _DEFAULT_INDENT

    def _splice(self, start: int, end: int, replacement: str) -> Document:
        return Document(self.text[:start] + replacement + self.text[end:])

    def _gap_before(self, container: Object | Array, index: int) -> str:
        """Return the white space before an element, back to the comma or the bracket."""
        start = container.elements[index].start
        before = self.text[:start]
        return before[len(before.rstrip(_WHITESPACE)) :]

    def _line_indent(self, offset: int) -> str:
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _on_one_line(self) -> bool:
        root = self.root
        return isinstance(root, Object | Array) and bool(root.elements) and "\n" not in self.raw(root)

    def _is_tight(self, container: Node, gap: str) -> bool:
        """Whether no space stands after commas and colons here."""
        if gap:
            return False
        if isinstance(container, Array | Object) and len(container.elements) > 1:
            return True
        return '": ' not in self.text and '", ' not in self.text

    def _render(self, value: object, key: str | None, indent: str, newline: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=self.indent_unit()).split("\n")
        prefix = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        return prefix + (newline + indent).join(lines)

    def _render_inline(self, value: object, key: str | None, space: str) -> str:
        separators = ("," + space, ":" + space)
        prefix = "" if key is None else json.dumps(key, ensure_ascii=False) + separators[1]
        return prefix + json.dumps(value, ensure_ascii=False, separators=separators)


def _containers(node: Node) -> Iterator[Object | Array]:
    if isinstance(node, Object | Array):
        yield node
        for element in node.elements:
            yield from _containers(element.value)


def _position(text: str, offset: int) -> str:
    line = text.count("\n", 0, offset) + 1
    return f"line {line} column {offset - text.rfind(chr(10), 0, offset)}"


class _Constant(str):
    """NaN, Infinity or -Infinity, which Python's parser accepts and JSON does not know."""


class _Parser:
    """Finds the place of every value. The standard library's parser judges the syntax first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._scalar: Callable[[str, int], tuple[object, int]] = json.JSONDecoder(
            parse_int=str, parse_float=str, parse_constant=_Constant
        ).raw_decode

    def document(self) -> Node:
        try:
            json.loads(self._text, parse_int=str, parse_float=str, parse_constant=str)
            return self._value(self._skip(0))
        except json.JSONDecodeError as error:
            raise JsonTextError(f"{error.msg} at {_position(self._text, error.pos)}") from None
        except RecursionError:
            raise JsonTextError("nested too deeply") from None

    def _value(self, start: int) -> Node:
        opening = self._text[start]
        if opening == "{":
            return self._object(start)
        if opening == "[":
            return self._array(start)
        value, end = self._scalar(self._text, start)
        if isinstance(value, _Constant):
            self._fail(f"{value} is not JSON", start)
        return Scalar(start, end, value, opening == '"')

    def _object(self, start: int) -> Object:
        elements = []
        seen = set()
        cursor = self._skip(start + 1)
        while self._text[cursor] != "}":
            key, key_end = self._scalar(self._text, cursor)
            if key in seen:
                self._fail(f"the key {json.dumps(key)} is there twice", cursor)
            seen.add(key)
            value = self._value(self._skip(self._skip(key_end) + 1))
            elements.append(Element(cursor, value.end, str(key), value))
            cursor = self._after(value.end)
        return Object(start, cursor + 1, tuple(elements))

    def _array(self, start: int) -> Array:
        elements = []
        cursor = self._skip(start + 1)
        while self._text[cursor] != "]":
            value = self._value(cursor)
            elements.append(Element(cursor, value.end, None, value))
            cursor = self._after(value.end)
        return Array(start, cursor + 1, tuple(elements))

    def _after(self, end: int) -> int:
        cursor = self._skip(end)
        return self._skip(cursor + 1) if self._text[cursor] == "," else cursor

    def _skip(self, cursor: int) -> int:
        while self._text[cursor] in _WHITESPACE:
            cursor += 1
        return cursor

    def _fail(self, problem: str, offset: int) -> NoReturn:
        raise JsonTextError(f"{problem} at {_position(self._text, offset)}")
