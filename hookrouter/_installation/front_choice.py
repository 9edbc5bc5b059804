"""Which front a settings file has, and which one an install gives it."""

from __future__ import annotations

from hookrouter._installation.command_line import parse_command
from hookrouter._installation.front_command import Front, default_front, native_fault
from hookrouter._installation.mod_keys import enabled_folder
from hookrouter._installation.settings_edit import SettingsError, registered

__all__ = ["chosen_front", "current_front", "entries_front", "registered_front"]


def registered_front(text: str | None) -> Front | None:
    """Return the front that a settings text (None: no file) registers; None if there is none.

    Raises SettingsError for a text that cannot be used.
    """
    if text is not None and registered(text) and enabled_folder(text) is not None:
        return Front.MOD
    return entries_front(text)


def entries_front(text: str | None) -> Front | None:
    """Return the front that the entries of a settings text (None: no file) have; None if they have none.

    Raises SettingsError for a text that cannot be used.
    """
    entries = [] if text is None else registered(text)
    if any(entry.is_http for entry in entries):
        return Front.HTTP
    for entry in entries:
        command = parse_command(entry.command)
        if command is not None and command.front is not None:
            return command.front.front
    return None


def current_front(text: str | None) -> Front:
    """Return the front with which the entries of a settings text are up to date. Raises SettingsError."""
    return _usable(registered_front(text)) or (Front.COLD if text is not None and registered(text) else default_front())


def chosen_front(text: str | None, asked: Front | None) -> Front:
    """Return the front that an install registers: the one asked for, else the one that is there and works.

    Entries without a front, as installs of before wrote them, get the fastest one. Raises SettingsError.
    """
    if asked is Front.NATIVE and (fault := native_fault()):
        fix = "reinstall hookrouter where a C compiler is, or use --front python"
        raise SettingsError(f"the native front cannot be used: {fault}; {fix}")
    return asked or _usable(registered_front(text)) or default_front()


def _usable(front: Front | None) -> Front | None:
    return None if front is Front.NATIVE and native_fault() else front
