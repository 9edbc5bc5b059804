"""Who reads messages: agents, which decide by JSON, and persons."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter._config.cache import load
from hookrouter.config import Agent, Config
from hookrouter.storage.home import Home
from hookrouter.util.value import decode, encode


def test_the_kind_of_an_agent_is_read_and_kept(tmp_path: Path) -> None:
    home = Home.in_folder(str(tmp_path))
    Path(home.config_file).write_text('[[agents]]\nid = "me"\nkind = "person"\n[[agents]]\nid = "night"\n')
    for config in (load(home), load(home)):
        assert config.problems == ()
        assert [(one.kind, one.is_person) for one in config.agents] == [("person", True), ("agent", False)]


@pytest.mark.parametrize("kind", ['"people"', "1", "true"])
def test_another_kind_is_a_mistake(tmp_path: Path, kind: str) -> None:
    home = Home.in_folder(str(tmp_path))
    Path(home.config_file).write_text(f'[[agents]]\nid = "me"\nkind = {kind}\n')
    [problem] = load(home).problems
    assert "agents[0].kind: found" in problem
    assert 'allowed: "agent" or "person"' in problem


def test_a_config_that_was_kept_by_an_older_version_has_agents() -> None:
    document = encode(Config(agents=(Agent("night", gateway="chat"),)))
    del document["agents"][0]["kind"]
    assert decode(Config, document).agents == (Agent("night", gateway="chat"),)


def test_who_reads_what_goes_through_a_gateway() -> None:
    night, day = Agent("night", gateway="chat", fallbacks=("desk",)), Agent("day", gateway="desk")
    me, off = Agent("me", gateway="desk", kind="person"), Agent("off", gateway="phone", enabled=False)
    config = Config(agents=(night, day, me, off))
    assert config.reader("chat") == night
    assert config.reader("desk") == me, "a person before agents"
    assert config.reader("day") == day
    assert config.reader("phone") is None
    assert Config(agents=(night, day)).reader("desk") == night
