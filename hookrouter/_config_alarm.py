"""Says once that ``config.toml`` has problems: on Claude's screen, to its agents, and to the escalation gateway.

Whoever comes first, of all sessions' hooks and deliverers, says it; the others find the claim, a document of the kind
:data:`hookrouter._config.cache.ALARM`. The claims go when the file is read without problems, so the same mistake made
again is told again. Mistakes in a gateway's table are found only by a deliverer, which imports the gateway's plugin: it
tells those whom another gateway reaches. Not imported as long as there are no problems.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookrouter._config.cache import ALARM, config_name
from hookrouter._config.salvage import is_kept
from hookrouter.messaging.gateway import Message
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import iso
from hookrouter.util.filenames import digest
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.config import Config
    from hookrouter.context import Services

__all__ = ["CONFIG", "HOLDS", "screen_text", "tell_agents", "tell_of_gateway"]

CONFIG = "config"
"""The kind of the message."""

HOLDS = "until it is corrected (hookrouter config check), what it said before holds"
_DEFAULTS_HOLD = (
    "until it is corrected (hookrouter config check), the defaults hold, so no agent is woken: questions wait in "
    "hookrouter questions"
)

_AFTERWARDS = (
    "What is asked meanwhile goes to the agent that the corrected file names, as soon as hookrouter runs again: "
    "`hookrouter config check` is enough."
)
_TO_DO = "There is nothing to answer. Correct the file if that is your task, or tell the person who maintains it."
_ONCE = "This message is not repeated while the problem is the same."

_GATEWAY_TEXT = f"""\
# A gateway of hookrouter cannot be used

`[gateways.{{gateway}}]` in `{{file}}` cannot be used as it is:

> {{reason}}

Messages for this gateway go to the agent's next one, or wait. They are tried as soon as the table is \
corrected and hookrouter runs again: `hookrouter config check` is enough.

{_TO_DO} This message is repeated only if the problem is still there after another change of the file.
"""

_SHOWN = 5
"""How many problems a message lists."""

_WITHOUT_SCREEN = ("sdk-cli", "sdk-py", "sdk-ts")
"""``CLAUDE_CODE_ENTRYPOINT`` of clients that show nobody what a hook says."""


def screen_text(services: Services) -> str:
    """Return what the user is to be shown with the reply to this hook; empty if it was shown, or nobody would see."""
    problems = services.config.problems
    if services.environ.get("CLAUDE_CODE_ENTRYPOINT") in _WITHOUT_SCREEN or not _claim(
        services, "screen", problems, else_=True
    ):
        return ""
    others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{problems[0]}{others}; {_what_holds(services.config)}"


def tell_agents(services: Services) -> bool:
    """Put a message to each agent, and one to the escalation gateway, into the outbox; return whether any was put in.

    False if that was done before. Raises nothing: what cannot be kept is a warning in the journal.
    """
    subject = f"{os.path.basename(services.home.config_file)} has problems, and is not used until it is corrected"
    return _tell(services, services.config.problems, _messages(services.config, subject, _text(services)))


def tell_of_gateway(services: Services, gateway: str, reason: str) -> bool:
    """Put into the outbox, once, that a gateway cannot be asked: to agents that another one reaches, and by escalation.

    Returns whether any message was put in. Raises nothing: what cannot be kept is a warning in the journal.
    """
    if services.config.problems:
        # Then a gateway may be missing because of them, and they are told.
        return False
    subject = f"the gateway {gateway} cannot be used until [gateways.{gateway}] is corrected"
    text = _GATEWAY_TEXT.format(
        gateway=printable(gateway), file=printable(services.home.config_file), reason=printable(reason)
    )
    return _tell(services, [gateway, reason], _messages(services.config, subject, text, without=gateway))


def _tell(services: Services, problems: Sequence[str], messages: Iterator[tuple[Message, Sequence[str]]]) -> bool:
    if not _claim(services, "agents", problems, else_=False):
        return False
    told = False
    try:
        for message, fallbacks in messages:
            services.outbox.put(message, fallbacks=fallbacks)
            told = True
    except StoreError as error:
        services.warn(f"agents could not be told that config.toml has problems: {error}")
        _release(services, "agents", problems)
        return False
    return told


def _messages(config: Config, subject: str, text: str, *, without: str = "") -> Iterator[tuple[Message, Sequence[str]]]:
    """Return what is to be put in, each with its fallbacks: one message for each gateway that comes first for an agent.

    ``without`` is a gateway that cannot be asked.
    """
    told = {without}
    ways: dict[str, tuple[str, dict[str, None]]] = {}
    agents = [agent for agent in config.agents if agent.enabled]
    for agent in agents:
        gateways = [name for name in (agent.gateway, *agent.fallbacks) if name != without]
        told.update(gateways)
        if gateways:
            ways.setdefault(gateways[0], (agent.id, {}))[1].update(dict.fromkeys(gateways[1:]))
    for gateway, (name, fallbacks) in ways.items():
        yield Message(CONFIG, name, gateway, "", "", "", subject, text), tuple(fallbacks)
    if agents and config.answer.escalate_to and config.answer.escalate_to not in told:
        yield Message(CONFIG, agents[0].id, config.answer.escalate_to, "", "", "", subject, text), ()


def _text(services: Services) -> str:
    problems = services.config.problems
    shown = [f"> {printable(problem)}" for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        shown.append(f"> and {len(problems) - _SHOWN} more")
    holds = _what_holds(services.config)
    paragraphs = [
        "# hookrouter's configuration has problems",
        f"`{printable(services.home.config_file)}` is not used as it is:",
        "\n".join(shown),
        f"{holds[0].upper()}{holds[1:]}. {_AFTERWARDS}",
        f"{_TO_DO} {_ONCE}",
    ]
    return "\n\n".join(paragraphs) + "\n"


def _what_holds(config: Config) -> str:
    return HOLDS if is_kept(config) else _DEFAULTS_HOLD


def _claim(services: Services, audience: str, problems: Sequence[str], *, else_: bool) -> bool:
    """Take it on to tell somebody of these problems; False if another process did. ``else_`` if that is not known."""
    document = {"version": 1, "at": iso(), "problems": list(problems)}
    try:
        return services.store.create(ALARM, _name(services, audience, problems), document) is None
    except StoreError:
        return else_


def _release(services: Services, audience: str, problems: Sequence[str]) -> None:
    try:
        services.store.delete(ALARM, _name(services, audience, problems))
    except StoreError as error:
        services.warn(str(error))


def _name(services: Services, audience: str, problems: Sequence[str]) -> str:
    return f"{config_name(services.home)}-{digest(chr(10).join(problems))}-{audience}"
