"""config.toml for commands of plugins: what another file would say, and what is added to the user's own."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._config import edit
from hookrouter._config.reader import decoded, survey
from hookrouter.cli.errors import CommandError
from hookrouter.storage.own_file import read_trusted
from hookrouter.util.difference import unified

if TYPE_CHECKING:
    from hookrouter.config import Config
    from hookrouter.context import Services
    from hookrouter.storage.home import Home

__all__ = ["Addition", "addition", "config_of"]


class Addition(NamedTuple):
    """What a config.toml becomes. Nothing is written yet."""

    home: Home
    before: bytes | None
    """What it holds; None if there is no such file."""
    after: bytes

    @property
    def changes(self) -> bool:
        """Whether it says anything new."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff; empty if there is none."""
        before = None if self.before is None else decoded(self.before)
        return unified(self.home.config_file, before, decoded(self.after))

    def write(self) -> None:
        """Write the file (0600), at once or not at all. Raises CommandError, also if somebody has changed it since."""
        try:
            edit.put(self.home, self.before, self.after)
        except edit.ConfigEditError as error:
            raise CommandError(str(error)) from None


def config_of(app: Services, path: str) -> Config:
    """Return what a file of the form of config.toml says. Raises CommandError, with the first thing that is wrong."""
    try:
        problems, config = survey(read_trusted(path), app.plugins.tables)
    except OSError as error:
        raise CommandError(f"{path}: cannot be read: {error.strerror or error}") from None
    if problems or config is None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise CommandError(f"{path}: {problems[0].line if problems else 'not a config'}{more}")
    return config


def addition(app: Services, text: str) -> Addition:
    """Return what the user's config.toml becomes with tables of TOML at its end; every byte of it stays.

    Raises CommandError if the file cannot be read, or has problems, or would have some.
    """
    home = app.home
    try:
        before = edit.content_of(home)
    except edit.ConfigEditError as error:
        raise CommandError(str(error)) from None
    if before is not None:
        config_of(app, home.config_file)
    mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
    kept = decoded(before or b"")
    gap = "" if not kept else "\n" if kept.endswith("\n") else "\n\n"
    after = f"{kept}{gap}{text}".encode() if text else kept.encode()
    problems = survey(after, app.plugins.tables)[0]
    if problems:
        raise CommandError(f"{home.config_file}: with the addition: {problems[0].line}; nothing was changed")
    return Addition(home, before, before if before is not None and not text else mark + after)
