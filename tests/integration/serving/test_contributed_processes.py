"""Processes of plugins run beside a real router; one that cannot be used is told, and stops nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from hookrouter.serving import control
from hookrouter.util.program import script_argv
from support.ports import free_port
from support.resident import Resident, eventually

PLUGIN = """
from hookrouter import hookimpl
from hookrouter.serving.resident import ON_CONNECTION, Plan, ResidentProcess


class Echo(ResidentProcess):
    name = "echo"
    target = "echo_process:main"

    def plan(self, place):
        port = place.config.plugin("echo").settings.get("port")
        return Plan(when=ON_CONNECTION, addresses=(f"127.0.0.1:{port}",)) if port else None


class Nameless(ResidentProcess):
    target = "echo_process:main"


class Broken(ResidentProcess):
    name = "broken"
    target = "echo_process:main"

    def plan(self, place):
        raise RuntimeError("no plan")


@hookimpl
def resident_process():
    return [Nameless(), Broken(), "nothing", Echo()]
"""

RAISING = """
from hookrouter import hookimpl


@hookimpl
def resident_process():
    raise RuntimeError("no process")
"""

PROCESS = """
import asyncio, os
from hookrouter.serving.asgi import serve_asgi


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})


def main(parent, listeners):
    asyncio.run(serve_asgi("echo", app, listeners[0], parent))
    return 0
"""


class Echoed:
    """A home with the plugins ``a-raising`` and ``echo``, and its router."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        site = folder / "site"
        for name, text in (("a-raising", RAISING), ("echo", PLUGIN)):
            module = name.replace("-", "_")
            metadata = site / f"{module}-1.0.dist-info"
            metadata.mkdir(parents=True)
            (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (metadata / "entry_points.txt").write_text(f"[hookrouter]\n{name} = {module}\n")
            (site / f"{module}.py").write_text(text)
        (site / "echo_process.py").write_text(PROCESS)
        self.table = folder / "config.toml"
        self.configure(f"[plugins.echo.settings]\nport = {self.port}\n")
        self.environ = {**os.environ, "HOOKROUTER_HOME": str(folder), "PYTHONPATH": str(site)}
        self.router = Resident(self.environ)

    def configure(self, text: str) -> None:
        self.table.write_text(f"[page]\nenabled = false\n{text}")

    def pid(self) -> int:
        """Return the process that answers, which begins when it is asked."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}", timeout=20) as answer:
            return int(answer.read())

    def refuses(self) -> bool:
        try:
            self.pid()
        except OSError as error:
            return "refused" in str(error)
        return False

    def lines(self) -> str:
        done = subprocess.run(
            [*script_argv(), "serve", "--status"], env=self.environ, capture_output=True, text=True, check=True
        )
        return done.stdout


def test_a_plugins_process_runs_beside_the_router_over_its_restart_until_it_is_switched_off(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    echoed = Echoed(tmp_path)
    with echoed.router as router:
        eventually(lambda: (router.status().get("echo") or {}).get("listens"))
        assert router.status()["echo"] == {
            "pid": 0,
            "listens": [f"127.0.0.1:{echoed.port}"],
            "problem": "",
            "when": "on_connection",
        }
        first = echoed.pid()
        assert router.status()["echo"]["pid"] == first
        assert f"echo: process {first}\n" in echoed.lines()
        assert router.status()["broken"] == {
            "pid": 0,
            "listens": [],
            "problem": "its plan() failed: RuntimeError: no plan",
            "when": "always",
        }
        boot = router.status()["boot"]
        control.ask(router.folder, "restart")
        eventually(lambda: router.is_there() and router.status()["boot"] != boot)
        second = echoed.pid()
        assert second != first
        os.kill(second, signal.SIGKILL)
        eventually(lambda: "exit code -9" in router.status()["echo"]["problem"])
        third = echoed.pid()
        assert third not in (first, second)
        echoed.configure("[plugins.echo]\nenabled = false\n")
        eventually(lambda: "echo" not in router.status())
        eventually(echoed.refuses)
    said = capfd.readouterr().err
    for text in (
        "plugin a-raising: resident_process() failed: RuntimeError: no process",
        "plugin echo: resident_process(): the name '' is not of lower-case letters, digits and hyphens",
        "plugin echo: resident_process(): 'nothing' is no ResidentProcess",
        "no broken: its plan() failed: RuntimeError: no plan",
    ):
        assert text in said


DOORS = """
from hookrouter import hookimpl
from hookrouter.serving.resident import ResidentProcess


class Door(ResidentProcess):
    target = "echo_process:main"

    def __init__(self, name):
        self.name = name

    def plan(self, place):
        return None

    def faults(self, place):
        if self.name == "stuck":
            raise RuntimeError("no faults")
        yield "", f"{self.name} has lost its key"

    def revoke(self, place):
        if self.name == "stuck":
            raise RuntimeError("no lock")
        with open(f"{place.home.state}/{self.name}-is-revoked", "w"):
            return True


@hookimpl
def resident_process():
    return [Door("stuck"), Door("front")]
"""


def test_a_process_whose_methods_fail_keeps_no_command_from_the_others(tmp_path: Path) -> None:
    for folder in ("plugins", "state"):
        (tmp_path / folder).mkdir(mode=0o700)
    (tmp_path / "plugins" / "doors.py").write_text(DOORS)
    environ = {**os.environ, "HOOKROUTER_HOME": str(tmp_path)}

    def told(*words: str) -> tuple[int, str]:
        done = subprocess.run([*script_argv(), *words], env=environ, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    _, text = told("doctor")
    for line in ("front has lost its key", "stuck: its faults() failed: RuntimeError: no faults"):
        assert line in text
    assert told("serve", "--revoke") == (2, "hookrouter: stuck: RuntimeError: no lock\n")
    # Both others have ended all logins.
    assert (tmp_path / "state" / "front-is-revoked").exists()
    assert (tmp_path / "state" / "page-secret").exists()


ASKED = """
import atexit, json, sys
if "--resident" in sys.argv:
    atexit.register(lambda: json.dump(sorted(sys.modules), open(sys.argv[0] and {file!r}, "w")))
"""


def test_the_router_itself_loads_no_server_and_no_command_line(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "config.toml").write_text(
        f'[serve]\nmod = true\n[page]\naddress = "127.0.0.1:{free_port()}"\n'
        f'[monitor]\naddress = "127.0.0.1:{free_port()}"\n'
    )
    file = tmp_path / "modules.json"
    (tmp_path / "site" / "sitecustomize.py").write_text(ASKED.format(file=str(file)))
    environ = {**os.environ, "HOOKROUTER_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    with Resident(environ) as router:
        eventually(lambda: (router.status()["gate"] or {}).get("pid"))
        eventually(lambda: (router.status().get("monitor") or {}).get("pid"))
        eventually(lambda: (router.status().get("page") or {}).get("url"))
        control.ask(router.folder, "stop")
        eventually(lambda: not router.lives)
    loaded = set(json.loads(file.read_text()))
    assert "hookrouter._serving.router" in loaded
    assert loaded & {"typer", "click", "uvicorn", "starlette", "asyncio", "requests"} == set()
