"""Words of a command against a rule's: what is said for certain holds for whatever the unknown words become."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.permission_rules.rule import MAYBE, NO, YES
from hookrouter.permission_rules.words import CommandPattern, Shape, Shaped, fit_words
from hookrouter.shell.reader import read

TOKENS = st.lists(st.sampled_from(["*", "a", "b", "a*", "*b", "ab"]), min_size=1, max_size=5)
KNOWN = st.sampled_from(["a", "b", "ab", "ba", "c"]).map(Shape)
UNKNOWN = st.builds(
    lambda prefix, suffix, splits: Shape(None, prefix, suffix, splits, splits),
    st.sampled_from(["", "a"]),
    st.sampled_from(["", "b"]),
    st.booleans(),
)
BECOMES = st.lists(st.sampled_from(["a", "b", "ab", "c", ""]), max_size=3)


def shaped(line: str) -> Shaped:
    (command,) = read(line).commands
    return Shaped(command)


def is_of(wanted: list[str], words: list[str]) -> bool:
    """Say it in another way: by trying."""
    if not wanted:
        return not words
    first, *rest = wanted
    if first != "*":
        return bool(words) and fnmatchcase(words[0], first) and is_of(rest, words[1:])
    return any(is_of(rest, words[taken:]) for taken in range(1 if rest else 0, len(words) + 1))


@given(TOKENS, st.lists(KNOWN | UNKNOWN, max_size=4), st.data())
def test_what_is_said_holds_for_all_that_words_become(
    wanted: list[str], words: list[Shape], data: st.DataObject
) -> None:
    said = fit_words(wanted, words)
    became: list[str] = []
    for word in words:
        if word.value is not None:
            became.append(word.value)
        elif word.splits:
            middle = data.draw(BECOMES)
            # It begins with what it begins with, and ends so, be it in another word.
            texts = [f"{word.prefix}{middle[0]}", *middle[1:]] if middle else [word.prefix] if word.prefix else []
            if word.suffix:
                texts = [*texts[:-1], f"{texts[-1] if texts else ''}{word.suffix}"]
            became += texts
        else:
            became.append(f"{word.prefix}{data.draw(st.sampled_from(['', 'a', 'b', 'c']))}{word.suffix}")
    if is_of(wanted, became):
        assert said != NO
    else:
        assert said != YES
    if all(word.value is not None for word in words):
        assert said == (YES if is_of(wanted, became) else NO)


@given(
    st.lists(st.sampled_from(["*", "a", "b", "a*"]), min_size=1, max_size=30), st.lists(KNOWN | UNKNOWN, max_size=40)
)
def test_no_pattern_takes_long(wanted: list[str], words: list[Shape]) -> None:
    assert fit_words(wanted, words) in (NO, MAYBE, YES)


@pytest.mark.parametrize(
    ("specifier", "line", "grants", "refuses"),
    [
        ("git push:*", "git push", YES, YES),
        ("git push:*", "git push origin $branch", YES, YES),
        ("git push:*", "git -C lib push", YES, YES),
        ("git push:*", "git $x", MAYBE, MAYBE),
        ("git push:*", "git pushx", NO, NO),
        ("git push:*", "git 'push origin'", NO, NO),
        ("npm run test", "npm run test x", NO, NO),
        ("npm run test", "npm run test $x", MAYBE, MAYBE),
        ("git * main", "git push origin main", YES, YES),
        ("git * main", "git main", NO, NO),
        ("git * main", "git $x main", MAYBE, MAYBE),
        ("git * main", 'git "$x" main', YES, YES),
        ("git push * --force", "git push a$x", MAYBE, MAYBE),
        ("git push * --force", "git push a*", NO, NO),
        ("git push:*", "$x git push", MAYBE, MAYBE),
        ("git push --force", "git push a$x", MAYBE, MAYBE),
        ("git push --force", 'git push "a$x"', NO, NO),
        ("rm:*", "/bin/rm -rf /", NO, YES),
        ("rm:*", "./r$x y", NO, MAYBE),
        ("rm:*", "rm*", MAYBE, MAYBE),
        ("touch forbidden*", "touch forbidden-1", YES, YES),
        ("pytest --junit=*", "pytest --junit=$x.xml", MAYBE, MAYBE),
        ("pytest --junit=*", 'pytest --junit="$x"', YES, YES),
    ],
)
def test_a_command_is_a_rules(specifier: str, line: str, grants: int, refuses: int) -> None:
    command = shaped(line)
    assert CommandPattern(specifier).fit(command) == grants
    assert CommandPattern(specifier, refuses=True).fit(command) == refuses


def test_where_file_names_take_no_account_of_case_refusing_rules_take_none() -> None:
    command = shaped("RM -rf x")
    assert CommandPattern("rm:*", refuses=True, folds=True).fit(command) == YES
    assert CommandPattern("rm:*", refuses=False, folds=True).fit(command) == NO
    accented = shaped("cafe\u0301 x")
    assert CommandPattern("caf\u00e9:*", refuses=True, folds=True).fit(accented) == YES
