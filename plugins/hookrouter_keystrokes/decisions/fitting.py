"""Whether the dialog on screen is the one that a decision is about: what it shows, against what was asked for.

A dialog names no call, so all that tells two of them apart is what they show. The comparison is without white space,
as for questions. What is shown only in part, such as the difference that an edit makes, could be another call's.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter_keystrokes.dialog_forms import MORE_DASHES, PLACE, REASONS, SUBAGENT, TIP, TITLES, DialogKind
from hookrouter_keystrokes.grammar import QUOTE_BAR
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter_keystrokes.screens.model import OtherDialog

__all__ = ["BLOCKED", "NOT", "PARTLY", "WHOLLY", "fits"]

NOT, PARTLY, WHOLLY = "not", "partly", "wholly"

BLOCKED = "blocked"
"""The kind of documents about dialogs of which no hook tells."""

_KINDS = {"permission": DialogKind.PERMISSION, "plan": DialogKind.PLAN}
_REASONS = frozenset(["", *map(key, REASONS)])


def fits(dialog: OtherDialog, kind: str, request: Mapping[str, Any], folder: str) -> str:
    """Return how far ``dialog`` shows what was asked for: ``WHOLLY``, ``PARTLY`` or ``NOT``.

    ``kind`` and ``request`` are of the dialog's document, ``folder`` is where the client works.
    """
    if kind == BLOCKED:
        seen = {"dialog": dialog.kind, "rows": [*dialog.rows], "body": [*dialog.body]}
        return WHOLLY if not dialog.clipped and seen == {name: request.get(name) for name in seen} else NOT
    if dialog.kind != _KINDS.get(kind):
        return NOT
    tool_input = request.get("input")
    given: Mapping[str, Any] = tool_input if isinstance(tool_input, dict) else {}
    if kind == "plan":
        return _plan(dialog, given)
    tool = str(request.get("tool", ""))
    name = "mcp" if tool.startswith("mcp__") else tool
    compare = _TOOLS.get(name)
    shown = _Shown.of(dialog.body)
    if compare is None or dialog.clipped or shown.title not in TITLES[name]:
        return NOT
    if not isinstance(tool_input, dict):
        # Only the tool of that call is known.
        return PARTLY
    return compare(_Compared(shown, tool, given, folder))


class _Shown(NamedTuple):
    """What a permission's dialog shows above its question."""

    title: str
    before: tuple[str, ...]
    """The lines below the title and above the first line of dashes; all if there is none."""
    inside: tuple[str, ...] | None
    """The lines between the two lines of dashes; None if there are none."""

    @classmethod
    def of(cls, body: Sequence[str]) -> _Shown:
        lines = [line for line in body if line.strip()]
        title = SUBAGENT.sub("", PLACE.sub("", lines[0].strip()), count=1) if lines else ""
        rest = _without_tip(lines[1:])
        dashes = [at for at, line in enumerate(rest) if not line.strip(f" {MORE_DASHES}")]
        if len(dashes) < 2:
            return cls(title, tuple(rest), None)
        return cls(title, tuple(rest[: dashes[0]]), tuple(rest[dashes[0] + 1 : dashes[-1]]))


def _without_tip(lines: list[str]) -> list[str]:
    """Return the lines below a tip; all if there is none."""
    count = next((n for n in range(1, len(lines) + 1) if key("".join(lines[:n])) == key(TIP)), 0)
    return lines[count:]


class _Compared(NamedTuple):
    """Both sides of one comparison."""

    shown: _Shown
    tool: str
    given: Mapping[str, Any]
    folder: str


def _text(lines: Sequence[str]) -> str:
    """Return what is shown, without white space and without the bar before each line of several."""
    bars = all(line.lstrip().startswith(QUOTE_BAR) for line in lines)
    return key("".join(line.lstrip().removeprefix(QUOTE_BAR) if bars else line for line in lines))


def _bash(one: _Compared) -> str:
    command, about = (key(str(one.given.get(name) or "")) for name in ("command", "description"))
    if one.shown.inside is not None:
        return WHOLLY if _text(one.shown.inside) == command and _text(one.shown.before) == about else NOT
    lines = list(one.shown.before)
    barred = [line for line in lines if line.lstrip().startswith(QUOTE_BAR)]
    if barred and lines[: len(barred)] == barred:
        is_command, rest = _text(barred) == command, _text(lines[len(barred) :])
        return WHOLLY if is_command and rest.startswith(about) and rest.removeprefix(about) in _REASONS else NOT
    # Where the command ends is not drawn, so a longer one with less said about it could look so, too.
    return PARTLY if _text(lines).startswith(command + about) else NOT


_NUMBER = re.compile(r"\s*\d+(?: |$)")


def _file(one: _Compared) -> str:
    path, wanted = _shown_path(one), str(one.given.get("file_path", ""))
    if path is None or os.path.normpath(os.path.join(one.folder, path)) != os.path.normpath(
        os.path.join(one.folder, wanted)
    ):
        return NOT
    lines = one.shown.inside or ()
    before, after = _sides(lines)
    if one.tool == "Write":
        content = key(str(one.given.get("content", "")))
        if _plain(lines) == content:
            return WHOLLY
        # What the file holds already is left out of the difference.
        return PARTLY if after and after in content else NOT
    old, new = (key(str(one.given.get(name, ""))) for name in ("old_string", "new_string"))
    return PARTLY if old in before and new in after else NOT


def _shown_path(one: _Compared) -> str | None:
    return "".join(line.strip() for line in one.shown.before) or None


def _plain(lines: Sequence[str]) -> str:
    """Return the text of a new file, whose lines are numbered."""
    column = _text_column(lines)
    return key("".join(line[column:] for line in lines))


def _sides(lines: Sequence[str]) -> tuple[str, str]:
    """Return what a difference shows as it was and as it will be: a sign is before each line, also a wrapped one's."""
    column = _text_column(lines)
    signed = [(line[column : column + 1], line[column + 1 :]) for line in lines]
    before = "".join(text for sign, text in signed if sign != "+")
    return key(before), key("".join(text for sign, text in signed if sign != "-"))


def _text_column(lines: Sequence[str]) -> int:
    """Return behind which column the text of numbered lines begins."""
    found = _NUMBER.match(lines[0]) if lines else None
    return found.end() if found is not None else 0


def _read(one: _Compared) -> str:
    shown = _text(one.shown.inside if one.shown.inside is not None else one.shown.before)
    return WHOLLY if shown == key(f"Read({one.given.get('file_path', '')})") else NOT


def _fetch(one: _Compared) -> str:
    url, prompt = str(one.given.get("url", "")), str(one.given.get("prompt", ""))
    shown = _text(one.shown.inside if one.shown.inside is not None else one.shown.before)
    about = f"Claude wants to fetch content from {_host(url)}"
    plain, quoted = f"url: {url}prompt: {prompt}", f'url: "{url}", prompt: "{prompt}"'
    wanted = {plain} if one.shown.inside is not None else {plain + about, quoted + about}
    return WHOLLY if shown in map(key, wanted) else NOT


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _mcp(one: _Compared) -> str:
    _, server, name = [*one.tool.split("__", 2), "", ""][:3]
    values = [f"{each}: {json.dumps(value, ensure_ascii=False)}" for each, value in one.given.items()]
    shown = _unbarred(one.shown.before)
    if shown.startswith(key(f"{server} - {name}({', '.join(values)}) (MCP)")):
        return WHOLLY
    title, found, rest = shown.partition(key("Tool: (MCP)"))
    # Whole: a server may have another tool whose name begins like this one's.
    if not found or _spelt(title) != f"{_spelt(server)}—{_spelt(name)}":
        return NOT
    if one.shown.inside is not None:
        return WHOLLY if _without_values(_unbarred(one.shown.inside), one.given) == "" else NOT
    after = _without_values(rest, one.given)
    # The server's own words on the tool follow.
    return WHOLLY if after is not None and (not after or after.startswith("Aboutthe")) else NOT


def _spelt(name: str) -> str:
    """Return a name without what a title changes in it."""
    return key(name).casefold().replace("_", "").replace("-", "")


def _unbarred(lines: Sequence[str]) -> str:
    return key("".join(line.lstrip().removeprefix(QUOTE_BAR) for line in lines))


def _without_values(shown: str, given: Mapping[str, Any]) -> str | None:
    """Return what follows a call's values, each as JSON or, if it is a long text, as it is; None if they differ."""
    for name, value in given.items():
        forms = [key(f"{name}: {json.dumps(value, ensure_ascii=False)}")]
        if isinstance(value, str):
            forms.append(key(f"{name}: {value}"))
        form = next((form for form in forms if shown.startswith(form)), None)
        if form is None:
            return None
        shown = shown.removeprefix(form)
    return shown


_TOOLS: dict[str, Callable[[_Compared], str]] = {
    "Bash": _bash,
    "Write": _file,
    "Edit": _file,
    "Read": _read,
    "WebFetch": _fetch,
    "mcp": _mcp,
}


def _plan(dialog: OtherDialog, given: Mapping[str, Any]) -> str:
    path = given.get("planFilePath")
    if not isinstance(path, str):
        return WHOLLY if not given and not dialog.footer else NOT
    # A session has one plan file, and the plan that is approved is compared afterwards.
    return WHOLLY if dialog.footer.endswith(key(f"/{os.path.basename(path)}")) else NOT
