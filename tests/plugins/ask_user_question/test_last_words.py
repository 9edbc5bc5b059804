"""What is read from the transcript about the time before a question."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.dialogs.messages.last_words import CONTEXT_BYTES, Said, said_before

CALL = {"type": "tool_use", "id": "toolu_1", "name": "AskUserQuestion", "input": {}}


def user(content: object, **fields: object) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def claude(*blocks: object, **fields: object) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}, **fields}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


RESULT = user([{"type": "tool_result", "tool_use_id": "toolu_0", "content": "file contents", "is_error": False}])
PROMPT, WORDS = user("Add retries."), claude(text("I need to know one thing."))


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


def said(path: Path, *lines: object, before: bytes = b"", **options: bool) -> Said:
    path.write_bytes(before + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return said_before(str(path), "toolu_1", **options)


def test_the_prompt_and_what_claude_said_after_it(transcript: Path) -> None:
    lines = [user("Old prompt."), claude(text("Old words.")), PROMPT, claude(text("First.")), RESULT, WORDS]
    assert said(transcript, *lines, claude(CALL)) == ("Add retries.", "I need to know one thing.")
    assert said(transcript, *lines) == ("Add retries.", "I need to know one thing.")


def test_what_comes_after_the_call_is_not_told(transcript: Path) -> None:
    last = {"type": "last-prompt", "lastPrompt": "Add retries."}
    assert said(transcript, PROMPT, WORDS, claude(CALL), last, claude(text("Later."))) == (
        "Add retries.",
        "I need to know one thing.",
    )


def test_no_words_of_an_earlier_turn(transcript: Path) -> None:
    assert said(transcript, user("Old."), claude(text("Old words.")), PROMPT, claude(CALL)) == ("Add retries.", "")


def test_lines_of_others_are_passed_over(transcript: Path) -> None:
    others = [
        claude(text("a subagent's"), isSidechain=True),
        user("a subagent's prompt", isSidechain=True),
        user("a skill's text", isMeta=True),
        user("a summary", isCompactSummary=True),
        user([text("<system-reminder>not typed</system-reminder>")]),
        user("<local-command-stdout>x</local-command-stdout>"),
        claude({"type": "thinking", "thinking": "hm"}),
        {"type": "user"},
        {"type": "assistant", "message": None},
        ["user"],
        "assistant",
    ]
    assert said(transcript, PROMPT, WORDS, *others, claude(CALL)) == ("Add retries.", "I need to know one thing.")


def test_a_slash_command_is_told_as_it_was_typed(transcript: Path) -> None:
    typed = (
        "<command-message>x</command-message>\n<command-name>/gsd:plan</command-name> <command-args>2</command-args>"
    )
    assert said(transcript, user(typed)).prompt == "/gsd:plan 2"
    assert said(transcript, user("<command-name>/init</command-name>")).prompt == "/init"


def test_of_a_subagent_the_prompt_alone(transcript: Path) -> None:
    assert said(transcript, PROMPT, WORDS, subagent=True) == ("Add retries.", "")


def test_only_the_tail_is_read(transcript: Path) -> None:
    line = json.dumps(user([{"type": "tool_result", "content": "x" * 60_000}])).encode() + b"\n"
    far = json.dumps(PROMPT).encode() + b"\n" + line * (17 * 1024 * 1024 // len(line))
    repeated = {"type": "last-prompt", "lastPrompt": "Add retries."}
    assert said(transcript, WORDS, claude(CALL), before=far) == ("", "I need to know one thing.")
    assert said(transcript, WORDS, claude(CALL), repeated, before=far) == ("Add retries.", "I need to know one thing.")
    assert transcript.stat().st_size > 4 * CONTEXT_BYTES


def test_what_is_no_transcript(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "missing", tmp_path, "relative", "", "/a\0b"):
        assert said_before(str(path), "toolu_1") == ("", "")


@given(st.lists(st.binary() | st.just(b'{"type":"user"') | st.just(b'{"type":"assistant","message":{"content":[1]}}')))
def test_garbage_says_nothing_and_raises_nothing(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("garbage") / "t.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert said_before(str(path), "toolu_1") == ("", "")
