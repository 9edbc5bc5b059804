"""Reads and checks ``config.toml``.

Not imported on the way of ``hookrouter run`` unless the file has changed (:mod:`hookrouter._config.cache`).
"""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

import cattrs

from hookrouter._config.readable import readable
from hookrouter._config.salvage import salvaged
from hookrouter._config.schema import CONVERTER, ConfigFile
from hookrouter._config.validation import Fault, Problem, problems_of
from hookrouter.config import INBOX, LAST, ORDER
from hookrouter.storage.own_file import is_out_of_means, read_trusted
from hookrouter.util.text import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.config import Config

__all__ = ["decoded", "examine", "parse", "read", "survey"]

_TOO_DEEP = "not TOML: nested too deeply"


def read(path: str, last_good: Config) -> Config:
    """Return what a ``config.toml`` says: what is wrong is in ``problems``. Raises OSError if it cannot be known.

    Of a file with problems nothing is used but what makes hookrouter stricter: ``on_error = "closed"`` and
    ``enabled = false`` of plugins. All else is as ``last_good`` says, the config of the last file without problems.
    """
    content = b""
    raw: Mapping[str, object] | None = None
    try:
        content = read_trusted(path)
    except OSError as error:
        if is_out_of_means(error):
            raise
        problems = [Problem("", f"cannot be read: {error.strerror or error}")]
    else:
        raw, problems = parse(content)
        if raw is not None:
            config, problems = _check(raw)
            if config is not None:
                return config
    name = os.path.basename(path)
    return salvaged(last_good, raw, content)._with(problems=tuple(f"{name}: {problem.line}" for problem in problems))


def decoded(content: bytes) -> str:
    """Return the text of a file, without the byte order mark that some editors write. Raises UnicodeDecodeError."""
    return content.decode("utf-8-sig")


def parse(content: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Return what a file holds, or None and why it is no TOML."""
    try:
        return tomllib.loads(decoded(content)), []
    except UnicodeDecodeError as error:
        text = f"found a byte that is not UTF-8 at position {error.start}; allowed: TOML in UTF-8"
    except tomllib.TOMLDecodeError as error:
        text = f"not TOML: {error}"
    except RecursionError:
        text = _TOO_DEEP
    return None, [Problem("", text)]


def examine(content: bytes) -> list[Problem]:
    """Return what is wrong with the content of a ``config.toml``, all of it at once."""
    return survey(content)[0]


def survey(content: bytes) -> tuple[list[Problem], Config | None]:
    """Return what is wrong with the content of a ``config.toml``, all of it at once, and what it says.

    Of a file with problems: what those keys say that can be read; None if none can.
    """
    raw, problems = parse(content)
    if raw is None:
        return problems, None
    config, problems = _check(raw)
    if config is None and (rest := readable(raw)) is not None:
        config = rest.value()
    return problems, config


def _check(raw: Mapping[str, object]) -> tuple[Config | None, list[Problem]]:
    """Return the config, or None and what is wrong."""
    try:
        file = CONVERTER.structure(raw, ConfigFile)
    except (cattrs.BaseValidationError, cattrs.ForbiddenExtraKeysError) as error:
        rest = readable(raw)
        return None, problems_of(error) + ([] if rest is None else _cross_check(rest, _gateway_names(raw)))
    except RecursionError:
        return None, [Problem("", _TOO_DEEP)]
    problems = _cross_check(file, file.gateways)
    return (None, problems) if problems else (file.value(), [])


def _gateway_names(raw: Mapping[str, object]) -> list[str]:
    tables = raw.get("gateways")
    return list(tables) if isinstance(tables, dict) else []


def _cross_check(file: ConfigFile, gateway_names: Iterable[str]) -> list[Problem]:
    """Return what is wrong between tables that are each right."""
    problems = []
    gateways = {INBOX, *gateway_names}
    first: dict[str, int] = {}
    for index, agent in enumerate(file.agents):
        key = f"agents[{index}]"
        if agent.id in first:
            text = f"found {agent.id!r} again; agents[{first[agent.id]}] has it already"
            problems.append(Problem(f"{key}.id", text, repr(agent.id)))
        first.setdefault(agent.id, index)
        if agent.gateway is not None and agent.gateways is not None:
            problems.append(
                _problem(key, Fault("gateway and gateways", "gateway for one, or gateways for several in order"))
            )
        names = ["gateway"] if agent.gateways is None else [f"gateways[{at}]" for at in range(len(agent.route()))]
        for name, gateway in zip(names, agent.route(), strict=True):
            if gateway not in gateways:
                problems.append(_problem(f"{key}.{name}", _unknown(gateway, gateways)))
        if len(set(agent.route())) != len(agent.route()):
            problems.append(_problem(f"{key}.gateways", Fault(repr(list(agent.route())), "each gateway once")))
    if file.answer.escalate_to and file.answer.escalate_to not in gateways:
        problems.append(_problem("answer.escalate_to", _unknown(file.answer.escalate_to, gateways)))
    problems += [_problem(f"page.{key}", fault) for key, fault in file.page.faults()]
    problems += [_problem(f"monitor.{key}", fault) for key, fault in file.monitor.faults()]
    problems += [_problem(f"storage.{key}", fault) for key, fault in file.storage.faults()]
    for index, name in enumerate(file.plugins.last):
        if name in file.plugins.order:
            fault = Fault(repr(name), f"a plugin in {ORDER} or in {LAST}, not in both")
            problems.append(_problem(f"plugins.{LAST}[{index}]", fault))
    return problems


def _problem(key: str, fault: Fault) -> Problem:
    # It is about keys and names, never about a value that must not be shown.
    return Problem(key, str(fault), fault.found, fault.allowed, fault.suggestion)


def _unknown(name: str, gateways: Iterable[str]) -> Fault:
    return Fault(repr(name), ", ".join(sorted(gateways)), closest(name, gateways))
