"""``hookrouter completion``, and the words that options offer for completion."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.completion

from hookrouter.cli.terminal import COMPLETION_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Shell",
    "answer_to_the_shell",
    "completion",
    "event_words",
    "hook_names",
    "open_sessions",
    "plain",
    "plugin_names",
]

_typer: Any = typer.completion
"""Its functions are not exported in a way that type checkers accept."""

_PLAIN = re.compile(r"[\w.@+=/-]+", re.ASCII)


class Shell(StrEnum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell that reads the script.")],
) -> None:
    """Print the script that teaches a shell to complete hookrouter's commands, options and names.

    It completes the commands of plugins too, and what they name: plugins, hooks, events, sessions that ask. The script
    stays valid when plugins come and go: it asks hookrouter each time.

    \b
    To load it in every new shell:
      bash  echo 'eval "$(hookrouter completion bash)"' >> ~/.bashrc
      zsh   echo 'eval "$(hookrouter completion zsh)"' >> ~/.zshrc     (below the line with compinit)
      fish  hookrouter completion fish > ~/.config/fish/completions/hookrouter.fish

    \b
    Examples:
      eval "$(hookrouter completion bash)"
      hookrouter completion fish | source

    \b
    Exit codes:
      0  the script was written
      2  no such shell
    """
    typer.echo(
        _typer.get_completion_script(prog_name="hookrouter", complete_var=COMPLETION_VARIABLE, shell=shell.value)
    )


def answer_to_the_shell() -> None:
    """Prepare this process to answer a shell that asks for words, in the way of typer's scripts."""
    _typer.completion_init()


def plain(names: Iterable[str]) -> list[str]:
    """Return the names that may be given to a shell, which evaluates what it gets: letters, digits and ``_.@+=/-``."""
    return sorted({name for name in names if _PLAIN.fullmatch(name)})


def plugin_names() -> list[str]:
    """Return the names of the installed plugins."""
    from hookrouter.cli.application import Application

    return plain(info.name for info in Application.from_environ(share=False).plugins.listing())


def hook_names() -> list[str]:
    """Return the names of all hooks."""
    from hookrouter._inspection.inspector import spec_names

    return plain(spec_names())


def event_words() -> list[str]:
    """Return the events as the command line spells them."""
    from hookrouter._contract.tables import EVENTS

    return plain(EVENTS)


def open_sessions() -> list[str]:
    """Return the sessions in which a dialog waits for an answer."""
    from hookrouter.cli.application import Application
    from hookrouter.dialogs import documents

    return plain(one.session for one in documents.list_questions(Application.from_environ().store))
