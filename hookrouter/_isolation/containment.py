"""Puts right what a plugin leaves changed in the process that it shares with other plugins.

After each call the working folder, the environment, the file-creation mask, the signal handlers, the blocked signals
and timers, the standard streams and descriptors, ``sys.path``, the loaded modules and the warning filters are as they
were before it, but for two things that are a plugin's own business: modules that it has loaded stay, and its
``sys.path`` is put back for its next call. ``os._exit`` and its kin raise :class:`ProcessExit` where they would end
this process; a crash in C, or a signal, still does.
"""

from __future__ import annotations

import os
import sys

from hookrouter.util.time_limit import signal

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TextIO

__all__ = ["CLOSED", "WROTE", "Containment", "ProcessExit", "encoded_variables"]

CLOSED = "closed descriptors that are not its own"
"""What :meth:`Containment.leave` says of a plugin that has closed what hookrouter has open."""

WROTE = "wrote to stdout or stderr"
"""What is said of a plugin whose output is kept apart."""

_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE", "SIGALRM", "SIGCHLD", "SIGUSR1", "SIGUSR2", "SIGIO")
    if hasattr(signal, name)
)


_EXITS = ("_exit", "abort", "execv", "execve")
_exit = os._exit


class ProcessExit(BaseException):
    """A plugin wanted to end the process. Not an Exception, so that a plugin's own ``except`` does not keep it."""


class Containment:
    """The process as it is when this is made, to which :meth:`leave` brings it back."""

    def __init__(self, output: int | None = None) -> None:
        """``output`` is the descriptor of the file that stands in for stdout and stderr; it is closed with this object.

        None: stdout and stderr are left alone.
        """
        self._process = os.getpid()
        self._output = output
        self._own_output = -1 if output is None else output
        self._position = _position(output)
        self._folder = _folder()
        self._descriptor = _open_folder()
        self._environ = os.environ
        self._variables = dict(os.environ)
        self._encoded = encoded_variables()
        self._mask = os.umask(0o077)
        os.umask(self._mask)
        self._handlers = [(number, signal.getsignal(number)) for number in _SIGNALS]
        self._blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        self._streams = {name: getattr(sys, name) for name in _STREAMS}
        self._path = sys.path
        self._places = list(sys.path)
        self._own_places: dict[str, list[str]] = {}
        self._modules = sys.modules.copy()
        self._filters = _filters()
        self._depth = sys.getrecursionlimit()
        self._checks: tuple[tuple[str, Callable[[], bool]], ...] = (
            ("replaced the standard streams", self._restore_streams),
            ("changed the working folder", self._restore_folder),
            ("changed the umask", self._restore_mask),
            ("changed signal handlers, masks or timers", self._restore_signals),
            ("took away loaded modules", self._restore_modules),
            ("changed the warning filters", self._restore_filters),
            ("changed the recursion limit", self._restore_depth),
        )

        self._replaced: list[tuple[Any, str, Any]] = []
        for name in _EXITS:
            self._replace(name)

    def close(self) -> None:
        """Let functions of :mod:`os` end the process again; for one that goes on after its plugins."""
        for module, name, original in self._replaced:
            setattr(module, name, original)
        if self._descriptor is not None:
            os.close(self._descriptor)
        if self._own_output >= 0:
            os.close(self._own_output)

    def _replace(self, name: str) -> None:
        """Have a function of :mod:`os` that ends the process raise instead, unless it is called in a forked one."""
        original = getattr(os, name)

        def refused(*arguments: Any, **more: Any) -> NoReturn:
            if os.getpid() != self._process:
                original(*arguments, **more)
            raise ProcessExit(f"os.{name}() would have ended the process of the hook")

        for module in (os, sys.modules.get("posix")):
            if module is not None:
                self._replaced.append((module, name, getattr(module, name)))
                setattr(module, name, refused)

    def enter(self, plugin: str) -> None:
        """Prepare for a call of this plugin."""
        if plugin in self._own_places:
            self._path[:] = self._own_places[plugin]

    def leave(self, plugin: str) -> list[str]:
        """Put right what a call of this plugin has left, and return in words what it did; nothing if it did nothing.

        Does not return in a process that the plugin has forked.
        """
        if os.getpid() != self._process:
            _exit(0)
        if self._path is not sys.path:
            self._own_places[plugin], sys.path = list(sys.path), self._path
            self._path[:] = self._places
        elif self._path != self._places:
            self._own_places[plugin] = list(self._path)
            self._path[:] = self._places
        found = [CLOSED] if self._restore_descriptors() else []
        found += [what for what, restore in self._checks if restore()]
        if names := self._restore_variables():
            found.append(f"changed the environment ({', '.join(names)})")
        if self._has_written():
            found.append(WROTE)
        return found

    def _restore_descriptors(self) -> bool:
        """Put stdout and stderr right; return whether that cannot be done, because all descriptors were closed."""
        output = self._output
        try:
            for number in () if output is None else (1, 2):
                os.dup2(output or 0, number)
        except OSError:
            self._output = None
            return True
        return False

    def _restore_streams(self) -> bool:
        changed = False
        for name, stream in self._streams.items():
            if getattr(sys, name) is not stream:
                setattr(sys, name, stream)
                changed = True
        if self._output is None:
            return changed
        for name, number in (("stdout", 1), ("stderr", 2)):
            stream = self._streams[name]
            if stream is not None and stream.closed and self._output is not None:
                self._reopen(name, number)
                changed = True
        return changed

    def _reopen(self, name: str, number: int) -> None:
        stream: TextIO = open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        for one in (name, f"__{name}__"):
            self._streams[one] = stream
            setattr(sys, one, stream)

    def _has_written(self) -> bool:
        """Whether stdout or stderr were written to, by the plugin or by a program that it started."""
        if self._output is None:
            return False
        for name in ("stdout", "stderr"):
            stream = self._streams[name]
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                # The disk is full.
                continue
        # Everybody who writes through this descriptor moves its position, and other hook processes do not.
        former, self._position = self._position, _position(self._output)
        return self._position != former

    def _restore_folder(self) -> bool:
        if self._descriptor is None or _folder() == self._folder:
            return False
        try:
            os.fchdir(self._descriptor)
        except OSError:
            # It was closed to this user meanwhile.
            return True
        return True

    def _restore_mask(self) -> bool:
        return os.umask(self._mask) != self._mask

    def _restore_signals(self) -> bool:
        changed = False
        for number, handler in self._handlers:
            # None stands for a handler that is not Python's, which cannot be put back.
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
                changed = True
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
                changed = True
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        if blocked != self._blocked:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked)
            changed = True
        return changed

    def _restore_modules(self) -> bool:
        lost = not self._modules.items() <= sys.modules.items()
        if lost:
            sys.modules.update(self._modules)
        self._modules = sys.modules.copy()
        return lost

    def _restore_filters(self) -> bool:
        if _filters() == self._filters:
            return False
        import warnings

        warnings.resetwarnings()
        warnings.filters.extend(self._filters)  # type: ignore[attr-defined]
        return True

    def _restore_depth(self) -> bool:
        if sys.getrecursionlimit() == self._depth:
            return False
        sys.setrecursionlimit(self._depth)
        return True

    def _restore_variables(self) -> list[str]:
        """Put the environment right, and return the names that were changed."""
        if os.environ is not self._environ:
            os.environ = self._environ  # noqa: B003 - a plugin has put something else there
        if self._encoded is not None and encoded_variables() == self._encoded:
            return []
        now = dict(os.environ)
        if now == self._variables:
            return []
        names = sorted(name for name in {**now, **self._variables} if now.get(name) != self._variables.get(name))
        for name in names:
            if name in self._variables:
                os.environ[name] = self._variables[name]
            else:
                del os.environ[name]
        return names


_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")


def encoded_variables() -> dict[bytes, bytes] | None:
    """Return a copy of what :data:`os.environ` keeps; None if it keeps it in another way: decoding takes longer."""
    kept = getattr(os.environ, "_data", None)
    return dict(kept) if isinstance(kept, dict) else None


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _open_folder() -> int | None:
    try:
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None


def _position(descriptor: int | None) -> int:
    try:
        return -1 if descriptor is None else os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return -1


def _filters() -> list[object]:
    # There before the module warnings is loaded, which takes it over.
    import _warnings

    return list[object](_warnings.filters)
