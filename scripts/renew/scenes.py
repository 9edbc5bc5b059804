"""The screens that are recorded for every client version: which form, which keys, and what is compared of them."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["SCENES", "STARTS", "TOOL_SCENES", "Scene", "Start", "ToolScene", "dialog_part", "same_dialog"]

_RULE = re.compile(r"─{20,}\s*")
_PROMPT = re.compile(r"[❯>] please (?:ASK|RUN) ")


class Scene(NamedTuple):
    """One page of a form."""

    name: str
    """The name of the file below ``tests/data/screens/VERSION/``, without its ending."""
    form: str
    """The name of the form below ``tests/data/screens/questions/``."""
    keys: tuple[str, ...] = ()
    """What is pressed, by tmux's names; ``type TEXT`` types. Each must change the screen."""
    width: int = 120
    height: int = 40


class ToolScene(NamedTuple):
    """The dialog of a permission for one tool call."""

    name: str
    tool: str
    input: dict[str, str]


class Start(NamedTuple):
    """A dialog that a client shows at its start, because its home lacks something."""

    name: str
    forgets: str
    """The answer that its home does not hold: ``trust`` in the folder, or the ``key`` of the API."""
    title: str
    """A text of the dialog that shows that it is drawn."""


_TO_REVIEW = ("Down", "Enter", "Enter", "Down", "Down", "Enter", "Down", "Down", "Enter", "Down", "Down", "Enter")

SCENES = (
    Scene("S1-0-0-open", "single"),
    Scene("S3-a-2-typed", "single", ("Down", "Down", "Down", "type hello typed")),
    Scene("S4-n1-1-cursor", "single", ("Down",) * 4),
    Scene("S5-main-6-review", "multi", ("Enter", "Down", "Down", "Enter", "Down", "Down", "Down", "Enter")),
    Scene("S6-a-1-typed", "multi", ("Down", "Enter", "Down", "Down", "Down", "type DRY, SRP")),
    Scene("S6-d-chat-1-cursor", "multi", ("Down",) * 6),
    Scene("S7-main-2-two", "tabs", _TO_REVIEW[:6]),
    Scene("S7-main-5-review", "tabs", _TO_REVIEW),
    Scene("S7-partial-1-review-partial", "tabs", ("Down", "Enter", "Tab", "Tab")),
    Scene("S8-a-0-open", "preview"),
    Scene("S8-a-4-note", "preview", ("Down", "n", "type my note")),
    Scene("T-single-80x24-open", "tall", width=80, height=24),
    Scene("T-multi-80x24-open", "tallmulti", width=80, height=24),
)
"""Pages that every recorded version has, and two that do not fit their pane."""

TOOL_SCENES = (
    ToolScene("D-permission-bash", "Bash", {"command": "touch made && rm -rf build", "description": "Make a file"}),
    ToolScene("D-permission-write", "Write", {"file_path": "new.py", "content": "print(1)\nprint(2)\n"}),
)

STARTS = (
    Start("D-trust", "trust", "I trust this folder"),
    Start("D-apikey", "key", "Do you want to use this API key?"),
)


def dialog_part(screen: str) -> str:
    """Return what a screen shows of its dialog, without what stands above it and blank rows below.

    Above it are earlier turns, with times of day and words that the client draws at random. The dialog begins with the
    first rule below the last prompt; where neither is on the screen, the dialog fills the screen.
    """
    lines = [line.rstrip() for line in screen.split("\n")]
    begin = max((number for number, line in enumerate(lines) if _PROMPT.match(line)), default=-1) + 1
    rules = [number for number in range(begin, len(lines)) if _RULE.fullmatch(lines[number])]
    if rules and (begin or not any(line.strip() for line in lines[: rules[0]])):
        begin = rules[0]
    return "\n".join(lines[begin:]).strip("\n")


def same_dialog(recorded: str, seen: str) -> bool:
    """Whether two screens show the same dialog in the same state."""
    return dialog_part(recorded) == dialog_part(seen)
