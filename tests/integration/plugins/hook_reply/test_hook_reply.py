"""The reply channel beside a hook that is killed in a process of its own, and two threads that race for one answer."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.waiting import wait_until
from hookrouter.answering.decisions import Select
from hookrouter.answering.interfaces import AnswerStatus
from hookrouter.dialogs.handover import ANSWER, Handover
from hookrouter.storage.documents import Store
from hookrouter_hook_reply import channel
from hookrouter_hook_reply.waiting import beside_the_dialog
from support.reply_hook import ONE, SESSION, FakeContext, deliver, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "state"), pytest.fail)


@contextmanager
def killed_with_the_answer(folder: str) -> Iterator[None]:
    """A hook in a process of its own, which is killed when it has taken the answer and has not written its reply."""

    class Killed(FakeContext):
        def after_reply(self, function: Callable[[], None]) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            beside_the_dialog(ONE, Killed(Store(folder, print)))  # type: ignore[arg-type]
        finally:
            os._exit(1)
    try:
        wait_until(Handover.of(Store(folder, print), SESSION, ONE).waiting, 10, "waiting hook")
        yield
    finally:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_an_answer_is_not_lost_with_the_hook_that_took_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another channel may try, and a later hook of the same words gives the next answer alone."""
    monkeypatch.setattr(channel, "_RECORDING", 0.1)
    with killed_with_the_answer(store.folder):
        delivery = deliver(store, ONE, Select(0))
    assert (delivery.status, delivery.steps) == (AnswerStatus.UNAVAILABLE, ())
    assert delivery.reason == "the hook that took the answer ended before it gave it"
    assert store.entries(ANSWER) == []
    with waiting(store, ONE) as hook:
        hook.thread.join(0.3)
        assert hook.thread.is_alive()
        assert deliver(store, ONE, Select(1)).status == AnswerStatus.DELIVERED
        assert hook.end().updated_input["answers"] == {"Which?": "B"}


def test_an_answer_that_claude_code_got_is_not_given_again(store: Store) -> None:
    """The hook was killed after it had written its reply: the question goes away, and no other channel may try."""
    with killed_with_the_answer(store.folder):
        answers = iter([True, True, False])
        delivery = deliver(store, ONE, Select(0), still_open=lambda: next(answers, False))
    assert delivery.status == AnswerStatus.DELIVERED
    assert store.entries(ANSWER) == []


def test_an_answer_is_given_or_taken_back_but_never_both(store: Store) -> None:
    handover = Handover.of(store, SESSION, ONE)
    for _ in range(200):
        handover.give({"answers": {}, "annotations": {}}, {}, "toolu_1")
        results: list[bool] = []
        threads = [
            threading.Thread(target=lambda done=results: done.append(handover.take("token") is not None)),
            threading.Thread(target=lambda done=results: done.append(handover.take_back())),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [False, True]
