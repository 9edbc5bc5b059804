"""The messages about a question that go to its agent: the question, a mismatch, and an end without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.dialogs import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.dialogs.comparison import Comparison
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.messaging.gateway import Message, ScheduledMessage

__all__ = ["is_for_person", "tell_end", "tell_mismatch", "wake", "wake_text"]

_MISMATCH_PROMPT = "ask_user_question_mismatch.md"


def wake(question: Dialog, services: Services) -> None:
    """Put the message about an open question into the outbox, for its agent. Raises StoreError.

    It says all that is needed to answer; the rest is added when it goes out, see
    :mod:`hookrouter.dialogs.composer`. An agent whose ``wake_on`` leaves out the kind is not told. Of what is reserved
    for a person an agent is told once, and ``escalate_to`` at once.
    """
    to_person = is_for_person(services.config, question.agent)
    is_reserved = question.is_reserved and not to_person
    hears = all(one.id != question.agent or one.hears_of(question.kind) for one in services.config.agents)
    if not hears and not (is_reserved and services.config.answer.escalate_to):
        return
    from hookrouter.dialogs.messages.formatting import read_command, subject
    from hookrouter.util.program import script_argv

    argv, environ = script_argv(), services.environ
    # Read after this question was saved: of two that are asked at the same time, at least one sees the other.
    others = documents.others(services.store, question)
    text = wake_text(question, argv, environ, others, to_person=to_person)
    message = _message("question", question, subject(question), text)
    then: tuple[ScheduledMessage, ...] = ()
    settings = services.config.answer
    # The inbox takes whatever it gets, and tells nobody.
    if services.config.is_inbox(question.gateway) or is_reserved:
        settings = settings._with(reminders=0)
    if settings.reminds or settings.escalate_to:
        from hookrouter.dialogs.messages.reminders import follow_ups

        if is_reserved:
            settings = settings._with(escalate_after=0.0)
        then = follow_ups(question, message, settings, read_command(question, argv, environ))
    if not hears:
        [escalation] = then
        message, then = escalation.message, ()
    is_open = documents.open_condition(question)
    _once(
        services,
        message,
        question,
        lambda: services.outbox.put(
            message, fallbacks=question.fallbacks if hears else (), then=then, while_open=is_open
        ),
    )


def wake_text(
    question: Dialog, argv: Sequence[str], environ: Mapping[str, str], others: Sequence[Dialog], *, to_person: bool
) -> str:
    """Return the text of :func:`wake`.

    ``argv`` and ``environ`` say how hookrouter is started where it is read, ``others`` what its session has open too.
    """
    if to_person:
        from hookrouter.dialogs.messages.to_person import person_message

        return person_message(question, argv, environ, others)
    from hookrouter.dialogs.messages.formatting import question_message

    return question_message(question, argv, environ, "", others)


def is_for_person(config: Config, agent: str) -> bool:
    """Whether the messages to an agent of this id are written for a person."""
    return any(one.is_person for one in config.agents if one.id == agent)


def tell_mismatch(services: Services, question: Dialog, comparison: Comparison) -> None:
    """Put in a message to the agent that something else was recorded than it meant.

    Raises StoreError, noted in the journal.
    """
    from hookrouter.dialogs.messages.data import closed_data
    from hookrouter.dialogs.messages.formatting import mismatch_message, subject

    to_person = is_for_person(services.config, question.agent)
    text = mismatch_message(question, comparison, "" if to_person else _prompt(services, _MISMATCH_PROMPT))
    data = closed_data(
        "mismatch", question, to_person=to_person, reason=comparison.reason, verification=comparison.document()
    )
    message = _message("mismatch", question, f"Recorded differently: {subject(question)}", text, data)
    _put(services, question, message, f"the agent could not be told of the mismatch in {question.tool_use_id}")


def tell_end(services: Services, question: Dialog, kind: str, reason: str) -> None:
    """Put in a message to the agent that its question has ended without its answer.

    Raises StoreError, noted in the journal.

    ``kind`` is ``unanswered`` or ``warning``.
    """
    from hookrouter.dialogs.messages.data import closed_data
    from hookrouter.dialogs.messages.formatting import subject, unanswered_message

    data = closed_data(kind, question, to_person=is_for_person(services.config, question.agent), reason=reason)
    message = _message(kind, question, f"No answer: {subject(question)}", unanswered_message(question, reason), data)
    failed = f"the agent could not be told that {question.tool_use_id} was not answered: {reason}"
    _put(services, question, message, failed)


def _put(services: Services, question: Dialog, message: Message, failed: str) -> None:
    try:
        _once(services, message, question, lambda: services.outbox.put(message, fallbacks=question.fallbacks))
    except Exception:
        services.warn(failed)
        raise


def _once(services: Services, message: Message, question: Dialog, put: Callable[[], object]) -> None:
    """Put a message in unless an earlier run of the same call has."""

    def is_put() -> bool:
        known = (message.kind, message.session_id, message.tool_use_id)
        return any((one.kind, one.session_id, one.tool_use_id) == known for one in services.outbox.pending())

    documents.tell_once(services.store, question, message.kind, put, is_put)


def _message(kind: str, question: Dialog, subject: str, text: str, data: Mapping[str, Any] | None = None) -> Message:
    from hookrouter.messaging.gateway import Message

    return Message(
        kind=kind,
        agent=question.agent,
        gateway=question.gateway,
        session=question.session,
        session_id=question.session_id,
        tool_use_id=question.tool_use_id,
        subject=subject,
        text=text,
        data=data or {},
    )


def _prompt(services: Services, name: str) -> str:
    """Return a prompt text; without one the message still says all that is needed to answer."""
    from hookrouter.dialogs.messages.prompts import read_prompt

    try:
        return read_prompt(services.home, name)
    except (OSError, ValueError) as error:
        services.warn(f"prompt {name}: {error}")
        return ""
