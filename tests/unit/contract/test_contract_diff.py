"""What a new client version changes, told from its contract."""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._contract.compare import ContractError, Difference, compare, read, read_contract_file
from hookrouter._contract.document import CONTRACT_FILE, VERSION, contract
from hookrouter.cli.main import main

# From 3.14 on the parser comes to the end of it.
TOO_DEEP = "nested too deeply" if sys.version_info < (3, 14) else "Expecting value"

DOCUMENT: dict[str, Any] = contract()

OLD = read(DOCUMENT)

JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)

SHAPES = st.recursive(
    JSON,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["oneOf", "array", "tuple", "properties", "required", "type", "desc", "x", "[key: string]"]
            ),
            inner | st.lists(inner, max_size=2),
            max_size=4,
        ),
    ),
    max_leaves=12,
)


def differences(change: Callable[[dict[str, Any]], object]) -> list[Difference]:
    """Return what differs after a change to the committed contract."""
    document = copy.deepcopy(DOCUMENT)
    change(document)
    return compare(OLD, read(document))


def only(change: Callable[[dict[str, Any]], object]) -> Difference:
    (difference,) = differences(change)
    return difference


def test_a_contract_does_not_differ_from_itself() -> None:
    assert differences(lambda document: document.update(claude_code_version="9.9.9", generated="tomorrow")) == []


def test_new_and_removed_events() -> None:
    found = only(lambda document: document["events"].update(PreSleep={"kebab": "pre-sleep", "input": {"x": "string"}}))
    assert (found.kind, found.change, found.where) == ("event", "added", "PreSleep")
    assert "new hook pre_sleep" in found.effect
    found = only(lambda document: document["events"].pop("Setup"))
    assert (found.kind, found.change, found.where) == ("event", "removed", "Setup")
    assert "setup" in found.effect


def test_new_removed_and_renamed_tools() -> None:
    found = only(lambda document: document["tools"].update(Wand={"input": {}, "output": None}))
    assert (found.kind, found.change, found.where) == ("tool", "added", "Wand")
    assert "pre_tool_use_wand" in found.effect
    assert "post_tool_use_wand" in found.effect
    assert "not called any more" in only(lambda document: document["tools"].pop("Glob")).effect

    def rename(document: dict[str, Any]) -> None:
        document["tools"]["Find"] = document["tools"].pop("Glob")
        document["matcher_rules"]["legacy_aliases"]["Glob"] = "Find"

    added, removed, alias = differences(rename)
    assert (added.where, removed.where) == ("Find", "Glob")
    assert removed.effect.endswith("renamed to Find")
    assert (alias.kind, alias.where, alias.after) == ("alias", "Glob", "Find")


def test_a_field_that_becomes_optional_or_required() -> None:
    def optional(document: dict[str, Any]) -> None:
        fields = document["events"]["Stop"]["input"]
        fields["stop_hook_active?"] = fields.pop("stop_hook_active")

    found = only(optional)
    assert (found.kind, found.change, found.where) == ("field", "changed", "Stop.stop_hook_active")
    assert (found.before, found.after) == ("boolean, required", "boolean, optional")
    assert "event.stop_hook_active may be missing" in found.effect
    found = only(lambda document: document["tools"]["Bash"]["output"]["isImage"].update(required=True))
    assert found.where == "Bash.tool_response.isImage"
    assert "tool_response.is_image is always there" in found.effect


def test_fields_that_come_go_and_change() -> None:
    added = only(lambda document: document["tools"]["Bash"]["input"].update(tty={"type": "boolean", "required": False}))
    assert (added.change, added.where, added.after) == ("added", "Bash.tool_input.tty", "boolean, optional")
    removed = only(lambda document: document["tools"]["Grep"]["input"].pop("-n"))
    assert (removed.change, removed.where) == ("removed", "Grep.tool_input.-n")
    assert "tool_input.line_numbers is missing" in removed.effect
    changed = only(lambda document: document["tools"]["Bash"]["input"]["timeout"].update(type="string"))
    assert (changed.before, changed.after) == ("number, optional", "string, optional")
    deep = only(lambda document: document["tools"]["Edit"]["output"]["gitDiff"]["type"]["patch"].update(required=False))
    assert deep.where == "Edit.tool_response.gitDiff.patch"


def test_a_common_field_is_told_for_every_event() -> None:
    found = differences(lambda document: document["common_input"].update({"machine?": "string"}))
    assert {one.where for one in found} == {f"{event}.machine" for event in DOCUMENT["events"]}


def test_values_that_come_and_go() -> None:
    found = only(lambda document: document["events"]["SessionStart"]["matcher_values"].append("wake"))
    assert (found.kind, found.change, found.where, found.after) == ("value", "added", "SessionStart.source", "wake")
    action = DOCUMENT["tools"]["ExitWorktree"]["input"]["action"]["type"].replace("keep", "stay")
    changed = differences(lambda document: document["tools"]["ExitWorktree"]["input"]["action"].update(type=action))
    assert [(one.change, one.before or one.after) for one in changed] == [("added", "stay"), ("removed", "keep")]


def test_what_only_some_forms_of_a_response_have_is_optional() -> None:
    file = {"s": {"type": "number", "required": True}}
    form = {"type": {"type": '"audio"', "required": True}, "file": {"type": file, "required": True}}
    found = differences(lambda document: document["tools"]["Read"]["output"]["oneOf"].append(form))
    assert [(one.where, one.after) for one in found] == [
        ("Read.tool_response.file.s", "number, optional"),
        ("Read.tool_response.type", "audio"),
    ]


@pytest.mark.parametrize("key", ["blockable", "matcher_field", "default_timeout_s", "discarded_universal_fields"])
def test_what_an_event_lets_plugins_do(key: str) -> None:
    found = only(lambda document: document["events"]["Stop"].update({key: "otherwise"}))
    assert (found.kind, found.change, found.where, found.after) == ("event", "changed", f"Stop:{key}", "otherwise")


def test_shapes_that_are_published_or_not_any_more() -> None:
    found = only(lambda document: document["tools"]["LSP"].update(input={"q": {"type": "string", "required": True}}))
    assert (found.where, found.after) == ("LSP.tool_input", "published")
    found = only(lambda document: document["tools"]["Bash"].update(output=None))
    assert "tool_response.raw only" in found.effect


def test_the_command_tells_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["claude_code_version"] = "2.2.0"
    document["tools"].pop("Glob")
    document["events"]["Stop\x1b[2J"] = {"input": {}}
    new = tmp_path / "new.json"
    new.write_text(json.dumps(document), encoding="utf-8")
    assert main(["contract", "diff", str(new)]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"Claude Code {VERSION} -> 2.2.0\n")
    assert "\x1b" not in out
    assert "  - Glob\n" in out
    assert out.endswith("2 differences\n")
    assert main(["contract", "diff", str(new), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["from"], result["to"]) == (VERSION, "2.2.0")
    assert [(one["kind"], one["change"]) for one in result["differences"]] == [("event", "added"), ("tool", "removed")]


def test_the_command_on_the_same_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contract", "diff", CONTRACT_FILE]) == 0
    assert capsys.readouterr().out == f"Claude Code {VERSION} -> {VERSION}\nno difference\n"
    assert main(["contract", "diff", CONTRACT_FILE, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[]", "found array, allowed object"),
        (b"{}", "claude_code_version: found null, allowed string; common_input: found null, allowed object"),
        (b"[" * 100_000, TOO_DEEP),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_contract_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    path = tmp_path / "new.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["contract", "diff", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(path) in captured.err
    assert said in captured.err


def test_faults_are_named_by_their_place_and_not_all_of_thousands() -> None:
    document = {**DOCUMENT, "events": {"Stop": {"input": {"x": 1}}, "Setup": [], "SessionEnd": {}}}
    with pytest.raises(ContractError) as caught:
        read(document)
    assert "events.Stop.input.x: found number, allowed string" in str(caught.value)
    assert "events.Setup: found array, allowed object" in str(caught.value)
    assert "events.SessionEnd.input: found null, allowed object" in str(caught.value)
    with pytest.raises(ContractError, match="and 80 more"):
        read({**DOCUMENT, "tools": dict.fromkeys(map(str, range(100)), 1)})


@given(JSON)
def test_any_json_is_a_contract_or_is_refused(document: object) -> None:
    with pytest.raises(ContractError, match="not a contract"):
        read(document)


@given(st.data())
def test_a_contract_with_anything_in_it_is_compared_or_refused(data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENT)
    place: Any = document
    for _ in range(data.draw(st.integers(1, 5))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and data.draw(st.booleans()):
            place = place[key]
        else:
            place[key] = data.draw(SHAPES)
            break
    try:
        new = read(document)
    except ContractError:
        return
    assert compare(new, new) == []
    there = compare(OLD, new)
    back = compare(new, OLD)
    assert bool(there) == bool(back)
    json.dumps([one.effect for one in there])


def test_the_command_writes_whatever_names_a_contract_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {**DOCUMENT, "events": {"\ud800": {"input": {"\udfff": "'\u202e'"}}}}
    new = tmp_path / "new.json"
    new.write_text(json.dumps(document), encoding="utf-8")
    assert main(["contract", "diff", str(new)]) == 1
    capsys.readouterr().out.encode()


def test_a_folder_is_no_contract(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="directory"):
        read_contract_file(os.fspath(tmp_path))
