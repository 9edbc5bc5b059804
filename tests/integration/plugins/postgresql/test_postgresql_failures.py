"""What goes wrong with a database: said apart, in time, without the password, and over when its cause is."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from contextlib import nullcontext, suppress

import psycopg
import pytest

from hookrouter.storage.history import Count, HistoryBatch, KeptStory
from hookrouter.storage.interface import StoreError
from hookrouter.util.time_limit import PluginTimeout, time_limit
from hookrouter_postgresql import connections
from hookrouter_postgresql import store as store_module
from support.forked import Forked
from support.postgres import GUARDED, PASSWORD

_SECONDS = 20.0


@pytest.fixture(autouse=True)
def nothing_logged(caplog):
    """psycopg tells nobody anything that would come to a hook's stderr."""
    yield
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.fixture
def told():
    """Return a function that does something and returns what its StoreError says."""

    def failing(action) -> str:
        with pytest.raises(StoreError) as refused:
            action()
        text = str(refused.value)
        assert PASSWORD not in text
        assert refused.value.__cause__ is None or PASSWORD not in repr(refused.value.__cause__)
        return text

    return failing


def everything(store):
    return [
        lambda: store.read("thing", "a"),
        lambda: store.write("thing", "a", {}),
        lambda: store.create("thing", "a", {}),
        lambda: store.replace("thing", "a", {}, unchanged={}),
        lambda: store.delete("thing", "a"),
        lambda: store.entries("thing"),
        lambda: store.stamps("thing"),
        lambda: store.lock_holder("thing", "a"),
        lambda: store.lock("thing", "a", 0).__enter__(),
        lambda: store.watch("thing", "a").__enter__(),
        store.put_aside,
    ]


def test_a_stopped_server_is_not_reachable_and_comes_back(storage, open_storage, server, told):
    store = storage.store("", pytest.fail)
    store.write("thing", "a", {"n": 1})
    server.stop()
    try:
        for action in [
            *everything(store),
            storage.machines,
            storage.init,
            *everything(open_storage().store("", print)),
        ]:
            assert "it is not reachable; check that it runs" in told(action)
        assert "not reachable" in storage.check()[0]
        store.prune(0)
    finally:
        server.start()
    assert store.read("thing", "a") == {"n": 1}
    assert storage.check() == []


def test_a_server_that_is_started_again_between_two_calls_is_no_failure(storage, server):
    store = storage.store("", pytest.fail)
    store.write("thing", "a", {"n": 1})
    server.stop()
    server.start()
    assert store.read("thing", "a") == {"n": 1}


def test_a_server_that_does_nothing_costs_no_more_than_the_time_limit(storage, open_storage, server, told):
    impatient = open_storage(statement_timeout=0.3)
    store = impatient.store("", pytest.fail)
    store.write("thing", "a", {"n": 1})
    server.pause()
    try:
        assert "it timed out; raise statement_timeout" in told(lambda: store.read("thing", "a"))
        assert "it timed out: no answer when connecting" in told(lambda: store.read("thing", "a"))
    finally:
        server.resume()
    assert store.read("thing", "a") == {"n": 1}


def test_a_server_that_stops_within_a_transaction(storage, open_storage, server, told):
    impatient = open_storage(statement_timeout=0.3)
    store = impatient.store("", pytest.fail)
    store.read("thing", "a")

    def write_two() -> None:
        with impatient.together():
            store.write("thing", "a", {})
            server.pause()
            store.write("thing", "b", {})

    try:
        assert "it timed out" in told(write_two)
    finally:
        server.resume()
    assert store.entries("thing") == []


def test_a_process_that_is_stopped_within_a_transaction_keeps_nobody_from_writing_for_long(
    storage, open_storage, monkeypatch
):
    monkeypatch.setattr(connections, "_IDLE", 0.3)
    store = storage.store("", pytest.fail)

    def write(child: Forked) -> None:
        with storage.together():
            store.write("thing", "a", {"by": "child"})
            child.say("written")
            child.heard()
            store.write("thing", "b", {"by": "child"})

    with Forked(write) as child:
        assert child.heard() == "written"
        child.send(signal.SIGSTOP)
        store.write("thing", "a", {"by": "parent"})
        child.send(signal.SIGCONT)
        child.say("go on")
        assert "a transaction did nothing for too long, and nothing of it was saved" in child.heard()
    assert store.entries("thing") == [("a", {"by": "parent"})]


@pytest.mark.parametrize("belongs_together", [True, False])
def test_a_hook_that_runs_out_of_time_waits_no_longer(storage, server, belongs_together):
    """Neither for an answer nor to take back what it has begun."""
    store = storage.store("", pytest.fail)
    store.write("thing", "a", {"n": 1})

    def read() -> None:
        with storage.together() if belongs_together else nullcontext():
            store.write("thing", "a", {"n": 2})
            server.pause()
            store.read("thing", "a")

    try:
        with pytest.raises(PluginTimeout), time_limit(0.5):
            read()
        # No time limit of the database has passed, which would be told as a StoreError.
    finally:
        server.resume()
    assert store.read("thing", "a") == {"n": 1 if belongs_together else 2}


def test_a_forked_child_leaves_the_transaction_of_its_parent_alone(storage):
    store = storage.store("", pytest.fail)

    def leave(_child: Forked) -> None:
        with suppress(StoreError):
            together.__exit__(None, None, None)
        store.write("thing", "b", {"by": "child"})
        storage.close()

    together = storage.together()
    together.__enter__()
    store.write("thing", "a", {})
    with Forked(leave) as child:
        assert child.heard() == "end"
    store.write("thing", "c", {})
    assert [name for name, _ in store.entries("thing")] == ["a", "b", "c"]
    together.__exit__(KeyError, KeyError(), None)
    assert [name for name, _ in store.entries("thing")] == ["b"]


def test_a_row_that_another_transaction_holds(storage, open_storage, server, schema, told):
    store = open_storage(statement_timeout=0.3).store("", pytest.fail)
    store.write("thing", "a", {"n": 1})
    with psycopg.connect(server.dsn()) as other:
        other.execute(f"UPDATE {schema}.document SET version = 0".encode())
        assert "it timed out" in told(lambda: store.write("thing", "a", {"n": 2}))
        other.rollback()
    assert store.read("thing", "a") == {"n": 1}


def test_a_transaction_a_part_of_which_has_failed_saves_nothing(storage, server, schema, told):
    store = storage.store("", pytest.fail)
    server.ask(f"ALTER TABLE {schema}.document ADD CHECK (body NOT LIKE '%unwanted%')")

    def write_two() -> None:
        with storage.together():
            store.write("thing", "a", {})
            assert "SQLSTATE 23514" in told(lambda: store.write("thing", "b", {"n": "unwanted"}))

    assert "nothing of what belongs together was saved" in told(write_two)
    assert store.entries("thing") == []
    store.write("thing", "c", {})


def test_a_connection_that_is_cut_within_a_transaction(storage, server, told):
    store = storage.store("", pytest.fail)
    store.write("thing", "a", {"n": 1})

    def write_two() -> None:
        with storage.together():
            store.write("thing", "a", {"n": 2})
            server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hookrouter'")
            store.write("thing", "b", {})

    assert "not reachable" in told(write_two)
    assert store.entries("thing") == [("a", {"n": 1})]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("disk_full", "the server is full: free some space on its disk"),
        ("out_of_memory", "the server is full: it is out of memory"),
        ("too_many_connections", "the server is full: it has no connection left"),
        ("io_error", "the server's disk or files fail"),
    ],
)
def test_a_full_server(storage, server, schema, told, state, words):
    store = storage.store("", pytest.fail)
    server.ask(
        f"CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{state}'; END $$"
    )
    server.ask(f"CREATE TRIGGER refuse BEFORE INSERT ON {schema}.document EXECUTE FUNCTION {schema}.refuse()")
    assert words in told(lambda: store.write("thing", "a", {}))
    assert store.read("thing", "a") is None
    server.ask(f"DROP TRIGGER refuse ON {schema}.document")
    store.write("thing", "a", {})


@pytest.fixture
def role(server):
    """Return a function that makes a role, and returns where the database is for it."""
    made = []

    def make(name: str, options: str = "LOGIN", password: str = PASSWORD) -> str:
        server.ask(f"CREATE ROLE {name} {options}")
        made.append(name)
        return server.dsn(user=name, password=password)

    yield make
    for name in made:
        server.ask(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_a_refused_login(storage, open_storage, role, monkeypatch, told):
    for dsn in (
        role(GUARDED, "LOGIN PASSWORD 'another'"),
        role("sleeping", "NOLOGIN"),
        role("stranger").replace("user=stranger", "user=nobody-of-this-name"),
    ):
        monkeypatch.setenv("OTHER_DATABASE", dsn)
        refused = open_storage(dsn_env="OTHER_DATABASE")
        assert "the login was refused; check user and password" in told(lambda: refused.store("", print).read("a", "b"))  # noqa: B023
        assert "the login was refused" in refused.check()[0]


def test_a_database_that_is_not_there_or_lets_nobody_in(storage, open_storage, server, role, monkeypatch, told):
    monkeypatch.setenv("OTHER_DATABASE", server.dsn().replace("dbname=postgres", "dbname=nowhere"))
    assert "there is no such database" in told(open_storage(dsn_env="OTHER_DATABASE").machines)
    monkeypatch.setenv("FULL_DATABASE", role("crowd", "LOGIN CONNECTION LIMIT 0"))
    assert "it has no connection left" in told(open_storage(dsn_env="FULL_DATABASE").machines)


def test_a_role_without_rights(storage, open_storage, server, schema, role, monkeypatch, told):
    monkeypatch.setenv("OTHER_DATABASE", role("poor"))
    poor = open_storage(dsn_env="OTHER_DATABASE")
    for action in (poor.machines, poor.init):
        assert "the user of the DSN lacks USAGE on the schema; grant it" in told(action)
    server.ask(f"GRANT USAGE ON SCHEMA {schema} TO poor")
    for action in (poor.machines, poor.init, lambda: poor.migrate(2)):
        assert "the user of the DSN lacks SELECT on its table migration; grant it" in told(action)
    server.ask(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO poor")
    assert poor.machines() == []
    assert "may not do that" in told(lambda: poor.store("", print).write("thing", "a", {}))
    server.ask(f"GRANT UPDATE ON {schema}.lock TO poor")
    tables = "document, history_count, history_file, history_machine, put_aside, story"
    lacks = f"INSERT, UPDATE, DELETE on {tables}; INSERT, DELETE on lock; USAGE on the sequence version"
    assert f"the user of the DSN lacks {lacks}; grant it" in poor.check()[0]
    assert poor.init() == []
    assert "the user of the DSN lacks CREATE on the schema; grant it" in told(lambda: poor.migrate(2))
    server.ask(f"GRANT CREATE ON SCHEMA {schema} TO poor")
    assert "may not do that" in (said := told(lambda: poor.migrate(2)))
    assert "must be owner of table" in said


def test_a_role_that_may_not_make_the_schema(open_storage, server, schema, role, monkeypatch, told):
    monkeypatch.setenv("OTHER_DATABASE", role("poor"))
    poor = open_storage(dsn_env="OTHER_DATABASE")
    assert "the user of the DSN lacks CREATE on the database, or a schema of that name of its own" in told(poor.init)
    server.ask(f"CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO poor")
    assert "the user of the DSN lacks CREATE on the schema" in told(poor.init)
    server.ask(f"ALTER SCHEMA {schema} OWNER TO poor")
    assert len(poor.init()) == 4


def test_a_machine_whose_role_has_the_rows_of_another_name(
    storage, open_storage, server, schema, role, monkeypatch, told
):
    monkeypatch.setenv("OTHER_DATABASE", role("tight"))
    server.ask(f"GRANT USAGE ON SCHEMA {schema} TO tight; GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO tight")
    server.ask(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO tight")
    for table in ("document", "lock"):
        server.ask(f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY")
        server.ask(f"CREATE POLICY own ON {schema}.{table} USING (machine = 'one')")
    right, wrong = open_storage(dsn_env="OTHER_DATABASE"), open_storage("two", dsn_env="OTHER_DATABASE")
    assert (right.check(), wrong.machines()) == ([], [])
    (problem,) = wrong.check()
    assert "[storage] machine is 'two', but row-level security gives the user of the DSN the rows of others" in problem
    server.ask(f"CREATE TABLE {schema}.machine_role (role name, machine text)")
    assert wrong.check() == [problem]
    server.ask(f"GRANT SELECT ON {schema}.machine_role TO tight")
    assert "the rows of no machine, as no row of machine_role names it; correct" in wrong.check()[0]
    server.ask(f"INSERT INTO {schema}.machine_role VALUES ('tight', 'one')")
    assert "the rows of the machine 'one'; correct the one or the other" in wrong.check()[0]
    for action in (
        lambda: wrong.store("", print).write("thing", "a", {}),
        lambda: wrong.store("fleet", print).lock("thing", "a", 0).__enter__(),
    ):
        said = told(action)
        assert "[storage] machine must be the name that its role has in the table machine_role" in said
        assert "may not do that" not in said
    # Nothing of what was tried is kept.
    assert server.ask(f"SELECT FROM {schema}.document") == []


@pytest.mark.parametrize("wrong", ["sslmode=nonsense", "hostaddr=nonsense", "options=-cnonsense=1"])
def test_words_of_the_dsn_that_are_wrong(open_storage, server, monkeypatch, told, wrong):
    monkeypatch.setenv("OTHER_DATABASE", f"{server.dsn()} {wrong}")
    assert "the DSN is wrong; correct it" in told(open_storage(dsn_env="OTHER_DATABASE").machines)


def test_the_rights_that_are_enough(storage, open_storage, server, schema, role, monkeypatch):
    monkeypatch.setenv("OTHER_DATABASE", role("modest"))
    server.ask(f"GRANT USAGE ON SCHEMA {schema} TO modest")
    server.ask(
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {schema}.document, {schema}.put_aside, {schema}.lock TO modest"
    )
    server.ask(f"GRANT SELECT ON {schema}.migration TO modest")
    server.ask(f"GRANT USAGE ON SEQUENCE {schema}.version TO modest")
    modest = open_storage(dsn_env="OTHER_DATABASE")
    # Rights that were enough for the former release are enough for documents.
    assert modest.history() is None
    rights = "SELECT, INSERT, UPDATE, DELETE on history_count, history_file, history_machine, story"
    assert f"the user of the DSN lacks {rights}; grant it" in modest.check()[0]
    history = ", ".join(f"{schema}.{table}" for table in ("history_machine", "history_file", "history_count", "story"))
    server.ask(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {history} TO modest")
    assert modest.check() == []
    brought = modest.history()
    assert brought is not None
    story = dict.fromkeys(("session", "kind", "outcome", "by", "session_id", "tool_use_id"), "")
    count = Count(1, "run", "Stop", "", 1, 1)
    brought.append(HistoryBatch(0, {"a": 1, "b": None}, [KeptStory("one", story, {}, 0.0, 0.0, "")], [count]))
    assert brought.prune() == 1
    reports: list[str] = []
    store = modest.store("", reports.append)
    store.create("thing", "a", {})
    server.ask(f"UPDATE {schema}.document SET body = ''")
    store.read("thing", "a")
    assert len(reports) == 1
    store.write("thing", "a", {})
    assert store.replace("thing", "a", {"n": 1}, unchanged={})
    with store.lock("thing", "a", 0), store.watch("thing", "a"):
        assert store.delete("thing", "a")
    store.prune(0)
    assert modest.init() == []


def test_a_database_that_can_only_be_read(storage, open_storage, role, server, schema, monkeypatch, told):
    monkeypatch.setenv("OTHER_DATABASE", role("reader", "LOGIN SUPERUSER"))
    server.ask("ALTER ROLE reader SET default_transaction_read_only = on")
    store = open_storage(dsn_env="OTHER_DATABASE").store("", pytest.fail)
    assert store.read("thing", "a") is None
    assert "it can only be read" in told(lambda: store.write("thing", "a", {}))


def test_all_connections_of_a_process_in_use(open_storage, storage, told):
    small = open_storage(pool=2, statement_timeout=0.3)
    taken, go_on = threading.Barrier(3), threading.Event()

    def hold() -> None:
        with small.together():
            taken.wait(_SECONDS)
            go_on.wait(_SECONDS)

    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    taken.wait(_SECONDS)
    try:
        assert "all 2 connections of this process are in use" in told(small.machines)
    finally:
        go_on.set()
        for thread in threads:
            thread.join()
    assert small.machines() == []


def test_without_the_driver(open_storage, monkeypatch, told):
    for name in list(sys.modules):
        if name.startswith("hookrouter_postgresql."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pip install 'hookrouter[postgres]'" in told(lambda: open_storage().store("", print))


def test_rows_of_deleted_documents_go_after_a_day(storage, server, schema, monkeypatch):
    monkeypatch.setattr(store_module, "_PRUNED_AT_ONCE", 3)
    store = storage.store("", pytest.fail)
    for number in range(8):
        store.write("thing", str(number), {})
    for number in range(7):
        store.delete("thing", str(number))
    server.ask(f"UPDATE {schema}.document SET written_at = written_at - interval '25 hours' WHERE name <> '0'")
    # Whatever else is kept for a month.
    store.prune(30 * 86400)
    rows = server.ask(f"SELECT name FROM {schema}.document ORDER BY 1")
    assert rows == [(b"0",), (b"7",)]
    monkeypatch.setattr(store_module, "_PRUNED_TIMES", 0)
    store.prune(0)
    assert store.read("thing", "7") == {}


def test_a_corrupt_document_is_put_aside_and_reported(storage, server, schema):
    reports: list[str] = []
    store = storage.store("outbox", reports.append)
    for name in ("a", "b\x1b", "c"):
        store.write("thing", name, {"n": 1})
    server.ask(f"UPDATE {schema}.document SET body = '[1]' WHERE name = 'a'")
    server.ask(f"UPDATE {schema}.document SET body = %s WHERE name = %s", "{", b"b\x1b")
    assert store.read("thing", "a") is None
    assert store.create("thing", "a", {"n": 2}) is None
    assert store.entries("thing") == [("a", {"n": 2}), ("c", {"n": 1})]
    assert [("not a JSON object" in text, "not JSON" in text) for text in reports] == [(True, False), (False, True)]
    assert all(text.isprintable() for text in reports)
    place, aside = store.put_aside()
    assert place == f"table {schema}.put_aside"
    assert [name.split(" ")[0] for name in aside] == ["thing-a", "thing-b\\x1b"]
    store.prune(3600)
    assert len(store.put_aside()[1]) == 2
    store.prune(-3600)
    assert store.put_aside()[1] == []
