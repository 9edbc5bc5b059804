"""The page that ends TLS by itself, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.asking import asking_page
from support.page import page_config, watched
from support.tls import made_pair

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser


def test_a_question_is_answered_over_https(browser: Browser, tmp_path: Path) -> None:
    pair = made_pair(tmp_path)
    keys = f'certificate = "{pair.certificate}"\nprivate_key = "{pair.key}"\n'
    folder = tmp_path / "stage"
    folder.mkdir()
    with asking_page(folder, page_config() + keys) as asking:
        # The certificate has signed itself.
        page = asking.served.log_in(browser, ignore_https_errors=True)
        complaints = watched(page)
        assert page.url == f"{asking.served.base}/"
        assert page.url.startswith("https://")
        [cookie] = page.context.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Lax")
        assert asking.served.base.endswith(cookie["path"])
        page.get_by_text("Nothing waits").wait_for()
        asking.ask()
        page.get_by_text("Which way?").wait_for()
        page.get_by_label("Right").check()
        page.get_by_role("button", name="Review").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("Recorded exactly").wait_for()
        assert [(one["outcome"], one["by"]) for one in asking.told()] == [("verified", "person")]
    assert complaints == []
