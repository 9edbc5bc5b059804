"""What a command that the page starts is told of the machine that it is for."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter_page import tasks

if TYPE_CHECKING:
    import pytest


def test_a_command_for_this_machine_alone_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "script_argv", lambda: ["sh", "-c", f'echo "{{\\"told\\": \\"${ALONE_VARIABLE}\\"}}"'])
    runner = tasks.Tasks(dict(os.environ))
    told = [asyncio.run(runner.command(["send"], is_alone=alone)).document["told"] for alone in (True, False)]
    assert told == ["1", ""]
