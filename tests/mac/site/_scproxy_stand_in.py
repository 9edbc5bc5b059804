"""CPython's module of the system's proxies: Apple's frameworks crash in a process that was forked from another one."""

from __future__ import annotations

import os
import signal

__all__ = ["_get_proxies", "_get_proxy_settings", "forked"]

_is_forked = False


def forked() -> None:
    """Note that this process is a forked one."""
    global _is_forked
    _is_forked = True


def _get_proxies() -> dict[str, str]:
    """Return no proxies, as a Mac without any."""
    if _is_forked:
        os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def _get_proxy_settings() -> dict[str, object]:
    """Return no settings, as a Mac without any."""
    _get_proxies()
    return {"exclude_simple": False, "exceptions": ()}
