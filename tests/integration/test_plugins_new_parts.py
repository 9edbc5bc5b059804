"""What ``hookrouter plugins new`` writes besides hooks, installed from its folder without a network.

The contract tests of these packages are run by tests/docs: the manual's pages show the same files. Here is the way to
there: the folder is built and installed by pip, and hookrouter finds the plugin. What no page shows is tested here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter.cli.scaffold.parts import PARTS
from hookrouter.util.program import script_argv

OPTIONS = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]


def run(*command: str, folder: Path, **environ: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("hook", "options"),
    [
        *((part, ()) for part in PARTS),
        ("pre_tool_use_web_fetch", ("--fail-closed",)),
        ("gateway", ("--http",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hookrouter_finds_it_once_it_is_installed(hook: str, options: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    arguments = ["plugins", "new", "my-own", "--event", hook, *options, "--json"]
    package = json.loads(run(*script_argv(), *arguments, folder=tmp_path))
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", *OPTIONS, "--target", str(site), package["folder"], folder=tmp_path)

    listing = json.loads(run(*script_argv(), "plugins", "list", "--json", folder=tmp_path, PYTHONPATH=str(site)))

    (plugin,) = [plugin for plugin in listing if plugin["name"] == "my-own"]
    assert (plugin["status"], plugin["version"], plugin["reason"]) == ("active", "0.1.0", "")
    assert hook in plugin["hooks"]
    if options or hook in ("dialog_kinds", "statistics_section"):
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        assert " passed" in run(*command, folder=Path(package["folder"]), PYTHONPATH=str(site))
