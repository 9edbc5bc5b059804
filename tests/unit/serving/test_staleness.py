"""When loaded code counts as changed."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookrouter._serving import staleness
from hookrouter._serving.staleness import LoadedCode


@pytest.fixture
def code_of_now() -> Iterator[Callable[[], LoadedCode]]:
    """Return what makes a LoadedCode, whose watches end with the test."""
    made = []

    def make() -> LoadedCode:
        made.append(LoadedCode())
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(params=["told", "untold"])
def module(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the file of a loaded module, on a system that tells of changes and on one that does not."""
    if request.param == "untold":
        monkeypatch.setattr("hookrouter.util.folder_watch.subscribe", lambda _folder: None)
    file = tmp_path / "loaded_for_staleness.py"
    file.write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("loaded_for_staleness")
    yield file
    del sys.modules["loaded_for_staleness"]


def test_nothing_has_changed_until_something_does(module: Path, code_of_now: Callable[[], LoadedCode]) -> None:
    code = code_of_now()
    assert code.change() == ""
    (module.parent / "other.py").write_text("")
    (module.parent / "__pycache__").mkdir(exist_ok=True)
    assert code.change() == ""
    module.write_text("A = 2\n")
    os.utime(module, ns=(1, 1))
    assert code.change() == str(module)
    assert code.change() == ""
    module.unlink()
    assert code.change() == str(module)


def test_a_module_that_is_loaded_later_counts_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code_of_now: Callable[[], LoadedCode]
) -> None:
    code = code_of_now()
    file = tmp_path / "loaded_later.py"
    file.write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("loaded_later")
    code.extend()
    file.write_text("A = 2\n")
    os.utime(file, ns=(1, 1))
    assert code.change() == str(file)
    del sys.modules["loaded_later"]


def test_an_installed_distribution_is_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code_of_now: Callable[[], LoadedCode]
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr(staleness.sys, "path", [*sys.path, str(folder)])
    code = code_of_now()
    (folder / "cache.lock").write_text("")
    assert code.change() == ""
    (folder / "new-1.0.dist-info").mkdir()
    assert code.change() == str(folder)
    (folder / "editable.pth").write_text("/somewhere\n")
    assert code.change() == str(folder)


def test_the_standard_library_is_not_watched(code_of_now: Callable[[], LoadedCode]) -> None:
    code = code_of_now()
    assert not [path for path in code._stamps if path.endswith(("/os.py", "/json/__init__.py"))]
    assert [path for path in code._stamps if path.endswith("/hookrouter/_serving/staleness.py")]
