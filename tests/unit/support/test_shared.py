"""What is lent to one test after the other: kept while all goes well, and made anew after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from support.shared import VARIABLE, Shared


class Made:
    """Counts what was started and ended."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.count = 0

    @contextmanager
    def __call__(self) -> Iterator[int]:
        self.count += 1
        number = self.count
        self.open.append(number)
        yield number
        self.open.remove(number)


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv(VARIABLE, raising=False)
    return SimpleNamespace(testsfailed=0)


def test_one_serves_all_tests_and_ends_with_them(made: Made, session: Any) -> None:
    readied: list[int] = []
    with Shared(made, readied.append) as shared:
        assert made.open == [], "nothing is started before it is needed"
        for _ in range(3):
            with shared.lent(session) as one:
                assert one == 1
        assert (made.open, readied) == ([1], [1, 1])
    assert made.open == []


def test_after_a_failed_test_there_is_a_new_one(made: Made, session: Any) -> None:
    with Shared(made) as shared:
        with shared.lent(session):
            session.testsfailed += 1
        assert made.open == []
        with shared.lent(session) as one:
            assert one == 2
    assert made.open == []


@pytest.mark.parametrize("error", [OSError, AssertionError])
def test_one_that_does_not_become_ready_is_replaced(made: Made, session: Any, error: type[Exception]) -> None:
    def ready(_one: int) -> None:
        raise error("no prompt")

    with Shared(made, ready) as shared:
        with shared.lent(session):
            pass
        with shared.lent(session) as one:
            assert one == 2
        assert made.open == [2]


def test_where_stages_share_their_documents_each_test_has_its_own(
    made: Made, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "postgresql")
    with Shared(made) as shared:
        for number in (1, 2):
            with shared.lent(session) as one:
                assert one == number
            assert made.open == []
