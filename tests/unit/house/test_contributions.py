"""What a plugin contributes has its code in that plugin's package, and stands on public modules of the command line."""

from __future__ import annotations

import ast
import importlib
import inspect
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import typer

import hookrouter.cli
from hookrouter import Command

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PLUGINS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["hookrouter"]

CONTRIBUTING = ("cli_commands", "plugin_settings", "statistics_section", "web_pages")
"""The hooks that bring what has code of its own."""


def named(target: str) -> Any:
    module, _, attribute = target.partition(":")
    found: Any = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def codes(contribution: object) -> Iterator[Any]:
    """Yield the functions and classes behind a contribution; classes of the core's hold the plugin's functions."""
    if isinstance(contribution, Command):
        yield from codes(named(contribution.target))
    elif isinstance(contribution, list | tuple):
        for one in contribution:
            yield from codes(one)
    elif isinstance(contribution, typer.Typer):
        yield from (one.callback for one in contribution.registered_commands)
        for group in contribution.registered_groups:
            yield from codes(group.typer_instance)
    elif isinstance(contribution, type) or inspect.isroutine(contribution):
        yield contribution
    else:
        kind = type(contribution)
        fields = (one.name for one in attrs.fields(kind)) if attrs.has(kind) else vars(contribution)
        functions = [one for one in (getattr(contribution, name) for name in fields) if inspect.isroutine(one)]
        yield from functions if kind.__module__.startswith("hookrouter.") else [kind, *functions]


@pytest.mark.parametrize("name", PLUGINS)
def test_what_a_plugin_contributes_is_its_own_code(name: str) -> None:
    package = PLUGINS[name].partition(":")[0].partition(".")[0]
    plugin = named(PLUGINS[name])
    found = [code for hook in CONTRIBUTING if hasattr(plugin, hook) for code in codes(getattr(plugin, hook)())]
    elsewhere = {code.__module__ for code in found if code.__module__.partition(".")[0] != package}
    assert not elsewhere


def test_commands_are_looked_at() -> None:
    (rules,) = [one for one in named("hookrouter_approvals").cli_commands() if one.name == "rules"]
    (answer,) = codes(Command("answer", "", "hookrouter.cli.dialogs.answer:answer"))
    assert {code.__name__ for code in codes(rules)} >= {"list_rules", "check", "preset"}
    assert answer.__module__ == "hookrouter.cli.dialogs.answer"


def test_plugins_use_only_the_public_modules_of_the_command_line() -> None:
    used = set()
    for file in (ROOT / "plugins").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hookrouter.cli"):
                used.add((node.module or "").removeprefix("hookrouter.cli."))
    assert used
    assert used <= set(hookrouter.cli.PUBLIC)
