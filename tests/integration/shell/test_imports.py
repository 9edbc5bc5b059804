"""What the reader of commands imports: hooks start with it on each call of Bash that a rule is about."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from hookrouter.shell.reader import read
before = "tree_sitter" in sys.modules
assert read("npm test 2>&1 | tail -5").certain
slow = {"attrs", "attr", "importlib.resources", "tempfile", "subprocess", "pathlib", "json"} & set(sys.modules)
print(before, sorted(slow))
"""
CODE_WITH_PATH = f"import sys; sys.path[:] = {sys.path!r}\n{CODE}"
"""Without ``site``, whose ``.pth`` files import modules of their own."""


def test_it_imports_the_parser_when_it_first_reads_and_nothing_that_is_slow() -> None:
    done = subprocess.run([sys.executable, "-S", "-c", CODE_WITH_PATH], capture_output=True, text=True, check=True)
    assert done.stdout == "False []\n"
