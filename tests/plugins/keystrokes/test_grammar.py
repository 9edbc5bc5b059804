"""The parser of the dialog: recorded screens of eleven client versions, and screens that try to deceive it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._sandbox.dialog_model import DialogModel
from hookrouter.records import replace
from hookrouter.terminals import Screen
from hookrouter.tools import AskUserQuestionInput, Option, Question
from hookrouter_keystrokes.dialog_forms import DialogKind
from hookrouter_keystrokes.screens.model import (
    UNSURE,
    Closed,
    DialogState,
    LongTextPage,
    Notes,
    OtherDialog,
    Page,
    Prompt,
    Review,
    Row,
    RowKind,
    Unknown,
)
from hookrouter_keystrokes.screens.reading import client_version, read
from hookrouter_keystrokes.screens.text import accented_key, exact_key, key
from support.random_forms import seeded_form

SCREENS = Path(__file__).parents[2] / "data" / "screens"
VERSIONS = sorted((path.name for path in SCREENS.iterdir() if path.name[0].isdigit()), key=lambda name: name.split("."))


def typed(raw: dict[str, list[dict[str, object]]]) -> AskUserQuestionInput:
    return AskUserQuestionInput(
        questions=tuple(
            Question(
                question=str(item["question"]),
                header=str(item["header"]),
                multi_select=bool(item.get("multiSelect")),
                options=tuple(
                    Option(label=each["label"], description=each["description"], preview=each.get("preview"))
                    for each in item["options"]  # type: ignore[attr-defined]
                ),
            )
            for item in raw["questions"]
        )
    )


FORMS = {path.stem: typed(json.loads(path.read_text())) for path in sorted((SCREENS / "questions").glob("*.json"))}
# These draw the same screens, or have the same texts.
SAME = {"markdown": "preview", "tall": "tallmulti", "wide": "widemulti"}


def screen(name: str) -> Screen:
    lines = (SCREENS / f"{name}.txt").read_text().split("\n")
    width = max((len(line) for line in lines if line and not line.strip("─")), default=120)
    return Screen(tuple(line.rstrip(" ") for line in lines), width, len(lines))


def state(name: str, form: str) -> DialogState:
    return read(screen(name), FORMS[form])


def headers(form: str) -> list[str | None]:
    return [question.header for question in FORMS[form].questions]


ALL = sorted(f"{path.parent.name}/{path.stem}" for version in VERSIONS for path in (SCREENS / version).glob("*.txt"))


@pytest.mark.parametrize("name", ALL)
def test_a_recorded_screen_belongs_to_one_form_or_none(name: str) -> None:
    found = {form: state(name, form) for form in FORMS}
    # The tab bar above an empty review may be that of each form with these headers.
    open_tabs = {form for form, each in found.items() if isinstance(each, Review) and each.untouched}
    seen = {SAME.get(form, form) for form, each in found.items() if isinstance(each, (Page, Review))}
    if open_tabs:
        assert open_tabs == {form for form in FORMS if headers(form) == headers(min(open_tabs))}
        assert not any(isinstance(each, Page) or getattr(each, "certain", False) for each in found.values())
        return

    assert len(seen - {"prevsome"}) <= 1
    text = (SCREENS / f"{name}.txt").read_text().rstrip().split("\n")
    dialog = "Enter to select" in "".join(text[-3:]) or "1. Submit answers" in "".join(text[-2:])
    if dialog and "prev-40" not in name and "/D-" not in name:
        assert seen or isinstance(state(name, "single"), LongTextPage)
    if not dialog or "/D-" in name:
        assert not seen


def each_version(name: str) -> list[str]:
    return [version for version in VERSIONS if (SCREENS / version / f"{name}.txt").exists()]


@pytest.mark.parametrize("version", each_version("S1-0-0-open"))
def test_single_select_of_every_version(version: str) -> None:
    page = state(f"{version}/S1-0-0-open", "single")

    assert isinstance(page, Page)
    chat = () if version == "2.0.76" else (Row(RowKind.CHAT),)
    options = tuple(Row(RowKind.OPTION, index, checked=False) for index in range(3))
    assert page.rows == (*options, Row(RowKind.TYPE, checked=False), *chat)
    assert (page.question, page.cursor, page.tabs) == (0, 0, (False,))


@pytest.mark.parametrize("version", each_version("S3-a-2-typed"))
def test_typed_text_of_every_version(version: str) -> None:
    page = state(f"{version}/S3-a-2-typed", "single")

    assert isinstance(page, Page)
    assert page.at(RowKind.TYPE)
    assert page.row(RowKind.TYPE) == Row(RowKind.TYPE, None, checked=False, text="hello typed")


@pytest.mark.parametrize("version", each_version("S7-main-2-two"))
def test_multi_select_of_every_version(version: str) -> None:
    page = state(f"{version}/S7-main-2-two", "tabs")

    assert isinstance(page, Page)
    assert (page.question, page.tabs) == (1, (True, True, False))
    assert [row.checked for row in page.rows[:4]] == [True, False, True, False]
    assert page.at(RowKind.OPTION, 2)
    assert page.row(RowKind.SUBMIT) is not None


@pytest.mark.parametrize("version", each_version("S7-main-5-review"))
def test_review_of_every_version(version: str) -> None:
    review = state(f"{version}/S7-main-5-review", "tabs")

    assert review == Review(("Postgres", "Auth, Export", "You decide"), (False,) * 3, on_submit=True)


@pytest.mark.parametrize("version", each_version("S7-partial-1-review-partial"))
def test_review_with_gaps_of_every_version(version: str) -> None:
    review = state(f"{version}/S7-partial-1-review-partial", "tabs")

    assert review == Review(("Postgres", None, None), (False,) * 3, on_submit=True)


@pytest.mark.parametrize("version", each_version("K-moved-tabs"))
def test_a_review_to_which_a_person_has_moved_before_any_answer(version: str) -> None:
    review = state(f"{version}/K-moved-tabs", "tabs")

    assert review == Review((None,) * 3, (False,) * 3, on_submit=True, certain=False, untouched=True)
    assert isinstance(state(f"{version}/K-moved-tabs", "tabs4"), Unknown)


def test_a_review_on_which_the_client_has_left_the_dialog_before() -> None:
    lone = Review((None,), (False,), on_submit=True, certain=False, untouched=True, kept=True)
    assert state("2.1.150/K-kept-lone", "single") == lone
    assert state("2.1.150/K-kept-lone-cancel", "single") == lone._replace(on_submit=False)
    answered = Review((None, None, "kebab-case"), (False,) * 3, on_submit=True, kept=True)
    assert state("2.1.150/K-kept-tabs", "tabs") == answered


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("☐ Approach", "☒ Approach"),
        ("☐ Approach  ✔ Submit  →", "☐ Approach  ✔ Sub"),
        ("Review your answers", "Review"),
        ("☐ Approach", "☐ Approach  ☐ Tool"),
    ],
)
def test_a_review_is_untouched_only_below_the_whole_tab_bar(before: str, after: str) -> None:
    lines = screen("2.1.150/K-kept-lone").lines
    changed = tuple(line.replace(before, after) for line in lines)
    assert changed != lines
    found = read(Screen(changed, 120, len(changed)), FORMS["single"])
    assert not (isinstance(found, Review) and found.untouched)


@pytest.mark.parametrize("version", each_version("S6-d-chat-1-cursor"))
def test_the_cursor_on_the_chat_row_counts(version: str) -> None:
    page = state(f"{version}/S6-d-chat-1-cursor", "multi")

    assert isinstance(page, Page)
    assert page.at(RowKind.CHAT) or version == "2.0.76"


@pytest.mark.parametrize("version", each_version("S8-a-4-note"))
def test_notes_of_every_version(version: str) -> None:
    page = state(f"{version}/S8-a-4-note", "preview")

    assert isinstance(page, Page)
    assert page.preview
    assert page.notes == (True, "my note")
    assert page.at(RowKind.OPTION, 1)
    assert page.row(RowKind.TYPE) is None


@pytest.mark.parametrize("version", each_version("S1-1-9-end"))
def test_an_answered_form_of_every_version(version: str) -> None:
    assert state(f"{version}/S1-1-9-end", "single") == Prompt("", Closed.ANSWERED)


@pytest.mark.parametrize("version", each_version("S9-esc-9-end"))
def test_a_declined_form_of_every_version(version: str) -> None:
    assert state(f"{version}/S9-esc-9-end", "single") == Prompt("", Closed.DECLINED)


@pytest.mark.parametrize(
    ("name", "form", "notes", "cursor"),
    [
        ("S8-a-0-open", "preview", (False, ""), 0),
        ("S8-a-3-n", "preview", (True, ""), 1),
        ("S8b-note-esc-1-afterEsc", "preview", (False, "a note"), 1),
        ("S8c-chat-with-note-0", "preview", (False, "a note"), 3),
        ("S8b-some-1", "prevsome", (False, ""), 1),
        ("S8b-tabs-1", "prevtabs", (False, ""), 1),
        ("X-prev-0", "prevlong", (False, ""), 0),
        ("X-prev-60", "prevlong", (False, ""), 1),
    ],
)
def test_the_preview_layout(name: str, form: str, notes: tuple[bool, str], cursor: int) -> None:
    page = state(f"2.1.330/{name}", form)

    assert isinstance(page, Page)
    assert (page.notes, page.cursor) == (notes, cursor)


def test_emoji_of_several_characters_do_not_shift_what_stands_beside_them() -> None:
    page = state("2.1.330/E-emoji-100x40-open", "emoji")

    assert isinstance(page, Page)
    assert page.notes == Notes(focused=False, text="")
    assert [row.option for row in page.rows if row.kind == RowKind.OPTION] == [0, 1, 2, 3]


def test_a_preview_page_with_a_long_note() -> None:
    page = state("2.1.330/X-prev-3", "prevlong")

    assert isinstance(page, Page)
    assert page.notes is not None
    assert page.notes.text.startswith("my note with several words")
    assert page.notes.text.endswith("dialog ok\nsecond")


@pytest.mark.parametrize(
    ("name", "form", "question", "cursor", "clipped"),
    [
        ("S18-120x40-0", "long", 0, 0, False),
        ("S18-80x24-0", "long", 0, 0, False),
        ("S18-80x24-down4", "long", 0, 4, False),
        ("S18-60x20-0", "long", 0, 0, True),
        ("S18-60x20-tab2", "long", 1, 0, False),
        ("S18-40x12-0", "long", 0, None, True),
        ("S18-40x12-down1", "long", 0, 0, True),
        ("S18-40x12-down2", "long", 0, 1, True),
        ("S18-40x12-down5", "long", 0, 1, True),
        ("S18-40x12-tab2", "long", 1, 0, True),
    ],
)
def test_small_panes(name: str, form: str, question: int, cursor: int | None, clipped: bool) -> None:
    page = state(f"2.1.330/{name}", form)

    assert isinstance(page, Page)
    assert (page.question, page.cursor, page.clipped) == (question, cursor, clipped)


@pytest.mark.parametrize(
    ("name", "form", "rows", "cursor", "above"),
    [
        ("T-multi-60x20-open", "tallmulti", [2, 3, "type", "submit", "chat"], None, 2),
        ("T-multi-60x20-down2", "tallmulti", [2, 3, "type", "submit", "chat"], 0, 0),
        ("T-multi-60x20-down4", "tallmulti", [2, 3, "type", "submit", "chat"], 2, 0),
        ("T-multi-40x12-open", "tallmulti", ["submit", "chat"], None, 4),
        ("T-multi-40x12-down4", "tallmulti", ["type", "submit", "chat"], 0, 0),
        ("T-multi-80x24-open", "tallmulti", [0, 1, 2, 3, "type", "submit", "chat"], 0, 0),
        ("T-single-60x20-open", "tall", [1, 2, 3, "type", "chat"], None, 1),
        ("T-single-40x12-open", "tall", [1, "chat"], None, 1),
        ("T-single-40x12-down1", "tall", [1, "chat"], 0, 0),
        ("T-single-80x24-open", "tall", [0, 1, 2, 3, "type", "chat"], 0, 0),
        ("T-cutquestion-100x30-open", "cutquestion", [0, 1, "type", "chat"], 0, 0),
        ("T-cutpreview-80x24-open", "cutpreview", [0, 1, "chat"], 0, 0),
        ("T-cutpreview-80x24-note", "cutpreview", [0, 1, "chat"], 0, 0),
    ],
)
def test_pages_taller_than_the_pane(
    name: str, form: str, rows: list[int | str], cursor: int | None, above: int
) -> None:
    page = state(f"2.1.330/{name}", form)

    assert isinstance(page, Page)
    assert [row.kind if row.option is None else row.option for row in page.rows] == rows
    assert (page.cursor, page.above) == (cursor, above)


@pytest.mark.parametrize(
    ("name", "form", "rows", "cursor"),
    [
        ("T-wide-m-60x20-open", "widemulti", [0, 1, 2, "type", "submit", "chat"], (RowKind.OPTION, 0)),
        ("T-wide-m-60x20-down1", "widemulti", [0, 1, 2, "type", "submit", "chat"], (RowKind.OPTION, 1)),
        ("T-wide-m-60x20-submit", "widemulti", [1, 2, "type", "submit", "chat"], (RowKind.SUBMIT, None)),
        ("T-wide-s-60x20-open", "wide", [0, 1, 2, "type", "chat"], (RowKind.OPTION, 0)),
        ("T-wide-s-60x20-down1", "wide", [0, 1, 2, "type", "chat"], (RowKind.OPTION, 1)),
    ],
)
def test_rows_that_an_older_client_squeezes(
    name: str, form: str, rows: list[int | str], cursor: tuple[str, int | None]
) -> None:
    page = state(f"2.1.70/{name}", form)

    assert isinstance(page, Page)
    assert [row.kind if row.option is None else row.option for row in page.rows] == rows
    assert page.at(*cursor)
    if "submit" in name:
        assert page.row(RowKind.TYPE) == Row(
            RowKind.TYPE,
            None,
            checked=True,
            text="some text that is typed here and that is long enough\nto be wrapped too",
        )


@pytest.mark.parametrize(
    ("name", "form", "keys", "size"),
    [
        ("T-multi-60x20-open", "tallmulti", [], (60, 20)),
        ("T-multi-60x20-down2", "tallmulti", ["Down"] * 2, (60, 20)),
        ("T-multi-60x20-down4", "tallmulti", ["Down"] * 4, (60, 20)),
        ("T-multi-80x24-open", "tallmulti", [], (80, 24)),
        ("T-single-60x20-open", "tall", [], (60, 20)),
        ("T-single-80x24-open", "tall", [], (80, 24)),
        ("T-cutquestion-100x30-open", "cutquestion", [], (100, 30)),
        ("T-cutpreview-80x24-open", "cutpreview", [], (80, 24)),
        ("T-cutpreview-80x24-note", "cutpreview", ["n"], (80, 24)),
        ("T-cutpreview-120x40-open", "cutpreview", [], (120, 40)),
    ],
)
def test_the_model_draws_what_the_client_draws(name: str, form: str, keys: list[str], size: tuple[int, int]) -> None:
    model = DialogModel(FORMS[form])
    for pressed in keys:
        model.press(pressed)
    drawn = model.render(*size)

    seen = (SCREENS / "2.1.330" / f"{name}.txt").read_text().rstrip("\n").split("\n")
    assert [line.rstrip() for line in drawn] == [line.rstrip() for line in seen[-len(drawn) :]]


def test_too_little_of_the_question_is_another_reason_than_another_question() -> None:
    tall = screen("2.1.330/T-cutquestion-100x30-open")
    last = Screen(tall.lines[-11:], 100, 11)

    assert read(last, FORMS["cutquestion"]) == Unknown(UNSURE, dialog=True, fits=True)
    other = read(last, FORMS["single"])
    assert isinstance(other, Unknown)
    assert other.why != UNSURE


def test_a_review_that_shows_nothing_but_the_answer() -> None:
    lines = screen("2.1.330/T-multi-40x12-review").lines
    first = next(at for at, line in enumerate(lines) if "→" in line)

    whole = read(Screen(lines[first:], 40, 8), FORMS["tallmulti"])
    assert isinstance(whole, Review)
    assert key(whole.answers[0] or "").startswith("Option1wordword")
    # Whose answer it is cannot be told from the end of it, nor in a form of several questions.
    for begin, name in ((first + 1, "tallmulti"), (first, "tabs"), (first + 1, "tabs")):
        review = read(Screen(lines[begin:], 40, 40), FORMS[name])
        assert isinstance(review, Review)
        assert not review.certain
        assert not any(review.answers)
        assert all(review.hidden)
        assert (review.tail or "").endswith("\nword word word word word word word")
    # Without the mark of what is hidden it is no review at all.
    assert isinstance(read(Screen((*lines[first + 1 : -3], *lines[-2:]), 40, 40), FORMS["tabs"]), Unknown)


@pytest.mark.parametrize(("one", "other"), [("👍", "👎"), ("a 👍🏽", "a 👍🏿"), ("x ✅", "x ☑")])
def test_the_exact_key_tells_emoji_apart(one: str, other: str) -> None:
    assert exact_key(one) != exact_key(other)
    assert exact_key(" ".join(one)) == exact_key(one)


def test_the_accented_key_tells_accents_apart_that_cannot_get_lost() -> None:
    assert accented_key("r\u00e9sum\u00e9") != accented_key("resume")
    assert accented_key("re\u0301sume\u0301") == accented_key("resume")
    assert accented_key("a 👍 b") == accented_key("a👍b") != accented_key("a 👎 b")


@pytest.mark.parametrize("name", ["S18-80x24-review", "S18-60x20-review", "S18-40x12-review"])
def test_small_reviews(name: str) -> None:
    review = state(f"2.1.330/{name}", "long")

    assert isinstance(review, Review)
    assert review.answers == ("❯ 2. tricky label", '"Alpha, with comma", Alpha')


def test_a_review_of_an_older_client_with_a_wrapped_question() -> None:
    review = state("2.1.100/T-wide-m-60x20-review", "widemulti")

    assert isinstance(review, Review)
    labels = [option.label for option in FORMS["widemulti"].questions[0].options]
    assert key(review.answers[0] or "") == key(f"{labels[0]}, {labels[2]}")


def test_typed_text_that_looks_like_the_review_stays_one_answer() -> None:
    review = state("2.1.330/X-tabs4-review", "tabs4")

    assert isinstance(review, Review)
    assert review.answers[0] == "typed text here\nsecond line\n ● Question number 1?\n   → Opt 1a"
    assert review.answers[1:2] == ("Opt 1b",)


def test_text_that_was_entered_before_is_read_without_its_mark() -> None:
    page = state("2.1.330/X-tabs4-back0t", "tabs4")

    assert isinstance(page, Page)
    row = page.row(RowKind.TYPE)
    assert row == Row(
        RowKind.TYPE, None, checked=True, text="typed text here\nsecond line\n ● Question number 1?\n   → Opt 1a"
    )


def test_a_very_long_text_leaves_only_its_tail() -> None:
    tail = state("2.1.330/S11-5000-chunks-1-typed", "single")

    assert isinstance(tail, LongTextPage)
    assert tail.text.endswith("word0552 word0553 word0554 word0")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("X-chat-long", "[Pasted text #1]"),
        ("X-chat-12l", "[Pasted text #2 +11 lines]"),
        ("X-chat-2l", "one\ntwo"),
        ("S4b-chat-then-text-1", "my clarification"),
        ("S13-during-num-1-during", "3"),
        ("S0-prompt", ""),
    ],
)
def test_the_prompt_box(name: str, text: str) -> None:
    prompt = state(f"2.1.330/{name}", "single")

    assert isinstance(prompt, Prompt)
    assert prompt.text == text


@pytest.mark.parametrize(
    "name",
    ["2.0.76/D-permission-bash", "2.1.12/D-model", "2.1.100/D-plan", "2.1.200/D-model", "2.1.330/S0-prompt"],
)
def test_the_clients_version_is_read_from_its_banner(name: str) -> None:
    assert client_version(screen(name)) == tuple(map(int, name.partition("/")[0].split(".")))


def test_a_version_that_is_only_talked_about_is_not_the_clients() -> None:
    assert client_version(screen("2.1.330/S7-main-5-review")) is None
    said = ("❯ is this Claude Code v2.1.330?", "● Yes: Claude Code v2.1.330", "● │ Claude Code v2.1.330 is fine.")
    assert client_version(Screen(said, 80, 3)) is None


KINDS = {
    "permission": DialogKind.PERMISSION,
    "plan": DialogKind.PLAN,
    "trust": DialogKind.TRUST,
    "model": DialogKind.MODEL,
    "apikey": DialogKind.API_KEY,
    "bypass": DialogKind.BYPASS,
}
# Drawn broken, because a row's text is wrapped to the first column, or in a box; all that is shown of the others is no
# question.
BOXED = tuple(f"{version}/D-{name}" for version in ("2.0.76", "2.1.12") for name in ("apikey", "bypass"))
NOT_KNOWN = ("2.1.12/D-permission-bash-60x20", *BOXED, "/D-permissions", "/D-theme")
OTHERS = [name for name in ALL if "/D-" in name and "rejected" not in name and not any(n in name for n in NOT_KNOWN)]


@pytest.mark.parametrize("name", OTHERS)
def test_other_dialogs_of_every_version_are_called_by_their_names(name: str) -> None:
    kind = KINDS[name.partition("/D-")[2].partition("-")[0]]

    found = {state(name, form) for form in FORMS}
    assert {(type(one), one.kind) for one in found if isinstance(one, OtherDialog)} == {(OtherDialog, kind)}
    assert len(found) == 1
    assert kind in OtherDialog(kind).why


@pytest.mark.parametrize("name", [name for name in ALL if any(each in name for each in NOT_KNOWN)])
def test_dialogs_that_the_grammar_does_not_name_are_unknown(name: str) -> None:
    assert {type(state(name, form)) for form in FORMS} == {Unknown}


@pytest.mark.parametrize("name", ["2.1.330/D-permission-rejected", "2.1.330/D-plan-rejected"])
def test_a_rejected_call_is_no_declined_question(name: str) -> None:
    assert state(name, "single") == Prompt("", None)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("2.1.330/D-permission-bash", "Do you want to proceed?", "Do you want to go on?"),
        ("2.1.330/D-permission-bash", "❯ 1. Yes", "  1. Yes"),
        ("2.1.330/D-permission-bash", "  2. Yes", "❯ 2. Yes"),
        ("2.1.330/D-permission-bash", "❯ 1. Yes", "❯ 1. Sure"),
        ("2.1.330/D-permission-bash", "  3. Yes", "  5. Yes"),
        ("2.1.330/D-permission-bash", "Esc to cancel", "q to quit"),
        ("2.1.330/D-permission-fetch", "   3. No", "   3. No\n\n Anything else?"),
        ("2.1.330/D-permission-bash", "Tab to amend", "Tab to amend\n──────────\n❯ \n──────────"),
        ("2.1.330/D-trust", "Accessing workspace:", "Accessing something:"),
        ("2.1.330/D-trust", "Yes, I trust this folder", "Yes, I trust everybody"),
        ("2.1.330/D-trust", "Security guide", "Read this"),
        ("2.1.330/D-model", "Select model", "Select anything"),
        ("2.1.330/D-model", "Enter to save", "Enter to go on"),
        ("2.1.330/D-plan", "ctrl+g to edit in", "ctrl+x to edit in"),
    ],
)
def test_another_dialog_that_differs_is_unknown(name: str, old: str, new: str) -> None:
    start, found, end = "\n".join(screen(name).lines).rpartition(old)
    assert found

    changed = read(Screen(tuple((start + new + end).split("\n")), 120, 40), FORMS["single"])

    assert isinstance(changed, (Unknown, Prompt))


EDITOR = [
    "def main():",
    '    print("1. Yes")',
    *["~"] * 20,
    '"main.py" 2L, 31B                       1,1           All',
]
PAGER = ["❯ 1. Option A (Recommended)", "  2. Option B", "  3. You decide", *["text"] * 20, ":"]
SHELL = ["$ git status", "On branch main", "nothing to commit, working tree clean", "$"]
TOP = ["top - 10:00:00 up 1 day", "  PID USER      COMMAND", *[f"{at:5} root      claude" for at in range(30)]]
CONFIRM = ["Remove write-protected file?", "", "❯ 1. Yes", "  2. No", "", "Enter to confirm"]


@pytest.mark.parametrize("shown", [EDITOR, PAGER, SHELL, TOP, CONFIRM], ids=["editor", "pager", "shell", "top", "yes"])
@pytest.mark.parametrize("above", [0, 12, 24])
def test_another_program_in_the_pane_is_unknown(shown: list[str], above: int) -> None:
    """Also with what it has left of the question above it."""
    left = screen("2.1.330/S1-0-0-open").lines[:above]

    assert isinstance(read(Screen((*left, *shown), 120, 40), FORMS["single"]), Unknown)


@pytest.mark.parametrize(
    ("name", "form", "old", "new"),
    [
        ("S1-0-0-open", "single", "❯ 1.", "▸ 1."),
        ("S1-0-0-open", "single", "❯ 1.", "❯ 1)"),
        ("S1-0-0-open", "single", "Enter to select", "Return to choose"),
        ("S1-0-0-open", "single", "Esc to cancel", "Esc to close"),
        ("S1-0-0-open", "single", "  5. Chat about this", "  5. Discuss this"),
        ("S1-0-0-open", "single", "  4. Type something.", "  4. Type something.\n  5. Skip this one"),
        ("S1-0-0-open", "single", "     Create new pattern", "     Create new pattern  [new]"),
        ("S5-main-5-submitrow", "multi", "[✔]", "[x]"),
        ("S5-main-5-submitrow", "multi", "Submit", "Send"),
        ("S5-main-6-review", "multi", "1. Submit answers", "1. Send answers"),
        ("S5-main-6-review", "multi", "Review your answers", "Check your answers"),
        ("S5-main-6-review", "multi", "2. Cancel", "2. Cancel\n  3. Ask again"),
    ],
)
def test_what_a_newer_client_draws_in_another_way_is_unknown(name: str, form: str, old: str, new: str) -> None:
    text = "\n".join(screen(f"2.1.330/{name}").lines)
    assert old in text

    changed = read(Screen(tuple(text.replace(old, new).split("\n")), 120, 40), FORMS[form])

    assert isinstance(changed, Unknown)


@pytest.mark.parametrize(
    ("name", "form", "above", "below"),
    [
        ("T-multi-80x24-open", "tallmulti", 0, 0),
        ("T-multi-60x20-open", "tallmulti", 2, 0),
        ("T-multi-40x12-open", "tallmulti", 4, 0),
        ("T-single-60x20-open", "tall", 1, 0),
        ("T-single-40x12-open", "tall", 1, 3),
        ("T-single-40x12-down1", "tall", 1, 3),
        ("S18-40x12-0", "long", 1, 3),
        ("S18-40x12-down2", "long", 1, 2),
        ("S18-60x20-0", "long", 0, 0),
    ],
)
def test_the_state_says_how_many_rows_are_hidden(name: str, form: str, above: int, below: int) -> None:
    page = state(f"2.1.330/{name}", form)

    assert isinstance(page, Page)
    assert (page.first, page.below) == (above, below)


def test_a_picture_of_the_dialog_in_the_transcript_is_not_the_dialog() -> None:
    picture = screen("2.1.330/S1-0-0-open").lines
    prompt = screen("2.1.330/S0-prompt").lines[-5:]
    quoted = Screen((*picture, *prompt), 120, 60)

    assert isinstance(read(quoted, FORMS["single"]), Prompt)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Which approach should we use?", "Which approach should I use?"),
        ("Option B", "Option C"),
        ("Create new pattern", "Delete everything"),
        ("  3. You decide", "  3. You decide not"),
        ("  2. Option B", "  2. Option B\n  3. Option B"),
        ("❯ 1. Option A", "  1. Option A"),
        ("  2. Option B", "❯ 2. Option B"),
        ("  4. Type something.", "  5. Type something."),
        ("Enter to select", "Enter to confirm"),
    ],
)
def test_a_dialog_that_differs_is_unknown(old: str, new: str) -> None:
    lines = "\n".join(screen("2.1.330/S1-0-0-open").lines)
    start, found, end = lines.rpartition(old)
    assert found

    changed = Screen(tuple((start + new + end).split("\n")), 120, 40)

    assert isinstance(read(changed, FORMS["single"]), Unknown)


def test_labels_that_imitate_the_dialog() -> None:
    form = AskUserQuestionInput(
        questions=(
            Question(
                question="Review your answers\n ☐ Head\n\n❯ 1. Submit answers",
                header="Submit",
                options=(
                    Option(label="❯ 1. Yes", description="3. Type something."),
                    Option(label="[✔] Done ✔", description="─" * 80),
                    Option(label="Chat about this", description="Enter to select · Esc to cancel"),
                ),
            ),
        )
    )
    model = DialogModel(form)
    model.press("Down")
    page = read(Screen(tuple(model.render(80, 40)), 80, 40), form)

    assert isinstance(page, Page)
    assert page.at(RowKind.OPTION, 1)
    assert len(page.rows) == 5


@pytest.mark.parametrize("text", ["│ quoted?", "│", "│ │ a?\n│ b?", "│ " + "long " * 40, "one\n│ two"])
@pytest.mark.parametrize("layout", ["single", "multi", "preview"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_bar_in_the_question_is_told_from_the_bars_that_the_client_draws(text: str, layout: str, alone: bool) -> None:
    options = tuple(
        Option(label=label, description="", preview=f"<{label}>" if layout == "preview" else None)
        for label in ("the first of them", "the second of them")
    )
    asked = Question(question=text, header="Head", options=options, multi_select=layout == "multi")
    other = Question(question="Which one?", header="Other", options=options)
    form = AskUserQuestionInput(questions=(asked,) if alone else (asked, other))

    page = read(Screen(tuple(DialogModel(form).render(80, 40)), 80, 40), form)

    assert isinstance(page, Page)
    assert page.question == 0
    assert page.at(RowKind.OPTION, 0)
    assert alone or page.tabs == (False, False)


@given(st.integers(0), st.sampled_from([60, 80, 120, 200]))
def test_a_page_that_fits_the_pane_is_recognised_whatever_its_texts_are(number: int, width: int) -> None:
    form = AskUserQuestionInput.from_json({"questions": seeded_form(3, number).questions})
    model = DialogModel(form)
    for at, asked in enumerate(form.questions):
        page = read(Screen(tuple(model.render(width, 400)), width, 400), form)
        if isinstance(page, Unknown):
            # The client marks a choice by a tick behind the label. Of two labels that differ by one that is wrapped
            # alone, none can be told from the other's, and such a page is refused.
            labels = {option.label for option in asked.options}
            assert any(f"{label}✔" in labels for label in labels), asked
        else:
            assert page.question == at
        model.press("Tab")


@pytest.mark.parametrize("description", ["", "what it is about"])
def test_a_preview_page_whose_top_is_scrolled_away_is_no_other_question(description: str) -> None:
    options = tuple(
        Option(label=f"{number} {'long ' * 60}", description=description, preview="+") for number in range(4)
    )
    form = AskUserQuestionInput(questions=(Question(question="Which of them?", header="Head", options=options),))

    page = read(Screen(tuple(DialogModel(form).render(60, 20)), 60, 20), form)

    assert page == Unknown(UNSURE, dialog=True, fits=True)


@pytest.mark.parametrize(("name", "form"), [("S18-40x12-tab2", "long"), ("T-multi-60x20-open", "tallmulti")])
def test_a_multi_select_is_a_list_also_where_its_options_have_previews(name: str, form: str) -> None:
    """As the client draws it: screen S8b-multi-0 of 2.1.330."""
    plain = FORMS[form]
    questions = [
        replace(item, options=tuple(replace(option, preview="<p>") for option in item.options))
        for item in plain.questions
    ]
    previewed = replace(plain, questions=tuple(questions))

    page = state(f"2.1.330/{name}", form)

    assert isinstance(page, Page)
    assert read(screen(f"2.1.330/{name}"), previewed) == page


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("wrapped  text", "wrappedtext", True),
        ("a\nb", "a\ufffdb", True),
        ("café", "cafe\u0301", True),
        ("family 👨‍👩‍👧‍👦!", "family 👨!", True),
        ("Option A", "Option B", False),
        ("☐ a", "☒ a", False),
    ],
)
def test_key_keeps_what_matters(one: str, other: str, same: bool) -> None:
    assert (key(one) == key(other)) is same


RAW = [line for name in ALL for line in screen(name).lines]


@given(st.data())
def test_no_screen_makes_it_raise_and_no_foreign_form_is_recognised(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(ALL))
    lines = list(screen(name).lines)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(lines) - 1)))
        change = data.draw(st.sampled_from(["drop", "insert", "swap", "cut", "text"]))
        if not lines:
            break
        if change == "drop":
            del lines[at]
        elif change == "insert":
            lines.insert(at, data.draw(st.sampled_from(RAW)))
        elif change == "swap":
            lines[at] = data.draw(st.sampled_from(RAW))
        elif change == "cut":
            lines[at] = lines[at][data.draw(st.integers(0, 10)) :]
        else:
            lines[at] = data.draw(st.text(max_size=20))
    broken = Screen(tuple(lines), data.draw(st.sampled_from([40, 60, 80, 120])), len(lines))
    foreign = AskUserQuestionInput(
        questions=(Question(question="Not there?", header="No", options=(Option(label="Nope"), Option(label="Never"))),)
    )

    for form in FORMS.values():
        read(broken, form)
    assert isinstance(read(broken, foreign), (Unknown, OtherDialog, Prompt, LongTextPage))


@pytest.mark.parametrize("size", ["", "-60x20"])
@pytest.mark.parametrize(
    ("name", "text", "at"),
    [
        ("V-single-insert", "", RowKind.TYPE),
        ("V-single-insert-typed", "hello", RowKind.TYPE),
        ("V-single-normal-typed", "hello", RowKind.TYPE),
        ("V-multi-insert-typed", "hello", RowKind.TYPE),
        ("V-multi-submit", "hello", RowKind.SUBMIT),
    ],
)
def test_vim_mode_is_read_in_both_of_its_modes(name: str, text: str, at: str, size: str) -> None:
    page = state(f"2.1.330/{name}{size}", name.split("-")[1])

    assert isinstance(page, Page), page
    assert page.at(at)
    typed = page.row(RowKind.TYPE)
    assert typed is not None
    assert typed.text == text


def test_only_the_whole_footer_of_vim_mode_ends_a_dialog() -> None:
    shown = screen("2.1.330/V-single-insert")
    footer = next(line for line in shown.lines if line.startswith("-- INSERT --"))
    for other in (
        footer.replace("INSERT", "VISUAL"),
        footer.replace("Enter to select", "Enter to confirm"),
        footer.replace("ctrl+g to edit in Vim", "ctrl+x to go on"),
        f"{footer} and many other words that are not the name of any editor at all",
        f"● {footer}",
    ):
        lines = tuple(other if line == footer else line for line in shown.lines)
        assert isinstance(read(shown._replace(lines=lines), FORMS["single"]), Unknown), other


@pytest.mark.parametrize(
    ("name", "text", "cursor"), [("open", "", 0), ("typed", "hello there", 3), ("moved", "hello there", 3)]
)
def test_a_description_with_a_tab_may_be_drawn_cut(name: str, text: str, cursor: int) -> None:
    """As 2.1.150 does once a text is typed: it takes the tab for narrower than it is drawn."""
    page = state(f"2.1.150/X-tab-{name}", "tab")

    assert isinstance(page, Page), page
    assert (page.cursor, page.rows[3].text) == (cursor, text)


def test_a_description_that_is_cut_for_no_tab_is_another_one() -> None:
    shown = screen("2.1.150/X-tab-typed")
    form = FORMS["tab"]
    plain = replace(form.questions[0].options[1], description="tab        inside")
    for other in (plain, replace(plain, description="tab\tinside of all things")):
        question = replace(form.questions[0], options=(form.questions[0].options[0], other, plain))
        assert isinstance(read(shown, AskUserQuestionInput(questions=(question,))), Unknown)
