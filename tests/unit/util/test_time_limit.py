"""A block has a time limit."""

from __future__ import annotations

import contextlib
import signal
import threading
import time

import pytest

from hookrouter.util.time_limit import PluginTimeout, time_limit


def test_a_block_is_interrupted_and_the_signal_is_as_before() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(PluginTimeout, match=r"its timeout of 0\.1 s"), time_limit(0.05):
        threading.Event().wait(60)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_block_that_swallows_the_interruption_ends_with_it() -> None:
    def swallowing() -> None:
        with time_limit(0.05), contextlib.suppress(PluginTimeout):
            threading.Event().wait(60)

    with pytest.raises(PluginTimeout):
        swallowing()


def test_another_exception_is_not_replaced() -> None:
    def raising() -> None:
        with time_limit(0.05):
            try:
                threading.Event().wait(60)
            except PluginTimeout:
                raise ZeroDivisionError from None

    with pytest.raises(ZeroDivisionError):
        raising()


def test_the_outer_limit_goes_on_counting() -> None:
    def nested() -> None:
        with time_limit(0.25):
            with time_limit(60):
                pass
            threading.Event().wait(60)

    started = time.monotonic()
    with pytest.raises(PluginTimeout, match=r"0\.3 s"):
        nested()
    assert time.monotonic() - started < 30


def test_in_another_thread_the_limit_shows_at_the_end() -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            with time_limit(0.01):
                threading.Event().wait(0.05)
        except PluginTimeout as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(raised) == 1


def test_the_exception_says_what_was_allowed() -> None:
    with pytest.raises(PluginTimeout, match="took longer than its share"), time_limit(0.05, "its share"):
        threading.Event().wait(60)
