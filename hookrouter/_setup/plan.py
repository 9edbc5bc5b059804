"""What ``config.toml`` is to become: a new file, or the old one with what is asked for added to it, byte for byte."""

from __future__ import annotations

import codecs
import tomllib
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter._config import edit
from hookrouter._config.reader import decoded, examine
from hookrouter._config.toml_edit import TomlEditError, add_tables, set_value
from hookrouter._config.toml_lines import lines_of
from hookrouter._setup.choices import ChoiceError
from hookrouter._setup.config_text import guards_file, new_file, new_tables
from hookrouter.config import GUARDS_ALONE
from hookrouter.messaging.gateway import gateways
from hookrouter.permission_rules.presets import preset_text
from hookrouter.util.difference import unified
from hookrouter.util.text import describe_error, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._setup.choices import Choices, NewGateway
    from hookrouter.context import Services

__all__ = ["Plan", "check_gateway", "guards_plan", "make_plan"]


@attrs.frozen
class Plan:
    """The file before and after."""

    path: str
    before: bytes | None
    """None if there is no file."""
    after: bytes | None
    """None if there is to be no file: nothing is asked for, and the defaults hold."""

    @property
    def changes(self) -> bool:
        """Whether the file is to be another one."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        return unified(self.path, *(None if one is None else decoded(one) for one in (self.before, self.after)))


def make_plan(app: Services, choices: Choices | None) -> Plan:
    """Return what the file becomes with these choices; with None it stays as it is. Writes nothing.

    Raises ChoiceError for a choice that cannot be used, and ConfigEditError for a file that cannot be changed.
    """
    path, before = app.home.config_file, edit.content_of(app.home)
    if choices is None:
        return Plan(path, before, before) if before is None else _plan(app, before, _with_all(path, decoded(before)))
    for gateway in choices.new_gateways:
        check_gateway(app, gateway)
    classes = _classes(app)
    if before is None or not decoded(before).strip():
        _check_escalation(choices, app.config.gateways)
        after = new_file(choices, classes)
    else:
        after = _with_all(path, _added(path, decoded(before), choices, classes))
    return _plan(app, before, after)


def guards_plan(app: Services) -> Plan:
    """Return what the file becomes if nobody is to answer, and guards alone are called. Writes nothing.

    Raises ChoiceError if the file has agents, and ConfigEditError for a file that cannot be changed.
    """
    path, before = app.home.config_file, edit.content_of(app.home)
    if app.config.is_set_up and not app.config.guards_alone:
        names = ", ".join(repr(agent.id) for agent in app.config.agents)
        raise ChoiceError(
            f"--guards: {path} has the agents {names}, which would hear of nothing; allowed: a home without "
            f"[[agents]], or write {GUARDS_ALONE} = true into its [plugins] by hand"
        )
    if before is None or not decoded(before).strip():
        return _plan(app, before, guards_file())
    return _plan(app, before, _set(path, decoded(before), value=True))


def _with_all(path: str, text: str) -> str:
    """Return the text without the word that switches off what agents need."""
    return _set(path, text, value=False) if tomllib.loads(text).get("plugins", {}).get(GUARDS_ALONE) else text


def _set(path: str, text: str, *, value: bool) -> str:
    try:
        return set_value(text, ("plugins", GUARDS_ALONE), value)
    except TomlEditError as error:
        raise edit.ConfigEditError(f"{path}: cannot be changed by a program as it is written; {error}") from None


def _plan(app: Services, before: bytes | None, after: str) -> Plan:
    path = app.home.config_file
    mark = codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b""
    faults = examine(after.encode(), app.plugins.tables)
    if faults:
        raise edit.ConfigEditError(f"{path}: {faults[0].line}; nothing was changed")
    return Plan(path, before, mark + after.encode())


def check_gateway(app: Services, gateway: NewGateway) -> None:
    """Have the gateway's own plugin check the table. Raises ChoiceError."""
    offered = gateways(app.plugins).get(gateway.type)
    if offered is None:
        raise ChoiceError(f"{gateway.option}: no active plugin provides gateways of the type {gateway.type!r}")
    try:
        problems = app.plugins.read_gateway_settings(offered, gateway.name, gateway.table)[1]
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a problem of that plugin
        raise ChoiceError(f"{gateway.option}: the plugin's check failed: {describe_error(error)}") from None
    if problems:
        text = problems[0].line.removeprefix(f"gateways.{gateway.name}").removeprefix(".").removeprefix(": ")
        raise ChoiceError(f"{gateway.option}: {text}")


def _classes(app: Services) -> dict[str, type[Any]]:
    return {name: one.settings for name, one in gateways(app.plugins).items() if hasattr(one, "settings")}


def _added(path: str, text: str, choices: Choices, classes: Mapping[str, type[Any]]) -> str:
    """Return the text with what it lacks of the choices."""
    file = tomllib.loads(text)
    gateways = file.get("gateways", {})
    _check_escalation(choices, gateways)
    wanted = tomllib.loads(new_tables(choices, classes))
    agents: list[dict[str, Any]] = file.get("agents", [])
    (agent,) = wanted["agents"]
    place = next((index for index, one in enumerate(agents) if one["id"] == choices.agent), None)
    if place is not None and not _says(agents[place], agent):
        line = lines_of(text).get(f"agents[{place}].id")
        raise ChoiceError(
            f"--name: found {choices.agent!r}, which is another agent in {path}:{line}; allowed: a name that is new, "
            "or change that agent in the file by hand"
        )
    for name, table in wanted.get("gateways", {}).items():
        if name in gateways and gateways[name] != table:
            raise ChoiceError(
                f"--name: {path} has another [gateways.{name}] already; allowed: a name that no gateway has, "
                "or change that gateway in the file by hand"
            )
    if place is None:
        _check_reachable(path, agents, choices)
    tables = new_tables(choices, classes, with_agent=place is None, known=gateways)
    try:
        if tables:
            text = add_tables(text, tables, before=("agents",) if place is None and choices.sessions else ())
        if choices.preset:
            rules = file.get("approvals", {}).get("rules", [])
            if missing := preset_text(choices.preset, {(one["tool"], one["decide"]) for one in rules}):
                text = add_tables(text, missing)
        if choices.escalate_to:
            text = set_value(text, ("answer", "escalate_to"), choices.escalate_to)
    except TomlEditError as error:
        raise edit.ConfigEditError(f"{path}: cannot be changed by a program as it is written; {error}") from None
    return text


def _says(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an agent of the file is the one that is asked for."""
    empty: dict[str, Any] = {"sessions": [], "gateway": "inbox", "kind": "agent"}
    return all(there.get(key, empty.get(key)) == value for key, value in wanted.items())


def _check_escalation(choices: Choices, gateways: Mapping[str, Any]) -> None:
    if isinstance(choices.escalation, str) and choices.escalation and choices.escalation not in gateways:
        known = ", ".join(sorted(gateways)) or "none"
        hint = did_you_mean(choices.escalation, gateways, f"there are: {known}")
        raise ChoiceError(f"--escalate-to: found {choices.escalation!r}, which is not a gateway of config.toml; {hint}")


def _check_reachable(path: str, agents: list[dict[str, Any]], choices: Choices) -> None:
    """Refuse an agent for all sessions behind one that takes them all."""
    for agent in agents:
        globs = agent.get("sessions", [])
        takes_all = not globs or any(glob in ("*", "**") for glob in globs)
        if not choices.sessions and takes_all and not agent.get("workdirs") and agent.get("enabled", True):
            raise ChoiceError(
                f"--sessions: not given, and the agent {agent['id']!r} of {path} takes all sessions already; allowed: "
                "globs on the sessions that the new agent is to have, or change that agent in the file by hand"
            )
