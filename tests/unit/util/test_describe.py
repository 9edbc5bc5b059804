"""Foreign errors and objects in words."""

from __future__ import annotations

import sys

import pytest

from hookrouter.util.text import describe_error, describe_value


class Text(str):
    __slots__ = ()

    def isprintable(self) -> bool:
        raise ValueError("no")

    def __getitem__(self, key: object) -> str:
        raise ValueError("no")


class Raises(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Exits(Exception):
    def __str__(self) -> str:
        sys.exit(3)


class Odd(Exception):
    def __str__(self) -> str:
        return Text("\x1b[31mred")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no\nsuch"), "ValueError: no\\x0asuch"),
        (Raises(), "Raises: its text cannot be shown"),
        (Exits(), "Exits: its text cannot be shown"),
        (Odd(), "Odd: \\x1b[31mred"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_an_error_is_told_whatever_it_is(error: BaseException, text: str) -> None:
    assert describe_error(error) == text


def test_a_long_text_is_cut() -> None:
    assert len(describe_error(ValueError("\x1b" * 900))) == 500
    assert describe_error(ValueError("x" * 900), 20) == "ValueError: xxxxxxxx"


def test_a_value_is_told_whatever_it_is() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise ValueError("no")

    class Subclass:
        def __repr__(self) -> str:
            return Text("\x1b")

    assert describe_value({"a": 1}) == "{'a': 1}"
    assert describe_value("x" * 200) == "'" + "x" * 99 + "…"
    assert describe_value(Silent()) == "an object that cannot be shown"
    assert type(describe_value(Subclass())) is str
