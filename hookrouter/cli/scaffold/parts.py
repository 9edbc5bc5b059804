"""Packages that bring a part of hookrouter, such as a gateway, a channel, a storage engine or a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._commands import BUILT_IN
from hookrouter._contract.document import snake
from hookrouter.cli.scaffold.errors import ScaffoldError
from hookrouter.cli.scaffold.source import fill, template_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["HTTP", "PARTS", "Part", "chosen_part", "part_files"]

_CONTRACT = ("hypothesis>=6.100",)
_CONTRACT_TESTS = "`tests/test_{module_name}.py` holds the part to the contract of all of its kind."


class Part(NamedTuple):
    """One kind of part that a plugin can bring."""

    hook: str
    """The hook by which it is brought, which is also the folder of its templates."""
    about: str
    """A sentence for the README."""
    use: str
    """A command that shows that it works."""
    needs: tuple[str, ...] = ()
    """What its package needs besides hookrouter."""
    tests: str = _CONTRACT_TESTS
    """What its tests do."""
    tests_need: tuple[str, ...] = _CONTRACT
    """What its tests need besides pytest."""
    over: str = ""
    """A folder of templates that take the place of those of the same name; empty for none."""

    @property
    def templates(self) -> dict[str, str]:
        """Its templates, by the name of their files."""
        folders = [folder for folder in (self.hook, self.over) if folder]
        return {name: f"{folder}/{name}" for folder in folders for name in template_names(folder)}


PARTS: Mapping[str, Part] = {
    part.hook: part
    for part in (
        Part("gateway", "Wakes agents by a line of JSON in a file.", "hookrouter doctor", ("attrs>=24.2",)),
        Part(
            "terminal_backend",
            "Reads the panes of a terminal, and presses keys in them.",
            "hookrouter demo --terminal {plugin}",
        ),
        Part("keystroke_planner", "Answers forms of one question by an option's number.", "hookrouter config check"),
        Part(
            "answer_channel", "Gives answers to a program that runs Claude through an SDK.", "hookrouter config check"
        ),
        Part(
            "dialog_kinds",
            "Has agents decide on each page that Claude wants to fetch.",
            "hookrouter plugins info {plugin}",
            (),
            "`tests/test_{module_name}.py` has dialogs opened by hooks, decided by the real `hookrouter`, and ended.",
            (),
        ),
        Part(
            "prompt_channel", "Gives prompts to a program that runs Claude through an SDK.", "hookrouter config check"
        ),
        Part(
            "storage_engine",
            "Keeps questions, answers, queues and messages in a folder that several machines share.",
            "hookrouter storage check",
            ("attrs>=24.2",),
        ),
        Part(
            "cli_commands",
            "Counts the tool calls in the journal.",
            "hookrouter plugins info {plugin}",
            ("typer>=0.15",),
            "`tests/test_{module_name}.py` calls the function of the command, and the real `hookrouter`.",
            (),
        ),
        Part(
            "statistics_section",
            "Adds the number of tool calls to `hookrouter stats`.",
            "hookrouter stats",
            (),
            "`tests/test_{module_name}.py` counts records, and asks the real `hookrouter`.",
            (),
        ),
        Part(
            "resident_process",
            "Keeps a process beside the router that tells how many questions are open.",
            "hookrouter plugins info {plugin}",
        ),
        Part(
            "web_pages",
            "Shows on the page for people how much of the disk is free.",
            "hookrouter plugins info {plugin}",
            (),
            "`tests/test_{module_name}.py` looks at what is shown of sessions.",
            (),
        ),
    )
}
"""What ``--event`` takes besides events and their hooks."""

HTTP = PARTS["gateway"]._replace(
    about="Wakes agents by posting each message to an address.",
    tests="`tests/test_{module_name}.py` holds the gateway to the contract of all gateways, against a server of its "
    "own that also answers as no service should.",
    over="gateway_http",
)
"""What ``--event gateway --http`` makes."""


def chosen_part(events: Sequence[str], plugin: str, *, http: bool = False) -> Part | None:
    """Return the part that ``--event`` names; None if it names none. Raises ScaffoldError.

    ``http``: the gateway is to be one over HTTP.
    """
    if http and [snake(event.replace("-", "_")) for event in events] != ["gateway"]:
        found_events = ", ".join(events) or "no --event"
        raise ScaffoldError(f"--http: is for --event gateway alone; found {found_events}")
    found = [part for event in events if (part := PARTS.get(snake(event.replace("-", "_"))))]
    if not found:
        return None
    if len(set(events)) > 1:
        raise ScaffoldError(
            f"--event: {found[0].hook} makes a package of its own, so it is the only one; found {', '.join(events)}"
        )
    if found[0].hook == "cli_commands" and plugin in {command.name for command in BUILT_IN}:
        raise ScaffoldError(f"NAME: the command would be called hookrouter {plugin}, which there is already")
    return HTTP if http else found[0]


def part_files(part: Part, words: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a part's package that are its own: code, tests and what the README says."""
    module = words["module"]
    files = {f"src/{module}/py.typed": ""}
    for name, template in part.templates.items():
        if name == "plugin.py":
            files[f"src/{module}/__init__.py"] = fill(template, words)
        elif name == "test_plugin.py":
            files[f"tests/test_{words['module_name']}.py"] = fill(template, words)
        elif os.path.splitext(name)[1] == ".py":
            files[f"src/{module}/{name}"] = fill(template, words)
    return files
