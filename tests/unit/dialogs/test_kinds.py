"""What a kind of dialog says without a word of its own."""

from __future__ import annotations

from typing import Any

import pytest

from hookrouter.dialogs.decisions import DecisionError
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.kinds import DialogKind

FORM = [{"question": "Which?", "options": [{"label": "One"}, {"label": "Two"}]}]
ASKED = Dialog("main", "s-1", "toolu_1", FORM, None, "night", "inbox")


@pytest.mark.parametrize(("request_", "reply"), [({}, None), ({"puzzle": 1}, {"decision": {"action": "solve"}})])
def test_only_a_form_is_answered_without_a_reply(request_: dict[str, Any], reply: dict[str, Any] | None) -> None:
    asked = ASKED._replace(request=request_)
    assert asked.is_form is (reply is None)
    assert DialogKind().reply(asked, [{"action": "solve"}]) == reply


def test_the_decisions_of_a_form_are_checked_against_it() -> None:
    kind, decision = DialogKind(), {"action": "select", "optionIndex": 1}
    assert kind.parse(ASKED, '[{"action": "select", "optionIndex": 1}]') == [decision]
    [shown] = kind.intended(ASKED, [decision])
    assert (shown["question"], shown["intended"]) == ("Which?", "Two")
    with pytest.raises(DecisionError):
        kind.parse(ASKED, '[{"action": "select", "optionIndex": 2}]')
