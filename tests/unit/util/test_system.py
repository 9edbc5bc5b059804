"""What the operating system says of processes, and how a file is brought to the disk."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util import system
from support.pure import GONE


def test_the_system_says_what_a_process_is_and_when_it_began() -> None:
    status = system.process_status(os.getpid())
    assert status is not None
    assert (status.group, status.state) in {(os.getpgrp(), "R"), (os.getpgrp(), "S")}
    began = system.process_began(os.getpid())
    assert began is not None
    assert time.time() - 86400 * 7 < began < time.time() + 2
    assert system.process_status(GONE) is None
    assert system.process_began(GONE) is None


def test_the_system_says_with_what_environment_a_process_was_started() -> None:
    assert system.process_environ(os.getpid())["PATH"]
    assert system.process_environ(GONE) == {}


def test_each_start_of_the_machine_and_each_machine_has_a_name() -> None:
    assert system.boot_id() == system.boot_id() != ""
    assert system.process_space() == system.process_space() != ""


def _darwin(monkeypatch: pytest.MonkeyPatch, **said: Any) -> None:
    monkeypatch.setattr(system, "is_darwin", True)
    for name, answer in said.items():
        monkeypatch.setattr(system, name, lambda *_asked, answer=answer: answer)


def test_a_macs_name_tells_nothing_of_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    _darwin(monkeypatch, _host_uuid="5bb6")
    before = system.process_space()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Darwin", "macbook.fritz.box", "24.0", "", "arm64")))
    assert system.process_space() == before == "5bb6"
    _darwin(monkeypatch, _host_uuid="")
    assert system.process_space() == "macbook.fritz.box"


@given(st.binary(max_size=700))
def test_nothing_that_a_system_says_of_a_process_is_an_error(said: bytes) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        _darwin(monkeypatch, _sysctl=said, _sysctl_by_name=said)
        system.process_status(7)
        system.process_began(7)
        system.boot_id()
        assert all(isinstance(text, str) for pair in system.process_environ(7).items() for text in pair)


@given(st.lists(st.text("ab= /", max_size=5), max_size=4), st.dictionaries(st.text("AB", min_size=1), st.text("ab= ")))
def test_arguments_are_no_variables(arguments: list[str], variables: dict[str, str]) -> None:
    words = ["/a/program\0\0\0\0", *arguments, *(f"{name}={value}" for name, value in variables.items()), "", "boot=1"]
    said = struct.pack("i", len(arguments) + 1) + "\0".join([words[0] + "name", *words[1:]]).encode()
    with pytest.MonkeyPatch.context() as monkeypatch:
        _darwin(monkeypatch, _sysctl=said)
        assert system.process_environ(7) == variables


def test_a_disk_without_full_sync_gets_the_plain_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _descriptor: asked.append("fsync"))
    _darwin(monkeypatch)
    with open(tmp_path / "file", "wb") as file:
        monkeypatch.setattr(fcntl, "fcntl", lambda *_words: asked.append("full") or 0)
        system.sync(file.fileno())
        assert asked == ["full"]

        def not_here(*_words: object) -> int:
            raise OSError(45, "Operation not supported")

        monkeypatch.setattr(fcntl, "fcntl", not_here)
        system.sync(file.fileno())
    assert asked == ["full", "fsync"]
