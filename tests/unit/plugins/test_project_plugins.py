"""A project's own plugins: what is read of them, what is trusted, and what a change of them does."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrouter._config.reader import survey_project
from hookrouter._plugins import scan
from hookrouter._plugins.files import FOLDER, copy_folder
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.project import (
    Project,
    TrustRecord,
    find_project,
    read_record,
    record_file,
    session_folder,
    trusted_projects,
)
from hookrouter._plugins.project_tree import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_FILES,
    Tree,
    TreeError,
    read_tree,
)
from hookrouter._plugins.project_trust import forget, look_at, said_hooks, trust
from hookrouter.config import STRICT, ApprovalRule, Config, PluginConfig
from hookrouter.storage.home import Home
from hookrouter.util.value import encode

GUARD = b"@hookimpl\ndef pre_tool_use_bash(tool_input): ...\n"


class Place:
    """A project, and a home in which nothing is imported: a scan finds what each source says."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "repo", Home.in_folder(str(folder / "home"))
        self.own = self.root / FOLDER
        self.own.mkdir(parents=True)

    def write(self, name: str = "guard.py", content: bytes = GUARD) -> Path:
        path = self.own / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def tree(self) -> Tree:
        tree = read_tree(str(self.root))
        assert tree is not None
        return tree

    def trust(self) -> TrustRecord:
        candidate = look_at(str(self.root), ())
        assert candidate is not None
        assert not candidate.problems
        return trust(self.home, candidate)

    def project(self, folder: Path | None = None) -> Project | None:
        return find_project(self.home, {}, str(folder or self.root))

    def problem(self) -> str:
        project = self.project()
        assert project is not None
        assert {plugin.error for plugin in project.plugins} == {project.problem}
        return project.problem


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    def describe(plugins: Any, *, ask: bool = False) -> list[dict[str, Any]]:
        assert not ask
        for _, value, _ in plugins:
            assert Path(value).is_relative_to(tmp_path / "home" / "trusted")
        sources = [Path(value, "__init__.py") if os.path.isdir(value) else Path(value) for _, value, _ in plugins]
        return [
            {**scan.NOTHING_KNOWN, "hooks": list(said_hooks(source.read_bytes()) or ()), "error": ""}
            for source in sources
        ]

    monkeypatch.setattr(scan, "_describe", describe)
    return Place(tmp_path)


def test_a_folder_without_plugins_of_its_own_is_nothing(tmp_path: Path) -> None:
    assert read_tree(str(tmp_path)) is None
    (tmp_path / ".claude").mkdir()
    assert read_tree(str(tmp_path)) is None
    assert look_at(str(tmp_path), ()) is None


def test_the_digest_is_of_names_and_contents_alone(place: Place) -> None:
    path = place.write()
    place.write("deep/__init__.py", b"")
    first = place.tree()
    assert list(first.files) == ["deep/__init__.py", "guard.py"]
    os.utime(path, (1, 1))
    place.write("__pycache__/guard.cpython-312.pyc", b"not what the source says")
    place.write("evil.pyc", b"nor this")
    again = place.tree()
    assert (again.digest, again.files) == (first.digest, first.files)
    assert again.stamps != first.stamps
    place.write("deep/__init__.py", b" ")
    assert place.tree().digest != first.digest


def test_no_two_trees_read_the_same(place: Place) -> None:
    found = set()
    for files in ({"a.py": b"b"}, {"a.p": b"yb"}, {"a.py": b"", "b": b""}, {"a.py": b"b", "c": b""}, {"a.pyb": b""}):
        shutil.rmtree(place.own)
        for name, content in files.items():
            place.write(name, content)
        found.add(place.tree().digest)
    assert len(found) == 5


def _link(place: Place) -> None:
    (place.own / "link.py").symlink_to("/etc/passwd")


def _link_to_folder(place: Place) -> None:
    (place.own / "linked").symlink_to("/etc")


def _folder_is_a_link(place: Place) -> None:
    place.own.rename(place.root / "elsewhere")
    place.own.symlink_to(place.root / "elsewhere")


def _pipe(place: Place) -> None:
    os.mkfifo(place.own / "pipe.py")


def _escapes(place: Place) -> None:
    place.write("x\x1b[2J.py")


def _not_ascii(place: Place) -> None:
    place.write("gu\u202eard.py")


def _no_text(place: Place) -> None:
    place.write(os.fsdecode(b"gu\xffard.py"))


def _huge(place: Place) -> None:
    with open(place.own / "huge.py", "wb") as file:
        file.truncate(1 << 40)


def _large_together(place: Place) -> None:
    for number in range(9):
        place.write(f"large{number}.py", b" " * MAX_FILE_BYTES)


def _many(place: Place) -> None:
    for number in range(MAX_FILES + 1):
        place.write(f"f{number}.txt", b"")


def _deep(place: Place) -> None:
    place.write("/".join(["d"] * MAX_DEPTH) + "/x.py")


SPOILERS = [
    _link,
    _link_to_folder,
    _folder_is_a_link,
    _pipe,
    _escapes,
    _not_ascii,
    _no_text,
    _huge,
    _large_together,
    _many,
    _deep,
]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_what_cannot_be_shown_or_bounded_is_not_trusted_and_is_a_change(place: Place, spoil: Any) -> None:
    place.write()
    place.trust()
    assert place.problem() == ""
    spoil(place)
    with pytest.raises(TreeError) as raised:
        read_tree(str(place.root))
    assert str(raised.value).isprintable()
    assert str(place.root) in str(raised.value)
    assert str(raised.value) in place.problem()


def test_no_folder_above_is_followed_either(place: Place) -> None:
    place.own.parent.rename(place.root / "elsewhere")
    place.own.parent.symlink_to(place.root / "elsewhere")
    with pytest.raises(TreeError, match="no link is followed"):
        read_tree(str(place.root))


def test_a_file_that_cannot_be_read_is_told(place: Place) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    place.write().chmod(0)
    with pytest.raises(TreeError, match="Permission denied"):
        read_tree(str(place.root))


def test_what_others_may_write_is_noted(place: Place) -> None:
    place.write().chmod(0o666)
    candidate = look_at(str(place.root), ())
    assert candidate is not None
    assert any("other users may write" in note for note in candidate.notes)


def test_what_is_trusted_is_a_copy_that_nobody_else_may_read(place: Place) -> None:
    place.write()
    place.write("pack/__init__.py", b"")
    record = place.trust()
    copy = Path(copy_folder(place.home, record.tree))
    assert {str(path.relative_to(copy)) for path in copy.rglob("*.py")} == {"guard.py", "pack/__init__.py"}
    for path in [copy, *copy.rglob("*"), *Path(place.home.trusted).rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
    project = place.project(place.root / "below" / "this")
    assert project is not None
    assert [(one.name, one.hooks, one.error) for one in project.plugins] == [
        ("guard", ("pre_tool_use_bash",), ""),
        ("pack", (), ""),
    ]
    assert project.plugins[0].value == str(copy / "guard.py")
    assert place.project(place.root.parent) is None


CHANGES = {
    "byte": lambda place: place.write(content=GUARD.replace(b"bash", b"edit")),
    "added": lambda place: place.write("other.py"),
    "helper": lambda place: place.write("_helper.txt", b""),
    "removed": lambda place: place.write("pack/__init__.py").unlink(),
    "config": lambda place: place.write("config.toml", b""),
    "renamed": lambda place: (place.own / "guard.py").rename(place.own / "Guard.py"),
    "gone": lambda place: shutil.rmtree(place.own),
    "all gone": lambda place: shutil.rmtree(place.root),
}


@pytest.mark.parametrize("change", CHANGES)
def test_after_any_change_nothing_is_loaded_and_guards_are_known(place: Place, change: str) -> None:
    place.write()
    place.write("pack/__init__.py")
    place.write("config.toml", b'[plugins.guard]\non_error = "closed"\n')
    place.trust()
    assert place.problem() == ""
    CHANGES[change](place)
    assert "until a person has read it" in place.problem()
    project = place.project()
    assert project is not None
    index, config, own = project.joined((), Config())
    assert index == own
    assert config.plugin("guard").on_error == "closed"
    assert {one.name: one.hooks for one in own} == dict.fromkeys(("guard", "pack"), ("pre_tool_use_bash",))


def test_a_file_that_is_written_anew_as_it_was_is_no_change(place: Place) -> None:
    path = place.write()
    place.trust()
    assert place.problem() == ""
    path.unlink()
    place.write()
    assert place.problem() == ""


def test_the_content_is_read_again_only_if_something_was_touched(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write()
    place.trust()
    assert place.problem() == ""
    monkeypatch.setattr("hookrouter._plugins.project_tree.read_tree", lambda *_: pytest.fail("it was read"))
    assert place.problem() == ""


def test_nobody_can_put_other_files_in_place_between_the_look_and_the_copy(place: Place) -> None:
    place.write()
    stop = threading.Event()

    def swap() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            (place.own / "new").write_bytes(b"EVIL" if number % 2 else GUARD)
            os.replace(place.own / "new", place.own / "guard.py")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(20):
            try:
                candidate = look_at(str(place.root), ())
            except TreeError:
                continue
            assert candidate is not None
            shown = dict(candidate.tree.files)
            record = trust(place.home, candidate)
            copy = Path(copy_folder(place.home, record.tree))
            assert {name: (copy / name).read_bytes() for name in shown} == shown
            project = place.project()
            assert project is not None
            assert project.problem or (copy / "guard.py").read_bytes() == shown["guard.py"]
    finally:
        stop.set()
        thread.join()


def test_a_copy_that_was_spoiled_is_made_anew_and_one_that_is_gone_still_guards(place: Place) -> None:
    place.write()
    copy = Path(copy_folder(place.home, place.trust().tree))
    (copy / "guard.py").write_text("spoiled")
    place.trust()
    assert (copy / "guard.py").read_bytes() == GUARD
    shutil.rmtree(copy)
    for file in Path(place.home.cache).glob("trusted-*"):
        file.unlink()
    project = place.project()
    assert project is not None
    assert [(one.hooks, one.error) for one in project.plugins] == [
        (("pre_tool_use_bash",), "its copy in the home is gone")
    ]


def test_what_cannot_be_scanned_still_guards(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(11, "no process")

    place.write()
    place.trust()
    for file in Path(place.home.cache).glob("trusted-*"):
        file.unlink()
    monkeypatch.setattr(scan, "_describe", fail)
    project = place.project()
    assert project is not None
    assert [one.hooks for one in project.plugins] == [("pre_tool_use_bash",)]
    assert "no process" in project.plugins[0].error


def test_what_nobody_names_any_more_is_removed(place: Place) -> None:
    place.write()
    first = place.trust().tree
    place.write(content=GUARD + b"# more")
    second = place.trust().tree
    assert os.listdir(os.path.dirname(copy_folder(place.home, first))) == [second]
    assert [project.folder for _, project in trusted_projects(place.home)] == [str(place.root)]
    assert forget(place.home, str(place.root))
    assert not forget(place.home, str(place.root))
    assert os.listdir(os.path.dirname(copy_folder(place.home, first))) == []
    assert place.project() is None


def test_a_home_that_trusts_nothing_is_asked_for_nothing(place: Place) -> None:
    assert place.project() is None
    assert trusted_projects(place.home) == []
    assert not os.path.exists(place.home.trusted)


def test_a_home_switches_on_what_a_project_switches_off() -> None:
    table = {"guard": PluginConfig(enabled=False, on_error="closed")}
    project = Project(folder="/p", tables=table, plugins=(DiscoveredPlugin(name="guard", value="/p/guard.py"),))
    for home, enabled in ((PluginConfig(), False), (PluginConfig(is_asked_for=True), True)):
        found = project.joined((), Config(plugins={"guard": home}))[1].plugin("guard")
        assert (found.enabled, found.on_error) == (enabled, "closed")


def test_a_home_comes_first(place: Place) -> None:
    place.write()
    place.write(
        "config.toml", b'[plugins.guard]\non_error = "closed"\ntimeout = 3\n[plugins.guard.settings]\na = 1\nb = 2\n'
    )
    place.trust()
    project = place.project()
    assert project is not None
    user = Config(plugins={"guard": PluginConfig(enabled=False, settings={"b": 3})})
    table = project.joined((), user)[1].plugin("guard")
    assert table == PluginConfig(enabled=False, on_error="closed", timeout=3.0, settings={"a": 1, "b": 3})
    mine = DiscoveredPlugin(name="guard", value="/home/plugins/guard.py", hooks=("stop",))
    index, config, own = project.joined((mine,), user)
    assert index[0] is mine
    assert config.plugin("guard") == user.plugin("guard")
    assert [(one.name, one.hooks) for one in own] == [("guard (project)", ("pre_tool_use_bash",))]
    assert "another plugin of this name" in own[0].error
    assert config.plugin("guard (project)").on_error == "closed"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no plugin and no rule"),
        ({"_helper.py": b""}, "holds no plugin"),
        ({"tmux.py": b""}, "there is a plugin tmux already"),
        ({"last.py": b""}, "last is a key"),
        ({"guard.py": b"", "guard/__init__.py": b""}, "are both the plugin guard"),
        ({"guard.py": b"", "config.toml": b"plugins = 1"}, "config.toml: plugins: found no table"),
        ({"guard.py": b"", "config.toml": b"\xff"}, "not UTF-8"),
    ],
)
def test_what_cannot_be_a_projects_plugin_is_named(place: Place, files: dict[str, bytes], said: str) -> None:
    for name, content in files.items():
        place.write(name, content)
    candidate = look_at(str(place.root), ("tmux",))
    assert candidate is not None
    assert any(said in problem for problem in candidate.problems), candidate.problems


REFUSED = {
    "agents": '[[agents]]\nid = "x"',
    "gateways": '[gateways.x]\ntype = "command"\ncommand = ["sh"]',
    "approvals.rows": '[approvals]\nrows = "agent"',
    "approvals.mirror": "[approvals]\nmirror = true",
    "approvals.rules[0].tool": '[[approvals.rules]]\ntool = "Bash("\ndecide = "deny"',
    "approvals.rules[0].ask": '[[approvals.rules]]\ntool = "Bash"\ndecide = "deny"\nask = "always"',
    "approvals.rules[0].x": '[[approvals.rules]]\ntool = "Bash"\ndecide = "deny"\nx = 1',
    "approvals.rules[1].decide": "".join(
        f'[[approvals.rules]]\ntool = "Bash"\ndecide = "{word}"\n' for word in ("person", "allow")
    ),
    "approvals.rules[2].decide": "".join(
        f'[[approvals.rules]]\ntool = "Bash"\ndecide = "{word}"\n' for word in ("person", "deny", "agent")
    ),
    "serve": '[serve]\nhttp = "127.0.0.1:80"',
    "page": "[page]\nenabled = true",
    "storage": '[storage]\nengine = "x"',
    "journal": "[journal]\npayloads = true",
    "plugins.order": '[plugins]\norder = ["guard"]',
    "plugins.last": '[plugins]\nlast = ["guard"]',
    "plugins.tmux": "[plugins.tmux]\nenabled = false",
    "plugins.guard.on_error": '[plugins.guard]\non_error = "maybe"',
    "plugins.guard.program": '[plugins.guard]\nprogram = "sh"',
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_projects_config_is_about_its_own_plugins_alone(key: str) -> None:
    problems, tables, rules = survey_project(REFUSED[key].encode(), {"guard"})
    assert [problem.key for problem in problems] == [key], problems
    assert not tables
    assert not rules


@given(st.binary() | st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner)).map(repr).map(str.encode))
def test_no_config_raises_or_names_another_plugin(content: bytes) -> None:
    problems, tables, rules = survey_project(content, {"guard"})
    assert not tables or (not problems and tables.keys() <= {"guard"})
    assert not rules


_ANY = st.sampled_from(["deny", "person", "agent", "allow", "ask", "", "Deny", 1, True, [], {}])


@given(st.lists(st.fixed_dictionaries({"tool": st.sampled_from(["Bash", "Edit(/x)", "(", 1]), "decide": _ANY})))
def test_a_project_s_rules_only_refuse_or_leave_to_a_person(rules: list[dict[str, Any]]) -> None:
    # JSON of these values is TOML.
    keys = [[f"{key} = {json.dumps(value)}" for key, value in one.items()] for one in rules]
    lines = [line for one in keys for line in ("[[approvals.rules]]", *one)]
    problems, _, found = survey_project("\n".join(lines).encode(), ())
    wrong = {f"approvals.rules[{at}].decide" for at, one in enumerate(rules) if one["decide"] not in STRICT}
    assert {problem.key for problem in problems if problem.key.endswith("decide")} == wrong
    assert all(rule.decide in STRICT for rule in found)
    assert len(found) == (0 if problems else len(rules))


def test_a_record_whose_rules_allow_is_none() -> None:
    record = encode(_RECORD._with(rules=(ApprovalRule(tool="Bash", decide="deny"),)), sparse=True)
    assert [rule.decide for rule in read_record(record).rules] == ["deny"]
    record["rules"][0]["decide"] = "allow"
    with pytest.raises(TypeError):
        read_record(record)


def test_rules_hold_as_they_were_trusted_whatever_has_changed(place: Place) -> None:
    path = place.write("config.toml", b'[[approvals.rules]]\ntool = "Bash(rm:*)"\ndecide = "deny"')
    place.trust()
    for change in (None, b"", b'[[approvals.rules]]\ntool = "Bash"\ndecide = "person"'):
        if change is not None:
            path.write_bytes(change)
        project = place.project()
        assert project is not None
        assert bool(project.problem) is (change is not None)
        home = Config(plugins={"rules": PluginConfig(on_error="open")}, plugin_last=("x",))
        _, config, _ = project.joined((), home)
        assert [(rule.tool, rule.decide) for rule in config.project_rules.rules] == [("Bash(rm:*)", "deny")]
        assert config.project_rules.file == f"{place.root.resolve()}/{FOLDER}/config.toml"
        assert config.plugin("rules").on_error == "closed"
        assert config.plugin_last == ("x", "rules")
        assert not config.approvals.rules
    assert "but its rules, as they were trusted," in project.problem


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
_RECORD = TrustRecord(
    version=1, folder="/x", tree="0" * 64, at=1.0, files=(("a.py", "0"),), plugins=(), tables={"a": PluginConfig()}
)


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from([*TrustRecord._fields, "other"]), _JSON))
def test_a_record_that_was_changed_is_read_as_one_or_not_at_all(changes: dict[str, Any]) -> None:
    document = json.loads(json.dumps({**encode(_RECORD), **changes}))
    try:
        record = read_record(document, "/x")
    except TypeError:
        return
    assert (record.version, record.folder, len(record.tree)) == (1, "/x", 64)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"{", b'{"version":2}', b"\xff"])
def test_a_record_that_cannot_be_read_is_told(place: Place, content: bytes) -> None:
    place.write()
    place.trust()
    path = Path(record_file(place.home, str(place.root)))
    path.write_bytes(content)
    project = place.project()
    assert project is not None
    assert "cannot be read" in project.problem
    assert project.plugins == ()
    ((where, found),) = trusted_projects(place.home)
    assert (where, "cannot be read" in found.problem) == (str(path), True)


def test_a_record_is_of_its_folder_alone(place: Place) -> None:
    place.write()
    place.trust()
    other = place.root.parent / "other"
    other.mkdir()
    shutil.copyfile(record_file(place.home, str(place.root)), record_file(place.home, str(other)))
    project = place.project(other)
    assert project is not None
    assert (project.plugins, "cannot be read" in project.problem) == ((), True)


@pytest.mark.parametrize("cwd", [None, 3, "", "relative", "/\0", "/\udcff\0", ["/"]])
def test_no_folder_raises(cwd: object) -> None:
    assert session_folder({}, cwd) == ""


def test_the_session_is_where_it_began_by_whatever_path(place: Place) -> None:
    place.write()
    place.trust()
    linked = place.root.parent / "linked"
    linked.symlink_to(place.root)
    for environ, cwd in (
        ({}, str(linked / "below")),
        ({"CLAUDE_PROJECT_DIR": str(linked)}, "/"),
        ({"CLAUDE_PROJECT_DIR": ""}, f"{place.root}/./x/.."),
    ):
        assert find_project(place.home, environ, cwd) is not None
    assert find_project(place.home, {"CLAUDE_PROJECT_DIR": "/"}, str(place.root)) is None


@pytest.mark.parametrize(
    ("source", "hooks"),
    [
        (b"@hookimpl\ndef stop(): ...", ("stop",)),
        (b"@hookrouter.hookimpl(tryfirst=True)\ndef stop(): ...", ("stop",)),
        (b"class A:\n @hookimpl(specname='stop')\n def other(self): ...", ("stop",)),
        (b"def stop(): ...", ()),
        (b"def (", None),
        (b"\0", None),
        (b"(" * 100_000, None),
        (b"-" * 100_000 + b"1", None),
    ],
)
def test_the_hooks_are_read_and_nothing_runs(source: bytes, hooks: tuple[str, ...] | None) -> None:
    assert said_hooks(source) == hooks
