"""What ``hookrouter answer`` tells: its outcome with the exit code, and each question as it was meant and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.documents import FORM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["AnswerResult", "ExitCode", "with_recorded"]


class ExitCode:
    """The exit codes of ``hookrouter answer``."""

    OK = 0
    BAD_INPUT = 2
    RECORDED_DIFFERENTLY = 3
    NOT_DELIVERED = 4
    NOT_CONFIRMED = 5


class AnswerResult(NamedTuple):
    """What came of one ``hookrouter answer``."""

    outcome: str
    """``verified``, ``delivered`` (not waited for), ``chat``, ``planned`` (``--dry-run``), ``invalid``, ``mismatch``,
    ``not_delivered``, ``paused``, ``answered_by_person``, ``unanswered``, ``not_confirmed`` or ``interrupted``."""
    exit_code: int
    """One of :class:`ExitCode`, or 128 and the number of a signal."""
    session: str
    """The session's name."""
    reason: str = ""
    """One sentence for whoever answered."""
    tool_use_id: str = ""
    """Claude Code's id of the call that asks; empty if no question was found."""
    channel: str = ""
    """The last channel that was asked to deliver; empty if none was."""
    questions: tuple[Mapping[str, Any], ...] = ()
    """For each question: ``question``, ``intended``, ``recorded`` and ``result``, the last two if known."""
    steps: tuple[str, ...] = ()
    """What was done, or with ``--dry-run`` what would be."""
    candidates: tuple[Mapping[str, str], ...] = ()
    """If it is not known which question is meant: ``session``, ``tool_use_id`` and ``asked_at`` of those open."""
    by: str = "agent"
    """Who decided: ``agent`` or ``person``."""
    who: str = ""
    """The login name of the person who decided; empty for an agent."""
    kind: str = FORM
    """What was decided on: ``question``, ``permission``, ``plan`` or ``elicitation``."""

    def document(self) -> dict[str, Any]:
        """Return this as JSON."""
        return {"ok": self.exit_code == ExitCode.OK, **self._asdict()}


def with_recorded(questions: Sequence[Mapping[str, Any]], verification: object) -> tuple[Mapping[str, Any], ...]:
    """Add what a verdict says was recorded to what was intended, question by question."""
    results = verification.get("questions") if isinstance(verification, dict) else None
    if not isinstance(results, list):
        return tuple(questions)
    shown = []
    for entry, found in zip(questions, results, strict=False):
        known = {key: found[key] for key in ("recorded", "result", "recorded_notes") if key in found}
        shown.append({**entry, **known})
    return tuple(shown)
