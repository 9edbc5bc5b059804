"""Secrets that a gateway's table names: the table holds where they are, never what they are.

``<name>_env`` names the environment variable, or ``<name>_file`` the file, that holds a secret. Its value is in no
message of this module. A settings class declares both keys::

    token_env: VariableName = ""
    token_file: FilePath = ""
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from hookrouter._config.validation import Fault
from hookrouter._plugins.index import file_stamp
from hookrouter.messaging.fields import absolute_path, variable_name
from hookrouter.util.errors import HookrouterError

__all__ = ["SecretError", "is_named", "named_secret", "read_secret", "secret_faults", "secret_stamps"]

_SECRET_BYTES = 16 * 1024


class SecretError(HookrouterError):
    """A secret cannot be read now; the message names the key and what to do, never the value."""


def named_secret(key: str) -> tuple[str, bool]:
    """Return what a key is about without ``_env`` or ``_file`` at its end, and whether it had one."""
    for suffix in ("_env", "_file"):
        if key.endswith(suffix):
            return key.removesuffix(suffix), True
    return key, False


def is_named(settings: object, name: str) -> bool:
    """Whether ``<name>_env`` or ``<name>_file`` is set in a settings object, or a table."""
    return any(_value(settings, f"{name}{suffix}") for suffix in ("_env", "_file"))


def secret_faults(settings: object, name: str, what: str, *, required: bool = True) -> list[str]:
    """Return what is wrong with how a settings object, or a table, names a secret. Reads nothing.

    ``what`` says which secret it is.
    """
    env, file = f"{name}_env", f"{name}_file"
    if not is_named(settings, name):
        return [f"{env}: missing; {env} or {file} must name {what}"] if required else []
    if _value(settings, env) and _value(settings, file):
        return [f"{env}: found together with {file}; allowed: one of them"]
    key, rule = (env, variable_name) if _value(settings, env) else (file, absolute_path)
    try:
        # A settings class has done this already; a table in it has not.
        rule(_value(settings, key))
    except Fault as error:
        # What was found may be the secret itself.
        return [f"{key}: found a value that is not shown; allowed: {error.allowed}"]
    return []


def read_secret(settings: object, name: str, environ: Mapping[str, str]) -> str:
    """Return the secret that ``<name>_env`` or ``<name>_file`` names, without surrounding white space.

    ``settings`` is a settings object or a table. Raises SecretError if it is not there, is empty, holds anything but
    visible ASCII, or is a file that every user of the machine may read.
    """
    variable = _value(settings, f"{name}_env")
    if variable:
        key, place = f"{name}_env", variable
        if variable not in environ:
            raise SecretError(f"{key}: the environment variable {variable} is not set here")
        value = environ[variable].strip()
    else:
        key, place = f"{name}_file", os.path.expanduser(_value(settings, f"{name}_file"))
        value = _read_private(key, place)
    if not value:
        raise SecretError(f"{key}: {place} is empty")
    if not value.isascii() or not value.isprintable():
        raise SecretError(f"{key}: what {place} holds is not one line of plain ASCII")
    return value


def secret_stamps(table: Mapping[str, object], environ: Mapping[str, str]) -> list[object]:
    """Return what changes when a secret does that a table, or a table in it, names: the file's time, or the value.

    For digests alone: holds secrets.
    """
    stamps: list[object] = []
    for key, value in sorted(table.items()):
        if isinstance(value, dict):
            stamps += secret_stamps(value, environ)
        elif isinstance(value, str) and key.lower().endswith("_file"):
            stamps.append(file_stamp(os.path.expanduser(value)))
        elif isinstance(value, str) and key.lower().endswith("_env"):
            stamps.append(environ.get(value))
    return stamps


def _value(settings: object, key: str) -> str:
    value = settings.get(key) if isinstance(settings, Mapping) else getattr(settings, key, "")
    return value if isinstance(value, str) else ""


def _read_private(key: str, path: str) -> str:
    try:
        # Not blocking: a named pipe without a writer would wait for ever. An opener's descriptor is closed if it is a
        # folder's, too.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
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
