"""Write pages of the manual that follow from the code: ``python -m scripts.generate.manual [--check] [FOLDER]``.

Below FOLDER, by default ``docs`` in the source tree: ``reference/commands.md`` and ``reference/exit-codes.md`` (from
the commands of hookrouter and of its first-party plugins), ``reference/configuration.md`` (from the classes of
config.toml's tables, whose fields have ``help`` and ``example`` in their metadata), ``reference/journal.md``, and
``reference/api.md`` (the list of public modules). The pages in ``plugins/`` and ``start/`` get the packages that they
show, see :mod:`scripts.generate.plugin_pages`.
``--check`` writes nothing and exits 1 if a file differs from what would be written.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import attrs

import hookrouter
from hookrouter._commands import BUILT_IN, CommandEntry, cli_commands, contributed
from hookrouter._config.schema import SchemaKey, SchemaTable, schema
from hookrouter.cli import PUBLIC
from hookrouter.cli.main import command_line
from hookrouter.storage.home import HOME_VARIABLE
from scripts.generate.files import write_or_compare
from scripts.generate.plugin_pages import plugin_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "API",
    "JOURNAL",
    "JOURNAL_CALLS",
    "api_reference",
    "command_reference",
    "configuration_reference",
    "exit_code_reference",
    "generate",
    "journal_reference",
    "main",
    "public_modules",
    "tables",
]

FOLDER = Path(__file__).resolve().parents[2] / "docs"

GENERATED = "<!-- Written by `python -m scripts.generate.manual`: change the code, not this file. -->"

JOURNAL = {
    "at": "when the run ended (ISO 8601, UTC)",
    "level": "`debug` if nobody listens or a guard ended the run, `info`, `warning` for an event of a newer client or "
    "while config.toml has mistakes, or `error` if something failed",
    "event": "the event's name, such as `PreToolUse`",
    "session_id": "Claude Code's id of the session",
    "session": "the session's name, if a plugin has looked it up",
    "tool": "the tool",
    "tool_use_id": "the tool call",
    "outcome": "the decision that was sent (`deny`, `allow`, ...), or `routed`, `guarded`, `no listener`, `refused`",
    "by": "the plugins whose decision it is",
    "plugins": "each call of a plugin, with the keys below",
    "tool_input_by": "for each key of the tool's input that was rewritten, the plugins that did",
    "tool_response_by": "the same for the tool's output",
    "delta_by": "the same for the text that a MessageDisplay hook shows",
    "content_by": "the same for the values of an MCP server's form",
    "guarded": "`true` if a plugin found nothing to do for it, and said so",
    "reason": "why a guard ended the run, or what was wrong",
    "warnings": "what went wrong and stopped nothing",
    "ms": "the milliseconds of the whole run, without the interpreter's start",
    "pid": "the hook's process",
    "payload": "the name under which the payload is kept for `replay`, if asked for; empty if it cannot be",
}
"""The keys of a hook run's journal record, beside those that plugins add with ``context.note``."""

JOURNAL_CALLS = {
    "plugin": "the plugin",
    "hook": "the hook that was called, or `import`",
    "ms": "the milliseconds that it took",
    "outcome": "`none`, `replied`, `wrapped`, `loaded`, `not needed`, or of a failure: `failed`, `timed out`, `died`",
    "error": "what went wrong",
    "left": "what the plugin had left changed in its process, and was put right",
    "updatedInput": "the keys of the tool's input that it changed, added and removed",
    "updatedToolOutput": "the same for the tool's output",
    "updatedMCPToolOutput": "the same for the output of an MCP server's tool",
    "displayContent": "the same for the text that a MessageDisplay hook shows",
    "content": "the same for the values of an MCP server's form",
    "again": "`true` if it was asked once more, about the final input, as a plugin in `last`",
    "saw": "what it was given of what plugins before it rewrote (while a trace is written)",
    "values": "each rewritten key's value before and after (`payloads = true`, or while a trace is written)",
    "reply": "its whole reply (while a trace is written)",
    "told": "`true` if the user was told that the plugin is switched off",
}
"""The keys of each entry in ``plugins`` of a journal record."""


_OWN_TABLES = (
    (
        "[page]",
        (
            "The page for people: open questions, answered from a browser or a phone. The resident router serves it, "
            "where the extra `hookrouter[serve]` is installed."
        ),
        "hookrouter_page.settings",
        "PageSettings",
    ),
    (
        "[monitor]",
        (
            "Where the resident router tells programs its state: `/metrics` for Prometheus, `/healthz` and `/readyz` "
            "for probes. Needs the extra `hookrouter[serve]`."
        ),
        "hookrouter_monitor.settings",
        "MonitorSettings",
    ),
    (
        "[plugins.hook-reply.settings]",
        "The settings of the plugin `hook-reply`.",
        "hookrouter_hook_reply.settings",
        "HookReplySettings",
    ),
    (
        "[gateways.NAME], type command",
        "A program gets the message on its stdin.",
        "hookrouter_command.program",
        "CommandSettings",
    ),
    (
        "[gateways.NAME], type webhook",
        "An HTTP endpoint gets the message. One of `url`, `url_env` and `url_file` is required.",
        "hookrouter_webhook.settings",
        "WebhookSettings",
    ),
    (
        "[gateways.NAME.closed], type webhook",
        "The request that withdraws or edits a message of this gateway once what it is about is over.",
        "hookrouter_webhook.settings",
        "ClosedSettings",
    ),
    (
        "[gateways.NAME], type openclaw",
        "An agent of OpenClaw gets a turn. `token_env` or `token_file` is required; some keys belong to some routes.",
        "hookrouter_openclaw.posting",
        "OpenClawSettings",
    ),
    (
        "[storage], engine postgresql",
        "The machines share a PostgreSQL database. One of `dsn_env` and `dsn_file` is required.",
        "hookrouter_postgresql.settings",
        "PostgresqlSettings",
    ),
)
"""The tables of first-party plugins: header, what it is about, and the attrs class that says which keys it has."""

_TYPES = {
    "bool": "true or false",
    "str": "text",
    "int": "whole number",
    "float": "seconds",
    "list[str]": "list of texts",
    "tuple[int, ...]": "list of numbers",
    "dict[str, str]": "table of texts",
}
"""What the annotation of a key of these means to somebody who writes the file."""


def tables() -> list[SchemaTable]:
    """Return every table of config.toml, those of the first-party plugins after the others."""
    found = list(schema())
    for header, about, module, name in _OWN_TABLES:
        kind = attrs.resolve_types(getattr(import_module(module), name))
        found.append(SchemaTable(header, about, tuple(_own_key(field) for field in attrs.fields(kind))))
    return found


def _own_key(field: attrs.Attribute[Any]) -> SchemaKey:
    required = field.default is attrs.NOTHING
    default = None if required or isinstance(field.default, attrs.Factory) else field.default  # type: ignore[arg-type] # a class at run time
    kind = str(field.metadata.get("allowed", "")) or _type_words(field.type)
    about = str(field.metadata.get("help", ""))
    return SchemaKey(field.name, kind, required, default, about, str(field.metadata.get("example", "")))


def _type_words(kind: Any) -> str:
    """Return what the annotation of a key means to somebody who writes the file."""
    origin, args = get_origin(kind), [one for one in get_args(kind) if one is not NoneType]
    if origin is Literal:
        return " or ".join(f"`{json.dumps(one)}`" for one in args)
    if origin is Annotated or origin in (Union, UnionType):
        return _type_words(args[0])
    if isinstance(kind, type) and attrs.has(kind):
        return "table"
    return _TYPES[kind.__name__ if isinstance(kind, type) and origin is None else str(kind)]


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; the exit code is 1 if ``--check`` finds a difference, 2 for other words."""
    return write_or_compare("scripts.generate.manual", arguments, FOLDER, generate)


def generate() -> dict[str, str]:
    """Return the text of each file by its path."""
    return {
        "reference/api.md": api_reference(),
        "reference/commands.md": command_reference(),
        "reference/configuration.md": configuration_reference(),
        "reference/exit-codes.md": exit_code_reference(),
        "reference/journal.md": journal_reference(),
        **plugin_pages(FOLDER),
    }


def configuration_reference() -> str:
    """Return the page of config.toml: each table with its keys, their types, defaults and examples."""
    lines = ["# config.toml", f"\n{GENERATED}\n"]
    lines.append(
        "Every key of the file. All are optional unless they say *required*. `hookrouter config check` names every "
        "mistake with its line; `hookrouter config show --all` says which values hold, and where each comes from. "
        "[Install](../start/install.md#where-things-are) says where the file is.\n"
    )
    lines.append(
        "A secret is never in the file: `<key>_env` names the environment variable that holds it, `<key>_file` the "
        "file. Numbers are seconds unless they say otherwise. The gateway of type `inbox` has no keys.\n"
    )
    for table in tables():
        lines.append(f"\n## {table.header}\n\n{table.help}\n")
        lines.append("| key | allowed | default | example | |\n|---|---|---|---|---|")
        lines += [_row(key) for key in table.keys]
        if table.others:
            lines.append(f"\nOther keys: {table.others}.")
    return "\n".join(lines).rstrip() + "\n"


def _row(key: SchemaKey) -> str:
    default = "*required*" if key.required else _default(key.default)
    example = f"`{key.name} = {key.example}`" if key.example else ""
    cells = (f"`{key.name}`", key.type, default, example, key.help)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(default: object) -> str:
    """Return a default as TOML has it; empty for a key that has none."""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, str) and default:
        return f'`"{default}"`'
    if isinstance(default, int | float):
        return f"`{default:g}`"
    if isinstance(default, tuple) and len(default) > 10 and default == tuple(range(default[0], default[-1] + 1)):
        return f"{default[0]} to {default[-1]}"
    if isinstance(default, list | tuple) and default:
        return "`[" + ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in default) + "]`"
    return ""


_COMMANDS = ("hookspecs.commands", *(f"cli.{name}" for name in PUBLIC))
"""What a plugin needs that adds commands."""

API = (
    ("For every plugin", ("markers", "context", "config", "records", "samples", "tools.calls")),
    ("Documents and journal", ("storage.",)),
    ("Answering: channels, planners, terminals", ("answering.",)),
    ("Messages: gateways, outbox, pauses", ("messaging.",)),
    ("Commands", _COMMANDS),
    ("Pages, panels and links", ("pages",)),
    ("Tests", ("testing.",)),
    ("Helpers", ("util.",)),
)
"""The groups of the API's page, each with the modules below ``hookrouter``, or the packages, that stand in it."""

_ELSEWHERE = ("cli.", "events", "hookspecs.", "replies", "tools.")
"""Public modules that have pages of their own, or are the command line's own matter."""


def public_modules() -> list[str]:
    """Return the names below ``hookrouter`` of the modules that plugins may import: no part begins with ``_``."""
    root = Path(hookrouter.__file__).resolve().parent
    names = [".".join(file.relative_to(root).with_suffix("").parts) for file in sorted(root.rglob("*.py"))]
    return [name for name in names if not any(part.startswith("_") for part in name.split("."))]


def api_reference() -> str:
    """Return the page of the Python API; the manual's builder puts the docstrings of each module in."""
    lines = ["# Python API", f"\n{GENERATED}\n"]
    lines.append(
        "What plugins may import: every module whose path has no part with a leading underscore. The rest may change "
        "with any release. `hookrouter` itself offers `hookimpl`, `override`, `stateless`, `waits`, `Context`, "
        "`Command` and every "
        "class of [events](events.md), [replies](replies.md) and the spec classes by name. `hookrouter.testing` offers "
        "`Hooks`, `HookResult`, `HookCall`, `PluginFailed`, `HookRecorder`, `FakePane`, `FakeGateway`, "
        "`ScriptedClaude`, `ToolOutcome`, `sample` and `write_plugin`. The classes of tools are in "
        "[Tools](tools.md), the hooks in [Hooks](hooks.md). A line `::: MODULE` shows the docstrings of a module: "
        "the built manual has them in its place, and `python -m pydoc MODULE` prints them.\n"
    )
    left = [name for name in public_modules() if not name.startswith(_ELSEWHERE) or name in _COMMANDS]
    for title, wanted in (*API, ("More", tuple(left))):
        found = [
            name for name in left if any(name == one or (one[-1] == "." and name.startswith(one)) for one in wanted)
        ]
        lines += [f"## {title}\n", *(f"::: hookrouter.{name}\n" for name in found)] if found else []
        left = [name for name in left if name not in found]
    return "\n".join(lines).rstrip() + "\n"


def journal_reference() -> str:
    """Return the page of the journal's records."""
    lines = ["# Journal", f"\n{GENERATED}\n"]
    lines.append(
        "The journal is a folder of files with one line of JSON for each hook run, answer and delivery, a file for "
        "each session, mode 0600. `hookrouter logs` shows it; `hookrouter stats` counts it. A journal that cannot be "
        "written stops no hook. A file that has grown to 5 MiB is set aside (three are kept), and what a session that "
        "was silent for 30 days has left is removed. Long strings are cut.\n"
    )
    lines.append("Each hook run appends:\n\n| key | holds |\n|---|---|")
    lines += [f"| `{key}` | {text} |" for key, text in JOURNAL.items()]
    lines.append("\nEach entry of `plugins`:\n\n| key | holds |\n|---|---|")
    lines += [f"| `{key}` | {text} |" for key, text in JOURNAL_CALLS.items()]
    lines.append(
        "\nEach `hookrouter answer` writes a record with the event `answer`: `outcome`, `reason`, `channel`, "
        "`decisions`, `steps` (what was done, such as each key that was pressed, with why), `closed` (whether it "
        "closed the question), `ms` and, with `[monitor] traces`, the `traceparent` that it was given. "
        "One that was refused (exit code 2) has the outcome `invalid`, and no `decisions` if they did not fit. "
        "`hookrouter logs --event answer --json` shows them; "
        "`hookrouter history --json` has `steps` in `attempts`."
    )
    lines.append(
        "\nThe record of an opened dialog has `asked_at`, `agent`, `cwd`, `questions` (headers and texts, cut) and, if "
        "it is so, `missed`, `dialog` and `rule`; with the records of its end it is what `hookrouter history` tells.\n"
        "\nA permission, a plan or a form writes records with the event `dialog`: `outcome` (`asked`, or how it "
        "ended), `dialog` (its kind), `hook` (the event at which that was seen) and what a question's hooks write of "
        "it. The record of a permission request's hook has `rule`: what the rules say."
    )
    lines.append("\nA plugin adds keys with `context.note(key, value)`, and warnings with `context.warn(text)`.")
    return "\n".join(lines) + "\n"


def exit_code_reference() -> str:
    """Return the page of exit codes: what each command's help says."""
    lines = ["# Exit codes", f"\n{GENERATED}\n"]
    lines.append(
        "In general: 0 done; 1 failed, or something was found wrong; 2 the command line or a file cannot be used. "
        "`hookrouter --help` of a command says the same as this page.\n"
    )
    for name, command in _leaves():
        for part in dedent(command.help or "").replace("\b\n", "").strip().split("\n\n"):
            if part.startswith("Exit codes"):
                first, _, rest = part.partition("\n")
                told = f"{first.partition(':')[2].strip()}\n{dedent(rest)}".strip("\n")
                lines.append(f"## hookrouter {name}\n\n```text\n{told}\n```\n")
    return "\n".join(lines).rstrip() + "\n"


def _leaves() -> Iterator[tuple[str, Any]]:
    group = command_line()
    context = group.make_context("hookrouter", ["--help-me-not"], resilient_parsing=True)
    for entry in [*BUILT_IN, *_first_party()]:
        command = group.get_command(context, entry.name).real()
        parts = getattr(command, "commands", {})
        yield from ((f"{entry.name} {part.name}", part) for part in parts.values())
        if not parts:
            yield entry.name, command


def command_reference() -> str:
    """Return the reference of the command line: each command's usage, help, arguments and options."""
    entries = [*BUILT_IN, *_first_party()]
    lines = ["# Commands", f"\n{GENERATED}\n"]
    lines.append("Every command shows the same with `--help`. Options that take a word take it as `--name VALUE`.\n")
    lines.append("| command | |\n|---|---|")
    lines += [f"| [`hookrouter {entry.name}`](#hookrouter-{entry.name}) | {entry.help} |" for entry in entries]
    group = command_line()
    context = group.make_context("hookrouter", ["--help-me-not"], resilient_parsing=True)
    for entry in entries:
        lines += _command(f"hookrouter {entry.name}", group.get_command(context, entry.name).real(), 2)
    return "\n".join(lines).rstrip() + "\n"


def _first_party() -> list[CommandEntry]:
    """Return the commands of the plugins of hookrouter's own distribution."""
    from hookrouter.cli.application import Application

    with TemporaryDirectory() as folder:
        # Not the user's home: what is disabled there has commands too.
        plugins = Application.from_environ({**os.environ, HOME_VARIABLE: folder}).plugins
        own = {info.name for info in plugins.listing() if info.distribution == "hookrouter"}
        return [entry for entry in contributed(cli_commands(plugins))[0].values() if entry.plugin in own]


def _command(name: str, command: Any, level: int) -> Iterator[str]:
    yield f"\n{'#' * level} {name}\n"
    parts = getattr(command, "commands", {})
    own = [parameter for parameter in command.params if parameter.name != "help"]
    arguments = [parameter for parameter in own if parameter.param_type_name == "argument"]
    options = [parameter for parameter in own if parameter.param_type_name == "option" and not parameter.hidden]
    words = [name, *(_placeholder(argument) for argument in arguments)]
    words += ["[OPTIONS]"] if options else []
    words += ["COMMAND"] if parts else []
    yield f"```text\n{' '.join(words)}\n```\n"
    yield from _prose(command.help or "")
    if own:
        yield "| argument or option | |\n|---|---|"
        for parameter in [*arguments, *options]:
            yield f"| {_spelling(parameter)} | {_explanation(parameter)} |"
    for part in parts.values():
        yield from _command(f"{name} {part.name}", part, level + 1)


def _placeholder(argument: Any) -> str:
    word = str(argument.metavar or argument.name.upper()).strip("[]")
    return word if argument.required else f"[{word}]"


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_placeholder(parameter)}`".replace("|", "\\|")
    choices = getattr(parameter.type, "choices", None)
    value = parameter.metavar or ("|".join(map(str, choices)) if choices else parameter.type.name.upper())
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return names if parameter.is_flag else f"{names} `{value}`".replace("|", "\\|")


def _explanation(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    facts = ["required"] if parameter.required else []
    default = parameter.default
    if not getattr(parameter, "is_flag", False) and default not in (None, "", ()) and not callable(default):
        facts.append(f"default: `{getattr(default, 'value', default)}`")
    return f"{text} ({', '.join(facts)})" if facts else text


def _prose(text: str) -> Iterator[str]:
    """Return a help text as Markdown; a block that keeps its line breaks becomes a code block below its heading."""
    for part in dedent(text).strip().split("\n\n"):
        first, _, rest = part.removeprefix("\b\n").partition("\n")
        if part.startswith("\b\n") and first.endswith(":"):
            yield f"{first}\n"
            if rest:
                yield f"```text\n{dedent(rest)}\n```\n"
        else:
            yield f"{' '.join(part.removeprefix(chr(8)).split())}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
