"""How much of a session's context is used, by its transcript."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.sessions.usage import WINDOWS, ContextUsed, context_used, window_of

if TYPE_CHECKING:
    from pathlib import Path

# As client 2.1.330 writes them.
USAGE = {
    "input_tokens": 1200,
    "cache_creation_input_tokens": 20000,
    "cache_read_input_tokens": 130000,
    "output_tokens": 9,
}
CLIENT = "2.1.330"


def answer(
    model: str = "claude-opus-5-5", version: str = CLIENT, sidechain: bool = False, **usage: Any
) -> dict[str, Any]:
    message = {"model": model, "role": "assistant", "content": [], "usage": {**USAGE, **usage}}
    return {"type": "assistant", "isSidechain": sidechain, "message": message, "version": version}


def prompt(text: str = "go on") -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, "version": CLIENT}


def boundary(**counted: Any) -> dict[str, Any]:
    kept = {"trigger": "manual", "preTokens": 15, **counted}
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": kept, "version": CLIENT}


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


def used(transcript: Path, *entries: dict[str, Any], told: str = "") -> ContextUsed | None:
    transcript.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return context_used(str(transcript), told)


def test_the_newest_request_counts_without_its_output(transcript: Path) -> None:
    found = used(transcript, answer(input_tokens=1), answer(), prompt())
    assert found == ContextUsed(151_200, 1_000_000, "claude-opus-5-5")
    assert found.percent == 15


def test_subagents_and_what_the_client_writes_itself_do_not_count(transcript: Path) -> None:
    said = answer("<synthetic>")
    said["message"]["usage"] = dict.fromkeys(USAGE, 0)
    found = used(transcript, answer(), answer(sidechain=True, input_tokens=5), said)
    assert found == ContextUsed(151_200, 1_000_000, "claude-opus-5-5")


def test_after_compaction_what_is_left_counts_until_the_next_answer(transcript: Path) -> None:
    assert used(transcript, answer(), boundary(postTokens=4321), prompt()) == ContextUsed(
        4321, 1_000_000, "claude-opus-5-5"
    )
    again = used(transcript, answer(), boundary(postTokens=4321), answer(input_tokens=0))
    assert again is not None
    assert again.tokens == 150_000


def test_older_clients_do_not_say_what_is_left(transcript: Path) -> None:
    assert used(transcript, answer(version="2.1.30"), boundary()) is None


def test_a_new_session_has_used_nothing(transcript: Path) -> None:
    assert used(transcript, prompt(), told="claude-opus-5-5") == ContextUsed(0, 1_000_000, "")
    assert used(transcript, prompt()) == ContextUsed(0, 0, "")


def test_what_is_not_there_is_not_known(transcript: Path) -> None:
    assert context_used(str(transcript)) is None
    assert context_used("") is None
    assert context_used("relative.jsonl") is None
    assert used(transcript) is None


def test_an_answer_far_from_the_end_is_found(transcript: Path) -> None:
    found = used(transcript, answer(), *[prompt("x" * 500_000) for _ in range(4)])
    assert found is not None
    assert found.tokens == 151_200


def test_one_beyond_all_that_is_read_is_not_known(transcript: Path) -> None:
    assert used(transcript, answer(), *[prompt("x" * 1_000_000) for _ in range(18)]) is None


@pytest.mark.parametrize(
    ("model", "told", "version", "window"),
    [
        ("claude-opus-5-5", "", (2, 1, 330), 1_000_000),
        ("claude-opus-5-5", "", (2, 1, 400), 1_000_000),
        # Two windows can be had, and nothing says which.
        ("claude-sonnet-4-6", "", (2, 1, 330), 0),
        ("claude-sonnet-4-6", "claude-sonnet-4-6", (2, 1, 330), 200_000),
        ("claude-sonnet-4-6", "claude-sonnet-4-6[1m]", (2, 1, 330), 1_000_000),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929", (2, 1, 330), 200_000),
        # What a hook has said of another model does not count.
        ("claude-sonnet-4-6", "claude-opus-4-6[1m]", (2, 1, 330), 0),
        # 2.1.150 gives this one less.
        ("claude-opus-4-7", "claude-opus-4-7", (2, 1, 150), 0),
        ("claude-opus-4-7", "claude-opus-4-7[1m]", (2, 1, 150), 1_000_000),
        ("claude-opus-4-7", "", (), 0),
        ("gpt-9", "", (2, 1, 330), 0),
        ("", "", (2, 1, 330), 0),
        ("", "claude-haiku-4-5", (2, 1, 330), 200_000),
    ],
)
def test_windows(model: str, told: str, version: tuple[int, ...], window: int) -> None:
    assert window_of(model, told, version) == window


def test_more_than_fits_is_another_window(transcript: Path) -> None:
    found = used(transcript, answer("claude-sonnet-4-6", input_tokens=90_000), told="claude-sonnet-4-6")
    assert found == ContextUsed(240_000, 0, "claude-sonnet-4-6")
    assert found.percent is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*WINDOWS, "assistant", "2.1.330"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "usage", "model", "version", "subtype", "compactMetadata", *USAGE]),
            inner,
        )
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(_JSON.map(json.dumps), st.text()), max_size=5))
def test_whatever_stands_there(transcript: Path, lines: list[str]) -> None:
    transcript.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    found = context_used(str(transcript), "claude-opus-5-5")
    if found is not None:
        assert found.tokens >= 0
        assert found.window in (0, 200_000, 1_000_000)
        assert found.percent is None or 0 <= found.percent <= 100
