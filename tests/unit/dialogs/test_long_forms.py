"""Forms that are far larger than any dialog: a message shows the beginning and tells how to read the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.dialogs.comparison import Comparison, QuestionResult
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.messages import formatting
from hookrouter.dialogs.messages.formatting import (
    LONGEST_TEXT,
    MOST_OPTIONS,
    mismatch_message,
    question_message,
    subject,
    unanswered_message,
)
from hookrouter.dialogs.messages.to_person import person_message, person_reminder
from hookrouter.dialogs.messages.ways import way
from hookrouter.util import filenames
from hookrouter.util.filenames import digest

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = "abc\n" * 500_000
FIELDS = ("question", "header", "label", "description", "preview")
MOST = 20 * LONGEST_TEXT


def question(*fields: str, options: int = 2) -> Dialog:
    texts = {field: HUGE if field in fields else f"the {field}" for field in FIELDS}
    option = {key: texts[key] for key in ("label", "description", "preview")}
    form: dict[str, Any] = {"question": texts["question"], "header": texts["header"], "options": [option] * options}
    return Dialog("s", "s-1", "toolu_1", [form], None, "night", "inbox")


MESSAGES: dict[str, Callable[[Dialog], str]] = {
    "to an agent": lambda one: question_message(one, ["hookrouter"], {}),
    "to a person": lambda one: person_message(one, ["hookrouter"], {}),
    "a reminder": lambda one: person_reminder(one, ["hookrouter"], {}, 60, 1, 1),
    "its end": lambda one: unanswered_message(one, "why"),
    "a subject": subject,
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_shows_the_beginning_and_tells_how_to_read_the_rest(name: str, field: str) -> None:
    shown = MESSAGES[name](question(field))
    assert len(shown) < MOST
    if "to" in name or "reminder" in name:
        assert re.search(r"only a part: .* `hookrouter questions --session=s --tool-use-id=toolu_1 --json`", shown)
    assert "only a part" not in MESSAGES[name](question())


def test_a_message_lists_so_many_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting, "MESSAGE_BYTES", 10**9)
    shown = question_message(question(options=10_000), ["hookrouter"], {})
    assert f"> {MOST_OPTIONS - 1}. " in shown
    assert f"> {MOST_OPTIONS}. " not in shown
    assert "only a part" in shown


def test_a_mismatch_shows_the_beginning_of_both_sides() -> None:
    result = QuestionResult(HUGE, "notes_differ", HUGE, [HUGE], "", HUGE, HUGE)
    assert len(mismatch_message(question(), Comparison(False, "text", (result,), (), HUGE))) < MOST


def test_a_way_to_decide_is_a_line_that_can_be_read() -> None:
    assert len(way("{}", "as it is", HUGE)["theirs"]) < LONGEST_TEXT


def test_what_tells_a_huge_text_apart_takes_no_loop_over_it_and_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, str] = {}
    monkeypatch.setattr(filenames, "_digests", kept)
    found = {digest(HUGE), digest(f"{HUGE} "), digest(f"{HUGE}\ud800"), digest("short")}
    assert len(found) == 4
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in found)
    assert list(kept) == ["short"]
