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
from hookrouter._config.schema import TABLES, keys_of, structure
from hookrouter._config.validation import Fault, Problem, problems_of, unknown_key
from hookrouter.config import FILES, INBOX, LAST, ORDER, STRICT, StorageConfig
from hookrouter.storage.own_file import is_out_of_means, read_trusted
from hookrouter.util.text import closest, describe_value
from hookrouter.util.value import NO_ITEMS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from hookrouter._config.schema import ConfigFile
    from hookrouter.config import ApprovalRule, Config, PluginConfig

__all__ = ["decoded", "examine", "parse", "read", "survey", "survey_project"]

PLUGINS, SETTINGS = "plugins", "settings"
APPROVALS, RULES = "approvals", "rules"

_DEEPEST = 100
_TOO_DEEP = f"not TOML: nested too deeply; allowed: {_DEEPEST} levels"


def read(path: str, last_good: Config, tables: Callable[[], Mapping[str, str]] | None = None) -> Config:
    """Return what a ``config.toml`` says: what is wrong is in ``problems``. Raises OSError if it cannot be known.

    Of a file with problems nothing is used but what makes hookrouter stricter: ``on_error = "closed"`` and
    ``enabled = false`` of plugins. All else is as ``last_good`` says, the config of the last file without problems.
    ``tables`` is asked for those that plugins declare if the file has some that hookrouter does not.
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
            declared = NO_ITEMS if tables is None or raw.keys() <= TABLES.keys() else tables()
            config, problems = _check(raw, declared)
            if config is not None:
                return config
            raw = _moved(raw, declared)
    name = os.path.basename(path)
    return salvaged(last_good, raw, content)._with(problems=tuple(f"{name}: {problem.line}" for problem in problems))


def decoded(content: bytes) -> str:
    """Return the text of a file, without the byte order mark that some editors write. Raises UnicodeDecodeError."""
    return content.decode("utf-8-sig")


def parse(content: bytes) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Return what a file holds, or None and why it is no TOML."""
    try:
        raw = tomllib.loads(decoded(content))
        if not _is_too_deep(raw):
            return raw, []
        text = _TOO_DEEP
    except UnicodeDecodeError as error:
        text = f"found a byte that is not UTF-8 at position {error.start}; allowed: TOML in UTF-8"
    except tomllib.TOMLDecodeError as error:
        text = f"not TOML: {error}"
    except ValueError:
        # Python does not read a number of thousands of digits, and its parser lets that through as it is.
        text = "not TOML: found a number of too many digits; allowed: whole numbers of 64 bits"
    except RecursionError:
        text = _TOO_DEEP
    return None, [Problem("", text)]


def _is_too_deep(raw: Mapping[str, object]) -> bool:
    """Whether tables and lists are nested deeper than all that looks at them can follow: dotted keys may be."""
    level: list[object] = [raw]
    for _ in range(_DEEPEST):
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
        if not level:
            return False
    return True


def examine(content: bytes, tables: Mapping[str, str] = NO_ITEMS) -> list[Problem]:
    """Return what is wrong with the content of a ``config.toml``, all of it at once."""
    return survey(content, tables)[0]


def survey(content: bytes, tables: Mapping[str, str] = NO_ITEMS) -> tuple[list[Problem], Config | None]:
    """Return what is wrong with the content of a ``config.toml``, all of it at once, and what it says.

    ``tables`` holds those that plugins declare, each with the plugin's name. Of a file with problems: what those keys
    say that can be read; None if none can.
    """
    raw, problems = parse(content)
    if raw is None:
        return problems, None
    config, problems = _check(raw, tables)
    if config is None and (rest := readable(_moved(raw, tables))) is not None:
        config = rest.value()
    return problems, config


def survey_project(
    content: bytes, names: Collection[str]
) -> tuple[list[Problem], Mapping[str, PluginConfig], tuple[ApprovalRule, ...]]:
    """Return what is wrong with the ``config.toml`` of a project, all of it at once, and its tables and rules.

    ``names`` are the project's own plugins. Their tables, and rules that refuse or leave to a person, are all that the
    file may have: it is other people's.
    """
    raw, problems = parse(content)
    if raw is None:
        return problems, NO_ITEMS, ()
    named = ", ".join(sorted(names)) or "it has none"
    allowed = f"[[{APPROVALS}.{RULES}]], and [plugins.NAME] of its own plugins: {named}"

    def kept(table: object, known: Collection[str], key: str = "") -> dict[str, Any]:
        """Return what a table may have; what else it has is a problem."""
        if not isinstance(table, dict):
            problems.append(Problem(key, f"found no table; allowed: {allowed}"))
            return {}
        before = f"{key}." if key else ""
        text = f"a project's config.toml may not set it; allowed: {allowed}"
        problems.extend(Problem(f"{before}{name}", text) for name in table.keys() - known)
        return {name: value for name, value in table.items() if name in known}

    kept(raw, (PLUGINS, APPROVALS))
    own = kept(raw.get(PLUGINS, {}), names, PLUGINS)
    approvals = kept(raw.get(APPROVALS, {}), (RULES,), APPROVALS)
    if isinstance(rules := approvals.get(RULES), list):
        approvals[RULES] = [_strict_rule(rule, f"{APPROVALS}.{RULES}[{at}]", problems) for at, rule in enumerate(rules)]
    config, wrong = _checked({PLUGINS: own, APPROVALS: approvals})
    problems = sorted([*problems, *wrong])
    if config is None or problems:
        return problems, NO_ITEMS, ()
    return [], {name: config.plugins[name] for name in own}, config.approvals.rules


def _strict_rule(rule: object, key: str, problems: list[Problem]) -> object:
    """Return a project's rule for the check of any rule, without what is wrong for a project's alone."""
    if not isinstance(rule, dict):
        return rule
    if "ask" in rule:
        problems.append(Problem(f"{key}.ask", "a project's rule may not set it; allowed: tool and decide"))
    decide = rule.get("decide", STRICT[0])
    if decide not in STRICT:
        fault = Fault(describe_value(decide), f"{' or '.join(STRICT)}: a project's rule only makes stricter")
        problems.append(_problem(f"{key}.decide", fault))
        rule = {**rule, "decide": STRICT[0]}
    return {name: value for name, value in rule.items() if name != "ask"}


def _moved(raw: Mapping[str, object], tables: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a file with the tables of plugins where the settings of all plugins stand."""
    rest = {name: table for name, table in raw.items() if name not in tables}
    plugins = raw.get(PLUGINS, {})
    if len(rest) == len(raw) or not isinstance(plugins, dict):
        return rest
    moved = dict(plugins)
    for name in tables.keys() & raw.keys():
        entry = plugins.get(tables[name], {})
        # One that is no table is a mistake that must show.
        moved[tables[name]] = {**entry, SETTINGS: raw[name]} if isinstance(entry, dict) else entry
    return {**rest, PLUGINS: moved}


def _in_place(problem: Problem, raw: Mapping[str, object], tables: Mapping[str, str]) -> Problem:
    """Return a problem of a table that was moved with the key that the file has."""
    for name in tables.keys() & raw.keys():
        key = f"{PLUGINS}.{tables[name]}.{SETTINGS}"
        if problem.key == key or problem.key.startswith(f"{key}."):
            return problem._replace(key=f"{name}{problem.key.removeprefix(key)}")
    return problem


def _check(raw: Mapping[str, object], tables: Mapping[str, str]) -> tuple[Config | None, list[Problem]]:
    """Return the config, or None and what is wrong."""
    config, problems = _checked(_moved(raw, tables))
    twice = [name for name in sorted(tables.keys() & raw.keys()) if _has_settings(raw, tables[name])]
    unknown = {name: unknown_key(name, name, [*TABLES, *tables]) for name in raw.keys() - TABLES.keys() - tables.keys()}
    problems = [unknown.get(problem.key) or _in_place(problem, raw, tables) for problem in problems]
    problems += [
        Problem(f"{PLUGINS}.{tables[name]}.{SETTINGS}", f"found beside [{name}]; allowed: [{name}] alone")
        for name in twice
    ]
    return (None, problems) if problems else (config, [])


def _has_settings(raw: Mapping[str, object], plugin: str) -> bool:
    plugins = raw.get(PLUGINS)
    table = plugins.get(plugin) if isinstance(plugins, dict) else None
    return isinstance(table, dict) and SETTINGS in table


def _checked(raw: Mapping[str, object]) -> tuple[Config | None, list[Problem]]:
    try:
        file = structure(raw)
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
        key, name = f"agents[{index}]", agent.agent.id
        if name in first:
            text = f"found {name!r} again; agents[{first[name]}] has it already"
            problems.append(Problem(f"{key}.id", text, repr(name)))
        first.setdefault(name, index)
        if agent.gateway is not None and agent.gateways is not None:
            problems.append(
                _problem(key, Fault("gateway and gateways", "gateway for one, or gateways for several in order"))
            )
        names = ["gateway"] if agent.gateways is None else [f"gateways[{at}]" for at in range(len(agent.route))]
        for name, gateway in zip(names, agent.route, strict=True):
            if gateway not in gateways:
                problems.append(_problem(f"{key}.{name}", _unknown(gateway, gateways)))
        if len(set(agent.route)) != len(agent.route):
            problems.append(_problem(f"{key}.gateways", Fault(repr(list(agent.route)), "each gateway once")))
    if file.answer.escalate_to and file.answer.escalate_to not in gateways:
        problems.append(_problem("answer.escalate_to", _unknown(file.answer.escalate_to, gateways)))
    problems += [_problem(key, fault) for key, fault in _faults(file)]
    for index, name in enumerate(file.plugins.last):
        if name in file.plugins.order:
            fault = Fault(repr(name), f"a plugin in {ORDER} or in {LAST}, not in both")
            problems.append(_problem(f"plugins.{LAST}[{index}]", fault))
    return problems


def _faults(file: ConfigFile) -> Iterator[tuple[str, Fault]]:
    """Yield each key that is right by itself and wrong beside the others of its table, with what is wrong."""
    storage = file.storage
    known = keys_of(StorageConfig)
    for key in storage.settings if storage.engine == FILES else ():
        allowed = f"{', '.join(known)}; others only with another engine than {FILES}"
        yield f"storage.{key}", Fault(repr(key), allowed, closest(key, known) or "")


def _problem(key: str, fault: Fault) -> Problem:
    # It is about keys and names, never about a value that must not be shown.
    return Problem(key, str(fault), fault.found, fault.allowed, fault.suggestion)


def _unknown(name: str, gateways: Iterable[str]) -> Fault:
    return Fault(repr(name), ", ".join(sorted(gateways)), closest(name, gateways))
