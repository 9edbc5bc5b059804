"""Where hookrouter keeps its things."""

from __future__ import annotations

import errno
import os
import stat
import sys

from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HOME_VARIABLE", "Home", "ensure"]

HOME_VARIABLE = "HOOKROUTER_HOME"
"""The environment variable that puts everything in one folder."""


class Home(Value):
    """The absolute paths of one hookrouter home. Nothing of it needs to exist."""

    __slots__ = ("cache", "config_file", "logs", "prompts", "state")

    config_file: str
    """``config.toml``."""
    state: str
    """The folder of documents and of the outbox."""
    logs: str
    """The folder of the journal."""
    cache: str
    """The folder of what can be rebuilt at any time."""
    prompts: str
    """The folder of the user's own prompts, which override the shipped ones."""

    def __init__(self, config_file: str, state: str, logs: str, cache: str, prompts: str) -> None:
        """Take the paths as they are."""
        self._set(config_file=config_file, state=state, logs=logs, cache=cache, prompts=prompts)

    @classmethod
    def in_folder(cls, folder: str) -> Home:
        """Return the home that has everything in one folder."""
        join = os.path.join
        return cls(
            config_file=join(folder, "config.toml"),
            state=join(folder, "state"),
            logs=join(folder, "logs"),
            cache=join(folder, "cache"),
            prompts=join(folder, "prompts"),
        )

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], platform: str = sys.platform) -> Home:
        """Return the home that an environment names.

        ``HOOKROUTER_HOME`` puts everything in one folder; else it is the user's platform directories: the XDG ones
        (relative values are ignored, as their specification says), on macOS (``platform`` "darwin") those below
        ``~/Library``.
        """
        user = environ.get("HOME") or os.path.expanduser("~")
        chosen = environ.get(HOME_VARIABLE)
        if chosen:
            if chosen == "~" or chosen.startswith("~/"):
                chosen = user + chosen[1:]
            return cls.in_folder(os.path.abspath(chosen))
        join = os.path.join
        if platform == "darwin":
            library = join(user, "Library")
            support = join(library, "Application Support", "hookrouter")
            return cls(
                config_file=join(support, "config.toml"),
                state=join(support, "state"),
                logs=join(library, "Logs", "hookrouter"),
                cache=join(library, "Caches", "hookrouter"),
                prompts=join(support, "prompts"),
            )

        def xdg(variable: str, default: str) -> str:
            value = environ.get(variable, "")
            return join(value if value.startswith("/") else join(user, default), "hookrouter")

        config, state = xdg("XDG_CONFIG_HOME", ".config"), xdg("XDG_STATE_HOME", ".local/state")
        return cls(
            config_file=join(config, "config.toml"),
            state=join(state, "state"),
            logs=join(state, "logs"),
            cache=xdg("XDG_CACHE_HOME", ".cache"),
            prompts=join(config, "prompts"),
        )


def ensure(folder: str) -> None:
    """Make one of hookrouter's folders, and those above it that are missing, readable by the user alone (0700).

    A folder that is there and open to others is closed to them. Raises OSError where it cannot be made.
    """
    if _make(folder):
        return
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    if status.st_mode & 0o077 and status.st_uid == os.getuid():
        os.chmod(folder, status.st_mode & 0o700)


def _make(folder: str) -> bool:
    """Make a folder and its parents; return whether it was missing."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return False
    except FileNotFoundError:
        parent = os.path.dirname(folder)
        # Another process may make the same folders at this moment; a dangling link is there and is no folder.
        if parent in ("", folder) or not (_make(parent) or os.path.isdir(parent)):
            raise
        return _make(folder)
    return True
