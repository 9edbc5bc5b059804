"""JSON text that is edited in place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._installation.json_edit import Document, JsonTextError
from support.registrations import JSON

if TYPE_CHECKING:
    pass


@given(JSON, JSON)
def test_an_element_that_is_added_and_removed_leaves_the_text(before: object, value: object) -> None:
    document = Document(json.dumps({"keep": before}, indent=3))
    added = document.append(document.root, value, "more")  # type: ignore[arg-type]
    assert json.loads(added.text) == {"keep": before, "more": value}
    assert added.remove(added.root, 1) == document  # type: ignore[arg-type]


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@given(st.text() | st.text('{}[]",:1e.-nulN \n', max_size=12))
def test_the_parser_takes_exactly_what_json_is(text: str) -> None:
    try:
        json.loads(text, parse_constant=_refuse)
        valid = True
    except ValueError:
        valid = False
    if valid:
        Document(text)
    else:
        with pytest.raises(JsonTextError):
            Document(text)
