"""A whole night on the real client: forms of all kinds, an agent that is not always right, a person who looks in.

The chapters share one home and one session, and come in this order; each leaves the client at its prompt. In the
morning every question was verified, answered by a person, or told to whom it should be; nothing was lost, nothing was
told twice.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from hookrouter._sandbox.waiting import wait_until
from support.night import KINDS, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.night import Night

pytestmark = pytest.mark.live

KILLED = ("killed", "killed_halfway")
SCOPES = (["--session", "managed"], ["--all"])
MISTAKE = "remind_aftr = 1\n"


def an_agent_that_is_right(night: Night, kind: str) -> None:
    night.is_answered(night.ask(kind, "right"))


def forms_in_one_message(night: Night) -> None:
    night.is_answered(*night.ask_together(["single", "multi_typed"], "right"))


def forms_one_after_the_other_in_one_turn(night: Night) -> None:
    night.is_answered(*night.ask_in_turn(["multi", "typed", "several"], "right"))


def an_agent_that_is_wrong_first(night: Night, kind: str) -> None:
    asked = night.ask(kind, "wrong")
    night.is_answered(asked)
    wait_until(lambda: {said["outcome"] for said in night.answers(asked)} == {"invalid", "verified"}, 20, "its words")


def an_agent_that_is_slow(night: Night, kind: str) -> None:
    """It is told once and not reminded: it is still at it. The person is told, and the agent answers then."""
    asked = night.ask(kind, "slow")
    night.wait_told(asked, "escalation", "person")
    night.views()
    (night.folder / "go").touch()
    night.is_answered(asked)
    (night.folder / "go").unlink()


def an_agent_that_leaves_a_process(night: Night) -> None:
    night.is_answered(night.ask("multi_typed", "leaves_a_process"))


def an_agent_that_answers_when_reminded(night: Night, kind: str) -> None:
    asked = night.ask(kind, "forgetful")
    night.wait_told(asked, "reminder", "night")
    night.is_answered(asked)


def a_silent_agent_and_a_person_who_is_told(night: Night, kind: str) -> None:
    asked = night.ask(kind, "silent")
    night.wait_told(asked, "escalation", "person")
    night.views()
    night.person_answers(asked)
    night.is_answered(asked)


def an_agent_that_hands_on(night: Night) -> None:
    asked = night.ask("typed", "hands_on")
    night.wait_told(asked, "question", "person")
    night.views()
    night.person_answers(asked)
    night.is_answered(asked)


def an_agent_that_is_killed_and_replaced(night: Night, kind: str, manner: str) -> None:
    asked = night.ask(kind, manner)
    night.comes_again(asked)
    night.is_answered(asked)


def a_deliverer_that_is_killed(night: Night) -> None:
    """The message stays in the outbox, and the next command has it delivered again."""
    asked = night.ask("multi", "slow")
    night.comes_again(asked)
    night.wait_told(asked, "question", "night")
    night.kill_deliverer()
    (night.folder / "go").touch()
    night.is_answered(asked)
    (night.folder / "go").unlink()


def a_person_who_is_first(night: Night) -> None:
    asked = night.ask("single", "slow")
    night.wait_told(asked, "question")
    night.person_presses(asked, "3")
    (night.folder / "go").touch()
    night.is_answered(asked, outcome="answered_by_person")
    (night.folder / "go").unlink()


def escape(night: Night) -> None:
    asked = night.ask("several", "silent")
    night.wait_told(asked, "question")
    night.person_presses(asked, "Escape")
    night.goes_on()
    night.is_answered(asked, outcome="unanswered")
    night.wait_told(asked, "unanswered", "night")


def a_pause_in_which_a_person_answers(night: Night) -> None:
    night.run("pause", "--session", "managed")
    asked = night.ask("single", "right")
    night.is_asked(asked)
    night.person_presses(asked, "2")
    night.is_answered(asked, outcome="answered_by_person")
    night.run("resume", "--session", "managed")
    night.views()
    assert not night.told(asked, "question")


def a_pause_after_which_the_agent_answers(night: Night, scope: list[str]) -> None:
    night.run("pause", *scope)
    asked = night.ask("multi", "right")
    night.is_asked(asked)
    assert not night.told(asked, "question")
    assert [one["tool_use_id"] for one in night.run("resume", *scope)["missed"]] == [asked.tool_use_id]
    night.is_answered(asked)


def a_pause_while_the_agent_is_at_it(night: Night) -> None:
    """Its answer is refused, it tries again, and comes through when the pause is over."""
    asked = night.ask("typed", "slow")
    night.comes_again(asked)
    night.wait_told(asked, "question")
    night.run("pause", "--all")
    (night.folder / "go").touch()
    wait_until(lambda: [one["outcome"] for one in night.answers(asked)] == ["paused"], 20, "a refused answer")
    night.views()
    night.run("resume", "--all")
    night.is_answered(asked)
    (night.folder / "go").unlink()


def a_gateway_that_is_down_and_comes_up(night: Night) -> None:
    (night.folder / "down-night").touch()
    asked = night.ask("noted", "right")
    night.comes_again(asked)
    night.wait_told(asked, "escalation", "person")
    night.views()
    (night.folder / "down-night").unlink()
    night.run("outbox", "retry", "--all")
    night.is_answered(asked)


def gateways_that_are_all_down_while_a_person_answers(night: Night) -> None:
    """Nobody can be told, and what was to be said is dropped once the question is answered."""
    for gateway in ("night", "person"):
        (night.folder / f"down-{gateway}").touch()
    asked = night.ask("single", "right")
    night.is_asked(asked)
    night.person_presses(asked, "1")
    night.is_answered(asked, outcome="answered_by_person")
    for gateway in ("night", "person"):
        (night.folder / f"down-{gateway}").unlink()
    assert not night.told(asked, "question")


def a_broken_config_while_its_agent_answers(night: Night, kind: str) -> None:
    """What it said before holds."""
    night.configure(config(night.folder, more=MISTAKE))
    night.is_answered(night.ask(kind, "right"))
    night.configure(config(night.folder))
    night.views()


def a_broken_config_that_is_repaired_to_another_agent(night: Night) -> None:
    """The command that checks the repaired file brings the question to the agent that it names now."""
    night.configure(config(night.folder, more=MISTAKE))
    asked = night.ask("multi", "answers_by_day")
    night.is_moved(asked)
    night.wait_told(asked, "question", "night")
    night.views()
    night.configure(config(night.folder, agent="day"))
    assert night.stage.run("config", "check").returncode == 0
    night.wait_told(asked, "question", "day")
    night.is_answered(asked)
    night.configure(config(night.folder))
    night.is_answered(night.ask("typed", "right"))


CHAPTERS: tuple[Callable[[Night], None], ...] = (
    *(partial(an_agent_that_is_right, kind=kind) for kind in KINDS),
    forms_in_one_message,
    forms_one_after_the_other_in_one_turn,
    *(partial(an_agent_that_is_wrong_first, kind=kind) for kind in ("single", "several", "noted")),
    *(partial(an_agent_that_is_slow, kind=kind) for kind in ("typed", "multi")),
    an_agent_that_leaves_a_process,
    *(partial(an_agent_that_answers_when_reminded, kind=kind) for kind in ("single", "chat")),
    *(partial(a_silent_agent_and_a_person_who_is_told, kind=kind) for kind in ("preview", "several")),
    an_agent_that_hands_on,
    *(
        partial(an_agent_that_is_killed_and_replaced, kind=kind, manner=manner)
        for kind in ("single", "several")
        for manner in KILLED
    ),
    a_deliverer_that_is_killed,
    a_person_who_is_first,
    escape,
    a_pause_in_which_a_person_answers,
    *(partial(a_pause_after_which_the_agent_answers, scope=scope) for scope in SCOPES),
    a_pause_while_the_agent_is_at_it,
    a_gateway_that_is_down_and_comes_up,
    gateways_that_are_all_down_while_a_person_answers,
    *(partial(a_broken_config_while_its_agent_answers, kind=kind) for kind in ("single", "several")),
    a_broken_config_that_is_repaired_to_another_agent,
)


@pytest.mark.long
def test_the_night(night: Night) -> None:
    """One test, so that no scheduler can deal its chapters out."""
    for chapter in CHAPTERS:
        print(chapter)
        chapter(night)
    assert night.faults() == []
    assert night.number >= 40
