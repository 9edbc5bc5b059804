"""Several of the examples at once, on the real client: what Claude reads of them, and what they do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.tested_client import VERSION

if TYPE_CHECKING:
    from hookrouter.testing import ScriptedClaude

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(VERSION < (2, 1, 332), reason="audit is about all events, and this one stops at new ones"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("bash-guard", "project-context")
FILES = ("audit.py", "format_edits.py")
UPPER = "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.upper())"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder with the examples installed in it."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    packages = [str(EXAMPLES / f"hookrouter-{name}") for name in NAMES]
    folder = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(folder), *packages], check=True)
    return folder


def test_claude_sees_what_the_examples_do(site: Path, claude: ScriptedClaude) -> None:
    plugins = Path(claude.stage.home.plugins)
    plugins.mkdir(mode=0o700, parents=True)
    for name in FILES:
        shutil.copy(EXAMPLES / "hooks" / name, plugins)
    formatter = [sys.executable, "-c", UPPER]
    with (plugins / "format_edits.py").open("a") as file:
        file.write(f'FORMATTERS[".txt"] = {formatter!r}\n')
    claude.stage.variables["PYTHONPATH"] = str(site)
    claude.configure(
        """
        [plugins.bash-guard]
        on_error = "closed"
        [plugins.bash-guard.settings]
        deny = ['^rm ']
        [plugins.project-context.settings]
        files = ["TODO.md"]
        """
    )
    (claude.project / "TODO.md").write_text("Mend the roof.")

    refused = claude.use_tool("Bash", {"command": "true && rm TODO.md"})
    assert "bash-guard: '^rm ' is not allowed here" in refused.result
    assert (claude.project / "TODO.md").exists()

    written = claude.project / "note.txt"
    outcome = claude.use_tool("Write", {"file_path": str(written), "content": "hello"})
    assert written.exists(), outcome.result
    assert written.read_text() == "HELLO"

    said = json.dumps([request.body for request in claude.model.requests])
    assert "Mend the roof." in said
    assert "has formatted" in said
    log = Path(claude.stage.home.logs, "audit.jsonl")
    events = [json.loads(line)["hook_event_name"] for line in log.read_text().splitlines()]
    assert {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"} <= set(events)
