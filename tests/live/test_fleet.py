"""Machines that share a database, with the real client: asked on one, answered from another, recorded exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.dialogs.answers.identity import login_name
from hookrouter_fleet.locks import is_sharing
from support.approval_session import ApprovalSession
from support.fleet import at_terminal
from support.managed_client import ManagedClient
from support.postgres import Server, postgres_server

pytestmark = pytest.mark.live

LEFT, RIGHT = (json.dumps([{"action": "select", "optionIndex": index}]) for index in range(2))
TABLE = '\n[storage]\nengine = "postgresql"\nmachine = "{name}"\ndsn_env = "FLEET_DATABASE"\nschema = "{schema}"\n'


PERSON = '[[agents]]\nid = "human"\nkind = "person"\ngateway = "inbox"\nsessions = ["managed*"]\n'


class Desk:
    """The machine of an agent, on which no session runs."""

    def __init__(self, folder: Path, server: Server) -> None:
        folder.mkdir()
        self._server = server
        self.schema = server.schema()
        self.stage = Stage(str(folder), TABLE.format(name="desk", schema=self.schema))
        self.stage.variables["FLEET_DATABASE"] = server.dsn()
        assert self.stage.run("storage", "init").returncode == 0

    def told(self, *words: str) -> Any:
        done = self.stage.run(*words, "--json")
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def open_on(self) -> dict[str, str]:
        """Return the open question of each machine."""
        return {one["machine"]: one["tool_use_id"] for one in self.told("questions")["questions"]}

    @contextmanager
    def machine(self, server: PrivateTmux, folder: Path, name: str, model: ScriptedModel) -> Iterator[ManagedClient]:
        """A machine with a client, in a session that is called alike on each."""
        folder.mkdir()
        one = ManagedClient(str(folder), TABLE.format(name=name, schema=self.schema))
        one.stage.variables["FLEET_DATABASE"] = self._server.dsn()
        program = find_client()
        assert program is not None
        one.bring_up(server, model, program, {**one.stage.environ, **one.stage.client_home.environ(model)})
        with one.client:
            one.client.wait_idle()
            yield one
        one.stage.configure("")
        wait_until(lambda: not is_sharing(one.stage.home), 30, "the end of its process")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def desk(postgres: Server, tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "desk", postgres)
    yield desk
    desk.stage.configure("")
    wait_until(lambda: not is_sharing(desk.stage.home), 30, "the end of its process")


def test_questions_of_two_machines_are_answered_from_a_third(desk: Desk, tmp_path: Path) -> None:
    with ExitStack() as stack:
        clients = {}
        for name in ("one", "two"):
            server = stack.enter_context(PrivateTmux())
            model = stack.enter_context(ScriptedModel())
            clients[name] = stack.enter_context(desk.machine(server, tmp_path / name, name, model))
        for client in clients.values():
            client.ask("Which way now?")
        wait_until(
            lambda: set(desk.open_on()) == {"one", "two"},
            30,
            "both questions",
            lambda: str(
                [
                    desk.told("questions"),
                    [
                        (Path(c.stage.home.logs) / "fleet.log").read_text()
                        if (Path(c.stage.home.logs) / "fleet.log").exists()
                        else "no log"
                        for c in clients.values()
                    ],
                    [is_sharing(c.stage.home) for c in clients.values()],
                    [sorted(p.name for p in Path(c.stage.home.state).rglob("*.json")) for c in clients.values()],
                    [(Path(c.stage.home.config_file)).read_text() for c in clients.values()],
                ]
            ),
        )
        # Both sessions have one name; the questions' ids tell them apart.
        several = desk.stage.run("answer", "--session", "managed", RIGHT)
        assert (several.returncode, "several machines match: one, two" in several.stderr) == (4, True)
        asked = desk.open_on()
        by_reply = desk.told("answer", f"--tool-use-id={asked['one']}", "--wait", "40", RIGHT)
        assert (by_reply["outcome"], by_reply["channel"]) == ("verified", "reply")
        by_keys = desk.told("answer", "--machine", "two", "--any", "--channel", "keys", "--wait", "40", LEFT)
        assert (by_keys["outcome"], by_keys["channel"]) == ("verified", "keys")
        for name, said in (("one", "Right"), ("two", "Left")):
            clients[name].wait_stop()
            assert said in list(clients[name].model.tool_results().values())[-1]
        stories = {one["machine"]: one for one in desk.told("history")["questions"]}
        assert {name: one["questions"][0]["recorded"] for name, one in stories.items()} == {
            "one": "Right",
            "two": "Left",
        }


def test_a_prompt_from_another_machine_is_submitted_and_proven(
    tmux_server: PrivateTmux, desk: Desk, tmp_path: Path
) -> None:
    with ScriptedModel() as model, desk.machine(tmux_server, tmp_path / "one", "one", model) as one:
        one.ask("Which way now?")
        wait_until(lambda: "one" in desk.open_on(), 30, "the question")
        assert desk.told("answer", "--any", "--wait", "40", RIGHT)["outcome"] == "verified"
        one.wait_stop()
        sent = desk.told("send", "--session", "managed", "--wait", "started", "--timeout", "60", "go on from here")
        assert sent["outcome"] == "started"
        wait_until(lambda: "go on from here" in one.client.screen(), 30, "the prompt", one.told)


def test_a_question_is_answered_here_while_the_database_is_away_and_told_of_afterwards(
    tmux_server: PrivateTmux, desk: Desk, postgres: Server, tmp_path: Path
) -> None:
    with ScriptedModel() as model, desk.machine(tmux_server, tmp_path / "one", "one", model) as one:
        try:
            postgres.stop()
            one.ask("Which way now?")
            assert "Right" in one.answer()
        finally:
            postgres.restore()
        wait_until(lambda: len(desk.told("history")["questions"]) == 1, 60, "the story", lambda: str(one.told()))
        (story,) = desk.told("history")["questions"]
        assert (story["machine"], story["outcome"]) == ("one", "verified")


@pytest.mark.long
def test_what_is_left_to_a_person_is_decided_by_one_at_another_machine(
    tmux_server: PrivateTmux, desk: Desk, postgres: Server, tmp_path: Path
) -> None:
    table = TABLE.format(name="one", schema=desk.schema)

    def prepare(stage: Stage) -> dict[str, str]:
        stage.variables["FLEET_DATABASE"] = postgres.dsn()
        return dict(stage.variables)

    (tmp_path / "one").mkdir()
    with ScriptedModel() as model:
        one = ApprovalSession(
            tmp_path / "one", tmux_server, model, "default", sessions='["other"]', more=PERSON + table, prepare=prepare
        )
        with one.client:
            one.client.wait_idle()
            one.call(ToolUse("Bash", {"command": "touch one forbidden", "description": "Two files"}))
            wait_until(lambda: "one" in desk.open_on(), 30, "the permission", one.told)
            # An agent there may not, and neither may who only says to be a person.
            for who in ("agent", "person"):
                refused = desk.stage.run("answer", "--any", f"--as={who}", '[{"action": "allow"}]')
                assert refused.returncode == 2, refused
            assert "recorded exactly" in at_terminal(desk.stage, ["allow", "--wait", "40"], [])
            wait_until((one.folder / "forbidden").exists, 30, "the files", one.told)
        (story,) = desk.told("history")["questions"]
        assert (story["machine"], story["outcome"], story["by"], story["who"]) == (
            "one",
            "verified",
            "person",
            login_name(),
        )
        one.stage.configure("")
        wait_until(lambda: not is_sharing(one.stage.home), 30, "the end of its process")
