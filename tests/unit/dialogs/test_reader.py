"""How hookrouter is started where what is said of another machine is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hookrouter.dialogs.messages.reader import READER_VARIABLE, reader_value, start_for, start_of_reader
from hookrouter.messaging.spawn import OF_ONE_COMMAND, deliverer_environment
from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv


def test_the_words_name_this_home_and_that_machine() -> None:
    words = start_for("one", {"HOOKROUTER_HOME": "/somewhere"})
    assert words == ["env", "HOOKROUTER_HOME=/somewhere", *script_argv(), "--machine=one"]
    assert start_of_reader({READER_VARIABLE: reader_value(words)}) == (words, {})


@pytest.mark.parametrize("words", [None, "", "hookrouter", [], [1], ["a", None], {"a": 1}, ["a" * 5000]])
def test_what_is_no_list_of_words_is_nothing(words: Any) -> None:
    assert reader_value(words) == ""


@pytest.mark.parametrize("value", ["", "{", "1", "[]", '[""', '["a", 1]'])
def test_without_another_machine_that_reads_there_is_none(value: str) -> None:
    assert start_of_reader({READER_VARIABLE: value}) is None
    assert start_of_reader({}) is None


def test_what_a_command_for_one_machine_starts_is_for_all(tmp_path: Path) -> None:
    home = Home.from_environ({"HOOKROUTER_HOME": str(tmp_path)})
    left = deliverer_environment({ALONE_VARIABLE: "1", READER_VARIABLE: "[]", "SECRET": "kept"}, home)
    assert left == {"SECRET": "kept"}
    assert {ALONE_VARIABLE, READER_VARIABLE} == set(OF_ONE_COMMAND)


def test_no_byte_of_a_variable_is_zero() -> None:
    assert "\0" not in reader_value(["a\0b"])
