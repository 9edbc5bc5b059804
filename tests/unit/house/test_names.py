"""No module of hookrouter names a first-party plugin, a kind of dialog or a terminal, but for those that have to."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CORE = ROOT / "hookrouter"

EVERYDAY = {"approvals", "blocked", "command", "demo", "fleet", "inbox", "monitor", "page", "rules", "sessions"}
"""Plugins whose names are words of everyday, or tables of config.toml. Who imports them is the linter's to say."""
KINDS = {"permission", "plan", "elicitation", "blocked"}
"""``question`` is none of them: it is the name of the documents of all dialogs, and of the message about any."""
CONSTANTS = {"PERMISSION", "PLAN", "ELICITATION", "TMUX"}
OTHERS = {"tmux", "AskUserQuestion", "ExitPlanMode"}

ALLOWED = {
    "tools/": "generated: the client's own tools",
    "events/": "generated: the client's own events",
    "hookspecs/": "generated hooks of the client's tools, and examples in their docstrings",
    "_contract/": "the client's contract, as data",
    "__init__.py": "hands on the generated classes of a tool",
    "config.py": "defaults of the config",
    "_config/": "defaults and examples of the config",
    "_sandbox/": "runs the client, or a model of it, in a terminal of its own",
    "_diagnostics/client_check.py": "tries the real client in a terminal of its own",
    "_diagnostics/decision_check.py": "tries the first-party kinds on the real client",
    "_serving/gate/sent_headers.py": "headers that carry variables of the client's environment",
    "_setup/": "writes the config that somebody chooses among what comes with hookrouter",
    "_installation/adopting.py": "takes hooks into the table that has the name of the plugin that runs them",
    "_installation/adoption.py": "the same",
    "_diagnostics/configuration.py": "the same table",
    "_diagnostics/explain.py": "what runs of the same table",
    "cli/explain.py": "the same",
    "cli/init": "offers what comes with hookrouter",
    "cli/dialogs/skill.py": "teaches a program that is called so",
    "cli/doctor.py": "where the real client is tried",
    "cli/scaffold/": "tests of new packages run the client in a terminal",
    "dialogs/messages/outgoing.py": "a file of prompts/, of which people have copies of their own",
    "dialogs/stories/": "journal records of forms name their tool and no kind",
    "replies.py": "keys and modes of the client",
    "shell/": "programs that a command line may run",
    "testing/": "for tests of plugins: what the client asks, and the contracts by kind",
}
"""Where such a name may stand, by the beginning of the path, and why."""


@functools.cache
def words() -> re.Pattern[str]:
    plugins = {one.name.removeprefix("hookrouter_") for one in (ROOT / "plugins").iterdir() if one.is_dir()} - EVERYDAY
    spellings = {re.sub("_", "[-_]", name) for name in plugins} | OTHERS
    return re.compile(rf"(?<![A-Za-z0-9])(hookrouter_)?({'|'.join(sorted(spellings))})(?![A-Za-z0-9])")


def named(source: str) -> set[str]:
    """Return the names that a module's strings and variables hold, docstrings apart."""
    pattern, found = words(), set[str]()
    if not pattern.search(source) and not any(word in source for word in KINDS | CONSTANTS):
        return found
    tree = ast.parse(source)
    told = {
        id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            hit = pattern.search(node.value)
            if hit or node.value in KINDS:
                found.add(hit[0] if hit else node.value)
        elif isinstance(node, ast.Name) and node.id.lstrip("_") in CONSTANTS:
            found.add(node.id)
    return found


@functools.cache
def offenders() -> dict[str, set[str]]:
    every = {file.relative_to(CORE).as_posix(): named(file.read_text("utf-8")) for file in CORE.rglob("*.py")}
    return {path: names for path, names in every.items() if names}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('if kind == "plan": pass', {"plan"}),
        ('x = "the plugin ask-user-question"', {"ask-user-question"}),
        ('"""About AskUserQuestion."""', set()),
        ("from a import b\nx = PERMISSION", {"PERMISSION"}),
        ('x = "a plan of mine"', set()),
        ('import_module("hookrouter_hook_reply.channel")', {"hookrouter_hook_reply"}),
    ],
)
def test_a_name_is_seen(source: str, names: set[str]) -> None:
    assert named(source) == names


def test_no_module_names_a_plugin_a_kind_or_a_terminal() -> None:
    assert not {path: names for path, names in offenders().items() if not path.startswith(tuple(ALLOWED))}


def test_nothing_is_allowed_that_needs_it_no_more() -> None:
    paths = offenders()
    generated = {start for start, why in ALLOWED.items() if why.startswith("generated")}
    assert {start for start in ALLOWED if any(path.startswith(start) for path in paths)} >= ALLOWED.keys() - generated
