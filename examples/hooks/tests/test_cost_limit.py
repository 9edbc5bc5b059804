import json
from pathlib import Path

import pytest

from hookrouter.testing import Hooks


def record(request: str, **usage: int) -> str:
    """Return a record as Claude Code 2.1.332 writes it; those of one request all carry its usage."""
    message = {"id": request, "role": "assistant", "model": "claude-opus-5-5", "usage": usage}
    return json.dumps({"type": "assistant", "message": message}) + "\n"


@pytest.fixture
def transcript(hooks: Hooks, tmp_path: Path) -> Path:
    hooks.add("./cost_limit.py")
    return tmp_path / "s.jsonl"


def test_a_session_within_its_limit_goes_on(hooks: Hooks, transcript: Path) -> None:
    assert hooks.fire("UserPromptSubmit", transcript_path=str(transcript)).decision is None  # not yet there
    # One request in three records: $15 and not $45.
    transcript.write_text(record("a", output_tokens=600_000) * 3 + '{"message": {"usage": {"inp')
    assert hooks.fire("UserPromptSubmit", transcript_path=str(transcript)).decision is None
    assert hooks.fire("PostToolBatch", transcript_path="").decision is None


def test_turns_end_over_the_limit(hooks: Hooks, transcript: Path) -> None:
    transcript.write_text(record("a", output_tokens=600_000) + record("b", cache_read_input_tokens=11_000_000))
    result = hooks.fire("PostToolBatch", transcript_path=str(transcript))
    assert (result.decision, "$20.50" in result.reason) == ("block", True)
    assert hooks.fire("UserPromptSubmit", transcript_path=str(transcript)).decision == "block"


def test_subagents_count(hooks: Hooks, transcript: Path) -> None:
    transcript.write_text(record("a", output_tokens=600_000))
    folder = transcript.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-1.jsonl").write_text(record("b", input_tokens=2_000_000))
    assert hooks.fire("PostToolBatch", transcript_path=str(transcript)).decision == "block"
