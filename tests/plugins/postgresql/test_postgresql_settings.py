"""The keys of ``[storage]``, and where the database is: a secret that is read with care."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql.dsn import read_target
from hookrouter_postgresql.engine import PostgresqlEngine
from hookrouter_postgresql.settings import PostgresqlSettings

SECRET = "a-password-that-nobody-may-see"


def refused(settings: PostgresqlSettings) -> str:
    with pytest.raises(StoreError) as error:
        read_target(settings)
    assert SECRET not in str(error.value)
    return str(error.value)


def test_one_key_names_the_database():
    with pytest.raises(ValueError, match="dsn_env: missing; dsn_env or dsn_file must name where the database is"):
        PostgresqlSettings()
    with pytest.raises(ValueError, match="dsn_env: found together with dsn_file; allowed: one of them"):
        PostgresqlSettings(dsn_env="DATABASE", dsn_file="/database")
    with pytest.raises(ValueError, match="dsn_file: found a value that is not shown; allowed: an absolute path"):
        PostgresqlSettings(dsn_file="database")


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://me:{SECRET}@db.example.org:5433/hooks?sslmode=require",
        f"host=db.example.org port=5433 dbname=hooks user=me password={SECRET} sslmode=require",
    ],
)
@pytest.mark.parametrize("from_file", [True, False])
def test_the_forms_of_libpq_are_allowed(monkeypatch, tmp_path, dsn, from_file):
    file = tmp_path / "database"
    file.write_text(f"{dsn}\n")
    file.chmod(0o600)
    monkeypatch.setenv("DATABASE", dsn)
    target = read_target(
        PostgresqlSettings(dsn_file=str(file)) if from_file else PostgresqlSettings(dsn_env="DATABASE")
    )
    assert target.place == "database hooks at db.example.org port 5433"
    assert target.parameters["password"] == SECRET
    assert target.parameters["sslmode"] == "require"
    assert target.parameters["connect_timeout"] == 2
    assert SECRET not in repr(target)
    assert target.hide(f"\x1b{SECRET}!") == "\\x1b***!"


def test_a_file_that_is_open_to_others_is_refused(tmp_path):
    file = tmp_path / "database"
    file.write_text(f"postgresql://me:{SECRET}@/hooks")
    settings = PostgresqlSettings(dsn_file=str(file))
    for mode in (0o640, 0o620, 0o602):
        file.chmod(mode)
        assert f"(found mode {mode:04o}; allowed: 0600); run: chmod 600 {file}" in refused(settings)
    file.chmod(0o644)
    assert f"every user of this machine may read {file}; run: chmod 600 {file}" in refused(settings)
    file.unlink()
    assert "[storage] dsn_file: " in refused(settings)


def test_a_variable_that_is_not_there_or_holds_something_else(monkeypatch):
    settings = PostgresqlSettings(dsn_env="DATABASE")
    assert refused(settings) == "[storage] dsn_env: the environment variable DATABASE is not set here"
    monkeypatch.setenv("DATABASE", " ")
    assert refused(settings) == "[storage] dsn_env: DATABASE is empty"
    for text in (SECRET, f"password {SECRET}", f"postgresql://me:{SECRET}@[::1/x", f"{SECRET}=1"):
        monkeypatch.setenv("DATABASE", text)
        assert "dsn_env: what DATABASE holds is not where a database is; allowed: a URL" in refused(settings)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1))
def test_no_text_is_shown_that_may_be_a_secret(text):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("DATABASE", f"{SECRET}{text}")
        refused(PostgresqlSettings(dsn_env="DATABASE"))
        monkeypatch.setenv("DATABASE", f"postgresql://me:{SECRET}@/{text}")
        shown = ""
        try:
            shown = repr(read_target(PostgresqlSettings(dsn_env="DATABASE")))
        except StoreError as error:
            shown = str(error)
        assert SECRET not in shown


@pytest.mark.parametrize(
    ("dsn", "wrong"),
    [
        (f"postgresql://me:first@{SECRET}@db.example.org/hooks", "a host with @"),
        (f"postgresql://me:first@second:{SECRET}@db.example.org/hooks", "a port that is not a number from 1 to 65535"),
        ("host=db port=abc", "a port that is not a number from 1 to 65535"),
        ("host=db port=0", "a port that is not a number from 1 to 65535"),
        ("host=one,two port=5432,65536", "a port that is not a number from 1 to 65535"),
        (f"postgresql://me:12/{SECRET}@db.example.org/hooks", "a database with @"),
    ],
)
def test_a_password_whose_rest_is_taken_for_the_host_is_not_shown(monkeypatch, dsn, wrong):
    monkeypatch.setenv("DATABASE", dsn)
    said = refused(PostgresqlSettings(dsn_env="DATABASE"))
    assert said.startswith(f"[storage] dsn_env: what DATABASE holds has {wrong}; correct it")
    assert "in a URL, a password has @, : and / as %40, %3A and %2F" in said


def test_sockets_and_several_hosts_are_allowed(monkeypatch):
    for dsn in (
        "host=/run/a@b",
        "host=@abstract",
        "host=one,two port=5432,",
        "host=one,two port=1,65535",
        "dbname=a@b",
    ):
        monkeypatch.setenv("DATABASE", dsn)
        read_target(PostgresqlSettings(dsn_env="DATABASE"))


@pytest.mark.parametrize("name", ["", " ", "a\0", "a\nb", "\ud800"])
def test_a_machine_is_named_by_one_line(name, caplog):
    with pytest.raises(StoreError, match=r"\[storage\] machine: found") as error:
        PostgresqlEngine().open(PostgresqlSettings(dsn_env="DATABASE"), name, "/nowhere")
    assert SECRET not in str(error.value) + repr(error.value.__cause__)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
