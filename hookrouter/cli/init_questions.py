"""The questions that ``hookrouter init`` asks on a terminal: plain lines, for 60 columns and without colour."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import attrs
import typer

from hookrouter._setup.choices import ChoiceError, NewGateway, Words, escalation_of, gateway_of, globs_of
from hookrouter._setup.plan import check_gateway
from hookrouter.permission_rules.presets import about, preset_names
from hookrouter.terminals import TerminalError, terminal_backends
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.context import Services

__all__ = ["Questions"]

_COMMAND = "  program and arguments (--command)"


class Questions:
    """Asks for what the options leave open. What cannot be used is said, and asked again."""

    def __init__(self, app: Services, folder: str) -> None:
        """Take the services of the home, and the folder from which programs are named."""
        self._app = app
        self._folder = folder

    def ask(self, words: Words, *, agents: Sequence[str]) -> Words | None:
        """Return all choices; None to leave config.toml as it is. ``agents`` are those that it has already.

        Raises ChoiceError for an option that cannot be used, and typer.Abort for Ctrl-C.
        """
        typer.echo("Nothing is written before you agree. Ctrl-C stops.\n")
        if not words.names_who_answers:
            if agents and words == Words() and self._keeps(agents):
                return None
            words = self._who(words)
            if words.guards:
                return words
        else:
            self._check_gateway(words)
        if words.sessions is None:
            words = self._sessions(words)
        if not words.names_whom_to_tell and not words.person:
            words = self._escalation(words)
        if words.preset is None and not words.person and not self._app.config.approvals.rules:
            words = self._preset(words)
        return words

    def _keeps(self, agents: Sequence[str]) -> bool:
        typer.echo(printable(f"config.toml has the agents: {', '.join(agents)}"))
        rows = ("keep it: install the hooks, test, check", "add an agent to it")
        return _choose("What shall be done?", rows) == 1

    def _who(self, words: Words) -> Words:
        rows = (
            "a program of yours           (--command)",
            "an agent of OpenClaw         (--openclaw)",
            "a service behind a webhook   (--webhook)",
            "only you, a person           (--person)",
            "nobody: guards alone         (--guards)",
        )
        ways = (self._program, self._openclaw, self._webhook, self._person, self._guards)
        way = ways[_choose("Who answers Claude's questions?", rows) - 1]
        return _until(lambda: way(words), self._check_gateway)

    def _program(self, words: Words) -> Words:
        command = _text(_COMMAND)
        if words.format is not None:
            return attrs.evolve(words, command=command)
        rows = (
            "the message as text, for an LLM   (--format text)",
            "the message as JSON, for a script (--format json)",
        )
        chosen = _choose("What does it read on stdin?", rows)
        return attrs.evolve(words, command=command, format="text" if chosen == 1 else "json")

    def _openclaw(self, words: Words) -> Words:
        url = _text("  address (--openclaw)", "http://127.0.0.1:18789")
        agent = words.openclaw_agent or _text("  the agent's id in OpenClaw (--openclaw-agent)", "main")
        words = attrs.evolve(words, openclaw=url, openclaw_agent=agent)
        if words.token_env is None and words.token_file is None:
            file = _text("  file with hooks.token, chmod 600 (--token-file)")
            words = attrs.evolve(words, token_file=file)
        return words

    def _webhook(self, words: Words) -> Words:
        return attrs.evolve(words, webhook=_text("  address (--webhook)"))

    def _person(self, words: Words) -> Words:
        words = attrs.evolve(words, person=True)
        rows = (
            "not at all: `hookrouter questions` lists them",
            "by a program, such as notify-send (--command)",
            "by a webhook, such as a chat's    (--webhook)",
        )
        chosen = _choose("How are you told of a question?", rows)
        if chosen == 1:
            return words
        if chosen == 3:
            return self._webhook(words)
        return attrs.evolve(words, command=_text(_COMMAND))

    def _guards(self, words: Words) -> Words:
        if words != Words():
            raise ChoiceError("guards alone need no other choice; start hookrouter init without options for it")
        return Words(guards=True)

    def _check_gateway(self, words: Words) -> None:
        gateway = gateway_of(words, words.name or "agent", self._folder)
        if gateway is not None:
            check_gateway(self._app, gateway)

    def _sessions(self, words: Words) -> Words:
        running = self._running()
        typer.echo("Which sessions? (--sessions)")
        typer.echo("  names of tmux sessions, with * for any text; several with blanks between; nothing for all")
        typer.echo("  (outside a terminal that hookrouter knows, a session is called claude- and 8 characters)")
        if running:
            typer.echo(printable(f"  sessions that run now: {', '.join(running)}"))

        def ask() -> Words:
            return attrs.evolve(words, sessions=tuple(_split(_text("  sessions", ""))))

        return _until(ask, lambda found: globs_of(found.sessions or ()))

    def _running(self) -> list[str]:
        backend = terminal_backends(self._app.plugins).get(self._app.config.answer.terminal)
        if backend is None:
            return []
        try:
            return backend.sessions(self._app.environ)
        except TerminalError:
            return []

    def _escalation(self, words: Words) -> Words:
        others = [name for name in self._app.config.gateways if name != "inbox"]
        rows = [
            "nobody: it stays on the screen",
            "a program, such as notify-send (--escalate-command)",
            "a webhook, such as a chat's    (--escalate-webhook)",
            *(f"the gateway {name} (--escalate-to)" for name in others),
        ]
        chosen = _choose("Who tells you if nobody answers for an hour?", rows)
        if chosen == 1:
            return words
        if chosen > 3:
            return attrs.evolve(words, escalate_to=others[chosen - 4])

        def ask() -> Words:
            if chosen == 2:
                return attrs.evolve(words, escalate_command=_text("  program and arguments (--escalate-command)"))
            return attrs.evolve(words, escalate_webhook=_text("  address (--escalate-webhook)"))

        def check(found: Words) -> None:
            gateway = escalation_of(found, self._folder)
            if isinstance(gateway, NewGateway):
                check_gateway(self._app, gateway)

        return _until(ask, check)

    def _preset(self, words: Words) -> Words:
        """Ask for rules to begin with: what an agent may decide, and what no one may at night."""
        names = preset_names()
        rows = ("nobody but you, at the terminal", *(f"{name}: {about(name)}" for name in names))
        chosen = _choose("Who decides what Claude asks permission for? (--preset)", rows)
        return words if chosen == 1 else attrs.evolve(words, preset=names[chosen - 2])


def _until(ask: Callable[[], Words], check: Callable[[Words], object]) -> Words:
    """Ask until the answer can be used."""
    while True:
        words = ask()
        try:
            check(words)
        except ChoiceError as error:
            typer.echo(printable(f"  {error}"))
        else:
            return words


def _split(line: str) -> list[str]:
    """Return the words of a line; a quoted one may hold spaces."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _text(prompt: str, default: str | None = None) -> str:
    found: str = typer.prompt(prompt, default=default, show_default=bool(default))
    return found


def _choose(question: str, rows: Sequence[str]) -> int:
    """Return the number of the row that is chosen, from 1; the first one by default."""
    typer.echo(question)
    for number, row in enumerate(rows, 1):
        typer.echo(printable(f"  {number}  {row}"))
    while True:
        found = str(typer.prompt("  number", default="1")).strip()
        if found.isascii() and found.isdecimal() and 1 <= int(found) <= len(rows):
            typer.echo("")
            return int(found)
        typer.echo(printable(f"  found {found!r}; allowed: a number from 1 to {len(rows)}"))
