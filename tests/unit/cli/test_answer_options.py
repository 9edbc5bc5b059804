"""Options of ``hookrouter answer`` that are empty, as of a variable that is not set, choose and confirm nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hookrouter.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--any", "--expect", "", '[{"action": "select", "optionIndex": 0}]'], "--expect: found no text"),
        (["work", "0", "--expect", " "], "--expect: found no text"),
        (["", "my words", "--text"], "the session's name is empty"),
        ([" ", "my words", "--chat"], "the session's name is empty"),
    ],
)
def test_what_is_empty_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    assert main(["answer", *words, "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], said in told["reason"]) == ("invalid", True)
