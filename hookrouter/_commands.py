"""Which commands there are: the built-in ones, and those that plugins contribute. None is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrouter._plugins.registry import Plugins
    from hookrouter.hookspecs.commands import Command

__all__ = ["BUILT_IN", "GROUPS", "CommandEntry", "cli_commands", "contributed"]


class CommandEntry(NamedTuple):
    """One command, as the list of commands shows it and as it is found when it is used."""

    name: str
    help: str
    target: str
    """``package.module:attribute``: a function whose annotations typer reads, or a typer application."""
    group: str
    """The title below which it is listed: one of GROUPS, or what a plugin calls it."""
    plugin: str | None = None
    """The plugin that brings it; None for a built-in one."""


ANSWERING, DRIVING, SETTING_UP, LOOKING, RUNNING = (
    "Answer Claude",
    "Drive sessions",
    "Set up",
    "See what happened",
    "Behind the scenes",
)
GROUPS = (ANSWERING, DRIVING, SETTING_UP, LOOKING, RUNNING)
"""The titles of the help page, in its order."""


BUILT_IN = (
    CommandEntry(
        "answer",
        "Answer the question that a Claude Code session is asking.",
        "hookrouter.cli.dialogs.answer:answer",
        ANSWERING,
    ),
    CommandEntry(
        "questions",
        "List the open questions.",
        "hookrouter.cli.dialogs.questions:questions",
        ANSWERING,
    ),
    CommandEntry(
        "pause",
        "Keep hookrouter from waking agents and answering, in a session or in all.",
        "hookrouter.cli.dialogs.pause:pause",
        ANSWERING,
    ),
    CommandEntry(
        "resume",
        "End a pause or a queue's hold; list what was missed.",
        "hookrouter.cli.dialogs.pause:resume",
        ANSWERING,
    ),
    CommandEntry(
        "init", "Set hookrouter up: who answers, the hooks, and a test message.", "hookrouter.cli.init:init", SETTING_UP
    ),
    CommandEntry(
        "install",
        "Register hookrouter in Claude Code's settings.json, or update its entries.",
        "hookrouter.cli.installation:install",
        SETTING_UP,
    ),
    CommandEntry(
        "uninstall",
        "Remove hookrouter's entries from settings.json.",
        "hookrouter.cli.installation:uninstall",
        SETTING_UP,
    ),
    CommandEntry(
        "adopt",
        "Take the hooks that settings.json has into config.toml, or give them back.",
        "hookrouter.cli.adopt:adopt",
        SETTING_UP,
    ),
    CommandEntry("serve", "Run, query or stop the resident router.", "hookrouter.cli.serve:serve", SETTING_UP),
    CommandEntry(
        "skill",
        "Print or install the skill that teaches an agent to answer.",
        "hookrouter.cli.dialogs.skill:skill",
        SETTING_UP,
    ),
    CommandEntry(
        "plugins",
        "Show the installed plugins, switch them on and off, and order them.",
        "hookrouter.cli.plugins:app",
        SETTING_UP,
    ),
    CommandEntry(
        "trust", "Let a project's own plugins run, in its sessions.", "hookrouter.cli.trust:trust", SETTING_UP
    ),
    CommandEntry(
        "untrust", "Take back that a project's own plugins may run.", "hookrouter.cli.trust:untrust", SETTING_UP
    ),
    CommandEntry(
        "config",
        "Check config.toml; show the values in effect and where each comes from.",
        "hookrouter.cli.config:app",
        SETTING_UP,
    ),
    CommandEntry(
        "doctor",
        "Check the installation, and say how to fix what is wrong.",
        "hookrouter.cli.doctor:doctor",
        SETTING_UP,
    ),
    CommandEntry(
        "completion", "Print the shell completion script.", "hookrouter.cli.completion:completion", SETTING_UP
    ),
    CommandEntry(
        "history",
        "Show Claude's questions and how they ended.",
        "hookrouter.cli.dialogs.history:history",
        LOOKING,
    ),
    CommandEntry(
        "explain",
        "Show which plugins a hook call reaches, in which order, and why.",
        "hookrouter.cli.explain:explain",
        LOOKING,
    ),
    CommandEntry("replay", "Run a journalled hook again, and compare.", "hookrouter.cli.replay:replay", LOOKING),
    CommandEntry("logs", "Show the journal, and follow it.", "hookrouter.cli.logs:logs", LOOKING),
    CommandEntry(
        "stats", "Summarize hook runs, their times, and how questions ended.", "hookrouter.cli.stats:stats", LOOKING
    ),
    CommandEntry("outbox", "Show undelivered messages; retry or drop them.", "hookrouter.cli.outbox:app", LOOKING),
    CommandEntry(
        "run",
        "Handle one hook event: payload on stdin, reply on stdout. Claude Code calls this.",
        "hookrouter.cli.run:run",
        RUNNING,
    ),
    CommandEntry(
        "watch",
        "Watch sessions for dialogs that fire no hook (the resident router does this too).",
        "hookrouter.cli.watch:watch",
        RUNNING,
    ),
    CommandEntry(
        "sample", "Print a sample payload of an event, to try plugins.", "hookrouter.cli.sample:sample", RUNNING
    ),
    CommandEntry(
        "deliver",
        "Deliver the messages in the outbox to their agents. Hooks start this by themselves.",
        "hookrouter.cli.deliver:deliver",
        RUNNING,
    ),
    CommandEntry(
        "contract",
        "Show what a new version of Claude Code changes for plugins.",
        "hookrouter.cli.contract:app",
        RUNNING,
    ),
)
"""The core's own commands, in the order of the help page. Their names are taken: no plugin replaces one."""

_RESERVED = {command.name for command in BUILT_IN}


def cli_commands(plugins: Plugins) -> list[tuple[str, Command]]:
    """Return the commands that active plugins contribute, each with its plugin's name."""
    return [(name, command) for name, commands in plugins.collect("cli_commands") for command in commands]


def contributed(commands: Iterable[tuple[str, Command]]) -> tuple[dict[str, CommandEntry], list[str]]:
    """Sort out what plugins contribute: the usable commands by name, and one line for each that is not usable.

    ``commands`` holds (plugin, command) in plugin order; of two commands with one name, the first one stays.
    """
    usable: dict[str, CommandEntry] = {}
    problems: list[str] = []
    for entry in _entries(commands, problems):
        if entry.name in _RESERVED:
            problems.append(
                f"plugin {entry.plugin}: the command {entry.name!r} is hookrouter's own; it stays hookrouter's"
            )
        elif entry.name in usable:
            problems.append(
                f"plugin {entry.plugin}: the command {entry.name!r} is also provided by the plugin "
                f"{usable[entry.name].plugin}, whose command is used"
            )
        else:
            usable[entry.name] = entry
    return usable, problems


def _entries(commands: Iterable[tuple[str, Command]], problems: list[str]) -> Iterator[CommandEntry]:
    for plugin, command in commands:
        texts = [getattr(command, name, None) for name in ("name", "help", "target", "group")]
        name, explanation, target, group = (text if isinstance(text, str) else "" for text in texts)
        if not all(isinstance(text, str) for text in texts):
            problems.append(f"plugin {plugin}: {command!r} is not a Command(name, help, target)")
        elif not _is_name(name):
            problems.append(f"plugin {plugin}: {name!r} is not a command name (lower-case words joined by dashes)")
        elif not all(target.partition(":")):
            problems.append(f"plugin {plugin}: the target {target!r} of {name!r} is not 'package.module:function'")
        else:
            yield CommandEntry(name, explanation, target, group, plugin)


def _is_name(text: str) -> bool:
    """Whether a text is lower-case words of ASCII letters and digits, joined by dashes."""
    words = text.split("-")
    plain = all(word.isascii() and word.isalnum() and word == word.lower() for word in words)
    return plain and words[0][0].isalpha()
