"""An answer whose process is killed while its channel delivers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hookrouter._sandbox.waiting import wait_until
from hookrouter.answering.interfaces import AnswerOutcome, AnswerRequest, AnswerStatus
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.answer import answer
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv

RIGHT = json.dumps([{"action": "select", "optionIndex": 1}, {"action": "multi-select", "selectedIndices": [1, 0]}])
ANSWERS = {"Which database?": "Postgres", "Which features?": "Auth, Export"}


def test_kill_9_leaves_the_documents_readable_and_the_session_answerable(ask_session: Any, tmp_path: Path) -> None:
    ask_session.ask()
    write_plugin(
        tmp_path / "plugins",
        "slow",
        "import time\nfrom hookrouter import hookimpl\nfrom hookrouter.answering.interfaces import AnswerChannel\n"
        "class Slow(AnswerChannel):\n    name = 'slow'\n    def deliver(self, request):\n        time.sleep(60)\n"
        "@hookimpl\ndef answer_channel():\n    return Slow()\n",
    )
    words = [*script_argv(), "answer", "--session", "main", "--channel", "slow", RIGHT]
    environ = {**os.environ, "HOOKROUTER_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "plugins")}
    with subprocess.Popen(words, env=environ, stderr=subprocess.PIPE) as process:
        wait_until(lambda: len(ask_session.documents()) == 2, 30, "the pending answer", lambda: str(process.poll()))
        process.kill()
    pending = documents.read_pending(ask_session.app.store, "main", "toolu_1")
    assert pending is not None
    assert (pending.channel, pending.pid) == ("slow", process.pid)

    def act(_: AnswerRequest) -> AnswerOutcome:
        ask_session.record_answers(ANSWERS)
        return AnswerOutcome(AnswerStatus.DELIVERED, "the dialog took it")

    ask_session.first.act = act
    assert answer(ask_session.app, "main", RIGHT, wait=2.0).outcome == "verified"
    assert not ask_session.documents()
