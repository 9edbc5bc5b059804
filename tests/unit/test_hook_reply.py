"""The reply channel: the waiting hook and the agent's side, in two threads of one process."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter import pause
from hookrouter.answering import AnswerRequest, DeliveryOutcome, WaitingChannel
from hookrouter.config import AnswerConfig, Config
from hookrouter.converter import structure
from hookrouter.decisions import Chat, MultiSelect, Select, Type
from hookrouter.home import Home
from hookrouter.store import Store
from hookrouter.testing.terminal import wait_until
from hookrouter_hook_reply.channel import ReplyChannel, answer_document
from hookrouter_hook_reply.handover import ANSWER, Handover, end_all, identity
from hookrouter_hook_reply.waiting import beside_the_dialog, instead_of_a_dialog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter.decisions import Decision

SESSION = "11111111-2222-3333-4444-555555555555"


def form(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"questions": list(questions)}


def question(text: str, *labels: str, multi: bool = False, previews: bool = False) -> dict[str, Any]:
    options = [
        {"label": label, "description": "d"} | ({"preview": f"<{label}>"} if previews else {}) for label in labels
    ]
    return {"question": text, "header": "H", "multiSelect": multi, "options": options}


ONE = form(question("Which?", "A", "B"))
MANY = form(
    question("Which?", "A", "B", previews=True),
    question("Which ones?", "x, y", 'say "z"', "w", multi=True),
    question("None of them?", "p", "q", multi=True),
    question("What else?", "r", "s"),
)


class _Agent:
    id = "tester"


class FakeContext:
    """What the hook needs of a context."""

    def __init__(
        self, store: Store, answer: AnswerConfig | None = None, agent: object = _Agent(), entrypoint: str = "cli"
    ) -> None:
        self.store = store
        self.session_id = SESSION
        self.session = "managed"
        self.cwd = "/"
        self.environ: dict[str, str] = {"CLAUDE_CODE_ENTRYPOINT": entrypoint}
        self.home = Home.in_folder(os.path.dirname(store.folder))
        self.agent = agent
        self.config = Config(answer=answer or AnswerConfig(channels=("reply",)))
        self.notes: dict[str, object] = {}
        self.reasons: list[str] = []

    def note(self, key: str, value: object) -> None:
        self.notes[key] = value

    def debug(self, reason: str) -> None:
        self.reasons.append(reason)

    def warn(self, text: str) -> None:
        self.reasons.append(text)


class Hook:
    """A waiting hook in a thread of its own."""

    def __init__(self, store: Store, tool_input: dict[str, Any], **options: Any) -> None:
        self.context = FakeContext(store, **options)
        self.reply: Any = None
        self.thread = threading.Thread(target=self._run, args=(tool_input,), daemon=True)
        self.handover = Handover.of(store, SESSION, tool_input)
        self.thread.start()

    def _run(self, tool_input: dict[str, Any]) -> None:
        wait = beside_the_dialog if self.context.environ["CLAUDE_CODE_ENTRYPOINT"] == "cli" else instead_of_a_dialog
        self.reply = wait(tool_input, self.context)  # type: ignore[arg-type]

    def end(self) -> Any:
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.reply


@contextmanager
def waiting(store: Store, tool_input: dict[str, Any], **options: Any) -> Iterator[Hook]:
    hook = Hook(store, tool_input, **options)
    try:
        wait_until(hook.handover.waiting, 5, "waiting hook")
        yield hook
    finally:
        hook.handover.end()
        hook.end()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


def deliver(
    store: Store | None,
    tool_input: dict[str, Any],
    *decisions: Decision,
    terminal: Any = "some",
    stopped: str = "",
    is_last: bool = False,
) -> Any:
    return ReplyChannel().deliver(
        AnswerRequest(
            session="managed",
            tool_use_id="toolu_1",
            form=structure("AskUserQuestionInput", tool_input),
            decisions=decisions,
            address=None,
            terminal=terminal,
            planner=None,
            still_open=lambda: True,
            deadline=time.monotonic() + 20,
            session_id=SESSION,
            store=store,
            stopped=lambda: stopped,
            is_last=is_last,
        )
    )


def test_the_waiting_hook_replies_with_the_answer(store: Store) -> None:
    with waiting(store, ONE) as hook:
        delivery = deliver(store, ONE, Select(1))

        reply = hook.end()

    assert delivery.outcome == DeliveryOutcome.DELIVERED, delivery
    assert reply.verdict == "allow"
    assert reply.updated_input == {**ONE, "answers": {"Which?": "B"}}
    assert store.entries(ANSWER) == []


def test_every_kind_of_decision_becomes_what_the_client_records(store: Store) -> None:
    decisions = (Select(0, "a note"), MultiSelect((1, 0), "more, even"), MultiSelect(()), Type("own\nwords"))
    with waiting(store, MANY) as hook:
        assert deliver(store, MANY, *decisions).outcome == DeliveryOutcome.DELIVERED
        reply = hook.end()

    assert reply.updated_input["answers"] == {
        "Which?": "A",
        "Which ones?": '"x, y", "say \\"z\\"", "more, even"',
        "What else?": "own\nwords",
    }
    assert reply.updated_input["annotations"] == {"Which?": {"preview": "<A>", "notes": "a note"}}


def test_a_chat_is_a_refusal_with_the_agents_words(store: Store) -> None:
    with waiting(store, MANY) as hook:
        assert deliver(store, MANY, Select(1), Chat("Why not both?")).outcome == DeliveryOutcome.DELIVERED
        reply = hook.end()

    assert reply.verdict == "deny"
    assert "Why not both?" in reply.reason
    assert "Which? B" in reply.reason


def test_without_a_dialog_the_answer_is_the_one_of_pre_tool_use(store: Store) -> None:
    for decision, verdict in ((Select(1), "allow"), (Chat("No."), "deny")):
        with waiting(store, ONE, entrypoint="sdk-cli") as hook:
            assert deliver(store, ONE, decision).outcome == DeliveryOutcome.DELIVERED
            reply = hook.end()

        assert type(reply).__name__ == "PreToolUseReply"
        assert reply.verdict == verdict
    assert instead_of_a_dialog(ONE, FakeContext(store)) is None  # type: ignore[arg-type]


def test_without_a_waiting_hook_the_next_channel_may_try(store: Store) -> None:
    assert deliver(store, ONE, Select(0)) == (DeliveryOutcome.UNAVAILABLE, "no hook is waiting beside the dialog", ())
    assert deliver(None, ONE, Select(0)).outcome == DeliveryOutcome.UNAVAILABLE


def test_in_a_paused_session_nothing_is_handed_over(store: Store) -> None:
    with waiting(store, ONE) as hook:
        assert deliver(store, ONE, Select(0), stopped="paused") == (DeliveryOutcome.REFUSED, "paused", ())
        assert store.entries(ANSWER) == []
    assert hook.reply is None


def test_the_channel_says_whether_a_hook_waits(store: Store) -> None:
    channel: object = ReplyChannel()
    assert isinstance(channel, WaitingChannel)
    form_of_one = structure("AskUserQuestionInput", ONE)
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

    assert delivery.outcome == DeliveryOutcome.DELIVERED
    assert hooks[0].end().verdict == "allow"


def test_a_hook_for_another_question_gets_nothing(store: Store) -> None:
    with waiting(store, form(question("Other?", "A", "B"))) as hook:
        assert deliver(store, ONE, Select(0)).outcome == DeliveryOutcome.UNAVAILABLE
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
    assert deliver(store, ONE, Select(0)).outcome == DeliveryOutcome.UNAVAILABLE


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


def test_the_very_same_question_twice_is_answered_by_no_hook(store: Store) -> None:
    with waiting(store, ONE) as first:
        assert Hook(store, ONE).end() is None

        delivery = deliver(store, ONE, Select(0))

        assert delivery.outcome == DeliveryOutcome.UNAVAILABLE
        assert "twice" in delivery.reason
        assert first.thread.is_alive()


def test_an_answer_that_an_earlier_hook_left_is_not_given(store: Store) -> None:
    Handover.of(store, SESSION, ONE).give({"answers": {"Which?": "A"}, "annotations": {}})

    with waiting(store, ONE) as hook:
        assert deliver(store, ONE, Select(1)).outcome == DeliveryOutcome.DELIVERED
        assert hook.end().updated_input["answers"] == {"Which?": "B"}


def test_an_answer_is_given_or_taken_back_but_never_both(store: Store) -> None:
    handover = Handover.of(store, SESSION, ONE)
    for _ in range(200):
        handover.give({"answers": {}, "annotations": {}})
        results: list[bool] = []
        threads = [
            threading.Thread(target=lambda done=results: done.append(handover.take() is not None)),
            threading.Thread(target=lambda done=results: done.append(handover.take_back())),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [False, True]


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
        pause.begin(store, "managed")
        hook.handover.give({"answers": {"Which?": "A"}, "annotations": {}})
        hook.thread.join(0.3)
        assert hook.thread.is_alive()

        pause.end(store, "managed")

        assert hook.end().updated_input["answers"] == {"Which?": "A"}


def test_an_answer_that_holds_too_little_is_not_given(store: Store) -> None:
    with waiting(store, ONE) as hook:
        hook.handover.give({"answers": "A"})
        assert hook.end() is None

    assert "cannot be used" in hook.context.reasons[0]


def test_the_answers_are_by_question_text() -> None:
    asked = structure("AskUserQuestionInput", MANY).questions
    document = answer_document(asked, (Select(1), MultiSelect((2,)), MultiSelect((0,), "t"), Type("u")))
    assert document["answers"] == {"Which?": "B", "Which ones?": "w", "None of them?": "p, t", "What else?": "u"}
