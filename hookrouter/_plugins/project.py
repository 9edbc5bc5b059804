"""A project's own plugins in a hook run: those of ``.claude/hookrouter`` that a person has trusted.

``hookrouter trust`` keeps a record of a folder in the home, and a copy of all that the project's folder held. Only the
copy is imported, ever. A run finds the record by the session's folder, and looks whether the project's own files are
still those that were trusted: if not, nothing of them is loaded, neither the new nor the old, and its guards refuse.
"""

from __future__ import annotations

import os

from hookrouter._plugins.discovery import resolve_settings
from hookrouter._plugins.files import FOLDER
from hookrouter._plugins.index import NOT_INSTALLED, DiscoveredPlugin, read_scanned, status_stamp
from hookrouter.config import HOLDING, STRICT, ApprovalRule, PluginConfig, ProjectRules
from hookrouter.storage.own_file import read_own_json, write_own_json
from hookrouter.util.filenames import digest
from hookrouter.util.text import describe_error, printable
from hookrouter.util.value import NO_ITEMS, Value, decode

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._plugins.index import OwnSettings
    from hookrouter.config import Config
    from hookrouter.storage.home import Home

__all__ = [
    "MARK",
    "Project",
    "TrustRecord",
    "find_project",
    "is_project_plugin",
    "project_of",
    "read_record",
    "record_file",
    "session_folder",
    "trusted_projects",
    "with_project",
]

MARK = "the project "
"""With the project's folder behind it: the distribution of a project's plugin."""

VERSION = 1
VARIABLE = "CLAUDE_PROJECT_DIR"
"""What Claude Code tells command hooks: the folder in which the session began, whatever folder it works in now."""


class TrustRecord(Value, kw_only=True):
    """What a person has trusted of one folder."""

    version: int
    folder: str
    """The project's folder, without links."""
    tree: str
    """The SHA-256 of what was trusted; the copy has this name."""
    at: float
    """When."""
    files: tuple[tuple[str, str], ...]
    """The path of each file, and the SHA-256 of its content."""
    plugins: tuple[DiscoveredPlugin, ...]
    """The plugins as the copy had them then: what they guard is known by this while nothing may be imported."""
    tables: Mapping[str, PluginConfig] = NO_ITEMS
    """What the project's config.toml says of its plugins."""
    rules: tuple[ApprovalRule, ...] = ()
    """Its rules: each refuses, or leaves to a person."""


class Project(Value, kw_only=True):
    """A trusted folder, as it is now."""

    folder: str
    """Without links."""
    plugins: tuple[DiscoveredPlugin, ...] = ()
    """All of them broken, if something has changed."""
    tables: Mapping[str, PluginConfig] = NO_ITEMS
    rules: tuple[ApprovalRule, ...] = ()
    """As they were trusted, whatever has changed: they are no code, and only refuse."""
    problem: str = ""
    """Why no plugin of it is loaded; empty if it is as it was trusted."""
    scope: str = ""
    """What tells one state of its plugins from the next."""

    @property
    def is_unknown(self) -> bool:
        """Whether its record cannot be read, so that nobody knows what it guards."""
        return bool(self.problem) and not self.plugins and not self.rules

    def joined(
        self, index: tuple[DiscoveredPlugin, ...], config: Config
    ) -> tuple[tuple[DiscoveredPlugin, ...], Config, tuple[DiscoveredPlugin, ...]]:
        """Return the plugins and config of a home with those of the project; and the project's plugins alone.

        What the home says comes first: a project's plugin never takes the name of another, and of its table holds what
        that of the home leaves as it is by default.
        """
        taken = {plugin.name for plugin in index if plugin.error != NOT_INSTALLED}
        own, tables = [], {}
        for plugin in self.plugins:
            table = self.tables.get(plugin.name)
            if plugin.name in taken:
                error = f"there is another plugin of this name; {MARK}{printable(self.folder)} must rename its own"
                plugin = plugin._with(name=f"{plugin.name} (project)", error=error, hooks=plugin.known_hooks)
            if table is not None:
                tables[plugin.name] = _over(table, config.plugins.get(plugin.name))
            own.append(plugin)
        remembered = {plugin.name: f"{plugin.name} of {self.folder}" for plugin in own}
        config = config._with(plugins={**config.plugins, **tables}, project_plugins=remembered)
        return (*index, *own), self._with_rules(config), tuple(own)

    def _with_rules(self, config: Config) -> Config:
        """Return a config in which the project's rules hold beside those of the home."""
        if not self.rules:
            return config._with(project_rules=ProjectRules())
        placed = HOLDING in (*config.plugin_order, *config.plugin_last)
        return config._with(
            project_rules=ProjectRules(folder=self.folder, rules=self.rules),
            # As with rules of the home: it must see what the others have made of a call, and fail closed.
            plugin_last=config.plugin_last if placed else (*config.plugin_last, HOLDING),
            plugins={**config.plugins, HOLDING: config.plugin(HOLDING)._with(on_error="closed")},
        )


def _over(table: PluginConfig, home: PluginConfig | None) -> PluginConfig:
    """Return a project's table of a plugin below that of the home."""
    if home is None:
        return table
    chosen = {name: value for name, value in home._items() if value != getattr(PluginConfig, name)}
    if home.is_asked_for:
        chosen["enabled"] = True
    return table._with(**{**chosen, "settings": {**table.settings, **home.settings}})


def session_folder(environ: Mapping[str, str], cwd: object) -> str:
    """Return the folder of a session: where it began, if Claude Code says so, else where it works; empty for none.

    Without links, so that a folder is the same by whatever path it was entered.
    """
    chosen = environ.get(VARIABLE) or cwd
    if not isinstance(chosen, str) or not chosen.startswith("/"):
        return ""
    try:
        return os.path.realpath(chosen)
    except (OSError, ValueError):
        # No file has a NUL or a lone surrogate in its name, but a payload may.
        return ""


def find_project(home: Home, environ: Mapping[str, str], cwd: object) -> Project | None:
    """Return the trusted project of a session: its folder, or the nearest one above it; None if none is trusted.

    Raises OSError if that cannot be known, because no descriptor or no memory is left.
    """
    folder = session_folder(environ, cwd)
    while folder:
        path = record_file(home, folder)
        document = read_own_json(path, certain=True)
        if document or os.path.lexists(path):
            return project_of(home, folder, document)
        folder = "" if folder == "/" else os.path.dirname(folder)
    return None


def with_project(
    home: Home,
    environ: Mapping[str, str],
    cwd: object,
    index: tuple[DiscoveredPlugin, ...],
    config: Config,
    settings: dict[str, OwnSettings],
) -> tuple[tuple[DiscoveredPlugin, ...], Config, dict[str, OwnSettings], Project | None]:
    """Return the plugins, config and settings of a home with those of a session's trusted project, and the project.

    Raises OSError as :func:`find_project` does.
    """
    project = find_project(home, environ, cwd)
    if project is None:
        return index, config, settings, None
    index, config, own = project.joined(index, config)
    return index, config, {**settings, **resolve_settings(home, own, config, project.scope)}, project


def record_file(home: Home, folder: str) -> str:
    """Return the path of the record of a folder."""
    return os.path.join(home.trusted, f"{digest(folder)}.json")


def read_record(document: object, folder: str | None = None) -> TrustRecord:
    """Return the record that a document holds. Raises TypeError for what is none, or another folder's."""
    record = decode(TrustRecord, document)
    if record.version != VERSION or (folder is not None and record.folder != folder) or not _is_digest(record.tree):
        raise TypeError(f"found version {record.version} of {record.folder!r}")
    if any(rule.decide not in STRICT for rule in record.rules):
        raise TypeError("a rule of a project that allows")
    return record


def _is_digest(text: str) -> bool:
    return len(text) == 64 and frozenset("0123456789abcdef").issuperset(text)


def project_of(home: Home, folder: str, document: Mapping[str, object]) -> Project:
    """Return what the record of a folder makes of its plugins, as the folder is now. Raises OSError as above."""
    try:
        record = read_record(document, folder)
    except TypeError:
        return Project(folder=folder, problem=f"its record {record_file(home, folder)} cannot be read")
    if change := _change(home, record):
        # Claude may read this: it is not told the command that is for a person.
        but = " but its rules, as they were trusted," if record.rules else ""
        problem = f"{change}; nothing of it{but} is loaded until a person has read it and trusted it again"
        plugins = [
            # Without what could be imported, whoever tries.
            plugin._with(
                value="", hooks=plugin.known_hooks, former_hooks=(), error=problem, settings=None, waits=(), files=()
            )
            for plugin in record.plugins
        ]
    else:
        problem, plugins = "", list(_current(home, record))
    marked = tuple(plugin._with(distribution=f"{MARK}{folder}") for plugin in plugins)
    return Project(
        folder=folder,
        plugins=marked,
        tables=record.tables,
        rules=record.rules,
        problem=problem,
        scope=f"{record.tree} {folder}",
    )


def is_project_plugin(distribution: str) -> bool:
    """Whether a plugin's distribution says that it is a project's own."""
    return distribution.startswith(MARK)


def _change(home: Home, record: TrustRecord) -> str:
    """Return what has changed in a project's folder since it was trusted; empty if nothing has.

    Times, sizes and inodes are compared with those of the last look at the content.
    """
    path = os.path.join(home.cache, f"project-{digest(record.folder)}.json")
    seen = read_own_json(path, certain=True)
    stamps = seen.get("stamps")
    if seen.get("tree") == record.tree and isinstance(stamps, list) and stamps == _stamps(record.folder, stamps):
        return ""
    from hookrouter._plugins.project_tree import TreeError, read_tree

    try:
        tree = read_tree(record.folder)
    except TreeError as error:
        return str(error)
    if tree is None:
        return f"{FOLDER} is gone"
    if tree.digest != record.tree:
        from hashlib import sha256

        former, now = dict(record.files), {name: sha256(data).hexdigest() for name, data in tree.files.items()}
        changed = [name for name in sorted({*former, *now}) if former.get(name) != now.get(name)]
        return f"{', '.join(changed[:3]) or FOLDER} was changed after it was trusted"
    write_own_json(path, {"tree": tree.digest, "stamps": [list(pair) for pair in tree.stamps]})
    return ""


def _stamps(folder: str, stamps: Sequence[object]) -> list[object] | None:
    """Return the same list as it would be now; None if one is gone or the list is nonsense."""
    found: list[object] = []
    try:
        for pair in stamps:
            name = pair[0] if isinstance(pair, list) else ""
            found.append([name, status_stamp(os.lstat(os.path.join(folder, name)))])
    except (OSError, ValueError, TypeError, IndexError):
        return None
    return found


def _current(home: Home, record: TrustRecord) -> tuple[DiscoveredPlugin, ...]:
    """Return the plugins of the copy as this version, in this environment, finds them; a scan imports the copy."""
    found = read_scanned(home, record.tree)
    if found is None:
        from hookrouter._plugins.scan import scan_copy

        try:
            found = scan_copy(home, record.tree, record.plugins)
        except Exception as error:  # noqa: BLE001 - whatever keeps a process from being started must not open a guard
            problem = f"it could not be scanned: {describe_error(error)}"
            return tuple(plugin._with(hooks=plugin.known_hooks, error=problem) for plugin in record.plugins)
    return found


def trusted_projects(home: Home) -> list[tuple[str, Project]]:
    """Return all projects that are trusted, as they are now, each with its record's file. Raises OSError as above.

    One whose record cannot be read has no folder.
    """
    try:
        names = sorted(name for name in os.listdir(home.trusted) if name.endswith(".json") and name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for path in (os.path.join(home.trusted, name) for name in names):
        document = read_own_json(path, certain=True)
        folder = document.get("folder")
        if isinstance(folder, str) and record_file(home, folder) == path:
            found.append((path, project_of(home, folder, document)))
        else:
            found.append((path, Project(folder="", problem=f"the record {path} cannot be read")))
    return found
