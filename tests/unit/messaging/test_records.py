"""The records that gateways exchange say in help() what each field is."""

from __future__ import annotations

import pytest

from hookrouter.messaging.gateway import SendResult


def test_a_record_is_a_tuple_as_before() -> None:
    result = SendResult(True, "done")
    assert (result.delivered, result[1], result._replace(retry=False).retry) == (True, "done", False)
    with pytest.raises(AttributeError):
        result.reason = "x"  # type: ignore[misc]
