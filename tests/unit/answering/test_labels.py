from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.answering.labels import recorded_label

MEASURED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "labels.json").read_text(encoding="utf-8")
)["labels"]


@pytest.mark.parametrize("case", MEASURED, ids=range(len(MEASURED)))
def test_labels_are_written_as_the_client_recorded_them(case: dict[str, Any]) -> None:
    assert recorded_label(case["label"]) == case["recorded"]


@given(st.text())
def test_writing_a_label_twice_changes_nothing_more(label: str) -> None:
    assert recorded_label(recorded_label(label)) == recorded_label(label)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_plain_labels_stay(label: str) -> None:
    assert recorded_label(label) == label


@pytest.mark.parametrize(
    ("label", "recorded"),
    [
        ("x" * 2000, "x" * 2000),
        ("x" * 2001, "x" * 2000 + "…"),
        ("a  b" * 600, "a b" * 500 + "…"),
        ("\u200dx\ufe0f" * 900, "\u200dx" * 667 + "…"),
        ("😀" * 990 + " " + "q" * 30, "😀" * 990 + " " + "q" * 19 + "…"),
    ],
)
def test_long_labels_are_cut_before_they_are_written(label: str, recorded: str) -> None:
    assert recorded_label(label) == recorded
