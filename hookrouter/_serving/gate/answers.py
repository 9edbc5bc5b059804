"""What an http hook answers for what a command hook would have said by its exit code and output.

Of an http hook Claude Code takes JSON alone: no status and no plain text blocks, or becomes context. Measured on
2.1.330.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.util import fastjson

if TYPE_CHECKING:
    from hookrouter._serving.caller import Outcome

__all__ = ["CONTEXT_EVENTS", "DECISION_EVENTS", "PERMISSION_EVENTS", "TOLD_EVENTS", "FailedHook", "answer_of"]

PERMISSION_EVENTS = ("PreToolUse", "PreModelSwitch")
"""Events that are refused by ``permissionDecision``."""

DECISION_EVENTS = (
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreSkillShellCommand",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStop",
    "TaskCreated",
    "Stop",
    "ConfigChange",
    "PreCompact",
    "Elicitation",
    "ElicitationResult",
)
"""Events that are blocked by ``"decision": "block"``, or at which Claude is told so."""

TOLD_EVENTS = ("SubagentStart", "CwdChanged", "FileChanged", "PostCompact", "PostModelSwitch", "SessionEnd")
"""Events at which exit code 2 shows stderr to the user, and does no more."""

CONTEXT_EVENTS = ("UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch")
"""Events at which plain text is told to Claude."""

_BLOCKED = 2
_UNIVERSAL = ("continue", "stopReason", "systemMessage", "suppressOutput", "terminalSequence")


class FailedHook(Exception):
    """A hook that has failed, without a decision; the text says how."""


def answer_of(event: str, outcome: Outcome) -> dict[str, Any]:
    """Return the JSON that says, for an event by its name, what a program's end and output say. Raises FailedHook."""
    stdout = outcome.stdout.decode("utf-8", "replace").strip()
    stderr = outcome.stderr.decode("utf-8", "replace").strip()
    document = _document(stdout)
    if outcome.exit_code == _BLOCKED:
        return {
            **{name: value for name, value in (document or {}).items() if name in _UNIVERSAL},
            **_block(event, stderr),
        }
    if document is not None:
        return document
    if outcome.exit_code:
        raise FailedHook(f"exit code {outcome.exit_code}: {stderr}")
    if stdout and event in CONTEXT_EVENTS:
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": stdout}}
    if stdout and event == "PostCompact":
        return {"systemMessage": stdout}
    return {}


def _document(stdout: str) -> dict[str, Any] | None:
    try:
        found = fastjson.loads(stdout) if stdout.startswith("{") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _block(event: str, reason: str) -> dict[str, Any]:
    """Return what blocks, or tells, as exit code 2 does with this text on stderr."""
    text = reason or "blocked by hookrouter"
    if event in PERMISSION_EVENTS:
        refusal = {"permissionDecision": "deny", "permissionDecisionReason": text}
        return {"hookSpecificOutput": {"hookEventName": event, **refusal}}
    if event in DECISION_EVENTS:
        return {"decision": "block", "reason": text}
    return {"systemMessage": reason} if reason and event in TOLD_EVENTS else {}
