"""The page for people as tests need it: served by a real router, seen by Debian's Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from hookrouter.util.program import script_argv
from support.ports import free_port
from support.resident import Resident, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["PHONE", "Served", "chromium", "page_config", "watched"]

PHONE = {"width": 360, "height": 640}
PATIENCE_MS = 20000.0 * float(os.environ.get("HOOKROUTER_TEST_PATIENCE", "1"))


def page_config() -> str:
    """Return a ``[page]`` table at a port that is free."""
    return f'\n[page]\naddress = "127.0.0.1:{free_port()}"\n'


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium."""
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing: apt-get install chromium"
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

    def link(self, *options: str) -> dict[str, str]:
        """Return what ``hookrouter open --json`` says."""
        words = [*script_argv(), "open", "--json", *options]
        done = subprocess.run(words, env=self.environ, capture_output=True, text=True, timeout=60, check=True)
        said: dict[str, str] = json.loads(done.stdout)
        return said

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
        return int(self.router.status()["page"]["pid"])

    def wait_begun(self) -> None:
        """Wait until the page's process runs."""
        eventually(lambda: self.pid > 0)


def watched(page: Page) -> list[str]:
    """Return a list to which is added what the browser complains of on a page: the policy, scripts, failed loads."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found
