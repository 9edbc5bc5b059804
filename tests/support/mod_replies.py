"""Every kind of reply with what a module of the mod returns for it, and a mod to be written."""

from __future__ import annotations

from typing import Any

from hookrouter import replies
from hookrouter._mod.bridge import Surroundings
from hookrouter._mod.results import FIELDS
from hookrouter._mod.routes import Route

__all__ = ["ALL", "AROUND", "KINDS"]

AROUND = Surroundings("/run/http", ["/bin/hookrouter"], "/a/home", interpreter="/bin/python")
"""Where a mod is written for."""

ALL = [Route(event, None, f"hookrouter run {event}") for event in FIELDS]
"""A route for each event."""


_R = replies
_SAID = "T"
_NEW = {"command": "ls"}
_CONTEXT = {"additionalContext": [_SAID]}
_CONTEXT_EVENTS = (
    *("UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("SubagentStart", "SubagentStop", "Stop", "PostModelSwitch"),
)
_BLOCK_EVENTS = (
    *("UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStop"),
    *("Stop", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange"),
)
_RULE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}

KINDS: list[tuple[str, Any, dict[str, Any]]] = [
    *((event, _R.expected_reply(event).context(_SAID), _CONTEXT) for event in _CONTEXT_EVENTS),  # type: ignore[attr-defined]
    *((event, _R.expected_reply(event).block(_SAID), {"block": _SAID}) for event in _BLOCK_EVENTS),  # type: ignore[attr-defined]
    ("Stop", _R.StopReply.go_on(_SAID), {"block": _SAID}),
    ("PreToolUse", _R.PreToolUseReply.allow(), {"allow": True}),
    ("PreToolUse", _R.PreToolUseReply.allow(updated_input=_NEW), {"allow": True, "updatedInput": _NEW}),
    ("PreToolUse", _R.PreToolUseReply.deny(_SAID, context=_SAID), {"deny": _SAID, **_CONTEXT}),
    ("PreToolUse", _R.PreToolUseReply.ask(_SAID), {"ask": _SAID}),
    ("PreToolUse", _R.PreToolUseReply.ask(), {"ask": "hookrouter asks"}),
    ("PreToolUse", _R.PreToolUseReply.defer(), {"ask": "hookrouter leaves this call to you"}),
    ("PreToolUse", _R.PreToolUseReply.update_input(_NEW), {"updatedInput": _NEW}),
    ("PreToolUse", _R.PreToolUseReply.halt(_SAID), {"deny": _SAID}),
    (
        "PermissionRequest",
        _R.PermissionRequestReply.allow(updated_input=_NEW, updated_permissions=[_RULE]),
        {"decision": {"behavior": "allow", "updatedInput": _NEW, "updatedPermissions": [_RULE]}},
    ),
    (
        "PermissionRequest",
        _R.PermissionRequestReply.deny(_SAID, interrupt=True),
        {"decision": {"behavior": "deny", "message": _SAID, "interrupt": True}},
    ),
    ("PermissionRequest", _R.PermissionRequestReply.deny(_SAID), {"decision": {"behavior": "deny", "message": _SAID}}),
    ("PermissionDenied", _R.PermissionDeniedReply.retry(), {"retry": True}),
    ("PostToolUse", _R.PostToolUseReply.update_output({"a": 1}), {"updatedToolOutput": {"a": 1}}),
    ("PostToolUse", _R.PostToolUseReply.update_output(""), {"updatedToolOutput": ""}),
    ("PostToolUse", _R.PostToolUseReply.update_mcp_output([1]), {"updatedMCPToolOutput": [1]}),
    ("PostToolUse", _R.PostToolUseReply.classifier_context(_SAID), {}),
    (
        "UserPromptSubmit",
        _R.UserPromptSubmitReply.block(_SAID, suppress_original_prompt=True),
        {"block": _SAID, "suppressOriginalPrompt": True},
    ),
    (
        "UserPromptExpansion",
        _R.UserPromptExpansionReply.block(_SAID, suppress_original_prompt=True),
        {"block": _SAID, "suppressOriginalPrompt": True},
    ),
    ("UserPromptSubmit", _R.UserPromptSubmitReply.title(_SAID), {"sessionTitle": _SAID}),
    ("MessageDisplay", _R.MessageDisplayReply.display(_SAID), {"displayContent": _SAID}),
    ("MessageDisplay", _R.MessageDisplayReply.display(""), {"displayContent": ""}),
    ("PreModelSwitch", _R.PreModelSwitchReply.allow(), {"permissionDecision": "allow"}),
    (
        "PreModelSwitch",
        _R.PreModelSwitchReply.deny(_SAID),
        {"permissionDecision": "deny", "permissionDecisionReason": _SAID},
    ),
    (
        "PreModelSwitch",
        _R.PreModelSwitchReply.ask(_SAID),
        {"permissionDecision": "ask", "permissionDecisionReason": _SAID},
    ),
]
"""Each event, a reply, and what is returned."""
