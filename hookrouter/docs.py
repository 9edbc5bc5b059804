"""Write the references that follow from the code: ``python -m hookrouter.docs [--check] [FOLDER]``.

Written are ``hooks.md`` (from the hookspecs, the event classes and the tables) and ``cli.md`` (from the commands of
hookrouter and of its first-party plugins) in FOLDER, by default ``docs`` in the source tree. ``--check`` writes nothing
and exits 1 where a file differs from what would be written.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from hookrouter import events, tools
from hookrouter.cli.main import command_line
from hookrouter.commands import BUILT_IN, CommandEntry, contributed
from hookrouter.context import Context, Services
from hookrouter.generated_files import write_or_compare
from hookrouter.home import HOME_VARIABLE
from hookrouter.hookspecs import all_spec_classes
from hookrouter.hookspecs.answering import AnswerSpecs
from hookrouter.hookspecs.commands import CommandSpecs
from hookrouter.hookspecs.settings import SettingsSpecs
from hookrouter.tables import CLAUDE_CODE_VERSION, EVENTS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["JOURNAL", "JOURNAL_CALLS", "cli_reference", "generate", "hook_reference", "main"]

FOLDER = Path(__file__).resolve().parent.parent / "docs"

GENERATED = "<!-- Written by `python -m hookrouter.docs`: change the code, not this file. -->"

JOURNAL = {
    "at": "when the run ended (ISO 8601, UTC)",
    "level": "`debug` where nobody listens or a guard ended the run, `info`, `warning` for an event of a newer client, "
    "or `error` where something failed",
    "event": "the event's name, such as `PreToolUse`",
    "session_id": "Claude Code's id of the session",
    "session": "the session's name, where a plugin has looked it up",
    "tool": "the tool",
    "tool_use_id": "the tool call",
    "outcome": "the decision that was sent (`deny`, `allow`, ...), or `routed`, `guarded`, `no listener`, `refused`",
    "by": "the plugins whose decision it is",
    "plugins": "each call of a plugin, with the keys below",
    "tool_input_by": "for each key of the tool's input that was rewritten, the plugins that did",
    "tool_response_by": "the same for the tool's output",
    "guarded": "`true` where a plugin found nothing to do for it, and said so",
    "reason": "why a guard ended the run, or what was wrong",
    "warnings": "what went wrong and stopped nothing",
    "ms": "the milliseconds of the whole run, without the interpreter's start",
    "pid": "the hook's process",
    "payload": "the name under which the payload is kept for `replay`, where asked for; empty where it cannot be",
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
    "values": "each rewritten key's value before and after (`payloads = true`, or while a trace is written)",
    "reply": "its whole reply (while a trace is written)",
    "told": "`true` where the user was told that the plugin is switched off",
}
"""The keys of each entry in ``plugins`` of a journal record."""

_SECTIONS = re.compile(r"^(When|Returns|Combined|Args|Example):{1,2} ?", re.MULTILINE)
_NAME = re.compile(r"[\w.]+")
_TOOL_FAMILIES = tuple(record.hook for record in EVENTS.values() if record.is_tool)


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; the exit code is 1 where ``--check`` finds a difference, 2 for other words."""
    return write_or_compare("hookrouter.docs", arguments, FOLDER, generate)


def generate() -> dict[str, str]:
    """Return the text of each file by its name."""
    return {"hooks.md": hook_reference(), "cli.md": cli_reference()}


def hook_reference() -> str:
    """Return the reference of all hooks: those of events one by one, those of tools as families and a table."""
    return "\n".join([*_introduction(), *_event_hooks(), *_tool_hooks(), *_other_hooks(), *_journal()]) + "\n"


def _introduction() -> Iterator[str]:
    yield "# Hook reference"
    yield f"\n{GENERATED}\n"
    yield (
        "A plugin implements any of these hooks as a function marked `@hookimpl`. Each is called for the event, or the "
        "event's tool, that it is named after; arguments are passed by name, and those that are not needed may be left "
        "out (but not in a class that derives from the spec classes in `hookrouter.hookspecs`, by which type checkers "
        "compare signatures).\n"
    )
    yield (
        f"What is said about Claude Code was measured on {CLAUDE_CODE_VERSION}. A field that ends in `?` may be "
        "missing; it is then `None`. `event.raw` is the whole payload.\n"
    )
    yield "Contents: [events](#events), [tools](#tools), [all payloads](#all-payloads), "
    yield "[answering](#answering), [commands](#commands), [settings](#settings), [journal](#journal)\n"
    yield "## Arguments of every event hook\n"
    yield "`event` has these fields, beside those of its own:\n"
    yield from _field_table(_fields("Event"))
    yield "\n`context` is the run:\n"
    yield from _member_table()


def _event_hooks() -> Iterator[str]:
    yield "\n## Events\n"
    yield "| hook | event | when |\n|---|---|---|"
    for record in EVENTS.values():
        yield f"| [`{record.hook}`](#{record.hook}) | {record.name} | {_when(record.hook)} |"
    for record in EVENTS.values():
        yield from _event_hook(record.hook, record.name)


def _event_hook(hook: str, name: str) -> Iterator[str]:
    record = next(record for record in EVENTS.values() if record.hook == hook)
    spec = _spec(hook)
    yield f"\n### {hook}\n"
    yield f"```text\n{_signature(spec)}\n```\n"
    yield _markdown(inspect.getdoc(getattr(events, name)) or "")
    facts = [f"Claude Code gives a hook of this event {record.timeout:g} seconds unless its entry says otherwise."]
    if record.matcher:
        facts.append(f"Matchers look at `{record.matcher}`.")
    facts.append("It can stop what is going on." if record.can_block else "It cannot stop what is going on.")
    yield f"\n{' '.join(facts)}\n"
    own = [field for field in _fields(name) if field[0] not in {base[0] for base in _fields("Event")}]
    if own:
        yield from _field_table(own)
        yield ""
    yield from _answers(spec)
    yield from _example(spec)


def _tool_hooks() -> Iterator[str]:
    yield "\n## Tools\n"
    yield (
        "Each of the five events about a tool call also has one hook for each tool, called before the event's own and "
        "registered for that tool alone, so that other calls start no process. Its name is the event's and the tool's: "
        "`pre_tool_use_bash`. The tools of MCP servers share one, `pre_tool_use_mcp`.\n"
    )
    for family in _TOOL_FAMILIES:
        yield f"### {family}_TOOL\n"
        yield f"```text\n{_signature(_spec(f'{family}_bash')).replace('_bash(', '_TOOL(').replace(': Bash', ': Tool')}"
        yield f"{_signature(_spec(f'{family}_mcp'))}\n```\n"
        yield f"{_when(f'{family}_bash')}\n"
        yield from _answers(_spec(f"{family}_bash"))
        yield from _arguments(_spec(f"{family}_mcp"), {"event", "context"})
        yield from _example(_spec(f"{family}_bash"))
        yield ""
    yield "### The tools\n"
    yield (
        "`tool_input` and `tool_response` are objects that read like the classes below, of `hookrouter.tools`; `raw` "
        "is the JSON object. What an MCP server's tool takes and gives is plain JSON.\n"
    )
    yield "| tool | hooks end in | `tool_input` | `tool_response` |\n|---|---|---|---|"
    for tool, suffix in TOOLS.items():
        taken, given = (_tool_class(suffix, argument) for argument in ("tool_input", "tool_response"))
        yield f"| {tool} | `_{suffix}` | {_linked(taken)} | {_linked(given)} |"
    for tool, suffix in TOOLS.items():
        for kind in filter(None, (_tool_class(suffix, argument) for argument in ("tool_input", "tool_response"))):
            fields = _tool_fields(kind)
            if fields:
                yield f"\n#### {kind}\n\n{_markdown(inspect.getdoc(getattr(tools, kind)) or tool)}\n"
                yield from _field_table(fields)


def _other_hooks() -> Iterator[str]:
    yield "\n## All payloads\n"
    yield from _whole_hook("raw_event")
    yield "\n## Answering\n"
    for hook in _own_specs(AnswerSpecs):
        yield from _whole_hook(hook)
    yield "\n## Commands\n"
    for hook in _own_specs(CommandSpecs):
        yield from _whole_hook(hook)
    yield "\n## Settings\n"
    for hook in _own_specs(SettingsSpecs):
        yield from _whole_hook(hook)


def _journal() -> Iterator[str]:
    yield "\n## Journal\n"
    yield "Each hook run appends one line of JSON to `logs/`, in the file of its session:\n"
    yield "| key | holds |\n|---|---|"
    for key, text in JOURNAL.items():
        yield f"| `{key}` | {text} |"
    yield "\nEach entry of `plugins`:\n"
    yield "| key | holds |\n|---|---|"
    for key, text in JOURNAL_CALLS.items():
        yield f"| `{key}` | {text} |"
    yield "\nA plugin adds keys with `context.note(key, value)`, and warnings with `context.warn(text)`."


def _whole_hook(hook: str) -> Iterator[str]:
    spec = _spec(hook)
    yield f"### {hook}\n"
    yield f"```text\n{_signature(spec)}\n```\n"
    yield f"When: {_markdown(_sections(spec)['When'])}\n"
    yield from _answers(spec)
    yield from _arguments(spec, set())
    yield from _example(spec)
    yield ""


def _answers(spec: Callable[..., Any]) -> Iterator[str]:
    sections = _sections(spec)
    items = _items(sections["Returns"])
    if items:
        yield "Returns:\n"
        yield from (f"- {names}: {text}" for names, text in items)
    else:
        yield f"Returns: {_markdown(sections['Returns'])}"
    yield f"\nOf several plugins: {_markdown(sections['Combined'])}\n"


def _arguments(spec: Callable[..., Any], known: set[str]) -> Iterator[str]:
    items = [item for item in _items(_sections(spec)["Args"]) if item[0].strip("`") not in known]
    if items:
        yield "Arguments:\n"
        yield from (f"- {names}: {text}" for names, text in items)
        yield ""


def _example(spec: Callable[..., Any]) -> Iterator[str]:
    example = dedent(_sections(spec)["Example"].strip("\n"))
    yield f"```py\n{example}\n```"


@cache
def _spec(hook: str) -> Callable[..., Any]:
    for specs in all_spec_classes():
        if hook in vars(specs):
            found: Callable[..., Any] = vars(specs)[hook]
            return found
    raise LookupError(hook)


def _own_specs(specs: type) -> list[str]:
    return [name for name, value in vars(specs).items() if not name.startswith("_") and callable(value)]


def _when(hook: str) -> str:
    return _markdown(_sections(_spec(hook))["When"]).partition(" Event `")[0]


def _sections(spec: Callable[..., Any]) -> dict[str, str]:
    parts = _SECTIONS.split(inspect.getdoc(spec) or "")
    return {name: text.rstrip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _items(section: str) -> list[tuple[str, str]]:
    """Return what an indented list of ``name: text`` says; empty for running text."""
    found: list[tuple[str, str]] = []
    for line in dedent(section.strip("\n")).splitlines() if section.startswith("\n") else []:
        name, colon, text = line.partition(": ")
        if line.startswith(" ") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif colon:
            found.append((name, text))
        elif line.endswith(":"):
            found.append((line[:-1], ""))
    return [(_names(name), _markdown(text.strip())) for name, text in found if name != "(none)"]


def _names(text: str) -> str:
    """Return names, separated by commas, as code; any other text as it is."""
    parts = text.split(", ")
    return ", ".join(f"`{part}`" for part in parts) if all(map(_NAME.fullmatch, parts)) else _markdown(text)


def _markdown(text: str) -> str:
    """Return a docstring's markup as Markdown, its paragraphs in one line each."""
    text = re.sub(r":[a-z]+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _signature(spec: Callable[..., Any]) -> str:
    shown = inspect.signature(spec)
    parameters = [
        f"{name}: {_type(parameter.annotation)}" for name, parameter in shown.parameters.items() if name != "self"
    ]
    return f"{spec.__name__}({', '.join(parameters)}) -> {_type(shown.return_annotation)}"


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


@cache
def _class_fields(file: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return the fields of a module's classes: name (with ``?`` where there is a default), type, docstring."""
    classes = {}
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            classes[node.name] = list(_class_field(node.body))
    return classes


def _class_field(body: list[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    for number, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id != "raw":
            after = body[number + 1] if number + 1 < len(body) else None
            told = after.value if isinstance(after, ast.Expr) else None
            doc = told.value if isinstance(told, ast.Constant) and isinstance(told.value, str) else ""
            name = node.target.id if node.value is None else f"{node.target.id}?"
            yield name, ast.unparse(node.annotation).removesuffix(" | None"), doc


def _fields(name: str) -> list[tuple[str, str, str]]:
    return _class_fields(events.__file__)[name]


def _field_table(fields: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield "| field | type | holds |\n|---|---|---|"
    for name, kind, text in fields:
        yield f"| `{name}` | `{kind.replace('|', chr(92) + '|')}` | {_markdown(text)} |"


def _member_table() -> Iterator[str]:
    shown = {name: f"A {_type(value.annotation)}." for name, value in inspect.signature(Services).parameters.items()}
    for kind in (Services, Context):
        for name, value in vars(kind).items():
            member = getattr(value, "func", getattr(value, "fget", value))
            if not name.startswith("_") and callable(member):
                call = name if member is not value else f"{name}{_call(member)}"
                shown.pop(name, None)
                shown[call] = _markdown((inspect.getdoc(member) or "").partition("\n\n")[0])
    yield "| `context.` | |\n|---|---|"
    yield from (f"| `{name}` | {text} |" for name, text in shown.items())


def _call(function: Callable[..., Any]) -> str:
    return f"({', '.join(name for name in inspect.signature(function).parameters if name != 'self')})"


def _tool_class(suffix: str, argument: str) -> str:
    """Return the class of a tool's input or response; empty where the hook's argument is no class of its own."""
    parameter = inspect.signature(_spec(f"post_tool_use_{suffix}")).parameters.get(argument)
    kind = "" if parameter is None else _type(parameter.annotation)
    return kind if hasattr(tools, kind) else ""


def _tool_fields(kind: str) -> list[tuple[str, str, str]]:
    return _class_fields(str(inspect.getsourcefile(getattr(tools, kind)))).get(kind, [])


def _linked(kind: str) -> str:
    return f"[`{kind}`](#{kind.lower()})" if kind and _tool_fields(kind) else f"`{kind}`" if kind else "JSON"


def cli_reference() -> str:
    """Return the reference of the command line: each command's usage, help, arguments and options."""
    entries = [*BUILT_IN, *_first_party()]
    lines = ["# Command reference", f"\n{GENERATED}\n"]
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
    from hookrouter.application import Application

    with TemporaryDirectory() as folder:
        # Not the user's home: what is disabled there has commands too.
        plugins = Application.from_environ({**os.environ, HOME_VARIABLE: folder}).plugins
        own = {info.name for info in plugins.listing() if info.distribution == "hookrouter"}
        return [entry for entry in contributed(plugins.cli_commands())[0].values() if entry.plugin in own]


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
    """Return a help text as Markdown; a block that keeps its line breaks becomes a code block below its first line."""
    for part in dedent(text).strip().split("\n\n"):
        if part.startswith("\b\n"):
            first, _, rest = part.removeprefix("\b\n").partition("\n")
            yield f"{first}\n"
            if rest:
                yield f"```text\n{dedent(rest)}\n```\n"
        else:
            yield f"{' '.join(part.split())}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
