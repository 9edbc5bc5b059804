"""Which answer channels, planner and terminal of config.toml there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.forms import refusal_of
from hookrouter.answering.interfaces import answer_channels, find_planner, keystroke_planners
from hookrouter.dialogs.answers.result import ExitCode
from hookrouter.dialogs.decisions import DecisionError
from hookrouter.dialogs.handover import Handover
from hookrouter.terminals import terminal_backends
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrouter.answering.interfaces import AnswerChannel
    from hookrouter.context import Services
    from hookrouter.dialogs.answers.checked_answer import CheckedAnswer
    from hookrouter.dialogs.answers.result import AnswerResult
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["find_channels", "is_awaited", "no_channel", "planned", "unknown_parts"]


def find_channels(app: Services, chosen: str | None) -> dict[str, AnswerChannel]:
    """Return the channels to try, in order. Raises DecisionError for a chosen one that does not exist."""
    available = answer_channels(app.plugins)
    wanted: Sequence[str] = (chosen,) if chosen is not None else app.config.answer.channels
    found = {name: available[name] for name in wanted if name in available}
    if chosen is not None and not found:
        raise DecisionError([no_channel("--channel", app, wanted)])
    return found


def no_channel(source: str, app: Services, wanted: Sequence[str]) -> str:
    """Return why none of the wanted channels can be tried; ``source`` says where they were asked for."""
    offered = sorted(answer_channels(app.plugins))
    hint = next(filter(None, (_meant(name, offered) for name in wanted)), "")
    known = ", ".join(offered) or "none"
    return f"{source}: there is no channel {', '.join(map(repr, wanted))}{hint}; available: {known}"


def unknown_parts(app: Services, *, located: bool) -> list[str]:
    """Return which planner or terminal of config.toml does not exist, with its key and what there is.

    The terminal matters only if the question was ``located`` in none: a located one has the backend that did it.
    """
    planner, terminal = app.config.answer.planner, app.config.answer.terminal
    chosen: list[tuple[str, str, Iterable[str]]] = [("planner", planner, keystroke_planners(app.plugins))]
    if not located:
        chosen.append(("terminal", terminal, terminal_backends(app.plugins)))
    return [
        f"config.toml: answer.{key}: there is no {key} {name!r}{_meant(name, offered)}; "
        f"available: {', '.join(sorted(offered)) or 'none'}"
        for key, name, offered in chosen
        if name not in offered
    ]


def planned(app: Services, answer: CheckedAnswer, result: AnswerResult) -> AnswerResult:
    """Return the result of a dry run: that a waiting hook would get the answer, or the steps of the planner.

    A channel that hands answers to hooks serves only while a hook waits.
    """
    for name, channel in answer.channels.items():
        if not channel.hands_over:
            break
        if is_awaited(app, answer.question, answer.form, channel):
            step = f"hand the answer to the hook that waits beside the dialog, through the channel {name}; no key"
            return result._replace(
                outcome="planned", exit_code=ExitCode.OK, reason="nothing was done", channel=name, steps=(step,)
            )
    planner = find_planner(app.plugins, app.config.answer.planner, answer.question.kind)
    if planner is None:
        reason = "; ".join(unknown_parts(app, located=True))
        return result._replace(outcome="invalid", exit_code=ExitCode.BAD_INPUT, reason=reason)
    if answer.question.is_form:
        steps = tuple(planner.outline(answer.form, answer.decisions))
    elif answer.dialog is None or answer.dialog.kind not in planner.kinds:
        what = f"no keys can enter it on a dialog of the kind {answer.question.kind}"
        return result._replace(reason=f"no hook is waiting beside the dialog, and {what}")
    else:
        steps = tuple(planner.outline_dialog(answer.dialog))
    refusal = refusal_of(steps)
    if refusal is not None:
        return result._replace(reason=f"the planner {planner.name} cannot enter that: {refusal}")
    return result._replace(outcome="planned", exit_code=ExitCode.OK, reason="nothing was done", steps=steps)


def is_awaited(app: Services, question: Dialog, form: AskUserQuestionInput, channel: AnswerChannel) -> bool:
    """Whether something waits for the answer to a question, to take it at once through this channel."""
    if not channel.hands_over or not channel.serves(question.kind):
        return False
    if question.is_form:
        return channel.is_waiting(app.store, question.session_id, form)
    return Handover.of_call(app.store, question.session_id, question.tool_use_id).waiting() is not None


def _meant(name: str, offered: Iterable[str]) -> str:
    hint = did_you_mean(name, offered)
    return f", {hint}" if hint else ""
