"""Which front an install gives a settings file: the one asked for, the one that is there, or the fastest that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter._installation import front_choice, front_command
from hookrouter._installation.front_choice import chosen_front, current_front, entries_front, registered_front
from hookrouter._installation.front_command import Front, default_front, front_words, native_fault
from hookrouter._installation.mod_keys import with_mod, without_mod
from hookrouter._installation.settings_edit import SettingsError, differences, merge, registered
from support.programs import Programs
from support.registrations import SCRIPT, wanted

FOLDER = "/a home/it's/state/router"
ALL = [front for front in Front if front not in (Front.HTTP, Front.MOD)]


def entries(front: Front) -> str:
    text, _ = merge('{"model": "opus"}\n', wanted("stop", "pre_tool_use_bash", script=script(front)), None)
    assert text is not None
    return text


def script(front: Front) -> list[str]:
    return [*front_words(front, FOLDER), *SCRIPT]


@pytest.fixture(params=["HKR3", "HKR9", "exit 3", ""])
def native(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Put an executable in the place of the native front (or none); return whether it works."""
    path = tmp_path / "hookrouter" / "_fronts" / "native"
    if request.param:
        fails = request.param.startswith("exit")
        Programs(monkeypatch).put(path, "--protocol", "" if fails else request.param, 3 if fails else 0)
    monkeypatch.setattr(front_command, "native_path", lambda: str(path))
    works: bool = request.param == "HKR3"
    return works


def test_the_fastest_front_that_works_is_the_default(native: bool) -> None:
    assert bool(native_fault()) is not native
    assert default_front() is (Front.NATIVE if native else Front.PYTHON)
    assert chosen_front(None, None) is default_front()
    assert chosen_front('{"hooks": {}}', None) is default_front()


def test_the_front_that_is_there_stays_if_it_works(native: bool) -> None:
    assert chosen_front(entries(Front.PYTHON), None) is Front.PYTHON
    assert current_front(entries(Front.PYTHON)) is Front.PYTHON
    assert chosen_front(entries(Front.NATIVE), None) is default_front()


def test_entries_without_a_front_get_one_and_are_current_until_then(native: bool) -> None:
    text = entries(Front.COLD)
    assert registered_front(text) is None
    assert chosen_front(text, None) is default_front()
    assert current_front(text) is Front.COLD


def test_a_native_front_that_does_not_work_is_refused(native: bool) -> None:
    if native:
        assert chosen_front(None, Front.NATIVE) is Front.NATIVE
        return
    with pytest.raises(SettingsError, match=r"native front cannot be used: .*--front python"):
        chosen_front(None, Front.NATIVE)


@pytest.mark.parametrize("before", ALL)
@pytest.mark.parametrize("after", ALL)
def test_a_change_of_front_changes_the_commands_alone(
    before: Front, after: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_choice, "native_fault", lambda: "")
    original = '{"model": "opus"}\n'
    old, new = (wanted("stop", "pre_tool_use_bash", script=script(front)) for front in (before, after))
    first, state = merge(original, old, None)
    assert first is not None
    assert differences(first, old) == []
    assert bool(differences(first, new)) is (before is not after)
    second, state = merge(first, new, state)
    assert second is not None
    assert second == entries(after)
    assert [entry.command for entry in registered(second)] == [want.command for want in new]
    assert len(second.splitlines()) == len(first.splitlines())
    assert chosen_front(second, None) is (default_front() if after is Front.COLD else after)
    assert merge(second, (), state)[0] == original


def test_the_mod_that_is_there_stays_and_is_taken_away_for_another_front(native: bool) -> None:
    text = with_mod(entries(default_front()), "/a home/state/mod")
    assert registered_front(text) is current_front(text) is chosen_front(text, None) is Front.MOD
    assert entries_front(text) is default_front()
    assert differences(text, wanted("stop", "pre_tool_use_bash", script=script(Front.MOD))) == []
    assert chosen_front(text, Front.COLD) is Front.COLD
    # What is left of the mod alone is no front.
    assert registered_front(with_mod("{}", "/m")) is None


@pytest.mark.parametrize("text", ["", "  \n", "{}", '{"enabledPlugins": {"a@b": true}}', "\ufeff{ }\n"])
def test_a_text_without_the_mod_is_left_as_it_is(text: str) -> None:
    assert without_mod(text) == text
