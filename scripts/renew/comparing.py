"""Compares what was seen of a client with the contract, and with what hookrouter reads on its screens.

What a run shows is told apart from the contract by file and key. The contract itself is kept by hand: a run sees some
events and tools only, and never what a field means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.terminals import Screen
from hookrouter_keystrokes.screens.reading import read
from scripts.generate.reading import EVENT_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrouter._contract.compare import Contract
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter_keystrokes.screens.model import DialogState
    from scripts.renew.recording import Recording
    from scripts.renew.scenes import Scene

__all__ = ["GRAMMAR", "Edit", "compare_contract", "compare_reading"]

GRAMMAR = "plugins/hookrouter_keystrokes/grammar.py"
"""Where what the client draws is written down."""

_NO_TOOLS = {"DeferredToolPlaceholder"}
"""What the client offers beside tools: it is never called."""


class Edit(NamedTuple):
    """Something that a person has to decide on."""

    file: str
    key: str
    """The place in the file: ``events.Stop.input.name``."""
    said: str

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.file}: {self.key}: {self.said}"


def compare_contract(file: str, known: Contract, seen: Recording) -> list[Edit]:
    """Return what the client lists, sends and offers and ``known`` has not, or the other way round.

    ``file`` is the contract's path in the repository.
    """
    found = [*_events(known, seen.events), *_payloads(known, seen.payloads), *_offered(known, seen.tools)]
    return [Edit(file, key, said) for key, said in dict.fromkeys(found)]


def _events(known: Contract, listed: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if not listed:
        yield "events", "no list of hook events was found in the client's program: compare them by hand"
        return
    for name in sorted({*listed} - {*known.events}):
        yield f"events.{name}", f"the client has this event; the contract has not: add it, with {', '.join(EVENT_KEYS)}"
    for name in sorted({*known.events} - {*listed}):
        yield f"events.{name}", "the client does not list this event any more"


def _payloads(known: Contract, payloads: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, str]]:
    for payload in payloads:
        name = payload.get("hook_event_name", "")
        fields = known.fields.get(name)
        if fields is None:
            for key, value in payload.items():
                yield f"events.{name}.input.{key}", f"the client sends it ({type(value).__name__})"
            continue
        for key in sorted({*payload} - {*fields}):
            yield f"events.{name}.input.{key}", f"the client sends it ({type(payload[key]).__name__})"
        for key, field in fields.items():
            if field.required and key not in payload:
                yield f"events.{name}.input.{key}", "required, and the client did not send it"
        response = payload.get("tool_response")
        tool = known.tools.get(payload.get("tool_name", ""))
        if isinstance(response, dict) and tool is not None:
            shape = tool["tool_response"]
            for key in sorted({*response} - {*shape}) if shape is not None else ():
                yield f"tools.{payload['tool_name']}.output.{key}", "the client sends it in tool_response"


def _offered(known: Contract, tools: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, schema in sorted(tools.items()):
        if name.startswith("mcp__") or name in _NO_TOOLS:
            continue
        if name not in known.tools:
            yield f"tools.{name}", "the client offers this tool to the model; the contract has not"
            continue
        shape = known.tools[name]["tool_input"]
        if shape is None:
            continue
        for key in sorted({*schema.get("properties", {})} - {*shape}):
            yield f"tools.{name}.input.{key}", "the client lets the model give it"
        for key in sorted({*schema.get("required", ())} & {*shape}):
            if not shape[key].required:
                yield f"tools.{name}.input.{key}", "required by the client, optional in the contract"


def compare_reading(
    scenes: tuple[Scene, ...],
    forms: Mapping[str, AskUserQuestionInput],
    recorded: Mapping[str, str],
    seen: Mapping[str, str],
) -> list[Edit]:
    """Return the scenes that hookrouter reads otherwise than those ``recorded`` for the version before."""
    edits = []
    for scene in scenes:
        if scene.name not in recorded or scene.name not in seen:
            continue
        before, after = (_state(screens[scene.name], scene, forms[scene.form]) for screens in (recorded, seen))
        if before != after:
            edits.append(Edit(GRAMMAR, scene.name, f"reads as {after}, was {before}"))
    return edits


def _state(screen: str, scene: Scene, form: AskUserQuestionInput) -> DialogState:
    lines = [line.rstrip(" ") for line in screen.split("\n")]
    return read(Screen(tuple(lines), scene.width, scene.height), form)
