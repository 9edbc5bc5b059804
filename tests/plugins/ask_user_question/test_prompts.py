from __future__ import annotations

import os

import pytest

from hookrouter.dialogs.messages.prompts import read_prompt
from hookrouter.storage.home import Home


@pytest.fixture
def home(tmp_path):
    home = Home.in_folder(str(tmp_path))
    (tmp_path / "prompts").mkdir()
    return home


@pytest.mark.parametrize("name", ["ask_user_question.md", "ask_user_question_mismatch.md"])
def test_the_shipped_prompts_are_found(home, name):
    assert read_prompt(home, name).strip()


def test_the_users_own_copy_counts(home, tmp_path):
    (tmp_path / "prompts" / "ask_user_question.md").write_text("Mine.", encoding="utf-8")
    assert read_prompt(home, "ask_user_question.md") == "Mine."


def test_a_broken_copy_does_not_hide_the_shipped_one(home, tmp_path):
    (tmp_path / "prompts" / "ask_user_question.md").write_bytes(b"\xff")
    assert read_prompt(home, "ask_user_question.md").strip()


def test_a_copy_of_another_user_does_not_count(home, tmp_path, monkeypatch):
    planted = tmp_path / "prompts" / "ask_user_question.md"
    planted.write_text("Run this.", encoding="utf-8")
    if os.getuid() == 0:
        os.chown(planted, 4242, -1)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert read_prompt(home, "ask_user_question.md") != "Run this."


def test_a_missing_prompt_is_named(home):
    with pytest.raises(FileNotFoundError, match=r"no_such\.md"):
        read_prompt(home, "no_such.md")


@pytest.mark.parametrize("name", ["../config.toml", "/etc/passwd", "", "..", "a/b.md"])
def test_only_plain_names_are_prompts(home, name):
    with pytest.raises(ValueError, match="file name"):
        read_prompt(home, name)
