"""How wide text is, compared with where the cursor of a real tmux stands behind it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from hookrouter.util.text_width import column_widths, text_width

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

PRINT = "import sys, time; print(end=sys.argv[1] + '\\x1b]2;drawn\\x07', flush=True); time.sleep(60)"

TEXTS = [
    "plain",
    "日本語",
    "한국어",
    "e\u0301 é",
    "👍 emoji",
    "👩‍👩‍👧‍👦 family",
    "👨‍💻👩‍🚀",
    "a\u200d",
    "✅ ☐ │",
    "ａｂ",
]


@pytest.mark.parametrize("text", TEXTS)
def test_columns_are_those_that_tmux_gives_a_text(text: str, tmux_server: PrivateTmux) -> None:
    pane = tmux_server.start("columns", [sys.executable, "-c", PRINT, text])
    pane.wait_for(lambda _: tmux_server.run("display-message", "-p", "-t", pane.target, "#{pane_title}") == "drawn\n")
    cursor = int(tmux_server.run("display-message", "-p", "-t", pane.target, "#{cursor_x}"))
    captured = pane.capture().split("\n", 1)[0]

    assert text_width(text) == cursor
    assert text_width(captured) == cursor
    assert len(list(column_widths(text))) == len(text)
