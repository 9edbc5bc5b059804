"""The README: short, with the two marked commands that CI runs."""

from __future__ import annotations

import re

from support.manual import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_commands_for_people_are_between_their_markers() -> None:
    for name in ("demo", "test"):
        found = re.search(rf"<!-- {name}-command -->\n```sh\n(.+)\n```\n<!-- /{name}-command -->", README)
        assert found is not None
        assert found[1].startswith("python3 -m venv .venv && ")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150
