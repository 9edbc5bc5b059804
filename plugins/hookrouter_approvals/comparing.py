"""Compares what happened with what was decided, and says both sides in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import closing
from hookrouter.dialogs.comparison import Comparison, QuestionResult
from hookrouter.dialogs.documents import shown_text
from hookrouter.dialogs.transcript import DECLINED, FAILED
from hookrouter.util import fastjson
from hookrouter_approvals.names import KINDS, PLAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.dialogs.closing import End
    from hookrouter.dialogs.documents import Dialog, PendingAnswer

__all__ = ["call_ended", "compared", "compared_refusal", "meaning", "ran", "refused"]


_SAID = re.compile(r"[Tt]he user said:\n")
"""Before what was typed into the dialog, in what Claude is told (2.1.150 to 2.1.330); a subagent gets a capital."""
_PLUGIN = "approvals"
"""The router names the plugin that refuses before its words."""
_DENIED = "Permission for this tool use was denied."
"""How that begins for a subagent, whose call has failed then (2.1.330)."""


def meaning(decision: Mapping[str, Any]) -> str:
    """Return a decision in words."""
    rest = {key: value for key, value in decision.items() if key != "action"}
    text = rest.pop("text", None)
    words = str(decision["action"])
    if isinstance(text, str):
        words += f": {text}"
    return f"{words} {fastjson.dumps(rest)}" if rest else words


def compared_refusal(question: Dialog, decision: Mapping[str, Any], state: str, told: str) -> Comparison | None:
    """Return both sides of a refusal that the transcript shows; None if it shows none, or none was decided.

    ``state`` is how the call stands there, ``told`` what Claude was told. A refusal that ends the turn is told of in
    the client's own words (measured on Claude Code 2.1.330).
    """
    if decision["action"] not in ("deny", "revise"):
        return None
    if decision.get("stop"):
        if state not in (DECLINED, FAILED):
            return None
        return _comparison(question, decision, f"deny, and the turn has ended: {told}", state == DECLINED, "it goes on")
    said = _SAID.search(told)
    if said is not None and (state == DECLINED or (state == FAILED and told.startswith(_DENIED))):
        # By keys: the client puts its own words before those that were typed.
        typed = told[said.end() :]
        return _comparison(question, decision, f"deny: {typed}", typed == decision["text"], "Claude was told otherwise")
    if state != FAILED:
        return None
    matches = told in (decision["text"], f"{_PLUGIN}: {decision['text']}")
    return _comparison(question, decision, f"deny: {told}", matches, "Claude was told something else")


def call_ended(
    question: Dialog,
    pending: PendingAnswer | None,
    *,
    tool_input: Mapping[str, Any],
    mode: str | None,
    response: object,
) -> End | None:
    """Return how a dialog has ended whose call ran; None for one of another plugin's.

    ``response`` is what the tool returned, ``mode`` the session's mode since then.
    """
    if question.kind not in KINDS:
        return None
    facts: dict[str, Any] = {"tool_input": tool_input}
    if question.kind == PLAN:
        plan = response.get("plan") if isinstance(response, dict) else None
        facts |= {"mode": mode, "plan": plan if isinstance(plan, str) else None}
    if pending is None:
        return _by_person(question, ran(**facts))
    return closing.compared(pending, compared(question, pending.decisions[0], **facts))


def refused(question: Dialog, pending: PendingAnswer | None, state: str, told: str) -> End | None:
    """Return how a dialog has ended whose call was refused; None for what the transcript does not say for certain.

    ``state`` and ``told`` as :func:`compared_refusal` takes them.
    """
    comparison = None if pending is None else compared_refusal(question, pending.decisions[0], state, told)
    if pending is not None and comparison is not None:
        return closing.compared(pending, comparison)
    # Of another failure the sweep says what is known.
    return _by_person(question, "deny") if state == DECLINED else None


def _by_person(question: Dialog, recorded: str) -> End:
    return closing.by_person({shown_text(question.questions[0]["question"]): shown_text(recorded)})


def compared(
    question: Dialog,
    decision: Mapping[str, Any],
    *,
    tool_input: Mapping[str, Any],
    mode: str | None = None,
    plan: str | None = None,
) -> Comparison:
    """Return both sides of a decision, of a call that ran.

    ``tool_input`` is what ran, with ``mode`` and ``plan`` if it was the approval of a plan.
    """
    recorded = ran(tool_input, mode=mode, plan=plan)
    if decision["action"] in ("deny", "revise"):
        return _comparison(question, decision, recorded, False, "it ran although it was refused")
    if question.kind == PLAN:
        wanted = decision["plan"] if "plan" in decision else (question.request.get("input") or {}).get("plan")
        is_plan = plan is None or wanted is None or plan == wanted
        is_mode = "mode" not in decision or mode == decision["mode"]
        reason = "another plan was approved" if not is_plan else f"the mode is {mode}"
        return _comparison(question, decision, recorded, is_plan and is_mode, reason)
    wanted_input = decision["input"] if "input" in decision else question.request.get("input") or {}
    matches = _same(tool_input, wanted_input)
    return _comparison(question, decision, recorded, matches, "another input ran than was allowed")


def ran(tool_input: Mapping[str, Any], *, mode: str | None = None, plan: str | None = None) -> str:
    """Return in words what ran."""
    if plan is not None or mode is not None:
        return f"approve {fastjson.dumps({'mode': mode, 'plan': plan})}"
    return f"allow {fastjson.dumps({'input': dict(tool_input)})}"


def _comparison(question: Dialog, decision: Mapping[str, Any], recorded: str, matches: bool, reason: str) -> Comparison:
    result = QuestionResult(
        question=question.questions[0]["question"],
        result="match" if matches else "different",
        intended=meaning(decision),
        recorded=recorded,
    )
    return Comparison(matches, "call", (result,), (), "" if matches else reason)


def _same(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether two inputs are the same, but for keys without a value."""
    return _without_nothing(found) == _without_nothing(wanted)


def _without_nothing(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if one is not None}
