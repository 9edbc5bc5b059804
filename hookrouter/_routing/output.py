"""What one hook run came to: as values that the hook process and its children exchange, and as the journal's record."""

from __future__ import annotations

import os

from hookrouter.util.text import describe_error
from hookrouter.util.value import Value, decode, encode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from hookrouter._routing.hook_call import HookCall

__all__ = ["BLOCKED", "FAILED", "REFUSALS", "HookOutput", "HookRecord", "Routed"]

REFUSALS = ("deny", "block", "cancel", "decline")
"""The verdicts by which a plugin keeps something from happening."""

FAILED = 1
"""The exit code of a hook that has not answered. Claude Code shows stderr and goes on, or refuses the call if the entry
in settings.json says ``"onFailure": "block"``."""

BLOCKED = 2
"""The exit code by which a hook blocks."""


_REFUSED = "refused payload"
_FAILED = "failed"
_UNHEARD = "no listener"
_HANDLED = "handled"
_GUARDED = "guarded"
_ROUTED = "routed"


class HookOutput(Value):
    """What the hook process answers to Claude Code, and what the journal says about it."""

    stdout: str = ""
    """Exactly one JSON document, the plain text that the event takes instead of one, or nothing."""
    stderr: str = ""
    """The reason of a block by exit code."""
    exit_code: int = 0
    decision: str | None = None
    """The verdict that won, ``halt`` if a plugin ended the turn, or None."""
    by: str = ""
    """The plugins that gave it, joined by ", "; empty if none did."""
    unwritten: int = FAILED
    """The exit code if stdout cannot be written."""


class Routed(Value):
    """What came of asking the plugins that listen."""

    output: HookOutput
    """Their merged answer; one that says nothing if none of them replied."""
    calls: list[dict[str, Any]]
    """The journal's entry of each call."""
    fault: str = ""
    """What went wrong in hookrouter itself, so that not everybody was asked; empty if nothing did."""

    @property
    def has_failures(self) -> bool:
        """Whether a plugin failed."""
        from hookrouter.storage.journal import FAILURES

        return any(call["outcome"] in FAILURES for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, for another process of this run."""
        return {"output": encode(self.output), "calls": self.calls, "fault": self.fault}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Routed:
        """Return what :meth:`to_json` made the value of."""
        return cls(decode(HookOutput, value["output"]), value["calls"], value["fault"])


class HookRecord:
    """The journal record of one hook run; no other class knows its keys, but for what plugins note themselves."""

    def __init__(self, call: HookCall) -> None:
        """Begin with what the call says of itself."""
        self.fields: dict[str, Any] = {"event": call.event}
        """The record so far. Plugins add to it through their context."""
        if call.payload:
            self.fields["session_id"] = call.session_id
        for key, value in (("tool", call.tool), ("tool_use_id", call.tool_use_id)):
            if value is not None:
                self.fields[key] = value
        self.fields["warnings"] = list(call.warnings)
        if not call.is_known and not call.problem:
            self.fields.update(level="warning", reason=f"unknown event {call.event!r}")

    def warn(self, text: str) -> None:
        """Add a warning."""
        self.fields.setdefault("warnings", []).append(text)

    def refused(self, problem: str) -> None:
        """Note that the call was not routed, and why."""
        self.fields.update(level="error", outcome=_REFUSED, reason=problem)

    def failed(self, error: BaseException) -> None:
        """Note a fault of hookrouter itself."""
        self.fields.update(level="error", outcome=_FAILED, reason=describe_error(error))

    def refusal_failed(self, error: BaseException) -> None:
        """Note that not even the refusal of the plugins that fail closed could be made."""
        self.fields["reason"] = f"{self.fields.get('reason', '')}; then: {describe_error(error)}"

    def unheard(self) -> None:
        """Note that nobody listens."""
        self.fields.setdefault("level", "debug")
        self.fields["outcome"] = _UNHEARD

    def handled(self) -> None:
        """Note that the mod has brought the call already."""
        self.fields.setdefault("level", "debug")
        self.fields["outcome"] = _HANDLED

    def routed(self, routed: Routed) -> None:
        """Note what the plugins did and what came of it."""
        guarded = self.fields.pop("guarded", False)
        self.fields.setdefault("level", "debug" if guarded else "info")
        self.fields.setdefault("outcome", routed.output.decision or (_GUARDED if guarded else _ROUTED))
        if routed.output.by:
            self.fields["by"] = routed.output.by
        self.fields["plugins"] = routed.calls
        if routed.fault:
            self.fields.update(level="error", reason=routed.fault)
            if routed.output.decision is None:
                self.fields["outcome"] = _FAILED
        if routed.has_failures:
            self.fields["level"] = "error"

    def finished(self, seconds: float, payload_key: str | None) -> dict[str, Any]:
        """Return the whole record; ``payload_key`` names the kept payload, None if none is kept."""
        self.fields["ms"] = round(seconds * 1000, 2)
        self.fields["pid"] = os.getpid()
        if not self.fields.get("warnings"):
            self.fields.pop("warnings", None)
        if payload_key is not None:
            self.fields["payload"] = payload_key
        return self.fields

    def told(self, output: HookOutput) -> str:
        """Return the last line of a trace."""
        return f"{self.fields.get('outcome')}: exit code {output.exit_code}, stdout {output.stdout or 'empty'}"
