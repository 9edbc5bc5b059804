"""Is the mod, where settings install it, current, loadable, and able to reach the router?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.checks.system import claude_version
from hookrouter._installation.mod_keys import enabled_folder
from hookrouter._installation.settings_edit import SettingsError
from hookrouter._installation.settings_file import read_text, settings_path
from hookrouter._mod.folder import ModError, mod_folder
from hookrouter._mod.setup import MINIMUM_CLIENT, missing_parts, stale_files
from hookrouter.serving import control

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._diagnostics.checks.check import Place
    from hookrouter.context import Services

__all__ = ["ModCheck"]

_FIX = "hookrouter install --front mod"
_FALLBACK = "processes handle all"


class ModCheck:
    """The mod of this home, in the user's settings or the ones that are looked at."""

    name = "mod"

    def examine(self, place: Place) -> Iterator[Finding]:
        """Look, and return what was found; nothing where no settings install it."""
        folder = _installed(place)
        if folder is None:
            return
        found = [*self._files(place.app, folder), *self._client(place.app), *self._gate(place.app)]
        yield from found or [Finding(OK, self.name, "is current, and the router takes its calls")]

    def _files(self, app: Services, folder: str) -> Iterator[Finding]:
        if folder != mod_folder(app.home):
            yield Finding(ERROR, self.name, f"the settings install the mod of another home, in {folder}", _FIX)
            return
        try:
            stale = stale_files(app)
        except ModError as error:
            yield Finding(ERROR, self.name, str(error), "hookrouter install --front native")
            return
        if stale:
            message = f"{stale[0]} is not what the plugins of now need: events of theirs are handled by processes"
            yield Finding(WARNING, self.name, message, _FIX)

    def _client(self, app: Services) -> Iterator[Finding]:
        version = claude_version(app.environ)
        if version is not None and version < MINIMUM_CLIENT:
            told, oldest = (".".join(map(str, one)) for one in (version, MINIMUM_CLIENT))
            message = f"Claude Code {told} is older than {oldest}, which mods need: {_FALLBACK}"
            yield Finding(WARNING, self.name, message, "claude update, or hookrouter install --front native")

    def _gate(self, app: Services) -> Iterator[Finding]:
        missing = list(missing_parts(app))
        for fault, fix in missing:
            yield Finding(WARNING, self.name, f"{fault}: {_FALLBACK}", fix)
        if missing:
            return
        try:
            gate = control.ask(app.home.router).get("gate")
        except control.NotServedError:
            yield Finding(WARNING, self.name, f"no router runs: {_FALLBACK}", "hookrouter serve")
            return
        if not isinstance(gate, dict) or not gate.get("mod") or not gate.get("pid"):
            ended = gate.get("ended") if isinstance(gate, dict) else ""
            message = f"the router has no gate for it{f' ({ended})' if ended else ''}: {_FALLBACK}"
            yield Finding(WARNING, self.name, message, "hookrouter serve --restart; see hookrouter serve --status")


def _installed(place: Place) -> str | None:
    """Return the folder from which the settings install the mod; None if they do not, or cannot be read."""
    try:
        path = place.settings_file or settings_path("user", place.app.environ, "")
        text = read_text(path)
        return enabled_folder(text) if text else None
    except SettingsError:
        # The check of the settings says so.
        return None
