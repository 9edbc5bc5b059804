"""The contract, the generated modules and the captured payloads agree with each other."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hookrouter
from hookrouter import events, tools
from hookrouter._contract import tables
from hookrouter._contract.document import contract, recorded, snake
from hookrouter._contract.hook_names import mcp_name
from hookrouter.records import Record, check
from scripts.generate.contract import PACKAGE, generate, main
from scripts.generate.reading import read_contract
from support.record_classes import RECORDS

DOCUMENT: dict[str, Any] = contract()
SAMPLES: dict[str, Any] = recorded()

# Found in captured payloads, absent from the contract. Empty: add what a newer capture brings, then the contract.
KNOWN_EXTRA: set[tuple[str, str]] = set()

# What the client counts for itself.
KNOWN_TOOL_EXTRA = {
    ("AgentOutput", "harnessNoteCount"),
    ("AgentOutput", "harnessTailCount"),
    ("AgentOutput", "harnessSectionHash"),
}


def required_by_wire(record: str) -> dict[str, bool]:
    return {field.wire: field.required for field in RECORDS[record].FIELDS.values()}


def required_fields(record: dict[str, str]) -> set[str]:
    return {name for name in record if not name.endswith("?")}


def all_fields(record: dict[str, str]) -> set[str]:
    return {name.removesuffix("?") for name in record}


def test_committed_modules_are_what_the_generator_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, f"run python -m scripts.generate.contract: {capsys.readouterr().out}"


def test_check_names_a_module_that_differs_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in generate():
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(PACKAGE / name, target)
    (tmp_path / "_contract" / "tables.py").write_text("EVENTS = {}\n", encoding="utf-8")
    (tmp_path / "events" / "tomorrow.py").write_text("", encoding="utf-8")
    (tmp_path / "tools" / "yesterday.py").write_text("", encoding="utf-8")
    monkeypatch.setattr("scripts.generate.contract.PACKAGE", tmp_path)
    assert main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "_contract/tables.py is out of date",
        "events/tomorrow.py belongs to no event",
        "tools/yesterday.py belongs to no tool",
    ]
    assert (tmp_path / "_contract" / "tables.py").read_text(encoding="utf-8") == "EVENTS = {}\n"
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
    known = {**DOCUMENT["common_input"], **DOCUMENT["events"][event]["input"]}
    own = DOCUMENT["events"][event]["input"]
    table = required_by_wire(event)
    assert all_fields(known) - set(table) == set(), f"{event}: missing from the class"
    assert set(table) - all_fields(known) == set(), f"{event}: in the class, not in the contract"
    required = {wire for wire, is_required in table.items() if is_required}
    assert required == required_fields(DOCUMENT["common_input"]) | required_fields(own)


@pytest.mark.parametrize("record", RECORDS)
def test_annotations_say_what_fields_read_as(record: str) -> None:
    """A field that may read as None is annotated so; what an input requires may be missing, too."""
    kind = RECORDS[record]
    for name, field in kind.FIELDS.items():
        owner = next(base for base in kind.__mro__ if name in vars(base))
        annotation = owner.__annotations__[name]
        may_be_none = field.default is None and not (field.required and record in CHECKED)
        if field.kind != "any":
            assert annotation.endswith(" | None") is (may_be_none or field.kind.endswith("|null")), f"{record}.{name}"


CHECKED = {"ToolCall", "Effort", "McpServer", "BackgroundTask", "SessionCron", "Question", "Option", "Annotation"} | {
    "AskUserQuestionInput",
    "Event",
    "UnknownEvent",
    *DOCUMENT["events"],
}
"""The records that are checked before any hook sees them."""


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
    assert required_by_wire(record) == expected


@pytest.mark.parametrize(("tool", "record", "shape"), shapes("output"))
def test_parity_of_tool_responses_with_the_contract(tool: str, record: str, shape: Any) -> None:
    table = required_by_wire(record)
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
    for record in (set(tools.__all__) & set(RECORDS)) - CHECKED:
        for name, field in RECORDS[record].FIELDS.items():
            if not field.required:
                continue
            expected = None if record in asked else () if field.kind.startswith("array") else empty.get(field.kind)
            assert field.default == expected, f"{record}.{name}"
            seen.add(field.kind)
    assert {"string", "number", "boolean", "record", "array<string>", "array<record>", "string|null"} <= seen


def inputs_of(record: str) -> set[str]:
    nested = [field.record for field in RECORDS[record].FIELDS.values()]
    return {record}.union(*(inputs_of(kind.__name__) for kind in nested if kind is not None))


def test_a_tool_that_is_not_published_has_classes_that_hold_only_the_raw_object() -> None:
    for name in ("LSPInput", "LSPOutput", "ToolSearchOutput"):
        assert RECORDS[name].FIELDS == {}
        assert "does not publish" in getattr(tools, name).__doc__


def test_parity_of_ask_user_question_with_the_contract() -> None:
    form = DOCUMENT["tools"]["AskUserQuestion"]
    question = form["input"]["questions"]["type"]["array"]
    shapes = {
        "AskUserQuestionInput": form["input"],
        "AskUserQuestionOutput": form["output"],
        "Question": question,
        "Option": question["options"]["type"]["array"],
    }
    for record, shape in shapes.items():
        table = required_by_wire(record)
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


def unknown(record: type[Record], raw: object) -> set[tuple[str, str]]:
    """Return (record, field) for each field that no class has."""
    if not isinstance(raw, dict):
        return set()
    known = {field.wire: (field.kind, field.record) for field in record.FIELDS.values()}
    found = {(record.__name__, wire) for wire in raw if wire not in known}
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
            assert check(RECORDS[record], payload[key]) == ([], [])
            assert unknown(RECORDS[record], payload[key]) <= KNOWN_TOOL_EXTRA


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
    read = read_contract()
    assert {"Event", "UnknownEvent", "EVENT_CLASSES", *DOCUMENT["events"], *read.nested} == set(events.__all__)
    helpers = {"mcp_name", "mcp_text", "typed_input", "typed_response"}
    assert {name for tool in read.tools.values() for name in tool.records} | helpers == set(tools.__all__)
    for name in tools.__all__:
        assert getattr(tools, name).__name__ == name
    with pytest.raises(AttributeError, match="BashInptu"):
        _ = tools.BashInptu


def test_a_tool_class_defines_no_class_of_another_tool() -> None:
    code = (
        "import sys; from hookrouter.tools import BashInput\n"
        "own = {name for name in sys.modules if name.startswith('hookrouter.tools.')}\n"
        "assert own == {'hookrouter.tools.bash', 'hookrouter.tools.calls'}, own\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_event_class_defines_no_class_of_another_event() -> None:
    code = (
        "import sys; from hookrouter.events import PreToolUse\n"
        "own = {name for name in sys.modules if name.startswith('hookrouter.events.')}\n"
        "assert own == {'hookrouter.events.event', 'hookrouter.events.pre_tool_use'}, own\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_package_exports_every_class() -> None:
    assert {*events.__all__} - {"EVENT_CLASSES"} <= set(hookrouter.__all__)
    for name in hookrouter.__all__:
        assert getattr(hookrouter, name) is not None


def test_classes_and_attributes_are_documented() -> None:
    documented: dict[str, set[str]] = {}
    for path in (*(PACKAGE / "events").glob("*.py"), *(PACKAGE / "tools").glob("*.py")):
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
    for name in (*DOCUMENT["events"], *read_contract().nested):
        assert set(RECORDS[name].FIELDS) - documented[name] - common == set(), name
    # Of some fields Claude Code says nothing but the name.
    for tool in read_contract().tools.values():
        for name, fields in tool.records.items():
            described = {field.attribute for field in fields if field.doc or field.kind.values}
            assert described == documented[name], name
