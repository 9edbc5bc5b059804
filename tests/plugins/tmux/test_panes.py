"""The panes that tmux lists, whatever the folders and programs in them are called."""

from __future__ import annotations

import re
import subprocess

import pytest

from hookrouter.terminals import RunningPane, TerminalAddress
from hookrouter_tmux.backend import TmuxBackend

SERVER = "/tmp/tmux-0/default"
PANE = {
    "pane_id": "%1",
    "pane_dead": "0",
    "socket_path": SERVER,
    "session_name": "own",
    "pane_current_command": "claude",
    "pane_current_path": "/tmp/project",
}
FORGED = "%7 0 /tmp/other\tmanaged\tclaude\t/tmp/managed"


class Tmux(TmuxBackend):
    """Has the panes that it is given, and fills a format as tmux does."""

    def __init__(self, *panes: dict[str, str]) -> None:
        super().__init__()
        self.listed = panes

    def _call(self, arguments: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        form = arguments[arguments.index("-F") + 1]
        shown = re.sub(r"#\{(\w+)\}", r"{\1}", form)
        said = "".join(shown.format(**pane) + "\n" for pane in self.listed)
        return subprocess.CompletedProcess(arguments, 0, said.encode(), b"")


@pytest.mark.parametrize("field", ["pane_current_path", "pane_current_command"])
@pytest.mark.parametrize("text", ["one\ttwo", f"x\n{FORGED}", f"x\n{FORGED}\n", "\n", "#{pane_id}", "a\tb\tc\td\te\tf"])
def test_no_name_makes_a_pane_or_another_field(field: str, text: str) -> None:
    odd = {**PANE, field: text}
    tmux = Tmux(odd, {**PANE, "pane_id": "%2"}, {**PANE, "pane_id": "%3", "pane_dead": "1"})
    address = TerminalAddress("tmux", "own", "%1", SERVER)
    assert tmux.panes({}) == [
        RunningPane(address, odd["pane_current_command"], odd["pane_current_path"]),
        RunningPane(address._replace(target="%2"), "claude", "/tmp/project"),
    ]
