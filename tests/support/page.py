"""The page for people as tests need it: served by a real router, seen by Debian's Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from hookrouter.cli.application import Application
from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import Dialog
from hookrouter.dialogs.verdicts import Verdict, save_verdict
from hookrouter.queue.documents import Queue, change_queue, read_queue
from hookrouter.queue.editing import added, new_items
from hookrouter.util.claude_process import process_space
from hookrouter.util.program import script_argv
from hookrouter_page.settings import PageSettings
from support.managed_client import question
from support.ports import free_port
from support.resident import Resident, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["PHONE", "Home", "Served", "chromium", "page_config", "watched"]

PHONE = {"width": 360, "height": 640}
PATIENCE_MS = 20000.0 * float(os.environ.get("HOOKROUTER_TEST_PATIENCE", "1"))


def page_config() -> str:
    """Return a ``[page]`` table at a port that is free."""
    return f'\n[page]\naddress = "127.0.0.1:{free_port()}"\n'


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium; where it is missing the test is skipped, or fails with ``HOOKROUTER_REQUIRE_LIVE=1``."""
    program = shutil.which("chromium")
    if program is None:
        missing = "chromium is missing: apt-get install chromium"
        (pytest.fail if os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1" else pytest.skip)(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Served:
    """The page of one home, whose config.toml has a ``[page]`` table."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """``environ`` names the home. Nothing is started."""
        self.environ = dict(environ)
        self.router = Resident(environ)

    def __enter__(self) -> Served:
        self.router.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.router.__exit__(*error)

    def run(self, *words: str) -> str:
        """Run a command of hookrouter that must succeed, and return what it printed."""
        argv = [*script_argv(), *words]
        return subprocess.run(argv, env=self.environ, capture_output=True, text=True, timeout=60, check=True).stdout

    def link(self, *options: str) -> dict[str, str]:
        """Return what ``hookrouter open --json`` says."""
        said: dict[str, str] = json.loads(self.run("open", "--json", *options))
        return said

    @property
    def base(self) -> str:
        """The page's address, without a slash at the end."""
        return self.link()["base_url"]

    def log_in(self, browser: Browser, *options: str, **context: Any) -> Page:
        """Open the page in a new browser context that is logged in."""
        page = self.context(browser, **context).new_page()
        page.goto(self.link(*options)["url"])
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/")
        return page

    def context(self, browser: Browser, **options: Any) -> BrowserContext:
        """Return a new browser context that waits as long as a slow machine needs."""
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    @property
    def pid(self) -> int:
        """The page's process; 0 while none runs."""
        # A router that has just begun may not know yet which plugins there are.
        return int((self.router.status().get("page") or {"pid": 0})["pid"])

    def wait_begun(self) -> None:
        """Wait until the page's process runs."""
        eventually(lambda: self.pid > 0)


def watched(page: Page) -> list[str]:
    """Return a list to which is added what the browser complains of on a page: the policy, scripts, failed loads."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


class Home:
    """A home with a page, whose documents a test writes by itself: no client is there."""

    def __init__(self, folder: Path, config: str = "", environ: Mapping[str, str] | None = None) -> None:
        """Make it in a folder; ``environ`` is added to the environment of what runs in it."""
        self.folder = folder
        self.environ = {**os.environ, "HOOKROUTER_HOME": str(folder), "TMUX": "", "TMUX_PANE": "", **(environ or {})}
        (folder / "config.toml").write_text(f"{page_config()}{config}")
        self.app = Application.from_environ(self.environ)

    def ask(self, session: str, *texts: str, **form: Any) -> Dialog:
        """Save an open question of one form for each text; ``form`` replaces the forms' fields."""
        forms = [{**question(text), **form} for text in texts]
        asked = Dialog(
            session=session,
            session_id=f"id-{session}"[:100],
            tool_use_id=f"toolu_{session}"[:100],
            questions=forms,
            terminal=None,
            agent="default",
            gateway="inbox",
            client_pid=os.getpid(),
            client_host=process_space(),
        )
        documents.save_question(self.app.store, asked)
        return asked

    def end(self, asked: Dialog, **verdict: Any) -> None:
        """Close a question as a hook does, with a verdict."""
        names = {"session": asked.session, "session_id": asked.session_id, "tool_use_id": asked.tool_use_id}
        told: dict[str, Any] = {**names, "outcome": "answered_by_person", "by": "person", **verdict}
        save_verdict(self.app.store, Verdict(**told))
        documents.delete_question(self.app.store, asked.session, asked.tool_use_id)

    def put(self, session: str, *texts: str) -> None:
        """Put items into a session's queue."""
        change_queue(self.app.store, session, lambda queue: added(queue, new_items(texts, by="agent")))

    def queue(self, session: str) -> Queue:
        """Return a session's queue."""
        return read_queue(self.app.store, session)

    @property
    def address(self) -> str:
        """Where the page is served: ``HOST:PORT``."""
        return self.app.settings(PageSettings).address

    def settings_of(self) -> PageSettings:
        """Return what ``[page]`` of config.toml says by now."""
        return Application.from_environ(self.environ).settings(PageSettings)
