"""Reads what a command hook said, by exit code, stdout and stderr, as Claude Code reads it.

Measured on Claude Code 2.1.330 and 2.1.332: JSON on stdout counts whatever the exit code is; exit code 2 blocks, with
the reason of the JSON, or else stderr; what is no JSON is plain text, which some events take.
"""

from __future__ import annotations

from hookrouter.replies import expected_reply
from hookrouter.util import fastjson
from hookrouter.util.text import TRIMMED
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrouter.replies import Reply

__all__ = ["HookOutcome", "read_output"]

_PREVENTING = 2
"""The exit code by which a hook blocks."""

_BLOCKED = "Blocked by hook"
_TOO_DEEP = "its stdout is no JSON: the document is nested too deeply"
_SILENT = "No stderr output"

_REASONED = ("PreToolUse", "PreModelSwitch")
_FORMS = ("Elicitation", "ElicitationResult")
_FAILS_BY_CODE = ("WorktreeCreate", "WorktreeRemove")
"""Events that any exit code but 0 fails."""

_CODE_ALONE = ("TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove")
"""Events of which no ``decision`` in JSON is heeded."""

_CONTEXT = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch")
"""Events at which plain text is told to Claude."""

_TEXT = ("PreCompact", "PostCompact")
"""Events that take plain text for what it is, and so a document that neither blocks nor stops."""

_UNHEARD = ("PermissionRequest", "PermissionDenied", "Notification", "MessageDisplay", "StopFailure")
"""Events at which exit code 2 says nothing."""

_COMMON: dict[str, tuple[type, ...]] = {
    "continue": (bool,),
    "stopReason": (str,),
    "suppressOutput": (bool,),
    "systemMessage": (str,),
    "terminalSequence": (str,),
    "reason": (str,),
}

_PERMISSIONS = ("allow", "deny", "ask", "defer")

_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "SessionStart": {
        "additionalContext": (str,),
        "initialUserMessage": (str,),
        "sessionTitle": (str,),
        "watchPaths": (list,),
        "reloadSkills": (bool,),
    },
    "Setup": {"additionalContext": (str,)},
    "UserPromptSubmit": {"additionalContext": (str,), "sessionTitle": (str,), "suppressOriginalPrompt": (bool,)},
    "UserPromptExpansion": {"additionalContext": (str,), "suppressOriginalPrompt": (bool,)},
    "PreToolUse": {"additionalContext": (str,), "updatedInput": (dict,)},
    "PermissionDenied": {"retry": (bool,)},
    "PostToolUse": {
        "additionalContext": (str,),
        "classifierContext": (str,),
        "updatedToolOutput": (object,),
        "updatedMCPToolOutput": (object,),
    },
    "PostToolUseFailure": {"additionalContext": (str,)},
    "PostToolBatch": {"additionalContext": (str,)},
    "MessageDisplay": {"displayContent": (str,)},
    "SubagentStart": {"additionalContext": (str,)},
    "SubagentStop": {"additionalContext": (str,)},
    "Stop": {"additionalContext": (str,)},
    "CwdChanged": {"watchPaths": (list,)},
    "FileChanged": {"watchPaths": (list,)},
    "PostModelSwitch": {"additionalContext": (str,)},
    "Elicitation": {"content": (dict,)},
    "ElicitationResult": {"content": (dict,)},
}
"""What the event's own output may hold beside a verdict, with the kinds of it."""


_GRANT: dict[str, tuple[type, ...]] = {
    "updatedInput": (dict,),
    "updatedPermissions": (list,),
    "message": (str,),
    "interrupt": (bool,),
}
"""The same of the decision of a permission."""


class HookOutcome(Value):
    """What a hook said."""

    reply: Reply | None
    """What it says to Claude Code; None for nothing."""
    fault: str = ""
    """What Claude Code shows the user as a hook that failed, while it goes on; empty for none."""


def read_output(event: str, label: str, exit_code: int, stdout: str, stderr: str) -> HookOutcome:
    """Return what a command hook said to a call of ``event``, an event that the contract has.

    ``label`` names the hook in a reason that is stderr, as Claude Code's own texts do: its command line. An
    ``exit_code`` below 0 is the signal that has ended it.
    """
    document: Mapping[str, Any] | None = None
    fault = ""
    try:
        # Of these two the path, and the compaction's instructions, may begin with anything.
        document = None if event == "WorktreeCreate" else _document(stdout)
        if document is not None:
            _check(event, document)
    except ValueError as error:
        fault, document = str(error), None
    if exit_code == _PREVENTING or (exit_code and event in _FAILS_BY_CODE):
        return _blocked(event, label, stderr, document or {})
    if document is not None:
        said = _said(event, document)
        return HookOutcome(_plain(event, stdout.strip(TRIMMED)) if said is None and event in _TEXT else said)
    if exit_code:
        ended = f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
        return HookOutcome(None, f"{ended}: {stderr.strip() or _SILENT}")
    return HookOutcome(None, fault) if fault else HookOutcome(_plain(event, stdout.strip(TRIMMED)))


def _document(stdout: str) -> Mapping[str, Any] | None:
    """Return the JSON document that stdout is; None for plain text. Raises ValueError for what is neither."""
    text = stdout.strip(TRIMMED)
    if not text.startswith("{") or not text.endswith("}"):
        return None
    try:
        document = fastjson.loads(text)
        # What cannot be written again would take what other hooks say with it.
        fastjson.dumps(document)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        document, end = _first_document(text)
        if end < len(text):
            # With more behind it, Claude Code takes it for plain text.
            return None
    return document if isinstance(document, dict) else None


def _first_document(text: str) -> tuple[object, int]:
    """Return the JSON document at the beginning of a text, and where it ends. Raises ValueError if none is there.

    A number that is too large for Claude Code is null, as what it writes of it.
    """
    import json

    decoder = json.JSONDecoder(parse_float=_number, parse_int=_number, parse_constant=_refused)
    try:
        return decoder.raw_decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:
        raise ValueError(f"its stdout is no JSON: {error}") from None


def _number(spelled: str) -> float | int | None:
    value = float(spelled)
    if abs(value) == float("inf"):
        return None
    return value if {".", "e", "E"}.intersection(spelled) else int(spelled)


def _refused(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _check(event: str, document: Mapping[str, Any]) -> None:
    """Raise ValueError if Claude Code refuses a document."""
    for name, kinds in _COMMON.items():
        _check_kind(name, document, kinds)
    if document.get("decision") not in (None, "approve", "block"):
        raise ValueError('its "decision" is neither approve nor block')
    own = document.get("hookSpecificOutput")
    if own is None:
        return
    if not isinstance(own, dict) or own.get("hookEventName") != event:
        # A block that stands outside counts all the same, but for a permission's.
        if document.get("decision") == "block" and event != "PermissionRequest":
            return
        raise ValueError(f'its "hookSpecificOutput" does not have "hookEventName": "{event}"')
    for name, kinds in _FIELDS.get(event, {}).items():
        _check_kind(name, own, kinds)
    if event in (*_REASONED, "PreSkillShellCommand"):
        _check_kind("permissionDecisionReason", own, (str,))
        if own.get("permissionDecision") not in (None, *_PERMISSIONS):
            raise ValueError(f'its "permissionDecision" is none of {", ".join(_PERMISSIONS)}')
    if event in _FORMS and own.get("action") not in (None, "accept", "decline", "cancel"):
        raise ValueError('its "action" is none of accept, decline, cancel')
    if event == "PermissionRequest":
        decision = own.get("decision")
        if not isinstance(decision, dict) or decision.get("behavior") not in ("allow", "deny"):
            raise ValueError('its "decision" has no "behavior" allow or deny')
        for key, allowed in _GRANT.items():
            _check_kind(key, decision, allowed)


def _check_kind(name: str, table: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
    value = table.get(name)
    if name in table and (not isinstance(value, kinds) or (value is None and object not in kinds)):
        raise ValueError(f'its "{name}" is a JSON {fastjson.json_type(value)}')
    if isinstance(value, list) and name == "watchPaths" and not all(isinstance(item, str) for item in value):
        raise ValueError(f'its "{name}" is no list of texts')


def _blocked(event: str, label: str, stderr: str, document: Mapping[str, Any]) -> HookOutcome:
    """Return what exit code 2 says: what blocks, or else what the user is shown."""
    kind = expected_reply(event)
    verdict = _verdict(event)
    if verdict is None:
        shown = "" if event in _UNHEARD else f"ended with exit code {_PREVENTING}: {stderr.strip() or _SILENT}"
        return HookOutcome(_said(event, document), shown)
    said = _said(event, document)
    if said is not None and said.verdict == verdict:
        return HookOutcome(said)
    reason = stderr.strip() or _SILENT
    if event != "PreCompact":
        # There Claude Code names the command itself, whatever says it.
        reason = f"[{label}]: {stderr or _SILENT}"
    kept = {} if said is None or event in _FORMS else {k: v for k, v in said.output.items() if k != "updatedInput"}
    return HookOutcome((said or kind._make(is_exact=True))._deciding(verdict, reason, kept))


def _verdict(event: str) -> str | None:
    """Return the verdict of a block of an event; None if nothing of it can be blocked by an exit code."""
    if event in _REASONED:
        return "deny"
    if event in _FORMS:
        return "decline"
    # A permission is refused by JSON alone.
    return "block" if hasattr(expected_reply(event), "block") else None


def _said(event: str, document: Mapping[str, Any]) -> Reply | None:
    """Return what a document says, without what Claude Code discards on the event; None if that is nothing."""
    kind = expected_reply(event)
    given = document.get("hookSpecificOutput")
    own: Mapping[str, Any] = given if isinstance(given, dict) and given.get("hookEventName") == event else {}
    verdict, reason = _decision(event, document, own)
    output = {name: own[name] for name in _FIELDS.get(event, {}) if own.get(name) is not None}
    if event == "PermissionRequest" and own:
        decision = own["decision"]
        verdict, reason = decision["behavior"], decision.get("message") or None
        wanted = ("updatedInput", "updatedPermissions") if verdict == "allow" else ("interrupt",)
        output = {name: decision[name] for name in wanted if decision.get(name)}
    stopped = document.get("continue") is False and hasattr(kind, "halt")
    message = document.get("systemMessage") if hasattr(kind, "message") else None
    sequence = document.get("terminalSequence")
    reply = kind._make(
        verdict,
        reason,
        output,
        system_message=message if isinstance(message, str) and message.strip() else None,
        stop_reason=document.get("stopReason") or "Stopped by hook" if stopped else None,
        terminal_sequence=sequence if sequence and _is_shown(kind, sequence) else None,
        is_exact=True,
    )
    says = reply.verdict, reply.output, reply.system_message, reply.stop_reason, reply.terminal_sequence
    return reply if any(says) else None


def _decision(event: str, document: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the verdict of a document, and why."""
    decision, reason = document.get("decision"), document.get("reason") or None
    inner = own.get("permissionDecision")
    if event in _REASONED and inner is not None:
        reason = own.get("permissionDecisionReason") or None
        return inner, reason or (_BLOCKED if inner == "deny" else None)
    if event == "PreSkillShellCommand" and inner in ("deny", "ask", "defer"):
        return "block", own.get("permissionDecisionReason") or _BLOCKED
    if event in _FORMS and own.get("action") is not None and decision != "block":
        return own["action"], None
    if decision == "approve" and event == "PreToolUse":
        return "allow", reason
    if decision == "block" and event not in _CODE_ALONE and _verdict(event) is not None:
        return _verdict(event), reason or _BLOCKED
    return None, None


def _is_shown(kind: type[Reply], sequence: str) -> bool:
    """Whether Claude Code passes a sequence on to the terminal."""
    try:
        kind.terminal(sequence)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _plain(event: str, text: str) -> Reply | None:
    """Return what plain text says on an event; None for nothing."""
    if not text:
        return None
    kind = expected_reply(event)
    if event in _CONTEXT:
        return kind._make(None, None, {"additionalContext": text})
    if event in _TEXT:
        return kind._make(None, None, {"text": text})
    if event == "WorktreeCreate":
        return kind._make(None, None, {"worktreePath": text.splitlines()[-1].strip()})
    return None
