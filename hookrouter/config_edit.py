"""Changes one key of ``config.toml`` for a command, and leaves the rest of the file as its author wrote it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.config import cache_name
from hookrouter.config_reader import examine, parse
from hookrouter.home import ensure
from hookrouter.store import Store, StoreError, replace_file
from hookrouter.toml_edit import TomlEditError, set_value

if TYPE_CHECKING:
    from hookrouter.home import Home

__all__ = ["ConfigChange", "ConfigEditError", "change"]

_LOCK_SECONDS = 5.0


class ConfigEditError(Exception):
    """The file cannot be changed; the message names it and says why."""


class ConfigChange(NamedTuple):
    """What became of the file."""

    path: str
    changed: bool
    """False where the file says it already."""


def change(home: Home, path: tuple[str, ...], value: bool | list[str]) -> ConfigChange:
    """Set one key, making the file (0600) where there is none. The file is replaced at once or not at all.

    Raises ConfigEditError, having changed nothing, where the file cannot be read or written, is no TOML, or would have
    problems with this change too.
    """
    file = home.config_file
    try:
        with Store(home.state, lambda _text: None).lock("config", cache_name(home), _LOCK_SECONDS):
            return _change(file, path, value)
    except StoreError as error:
        raise ConfigEditError(f"{file}: {error}") from None
    except OSError as error:
        raise ConfigEditError(f"{file}: {error.strerror or error}") from None


def _change(file: str, path: tuple[str, ...], value: bool | list[str]) -> ConfigChange:
    # A link to a file that is kept elsewhere stays one.
    target = os.path.realpath(file)
    content = _content(target)
    raw, problems = parse(content)
    if raw is None:
        raise ConfigEditError(f"{file}: {problems[0].line}; correct the file first")
    text = content.decode("utf-8")
    try:
        edited = set_value(text, path, value)
    except TomlEditError as error:
        raise ConfigEditError(f"{file}: cannot be changed by a program as it is written; {error}") from None
    still = examine(edited.encode())
    if still:
        more = f", and {len(still) - 1} more" if len(still) > 1 else ""
        raise ConfigEditError(f"{file}: {still[0].line}{more}; correct that first (hookrouter config check)")
    if edited == text:
        return ConfigChange(file, changed=False)
    ensure(os.path.dirname(target))
    replace_file(target, edited.encode(), durable=True)
    return ConfigChange(file, changed=True)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""
