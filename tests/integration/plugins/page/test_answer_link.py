"""What a fresh interpreter imports for links to the page."""

from __future__ import annotations

import subprocess
import sys


def test_the_module_imports_nothing_of_the_extra() -> None:
    modules = "hookrouter_page.security.answer_link, hookrouter.dialogs.composer"
    code = f"import sys, {modules}; print('itsdangerous' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
