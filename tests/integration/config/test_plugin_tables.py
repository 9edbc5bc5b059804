"""The first hook run of all, with a plugin's own table in config.toml: nothing has looked at the plugins before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hookrouter.samples import sample
from hookrouter.testing import write_plugin

TRUCK = """
import attrs
from hookrouter import hookimpl
from hookrouter.replies import StopReply

@attrs.frozen
class Settings:
    speed: int = 3

@hookimpl
def plugin_settings():
    return Settings

@hookimpl
def config_table():
    return "carrier"

@hookimpl
def stop(context):
    return StopReply.block(f"speed {context.settings('truck')['speed']}")
"""


def test_the_table_holds_from_the_first_run(tmp_path: Path) -> None:
    home, site = tmp_path / "home", tmp_path / "site"
    home.mkdir(mode=0o700)
    site.mkdir()
    write_plugin(site, "truck", TRUCK)
    environ = {**os.environ, "HOOKROUTER_HOME": str(home), "PYTHONPATH": str(site)}

    def run() -> str:
        command = [sys.executable, "-m", "hookrouter", "run", "stop"]
        given = json.dumps(sample("Stop"))
        done = subprocess.run(command, input=given, env=environ, capture_output=True, text=True, check=True, timeout=60)
        return str(json.loads(done.stdout)["reason"])

    (home / "config.toml").write_text("[carrier]\nspeed = 5\n")
    assert "speed 5" in run()
    (home / "config.toml").write_text("[carrier]\nspeed = 77\n")
    assert "speed 77" in run()
    assert "speed 77" in run()
