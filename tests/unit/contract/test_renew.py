"""``python -m scripts.renew``: what it compares, what it writes, and when it writes nothing."""

from __future__ import annotations

import copy
import shutil
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.compare import read_contract_file
from hookrouter._contract.document import CONTRACT_FILE, VERSION
from hookrouter._sandbox.client import ClientError, install_client
from scripts.renew.__main__ import ROOT, SCREENS, main, read_forms, renew
from scripts.renew.comparing import compare_contract
from scripts.renew.pin import PIN, VERSIONS, parse_version, pinned, with_version
from scripts.renew.recording import Recording, listed_events
from scripts.renew.scenes import SCENES, STARTS, TOOL_SCENES, dialog_part, same_dialog

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KNOWN = read_contract_file(CONTRACT_FILE)
FILE = f"hookrouter/_contract/claude-code-{VERSION}.json"
NAMES = [scene.name for scene in (*SCENES, *TOOL_SCENES, *STARTS)]


def recorded(version: str = VERSION) -> dict[str, str]:
    return {name: (ROOT / SCREENS / version / f"{name}.txt").read_text(encoding="utf-8") for name in NAMES}


def seen(**changes: Any) -> Recording:
    same = Recording(f"{VERSION} (Claude Code)", recorded(), {}, (), {}, tuple(KNOWN.events))
    return attrs.evolve(same, **changes)


def keys(**changes: Any) -> list[str]:
    return [edit.key for edit in compare_contract(FILE, KNOWN, seen(**changes))]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all files that the program may touch."""
    for name in (PIN, VERSIONS, FILE, f"hookrouter/_contract/samples-{VERSION}.json", "README.md", "CONTRIBUTING.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / SCREENS, tmp_path / SCREENS)
    return tmp_path


def content(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "text", ["", "2.1", "2.1.x", "v2.1.330", "2.1.330 ", "latest", "2.1.330;ls", "٢.1.3", "../2.1.3"]
)
def test_what_is_no_version_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    def install(_version: str) -> str:
        pytest.fail("nothing may be installed")

    assert main([text], install=install) == 2
    assert f"VERSION: {text!r} is no version such as 2.1.330" in capsys.readouterr().err


def test_without_npm_nothing_is_changed(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    before = content(tree)

    assert main(["2.1.9999"], root=tree, install=lambda version: install_client(version, str(tree / version))) == 2

    assert "npm is not on PATH" in capsys.readouterr().err
    assert content(tree) == before


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ClientError("it ended at once"), "it ended at once"),
        (seen(said="2.1.1 (Claude Code)"), "says that it is 2.1.1 (Claude Code), not"),
        (seen(screens={}, failed={"S1-0-0-open": "no dialog"}), "showed no dialog: no dialog"),
    ],
)
def test_a_client_that_does_not_run_changes_nothing(
    tree: Path, said: Recording | ClientError, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def play(_program: str, _forms: Mapping[str, Any], _events: tuple[str, ...]) -> Recording:
        if isinstance(said, ClientError):
            raise said
        return said

    before = content(tree)
    assert main([VERSION], root=tree, install=lambda _version: "claude", play=play) == 2

    told_all = capsys.readouterr().err
    assert told in told_all
    assert "nothing was changed" in told_all
    assert content(tree) == before


def test_the_present_version_changes_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(tree)

    assert main([VERSION], root=tree, install=lambda _version: "claude", play=lambda *_: seen()) == 0

    assert "nothing changed\n" in capsys.readouterr().out
    assert content(tree) == before


def test_a_screen_is_written_if_its_dialog_is_another(tree: Path) -> None:
    screens = recorded()
    drawn = screens["S1-0-0-open"].replace("Chat about this", "Talk about this")
    # What stands above a dialog is of no interest.
    older = "● An earlier turn, done 1:23 PM\n" + screens["S5-main-6-review"]

    changed, edits = renew(tree, VERSION, seen(screens={"S1-0-0-open": drawn, "S5-main-6-review": older}))

    file = f"{SCREENS}/{VERSION}/S1-0-0-open.txt"
    assert changed == [file]
    assert (tree / file).read_text(encoding="utf-8") == drawn
    assert [edit.key for edit in edits] == ["S1-0-0-open"]
    assert "grammar.py: S1-0-0-open: reads as" in str(edits[0])


def test_the_pin_names_every_file(tree: Path) -> None:
    changes = pinned(tree, VERSION, "2.9.1")

    new = "hookrouter/_contract/claude-code-2.9.1.json"
    assert changes[FILE] is None
    assert '"claude_code_version": "2.9.1"' in str(changes[new])
    assert str(changes[new]).replace("2.9.1", VERSION, 1) == (tree / FILE).read_text(encoding="utf-8")
    assert 'VERSION = "2.9.1"' in str(changes[PIN])
    assert '    "2.9.1",\n)' in str(changes[VERSIONS])
    assert "client install 2.9.1" in str(changes["README.md"])
    assert {"CONTRIBUTING.md", "docs/plugins/testing.md"} <= {*changes}
    assert pinned(tree, VERSION, VERSION) == {}


def test_a_pin_that_is_not_found_changes_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / PIN).write_text("VERSION = other\n", encoding="utf-8")
    before = content(tree)

    said = seen(said="2.9.1 (Claude Code)")
    assert main(["2.9.1"], root=tree, install=lambda _version: "claude", play=lambda *_: said) == 2

    assert f'VERSION = "{VERSION}" is there 0 times' in capsys.readouterr().err
    assert content(tree) == before


@given(st.lists(st.tuples(*[st.integers(0, 999)] * 3), min_size=2, max_size=8, unique=True))
def test_the_versions_of_the_table_stay_in_order(numbers: list[tuple[int, int, int]]) -> None:
    versions = [".".join(map(str, each)) for each in numbers]
    text = "VERSIONS = (\n" + "".join(f'    "{each}",\n' for each in sorted(versions[1:], key=parse_version)) + ")\n"

    added = with_version(text, versions[0])

    held = [line.strip(' ",') for line in added.splitlines()[1:-1]]
    assert held == sorted(versions, key=parse_version)
    assert with_version(added, versions[0]) == added


def test_a_client_as_in_the_contract_has_nothing_to_edit() -> None:
    assert keys() == []


def test_events_are_compared() -> None:
    listed = (*(name for name in KNOWN.events if name != "Stop"), "Started")

    assert keys(events=listed) == ["events.Started", "events.Stop"]
    assert keys(events=()) == ["events"]


def test_payloads_are_compared() -> None:
    payload: dict[str, Any] = {name: "x" for name, field in KNOWN.fields["Stop"].items() if field.required}
    payload["hook_event_name"] = "Stop"
    changed = copy.deepcopy(payload)
    changed["mood"] = 1
    del changed["stop_hook_active"]

    assert keys(payloads=(payload,)) == []
    assert keys(payloads=(changed, changed)) == ["events.Stop.input.mood", "events.Stop.input.stop_hook_active"]


def test_responses_of_tools_are_compared() -> None:
    payload: dict[str, Any] = {name: "x" for name, field in KNOWN.fields["PostToolUse"].items() if field.required}
    payload |= {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_response": {"stdout": "", "colour": 1}}

    assert keys(payloads=(payload,)) == ["tools.Bash.output.colour"]


def test_tools_that_are_offered_are_compared() -> None:
    tools = {
        "Bash": {"properties": {"command": {}, "where": {}}, "required": ["command", "timeout"]},
        "Dance": {"properties": {}},
        "mcp__a__b": {},
        "DeferredToolPlaceholder": {},
    }

    assert keys(tools=tools) == ["tools.Bash.input.where", "tools.Bash.input.timeout", "tools.Dance"]


def test_an_edit_names_file_and_key() -> None:
    edit = compare_contract(FILE, KNOWN, seen(events=(*KNOWN.events, "Started")))[0]

    assert str(edit).startswith(
        f"{FILE}: events.Started: the client has this event; the contract has not: add it, with "
    )
    assert "default_timeout_s" in str(edit)


def test_what_a_new_event_carries_is_told() -> None:
    edits = compare_contract(FILE, KNOWN, seen(payloads=({"hook_event_name": "Started", "odd": 3},)))
    assert [(edit.key, edit.said) for edit in edits] == [
        ("events.Started.input.hook_event_name", "the client sends it (str)"),
        ("events.Started.input.odd", "the client sends it (int)"),
    ]


def test_the_events_are_found_in_a_program(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    lists = b'\0x=["PreToolUse","PostToolUse"],\xffy=["PreToolUse","PostToolUse","Stop","Setup","Later"];["Stop"]'
    program.write_bytes(lists)

    assert listed_events(str(program)) == ("PreToolUse", "PostToolUse", "Stop", "Setup", "Later")
    program.write_bytes(b"")
    assert listed_events(str(program)) == ()


def test_the_dialog_is_told_from_what_stands_above() -> None:
    rule = "─" * 40
    dialog = f"{rule}\n ☐ Which\n\n❯ 1. A\n{rule}\n  2. Chat"

    assert dialog_part(f"● Old\n{rule}\n❯ please ASK a\n\n● One.\n{dialog}\n\n\n") == dialog
    assert dialog_part(f"\n{dialog}") == dialog
    assert dialog_part(f"│ a tall question\n{dialog}\n") == f"│ a tall question\n{dialog}"
    assert not same_dialog(dialog, dialog.replace("A", "B"))


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_scene_has_its_form(scene: Any) -> None:
    assert scene.form in read_forms(ROOT)
