"""What proves an item, on records that clients have written, and on any text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter.queue.items import DONE, FAILED, STARTED, Item, kind_of
from hookrouter.queue.proof import (
    BEHIND_STOP,
    doorbell_text,
    is_interrupted,
    is_same_text,
    is_wake,
    proof_by_compaction,
    proof_by_prompt,
    proof_by_records,
    proof_by_reply,
    proof_by_start,
    unwrapped,
)

BEFORE, SINCE, AFTER = "2026-11-24T22:14:19.000Z", "2026-11-24T22:14:20.000Z", "2026-11-24T22:14:21.000Z"

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1).filter(
    lambda text: text.strip() == text
)

WAKE = (
    "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n"
    'Stop hook blocking error from command "FileChanged": {}\n\n</system-reminder>'
)
"""What a client gives itself if a hook wakes it (2.1.330)."""


def item(text: str) -> Item:
    return Item(id="20261124T221419-0badcafe", kind=kind_of(text), text=text, by="agent")


def waiting(operation: str) -> bytes:
    """Return what tells that a prompt is put into the client's own queue, or taken out of it."""
    return line({"type": "queue-operation", "operation": operation, "content": "hello one", "timestamp": AFTER})


def user(content: object, at: str = AFTER, **more: object) -> bytes:
    return line({"type": "user", "message": {"role": "user", "content": content}, "timestamp": at, **more})


def system(content: str, at: str = AFTER, subtype: str = "local_command") -> bytes:
    return line({"type": "system", "subtype": subtype, "content": content, "timestamp": at})


def line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode()


def command(name: str, arguments: str = "") -> str:
    """Return how a local command is recorded (2.0.76 to 2.1.330)."""
    return (
        f"<command-name>/{name}</command-name>\n            <command-message>{name}</command-message>\n"
        f"            <command-args>{arguments}</command-args>"
    )


def expanded(name: str, arguments: str) -> str:
    """Return how a command of a project is recorded (2.0.76 to 2.1.330)."""
    return (
        f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
        f"<command-args>{arguments}</command-args>"
    )


def output(text: str, stream: str = "stdout") -> str:
    return f"<local-command-{stream}>{text}</local-command-{stream}>"


@given(TEXTS)
def test_a_text_is_known_however_the_client_wraps_its_paste(text: str) -> None:
    pasted = f'\n\n<pasted_content id="17eb">\n{text}\n</pasted_content id="17eb">\n'
    assert is_same_text(text, text)
    assert is_same_text(text, f" \n{text}\n ")
    assert is_same_text(text, pasted)


@given(TEXTS, TEXTS)
@example("a", "b\nc")
def test_what_is_typed_before_a_paste_stands_before_it(typed: str, text: str) -> None:
    assert unwrapped(f'{typed}\n\n<pasted_content id="1">\n{text}\n</pasted_content id="1">\n') == typed + text


@given(TEXTS, TEXTS)
def test_another_text_is_not_ours(text: str, other: str) -> None:
    assert is_same_text(text, other) == (text == other or unwrapped(other).strip() == text)
    assert not is_same_text(text, text + "x")
    assert not is_same_text(text, "x" + text)


@given(TEXTS)
@example("<task-notification>")
def test_a_prompt_proves_the_item_that_it_is(text: str) -> None:
    proof = proof_by_prompt(item(text), text)
    assert proof is not None
    assert proof.state == STARTED


@given(TEXTS)
def test_a_wake_proves_the_item_that_it_names_only(text: str) -> None:
    mine = item(text)
    assert proof_by_prompt(mine, WAKE.format(doorbell_text(mine))) is not None
    assert proof_by_prompt(mine, WAKE.format(text)) is None
    assert is_wake(WAKE.format(text))


@given(TEXTS, TEXTS)
def test_a_reply_is_proven_by_its_whole_text_only(text: str, other: str) -> None:
    mine, behind = item(text), BEHIND_STOP
    assert proof_by_reply(mine, [user(text), b"broken {"], SINCE) is None
    proven = proof_by_reply(mine, [user(f"{behind}{other}"), user(f"{behind}{text}")], SINCE)
    assert proven is not None
    assert proven.state == STARTED
    # Backslashes behind a tag's beginning may be the client's.
    cut = proof_by_reply(mine, [user(f"{behind}{text[:-1]}")], SINCE)
    assert cut is not None
    assert cut.state == FAILED or text.endswith("\\")


@pytest.mark.parametrize(
    ("text", "instructions", "is_ours"),
    [
        ("/compact keep the plan", "keep the plan", True),
        ("/compact", None, True),
        ("/compact", "", True),
        ("/compact", "keep", False),
        ("/compact keep", None, False),
        ("/clear", None, False),
        ("compact", None, False),
    ],
)
def test_a_compaction_proves_the_command_with_its_words(text: str, instructions: str | None, is_ours: bool) -> None:
    assert (proof_by_compaction(item(text), instructions) is not None) == is_ours


def test_the_start_of_the_next_session_proves_what_clears() -> None:
    proof = proof_by_start(item("/clear a name"), "1a2d61")
    assert proof is not None
    assert (proof.state, proof.said["session_id"]) == (DONE, "1a2d61")
    assert proof_by_start(item("/clearly"), "1a2d61") is None
    assert proof_by_start(item("clear"), "1a2d61") is None


@pytest.mark.parametrize(
    ("text", "records", "state", "said"),
    [
        ("hello one", [user("hello one")], STARTED, "prompt"),
        ("hello one", [user([{"type": "text", "text": "hello one"}])], STARTED, "prompt"),
        ("hello one", [user("Stop hook feedback:\nhello one", isMeta=True)], STARTED, "prompt"),
        ("hello one", [waiting("enqueue")], STARTED, "prompt"),
        ("hello one", [waiting("enqueue"), waiting("remove"), user("hello one")], STARTED, "prompt"),
        ("/gsd:next a b", [user(expanded("gsd:next", "a b"))], STARTED, "command"),
        ("/context", [system(command("context"))], STARTED, "command"),
        ("/context", [system(command("context")), system(output("Context usage"))], DONE, "command"),
        ("/model sonnet", [user(command("model", "sonnet")), user(output("Set model"))], DONE, "command"),
        ("/compact", [user(command("compact")), system(output("Not enough messages to compact."))], FAILED, "command"),
        ("/rename x", [user(command("rename", "x")), user(output("no", "stderr"))], FAILED, "command"),
        (
            "/nope x",
            [system("Unknown command: /nope. Did you mean /copy?", subtype="informational")],
            FAILED,
            "unknown",
        ),
        ("/nope", [user("Unknown slash command: nope")], FAILED, "unknown"),
        ("/nope", [user("Unknown skill: nope")], FAILED, "unknown"),
        (
            "/nope x",
            [
                user("/nope"),
                user("This slash command can only be invoked by Claude, not directly by users. Ask Claude"),
            ],
            FAILED,
            "not for users",
        ),
        ("!ls", [user("<bash-input>ls</bash-input>")], STARTED, "shell"),
        ("! ls -l", [user("<bash-input>ls -l</bash-input>")], STARTED, "shell"),
        ("!ls", [user("!ls")], STARTED, "prompt"),
    ],
)
def test_records_prove_an_item(text: str, records: list[bytes], state: str, said: str) -> None:
    proof = proof_by_records(item(text), [user("something else"), b"broken {", *records], SINCE)
    assert proof is not None
    assert proof.state == state
    assert str(proof.said["record"]).startswith(said)
    assert bool(proof.reason) == (state == FAILED)


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("hello one", [user("hello one", BEFORE)]),
        ("hello one", [waiting("enqueue"), waiting("remove")]),
        ("hello one", [user("hello one", isSidechain=True)]),
        ("hello one", [line({"type": "last-prompt", "lastPrompt": "hello one"})]),
        ("hello one", [line({"type": "assistant", "message": {"content": "hello one"}, "timestamp": AFTER})]),
        ("/model sonnet", [user(command("model", "opus")), user(output("Set model"))]),
        ("/model", [system(output("Set model"))]),
        ("/nope x", [user("/nope"), user("This slash command can only")]),
        (
            "/nope x",
            [user("/nope-not"), user("This slash command can only be invoked by Claude, not directly by users")],
        ),
        ("/nope", [system("Unknown command: /nope-not", subtype="informational")]),
        ("/nope", [system("Unknown command: /nope:not", subtype="informational")]),
        ("!ls", [user("<bash-input>ls -l</bash-input>")]),
        ("!ls", [user("<bash-stdout>x</bash-stdout>")]),
    ],
)
def test_other_records_prove_nothing(text: str, records: list[bytes]) -> None:
    assert proof_by_records(item(text), records, SINCE) is None


def test_that_the_client_lets_it_wait_proves_no_item_of_which_its_channel_hears() -> None:
    handed = item("hello one")._replace(exact=True)
    assert proof_by_records(handed, [waiting("enqueue")], SINCE) is None
    assert proof_by_records(handed, [waiting("enqueue"), user("hello one")], SINCE) is not None


def test_a_shell_command_keeps_what_it_has_said() -> None:
    records = [user("<bash-input>ls</bash-input>"), user("<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>")]
    proof = proof_by_records(item("!ls"), records, SINCE)
    assert proof is not None
    assert proof.said["output"] == "a\nb"


def test_output_is_kept_without_its_colours() -> None:
    records = [user(command("context")), user(output("\x1b[1mContext\x1b[22m"))]
    proof = proof_by_records(item("/context"), records, SINCE)
    assert proof is not None
    assert proof.said["output"] == "Context"


@given(st.lists(st.binary(max_size=80) | st.builds(user, st.text() | st.none() | st.lists(st.text()))))
def test_no_line_of_a_transcript_breaks_it(lines: list[bytes]) -> None:
    for text in ("a", "/b", "!c"):
        proof_by_records(item(text), lines, SINCE)
    is_interrupted(lines, SINCE)


@pytest.mark.parametrize(
    "content",
    ["[Request interrupted by user for tool use]", [{"type": "text", "text": "[Request interrupted by user]"}]],
)
def test_an_interruption_is_known_by_its_record(content: object) -> None:
    assert is_interrupted([user(content)], SINCE)
    assert not is_interrupted([user(content, BEFORE)], SINCE)
