"""What a module of Claude Code may return for each event, which is not what a command hook writes.

An event is only brought to the router by the mod if everything that a plugin may reply to it can be said so. Taken from
the client's own typings (``ClassicResultFields``), the same from 2.1.287 to 2.1.330.
"""

from __future__ import annotations

__all__ = ["COMMAND_ONLY", "FIELDS", "FIRST_VERSION", "SILENT_ON_MESSAGES", "UNSAYABLE"]

FIRST_VERSION = "2.1.287"
"""The first version of Claude Code whose mods were seen to carry the bridge."""

_ENDS = ("block", "preventContinuation", "stopReason")

FIELDS: dict[str, tuple[str, ...]] = {
    "UserPromptSubmit": (*_ENDS, "additionalContext", "sessionTitle", "suppressOriginalPrompt"),
    "UserPromptExpansion": (*_ENDS, "additionalContext", "suppressOriginalPrompt"),
    "PreToolUse": ("allow", "ask", "deny", "updatedInput", "additionalContext"),
    "PermissionRequest": ("preventContinuation", "stopReason", "decision"),
    "PermissionDenied": ("preventContinuation", "stopReason", "retry"),
    "PostToolUse": (*_ENDS, "additionalContext", "updatedToolOutput", "updatedMCPToolOutput"),
    "PostToolUseFailure": (*_ENDS, "additionalContext"),
    "PostToolBatch": (*_ENDS, "additionalContext"),
    "Notification": (),
    "MessageDisplay": ("displayContent",),
    "SubagentStart": ("preventContinuation", "stopReason", "additionalContext"),
    "SubagentStop": (*_ENDS, "additionalContext"),
    "TaskCreated": ("block",),
    "TaskCompleted": _ENDS,
    "TeammateIdle": _ENDS,
    "Stop": (*_ENDS, "additionalContext"),
    "StopFailure": (),
    "InstructionsLoaded": (),
    "ConfigChange": ("block",),
    "PreModelSwitch": (*_ENDS, "permissionDecision", "permissionDecisionReason"),
    "PostModelSwitch": ("preventContinuation", "stopReason", "additionalContext"),
}
"""Event -> the fields of a module's result that are used for it. The mod brings these events and no others."""

COMMAND_ONLY: dict[str, str] = {
    "SessionStart": "only a command hook gets CLAUDE_ENV_FILE, and the first one runs before a mod can take its place",
    "Setup": "only a command hook gets CLAUDE_ENV_FILE",
    "PreSkillShellCommand": "what a module may say to it was not measured",
    "CwdChanged": "only a command hook gets CLAUDE_ENV_FILE and may name paths to watch",
    "FileChanged": "only a command hook gets CLAUDE_ENV_FILE and may name paths to watch",
    "DirectoryAdded": "a module has no way to tell Claude a message",
    "WorktreeCreate": "its exit status decides",
    "WorktreeRemove": "its exit status decides",
    "PreCompact": "what it writes is added to the instructions, and a module has no field for it",
    "PostCompact": "what it writes is shown, and a module has no field for it",
    "Elicitation": "a module can refuse a form, and not fill it in",
    "ElicitationResult": "a module can refuse a form, and not fill it in",
    "SessionEnd": "all hooks of a session's end share 1.5 s, and a router that hangs costs 2",
}
"""Event that stays a command hook -> why."""

UNSAYABLE: dict[str, str] = {
    "terminalSequence": "dropped: a module cannot write to the terminal",
    "classifierContext": "dropped: a module has no field for it",
    "permissionDecision: defer": "becomes a question to the person, which refuses the call if there is nobody to ask",
}
"""What a reply may hold beside the fields, and what becomes of it."""

SILENT_ON_MESSAGES = ("Notification", "MessageDisplay", "StopFailure", "InstructionsLoaded", "ConfigChange")
"""The events of FIELDS whose ``systemMessage`` Claude Code discards."""
