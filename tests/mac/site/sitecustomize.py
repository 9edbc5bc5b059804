"""Gives every Python that HOOKROUTER_TEST_MAC leads here what macOS gives it, as far as that is known.

What macOS lacks is taken away, what it does otherwise is done otherwise. ``/proc`` is hidden from the product alone:
tests look there for what a process does. The sources are XNU's, CPython's and the manual pages of macOS.
"""

from __future__ import annotations

import _signal
import builtins
import fcntl
import os
import select
import signal
import struct
import sys
import time
from typing import Any

import _scproxy_stand_in

# What sysconfig reads is named after the platform.
os.environ.setdefault(
    "_PYTHON_SYSCONFIGDATA_NAME",
    f"_sysconfigdata_{sys.abiflags}_{sys.platform}_{getattr(sys.implementation, '_multiarch', '')}",
)
sys.platform = "darwin"
for _name in [name for name in dir(select) if name.lower().startswith("epoll")]:
    delattr(select, _name)

# It takes the way to wait that it finds.
import socket  # noqa: E402

sys.modules["_scproxy"] = _scproxy_stand_in

_LACKS: tuple[tuple[Any, str], ...] = (
    (
        os,
        (
            "memfd_create pidfd_open eventfd eventfd_read eventfd_write waitid waitid_result pipe2 sched_getaffinity "
            "sched_setaffinity getrandom copy_file_range splice setxattr getxattr listxattr removexattr posix_fadvise "
            "posix_fallocate getresuid getresgid O_PATH O_TMPFILE O_DIRECT O_LARGEFILE EFD_NONBLOCK EFD_CLOEXEC "
            "MFD_CLOEXEC P_PIDFD"
        ),
    ),
    (socket, "SO_PEERCRED SO_PASSCRED SOCK_CLOEXEC SOCK_NONBLOCK AF_NETLINK AF_PACKET"),
    (
        signal,
        "sigwaitinfo sigtimedwait pidfd_send_signal SIGPOLL SIGPWR SIGRTMIN SIGRTMAX SIGSTKFLT",
    ),
    (fcntl, "F_NOTIFY F_SETSIG F_GETSIG F_SETPIPE_SZ F_GETPIPE_SZ F_OFD_SETLK F_OFD_SETLKW F_OFD_GETLK"),
    (time, "CLOCK_BOOTTIME"),
)
"""Modules, and the names of theirs that Python does not have on macOS (before 3.13: of waitid)."""

for _module, _names in _LACKS:
    for _name in _names.split():
        if hasattr(_module, _name):
            delattr(_module, _name)

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PRODUCT = tuple(os.path.join(_ROOT, name) + os.sep for name in ("hookrouter", "plugins", "examples"))


def _is_hidden(path: object) -> bool:
    """Whether the product asks for a file of /proc."""
    if not isinstance(path, str | bytes) or not os.fsdecode(path).startswith("/proc"):
        return False
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen"):
        # Of os.path, say.
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_PRODUCT)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and _is_hidden(arguments[0]):
        raise FileNotFoundError(2, os.strerror(2), arguments[0])


sys.addaudithook(_audit)


def _without_proc(function: Any) -> Any:
    def asked(path: Any, *more: Any, **options: Any) -> Any:
        if _is_hidden(path):
            raise FileNotFoundError(2, os.strerror(2), path)
        return function(path, *more, **options)

    return asked


for _name in ("readlink", "stat", "lstat"):
    _real = getattr(os, _name)
    _asked = _without_proc(_real)
    setattr(os, _name, _asked)
    for _able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if _real in _able:
            _able.add(_asked)

_poll = select.poll


class _Poll:
    """poll, which asks XNU's kqueue: a descriptor of which nothing is asked is not looked at, not even for its end."""

    def __init__(self) -> None:
        self._poll = _poll()

    def register(self, descriptor: Any, events: int = select.POLLIN | select.POLLPRI | select.POLLOUT) -> None:
        if events:
            self._poll.register(descriptor, events)

    def modify(self, descriptor: Any, events: int) -> None:
        if events:
            self._poll.modify(descriptor, events)
        else:
            self._poll.unregister(descriptor)

    def unregister(self, descriptor: Any) -> None:
        self._poll.unregister(descriptor)

    def poll(self, *timeout: Any) -> list[tuple[int, int]]:
        return self._poll.poll(*timeout)


select.poll = _Poll  # type: ignore[assignment,misc]


_set_handler = _signal.signal


def _discarding(number: int, handler: Any) -> Any:
    if number == _signal.SIGIO and handler == _signal.SIG_DFL:
        # sigprop[SIGIO] is SA_IGNORE there.
        handler = _signal.SIG_IGN
    return _set_handler(number, handler)


# The module signal calls it too.
_signal.signal = _discarding  # type: ignore[assignment]
_discarding(_signal.SIGIO, _signal.SIG_DFL)

_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED = 0, 1, struct.Struct("=IIhxx16I")
_PEERCRED = 17
_getsockopt = socket.socket.getsockopt


def _peer(self: socket.socket, level: int, name: int, *size: int) -> Any:
    if (level, name) == (_SOL_LOCAL, _LOCAL_PEERCRED):
        user = struct.unpack("3i", _getsockopt(self, socket.SOL_SOCKET, _PEERCRED, 12))[1]
        return _XUCRED.pack(0, user, 1, *[0] * 16)
    return _getsockopt(self, level, name, *size)


socket.socket.getsockopt = _peer  # type: ignore[method-assign,assignment]

_listdir, _fork = os.listdir, os.fork


def _warning_fork() -> int:
    """fork of CPython 3.12 and later, which Mac users have: it warns in a process that has threads."""
    pid = _fork()
    if pid and len(_listdir("/proc/self/task")) > 1:
        import warnings

        warnings.warn(
            "This process is multi-threaded, use of fork() may lead to deadlocks in the child.",
            DeprecationWarning,
            stacklevel=2,
        )
    return pid


os.fork = _warning_fork


def _with_site(environ: Any) -> dict[str, str]:
    """Return a program's environment in which a Python finds this module, whatever a test has made of it."""
    given = dict(os.environ if environ is None else environ)
    return {**given, **{name: os.environ[name] for name in ("HOOKROUTER_TEST_MAC", "LD_PRELOAD") if name in os.environ}}


def _patch(module: Any) -> None:
    popen = module.Popen.__init__

    def begin(self: Any, args: Any, *more: Any, env: Any = None, **options: Any) -> None:
        popen(self, args, *more, env=_with_site(env), **options)

    module.Popen.__init__ = begin


_import = builtins.__import__


def _importing(name: str, *more: Any, **options: Any) -> Any:
    """Patch subprocess when it is first imported: to import it here would make every hook run's modules others."""
    is_new = name == "subprocess" and name not in sys.modules
    module = _import(name, *more, **options)
    if is_new:
        _patch(sys.modules[name])
    return module


builtins.__import__ = _importing
os.register_at_fork(after_in_child=_scproxy_stand_in.forked)
