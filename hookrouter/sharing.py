"""How machines share an engine of documents: what a plugin brings for it, and what it finds.

Hooks know nothing of other machines: what they ask and write is in files, so a database that is away, slow or full
costs them nothing. A plugin contributes a :class:`Sharing` by the hook ``machines``
(:class:`hookrouter.hookspecs.StorageSpecs`). A process of its own brings what changes in the files to the engine of
``[storage]``: ``hookrouter storage --share``, which hooks and commands start, and the resident router to stay.

Every hook run of a machine that shares asks for that process, so this module imports next to nothing.
"""

from __future__ import annotations

from hookrouter.storage.engine import open_store
from hookrouter.storage.interface import StoreError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter._plugins.registry import Plugins
    from hookrouter.config import StorageConfig
    from hookrouter.context import Services
    from hookrouter.machines import Machines
    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import Storage

__all__ = [
    "HOOK",
    "STAY",
    "WORDS",
    "Sharing",
    "machine_name",
    "machines_of",
    "open_engine",
    "process_lock",
    "sharing",
    "start_sharing",
]

HOOK = "machines"
"""The hook by which a plugin contributes it."""

WORDS = ("storage", "--share")
"""How the command line of the process begins."""

STAY = "--stay"
"""The word behind them by which the process stays while there is nothing to bring."""

_LOG = "fleet.log"
"""The file in ``logs/`` that gets what it writes to stderr."""


class Sharing:
    """How this machine and others know of each other. A base class; all of it is needed."""

    name: str = ""
    """What it is called in reports."""

    def machines(self, services: Services, /) -> Machines:
        """Return the machines that share the engine of ``[storage]`` with this one. Opens nothing."""
        raise NotImplementedError

    def bring(self, services: Services, /, *, stay: bool, is_outdated: Callable[[], bool]) -> None:
        """Bring this machine's documents to the engine, and do what others ask, until there is no more use in it.

        With ``stay`` there always is. It returns soon after ``is_outdated`` says that config.toml has changed or the
        process has run for long: then another one goes on. Called in a process of its own, one at a time for each
        environment; what it writes to stderr is in ``logs/fleet.log``. Raises StoreError and OSError.
        """
        raise NotImplementedError


def sharing(plugins: Plugins) -> Sharing:
    """Return what shares documents with other machines. Raises StoreError unless exactly one active plugin has it."""
    names = [info.name for info in plugins.listeners([HOOK])]
    if len(names) > 1:
        raise StoreError(
            f"the plugins {' and '.join(names)} have the hook {HOOK}, and only one of them can share documents with "
            "other machines, so none does; switch the others off"
        )
    if not names:
        missing = ", ".join(f"{info.name} is {info.status}" for info in plugins.listing() if HOOK in info.hooks)
        why = f" ({missing})" if missing else ""
        raise StoreError(f"no active plugin has the hook {HOOK}{why}, so nothing is shared with other machines")
    found: dict[str, Sharing] = plugins.contributions(HOOK, base=Sharing)
    if not found:
        raise StoreError(
            f"the plugin {names[0]} contributes nothing that shares documents with other machines; see: hookrouter logs"
        )
    return next(iter(found.values()))


def machines_of(services: Services) -> Machines:
    """Return the machines that share the engine of ``[storage]``; none, with the reason, if no plugin knows them."""
    from hookrouter.machines import Machines
    from hookrouter.util.text import describe_error

    try:
        return sharing(services.plugins).machines(services)
    except StoreError as error:
        return Machines(str(error))
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        return Machines(f"the machines that share the engine are not known: {describe_error(error)}")


def open_engine(services: Services) -> Storage:
    """Return the documents that ``[storage]`` names. Raises StoreError if the engine is not there or refuses them."""
    home, config, plugins = services.home, services.config.storage, services.plugins
    place = f"{home.config_file}: storage"
    engine = plugins.contributions("storage_engine").get(config.engine)
    if engine is None:
        raise StoreError(
            f"{place}.engine is {config.engine!r}, and no active plugin offers it; see: hookrouter config check"
        )
    settings, problems = plugins.read_engine_settings(engine, config.settings)
    if problems:
        found = "; ".join(problem.line for problem in problems)
        raise StoreError(f"{home.config_file}: {found}; see: hookrouter config check")
    try:
        storage: Storage = engine.open(settings, machine_name(config), home.state)
    except StoreError:
        raise
    except Exception as error:
        from hookrouter.util.text import describe_error

        raise StoreError(f"{place}: the engine {config.engine!r} failed: {describe_error(error)}") from error
    return storage


def machine_name(config: StorageConfig) -> str:
    """Return what this machine is called beside the others: as config.toml says, else its host name."""
    from socket import gethostname

    return config.machine or gethostname() or "localhost"


def process_lock(environ: Mapping[str, str], home: Home, settings: Mapping[str, object]) -> tuple[str, str]:
    """Return kind and name of the local lock of a process with this environment.

    ``settings`` are the keys of ``[storage]``. One whose environment lacks the variables that they name, or has other
    values, keeps none away that has the right ones.
    """
    from hookrouter.messaging.environment import environment_mark

    return "fleet", f"process-{environment_mark(environ, home, {'storage': settings})}"


def start_sharing(environ: Mapping[str, str], home: Home, plugins: Plugins, *, stay: bool = False) -> None:
    """Start a process with this environment, if one is wanted and none is there; it outlives this one.

    None is wanted if files are the engine, if another machine asked for this process, and if not exactly one active
    plugin can share. No plugin is loaded. Returns at once. Raises OSError.
    """
    from hookrouter.config import FILES
    from hookrouter.storage.engine import ALONE_VARIABLE

    storage = plugins.all_config.storage
    if storage.engine == FILES or environ.get(ALONE_VARIABLE) or len(plugins.listeners([HOOK])) != 1:
        return
    try:
        lock = process_lock(environ, home, storage.settings)
        if open_store(home, lambda _text: None).lock_holder(*lock) is not None:
            return
    except StoreError as error:
        raise OSError(str(error)) from error
    from hookrouter.messaging.spawn import deliverer_environment
    from hookrouter.storage.logs import LOG_FLAGS, prepare_log
    from hookrouter.util.detached import spawn_detached

    words = [*WORDS, *([STAY] if stay else [])]
    spawn_detached(words, deliverer_environment(environ, home), prepare_log(home, _LOG), LOG_FLAGS)
