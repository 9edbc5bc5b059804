"""Fields of documents that anybody may have written."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from hookrouter.util import fields

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)


class Kept(NamedTuple):
    """One field of each kind."""

    name: str
    kind: str = "plain"
    at: int = 0
    is_over: bool = False
    lines: tuple[str, ...] = ()
    request: dict[str, Any] = {}
    proof: dict[str, Any] | None = None


DOCUMENTS = st.dictionaries(st.sampled_from([*Kept._fields, "version"]), ANY_JSON)


@given(DOCUMENTS)
def test_a_document_of_anything_is_read_as_the_types_of_its_fields(document: dict[str, Any]) -> None:
    found = fields.record(Kept, document)
    assert isinstance(found.name, str)
    assert isinstance(found.kind, str)
    assert found.kind
    assert type(found.at) is int
    assert found.at >= 0
    assert isinstance(found.is_over, bool)
    assert all(isinstance(line, str) for line in found.lines)
    assert isinstance(found.request, dict)
    assert found.proof is None or isinstance(found.proof, dict)
    for name, value in found._asdict().items():
        assert value in (document.get(name), Kept._field_defaults.get(name, "")) or name == "lines"


@given(
    st.builds(
        Kept,
        st.text(),
        st.text(min_size=1),
        st.integers(0),
        st.booleans(),
        st.lists(st.text()).map(tuple),
        st.dictionaries(st.text(), st.text()),
        st.none() | st.dictionaries(st.text(), st.text(), min_size=1),
    )
)
def test_what_was_written_is_read_again(kept: Kept) -> None:
    assert fields.record(Kept, json.loads(json.dumps(kept._asdict()))) == kept


def test_what_is_given_is_not_read() -> None:
    assert fields.record(Kept, {"name": "a", "at": 7}, at=3) == Kept("a", at=3)
