"""What every answer channel must do, tried on the client, real or modelled, that its author gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import pytest

from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import AnswerChannel, AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.testing.contracts._optional import misspelt_methods, overrides
from hookrouter.testing.contracts.keystroke_planner import CASES
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AnswerChannelContract", "AskingClient", "Recorded"]

_STATUSES = (AnswerStatus.DELIVERED, AnswerStatus.REFUSED, AnswerStatus.UNAVAILABLE)
_CASE = CASES["select-second"]


class Recorded(NamedTuple):
    """What the client has taken for the answer of a form."""

    answers: Mapping[str, str] | None
    """Question text -> answer, as the client records it; None if the form was declined for a chat."""
    notes: Mapping[str, str] = {}
    """Question text -> note."""
    said: str = ""
    """What was said in a chat."""


class AskingClient(Protocol):
    """The client that an author gives to the contract; its fixture ends it."""

    def ask(self, form: AskUserQuestionInput) -> AnswerRequest:
        """Ask a form, wait until it can be answered, and return the request of it without decisions.

        Its ``deadline`` must be half a minute away, and ``still_open`` say whether the question is open.
        """

    def close(self) -> None:
        """Let the question be closed by somebody else, without an answer."""

    def recorded(self) -> Recorded | None:
        """Return what the client has taken, waiting for it if it may be on its way; None if it took nothing."""


class AnswerChannelContract:
    """Subclass it, and give two fixtures, in the class or its module: ``channel``, and ``client``, an AskingClient."""

    refused: ClassVar[Mapping[str, str]] = {}
    """What the channel cannot bring: the name of a case in ``keystroke_planner.CASES``, with a text that its reason
    holds. Nothing of it may then be recorded."""

    def test_it_has_a_name(self, channel: AnswerChannel) -> None:
        assert isinstance(channel, AnswerChannel)
        assert isinstance(channel.name, str)
        assert channel.name == channel.name.strip() != ""

    def test_optional_methods_are_spelt_right(self, channel: AnswerChannel) -> None:
        assert misspelt_methods(channel, AnswerChannel) == []
        assert overrides(channel, AnswerChannel, "is_waiting") == channel.hands_over
        assert channel.serves("question")

    @pytest.mark.parametrize("name", CASES)
    def test_an_answer_is_recorded_as_it_was_meant(
        self, channel: AnswerChannel, client: AskingClient, name: str
    ) -> None:
        case = CASES[name]
        request = client.ask(_form(*case.questions))
        delivery = _checked(channel.deliver(request._replace(decisions=case.decisions)))
        if name in self.refused:
            assert delivery.status != AnswerStatus.DELIVERED
            assert self.refused[name] in delivery.reason
            assert client.recorded() is None
            return
        assert delivery.status == AnswerStatus.DELIVERED, delivery
        recorded = client.recorded()
        assert recorded is not None, "the channel says delivered, and the client has taken nothing"
        assert recorded.answers == case.answers
        assert case.prompt in recorded.said
        assert recorded.notes.get(case.questions[0].question, "") == case.note

    def test_nothing_is_done_where_a_person_has_paused_the_session(
        self, channel: AnswerChannel, client: AskingClient
    ) -> None:
        request = client.ask(_form(*_CASE.questions))._replace(stopped=lambda: "paused: I am at the keyboard")
        delivery = _checked(channel.deliver(request._replace(decisions=_CASE.decisions)))
        assert delivery.status == AnswerStatus.REFUSED
        assert "I am at the keyboard" in delivery.reason
        assert client.recorded() is None

    def test_a_question_that_is_over_gets_no_answer(self, channel: AnswerChannel, client: AskingClient) -> None:
        request = client.ask(_form(*_CASE.questions))
        client.close()
        delivery = _checked(channel.deliver(request._replace(decisions=_CASE.decisions)))
        assert delivery.status != AnswerStatus.DELIVERED
        assert client.recorded() is None

    def test_another_question_gets_no_answer(self, channel: AnswerChannel, client: AskingClient) -> None:
        request = client.ask(_form(_question("Delete the production database?", "No", "Yes, delete it")))
        meant = request._replace(form=_form(*_CASE.questions), decisions=(Select(1),))
        assert _checked(channel.deliver(meant)).status != AnswerStatus.DELIVERED
        assert client.recorded() is None

    def test_a_session_that_it_cannot_serve_is_left_to_the_next_channel(
        self, channel: AnswerChannel, client: AskingClient
    ) -> None:
        request = client.ask(_form(*_CASE.questions))
        nowhere = request._replace(decisions=_CASE.decisions, address=None, terminal=None, planner=None, store=None)
        delivery = _checked(channel.deliver(nowhere))
        assert delivery.status in (AnswerStatus.UNAVAILABLE, AnswerStatus.DELIVERED)
        assert (client.recorded() is not None) == (delivery.status == AnswerStatus.DELIVERED)

    def test_it_says_whether_somebody_waits(self, channel: AnswerChannel, client: AskingClient) -> None:
        if not channel.hands_over:
            return
        form = _form(*_CASE.questions)
        request = client.ask(form)
        assert request.store is not None
        assert channel.is_waiting(request.store, request.session_id, form)
        other = _form(_question("Another one?", "Yes", "No"))
        assert not channel.is_waiting(request.store, request.session_id, other)
        assert not channel.is_waiting(request.store, "another session", form)
        client.close()
        assert not channel.is_waiting(request.store, request.session_id, form)


def _question(text: str, *labels: str) -> Question:
    options = tuple(Option(label=label, description=f"about {label}") for label in labels)
    return Question(question=text, header="Header", options=options)


def _form(*questions: Question) -> AskUserQuestionInput:
    """Return a form with the JSON object that it would have been read from."""
    raw = {
        "questions": [
            {
                "question": question.question,
                "header": question.header,
                "multiSelect": question.multi_select,
                "options": [
                    {"label": option.label, "description": option.description}
                    | ({} if option.preview is None else {"preview": option.preview})
                    for option in question.options
                ],
            }
            for question in questions
        ]
    }
    return AskUserQuestionInput.from_json(raw)


def _checked(delivery: AnswerOutcome) -> AnswerOutcome:
    assert isinstance(delivery, AnswerOutcome)
    assert delivery.status in _STATUSES, delivery
    assert delivery.reason.strip(), "an agent must be told why"
    assert printable(delivery.reason) == delivery.reason
    assert "\n" not in delivery.reason
    assert all(isinstance(step, str) for step in delivery.steps)
    return delivery
