"""The ``hookrouter`` command line: finds the command that is asked for, and imports only that one."""

from __future__ import annotations

import errno
import functools
import importlib
import inspect
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol, runtime_checkable

import typer
from typer.core import TyperCommand, TyperGroup

from hookrouter import __version__
from hookrouter._commands import BUILT_IN, GROUPS, CommandEntry, cli_commands, contributed
from hookrouter._plugins.registry import PluginStatus
from hookrouter.cli.errors import CommandError
from hookrouter.cli.output import OutputLostError, flush_output, prepare_output
from hookrouter.cli.terminal import COMPLETION_VARIABLE
from hookrouter.storage.home import HomeError
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import describe_error, did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter._plugins.registry import PluginInfo

__all__ = ["command_line", "main"]

_HELP = """Routes every Claude Code hook event through plugins, and answers Claude's questions for an agent.

Start with: hookrouter init.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit code.

    0: done; 1: failed, or something was found wrong; 2: the command line or a file cannot be used. A command may have
    codes of its own, and one whose output cannot be written (a full disk, a closed pipe) keeps its code, unless that
    is 0: then it is 1, because whoever reads the output did not get it.
    """
    prepare_output()
    code = 0
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv) or ["--help"])
        flush_output()
    except OutputLostError as error:
        if error.errno != errno.EPIPE:
            _say(f"the output cannot be written: {error.strerror}")
        return code or 1
    return code


def _run(arguments: list[str]) -> int:
    if COMPLETION_VARIABLE in os.environ:
        from hookrouter.cli.completion import answer_to_the_shell

        answer_to_the_shell()
    try:
        words = _in_order(arguments)
        # Not standalone, so that what is wrong with a command line arrives here.
        result = command_line().main(args=words, prog_name="hookrouter", standalone_mode=False)
    except SystemExit as stopped:
        if isinstance(stopped.code, str):
            _say(stopped.code)
            return 1
        return stopped.code or 0
    except typer.Abort:
        _say("aborted")
        return 1
    except (CommandError, HomeError, StoreError) as error:
        _say(str(error))
        _echo_error(arguments, str(error))
        return 2
    except Exception as error:
        if not isinstance(error, _UsageFault):
            raise
        error.show()
        _echo_error(arguments, error.format_message())
        return int(error.exit_code)
    return result if isinstance(result, int) else 0


def _in_order(arguments: list[str]) -> list[str]:
    """Return the words as typer reads them: one option may stand before its command."""
    if not any(word.startswith("--machine") for word in arguments):
        return arguments
    from hookrouter.cli.fleet.option import behind_the_command

    return behind_the_command(arguments)


def command_line() -> Any:
    """Return the group of all commands, as typer has it."""
    app = typer.Typer(
        cls=_Commands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=_HELP
    )
    app.callback()(_options)
    return typer.main.get_command(app)


@runtime_checkable
class _UsageFault(Protocol):
    """What is wrong with a command line, as typer raises it. It exports no common base of these exceptions."""

    exit_code: int

    def show(self) -> None: ...

    def format_message(self) -> str: ...


def _echo_error(arguments: Sequence[str], message: str) -> None:
    """Write the JSON document of a command that failed, if it was asked for one."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in options:
        from hookrouter.cli.options import echo_json

        echo_json({"error": printable(message)})


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"hookrouter {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    # typer takes the text before the commands from `help`; a docstring here would replace it.
    pass


class _Commands(TyperGroup):
    """The group of all commands. Plugins are asked only when a name is not built in, or for the list."""

    @functools.cached_property
    def _plugins(self) -> tuple[dict[str, CommandEntry], list[str], list[PluginInfo]]:
        try:
            from hookrouter.cli.application import Application

            plugins = Application.from_environ(share=False).plugins
            usable, problems = contributed(cli_commands(plugins))
            listing = plugins.listing()
        except Exception as error:  # noqa: BLE001 - the built-in commands must work whatever state plugins are in
            return {}, [f"the plugins' commands are not available: {describe_error(error)}"], []
        return usable, problems, listing

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names for the help page, and say on stderr what is wrong with any; to a shell, the names alone."""
        usable, problems, _ = self._plugins
        for problem in [] if ctx.resilient_parsing else problems:
            _say(f"warning: {problem}")
        return [*(command.name for command in BUILT_IN), *usable]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """Return the command of this name without importing it; None if there is none."""
        for command in BUILT_IN:
            if command.name == cmd_name:
                return _LazyCommand(command)
        entry = self._plugins[0].get(cmd_name)
        return None if entry is None else _LazyCommand(entry)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands to the help page, in their groups."""
        entries = [
            *BUILT_IN,
            *(entry for name in self.list_commands(ctx) if (entry := self._plugins[0].get(name)) is not None),
        ]
        for group in dict.fromkeys((*GROUPS, *(entry.group for entry in entries))):
            rows = [(entry.name, entry.help) for entry in entries if entry.group == group]
            with formatter.section(printable(group)):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and the other arguments; ends the program if there is no such command."""
        if not ctx.resilient_parsing and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            self._unknown(args[0])
        return super().resolve_command(ctx, args)

    def _unknown(self, name: str) -> NoReturn:
        usable, problems, listing = self._plugins
        names = [*(command.name for command in BUILT_IN), *usable]
        hint = did_you_mean(name, names, "'hookrouter --help' lists the commands")
        _say(f"there is no command {name!r}; {hint}")
        for problem in problems:
            _say(f"note: {problem}")
        for info in listing:
            if info.status != PluginStatus.ACTIVE:
                _say(f"note: the plugin {info.name} is {info.status} ({info.reason}); its commands are missing")
        raise typer.Exit(2)


class _LazyCommand(TyperCommand):
    """Stands in the list for a command, and becomes the real one when it is used."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(name=entry.name, help=entry.help, callback=None, rich_markup_mode=None)
        self._entry = entry

    def get_short_help_str(self, limit: int = 45) -> str:  # noqa: ARG002 - click's signature
        """Return the whole line for the list; click would cut it at its first sentence."""
        return self._entry.help

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the command, and let it read its arguments."""
        return self.real().make_context(info_name, args, parent=parent, **extra)

    def real(self) -> Any:
        """Import the command and return it."""
        entry = self._entry
        try:
            module, _, attribute = entry.target.partition(":")
            target: Any = importlib.import_module(module)
            for part in attribute.split("."):
                target = getattr(target, part)
            if not isinstance(target, typer.Typer):
                target = _application(entry, target)
            return typer.main.get_command(target)
        except Exception as error:
            if entry.plugin is None:
                raise
            _say(
                f"the command {entry.name!r} of the plugin {entry.plugin} cannot be used: "
                f"{entry.target} failed with {describe_error(error)}"
            )
            raise typer.Exit(1) from None


def _application(entry: CommandEntry, function: Callable[..., object]) -> typer.Typer:
    """Wrap a function as an application of one command, whose result, if it is a number, is the exit code."""

    @functools.wraps(function)
    def command(*arguments: Any, **options: Any) -> None:
        result = function(*arguments, **options)
        if isinstance(result, int) and result:
            raise typer.Exit(int(result))

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name=entry.name, help=inspect.getdoc(function) or entry.help)(command)
    return app


def _say(text: str) -> None:
    """Write one line for a person, without control characters that a plugin or an argument may hold."""
    typer.echo(f"hookrouter: {printable(text)}", err=True)
