"""The contract, the generated modules and the captured payloads agree with each other."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest

import hookrouter
from hookrouter import events, tables, tools
from hookrouter.contract.generate import CONTRACT, PACKAGE, generate, main, read_contract, snake
from hookrouter.converter import record_class
from hookrouter.hooks import mcp_name
from hookrouter.payloads import check, fields_of
from hookrouter.samples import recorded
from hookrouter.tool_fields import TOOL_FIELDS

DOCUMENT: dict[str, Any] = json.loads((PACKAGE / "contract" / CONTRACT).read_text(encoding="utf-8"))
SAMPLES: dict[str, Any] = recorded()

# Found in captured payloads, absent from the contract. Empty: add what a newer capture brings, then the contract.
KNOWN_EXTRA: set[tuple[str, str]] = set()

# What the client counts for itself.
KNOWN_TOOL_EXTRA = {
    ("AgentOutput", "harnessNoteCount"),
    ("AgentOutput", "harnessTailCount"),
    ("AgentOutput", "harnessSectionHash"),
}


def required_fields(record: dict[str, str]) -> set[str]:
    return {name for name in record if not name.endswith("?")}


def all_fields(record: dict[str, str]) -> set[str]:
    return {name.removesuffix("?") for name in record}


def test_committed_modules_are_what_the_generator_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, f"run python -m hookrouter.contract.generate: {capsys.readouterr().out}"


def test_check_names_a_module_that_differs_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in generate():
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(PACKAGE / name, target)
    (tmp_path / "tables.py").write_text("EVENTS = {}\n", encoding="utf-8")
    (tmp_path / "tools" / "yesterday.py").write_text("", encoding="utf-8")
    monkeypatch.setattr("hookrouter.contract.generate.PACKAGE", tmp_path)
    assert main(["--check"]) == 1
    assert capsys.readouterr().out == "tables.py is out of date\ntools/yesterday.py belongs to no tool\n"
    assert (tmp_path / "tables.py").read_text(encoding="utf-8") == "EVENTS = {}\n"
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert not (tmp_path / "tools" / "yesterday.py").exists()


def test_generated_modules_are_formatted_as_ruff_formats() -> None:
    if shutil.which("ruff", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("ruff is not installed")
    paths = [str(PACKAGE / name) for name in generate()]
    ruff = str(Path(sys.executable).parent / "ruff")
    done = subprocess.run(
        [ruff, "format", "--check", "--no-cache", *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_event_of_the_contract_is_in_the_tables() -> None:
    assert len(DOCUMENT["events"]) == 33
    assert set(tables.EVENTS) == {entry["kebab"] for entry in DOCUMENT["events"].values()}
    for name, entry in DOCUMENT["events"].items():
        record = tables.EVENTS[entry["kebab"]]
        assert tables.EVENT_NAMES[name] == entry["kebab"]
        assert record.name == name
        assert record.hook == entry["kebab"].replace("-", "_")
        assert record.is_tool is ("tool_input" in entry["input"])
        assert record.can_block is entry["blockable"]
        assert record.matcher == entry["matcher_field"]
        assert record.timeout == entry["default_timeout_s"]
        assert list(record.discarded) == entry["discarded_universal_fields"]


def test_every_tool_of_the_contract_has_a_hook_suffix() -> None:
    assert set(tables.TOOLS) == set(DOCUMENT["tools"]) - {"mcp__<server>__<tool>"}
    assert len(set(tables.TOOLS.values())) == 55
    assert set(tables.TOOL_ALIASES.values()) <= set(tables.TOOLS)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("AskUserQuestion", "ask_user_question"),
        ("LSP", "lsp"),
        ("propose_skills", "propose_skills"),
        ("ListMcpResourcesTool", "list_mcp_resources_tool"),
        ("ReadHTTPBody", "read_http_body"),
    ],
)
def test_snake_case_of_names(name: str, suffix: str) -> None:
    assert snake(name) == suffix


@pytest.mark.parametrize("event", DOCUMENT["events"])
def test_parity_of_event_fields_with_the_contract(event: str) -> None:
    contract = {**DOCUMENT["common_input"], **DOCUMENT["events"][event]["input"]}
    own = DOCUMENT["events"][event]["input"]
    table = {wire: required for wire, _kind, required, *_ in tables.FIELDS[event].values()}
    assert all_fields(contract) - set(table) == set(), f"{event}: missing from the tables"
    assert set(table) - all_fields(contract) == set(), f"{event}: in the tables, not in the contract"
    required = {wire for wire, is_required in table.items() if is_required}
    assert required == required_fields(DOCUMENT["common_input"]) | required_fields(own)


@pytest.mark.parametrize("record", [*tables.FIELDS, *TOOL_FIELDS])
def test_parity_of_classes_with_the_tables(record: str) -> None:
    fields = {field.name: field for field in attrs.fields(record_class(record)) if field.name != "raw"}
    table = fields_of(record)
    assert set(table) - set(fields) == set(), f"{record}: missing from the class"
    assert set(fields) - set(table) == set(), f"{record}: in the class, not in the contract"
    for name, (_wire, _kind, required, _nested, default) in table.items():
        assert (fields[name].default is attrs.NOTHING) is required, f"{record}.{name}"
        assert required or fields[name].default == default, f"{record}.{name}"


def shapes(direction: str) -> list[tuple[str, str, Any]]:
    """Return tool, record and what the contract says of it, for every tool that it says something of."""
    return [
        (tool.name, tool.input if direction == "input" else tool.output, DOCUMENT["tools"][tool.name][direction])
        for tool in read_contract().tools.values()
        if DOCUMENT["tools"][tool.name][direction] is not None
    ]


@pytest.mark.parametrize(("tool", "record", "shape"), shapes("input"))
def test_parity_of_tool_inputs_with_the_contract(tool: str, record: str, shape: dict[str, Any]) -> None:
    if "properties" in shape:
        expected = {wire: wire in shape.get("required", ()) for wire in shape["properties"]}
    else:
        expected = {wire: entry["required"] for wire, entry in shape.items() if wire != "[key: string]"}
    assert {wire: required for wire, _kind, required, *_ in fields_of(record).values()} == expected


@pytest.mark.parametrize(("tool", "record", "shape"), shapes("output"))
def test_parity_of_tool_responses_with_the_contract(tool: str, record: str, shape: Any) -> None:
    table = {wire: required for wire, _kind, required, *_ in fields_of(record).values()}
    if isinstance(shape, list):
        assert table == {"": True}
        return
    forms = shape.get("oneOf", [shape])
    assert set(table) == {wire for form in forms for wire in form} - {"[key: string]"}
    for wire, required in table.items():
        assert required is all(wire in form and form[wire]["required"] for form in forms), wire


def test_a_response_that_lacks_what_it_should_have_reads_as_empty_and_an_input_as_none() -> None:
    asked = {record for tool in read_contract().tools.values() for record in inputs_of(tool.input)}
    empty = {"string": "", "number": 0, "boolean": False, "object": {}, "record": {}}
    seen = set()
    for record in [*TOOL_FIELDS, "AskUserQuestionOutput"]:
        for name, (_wire, kind, required, _nested, default) in fields_of(record).items():
            if not required:
                continue
            expected = None if record in asked else () if kind.startswith("array") else empty.get(kind)
            assert default == expected, f"{record}.{name}"
            seen.add(kind)
    assert {"string", "number", "boolean", "record", "array<string>", "array<record>", "string|null"} <= seen


def inputs_of(record: str) -> set[str]:
    nested = [nested for *_, nested, _ in fields_of(record).values() if nested is not None]
    return {record}.union(*map(inputs_of, nested))


def test_a_tool_that_is_not_published_has_classes_that_hold_only_the_raw_object() -> None:
    for name in ("LSPInput", "LSPOutput", "ToolSearchOutput"):
        assert [field.name for field in attrs.fields(getattr(tools, name))] == ["raw"]
        assert "does not publish" in getattr(tools, name).__doc__


def test_parity_of_ask_user_question_with_the_contract() -> None:
    contract = DOCUMENT["tools"]["AskUserQuestion"]
    question = contract["input"]["questions"]["type"]["array"]
    shapes = {
        "AskUserQuestionInput": contract["input"],
        "AskUserQuestionOutput": contract["output"],
        "Question": question,
        "Option": question["options"]["type"]["array"],
    }
    for record, shape in shapes.items():
        table = {wire: required for wire, _kind, required, *_ in tables.FIELDS[record].values()}
        assert set(table) == set(shape), record
        lenient = {"multiSelect", "description"}
        assert {wire for wire in table if table[wire]} == {
            wire for wire, entry in shape.items() if entry["required"] and wire not in lenient
        }, record


@pytest.mark.parametrize("sample", SAMPLES)
def test_parity_of_captured_payloads_with_the_contract(sample: str) -> None:
    payload = SAMPLES[sample]["payload"]
    event = payload["hook_event_name"]
    own = DOCUMENT["events"][event]["input"]
    missing = (required_fields(DOCUMENT["common_input"]) | required_fields(own)) - set(payload)
    extra = set(payload) - all_fields({**DOCUMENT["common_input"], **own})
    assert missing == set(), f"{sample} lacks fields that the contract requires"
    assert {(event, name) for name in extra} - KNOWN_EXTRA == set(), f"{sample} has fields that the contract lacks"


def unknown(record: str, raw: object) -> set[tuple[str, str]]:
    """Return (record, field) for each field that no class has."""
    if not isinstance(raw, dict):
        return set()
    known = {wire: (kind, nested) for wire, kind, _required, nested, _default in fields_of(record).values()}
    found = {(record, wire) for wire in raw if wire not in known}
    for wire, (kind, below) in known.items():
        value = raw.get(wire)
        if below is not None and value is not None:
            items = value if isinstance(value, list) else value.values() if kind == "map<record>" else [value]
            found = found.union(*(unknown(below, item) for item in items))
    return found


@pytest.mark.parametrize("sample", [key for key, sample in SAMPLES.items() if "tool_name" in sample["payload"]])
def test_parity_of_captured_calls_with_the_contract(sample: str) -> None:
    payload = SAMPLES[sample]["payload"]
    if mcp_name(payload["tool_name"]) is not None:
        return
    for record, key in (
        (f"{payload['tool_name']}Input", "tool_input"),
        (f"{payload['tool_name']}Output", "tool_response"),
    ):
        if key in payload:
            assert check(record, payload[key]) == ([], [])
            assert unknown(record, payload[key]) <= KNOWN_TOOL_EXTRA


def test_captured_payloads_cover_the_events_but_for_those_that_could_not_be_provoked() -> None:
    seen = {sample["payload"]["hook_event_name"] for sample in SAMPLES.values()}
    assert set(DOCUMENT["events"]) - seen == {
        "PermissionDenied",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "WorktreeRemove",
    }


def test_every_class_of_events_and_tools_is_exported() -> None:
    classes = {name for name in tables.FIELDS if hasattr(events, name)}
    assert classes | {"Event", "EVENT_CLASSES"} == set(events.__all__)
    helpers = {"mcp_name", "mcp_text", "typed_input", "typed_response"}
    assert (set(tables.FIELDS) - classes) | set(TOOL_FIELDS) | helpers == set(tools.__all__)
    for name in tools.__all__:
        assert getattr(tools, name).__name__ == name
    with pytest.raises(AttributeError, match="BashInptu"):
        _ = tools.BashInptu


def test_a_tool_class_defines_no_class_of_another_tool() -> None:
    code = (
        "import sys; from hookrouter.tools import BashInput\n"
        "own = {name for name in sys.modules if name.startswith('hookrouter.tools.')}\n"
        "assert own == {'hookrouter.tools.bash'}, own\n"
        "import hookrouter.tools; assert 'hookrouter.tool_fields' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_exports_every_class() -> None:
    assert set(tables.FIELDS) | {"Event"} <= set(hookrouter.__all__)
    for name in hookrouter.__all__:
        assert getattr(hookrouter, name) is not None


def test_classes_and_attributes_are_documented() -> None:
    documented: dict[str, set[str]] = {}
    for path in (Path(events.__file__ or ""), *(PACKAGE / "tools").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                assert ast.get_docstring(node), node.name
                documented[node.name] = {
                    field.target.id
                    for field, after in pairwise(node.body)
                    if isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                }
    common = documented["Event"]
    for name, table in tables.FIELDS.items():
        assert set(table) - documented[name] - common == set(), name
    # Of some fields Claude Code says nothing but the name.
    for tool in read_contract().tools.values():
        for name, fields in tool.records.items():
            described = {field.attribute for field in fields if field.doc or field.kind.values}
            assert described | {"raw"} == documented[name], name
