"""The records that gateways exchange say in help() what each field is."""

from __future__ import annotations

import pydoc

import pytest

from hookrouter.messaging.gateway import Message, Probe, ScheduledMessage, SendResult


@pytest.mark.parametrize("kind", [Message, ScheduledMessage, SendResult, Probe])
def test_every_field_has_a_docstring_in_help(kind: type) -> None:
    for field in kind._fields:  # type: ignore[attr-defined]
        assert len(getattr(kind, field).__doc__ or "") > 10, field
    shown = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    assert "Alias for field number" not in shown
    assert all(field in shown for field in kind._fields)  # type: ignore[attr-defined]


def test_a_record_is_a_tuple_as_before() -> None:
    result = SendResult(True, "done")
    assert (result.delivered, result[1], result._replace(retry=False).retry) == (True, "done", False)
    with pytest.raises(AttributeError):
        result.reason = "x"  # type: ignore[misc]
