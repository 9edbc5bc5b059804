"""Which commands a message suggests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.queue.items import command_of, kind_of, new_item
from hookrouter.queue.suggestions import LONGEST, MOST, Suggestion, suggested_commands
from hookrouter.util.text import printable


def texts(message: str) -> list[str]:
    return [one.text for one in suggested_commands(message)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("/clear, then /gsd:plan-phase 3", ["/clear", "/gsd:plan-phase 3"]),
        (
            "Phase 2 is planned.\n\nNext: `/clear` then `/gsd:execute-phase 2 --fast`",
            ["/clear", "/gsd:execute-phase 2 --fast"],
        ),
        ("Run /compact and /gsd:verify-work 2.", ["/compact", "/gsd:verify-work 2"]),
        (
            "You can run `/gsd:discuss-phase 4 the API, and nothing else` now.",
            ["/gsd:discuss-phase 4 the API, and nothing else"],
        ),
        ("**Also available:**\n- /gsd:progress\n- /review", ["/gsd:progress", "/review"]),
        ("```\n/gsd:plan-phase 3\n```", ["/gsd:plan-phase 3"]),
        ("```sh\n$ ls\n/clear\n```\nThen /help", ["/clear", "/help"]),
        ("1. /clear\n2. /gsd:next a", ["/clear", "/gsd:next"]),
        ('> Use /model, or "/effort"', ["/model", "/effort"]),
        ("then /clear → /gsd:next", ["/clear", "/gsd:next"]),
        ("Now /gsd:plan-phase 3 follows (and then (/clear)).", ["/gsd:plan-phase 3", "/clear"]),
        ("Run ``/weird `` now", ["/weird"]),
        ("*/clear* then **/gsd:plan-phase 2.1**", ["/clear", "/gsd:plan-phase 2.1"]),
        ("/clear first, then /clear again and /help", ["/clear", "/help"]),
        ("run /gsd:add 'a task' --now", ["/gsd:add 'a task' --now"]),
        # No suggestions
        ("", []),
        ("See https://example.org/clear and http://x/run /", []),
        ("See https://example.org/a then/clear", []),
        ("It is in src/clear and /home/me/clear.", []),
        ("read/write, and/or, then w/o", []),
        ("Run `src/run.py /clear` or /usr/bin/env", []),
        ("the folder /tmp is full", []),
        ("/tmp is full", []),
        ("Then /etc and `/var`", []),
        ("`GET /health`, the `/health` endpoint and then /users pages", []),
        ("either /clear would help", []),
        ("50 km/h, then 3/4", []),
        ("then /clear.py and /clear/all and /a--b", []),
        ("file:///clear and ssh://x/clear mailto:a@b/clear", []),
        ("~/clear, ./clear, ../clear, $HOME/clear, C:/clear", []),
        ("```\nrm -rf /clear\n```", []),
        ("run //clear", []),
        ("`ls`, /data", []),
    ],
)
def test_what_a_message_suggests(message: str, expected: list[str]) -> None:
    assert texts(message) == expected


def test_name_and_arguments_are_told_apart() -> None:
    assert suggested_commands("then `/gsd:plan-phase 3 --fast`") == (
        Suggestion("/gsd:plan-phase 3 --fast", "gsd:plan-phase", "3 --fast"),
    )


def test_the_last_ones_are_told() -> None:
    message = "\n".join(f"- /gsd:step-{number}" for number in range(30))
    assert texts(message) == [f"/gsd:step-{number}" for number in range(30 - MOST, 30)]


def test_what_is_too_long_or_steers_a_terminal_is_none() -> None:
    assert texts(f"`/clear {'x' * LONGEST}`") == []
    assert texts("run `/clear \x1b[2J` or `/clear \u202e`") == []


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(?:[:-][a-z0-9]{1,8}){0,2}", fullmatch=True).filter(
    lambda name: (
        name not in ("tmp", "home", "etc", "usr", "var", "dev", "bin", "lib", "opt", "root", "sys", "proc", "mnt")
        and name not in ("srv", "boot", "media", "sbin", "library", "system", "users", "volumes", "applications")
    )
)
WORDS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="`/\\"), max_size=60)


@given(NAMES, WORDS, WORDS, st.from_regex(r"[a-z0-9]([a-z0-9 ,.-]{0,20}[a-z0-9])?", fullmatch=True))
def test_what_stands_in_backticks_is_found_exactly(name: str, before: str, after: str, arguments: str) -> None:
    text = f"/{name} {arguments}"
    assert texts(f"{before} `{text}` - {after}") == [text]


@given(NAMES, st.sampled_from(["run ", "then ", "Then: ", "- ", "2. ", "and then run "]))
def test_a_cue_is_enough(name: str, cue: str) -> None:
    assert texts(f"{cue}/{name}") == [f"/{name}"]
    assert texts(f"{cue}/{name}, then /clear") == list(dict.fromkeys([f"/{name}", "/clear"]))


@given(
    NAMES,
    # Underscores alone before a name are what makes it italic or bold.
    st.from_regex(r"_*[A-Za-z0-9.~%$}-][A-Za-z0-9_.~%$}-]{0,20}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9_.-]{1,10}", fullmatch=True),
)
def test_no_part_of_a_path_an_address_or_a_word_is_found(name: str, head: str, tail: str) -> None:
    for one in (f"{head}/{name}", f"/{head}/{name}", f"/{name}/{tail}", f"https://{head}/{name}", f"x:/{name}"):
        assert texts(f"then run {one} now") == [], one


@pytest.mark.parametrize("marks", ["_", "__", "*", "**"])
def test_marks_of_what_is_italic_or_bold_are_no_part_of_a_path(marks: str) -> None:
    assert texts(f"then run {marks}/clear{marks} now") == ["/clear"]
    assert texts(f"{marks}/clear{marks}") == ["/clear"]


@given(st.text())
def test_whatever_is_found_can_be_queued_as_it_is(message: str) -> None:
    for one in suggested_commands(message):
        assert printable(one.text) == one.text
        item = new_item(one.text, by="agent")
        assert (item.text, kind_of(item.text)) == (one.text, "command")
        assert command_of(item.text) == (one.name, one.arguments)
