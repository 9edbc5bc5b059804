"""Nothing that Claude, a server, the client or a session's name supplied stands in hookrouter's own voice.

Each message is built with foreign text in every field that is not hookrouter's own. What is left of it without quoted
lines, code spans and code blocks, as CommonMark reads them, may hold none of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hookrouter import events
from hookrouter.answering.interfaces import SeenDialog
from hookrouter.config import AnswerConfig
from hookrouter.dialogs.comparison import Comparison, QuestionResult
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.messages.closed import closed_words
from hookrouter.dialogs.messages.formatting import (
    Surroundings,
    mismatch_message,
    question_message,
    reminder_message,
    subject,
    unanswered_message,
)
from hookrouter.dialogs.messages.outgoing import wake_text
from hookrouter.dialogs.messages.reminders import follow_ups
from hookrouter.dialogs.messages.to_person import escalation_lead, person_message, person_reminder
from hookrouter.dialogs.verdicts import Verdict
from hookrouter.messaging.gateway import Message
from hookrouter.queue.documents import Hold, Queue
from hookrouter.queue.items import Item
from hookrouter.queue.messages.data import News, session_data
from hookrouter.queue.messages.formatting import message_text
from hookrouter.queue.messages.formatting import subject as session_subject
from hookrouter.sessions.limits import Failure
from hookrouter.sessions.records import SessionRecord
from hookrouter.terminals import Screen
from hookrouter.util.markdown import code
from hookrouter_approvals.requests import form_request, permission_request, plan_request
from hookrouter_blocked.dialog import Stopped
from hookrouter_openclaw.posting import notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it.token import Token

    from hookrouter.dialogs.opening import Opening

ARGV = ["/opt/venv/bin/hookrouter"]
MARK = "FOREIGN"
_READER = MarkdownIt("commonmark")
_BREAKERS = [
    *("`", "``", "```", "`````", "'", '"', "\\", "\\`", "~~~", "$", "{}", "*", "**", "_", "|", "&#96;"),
    *("\n", "\n\n", "\n> ", "\n# ", "\n- ", "\n    ", "\n```\n", "\n```sh\n", "\r", "\r\n", "\t", "\x0b", "\x85"),
    *(" ", "> ", "<b>", "</code>", "<!--", "](http://x)", "\u2028", "\u2029", "\x1b[2J", "\u202e", "é"),
]


def foreign_texts() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from([MARK, *_BREAKERS]), max_size=12).map("".join).map(lambda text: text + MARK)


def own_voice(text: str) -> str:
    """Return what of a message stands outside of quoted lines, code spans and code blocks.

    It is read twice: as CommonMark has it, and by lines, as whoever was told that quoted lines begin with ``>``.
    """
    unquoted = "\n".join("" if line.startswith(">") else line for line in text.split("\n"))
    return "\n".join([*_voice(_READER.parse(text)), *_voice(_READER.parse(unquoted))])


def _voice(tokens: list[Token]) -> Iterator[str]:
    quotes = 0
    for token in tokens:
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if quotes or token.type in ("fence", "code_block"):
            yield token.info if token.type == "fence" and not quotes else ""
        elif token.children is None:
            yield token.content
        else:
            yield from (f"{one.content} {one.attrs}" for one in token.children if one.type != "code_inline")


def _question(text: str, **fields: Any) -> Dialog:
    form = {
        "question": text,
        "header": text,
        "options": [{"label": text, "description": text, "preview": text}, {"label": text, "markdown": text}],
    }
    known: dict[str, Any] = {
        **dict.fromkeys(("session", "session_id", "tool_use_id", "cwd", "transcript_path", "agent"), text),
        **dict.fromkeys(("permission_mode", "agent_id", "gateway"), text),
        "questions": [form, {**form, "multiSelect": True}],
        "terminal": None,
        "saved_at": "2026-11-21T10:00:00.000Z",
    }
    return Dialog(**{**known, **fields})


def _asked(text: str, opening: Opening) -> Dialog:
    fields = opening._asdict()
    # What is saved is JSON.
    return _question(text, **{**fields, "request": json.loads(json.dumps(dict(fields["request"])))})


def _permission(text: str, tool: str | None = None, tool_input: dict[str, Any] | None = None) -> Dialog:
    suggestions = [
        {"type": "addRules", "behavior": text, "destination": text, "rules": [{"toolName": text, "ruleContent": text}]},
        {"type": "addRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": text}]},
        {"type": "addDirectories", "directories": [text, text], "destination": "localSettings"},
        {"type": "setMode", "mode": text, "destination": text},
        {"type": text, text: text},
    ]
    payload = {
        "tool_name": text if tool is None else tool,
        "tool_input": {text: text} if tool_input is None else tool_input,
        "permission_suggestions": suggestions,
        **_place(text),
    }
    return _asked(text, permission_request(events.PermissionRequest.from_json(payload), text, text, ()))


def _plan(text: str) -> Dialog:
    payload = {"tool_name": "ExitPlanMode", "tool_input": {"plan": text, text: text}, **_place(text)}
    return _asked(text, plan_request(events.PermissionRequest.from_json(payload), text, text, ()))


def _server_form(text: str, mode: str = "form") -> Dialog:
    named = [{"const": text, "title": text}]
    fields: dict[str, Any] = {
        text: {"type": text, "title": text, "description": text, "default": text, "format": text},
        f"{text}1": {"type": "string", "oneOf": named},
        f"{text}2": {"type": "array", "items": {"enum": [text], "enumNames": [text]}},
    }
    payload = {
        "mcp_server_name": text,
        "message": text,
        "mode": mode,
        "url": text,
        "elicitation_id": text,
        "requested_schema": {"type": "object", "properties": fields, "required": [text]},
        **_place(text),
    }
    return _asked(text, form_request(events.Elicitation.from_json(payload), text, text))


def _place(text: str) -> dict[str, str]:
    return dict.fromkeys(("session_id", "transcript_path", "cwd", "permission_mode", "agent_id"), text)


def _blocked(text: str, *, known: bool = True) -> Dialog:
    seen = SeenDialog("workspace trust", (text, text), (text,)) if known else None
    screen = Screen((text, text), 80, 2)
    return _asked(text, Stopped("key", 1, text, text, None, seen, screen).opening(text))


DIALOGS: dict[str, Callable[[str], Dialog]] = {
    "question": _question,
    "permission": _permission,
    "permission to run": lambda text: _permission(text, "Bash", {"command": text, "description": text}),
    "permission to edit": lambda text: _permission(
        text, "Edit", {"file_path": text, "old_string": text, "new_string": f"{text}\n{text}"}
    ),
    "plan": _plan,
    "form": _server_form,
    "address": lambda text: _server_form(text, "url"),
    "blocked": _blocked,
    "blocked by what is not known": lambda text: _blocked(text, known=False),
    "of an older version": lambda text: _question(text, kind="blocked", request={"how": [f"- row: {text}", text]}),
}


def _around(text: str) -> Surroundings:
    earlier = ({"question": text, "answer": text, "by": "agent", "at": text},)
    return Surroundings(text, text, text, text, text, earlier)


def _ended_in_a_mismatch(question: Dialog, text: str) -> str:
    results = [
        QuestionResult(text, result, text, recorded, "", text, text)
        for result in ("different", "notes_differ")
        for recorded in (text, None, "", {text: [text]})
    ]
    return mismatch_message(question, Comparison(False, "text", tuple(results), (text,), text))


def _closed(question: Dialog, text: str) -> list[str]:
    found = []
    for outcome in ("verified", "mismatch", "unverified", "chat", "unanswered", "answered_by_person", text):
        for by in ("agent", "person"):
            verdict = Verdict(text, text, text, outcome, text, by, text, agent=text, kind=question.kind)
            found += closed_words(verdict, [(text, text)])
    return found


def _later(question: Dialog, text: str) -> list[str]:
    """Return what a question's reminders and its escalation are until they go out, and then."""
    wake = Message("question", text, text, text, text, text, subject(question), "", id="m-1")
    settings = AnswerConfig(remind_after=60.0, reminders=3, escalate_to="x", escalate_after=60.0)
    then = [one.message for one in follow_ups(question, wake, settings, text)]
    assert {one.kind for one in then} == {"reminder", "escalation"}
    lead = escalation_lead(question, 60)
    return [
        *(part for one in then for part in (one.subject, one.text)),
        reminder_message(question, ARGV, {}, 60, 1, 3),
        person_reminder(question, ARGV, {}, 60, 1, 3),
        question_message(question, ARGV, {}, "", lead=lead),
        person_message(question, ARGV, {}, lead=lead),
        *(notice(one) for one in then),
    ]


MESSAGES: dict[str, Callable[[Dialog, str], list[str]]] = {
    "subject": lambda question, _: [subject(question)],
    "as put in": lambda question, _: [
        wake_text(question, ARGV, {}, [question], to_person=one) for one in (True, False)
    ],
    "to an agent": lambda question, text: [
        question_message(question, ARGV, {}, guidance, [question], surroundings=_around(text))
        for guidance in ("", "Decide well.")
    ],
    "to a person": lambda question, text: [
        person_message(question, ARGV, {}, others, surroundings=_around(text)) for others in ([], [question])
    ],
    "later": _later,
    "mismatch": lambda question, text: [_ended_in_a_mismatch(question, text)],
    "unanswered": lambda question, text: [unanswered_message(question, text)],
    "closed": _closed,
}


HOSTILE = (MARK, f"`{MARK}", f"a`: {MARK}; `", f"```\n{MARK}\n\n# {MARK}", f"\n> {MARK}\n\n{MARK}\u2028{MARK}\r{MARK}`")


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("dialog", DIALOGS)
def test_no_message_about_a_dialog_says_anothers_words_as_its_own(dialog: str, message: str) -> None:
    for text in HOSTILE:
        for shown in MESSAGES[message](DIALOGS[dialog](text), text):
            assert MARK not in own_voice(shown)


@given(st.sampled_from(list(DIALOGS.values())), st.sampled_from(list(MESSAGES.values())), foreign_texts())
def test_no_words_leave_their_place_in_a_message_about_a_dialog(
    dialog: Callable[[str], Dialog], message: Callable[[Dialog, str], list[str]], text: str
) -> None:
    for shown in message(dialog(text), text):
        assert MARK not in own_voice(shown)


KINDS = (
    *("turn_ended", "queue_done", "queue_held", "failed", "limited", "idle", "session_started", "session_ended"),
    "subagent_ended",
)


def _session_message(kind: str, text: str, *, to_person: bool, is_held: bool) -> list[str]:
    record = SessionRecord(
        **dict.fromkeys(("session", "session_id", "cwd", "transcript_path", "permission_mode", "model"), text),
        **dict.fromkeys(("prompt_id", "last_message", "error"), text),
        state="idle",
        since="2026-11-21T10:00:00.000Z",
        background=(text, text),
    )
    item = Item(text, "prompt", text, "agent", text, channel=text, reason=text, repeats=text)
    failure = Failure(text, text, "later", None, text)
    queue = Queue(text, (item, item), Hold("person", text) if is_held else None)
    news = News(text, (item,), failure, message=text, status=text, screen=(text, text))
    data = session_data(kind, "night", record, queue, news, ARGV, {}, to_person=to_person)
    data["context"] |= {"branch": text, "used": {"tokens": 10, "window": 100, "percent": 10}}
    data["suggestions"] = [{"text": text, "kind": "prompt"}]
    return [message_text(data), message_text(data, "Judge well."), session_subject(data)]


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("to_person", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_message_about_a_session_says_anothers_words_as_its_own(kind: str, to_person: bool, is_held: bool) -> None:
    for text in HOSTILE:
        for shown in _session_message(kind, text, to_person=to_person, is_held=is_held):
            assert MARK not in own_voice(shown)


@given(st.sampled_from(KINDS), st.booleans(), st.booleans(), foreign_texts())
def test_no_words_leave_their_place_in_a_message_about_a_session(
    kind: str, to_person: bool, is_held: bool, text: str
) -> None:
    for shown in _session_message(kind, text, to_person=to_person, is_held=is_held):
        assert MARK not in own_voice(shown)


@given(text=st.one_of(foreign_texts(), st.text()))
def test_a_code_span_holds_all_of_its_text_and_ends_behind_it(text: str) -> None:
    shown = f"before {code(text)} behind"
    [paragraph] = [token for token in _READER.parse(shown) if token.type == "inline"]
    kinds = [one.type for one in paragraph.children or ()]
    assert kinds == ["text", "code_inline", "text"]


def test_what_is_foreign_is_found_where_it_should_not_be() -> None:
    for leak in (
        "FOREIGN",
        "`a` FOREIGN",
        "# FOREIGN",
        "``` FOREIGN\n```",
        "> a\nFOREIGN",
        "[a](FOREIGN)",
        "<FOREIGN>",
    ):
        assert MARK in own_voice(leak)
    for kept in ("> FOREIGN", "`FOREIGN`", "    FOREIGN", "```\nFOREIGN\n```", "> ```\n> FOREIGN\n\na"):
        assert MARK not in own_voice(kept)
