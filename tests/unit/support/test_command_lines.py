"""The calls of hookrouter that are found in shell texts."""

from __future__ import annotations

import pytest

from support.command_lines import all_commands, check_calls, simple_commands

COMMANDS = all_commands()


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("$ ls -l  # all\nwho", [["ls", "-l"], ["who"]]),
        ("a < in > out 2>&1 | b && c; d &", [["a", "2"], ["b"], ["c"], ["d"]]),
        ("a - <<'END'\nnot 'a command\nEND\nb", [["a", "-"], ["b"]]),
        ("a \\\n  'b c'", [["a", "b c"]]),
        ("", []),
    ],
)
def test_simple_commands(text: str, commands: list[list[str]]) -> None:
    assert list(simple_commands(text)) == commands


def test_calls_are_counted_and_read() -> None:
    assert check_calls(".venv/bin/hookrouter doctor --json | jq .\nls\nhookrouter --version", COMMANDS) == 2
    with pytest.raises(LookupError, match="docter"):
        check_calls("hookrouter docter", COMMANDS)
    with pytest.raises(Exception, match="--jsn"):
        check_calls("hookrouter doctor --jsn", COMMANDS)
