"""Random forms and decisions that try to deceive whoever reads the dialog from a screen, reproducible from a seed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.answering.input_limits import MAX_TEXT, NOTES_ONLY, text_faults
from hookrouter.answering.labels import recorded_label

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DECEITFUL", "RandomForm", "random_form", "seeded_form"]

DECEITFUL = (
    "Submit",
    "Next",
    "Cancel",
    "Chat about this",
    "5. Chat about this",
    "Type something.",
    "Type something",
    "❯ 1. Yes",
    "❯",
    "1. Yes",
    "2",
    "[✔] Done",
    "[ ] Done",
    "Done ✔",
    "✔",
    "☒ Done",
    "1. Submit answers",
    "2. Cancel",
    "Review your answers",
    "● Which one?",
    "→ B",
    "← Back",
    "│ quoted",
    "Enter to select · ↑/↓ to navigate · Esc to cancel",
    "ctrl+g to edit in Vim",
    "press n to add notes",
    "Notes: press n to add notes",
    "Add notes on this design…",
    "↑ 3 more lines",
    "↓ 2. Other",
    "───────────────",
    "┌──────┐",
    "Answered Claude's questions:",
    "(notes only)",
    "Option A (Recommended)",
    "Alpha",
    "Alpha, Beta",
    "Alpha,Beta",
    'say "hi"',
    'say "hi", then go',
    "it's `code` and $HOME",
    "back\\slash",
    "-rf /",
    "/clear",
    "!ls",
    "#note",
    "@file",
    "--force; rm",
    "a\nb",
    "tab\there",
    "  blanks  inside  ",
    "日本語のオプション",
    "漢字とEnglishの混合テキスト",
    "한국어 선택지",
    "👍 emoji",
    "👩‍👩‍👧‍👦 family",
    "🇩🇪 flag",
    "é",
    "e\u0301 combining",
    "Z͑a̎l̚g̀o",
    "مرحبا بالعالم",
    "שלום \u200fעולם",
    "mixed עברית and English",
    "a\u200bb",
    "ﬁ ligature",
)
"""Texts that look like parts of the dialog, or that terminals and shells trip over."""

_WORDS = [
    "retry",
    "cache",
    "schema",
    "parser",
    "driver",
    "token",
    "review",
    "deploy",
    "branch",
    "release",
    "config",
    "session",
    "adapter",
    "queue",
    "index",
    "naïve",
    "façade",
    "über",
    "設定",
    "テスト",
    "コード",
    "данные",
    "модель",
]
_LONG_LABEL = 300
_LONG_QUESTION = 1200
_PREVIEW_SHARE = 0.2


class RandomForm(NamedTuple):
    """A form, what is to be answered, and what must come of it."""

    questions: list[dict[str, Any]]
    """AskUserQuestion's ``questions``."""
    decisions: list[dict[str, Any]]
    """One decision for each question, as ``hookrouter answer`` takes them."""
    expected: dict[str, str]
    """What Claude Code must record, by question text."""
    notes: dict[str, str]
    """The note that must be recorded with a choice, by question text."""
    faulty: bool
    """Whether a text cannot be typed, so that the answer must be refused before any key."""


def seeded_form(seed: int, number: int) -> RandomForm:
    """Return form ``number`` of the series ``seed``; it does not depend on the forms before it."""
    return random_form(random.Random(f"{seed}:{number}"), faults=0.02)


def random_form(rng: random.Random, faults: float = 0.0) -> RandomForm:
    """Draw a form of one to four questions and decisions for it.

    ``faults`` is the share of forms in which one typed text is such that the dialog cannot take it.
    """
    faulty = rng.random() < faults
    texts: list[str] = []
    questions: list[dict[str, Any]] = []
    decisions: list[dict[str, Any]] = []
    count = rng.choice((1, 1, 2, 3, 4))
    while len(questions) < count:
        text = _question_text(rng)
        if "".join(text.split()) in ("".join(other.split()) for other in texts):
            continue
        texts.append(text)
        question = _question(rng, text)
        questions.append(question)
        decisions.append(_decision(rng, question))
    typed = [decision for decision in decisions if isinstance(decision.get("text"), str)]
    faulty = faulty and bool(typed)
    if faulty:
        decision = rng.choice(typed)
        decision["text"] = rng.choice((decision["text"] + "\\", "Type something.", "bell\a", "x" * (MAX_TEXT + 1)))
    expected = {}
    notes = {}
    for question, decision in zip(questions, decisions, strict=True):
        expected[question["question"]] = _recorded(question, decision)
        if decision.get("notes"):
            notes[question["question"]] = decision["notes"]
    return RandomForm(questions, decisions, expected, notes, faulty)


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count))


def _question_text(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(DECEITFUL) + rng.choice(("", "?", " really?"))
    if kind < 0.3:
        return _words(rng, 200)[: rng.randint(200, _LONG_QUESTION)].strip() + "?"
    if kind < 0.4:
        return f"{_words(rng, 4)}?\n\n1. {_words(rng, 3)}\n2. {rng.choice(DECEITFUL)}"
    return f"Which {_words(rng, rng.randint(1, 12))}?"


def _label(rng: random.Random, others: list[str]) -> str:
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(DECEITFUL)
    if kind < 0.5:
        return _words(rng, 80)[: rng.randint(100, _LONG_LABEL)].strip()
    if kind < 0.55:
        return "w" * rng.randint(60, _LONG_LABEL)
    if others and kind < 0.7:
        # A prefix, an extension, or a near-duplicate of another label.
        other = rng.choice(others)
        near = (other[: max(1, len(other) - 1)], other + rng.choice(" .x✔2"), other.swapcase(), other + ", " + other)
        return rng.choice(near)
    if kind < 0.75:
        return str(rng.randint(0, 12))
    return _words(rng, rng.randint(1, 5))


def _question(rng: random.Random, text: str) -> dict[str, Any]:
    multiple = rng.random() < 0.4
    previews = not multiple and rng.random() < _PREVIEW_SHARE
    labels: list[str] = []
    seen: set[str] = set()
    count = rng.randint(2, 4)
    while len(labels) < count:
        label = _label(rng, labels)
        # Labels that are recorded alike cannot be told apart by anyone.
        shown = recorded_label(label)
        if shown and shown not in seen:
            seen.add(shown)
            labels.append(label)
    options = []
    for label in labels:
        option: dict[str, Any] = {"label": label, "description": _description(rng)}
        if previews:
            option["preview"] = _preview(rng)
        options.append(option)
    header = rng.choice((_words(rng, 1)[:12], rng.choice(DECEITFUL)[:12].strip() or "Header", "Auth method"))
    return {"question": text, "header": header, "multiSelect": multiple, "options": options}


def _description(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(DECEITFUL)
    if kind < 0.3:
        return f"{_words(rng, 3)}\n{rng.choice(DECEITFUL)}\n2. {_words(rng, 2)}"
    if kind < 0.4:
        return _words(rng, rng.randint(20, 60))
    return _words(rng, rng.randint(1, 8))


def _preview(rng: random.Random) -> str:
    lines = [rng.choice((_words(rng, 2), "+----+", "| ab |", "Notes:", "❯ 1. x")) for _ in range(rng.randint(1, 6))]
    return "\n".join(lines)


def _decision(rng: random.Random, question: dict[str, Any]) -> dict[str, Any]:
    count = len(question["options"])
    if question["multiSelect"]:
        labels = [option["label"] for option in question["options"]]
        chosen = sorted(rng.sample(range(count), rng.randint(0, count)))
        if not chosen or rng.random() < 0.35:
            return {"action": "multi-select", "selectedIndices": chosen, "text": _typed(rng, labels)}
        return {"action": "multi-select", "selectedIndices": chosen}
    if any(option.get("preview") for option in question["options"]):
        decision = {"action": "select", "optionIndex": rng.randrange(count)}
        if rng.random() < 0.5:
            decision["notes"] = _note(rng)
        return decision
    if rng.random() < 0.4:
        return {"action": "type", "text": _typed(rng)}
    return {"action": "select", "optionIndex": rng.randrange(count)}


_SIGNS = "-/!#@;\\'\"`$%^&*()[]{}<>|~=+?.,:0123456789"


def _typed(rng: random.Random, labels: Sequence[str] = ()) -> str:
    """Return a text that the dialog can take; ``labels`` are those of a multi-select."""
    while True:
        kind = rng.random()
        if kind < 0.3:
            text = rng.choice(DECEITFUL)
        elif kind < 0.5:
            text = rng.choice(_SIGNS) + _words(rng, rng.randint(1, 6)) + rng.choice(("", ";", ";;", '"', "'", " "))
        elif kind < 0.65:
            text = "\n".join(rng.choice((_words(rng, 4), "", "\tindented", "- item")) for _ in range(rng.randint(2, 8)))
        elif kind < 0.7:
            text = _words(rng, 1200)[: rng.randint(1000, MAX_TEXT)]
        elif kind < 0.8:
            text = "".join(rng.choice(_SIGNS + "ab \t日👍é") for _ in range(rng.randint(1, 60)))
        else:
            text = _words(rng, rng.randint(1, 30))
        if not text_faults(text, labels):
            return text


def _note(rng: random.Random) -> str:
    while True:
        text = " ".join(_typed(rng).split())[:200].strip()
        if not text_faults(text) and NOTES_ONLY not in text:
            return text


def _recorded(question: dict[str, Any], decision: dict[str, Any]) -> str:
    """Return what 2.1.330 records for a decision."""
    labels: list[str] = [recorded_label(option["label"]) for option in question["options"]]
    if decision["action"] == "select":
        label: str = labels[decision["optionIndex"]]
        return label
    if decision["action"] == "type":
        return str(decision["text"])
    items = [labels[index] for index in decision["selectedIndices"]]
    if decision.get("text") is not None:
        items.append(decision["text"])
    quoted = (json.dumps(item, ensure_ascii=False) if ", " in item or '"' in item else item for item in items)
    return ", ".join(quoted)
