"""What a hook call costs with the resident router, as a ratio to `python -c pass` in the same run.

    python tests/benchmarks/resident.py [--rounds N] [--write]

Six calls (nobody listens; one plugin looks at it, with the mark @stateless and without; Bash under a preset of rules, a
plain line and one for the parser; AskUserQuestion's PreToolUse whole) are made in each way: cold, by the front in
Python and the native one, beside a router and without one, and over HTTP as the mod and http hooks make them, on a
connection that is kept. They are interleaved, and their order is reversed every round, so that a busy machine slows all
alike. Printed are medians of wall-clock time. ``--write`` puts the ratios into docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hook_run import CALL, LOOKER, LOOP, QUESTION, UNWANTED, forget, one_run, private_tmux, wait_for_deliverer

from hookrouter import _fronts
from hookrouter.permission_rules.presets import preset_text
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from hookrouter.util.unix_socket import in_folder
from support.machine import machine
from support.manual import write_part
from support.ports import free_port
from support.resident import Resident, eventually

NOBODY, LOOKS, ASKS = "nobody listens", "one plugin looks, `@stateless`", "AskUserQuestion, whole"
UNMARKED = "one plugin looks, unmarked"
RULED, RULED_LOOP = "Bash under rules, a plain line", "Bash under rules, any line"
PYTHON, NATIVE, MOD, HTTP = "Python front", "native front", "mod", "http"
COLD = "cold"
WITHOUT = ", no router"

LIMITS = {
    (NOBODY, PYTHON): 1.0,
    (LOOKS, PYTHON): 1.3,
    (ASKS, PYTHON): 1.7,
    (NOBODY, NATIVE): 0.25,
    (LOOKS, NATIVE): 0.35,
    (ASKS, NATIVE): 0.8,
    (LOOKS, MOD): 0.15,
    (UNMARKED, PYTHON): 1.3,
    (UNMARKED, NATIVE): 0.35,
}
ABOVE_COLD = 0.1
"""How much more than a cold run a front may cost that finds no router."""

BASE = "python -c pass"


class Case(NamedTuple):
    """One call, made in one way."""

    call: str
    way: str
    once: Callable[[], float]
    """Makes it once; returns how many seconds that took."""
    home: Path | None = None


def main() -> int:
    """Run the cases and print the table; exits 1 if a ratio is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--write", action="store_true", help="put the ratios into docs/evidence/speed.md")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        private_tmux(Path(name)) as tmux,
        ExitStack() as stack,
    ):
        found = list(cases(Path(name), tmux, stack))
        times = measure(found, given.rounds)
    medians = {key: statistics.median(seconds) for key, seconds in times.items()}
    base = medians["", BASE]
    lines, failed = ["| call | way | ratio | limit |", "|---|---|---|---|"], False
    print(f"{'call':30} {'way':26} {'ms':>7} {'ratio':>6} {'limit':>6}   ({given.rounds} rounds)")
    for (call, way), seconds in medians.items():
        ratio, limit = seconds / base, LIMITS.get((call, way))
        if way.endswith(WITHOUT):
            limit = medians[call, COLD] / base + ABOVE_COLD
        failed |= limit is not None and ratio > limit
        shown = "" if limit is None else f"{limit:.2f}"
        print(f"{call:30} {way:26} {seconds * 1000:7.2f} {ratio:6.2f} {shown:>6}")
        if call:
            lines.append(f"| {call} | {way} | {ratio:.2f} | {shown} |")
    lines += ["", f"Medians of {given.rounds} on {machine()}, with a load of {os.getloadavg()[1]:.1f}."]
    if given.write:
        write_part("docs/evidence/speed.md", "resident", "\n".join(lines))
    return int(failed)


def measure(found: list[Case], rounds: int) -> dict[tuple[str, str], list[float]]:
    """Return the seconds of every round by call and way; three warm-up rounds are left out."""
    times: dict[tuple[str, str], list[float]] = {(case.call, case.way): [] for case in found}
    for number in range(rounds + 3):
        for case in found if number % 2 else reversed(found):
            seconds = case.once()
            if case.home is not None:
                wait_for_deliverer(case.home)
                forget(case.home)
            if number >= 3:
                times[case.call, case.way].append(seconds)
    return times


def cases(folder: Path, tmux: dict[str, str], stack: ExitStack) -> Iterator[Case]:
    """Yield all cases; their routers run until ``stack`` ends."""
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    write_plugin(folder / "plugins", "looker", LOOKER)
    write_plugin(folder / "unmarked", "looker", LOOKER.replace("@stateless\n", ""))
    ask = {**CALL, "tool_name": "AskUserQuestion", "tool_input": {"questions": [QUESTION]}}
    looking = {"PYTHONPATH": str(folder / "plugins")}
    unmarked = {"PYTHONPATH": str(folder / "unmarked")}
    calls: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
        NOBODY: (CALL, {}),
        LOOKS: (CALL, looking),
        UNMARKED: (CALL, unmarked),
        RULED: (CALL, tmux),
        RULED_LOOP: ({**CALL, "tool_input": {"command": LOOP}}, tmux),
        ASKS: (ask, tmux),
    }
    rules = f'[[agents]]\nid = "night"\n\n{preset_text("unattended-web")}'
    fronts = {PYTHON: [sys.executable, "-SP", str(Path(_fronts.__path__[0]) / "python_front.py")]}
    if (native := native_front(folder)) is not None:
        fronts[NATIVE] = [native]
    yield Case("", BASE, process([sys.executable, "-c", "pass"], b"", clean))
    yield Case("", "/bin/true", process(["/bin/true"], b"", clean))
    for number, (call, (payload, variables)) in enumerate(calls.items()):
        data = json.dumps(payload).encode()
        home, alone = folder / f"h{number}", folder / f"a{number}"
        environ = {**clean, **variables, "HOOKROUTER_HOME": str(home)}
        environ_alone = {**environ, "HOOKROUTER_HOME": str(alone)}
        port = free_port()
        home.mkdir()
        ruled = rules if call in (RULED, RULED_LOOP) else ""
        (home / "config.toml").write_text(f'[serve]\nhttp = "127.0.0.1:{port}"\nmod = true\n{ruled}')
        if ruled:
            alone.mkdir()
            (alone / "config.toml").write_text(ruled)
        router = stack.enter_context(Resident(environ))
        cold = [*script_argv(), "run", "pre-tool-use"]
        yield Case(call, COLD, process(cold, data, environ_alone), alone)
        for way, words in fronts.items():
            yield Case(call, way, process([*words, router.folder, *cold], data, environ), home)
            yield Case(call, way + WITHOUT, process([*words, f"{folder}/none", *cold], data, environ_alone), alone)
        if not has_gate():
            continue
        token_file = home / "state" / "http-token"
        eventually(lambda files=(token_file, Path(router.folder, "http")): all(map(Path.exists, files)))  # type: ignore[misc]
        yield Case(call, MOD, mod_call(stack, router.folder, payload, environ), home)
        token = token_file.read_text().strip()
        yield Case(call, HTTP, http_call(stack, port, token, data, variables), home)


def has_gate() -> bool:
    """Whether calls can be made over HTTP; if not, say why."""
    if importlib.util.find_spec("uvicorn") is None:
        print("no uvicorn (hookrouter[serve]): the mod and http are left out")
        return False
    return True


def native_front(folder: Path) -> str | None:
    """Return the native front, compiled as an installation compiles it; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        print("no C compiler: the native front is left out")
        return None
    program = str(folder / "native")
    source = str(Path(_fronts.__path__[0]) / "native.c")
    subprocess.run([compiler, "-std=c11", "-O2", "-static", "-s", "-o", program, source], check=True)
    return program


def process(argv: list[str], stdin: bytes, environ: dict[str, str]) -> Callable[[], float]:
    """Return what runs a process once."""
    return lambda: one_run(argv[0], argv, stdin, environ)[0]


def mod_call(stack: ExitStack, folder: str, payload: dict[str, Any], environ: dict[str, str]) -> Callable[[], float]:
    """Return what makes a call as the mod does, on a connection that is kept.

    What a client written in Python takes to put a request together and to read an answer is not part of it: the mod's
    client is the one in Claude Code.
    """
    connection = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
    with in_folder(folder):
        connection.connect("http")
    number = iter(range(1_000_000))

    def once() -> float:
        request = {"id": f"b-{next(number)}", "event": "pre-tool-use", "cwd": "/tmp", "environ": environ}
        body = json.dumps({**request, "payload": payload, "wait": 20}).encode()
        head = f"POST /v1/calls HTTP/1.1\r\nHost: hookrouter\r\nContent-Length: {len(body)}\r\n"
        data = f"{head}Content-Type: application/json\r\n\r\n".encode() + body
        started = time.perf_counter()
        connection.sendall(data)
        answer = answered(connection)
        taken = time.perf_counter() - started
        said = json.loads(answer)
        if said.get("state") != "done" or said["exit_code"]:
            raise SystemExit(f"mod: {said}")
        return taken

    return once


def answered(connection: socket.socket) -> bytes:
    """Read one HTTP answer, whose length it says; return its body."""
    data = connection.recv(1 << 16)
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < size:
        body += connection.recv(1 << 16)
    return body


def http_call(stack: ExitStack, port: int, token: str, data: bytes, variables: dict[str, str]) -> Callable[[], float]:
    """Return what makes a call as Claude Code's http hook does, on a connection that is kept."""
    connection = stack.enter_context(kept(http.client.HTTPConnection("127.0.0.1", port)))
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    for name, variable in (("X-Hookrouter-Tmux", "TMUX"), ("X-Hookrouter-Tmux-Pane", "TMUX_PANE")):
        headers[name] = variables.get(variable, "")

    def once() -> float:
        started = time.perf_counter()
        connection.request("POST", "/hook/pre-tool-use", data, headers)
        response = connection.getresponse()
        response.read()
        if response.status >= 300:
            raise SystemExit(f"http: {response.status}")
        return time.perf_counter() - started

    return once


@contextmanager
def kept(connection: http.client.HTTPConnection) -> Iterator[http.client.HTTPConnection]:
    """Close a connection at the end."""
    try:
        yield connection
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
