"""What a trivial PreToolUse hook costs with other hook libraries, as a ratio to `python -c pass` in the same run.

    python tests/benchmarks/peers.py [--rounds N] [--folder F] [--hooks-daemon PROJECT] [--write]

Each peer comes from the package index into one virtual environment below ``--folder`` (``.live/peers``), hookrouter
beside them. All do the same, as their own documentation writes such a hook: look at a Bash call, find its command
harmless, and let it pass. claudekit has no hook commands, only callbacks for the Agent SDK in the same process; a
script calls one. hooks-daemon has a resident router too, and is on no package index: ``--hooks-daemon`` names a project
in which it was installed as its documentation says; its own handlers then look at the call. Beside it stands
hookrouter's native front with a router. The cases are interleaved, and every case is a fresh process. ``--write`` puts
the ratios into docs/evidence/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from hook_run import CALL, UNWANTED, one_run, transposed
from resident import native_front

from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.machine import machine  # noqa: E402
from support.manual import write_part  # noqa: E402
from support.resident import Resident  # noqa: E402

PEERS = {"cchooks": "0.1.5", "claude-hook-utils": "0.4.0", "nah": "0.11.0", "claudekit": "0.1.1"}

Case = tuple[list[str], bytes, dict[str, str]]
"""A command, its stdin and its environment."""

LOOKER = """\
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply


@hookimpl
def pre_tool_use_bash(event, tool_input, context):
    if "rm -rf" in tool_input.command:
        return PreToolUseReply.deny("Not that.")
    return None
"""

SCRIPTS = {
    "bare script (json)": """\
import json, sys

call = json.load(sys.stdin)
if call["tool_name"] == "Bash" and "rm -rf" in call["tool_input"].get("command", ""):
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Not that."}
    print(json.dumps({"hookSpecificOutput": said}))
""",
    "cchooks": """\
from cchooks import PreToolUseContext, create_context

c = create_context()
assert isinstance(c, PreToolUseContext)
if c.tool_name == "Bash" and "rm -rf" in c.tool_input.get("command", ""):
    c.output.exit_deny("Not that.")
else:
    c.output.exit_success()
""",
    "claude-hook-utils": """\
from claude_hook_utils import HookHandler, PreToolUseInput, PreToolUseResponse


class Guard(HookHandler):
    def pre_tool_use(self, input: PreToolUseInput) -> PreToolUseResponse | None:
        if input.tool_name == "Bash" and "rm -rf" in (input.command or ""):
            return PreToolUseResponse.deny("Not that.")
        return None


if __name__ == "__main__":
    Guard().run()
""",
    "claudekit": """\
import json, sys

from claudekit.agents import HookBuilder

call = json.load(sys.stdin)
hook = HookBuilder.block_tool("Bash", when=lambda context: "rm -rf" in context.get("command", ""))
said = hook["callback"]({"type": "tool_use", "name": call["tool_name"], "context": call["tool_input"]})
if said:
    print(json.dumps(said))
""",
}
"""Case -> the hook's script; nah is a finished guard, with a module of its own to start."""

BASE = "python -c pass"
ONE_PLUGIN = "hookrouter, one plugin"
ROUTER = "hookrouter, native front"
HOOKS_DAEMON = "hooks-daemon"
TOLD = {
    "bare script (json)": "a bare script, `json` from stdin",
    "hookrouter, nobody listens": "hookrouter, nobody listens",
    ONE_PLUGIN: ONE_PLUGIN,
    ROUTER: "hookrouter, one plugin, native front beside its router",
    **{name: f"{name} {version}" for name, version in PEERS.items()},
    HOOKS_DAEMON: "hooks-daemon 3.8.2, its router running, its own handlers",
    "nah": f"nah {PEERS['nah']}, a finished guard",
}
"""Case -> how the manual names it, in the order of its table."""


def main() -> int:
    """Install what is missing, run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--folder", type=Path, default=ROOT / ".live" / "peers")
    parser.add_argument("--hooks-daemon", type=Path, metavar="PROJECT", help="where hooks-daemon is installed")
    parser.add_argument("--write", action="store_true", help="put the ratios into docs/evidence/speed.md")
    parsed = parser.parse_args()
    python = prepared(parsed.folder)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        found = cases(Path(folder), python)
        found |= resident_cases(Path(folder), parsed.hooks_daemon, found[ONE_PLUGIN], stack)
        times = measure(found, parsed.rounds)
    wall, cpu = ({name: statistics.median(column) for name, column in table.items()} for table in transposed(times))
    base = BASE
    print(f"{'case':36} {'wall ms':>8} {'ratio':>6} {'cpu ms':>8} {'ratio':>6}   ({parsed.rounds} rounds)")
    for name in times:
        print(
            f"{name:36} {wall[name] * 1000:8.1f} {wall[name] / wall[base]:6.2f} "
            f"{cpu[name] * 1000:8.1f} {cpu[name] / cpu[base]:6.2f}"
        )
    if parsed.write:
        write_part("docs/evidence/speed.md", "peers", written(wall, cpu, parsed.rounds))
    return 0


def written(wall: dict[str, float], cpu: dict[str, float], rounds: int) -> str:
    """Return the table of the manual."""
    lines = ["| hook | ratio (wall) | ratio (processor time) |", "|---|---|---|"]
    for name, told in TOLD.items():
        if name not in wall:
            continue
        ratios = (wall[name] / wall[BASE], cpu[name] / cpu[BASE])
        lines.append(
            f"| {told} | {' | '.join(f'{ratio:.3g}' if ratio >= 10 else f'{ratio:.1f}' for ratio in ratios)} |"
        )
    return "\n".join([*lines, "", f"Medians of {rounds} on {machine()}."])


def prepared(folder: Path) -> Path:
    """Return the Python of an environment that holds hookrouter, as it is here, and the peers."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    wanted = [f"{name}=={version}" for name, version in PEERS.items()]
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted, ROOT]
    subprocess.run(command, check=True)
    return python


def cases(folder: Path, python: Path) -> dict[str, Case]:
    """Return each case's command, stdin and environment."""
    clean = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    clean |= {"HOME": str(folder), "HOOKROUTER_HOME": str(folder / "hookrouter")}
    write_plugin(folder / "plugins", "looker", LOOKER)
    router = [str(python.parent / "hookrouter"), "run", "pre-tool-use"]
    call = json.dumps(CALL).encode()
    found = {
        BASE: ([str(python), "-c", "pass"], b"", clean),
        ONE_PLUGIN: (router, call, {**clean, "PYTHONPATH": str(folder / "plugins")}),
        "hookrouter, nobody listens": (router, call, {**clean, "HOOKROUTER_HOME": str(folder / "nobody")}),
        "nah": ([str(python), "-m", "nah.hook"], call, clean),
    }
    for name, text in SCRIPTS.items():
        script = folder / f"{name.split()[0].replace('-', '_')}_hook.py"
        script.write_text(text)
        found[name] = ([str(python), str(script)], call, clean)
    return found


def resident_cases(folder: Path, project: Path | None, cold: Case, stack: ExitStack) -> dict[str, Case]:
    """Return the cases with a resident router; hookrouter's runs until ``stack`` ends, hooks-daemon's by itself."""
    found = {}
    if (native := native_front(folder)) is not None:
        _argv, call, environ = cold
        router = stack.enter_context(Resident(environ))
        found[ROUTER] = ([native, router.folder, *script_argv(), "run", "pre-tool-use"], call, environ)
    if project is not None:
        call = {**CALL, "cwd": str(project)}
        hook = [str(project / ".claude" / "hooks" / "pre-tool-use")]
        found[HOOKS_DAEMON] = (hook, json.dumps(call).encode(), {**cold[2], "CLAUDE_PROJECT_DIR": str(project)})
    return found


def measure(commands: dict[str, Case], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return the wall-clock and processor seconds of every round by case, two warm-up rounds left out."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds + 2):
        for name in list(commands) if number % 2 else list(reversed(commands)):
            taken = one_run(name, *commands[name], silent=False)
            if number >= 2:
                times[name].append(taken)
    return times


if __name__ == "__main__":
    sys.exit(main())
