"""What plugins add to the page: whose address it is, what is refused, and what a failure costs."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hookrouter import _wiring
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter.config import Config, PluginConfig
from hookrouter.context import Services
from hookrouter.pages import (
    ContentError,
    Facts,
    Heading,
    Link,
    Page,
    PageRequest,
    Preformatted,
    SessionPanel,
    Table,
    Text,
)
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from hookrouter_page import state as page_state
from hookrouter_page.plugins.calls import MOST_AT_ONCE, CallFailed, PluginCalls
from hookrouter_page.plugins.content import MOST, Drawn, read_content
from hookrouter_page.plugins.contributed import MOST_EACH, address_part, offered, put_together
from hookrouter_page.plugins.plugin_pages import Filled, PluginPages

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = st.text() | st.sampled_from(["<script>", "\x1b[31m", "\u202e", "\ud800", "&lt;", "{{ 7*7 }}", "'\">"])
TITLES = HOSTILE.filter(lambda text: bool(text.strip())).map(lambda text: text[:100]).filter(lambda text: text.strip())
LINKS = st.builds(Link, TITLES, st.sampled_from(["/sessions/a?b=c&d", "https://example.org/'\"><b>", "/"]))
CELLS = HOSTILE | LINKS
BLOCKS = (
    st.builds(Text, HOSTILE)
    | st.builds(Preformatted, HOSTILE)
    | st.builds(Heading, TITLES)
    | LINKS
    | st.builds(Facts, st.lists(st.tuples(HOSTILE, CELLS), max_size=3))
    | st.integers(0, 3).flatmap(
        lambda width: st.builds(
            Table,
            st.lists(HOSTILE, min_size=width, max_size=width),
            st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=3),
        )
    )
)


class Markup(str):
    """What a template engine takes for markup."""

    def __html__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self


def nothing(*_given: object) -> None:
    return None


@pytest.mark.parametrize(
    "address", ["/", "/sessions/a%2Fb?x=1#y", "http://127.0.0.1:8080/", "https://example.org/?a=b"]
)
def test_links_lead_to_pages(address: str) -> None:
    link = Link("go", address)
    assert (link.address, link.is_elsewhere) == (address, not address.startswith("/"))


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "http:evil.example",
        "https:///path",
        "http://[::1",
        "ftp://example.org",
        "sessions",
        "",
        " /sessions",
        "/\t/evil.example",
        "/\u202egro.elpmaxe",
        "/" + "x" * 8000,
    ],
)
def test_other_addresses_are_refused_with_what_is_allowed(address: str) -> None:
    with pytest.raises(ContentError, match="begins with http:// or https://, or is a path of the page"):
        Link("go", address)


@given(st.text(max_size=200))
def test_each_session_has_a_link(session: str) -> None:
    link = Link.to_session(session)
    assert link.address.removeprefix("/sessions/") == quote(session, safe="", errors="replace")
    assert "/" not in link.address.removeprefix("/sessions/")


@given(st.text() | st.text(alphabet="htps:/\\.@ \tjavscrip\u202e").map(lambda text: f"/{text}"))
def test_whatever_is_allowed_stays_a_page(address: str) -> None:
    try:
        found = Link("go", address).address
    except ContentError:
        return
    parts = urlsplit(found)
    assert parts.scheme in ("http", "https", "")
    if not parts.scheme:
        assert found.startswith("/")
        assert not parts.netloc
    assert not set(found) & set("\\ \t\r\n\u202e")


@pytest.mark.parametrize("title", ["", "  \n", "\u3000", "x" * 101])
def test_titles_are_neither_empty_nor_endless(title: str) -> None:
    for make in (lambda: Link(title, "/"), lambda: Page("a", title, nothing), lambda: Heading(title)):
        with pytest.raises(ContentError, match="a title has 1 to 100 characters"):
            make()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Text(3), "a text is needed, not 3"),  # type: ignore[arg-type]
        (lambda: Text(b"x"), "a text is needed, not b'x'"),  # type: ignore[arg-type]
        (lambda: Table(["a"], [["b", "c"]]), "row 1 has 2 cells, and the header 1"),
        (lambda: Table(["a"], [[None]]), "a text is needed, not None"),  # type: ignore[list-item]
        (lambda: Facts([("a", Text("b"))]), "a text is needed, not Text"),  # type: ignore[list-item]
    ],
)
def test_what_is_no_text_is_refused(make: Any, why: str) -> None:
    with pytest.raises(ContentError, match=why):
        make()


def test_texts_that_call_themselves_markup_are_texts() -> None:
    text = Markup("<b>x</b>")
    link = Link(text, Markup("/<b>"))
    found = [Text(text).text, Facts([(text, text)]).items[0][1], Table([text], [[text]]).rows[0][0], link.title]
    assert [type(one) for one in (*found, link.address)] == [str] * 5


@given(st.text())
def test_any_name_becomes_a_part_of_an_address(name: str) -> None:
    part = address_part(name)
    assert set(part) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert part not in (".", "..")
    assert address_part(part) == part


def test_of_two_pages_with_one_address_the_first_stays_and_both_are_named() -> None:
    pages = {title: Page(segment, title, nothing) for segment, title in (("a b", "A"), ("A-B", "B"), ("c", "C"))}
    offers = [("my-plugin", (pages["A"], pages["C"])), ("my plugin", (pages["B"], Link("D", "/")))]
    found = put_together(offers)
    assert {address: one.page.title for address, one in found.pages.items()} == {
        "/plugins/my-plugin/a-b": "A",
        "/plugins/my-plugin/c": "C",
    }
    assert [link.title for link in found.links] == ["A", "C", "D"]
    assert found.problems == (
        "plugin my plugin: the page 'B' is not shown: /plugins/my-plugin/a-b is 'A' of the plugin my-plugin already",
    )


def test_a_page_whose_name_leaves_nothing_for_an_address_is_reported() -> None:
    found = put_together([("p", (Page("..", "A", nothing),)), ("\u00e4\u00f6", (Page("a", "B", nothing),))])
    assert not found.pages
    assert found.problems == (
        "plugin p: the page 'A' is not shown: nothing of the segment '..' can be part of an address",
        "plugin \u00e4\u00f6: the page 'B' is not shown: nothing of the plugin's name can be part of an address",
    )


@given(st.lists(st.tuples(st.text(max_size=5), st.lists(TITLES, max_size=4)), max_size=4))
def test_each_page_is_shown_or_reported(plugins: list[tuple[str, list[str]]]) -> None:
    offers = [(name, tuple(Page(one, one, nothing) for one in segments)) for name, segments in plugins]
    found = put_together(offers)
    assert len(found.pages) + len(found.problems) == sum(len(segments) for _, segments in plugins)
    assert all(text.isprintable() or "\u200d" in text or not text.isascii() for text in found.problems)


@pytest.mark.parametrize("given", [3, "text", [3], ["text"], [Text("x")], [Link("a", "/")] * (MOST_EACH + 1)])
def test_what_is_no_contribution_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=r"web_pages\(\) returned "):
        offered(given)


def test_an_endless_offer_is_refused() -> None:
    with pytest.raises(TypeError, match=f"more than {MOST_EACH}"):
        offered(itertools.repeat(Link("a", "/")))
    assert offered(None) == ()
    assert offered(iter([Link("a", "/")])) == (Link("a", "/"),)


@pytest.mark.parametrize("given", [3, "text", ["text"], [None], [Page("a", "b", nothing)], [[Text("x")]]])
def test_what_is_no_block_is_refused(given: object) -> None:
    with pytest.raises(ContentError):
        read_content(given)


@pytest.mark.parametrize(
    "block", [Text("x" * 1000), Text(""), Table(["a"], [[""]] * 100), Facts([("", "x" * 10)]), Link("a", "/")]
)
def test_too_much_is_refused_and_not_waited_for(block: Any) -> None:
    with pytest.raises(ContentError, match=f"more than {MOST}"):
        read_content(itertools.repeat(block))


def test_a_class_of_ones_own_is_no_block() -> None:
    class Own(Text):
        pass

    with pytest.raises(ContentError):
        read_content([Own("x")])


TEMPLATES = Environment(
    loader=FileSystemLoader(f"{page_state._FOLDER}/templates"), autoescape=True, undefined=StrictUndefined
)
TEMPLATES.filters |= {"shown": page_state.shown, "line": page_state.line}
DRAW = TEMPLATES.from_string(
    '{% from "blocks.html" import filled_in with context %}{{ filled_in(filled, name, "h2") }}'
)
OWN = (
    "<p",
    "<h2",
    "<pre",
    "<a ",
    "<bdi",
    "<dl",
    "<dt",
    "<dd",
    "<div",
    "<table",
    "<thead",
    "<tbody",
    "<tr",
    "<th",
    "<td",
)


@given(st.lists(BLOCKS, max_size=4), HOSTILE, HOSTILE)
def test_whatever_is_shown_is_text(blocks: list[Any], name: str, problem: str) -> None:
    drawn = DRAW.render(filled=Filled(name, name, read_content(blocks), problem), name=name, root="/~root")
    left = drawn
    for tag in OWN:
        left = left.replace(tag, "").replace(tag.replace("<", "</").strip(), "")
    # Every other bracket that opens is written as an entity.
    assert "<" not in left
    assert not set(drawn) & set("\x1b\x00\u202e\ud800")


def test_blocks_keep_their_order() -> None:
    assert read_content([Text("a"), Link("b", "/")]) == [Drawn("text", Text("a")), Drawn("link", Link("b", "/"))]
    assert read_content(None) == []


def run(function: Any, *, seconds: float = 30.0, times: int = 1) -> list[Any]:
    async def call() -> list[Any]:
        calls = PluginCalls()
        waiting = [calls.call("p", function, seconds) for _ in range(times)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    return asyncio.run(call())


def test_a_call_is_made_in_a_thread_of_its_own() -> None:
    assert run(lambda: threading.current_thread().name) == ["plugin p"]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_what_a_call_raises_is_told_with_where(error: BaseException) -> None:
    def fail() -> None:
        raise error

    (failure,) = run(fail)
    assert isinstance(failure, CallFailed)
    assert type(error).__name__ in str(failure)
    assert "in fail\n" in failure.details


def test_calls_that_hang_are_not_waited_for_and_not_made_without_end() -> None:
    release = threading.Event()
    try:
        failures = run(release.wait, seconds=0.05, times=MOST_AT_ONCE + 1)
    finally:
        release.set()
    said = [str(failure) for failure in failures]
    assert said == ["it took longer than 0.05 s"] * MOST_AT_ONCE + [
        f"{MOST_AT_ONCE} earlier calls of it have not ended yet"
    ]


def services(folder: Path, objects: dict[str, object], config: Config) -> Services:
    home = Home.from_environ({"HOOKROUTER_HOME": str(folder)})
    index = [DiscoveredPlugin(name=name, value=name, hooks=("web_pages",)) for name in objects]
    plugins = Plugins(index, config, lambda plugin, text: None, objects)
    journal = Journal(home.logs)
    return Services(home=home, config=config, environ={}, plugins=plugins, journal=journal, wiring=_wiring)


def plugin(*offers: object) -> object:
    from hookrouter import hookimpl

    class Plugin:
        @hookimpl
        def web_pages(self) -> Any:
            if offers == ("raise",):
                raise ValueError("no pages")
            return list(offers)

    return Plugin()


def test_plugins_are_asked_once_and_anew_if_others_are_active(tmp_path: Path) -> None:
    objects = {"b": plugin(Link("B", "/b")), "a": plugin(Link("A", "/a")), "c": plugin("raise"), "d": plugin("x")}
    config = Config(plugins={"b": PluginConfig(enabled=False)})

    async def look() -> tuple[list[str], list[str], list[str]]:
        pages = PluginPages()
        await pages.refresh(services(tmp_path, objects, Config()))
        both = [link.title for link in pages.contributed.links]
        known = pages.contributed
        await pages.refresh(services(tmp_path, objects, Config()))
        assert pages.contributed is known
        problems = pages.problems
        await pages.refresh(services(tmp_path, objects, config))
        return both, [link.title for link in pages.contributed.links], problems

    both, one, problems = asyncio.run(look())
    assert (both, one) == (["A", "B"], ["A"])
    assert sorted(problems) == [
        "plugin c: web_pages() failed: ValueError: no pages",
        "plugin d: TypeError: web_pages() returned 'x', which is not a Page, SessionPanel or Link",
    ]


def test_a_panel_that_fails_leaves_the_others(tmp_path: Path) -> None:
    def fail(view: object, request: PageRequest) -> None:
        raise LookupError(f"no {view}")

    panels = (
        SessionPanel("One", lambda view, request: [Text(f"{view} {request.role}")]),
        SessionPanel("Two", fail),
        SessionPanel("Three", nothing),
    )

    async def look() -> list[Filled]:
        found = services(tmp_path, {"p": plugin(*panels)}, Config())
        pages = PluginPages()
        await pages.refresh(found)
        view: Any = "work"
        return await pages.fill_panels(found, view, PageRequest({}, "view", found))

    assert asyncio.run(look()) == [
        Filled("p", "One", [Drawn("text", Text("work view"))], ""),
        Filled("p", "Two", [], "LookupError: no work"),
    ]
    (record,) = Journal(Home.from_environ({"HOOKROUTER_HOME": str(tmp_path)}).logs).records(None)
    assert record["reason"] == "plugin p: 'Two' of the page failed: LookupError: no work"
    assert "in fail\n" in str(record["traceback"])
