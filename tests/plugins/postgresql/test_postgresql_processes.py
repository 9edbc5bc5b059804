"""Which process of which machine a lock names."""

from __future__ import annotations

from hookrouter_postgresql.processes import Process, this_process


def test_a_number_that_another_process_has_got_tells_of_an_ended_one():
    me = this_process()
    assert me.is_here()
    assert not me.has_ended()
    assert Process(me.host, me.place, me.pid, "1").has_ended()
    assert not Process(me.host, me.place, me.pid, "").has_ended()
    assert not Process(me.host, "", me.pid, me.started).is_here()
    assert not Process(me.host, "another boot", me.pid, me.started).is_here()
