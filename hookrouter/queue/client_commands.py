"""Which slash commands of the client a queue does not take, as data.

Every built-in command of 2.0.76, 2.1.150 and 2.1.330 was run without arguments, and what the screen then showed is what
stands here. A command that is not listed is allowed: a project's own, a skill's, a plugin's, and all built-in ones that
give the prompt box back by themselves. A command that opens a panel would hold the session until a person closes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.queue.items import command_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EFFORT", "MODEL", "NOT_RUN", "CommandRule", "never_runs", "refused_command"]

MODEL, EFFORT = "model", "effort"
"""The commands that may open a dialog of their own, which is confirmed for exactly what they name."""


class CommandRule(NamedTuple):
    """Commands that are not run, and why."""

    names: tuple[str, ...]
    """Without their slash; other names of the same command among them."""
    why: str
    """What the command does, behind its name."""
    bare: bool = False
    """Whether that holds only without arguments."""
    until: tuple[int, ...] | None = None
    """The last version of which it holds; None for all."""


_PANEL = "opens a panel that holds the session until somebody closes it"
_PICKER = (
    "opens a picker that holds the session until somebody chooses; with what it is to choose as its argument it may run"
)
_AWAY = "leads to another session"

NOT_RUN = (
    CommandRule(
        (
            "agents", "auto-mode-setup", "btw", "chrome", "config", "settings", "cost", "help", "hooks",
            "install-github-app", "keybindings", "memory", "mobile", "ios", "android", "permissions", "allowed-tools",
            "plugin", "plugins", "marketplace", "powerup", "sandbox", "scroll-speed", "skills", "stats", "status",
            "tasks", "bashes", "theme", "usage", "workflows",
        ),
        _PANEL,
    ),
    CommandRule(("diff", "doctor"), _PANEL, until=(2, 1, 150)),
    CommandRule(("autocompact", EFFORT, "export", "fast", "goal", "mcp", MODEL, "output-style"), _PICKER, bare=True),
    CommandRule(("add-dir", "ide"), "opens a dialog that holds the session until somebody answers it"),
    CommandRule(("background", "branch", "fork", "resume", "continue", "rewind", "checkpoint", "undo"), _AWAY),
    CommandRule(("exit", "quit", "logout"), "ends the client"),
    CommandRule(("login", "upgrade"), "asks for a login, which holds the session"),
    CommandRule(("terminal-setup", "tui", "vim"), "changes how the client takes keys"),
)  # fmt: skip


def refused_command(text: str, version: tuple[int, ...] | None) -> str:
    """Return why a slash command is not run on a client of this version, in one sentence; empty if it may run.

    A command of which the version decides is refused if that is not known.
    """
    return _refused(text, lambda until: version is None or version <= until)


def never_runs(text: str) -> str:
    """Return why a slash command is not run on a client of any version, in one sentence; empty if it may run."""
    return _refused(text, lambda _until: False)


def _refused(text: str, holds: Callable[[tuple[int, ...]], bool]) -> str:
    """``holds`` says whether a rule counts that ends with a version."""
    name, arguments = command_of(text)
    for rule in NOT_RUN:
        if name in rule.names and not (rule.bare and arguments) and (rule.until is None or holds(rule.until)):
            return f"/{name} {rule.why}"
    return ""
