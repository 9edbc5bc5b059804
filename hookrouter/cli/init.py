"""``hookrouter init``: from nothing to the first answer."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from hookrouter._setup.choices import Words
from hookrouter.cli.errors import CommandError
from hookrouter.cli.init_run import set_up
from hookrouter.cli.installation import chosen_file
from hookrouter.cli.options import DryRun  # noqa: TC001 - typer reads it
from hookrouter.cli.settings_options import Scope, ScopeOption, SettingsOption

__all__ = ["init"]

_NO_TERMINAL = (
    "there is no terminal to ask on; say by options who answers (--command PROGRAM, --openclaw URL with --token-file "
    "FILE, --webhook URL, --person or --guards), which sessions (--sessions GLOB) and who is told if nobody does "
    "(--escalate-command PROGRAM or --escalate-webhook URL), and add --yes to write without a question back, or "
    "--dry-run to see it"
)


class Format(StrEnum):
    """What the agent's program reads."""

    TEXT = "text"
    JSON = "json"


def init(
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            metavar="PROGRAM",
            help="A program answers; or, with --person, tells you. With its arguments, quoted as for a shell; no shell "
            "runs it. A word that names a file here gets its whole path.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the name of the option, as the key of config.toml has it
        Format | None,
        typer.Option("--format", help="With --command: what it reads on stdin. Default: text."),
    ] = None,
    openclaw: Annotated[
        str | None, typer.Option("--openclaw", metavar="URL", help="An agent of this OpenClaw gateway answers.")
    ] = None,
    openclaw_agent: Annotated[
        str | None,
        typer.Option("--openclaw-agent", metavar="ID", help="With --openclaw: the agent's id there. Default: main."),
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option("--token-env", metavar="NAME", help="With --openclaw: the variable that holds hooks.token."),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option("--token-file", metavar="FILE", help="With --openclaw: the file that holds it, chmod 600."),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option("--webhook", metavar="URL", help="The service at this address answers, or tells you."),
    ] = None,
    person: Annotated[
        bool, typer.Option("--person", help="Only you answer; told by --command or --webhook, else by nobody.")
    ] = False,
    guards: Annotated[
        bool,
        typer.Option(
            "--guards",
            help="Nobody answers: only your own plugins, rules and scripts are called. Asks nothing, and writes.",
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The agent's name in config.toml. Default: agent, or me."),
    ] = None,
    sessions: Annotated[
        list[str] | None,
        typer.Option(
            "--sessions", metavar="GLOB", help="Which sessions, by the names of tmux; may be repeated. Default: all."
        ),
    ] = None,
    escalate_command: Annotated[
        str | None,
        typer.Option(
            "--escalate-command", metavar="PROGRAM", help="Run this program if nobody answers for an hour, to tell you."
        ),
    ] = None,
    escalate_webhook: Annotated[
        str | None,
        typer.Option("--escalate-webhook", metavar="URL", help="The same, by an address, such as a chat's."),
    ] = None,
    escalate_to: Annotated[
        str | None,
        typer.Option("--escalate-to", metavar="NAME", help="The same, by a gateway that config.toml has."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", metavar="NAME", help="Rules for permissions to begin with; hookrouter rules preset lists them."
        ),
    ] = None,
    settings: SettingsOption = None,
    scope: ScopeOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: take the default where no option says otherwise, and write.")
    ] = False,
    test: Annotated[bool, typer.Option("--test/--no-test", help="Whether to send test messages.")] = True,
    dry_run: DryRun = False,
) -> int:
    """Set hookrouter up: who answers, for which sessions, who is told if nobody does, and which rules hold.

    Asks a few questions on a terminal; each can be answered by an option instead. Writes config.toml with comments,
    registers the hooks as hookrouter install does, sends a test message (kind test) through each gateway and waits for
    its arrival, runs doctor, and says what will happen at the first question.

    Nothing is overwritten: of a config.toml that is there the difference is shown first, and every byte stays but what
    is added. Without --command, --openclaw, --webhook or --person, with --yes, it stays as it is; if there is none, you
    are the one who answers. Nothing is written before you agree, or without --yes.

    With --guards there is no agent: hookrouter's own plugins that let one answer are switched off (guards_alone of
    [plugins]), and the hooks are those that your plugins listen to, none before there is one. It asks nothing and
    needs no --yes. hookrouter init without it, later, switches the rest on.

    \b
    Examples:
      hookrouter init
      hookrouter init --guards
      hookrouter init --command '~/bin/agent --night' --sessions 'work-*'
      hookrouter init --yes --openclaw http://127.0.0.1:18789 --token-file ~/.config/openclaw-token
      hookrouter init --yes --person --command 'notify-send Claude asks'
      hookrouter init --dry-run --command ~/bin/agent --escalate-webhook https://chat.example.org/hooks/x

    \b
    Exit codes:
      0    set up: every test message arrived, and doctor finds no error
      1    not agreed to, and nothing was written; or set up, and doctor finds an error
      2    wrong arguments, or a file that cannot be used; nothing was written unless it says so
      3    set up, and a test message did not arrive; config.toml and the hooks stay
      130  stopped by Ctrl-C; it says what was done until then
    """
    words = Words(
        command=command,
        openclaw=openclaw,
        openclaw_agent=openclaw_agent,
        token_env=token_env,
        token_file=token_file,
        webhook=webhook,
        person=person,
        format=None if format is None else format.value,
        name=name,
        sessions=tuple(sessions) if sessions else None,
        escalate_command=escalate_command,
        escalate_webhook=escalate_webhook,
        escalate_to=escalate_to,
        preset=preset,
        guards=guards,
    )
    if guards and words != Words(guards=True):
        raise CommandError("--guards is for nobody who answers: leave out the other options but --settings and --scope")
    asks = not (yes or guards) and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if not (asks or yes or guards or dry_run):
        raise CommandError(_NO_TERMINAL)
    path = chosen_file(settings, scope)
    return set_up(words, path, is_project=scope is Scope.PROJECT, asks=asks, test=test, dry_run=dry_run)
