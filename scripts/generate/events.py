"""Writes ``hookrouter.events``: one module for each event, those of the objects in them, and the package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter._contract.document import TOOL_EVENTS
from scripts.generate.python_text import (
    all_list,
    docstring,
    field_line,
    header,
    long_header,
    record_class,
    sentence,
)
from scripts.generate.reading import NESTED_DOCS, field_doc

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from scripts.generate.python_text import Field
    from scripts.generate.reading import Contract, Event

__all__ = ["CLASSES", "event_doc", "write_events"]


def class_body(owner: str, fields: list[Field] | tuple[Field, ...]) -> str:
    """Return the attributes of the class ``owner`` with their docstrings."""
    return "".join(f"{field_line(field)}{docstring(field_doc(owner, field))}" for field in fields)


def event_doc(event: Event) -> str:
    """Return the docstring of an event class."""
    entry = event.entry
    since = entry["since"] or ""
    facts = [f"Hook: ``{event.hook}``, ``hookrouter run {event.kebab}``."]
    if re.fullmatch(r"[\d.]+", since):
        facts.append(f"Since Claude Code {since}.")
    facts.append(f"Exit 2: {sentence(entry['exit2'])}")
    notes = " ".join(sentence(note) for note in entry.get("notes", ()))
    return "\n\n".join(filter(None, [sentence(entry["when"]), " ".join(facts), notes]))


def write_events(contract: Contract) -> dict[str, str]:
    """Return the modules of the package by their paths in it: one for each event, so that a hook run builds no other.

    The objects that every event about a tool may hold stand beside the base, those of other events in ``objects``.
    """
    everywhere = [
        *contract.common,
        *(field for one in contract.events if one.name in TOOL_EVENTS for field in one.fields),
    ]
    used = {field.kind.record for field in everywhere}
    shared = {name: fields for name, fields in contract.nested.items() if name in used}
    objects = {name: fields for name, fields in contract.nested.items() if name not in used}
    homes = dict.fromkeys(("Event", "UnknownEvent", *shared), BASE) | dict.fromkeys(objects, OBJECTS)
    modules = {event.hook: _event_module(event, homes) for event in contract.events}
    modules[BASE] = _base_module(contract, shared)
    modules[OBJECTS] = _module("The objects in events that only some of them hold.", objects, "")
    modules["__init__"] = _package(contract, homes | {"EVENT_CLASSES": CLASSES})
    return {f"{name}.py": text for name, text in modules.items()}


BASE, OBJECTS, CLASSES = "event", "objects", "classes"
"""The modules of the package that are no event's; the last one is written by hand."""


def _base_module(contract: Contract, nested: Mapping[str, list[Field]]) -> str:
    doc = "What every event carries; optional fields are None if Claude Code does not send them."
    base = record_class("Event", "Record", doc, class_body("Event", contract.common))
    base += record_class("UnknownEvent", "Event", "An event of a newer Claude Code; its own fields are in ``raw``.")
    return _module("What all events have in common.", nested, base)


def _event_module(event: Event, homes: Mapping[str, str]) -> str:
    """Return the module of one event; ``homes`` says in which module each object is."""
    records = {field.kind.record for field in event.fields} - {None}
    imports = [line for home in (BASE, OBJECTS) for line in _imports(home, {"Event", *records}, homes)]
    body = record_class(event.name, "Event", event_doc(event), class_body(event.name, event.fields))
    return _module(f"The event ``{event.name}``.", {}, body, imports)


def _imports(module: str, names: Collection[str | None], homes: Mapping[str, str]) -> list[str]:
    found = sorted(name for name in names if name is not None and homes[name] == module)
    return [f"from hookrouter.events.{module} import {', '.join(found)}"] if found else []


def _module(what: str, nested: Mapping[str, list[Field]], body: str, imports: Sequence[str] = ()) -> str:
    """Return a module: the classes of ``nested`` objects, then ``body``."""
    classes = "".join(
        record_class(name, "Record", NESTED_DOCS[name], class_body(name, nested[name])) for name in nested
    )
    classes += body
    from_records = [word for word, sign in (("Record", "(Record)"), ("field", " = field(")) if sign in classes]
    lines = [*imports, *([f"from hookrouter.records import {', '.join(from_records)}"] if from_records else [])]
    typing = [line for word, line in _TYPING.items() if word in classes]
    return "".join(
        [
            header(what),
            "from __future__ import annotations\n\n",
            "".join(f"{line}\n" for line in lines),
            "\n",
            "".join(["TYPE_CHECKING = False\n\nif TYPE_CHECKING:\n", *typing, "\n"]) if typing else "",
            all_list(re.findall(r"^class (\w+)\(", classes, re.MULTILINE)),
            classes,
        ]
    )


_TYPING = {
    "Mapping[": "    from collections.abc import Mapping\n",
    "Any": "    from typing import Any\n",
}


PACKAGE_DOC = """\
The module of an event is imported when its class is first used. The sets of values that are named in descriptions are
open: a newer client may send others."""


def _package(contract: Contract, homes: Mapping[str, str]) -> str:
    """Return ``__init__.py``; ``homes`` is public name -> its module, for all names but the events' own."""
    modules: dict[str, list[str]] = {}
    for name, home in homes.items():
        modules.setdefault(home, []).append(name)
    everywhere = sorted([*modules, *(event.hook for event in contract.events)])
    what = f"The {len(contract.events)} events of Claude Code: what hooks receive as ``event``."
    return "".join(
        [
            long_header(what, contract.version, PACKAGE_DOC),
            "from hookrouter._contract.tables import EVENTS\nfrom hookrouter.util.lazy import lazy_names\n\n",
            "TYPE_CHECKING = False\n\nif TYPE_CHECKING:\n",
            *(f"    from hookrouter.events.{module} import *\n" for module in everywhere),
            "else:\n",
            "    __getattr__ = lazy_names(\n        __name__,\n        {\n",
            *(f'            "hookrouter.events.{module}": "{" ".join(names)}",\n' for module, names in modules.items()),
            '            **{f"hookrouter.events.{event.hook}": event.name for event in EVENTS.values()},\n',
            "        },\n    )\n",
        ]
    )
