"""Makes one answer to Claude Code of what several plugins replied: deterministic, in the order of the plugins.

The gravest verdict wins, whatever the order; the reasons of all who gave it are joined, each after the name of its
plugin, so that Claude and the user know who decided; so are context and messages of all, as they are. Which verdict is
the graver, and what form it has on stdout: measured on Claude Code 2.1.330.
"""

from __future__ import annotations

from hookrouter._routing.output import BLOCKED, HookOutput
from hookrouter.replies import MAX_CLASSIFIER_CONTEXT, MAX_TERMINAL_SEQUENCE, WAKE, closed, utf16_units
from hookrouter.util import fastjson
from hookrouter.util.text import printable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hookrouter.replies import Reply

__all__ = ["merge", "refusals"]

_GRAVEST_FIRST = ("cancel", "deny", "block", "decline", "defer", "ask", "accept", "allow", WAKE)
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
    verdict = next((one for one in _GRAVEST_FIRST if any(reply.verdict == one for reply in given)), None)
    halted = any(reply.stop_reason for reply in given)
    deciding = [
        plugin for plugin, reply in replies if (reply.stop_reason if halted else verdict and reply.verdict == verdict)
    ]

    def signed(plugin: str, text: str | None) -> str | None:
        return text if plugin in messengers else _signed(plugin, text)

    reason = _join(
        "\n",
        (
            reply.reason if reply.is_exact else signed(plugin, reply.reason)
            for plugin, reply in replies
            if reply.verdict == verdict is not None
        ),
    )
    decision, by = "halt" if halted else verdict, ", ".join(dict.fromkeys(deciding))
    specific = _specific(given, verdict)
    specific |= {name: value for name, value in (rewritten or {}).items() if name in specific}
    if event_name == "PermissionRequest" and verdict is None:
        # An input goes with a grant.
        specific = {}
    plain = specific.pop(_PLAIN_KEYS[event_name], None) if event_name in _PLAIN_KEYS else None
    if isinstance(plain, str) and verdict is None:
        return HookOutput(plain, "", 0, decision, by)

    document: dict[str, object] = {}
    if halted:
        stop_reason = _join("\n", (signed(plugin, reply.stop_reason) for plugin, reply in replies))
        document |= {"continue": False, "stopReason": stop_reason}
    if message := _join("\n", (reply.system_message for reply in given)):
        document["systemMessage"] = message
    exit_code, stderr = 0, ""
    if verdict == WAKE:
        # Claude is given the text as it is. Claude Code reads nothing else then, the messages neither.
        text = _join("\n\n", (reply.reason for reply in given if reply.verdict == verdict))
        exit_code, stderr = BLOCKED, _in_utf8(text)
    elif verdict is not None and event_name in _BY_EXIT_CODE:
        exit_code, stderr = BLOCKED, _in_utf8(reason)
    elif verdict is not None:
        specific = _decided(event_name, verdict, reason, specific, document)
    if specific:
        document["hookSpecificOutput"] = {"hookEventName": event_name, **specific}
    if sequence := _sequence(given):
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


def _specific(replies: Iterable[Reply], verdict: str | None) -> dict[str, object]:
    """Return the fields of the event's own output that survive the verdict, without the verdict itself."""
    merged: dict[str, object] = {}
    for reply in replies:
        for name, value in reply.output.items():
            if _dropped(name, reply, verdict):
                continue
            former = merged.get(name)
            if name in _LISTS and isinstance(former, list) and isinstance(value, list):
                merged[name] = [*former, *(item for item in value if item not in former)]
            elif isinstance(former, str) and isinstance(value, str) and name in _SEPARATORS:
                merged[name] = former + _SEPARATORS[name] + value
            else:
                merged[name] = value
    context = merged.get("classifierContext")
    if isinstance(context, str):
        while (excess := utf16_units(context) - MAX_CLASSIFIER_CONTEXT) > 0:
            # A character is one or two units.
            context = context[: -((excess + 1) // 2)]
        merged["classifierContext"] = context
    return merged


_SEPARATORS = {"additionalContext": "\n\n", "initialUserMessage": "\n\n", "text": "\n\n", "classifierContext": "\n"}

_LISTS = ("watchPaths", "updatedPermissions")

_WITH_VERDICT = ("updatedPermissions", "interrupt", "content", "suppressOriginalPrompt")
"""Fields that belong to the verdict of their own reply, and go if that loses."""


def _dropped(name: str, reply: Reply, verdict: str | None) -> bool:
    if name == "updatedInput":
        return verdict in ("deny", "defer")
    return name in _WITH_VERDICT and reply.verdict != verdict


def _join(separator: str, texts: Iterable[str | None]) -> str:
    return separator.join(text for text in texts if text)


def _sequence(replies: Iterable[Reply]) -> str:
    """Return the terminal sequences one after the other, as many as Claude Code passes on."""
    joined = ""
    for reply in replies:
        longer = joined + (reply.terminal_sequence or "")
        if len(longer.encode("utf-8", "surrogatepass")) <= MAX_TERMINAL_SEQUENCE:
            joined = longer
    return joined
