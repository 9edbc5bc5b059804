"""A short command whose --session is empty, as of a variable that is not set, decides on nobody's dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.cli import answering
from hookrouter.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("words", [["allow"], ["deny", "no"], ["approve"], ["revise", "more"]])
def test_an_empty_session_is_not_the_only_one_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    asked: list[Any] = []

    def run(request: Any) -> int:
        asked.append((request.session, request.any_session))
        return 0

    monkeypatch.setenv("HOOKROUTER_HOME", str(tmp_path))
    monkeypatch.setattr(answering, "run", run)
    assert main([*words, "--session", ""]) == main([*words, "--session="]) == 2
    assert "'--session': it is empty" in capsys.readouterr().err
    assert asked == []
    assert main(words) == main([*words, "--session", "work"]) == 0
    assert asked == [("", True), ("work", False)]
