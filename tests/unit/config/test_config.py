from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter._config.cache import config_name, load
from hookrouter._config.edit import change
from hookrouter._config.reader import examine
from hookrouter._config.schema import schema
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.config import Agent, AnswerConfig, Config, PluginConfig
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from support.full_config import FULL


class ConfigFile:
    """A home whose config.toml can be set."""

    def __init__(self, folder: str) -> None:
        self.home = Home.in_folder(folder)

    def load(self, text: str | bytes) -> Config:
        with open(self.home.config_file, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        config = load(self.home)
        assert load(self.home) == config, "the compiled form differs"
        return config


@pytest.fixture
def file(tmp_path) -> ConfigFile:
    return ConfigFile(str(tmp_path))


def test_without_a_file_everything_has_its_default(tmp_path):
    config = load(Home.in_folder(str(tmp_path)))
    assert config == Config()
    assert config.agents == (Agent(id="default", sessions=("*",), workdirs=(), enabled=True, gateway="inbox"),)
    assert config.gateways == {"inbox": {"type": "inbox"}}
    assert config.answer == AnswerConfig(channels=("reply", "keys"), planner="grammar", terminal="tmux")
    assert config.plugin("any") == PluginConfig(enabled=True, on_error="open", timeout=None, settings={})
    assert os.listdir(tmp_path) == []


def test_gateways_in_order_are_read(file):
    text = '[gateways.chat]\ntype = "x"\n[[agents]]\nid = "a"\ngateways = ["chat", "inbox"]\nfallback_after = 5\n'
    assert file.load(text).agents == (Agent("a", gateway="chat", fallbacks=("inbox",), fallback_after=5.0),)


def test_reminders_and_the_escalation_are_read(file):
    text = "[answer]\nremind_after = 600\nremind_every = 300\nreminders = 2\nescalate_after = 60\n"
    answer = file.load(text + 'escalate_to = "inbox"\n').answer
    assert (answer.remind_after, answer.remind_every, answer.reminders) == (600.0, 300.0, 2)
    assert (answer.escalate_after, answer.escalate_to) == (60.0, "inbox")
    default = file.load("").answer
    assert (default.remind_after, default.reminders, default.escalate_to) == (600.0, 3, "")
    assert default.reminds
    for off in ("remind_after = 0\n", "reminders = 0\n"):
        assert not file.load("[answer]\n" + off).answer.reminds


def test_the_order_of_plugins_is_read_beside_their_tables(file):
    config = file.load('[plugins]\norder = ["b", "a"]\n[plugins.a]\ntimeout = 3\n')
    assert config.plugin_order == ("b", "a")
    assert config.plugins == {"a": PluginConfig(timeout=3.0)}


def test_an_empty_file_is_the_same(file):
    assert file.load("") == Config()


def test_every_key_is_read(file):
    assert file.load(FULL) == Config(
        agents=(
            Agent("warden", ("warden-*", "w?"), ("~/work/**/app", "/srv/*"), enabled=True, gateway="shell"),
            Agent("other"),
        ),
        gateways={
            "shell": {
                "type": "command",
                "command": ["wake", "{agent}"],
                "token_env": "WAKE_TOKEN",
                "password_file": "/run/secret",
            }
        },
        answer=AnswerConfig(("reply", "keys"), "mine", "screen"),
        plugins={
            "guard": PluginConfig(on_error="closed", timeout=3.0),
            "noisy": PluginConfig(enabled=False, settings={"level": 2, "names": ["a", {"b": 1.5}]}),
        },
    )


KEYS = "agents, gateways, answer, approvals, sessions, journal, serve, storage, scripts, plugins"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[[agents]]\nid = "a"\nsesions = []',
            (
                "agents[0].sesions: unknown key, did you mean 'sessions'?; "
                "allowed: id, sessions, workdirs, enabled, gateway, gateways, fallback_after, kind, wake_on"
            ),
        ),
        (
            '[[agents]]\nid = "a"\ngateway = "inbox"\ngateways = ["inbox"]',
            "agents[0]: found gateway and gateways; allowed: gateway for one, or gateways for several in order",
        ),
        (
            '[[agents]]\nid = "a"\ngateways = []',
            "agents[0].gateways: found an empty list; allowed: a list of one or more gateway names",
        ),
        ('[[agents]]\nid = "a"\ngateways = [1]', "agents[0].gateways[0]: found 1; allowed: a non-empty string"),
        (
            '[[agents]]\nid = "a"\ngateways = ["inbox", "inbx"]',
            "agents[0].gateways[1]: found 'inbx', did you mean 'inbox'?; allowed: inbox",
        ),
        (
            '[[agents]]\nid = "a"\ngateways = ["inbox", "inbox"]',
            "agents[0].gateways: found ['inbox', 'inbox']; allowed: each gateway once",
        ),
        (
            '[[agents]]\nid = "a"\nfallback_after = 0',
            "agents[0].fallback_after: found 0; allowed: seconds, more than 0 and at most 86400",
        ),
        (
            "[answer]\nremind_after = -1",
            "answer.remind_after: found -1; allowed: seconds, at least 0 and at most 86400",
        ),
        (
            "[answer]\nreminders = 1.5",
            "answer.reminders: found 1.5; allowed: a whole number, at least 0 and at most 100",
        ),
        ('[answer]\nescalate_to = "me"', "answer.escalate_to: found 'me'; allowed: inbox"),
        (
            "plugin = 1",
            f"plugin: unknown key, did you mean 'plugins'?; allowed: {KEYS}",
        ),
        ("[[agents]]\nenabled = true", "agents[0].id: missing; it is required"),
        ('[[agents]]\nid = ""', "agents[0].id: found ''; allowed: a non-empty string"),
        ('[[agents]]\nid = "a"\nenabled = "yes"', "agents[0].enabled: found 'yes'; allowed: true or false"),
        ('[[agents]]\nid = "a"\nenabled = 1', "agents[0].enabled: found 1; allowed: true or false"),
        ('[[agents]]\nid = "a"\nsessions = "w*"', "agents[0].sessions: found 'w*'; allowed: a list of texts"),
        ('[[agents]]\nid = "a"\nsessions = [1]', "agents[0].sessions[0]: found 1; allowed: a non-empty string"),
        (
            '[[agents]]\nid = "a"\nworkdirs = ["src"]',
            "agents[0].workdirs[0]: found 'src'; allowed: an absolute folder, or one that begins with ~/ or *",
        ),
        (
            '[[agents]]\nid = "a"\n[[agents]]\nid = "a"',
            "agents[1].id: found 'a' again; agents[0] has it already",
        ),
        (
            '[[agents]]\nid = "a"\ngateway = "imbox"',
            "agents[0].gateway: found 'imbox', did you mean 'inbox'?; allowed: inbox",
        ),
        ("agents = 5", "agents: found 5; allowed: a list of tables"),
        ('[agents]\nid = "a"', "agents: found a table; allowed: a list of tables"),
        ("agents = [5]", "agents[0]: found 5; allowed: a table"),
        ("[answer]\nchannels = []", "answer.channels: found an empty list; allowed: one or more channel names"),
        ('[answer]\nchannels = ["a", "a"]', "answer.channels: found ['a', 'a']; allowed: each channel once"),
        ("[answer]\nplanner = 1", "answer.planner: found 1; allowed: a non-empty string"),
        ("[plugins]\nx = 1", "plugins.x: found 1; allowed: a table"),
        ('[plugins]\norder = ["a", "a"]', "plugins.order: found ['a', 'a']; allowed: each plugin once"),
        ("[plugins]\norder = [1]", "plugins.order[0]: found 1; allowed: a non-empty string"),
        (
            "[plugins.order]\nenabled = false",
            "plugins.order: found a table; allowed: a list of plugin names; no plugin can be called order",
        ),
        ('[plugins.x]\non_error = "close"', 'plugins.x.on_error: found \'close\'; allowed: "open" or "closed"'),
        ("[plugins.x]\ntimeout = 0", "plugins.x.timeout: found 0; allowed: seconds, more than 0 and at most 86400"),
        ("[plugins.x]\ntimeout = nan", "plugins.x.timeout: found nan; allowed: seconds, more than 0 and at most 86400"),
        (
            "[plugins.x]\ntimeout = true",
            "plugins.x.timeout: found true; allowed: seconds, more than 0 and at most 86400",
        ),
        (
            "[plugins.x]\nlevel = 1",
            "plugins.x.level: unknown key; allowed: enabled, on_error, timeout, settings, breaker",
        ),
        (
            "[plugins.x.settings]\na = [2020-01-01]",
            "plugins.x.settings.a[0]: found 2020-01-01; allowed: a text in quotes instead of a date or time",
        ),
        (
            '[gateways.x]\nurl = ""',
            'gateways.x: type is missing; allowed: the name of a gateway plugin\'s type, such as "inbox"',
        ),
        ("[gateways.x]\ntype = 1", "gateways.x.type: found 1; allowed: a non-empty string"),
    ],
)
def test_a_problem_says_where_what_and_what_is_allowed(file, text, problem):
    assert file.load(text).problems == (f"config.toml: {problem}",)


@pytest.mark.parametrize("key", ["token", "password", "secret", "api_key", "API-KEY", "auth_token"])
@pytest.mark.parametrize("table", ["gateways.x", "gateways.x.headers"])
def test_a_secret_in_the_file_is_refused_and_not_repeated(file, table, key):
    text = f'[gateways.x]\ntype = "http"\n{key} = "hunter2"'
    if table != "gateways.x":
        text = f'[gateways.x]\ntype = "http"\n[{table}]\n{key} = "hunter2"'
    (problem,) = file.load(text).problems
    assert problem.startswith(f"config.toml: {table}.{key}: a secret does not belong here; allowed: {key}_env")
    assert "hunter2" not in problem


def test_all_problems_are_told_at_once(file):
    problems = file.load("[[agents]]\nid = 1\nenabled = 2\n[plugins.x]\ntimeout = -1\n[anser]\n").problems
    assert [problem.split(":")[1].strip() for problem in problems] == [
        "agents[0].id",
        "agents[0].enabled",
        "plugins.x.timeout",
        "anser",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a = [", "not TOML: "),
        (b"\xff", "found a byte that is not UTF-8 at position 0; allowed: TOML in UTF-8"),
        (b"a = " + b"[" * 5000, "not TOML: "),
    ],
)
def test_what_is_not_toml_is_a_problem(file, text, problem):
    config = file.load(text)
    assert config.problems[0].startswith(f"config.toml: {problem}")
    assert Config(problems=config.problems) == config


def test_a_folder_in_place_of_the_file_is_a_problem(tmp_path):
    (tmp_path / "config.toml").mkdir()
    assert load(Home.in_folder(str(tmp_path))).problems == ("config.toml: cannot be read: Is a directory",)


def test_a_broken_file_loosens_nothing(file):
    file.load(FULL)
    broken = file.load(FULL + "\nbroken")
    assert broken.problems
    assert broken.plugin("guard") == PluginConfig(on_error="closed", timeout=3.0)
    assert broken.plugin("noisy").enabled is False
    still = file.load("and = more [")
    assert still.plugin("guard").on_error == "closed"
    mended = file.load("")
    assert mended == Config()
    assert file.load("broken").plugin("guard").on_error == "open"


def test_a_file_that_was_never_right_still_closes_what_it_says(file):
    text = (
        '[[agents]]\n[plugins.a]\non_error = "closed"\n[plugins.b]\non_error = "closed"\ntimeout = "long"\n[plugins.c]'
    )
    config = file.load(text)
    assert len(config.problems) == 2
    assert config.plugin("a").on_error == config.plugin("b").on_error == "closed"
    assert config.plugin("c") == PluginConfig()


def test_a_changed_file_is_read_again(file):
    assert file.load('[[agents]]\nid = "a"').agents[0].id == "a"
    assert file.load('[[agents]]\nid = "bc"').agents[0].id == "bc"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"format": 1, "key": 1}', b"\xff"])
def test_a_broken_cache_is_only_slower(file, content):
    file.load(FULL)
    (cache,) = os.listdir(file.home.cache)
    with open(os.path.join(file.home.cache, cache), "wb") as opened:
        opened.write(content)
    assert load(file.home).agents[0].id == "warden"


def test_a_cache_with_the_right_key_and_nonsense_is_only_slower(file):
    file.load(FULL)
    (cache,) = os.listdir(file.home.cache)
    path = os.path.join(file.home.cache, cache)
    with open(path, encoding="ascii") as opened:
        text = opened.read()
    with open(path, "w", encoding="ascii") as opened:
        opened.write(text.replace('"agents":[{', '"agents":[7,{'))
    assert load(file.home).agents[0].id == "warden"


def test_a_cache_that_cannot_be_written_is_only_slower(file, tmp_path):
    (tmp_path / "cache").write_text("a file")
    assert file.load(FULL).agents[0].id == "warden"


def test_two_config_files_may_share_a_cache(tmp_path):
    homes = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        home = Home.in_folder(str(tmp_path / name))
        homes.append(Home(home.config_file, home.state, home.logs, str(tmp_path / "cache"), home.prompts))
        (tmp_path / name / "config.toml").write_text(f'[[agents]]\nid = "{name}"\n')
    for _ in range(2):
        assert [load(home).agents[0].id for home in homes] == ["one", "two"]
    assert len(os.listdir(tmp_path / "cache")) == 2


def agent_for(session: str, cwd: str, **agent: tuple[str, ...]) -> bool:
    return Config(agents=(Agent("a", **agent),)).agent_for(session, cwd) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("globs", "session", "managed"),
    [
        ((), "anything", True),
        (("*",), "", True),
        (("warden-main",), "warden-main", True),
        (("warden-main",), "warden-main-2", False),
        (("warden-*",), "warden-main", True),
        (("warden-*",), "Warden-main", False),
        (("a", "b?"), "bc", True),
        (("w[0-9]",), "w7", True),
        (("w[0-9]",), "wx", False),
    ],
)
def test_sessions_match_by_glob_and_case(globs, session, managed):
    assert agent_for(session, "/", sessions=globs) is managed


@pytest.mark.parametrize(
    ("globs", "cwd", "managed"),
    [
        ((), "", True),
        (("/srv/app",), "/srv/app", True),
        (("/srv/app/",), "/srv/app/src/deep", True),
        (("/srv/app",), "/srv/application", False),
        (("/srv/app",), "/srv", False),
        (("/srv/*",), "/srv/app/src", True),
        (("/srv/*/src",), "/srv/app/src", True),
        (("/srv/*/src",), "/srv/a/b/src", False),
        (("/srv/**/src",), "/srv/a/b/src/x", True),
        (("/srv/**/src",), "/srv/src", True),
        (("**/src",), "/a/b/src", True),
        (("~/work",), "{home}/work/x", True),
        (("~",), "{home}", True),
        (("~/work",), "/elsewhere/work", False),
        (("/a", "/b"), "/b", True),
        (("/a",), "", False),
        (("/a",), "a", False),
        (("/srv/app",), "/srv/app/../other", False),
        (("/",), "/anything", True),
    ],
)
def test_workdirs_match_the_folder_and_below(globs, cwd, managed):
    cwd = cwd.format(home=os.path.expanduser("~"))
    assert agent_for("s", cwd, workdirs=globs) is managed


def test_a_linked_workdir_is_the_same_folder(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert agent_for("s", str(tmp_path / "real"), workdirs=(str(tmp_path / "link"),))
    assert agent_for("s", str(tmp_path / "link"), workdirs=(str(tmp_path / "real"),))


def test_both_lists_must_match_and_the_first_enabled_agent_is_taken():
    off = Agent("off", enabled=False)
    both = Agent("both", sessions=("s",), workdirs=("/a",))
    rest = Agent("rest")
    config = Config(agents=(off, both, rest))
    assert config.agent_for("s", "/a") == both
    assert config.agent_for("s", "/b") == rest
    assert config.agent_for("t", "/a") == rest
    assert Config(agents=(off,)).agent_for("s", "/a") is None


@given(st.binary() | st.text().map(str.encode))
def test_any_file_gives_a_config(content):
    with tempfile.TemporaryDirectory() as folder:
        config = ConfigFile(folder).load(content)
        assert config.problems or config == Config()


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)


@given(ANY_TEXT, ANY_TEXT, st.lists(ANY_TEXT, max_size=3))
@example("s", "/a\0b", ["a\0b"])
@example("s", "/a\ud800b", ["a\ud800b"])
def test_matching_never_fails(session, cwd, globs):
    config = Config(agents=(Agent("a", sessions=("*", *globs), workdirs=tuple("/" + glob for glob in globs)),))
    config.agent_for(session, cwd)
    config.agent_for(session, "/" + cwd)


def lose_the_cache(file: ConfigFile) -> None:
    shutil.rmtree(file.home.cache)
    with open(file.home.cache, "w", encoding="ascii") as blocking:
        blocking.write("a file where the folder should be")


def test_a_broken_file_loosens_nothing_without_a_cache_either(file):
    file.load(FULL)
    lose_the_cache(file)
    for text in ("broken", b"\xff", "still [ broken"):
        broken = file.load(text)
        assert broken.problems
        assert broken.plugin("guard") == PluginConfig(on_error="closed", timeout=3.0)
        assert broken.plugin("noisy").enabled is False
        assert broken.plugin("noisy").settings == {"level": 2, "names": ["a", {"b": 1.5}]}
    assert file.load("") == Config()
    assert file.load("broken").plugin("guard") == PluginConfig()


def test_the_last_good_file_counts_whichever_folder_could_be_written(file, tmp_path):
    file.load(FULL)
    shutil.rmtree(file.home.state)
    (tmp_path / "state").write_text("a file")
    file.load('[plugins.guard]\non_error = "open"\n')
    (tmp_path / "state").unlink()
    assert file.load("broken").plugin("guard").on_error == "open"


def test_a_config_that_says_nothing_leaves_nothing_in_the_state_folder(file, tmp_path):
    file.load("# nothing yet\n")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("text", ["broken", b"\xff", FULL + "\n[answer]\nremind_aftr = 60", FULL + "\n[[agents]]\n"])
@pytest.mark.parametrize("cached", [True, False])
def test_agents_gateways_and_answers_stay_as_the_last_good_file_says(file, text, cached):
    good = file.load(FULL + "remind_after = 60\n[answr]\n".replace("[answr]\n", "").replace("remind_after", "# x"))
    assert not good.problems
    if not cached:
        lose_the_cache(file)
    for _ in range(2):
        broken = file.load(text)
        assert broken.problems
        assert (broken.agents, broken.gateways, broken.answer) == (good.agents, good.gateways, good.answer)
        assert broken.agent_for("warden-main", "/srv/x") == good.agents[0]
    assert file.load(FULL) == good


def test_what_a_state_folder_of_an_older_version_holds_counts(file):
    """Such as f7037ac wrote: the plugins alone, as rows."""
    rows = {"guard": [True, "closed", 3.0, {"deny": ["rm"]}, 5], "noisy": [False, "open", 10.0, {}, 2]}
    document = {"version": 1, "saved_at": 1795000000.0, "plugins": rows}
    Store(file.home.state, pytest.fail).write("config", config_name(file.home), document)
    broken = file.load("broken")
    assert broken.plugins == {
        "guard": PluginConfig(on_error="closed", timeout=3.0, settings={"deny": ["rm"]}),
        "noisy": PluginConfig(enabled=False, timeout=10.0, breaker=2),
    }
    assert broken.agents == Config().agents


def test_a_file_of_another_user_does_not_count(file, monkeypatch):
    file.load('[[agents]]\nid = "mine"')
    if os.getuid() == 0:
        os.chown(file.home.config_file, 4242, -1)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    owner = os.stat(file.home.config_file).st_uid
    shutil.rmtree(file.home.cache)
    config = load(file.home)
    (problem,) = config.problems
    assert problem.startswith(f"config.toml: cannot be read: it belongs to the user {owner}, and only your own")
    assert config.agents[0].id == "mine"


def test_a_byte_order_mark_is_no_fault(file):
    text = b'\xef\xbb\xbf[[agents]]\nid = "a"\n'
    assert file.load(text).agents[0].id == "a"
    assert file.load(text + b"[").problems
    file.load(text)
    change(file.home, ("plugins", "order"), ["p"])
    with open(file.home.config_file, "rb") as opened:
        edited = opened.read()
    assert edited.startswith(text)
    assert load(file.home).plugin_order == ("p",)


def test_plugins_are_called_first_last_and_between(file):
    config = file.load('[plugins]\norder = ["m"]\nlast = ["b", "a"]\n')
    assert (config.plugin_order, config.plugin_last) == (("m",), ("b", "a"))
    found = [DiscoveredPlugin(name=name, value=name, hooks=("stop",)) for name in "abzmc"]
    listing = Plugins(found, config, lambda _plugin, text: pytest.fail(text)).listing()
    assert [info.name for info in listing] == ["m", "c", "z", "b", "a"]
    (problem,) = file.load('[plugins]\norder = ["a"]\nlast = ["b", "a"]\n').problems
    assert problem == "config.toml: plugins.last[1]: found 'a'; allowed: a plugin in order or in last, not in both"


def test_every_key_is_described(file):
    """As the reference of the configuration shows it; each example is right where it stands."""
    tables = {table.header: table for table in schema()}
    assert list(tables) == [
        "[[agents]]",
        "[gateways.NAME]",
        "[answer]",
        "[approvals]",
        "[[approvals.rules]]",
        "[sessions]",
        "[plugins]",
        "[plugins.NAME]",
        "[journal]",
        "[serve]",
        "[[scripts]]",
        "[storage]",
    ]
    for header, table in tables.items():
        assert table.help
        assert table.keys
        for key in table.keys:
            assert key.help.endswith(".")
            assert key.type
            assert key.required is (key.name in ("id", "type", "tool", "decide", "event", "command"))
            others = {
                "[[agents]]": {"id": '"a"'},
                "[[approvals.rules]]": {"tool": '"Bash"', "decide": '"agent"'},
                "[[scripts]]": {"event": '"Stop"', "command": '"x"'},
            }
            needed = "".join(f"{name} = {one}\n" for name, one in others.get(header, {}).items() if name != key.name)
            text = f"{header}\n{needed}{key.name} = {key.example}\n"
            gateways = "[gateways.chat]\ntype = 'webhook'\n"
            assert file.load(gateways + text).problems == (), text
            if key.default not in (None, "", {}) and not isinstance(key.default, list):
                written = str(key.default).lower() if isinstance(key.default, bool) else json.dumps(key.default)
                assert file.load(f"{header}\n{needed}{key.name} = {written}\n").problems == ()


@pytest.mark.parametrize(
    "text",
    [
        '[plugins.guard]\non_error = "closed"\n[answer\n',
        '[answer\n[plugins.guard]\non_error = "closed"\n',
        "[plugins.guard\non_error = 'closed'\n",
        '  [ plugins . "guard" ] # the guard\n  timeout = \n  on_error="closed" # always\n',
        "[plugins.guard]\non_error = closed\n",
        '[plugins.guard]\non_error = "closed\n',
        '[plugins.guard]\ntimeout = 5\ntimeout = 6\n"on_error" = "closed"\n',
        '[plugins]\nguard.on_error = "closed"\nbroken\n',
        '[plugins]\nguard = { timeout = 3, on_error = "closed" }\nbroken\n',
        'plugins.guard.on_error = "closed"\nbroken\n',
        'plugins.guard = { on_error = "closed" }\nbroken\n',
        '[plugins.guard.settings]\nlist = [\n  ["a", 1],\n[plugins.guard]\non_error = "closed"\n',
        '[plugins.guard]\r\non_error = "closed"\r\n[broken\r\n',
        b'# caf\xe9\n[plugins.guard]\non_error = "closed"\n',
        b'[plugins.guard]\non_error = "closed"\nx = ' + b"[" * 5000,
    ],
)
def test_a_file_that_is_not_toml_still_closes_what_it_says(file, text):
    config = file.load(text)
    assert config.problems
    assert config.plugins == {"guard": PluginConfig(on_error="closed")}


@pytest.mark.parametrize(
    "text",
    [
        '[plugins.guard]\n# on_error = "closed"\nbroken\n',
        '[plugins.guard]\non_error = "open" # not "closed"\nbroken\n',
        '[plugins.guard.settings]\non_error = "closed"\nbroken\n',
        '[plugins.guard]\n[gateways.x]\non_error = "closed"\nbroken\n',
        'on_error = "closed"\nbroken\n',
    ],
)
def test_a_file_that_is_not_toml_closes_nothing_else(file, text):
    config = file.load(text)
    assert config.problems
    assert config.plugins == {}


def test_the_last_good_file_of_an_older_version_has_the_tables_of_plugins_among_its_own(file):
    file.load("[answer]\nwait = 60\n")
    (path,) = Path(file.home.state).glob("config-*.json")
    document = json.loads(path.read_text())
    document["config"] |= {
        "page": {"enabled": True, "address": "127.0.0.1:9000", "url": "", "link_hours": 8.0},
        "monitor": {"address": "", "token_env": "", "token_file": "", "traces": False},
    }
    path.write_text(json.dumps(document))
    for cached in Path(file.home.cache).glob("config-*"):
        cached.unlink()
    config = file.load("[answer]\nwait = 'x'\n")
    assert config.problems
    assert config.answer.wait == 60
    assert config.plugin("page").settings == {"enabled": True, "address": "127.0.0.1:9000", "link_hours": 8.0}
    assert config.plugin("monitor").settings == {"traces": False}


def test_what_a_broken_file_switches_off_does_not_undo_a_guard_of_the_last_good_file(file):
    broken = '[plugins.guard]\nenabled = false\non_error = "open"\n[plugins.other]\nenabled = false\nbroken\n'
    assert file.load(broken).plugins == {
        "guard": PluginConfig(enabled=False),
        "other": PluginConfig(enabled=False),
    }
    file.load('[plugins.guard]\non_error = "closed"\ntimeout = 4\n')
    assert file.load(broken).plugins == {
        "guard": PluginConfig(on_error="closed", timeout=4.0),
        "other": PluginConfig(enabled=False),
    }


@given(st.text(st.sampled_from("[]\"'.=# \nplugins_on_error_closedX{}"), max_size=80))
@example('[plugins.guard]\non_error="closed"\n[[')
def test_no_text_stops_the_reading(text):
    with tempfile.TemporaryDirectory() as folder:
        ConfigFile(folder).load(text)


CONFIG_LINES = (
    *("[plugins]", "[plugins.guard]", "[[agents]]", "[answer]", "[gateways.x]", "[plugins.guard.settings]"),
    *('order = ["a", "b"]', 'order = ["a", "a"]', "order = 3", 'id = "a"', "enabled = false", 'on_error = "closed"'),
    *("timeout = 5", "timeout = nan", 'type = "inbox"', 'token = "x"', "deny = [1979-05-27]", "guard = {}", "x.y = 1"),
)


@given(st.lists(st.sampled_from(CONFIG_LINES), max_size=10).map("\n".join))
@example('[plugins]\norder = ["a", "b"]\n[plugins.guard]\non_error = "closed"')
def test_what_a_config_says_it_gives_or_it_is_a_problem(text):
    problems = examine(text.encode())
    with tempfile.TemporaryDirectory() as folder:
        config = ConfigFile(folder).load(text)
    assert config.problems == tuple(f"config.toml: {problem.line}" for problem in problems)
    if problems:
        assert config.plugin_order == ()
        assert all(entry.on_error == "closed" or not entry.enabled for entry in config.plugins.values())
    else:
        raw = tomllib.loads(text)
        assert list(config.plugin_order) == raw.get("plugins", {}).pop("order", [])
        assert config.plugins.keys() == raw.get("plugins", {}).keys()
        assert len(config.agents) == max(len(raw.get("agents", [])), 1)


def test_a_cache_of_somebody_else_is_not_believed(file, monkeypatch):
    file.load('[[agents]]\nid = "a"')
    (cache,) = os.listdir(file.home.cache)
    path = os.path.join(file.home.cache, cache)
    with open(path, encoding="ascii") as opened:
        text = opened.read()
    with open(path, "w", encoding="ascii") as opened:
        opened.write(text.replace('"id":"a"', '"id":"planted"'))
    assert load(file.home).agents[0].id == "planted"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert load(file.home).agents[0].id == "a"


def test_a_gateway_is_its_type_and_its_own_keys():
    config = Config(gateways={"local": {"type": "command", "argv": ["x"]}})
    assert config.gateway("local") == ("command", {"argv": ["x"]})
    assert config.gateway("inbox") == ("inbox", {})
    assert config.gateway("other") is None


def test_an_engine_gets_the_keys_that_are_its_own(file):
    storage = file.load('[storage]\nengine = "postgresql"\nmachine = "build-3"\ndsn_env = "DSN"\npool = 3\n').storage
    assert (storage.engine, storage.machine) == ("postgresql", "build-3")
    assert storage.settings == {"dsn_env": "DSN", "pool": 3}
    assert file.load("").storage.engine == "files"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("engine = 1", "storage.engine: found 1; allowed: a non-empty string"),
        ('machine = "a b"', "storage.machine: found 'a b'; allowed: a name of letters, digits, dots, dashes"),
        ('machine = "."', "storage.machine: found '.'; allowed: a name of letters"),
        ('dsn_env = "DSN"', "storage.dsn_env: found 'dsn_env'; allowed: engine, machine; others only with another"),
        ('machin = "a"', "storage.machin: found 'machin', did you mean 'machine'?; allowed: engine, machine"),
        ('engine = "x"\npassword = "y"', "storage.password: a secret does not belong here; allowed: password_env"),
        ('engine = "x"\nat = 2020-01-01', "storage.at: found 2020-01-01; allowed: a text in quotes instead of a date"),
    ],
)
def test_what_is_wrong_with_the_storage_is_named(file, table, said):
    (problem,) = file.load(f"[storage]\n{table}\n").problems
    assert problem.startswith(f"config.toml: {said}")


def test_the_storage_is_a_table(file):
    assert file.load('storage = "postgresql"\n').problems == (
        "config.toml: storage: found 'postgresql'; allowed: a table",
    )
