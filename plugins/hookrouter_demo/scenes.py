"""What the demo's Claude asks, and what must come of each: known beforehand, not taken from hookrouter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CALLS", "SCENES", "TYPED", "CallScene", "Scene"]

TYPED = "sync-state; it's what it does, and the docs say so"
"""What the rule agent types: a text with the characters that terminals and shells trip over."""


class Scene(NamedTuple):
    """One form that Claude asks."""

    name: str
    title: str
    questions: list[dict[str, Any]]
    expected: dict[str, str]
    """The answers that must be recorded, by question text."""
    mode: str = "default"
    """The permission mode in which Claude asks."""

    def recorded(self, payload: Mapping[str, Any]) -> Any:
        """Return what a payload of PostToolUse says of it."""
        return payload.get("tool_response", {}).get("answers")


class CallScene(NamedTuple):
    """One tool call that Claude asks permission for."""

    name: str
    title: str
    kind: str
    """``permission`` or ``plan``."""
    tool: str
    tool_input: dict[str, Any]
    expected: dict[str, Any]
    """What must have happened."""
    mode: str = "default"
    """The permission mode in which Claude asks."""

    def recorded(self, payload: Mapping[str, Any]) -> Any:
        """Return what a payload of PostToolUse says of it: the command that ran, or the mode after the plan."""
        if self.kind == "plan":
            return {"mode": payload.get("permission_mode")}
        return {"command": payload.get("tool_input", {}).get("command")}


def _question(text: str, header: str, options: list[tuple[str, str]], *, multiple: bool = False) -> dict[str, Any]:
    return {
        "question": text,
        "header": header,
        "multiSelect": multiple,
        "options": [{"label": label, "description": description} for label, description in options],
    }


_APPROACH = _question(
    "Which approach should we use for the parser?",
    "Approach",
    [("Rewrite it", "New grammar"), ("Extend it (Recommended)", "Keeps the tests"), ("You decide", "Either is fine")],
)
_NAME = _question(
    "What should the new command be called?",
    "Name",
    [("refresh", "As in the old tool"), ("update", "Taken already")],
)
_AREAS = _question(
    "Which areas belong to this phase?",
    "Areas",
    [
        ("Driver path", "Needed for the first release"),
        ("Naming", "For a later phase"),
        ("Retry policy", "Needed for the first release"),
    ],
    multiple=True,
)
_DATABASE = _question(
    "Which database?", "Database", [("SQLite (Recommended)", "Embedded"), ("Postgres", "A server of its own")]
)

SCENES = (
    Scene("single", "One choice", [_APPROACH], {_APPROACH["question"]: "Extend it (Recommended)"}),
    Scene("typed", "An answer in the agent's own words", [_NAME], {_NAME["question"]: TYPED}),
    Scene("multi", "Several choices", [_AREAS], {_AREAS["question"]: "Driver path, Retry policy"}),
    Scene(
        "tabs",
        "A form with three tabs and a review",
        [_DATABASE, _AREAS, _NAME],
        {
            _DATABASE["question"]: "SQLite (Recommended)",
            _AREAS["question"]: "Driver path, Retry policy",
            _NAME["question"]: TYPED,
        },
    ),
)

_COMMAND = "mkdir -p reports && touch reports/today.md"
_PLAN = """# Add a refresh command

1. Read how sync-state stores its cursor
2. Add the command and its test
3. Run the tests"""

CALLS = (
    CallScene(
        "permission",
        "A permission",
        "permission",
        "Bash",
        {"command": _COMMAND, "description": "Make a folder for reports"},
        {"command": _COMMAND},
    ),
    CallScene(
        "plan",
        "The approval of a plan",
        "plan",
        "ExitPlanMode",
        {"plan": _PLAN, "planFilePath": "~/.claude/plans/add-a-refresh-command.md"},
        {"mode": "default"},
        "plan",
    ),
)
