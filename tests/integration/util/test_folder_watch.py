"""Watches on folders in a process and its forked child."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookrouter.util import _folder_events
from hookrouter.util.folder_watch import FolderWatch

pytestmark = pytest.mark.linux

SECONDS = 20.0


@pytest.mark.parametrize("source", ["inotify", "dnotify"])
def test_a_forked_child_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    if source == "dnotify":
        monkeypatch.setattr(_folder_events, "_Inotify", _folder_events._Dnotify)
    with FolderWatch(str(tmp_path)) as mine:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with FolderWatch(str(tmp_path)) as theirs:
                    (tmp_path / "x").write_text("")
                    code = 0 if theirs.changed(SECONDS) in ({"x"}, None) else 2
                mine.__exit__(None, None, None)
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert mine.changed(SECONDS) in ({"x"}, None)
        (tmp_path / "y").write_text("")
        assert mine.changed(SECONDS) in ({"y"}, None)
