"""Pages of machines that share an engine, behind a load balancer that keeps nobody at one page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import requests

from hookrouter.cli.application import Application
from hookrouter.messaging.pauses import pauses as pauses_of
from hookrouter.queue.documents import read_queue
from hookrouter.sessions.records import IDLE, SessionRecord, change_record
from hookrouter.storage.engine import open_store
from hookrouter.testing import wait_until
from hookrouter.util.clock import iso
from hookrouter_fleet.locks import SHARING, is_sharing
from hookrouter_page.tasks import ANSWERING
from support.fleet import ENGINES, Machine, made_engine
from support.matrix import mostly_long
from support.page import Served
from support.ports import free_port
from support.postgres import Server, postgres_server
from support.proxies import Balancer
from support.resident import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

LEFT = {"q0": "0"}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with postgres_server() as server:
        yield server


class Pages:
    """Two machines with a page each, a third one on which Claude asks, and the balancer in front of the pages."""

    def __init__(self, folder: Path, engine: Any, stack: ExitStack) -> None:
        self.balancer = Balancer(folder)
        secret = folder / "page.secret"
        secret.write_text("a secret of all the pages of this test\n")
        secret.chmod(0o600)
        self.worker = Machine(folder, "worker", engine)
        stack.callback(self.worker.close)
        addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        self.machines, self.served = [], []
        for name, address in zip(("left", "right"), addresses, strict=True):
            machine = Machine(folder, name, engine, self.balancer.table(address, secret))
            stack.callback(machine.close)
            self.machines.append(machine)
            self.served.append(stack.enter_context(Served(machine.stage.environ)))
        for address in addresses:
            # A balancer's first probe would find a page whose process the router only begins.
            wait_until(
                lambda at=address: self._is_ready(f"https://{at}"), 3 * PATIENCE, "a page that sees all machines"
            )
        self.balancer.start(*addresses)
        stack.callback(self.balancer.end)
        stack.callback(self._end)

    def _is_ready(self, url: str) -> bool:
        ready, certificate = f"{url}/readyz?engine=required", str(self.balancer.pair.certificate)
        try:
            return requests.get(ready, verify=certificate, timeout=PATIENCE).ok
        except requests.RequestException:
            return False

    def _end(self) -> None:
        """Have all machines end at once: each takes a moment."""
        for machine in (self.worker, *self.machines):
            machine.stage.configure("")

    def told(self) -> Any:
        """Return what the machine that asked says came of its last question."""
        return self.worker.told("history", "--machine=worker")["questions"][0]


class Visitor:
    """A program that speaks HTTP to the balancer, as a browser without scripts does."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._session = requests.Session()
        self._session.headers["Origin"] = pages.balancer.url
        self.token = pages.served[0].link()["url"].rpartition("/")[2]
        self._root = ""
        entered = self.ask("POST", "/login", data={"token": self.token})
        assert entered.status_code == 200
        self._root = entered.url.removeprefix(pages.balancer.url).rstrip("/")

    def ask(self, method: str, path: str, **options: Any) -> requests.Response:
        # Each request on a connection of its own, as of another browser: so each may come to the other page.
        return self._session.request(
            method,
            f"{self._pages.balancer.url}{self._root}{path}",
            timeout=PATIENCE,
            verify=str(self._pages.balancer.pair.certificate),
            headers={"Connection": "close"},
            **options,
        )

    def question(self) -> tuple[str, str]:
        """Return the address of the one question that waits, and the form's token."""
        text = ""

        def is_there() -> bool:
            nonlocal text
            text = self.ask("GET", "/").text
            return "Which way?" in text

        wait_until(is_there, PATIENCE, "the question on the page", lambda: text)
        [address] = set(re.findall(r'action="/~\w+(/waiting/[^"/]+)/review"', text))
        [csrf] = set(re.findall(r'name="csrf" value="([^"]+)"', re.split("<article", text)[1]))
        return address, csrf

    def review(self, address: str, csrf: str) -> dict[str, str]:
        """Have an answer shown; return what the next form holds."""
        text = self.ask("POST", f"{address}/review", data={**LEFT, "csrf": csrf}).text
        assert "This will be sent" in text
        return {
            "csrf": csrf,
            "decisions": re.findall(r'name="decisions" value="([^"]*)"', text)[0].replace("&#34;", '"'),
        }


@pytest.fixture
def pages(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pages]:
    name = getattr(request, "param", "postgresql")
    engine = made_engine(name, tmp_path, lambda: request.getfixturevalue("postgres"))
    with ExitStack() as stack:
        yield Pages(tmp_path, engine, stack)


@pytest.mark.parametrize("pages", mostly_long(ENGINES, "postgresql"), indirect=True)
def test_a_person_sees_what_another_machine_asks_and_answers_it(pages: Pages, browser: Browser) -> None:
    page = pages.served[0].log_in(browser, ignore_https_errors=True)
    page.get_by_text("Nothing waits").wait_for()
    pages.worker.ask()
    # Nothing was loaded anew: what other machines ask is told of as well.
    page.get_by_text("Which way?").wait_for()
    assert "on worker" in page.get_by_role("article").inner_text()
    page.get_by_label("Left").check()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Recorded exactly").wait_for()
    story = pages.told()
    assert (story["outcome"], story["by"], story["questions"][0]["recorded"]) == ("verified", "person", "Left")
    # Both have taken part.
    assert all(one.pid > 0 for one in pages.served)
    page.goto(f"{pages.served[0].base}/sessions")
    page.get_by_text("on worker").first.wait_for()
    page.get_by_role("link", name=story["session"]).first.click()
    page.get_by_label("A prompt or command").fill("run the tests")
    page.get_by_role("button", name="Hold the queue").click()
    page.get_by_text("held").first.wait_for()
    page.get_by_label("A prompt or command").fill("run the tests")
    page.get_by_role("button", name="Send last").click()
    page.get_by_text("run the tests").first.wait_for()
    [queue] = pages.worker.told("queue", "list", "--machine=worker")["queues"]
    assert [item["text"] for item in queue["items"]] == ["run the tests"]


def test_a_page_that_is_killed_in_the_middle_of_an_answer_loses_nothing(pages: Pages) -> None:
    visitor = Visitor(pages)
    pages.worker.ask()
    address, csrf = visitor.question()
    form = visitor.review(address, csrf)
    with Frozen(pages.worker), ThreadPoolExecutor() as pool:
        sent = pool.submit(visitor.ask, "POST", f"{address}/send", data=form)
        wait_until(lambda: answering(pages), PATIENCE, "the answer on its way")
        [number] = answering(pages)
        kill(pages.served[number])
        assert sent.result().status_code in (502, 503)
        # The other page goes on, and shows the question that is not answered yet.
        wait_until(lambda: visitor.ask("GET", address).status_code == 200, PATIENCE, "the other page")
    wait_until(lambda: visitor.ask("GET", address).status_code == 409, PATIENCE, "the question's end")
    assert "answered first: Which way? -&gt; Left" in visitor.ask("GET", address).text
    story = pages.told()
    assert (story["outcome"], story["by"], story["questions"][0]["recorded"]) == ("verified", "person", "Left")


def test_a_machine_that_goes_in_the_middle_of_an_answer_leaves_the_question_open(pages: Pages) -> None:
    visitor = Visitor(pages)
    pages.worker.ask()
    address, csrf = visitor.question()
    form = visitor.review(address, csrf)
    with Frozen(pages.worker), ThreadPoolExecutor() as pool:
        sent = pool.submit(visitor.ask, "POST", f"{address}/send", data=form)
        wait_until(lambda: answering(pages), PATIENCE, "the answer on its way")
        [number] = answering(pages)
        for pid in commands(pages.machines[number], ANSWERING):
            os.kill(pid, signal.SIGKILL)
        kill(pages.served[number])
        assert sent.result().status_code in (502, 503)
    wait_until(lambda: visitor.ask("GET", address).status_code == 200, PATIENCE, "the other page")
    text = visitor.ask("POST", f"{address}/send", data=form).text
    assert "Recorded exactly" in text
    assert len(pages.worker.told("history", "--machine=worker")["questions"]) == 1


@pytest.mark.long
def test_without_the_engine_a_page_says_that_it_shows_this_machine_alone(pages: Pages, postgres: Server) -> None:
    visitor = Visitor(pages)
    pages.worker.ask()
    address, _csrf = visitor.question()
    postgres.stop()
    try:
        wait_until(
            lambda: "Only this machine is shown" in visitor.ask("GET", "/").text, PATIENCE, "the engine's absence"
        )
        assert visitor.ask("GET", address).status_code == 503
    finally:
        postgres.restore()
    wait_until(lambda: visitor.ask("GET", address).status_code == 200, PATIENCE, "the engine")


@pytest.mark.long
def test_while_no_page_reaches_the_engine_a_person_stays_at_one(pages: Pages, postgres: Server) -> None:
    visitor = Visitor(pages)
    shown: list[str] = []

    def stays() -> bool:
        shown[:] = [
            text for _ in range(4) for text in re.findall("of <bdi>(.*?)</bdi>", visitor.ask("GET", "/health").text)
        ]
        return len(shown) == 4 and len(set(shown)) == 1

    wait_until(lambda: not stays(), 3 * PATIENCE, "both pages", lambda: str(shown))
    postgres.stop()
    try:
        wait_until(stays, 3 * PATIENCE, "one page for all requests", lambda: str(shown))
        assert "Only this machine is shown" in visitor.ask("GET", "/").text
    finally:
        postgres.restore()
    wait_until(lambda: not stays(), 3 * PATIENCE, "both pages", lambda: str(shown))


@pytest.mark.long
def test_an_action_is_done_on_the_machine_that_is_shown_whatever_page_it_comes_to(pages: Pages) -> None:
    visitor = Visitor(pages)
    stores = {}
    for machine in pages.machines:
        stores[machine.name] = Application.from_environ(machine.stage.environ).store
        record = SessionRecord("twin", f"id-{machine.name}", IDLE, iso())
        change_record(stores[machine.name], "twin", lambda _, record=record: record)

    def session(name: str) -> tuple[int, str]:
        found = visitor.ask("GET", f"/sessions/twin?machine={name}")
        return found.status_code, found.text

    for name in ("left", "right"):
        # Whatever page is asked, it shows both.
        wait_until(lambda name=name: {session(name)[0] for _ in range(4)} == {200}, PATIENCE, f"the session of {name}")
        listed = {
            frozenset(re.findall(r'href="/~\w+(/sessions/[^"]*)"', visitor.ask("GET", "/sessions").text))
            for _ in range(4)
        }
        assert listed == {frozenset({"/sessions/twin?machine=left", "/sessions/twin?machine=right"})}
    for at in range(4):
        _, text = session("left")
        [address] = set(re.findall(r'action="/~\w+(/sessions/[^"]*)"', text))
        [csrf] = set(re.findall(r'name="csrf" value="([^"]+)"', text))
        do = ("pause", "resume")[at % 2]
        assert visitor.ask("POST", address, data={"csrf": csrf, "do": do}).status_code == 200
        assert [pause.session for pause in pauses_of(stores["left"])] == (["twin"] if do == "pause" else [])
        sent = visitor.ask("POST", address, data={"csrf": csrf, "do": "send", "text": f"prompt {at}"})
        assert sent.status_code == 200, sent.text
        assert [item.text for item in read_queue(stores["left"], "twin").items] == [
            f"prompt {n}" for n in range(at + 1)
        ]
    assert pauses_of(stores["right"]) == []
    assert read_queue(stores["right"], "twin").items == ()
    # What names no machine is refused by both.
    for _ in range(2):
        assert visitor.ask("POST", "/sessions/twin", data={"csrf": csrf, "do": "pause"}).status_code == 409


def test_a_login_holds_and_ends_at_every_page_and_its_link_works_at_one(pages: Pages) -> None:
    visitor = Visitor(pages)

    def logins(served: Served) -> list[dict[str, str]]:
        listed: list[dict[str, str]] = json.loads(served.run("open", "--logins", "--json"))["logins"]
        return listed

    for served in pages.served:
        wait_until(lambda served=served: len(logins(served)) == 1, PATIENCE, "the login at both machines")
    assert {visitor.ask("GET", "/").status_code for _ in range(6)} == {200}
    [login] = logins(pages.served[1])
    # What a machine's command knows, its page may hear of a moment later.
    wait_until(
        lambda: all(login["id"] in visitor.ask("GET", "/logins").text for _ in range(6)), PATIENCE, "it at both pages"
    )
    assert {visitor.ask("POST", "/login", data={"token": visitor.token}).status_code for _ in range(4)} == {403}
    pages.served[1].run("open", "--end", login["id"])
    wait_until(
        lambda: {visitor.ask("GET", "/").status_code for _ in range(4)} == {401}, PATIENCE, "the end of the login"
    )


class Frozen:
    """Stops the process that carries out what others ask of a machine, in the block."""

    def __init__(self, machine: Machine) -> None:
        wait_until(lambda: is_sharing(machine.stage.home), PATIENCE, "the process that shares")
        holder = open_store(machine.stage.home, pytest.fail).lock_holder(*SHARING) or ""
        self._pid = int(holder.split()[1].rstrip(","))

    def __enter__(self) -> Frozen:
        os.kill(self._pid, signal.SIGSTOP)
        return self

    def __exit__(self, *_error: object) -> None:
        os.kill(self._pid, signal.SIGCONT)


def commands(machine: Machine, word: str) -> list[int]:
    """Return the processes of a machine whose command line has a word."""
    found = []
    for line in subprocess.run(
        ["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        pid, _, words = line.strip().partition(" ")
        if word in words.split() and _home_of(int(pid)) == machine.stage.environ["HOOKROUTER_HOME"]:
            found.append(int(pid))
    return found


def _home_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = dict(one.partition(b"=")[::2] for one in file.read().split(b"\0"))
    except OSError:
        return ""
    return os.fsdecode(variables.get(b"HOOKROUTER_HOME", b""))


def answering(pages: Pages) -> list[int]:
    """Return which of the pages has an answer on its way."""
    return [number for number, machine in enumerate(pages.machines) if commands(machine, ANSWERING)]


def kill(served: Served) -> None:
    """Kill a page and its router, as the end of their container does."""
    page = served.pid
    served.router.kill()
    os.kill(page, signal.SIGKILL)
