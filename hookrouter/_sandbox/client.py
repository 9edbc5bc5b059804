"""The real Claude Code client in a terminal: an isolated home, a made-up key, a scripted model.

``python -m hookrouter.testing.client install VERSION [FOLDER]`` fetches a client with npm and prints its path.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._contract.document import VERSION
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._sandbox.panes import Pane, Terminal
    from hookrouter._sandbox.scripted_model import ScriptedModel

__all__ = [
    "CLIENT_VERSION",
    "ClientError",
    "ClientHome",
    "ClientSession",
    "check_client",
    "dialog_is_open",
    "find_client",
    "install_client",
    "main",
    "prompt_box",
    "read_payloads",
    "wait_payload",
]

CLIENT_VERSION = VERSION
"""The client version that the live tests are written for."""

_PACKAGE = "@anthropic-ai/claude-code"
_KEY = "sk-ant-api03-scripted-0000000000000000000000000000000000000000-made-up"
_LOGIN = "sk-ant-oat01-scripted-made-up"
_RULE = "────"
_PROMPT = re.compile(r"[❯>](?:\s|$)")
_ENTER_SECONDS = 1.0
"""How long a client gets to take a prompt before it is looked whether the Enter was lost."""
_AGAIN_SECONDS = 1.0
"""How long a key gets to show an effect in a dialog before it is pressed again."""
_MARK = "."
"""A character that does nothing in a dialog."""
_WORKING = ("esc to interrupt", "ctrl+c to interrupt")
"""In the line that says that the model works; the second form was seen on 2.1.12."""


class ClientError(HookrouterError):
    """The client could not be installed or started; the message says why."""


def _repository() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _in_folder(folder: str) -> str:
    return os.path.join(folder, "node_modules", ".bin", "claude")


def find_client(environ: Mapping[str, str] | None = None) -> str | None:
    """Return the path of a Claude Code client, or None.

    Looks at ``HOOKROUTER_CLAUDE``, then at ``.live/<version>/`` in the repository, then for ``claude`` on PATH. The
    version is that of ``HOOKROUTER_CLIENT_VERSION``, else CLIENT_VERSION. A ``HOOKROUTER_CLAUDE`` that is no executable
    file, or a named version that is not there, raises ClientError: no other client may take its place.
    """
    environ = os.environ if environ is None else environ
    named = environ.get("HOOKROUTER_CLAUDE")
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise ClientError(f"HOOKROUTER_CLAUDE: {named} is not an executable file")
        return os.path.abspath(named)
    wanted = environ.get("HOOKROUTER_CLIENT_VERSION")
    local = _in_folder(os.path.join(_repository(), ".live", wanted or CLIENT_VERSION))
    if os.access(local, os.X_OK):
        return local
    if wanted:
        raise ClientError(f"HOOKROUTER_CLIENT_VERSION: {local} is missing; run `client install {wanted}`")
    return shutil.which("claude", path=environ.get("PATH"))


def install_client(version: str = CLIENT_VERSION, folder: str | None = None) -> str:
    """Install the client ``version`` with npm into ``folder`` (default ``.live/<version>``) and return its path.

    Does nothing if it is installed already; waits for another process that is at it. Raises ClientError.
    """
    folder = os.path.abspath(folder or os.path.join(_repository(), ".live", version))
    program = _in_folder(folder)
    if os.access(program, os.X_OK):
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise ClientError("npm is not on PATH; install Node.js, or name a client in HOOKROUTER_CLAUDE")
    os.makedirs(folder, exist_ok=True)
    # Both are inside: a folder's neighbours are taken for versions by those who list them.
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.access(program, os.X_OK):
            return program
        # npm puts the program in its place before it works.
        part, named = os.path.join(folder, "part"), f"{_PACKAGE}@{version}"
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        command = [npm, "install", "--prefix", part, "--no-audit", "--no-fund", "--save-exact", named]
        done = subprocess.run(command, cwd=part, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not os.access(_in_folder(part), os.X_OK):
            raise ClientError(f"npm install {named}: {done.stderr.strip() or done.stdout.strip()}")
        try:
            os.rename(os.path.join(part, "node_modules"), os.path.join(folder, "node_modules"))
        except OSError as error:
            raise ClientError(f"{folder} holds something else, remove it: {error.strerror}") from None
        shutil.rmtree(part, ignore_errors=True)
    return program


def check_client(program: str, environ: Mapping[str, str], timeout: float = 20.0) -> str:
    """Return what ``program --version`` says, which must be a version of Claude Code. Raises ClientError.

    ``environ`` is the whole environment of the call, so that it writes nothing into the user's home.
    """
    try:
        done = subprocess.run(
            [program, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClientError(f"{program} --version: {error}") from None
    said = done.stdout.strip()
    if "Claude Code" not in said:
        what = repr(said.splitlines()[0][:80]) if said else "nothing"
        raise ClientError(f"{program} is not a Claude Code client: its --version says {what}")
    return said


class ClientHome:
    """The isolated HOME and project folder of one client, seeded so that it starts without a dialog."""

    def __init__(self, folder: str) -> None:
        """Create ``home``, ``project`` and ``tmp`` below ``folder``, which must exist."""
        folder = os.path.realpath(folder)
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, "project")
        self.temporary = os.path.join(folder, "tmp")
        self.settings_file = os.path.join(self.home, ".claude", "settings.json")
        os.makedirs(os.path.dirname(self.settings_file), mode=0o700, exist_ok=True)
        os.makedirs(self.project, mode=0o700, exist_ok=True)
        os.makedirs(self.temporary, mode=0o700, exist_ok=True)
        seed = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {
                self.project: {
                    "hasTrustDialogAccepted": True,
                    "hasCompletedProjectOnboarding": True,
                    "allowedTools": [],
                }
            },
        }
        self._seed = seed
        self._logged_in = False
        self._write(os.path.join(self.home, ".claude.json"), seed)

    def log_in(self) -> None:
        """Have the client run as one that is logged in to a made-up account with a plan, in place of an API key.

        Only so it speaks of usage limits.
        """
        account = dict.fromkeys(("accountUuid", "organizationUuid"), "00000000-0000-4000-8000-000000000000")
        account["emailAddress"] = "nobody@example.org"
        token = {
            "accessToken": _LOGIN,
            "refreshToken": _LOGIN,
            "expiresAt": int((time.time() + 30 * 86400) * 1000),
            "scopes": ["user:inference", "user:profile"],
            "subscriptionType": "max",
        }
        self._logged_in = True
        self._write(os.path.join(self.home, ".claude", ".credentials.json"), {"claudeAiOauth": token})
        self._write(os.path.join(self.home, ".claude.json"), {**self._seed, "oauthAccount": account})

    def _write(self, path: str, document: Mapping[str, Any]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)
        os.chmod(path, 0o600)

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write the user's settings.json."""
        self._write(self.settings_file, settings)

    def read_settings(self) -> dict[str, Any]:
        """Return the user's settings.json; empty if there is none."""
        try:
            with open(self.settings_file, encoding="utf-8") as file:
                settings = json.load(file)
        except FileNotFoundError:
            return {}
        return settings if isinstance(settings, dict) else {}

    def accept_modes(self) -> None:
        """Have a client begin in any permission mode without first asking whether that is meant."""
        accepted = {"skipDangerousModePermissionPrompt": True, "skipAutoPermissionPrompt": True}
        self.write_settings({**self.read_settings(), **accepted})

    def add_hook(self, event: str, command: str, matcher: str | None = None) -> None:
        """Add one command hook to settings.json, as a user does by hand; ``command`` is a shell command line."""
        settings = self.read_settings()
        entry: dict[str, Any] = {"hooks": [{"type": "command", "command": command, "timeout": 30}]}
        if matcher is not None:
            entry["matcher"] = matcher
        settings.setdefault("hooks", {}).setdefault(event, []).append(entry)
        self.write_settings(settings)

    def environ(self, model: ScriptedModel) -> dict[str, str]:
        """Return the environment that the client needs, without PATH."""
        key = {} if self._logged_in else {"ANTHROPIC_API_KEY": _KEY}
        return {
            **key,
            "HOME": self.home,
            "TMPDIR": self.temporary,
            "CLAUDE_CODE_TMPDIR": self.temporary,
            "SHELL": "/bin/sh",
            "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
            # A client that runs for seconds gains nothing from this compiler, which costs a fifth of its time.
            "BUN_JSC_useDFGJIT": "0",
        }


class _Box(NamedTuple):
    text: str


def prompt_box(screen: str) -> _Box | None:
    """Return what stands in the client's prompt box, or None if no box is on screen.

    The box is a row that starts with the prompt glyph between two rules: ``❯``, on 2.0.76 ``>``.
    """
    lines = screen.splitlines()
    for number in range(len(lines) - 1, 0, -1):
        if _PROMPT.match(lines[number]) and lines[number - 1].startswith(_RULE):
            rest = [lines[number][1:]]
            for line in lines[number + 1 :]:
                if line.startswith(_RULE):
                    return _Box("\n".join(part.replace("\u00a0", " ").strip() for part in rest).strip("\n"))
                rest.append(line)
            return None
    return None


def dialog_is_open(screen: str) -> bool:
    """Whether a dialog that Esc cancels, such as a question, is on screen instead of the prompt box."""
    # A narrow pane wraps the footer.
    return prompt_box(screen) is None and "Esctocancel" in _squeezed(screen)


class _AutoModeOffer:
    """What client 2.1.330 sometimes asks at its start, if settings choose the default permission mode.

    It may come after the prompt box has been on screen for a moment.
    """

    _TITLE = "Make auto mode your default permission mode?"
    _NO = "No, keep manual mode"

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self._pressed: dict[str, float] = {}

    def decline(self, screen: str) -> None:
        """Press the next key towards "No", if the dialog is on screen; a key that showed no effect again after 1 s."""
        if self._TITLE not in screen:
            return
        on_no = any("❯" in line and self._NO in line for line in screen.splitlines())
        key = "Enter" if on_no else "Down"
        now = time.monotonic()
        if now - self._pressed.get(key, -_AGAIN_SECONDS) >= _AGAIN_SECONDS:
            self._pressed[key] = now
            self._pane.press(key)


class ClientSession:
    """One running client; use it as a context manager, in a terminal."""

    def __init__(
        self,
        command: Sequence[str],
        terminal: Terminal,
        home: ClientHome,
        environ: Mapping[str, str],
        *,
        session: str = "claude",
        width: int = 120,
        height: int = 40,
    ) -> None:
        """Describe the client: ``command`` is its argument list, ``environ`` what it gets beside PATH and the locale.

        ``session`` names its session, in a terminal that lets others name them. Anything that draws the same prompt
        box can stand in for the client.
        """
        self.home = home
        self.session = session
        self._command = list(command)
        self._terminal = terminal
        self._environ = dict(environ)
        self._size = (width, height)
        self._pane: Pane | None = None

    @property
    def pane(self) -> Pane:
        """The pane in which the client runs. Raises ClientError before it was started."""
        if self._pane is None:
            raise ClientError("the client was not started")
        return self._pane

    def __enter__(self) -> ClientSession:
        """Start the client and wait until it takes prompts."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the client."""
        self.stop()

    def start(self, timeout: float = 45.0) -> None:
        """Start the client and wait, ``timeout`` seconds at most, for its prompt box.

        Raises ClientError, at once if the client's process ends.
        """
        pane = self._open()
        shown = ""
        offer = _AutoModeOffer(pane)

        def is_up(screen: str) -> bool:
            nonlocal shown
            offer.decline(screen)
            shown = "\n".join(line for line in screen.splitlines() if line.strip()) or "nothing"
            if not _has_empty_box(screen) and pane.dead():
                raise ClientError(f"{self._command[0]} ended instead of showing a prompt; on its screen:\n{shown}")
            return _has_empty_box(screen)

        try:
            pane.wait_for(is_up, timeout)
        except WaitTimeoutError:
            fault = f"{self._command[0]} showed no prompt within {timeout:g} s; on its screen:\n{shown}"
            raise ClientError(fault) from None

    def start_into(self, text: str, timeout: float = 45.0) -> None:
        """Start the client, and wait for a dialog of its start that shows ``text``. Raises WaitTimeoutError."""
        self._open().wait_for(text, timeout)

    def _open(self) -> Pane:
        pane = self._pane = self._terminal.start(
            self.session,
            self._command,
            cwd=self.home.project,
            environ=self._environ,
            width=self._size[0],
            height=self._size[1],
        )
        self.session = pane.session or self.session
        return pane

    def stop(self) -> None:
        """End the client as a person closes its terminal. Never raises."""
        if self._pane is not None:
            with contextlib.suppress(Exception):
                self._terminal.end(self._pane)

    def screen(self) -> str:
        """Return what the client shows now."""
        return self.pane.capture()

    def submit(self, prompt: str, timeout: float = 20.0) -> None:
        """Type one line as the next prompt and see that the client took it.

        The prompt box is drawn before it takes Enter, so each step is seen done before the next. Enter is pressed
        again only if it was lost: one too many would answer the dialog that the prompt leads to.
        Raises WaitTimeoutError.
        """
        pane = self.pane
        deadline = time.monotonic() + timeout
        # An answer that was killed while it typed keeps other keys out for a few seconds more.
        wait_until(pane.takes_keys, timeout, "input of the pane", pane.state)
        offer = _AutoModeOffer(pane)

        def box_is_empty(screen: str) -> bool:
            offer.decline(screen)
            return _has_empty_box(screen)

        pane.wait_for(box_is_empty, timeout)
        pane.type(prompt)

        def typed(screen: str) -> bool:
            box = prompt_box(screen)
            return box is not None and _squeezed(prompt) in _squeezed(box.text)

        def taken(screen: str) -> bool:
            return not typed(screen)

        pane.wait_for(typed, timeout)
        while True:
            pane.press("Enter")
            try:
                pane.wait_for(taken, _ENTER_SECONDS)
            except WaitTimeoutError:
                if time.monotonic() >= deadline:
                    raise
            else:
                return
            if not self._lost_enter(prompt, timeout):
                return

    def _lost_enter(self, prompt: str, timeout: float) -> bool:
        """Whether the Enter after ``prompt`` was lost, and not only late. Raises WaitTimeoutError.

        Input is taken in order: a character that shows behind the prompt proves that the Enter before it did nothing.
        """

        def holds(screen: str, text: str) -> bool:
            box = prompt_box(screen)
            return box is not None and _squeezed(box.text).endswith(_squeezed(text))

        def enter_is_decided(screen: str) -> bool:
            return not holds(screen, prompt)

        def mark_is_gone(screen: str) -> bool:
            return not holds(screen, prompt + _MARK)

        self.pane.press(_MARK)
        screen = self.pane.wait_for(enter_is_decided, timeout)
        # Also if the Enter was taken: the mark may stand in the box for the next prompt.
        self.pane.press("BSpace")
        if not holds(screen, prompt + _MARK):
            return False
        self.pane.wait_for(mark_is_gone, timeout)
        return True

    def wait_dialog(self, text: str = "", timeout: float = 15.0) -> str:
        """Wait until a question dialog with ``text`` is on screen, and return the screen. Raises WaitTimeoutError."""

        def dialog_is_shown(screen: str) -> bool:
            return dialog_is_open(screen) and text in screen

        return self.pane.wait_for(dialog_is_shown, timeout)

    def confirm(self, timeout: float = 15.0) -> None:
        """Press Enter until the dialog that is open is gone. Raises WaitTimeoutError.

        A busy client draws a dialog some time before it takes keys, and loses those of that time. One Enter too many
        finds an empty prompt box, which does nothing with it.
        """
        pressed = -math.inf

        def is_gone(screen: str) -> bool:
            nonlocal pressed
            if not dialog_is_open(screen):
                return True
            if time.monotonic() - pressed >= _AGAIN_SECONDS:
                pressed = time.monotonic()
                self.pane.press("Enter")
            return False

        self.pane.wait_for(is_gone, timeout)

    def wait_idle(self, timeout: float = 15.0) -> str:
        """Wait until the client shows an empty prompt box and works on nothing. Raises WaitTimeoutError.

        Between a tool's result and the model's next words the client may look idle for a moment: wait for the
        result (:meth:`ScriptedModel.wait_for_result`) or the Stop event first.
        """
        offer = _AutoModeOffer(self.pane)

        def is_idle(screen: str) -> bool:
            offer.decline(screen)
            return _has_empty_box(screen) and not any(working in screen for working in _WORKING)

        return self.pane.wait_for(is_idle, timeout)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _has_empty_box(screen: str) -> bool:
    box = prompt_box(screen)
    return box is not None and (not box.text or box.text.startswith("Try "))


def read_payloads(path: str) -> list[dict[str, Any]]:
    """Return what :mod:`hookrouter._sandbox.record_hook` wrote to ``path``; empty if nothing was recorded."""
    try:
        with open(path, "rb") as file:
            # As bytes: the last line may be half written, and end within a character.
            return [json.loads(line) for line in file if line.endswith(b"\n") and line.strip()]
    except FileNotFoundError:
        return []


def wait_payload(path: str, event: str, count: int = 1, timeout: float = 10.0) -> dict[str, Any]:
    """Wait for the ``count``-th recorded payload of ``event`` and return it. Raises WaitTimeoutError."""

    def probe() -> dict[str, Any] | None:
        found = [payload for payload in read_payloads(path) if payload.get("hook_event_name") == event]
        return found[count - 1] if len(found) >= count else None

    return wait_until(probe, timeout, f"{event} payload number {count} in {path}")


def main(arguments: list[str]) -> int:
    """``install VERSION [FOLDER]``: print the installed client's path; exit 1 with a reason if it fails."""
    if len(arguments) not in (2, 3) or arguments[0] != "install":
        sys.stderr.write("usage: python -m hookrouter.testing.client install VERSION [FOLDER]\n")
        return 2
    try:
        program = install_client(*arguments[1:])
    except ClientError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{program}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
