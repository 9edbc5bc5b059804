"""The paths that a command line names, for guards that plugins write."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.permission_rules.files import named_paths
from hookrouter.shell.reader import read


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("cat /etc/passwd", "/etc/passwd"),
        ("cat 'x'", "/work/x"),
        ("cat ../x/./y", "/x/y"),
        ("cat ~/.ssh/id", "~/.ssh/id"),
        ("cat $HOME/.ssh/id", "~/.ssh/id"),
        ("cat ~+/x", "/work/x"),
        ("cd /etc && cat ~+/passwd", "/etc/passwd"),
        ("cat ~root/.ssh/id", "~root/.ssh/id"),
        ("unknown --key=/etc/x", "/etc/x"),
        ("sort -o /etc/x", "/etc/x"),
        ("sort --output=/etc/x", "/etc/x"),
        ("x </etc/x", "/etc/x"),
        ("x >>y", "/work/y"),
        ("{ x; } >y", "/work/y"),
        ("cd /etc && cat passwd", "/etc/passwd"),
        ("bash -c 'cat /etc/passwd'", "/etc/passwd"),
        ("echo $(cat /etc/passwd)", "/etc/passwd"),
        ("for x in /etc/*; do cat $x; done", "/etc"),
        ("/opt/run", "/opt/run"),
    ],
)
def test_a_path_is_named(line: str, path: str) -> None:
    assert os.path.expanduser(path) in set(named_paths(read(line), "/work"))


def test_relative_paths_are_not_guessed_behind_a_folder_that_is_not_known() -> None:
    assert "/work/x" not in set(named_paths(read('cd "$DIR"; cat x'), "/work"))


@given(st.text(max_size=40))
def test_every_path_of_any_line_is_absolute(line: str) -> None:
    assert all(os.path.isabs(path) for path in named_paths(read(line), "/work"))
