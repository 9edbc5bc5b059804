"""One call, judged by the rules, for a person to look at: which rule decides, and what each part of it got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.cli.terminal import BOLD, DIM, GREEN, RED, YELLOW
from hookrouter.permission_rules.judging import AGENT, ALLOW, DENY, PERSON
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter.cli.terminal import Style
    from hookrouter.permission_rules.judging import Call, JudgedPart, Judgement
    from hookrouter.shell.commands import RunBy

__all__ = ["check_document", "check_lines"]

_COLOURS = {ALLOW: GREEN, DENY: RED, AGENT: BOLD, PERSON: YELLOW, "": DIM}
_WORDS = {ALLOW: "allowed", DENY: "refused", AGENT: "the agent decides", PERSON: "a person decides"}
_MAYBE = "for all that is known before it runs"
_LONGEST = 300
"""Characters of a part that are shown."""


def check_document(call: Call, found: Judgement) -> dict[str, Any]:
    """Return a judgement as JSON values."""
    return {
        "tool": call.tool,
        "folder": call.folder,
        "cwd": call.cwd,
        "decide": found.decide,
        "rule": found.rule,
        "file": found.file or None,
        "certain": all(part.certain and part.kind != "doubt" for part in found.parts),
        "parts": [
            {
                "kind": part.kind,
                "text": part.text,
                "start": part.start,
                "end": part.end,
                "within": [_run_by(one) for one in within],
                "decide": part.decide,
                "rule": part.rule,
                "certain": part.certain,
            }
            for part, within in _placed(found)
        ],
    }


def check_lines(call: Call, found: Judgement, style: Style, *, unicode: bool) -> Iterator[str]:
    """Yield what a person reads: who decides, the line, and its parts as a tree. Safe to write to a terminal."""
    by = f"by {found.rule}" if found.rule else "no rule is about all of it"
    if found.file:
        by += f", of {found.file}"
    bare = next((part for part in found.parts if part.decide == found.decide and not part.rule), None)
    if not found.rule and bare is not None and found.reading is not None:
        by = f"no rule is about: {_named(bare)}"
    yield f"{style(_WORDS[found.decide], _COLOURS[found.decide])}: {printable(by)}"
    if found.reading is not None:
        yield f"  {_cut(found.reading.text)}"
    else:
        yield f"  {printable(call.tool)}"
    branch, last, bar = ("├─ ", "└─ ", "│  ") if unicode else ("|- ", "`- ", "|  ")
    yield from _drawn(_tree(found, style), "  ", branch, last, bar)


Node = tuple[str, list[Any]]
"""A line, and the nodes below it."""


def _tree(found: Judgement, style: Style) -> list[Node]:
    top: list[Node] = []
    open_nodes: list[tuple[RunBy, list[Node]]] = []
    for part, within in _placed(found):
        kept = 0
        while kept < min(len(within), len(open_nodes)) and open_nodes[kept][0] == within[kept]:
            kept += 1
        del open_nodes[kept:]
        for one in within[kept:]:
            node: Node = (style(printable(_run_by(one)), DIM), [])
            (open_nodes[-1][1] if open_nodes else top).append(node)
            open_nodes.append((one, node[1]))
        (open_nodes[-1][1] if open_nodes else top).append((_told(part, found, style), []))
    return top


def _drawn(nodes: list[Node], indent: str, branch: str, last: str, bar: str) -> Iterator[str]:
    for at, (line, below) in enumerate(nodes):
        is_last = at == len(nodes) - 1
        yield f"{indent}{last if is_last else branch}{line}"
        yield from _drawn(below, f"{indent}{'   ' if is_last else bar}", branch, last, bar)


def _placed(found: Judgement) -> Iterator[tuple[JudgedPart, tuple[RunBy, ...]]]:
    """Yield each part with what it stands in, from the outside in."""
    commands = [] if found.reading is None else [one for one in found.reading.commands if one.words]
    within: tuple[RunBy, ...] = ()
    at = 0
    for part in found.parts:
        if part.kind == "command" and at < len(commands):
            within = commands[at].run_by
            at += 1
        elif part.kind == "doubt":
            within = ()
        yield part, within


def _told(part: JudgedPart, found: Judgement, style: Style) -> str:
    if part.kind == "doubt":
        where = "" if found.reading is None else found.reading.text[part.start : part.end]
        text = f"not certain: {part.text}" + (f": {where}" if where else "")
    else:
        text = _named(part)
    if not part.decide:
        return f"{style(_cut(text), DIM)}  (only runs what is below)"
    by = f"{part.decide}, {part.rule}" if part.rule else f"{part.decide}, no rule is about it"
    doubt = "" if part.certain else f"; it may be what the rule is about, {_MAYBE}"
    return f"{style(_cut(text), _COLOURS[part.decide])}  ({printable(by)}{doubt})"


def _named(part: JudgedPart) -> str:
    return f"{part.kind}s {part.text}" if part.kind in ("read", "write") else part.text


def _run_by(one: RunBy) -> str:
    return f"run by {one.name}" if one.kind == "program" else " ".join(filter(None, (one.kind, one.name)))


def _cut(text: str) -> str:
    return printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
