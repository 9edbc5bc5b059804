"""How long a hook takes as the real client sees it, with and without the resident router.

    python tests/benchmarks/resident_client.py [--sessions N] [--calls N] [--messages N] [--write]

Sessions of the real client in which a scripted model calls Bash, one plugin looks at each call, and the hook is started
in each way. Measured is what the client says of its own hooks (``-p --output-format stream-json
--include-hook-events``), from ``hook_started`` to ``hook_response``; and how long ten calls in one message hold up the
turn, from the request that brought them to the next one, above a session without any hook. The ways take turns, and
their order is reversed each time. ``--write`` puts the table into docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hook_run import LOOKER
from resident import NATIVE, PYTHON, native_front

from hookrouter import _fronts
from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ModelRequest, ScriptedModel, ToolUses, bash
from hookrouter._sandbox.stage import Stage
from hookrouter._serving.token import TOKEN_VARIABLE, read_token
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from support.machine import with_client
from support.manual import write_part
from support.ports import free_port
from support.resident import Resident, eventually

NONE, COLD, TRUE, HTTP = "no hook", "cold", "/bin/true", "http"
TOGETHER = 10
MOST_ADDED = 40.0
"""Milliseconds that ten calls in one message may take longer with the native front."""

WARM_UP = 3
"""Calls at the beginning of a session that do not count."""

CLIENT = ["-p", "--output-format", "stream-json", "--verbose", "--include-hook-events"]


def main() -> int:
    """Run the sessions and print the table; exits 1 if ten calls take too much longer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2, help="sessions for each way (2)")
    parser.add_argument("--calls", type=int, default=20, help="single calls in each session (20)")
    parser.add_argument("--messages", type=int, default=10, help="messages of ten calls in each session (10)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/speed.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as stack:
        places, routers = prepared(Path(name), stack)
        singles: dict[str, list[float]] = {way: [] for way in places}
        turns: dict[str, list[float]] = {way: [] for way in places}
        for number in range(given.sessions):
            for way in list(places) if number % 2 else list(reversed(places)):
                single, turn = session(places[way], way, given.calls, given.messages)
                singles[way] += single
                turns[way] += turn
        check(places, routers)
    lines = ["| hook | ms, median | ms, 10 % to 90 % | ten calls in one message: ms added |", "|---|---|---|---|"]
    added = {way: (statistics.median(found) - statistics.median(turns[NONE])) * 1000 for way, found in turns.items()}
    for way in list(places)[1:]:
        low, middle, high = (value * 1000 for value in spread(singles[way]))
        lines.append(f"| {way} | {middle:.1f} | {low:.1f} to {high:.1f} | {added[way]:.0f} |")
    lines += ["", f"{len(singles[COLD])} calls and {len(turns[COLD])} messages each on {with_client()},"]
    lines.append(f"with a load of {os.getloadavg()[1]:.1f}.")
    print("\n".join(lines))
    if given.write:
        write_part("docs/evidence/speed.md", "resident-client", "\n".join(lines))
    return int(added.get(NATIVE, 0.0) > MOST_ADDED)


def spread(values: list[float]) -> tuple[float, float, float]:
    """Return the tenth part, the median and nine tenths."""
    tenths = statistics.quantiles(values, n=10)
    return tenths[0], statistics.median(values), tenths[-1]


class Timed(ScriptedModel):
    """Notes when each request of the conversation came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def record(self, request: ModelRequest) -> None:
        """Keep a request, and when it came if it is no side request."""
        if request.body.get("tools"):
            self.times.append(time.perf_counter())
        super().record(request)


def prepared(folder: Path, stack: ExitStack) -> tuple[dict[str, Stage], dict[str, Resident]]:
    """Return a stage for each way, with its hook registered, and the routers, which run until ``stack`` ends."""
    routers: dict[str, Resident] = {}
    fronts = {PYTHON: [sys.executable, "-SP", str(Path(_fronts.__path__[0]) / "python_front.py")]}
    if (native := native_front(folder)) is not None:
        fronts[NATIVE] = [native]
    places = {NONE: stage_in(folder / "none"), TRUE: stage_in(folder / "true"), COLD: stage_in(folder / "cold")}
    places[TRUE].client_home.add_hook("PreToolUse", "/bin/true", "Bash")
    register(places[COLD], "cold")
    for number, (way, words) in enumerate(fronts.items()):
        stage = places[way] = stage_in(folder / f"front{number}")
        register(stage, "cold")
        router = routers[way] = stack.enter_context(Resident(stage.environ))
        settings = json.dumps(stage.client_home.read_settings())
        cold = f"{shlex.join(script_argv())} run "
        fronted = settings.replace(cold, f"{shlex.join([*words, router.folder])} {cold}")
        stage.client_home.write_settings(json.loads(fronted))
    places[HTTP] = stage = stage_in(folder / "http", f'[serve]\nhttp = "127.0.0.1:{free_port()}"\n')
    router = routers[HTTP] = stack.enter_context(Resident(stage.environ))
    eventually(lambda: Path(router.folder, "http").exists() and bool(read_token(stage.home)))
    register(stage, "http")
    stage.variables[TOKEN_VARIABLE] = read_token(stage.home)
    return places, routers


def stage_in(folder: Path, config: str = "") -> Stage:
    """Return a stage with one plugin, which looks at each call of Bash."""
    folder.mkdir()
    stage = Stage(str(folder), config)
    write_plugin(folder / "site", "looker", LOOKER)
    stage.variables["PYTHONPATH"] = str(folder / "site")
    return stage


def register(stage: Stage, front: str) -> None:
    """Register the hook of PreToolUse, and no other one."""
    done = stage.run("install", "--settings", stage.client_home.settings_file, "--front", front)
    if done.returncode:
        raise SystemExit(done.stderr)
    settings = stage.client_home.read_settings()
    settings["hooks"] = {"PreToolUse": settings["hooks"]["PreToolUse"]}
    stage.client_home.write_settings(settings)


def session(stage: Stage, way: str, calls: int, messages: int) -> tuple[list[float], list[float]]:
    """Run one session; return the seconds of each hook of a single call, and of each turn with ten of them."""
    program = find_client()
    if program is None:
        raise SystemExit("no Claude Code client: install one, or name it in HOOKROUTER_CLAUDE")
    shutil.rmtree(Path(stage.client_home.home, ".claude", "projects"), ignore_errors=True)
    call = bash("true")
    with Timed() as model:
        model.script("all", [*[call] * (WARM_UP + calls), *[ToolUses((call,) * TOGETHER)] * messages])
        environ = {**stage.environ, **stage.client_home.environ(model)}
        process = subprocess.Popen(
            [program, *CLIENT, "--permission-mode", "bypassPermissions", "please RUN all"],
            env=environ,
            cwd=stage.client_home.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        hooks = followed(process, way)
        if process.wait():
            raise SystemExit(f"{way}: the client ended with {process.returncode}")
    expected = 0 if way == NONE else WARM_UP + calls + TOGETHER * messages
    if len(hooks) != expected or len(model.times) != WARM_UP + calls + messages + 1:
        raise SystemExit(f"{way}: {len(hooks)} hooks instead of {expected}, {len(model.times)} requests")
    turns = [after - before for before, after in zip(model.times, model.times[1:], strict=False)]
    return hooks[WARM_UP : WARM_UP + calls], turns[WARM_UP + calls :]


def followed(process: subprocess.Popen[bytes], way: str) -> list[float]:
    """Return the seconds that each hook took, in the order of their begin, by what the client says as it says it."""
    began: dict[str, float] = {}
    took: dict[str, float] = {}
    assert process.stdout is not None
    for line in process.stdout:
        now = time.perf_counter()
        said: dict[str, Any] = json.loads(line)
        if said.get("hook_event") != "PreToolUse":
            continue
        if said["subtype"] == "hook_started":
            began[said["hook_id"]] = now
        elif said["subtype"] == "hook_response":
            if said["outcome"] != "success":
                raise SystemExit(f"{way}: {said}")
            took[said["hook_id"]] = now - began[said["hook_id"]]
    return [took[one] for one in began]


def check(places: dict[str, Stage], routers: dict[str, Resident]) -> None:
    """Make sure that what was measured is what was meant: hooks ran, and the routers sent none of them away."""
    for way, stage in places.items():
        runs = sum(record.get("event") == "PreToolUse" for record in stage.journal())
        sent_away = routers[way].status()["sent_away"] if way in routers else {}
        if (runs == 0) != (way in (NONE, TRUE)) or sent_away:
            raise SystemExit(f"{way}: {runs} hook runs, sent away: {sent_away}")


if __name__ == "__main__":
    sys.exit(main())
