"""A process ends with the one that holds the other end of its pipe."""

from __future__ import annotations

import os
import signal

from hookrouter.util.system import end_with, fork, get_ready_to_end
from support.forked import Forked


def test_a_process_ends_with_its_pipe_though_no_python_code_of_it_runs() -> None:
    reading, writing = os.pipe()

    def work(parent: Forked) -> None:
        os.close(writing)
        get_ready_to_end()
        end_with(reading)
        parent.say("ready")
        # In C, where no handler of Python's is called.
        sum(range(10**12))

    with Forked(work) as child:
        os.close(reading)
        assert child.heard() == "ready"
        os.close(writing)
        assert child.heard() == ""
        _, status = os.waitpid(child.pid, 0)
        child.pid = -1
    assert os.waitstatus_to_exitcode(status) in (-signal.SIGIO, signal.SIGIO)


def test_a_fork_beside_a_thread_warns_of_nothing() -> None:
    """Warnings are errors in these tests, and from Python 3.12 on os.fork warns."""
    from threading import Event, Thread

    stays = Event()
    thread = Thread(target=stays.wait)
    thread.start()
    try:
        pid = fork()
        if not pid:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    finally:
        stays.set()
        thread.join()
