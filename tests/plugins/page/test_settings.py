"""The table ``[page]``: what it may hold, and how the page's address is written."""

from __future__ import annotations

import tomllib

import pytest

from hookrouter._plugins.settings_schema import check, structure
from hookrouter_page.settings import PageSettings


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('address = "0.0.0.0:8790"', "address"),
        ('certificate = "/c.pem"', "certificate"),
        ('private_key = "/k.pem"', "private_key"),
        ('address = "8790"', "address"),
        ('address = "a:b:1"', "address"),
        ('address = "localhost:65536"', "address"),
        (f'address = "localhost:{"1" * 5000}"', "address"),
        ('url = "https://example.org/under"', "url"),
        ('url = "https://user@example.org"', "url"),
        ('user_header = "X User"', "user_header"),
        ('secret_file = "secret"', "secret_file"),
        ("link_hours = 0", "link_hours"),
        ("login_days = 367", "login_days"),
        ("enabled = 1", "enabled"),
        ("other = 1", "other"),
    ],
)
def test_what_is_not_safe_is_refused(table: str, key: str) -> None:
    found = check(PageSettings, tomllib.loads(table), "page")
    ((where, text, *_),) = found.problems
    assert where == f"page.{key}"
    assert "allowed: " in text
    # Nothing of a wrong table holds.
    assert found.values == check(PageSettings, {}, "page").values


def test_a_page_for_other_machines() -> None:
    table = 'address = "0.0.0.0:8790"\nuser_header = "X-Forwarded-User"\nurl = "https://h/"\n'
    page = structure(PageSettings, tomllib.loads(table))
    assert (page.address, page.base_url) == ("0.0.0.0:8790", "https://h")
    assert PageSettings().base_url == "http://127.0.0.1:8790"


@pytest.mark.parametrize(
    ("table", "base"),
    [
        ('url = "https://Host.Example:443/"', "https://host.example"),
        ('url = "http://host.example:80"', "http://host.example"),
        ('url = "https://host.example:80"', "https://host.example:80"),
        ('url = "HTTPS://[::1]:443"', "https://[::1]"),
        ('url = "https://host.example:"', "https://host.example"),
        ('address = "127.0.0.1:80"', "http://127.0.0.1"),
        ('address = "127.0.0.1:443"\ncertificate = "/c.pem"\nprivate_key = "/k.pem"', "https://127.0.0.1"),
    ],
)
def test_the_address_is_written_as_browsers_write_it(table: str, base: str) -> None:
    assert structure(PageSettings, tomllib.loads(table)).base_url == base
