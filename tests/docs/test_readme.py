"""The README: short, with the two marked commands that CI runs."""

from __future__ import annotations

import ast
import re
from textwrap import dedent

from hookrouter.cli.scaffold.package import plan
from support.manual import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_commands_for_people_are_between_their_markers() -> None:
    for name in ("demo", "test"):
        found = re.search(rf"<!-- {name}-command -->\n```sh\n(.+)\n```\n<!-- /{name}-command -->", README)
        assert found is not None
        assert found[1].startswith("python3 -m venv .venv && ")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_its_guard_is_the_one_that_plugins_new_writes() -> None:
    """The README has rules in place of settings, and nothing else is different."""
    block = re.search(r"```python\n(# no_force_push\.py\n.+?)```", README, re.DOTALL)
    assert block is not None
    files = plan("no-force-push").files
    written = files["src/hookrouter_no_force_push/__init__.py"]

    def body(source: str) -> str:
        start = re.search(r"^ *reading = ", source, re.MULTILINE)
        assert start is not None
        return dedent(source[start.start() :])

    assert body(block[1]) == body(written).replace("context.settings(Settings).refuse", "RULES")
    rules = re.search(r"^RULES = (.+)$", block[1], re.MULTILINE)
    assert rules is not None
    default = re.search(
        r"refuse: .+?default=(\(.+?\)),\s", files["src/hookrouter_no_force_push/settings.py"], re.DOTALL
    )
    assert default is not None
    assert ast.literal_eval(rules[1]) == ast.literal_eval(default[1])
