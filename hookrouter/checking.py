"""Checks that gateways share: what is wrong with a ``[gateways.NAME]`` table, and the secrets that it names.

A fault is one line: the key, what was found, what is allowed. A secret never stands in the table: ``<name>_env`` names
the environment variable, or ``<name>_file`` the file, that holds it. Its value is in no message of this module.
"""

from __future__ import annotations

import os
import stat
from difflib import get_close_matches
from typing import TYPE_CHECKING

from hookrouter.discovery import file_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "SecretError",
    "choice_faults",
    "flag_faults",
    "folder_path",
    "named_secret",
    "path_faults",
    "read_secret",
    "seconds_faults",
    "secret_faults",
    "secret_stamps",
    "text_faults",
    "unknown_keys",
]

LONGEST_TIMEOUT = 86_400
"""The longest ``timeout`` in seconds: a day."""

_SECRET_BYTES = 16 * 1024


class SecretError(Exception):
    """A secret cannot be read now; the message names the key and what to do, never the value."""


def unknown_keys(settings: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return one fault for each key that is not ``known``, with the key that was probably meant."""
    names = list(known)
    faults = []
    for key in settings:
        if key not in names:
            close = get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
            faults.append(f"{key}: unknown key; {hint}")
    return faults


def text_faults(settings: Mapping[str, object], key: str, what: str, *, required: bool = False) -> list[str]:
    """Return what is wrong with a one-line text that is not empty; ``what`` says what it is for."""
    if key not in settings:
        return [f"{key}: missing; {what} is needed"] if required else []
    value = settings[key]
    if isinstance(value, str) and value.strip() and value.isprintable():
        return []
    return [f"{key}: found {value!r}, allowed is {what}"]


def choice_faults(settings: Mapping[str, object], key: str, allowed: Iterable[str]) -> list[str]:
    """Return what is wrong with a key whose value is one of a few words."""
    words = list(allowed)
    if key not in settings or settings[key] in words:
        return []
    *first, last = map(repr, words)
    return [f"{key}: found {settings[key]!r}, allowed are {', '.join(first)} and {last}"]


def flag_faults(settings: Mapping[str, object], key: str) -> list[str]:
    """Return what is wrong with a key that is true or false."""
    if isinstance(settings.get(key, False), bool):
        return []
    return [f"{key}: found {settings[key]!r}, allowed are true and false"]


def seconds_faults(
    settings: Mapping[str, object], key: str, *, above: float = 0, most: float = LONGEST_TIMEOUT, why: str = ""
) -> list[str]:
    """Return what is wrong with a number of seconds; ``why`` follows the limits in the fault."""
    value = settings.get(key, most)
    if isinstance(value, int | float) and not isinstance(value, bool) and above < value <= most:
        return []
    return [f"{key}: found {value!r}, allowed are seconds above {above:g} and up to {most:g}{why}"]


def path_faults(settings: Mapping[str, object], key: str) -> list[str]:
    """Return what is wrong with an absolute path, which may begin with ``~``."""
    if key not in settings:
        return []
    value = settings[key]
    if isinstance(value, str) and "\0" not in value and os.path.isabs(os.path.expanduser(value)):
        return []
    return [f"{key}: found {value!r}, allowed is an absolute path, or one that begins with ~"]


def folder_path(settings: Mapping[str, object], key: str) -> str:
    """Return an absolute path that was checked, with the user's home put in."""
    return os.path.expanduser(str(settings[key]))


def named_secret(key: str) -> tuple[str, bool]:
    """Return what a key is about without ``_env`` or ``_file`` at its end, and whether it had one."""
    for suffix in ("_env", "_file"):
        if key.endswith(suffix):
            return key.removesuffix(suffix), True
    return key, False


def secret_faults(settings: Mapping[str, object], name: str, what: str, *, required: bool = True) -> list[str]:
    """Return what is wrong with how a table names a secret; ``what`` says which secret it is. Reads nothing."""
    keys = [f"{name}_env", f"{name}_file"]
    found = [key for key in keys if key in settings]
    if not found:
        return [f"{keys[0]}: missing; {keys[0]} or {keys[1]} must name {what}"] if required else []
    if len(found) == 2:
        return [f"{keys[0]}: found together with {keys[1]}, allowed is one of them"]
    if found == [keys[1]]:
        return path_faults(settings, keys[1])
    value = settings[keys[0]]
    if isinstance(value, str) and value and "=" not in value and value.isprintable():
        return []
    return [f"{keys[0]}: found {value!r}, allowed is the name of an environment variable"]


def read_secret(settings: Mapping[str, object], name: str, environ: Mapping[str, str]) -> str:
    """Return the secret that ``<name>_env`` or ``<name>_file`` names, without surrounding white space.

    Raises SecretError where it is not there, is empty, holds anything but visible ASCII, or is a file that every user
    of the machine may read.
    """
    if f"{name}_env" in settings:
        key, variable = f"{name}_env", str(settings[f"{name}_env"])
        if variable not in environ:
            raise SecretError(f"{key}: the environment variable {variable} is not set here")
        value = environ[variable].strip()
    else:
        key = f"{name}_file"
        value = _read_private(key, folder_path(settings, key))
    if not value:
        raise SecretError(f"{key}: {settings[key]} is empty")
    if not value.isascii() or not value.isprintable():
        raise SecretError(f"{key}: what {settings[key]} holds is not one line of plain ASCII")
    return value


def secret_stamps(settings: Mapping[str, object], environ: Mapping[str, str]) -> list[object]:
    """Return what changes when a secret does that a table, or a table in it, names: the file's time, or the value.

    For digests alone: holds secrets.
    """
    stamps: list[object] = []
    for key, value in sorted(settings.items()):
        if isinstance(value, dict):
            stamps += secret_stamps(value, environ)
        elif isinstance(value, str) and key.lower().endswith("_file"):
            stamps.append(file_stamp(os.path.expanduser(value)))
        elif isinstance(value, str) and key.lower().endswith("_env"):
            stamps.append(environ.get(value))
    return stamps


def _read_private(key: str, path: str) -> str:
    try:
        # Not blocking: a named pipe without a writer would wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SecretError(f"{key}: {path} is not a file")
            if status.st_mode & stat.S_IROTH:
                raise SecretError(f"{key}: every user of this machine may read {path}; run: chmod 600 {path}")
            data = file.read(_SECRET_BYTES + 1)
    except OSError as error:
        raise SecretError(f"{key}: {path} cannot be read: {error.strerror or error}") from None
    if len(data) > _SECRET_BYTES:
        raise SecretError(f"{key}: {path} is larger than {_SECRET_BYTES} bytes")
    return data.decode("utf-8", "replace").strip()
