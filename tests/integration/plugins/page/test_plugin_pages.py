"""Pages of plugins, and what hook runs load of them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

from hookrouter.samples import sample
from hookrouter.testing import write_plugin
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from pathlib import Path


LOADED = """
import os
from hookrouter import hookimpl

with open(os.environ["TOLD"], "a") as file:
    file.write("loaded")

@hookimpl
def web_pages():
    from hookrouter.pages import Link
    return [Link("Home", "/")]
"""


def test_no_hook_run_loads_what_only_adds_to_the_page(tmp_path: Path, hookrouter_home: Path) -> None:
    write_plugin(tmp_path, "links", LOADED)
    told = tmp_path / "told"
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "TOLD": str(told)}

    def hookrouter(*words: str, payload: object = None) -> str:
        given = json.dumps(payload)
        argv = [*script_argv(), *words]
        return subprocess.run(argv, env=environ, input=given, capture_output=True, text=True, check=True).stdout

    (listed,) = [one for one in json.loads(hookrouter("plugins", "list", "--json")) if one["name"] == "links"]
    assert (listed["status"], listed["hooks"]) == ("active", ["web_pages"])
    info = json.loads(hookrouter("plugins", "info", "links", "--json"))
    assert info["contributions"] == [{"hook": "web_pages", "names": ["Home"], "error": "", "keys": []}]
    told.unlink()
    hookrouter("run", "stop", payload=sample("Stop"))
    assert not told.exists()
