"""What a fresh interpreter loads for one class of hookspecs."""

from __future__ import annotations

import subprocess
import sys


def test_a_class_loads_its_own_module_alone() -> None:
    code = (
        "import sys; from hookrouter.hookspecs import PreToolUseSpecs\n"
        "own = {name for name in sys.modules if name.startswith('hookrouter.hookspecs.')}\n"
        "assert own == {'hookrouter.hookspecs.pre_tool_use'}, own\n"
        "assert not {'attr', 'attrs', 'cattrs', 'hookrouter.events', 'hookrouter.replies'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
