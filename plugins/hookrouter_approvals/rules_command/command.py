"""``hookrouter rules``: what the permission rules do, tried on one call and on those of the past."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.config_file import addition, config_of
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.terminal import DIM, RED, YELLOW, Progress, Style, has_unicode
from hookrouter.permission_rules.judging import AGENT, ALLOW, Call, Rules, with_project
from hookrouter.permission_rules.rule import EDITING, READING, RUNNING, RuleError
from hookrouter.shell.reader import client_shell
from hookrouter.util.clock import now
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from hookrouter.config import Config

__all__ = ["app", "check", "list_rules", "preset", "try_rules"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show what the permission rules do, and try them: on one call, and on those of the past.",
)


class Shell(StrEnum):
    """Which shell a command line is read as."""

    BASH = "bash"
    ZSH = "zsh"


_Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="The rules of this file instead of config.toml.")
]
_Shell = Annotated[
    Shell | None,
    typer.Option("--shell", help="The shell that command lines are for. Default: the one that Claude Code would use."),
]

_MOST_DECIDED = 200_000
"""Dialogs of the journal that are looked at."""
_PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
_MAX_PAYLOAD = 16 * 1024 * 1024


@app.command("list")
def list_rules(config: _Config = None, as_json: Json = False) -> None:
    """Show the rules in order: what each is about, and what keeps it from deciding anything.

    The rules of this folder's project come last, if it is trusted. They hold beside yours, and the stricter counts.

    Said of a rule: which earlier one is about every call of it, so that it decides nothing; why no call can be one of
    it; and for which tools no hook is registered in Claude Code's settings for a session in this folder, so that it is
    not asked.

    With --json: file, and rules: rule, decide, about, shadowed_by (null for none), never (why no call is one of it),
    unregistered (tools), file (the project's that has it, null for one of your own).

    \b
    Examples:
      hookrouter rules list
      hookrouter rules list --json | jq -r '.rules[] | select(.shadowed_by) | .rule'

    Exit codes: 0 shown; 2 the config cannot be used.
    """
    from hookrouter_approvals.rules_command.listing import listed

    here = _here()
    services, used, path = _config(config, here)
    project = used.project_rules
    with redirect_stdout(sys.stderr):
        found = [{**one, "file": None} for one in listed(services, Rules.of(used.approvals.rules), here)]
        found += [{**one, "file": project.file} for one in listed(services, Rules.of(project.rules), here)]
    if as_json:
        echo_json({"file": path, "rules": found})
        return
    style = Style(sys.stdout, os.environ)
    for number, one in enumerate(found, 1):
        typer.echo(f"{number:3}. {one['decide']:<6} {printable(one['rule'])}")
        typer.echo(f"            {style(printable(one['about']), DIM)}")
        if one["file"] is not None:
            _note(style, f"of {one['file']}", DIM)
        if one["shadowed_by"] is not None:
            _note(style, f"never decides: {one['shadowed_by']} comes before it and covers all of it", YELLOW)
        if one["never"]:
            _note(style, f"matches nothing: {one['never']}", RED)
    missing = dict.fromkeys(name for one in found for name in one["unregistered"])
    if missing:
        text = f"no hook is registered for {', '.join(missing)}, so no rule is asked there; run hookrouter install"
        typer.echo(style(printable(text), YELLOW))
    if not found:
        typer.echo(printable(f"{path}: no rules; a person decides on every call"))


@app.command("check")
def check(
    command: Annotated[
        str | None,
        typer.Argument(metavar="[COMMAND]", help="A command line, as one word; - for a hook's payload on stdin."),
    ] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="TOOL", help="The tool that is called. Default: Bash.")
    ] = None,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="The file, for tools that take one.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="The address, for WebFetch.")] = None,
    tool_input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="The tool's whole input, as a JSON object.")
    ] = None,
    cwd: Annotated[str | None, typer.Option("--cwd", metavar="FOLDER", help="Where Claude is. Default: here.")] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="FOLDER", help="The session's project folder. Default: that of --cwd."),
    ] = None,
    shell: _Shell = None,
    config: _Config = None,
    as_json: Json = False,
) -> int:
    """Say which rule decides on a call, and why: how it was read, and what each part of it gets. Runs nothing.

    A command line is shown as a tree of what it does: its commands, the files that are opened, and what is not certain.
    The strictest part decides, and of your rules and those of the session's project, the stricter.

    With --json: tool, folder, cwd, decide (allow, deny, agent, person), rule (empty if none is about all of it), file
    (the project's that has the rule, null for one of your own), certain, and parts: kind (call, command, write, read,
    doubt), text, start, end (in the line), within (what contains it), decide (empty: it has no say), rule, certain.

    \b
    Examples:
      hookrouter rules check 'git -C lib push && npm test > out.txt'
      hookrouter rules check --tool Edit --path src/main.py
      hookrouter rules check --tool WebFetch --url https://example.org/x
      hookrouter sample PreToolUse Bash | hookrouter rules check - --json

    \b
    Exit codes:
      0  allowed, or the agent decides
      1  refused, or a person decides
      2  wrong arguments, or a config that cannot be used
    """
    from hookrouter_approvals.rules_command.checking import check_document, check_lines

    call = _call(command, tool, path, url, tool_input, cwd, project, _shell(shell))
    _, used, _ = _config(config, call.folder)
    users = Rules.of(used.approvals.rules).judge(call)
    found = with_project(users, used, call) or users
    if as_json:
        echo_json(check_document(call, found))
    else:
        style = Style(sys.stdout, os.environ)
        typer.echo("\n".join(check_lines(call, found, style, unicode=has_unicode())))
    # typer's groups take no number from a function.
    raise typer.Exit(0 if found.decide in (ALLOW, AGENT) else 1)


@app.command("try")
def try_rules(
    days: Annotated[
        float, typer.Option("--days", metavar="N", min=0, help="How far back; 0 for all that there is.")
    ] = 30.0,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="Compare config.toml with the rules of this file."),
    ] = None,
    transcripts: Annotated[
        str | None,
        typer.Option(
            "--transcripts",
            metavar="FOLDER",
            help="The folder of the transcripts. Default: ~/.claude/projects, or below $CLAUDE_CONFIG_DIR.",
        ),
    ] = None,
    shell: _Shell = None,
    as_json: Json = False,
) -> None:
    """Try the rules on the tool calls of the past, as Claude Code's transcripts on this machine have them.

    The rules of each call's project count too, as they are trusted now.

    Says how many would have been allowed, refused, or left to the agent or a person; what would most often have waited
    for a person; which rules were never used; what changes with another config; and which rules would allow what was
    allowed by hand five times or more, the narrowest first, never one that a refusing rule overlaps.

    Allowed by hand is what ran in a mode in which Claude Code asks, or what hookrouter saw a person decide. A
    transcript does not say whether a dialog was drawn, so what Claude Code's own rules allow counts too. Nothing leaves
    the machine, and nothing is run or written. Files may be .jsonl, .jsonl.gz, and, with Python 3.14, .jsonl.zst.

    With --json: folder, files, bytes, broken, too_long, unreadable (path, why), calls, decided (allow, deny, agent,
    person, unasked), uncertain, refused_by_person, allowed_by_hand, stops (what, count, example), unused (rules),
    changes (from, to, count, examples), proposals (rule, count, example).

    \b
    Examples:
      hookrouter rules try
      hookrouter rules try --days 7 --config new.toml
      hookrouter rules try --json | jq -r '.proposals[].rule'

    Exit codes: 0 tried; 2 there is no such folder, or a config cannot be used; 130 interrupted.
    """
    from hookrouter_approvals.rules_command.transcripts import Transcripts
    from hookrouter_approvals.rules_command.trying import Trial, trial_lines

    services, used, _ = _config(None)
    new = None if config is None else Rules.of(config_of(services, config).approvals.rules)
    folder = transcripts or os.path.join(_client_folder(), "projects")
    if not os.path.isdir(folder):
        raise CommandError(f"{folder}: there is no such folder; --transcripts names another one")
    since = now() - days * 86400 if days else None
    person, others = _decided(services, since)
    config_in = cache(lambda folder: _config(None, folder)[1])
    rules, of = Rules.of(used.approvals.rules), _shell(shell)
    trial = Trial(rules, new, of, config_in=config_in, by_person=person, by_others=others)
    found = Transcripts(folder, since, lambda count: progress.add(count))
    with Progress("hookrouter: reading the transcripts", found.size) as progress:
        try:
            for call in found.calls():
                trial.add(call)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    document = trial.document()
    if as_json:
        unreadable = [{"path": path, "why": why} for path, why in found.unreadable]
        counts = {"files": len(found.paths), "bytes": found.size, "broken": found.broken, "too_long": found.too_long}
        echo_json({"folder": folder, **counts, "unreadable": unreadable, **document})
    else:
        typer.echo("\n".join(trial_lines(document, found, compared=new is not None)))


@app.command("preset")
def preset(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which one; without it they are listed.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Add its rules to the end of config.toml; those that it has are left out.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print rules to begin with, or add them to config.toml.

    Rules that config.toml has stay in front, so they still take precedence. The change is shown as a diff. Written
    twice, nothing is added the second time.

    With --json: presets (name, about), or name and toml; with --write: file, changed, diff.

    \b
    Examples:
      hookrouter rules preset
      hookrouter rules preset unattended-web
      hookrouter rules preset python --write

    Exit codes: 0 printed, written, or all of it was there; 2 there is no such preset, or config.toml cannot be used.
    """
    from hookrouter.permission_rules.presets import about, preset_names, preset_text

    if name is None:
        if write:
            raise CommandError(f"--write: name a preset: {', '.join(preset_names())}")
        presets = [{"name": one, "about": about(one)} for one in preset_names()]
        if as_json:
            echo_json({"presets": presets})
        for one in [] if as_json else presets:
            typer.echo(f"{one['name']:<16} {one['about']}")
        return
    try:
        text = preset_text(name)
    except RuleError as error:
        raise CommandError(str(error)) from None
    if not write:
        if as_json:
            echo_json({"name": name, "toml": text})
        else:
            typer.echo(text, nl=False)
        return
    services, used, path = _config(None)
    has = frozenset((rule.tool, rule.decide) for rule in used.approvals.rules)
    change = addition(services, preset_text(name, has))
    change.write()
    if as_json:
        echo_json({"file": path, "changed": change.changes, "diff": change.diff()})
    elif change.changes:
        typer.echo(printable(change.diff(), keep_newlines=True), nl=False)
        typer.echo(printable(f"{path}: written; 'hookrouter install' registers hooks for the tools that are new"))
    else:
        typer.echo(printable(f"{path}: has all rules of {name}"))


def _config(path: str | None, folder: str | None = None) -> tuple[Application, Config, str]:
    """Return the services, the config that is meant, and its file; with the rules of a folder's project.

    Raises CommandError.
    """
    # Where Claude Code runs this, the variable names that session's project.
    environ = os.environ if folder is None else {**os.environ, _PROJECT_VARIABLE: folder}
    with redirect_stdout(sys.stderr):
        services = Application.from_environ(environ, share=False, project=folder)
    if path is not None:
        return services, config_of(services, path)._with(project_rules=services.config.project_rules), path
    if services.config.problems:
        raise CommandError(f"{services.config.problems[0]}; correct the file first: hookrouter config check")
    return services, services.config, services.home.config_file


def _call(
    command: str | None,
    tool: str | None,
    path: str | None,
    url: str | None,
    tool_input: str | None,
    cwd: str | None,
    project: str | None,
    shell: str,
) -> Call:
    """Return the call that the arguments name. Raises CommandError."""
    options = {"COMMAND": command, "--path": path, "--url": url, "--input": tool_input}
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise CommandError(f"{' and '.join(given)}: give one of them")
    if command == "-":
        if tool is not None:
            raise CommandError("--tool: the payload on stdin names the tool")
        payload = _payload()
        tool, found = str(payload["tool_name"]), payload["tool_input"]
        where = payload.get("cwd")
        cwd = cwd or (where if isinstance(where, str) else None)
    elif tool_input is not None:
        found = _object("--input", tool_input)
    elif command is not None:
        found = {"command": command}
        if tool is not None and tool not in RUNNING:
            raise CommandError(f"COMMAND: {tool} runs no command line; use --path, --url or --input")
    elif path is not None:
        if tool not in (*EDITING, *READING):
            raise CommandError(f"--path: found --tool {tool}; allowed: {', '.join((*EDITING, *READING))}")
        found = {{"NotebookEdit": "notebook_path", "Grep": "path", "Glob": "path"}.get(tool, "file_path"): path}
    elif url is not None:
        if tool not in (None, "WebFetch"):
            raise CommandError(f"--url: found --tool {tool}; allowed: WebFetch")
        tool, found = "WebFetch", {"url": url}
    elif tool is not None:
        found = {}
    else:
        raise CommandError("name a call: COMMAND, --tool with --path, --url or --input, or - for a payload on stdin")
    where = os.path.abspath(cwd) if cwd else _here()
    return Call(tool or "Bash", found, os.path.abspath(project) if project else where, where, shell)


def _decided(services: Application, since: float | None) -> tuple[set[str], set[str]]:
    """Return the ids of the calls whose dialogs a person has decided, and of those that somebody else has."""
    person: set[str] = set()
    others: set[str] = set()
    for record in services.journal.search(('"event":"dialog"',), since):
        own_id, outcome = record.get("tool_use_id"), record.get("outcome")
        if not isinstance(own_id, str) or outcome == "asked" or len(person) + len(others) >= _MOST_DECIDED:
            continue
        (person if outcome == "answered_by_person" else others).add(own_id)
    return person, others


def _client_folder() -> str:
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")


def _payload() -> dict[str, Any]:
    data = sys.stdin.buffer.read(_MAX_PAYLOAD + 1)
    if len(data) > _MAX_PAYLOAD:
        raise CommandError(f"stdin: found more than {_MAX_PAYLOAD} bytes")
    document = _object("stdin", data)
    if not isinstance(document.get("tool_name"), str) or not isinstance(document.get("tool_input"), dict):
        raise CommandError("stdin: a payload with tool_name, a text, and tool_input, an object, is allowed")
    return document


def _object(name: str, text: str | bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{name}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CommandError(f"{name}: found {str(document)[:80]!r}; allowed: a JSON object")
    return document


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise CommandError("the working folder does not exist any more; change to one that does") from None


def _shell(chosen: Shell | None) -> str:
    """Return the shell that command lines are for."""
    return client_shell(os.environ) if chosen is None else chosen.value


def _note(style: Style, text: str, colour: str) -> None:
    typer.echo(f"            {style(printable(text), colour)}")
