"""The port that a test's server is to have is its own until the server listens."""

from __future__ import annotations

from support.ports import LAST, free_port


def test_no_port_is_given_twice_and_none_that_a_connection_may_take() -> None:
    ports = [free_port() for _ in range(100)]
    assert len(set(ports)) == len(ports)
    assert max(ports) <= LAST < 32768
