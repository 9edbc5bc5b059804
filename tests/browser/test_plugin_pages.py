"""What plugins add to the page, in a browser: shown as text whatever it is, and costing nothing else if it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from hookrouter.sessions.records import IDLE, SessionRecord, change_record
from hookrouter.storage.journal import Journal
from hookrouter.testing import write_plugin
from hookrouter.util.clock import iso
from support.page import PHONE, Home, Served, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

EXAMPLE = Path(__file__).parents[2] / "examples" / "hookrouter-git-state"

SHOWING = """
import json, os
from hookrouter import hookimpl

def read():
    return json.load(open(os.path.join(os.environ["TEXTS"], __name__ + ".json")))

def blocks(request):
    from hookrouter.pages import Facts, Heading, Link, Preformatted, Table, Text
    text = read()
    title = text.strip()[:100]
    return [
        Text(text), Preformatted(text), Heading(title), Link(title, "https://example.org/?q='\\"><script>"),
        Facts([(text, text), ("to", Link(title, "/sessions"))]),
        Table([text, "", "role"], [[text, Link(title, "/history"), request.role]]),
        Table(["query"], [[request.query.get("q", "")]]),
    ]

@hookimpl
def web_pages():
    from hookrouter.pages import Link, Page, SessionPanel
    title = read().strip()[:100]
    return [
        Page("All of it", title, blocks),
        SessionPanel(title, lambda view, request: blocks(request) if view.session == "work" else None),
        SessionPanel(title, lambda view, request: blocks(request)),
        Link(title, "https://example.org/"),
    ]
"""

FAILING = """
import time
from hookrouter import hookimpl

def hang(*_):
    time.sleep(3600)

def fail(*_):
    raise SystemExit("<b>no</b> \\x1b[31m")

@hookimpl
def web_pages():
    from hookrouter.pages import Page, SessionPanel, Text
    return [
        Page("hang", "Hanging", hang), Page("fail", "Failing", fail), Page("none", "Nothing", lambda request: []),
        Page("other", "No blocks", lambda request: ["<b>text</b>"]),
        SessionPanel("Hanging", hang), SessionPanel("Failing", fail),
        SessionPanel("Fine", lambda view, request: [Text(f"This is {view.session}.")]),
    ]
"""

AS_WELL = """
from hookrouter import hookimpl

@hookimpl
def web_pages():
    from hookrouter.pages import Page, Text
    return [Page("FAIL", "Another", lambda request: [Text("The other one.")])]
"""

BROKEN = """
from hookrouter import hookimpl

@hookimpl
def web_pages():
    from hookrouter.pages import Link
    return [Link("go", "javascript:alert(1)")]
"""

HOSTILE = [
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    "<svg onload=\"document.title='owned'\"><style>*{display:none}</style></svg>",
    "</pre></td></a></title><base href=//evil.example><a href='javascript:alert(1)'>go</a>",
    "&lt;b&gt;&amp;&#x3c;script&#x3e;",
    "right \u202eto\u202c left \u2066 \u0627\u0644\u0639",
    "bell \x07 escape \x1b[31m nul \x00 back \x08",
    "{{ 7*7 }} {% raw %} ${7*7}",
    "x" * 100_000,
    "\ud800 alone",
]


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture
def home(tmp_path: Path, site: Path) -> Home:
    environ = {"PYTHONPATH": str(site), "TEXTS": str(site)}
    return Home(tmp_path, "[plugins.failing]\ntimeout = 1\n", environ)


def write_showing(site: Path, name: str, text: str) -> None:
    (site / f"{name}.json").write_text(json.dumps(text))
    write_plugin(site, name, SHOWING)


@pytest.fixture
def served(home: Home, site: Path) -> Iterator[Served]:
    write_showing(site, "showing", "What there is.")
    with Served(home.environ) as served:
        yield served


def test_hostile_texts_of_plugins_are_texts(browser: Browser, home: Home, site: Path) -> None:
    names = {f"showing_{number}": text for number, text in enumerate(HOSTILE)}
    for name, text in names.items():
        write_showing(site, name, text)
    home.ask("work", "Which way?")
    with Served(home.environ) as served:
        page = served.log_in(browser, viewport=PHONE)
        complaints = watched(page)
        for address in (*(f"/plugins/{name}/all-of-it?q=<script>" for name in names), "/sessions/work"):
            page.goto(served.base + address)
            tables = 2 if "plugins" in address else 2 * 2 * len(names)
            assert page.locator("main table").count() == tables, address
            assert page.title().endswith(" · hookrouter")
            assert page.locator("main script, main style, main img, main base, main b, main svg").count() == 0
            shown = page.inner_text("body")
            assert not any(bad in shown for bad in ("\u202e", "\x1b", "\x07", "\x08", "\ud800"))
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            addresses = page.evaluate("[...document.links].map(one => one.protocol)")
            assert set(addresses) <= {"http:", "https:"}
            # What the text is stands there whole, whatever it looks like.
            text = names.get(address.split("/")[2], "\n")
            if text.isprintable():
                assert text in page.locator("main pre").first.inner_text()
        assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_anybody_out(browser: Browser, home: Home, served: Served, scheme: str) -> None:
    home.ask("work", "Which way?")
    page = served.log_in(browser, viewport=PHONE, color_scheme=scheme)
    for address in ("/", "/plugins/showing/all-of-it", "/sessions/work"):
        page.goto(served.base + address)
        assert page.get_by_role("navigation", name="Of plugins").get_by_role("link").count() == 2
        found = Axe().run(page)
        assert found.violations_count == 0, (address, found.generate_report())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_pages_and_panels_are_there_without_scripts_and_for_whoever_may_look(
    browser: Browser, home: Home, served: Served
) -> None:
    home.ask("work", "Which way?")
    home.ask("other", "Which way?")
    page = served.log_in(browser, "--role", "view", java_script_enabled=False)
    page.get_by_role("navigation", name="Of plugins").get_by_role("link").first.click()
    page.get_by_role("heading", level=1, name="What there is.").wait_for()
    assert page.get_by_role("navigation").locator("[aria-current]").inner_text() == "What there is."
    page.get_by_role("cell", name="view", exact=True).wait_for()
    page.get_by_role("definition").get_by_role("link").click()
    page.get_by_role("link", name="work").click()
    assert page.get_by_role("heading", level=2, name="What there is.").count() == 2
    page.goto(served.base + "/sessions/other")
    assert page.get_by_role("heading", level=2, name="What there is.").count() == 1
    page.goto(served.base + "/plugins/showing/none")
    page.get_by_text("There is no such page.").wait_for()


def test_what_fails_or_hangs_costs_its_own_part_alone(browser: Browser, home: Home, site: Path) -> None:
    for name, source in (("failing", FAILING), ("Failing", AS_WELL), ("broken", BROKEN)):
        write_plugin(site / name, name, source)
    home.environ["PYTHONPATH"] = ":".join(str(site / name) for name in ("failing", "Failing", "broken"))
    home.ask("work", "Which way?")
    with Served(home.environ) as served:
        page = served.log_in(browser)
        for _ in range(2):
            page.goto(served.base + "/sessions/work")
            page.get_by_text("The plugin failing failed: it took longer than 1 s").wait_for()
            page.get_by_text("The plugin failing failed: SystemExit: <b>no</b> \\x1b[31m").wait_for()
            page.get_by_text("This is work.").wait_for()
        for name, said in (
            ("Hanging", "it took longer than 1 s"),
            ("Nothing", "There is nothing to show."),
            ("No blocks", "ContentError: blocks of hookrouter.pages are needed, not '<b>text</b>'"),
            ("Another", "The other one."),
        ):
            page.get_by_role("navigation", name="Of plugins").get_by_role("link", name=name).click()
            page.get_by_text(said).wait_for()
        assert page.get_by_role("link", name="Failing").count() == 0
        page.goto(served.base + "/health")
        taken = (
            "plugin failing: the page 'Failing' is not shown: /plugins/failing/fail is 'Another' of the plugin Failing"
        )
        page.get_by_text(taken).wait_for()
        page.get_by_text("plugin broken: web_pages() failed: ContentError: the address of a link begins").wait_for()
        # However often somebody looks at what hangs, the rest of the page is there.
        for _ in range(6):
            page.goto(served.base + "/sessions/work")
        page.get_by_text("8 earlier calls of it have not ended yet").first.wait_for()
        page.goto(served.base + "/")
        page.get_by_text("Which way?").wait_for()
    told = Journal(home.app.home.logs).records(None)
    assert any("in fail\n" in str(record.get("traceback")) for record in told)
    assert any(taken in str(record.get("reason")) for record in told)


def test_the_example_shows_the_git_state_of_sessions(browser: Browser, tmp_path: Path, site: Path) -> None:
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", site, EXAMPLE], check=True)
    project = tmp_path / "a <b>project"
    project.mkdir()
    git = ["git", "-C", str(project), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "init", "--quiet", "--initial-branch=work"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=Begin <script>\x1b[31m"], check=True)
    (project / "new.txt").write_text("x")
    folder = tmp_path / "home"
    folder.mkdir()
    home = Home(folder, environ={"PYTHONPATH": str(site)})
    for name, cwd in (("a/b", project), ("elsewhere", tmp_path)):
        change_record(
            home.app.store, name, lambda _, name=name, cwd=cwd: SessionRecord(name, "", IDLE, iso(), cwd=str(cwd))
        )
    with Served(home.environ) as served:
        page = served.log_in(browser, viewport=PHONE)
        complaints = watched(page)
        page.get_by_role("link", name="Folders").click()
        row = page.get_by_role("row").filter(has_text="project")
        row.get_by_text("Begin <script>\\x1b[31m").wait_for()
        page.get_by_role("row").filter(has_text="elsewhere").get_by_text("no repository").wait_for()
        row.get_by_role("link", name="a/b").click()
        page.get_by_role("heading", name="Git").wait_for()
        page.locator("dd", has_text="work").wait_for()
        page.get_by_text("?? new.txt").wait_for()
        assert Axe().run(page).violations_count == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.goto(served.base + "/sessions/elsewhere")
        page.get_by_role("heading", name="Queue").wait_for()
        assert page.get_by_role("heading", name="Git").count() == 0
        assert complaints == []
