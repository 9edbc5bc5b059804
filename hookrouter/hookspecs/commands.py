"""The hook by which plugins bring commands to ``hookrouter``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrouter.context import Services

__all__ = ["Command", "CommandSpecs", "ReadingSection", "StatisticsSection"]


class Command(NamedTuple):
    """One command of the command line, described without importing it."""

    name: str
    """What is typed after ``hookrouter``."""
    help: str
    """One line for ``hookrouter --help``."""
    target: str
    """``package.module:function``: a function annotated for typer, or a typer application of several commands; imported
    only when the command is used."""
    group: str = "Plugins"
    """The title below which ``hookrouter --help`` lists it; one of hookrouter's own, or another one."""


class StatisticsSection(Protocol):
    """Figures that a plugin adds to ``hookrouter stats``. It is made anew for each use of the command."""

    name: str
    """Its key in the ``--json`` document, such as ``questions``."""

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one journal record of any kind; records may come in any order. Must not raise."""

    def document(self) -> dict[str, Any]:
        """Return the figures as JSON values."""

    def lines(self) -> list[str]:
        """Return the figures in words, for people; nothing if there is nothing to tell."""

    def moments(self) -> dict[str, list[float]]:
        """Return rows for the timeline: for each name when it happened, in seconds since 1970."""


@runtime_checkable
class ReadingSection(Protocol):
    """A :class:`StatisticsSection` that also counts what stands elsewhere than in the journal, such as documents."""

    def read(self, services: Services, *, since: float | None, session: str | None, plugin: str | None) -> None:
        """Read the rest, once, after all records were added. May raise StoreError.

        The arguments are what the command was asked for: seconds since 1970, a session's name or the beginning of its
        id, and the plugin whose runs alone are wanted; None for all.
        """


class CommandSpecs:
    """The hooks of the command line. Also a base class: override what the plugin implements."""

    @hookspec
    def cli_commands(self) -> list[Command] | None:
        """When: ``hookrouter`` is used as a command line, never on ``hookrouter run``.

        Returns: ``None`` for no commands, or a list of :class:`Command`. Their functions are imported only
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

    @hookspec
    def statistics_section(self) -> StatisticsSection | None:
        """When: ``hookrouter stats`` is used.

        Returns: ``None`` for no figures, or a :class:`StatisticsSection` that has counted nothing yet.

        Combined: Each plugin's section is shown; of two with one name, the first one stays.

        Args:
            (none): The section is given every journal record that the command was asked about.

        Example::

            @hookimpl
            def statistics_section():
                from hookrouter_greet.statistics import GreetingStatistics

                return GreetingStatistics()
        """
