"""The proxies of ``docs/guides/page.md`` in front of a page, each with the configuration that stands there."""

from __future__ import annotations

import re
import socket
import subprocess
from typing import TYPE_CHECKING

from support.manual import blocks
from support.ports import free_port
from support.resident import PATIENCE, eventually
from support.tls import made_pair, needed_program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["HEADER", "PROXIES", "USERS", "Balancer", "Proxy", "page_table"]

GUIDE = "docs/guides/page.md"
FLEETS = "docs/guides/fleets.md"
HOST = "https://claude.example.org"
PAGE = "127.0.0.1:8790"
"""How the manual's examples are reached from outside, and where their page is."""

HEADER = "X-Forwarded-User"
USERS = {"anna": "pass of anna", "bob": "pass of bob"}
"""Who may pass, with their passwords."""

PROXIES = {"nginx": "nginx-light", "haproxy": "haproxy"}
"""The programs, which are also the languages of their blocks in the manual, with their packages."""

_NGINX = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
access_log off;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi;
{example}
}}
"""
"""What Debian's own configuration has around a server; in the foreground, and in a folder of its own."""


def page_table(proxy: Proxy, address: str) -> str:
    """Return the manual's ``[page]`` table for a proxy, with the places of this one; the page is at ``address``."""
    [table] = [block.text for block in blocks(GUIDE, "toml") if "user_header" in block.text]
    return f'\n{_replaced(table, {HOST: proxy.url})}address = "{address}"\n'


class Proxy:
    """One proxy: it runs in a block, and lets :data:`USERS` pass."""

    def __init__(self, name: str, folder: Path) -> None:
        """Choose a port; its files come into ``folder``, which exists. Without the program the test is skipped."""
        self.program = needed_program(name, PROXIES[name])
        self.port = free_port()
        self.url = f"https://localhost:{self.port}"
        self.pair = made_pair(folder, "proxy")
        """Its certificate, and the key."""
        self._name = name
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, page: str) -> None:
        """Start it in front of a page at the address ``page``, and wait until it listens."""
        [example] = [block.text for block in blocks(GUIDE, self._name)]
        config = self._folder / f"{self._name}.conf"
        config.write_text(self._nginx(example, page) if self._name == "nginx" else self._haproxy(example, page))
        words = ["-p", str(self._folder), "-c", str(config)] if self._name == "nginx" else ["-db", "-f", str(config)]
        self._process = _started([self.program, *words], self.port)

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def _nginx(self, example: str, page: str) -> str:
        users = self._folder / "claude.users"
        users.write_text("".join(f"{name}:{hashed}\n" for name, hashed in _hashed().items()))
        places = {
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "/etc/nginx/claude.pem": str(self.pair.certificate),
            "/etc/nginx/claude.key": str(self.pair.key),
            "/etc/nginx/claude.users": str(users),
            f"http://{PAGE}": f"http://{page}",
        }
        return _NGINX.format(folder=self._folder, example=_replaced(example, places))

    def _haproxy(self, example: str, page: str) -> str:
        both = self._folder / "claude.pem"
        both.write_bytes(self.pair.certificate.read_bytes() + self.pair.key.read_bytes())
        users = "\n".join(f"    user {name} password {hashed}" for name, hashed in _hashed().items())
        places = {
            "    user anna password $6$...": users,
            "bind :443 ssl": f"bind 127.0.0.1:{self.port} ssl",
            "/etc/haproxy/claude.pem": str(both),
            PAGE: page,
        }
        return _replaced(example, places)


class Balancer:
    """HAProxy in front of two pages, as the manual has it."""

    def __init__(self, folder: Path) -> None:
        """Choose a port; its files come into ``folder``, which exists. Without the program the test is skipped."""
        self._program = needed_program("haproxy", PROXIES["haproxy"])
        self._port = free_port()
        self.url = f"https://localhost:{self._port}"
        self.pair = made_pair(folder, "pages")
        """The certificate of all, and its key."""
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def table(self, address: str, secret: Path) -> str:
        """Return the manual's ``[page]`` table for a page at ``address``."""
        [table] = [block.text for block in blocks(FLEETS, "toml") if "secret_file" in block.text]
        places = {
            "https://claude.example.org": self.url,
            "10.0.0.11:8790": address,
            "~/page.pem": str(self.pair.certificate),
            "~/page.key": str(self.pair.key),
            "~/.config/hookrouter/page.secret": str(secret),
        }
        return "\n" + _replaced(table, places)

    def start(self, one: str, two: str) -> None:
        """Start it in front of the pages at two addresses, and wait until it listens."""
        [example] = [block.text for block in blocks(FLEETS, "haproxy")]
        both = self._folder / "balancer.pem"
        both.write_bytes(self.pair.certificate.read_bytes() + self.pair.key.read_bytes())
        for place, here in {
            "/etc/haproxy/pages.pem": str(self.pair.certificate),
            "10.0.0.11:8790": one,
            "10.0.0.12:8790": two,
        }.items():
            assert place in example
            example = example.replace(place, here)
        places = {
            "bind :443 ssl": f"bind 127.0.0.1:{self._port} ssl",
            "/etc/haproxy/claude.pem": str(both),
        }
        config = self._folder / "balancer.conf"
        config.write_text(_replaced(example, places))
        self._process = _started([self._program, "-db", "-f", str(config)], self._port)

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)


def _started(words: list[str], port: int) -> subprocess.Popen[bytes]:
    """Start a program, and wait until it listens."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)

    def lives() -> bool:
        return process.poll() is None

    eventually(lambda: _listens(port) or not lives())
    assert lives(), f"{words[0]} ended with {process.returncode}"
    return process


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _hashed() -> dict[str, str]:
    """Return the users' passwords as the manual's command writes them."""
    [command] = re.findall(r"openssl passwd (-\d)", "".join(block.text for block in blocks(GUIDE, "sh")))
    words = [needed_program("openssl", "openssl"), "passwd", command, "-stdin"]
    return {
        name: subprocess.run(
            words, input=password, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()
        for name, password in USERS.items()
    }


def _replaced(text: str, places: Mapping[str, str]) -> str:
    """Return an example with what is in other places here, each of which it must name once."""
    for place, here in places.items():
        assert text.count(place) == 1, f"{place}: {text.count(place)} times in the example"
        text = text.replace(place, here)
    return text
