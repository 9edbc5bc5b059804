"""The words of README, manual, help, messages and errors: none that CONTRIBUTING's list has replaced."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from support.manual import REPOSITORY

LIST = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### Words\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (`.+?) \|", LIST, re.MULTILINE)
REPLACED = [phrase for row in ROWS for phrase in re.findall(r"`([a-z ]+)`", row)]


def any_of(phrases: list[str]) -> str:
    """Return a pattern of the phrases, whose words may be on two lines."""
    return "|".join(re.sub(" ", r"\\s+", phrase) for phrase in phrases)


_ORDERS = [phrase.capitalize() for phrase in REPLACED if phrase.startswith("have ")]
_PHRASES = [phrase for phrase in REPLACED if not phrase.startswith("have ")]
WORDS = re.compile(rf"\b(?i:{any_of(_PHRASES)})\b|(?:^|[.:(|]\s*)(?:{any_of(_ORDERS)})\b", re.MULTILINE)

EXCEPTIONS = {
    ("prompts/skill.md", "what comes"): "what comes next: the plan's next step",
    ("prompts/turn_ended.md", "what comes"): "what comes next: the plan's next step",
    ("plugins/hookrouter_demo/queue_scene.py", "what comes"): "a prompt, in the words of a user",
    ("hookrouter/shell/commands.py", "what comes"): "what comes after a command",
}
"""What may stay, by file and words, and why."""


def found(text: str) -> list[str]:
    return [" ".join(one[0].strip(".:(| \n").split()).lower() for one in WORDS.finditer(text)]


def shown_texts(source: str) -> list[str]:
    """Return the strings of a module that people may read: all but docstrings, and single words."""
    tree = ast.parse(source)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    return [node.value for node in texts if isinstance(node.value, str) and " " in node.value.strip()]


def offences(name: str) -> list[str]:
    source = (REPOSITORY / name).read_text(encoding="utf-8")
    if name == "CONTRIBUTING.md":
        source = source.replace(LIST, "")
    if not WORDS.search(source):
        return []
    texts = shown_texts(source) if name.endswith(".py") else [source]
    return [f"{name}: {one}" for text in texts for one in found(text) if (name, one) not in EXCEPTIONS]


def names(*patterns: str) -> list[str]:
    files: list[Path] = [file for pattern in patterns for file in sorted(REPOSITORY.glob(pattern)) if file.is_file()]
    return [str(file.relative_to(REPOSITORY)) for file in files]


def test_the_list_is_read() -> None:
    assert {"anew", "what waits", "is said", "mend", "have the"} <= set(REPLACED)
    assert found("It begins\nanew. Have the router end.") == ["anew", "have the"]
    assert found("They have the same name.") == []


def test_the_readme_and_the_manual() -> None:
    pages = names("README.md", "CONTRIBUTING.md", "docs/**/*.md", "examples/*/README.md", "claude-plugin/README.md")
    pages.remove("docs/changelog.md")
    assert [one for page in pages for one in offences(page)] == []


def test_what_agents_and_people_are_sent() -> None:
    assert [one for name in names("prompts/**/*.md") for one in offences(name)] == []


@pytest.mark.slow
def test_the_texts_of_the_code() -> None:
    """Messages, errors and help; the long help, from docstrings, is in the manual's reference."""
    files = names("hookrouter/**/*.py", "hookrouter/**/*.html", "plugins/**/*.py")
    assert [one for name in files for one in offences(name)] == []


def test_no_exception_is_left_over() -> None:
    left = [name for name, words in EXCEPTIONS if words not in found((REPOSITORY / name).read_text(encoding="utf-8"))]
    assert left == []
