"""What is expensive to start, and lent to one test after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    import pytest

__all__ = ["VARIABLE", "Shared"]

VARIABLE = "HOOKROUTER_TEST_ENGINE"
"""``postgresql`` in the environment has all stages share their documents (``support.shared_stages``)."""

T = TypeVar("T")


class Shared(Generic[T]):
    """Lends one thing to test after test; use it as a context manager, for a fixture of a module.

    After a test that has failed there is a new one, so that no failure brings about the next; likewise for each test
    if stages share their documents, for which each test has to have its own.
    """

    def __init__(
        self, make: Callable[[], AbstractContextManager[T]], ready: Callable[[T], None] = lambda _one: None
    ) -> None:
        """``make`` starts it, and ends it as a context manager.

        ``ready`` makes it ready for the next test; if that fails, a new one is made instead.
        """
        self._make = make
        self._ready = ready
        self._stack = ExitStack()
        self._one: T | None = None

    def __enter__(self) -> Shared[T]:
        """Start nothing yet."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End what there is."""
        self.drop()

    def drop(self) -> None:
        """End what there is; whoever comes next gets a new one."""
        self._one = None
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    @contextmanager
    def lent(self, session: pytest.Session) -> Iterator[T]:
        """Lend it to a test of the pytest session, which counts the tests that have failed."""
        if self._one is not None:
            try:
                self._ready(self._one)
            except (HookrouterError, OSError, AssertionError):
                self.drop()
        if self._one is None:
            self._one = self._stack.enter_context(self._make())
        failed = session.testsfailed
        yield self._one
        if session.testsfailed != failed or os.environ.get(VARIABLE):
            self.drop()
