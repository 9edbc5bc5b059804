"""The kinds of dialogs that this plugin serves, for ``hookrouter answer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.answering.interfaces import AskedDialog
from hookrouter.dialogs.kinds import DialogKind
from hookrouter.dialogs.transcript import question_state, result_text, transcript_of
from hookrouter_approvals.calls import other_calls
from hookrouter_approvals.comparing import compared_refusal, meaning, refused
from hookrouter_approvals.decisions import chosen, parse
from hookrouter_approvals.names import ELICITATION, PERMISSION, PLAN
from hookrouter_approvals.requests import proposal
from hookrouter_approvals.rules import AGENT, ALLOW, ruling, widened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.decisions import Decision
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.dialogs.closing import End
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog, PendingAnswer
    from hookrouter.dialogs.kinds import Stalled
    from hookrouter.dialogs.opening import Opening
    from hookrouter.storage.interface import DocumentStore

__all__ = ["ElicitationKind", "PermissionKind", "PlanKind"]


class _Kind(DialogKind):
    """What the kinds have in common."""

    prompt = "approvals.md"
    compares_refusals = True
    granted = "what is granted beside this call"
    without = "allow the call alone"

    def parse(self, question: Dialog, text: str) -> list[dict[str, Any]]:
        """Return the decision in a JSON text, checked."""
        return parse(question, text)

    def chosen(self, question: Dialog, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
        """Return what a person's choice on the form means."""
        return chosen(question, decisions)

    def intended(self, question: Dialog, decisions: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return what the decision means, in words."""
        [decision] = decisions
        text = question.questions[0]["question"]
        return ({"question": text, "intended": meaning(decision), "recorded": None, "result": "unknown"},)

    def refusal(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], config: Config) -> str:
        """Return why no agent may decide this so: by the rules for what was asked, for what is to run, and after it."""
        [decision] = decisions
        folder = str(question.request.get("folder") or question.cwd)
        shell = str(question.request.get("shell") or "bash")
        inputs = [self._input(question)]
        if isinstance(decision.get("input"), dict):
            inputs.append(decision["input"])
        for tool_input in inputs:
            found = ruling(config.approvals.rules, self._tool(question), tool_input, folder, question.cwd, shell)
            if found.decide not in (AGENT, ALLOW):
                why = f"the rule {found.rule!r} says {found.decide!r}" if found.rule else "no rule gives it to an agent"
                return f"config.toml: [[approvals.rules]]: {why}, so no agent may decide this; a person can"
        if rule := widened(config.approvals.rules, _grants(question, decision)):
            return (
                f"config.toml: [[approvals.rules]]: {self.granted} could go past the rule {rule!r}, so no agent may "
                f"grant it; {self.without}"
            )
        return ""

    def asked(
        self, question: Dialog, decisions: Sequence[Mapping[str, Any]], store: DocumentStore
    ) -> AskedDialog | None:
        """Return the dialog and the decision, with the other calls that the client may be asking for."""
        others = tuple(other_calls(store, question))
        return AskedDialog(question.kind, question.request, decisions[0], question.cwd, others)

    def judge(
        self,
        question: Dialog,
        decisions: Sequence[Mapping[str, Any]],
        services: Services,  # noqa: ARG002 - the transcript tells
    ) -> Comparison | None:
        """Compare the refusal that the transcript shows Claude was told."""
        path = transcript_of(question.transcript_path, question.agent_id)
        state, told = question_state(path, question.tool_use_id), result_text(path, question.tool_use_id)
        return compared_refusal(question, decisions[0], state, told)

    def refused(self, question: Dialog, pending: PendingAnswer | None, state: str, told: str) -> End | None:
        """Return what a refusal means: by whom, and whether Claude was told what was meant."""
        return refused(question, pending, state, told)

    def unsaved(self, stalled: Stalled) -> Opening | None:
        """Return the call that the transcript, and the screen, show the client to ask about."""
        from hookrouter_approvals.unsaved import unsaved_call

        found = unsaved_call(stalled)
        return found if found is not None and found.kind == self.name else None

    def _tool(self, question: Dialog) -> str:
        return str(question.request.get("tool", ""))

    def _input(self, question: Dialog) -> Mapping[str, Any]:
        found = question.request.get("input")
        return found if isinstance(found, dict) else {}


def _grants(question: Dialog, decision: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the permission update that a decision grants beside its own call; None for none."""
    if "mode" in decision:
        return {"type": "setMode", "mode": decision["mode"]}
    number = decision.get("always")
    return proposal(question.request, number) if isinstance(number, int) else None


class PermissionKind(_Kind):
    """A tool call that Claude Code asks permission for."""

    name = PERMISSION
    commands = (("allow", ""), ("deny", " TEXT"))


class PlanKind(_Kind):
    """A plan that Claude wants approved."""

    name = PLAN
    commands = (("approve", ""), ("revise", " TEXT"))
    granted = "the mode that is to follow"
    without = "approve the plan without a mode, or with the mode default"


class ElicitationKind(_Kind):
    """A form of an MCP server."""

    name = ELICITATION

    def _tool(self, question: Dialog) -> str:  # noqa: ARG002 - the same for all
        return "Elicitation"

    def _input(self, question: Dialog) -> Mapping[str, Any]:
        return {"server": question.request.get("server", "")}

    def asked(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], store: DocumentStore) -> None:
        """No keys: the dialog of a form opens only when nobody waits for it any more."""

    def judge(self, question: Dialog, decisions: Sequence[Mapping[str, Any]], services: Services) -> None:
        """Nothing in the transcript tells: see the hook."""

    def unsaved(self, stalled: Stalled) -> Opening | None:
        """Return that a server asks something."""
        from hookrouter_approvals.unsaved import unsaved_form

        return unsaved_form(stalled)
