"""10,000 random and mutated payloads through the core of `hookrouter run`."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookrouter import _wiring
from hookrouter._contract.document import recorded
from hookrouter._contract.tables import EVENT_NAMES, EVENTS
from hookrouter._routing.hook_run import handle
from hookrouter.util import fastjson

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
    assert len(payloads()) == 50


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_payloads_each_get_silence_or_one_document_and_one_record(
    seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spawned: list[Any] = []
    for name in ("spawn_delivery", "push"):
        monkeypatch.setattr(f"hookrouter.messaging.spawn.{name}", lambda *arguments: spawned.append(arguments))
    environ = {"HOOKROUTER_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    (tmp_path / "home").mkdir()
    # A hook that waits does so for this process.
    (tmp_path / "home" / "config.toml").write_text("[answer]\nwait = 0\n")
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
        return kebab, rng.choice((data[:position], data[position:], data[:position] + b"\xff\x00" + data[position:]))

    def crossed() -> tuple[str, bytes]:
        return rng.choice([*EVENTS, "no-such", "", "../x", "\x1b"]), whole()[1]

    made += [whole, whole, whole, torn, crossed]
    for _ in range(1000):
        kebab, data = rng.choice(made)()
        reply = handle(kebab, data, environ, _wiring)
        assert reply.exit_code == 0
        assert reply.stderr == ""
        if reply.stdout:
            document = json.loads(reply.stdout)
            if "hookSpecificOutput" in document:
                assert document["hookSpecificOutput"]["hookEventName"] == EVENTS[kebab].name
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
    logs = list((tmp_path / "home" / "logs").rglob("*"))
    runs = [
        record
        for log in logs
        if log.suffix in (".jsonl",) or ".jsonl." in log.name
        for record in map(fastjson.loads, log.read_bytes().splitlines())
        if isinstance(record, dict) and "ms" in record
    ]
    assert len(runs) == 1000
    assert all("Traceback" not in json.dumps(record) for record in runs)
    assert not [record for record in runs if str(record.get("reason", "")).startswith("hookrouter")]
    for document in (tmp_path / "home" / "state").rglob("*.json"):
        assert isinstance(fastjson.loads(document.read_bytes()), dict)
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")} <= {"home"}
