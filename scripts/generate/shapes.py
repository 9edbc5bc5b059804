"""Reads what the contract says of a tool's input and response into records.

A response that has several forms becomes one record with the fields of all of them; those that not every form has are
optional, and their descriptions say which forms have them.
"""

from __future__ import annotations

import re
from typing import Any

import attrs

from hookrouter._contract.document import snake
from scripts.generate.python_text import Field, Kind, sentence

__all__ = ["Tool", "pascal", "read_form", "read_tool"]

OPEN = "[key: string]"
"""The contract's word for "and any other field"."""

ROOTS = {"ListMcpResourcesTool": "resources", "RefreshMcpTools": "servers"}
"""Tool whose response is an array -> the attribute that holds it. Its wire name is empty: the response itself."""

NAMES = {
    "ArtifactRead": "ArtifactPage",
    "ArtifactResults": "ArtifactUploadResult",
    "ArtifactWatches": "ArtifactWatched",
    "BashPr": "BashPullRequest",
    "EditStructuredPatch": "EditHunk",
    "ListMcpResourcesTool": "ListMcpResourcesToolResource",
    "PowerShellPr": "PowerShellPullRequest",
    "RefreshMcpTools": "RefreshMcpToolsServer",
    "TodoWriteNewTodos": "TodoWriteTodo",
    "TodoWriteOldTodos": "TodoWriteTodo",
    "WriteStructuredPatch": "WriteHunk",
}
"""Record as it would be named after its tool and field -> its name."""

DOCS = {
    "additions": "Lines that were added.",
    "agentId": "The agent.",
    "agentType": "The kind of agent.",
    "blockedBy": "The ids of the tasks that this one waits for.",
    "blocks": "The ids of the tasks that wait for this one.",
    "changes": "Lines that were added or deleted.",
    "commandName": "The skill.",
    "commit": "The commit that was made.",
    "cron": "When it runs, as a cron expression.",
    "deletions": "Lines that were deleted.",
    "discardedCommits": "Commits that were thrown away.",
    "discardedFiles": "Files with changes that were thrown away.",
    "durationMs": "Milliseconds that it took.",
    "filename": "The file.",
    "filenames": "The files that were found.",
    "gitDiff": "The change as git shows it.",
    "humanSchedule": "When it runs, in words.",
    "input_tokens": "Tokens that were read.",
    "jobs": "The scheduled prompts.",
    "lines": "The lines of the hunk; each begins with a space, ``-`` or ``+``.",
    "linesAdded": "Lines that were added.",
    "linesRemoved": "Lines that were removed.",
    "newLines": "The number of lines after the change.",
    "newStart": "The first line after the change, from 1.",
    "numFiles": "The number of files that were found.",
    "numLines": "The number of lines in ``content``.",
    "numMatches": "The number of matches.",
    "oldLines": "The number of lines before the change.",
    "oldStart": "The first line before the change, from 1.",
    "originalCwd": "The working directory before the worktree was entered.",
    "output_tokens": "Tokens that were written.",
    "owner": "Who works on it.",
    "patch": "The change as a unified diff.",
    "pr": "The pull request that was worked on.",
    "push": "The push that was made.",
    "recurring": "Whether it runs again and again.",
    "resolvedModel": "The model that was used.",
    "sha": "The commit's hash.",
    "statusChange": "The status before and after.",
    "subject": "The task in one line.",
    "success": "Whether it worked.",
    "tasks": "The tasks.",
    "timedOut": "Whether it ran out of time.",
    "tmuxSessionName": "The tmux session of the worktree.",
    "toolStats": "How often which kind of tool was used.",
    "toolsUsed": "The names of the tools that were used.",
    "totalDurationMs": "Milliseconds that the agent worked.",
    "totalFiles": "The number of files with matches, before any limit.",
    "totalLines": "The number of matching lines, before any limit.",
    "totalTokens": "Tokens that the agent used.",
    "totalToolUseCount": "Tool calls that the agent made.",
    "updatedFields": "The names of the fields that were changed.",
    "worktreeBranch": "The worktree's branch.",
    "worktreePath": "The worktree's folder.",
}
"""Field -> what it holds, if the contract has its name and type only, and these leave a question open."""

FORM_RECORDS = {"questions": "Question", "options": "Option", "annotations": "Annotation"}
"""Field name -> record of AskUserQuestion's input and output."""

FORM_DEFAULTS: dict[tuple[str, str], object] = {
    ("Question", "multiSelect"): False,  # "default false" in the contract: the client fills it in for hooks.
    ("Option", "description"): "",  # The contract's extended form leaves it out.
}

FORM_DOCS = {
    ("Option", "label"): "What is chosen and recorded; unique within the question.",
    ("Option", "description"): "What choosing it means; empty if Claude gave none.",
    ("Option", "preview"): "Text that the dialog shows beside the options while this one has the focus.",
    ("Question", "question"): "The whole text; unique within the form, and the key of its answer.",
    ("Question", "header"): "The short name that the dialog shows as a tab.",
    ("Question", "options"): "The choices; the dialog adds its own rows for free text and for chat below them.",
    ("Question", "multiSelect"): "Whether any number of options may be chosen.",
    ("Annotation", "preview"): "The preview of the chosen option.",
    ("Annotation", "notes"): "The note that was typed to the choice.",
    ("Annotation", "unanswered"): "Why there is no answer: ``skipped``, ``replied_in_chat`` or ``dismissed``; only in "
    "outputs.",
    ("AskUserQuestionInput", "questions"): "The questions in the order of the dialog's tabs.",
    ("AskUserQuestionInput", "answers"): "Question text -> answer, as a hook or a host set it; Claude never does.",
    ("AskUserQuestionInput", "annotations"): "Question text -> what goes with the answer.",
    ("AskUserQuestionInput", "metadata"): "Where the form comes from, under ``source``.",
    ("AskUserQuestionOutput", "questions"): "The questions as they were asked.",
    ("AskUserQuestionOutput", "answers"): "Question text -> answer as JSON: a label, labels joined with ', ', or what "
    "was typed.",
    ("AskUserQuestionOutput", "response"): "A free reply to the whole form.",
    ("AskUserQuestionOutput", "annotations"): "Question text -> what goes with the answer, or why there is none.",
    ("AskUserQuestionOutput", "afkTimeoutMs"): "Milliseconds after which the dialog closed by itself.",
    ("AskUserQuestionOutput", "followUp"): "Whether the person asked to continue with the questions.",
}
"""Record and field -> what it holds."""

FORM_NOTES = {
    "Annotation": "What goes with an answer.",
    "AskUserQuestionInput": "A form of one to four questions.",
    "AskUserQuestionOutput": "What Claude Code recorded for a form.",
    "Option": "One choice of a question.",
    "Question": "One question of a form.",
}

MAX_DOC = 200
"""Characters of a description; the sentences after these are for the model that uses the tool."""


@attrs.frozen
class Tool:
    """One tool of the contract."""

    name: str
    input: str
    """The name of its input's class."""
    output: str
    """The name of its response's class."""
    records: dict[str, list[Field]]
    """The fields of these two and of what is nested in them."""
    notes: dict[str, str]
    """Record -> what its docstring says, beside what it is if it is named after the tool."""


def pascal(name: str) -> str:
    """Return ``name`` as a class is named: ``propose_skills`` -> ``ProposeSkills``, ``Bash`` -> ``Bash``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def read_tool(name: str, entry: dict[str, Any]) -> Tool:
    """Read one tool. Raises ValueError if two different records would get one name."""
    stem = pascal(name)
    reader = _Reader(stem)
    reader.root(f"{stem}Input", _from_schema(entry["input"]))
    asked = set(reader.records)
    reader.root(f"{stem}Output", entry["output"])
    records = {
        record: [_unchecked(field) if record in asked else _with_empty(field) for field in fields]
        for record, fields in reader.records.items()
    }
    return Tool(name, f"{stem}Input", f"{stem}Output", records, reader.notes)


def read_form(entry: dict[str, Any]) -> Tool:
    """Read AskUserQuestion, whose input is checked before any hook sees it. Raises ValueError if it has changed."""
    # Both carry the same map, of which only the output's text spells every field.
    wires = ("preview", "notes", "unanswered")
    records = {"Annotation": [_form_field("Annotation", wire, Kind("string"), False) for wire in wires]}
    if not all(wire in entry["output"]["annotations"]["type"] for wire in wires):
        raise ValueError("the annotations of AskUserQuestion have changed")
    _form_fields("AskUserQuestionInput", entry["input"], records)
    _form_fields("AskUserQuestionOutput", entry["output"], records)
    records["AskUserQuestionOutput"] = [_with_empty(field) for field in records["AskUserQuestionOutput"]]
    return Tool("AskUserQuestion", "AskUserQuestionInput", "AskUserQuestionOutput", records, FORM_NOTES)


def _form_fields(name: str, shape: dict[str, Any], records: dict[str, list[Field]]) -> None:
    """Add the input or output, and the records in it, to ``records``."""
    fields = []
    for wire, entry in shape.items():
        kind = entry["type"]
        if isinstance(kind, dict) and "array" in kind:
            _form_fields(FORM_RECORDS[wire], kind["array"], records)
            parsed = Kind("array<record>", FORM_RECORDS[wire])
        elif isinstance(kind, dict):
            parsed = Kind("object")
        elif kind.startswith("record<") and wire in FORM_RECORDS:
            parsed = Kind("map<record>", FORM_RECORDS[wire])
        elif kind.startswith("record<"):
            parsed = Kind("object")
        else:
            parsed = Kind(kind)
        fields.append(_form_field(name, wire, parsed, entry["required"]))
    if records.setdefault(name, fields) != fields:
        raise ValueError(f"two shapes for {name}")


def _form_field(record: str, wire: str, kind: Kind, required: bool) -> Field:
    default = FORM_DEFAULTS.get((record, wire))
    return Field(wire, kind, required and default is None, default, FORM_DOCS[record, wire])


def _with_empty(field: Field) -> Field:
    """Give a required field of a response the value that it reads as if it is missing, so that its type holds."""
    return attrs.evolve(field, default=field.kind.empty) if field.required else field


def _unchecked(field: Field) -> Field:
    """Say that a required field of an input may read as None: hooks are called whether or not it fits."""
    return attrs.evolve(field, unchecked=field.required)


def _from_schema(shape: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a JSON Schema of an object as the contract writes shapes."""
    if shape is None or "properties" not in shape:
        return shape
    required = shape.get("required", ())
    return {
        key: {"type": entry["type"], "required": key in required, "desc": entry.get("description", "")}
        for key, entry in shape["properties"].items()
    }


class _Reader:
    """Reads the shapes of one tool."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self.records: dict[str, list[Field]] = {}
        self.notes: dict[str, str] = {}

    def root(self, name: str, shape: Any) -> None:
        """Read an input or output as the record ``name``; None for one that is not published."""
        if shape is None:
            self.records[name] = []
            self.notes[name] = "Claude Code does not publish its fields; they are in ``raw``."
        elif isinstance(shape, list):
            kind = self._kind(shape, self._stem)
            held = Field("", kind, required=True, doc="The whole response.", python=ROOTS[self._stem])
            self.records[name] = [held]
            self.notes[name] = "``raw`` is an array."
        else:
            self._record(name, shape)

    def _record(self, name: str, shape: dict[str, Any]) -> None:
        if "oneOf" in shape:
            forms = shape["oneOf"]
            shape, tag = _merged(forms), _tag(forms)
            if tag:
                self.notes[name] = f"Which fields it has depends on ``{snake(tag)}``."
            else:
                self.notes[name] = "It has several forms: which fields there are depends on what was done."
        fields = [self._field(wire, entry) for wire, entry in shape.items() if wire != OPEN]
        if self.records.setdefault(name, fields) != fields:
            raise ValueError(f"two shapes for {name}")

    def _field(self, wire: str, entry: dict[str, Any]) -> Field:
        kind = self._kind(entry["type"], f"{self._stem}{pascal(snake(wire))}")
        return Field(wire, kind, entry["required"], doc=_doc(wire, entry))

    def _kind(self, shape: Any, name: str) -> Kind:
        """Read one type; ``name`` is that of a record that it may be or hold."""
        if isinstance(shape, str):
            return _scalar(shape)
        if isinstance(shape, list):
            return self._array(shape[0], name)
        if "array" in shape:
            return self._array(shape["array"], name)
        if "tuple" in shape:
            return self._array(shape["tuple"][0], name)
        if "oneOf" in shape:
            return self._choice(shape["oneOf"], name)
        if not set(shape) - {OPEN}:
            return Kind("object")
        return self._nested(shape, name)

    def _array(self, item: Any, name: str) -> Kind:
        singular = NAMES.get(name) or re.sub(r"s$", "", re.sub(r"ies$", "y", name))
        inner = self._kind(item, singular)
        known = inner.name in ("string", "object", "record", "record|string")
        return Kind(f"array<{inner.name if known else 'any'}>", inner.record)

    def _choice(self, forms: list[Any], name: str) -> Kind:
        rest = [form for form in forms if form != "null"]
        null = "|null" if len(rest) < len(forms) else ""
        shapes = [form for form in rest if isinstance(form, dict)]
        if len(rest) == 1:
            kind = self._kind(rest[0], name)
        elif shapes == rest:
            kind = self._nested({"oneOf": rest}, name)
        elif len(shapes) == 1 and set(map(str, rest)) == {str(shapes[0]), "string"}:
            kind = Kind("record|string", self._nested(shapes[0], name).record)
        else:
            return Kind("any")
        return attrs.evolve(kind, name=f"{kind.name}{null}")

    def _nested(self, shape: dict[str, Any], name: str) -> Kind:
        name = NAMES.get(name, name)
        self._record(name, shape)
        return Kind("record", name)


def _scalar(text: str) -> Kind:
    values = tuple(re.findall(r'"([^"]*)"', text))
    if values:
        # "latest" | string
        return Kind("string", values=() if re.search(r"\bstring\b", re.sub(r'"[^"]*"', "", text)) else values)
    names = {"true": "boolean", "false": "boolean", "unknown": "any"}
    name = text.replace(" ", "")
    return Kind(names.get(name, name))


def _tag(forms: list[dict[str, Any]]) -> str | None:
    """Return the field whose value says which of the forms it is."""
    for wire in forms[0]:
        texts = {str(form.get(wire, {}).get("type")) for form in forms}
        if len(texts) == len(forms) and all(re.fullmatch('"[^"]*"', text) for text in texts):
            return wire
    return None


def _merged(forms: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one shape with the fields of all forms."""
    tag = _tag(forms)
    merged = {}
    for wire in dict.fromkeys(wire for form in forms for wire in form):
        having = [form for form in forms if wire in form]
        merged[wire] = {
            "type": _merged_type([form[wire]["type"] for form in having]),
            "required": len(having) == len(forms) and all(form[wire]["required"] for form in having),
            "desc": next((form[wire]["desc"] for form in having if form[wire].get("desc")), ""),
        }
        if tag is not None and len(having) < len(forms):
            values = [f"``{_scalar(form[tag]['type']).values[0]}``" for form in having]
            listed = " or ".join(filter(None, [", ".join(values[:-1]), values[-1]]))
            merged[wire]["only"] = f"Only with ``{snake(tag)}`` {listed}."
    return merged


def _merged_type(types: list[Any]) -> Any:
    different = [shape for index, shape in enumerate(types) if shape not in types[:index]]
    if len(different) == 1:
        return different[0]
    if all(isinstance(shape, str) and '"' in shape for shape in different):
        return " | ".join(different)
    if all(isinstance(shape, list) for shape in different):
        return [_merged_type([shape[0] for shape in different])]
    if all(isinstance(shape, dict) and "oneOf" not in shape for shape in different):
        return _merged(different)
    return {"oneOf": different}


def _doc(wire: str, entry: dict[str, Any]) -> str:
    text = _shortened(entry.get("desc") or DOCS.get(wire, ""))
    return " ".join(filter(None, [sentence(text) if text else "", entry.get("only", "")]))


def _shortened(text: str) -> str:
    """Return the first sentences of a description, at most MAX_DOC characters unless the first has more.

    The contract cuts long descriptions off, so an unfinished last sentence is left out.
    """
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", " ".join(text.split()))
    sentences = re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z\"`])", text)
    kept = sentences[0]
    for following in sentences[1:]:
        if len(f"{kept} {following}") > MAX_DOC or not following.endswith((".", "!", "?", ")")):
            break
        kept = f"{kept} {following}"
    return kept
