"""What one hook run came to, as values that the hook process and its children exchange."""

from __future__ import annotations

from hookrouter.util.value import Value, decode, encode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

__all__ = ["BLOCKED", "FAILED", "REFUSALS", "HookOutput", "Routed"]

REFUSALS = ("deny", "block", "cancel", "decline")
"""The verdicts by which a plugin keeps something from happening."""

FAILED = 1
"""The exit code of a hook that has not answered. Claude Code shows stderr and goes on, or refuses the call if the entry
in settings.json says ``"onFailure": "block"``."""

BLOCKED = 2
"""The exit code by which a hook blocks."""


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
        from hookrouter._isolation.progress import FAILURES

        return any(call["outcome"] in FAILURES for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, for another process of this run."""
        return {"output": encode(self.output), "calls": self.calls, "fault": self.fault}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Routed:
        """Return what :meth:`to_json` made the value of."""
        return cls(decode(HookOutput, value["output"]), value["calls"], value["fault"])
