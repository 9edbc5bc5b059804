"""Exactly one plugin shares documents with other machines: switched off, or beside another one, it is told."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hookrouter import sharing as module
from hookrouter._diagnostics.checks.check import ERROR, Place
from hookrouter._diagnostics.checks.storage import StorageCheck
from hookrouter._diagnostics.configuration import check
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.asking import fleet_of, told_by_others, with_others
from hookrouter.testing.plugins import write_plugin
from hookrouter_fleet.others import Others
from support.shelf import SHELF

CONFIG = '[storage]\nengine = "shelf"\nmachine = "here"\nfolder = "{folder}"\n'
OFF = "[plugins.fleet]\nenabled = false\n"
CONVOY = """
from hookrouter import hookimpl
from hookrouter.machines import Machines
from hookrouter.sharing import Sharing

class Convoy(Sharing):
    name = "convoy"
    def machines(self, services):
        {makes}

@hookimpl
def machines():
    return {returned}
"""


class Site:
    """A home with an engine, and the process that is started to share it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        self.started: list[list[str]] = []
        (folder / "home").mkdir()
        (folder / "shelf").mkdir(mode=0o700)
        write_plugin(folder / "site", "shelf", SHELF)
        monkeypatch.setenv("HOOKROUTER_HOME", str(folder / "home"))
        monkeypatch.setenv("PYTHONPATH", str(folder / "site"))
        monkeypatch.syspath_prepend(str(folder / "site"))
        monkeypatch.setattr("hookrouter.util.detached.spawn_detached", lambda words, *_: self.started.append(words))

    def has(self, config: str = "", *, convoy: str = "", returned: str = "Convoy()") -> Application:
        self._monkeypatch.delitem(sys.modules, "convoy", raising=False)
        if convoy:
            write_plugin(self._folder / "site", "convoy", CONVOY.format(makes=convoy, returned=returned))
        (self._folder / "home" / "config.toml").write_text(CONFIG.format(folder=self._folder / "shelf") + config)
        return Application.from_environ(scan=True)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(tmp_path, monkeypatch)


def told(app: Application) -> list[str]:
    """Return what config check and doctor say, which is the same, and that this machine goes on alone."""
    problems = [one for one in check(app) if one.problem.key == "storage.engine"]
    findings = [one for one in StorageCheck().examine(Place(app, "", "")) if one.level == ERROR]
    assert [(one.level, one.line) for one in problems] == [("error", 2)] * len(findings)
    assert [f"shelf: {one.problem.text}" for one in problems] == [one.message for one in findings]
    machines = app.machines()
    if findings:
        assert (machines.here, machines.names(), machines.entries("question")) == ("", [], [])
        assert told_by_others(app, ["questions"]) == []
        assert with_others(app, {"questions": []}, ["questions"], ["questions"]) == {"questions": []}
        with pytest.raises(CommandError) as error, fleet_of("--machine there"):
            pass
        assert str(error.value) == f"--machine there: {problems[0].problem.text}"
    return [one.problem.text for one in problems]


def test_it_shares_what_any_engine_keeps(site: Site) -> None:
    app = site.has()
    assert isinstance(app.machines(), Others)
    assert (told(app), site.started) == ([], [["storage", "--share"]])


def test_switched_off_nothing_is_shared_and_no_process_is_started(site: Site) -> None:
    app = site.has(OFF)
    (problem,) = told(app)
    assert "hook machines (fleet is disabled), so nothing is shared" in problem
    module.start_sharing(os.environ, app.home, app.plugins, stay=True)
    assert site.started == []


def test_without_an_engine_nothing_is_missing(site: Site) -> None:
    Path(site.has(OFF).home.config_file).write_text(OFF)
    app = Application.from_environ(scan=True)
    assert (told(app), app.machines().problems(), site.started) == ([], [], [])


def test_of_two_plugins_that_share_none_does(site: Site) -> None:
    app = site.has(convoy="return Machines()")
    (problem,) = told(app)
    assert "the plugins convoy and fleet have the hook machines" in problem
    assert site.started == []


def test_another_plugin_takes_its_place(site: Site) -> None:
    app = site.has(OFF, convoy="return Machines('of the convoy')")
    assert app.machines().missing == "of the convoy"
    assert site.started == [["storage", "--share"]]


@pytest.mark.parametrize(
    ("convoy", "returned", "said"),
    [
        ("raise KeyError('lost')", "Convoy()", "the machines that share the engine are not known: KeyError: 'lost'"),
        ("return Machines()", "object()", "the plugin convoy contributes nothing that shares documents"),
        ("return Machines()", "None", "the plugin convoy contributes nothing that shares documents"),
    ],
)
def test_one_that_fails_leaves_this_machine_alone(site: Site, convoy: str, returned: str, said: str) -> None:
    machines = site.has(OFF, convoy=convoy, returned=returned).machines()
    assert said in machines.missing
    assert machines.names() == []
