"""Resident processes: what a plugin needs that lives as long as the router, such as a web server or a connection.

A plugin returns objects of :class:`ResidentProcess` from the hook ``resident_process``, see
:class:`hookrouter.hookspecs.ResidentSpecs`. The router (``hookrouter serve``) makes their sockets and keeps them,
starts their processes, starts them again after growing pauses if they end, and ends them with itself or when their plan
changes. While a process ends and the next one begins, also while the router itself restarts, whoever connects waits in
the backlog of the socket. The router loads the module that holds the class; put what the process does in another one,
which the process alone imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util.value import NO_ITEMS, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.config import Config
    from hookrouter.storage.home import Home

__all__ = [
    "ALWAYS",
    "NOT_THERE",
    "ON_CONNECTION",
    "ON_ERRAND",
    "Place",
    "Plan",
    "ResidentProcess",
    "State",
    "extra_missing",
]

ALWAYS = "always"
"""It runs for as long as there is a plan, and is started again whenever it ends."""

ON_CONNECTION = "on_connection"
"""It is started when somebody connects to one of its sockets. It may end by itself, with exit code 0, once nobody is
connected, and is started by the next connection."""

ON_ERRAND = "on_errand"
"""It is started when :meth:`ResidentProcess.is_due` says that there is something to do, and ends by itself, with exit
code 0, once it is done."""

NOT_THERE = "-1"
"""Stands for the descriptor of an address that cannot be had."""


class Place(Value):
    """What a plan is made from."""

    home: Home
    config: Config
    """The whole configuration, as it is now."""
    settings: Mapping[str, object] = NO_ITEMS
    """The plugin's own settings as JSON values, with its defaults filled in: those alone, if its table is wrong."""
    problems: tuple[str, ...] = ()
    """What is wrong with the plugin's own settings, a line each."""


class Plan(Value):
    """How a resident process is to run. If it differs from the plan before, a process that runs is restarted."""

    when: str = ALWAYS
    """``ALWAYS``, ``ON_CONNECTION`` or ``ON_ERRAND``."""
    addresses: tuple[str, ...] = ()
    """Where it listens by TCP, each ``HOST:PORT``. While one of several sockets cannot be had, it runs with the others,
    and is restarted once that one can be had."""
    sockets: tuple[str, ...] = ()
    """The unix sockets on which it listens, by their names in :attr:`hookrouter.storage.home.Home.router`: the name of
    the process, or one that begins with it and a hyphen. None but this user can connect."""
    problem: str = ""
    """What stands in the way, such as a missing library: nothing runs, nobody can connect, and people are told this."""
    depends: object = None
    """Whatever else a process has read when it began, such as its table of config.toml or the times of files. Compared
    with ``==``."""


class State(Value):
    """How a resident process stands."""

    name: str
    pid: int = 0
    """0 while none runs."""
    listens: tuple[str, ...] = ()
    """The addresses and sockets at which somebody can connect."""
    problem: str = ""
    """What stands in the way: the plan's problem, or addresses that cannot be had; empty if nothing does."""
    ended: str = ""
    """How the last one ended that failed, such as ``exit code 1``; empty if none has failed."""

    @property
    def trouble(self) -> str:
        """What keeps people from what it does, in one line; empty for nothing."""
        if self.problem:
            return self.problem
        return f"the {self.name} has ended: {self.ended}" if self.ended and not self.pid else ""


class ResidentProcess:
    """One process, or none at a time, beside the router. A base class; ``name``, ``target`` and ``plan`` are needed.

    The methods are called in the router, which takes no hook call meanwhile: they return at once, and reach out to
    nobody. One that raises, or takes longer than a second, keeps this process from running and nothing else.
    """

    name: str = ""
    """Its name in ``hookrouter serve --status`` and in lines of the log: lower-case letters, digits, hyphens."""
    target: str = ""
    """The function that the process runs, ``module:function``.

    It is called as ``function(parent, listeners)``: the router's process id, which stops being the parent of the
    process when the router is gone, and a list of listening sockets (those of the addresses, then the unix sockets, in
    the plan's order; None for one that cannot be had). It returns the exit code; what it raises of HookrouterError and
    OSError is told in a line of the log. It should end on SIGTERM, and when the parent changes;
    :func:`hookrouter.serving.asgi.serve_asgi` sees to both. Its environment is the router's.
    """

    def plan(self, place: Place) -> Plan | None:
        """Return how it is to run; None if the configuration asks for none. Called every few seconds."""
        raise NotImplementedError

    def is_due(self, place: Place) -> bool:  # noqa: ARG002 - for those that override it
        """Say whether there is something to do. Asked every few seconds while an ``ON_ERRAND`` process does not run."""
        return False

    def faults(self, place: Place) -> Iterable[tuple[str, str]]:  # noqa: ARG002 - for those that override it
        """Return what of this machine keeps people from what it does, each with its key of config.toml, or with "".

        For ``hookrouter doctor`` and ``hookrouter config check``, in their own process.
        """
        return ()

    def revoke(self, place: Place) -> bool:  # noqa: ARG002 - for those that override it
        """End whatever lets somebody in, such as logins and links; return whether there is any such thing.

        For ``hookrouter serve --revoke``, in its own process. Raises HookrouterError and OSError if it cannot.
        """
        return False

    def status(self, plan: Plan, state: State) -> dict[str, object]:
        """Return what ``hookrouter serve --status --json`` shows under ``name``, as JSON values.

        ``problem`` is what ``hookrouter doctor`` warns of, empty if all is well.
        """
        return {"pid": state.pid, "listens": list(state.listens), "problem": state.trouble, "when": plan.when}

    def line(self, status: Mapping[str, object]) -> str:
        """Return the line of ``hookrouter serve --status`` for people, from what :meth:`status` has returned."""
        if status.get("problem"):
            return f"no {self.name}: {status['problem']}"
        pid = status.get("pid")
        return f"{self.name}: process {pid}" if pid else f"{self.name}: does not run now"


def extra_missing(name: str, extra: str = "serve") -> str:
    """Return what a plan says if the libraries of one of hookrouter's extras are missing."""
    return f"the {name} needs the extra: pip install 'hookrouter[{extra}]'"
