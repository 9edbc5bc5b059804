"""10,000 random and mutated payloads through the core of `hookrouter run`."""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter import _wiring
from hookrouter._contract.document import recorded
from hookrouter._contract.tables import EVENT_NAMES, EVENTS
from hookrouter._routing.hook_process import call_exit_functions
from hookrouter._routing.hook_run import handle
from hookrouter.util import fastjson
from support.stepped_time import SteppedTime

JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, 2**70, "", "x" * 5000, "\ud800", "\u202e\x1b[31m", "../../etc/passwd", [], {},
    [[[[]]]], {"a": {"b": {}}}, ["x", 1, None], "%2e%2e", "a\x00b", "AskUserQuestion", "mcp__a__b",
)  # fmt: skip


def payloads() -> list[dict[str, Any]]:
    samples = recorded()
    return [entry["payload"] for entry in samples.values() if isinstance(entry, dict) and "payload" in entry]


def mutate(value: Any, rng: random.Random) -> Any:
    """Change one place of a JSON value."""
    value = copy.deepcopy(value)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(value)
    node, key = rng.choice(places)
    what = rng.randrange(4)
    if what == 0:
        node[key] = rng.choice(JUNK)
    elif what == 1 and isinstance(node, dict):
        del node[key]
    elif what == 2 and isinstance(node, dict):
        node[f"new{rng.randrange(9)}"] = rng.choice(JUNK)
    else:
        node[key] = copy.deepcopy(rng.choice(places)[0])
    return value


def test_the_samples_are_there() -> None:
    assert {payload["hook_event_name"] for payload in payloads()} <= set(EVENT_NAMES)
    assert len(payloads()) > len(EVENT_NAMES)


class Place:
    """A home in which hooks are run, and what they have left there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._home = folder / "home"
        self._environ = {"HOOKROUTER_HOME": str(self._home), "HOME": str(folder)}
        self._home.mkdir(exist_ok=True)
        # A hook that waits does so for this process.
        (self._home / "config.toml").write_text("[answer]\nwait = 0\n")

    def handle(self, seed: int, times: int) -> None:
        """Run hooks on random payloads."""
        rng = random.Random(seed)
        originals = payloads()
        made: list[Callable[[], tuple[str, bytes]]] = []

        def whole() -> tuple[str, bytes]:
            payload = rng.choice(originals)
            for _ in range(rng.randrange(4)):
                payload = mutate(payload, rng)
            name = payload.get("hook_event_name")
            kebab = EVENT_NAMES.get(name, "stop") if isinstance(name, str) else "stop"
            return kebab, json.dumps(payload).encode()

        def torn() -> tuple[str, bytes]:
            kebab, data = whole()
            position = rng.randrange(len(data))
            return kebab, rng.choice(
                (data[:position], data[position:], data[:position] + b"\xff\x00" + data[position:])
            )

        def crossed() -> tuple[str, bytes]:
            return rng.choice([*EVENTS, "no-such", "", "../x", "\x1b"]), whole()[1]

        made += [whole, whole, whole, torn, crossed]
        for _ in range(times):
            kebab, data = rng.choice(made)()
            reply = handle(kebab, data, self._environ, _wiring)
            assert reply.exit_code == 0
            assert reply.stderr == ""
            if reply.stdout:
                document = json.loads(reply.stdout)
                if "hookSpecificOutput" in document:
                    assert document["hookSpecificOutput"]["hookEventName"] == EVENTS[kebab].name

    def check(self, times: int) -> None:
        """Check what so many runs in all have left."""
        logs = list((self._home / "logs").rglob("*"))
        runs = [
            record
            for log in logs
            if log.suffix in (".jsonl",) or ".jsonl." in log.name
            for record in map(fastjson.loads, log.read_bytes().splitlines())
            if isinstance(record, dict) and "ms" in record
        ]
        assert len(runs) == times
        assert all("Traceback" not in json.dumps(record) for record in runs)
        assert not [record for record in runs if str(record.get("reason", "")).startswith("hookrouter")]
        for document in (self._home / "state").rglob("*.json"):
            assert isinstance(fastjson.loads(document.read_bytes()), dict)
        assert {path.relative_to(self._folder).parts[0] for path in self._folder.rglob("*")} <= {"home"}


@pytest.fixture(autouse=True)
def nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("spawn_delivery", "push"):
        monkeypatch.setattr(f"hookrouter.messaging.spawn.{name}", lambda *_arguments: None)
    for module in ("hookrouter.dialogs.transcript", "hookrouter_sessions.failing"):
        # They give a client the time to write its transcript.
        monkeypatch.setattr(f"{module}.time", SteppedTime())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_payloads_each_get_silence_or_one_document_and_one_record(
    seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path)
    place.handle(seed, 1000)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
    place.check(1000)


@given(seeds=st.lists(st.integers(0, 2**32), max_size=10))
def test_any_payload_gets_silence_or_one_document_and_one_record(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str], seeds: list[int]
) -> None:
    place = Place(tmp_path_factory.mktemp("payloads"))
    for seed in seeds:
        place.handle(seed, 1)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
    place.check(len(seeds))


def test_what_was_registered_for_the_end_of_the_process_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setitem(sys.modules, "atexit", SimpleNamespace(_run_exitfuncs=lambda: called.append("it")))
    call_exit_functions()
    assert called == ["it"]
