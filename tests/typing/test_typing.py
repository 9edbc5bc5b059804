"""What a type checker tells plugin authors: nothing about right code, and the right thing about wrong code."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from hookrouter.hookspecs import all_spec_classes

if TYPE_CHECKING:
    from collections.abc import Callable

SNIPPETS = Path(__file__).parent / "snippets"

ROOT = Path(__file__).parents[2]

pytest.importorskip("mypy")


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Return a function that runs ``mypy --strict`` on files and returns its lines about them."""
    cache = tmp_path_factory.mktemp("mypy-cache")

    def run(*paths: Path) -> list[str]:
        config = ["--config-file=", "--strict", "--no-error-summary", "--no-pretty", "--hide-error-context"]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *config, f"--cache-dir={cache}", *map(str, paths)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert not done.stderr, done.stderr
        return [line for line in done.stdout.splitlines() if ": note:" not in line]

    return run


def test_right_code_passes(mypy: Callable[..., list[str]]) -> None:
    assert mypy(SNIPPETS / "good.py") == []


def test_each_mistake_is_reported_where_it_is_made(mypy: Callable[..., list[str]]) -> None:
    path = SNIPPETS / "bad.py"
    expected = {
        (number, found[1])
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if (found := re.search(r"# error: ([\w-]+)", line))
    }
    reported = set()
    for line in mypy(path):
        match = re.match(r".*bad\.py:(\d+): error: .*\[([\w-]+)\]$", line)
        assert match, line
        reported.add((int(match[1]), match[2]))
    assert reported == expected


def test_the_examples_of_the_hook_reference_pass(mypy: Callable[..., list[str]], tmp_path: Path) -> None:
    """Each example becomes the override of its spec, with the spec's own annotations."""
    modules = []
    for number, specs in enumerate(all_spec_classes()):
        source = inspect.getsource(sys.modules[specs.__module__])
        imports = source[source.index("from __future__") : source.index("__all__")]
        body = []
        for name, function in inspect.getmembers(specs, inspect.isfunction):
            example = inspect.cleandoc(function.__doc__ or "").split("Example::\n\n")[1]
            lines = dedent(example).splitlines()
            if "import" in example:
                # Contributions are imported from the author's own package.
                continue
            signature = inspect.signature(function)
            body.append(f"@hookimpl\ndef {name}{signature}:\n" + "\n".join(lines[2:]) + "\n")
        if not body:
            continue
        module = tmp_path / f"example{number}.py"
        module.write_text(
            f"{imports}\nfrom hookrouter import hookimpl\nfrom hookrouter.hookspecs import {specs.__name__}\n"
            "from hookrouter.hookspecs.commands import Command\nfrom hookrouter.replies import *\n\n\n"
            f"class Plugin({specs.__name__}):\n{indent(chr(10).join(body), '    ')}",
            encoding="utf-8",
        )
        modules.append(module)
    assert len(modules) == 7
    assert mypy(*modules) == []
