"""The hook by which plugins bring commands to ``hookrouter``."""

from __future__ import annotations

from typing import NamedTuple

from hookrouter.markers import hookspec

__all__ = ["Command", "CommandSpecs"]


class Command(NamedTuple):
    """One command of the command line, described without importing it."""

    name: str
    """What is typed after ``hookrouter``."""
    help: str
    """One line for ``hookrouter --help``."""
    target: str
    """``package.module:function``: a function annotated for typer, imported only when the command is used."""
    quick: str = ""
    """``package.module:function`` for a command that programs call and that must start fast: called before typer is
    imported, with the :class:`~hookrouter.application.Application` and the words after the command's name. It returns
    the exit code, or None, having done nothing, to leave the words to ``target``; those with ``--help`` always are."""


class CommandSpecs:
    """The hook of the command line. Also a base class: override what the plugin implements."""

    @hookspec
    def cli_commands(self) -> list[Command] | None:
        """When: ``hookrouter`` is used as a command line, never on ``hookrouter run``.

        Returns: ``None`` for no commands, or a list of :class:`Command`. The functions behind them are imported only
        when the command is used, so this hook must not import them.

        Combined: The commands of all plugins are offered side by side. A name that is taken, by hookrouter or by a
        plugin before, is reported and not offered.

        Args:
            (none): The function of a command reads config and state through ``Application.from_environ()``.

        Example::

            @hookimpl
            def cli_commands():
                return [Command("greet", "Say hello.", "hookrouter_greet.cli:greet")]
        """
