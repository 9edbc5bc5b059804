"""The table ``[monitor]``: what it may hold."""

from __future__ import annotations

import tomllib

import pytest

from hookrouter._plugins.settings_schema import check, structure
from hookrouter_monitor.settings import MonitorSettings


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('address = "0.0.0.0:9464"', "address"),
        ('address = "9464"', "address"),
        ('token_env = "a b"', "token_env"),
        ('token_file = "token"', "token_file"),
        ('token_env = "T"\ntoken_file = "/t"', "token_env"),
    ],
)
def test_what_is_not_safe_is_refused(table: str, key: str) -> None:
    ((where, text, *_),) = check(MonitorSettings, tomllib.loads(table), "monitor").problems
    assert where == f"monitor.{key}"
    assert "allowed: " in text


def test_a_monitor_for_other_machines() -> None:
    assert check(MonitorSettings, {"address": "[::1]:9464"}, "monitor").problems == ()
    monitor = structure(MonitorSettings, {"address": "0.0.0.0:9464", "token_env": "T"})
    assert (monitor.address, monitor.asks_for_token) == ("0.0.0.0:9464", True)
    assert not MonitorSettings().asks_for_token
