"""Runs a client in an isolated home with a scripted model, and records what it draws, sends and offers.

Nothing of the user's is read or changed, and no network is used: the model is a server on 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import re
import string
import time
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter._sandbox.client import ClientError, check_client, dialog_is_open, prompt_box, read_payloads
from hookrouter._sandbox.processes import remove_folder
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from scripts.renew.scenes import SCENES, STARTS, TOOL_SCENES, Scene, Start, ToolScene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookrouter._sandbox.client import ClientSession
    from hookrouter._sandbox.panes import Pane

__all__ = ["Recording", "listed_events", "record"]

_STILL = 0.6
"""Seconds for which a screen must not change before it is recorded; the client ignores Enter for its first 0.3."""
_SECONDS = 10.0
_NEUTRAL = "/home/user"
"""What stands in recorded screens for the folder of the run, which has as many letters: it decides how lines wrap."""
_SHORT = "/tmp/"  # noqa: S108  tempfile's names are too long
_LISTS = re.compile(rb'\["PreToolUse"(?:,"[A-Za-z]{1,40}"){3,200}\]')


@attrs.frozen
class Recording:
    """What was seen of a client."""

    said: str
    """What ``--version`` says."""
    screens: Mapping[str, str]
    """Name of a scene -> its screen."""
    failed: Mapping[str, str]
    """Name of a scene that could not be played -> why."""
    payloads: tuple[dict[str, Any], ...]
    """What hooks were given."""
    tools: Mapping[str, Mapping[str, Any]]
    """Tool that the model was offered -> the JSON schema of its input."""
    events: tuple[str, ...]
    """The hook events that the program lists; empty if no such list was found in it."""


def listed_events(program: str) -> tuple[str, ...]:
    """Return the longest list of hook events in a client's program; empty if there is none."""
    with open(program, "rb") as file, contextlib.suppress(ValueError):
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            found = max((match[0] for match in _LISTS.finditer(text)), key=len, default=b"[]")
        return tuple(json.loads(found))
    return ()


def record(program: str, forms: Mapping[str, Mapping[str, Any]], events: tuple[str, ...]) -> Recording:
    """Run the client ``program`` and return what was seen; takes about two minutes.

    ``forms`` are the inputs of AskUserQuestion by name, ``events`` the hooks to register beside those that it lists. A
    scene that cannot be played is told in the result. Raises ClientError if the client does not run, and TmuxError
    without tmux.
    """
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PrivateTmux())
        listed = listed_events(program)
        # Of a new event, too, what it carries is seen.
        run = _Run(program, stack, server, forms, tuple(dict.fromkeys([*events, *listed])))
        said = run.version()
        for size in dict.fromkeys((scene.width, scene.height) for scene in SCENES):
            run.play([scene for scene in SCENES if (scene.width, scene.height) == size], *size)
        run.play(TOOL_SCENES)
        for start in STARTS:
            run.start(start)
        return Recording(said, run.screens, run.failed, run.payloads(), run.tools(), listed)


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """Yield a new folder whose path is as long as that of the folder in recorded screens."""
    while True:
        letters = "".join(random.choices(string.ascii_lowercase, k=len(_NEUTRAL) - len(_SHORT)))  # noqa: S311  no secret
        folder = _SHORT + letters
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            break
    try:
        yield folder
    finally:
        remove_folder(folder)


class _Run:
    """One client version at work."""

    def __init__(
        self,
        program: str,
        stack: contextlib.ExitStack,
        server: PrivateTmux,
        forms: Mapping[str, Mapping[str, Any]],
        events: tuple[str, ...],
    ) -> None:
        self.screens: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self._program = program
        self._stack = stack
        self._server = server
        self._forms = forms
        self._events = events
        self._models: list[ScriptedModel] = []
        self._stages: list[Stage] = []

    def version(self) -> str:
        """Return what the program says its version is. Raises ClientError."""
        stage, model = self._stage()
        return check_client(self._program, {**stage.environ, **stage.client_home.environ(model)})

    def _stage(self, *, asks_permission: bool = False) -> tuple[Stage, ScriptedModel]:
        """Return a fresh home with recording hooks, and a model that knows all scenes."""
        stage = Stage(self._stack.enter_context(_folder()))
        if asks_permission:
            # Else newer clients decide about permissions themselves, and ask nothing.
            stage.client_home.write_settings({"permissions": {"defaultMode": "default"}})
        stage.record(*self._events)
        script = {name: ask(form) for name, form in self._forms.items()}
        calls = {scene.name: _call(scene, stage.client_home.project) for scene in TOOL_SCENES}
        model = self._stack.enter_context(ScriptedModel({**script, **calls}))
        self._models.append(model)
        self._stages.append(stage)
        return stage, model

    def play(self, scenes: Sequence[Scene | ToolScene], width: int = 120, height: int = 40) -> None:
        """Play scenes one after the other in one client. Raises ClientError if it does not start."""
        stage, model = self._stage(asks_permission=isinstance(scenes[0], ToolScene))
        with stage.client(self._program, self._server, model, width=width, height=height) as client:
            for scene in scenes:
                # The offer of auto mode may come up at any time of a start: what it spoilt is played again.
                if not self._played(scene, stage, client):
                    self._played(scene, stage, client)

    def _played(self, scene: Scene | ToolScene, stage: Stage, client: ClientSession) -> bool:
        """Play one scene and say whether that went to its end. Raises ClientError if the client ended."""
        pane = client.pane
        self.failed.pop(scene.name, None)
        try:
            prompt = f"ASK {scene.form}" if isinstance(scene, Scene) else f"RUN {scene.name}"
            client.submit(f"please {prompt}")
            pane.wait_for(dialog_is_open, _SECONDS)
            screen = _still(pane)
            for key in scene.keys if isinstance(scene, Scene) else ():
                screen = _press(pane, key, screen)
            self.screens[scene.name] = _neutral(screen, stage)
            _leave(pane)
            client.wait_idle(_SECONDS)
        except WaitTimeoutError as error:
            self.screens.pop(scene.name, None)
            self.failed[scene.name] = str(error)
            if pane.dead():
                raise ClientError(f"{self._program} ended in {scene.name}: {error}") from None
            with contextlib.suppress(WaitTimeoutError):
                _leave(pane)
            return False
        return True

    def start(self, start: Start) -> None:
        """Start a client that must ask something first."""
        stage, model = self._stage()
        path = os.path.join(stage.client_home.home, ".claude.json")
        with open(path, encoding="utf-8") as file:
            seed = json.load(file)
        if start.forgets == "trust":
            del seed["projects"]
        else:
            del seed["customApiKeyResponses"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(seed, file)
        environ = {**stage.environ, **stage.client_home.environ(model)}
        pane = self._server.start(start.name, [self._program], cwd=stage.client_home.project, environ=environ)
        try:
            pane.wait_for(start.title, 3 * _SECONDS)
            self.screens[start.name] = _neutral(_still(pane), stage)
        except WaitTimeoutError as error:
            self.failed[start.name] = str(error)
        finally:
            self._server.end(pane)

    def payloads(self) -> tuple[dict[str, Any], ...]:
        """Return what the hooks were given."""
        return tuple(payload for stage in self._stages for payload in read_payloads(stage.payload_file))

    def tools(self) -> dict[str, Mapping[str, Any]]:
        """Return the tools that the model was offered."""
        return {
            str(tool["name"]): tool.get("input_schema") or {}
            for model in self._models
            for request in model.requests
            for tool in request.body.get("tools") or []
            if isinstance(tool, dict) and "name" in tool
        }


def _call(scene: ToolScene, project: str) -> ToolUse:
    paths = {key: os.path.join(project, value) for key, value in scene.input.items() if key == "file_path"}
    return ToolUse(scene.tool, {**scene.input, **paths})


def _still(pane: Pane, changed: Callable[[str], bool] = bool) -> str:
    """Return the screen once ``changed`` holds and it has stayed the same for a moment. Raises WaitTimeoutError."""
    last, since = "", 0.0

    def probe() -> bool:
        nonlocal last, since
        screen = pane.capture()
        if screen != last:
            last, since = screen, time.monotonic()
        return changed(screen) and time.monotonic() - since >= _STILL

    wait_until(probe, _SECONDS, "screen that stays as it is", lambda: last)
    return last


def _press(pane: Pane, key: str, before: str) -> str:
    """Press one key, which must change the screen, and return the screen after it. Raises WaitTimeoutError."""
    if key.startswith("type "):
        text = key.removeprefix("type ")
        pane.type(text)
        return _still(pane, lambda screen: screen != before and text in screen)
    pane.press(key)
    return _still(pane, lambda screen: screen != before)


def _leave(pane: Pane) -> None:
    """Press Escape until the prompt box is back; in a field of notes the first one only leaves it."""
    for _ in range(4):
        pane.press("Escape")
        with contextlib.suppress(WaitTimeoutError):
            pane.wait_for(prompt_box, 3.0)
            return
    pane.wait_for(prompt_box, _SECONDS)


def _neutral(screen: str, stage: Stage) -> str:
    return screen.replace(stage.folder, _NEUTRAL)
