"""What a maintainer is told of a contract from which nothing can be generated: the place, and what belongs there."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hookrouter._contract.document import contract
from scripts.generate import contract as generator
from scripts.generate.reading import EVENT_KEYS, read_contract

WORDS = "scripts/generate/reading.py"


@pytest.fixture
def document() -> dict[str, Any]:
    """The contract with an event of a newer client, as if someone had written it."""
    made = copy.deepcopy(contract())
    made["events"]["FreshThing"] = {**copy.deepcopy(made["events"]["Stop"]), "kebab": "fresh-thing"}
    return made


@pytest.mark.parametrize("key", EVENT_KEYS)
def test_a_key_that_an_event_lacks_is_named_with_what_it_says(document: dict[str, Any], key: str) -> None:
    del document["events"]["FreshThing"][key]
    with pytest.raises(ValueError, match=rf"claude-code-.*\n  events\.FreshThing\.{key}: missing; it says "):
        read_contract(document)


def test_all_faults_are_told_at_once(document: dict[str, Any]) -> None:
    document["events"]["FreshThing"] |= {"kebab": "fresh", "blockable": "yes", "matcher_field": 1}
    with pytest.raises(ValueError, match="FreshThing") as told:
        read_contract(document)
    matcher, blockable = (EVENT_KEYS[key][1] for key in ("matcher_field", "blockable"))
    assert str(told.value).splitlines()[1:] == [
        f"  events.FreshThing.matcher_field: found number, allowed string or null; it says {matcher}",
        f"  events.FreshThing.blockable: found string, allowed boolean; it says {blockable}",
        "  events.FreshThing.kebab: found 'fresh', allowed 'fresh-thing'",
    ]


def test_fields_and_objects_without_words_are_named_with_the_table_that_takes_them(document: dict[str, Any]) -> None:
    document["events"]["FreshThing"]["input"] = {"stop_hook_active": "boolean", "odd_words?": "array<{odder:string}>"}
    with pytest.raises(ValueError, match="FreshThing") as told:
        read_contract(document)
    assert str(told.value).splitlines()[1:] == [
        f"  events.FreshThing.input.odd_words: nothing says what it holds; add 'odd_words' to FIELD_DOCS in {WORDS}",
        f"  objects OddWord.odder: nothing says what it holds; add 'odder' to FIELD_DOCS in {WORDS}",
        f"  objects OddWord: nothing says what it is; add 'OddWord' to NESTED_DOCS in {WORDS}",
    ]


def test_a_tools_shape_without_words_is_named(document: dict[str, Any]) -> None:
    document["tools"]["AskUserQuestion"]["input"]["odd"] = {"type": "string", "required": False}
    with pytest.raises(ValueError, match=r"tools\.AskUserQuestion: .*'odd'.*scripts/generate/shapes\.py"):
        read_contract(document)


def test_the_generator_says_so_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> dict[str, str]:
        raise ValueError("events.FreshThing.when: missing")

    monkeypatch.setattr(generator, "generate", fails)
    assert generator.main([]) == 2
    assert capsys.readouterr().err == "scripts.generate.contract: events.FreshThing.when: missing\n"
