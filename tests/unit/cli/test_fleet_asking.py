"""What other machines say, put together with what this one knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookrouter import _wiring
from hookrouter._sandbox.stage import Stage
from hookrouter.cli.application import Application
from hookrouter.cli.fleet import asking
from hookrouter.machines import Done, Machines

ROWS = json.dumps({"questions": [{"tool_use_id": "t1"}]})


class One(Machines):
    """The machines beside this one: ``one``, which answers with what it is given."""

    here = "two"

    def __init__(self, done: Done) -> None:
        self._done = done

    def names(self) -> list[str]:
        return ["one"]

    def run(self, *_: object, **_options: object) -> Done:
        return self._done

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("done", "rows", "problem"),
    [
        (Done(0, ROWS, ""), 1, ""),
        (Done(0, '{"questions": [', "", is_cut=True), 0, "the machine one wrote more than can be sent from there"),
        (Done(0, '{"questions": [', ""), 0, "what the machine one said is not a JSON document"),
        (Done(0, "", ""), 0, "what the machine one said is not a JSON document"),
        (Done(1, "", "the state folder is away"), 0, "the state folder is away"),
    ],
)
def test_a_machine_whose_rows_are_not_shown_has_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: Done, rows: int, problem: str
) -> None:
    stage = Stage(str(tmp_path), '[storage]\nengine = "shelf"\nmachine = "two"\n')
    monkeypatch.setattr(_wiring, "machines", lambda _services: One(done))
    application = Application.from_environ(stage.environ, share=False)
    found = asking.with_others(application, {"questions": []}, ["questions", "--json"], ["questions"])
    assert len(found["questions"]) == rows
    (told,) = (one for one in found["machines"] if one["machine"] == "one")
    assert told["problem"].startswith(problem)
    assert bool(told["problem"]) == bool(problem)
