"""Slips in a config.toml: whatever is said of a plugin's failure, and is not plainly "open", closes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookrouter._config.cache import load
from hookrouter.config import Config, PluginConfig
from hookrouter.storage.home import Home

CLOSED = [
    'on_error = "Closed"', 'on_error = "CLOSED"', 'on_error = "close"', 'on_error = "closed "', 'on_error = ""',
    'on_error = "block"', "on_error = true", "on_error = false", "on_error = 1", "on_error = ['closed']",
    "on_error = {}", 'on-error = "closed"', 'onError = "closed"', 'on_eror = "closed"', 'On_Error = "closed"',
    'on_error = "closed"\ntimeout = "soon"', 'on_error = "closed"\nno_such_key = 1',
]  # fmt: skip

OPEN = ['on_error = "Open"', 'on_error = "open "', "no_such_key = 1", 'timeout = "soon"']

NO_TOML = ["on_error = closed", 'on_error = "closed', "on_error = Closed", "on_error = true false", "on_error ="]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path / "home"))


def written(home: Home, text: str) -> Config:
    os.makedirs(home.root, exist_ok=True)
    Path(home.config_file).write_text(text)
    return load(home)


@pytest.mark.parametrize("header", ["[plugins.guard]", "[Plugins.guard]", "[plugin.guard]"])
@pytest.mark.parametrize("lines", CLOSED)
def test_a_slip_in_a_first_file_closes(home: Home, header: str, lines: str) -> None:
    config = written(home, f"{header}\n{lines}\n")
    assert config.problems
    assert config.plugin("guard").on_error == "closed"


@pytest.mark.parametrize("lines", NO_TOML)
def test_a_slip_in_a_file_that_is_no_toml_closes(home: Home, lines: str) -> None:
    for text in (f"[plugins.guard]\n{lines}\n", f"[plugins]\nguard = {{ {lines} }}\n[[\n"):
        config = written(home, text)
        assert config.problems
        assert config.plugin("guard").on_error == "closed", text


@pytest.mark.parametrize(
    "text",
    [
        '[plugin.guard]\non_error = "closed"\n[[\n',
        '[Plugins.guard]\nonerror = "closed"\n[[\n',
        '[plugins.guard]\non-error = "closed"\n[[\n',
        '[plugins]\nguard = { onError = "closed" }\n[[\n',
        "[plugin]\nguard.on_eror = closed\n[[\n",
        'plugin.guard.on_error = "closed"\n[[\n',
        'plugin.guard = { "on-error" = "closed" }\n[[\n',
        '[plugins.guard]\nsettings = { list = [\n"plugin"\n] }\non_error = "closed"\n[[\n',
    ],
)
def test_a_slip_in_a_key_of_a_file_that_is_no_toml_closes(home: Home, text: str) -> None:
    config = written(home, text)
    assert config.problems
    assert config.plugins == {"guard": PluginConfig(on_error="closed")}


@pytest.mark.parametrize(
    "text",
    [
        "[plugins.other]\n[plugin.guard]\nenabled = false\n[[\n",
        '[plugin.guard]\non_error = "open"\n[[\n',
        '[plugin.guard.settings]\non_error = "closed"\n[[\n',
        '[plugins.guard.settings]\nonerror = "closed"\n[[\n',
        "[plugins.guard]\nsettings = { a = 1 }\n[[\n",
        '[plugin.guard]\n[gateways.x]\nonerror = "closed"\n[[\n',
    ],
)
def test_a_slip_in_a_key_of_a_file_that_is_no_toml_does_nothing_else(home: Home, text: str) -> None:
    config = written(home, text)
    assert config.problems
    assert config.plugins == {}


@pytest.mark.parametrize("lines", OPEN)
def test_what_is_plainly_open_stays_open(home: Home, lines: str) -> None:
    config = written(home, f"[plugins.guard]\n{lines}\n")
    assert config.problems
    assert config.plugin("guard").on_error == "open"
    assert written(home, 'x = [\n[plugins.guard]\non_error = "open"\n').plugin("guard").on_error == "open"


def test_a_file_that_is_closed_stays_so_after_a_slip_and_opens_by_a_right_one(home: Home) -> None:
    assert not written(home, '[plugins.guard]\non_error = "closed"\n').problems
    assert written(home, '[plugins.guard]\non_error = "opened"\n').plugin("guard").on_error == "closed"
    assert written(home, '[plugins.guard]\non_error = "open"\n').plugin("guard").on_error == "open"


def dangling(home: Home) -> None:
    os.unlink(home.config_file)
    os.symlink("/no/config.toml", home.config_file)


def a_loop(home: Home) -> None:
    os.unlink(home.config_file)
    os.symlink(home.config_file, home.config_file)


def dangling_folder(home: Home) -> None:
    os.rename(home.root, f"{home.root}-before")
    os.symlink("/no/folder", home.root)


def folder_is_a_file(home: Home) -> None:
    os.rename(home.root, f"{home.root}-before")
    Path(home.root).touch()


def a_pipe(home: Home) -> None:
    os.unlink(home.config_file)
    os.mkfifo(home.config_file)


def a_folder(home: Home) -> None:
    os.unlink(home.config_file)
    os.mkdir(home.config_file)


def a_device(home: Home) -> None:
    os.unlink(home.config_file)
    os.symlink("/dev/zero", home.config_file)


@pytest.mark.parametrize(
    "how",
    [dangling, a_loop, dangling_folder, folder_is_a_file, a_pipe, a_folder, a_device],
    ids=lambda how: how.__name__,
)
def test_a_file_that_cannot_be_read_is_no_removed_file(tmp_path: Path, how: object) -> None:
    environ = {name: str(tmp_path / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    home = Home.from_environ({**environ, "HOME": str(tmp_path)}, "linux")
    assert written(home, '[plugins.guard]\non_error = "closed"\n').plugin("guard").on_error == "closed"
    assert callable(how)
    how(home)
    config = load(home)
    assert config.plugin("guard").on_error == "closed"
    (problem,) = config.problems
    assert "cannot be read" in problem


@pytest.mark.parametrize("whole", [False, True])
def test_a_removed_file_is_one(home: Home, whole: bool) -> None:
    written(home, '[plugins.guard]\non_error = "closed"\n')
    os.unlink(home.config_file)
    if whole:
        os.rename(home.root, f"{home.root}-before")
    assert load(home) == Config()


@pytest.mark.parametrize("key", ["plugin", "Plugins", "pluginz"])
@pytest.mark.parametrize(
    "lines",
    ["timeout = 5", "enabled = false", 'on_error = "open"', 'enabled = false\non_error = "closed"', "", "x = 1"],
)
def test_what_stands_under_a_wrong_key_opens_nothing(home: Home, key: str, lines: str) -> None:
    closed = '[plugins.guard]\non_error = "closed"\ntimeout = 4\n'
    former = written(home, closed).plugin("guard")
    assert written(home, f"[{key}.guard]\n{lines}\n").plugin("guard") == former
    for text in (f"{closed}[{key}.guard]\n{lines}\n", f"[{key}.guard]\n{lines}\n{closed}"):
        config = written(home, text)
        assert config.problems
        assert config.plugin("guard") == former


def test_what_stands_under_a_wrong_key_switches_nothing_off(home: Home) -> None:
    assert written(home, "[plugin.guard]\nenabled = false\n").plugins == {}
    assert written(home, '[plugins.guard]\nenabled = false\n[plugin.guard]\non_error = "closed"\n').plugin(
        "guard"
    ) == PluginConfig(on_error="closed")


def test_the_empty_device_is_an_empty_file(home: Home) -> None:
    assert written(home, '[plugins.guard]\non_error = "closed"\n').plugin("guard").on_error == "closed"
    os.unlink(home.config_file)
    os.symlink(os.devnull, home.config_file)
    assert load(home) == Config()


def test_below_the_empty_device_is_no_file(tmp_path: Path) -> None:
    environ = {name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    assert load(Home.from_environ({**environ, "HOME": os.devnull}, "linux")) == Config()


DIGITS = "1" * 5000
"""More than Python reads or writes as a decimal number."""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (f"[answer]\nwait = {DIGITS}", "a number of too many digits; allowed: whole numbers of 64 bits"),
        (f"[answer]\nwait = 0x{DIGITS}", "answer.wait: found a whole number above"),
        (f"[answer]\nreminders = 0x{DIGITS}", "answer.reminders: found a whole number above"),
        (f"[plugins.guard.settings]\nlimit = 0x{DIGITS}", "plugins.guard.settings.limit: found a whole number above"),
        (f"[gateways.x]\ntype = 'inbox'\nn = [0x{DIGITS}]", "gateways.x.n[0]: found a whole number above"),
        ("[gateways.x]\ntype = 'inbox'\nn = -9223372036854775809", "allowed: a whole number of 64 bits"),
        (f"[[scripts]]\ncommand = 'x'\nevent = 0x{DIGITS}", "scripts[0].event: found a whole number above"),
        (f"[serve]\nhttp = '127.0.0.1:{DIGITS}'", "allowed: 127.0.0.1:PORT"),
        (f"{'a.' * 5000}b = 1", "nested too deeply"),
        (f"[answer]\n{'a.' * 5000}b = 1", "nested too deeply"),
        (f"[plugins.other.settings]\n{'a.' * 5000}b = 1", "nested too deeply"),
        (f"[{'a.' * 5000}b]", "nested too deeply"),
    ],
)
def test_a_file_that_python_does_not_follow_has_problems_and_guards_stay_closed(
    home: Home, lines: str, said: str
) -> None:
    closed = '[plugins.guard]\non_error = "closed"\n'
    assert written(home, closed).plugin("guard").on_error == "closed"
    for text in (f"{lines}\n", f"{lines}\n{closed}"):
        for config in (written(home, text), load(home)):
            assert config.plugin("guard").on_error == "closed"
            (problem,) = config.problems
            assert said in problem
