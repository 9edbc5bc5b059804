"""Marks on disk of the plugin call that a hook process is in.

Third-party plugins that are called in the hook process itself can end it (``os._exit``, a crash in C) before it writes
a journal record. The mark that such a process leaves in ``state/running`` shows the next run which plugin it was in.
"""

from __future__ import annotations

import fcntl
import os

from hookrouter.storage.home import ensure
from hookrouter.util import fastjson

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.home import Home

__all__ = ["CrashMark", "stale_marks"]


class CrashMark:
    """A file that names the call that this process is in. Locked while the process lives, removed when it is done."""

    def __init__(self, home: Home, plugins: Mapping[str, str]) -> None:
        """Make the file; it names calls of ``plugins`` and of no other, by the names that these stand for.

        Raises OSError.
        """
        self._plugins = plugins
        folder = _marks(home)
        self._path = os.path.join(folder, f"{os.getpid()}-{os.urandom(4).hex()}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            ensure(home.state)
            ensure(folder)
            self._descriptor = os.open(self._path, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def name(self, plugin: str, hook: str) -> None:
        """Name the call that begins."""
        data = fastjson.dumps([self._plugins[plugin], hook] if plugin in self._plugins else None).encode("ascii")
        try:
            os.pwrite(self._descriptor, data, 0)
            os.ftruncate(self._descriptor, len(data))
        except OSError:
            # A plugin closed it, or the disk is full.
            return

    def remove(self) -> None:
        """Remove the file: no plugin is called any more."""
        try:
            os.unlink(self._path)
            os.close(self._descriptor)
        except OSError:
            # Another run may have taken it for one that was left, after a plugin had closed it.
            return


def stale_marks(home: Home) -> dict[str, str]:
    """Take away the marks of processes that ended in the middle; return the plugins that they were in, with the hook.

    Raises nothing: what cannot be read is left.
    """
    found: dict[str, str] = {}
    try:
        names = os.listdir(_marks(home))
    except OSError:
        return found
    for name in names:
        path = os.path.join(_marks(home), name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            said = fastjson.loads(os.read(descriptor, 4096))
            os.unlink(path)
        except BlockingIOError:
            continue
        except ValueError:
            _remove(path)
            continue
        except OSError:
            continue
        finally:
            os.close(descriptor)
        if isinstance(said, list) and len(said) == 2 and all(isinstance(part, str) for part in said):
            found[said[0]] = said[1]
    return found


def _marks(home: Home) -> str:
    return os.path.join(home.state, "running")


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
