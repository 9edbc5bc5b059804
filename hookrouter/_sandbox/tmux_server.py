"""A private tmux server for tests and the demo: no user configuration, no user environment, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import uuid
from typing import TYPE_CHECKING

from hookrouter._sandbox.panes import Pane
from hookrouter._sandbox.processes import RUN_MARK, family, reap
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PrivateTmux", "TmuxError", "TmuxPane", "find_tmux"]

_CONFIG = """\
set -g status off
set -g remain-on-exit on
set -g history-limit 2000
set -g default-terminal tmux-256color
set -g default-shell /bin/sh
"""

_ENDING = "server exited unexpectedly"
_LONGEST_BASE = 70


class TmuxError(HookrouterError):
    """The tmux program refused a command; the message holds the command and what tmux said."""


def find_tmux() -> str | None:
    """Return the path of the tmux program on PATH, or None."""
    return shutil.which("tmux")


class TmuxPane(Pane):
    """One pane of a private tmux server."""

    def __init__(self, server: PrivateTmux, target: str) -> None:
        """Wrap the pane with the id ``target``, for example ``%0``."""
        self.server = server
        self.target = target

    def capture(self) -> str:
        """Return the visible rows, without trailing blanks."""
        return self.server.run("capture-pane", "-p", "-t", self.target)

    def state(self) -> str:
        """Return what else decides what becomes of a key: size, whether input is off, whether tmux is in a mode."""
        shown = "#{pane_width}x#{pane_height} input_off=#{pane_input_off} mode=#{pane_mode} dead=#{pane_dead}"
        return self.server.run("display-message", "-p", "-t", self.target, shown).strip()

    def takes_keys(self) -> bool:
        """Whether keys reach the pane's program; while ``hookrouter answer`` types, no others do."""
        return "input_off=0" in self.state()

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names, one per call to tmux."""
        for key in keys:
            self.server.run("send-keys", "-t", self.target, key)

    def type(self, text: str) -> None:
        """Type text literally, without Enter."""
        self.server.run("send-keys", "-t", self.target, "-l", "--", text)

    def dead(self) -> bool:
        """Whether the pane's program has ended, or the pane is gone."""
        try:
            return self.server.run("display-message", "-p", "-t", self.target, "#{pane_dead}").strip() != "0"
        except TmuxError:
            return True


class PrivateTmux:
    """A tmux server on a socket of its own, in a folder of its own; use it as a context manager.

    Programs run in it see only ``environ`` (default: PATH and a UTF-8 locale) and what :meth:`start` adds.
    Leaving the context ends every process that was started in it, also those that left their pane.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Prepare the server; it runs once the first session is started. Raises TmuxError without a tmux program."""
        program = find_tmux()
        if program is None:
            raise TmuxError("tmux is not on PATH; install tmux (https://github.com/tmux/tmux)")
        self._program = program
        # The path of a socket holds about 100 bytes, less than the temporary folder of some systems.
        parent = "/tmp" if len(os.fsencode(tempfile.gettempdir())) > _LONGEST_BASE else None  # noqa: S108
        self.folder = tempfile.mkdtemp(prefix="hookrouter-tmux-", dir=parent)
        self.socket = os.path.join(self.folder, "socket")
        self.mark = f"{RUN_MARK}={uuid.uuid4().hex}"
        base = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        self._environ = {**base, **(environ or {}), "TERM": "xterm-256color"}
        name, _, value = self.mark.partition("=")
        self._environ[name] = value
        self._config = os.path.join(self.folder, "tmux.conf")
        with open(self._config, "w", encoding="utf-8") as file:
            file.write(_CONFIG)

    def __enter__(self) -> PrivateTmux:
        """Return the server itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server, see :meth:`stop`."""
        self.stop()

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Run one tmux command on this server and return its output. Raises TmuxError."""
        command = [self._program, "-S", self.socket, "-f", self._config, *arguments]
        try:
            done = subprocess.run(
                command, env=self._environ, input=stdin, capture_output=True, text=True, timeout=20, check=False
            )
        except subprocess.TimeoutExpired:
            raise TmuxError(f"tmux {' '.join(arguments[:2])}: no answer in 20 s") from None
        if done.returncode != 0:
            raise TmuxError(f"tmux {' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def start(
        self,
        session: str,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        environ: Mapping[str, str] | None = None,
        width: int = 120,
        height: int = 40,
    ) -> TmuxPane:
        """Start ``command`` (an argument list) in a new session and return its pane.

        ``environ`` is added to the server's own. A program that ends leaves its last screen in the pane.
        Raises TmuxError.
        """
        arguments = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", session, "-x", str(width), "-y", str(height)]
        arguments += ["-c", cwd or self.folder]
        for name, value in (environ or {}).items():
            arguments += ["-e", f"{name}={value}"]
        # tmux hands a single word to a shell; two or more it runs as they are.
        words = list(command) if len(command) > 1 else ["env", *command]
        try:
            return TmuxPane(self, self.run(*arguments, "--", *words).strip())
        except TmuxError as error:
            if _ENDING not in str(error):
                raise
            # The server was just ending because its last session had; the next command starts another.
            return TmuxPane(self, self.run(*arguments, "--", *words).strip())

    def end(self, pane: Pane) -> None:
        """End the session of a pane as a person closes its terminal. Raises nothing for one that is gone."""
        if isinstance(pane, TmuxPane):
            with contextlib.suppress(TmuxError):
                self.run("kill-session", "-t", pane.target)

    def pane_environ(self, pane: TmuxPane) -> dict[str, str]:
        """Return the variables that tmux gives to programs in ``pane``: what a process needs to be taken for one."""
        pid = self.run("display-message", "-p", "-t", pane.target, "#{pid},#{session_id}").strip()
        server, _, session = pid.partition(",")
        return {"TMUX": f"{self.socket},{server},{session.lstrip('$')}", "TMUX_PANE": pane.target}

    def stop(self) -> None:
        """End the server and every process of it, and remove its folder. Never raises; may be called twice."""
        roots: list[int] = []
        if os.path.exists(self.socket):
            with contextlib.suppress(TmuxError, ValueError):
                roots = [int(pid) for pid in self.run("list-panes", "-a", "-F", "#{pane_pid}").split()]
            members = family(roots, self.mark)
            with contextlib.suppress(TmuxError):
                self.run("kill-server")
            reap(members, self.mark)
        else:
            reap((), self.mark, grace=0)
        shutil.rmtree(self.folder, ignore_errors=True)
