"""Makes one answer to Claude Code of what several plugins replied: deterministic, in the order of the plugins.

The gravest verdict wins, whatever the order; the reasons of all who gave it are joined, each after the name of its
plugin, so that Claude and the user know who decided; so are context and messages of all, as they are. Which verdict is
the graver, and what form it has on stdout: measured on Claude Code 2.1.330.
"""

from __future__ import annotations

from hookrouter._routing.output import BLOCKED, HookOutput
from hookrouter.joined_replies import gravest, joined_output, joined_sequence, joined_text
from hookrouter.replies import WAKE, closed
from hookrouter.util import fastjson
from hookrouter.util.text import printable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hookrouter.replies import Reply

__all__ = ["merge", "refusals"]

_IN_OUTPUT = ("PreToolUse", "PreModelSwitch")
_FORMS = ("Elicitation", "ElicitationResult")
_BY_EXIT_CODE = ("TaskCompleted", "TeammateIdle", "WorktreeCreate", "WorktreeRemove")
_PLAIN_KEYS = {"WorktreeCreate": "worktreePath", "PreCompact": "text", "PostCompact": "text"}

OWN = "hookrouter: "
"""How the texts begin that are hookrouter's own; they name the plugin that they are about."""


def merge(
    event_name: str,
    replies: Sequence[tuple[str, Reply]],
    *,
    messengers: Collection[str] = (),
    rewritten: Mapping[str, object] | None = None,
) -> HookOutput:
    """Merge the replies of plugins, each with the plugin's name, in the order in which they were called.

    Each reply must be one that :func:`hookrouter._routing.reply_check.checked_reply` returned for the event. The
    verdict does not depend on the order; of what can be passed on only once (an output, a title), the last one is.
    ``messengers`` are plugins that pass on somebody else's decision: their reasons stand without their names, and so
    does one that is exact. ``rewritten`` holds what the replies' fields come to together, by wire name, if that is
    known better than by the last one.
    """
    given = [reply for _, reply in replies]
    verdict = gravest(given)
    halted = any(reply.stop_reason for reply in given)
    deciding = [
        plugin for plugin, reply in replies if (reply.stop_reason if halted else verdict and reply.verdict == verdict)
    ]

    def signed(plugin: str, text: str | None) -> str | None:
        return text if plugin in messengers else _signed(plugin, text)

    reason = joined_text(
        "\n",
        (
            reply.reason if reply.is_exact else signed(plugin, reply.reason)
            for plugin, reply in replies
            if reply.verdict == verdict is not None
        ),
    )
    decision, by = "halt" if halted else verdict, ", ".join(dict.fromkeys(deciding))
    specific = joined_output(given, verdict)
    specific |= {name: value for name, value in (rewritten or {}).items() if name in specific}
    if event_name == "PermissionRequest" and verdict is None:
        # An input goes with a grant.
        specific = {}
    plain = specific.pop(_PLAIN_KEYS[event_name], None) if event_name in _PLAIN_KEYS else None
    if isinstance(plain, str) and verdict is None:
        return HookOutput(plain, "", 0, decision, by)

    document: dict[str, object] = {}
    if halted:
        stop_reason = joined_text(
            "\n",
            (reply.stop_reason if reply.is_exact else signed(plugin, reply.stop_reason) for plugin, reply in replies),
        )
        document |= {"continue": False, "stopReason": stop_reason}
    if message := joined_text("\n", (reply.system_message for reply in given)):
        document["systemMessage"] = message
    exit_code, stderr = 0, ""
    if verdict == WAKE:
        # Claude is given the text as it is. Claude Code reads nothing else then, the messages neither.
        text = joined_text("\n\n", (reply.reason for reply in given if reply.verdict == verdict))
        exit_code, stderr = BLOCKED, _in_utf8(text)
    elif verdict is not None and event_name in _BY_EXIT_CODE:
        exit_code, stderr = BLOCKED, _in_utf8(reason)
    elif verdict is not None:
        specific = _decided(event_name, verdict, reason, specific, document)
    if specific:
        document["hookSpecificOutput"] = {"hookEventName": event_name, **specific}
    if sequence := joined_sequence(given):
        document["terminalSequence"] = sequence
    return HookOutput(fastjson.dumps(document) if document else "", stderr, exit_code, decision, by)


def _decided(
    event_name: str, verdict: str, reason: str, specific: dict[str, object], document: dict[str, object]
) -> dict[str, object]:
    """Return the event's own output with the verdict, which goes into the document of events that have it there."""
    if event_name in _IN_OUTPUT:
        with_reason = {"permissionDecisionReason": reason} if reason else {}
        return {"permissionDecision": verdict, **specific, **with_reason}
    if event_name == "PermissionRequest":
        return {"decision": {"behavior": verdict, **({"message": reason} if reason else {}), **specific}}
    if event_name in _FORMS and not reason:
        return {"action": verdict, **specific}
    document |= {"decision": "block", "reason": reason}
    return specific


def _signed(plugin: str, text: str | None) -> str | None:
    """Return a text with its plugin's name before it, unless it has that, or is hookrouter's own."""
    name = printable(plugin)
    return text if not text or text.startswith((f"{name}: ", OWN)) else f"{name}: {text}"


def _in_utf8(text: str) -> str:
    """Return a text for stderr. A lone surrogate is written in JSON as an escape, and here it is none of UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def refusals(event_name: str, plugins: Iterable[str], reason: str) -> list[tuple[str, Reply]]:
    """Return the refusals of plugins that are set to fail closed and could not be asked; ``reason`` says why.

    None for an event that cannot be blocked.
    """
    found = []
    for plugin in plugins:
        what = f"hookrouter: {reason}; plugin {plugin} could not be asked and is set to fail closed, so this is refused"
        if (refusal := closed(event_name, what)) is not None:
            found.append((plugin, refusal))
    return found
