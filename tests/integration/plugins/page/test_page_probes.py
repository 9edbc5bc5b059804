"""The probes of the page, as a load balancer sends them: without a login, a user or the page's name."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hookrouter.testing import wait_until
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.manual import blocks
from support.monitor import Said, get
from support.page import Home
from support.ports import free_port
from support.resident import Resident
from support.shelf import SHELF
from support.tls import needed_program

READY = {"ready": True, "router": "answers", "state": "writable", "engine": "files"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_probes_pass_the_guard_and_nothing_else_does(tmp_path: Path, method: str) -> None:
    port = free_port()
    home = Home(tmp_path)
    (tmp_path / "config.toml").write_text(f'[page]\naddress = "0.0.0.0:{port}"\nuser_header = "X-User"\n')
    with Resident(home.environ):
        base, pod = f"http://127.0.0.1:{port}", {"Host": "10.1.2.3:8790"}
        live = get(f"{base}/healthz", pod, method)
        assert live == Said(200, "" if method == "HEAD" else "ok\n")
        ready = get(f"{base}/readyz", pod, method)
        assert ready.status == 200
        if method == "GET":
            assert ready.document == READY
            assert get(f"{base}/readyz?engine=required", pod).status == 200
        for path in ("/", "/healthz/", "/metrics", "/health", "//healthz"):
            assert get(f"{base}{path}", pod, method).status == 421
        assert get(f"{base}/healthz", pod, "POST").status == 421
        assert get(f"{base}/healthz?x=1", {**pod, "X-User": ""}, method).status == 200


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Callable[[list[str]], str]]:
    """Start HAProxy with the manual's checks in front of pages at these addresses; return its own address."""
    program = needed_program("haproxy", "haproxy")
    started: list[subprocess.Popen[bytes]] = []

    def start(pages: list[str]) -> str:
        (backend,) = [block.text for block in blocks("docs/guides/operations.md", "haproxy")]
        for number, page in enumerate(pages, 1):
            backend = backend.replace(f"10.0.0.{number}:8790 check", f"{page} check inter 100 fall 1 rise 1")
        own = f"127.0.0.1:{free_port()}"
        times = "".join(f" timeout {name} 30s\n" for name in ("connect", "server", "client"))
        front = f"defaults\n{times}frontend all\n mode http\n bind {own}\n"
        (tmp_path / "haproxy.cfg").write_text(f"{front} default_backend claude\n{backend}")
        started.append(subprocess.Popen([program, "-db", "-f", str(tmp_path / "haproxy.cfg")]))
        return own

    yield start
    for one in started:
        one.kill()
        one.wait()


def test_a_load_balancer_sends_nobody_to_a_page_that_cannot_see_all_machines(
    tmp_path: Path, proxy: Callable[[list[str]], str]
) -> None:
    write_plugin(tmp_path / "site", "shelf", SHELF)
    pages, tables = [free_port(), free_port()], []
    url = f"http://{proxy([f'127.0.0.1:{port}' for port in pages])}"
    with ExitStack() as stack:
        routers = []
        for port in pages:
            folder = tmp_path / str(port)
            folder.mkdir()
            home = Home(folder, environ={"PYTHONPATH": str(tmp_path / "site")})
            page = f'[page]\naddress = "127.0.0.1:{port}"\nurl = "{url}"\n'
            shared = f'[storage]\nengine = "shelf"\nmachine = "at-{port}"\nfolder = "{tmp_path / "shelf"}"\n'
            tables.append((folder / "config.toml", page))
            (folder / "config.toml").write_text(page + shared)
            routers.append(stack.enter_context(Resident(home.environ)))
        wait_until(lambda: get(f"{url}/").status == 503, 20, "that no page is chosen")
        subprocess.run([*script_argv(), "storage", "init"], env=home.environ, check=True, capture_output=True)
        wait_until(lambda: get(f"{url}/").status == 401, 60, "that a page asks for a login")
        for one in routers:
            wait_until(lambda: get(f"{url}/").status == 401, 60, "that the other page asks for a login")
            one.kill(signal.SIGTERM)
        wait_until(lambda: get(f"{url}/").status == 503, 30, "that none is left")
        for file, page in tables:
            file.write_text(page)


def test_a_router_that_hangs_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with Resident(home.environ) as router:
        base = f"http://{home.address}"
        assert get(f"{base}/healthz").status == 200
        router.send_signal(signal.SIGSTOP)
        wait_until(lambda: get(f"{base}/readyz").status == 503, 20, "that it is not ready")
        assert get(f"{base}/readyz").document == {**READY, "ready": False, "router": "silent"}
        assert get(f"{base}/healthz").status == 200
        router.send_signal(signal.SIGCONT)
        wait_until(lambda: get(f"{base}/readyz").status == 200, 20, "that it is ready")


def test_a_page_that_is_probed_stays_and_one_that_nobody_asks_ends(tmp_path: Path) -> None:
    home = Home(tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SHORT_IDLE)
    with Resident({**home.environ, "PYTHONPATH": str(site)}) as router:
        base = f"http://{home.address}"
        # Its environment is a new one, in which it has to look which plugins there are.
        wait_until(lambda: router.status().get("page"), 30, "the page")
        assert get(f"{base}/healthz").status == 200
        first = router.status()["page"]["pid"]
        end = time.monotonic() + 6
        while time.monotonic() < end:
            assert get(f"{base}/healthz").status == 200
            time.sleep(0.2)
        assert router.status()["page"]["pid"] == first
        wait_until(lambda: router.status()["page"]["pid"] == 0, 30, "the end of the page")


SHORT_IDLE = """
import sys
if {"--kept", "page"} <= set(sys.argv):
    import hookrouter_page.process as process
    process.IDLE_SECONDS = 3.0
"""
