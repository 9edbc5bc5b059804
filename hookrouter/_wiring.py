"""The composition root of a hook process: gives the router what knows agents, terminals and transports.

The router itself imports none of them. This module satisfies :class:`hookrouter.context.Wiring`; it imports nothing
until a plugin asks, because it is loaded by every hook run.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._plugins.registry import Plugins
    from hookrouter.context import Services
    from hookrouter.machines import Machines
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.home import Home
    from hookrouter.terminals import TerminalAddress

__all__ = [
    "announce_problems",
    "deliver_anew",
    "locate_terminal",
    "machines",
    "outbox",
    "push_outbox",
    "start_delivery",
    "start_router",
    "start_sharing",
]


def outbox(services: Services) -> Outbox:
    """Return the messages of this home that are not yet delivered."""
    from hookrouter.messaging.outbox import Outbox

    def environment() -> str:
        from hookrouter.messaging.environment import environment_mark

        return environment_mark(services.environ, services.home, services.config.gateways)

    return Outbox(services.home, services.warn, environment)


def locate_terminal(services: Services) -> tuple[TerminalAddress | None, str]:
    """Return the pane of this environment, None outside every known terminal; and what kept it from being known."""
    from hookrouter.answering.locating import locate

    return locate(services)


def machines(services: Services) -> Machines:
    """Return the machines of the fleet; none if nothing is shared, or if another machine asked for this process."""
    from hookrouter.config import FILES
    from hookrouter.storage.engine import ALONE_VARIABLE

    if services.config.storage.engine == FILES or services.environ.get(ALONE_VARIABLE):
        from hookrouter.machines import Machines

        return Machines()
    from hookrouter.sharing import machines_of

    return machines_of(services)


def announce_problems(services: Services, *, has_screen: bool) -> str:
    """Tell, once for each mistake, that config.toml has problems; return what the user is shown, empty for nothing."""
    from hookrouter._config_alarm import screen_text, tell_agents

    if tell_agents(services):
        start_delivery(services)
    return screen_text(services) if has_screen else ""


def start_delivery(services: Services, *, after_reply: bool = False) -> None:  # noqa: ARG001 - it is not waited for
    """Start the process that delivers the outbox. Raises OSError."""
    from hookrouter.messaging.spawn import spawn_delivery

    spawn_delivery(services.environ, services.home)


def deliver_anew(environ: Mapping[str, str], home: Home, *, was_broken: bool) -> None:
    """Have a deliverer begin that knows the config.toml of now, if there is something for it to do.

    One that is at work gives way. If the file before ``was_broken``, what was asked meanwhile is brought to its agents;
    what waits in the outbox is in any case. Raises nothing.
    """
    from contextlib import suppress

    from hookrouter.messaging.spawn import KIND, spawn_delivery, wake_deliverers
    from hookrouter.storage.engine import OUTBOX, may_hold, open_store

    if not was_broken and not may_hold(home, OUTBOX, KIND):
        return
    wake_deliverers(home, open_store(home, lambda _text: None, OUTBOX))
    # It is started by the next hook or command then.
    with suppress(OSError):
        spawn_delivery(environ, home)


def start_router(environ: Mapping[str, str], home: Home, idle: float, *, asked: bool = False) -> None:
    """Start a resident router that ends after ``idle`` seconds without a call, if none is there. Raises OSError.

    Without ``asked``, not if one was started just before.
    """
    from hookrouter._routing import auto_start

    if auto_start.claim_start(home, asked=asked):
        from hookrouter.messaging.spawn import deliverer_environment

        auto_start.start(deliverer_environment(environ, home), home, idle)


def start_sharing(environ: Mapping[str, str], home: Home, plugins: Plugins, *, stay: bool = False) -> None:
    """Start the process that writes documents to the engine of ``[storage]``, if none is there. Raises OSError."""
    from hookrouter.sharing import start_sharing

    start_sharing(environ, home, plugins, stay=stay)


def push_outbox(environ: Mapping[str, str], home: Home) -> None:
    """Have delivered, soon and elsewhere, what an earlier delivery had to leave behind."""
    from hookrouter.storage.engine import OUTBOX, may_hold

    if may_hold(home, OUTBOX):
        from hookrouter.messaging.spawn import push

        push(environ, home)
