"""Which commands there are: the built-in ones, and those that plugins contribute. None is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookrouter.hookspecs.commands import Command

__all__ = ["BUILT_IN", "CommandEntry", "contributed"]


class CommandEntry(NamedTuple):
    """One command, as the list of commands shows it and as it is found when it is used."""

    name: str
    help: str
    target: str
    """``package.module:attribute``: a function whose annotations typer reads, or a typer application."""
    plugin: str | None = None
    """The plugin that brings it; None for a built-in one."""


BUILT_IN = (
    CommandEntry(
        "run",
        "Handle one hook event: payload on stdin, reply on stdout. Claude Code calls this.",
        "hookrouter.cli.run:run",
    ),
    CommandEntry(
        "init",
        "Set hookrouter up: who answers, the hooks, and a test message.",
        "hookrouter.cli.init:init",
    ),
    CommandEntry(
        "install",
        "Register hookrouter in Claude Code's settings.json, or update its entries.",
        "hookrouter.cli.installation:install",
    ),
    CommandEntry(
        "uninstall", "Take hookrouter's entries out of settings.json.", "hookrouter.cli.installation:uninstall"
    ),
    CommandEntry("serve", "Run, query or stop the resident router.", "hookrouter.cli.serve:serve"),
    CommandEntry(
        "answer", "Answer the question that a Claude Code session is asking.", "hookrouter.cli.dialogs.commands:answer"
    ),
    CommandEntry(
        "questions", "List the questions that wait for an answer.", "hookrouter.cli.dialogs.commands:questions"
    ),
    CommandEntry(
        "history", "Show Claude's questions, and what became of them.", "hookrouter.cli.dialogs.history:history"
    ),
    CommandEntry(
        "pause",
        "Keep hookrouter from waking agents and answering, in a session or in all.",
        "hookrouter.cli.dialogs.pause:pause",
    ),
    CommandEntry(
        "resume",
        "End a pause, and what holds a queue; list what was missed.",
        "hookrouter.cli.dialogs.pause:resume",
    ),
    CommandEntry(
        "skill", "Print or install the skill that teaches an agent to answer.", "hookrouter.cli.dialogs.skill:skill"
    ),
    CommandEntry(
        "watch",
        "Watch sessions for dialogs that fire no hook (the resident router does this too).",
        "hookrouter.cli.watch:watch",
    ),
    CommandEntry(
        "open",
        "Open the page for people: what waits, answered from a browser or a phone.",
        "hookrouter._page.command:open_page",
    ),
    CommandEntry(
        "explain", "Say which plugins a hook call reaches, in which order, and why.", "hookrouter.cli.explain:explain"
    ),
    CommandEntry("demo", "Run the whole question loop in a throw-away sandbox.", "hookrouter._demo.command:demo"),
    CommandEntry("replay", "Run a journalled hook again, and compare.", "hookrouter.cli.replay:replay"),
    CommandEntry("logs", "Show the journal, and follow it.", "hookrouter.cli.logs:logs"),
    CommandEntry("stats", "Count hook runs, their times, and what became of questions.", "hookrouter.cli.stats:stats"),
    CommandEntry("sample", "Print a payload of an event, to try plugins with.", "hookrouter.cli.sample:sample"),
    CommandEntry(
        "plugins", "Show the installed plugins, switch them on and off, and order them.", "hookrouter.cli.plugins:app"
    ),
    CommandEntry(
        "config", "Check config.toml, and show what holds and where it comes from.", "hookrouter.cli.config:app"
    ),
    CommandEntry(
        "doctor", "Check the installation, and say how to mend what is wrong.", "hookrouter.cli.doctor:doctor"
    ),
    CommandEntry(
        "outbox", "Show the messages that wait for delivery; retry or drop them.", "hookrouter.cli.outbox:app"
    ),
    CommandEntry(
        "storage", "Set up, check and fill the engine that keeps the documents.", "hookrouter.cli.storage:app"
    ),
    CommandEntry(
        "deliver",
        "Bring the messages that wait to their agents. Hooks start this by themselves.",
        "hookrouter.cli.deliver:deliver",
    ),
    CommandEntry(
        "contract", "Show what a new version of Claude Code changes for plugins.", "hookrouter.cli.contract:app"
    ),
    CommandEntry(
        "completion",
        "Print the shell completion script.",
        "hookrouter.cli.completion:completion",
    ),
)
"""The core's own commands, in the order of the help page. Their names are taken: no plugin replaces one."""

_RESERVED = {command.name for command in BUILT_IN}


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
                f"plugin {entry.plugin}: the command {entry.name!r} is brought by the plugin "
                f"{usable[entry.name].plugin} too, whose one is used"
            )
        else:
            usable[entry.name] = entry
    return usable, problems


def _entries(commands: Iterable[tuple[str, Command]], problems: list[str]) -> Iterator[CommandEntry]:
    for plugin, command in commands:
        texts = [getattr(command, name, None) for name in ("name", "help", "target")]
        name, explanation, target = texts
        if not isinstance(name, str) or not isinstance(explanation, str) or not isinstance(target, str):
            problems.append(f"plugin {plugin}: {command!r} is not a Command(name, help, target)")
        elif not _is_name(name):
            problems.append(f"plugin {plugin}: {name!r} is not a command name (lower-case words joined by dashes)")
        elif not all(target.partition(":")):
            problems.append(f"plugin {plugin}: the target {target!r} of {name!r} is not 'package.module:function'")
        else:
            yield CommandEntry(name, explanation, target, plugin)


def _is_name(text: str) -> bool:
    """Whether a text is lower-case words of ASCII letters and digits, joined by dashes."""
    words = text.split("-")
    plain = all(word.isascii() and word.isalnum() and word == word.lower() for word in words)
    return plain and words[0][0].isalpha()
