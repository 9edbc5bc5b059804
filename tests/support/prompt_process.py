"""One attempt of the prompt channel ``keys`` in a process of its own, which may be killed at one of its acts.

``python prompt_process.py`` reads a JSON object from its stdin: ``text``, ``phase``, ``phase_file``, ``address``,
``version``, ``drafts``, and ``kill``, which is null or ``[number, "before" | "after"]`` of the key or paste at which it
kills itself. It writes the outcome as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from hookrouter.queue.channels import PromptRequest
from hookrouter.queue.items import new_item
from hookrouter.terminals import TerminalAddress
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_tmux.backend import TmuxBackend
from support.memory_storage import MemoryStore


class _Killing(TmuxBackend):
    def __init__(self, kill: list[Any] | None) -> None:
        super().__init__()
        self._kill = kill
        self._acts = 0

    def _act(self, when: str) -> None:
        if self._kill == [self._acts, when]:
            os.kill(os.getpid(), signal.SIGKILL)

    def press(self, address: TerminalAddress, key: str) -> None:
        self._act("before")
        super().press(address, key)
        self._act("after")
        self._acts += 1

    def paste(self, address: TerminalAddress, text: str) -> None:
        self._act("before")
        super().paste(address, text)
        self._act("after")
        self._acts += 1


def main() -> None:
    asked = json.load(sys.stdin)

    def save(phase: str) -> None:
        with open(f"{asked['phase_file']}.new", "w", encoding="utf-8") as file:
            file.write(phase)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{asked['phase_file']}.new", asked["phase_file"])

    request = PromptRequest(
        item=new_item(asked["text"], by="agent")._replace(phase=asked["phase"]),
        session="managed",
        session_id="",
        client_pid=0,
        client_version=tuple(asked["version"]),
        folder="",
        transcript_path="",
        address=TerminalAddress(*asked["address"]),
        terminal=_Killing(asked["kill"]),
        store=MemoryStore(),
        deadline=time.monotonic() + 60,
        save_phase=save,
        is_proven=lambda: False,
        settings=lambda kind: kind(drafts=asked["drafts"]),
    )
    json.dump(KeysPromptChannel().submit(request)._asdict(), sys.stdout)


if __name__ == "__main__":
    main()
