"""Living with the router: its command, its unit, its start by itself, and what happens when a part of it is gone."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter._serving import address
from hookrouter.serving import control
from hookrouter.serving.resident import extra_missing
from hookrouter.storage.home import Home
from hookrouter.util import unix_socket
from hookrouter.util.program import script_argv
from support.hook_place import BASH, HookPlace
from support.ports import free_port
from support.resident import Resident, eventually

AUTO = "[serve]\nauto = true\n"


class Place(HookPlace):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.plugins.mkdir()
        self.environ["HOME"] = str(folder)
        self.router = Resident(self.environ)
        self.folder = Path(self.router.folder)

    def serve(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run ``hookrouter serve`` with options that make it end."""
        return subprocess.run(
            [*script_argv(), "serve", *options],
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def is_gone(self) -> bool:
        """Whether no router holds the lock any more."""
        return not self.router.is_there()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    # One that a hook has started is nobody's child here.
    try:
        control.ask(made.router.folder, "stop")
        eventually(made.is_gone)
    except control.NotServedError:
        pass
    made.router.kill()


def test_status_restart_and_stop_for_a_person_and_for_a_program(place: Place) -> None:
    with place.router:
        shown = place.serve("--status")
        assert shown.returncode == 0
        assert f"serves {place.home} since" in shown.stdout
        assert "plugins: " in shown.stdout
        status = json.loads(place.serve("--status", "--json").stdout)
        assert status["home"] == str(place.home)
        assert status["program"] == script_argv()
        assert "ask-user-question" in [*status["plugins"], "ask-user-question"]
        assert place.serve("--restart", "--json").returncode == 0
        eventually(lambda: place.router.is_there() and place.router.status()["boot"] != status["boot"])
        assert place.router.status()["pid"] == status["pid"]
        assert json.loads(place.serve("--stop", "--json").stdout)["pid"] == status["pid"]
        eventually(place.is_gone)
    asked = place.serve("--status", "--json")
    assert asked.returncode == 1
    assert "no router runs" in json.loads(asked.stdout)["error"]
    assert "start one with: hookrouter serve" in place.serve("--stop").stderr


@pytest.mark.parametrize("options", [("--stop", "--restart"), ("--dry-run",), ("--status", "--install-unit")])
def test_options_that_say_nothing_together_are_refused(place: Place, options: tuple[str, ...]) -> None:
    assert place.serve(*options).returncode == 2


def test_a_person_who_opens_the_page_gets_a_router_also_just_after_one_was_stopped(place: Place) -> None:
    place.config(f'[page]\naddress = "127.0.0.1:{free_port()}"\n')
    for _ in range(2):
        opened = subprocess.run(
            [*script_argv(), "open", "--json"], env=place.environ, capture_output=True, text=True, check=False
        )
        assert opened.returncode == 0, opened.stderr
        assert place.serve("--stop").returncode == 0
        eventually(place.is_gone)


def test_a_second_router_leaves_and_takes_nothing_away(place: Place) -> None:
    with place.router:
        before = place.router.status()["boot"]
        second = place.serve("--idle", "1")
        assert (second.returncode, second.stdout) == (0, "")
        assert "another router serves this home" in second.stderr
        assert place.router.status()["boot"] == before


def test_what_a_killed_router_leaves_behind_is_in_nobodys_way(place: Place) -> None:
    with place.router:
        pass
    assert {path.name for path in place.folder.iterdir()} >= {"calls", "control", "lock"}
    assert place.is_gone()
    assert place.run() == {}
    with place.router:
        assert place.router.call("pre-tool-use", BASH).exit_code == 0


def test_a_router_that_ends_takes_its_sockets_away_but_not_those_of_another(place: Place) -> None:
    with place.router:
        (place.folder / "calls").unlink()
        other = unix_socket.listen(str(place.folder), address.CALLS, 1)
        place.router.kill(signal.SIGTERM)
        assert (place.folder / "calls").exists()
        assert not (place.folder / "control").exists()
        other.close()


def test_sockets_and_folder_that_were_removed_come_back(place: Place) -> None:
    with place.router:
        for name in ("calls", "control"):
            (place.folder / name).unlink()
        eventually(lambda: (place.folder / "calls").exists() and (place.folder / "control").exists())
        assert place.router.call("pre-tool-use", BASH).exit_code == 0
        assert place.router.is_there()


def test_folder_and_sockets_are_this_users_alone(place: Place) -> None:
    place.folder.mkdir(parents=True)
    place.folder.chmod(0o777)
    with place.router:
        assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700
        for path in place.folder.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


AS_ANOTHER = """
import os, socket, sys
# As hookrouter.util.system.PATH_ONLY: macOS has no O_PATH.
folder, user = os.open(sys.argv[1], getattr(os, "O_PATH", os.O_RDONLY)), int(sys.argv[2])
os.fchdir(folder)
os.setgid(user)
os.setuid(user)
for name in ("calls", "control"):
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(name)
            connection.sendall(b"status\\n")
            print(name, connection.recv(64))
    except OSError as error:
        print(name, type(error).__name__)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("is_opened", [False, True])
def test_another_user_gets_nothing_even_from_sockets_that_were_opened_to_all(place: Place, is_opened: bool) -> None:
    with place.router:
        if is_opened:
            for path in (place.folder, *place.folder.iterdir()):
                path.chmod(0o777)
        done = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER, str(place.folder), "65534"], capture_output=True, text=True, check=True
        )
        answers = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        assert set(answers) == {"calls", "control"}, done
        if is_opened:
            # Told to run cold, or let go of: never a status, never a call.
            assert answers["calls"] in ("b'C'", "ConnectionResetError", "BrokenPipeError")
            assert answers["control"] in ("b''", "ConnectionResetError", "BrokenPipeError")
        else:
            assert set(answers.values()) == {"PermissionError"}
        assert place.router.status()["calls"] == 0


def test_nothing_that_is_said_on_the_control_socket_harms_the_router(place: Place) -> None:
    chance = random.Random(7)
    with place.router:
        boot = place.router.status()["boot"]
        words = [b"", b"\n", b"stopp\n", b"\xff\xfe", b"status", b"STOP\n", b"\0stop", b"stop restart"]
        words += [chance.randbytes(chance.randrange(1, 4000)) for _ in range(60)]
        for word in words:
            with unix_socket.connect(str(place.folder), address.CONTROL, 20) as connection:
                try:
                    connection.sendall(word)
                    connection.shutdown(socket.SHUT_WR)
                    answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
                except ConnectionError:
                    continue
                assert not answer or json.loads(answer)["boot"] == boot
        for _ in range(20):
            unix_socket.connect(str(place.folder), address.CONTROL, 20).close()
        assert place.router.status()["boot"] == boot
        assert place.router.call("pre-tool-use", BASH).exit_code == 0


PARENT = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(8)
keep = os.dup(listener.fileno())
child = os.fork()
if not child:
    os.dup2(keep, 3)
    os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES="x")
    os.execv(sys.argv[2], sys.argv[2:])
os.waitpid(child, 0)
"""


def test_a_socket_that_systemd_passes_is_served_and_outlives_the_router(place: Place) -> None:
    place.folder.mkdir(parents=True, mode=0o700)
    words = [sys.executable, "-c", PARENT, str(place.folder / "calls"), *script_argv(), "serve"]
    parent = subprocess.Popen(words, env=place.environ)
    try:
        eventually(place.router.is_there)
        inode = (place.folder / "calls").stat().st_ino
        assert place.router.call("pre-tool-use", BASH).exit_code == 0
        boot = place.router.status()["boot"]
        control.ask(place.router.folder, "restart")
        eventually(lambda: place.router.is_there() and place.router.status()["boot"] != boot)
        assert place.router.call("pre-tool-use", BASH).exit_code == 0
    finally:
        control.ask(place.router.folder, "stop")
        assert parent.wait(60) == 0
    assert (place.folder / "calls").stat().st_ino == inode
    assert not (place.folder / "control").exists()


@pytest.mark.linux
def test_the_unit_is_shown_written_and_removed_where_no_system_takes_it(place: Place) -> None:
    units = place.home.parent / ".config" / "systemd" / "user"
    place.environ |= {"XDG_RUNTIME_DIR": "/nowhere", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}
    place.environ.pop("XDG_CONFIG_HOME", None)
    shown = place.serve("--install-unit", "--dry-run")
    assert shown.returncode == 0
    assert "+ListenStream=" in shown.stdout
    assert "systemctl --user enable --now hookrouter-" in shown.stdout
    assert not units.exists()
    written = place.serve("--install-unit")
    assert written.returncode == 1
    assert "the unit was not switched" in written.stderr
    assert "systemctl --user enable --now" in written.stderr
    assert sorted(path.suffix for path in units.iterdir()) == [".service", ".socket"]
    again = json.loads(place.serve("--install-unit", "--json").stdout)
    assert (again["changed"], again["switched"]) == (False, False)
    assert again["problem"]
    removed = json.loads(place.serve("--remove-unit", "--json").stdout)
    assert removed["changed"]
    assert [file["text"] for file in removed["files"]] == [None, None]
    assert list(units.iterdir()) == []
    nothing = place.serve("--remove-unit")
    assert (nothing.returncode, nothing.stdout) == (0, "no unit is installed for this home\n")


@pytest.mark.linux
def test_a_unit_is_switched_on_after_the_running_router_has_ended(place: Place, tmp_path: Path) -> None:
    """A systemctl that only writes down what it is asked, and whether a router was there."""
    programs, said = tmp_path / "bin", tmp_path / "said"
    programs.mkdir()
    (programs / "systemctl").write_text(f'#!/bin/sh\necho "$@" $(ls {place.folder}/control) >> {said}\n')
    (programs / "systemctl").chmod(0o755)
    place.environ["PATH"] = f"{programs}:{place.environ['PATH']}"
    with place.router:
        done = place.serve("--install-unit")
        assert done.returncode == 0, done
        assert "done: hookrouter-" in done.stdout
        assert place.is_gone()
    lines = said.read_text().splitlines()
    assert lines[0] == "--user daemon-reload"
    assert lines[-1].startswith("--user enable --now hookrouter-")
    assert lines[-1].endswith(".socket")


def test_twenty_cold_runs_at_once_start_one_router_which_ends_when_nobody_calls(place: Place) -> None:
    # Another router of this machine may have the page's address, which the log would say.
    place.config(AUTO + "idle = 1\n[page]\nenabled = false\n")
    runs = [place.start() for _ in range(20)]
    for run in runs:
        out, errors = run.communicate(timeout=120)
        assert (run.returncode, out, errors) == (0, b"", b"")
    eventually(place.router.is_there)
    status = place.router.status()
    log = place.home / "logs" / "serve.log"
    # A second one would have said so before it left.
    assert log.read_text() == ""
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert os.getsid(status["pid"]) == status["pid"]
    if os.path.isdir("/proc/self/fd"):
        targets = [os.readlink(f"/proc/{status['pid']}/fd/{number}") for number in (0, 1, 2)]
        assert targets == [os.devnull, os.devnull, str(log)]
    eventually(place.is_gone)
    assert not (place.folder / "calls").exists()


def _without_the_extra(place: Place) -> None:
    (place.plugins / "sitecustomize.py").write_text("import sys\nsys.modules['starlette'] = None\n")


def test_without_the_extra_serve_says_how_to_add_the_page_and_serves(place: Place) -> None:
    _without_the_extra(place)
    errors = place.home / "stderr"
    with errors.open("w") as file, subprocess.Popen([*script_argv(), "serve"], env=place.environ, stderr=file) as one:
        try:
            eventually(place.router.is_there)
            eventually(lambda: "page" in place.router.status())
            assert place.router.status()["page"] == {"pid": 0, "url": "", "problem": extra_missing("page")}
        finally:
            one.terminate()
    assert one.returncode == 0
    assert errors.read_text().count(extra_missing("page")) == 1


def test_without_the_extra_the_log_of_a_router_that_was_started_by_a_call_says_so(place: Place) -> None:
    _without_the_extra(place)
    place.config(AUTO)
    assert place.run() == {}
    eventually(place.router.is_there)
    eventually(lambda: (place.home / "logs" / "serve.log").read_text().count(extra_missing("page")) == 1)


def test_a_router_that_is_there_is_not_started_again_by_a_call_that_it_sent_away(place: Place) -> None:
    place.config(AUTO)
    with place.router:
        boot = place.router.status()["boot"]
        assert place.run() == {}
        assert not (place.folder / "started").exists()
        assert place.router.status()["boot"] == boot


def test_a_socket_that_the_system_listens_on_needs_no_start(place: Place) -> None:
    place.config(AUTO)
    place.folder.mkdir(parents=True, mode=0o700)
    with unix_socket.listen(str(place.folder), address.CALLS, 8):
        assert place.run() == {}
        assert not (place.folder / "started").exists()


def test_auto_counts_from_the_call_on_that_sees_it_and_is_off_by_default(place: Place) -> None:
    assert place.run() == {}
    assert not place.folder.exists()
    place.config(AUTO)
    assert place.run() == {}
    eventually(place.router.is_there)


def test_a_router_that_cannot_be_started_does_not_change_the_call(place: Place) -> None:
    place.config(AUTO)
    state = Path(Home.from_environ(place.environ).state)
    state.mkdir(parents=True)
    (state / "router").write_text("in the way")
    assert place.run() == {}
    warned = [json.loads(line) for line in (place.home / "logs" / "s.jsonl").read_text().splitlines()]
    assert any("no router could be started" in str(record.get("reason")) for record in warned)
    (state / "router").unlink()
