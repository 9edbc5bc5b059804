"""What a message about a permission or a plan offers: each choice once, and none that the rules would refuse."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest

from hookrouter.config import ApprovalRule
from hookrouter.dialogs.answers.identity import Author
from hookrouter.dialogs.messages.formatting import question_message
from hookrouter.dialogs.messages.to_person import person_message

SUGGESTIONS = [
    {
        "type": "addRules",
        "behavior": "allow",
        "destination": "session",
        "rules": [{"toolName": "Bash", "ruleContent": "x"}],
    },
    {"type": "addRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": "Read"}]},
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    {"type": "addDirectories", "directories": ["/srv"], "destination": "session"},
]
ASKED = {"command": "touch x"}
PLAN = {"plan": "1. Do it."}
AGENTS = (ApprovalRule(tool="Bash", decide="agent"), ApprovalRule(tool="ExitPlanMode", decide="agent"))


def with_rules(asking: Any, *rules: ApprovalRule) -> None:
    asking.config = asking.config._with(approvals=asking.config.approvals._with(rules=(*rules, *AGENTS)))


def offered(question: Any) -> list[str]:
    """Return the decisions that an agent is shown."""
    text = question_message(question, ["hookrouter"], {})
    ways = text[text.index("## How to decide") :]
    return re.findall(r"^- `(.*?)`: ", ways, re.MULTILINE)


def test_each_choice_has_one_number(asking: Any) -> None:
    with_rules(asking)
    question = asking.asked("Bash", ASKED, permission_suggestions=SUGGESTIONS)
    text = question_message(question, ["hookrouter"], {})
    assert [f'{{"action": "allow", "always": {number}}}' in offered(question) for number in range(1, 5)] == [True] * 4
    assert text.count("allow Read") == 1
    assert not re.search(r"^> [0-9]+\. ", text, re.MULTILINE)
    assert person_message(question, ["hookrouter"], {}).count("> 2. Allow, and always allow Read") == 1


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (None, [1, 2, 3, 4]),
        (ApprovalRule(tool="Bash(rm:*)", decide="person"), [2]),
        (ApprovalRule(tool="Read(/secret/**)", decide="deny"), [1]),
        (ApprovalRule(tool="WebFetch", decide="deny"), [1, 2]),
    ],
)
def test_an_agent_is_offered_the_proposals_that_it_may_take(
    asking: Any, rule: ApprovalRule | None, left: list[int]
) -> None:
    with_rules(asking, *([rule] if rule is not None else []))
    question = asking.asked("Bash", ASKED, permission_suggestions=SUGGESTIONS)
    schema = question.request["answer_schema"]
    for number in range(len(SUGGESTIONS) + 2):
        decision = {"action": "allow", "always": number}
        is_taken = asking.decide(decision, dry_run=True).outcome != "invalid"
        assert is_taken == (number in left)
        assert (f'{{"action": "allow", "always": {number}}}' in offered(question)) == is_taken
        assert jsonschema.Draft202012Validator(schema).is_valid([decision]) == is_taken
        # A person is shown all, under the same numbers.
        is_shown = f"> {number}. Allow, and " in person_message(question, ["hookrouter"], {})
        assert is_shown == (1 <= number <= len(SUGGESTIONS))
        if is_shown:
            chosen = asking.decide([{"action": "select", "optionIndex": number}], dry_run=True)
            assert (chosen.outcome != "invalid") == is_taken


@pytest.mark.parametrize(("rules", "left"), [((), ["default", "acceptEdits", "auto"]), (("Bash(rm:*)",), ["default"])])
def test_an_agent_is_offered_the_modes_that_it_may_choose(asking: Any, rules: tuple[str, ...], left: list[str]) -> None:
    with_rules(asking, *(ApprovalRule(tool=tool, decide="person") for tool in rules))
    question = asking.asked("ExitPlanMode", PLAN)
    schema = question.request["answer_schema"]
    for mode in ("default", "acceptEdits", "auto"):
        decision = {"action": "approve", "mode": mode}
        done = asking.decide(decision, dry_run=True)
        assert (done.outcome != "invalid") == (mode in left)
        assert (f'{{"action": "approve", "mode": "{mode}"}}' in offered(question)) == (mode in left)
        assert jsonschema.Draft202012Validator(schema).is_valid([decision]) == (mode in left)
        if done.outcome == "invalid":
            assert done.reason.endswith("approve the plan without a mode, or with the mode default")
            person = Author("person", "eve", is_present=True)
            assert asking.decide(decision, author=person, dry_run=True).outcome != "invalid"
