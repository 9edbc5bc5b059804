"""Patches of a tool's input: nothing that one plugin changed is lost to another, and each change has its author."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hookrouter._routing.rewrites import WHOLE, Patch, changed_by

KEYS = st.sampled_from(["command", "timeout", "path", "*", ""])
LEAVES = st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, -0.5]) | st.text(max_size=3)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2))
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


def exactly(value: Any) -> Any:
    """Return what tells two JSON values apart that Python takes for equal."""
    if isinstance(value, dict):
        return {key: exactly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exactly(item) for item in value]
    return type(value).__name__, value


@given(VALUES, VALUES)
def test_a_patch_turns_what_it_was_made_from_into_what_it_was_made_for(before, after):
    assert exactly(Patch(before, after).apply(before)) == exactly(after)


@given(TABLES, TABLES, TABLES)
def test_a_patch_changes_the_keys_that_it_names_and_no_other(before, after, other):
    patch = Patch(before, after)
    touched = {key for keys in patch.keys().values() for key in keys}
    result: Any = patch.apply(other)
    assert {key: exactly(result[key]) for key in result if key not in touched} == {
        key: exactly(other[key]) for key in other if key not in touched
    }
    for key in touched:
        assert exactly(result.get(key, "gone")) == exactly(after.get(key, "gone"))
    assert patch.values().keys() == touched


@given(TABLES, st.lists(st.tuples(st.integers(0, 3), TABLES), max_size=5))
def test_in_a_pipeline_each_key_has_the_value_of_the_last_who_set_it(original, steps):
    """Each plugin sees the value as it is after some of the plugins before it: a stale base takes nothing back."""
    states: list[Any] = [original]
    patches: list[tuple[str, Patch]] = []
    for number, (staleness, wanted) in enumerate(steps):
        seen = states[max(0, len(states) - 1 - staleness)]
        patches.append((f"plugin-{number}", Patch(seen, wanted)))
        states.append(patches[-1][1].apply(states[-1]))
    final: Any = states[-1]
    authors = changed_by(patches)
    wanted_by = {f"plugin-{number}": wanted for number, (_, wanted) in enumerate(steps)}
    for key in original.keys() | final.keys() | authors.keys():
        if key in authors:
            assert exactly(final.get(key, "gone")) == exactly(wanted_by[authors[key][-1]].get(key, "gone"))
            assert len(set(authors[key])) == len(authors[key])
        else:
            assert exactly(final.get(key, "gone")) == exactly(original.get(key, "gone"))


def test_what_is_no_table_is_changed_as_a_whole():
    patch = Patch("text", ["other"])
    assert patch.keys() == {"changed": [WHOLE]}
    assert patch.values() == {WHOLE: ["text", ["other"]]}
    assert patch.apply({"a": 1}) == ["other"]
    assert changed_by([("a", patch), ("b", patch), ("a", patch)]) == {WHOLE: ["b", "a"]}


def test_long_values_are_cut_for_the_record():
    ((former, new),) = Patch({}, {"command": "x" * 1000}).values().values()
    assert former is None
    assert isinstance(new, str)
    assert new.endswith("(1000 characters)")
    assert len(new) < 250
