"""A plugin as ``hookrouter plugins new`` writes it, in a fresh environment: found, tested, and clean as it is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.testing.pytest_plugin import skip_without

if TYPE_CHECKING:
    from support.generated import Generated

pytestmark = pytest.mark.xdist_group("generated")


def test_hookrouter_lists_it(generated: Generated) -> None:
    listing = json.loads(generated.run("hookrouter", "plugins", "list", "--json").stdout)
    (plugin,) = [plugin for plugin in listing if plugin["name"] == "night-guard"]
    assert (plugin["status"], plugin["version"], plugin["reason"]) == ("active", "0.1.0", "")
    assert "pre_tool_use_bash" in plugin["hooks"]


def test_the_installed_hookrouter_writes_packages_too(generated: Generated, tmp_path: Path) -> None:
    done = generated.run("hookrouter", "plugins", "new", "another", "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "hookrouter-another" / ".gitignore").exists()

    done = generated.run("hookrouter", "plugins", "new", "night-guard", "--dir", str(tmp_path))
    assert done.returncode == 2
    assert "is installed here already" in done.stderr


def test_its_own_tests_pass(generated: Generated) -> None:
    done = generated.run("pytest", "-q", "--ignore", "tests/test_live.py", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^18 passed", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize(
    "command", [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",), ("pyright",)], ids=" ".join
)
def test_it_is_clean(generated: Generated, command: tuple[str, ...]) -> None:
    if command == ("pyright",):
        skip_without("" if shutil.which("node") else "no node: pyright would fetch one when it first runs")
    done = generated.run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
