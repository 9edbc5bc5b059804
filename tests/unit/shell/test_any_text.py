"""Any text is read without an error, and what a certain reading holds covers the text."""

from __future__ import annotations

import random
import re

from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter.shell.commands import Reading, Word
from hookrouter.shell.reader import read
from support.shell_oracle import random_shell_line

SHELLS = st.sampled_from(["bash", "zsh", "sh"])
PIECES = st.sampled_from(
    [
        *(
            "a",
            "ls",
            "x=1",
            "$x",
            "$(",
            "`",
            "${x:-",
            "}",
            "'",
            '"',
            "\\",
            "\n",
            " ",
            ";",
            "&&",
            "||",
            "|",
            "&",
            "(",
            ")",
        ),
        *("{", "if ", "then ", "fi", "for x in ", "do ", "done", "case ", "esac", "[[ ", " ]]", "[ ", " ]", "((", "))"),
        *("<<EOF\n", "EOF\n", "<<<", ">", "2>&1", "<(", "#", "!", "*", "~", "é", "bash -c ", "xargs ", "find . -exec "),
        *("sudo ", "env ", "git -c ", "sed ", "awk ", "set -", "test ", "declare ", "printf -v ", "read ", "time "),
    ]
)


def check(reading: Reading, text: str) -> None:
    """Check what is true of every reading."""
    assert reading.text == text
    assert reading.certain == (not reading.doubts)
    for word in words(reading):
        assert 0 <= word.start <= word.end <= len(text)
        assert word.parts or word.text
    for doubt in reading.doubts:
        assert 0 <= doubt.start <= doubt.end <= len(text)


def words(reading: Reading) -> list[Word]:
    every = [*reading.words, *(word for command in reading.commands for word in command.words)]
    for redirection in (*reading.redirections, *(one for command in reading.commands for one in command.redirections)):
        every += [redirection.target] if redirection.target else []
    return every


@given(st.text(), SHELLS)
def test_any_text_is_read(text: str, shell: str) -> None:
    check(read(text, shell), text)


@given(st.binary(), SHELLS)
def test_so_is_what_bytes_decode_to(data: bytes, shell: str) -> None:
    for text in (data.decode("latin-1"), data.decode("utf-8", "surrogateescape"), data.decode("utf-8", "replace")):
        check(read(text, shell), text)


@given(st.lists(PIECES), SHELLS)
@example(["{ d . &&shift a; }", "} > f"], "zsh")
def test_so_are_pieces_of_shells(pieces: list[str], shell: str) -> None:
    check(read("".join(pieces), shell), "".join(pieces))


@given(st.integers(0, 2**32), SHELLS)
def test_so_are_nested_lines(seed: int, shell: str) -> None:
    line = random_shell_line(random.Random(seed))
    check(read(line, shell), line)


RESERVED = re.compile(
    r"[;&|(){}!\s\\]+|\[\[|\]\]|case|coproc|done|do|elif|else|esac|fi|for|function|if|in|select|then|until|while|f|x|i|z|\(\(.*?\)\)"
)


@given(st.integers(0, 2**32))
def test_outside_of_what_a_certain_reading_holds_are_only_operators_and_reserved_words(seed: int) -> None:
    line = random_shell_line(random.Random(seed))
    reading = read(line)
    if not reading.certain:
        return
    left = list(line)
    spans = [(word.start, word.end) for word in words(reading)]
    for command in reading.commands:
        spans += [(one.start, one.end) for one in (*command.assignments, *command.redirections)]
    spans += [(one.start, one.end) for one in reading.redirections]
    for start, end in spans:
        left[start:end] = " " * (end - start)
    rest = re.sub(r"(?<![^\s;&|(])#.*", "", "".join(left))
    rest = re.sub(r"\(\(.*?\)\)", "", rest)
    assert RESERVED.sub("", rest).strip() in ("", "<", ">", "&&<", "<>"), (line, rest)
