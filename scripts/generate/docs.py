"""Write the pages of hooks, events, tools and replies: ``python -m scripts.generate.docs [--check] [FOLDER]``.

Written are ``reference/hooks.md``, ``events.md``, ``tools.md`` and ``replies.md`` in FOLDER, by default ``docs`` in the
source tree: from the contract, and from the docstrings of what is written by hand (the context, the replies, the hooks
of answering, commands and settings). ``--check`` writes nothing and exits 1 if a file differs.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from hookrouter import replies
from hookrouter._contract.document import TOOL_EVENTS
from hookrouter.context import Context, Services
from hookrouter.hookspecs import all_spec_classes
from hookrouter.hookspecs.answering import AnswerSpecs
from hookrouter.hookspecs.commands import CommandSpecs
from hookrouter.hookspecs.pages import PageSpecs
from hookrouter.hookspecs.prompting import PromptSpecs
from hookrouter.hookspecs.residing import ResidentSpecs
from hookrouter.hookspecs.settings import SettingsSpecs
from hookrouter.hookspecs.storage import StorageSpecs
from hookrouter.hookspecs.watching import WatchSpecs
from hookrouter.replies import REPLIES, Reply
from scripts.generate.events import event_doc
from scripts.generate.files import write_or_compare
from scripts.generate.hookspecs import (
    TOOL_EXAMPLES,
    combined_doc,
    event_example,
    example,
    mcp_parameters,
    returns_items,
    tool_parameters,
)
from scripts.generate.python_text import sentence
from scripts.generate.reading import NESTED_DOCS, Contract, Event, field_doc, read_contract
from scripts.generate.tools import attribute_doc, record_doc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scripts.generate.python_text import Field
    from scripts.generate.shapes import Tool

__all__ = ["generate", "main"]

FOLDER = Path(__file__).resolve().parents[2] / "docs"

GENERATED = "<!-- Written by `python -m scripts.generate.docs`: change the contract or the code, not this file. -->"

_SECTIONS = re.compile(r"^(When|Returns|Combined|Args|Example):{1,2} ?", re.MULTILINE)
_NAME = re.compile(r"[\w.]+")
_CONTRIBUTIONS = {
    "Answering": AnswerSpecs,
    "Prompting": PromptSpecs,
    "Watching": WatchSpecs,
    "The page": PageSpecs,
    "Processes beside the router": ResidentSpecs,
    "Storage": StorageSpecs,
    "Commands": CommandSpecs,
    "Settings": SettingsSpecs,
}


def main(arguments: list[str]) -> int:
    """Write the files, or compare them; the exit code is 1 if ``--check`` finds a difference, 2 for other words."""
    return write_or_compare("scripts.generate.docs", arguments, FOLDER, generate)


def generate() -> dict[str, str]:
    """Return the text of each file by its name."""
    contract = read_contract()
    pages = {
        "hooks": _hooks_page(contract),
        "events": _events_page(contract),
        "tools": _tools_page(contract),
        "replies": _replies_page(contract),
    }
    return {
        f"reference/{name}.md": re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip("\n") + "\n"
        for name, lines in pages.items()
    }


def _hooks_page(contract: Contract) -> Iterator[str]:
    yield f"# Hooks\n\n{GENERATED}\n"
    yield (
        "A plugin implements any of these hooks as a function marked `@hookimpl`. Each is called for the event, or the "
        "event's tool, that it is named after; arguments are passed by name, and those that are not needed may be left "
        "out (but not in a class that derives from the spec classes in `hookrouter.hookspecs`, by which type checkers "
        "compare signatures).\n"
    )
    yield f"Statements about Claude Code were measured on {contract.version}.\n"
    yield "- [Events](#events): one hook each; their fields are in [Events](events.md)."
    yield "- [Tools](#tools): one hook for each event of a call and each tool; their fields are in [Tools](tools.md)."
    anchors = {title: title.lower().replace(" ", "-") for title in ("All payloads", *_CONTRIBUTIONS)}
    yield f"- {', '.join(f'[{title}](#{anchor})' for title, anchor in anchors.items())}."
    yield "- [Replies](replies.md): what hooks return.\n"
    yield "## The context\n\n`context`, the last argument of every event's hook, is the run:\n"
    yield from _member_table()
    yield "\n## Events\n\n| hook | event | when |\n|---|---|---|"
    for event in contract.events:
        link = f"[{event.name}](events.md#{event.name.lower()})"
        yield f"| [`{event.hook}`](#{event.hook}) | {link} | {_markdown(sentence(event.entry['when']))} |"
    for event in contract.events:
        yield f"\n### {event.hook}\n"
        yield _code("text", _shown(event.hook, {"event": event.name, "context": "Context"}, event))
        yield f"{_markdown(sentence(event.entry['when']))} {_timing(event)}\n"
        yield from _returns(event)
        yield _code("py", _example_of(event_example(event)))
    yield "## Tools\n"
    yield (
        "Each of the five events about a tool call also has one hook for each tool, called before the event's own and "
        "registered for that tool alone, so that other calls start no process. Its name is the event's and the tool's: "
        "`pre_tool_use_bash`. The tools of MCP servers share one, `pre_tool_use_mcp`. What they return, and how the "
        "replies of several plugins are merged, is the same as for the event's own hook.\n"
    )
    for event in contract.events:
        if event.name in TOOL_EVENTS:
            yield from _tool_family(event)
    yield "## All payloads\n"
    yield from _whole_hook("raw_event")
    for title, specs in _CONTRIBUTIONS.items():
        yield f"## {title}\n"
        for hook in _own_specs(specs):
            yield from _whole_hook(hook)


def _timing(event: Event) -> str:
    seconds = event.entry["default_timeout_s"]
    facts = [f"Claude Code gives a hook of this event {seconds:g} seconds unless its entry says otherwise."]
    if event.entry["matcher_field"]:
        facts.append(f"Matchers look at `{event.entry['matcher_field']}`.")
    facts.append("It can stop what is going on." if event.entry["blockable"] else "It cannot stop what is going on.")
    return " ".join(facts)


def _tool_family(event: Event) -> Iterator[str]:
    """Describe the hooks of an event for its tools."""
    yield f"### {event.hook}_TOOL\n"
    own = _shown(f"{event.hook}_TOOL", tool_parameters(event, "ToolInput", "ToolOutput"), event)
    yield _code("text", f"{own}\n{_shown(f'{event.hook}_mcp', mcp_parameters(event), event)}")
    yield f"{_markdown(sentence(event.entry['when']))} Returns: see [`{event.hook}`](#{event.hook}).\n"
    yield "`server` and `tool` are the parts of the name `mcp__<server>__<tool>`, `tool_input` is plain JSON there.\n"
    for (name, tool), body in TOOL_EXAMPLES.items():
        if name == event.name:
            hook = f"{event.hook}_{tool.lower()}"
            parameters = ", ".join(tool_parameters(event, "", ""))
            yield _code("py", _example_of(example(hook, parameters, body)))


def _returns(event: Event) -> Iterator[str]:
    yield "Returns:\n"
    for names, said in returns_items(event):
        listed = ", ".join(f"`{name}`" for name in names)
        yield f"- {listed}: {_markdown(said)}"
    yield f"\nOf several plugins: {_markdown(combined_doc(event))}\n"


def _shown(hook: str, parameters: dict[str, str], event: Event) -> str:
    listed = ", ".join(f"{name}: {kind}" for name, kind in parameters.items())
    return f"{hook}({listed}) -> {event.reply.__name__} | None"


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


def _example_of(part: str) -> str:
    """Return the code of the last part of a docstring."""
    return dedent(part.removeprefix("Example::\n\n"))


def _events_page(contract: Contract) -> Iterator[str]:
    yield f"# Events\n\n{GENERATED}\n"
    yield (
        f"The {len(contract.events)} events of Claude Code {contract.version}: what hooks receive as `event`, objects "
        "of the classes in `hookrouter.events`. A field that ends in `?` may be missing; it is then `None`. "
        "`event.raw` is the whole payload. A payload that lacks a required field, or has another type there, "
        "reaches no plugin. Sets of values are open: a newer client may send others.\n"
    )
    yield "## Every event\n"
    yield from _field_table((field, field_doc("Event", field)) for field in contract.common)
    for event in contract.events:
        yield f"\n## {event.name}\n\n{_markdown(event_doc(event))}\n\n{_timing(event)}"
        yield f"Its hook: [`{event.hook}`](hooks.md#{event.hook}).\n"
        if event.fields:
            yield from _field_table((field, field_doc(event.name, field)) for field in event.fields)
    yield "\n## Objects in events\n"
    for name, fields in contract.nested.items():
        yield f"### {name}\n\n{NESTED_DOCS[name]}\n"
        yield from _field_table((field, field_doc(name, field)) for field in fields)
        yield ""


def _tools_page(contract: Contract) -> Iterator[str]:
    yield f"# Tools\n\n{GENERATED}\n"
    yield (
        f"What hooks of the {len(contract.tools)} tools of Claude Code {contract.version} receive as `tool_input` and "
        "`tool_response`: objects of the classes in `hookrouter.tools`. What an MCP server's tool takes and gives is "
        "plain JSON.\n"
    )
    yield (
        "A field that ends in `?` may be missing; it is then `None`. An input reaches plugins whether or not it "
        "fits, so every field of an input may be `None`, the required ones too: a guard must refuse what it cannot "
        "read. (The input of AskUserQuestion is checked first.) What a response lacks reads as an empty value. "
        "`raw` is always what Claude Code sent, and `hookrouter.records.check(BashInput, tool_input.raw)` tells "
        "what does not fit.\n"
    )
    yield "| tool | hooks end in | `tool_input` | `tool_response` |\n|---|---|---|---|"
    for suffix, tool in contract.tools.items():
        yield f"| {tool.name} | `_{suffix}` | {_linked(tool, tool.input)} | {_linked(tool, tool.output)} |"
    for tool in contract.tools.values():
        described = {record: fields for record, fields in tool.records.items() if fields}
        if described:
            yield f"\n## {tool.name}"
        for record, fields in described.items():
            yield f"\n### {record}\n\n{_markdown(record_doc(tool, record))}\n"
            yield from _field_table((field, attribute_doc(field)) for field in fields)


def _linked(tool: Tool, record: str) -> str:
    return f"[`{record}`](#{record.lower()})" if tool.records[record] else f"`{record}`"


def _field_table(fields: Iterable[tuple[Field, str]]) -> Iterator[str]:
    yield "| field | type | holds |\n|---|---|---|"
    for field, text in fields:
        name = field.attribute if field.required else f"{field.attribute}?"
        kind = field.annotation if field.unchecked else field.annotation.removesuffix(" | None")
        yield f"| `{name}` | `{kind.replace('|', chr(92) + '|')}` | {_markdown(text)} |"


def _replies_page(contract: Contract) -> Iterator[str]:
    yield f"# Replies\n\n{GENERATED}\n"
    yield f"{_markdown(inspect.getdoc(replies) or '')}\n"
    events = {event.name: event for event in contract.events}
    yield "## Every reply\n"
    yield from _constructor_table(Reply)
    for name, kind in REPLIES.items():
        yield f"\n## {kind.__name__}\n\n{_markdown(inspect.getdoc(kind) or '')}\n"
        hook = events[name].hook
        yield f"For [`{hook}`](hooks.md#{hook})" + (
            f" and the hooks of its tools, [`{hook}_TOOL`](hooks.md#{hook}_tool).\n" if name in TOOL_EVENTS else ".\n"
        )
        ignored = events[name].entry["discarded_universal_fields"]
        if ignored:
            yield f"Claude Code ignores in it: {', '.join(f'`{key}`' for key in ignored)}.\n"
        yield from _constructor_table(kind)


def _constructor_table(kind: type) -> Iterator[str]:
    made = [
        getattr(kind, name)
        for name, value in vars(kind).items()
        if isinstance(value, classmethod) and not name.startswith("_") and hasattr(kind, name)
    ]
    if made:
        yield "| made by | means |\n|---|---|"
    for constructor in made:
        call = _signature(constructor).removesuffix(" -> Self").replace("|", "\\|")
        yield f"| `{call}` | {' '.join(_markdown(inspect.getdoc(constructor) or '').split())} |"


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


def _signature(function: Callable[..., Any]) -> str:
    shown = inspect.signature(function)
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in shown.parameters.values()]
    parts = []
    for parameter, annotated in zip(bare, shown.parameters.values(), strict=True):
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        name, equals, default = str(parameter).partition("=")
        if name != "self":
            typed = f"{name}: {_type(annotated.annotation)}"
            parts.append(f"{typed} = {default}" if equals else typed)
    return f"{function.__name__}({', '.join(parts)}) -> {_type(shown.return_annotation)}"


def _type(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
