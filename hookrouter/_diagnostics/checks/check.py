"""What every check of ``hookrouter doctor`` is, gets and returns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hookrouter._diagnostics import configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.configuration import Located
    from hookrouter.context import Services

__all__ = ["ERROR", "OK", "WARNING", "Check", "Finding", "Place"]

OK = "ok"
WARNING = "warning"
ERROR = "error"


class Finding(NamedTuple):
    """One result of one check."""

    level: str
    """``ok``, ``warning`` or ``error``."""
    check: str
    """What was looked at: one word or two."""
    message: str
    fix: str = ""
    """What to do; empty for ``ok``."""


class Place:
    """What is checked: an installation, as it is seen from one folder."""

    def __init__(self, app: Services, settings_file: str | None, folder: str | None) -> None:
        """Take the services of the home that is checked.

        ``settings_file`` is the settings file that should register hookrouter; None for whichever of the user's, the
        project's and the local one of ``folder`` does. ``folder`` is None if the working folder does not exist.
        """
        self.app = app
        self.settings_file = settings_file
        self.folder = folder

    @cached_property
    def config_problems(self) -> tuple[Located, ...]:
        """All that ``hookrouter config check`` finds. Raises ConfigError for a file that cannot be read."""
        return tuple(configuration.check(self.app))

    def problems(self, check: str, *tables: str) -> Iterator[Finding]:
        """Return what ``hookrouter config check`` finds in some tables of config.toml, as findings of one check."""
        if self.app.config.problems:
            # Of a file with problems nothing is used, and the check of the file itself says what they are.
            return
        path = self.app.home.config_file
        for located in self.config_problems:
            key = located.problem.key
            if key.partition(".")[0].partition("[")[0] in tables:
                place = path if located.line is None else f"{path}:{located.line}"
                level = ERROR if located.level == "error" else WARNING
                yield Finding(level, check, located.problem.line, f"correct {key} in {place}, or provide what it names")


class Check(Protocol):
    """One subject that doctor looks at."""

    @property
    def name(self) -> str:
        """What a person is told while it runs, and the ``check`` of its findings unless they say otherwise."""

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found. Changes nothing; what it raises becomes a finding."""
