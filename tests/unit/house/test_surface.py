"""What is stable: a change of it is found, and named in CHANGELOG."""

from __future__ import annotations

import re

import pytest

from scripts.surface import (
    RECORD,
    ROOT,
    STABLE,
    Change,
    changes,
    commands_in,
    commands_now,
    names_in,
    newest_release,
    python_now,
    recorded,
    stub,
    unnamed,
)

BEFORE = """
__all__ = ["LIMIT", "Specs", "Told", "send"]
LIMIT = 3
def send(text, *, times=1) -> None: ...
class Told(NamedTuple):
    text: str
    times: int = 1
class Specs:
    @hookspec
    def stop(self, event, context): ...
    def _own(self): ...
    def __init__(self):
        self.home = 1
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "send(text, ",
            "send(words, ",
            [("send", "was removed (text)"), ("send", "as required (words)")],
        ),
        ("def send", "def transmit", [("send", "was removed")]),
        ("times=1)", "times=2)", [("send", "default was changed (times)")]),
        ("*, times=1", "*, to, times=1", [("send", "added as required (to)")]),
        ("*, times=1", "*, times", [("send", "now required (times)")]),
        ("text, *, times", "text, times", [("send", "was def send(text, *, times")]),
        ("event, context", "event", [("Specs.stop", "Parameter was removed (context)")]),
        ("def stop", "def _stop", [("Specs.stop", "was removed")]),
        ("    text: str", "    text: str\n    to: str", [("Told.to", "was added")]),
        ("times: int", "count: int", [("Told.count", "was added"), ("Told.times", "was removed")]),
        ("LIMIT = 3", "def LIMIT(): ...", [("LIMIT", "different kind of object")]),
        ("self.home", "self._home", [("Specs.home", "was removed")]),
        (', "send"]', "]", [("send", "was removed")]),
        ("class Told", "class Heard", [("Told", "was removed")]),
        ("def _own", "def _other", []),
        ("LIMIT = 3", "LIMIT = 3\nother = 1", []),
    ],
)
def test_a_change_is_found(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    assert before in BEFORE
    found = changes({"m": stub(BEFORE)}, {"m": stub(BEFORE.replace(before, after))})
    assert [(one.name, True) for one in found] == [(f"m.{name}", True) for name, _ in expected]
    assert all(what in one.what for one, (_, what) in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("before", "after", "breaks"),
    [
        ("times=1)", "times=1, to=None)", False),
        ("LIMIT = 3", "LIMIT = 4", False),
        ("times: int = 1", "times: int = 1\n    to: str = ''", False),
        ("times: int = 1", "times: int = 1\n    to: str", True),
        ("*, times=1", "*, to", True),
    ],
)
def test_what_breaks_nothing_is_told_from_what_does(before: str, after: str, breaks: bool) -> None:
    found = changes({"m": stub(BEFORE)}, {"m": stub(BEFORE.replace(before, after))})
    assert found
    assert any(one.breaks for one in found) == breaks


def test_a_newer_client_may_add_to_events_and_tools() -> None:
    old, new = "class A:\n    x: str", "class A:\n    x: str\n    y: str\nclass B:\n    pass"
    assert changes({"hookrouter.tools.a": old}, {"hookrouter.tools.a": new}) == []
    assert [one.name for one in changes({"hookrouter.tools.a": new}, {"hookrouter.tools.a": old})] == [
        "hookrouter.tools.a.A.y",
        "hookrouter.tools.a.B",
    ]


COMMANDS = """
### hookrouter plugins info
With --json: name, status (active or broken), and settings (key, type): each has "help".
| `NAME` | The plugin. |
| `--all` | Every one. |
| `--as` `WHO` | Who. |
"""
EXITS = (
    "## hookrouter plugins info\n```text\n0  listed\n4  gone       no such one\n```\n## hookrouter x\n0 done; 1 not."
)
CONFIG = """
## [answer]
| `wait` | seconds | `60` | `wait = 5` | How long. |
| `to` | a name | *required* |  | Whom. |
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("status (", "state (", ["info --json state added", "info --json status removed"]),
        ('"help"', '"text"', ["info --json help removed", "info --json text added"]),
        ("`--all`", "`--every`", ["info --all removed", "info --every added"]),
        ("4  gone", "5  gone", ["info exit 4 removed", "info exit 5 added"]),
        ("  gone  ", "  lost  ", ["info outcome gone removed", "info outcome lost added"]),
        ("; 1 not", "; 2 not", ["hookrouter x exit 1 removed", "hookrouter x exit 2 added"]),
        ("| `to`", "| `whom`", ["config.toml [answer] to removed", "config.toml [answer] whom added"]),
        ("`60`", "`90`", ["config.toml [answer] wait changed"]),
        ("`NAME` | The plugin.", "`[NAME]` | The plugin.", ["info NAME changed"]),
        ("Every one", "All of them", []),
    ],
)
def test_a_change_of_a_command_is_found(before: str, after: str, expected: list[str]) -> None:
    texts = (COMMANDS, EXITS, CONFIG)
    assert any(before in text for text in texts)
    old, new = commands_in(*texts), commands_in(*(text.replace(before, after) for text in texts))
    found = changes({}, {}, old, new)
    told = [f"{one.name} {one.what.removeprefix('was ') if ',' not in one.what else 'changed'}" for one in found]
    assert sorted(one.removeprefix("hookrouter plugins ") for one in told) == expected


@pytest.mark.parametrize(
    ("changelog", "named"),
    [
        ("## [Unreleased]\n### Added\n- `Reply.deny` takes more.", [True, False]),
        ("## [Unreleased]\n### Removed\n- `PreToolUseReply.deny`, `Reply.deny(text)`.", [True, True]),
        ("## [Unreleased]\n### Changed\n- `reply.deny(reason)`", [True, True]),
        ("## [Unreleased]\n### Changed\n- `deny`", [False, False]),
        ("## [Unreleased]\n### Changed\n- Reply.deny, without a mark.", [False, False]),
        ("## [Unreleased]\n### Changed\n- `Reply.denying`, `--wait-for`.", [False, False]),
        ("## [Unreleased]\n### Changed\n## [1.0]\n### Changed\n- `Reply.deny`", [False, False]),
    ],
)
def test_it_must_be_named_where_it_belongs(changelog: str, named: list[bool]) -> None:
    for breaks, expected in zip((False, True), named, strict=True):
        lacking = unnamed([Change("hookrouter.replies.Reply.deny", "was added", breaks)], changelog)
        assert (lacking == []) == expected


def test_what_is_named_of_a_command_is_the_option_the_key_or_the_code() -> None:
    names = ("--wait", "--json ok", "exit 4", "WORD]...")
    mentions = [Change(f"hookrouter answer {name}", "", breaks=True).mention for name in names]
    assert mentions == ["--wait", "ok", "4", "WORD"]


def test_every_change_since_the_last_release_is_named() -> None:
    stubs, lines = recorded()
    lacking = unnamed(changes(stubs, python_now(), lines, commands_now()), (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert lacking == [], "\n".join(["docs/reference/stability.md says why:", *lacking])


def test_the_record_is_of_the_newest_release() -> None:
    """Renewed at another time, it forgets what has changed; not renewed, it tells of what has long been released."""
    release = (RECORD / "release.txt").read_text(encoding="utf-8").strip()
    assert release == newest_release((ROOT / "CHANGELOG.md").read_text("utf-8")), "python -m scripts.surface --write"
    assert newest_release("## [Unreleased]\n## [1.2.0] - x\n## [1.1.0]\n") == "1.2.0"
    assert newest_release("## [Unreleased]\n") == "none"


def test_the_record_is_of_all_that_is_stable() -> None:
    stubs, lines = recorded()
    names = {name: text for module, text in stubs.items() for name, text in names_in(module, text).items()}
    hook = names["hookrouter.hookspecs.pre_tool_use.PreToolUseSpecs.pre_tool_use_bash"]
    assert "event: PreToolUse, tool_input: BashInput, context: Context" in hook
    assert {"hookrouter.Context", "hookrouter.context.Context.note", "hookrouter.context.Services.home"} <= names.keys()
    for line in ("hookrouter answer exit 4", "hookrouter answer outcome mismatch", "hookrouter answer --wait"):
        assert line in lines
    for line in ("hookrouter questions --json questions", "hookrouter plugins info --json status"):
        assert line in lines
    assert "config.toml [answer] wait: `86400`" in lines
    for stable in STABLE:
        assert any(module == stable or module.startswith(f"{stable}.") for module in stubs), stable


def test_the_manual_lists_the_stable_modules() -> None:
    page = (ROOT / "docs/reference/stability.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(hookrouter[\w.]*)` \|", page, flags=re.MULTILINE) == list(STABLE)


def test_a_required_argument_breaks_nobody_if_its_command_is_new() -> None:
    new = {"hookrouter x NAME required", "hookrouter x exit 0"}
    for old, breaks in ((set[str](), False), ({"hookrouter x exit 0"}, True)):
        assert [one.breaks for one in changes({}, {}, old, new) if one.name == "hookrouter x NAME"] == [breaks]
