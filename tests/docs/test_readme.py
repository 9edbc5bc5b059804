"""The README: short, with the two marked commands that CI runs."""

from __future__ import annotations

import re
import tomllib

from support.manual import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_commands_for_people_are_between_their_markers() -> None:
    for name in ("demo", "test"):
        found = re.search(rf"<!-- {name}-command -->\n```sh\n(.+)\n```\n<!-- /{name}-command -->", README)
        assert found is not None
        assert found[1].startswith("python3 -m venv .venv && ")


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_its_first_plugin_is_short() -> None:
    block = re.search(r"```python\n# no_force_push\.py\n(.+?)```", README, re.DOTALL)
    assert block is not None
    assert len([line for line in block[1].splitlines() if line]) <= 12


def test_it_says_which_extra_a_feature_needs() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert set(re.findall(r"`hookrouter\[(\w+)\]`", README)) == set(extras) - {"dev", "docs"}


def test_it_leads_to_the_manual() -> None:
    manual = README.partition("## The manual")[2].partition("## ")[0]
    assert len(re.findall(r"\]\(docs/", manual)) == 12
