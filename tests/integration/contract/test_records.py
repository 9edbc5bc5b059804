"""What a fresh interpreter imports to read an event."""

from __future__ import annotations

import subprocess
import sys


def run_python(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reading_an_event_imports_no_tool_and_nothing_heavy() -> None:
    run_python(
        "import sys; from hookrouter.events import PreToolUse\n"
        "e = PreToolUse.from_json({'tool_name': 'Bash', 'effort': {'level': 'high'}, 'tool_input': {}})\n"
        "assert e.effort.level == 'high' and e.tool_name == 'Bash' and e.cwd is None and repr(e)\n"
        "assert e != 3 and e == PreToolUse.from_json(dict(e.raw))\n"
        "assert not {'attr', 'attrs', 'cattrs', 'json', 'typing', 'hookrouter.tools'} & set(sys.modules), 'too much'\n"
    )
