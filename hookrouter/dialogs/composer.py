"""Completes the messages about questions when they go out: context, advice, how long it has waited, data for programs.

What is read for it (the transcript, git's HEAD, earlier verdicts, prompts) would cost a hook more time than all the
rest, and is truer later. So the hook puts in a message that is complete in itself, without any of that, and the process
that delivers it has it built again here from the question's document. The message of a question
that has ended by then is dropped; one that ends at that moment is told of as it was put in.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from hookrouter.composing import MessageComposer
from hookrouter.dialogs import documents
from hookrouter.dialogs.closing import close_of_gone_clients
from hookrouter.dialogs.guidance import guidance, guidance_for
from hookrouter.dialogs.linking import dialog_link
from hookrouter.dialogs.messages.closed import closed_words
from hookrouter.dialogs.messages.data import open_data
from hookrouter.dialogs.messages.formatting import Surroundings, question_message, reminder_message
from hookrouter.dialogs.messages.last_words import said_before
from hookrouter.dialogs.messages.outgoing import is_for_person
from hookrouter.dialogs.messages.reminders import ESCALATION, REMINDER
from hookrouter.dialogs.messages.surroundings import git_branch
from hookrouter.dialogs.messages.to_person import escalation_lead, person_message, person_reminder
from hookrouter.dialogs.unsaved import open_unsaved
from hookrouter.dialogs.verdicts import list_verdicts
from hookrouter.messaging.message import CLOSED as CLOSING
from hookrouter.util.clock import now, seconds
from hookrouter.util.program import PROGRAM, script_argv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.dialogs.linking import Link
    from hookrouter.dialogs.verdicts import Verdict
    from hookrouter.messaging.gateway import Message

__all__ = ["DialogComposer", "surroundings"]

QUESTION = "question"
CLOSED = ("mismatch", "unanswered", "warning")
"""The kinds of messages about a question that has ended; they are complete when they are put in."""

EARLIER = 5
"""How many answers of the session are told at most."""

LONGEST = 4000
"""Characters of the last prompt, and of Claude's last words, that are handed on."""


class DialogComposer(MessageComposer):
    """The composer of the messages about dialogs."""

    name = "dialogs"

    def catch_up(self, services: Services) -> None:
        """Bring what was asked while config.toml had problems to the agents that it names now; tell of killed clients.

        That is, close the questions of those that have ended: the hook of another question has no time to look. And
        open those that could not be saved when they were asked.
        """
        found = documents.list_questions(services.store)
        if any(question.provisional for question in found):
            from hookrouter.dialogs.rerouting import reroute

            reroute(services, found)
            found = documents.list_questions(services.store)
        close_of_gone_clients(services, found)
        open_unsaved(services)

    def compose(self, message: Message, attempt: int, services: Services) -> Message | None:
        """Return the message with what is known now; None if it is none of this plugin's, or its question has ended."""
        delivered = {"id": message.id, "attempt": attempt}
        if message.kind in CLOSED and message.data:
            return message._replace(data={**message.data, **delivered})
        if message.kind == CLOSING and message.tool_use_id:
            return _closing(message, services)
        if message.kind not in (QUESTION, REMINDER, ESCALATION) or not message.tool_use_id:
            return None
        question = documents.find_question(services.store, message.session_id, message.tool_use_id)
        if question is None:
            return None
        around = surroundings(question, services)
        argv, environ = script_argv(), services.environ
        reader, to_person = _reader(message, services.config)
        reminder = message.data.get("reminder") if message.kind == REMINDER else None
        link = dialog_link(question, services) if to_person else None
        url = "" if link is None else link.url
        data = open_data(
            message.kind, question, argv, environ, around, to_person=to_person, reminder=reminder, link=url
        )
        text = _text(message, question, services, around, reader, to_person=to_person, reminder=reminder, link=link)
        return message._replace(text=text, data={**data, **delivered}, link=url)


def surroundings(question: Dialog, services: Services) -> Surroundings:
    """Return what is known now of the session that asks."""
    said = said_before(question.transcript_path, question.tool_use_id, subagent=bool(question.agent_id))
    verdicts = [one for one in list_verdicts(services.store) if one.session_id == question.session_id]
    answers = [answer for verdict in sorted(verdicts, key=lambda one: one.at) for answer in _answers(verdict)]
    return Surroundings(
        cwd=question.cwd,
        branch=git_branch(question.cwd),
        transcript_path=question.transcript_path,
        last_prompt=said.prompt[:LONGEST],
        last_words=said.words[-LONGEST:],
        earlier=tuple(answers[-EARLIER:]),
    )


def _closing(message: Message, services: Services) -> Message | None:
    """Return a message that closes an earlier one, with how its question ended; None if nobody has said so."""
    for verdict in list_verdicts(services.store, tool_use_id=message.tool_use_id):
        if verdict.session_id == message.session_id:
            words = closed_words(verdict, [(one["question"], one["answer"]) for one in _answers(verdict)])
            return message._replace(subject=words.subject, text=words.text)
    return None


def _text(
    message: Message,
    question: Dialog,
    services: Services,
    around: Surroundings,
    reader: str,
    *,
    to_person: bool,
    reminder: Mapping[str, int] | None,
    link: Link | None,
) -> str:
    argv, environ = typed_argv() if to_person else script_argv(), services.environ
    asked = seconds(question.saved_at)
    waited = max(0.0, now() - asked) if asked is not None else 0.0
    if message.kind == REMINDER:
        if not reminder:
            # One that an older version has put in.
            return message.text
        number, count = reminder["number"], reminder["of"]
        if to_person:
            return person_reminder(question, argv, environ, waited, number, count, link)
        return reminder_message(question, argv, environ, waited, number, count)
    lead = escalation_lead(question, waited) if message.kind == ESCALATION else []
    # Read after the question was saved: of two that are asked at the same time, at least one sees the other.
    others = documents.others(services.store, question)
    if to_person:
        return person_message(question, argv, environ, others, surroundings=around, lead=lead, link=link)
    has_guidance = bool(guidance(services, question.cwd, question.kind).strip())
    advice = guidance_for(services, message, reader, question) if has_guidance else ""
    return question_message(
        question, argv, environ, advice, others, surroundings=around, lead=lead, has_guidance=has_guidance
    )


def _reader(message: Message, config: Config) -> tuple[str, bool]:
    """Return the id of the entry that reads a message, and whether a person does."""
    found = config.reader(message.gateway)
    if message.kind == ESCALATION:
        return ("", True) if found is None else (found.id, found.is_person)
    own = next((one for one in config.agents if one.id == message.agent), None)
    if own is not None and found is not None and found.is_person and message.gateway in own.fallbacks:
        return found.id, True
    return message.agent, is_for_person(config, message.agent)


def typed_argv() -> list[str]:
    """Return the words by which a person starts hookrouter: its name alone if that is what the shell finds."""
    argv, found = script_argv(), shutil.which(PROGRAM)
    same = found is not None and len(argv) == 1 and os.path.realpath(found) == os.path.realpath(argv[0])
    return [PROGRAM] if same else argv


def _answers(verdict: Verdict) -> list[dict[str, str]]:
    """Return what Claude Code recorded for the questions of one form; nothing of one that has no answer."""
    recorded: dict[str, Any] = dict(verdict.recorded or {})
    compared = (verdict.verification or {}).get("questions")
    for entry in compared if isinstance(compared, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("question"), str):
            recorded[entry["question"]] = entry.get("recorded")
    return [
        {"question": question, "answer": answer, "by": verdict.by, "at": verdict.at}
        for question, answer in recorded.items()
        if isinstance(answer, str) and answer
    ]
