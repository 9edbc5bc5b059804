"""What a person chose: as words, from options or from answers to questions, and what they come to."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import attrs

from hookrouter.config import INBOX
from hookrouter.permission_rules.presets import preset_text
from hookrouter.permission_rules.rule import RuleError
from hookrouter.util.errors import HookrouterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChoiceError", "Choices", "NewGateway", "Words", "choices_of", "escalation_of", "gateway_of", "globs_of"]

AGENT_TIMEOUT = 600
"""Seconds that the agent's program may take: long enough to think, and to answer before it ends."""

PERSON = "person"
"""The name of the gateway that tells a person of a question that nobody has answered."""


class ChoiceError(HookrouterError):
    """A choice cannot be used. The message names its option, what was found and what is allowed."""


@attrs.frozen
class Words:
    """The choices as they were given; None is not given. Each field is the option of this name."""

    command: str | None = None
    openclaw: str | None = None
    openclaw_agent: str | None = None
    token_env: str | None = None
    token_file: str | None = None
    webhook: str | None = None
    person: bool = False
    format: str | None = None
    name: str | None = None
    sessions: tuple[str, ...] | None = None
    escalate_command: str | None = None
    escalate_webhook: str | None = None
    escalate_to: str | None = None
    preset: str | None = None
    guards: bool = False

    @property
    def names_who_answers(self) -> bool:
        """Whether they say who answers."""
        return self.person or any(word is not None for word in (self.command, self.openclaw, self.webhook))

    @property
    def names_whom_to_tell(self) -> bool:
        """Whether they say who is told of a question that nobody answers."""
        return any(word is not None for word in (self.escalate_command, self.escalate_webhook, self.escalate_to))


@attrs.frozen
class NewGateway:
    """A ``[gateways.NAME]`` table to be written."""

    name: str
    type: str
    table: Mapping[str, object]
    """Its keys but for ``type``, in the order in which they are written."""
    option: str
    """The option that it comes from, for messages."""


@attrs.frozen
class Choices:
    """Who answers, for which sessions, and who is told if nobody does."""

    agent: str
    """The agent's id."""
    is_person: bool = False
    gateway: NewGateway | None = None
    """How the agent is woken; None for the inbox."""
    sessions: tuple[str, ...] = ()
    """Globs; empty for all sessions."""
    escalation: NewGateway | str = ""
    """Who is told if nobody answers: a gateway to be written, the name of one that is there, or nobody."""
    preset: str = ""
    """The preset of rules for permissions; empty for none."""

    @property
    def gateway_name(self) -> str:
        """The name of the agent's gateway."""
        return INBOX if self.gateway is None else self.gateway.name

    @property
    def escalate_to(self) -> str:
        """The name of the gateway that is told, empty for none."""
        return self.escalation.name if isinstance(self.escalation, NewGateway) else self.escalation

    @property
    def new_gateways(self) -> list[NewGateway]:
        """The tables to be written."""
        return [one for one in (self.gateway, self.escalation) if isinstance(one, NewGateway)]


def choices_of(words: Words, folder: str) -> Choices:
    """Return what the words come to; a program's path is taken from ``folder``. Raises ChoiceError."""
    name = words.name if words.name is not None else "me" if words.person else "agent"
    _check_text("--name", name, "a name")
    return Choices(
        agent=name,
        is_person=words.person,
        gateway=gateway_of(words, name, folder),
        sessions=globs_of(words.sessions or ()),
        escalation=escalation_of(words, folder, taken=name),
        preset=_preset(words.preset),
    )


def _preset(name: str | None) -> str:
    try:
        if name is not None:
            preset_text(name)
    except RuleError as error:
        raise ChoiceError(f"--preset: {error}") from None
    return name or ""


def gateway_of(words: Words, name: str, folder: str) -> NewGateway | None:
    """Return the gateway that wakes whoever answers; None for the inbox. Raises ChoiceError."""
    ways = {"--command": words.command, "--openclaw": words.openclaw, "--webhook": words.webhook}
    given = [option for option, word in ways.items() if word is not None]
    if len(given) > 1:
        raise ChoiceError(f"found {' and '.join(given)}; allowed: one of them")
    if words.person and words.openclaw is not None:
        raise ChoiceError("found --person and --openclaw; allowed: one of them, because OpenClaw's agents are programs")
    _check_companions(words)
    if words.command is not None:
        table: dict[str, object] = {"argv": _program("--command", words.command, folder)}
        if not words.person:
            table["timeout"] = AGENT_TIMEOUT
        return NewGateway(name, "command", {**table, "format": words.format or "text"}, "--command")
    if words.webhook is not None:
        return _webhook(name, "--webhook", words.webhook)
    return None if words.openclaw is None else _openclaw(words, name, words.openclaw, folder)


def escalation_of(words: Words, folder: str, *, taken: str = "") -> NewGateway | str:
    """Return who is told if nobody answers: a new gateway, the name of one, or nobody. Raises ChoiceError.

    ``taken`` is a name that the new gateway cannot have.
    """
    ways = {
        "--escalate-command": words.escalate_command,
        "--escalate-webhook": words.escalate_webhook,
        "--escalate-to": words.escalate_to,
    }
    given = [option for option, word in ways.items() if word is not None]
    if len(given) > 1:
        raise ChoiceError(f"found {' and '.join(given)}; allowed: one of them")
    name = PERSON if taken != PERSON else f"{PERSON}-2"
    if words.escalate_command is not None:
        argv = _program("--escalate-command", words.escalate_command, folder)
        return NewGateway(name, "command", {"argv": argv}, "--escalate-command")
    if words.escalate_webhook is not None:
        return _webhook(name, "--escalate-webhook", words.escalate_webhook)
    if words.escalate_to is not None:
        _check_text("--escalate-to", words.escalate_to, "the name of a gateway in config.toml")
    return words.escalate_to or ""


def globs_of(globs: Sequence[str]) -> tuple[str, ...]:
    """Return globs of sessions' names; empty for one that takes all. Raises ChoiceError."""
    for glob in globs:
        _check_text("--sessions", glob, 'a glob on the names of sessions, such as "work-*"')
    return () if any(glob in ("*", "**") for glob in globs) else tuple(dict.fromkeys(globs))


def _openclaw(words: Words, name: str, url: str, folder: str) -> NewGateway:
    _check_text("--openclaw", url, "an address, such as http://127.0.0.1:18789")
    table: dict[str, object] = {"url": url, "agent": "main" if words.openclaw_agent is None else words.openclaw_agent}
    if words.token_env is not None:
        table["token_env"] = words.token_env
    if words.token_file is not None:
        # Named from the folder in which it was typed; the deliverer works in another one.
        table["token_file"] = _path(words.token_file, folder) if words.token_file else ""
    options = {"agent": "--openclaw-agent", "token_env": "--token-env", "token_file": "--token-file"}
    for key, option in options.items():
        if key in table:
            _check_text(option, str(table[key]), "a text")
    return NewGateway(name, "openclaw", table, "--openclaw")


def _webhook(name: str, option: str, url: str) -> NewGateway:
    _check_text(option, url, "an address, such as https://chat.example.org/hooks/x")
    return NewGateway(name, "webhook", {"url": url}, option)


def _check_companions(words: Words) -> None:
    """Refuse options that mean nothing without another one."""
    for option, word, needed, other in (
        ("--openclaw-agent", words.openclaw_agent, "--openclaw", words.openclaw),
        ("--token-env", words.token_env, "--openclaw", words.openclaw),
        ("--token-file", words.token_file, "--openclaw", words.openclaw),
        ("--format", words.format, "--command", words.command),
    ):
        if word is not None and other is None:
            raise ChoiceError(f"found {option} without {needed}; allowed: with it")
    if words.format not in (None, "text", "json"):
        raise ChoiceError(f"--format: found {words.format!r}; allowed: text or json")


def _program(option: str, line: str, folder: str) -> list[str]:
    """Return a program and its arguments. A word that names a file in ``folder`` becomes its whole path."""
    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise ChoiceError(f"{option}: found {line!r} ({error}); allowed: a program and its arguments") from None
    if not argv:
        raise ChoiceError(f"{option}: found {line!r}; allowed: a program and its arguments")
    for word in argv:
        _check_text(option, word, "a program and its arguments", may_be_empty=True)
    first, *others = argv
    program = _path(first, folder) if "/" in first else first
    return [program, *(_path(word, folder) if _is_file(word, folder) else word for word in others)]


def _is_file(word: str, folder: str) -> bool:
    return bool(word) and not word.startswith("-") and os.path.isfile(_path(word, folder))


def _path(word: str, folder: str) -> str:
    # The gateway itself puts in the home folder.
    return word if word.startswith("~/") else os.path.normpath(os.path.join(folder, word))


def _check_text(option: str, text: str, allowed: str, *, may_be_empty: bool = False) -> None:
    if (not text.strip() and not may_be_empty) or "\0" in text or "\n" in text or not _is_unicode(text):
        raise ChoiceError(f"{option}: found {text!r}; allowed: {allowed}, in one line")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
