"""The engine on a real server: the contract of all engines, what it adds, and a home that is brought there."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.testing import Hooks, wait_until
from hookrouter.testing.contracts import DocumentStorageContract, StoreMaker

from hookrouter_redis.engine import RedisEngine, RedisSettings, RedisStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
pytestmark = pytest.mark.skipif(
    PROGRAM is None and os.environ.get("HOOKROUTER_REQUIRE_LIVE") != "1",
    reason="no server: apt-get install redis-server",
)
_numbers = count()


class Server:
    """A server on a socket in a folder of its own, with nothing but what it is started with."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"unix://{folder / 'socket'}"
        self.client: Any = redis.Redis.from_url(self.url)
        self.start()

    def start(self) -> None:
        assert PROGRAM is not None, "no server: apt-get install redis-server"
        words = ["--port", "0", "--unixsocket", str(self._folder / "socket"), "--dir", str(self._folder), "--save", ""]
        durable = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"]
        self._process = subprocess.Popen([PROGRAM, *words, *durable], stdout=subprocess.DEVNULL)
        wait_until(self._answers, 20, "the server")

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # A socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="hookrouter-redis-") as folder:
        server = Server(Path(folder))
        yield server
        server.kill()


@pytest.fixture
def prefix() -> str:
    return f"test-{next(_numbers)}"


@pytest.fixture(autouse=True)
def _where(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("FLEET_REDIS", server.url)


def opened(prefix: str, machine: str = "one") -> RedisStorage:
    return RedisEngine().open(RedisSettings(url_env="FLEET_REDIS", prefix=prefix), machine, "")


class TestRedis(DocumentStorageContract):
    @pytest.fixture
    def make_store(self, prefix: str) -> StoreMaker:
        return lambda: opened(prefix).store("", pytest.fail)


def test_each_machine_and_area_has_its_own_documents(prefix: str) -> None:
    one, two = opened(prefix, "one"), opened(prefix, "two")
    assert one.machines() == []
    one.store("", pytest.fail).write("thing", "a", {"of": "one"})
    two.store("outbox", pytest.fail).write("thing", "a", {"of": "two"})
    assert two.store("", pytest.fail).read("thing", "a") is None
    assert two.store("", pytest.fail, "one").read("thing", "a") == {"of": "one"}
    assert one.machines() == ["one", "two"]
    two.store("outbox", pytest.fail).delete("thing", "a")
    assert one.machines() == ["one"]


def test_what_belongs_together_is_there_at_once_or_not_at_all(prefix: str) -> None:
    storage = opened(prefix)
    store, other = storage.store("", pytest.fail), opened(prefix).store("", pytest.fail)
    store.write("thing", "old", {})
    with storage.together():
        store.write("thing", "a", {"n": 1})
        assert store.replace("thing", "a", {"n": 2}, unchanged={"n": 1})
        with storage.together():
            assert store.delete("thing", "old")
        assert store.create("thing", "a", {}) == {"n": 2}
        assert store.entries("thing") == [("a", {"n": 2})]
        assert other.entries("thing") == [("old", {})]
    assert other.entries("thing") == [("a", {"n": 2})]
    with pytest.raises(KeyError), storage.together():
        store.write("thing", "b", {})
        raise KeyError
    with pytest.raises(StoreError, match="nothing of what belongs together"), storage.together():
        store.write("thing", "b", {})
        assert store.create("thing", "c", {"by": "me"}) is None
        other.write("thing", "c", {"by": "other"})
    assert [name for name, _ in other.entries("thing")] == ["a", "c"]


def test_a_corrupt_document_is_put_aside_and_told(server: Server, prefix: str) -> None:
    told: list[str] = []
    store = opened(prefix).store("", told.append)
    for name in ("a", "b"):
        store.write("thing", name, {})
    (key,) = [key for key in server.client.keys(f"{{{prefix}}}:body:*")]
    server.client.hset(key, mapping={"a": "{", "b": "[]"})
    assert store.read("thing", "a") is None
    assert store.entries("thing") == []
    assert len(told) == 2
    place, names = store.put_aside()
    assert prefix in place
    assert [name.split(" ")[1] for name in names] == ["thing-a", "thing-b"]
    store.prune(3600)
    assert len(store.put_aside()[1]) == 2
    store.prune(-1)
    assert store.put_aside()[1] == []


def test_what_was_saved_is_there_after_a_crash_and_waiting_goes_on(server: Server, prefix: str) -> None:
    store = opened(prefix).store("", pytest.fail)
    with store.watch("thing", "a") as watch:
        store.write("thing", "a", {"n": 1})
        assert watch.wait(20)
        server.kill()
        for call in (lambda: store.read("thing", "a"), lambda: watch.wait(5), store.lock("thing", "a", 0).__enter__):
            with pytest.raises(StoreError, match="Redis: .*check that the server is there"):
                call()
        server.start()
        assert store.read("thing", "a") == {"n": 1}
        writer = threading.Timer(0.2, lambda: opened(prefix).store("", pytest.fail).write("thing", "a", {"n": 2}))
        writer.start()
        assert watch.wait(20)
        writer.join()
    assert store.read("thing", "a") == {"n": 2}


def test_a_watch_has_a_descriptor_that_tells_when_a_look_is_worth_it(prefix: str) -> None:
    store = opened(prefix).store("", pytest.fail)
    watch = store.watch("thing")
    assert watch.fileno() == -1
    with watch:
        for number in range(3):
            watch.wait(0)
            assert select.select([watch.fileno()], [], [], 0)[0] == []
            opened(prefix).store("", pytest.fail).write("thing", "a", {"n": number})
            assert select.select([watch.fileno()], [], [], 20)[0]
            assert watch.wait(0)


def test_a_lock_that_was_lost_is_told_at_its_end(server: Server, prefix: str) -> None:
    store = opened(prefix).store("", pytest.fail)
    with pytest.raises(StoreError, match=r"the lock .*'thing'.* was lost"), store.lock("thing", "a", 0):
        server.client.delete(*server.client.keys(f"{{{prefix}}}:lock:*"))
    with store.lock("thing", "a", 0):
        (key,) = server.client.keys(f"{{{prefix}}}:lock:*")
        assert 0 < server.client.ttl(key) <= 15


def test_a_lock_of_another_machine_lasts_as_long_as_its_lease(server: Server, prefix: str) -> None:
    store = opened(prefix).store("", pytest.fail)
    with store.lock("thing", "a", 0):
        (key,) = server.client.keys(f"{{{prefix}}}:lock:*")
        token = json.loads(server.client.get(key))
    server.client.set(key, json.dumps({**token, "space": "elsewhere", "host": "far", "pid": 2**22 + 1}), px=300)
    with pytest.raises(StoreBusy, match="on far"), store.lock("thing", "a", 0):
        pass
    with store.lock("thing", "a", 20):
        pass


def test_it_says_what_is_wrong_with_the_server(server: Server, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = opened(prefix)
    assert (storage.init(), storage.migrate(), storage.check()) == ([], [], [])
    for key, bad, good in (
        ("appendfsync", "everysec", "always"),
        ("appendonly", "no", "yes"),
        ("maxmemory-policy", "allkeys-lru", "noeviction"),
    ):
        server.client.config_set(key, bad)
        (said,) = storage.check()
        assert f"{key} is {bad}" in said
        assert f"CONFIG SET {key} {good}" in said
        server.client.config_set(key, good)
    with pytest.raises(StoreError, match="there is no version 2"):
        storage.migrate(2)
    monkeypatch.setenv("FLEET_REDIS", "unix:///nowhere/socket")
    assert "check that the server is there" in opened(prefix).check()[0]
    monkeypatch.setenv("FLEET_REDIS", "carrier://:pigeon@roof")
    assert "pigeon" not in opened(prefix).check()[0]
    monkeypatch.delenv("FLEET_REDIS")
    assert "FLEET_REDIS" in opened(prefix).check()[0]
    with pytest.raises(ValueError, match="url_env"):
        RedisSettings()


CONFIG = """
    [storage]
    engine = "redis"
    machine = "one"
    url_env = "FLEET_REDIS"
    prefix = "{prefix}"
"""


def test_a_home_is_brought_by_the_installed_plugin(hooks: Hooks, prefix: str) -> None:
    hooks.use_installed("ask-user-question")
    hooks.fire("PreToolUse", tool="AskUserQuestion", session="work")
    hooks.configure(CONFIG.format(prefix=prefix))
    command = [sys.executable, "-m", "hookrouter", "storage", "copy", "--from", "files"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert len(opened(prefix).store("", pytest.fail).entries("question")) == 1
