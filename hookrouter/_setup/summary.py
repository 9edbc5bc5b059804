"""What will happen at the first question: to whom it goes, and what if nobody answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._diagnostics.configuration import untold_warning
from hookrouter.config import INBOX
from hookrouter.util.text import duration, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookrouter._installation.registrations import Registration
    from hookrouter.config import Agent, Config

__all__ = ["first_question", "guards_next", "routes"]


def routes(config: Config, agent: str | None) -> list[tuple[str, str]]:
    """Return agent and gateway of each way that a message can take, once: of one agent, or None for all."""
    chosen = [one for one in config.agents if one.enabled and agent in (None, one.id)]
    ways = [(one.id, name) for one in chosen for name in (one.gateway, *one.fallbacks)]
    if config.answer.escalate_to and chosen:
        ways.append((chosen[0].id, config.answer.escalate_to))
    first = {gateway: agent for agent, gateway in reversed(ways)}
    return [(first[gateway], gateway) for gateway in dict.fromkeys(gateway for _, gateway in ways)]


def first_question(config: Config, *, without_terminal: str = "") -> list[str]:
    """Return what will happen, a paragraph each; ``without_terminal`` is why sessions have no names, if they have none.

    The paragraphs are printable, and begin with two spaces if they belong to the one before.
    """
    return [printable(line) for line in _lines(config, without_terminal)]


def guards_next(wanted: Sequence[Registration]) -> list[str]:
    """Return what a home of guards alone does, and how it gets its first or next one; as :func:`first_question`."""
    lines = ["Nothing is registered yet: no plugin of yours listens to an event."]
    if wanted:
        lines = ["Claude Code calls hookrouter for these alone:"]
        lines += [
            f"  {want.event}{f' ({want.matcher})' if want.matcher else ''}: {', '.join(want.plugins)}"
            for want in wanted
        ]
    lines += [
        "To add a plugin:",
        "  hookrouter plugins add ./guard.py: one that is a file; examples/hooks in hookrouter's repository has some",
        "  hookrouter plugins new NAME: writes a package, with tests, to install beside hookrouter",
        "  then hookrouter install: registers the events that it listens to",
        "hookrouter init without --guards switches on the rest, for an agent or a person who answers Claude.",
    ]
    return [printable(line) for line in lines]


def _lines(config: Config, without_terminal: str) -> Iterator[str]:
    agents = [agent for agent in config.agents if agent.enabled]
    for number, agent in enumerate(agents):
        yield f"When Claude asks in {_where(agent, is_first=number == 0)}:"
        yield f"  {_woken(config, agent)}"
        if without_terminal and agent.sessions:
            yield (
                f"  warning: {without_terminal}, so a session is called claude- and the first 8 characters of its id, "
                f"and {', '.join(agent.sessions)} may fit none"
            )
    if agents and all(agent.sessions or agent.workdirs for agent in agents):
        yield "In any other session the question is yours alone: nobody is told."
    yield "If nobody answers:"
    yield from (f"  {line}" for line in _unanswered(config))
    if any(config.gateways.get(agent.gateway, {}).get("type") == "openclaw" for agent in agents):
        yield "Teach OpenClaw's agent to answer: hookrouter skill --for openclaw --install"
    if agents:
        yield f'Try it: in {_where(agents[0])}, tell Claude "ask me something with AskUserQuestion".'


def _where(agent: Agent, *, is_first: bool = True) -> str:
    """Say which sessions are an agent's; those of the agents before it are not."""
    every = "any session" if is_first else "any other session"
    sessions = f"a session called {' or '.join(agent.sessions)}" if agent.sessions else every
    return f"{sessions} in {' or '.join(agent.workdirs)}" if agent.workdirs else sessions


def _woken(config: Config, agent: Agent) -> str:
    others = f"; if that fails, {' or '.join(agent.fallbacks)}" if agent.fallbacks else ""
    if config.gateways.get(agent.gateway, {}).get("type") == INBOX:
        return (
            "nobody is told. The question is shown on Claude's screen and in `hookrouter questions`, and can be "
            "answered "
            f"there or with `hookrouter answer`{others}."
        )
    return (
        f"{agent.id} is told: {_means(agent.gateway, config.gateways)}{others}. The answer comes with `hookrouter "
        "answer`, is given to Claude, and is compared with what Claude recorded. A person at the keyboard may "
        "answer first."
    )


def _means(name: str, gateways: Mapping[str, Mapping[str, object]]) -> str:
    """Say how a gateway tells somebody."""
    table = gateways.get(name, {})
    kind, argv = table.get("type"), table.get("argv")
    if kind == "command" and isinstance(argv, list):
        return f"hookrouter runs {_shortened(' '.join(map(str, argv)))}"
    if kind == "openclaw":
        return f"OpenClaw's agent {table.get('agent', '')} gets a turn"
    return f"the gateway {name} ({kind}) sends a message"


def _shortened(text: str, longest: int = 60) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _unanswered(config: Config) -> Sequence[str]:
    answer = config.answer
    told = [agent for agent in config.agents if agent.enabled and config.gateways.get(agent.gateway)]
    lines = []
    if any(config.gateways[agent.gateway].get("type") != INBOX for agent in told):
        if answer.reminds:
            times = "once" if answer.reminders == 1 else f"up to {answer.reminders} times"
            lines.append(f"after {duration(answer.remind_after)} a reminder is sent, {times};")
        else:
            off = "reminders" if answer.remind_after else "remind_after"
            lines.append(f"no reminder is sent: [answer] {off} is 0;")
    untold = untold_warning(config)
    if answer.escalate_to and config.is_inbox(answer.escalate_to):
        lines.append(f"after {duration(answer.escalate_after)} the inbox {answer.escalate_to} has it too;")
    elif answer.escalate_to:
        how = _means(answer.escalate_to, config.gateways)
        lines.append(f"after {duration(answer.escalate_after)} {answer.escalate_to} is told: {how};")
    elif told and all(agent.is_person for agent in config.agents if agent.enabled):
        lines.append("nobody else is told, because only a person answers;")
    elif not untold:
        lines.append("warning: nobody else is told, because [answer] escalate_to is not set;")
    if untold:
        lines.append(f"warning: {untold};")
    lines.append("the question stays on the screen, and Claude waits.")
    return lines
