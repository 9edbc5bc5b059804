"""The page as the router keeps it: nothing runs before somebody connects, and what is wrong is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._serving.kept_process import KeptProcess
from hookrouter._serving.kept_processes import place_of
from hookrouter.cli.application import Application
from hookrouter.serving.resident import extra_missing
from hookrouter.storage.home import Home
from hookrouter_page import resident
from hookrouter_page.resident import PageProcess
from support.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path


class Page:
    """A home with a page."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.home = Home.from_environ({"HOOKROUTER_HOME": str(folder)})
        self.table = folder / "config.toml"
        self.table.write_text(f'[page]\naddress = "127.0.0.1:{self.port}"\n')
        self.kept = KeptProcess(PageProcess(), self.home.router, {})

    def add(self, line: str) -> None:
        with self.table.open("a") as file:
            file.write(f"{line}\n")

    def status(self) -> dict[str, Any] | None:
        services = Application.from_environ({"HOOKROUTER_HOME": str(self.table.parent)}, share=False)
        self.kept.tend(place_of(self.home, services.config, services.plugins, "page"))
        return self.kept.status()


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path)


def test_it_listens_and_runs_nothing(page: Page) -> None:
    assert page.status() == {"pid": 0, "url": f"http://127.0.0.1:{page.port}", "problem": ""}
    assert len(page.kept.awaited()) == 1
    page.add("enabled = false")
    assert (page.status(), page.kept.awaited()) == (None, [])


def test_without_the_extra_it_says_how_to_add_it_unless_it_is_switched_off(
    page: Page, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resident, "NEEDED", ("no_such_library",))
    assert page.status() == {"pid": 0, "url": "", "problem": extra_missing("page")}
    assert capsys.readouterr().err.endswith(f" hookrouter serve: no page: {extra_missing('page')}\n")
    page.add("enabled = false")
    assert (page.status(), capsys.readouterr().err) == (None, "")


def test_a_page_that_runs_begins_anew_if_its_table_changes(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr("os.kill", lambda pid, _number: killed.append(pid))
    page.status()
    page.kept.pid = 12345
    page.status()
    assert killed == []
    page.add('user_header = "X-User"')
    page.status()
    assert (killed, page.kept.pid, len(page.kept.awaited())) == ([12345], 0, 1)
    page.kept.let_go()
