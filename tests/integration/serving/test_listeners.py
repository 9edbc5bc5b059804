"""What strangers can do to the sockets at which hookrouter serves HTTP: gate, page and monitor, each walked alike."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from hookrouter._serving import address
from hookrouter.testing import wait_until
from hookrouter.util import unix_socket
from support.ports import free_port
from support.resident import PATIENCE, Resident, eventually
from support.shared import Shared
from support.tls import made_pair

pytestmark = pytest.mark.xdist_group("listeners")  # all share a router

FILES = 200
"""Descriptors that each of the processes may have."""

MANY = 300
"""Connections that strangers have at a time."""

SHORTER = f"""
import resource, sys
if "--kept" in sys.argv:
    resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
    import hookrouter.serving.asgi as server
    server.REQUEST_SECONDS = server.BODY_SECONDS = 2.0
"""

LISTENERS = ("gate", "hooks", "page", "page with TLS", "monitor")


class Listener(NamedTuple):
    """One of the sockets."""

    host: str
    port: int
    folder: str = ""
    certificate: str = ""

    def connect(self) -> socket.socket:
        """Connect, and say nothing: not even hello in TLS."""
        if self.folder:
            return unix_socket.connect(self.folder, address.HTTP, PATIENCE)
        return socket.create_connection((self.host, self.port), PATIENCE)

    def greeted(self) -> socket.socket:
        """Connect, and be ready to ask."""
        connection = self.connect()
        if not self.certificate:
            return connection
        context = ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(connection, server_hostname="localhost")

    def begun(self, lines: str) -> bytes:
        """Return what a request begins with."""
        host = f"{self.host}:{self.port}" if self.port else "hookrouter"
        return lines.format(host=host).replace("\n", "\r\n").encode()

    def status(self) -> int:
        """Ask for something; return the status of the answer."""
        with self.greeted() as connection:
            connection.sendall(self.begun("GET /healthz HTTP/1.1\nHost: {host}\nConnection: close\n\n"))
            return int(connection.recv(100).split()[1])


class Place:
    """A home with all of them."""

    def __init__(self, folder: Path) -> None:
        site = folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(SHORTER)
        pair = made_pair(folder)
        ports = {name: free_port() for name in ("hooks", "page", "page with TLS", "monitor")}
        self.listeners = {name: Listener("127.0.0.1", port) for name, port in ports.items()}
        tls = self.listeners["page with TLS"] = Listener(
            "localhost", ports["page with TLS"], certificate=str(pair.certificate)
        )
        keys = f'certificate = "{pair.certificate}"\nprivate_key = "{pair.key}"\n'
        self.routers = []
        for name, page in (("plain", self.listeners["page"]), ("tls", tls)):
            home = folder / name
            home.mkdir()
            table = f'[page]\naddress = "{page.host}:{page.port}"\n{keys if page.certificate else ""}'
            if not page.certificate:
                table += f'[serve]\nhttp = "127.0.0.1:{ports["hooks"]}"\n'
                table += f'[monitor]\naddress = "127.0.0.1:{ports["monitor"]}"\n'
            (home / "config.toml").write_text(table)
            environ = {**os.environ, "HOOKROUTER_HOME": str(home), "PYTHONPATH": str(site)}
            self.routers.append(Resident(environ))
        self.listeners["gate"] = Listener("", 0, self.routers[0].folder)
        self.log = folder / "said"

    def lines(self) -> list[str]:
        """Return what the processes have said."""
        return self.log.read_text().splitlines()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Place]]:
    @contextmanager
    def make() -> Iterator[Place]:
        place = Place(tmp_path_factory.mktemp("listeners"))
        with ExitStack() as stack, redirected(place.log):
            for router in place.routers:
                stack.enter_context(router)
            for listener in place.listeners.values():
                eventually(lambda listener=listener: answers(listener))  # type: ignore[misc]
            yield place

    with Shared(make) as shared:
        yield shared


@contextmanager
def redirected(path: Path) -> Iterator[None]:
    """Have the processes that are started in the block write what they say into a file."""
    kept = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@pytest.fixture(params=LISTENERS)
def listener(request: pytest.FixtureRequest, places: Shared[Place]) -> Iterator[tuple[Place, Listener]]:
    with places.lent(request.session) as place:
        yield place, place.listeners[request.param]


def answers(listener: Listener) -> bool:
    try:
        return listener.status() > 0
    except (OSError, IndexError):
        return False


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed a connection, whatever it has said before."""
    connection.settimeout(PATIENCE)
    try:
        while connection.recv(65536):
            continue
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_silent_connections_keep_nobody_out_and_are_closed(listener: tuple[Place, Listener]) -> None:
    place, one = listener
    said = len(place.lines())
    with ExitStack() as stack:
        silent = [stack.enter_context(one.connect()) for _ in range(MANY)]
        # Somebody is served while they are there, though there are more of them than descriptors.
        assert one.status() >= 200
        assert all(is_closed(connection) for connection in silent)
    assert one.status() >= 200
    lines = place.lines()[said:]
    assert len(lines) <= 10
    assert not [line for line in lines if "Traceback" in line]


HALF = (
    "G",
    "GET / HTTP/1.1\nHost: {host}\nX-Long: ",
    "GET /healthz HTTP/1.1\nHost: {host}\n\nGET / HTTP/1.1\n",
    "POST /login HTTP/1.1\nHost: {host}\nOrigin: http://{host}\nContent-Length: 1000\n\nx",
)
"""Beginnings of requests: a letter, half a head, half a head behind a whole request, half a body."""


def test_half_requests_are_closed_though_more_comes_slowly(listener: tuple[Place, Listener]) -> None:
    _, one = listener
    with ExitStack() as stack:
        open_ones = {sent: stack.enter_context(one.greeted()) for sent in HALF}
        for sent, connection in open_ones.items():
            connection.sendall(one.begun(sent))
            connection.settimeout(0.05)

        def are_closed() -> bool:
            for sent, connection in list(open_ones.items()):
                try:
                    with suppress(TimeoutError):
                        if not connection.recv(65536):
                            del open_ones[sent]
                            continue
                    connection.sendall(b"x")
                except OSError:
                    del open_ones[sent]
            return not open_ones

        wait_until(are_closed, PATIENCE, "the end of all of them", lambda: str(list(open_ones)))


def test_nonsense_without_end_is_a_few_lines_of_the_log(listener: tuple[Place, Listener]) -> None:
    place, one = listener
    said = len(place.lines())
    for _ in range(50):
        with one.greeted() as connection:
            connection.sendall(b"\x16\x03\x01 no HTTP\r\n\r\n")
            assert is_closed(connection)
    assert len(place.lines()[said:]) <= 3
