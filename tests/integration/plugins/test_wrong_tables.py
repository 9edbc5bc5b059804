"""A table that is wrong while the process of its plugin runs: the process goes, and comes back once it is right."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from support.hook_place import HookPlace
from support.ports import free_port
from support.resident import Resident, eventually

if TYPE_CHECKING:
    from pathlib import Path


class Served(HookPlace):
    """A home whose router keeps the page and the monitor; both tables are right at first."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.page, self.monitor = free_port(), free_port()
        token = folder / "token"
        token.write_text("a-token-of-the-test\n")
        token.chmod(0o600)
        self.right = (
            f'[page]\naddress = "127.0.0.1:{self.page}"\nuser_header = "X-User"\n'
            f'[monitor]\naddress = "127.0.0.1:{self.monitor}"\ntoken_file = "{token}"\n'
        )
        self.config(self.right)
        self.router = Resident(self.environ)

    def told(self, *words: str) -> tuple[int, str]:
        """Run a command; return its exit code and all that it printed."""
        argv = [sys.executable, "-P", "-m", "hookrouter", *words]
        found = subprocess.run(argv, env=self.environ, capture_output=True, text=True, check=False, timeout=120)
        return found.returncode, found.stdout + found.stderr

    def status(self, name: str) -> dict[str, Any]:
        return dict(self.router.status()[name])


def asked(port: int, path: str) -> int | None:
    """Return the status of a reply; None if nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_neither_page_nor_monitor_goes_by_defaults_where_its_table_is_wrong(tmp_path: Path) -> None:
    place = Served(tmp_path)
    with place.router:
        eventually(lambda: asked(place.monitor, "/metrics") == 401)
        # Without the header that names who asks.
        eventually(lambda: asked(place.page, "/") == 403)

        place.config(place.right.replace('"X-User"', '"X User"').replace("token_file", "token_files"))
        seen: set[int | None] = set()

        def is_gone() -> bool:
            seen.add(asked(place.monitor, "/metrics"))
            return not listens(place.monitor) and not listens(place.page)

        eventually(is_gone)
        # Whoever asked meanwhile was let in by nothing.
        assert seen <= {401, None}
        for name, key in (("page", "page.user_header"), ("monitor", "monitor.token_files")):
            assert place.status(name)["problem"].startswith(f"{key}: "), name
        code, text = place.told("doctor")
        assert ("page.user_header: " in text, "monitor.token_files: " in text) == (True, True), text
        code, text = place.told("config", "check", "--json")
        assert code == 1
        assert {row["key"] for row in json.loads(text)["problems"]} == {"page.user_header", "monitor.token_files"}
        code, text = place.told("open", "--no-browser")
        assert (code, "page.user_header: " in text) == (1, True), text
        code, text = place.told("serve", "--revoke")
        assert (code, "page.user_header: " in text) == (2, True), text
        # All else of the file holds.
        assert place.told("config", "show", "--json")[0] == 0

        place.config(place.right)
        eventually(lambda: (asked(place.monitor, "/metrics"), asked(place.page, "/")) == (401, 403))


@pytest.mark.parametrize("name", ["page", "monitor"])
def test_a_process_that_finds_its_table_wrong_does_not_begin(tmp_path: Path, name: str) -> None:
    """As when the file changes between the router's look and the start of the process."""
    place = HookPlace(tmp_path)
    place.config('[page]\naddress = "everywhere"\n[monitor]\naddress = "everywhere"\n')
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = f"hookrouter_{name}.process:main"
        words = f"""
import socket, sys
from {target.partition(":")[0]} import main
from hookrouter.util.errors import HookrouterError
try:
    main(0, [socket.socket(fileno={server.fileno()})])
except HookrouterError as error:
    sys.exit(str(error))
"""
        found = subprocess.run(
            [sys.executable, "-P", "-c", words],
            env=place.environ,
            pass_fds=[server.fileno()],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert (found.returncode, f"{name}.address: " in found.stderr) == (1, True), found.stderr
