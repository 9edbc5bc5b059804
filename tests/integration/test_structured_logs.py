"""What processes in the background write, as JSON on request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.process_log import FORMAT_VARIABLE
from hookrouter.util.program import script_argv
from support.hook_place import BASH, HookPlace
from support.resident import eventually

ESCAPE = "\x1b[31m\u202ered"
KEYS = {"at", "level", "process", "event", "machine", "pid", "text"}
CONFIG = '[serve]\nauto = true\n[storage]\nmachine = "build-3"\n[page]\naddress = "{address}"\n'


def lines(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    assert all(set(one) == KEYS for one in found)
    return found


@pytest.fixture
def place(tmp_path: Path) -> HookPlace:
    place = HookPlace(tmp_path)
    place.plugins.mkdir()
    place.environ[FORMAT_VARIABLE] = "json"
    return place


def ended(place: HookPlace, *words: str) -> str:
    done = subprocess.run([*script_argv(), *words], env=place.environ, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.stderr


def test_the_router_and_its_page_write_json(place: HookPlace) -> None:
    from support.resident import Resident

    place.config(CONFIG.format(address="192.0.2.1:8790") + 'user_header = "X-User"\n')
    errors = place.home / "stderr"
    with errors.open("w") as file:
        process = subprocess.Popen([*script_argv(), "serve"], env=place.environ, stderr=file)
        try:
            eventually(Resident(place.environ).is_there)
            eventually(lambda: bool(errors.read_text()))
        finally:
            process.terminate()
            process.wait()
    (said,) = lines(errors.read_text())
    assert (said["process"], said["event"], said["level"], said["machine"]) == ("serve", "page", "warning", "build-3")
    assert said["pid"] == process.pid
    assert said["text"].startswith("no page: 192.0.2.1:8790: ")


@pytest.mark.parametrize(
    ("words", "process"),
    [
        (["deliver", ESCAPE], "deliver"),
        (["queue", "deliver", ESCAPE], "queue"),
    ],
)
def test_each_process_says_who_it_is_and_no_control_character(place: HookPlace, words: list[str], process: str) -> None:
    text = ended(place, *words)
    (said,) = lines(text)
    assert (said["process"], said["level"]) == (process, "error")
    assert text.isascii()
    assert not [character for character in said["text"] if not character.isprintable()]
    del place.environ[FORMAT_VARIABLE]
    plain = ended(place, *words)
    assert "{" not in plain
    assert "\x1b" not in plain


def test_a_gateway_that_fails_is_told_as_json_by_the_deliverer_that_a_hook_started(place: HookPlace) -> None:
    write_plugin(
        place.plugins,
        "talker",
        "from hookrouter import hookimpl\n\n\n@hookimpl\ndef pre_tool_use(event, context):\n    pass\n",
    )
    place.config('[storage]\nmachine = "build-3"\n')
    outbox = place.home / "state" / "outbox"
    outbox.mkdir(parents=True)
    (outbox / "wake-1.json").write_text("no document")
    assert place.run(BASH) == {}
    log = place.home / "logs" / "delivery.log"
    eventually(lambda: log.exists() and bool(log.read_text()))
    said = lines(log.read_text())
    assert {one["process"] for one in said} == {"deliver"}
    assert {one["machine"] for one in said} == {"build-3"}


def test_what_a_library_logs_is_json_too(place: HookPlace) -> None:
    code = (
        "import logging, sys; from hookrouter.util import process_log as log; log.begin('gate');"
        "log.take_over_logging(); logging.getLogger('uvicorn.error').warning('Invalid %s', 'request\\x1b');"
        "logging.getLogger('uvicorn.error').info('not this')"
    )
    done = subprocess.run([sys.executable, "-c", code], env=place.environ, capture_output=True, text=True, check=True)
    (said,) = lines(done.stderr)
    assert (said["event"], said["level"]) == ("library uvicorn.error", "warning")
    assert said["text"].isprintable()


def test_a_unit_of_the_system_keeps_the_format(place: HookPlace) -> None:
    done = subprocess.run(
        [*script_argv(), "serve", "--install-unit", "--dry-run"],
        env={**place.environ, "HOME": str(place.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{FORMAT_VARIABLE}=json" in done.stdout
