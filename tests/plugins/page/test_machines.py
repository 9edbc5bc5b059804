"""Two machines' pages behind one address: a link or form means one machine's session, whatever page it comes to."""

from __future__ import annotations

import asyncio
import html
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from hookrouter.cli.application import Application
from hookrouter.dialogs import documents
from hookrouter.dialogs.documents import Dialog
from hookrouter.messaging.gateway import Message
from hookrouter.queue.documents import change_queue, read_queue
from hookrouter.queue.editing import added, new_items
from hookrouter.sessions.records import IDLE, SessionRecord, change_record
from hookrouter.storage.interface import StoreError
from hookrouter.util.probe import Probe
from hookrouter_fleet import others as module
from hookrouter_page.app import make_app
from hookrouter_page.reading.waiting import key_of, read_key
from hookrouter_page.security.answer_link import answer_link
from hookrouter_page.security.logins import COOKIE, FULL
from hookrouter_page.settings import PageSettings
from hookrouter_page.tasks import Done
from hookrouter_tmux.backend import TmuxBackend
from support.managed_client import question
from support.memory_storage import MemoryStorage
from support.resident import PATIENCE
from support.threads import join_threads

CONFIG = """
[storage]
engine = "memory"
machine = "{name}"
[page]
url = "https://claude.example.org"
secret_file = "{secret}"
"""


class Answer(NamedTuple):
    """What a page has answered."""

    status: int
    text: str
    location: str

    @property
    def addresses(self) -> set[str]:
        """The addresses of sessions and questions that its links and forms name."""
        found = re.findall(r'(?:href|action|hx-post)="/~\w+(/(?:sessions/|waiting/|history\?session)[^"]*)"', self.text)
        return {html.unescape(one) for one in found if not one.startswith(("/sessions/list", "/waiting/list"))}


class Machine:
    """A machine with its page. What its page would have commands do is noted, and not done."""

    def __init__(self, folder: Path, name: str, areas: Any) -> None:
        self.name = name
        (folder / name).mkdir()
        (folder / "secret").write_text("a secret of all the pages of this test\n")
        (folder / "secret").chmod(0o600)
        (folder / name / "config.toml").write_text(CONFIG.format(name=name, secret=folder / "secret"))
        self.services = Application.from_environ({"HOOKROUTER_HOME": str(folder / name)}, share=False)
        self.storage = MemoryStorage(name)
        self.storage.areas = areas
        self.app: Starlette = make_app(lambda: self.services)
        self.ran: list[tuple[list[str], bool]] = []
        self.answered: list[Any] = []

        async def command(words: list[str], _text: str | None = None, *, is_alone: bool = False) -> Done:
            self.ran.append((words, is_alone))
            return Done(0, {}, "")

        async def answer(request: Any) -> Done:
            self.answered.append(request)
            return Done(0, {"outcome": "verified"}, "")

        self.app.state.page.tasks.command = command
        self.app.state.page.tasks.answer = answer

    @property
    def csrf(self) -> str:
        logins = self.app.state.page.logins
        return str(logins.csrf_token(logins.login(self._cookie()).id))

    def _cookie(self) -> str:
        logins = self.app.state.page.logins
        if not hasattr(self, "_logged_in"):
            _, self._logged_in = logins.enter(logins.link_token(FULL), "anna", "")
        return str(self._logged_in)

    def get(self, address: str) -> Answer:
        return self._ask("GET", address, b"")

    def post(self, address: str, **fields: str) -> Answer:
        return self.post_all(address, list({"csrf": self.csrf, **fields}.items()))

    def post_all(self, address: str, fields: list[tuple[str, str]]) -> Answer:
        return self._ask("POST", address, urlencode(fields).encode())

    def _ask(self, method: str, address: str, body: bytes) -> Answer:
        path, _, query = f"{self.app.state.page.logins.root}{address}".partition("?")
        headers = [(b"host", b"claude.example.org"), (b"cookie", f"{COOKIE}={self._cookie()}".encode())]
        headers += [(b"origin", b"https://claude.example.org"), (b"content-length", str(len(body)).encode())]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(asyncio.wait_for(self.app({**scope, "client": None}, receive, send), PATIENCE))
        text = b"".join(one.get("body", b"") for one in sent[1:]).decode()
        location = dict(sent[0]["headers"]).get(b"location", b"").decode()
        return Answer(sent[0]["status"], text, location.removeprefix(self.app.state.page.logins.root))

    def has(self, session: str, item: str = "") -> None:
        """Have a session with an item in its queue, which the others see as well."""
        record = SessionRecord(session, f"id-{session}-{self.name}", IDLE, "2026-11-26T00:00:00.000Z")
        for store in (self.services.store, self.storage.store("", pytest.fail)):
            change_record(store, session, lambda _: record)
            if item:
                change_queue(store, session, lambda queue: added(queue, new_items([item], by="agent")))

    def asks(self, session: str, tool_use_id: str, *more: Any) -> Dialog:
        """Have a question open, which the others see as well; ``more`` are asked with it."""
        asked = Dialog(
            session=session,
            session_id=f"id-{session}",
            tool_use_id=tool_use_id,
            questions=[question("Which way?"), *more],
            terminal=None,
            agent="",
            gateway="inbox",
        )
        for store in (self.services.store, self.storage.store("", pytest.fail)):
            documents.save_question(store, asked)
        return asked


class Fleet(NamedTuple):
    one: Machine
    two: Machine


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    areas: Any = {}
    machines = {name: Machine(tmp_path, name, areas) for name in ("one", "two")}
    monkeypatch.setattr(module, "open_engine", lambda services: machines[Path(services.home.root).name].storage)
    return Fleet(machines["one"], machines["two"])


@pytest.fixture
def away(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """The fleet without its engine."""

    def fail(*_: object) -> None:
        raise StoreError("the engine is away")

    monkeypatch.setattr(module, "open_engine", fail)
    return fleet


def test_both_pages_show_a_session_under_the_same_address(fleet: Fleet) -> None:
    fleet.one.has("work")
    fleet.two.has("work")
    shown = [machine.get("/sessions") for machine in fleet]
    assert shown[0].addresses == shown[1].addresses == {"/sessions/work?machine=one", "/sessions/work?machine=two"}
    for page in shown:
        assert [page.text.count(f"on <bdi>{name}</bdi>") for name in ("one", "two")] == [1, 1]


def test_every_form_and_link_of_a_session_names_its_machine(fleet: Fleet) -> None:
    for machine in fleet:
        machine.has("work", "run the tests")
    for machine in fleet:
        for name in ("one", "two"):
            page = machine.get(f"/sessions/work?machine={name}")
            assert page.status == 200
            assert f"<dd><bdi>{name}</bdi></dd>" in page.text
            wanted = {f"/sessions/work?machine={name}", f"/history?session=work&machine={name}"}
            assert page.addresses == wanted


ACTIONS: list[dict[str, str]] = [
    *({"do": do} for do in ("send", "send-next", "hold", "go-on", "clear", "pause", "resume")),
    *({"do": do, "item": "i1"} for do in ("edit", "drop", "first", "last")),
]


def test_an_action_is_done_on_the_machine_that_its_form_names(fleet: Fleet) -> None:
    for machine in fleet:
        machine.has("work")
    for machine, name, fields in itertools.product(fleet, ("one", "two"), ACTIONS):
        done = machine.post(f"/sessions/work?machine={name}", text="now", **fields)
        assert (done.status, done.location) == (303, f"/sessions/work?machine={name}")
        [(words, is_alone)], machine.ran = machine.ran, []
        # Its own it does by itself, whatever else is called so; the other machine is named.
        assert is_alone == (name == machine.name)
        assert [word for word in words if word.startswith("--machine")] == ([] if is_alone else [f"--machine={name}"])


@pytest.mark.parametrize("text", ["a\x07b", "\nfirst\n\nlast\n", "</textarea><b>&amp; x", "\u202e\U0001f7e2 '\"", " "])
def test_a_refused_text_is_kept_where_it_was_typed(fleet: Fleet, text: str) -> None:
    machine = fleet.one
    machine.has("work", "an item")

    async def refused(_words: list[str], _text: str | None = None, *, is_alone: bool = False) -> Done:
        return Done(2, {"error": "it holds U+0007"}, "")

    machine.app.state.page.tasks.command = refused
    [item] = read_queue(machine.services.store, "work").items
    for fields in ({"do": "send"}, {"do": "send-next"}, {"do": "edit", "item": item.id}):
        shown = machine.post("/sessions/work?machine=one", text=text, **fields)
        assert (shown.status, "it holds U+0007" in shown.text) == (422, True)
        areas = [html.unescape(one) for one in re.findall("<textarea[^>]*>\n(.*?)</textarea>", shown.text, re.DOTALL)]
        assert areas == ([text, ""] if "item" in fields else ["an item", text])
        assert bool(re.search("<details[^>]* open>", shown.text)) == ("item" in fields)


class _Fields(HTMLParser):
    """What a browser would send of a page's forms, by the fields' names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._area = ""
        # The first line's end in a text area is no part of it.
        self.feed(re.sub("(<textarea[^>]*>)\n", r"\1", text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "textarea":
            self._area = name
            self.found[name] = [""]
        elif tag == "input" and (given.get("type") == "hidden" or "checked" in given):
            self.found.setdefault(name, []).append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.found[self._area][0] += data


_MORE = ({**question("Which tools?"), "multiSelect": True}, question("And then?"))


@pytest.mark.parametrize("by_link", [False, True], ids=["logged in", "by a link"])
def test_what_was_entered_is_kept_where_it_was_refused_and_behind_back(fleet: Fleet, by_link: bool) -> None:
    machine = fleet.one
    asked = machine.asks("work", "t1", *_MORE)
    address = "/waiting/" + key_of("work", "id-work", "t1", "one")
    if by_link:
        link = answer_link(machine.services.home, machine.services.settings(PageSettings), asked)
        address = link.removeprefix("https://claude.example.org")

    def post(step: str, *fields: tuple[str, str]) -> tuple[Answer, dict[str, list[str]]]:
        csrf = _Fields(machine.get(address).text).found["csrf"][-1]
        shown = machine.post_all(f"{address}/{step}", [*fields, ("csrf", csrf)])
        return shown, {name: found for name, found in _Fields(shown.text).found.items() if found != [""]}

    text = "\n first </textarea><b>&amp; \U0001f7e2 \x07\n"
    entered = [("q0", "own"), ("own0", text), ("q1", "0"), ("q1", "1"), ("own1", 'a "word"')]
    kept = {"q0": ["own"], "own0": [text], "q1": ["0", "1"], "own1": ['a "word"']}
    shown, fields = post("review", *entered)
    assert (shown.status, "question 3 has no answer yet" in shown.text) == (422, True)
    assert {**fields, "csrf": []} == {**kept, "csrf": []}

    [right] = [(name, value.replace("\x07", "")) for name, value in entered if name == "own0"]
    shown, fields = post("review", *(one for one in entered if one[0] != "own0"), right, ("q2", "1"))
    assert (shown.status, "This will be sent" in shown.text) == (200, True)
    again = [(name, value) for name, values in fields.items() for value in values if name != "csrf"]
    kept = {**kept, "own0": [right[1]], "q2": ["1"]}
    shown, fields = post("review", *again, ("back", "yes"))
    assert (shown.status, {**fields, "csrf": []}) == (200, {**kept, "csrf": []})

    wrong = [("decisions", "nonsense"), *((name, value) for name, value in again if name != "decisions")]
    shown, fields = post("send", *wrong)
    assert (shown.status, {**fields, "csrf": []}, machine.answered) == (422, {**kept, "csrf": []}, [])


def typed(page: Answer) -> list[str]:
    """Return what a page without a form shows of what was entered."""
    found = re.findall("<textarea [^>]*readonly[^>]*>\n(.*?)</textarea>", page.text, re.DOTALL)
    return [html.unescape(one) for one in found]


@pytest.mark.parametrize("text", ["\nfirst\n\nlast\n", "</textarea><b>&amp; x", "\u202e\U0001f7e2 '\""])
def test_what_was_entered_is_shown_where_a_page_has_no_form_for_it(fleet: Fleet, text: str) -> None:
    machine = fleet.one
    machine.has("work")
    asked = machine.asks("work", "t1", *_MORE)
    link = answer_link(machine.services.home, machine.services.settings(PageSettings), asked)
    link = link.removeprefix("https://claude.example.org")
    address, own = "/waiting/" + key_of("work", "id-work", "t1", "one"), {"q0": "own", "own0": text, "chat": " "}
    item = ("/sessions/work?machine=one", {"text": text})
    for where, fields in (item, (f"{address}/review", own), (f"{link}/review", own)):
        shown = machine.post(where, **{**fields, "csrf": "another"})
        assert (shown.status, "out of date" in shown.text, typed(shown)) == (403, True, [text])
    for name in list(machine.services.store.stamps("question")):
        machine.services.store.delete("question", name)
    shown = machine.post(f"{address}/review", **own)
    assert (shown.status, typed(shown)) == (409, [text])
    # A page that has a form for it has it there alone.
    assert typed(machine.get(address)) == []


def test_a_chat_that_is_refused_is_kept_and_shown(fleet: Fleet) -> None:
    fleet.one.asks("work", "t1")
    shown = fleet.one.post(f"/waiting/{key_of('work', 'id-work', 't1', 'one')}/review", chat="a\x07b")
    assert (shown.status, _Fields(shown.text).found["chat"]) == (422, ["a\x07b"])
    assert '<details class="instead" open>' in shown.text


def test_an_edit_of_an_item_that_is_gone_is_kept(fleet: Fleet) -> None:
    fleet.one.has("work")

    async def refused(_words: list[str], _text: str | None = None, *, is_alone: bool = False) -> Done:
        return Done(1, {"error": "no such item"}, "")

    fleet.one.app.state.page.tasks.command = refused
    shown = fleet.one.post("/sessions/work?machine=one", do="edit", item="gone", text="typed for long")
    assert (shown.status, _Fields(shown.text).found["text"]) == (422, ["typed for long"])


def test_what_names_no_machine_is_refused_if_several_could_be_meant(fleet: Fleet) -> None:
    for machine in fleet:
        machine.has("work")
    refused = fleet.one.post("/sessions/work", do="pause")
    assert (refused.status, fleet.one.ran) == (409, [])
    assert "several machines have a session of this name: one, two" in refused.text
    asked = fleet.one.get("/sessions/work")
    assert (asked.status, asked.addresses) == (300, {"/sessions/work?machine=one", "/sessions/work?machine=two"})


def test_what_names_no_machine_is_for_the_only_one_that_has_it(fleet: Fleet) -> None:
    fleet.two.has("work")
    for machine in fleet:
        assert machine.get("/sessions/work").addresses >= {"/sessions/work?machine=two"}
        assert machine.post("/sessions/work", do="pause").location == "/sessions/work?machine=two"
    assert fleet.one.ran == [(["pause", "--machine=two", "--session=work", "--reason="], False)]
    assert fleet.two.ran == [(["pause", "--session=work", "--reason="], True)]
    assert fleet.one.get("/sessions/other").status == 404


def test_without_the_engine_the_machine_is_named_all_the_same_and_none_is_guessed(away: Fleet) -> None:
    fleet = away
    fleet.one.has("work")
    assert fleet.one.get("/sessions").addresses == {"/sessions/work?machine=one"}
    assert fleet.one.post("/sessions/work?machine=one", do="pause").status == 303
    # Another machine may have a session that is called so.
    assert fleet.one.post("/sessions/work", do="pause").status == 503
    assert fleet.one.get("/sessions/work").addresses >= {"/sessions/work?machine=one"}
    assert fleet.one.get("/sessions/work?machine=two").status == 503
    assert len(fleet.one.ran) == 1


def test_a_question_has_one_address_on_both_pages_and_is_answered_where_it_is(fleet: Fleet) -> None:
    # A machine may have been copied, with what it had asked.
    fleet.one.asks("work", "t1")
    fleet.two.asks("work", "t1")
    shown = [machine.get("/").addresses for machine in fleet]
    assert shown[0] == shown[1]
    assert {read_key(address.split("/")[2]).machine for address in shown[0]} == {"one", "two"}
    for machine in fleet:
        for name in ("one", "two"):
            key = key_of("work", "id-work", "t1", name)
            page = machine.get(f"/waiting/{key}")
            assert f"on <bdi>{name}</bdi>" in page.text
            sent = machine.post(f"/waiting/{key}/send", decisions='[{"action": "select", "optionIndex": 0}]')
            assert (sent.status, "Recorded exactly" in sent.text) == (200, True)
            assert f"on <bdi>{name}</bdi>" in sent.text
            assert machine.answered.pop()["machine"] == ("" if name == machine.name else name)


def test_a_link_in_a_message_finds_the_one_machine_and_guesses_at_none_of_two(fleet: Fleet) -> None:
    asked = fleet.one.asks("work", "t1")
    link = answer_link(fleet.one.services.home, fleet.one.services.settings(PageSettings), asked)
    path = link.removeprefix("https://claude.example.org")
    for machine in fleet:
        shown = machine.get(path)
        assert (shown.status, "on <bdi>one</bdi>" in shown.text) == (200, True)
    fleet.two.asks("work", "t1")
    for machine in fleet:
        shown = machine.get(path)
        assert (shown.status, "several machines have this question: one, two" in shown.text) == (409, True)


def test_a_link_to_a_question_that_cannot_be_looked_at_does_not_say_that_it_is_over(away: Fleet) -> None:
    fleet = away
    asked = fleet.one.asks("work", "t1")
    link = answer_link(fleet.one.services.home, fleet.one.services.settings(PageSettings), asked)
    path = link.removeprefix("https://claude.example.org")
    assert fleet.one.get(path).status == 200
    assert fleet.two.get(path).status == 503


def test_a_message_is_dropped_on_the_machine_that_showed_it_alone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The page asks whether there is a tmux.
    monkeypatch.setattr(TmuxBackend, "probe", lambda _: Probe(usable=False, message="there is none"))
    message = Message("question", "boss", "inbox", "work", "s1", "t1", "A question", "text")
    for machine in fleet:
        machine.services.outbox.put(message)
        assert f'name="machine" value="{machine.name}"' in machine.get("/health").text
    assert fleet.one.post("/health", do="drop", message="m1", machine="one").status == 303
    refused = fleet.two.post("/health", do="drop", message="m1", machine="one")
    assert (refused.status, "this page is that of two" in refused.text) == (409, True)
    assert (len(fleet.one.ran), fleet.two.ran) == (1, [])
    # Each page has begun to look at its machine.
    join_threads("doctor")
