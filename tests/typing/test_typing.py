"""What a type checker tells plugin authors: nothing about right code, and the right thing about wrong code."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from hookrouter._contract.tables import EVENT_NAMES, EVENTS, TOOLS
from hookrouter.hookspecs import all_spec_classes
from hookrouter.testing.pytest_plugin import skip_without
from scripts.generate.hookspecs import TOOL_EXAMPLES

SNIPPETS = Path(__file__).parent / "snippets"

ROOT = Path(__file__).parents[2]

Checker = Callable[..., list[tuple[str, int, str]]]
"""Checks files; returns file, line and the checker's name for the mistake, for each one."""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    """Return ``mypy --strict``, with any further options."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy-cache")

    def run(*paths: Path, options: Sequence[str] = ()) -> list[tuple[str, int, str]]:
        config = ["--config-file=", "--strict", "--no-error-summary", "--no-pretty", "--hide-error-context", *options]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *config, f"--cache-dir={cache}", *map(str, paths)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert not done.stderr, done.stderr
        reported = []
        for line in done.stdout.splitlines():
            if ": note:" not in line:
                match = re.fullmatch(r"(.*\.py):(\d+): error: .*\[([\w-]+)\]", line)
                assert match, line
                reported.append((Path(match[1]).name, int(match[2]), match[3]))
        return reported

    return run


@pytest.fixture(scope="module")
def pyright(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    """Return pyright in its strict mode, with any further settings."""
    program = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if program is None:
        skip_without("pyright is not installed")
    version = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False, cwd=ROOT)
    if version.returncode != 0:
        skip_without(f"pyright does not start (it needs node, and npm when it first runs): {version.stderr[-300:]}")

    def run(*paths: Path, options: Mapping[str, object] | None = None) -> list[tuple[str, int, str]]:
        project = tmp_path_factory.mktemp("pyright")
        for path in paths:
            shutil.copy(path, project)
        config = {"typeCheckingMode": "strict", "pythonVersion": "3.11"}
        (project / "pyrightconfig.json").write_text(json.dumps({**config, **(options or {})}), encoding="utf-8")
        done = subprocess.run(
            [str(program), "--project", str(project), "--pythonpath", sys.executable, "--outputjson"],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        document = json.loads(done.stdout)
        assert document["summary"]["filesAnalyzed"] == len(paths), done.stdout
        return [
            (Path(found["file"]).name, found["range"]["start"]["line"] + 1, found.get("rule", found["message"]))
            for found in document["generalDiagnostics"]
        ]

    return run


@pytest.fixture(params=["mypy", "pyright"])
def checker(request: pytest.FixtureRequest) -> str:
    """Name one checker after the other."""
    name: str = request.param
    return name


def mistakes(path: Path, checker: str) -> set[tuple[str, int, str]]:
    """Return what the comments of a file say that a checker must report."""
    marked = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if found := re.search(r"# error: ([\w-]+), (\w+)", line):
            marked[number] = {"mypy": found[1], "pyright": found[2]}
    assert marked
    return {(path.name, number, names[checker]) for number, names in marked.items()}


def test_right_code_passes(checker: str, request: pytest.FixtureRequest) -> None:
    check: Checker = request.getfixturevalue(checker)
    assert check(SNIPPETS / "good.py") == []


def test_each_mistake_is_reported_where_it_is_made(checker: str, request: pytest.FixtureRequest) -> None:
    check: Checker = request.getfixturevalue(checker)
    path = SNIPPETS / "bad.py"
    reported, expected = set(check(path)), mistakes(path, checker)
    assert expected - reported == set()
    # Pyright tells what follows from a mistake too, such as an unknown type.
    assert {line for _, line, _ in reported} == {line for _, line, _ in expected}


def test_override_can_be_asked_for(checker: str, request: pytest.FixtureRequest) -> None:
    check: Any = request.getfixturevalue(checker)
    options = {"mypy": ["--enable-error-code=explicit-override"], "pyright": {"reportImplicitOverride": "error"}}
    path = SNIPPETS / "unmarked.py"
    assert check(path) == []
    assert set(check(path, options=options[checker])) == mistakes(path, checker)
    assert check(SNIPPETS / "good.py", options=options[checker]) == []


TOOL_EXAMPLES_BY_HOOK = {
    f"{EVENTS[EVENT_NAMES[event]].hook}_{TOOLS[tool]}": body for (event, tool), body in TOOL_EXAMPLES.items()
}


def test_the_examples_of_the_hook_reference_pass(mypy: Checker, tmp_path: Path) -> None:
    """Each example becomes the override of its spec, with the spec's own annotations."""
    modules: dict[str, Path] = {}
    for number, specs in enumerate(all_spec_classes()):
        source = inspect.getsource(sys.modules[specs.__module__])
        imports = source[source.index("from __future__") : source.index("__all__")]
        body = []
        for name, function in inspect.getmembers(specs, inspect.isfunction):
            example = inspect.cleandoc(function.__doc__ or "").partition("Example::\n\n")[2]
            lines = (
                TOOL_EXAMPLES_BY_HOOK.get(name) or dedent(chr(10).join(dedent(example).splitlines()[2:])).splitlines()
            )
            if not lines or "import" in example:
                # Contributions are imported from the author's own package.
                continue
            signature = inspect.signature(function)
            body.append(f"@hookimpl\ndef {name}{signature}:\n" + indent("\n".join(lines), "    ") + "\n")
        if not body:
            continue
        module = tmp_path / f"example{number}.py"
        module.write_text(
            f"{imports}\nfrom hookrouter import hookimpl\nfrom hookrouter.hookspecs import {specs.__name__}\n"
            "from hookrouter.hookspecs.commands import Command\nfrom hookrouter.replies import *\n\n\n"
            f"class Plugin({specs.__name__}):\n{indent(chr(10).join(body), '    ')}",
            encoding="utf-8",
        )
        modules[specs.__name__] = module
    assert {"EventSpecs", "PreToolUseSpecs", "CommandSpecs", "SettingsSpecs"} <= set(modules)
    assert mypy(*modules.values()) == []
