"""The reply channel: the waiting hook and the agent's side, in two threads of one process."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.answering.decisions import Chat, FreeText, MultiSelect, Select
from hookrouter.answering.interfaces import AnswerStatus
from hookrouter.config import AnswerConfig
from hookrouter.dialogs import handover
from hookrouter.dialogs import waiting as dialogs_waiting
from hookrouter.dialogs.handover import ANSWER, Handover, end_all, identity
from hookrouter.messaging import pauses
from hookrouter.storage import documents
from hookrouter.storage.documents import Store
from hookrouter.tools import AskUserQuestionInput
from hookrouter_hook_reply.channel import ReplyChannel, _is_given, answer_document
from hookrouter_hook_reply.waiting import instead_of_a_dialog
from support.changes import once_saved
from support.pure import GONE
from support.reply_hook import MANY, ONE, SESSION, FakeContext, Hook, deliver, form, question, waiting
from support.stepped_time import SteppedTime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


def test_the_waiting_hook_replies_with_the_answer(store: Store) -> None:
    with waiting(store, ONE) as hook:
        delivery = deliver(store, ONE, Select(1))

        reply = hook.end()

    assert delivery.status == AnswerStatus.DELIVERED, delivery
    assert reply.verdict == "allow"
    assert reply.updated_input == {**ONE, "answers": {"Which?": "B"}}
    assert store.entries(ANSWER) == []


def test_every_kind_of_decision_becomes_what_the_client_records(store: Store) -> None:
    decisions = (Select(0, "a note"), MultiSelect((1, 0), "more, even"), MultiSelect(()), FreeText("own\nwords"))
    with waiting(store, MANY) as hook:
        assert deliver(store, MANY, *decisions).status == AnswerStatus.DELIVERED
        reply = hook.end()

    assert reply.updated_input["answers"] == {
        "Which?": "A",
        "Which ones?": '"x, y", "say \\"z\\"", "more, even"',
        "What else?": "own\nwords",
    }
    assert reply.updated_input["annotations"] == {"Which?": {"preview": "<A>", "notes": "a note"}}


def test_a_chat_is_a_refusal_with_the_agents_words(store: Store) -> None:
    with waiting(store, MANY) as hook:
        assert deliver(store, MANY, Select(1), Chat("Why not both?")).status == AnswerStatus.DELIVERED
        reply = hook.end()

    assert reply.verdict == "deny"
    assert "Why not both?" in reply.reason
    assert "Which? B" in reply.reason


def test_without_a_dialog_the_answer_is_the_one_of_pre_tool_use(store: Store) -> None:
    for decision, verdict in ((Select(1), "allow"), (Chat("No."), "deny")):
        with waiting(store, ONE, entrypoint="sdk-cli") as hook:
            assert deliver(store, ONE, decision).status == AnswerStatus.DELIVERED
            reply = hook.end()

        assert type(reply).__name__ == "PreToolUseReply"
        assert reply.verdict == verdict
    assert instead_of_a_dialog(ONE, FakeContext(store)) is None  # type: ignore[arg-type]


def test_without_a_waiting_hook_the_next_channel_may_try(store: Store) -> None:
    assert deliver(store, ONE, Select(0)) == (AnswerStatus.UNAVAILABLE, "no hook is waiting beside the dialog", ())
    assert deliver(None, ONE, Select(0)).status == AnswerStatus.UNAVAILABLE


def test_in_a_paused_session_nothing_is_handed_over(store: Store) -> None:
    with waiting(store, ONE) as hook:
        assert deliver(store, ONE, Select(0), stopped="paused") == (AnswerStatus.REFUSED, "paused", ())
        assert store.entries(ANSWER) == []
    assert hook.reply is None


def test_the_channel_says_whether_a_hook_waits(store: Store) -> None:
    channel = ReplyChannel()
    form_of_one = AskUserQuestionInput.from_json(ONE)
    assert not channel.is_waiting(store, SESSION, form_of_one)
    with waiting(store, ONE):
        assert channel.is_waiting(store, SESSION, form_of_one)
        assert not channel.is_waiting(store, "another session", form_of_one)


@pytest.mark.parametrize("alone", [{"terminal": None}, {"is_last": True}], ids=["no terminal", "no other channel"])
def test_a_hook_that_is_just_starting_is_waited_for_where_nothing_else_can_answer(
    store: Store, alone: dict[str, Any]
) -> None:
    hooks: list[Hook] = []
    timer = threading.Timer(0.3, lambda: hooks.append(Hook(store, ONE)))
    store.write("other", "document", {})
    timer.start()

    delivery = deliver(store, ONE, Select(0), **alone)

    assert delivery.status == AnswerStatus.DELIVERED
    assert hooks[0].end().verdict == "allow"


def test_a_hook_for_another_question_gets_nothing(store: Store) -> None:
    with waiting(store, form(question("Other?", "A", "B"))) as hook:
        assert deliver(store, ONE, Select(0)).status == AnswerStatus.UNAVAILABLE
        assert hook.handover.waiting() is not None


def test_the_hook_ends_without_output_when_the_question_is_over(store: Store) -> None:
    with waiting(store, ONE) as hook:
        assert hook.handover.end()
        assert hook.end() is None

    assert hook.context.notes["outcome"] == "not needed"


def test_the_end_of_the_turn_ends_the_hooks_of_its_session_only(store: Store) -> None:
    with waiting(store, ONE) as first, waiting(store, MANY) as second:
        end_all(store, "another session")
        assert first.thread.is_alive()

        end_all(store, SESSION)

        assert (first.end(), second.end()) == (None, None)


def test_the_hook_steps_aside_in_time_and_leaves_the_dialog(store: Store) -> None:
    hook = Hook(store, ONE, answer=AnswerConfig(channels=("reply", "keys"), wait=0.2))

    assert hook.end() is None
    assert hook.context.notes["outcome"] == "stepped aside"
    assert deliver(store, ONE, Select(0)).status == AnswerStatus.UNAVAILABLE


@pytest.mark.parametrize(
    "options",
    [
        {"agent": None},
        {"answer": AnswerConfig(channels=("keys",))},
        {"answer": AnswerConfig(channels=("reply",), wait=0.0)},
    ],
)
def test_where_no_agent_answers_by_reply_the_hook_ends_at_once(store: Store, options: dict[str, Any]) -> None:
    hook = Hook(store, ONE, **options)

    assert hook.end() is None
    assert hook.context.reasons


def test_the_very_same_question_twice_is_answered_by_no_hook(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with waiting(store, ONE) as first:
        # The second one waits in vain for the first one's lock.
        monkeypatch.setattr(documents, "time", SteppedTime())
        assert Hook(store, ONE).end() is None

        delivery = deliver(store, ONE, Select(0))

        assert delivery.status == AnswerStatus.UNAVAILABLE
        assert "twice" in delivery.reason
        assert first.thread.is_alive()


def test_the_hook_of_another_client_of_the_same_session_gets_no_answer(store: Store) -> None:
    """It was resumed in a second terminal, and both ask the same words."""
    own, other = os.getpid(), os.getppid()
    with waiting(store, ONE, client=own) as hook:
        refused = deliver(store, ONE, Select(0), client_pid=other)
        assert (refused.status, refused.reason) == (
            AnswerStatus.UNAVAILABLE,
            "the hook that waits is one of another client",
        )
        assert store.entries(ANSWER) == []
        assert deliver(store, ONE, Select(1), client_pid=own).status == AnswerStatus.DELIVERED
        assert hook.end().updated_input["answers"] == {"Which?": "B"}


def test_only_the_answer_that_the_reply_was_made_of_is_taken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Handover.take
    given: list[str] = []

    def late(handover: Handover, token: str, *seen: Any) -> Any:
        if not given:
            given.append("B")
            assert handover.take_back()
            handover.give({"answers": {"Which?": "B"}, "annotations": {}}, {"token": token}, "toolu_1")
        return take(handover, token, *seen)

    monkeypatch.setattr(Handover, "take", late)
    with waiting(store, ONE) as hook:
        hook.handover.give({"answers": {"Which?": "A"}, "annotations": {}}, {}, "toolu_1")
        assert hook.end().updated_input["answers"] == {"Which?": "B"}


def test_an_answer_that_the_hook_refuses_at_the_last_moment_is_taken_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    handover = Handover.of(store, SESSION, ONE)
    handover.give({"answers": "A"}, {"token": "t"}, "toolu_1")
    mark = Handover._mark

    def late(self: Handover, answer: Any, what: str, *value: Any) -> bool:
        if what == "withdrawn":
            handover.refuse("t", "it has no answers")
        return mark(self, answer, what, *value)

    monkeypatch.setattr(Handover, "_mark", late)
    assert handover.take_back()
    assert store.entries(ANSWER) == []


def test_an_answer_that_was_refused_is_not_told_as_given(store: Store) -> None:
    handover = Handover.of(store, SESSION, ONE)
    handover.give({"answers": "A"}, {"token": "t"}, "toolu_1")
    handover.refuse("t", "it has no answers")
    with store.watch(ANSWER, handover.name) as watch:
        assert not _is_given(None, handover, {}, watch)  # type: ignore[arg-type]


@contextmanager
def waiting_for_a_killed_client(store: Store) -> Iterator[tuple[Hook, Any]]:
    """A hook that has not seen yet that its client was killed, and what it had written."""
    dead: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        for module in (handover, dialogs_waiting):
            patch.setattr(module, "is_gone", lambda pid: pid in dead)
        with waiting(store, ONE, client=GONE) as hook:
            seen = hook.handover.waiting()
            dead.append(GONE)
            yield hook, seen


def test_the_hook_of_a_killed_client_takes_no_answer(store: Store) -> None:
    with waiting_for_a_killed_client(store) as (hook, seen):
        assert deliver(store, ONE, Select(0)).status == AnswerStatus.UNAVAILABLE
        hook.handover.give({"answers": {"Which?": "A"}, "annotations": {}}, seen, "toolu_1")
        assert hook.end() is None
        assert hook.context.notes["outcome"] == "client gone"
        assert hook.handover.take_back()


def test_the_hook_of_the_client_that_follows_a_killed_one_waits_in_its_place(store: Store) -> None:
    with waiting_for_a_killed_client(store) as (hook, _), waiting(store, ONE, client=os.getpid()) as second:
        assert hook.end() is None
        assert deliver(store, ONE, Select(1)).status == AnswerStatus.DELIVERED
        assert second.end().updated_input["answers"] == {"Which?": "B"}


def test_an_answer_that_an_earlier_hook_left_is_not_given(store: Store) -> None:
    Handover.of(store, SESSION, ONE).give({"answers": {"Which?": "A"}, "annotations": {}}, {}, "toolu_1")

    with waiting(store, ONE) as hook:
        assert deliver(store, ONE, Select(1)).status == AnswerStatus.DELIVERED
        assert hook.end().updated_input["answers"] == {"Which?": "B"}


def test_a_question_is_known_by_its_session_and_its_words() -> None:
    names = {
        identity(session, one) for session in ("s", "t") for one in (ONE, MANY, form(question("Which?", "A", "C")))
    }
    assert len(names) == 6
    changed = form(question("Which?", "A", "B") | {"header": "other", "extra": 1})
    assert identity("s", ONE) == identity("s", changed)


@pytest.mark.parametrize(
    "raw", [None, 3, [], {}, {"questions": 3}, {"questions": [1, {"options": [2]}, {"options": {}}]}]
)
def test_any_tool_input_has_a_name(raw: object) -> None:
    assert identity("s", raw)


def test_a_paused_session_gets_no_answer_until_it_goes_on(store: Store) -> None:
    with waiting(store, ONE) as hook:
        pauses.begin(store, "managed")
        hook.handover.give({"answers": {"Which?": "A"}, "annotations": {}}, {}, "toolu_1")
        hook.thread.join(0.3)
        assert hook.thread.is_alive()

        pauses.end(store, "managed")

        assert hook.end().updated_input["answers"] == {"Which?": "A"}


def test_a_question_of_the_same_words_whose_hook_does_not_wait_yet_gets_no_answer_of_the_other(store: Store) -> None:
    with waiting(store, ONE) as hook:
        refused = deliver(store, ONE, Select(0), beside=[MANY, ONE])
        assert (refused.status, "asks the same question twice" in refused.reason) == (AnswerStatus.UNAVAILABLE, True)
        assert store.entries(ANSWER) == []
        assert deliver(store, ONE, Select(1), beside=[MANY]).status == AnswerStatus.DELIVERED
        assert hook.end().updated_input["answers"] == {"Which?": "B"}


def test_an_answer_that_holds_too_little_is_not_given(store: Store) -> None:
    with waiting(store, ONE) as hook:
        hook.handover.give({"answers": "A"}, {}, "toolu_1")
        once_saved(store, ANSWER, hook.handover.refused, "refusal")
        # It goes on waiting, for one that it can use.
        assert deliver(store, ONE, Select(0)).status == AnswerStatus.DELIVERED
        assert hook.end() is not None

    assert "cannot be used: it has no answers" in hook.context.reasons[0]


def test_the_answers_are_by_question_text() -> None:
    asked = AskUserQuestionInput.from_json(MANY).questions
    document = answer_document(asked, (Select(1), MultiSelect((2,)), MultiSelect((0,), "t"), FreeText("u")))
    assert document["answers"] == {"Which?": "B", "Which ones?": "w", "None of them?": "p, t", "What else?": "u"}


def test_an_answer_to_an_earlier_hook_reaches_no_later_one_with_the_same_words(store: Store) -> None:
    handover = Handover.of(store, SESSION, ONE)
    with waiting(store, ONE) as first:
        seen = handover.waiting()
        assert seen is not None
        handover.end()
        first.end()
    with waiting(store, ONE) as second:
        handover.give({"answers": {"Which?": "A"}, "annotations": {}}, seen, "toolu_1")
        second.thread.join(0.3)
        assert second.thread.is_alive()
        assert handover.take_back()
        assert deliver(store, ONE, Select(1)).status == AnswerStatus.DELIVERED
        assert second.end().updated_input["answers"] == {"Which?": "B"}
    assert second.context.notes["answers"] == "toolu_1"


def test_an_answer_is_taken_back_if_the_hook_that_waited_is_another_by_now(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with waiting(store, ONE) as hook:
        seen = {**(hook.handover.waiting() or {}), "token": "of an earlier one"}
        monkeypatch.setattr(ReplyChannel, "_waiting", lambda *_: seen)
        delivery = deliver(store, ONE, Select(0))
        assert (delivery.status, delivery.reason) == (
            AnswerStatus.UNAVAILABLE,
            "the waiting hook did not take the answer",
        )
        assert store.entries(ANSWER) == []
        assert hook.thread.is_alive()


def test_a_hook_that_cannot_make_its_reply_takes_no_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("the package was replaced while the hook waited")

    monkeypatch.setattr("hookrouter.replies.PermissionRequestReply.allow", broken)
    with waiting(store, ONE) as hook:
        hook.may_fail = True
        delivery = deliver(store, ONE, Select(0))
    assert delivery.status == AnswerStatus.UNAVAILABLE
    assert hook.failure is not None
    assert store.entries(ANSWER) == []


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, IndexError, RecursionError])
def test_an_answer_of_which_no_reply_can_be_made_is_refused_with_the_reason(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error("nested too deeply")

    with waiting(store, ONE) as hook:
        with monkeypatch.context() as patched:
            patched.setattr("hookrouter.replies.PermissionRequestReply.allow", broken)
            refused = deliver(store, ONE, Select(0))
        assert refused.status == AnswerStatus.UNAVAILABLE
        assert "the waiting hook cannot use the answer: " in refused.reason
        assert "nested too deeply" in refused.reason
        assert store.entries(ANSWER) == []
        assert deliver(store, ONE, Select(1)).status == AnswerStatus.DELIVERED
    assert hook.reply is not None


def test_an_answer_is_delivered_once_the_reply_is_written(store: Store) -> None:
    """Until then it and the hook's lock stay."""
    written, seen = threading.Event(), []
    with waiting(store, ONE) as hook:
        hook.context.functions.append(lambda: seen.append(written.wait(10)))
        thread = threading.Thread(target=lambda: seen.append(deliver(store, ONE, Select(0)).status))
        thread.start()
        once_saved(store, ANSWER, lambda: (hook.handover.peek() or {}).get("taken"), "taken answer")
        assert hook.handover.waiting() is not None
        assert seen == []
        written.set()
        thread.join(10)
    assert seen == [True, AnswerStatus.DELIVERED]
    assert store.entries(ANSWER) == []


@pytest.mark.parametrize("entrypoint", ["cli", "claude-vscode", "claude-desktop", "local-agent", "remote_mobile"])
def test_only_sessions_known_to_draw_no_dialog_are_waited_in(store: Store, entrypoint: str) -> None:
    context = FakeContext(store, entrypoint=entrypoint)
    assert instead_of_a_dialog(ONE, context) is None  # type: ignore[arg-type]
    assert bool(context.reasons) == (entrypoint != "cli")


def test_looking_whether_a_hook_waits_takes_no_lock_and_needs_no_writable_folder(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    handover = Handover.of(store, SESSION, ONE)
    monkeypatch.setattr(Store, "lock", lambda *_: pytest.fail("a lock was taken"))
    assert handover.waiting() is None
