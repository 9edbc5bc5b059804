"""What is wrong with a certificate is said with the key of config.toml and the file, and a renewed one is noticed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hookrouter_page.security.certificate import FileStamps, TlsError, check_files
from support.tls import Pair, made_pair

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return made_pair(tmp_path)


def page_of(pair: Pair) -> tuple[str, str]:
    return str(pair.certificate), str(pair.key)


def problem_of(pair: Pair) -> str:
    with pytest.raises(TlsError) as caught:
        check_files(*page_of(pair))
    return str(caught.value)


def test_a_certificate_with_its_key_is_well(pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_files(*page_of(pair))
    monkeypatch.setenv("HOME", str(tmp_path))
    check_files("~/page.pem", "~/page.key")


@pytest.mark.parametrize(("name", "key"), [("certificate", "certificate"), ("key", "private_key")])
def test_a_file_that_is_missing_or_a_folder_is_named(pair: Pair, name: str, key: str) -> None:
    path: Path = getattr(pair, name)
    path.unlink()
    assert problem_of(pair).startswith(f"[page] {key}: {path}: ")
    path.mkdir()
    assert problem_of(pair).startswith(f"[page] {key}: {path}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_named(pair: Pair) -> None:
    pair.key.chmod(0)
    assert problem_of(pair).startswith(f"[page] private_key: {pair.key}: ")


@pytest.mark.parametrize("data", [b"", b"no certificate", b"\x00\xff" * 100])
def test_what_holds_no_certificate_or_key_is_named(pair: Pair, data: bytes) -> None:
    key = pair.key.read_bytes()
    pair.key.write_bytes(data)
    assert f"[page] private_key: {pair.key} holds no key" in problem_of(pair)
    pair.key.write_bytes(key)
    pair.certificate.write_bytes(data)
    assert problem_of(pair) == f"[page] certificate: {pair.certificate} holds no certificate in PEM"


def test_the_key_of_another_certificate_is_named_with_both_files(pair: Pair, tmp_path: Path) -> None:
    other = Pair(pair.certificate, made_pair(tmp_path, "other").key)
    assert problem_of(other) == (
        f"[page] private_key: {other.key} is not the key of the certificate {pair.certificate}"
    )


def test_a_key_with_a_password_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    pair = made_pair(tmp_path, password="secret")
    assert problem_of(pair) == f"[page] private_key: {pair.key} is encrypted; a key without a password is needed"


def test_files_are_others_once_they_were_replaced_and_told_of_while_they_do_not_fit(pair: Pair, tmp_path: Path) -> None:
    stamps, page = FileStamps(), page_of(pair)
    first, problem = stamps.look(*page)
    assert (problem, stamps.look(*page)) == ("", (first, ""))
    renewed = made_pair(tmp_path, "renewed")
    os.replace(renewed.certificate, pair.certificate)
    half, problem = stamps.look(*page)
    assert half != first
    assert problem.endswith(f"is not the key of the certificate {pair.certificate}")
    assert stamps.look(*page) == (half, problem)
    os.replace(renewed.key, pair.key)
    whole, problem = stamps.look(*page)
    assert whole not in (first, half)
    assert (problem, stamps.look(*page)) == ("", (whole, ""))
    assert stamps.look("", "") == ((), "")
