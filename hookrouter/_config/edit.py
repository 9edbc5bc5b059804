"""Changes ``config.toml`` for a command: one key, with the rest as its author wrote it, or what a person agreed to."""

from __future__ import annotations

import codecs
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._config.cache import KIND, config_name, read_config
from hookrouter._config.reader import examine, parse
from hookrouter._config.toml_edit import TomlEditError, set_value
from hookrouter.storage.documents import replace_file
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import ensure
from hookrouter.storage.interface import StoreError
from hookrouter.util.errors import HookrouterError
from hookrouter.util.value import NO_ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookrouter.storage.home import Home

__all__ = ["ConfigChange", "ConfigEditError", "change", "content_of", "put"]

_LOCK_SECONDS = 5.0


class ConfigEditError(HookrouterError):
    """The file cannot be changed; the message names it and says why."""


class ConfigChange(NamedTuple):
    """What became of the file."""

    path: str
    changed: bool
    """False if the file says it already."""


def change(
    home: Home, path: tuple[str, ...], value: bool | list[str], tables: Mapping[str, str] = NO_ITEMS
) -> ConfigChange:
    """Set one key, making the file (0600) if there is none. The file is replaced at once or not at all.

    Raises ConfigEditError, having changed nothing, if the file cannot be read or written, is no TOML, or would have
    problems with this change too. ``tables`` holds those that plugins declare, each with the plugin's name.
    """
    with _editing(home):
        return _change(home.config_file, path, value, tables)


def content_of(home: Home) -> bytes | None:
    """Return what the file holds; None if there is none. Raises ConfigEditError if it cannot be read."""
    try:
        return read_config(home.config_file)
    except OSError as error:
        raise ConfigEditError(f"{home.config_file}: cannot be read: {error.strerror or error}") from None


def put(home: Home, before: bytes | None, after: bytes) -> None:
    """Write the file (0600) if it still holds ``before``; None is no file. It is replaced at once or not at all.

    Raises ConfigEditError, having changed nothing: also if somebody else has changed it meanwhile.
    """
    with _editing(home):
        if content_of(home) != before:
            raise ConfigEditError(f"{home.config_file}: was changed meanwhile; run the command again")
        target = os.path.realpath(home.config_file)
        ensure(os.path.dirname(target))
        replace_file(target, after, durable=True, new=before is None)


@contextmanager
def _editing(home: Home) -> Iterator[None]:
    """Keep other commands from changing the file. Raises ConfigEditError for what the system does not allow."""
    try:
        with open_store(home, lambda _text: None).lock(KIND, config_name(home), _LOCK_SECONDS):
            yield
    except StoreError as error:
        raise ConfigEditError(f"{home.config_file}: {error}") from None
    except OSError as error:
        raise ConfigEditError(f"{home.config_file}: {error.strerror or error}") from None


def _change(file: str, path: tuple[str, ...], value: bool | list[str], tables: Mapping[str, str]) -> ConfigChange:
    # A link to a file that is kept elsewhere stays one.
    target = os.path.realpath(file)
    content = read_config(file) or b""
    raw, problems = parse(content)
    if raw is None:
        raise ConfigEditError(f"{file}: {problems[0].line}; correct the file first")
    # A byte order mark, which TOML does not have, stays where it is.
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    text = content.removeprefix(mark).decode("utf-8")
    try:
        edited = set_value(text, path, value)
    except TomlEditError as error:
        raise ConfigEditError(f"{file}: cannot be changed by a program as it is written; {error}") from None
    still = examine(edited.encode(), tables)
    if still:
        more = f", and {len(still) - 1} more" if len(still) > 1 else ""
        raise ConfigEditError(f"{file}: {still[0].line}{more}; correct that first (hookrouter config check)")
    if edited == text:
        return ConfigChange(file, changed=False)
    ensure(os.path.dirname(target))
    replace_file(target, mark + edited.encode(), durable=True)
    return ConfigChange(file, changed=True)
