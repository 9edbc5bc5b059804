"""The front in Python where no memory is left: what it cannot keep is no call of the router's."""

from __future__ import annotations

import posix

import pytest

from hookrouter._fronts import python_call


def no_memory(*_given: object) -> bytes:
    raise MemoryError


@pytest.mark.parametrize("part", ["_read_stdin", "_memory_file"])
def test_without_memory_for_the_payload_the_run_is_cold(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cold: list[object] = []
    monkeypatch.setattr(python_call, "_is_fit", lambda: True)
    monkeypatch.setattr(python_call, "_greeted", lambda folder, cold: (None, -1))
    monkeypatch.setattr(python_call, "_read_stdin", lambda: b"{}")
    monkeypatch.setattr(python_call, part, no_memory)
    monkeypatch.setattr(python_call, "_run_cold", lambda *given: (cold.append(given), 7)[1])
    assert python_call.main("/folder", ["hookrouter", "run", "stop"]) == 7
    assert cold == [(["hookrouter", "run", "stop"], None if part == "_read_stdin" else b"{}")]


def test_what_there_is_no_memory_to_copy_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    file = python_call._memory_file(b"refused")
    try:
        monkeypatch.setattr(python_call, "_write", no_memory)
        assert not python_call._copy(file, 1)
    finally:
        posix.close(file)
