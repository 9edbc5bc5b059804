"""What ``config.toml`` may say: every table and key with its type, default, meaning and an example.

All of that stands once, at the fields of :mod:`hookrouter.config`. A field ``Annotated[TYPE, CHECK, EXAMPLE]`` is a key
of the file: with what is allowed for it (:mod:`hookrouter._config.checks`) and a value as TOML has it; the text below
it says what it means. The reader checks a file against that, and the reference of the configuration is generated from
:func:`schema`. What the file says in another way than the value does is declared here.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import attrs
import cattrs

from hookrouter import config as values
from hookrouter._config.checks import check_of
from hookrouter._config.validation import each, plain, refuse_secret, table_hook, wrong
from hookrouter.util.value import NO_ITEMS, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from hookrouter._config.checks import Check

    Read = Callable[[Any], Any]
    """Returns a value of the file as it is kept. Raises what :data:`hookrouter._config.validation.FAULTS` names."""

__all__ = [
    "HOLDING",
    "SCRIPTS",
    "TABLES",
    "AgentTable",
    "ConfigFile",
    "PluginTables",
    "SchemaKey",
    "SchemaTable",
    "keys_of",
    "plugin_table",
    "schema",
    "structure",
]

V = TypeVar("V", bound=Value)

HOLDING = values.HOLDING
"""The plugin that holds what the rules refuse."""

SCRIPTS = "scripts"
"""The plugin that runs the commands of ``[[scripts]]``."""


class SchemaKey(NamedTuple):
    """One key of a table."""

    name: str
    type: str
    """What is allowed, in words."""
    required: bool
    default: object
    """As JSON; None if the key is required, or if leaving it out means something that no value says."""
    help: str
    """What it means, in one or two sentences."""
    example: str
    """A value as it is written in TOML."""


class SchemaTable(NamedTuple):
    """One kind of table."""

    header: str
    """As it is written in TOML, with NAME for a name of the user's choice: ``[[agents]]``, ``[plugins.NAME]``."""
    help: str
    keys: tuple[SchemaKey, ...]
    others: str = ""
    """What other keys the table takes; empty for none."""


class _Key(NamedTuple):
    """How a key is declared."""

    check: Check
    example: str
    help: str | tuple[type[Value], str]
    """What it means, or the field that has it as its text."""
    required: bool = False
    default: object = None

    def described(self, name: str) -> SchemaKey:
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        meaning = self.help if isinstance(self.help, str) else _text_of(*self.help)
        return SchemaKey(name, self.check.words, self.required, default, meaning, self.example)


def keys_of(kind: type[Value]) -> dict[str, _Key]:
    """Return the keys that the fields of a class of values declare, in their order."""
    found = {}
    for name in kind._fields:
        if (declared := _declared(kind.__annotations__[name])) is not None:
            check, example = declared
            is_required = name in kind._required
            default = None if is_required else getattr(kind, name)
            found[name] = _Key(check_of(check), example, (kind, name), is_required, default)
    return found


def _declared(annotation: str) -> Any:
    """Return what an annotation says beside the type; None if its field is no key."""
    node = ast.parse(annotation, mode="eval").body
    if not annotation.startswith("Annotated[") or not isinstance(node, ast.Subscript):
        return None
    return [ast.literal_eval(one) for one in node.slice.elts[1:]] if isinstance(node.slice, ast.Tuple) else None


def _text_of(kind: type[Value], field: str = "") -> str:
    """Return the text of a class, or of a field, as it stands in the source."""
    return _texts(sys.modules[kind.__module__])[kind.__name__][field]


@functools.cache
def _texts(module: ModuleType) -> dict[str, dict[str, str]]:
    """Return the texts of the classes of a module, and of their fields: those of the class under the empty name."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = texts = {"": _joined(ast.get_docstring(node) or "")}
            for field, below in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                    texts[ast.unparse(field.target)] = _joined(str(ast.literal_eval(below.value)))
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


_CONVERTER = cattrs.Converter(forbid_extra_keys=True)


def _table(name: str, reads: Mapping[str, Read], required: tuple[str, ...] = ()) -> Callable[[Any], dict[str, Any]]:
    """Return what reads a table, and returns those keys that stand in it."""
    fields = {key: attrs.field(default=attrs.NOTHING if key in required else None) for key in reads}
    kind = attrs.make_class(name, fields, kw_only=True)
    hook = table_hook(kind, _CONVERTER, reads)

    def read(value: Any) -> dict[str, Any]:
        found = hook(value, kind)
        return {key: getattr(found, key) for key in value}

    return read


def _keyed(name: str, keys: Mapping[str, _Key], **others: Read) -> Callable[[Any], dict[str, Any]]:
    """Return the same for keys, and for ``others`` behind them."""
    reads = {key: one.check.read for key, one in keys.items()}
    return _table(name, {**reads, **others}, tuple(key for key, one in keys.items() if one.required))


def _reader(kind: type[V], **others: Read) -> Callable[[Any], V]:
    """Return what reads a table as a class of values."""
    read = _keyed(kind.__name__, keys_of(kind), **others)
    return lambda value: kind(**read(value))


def _each(read: Read) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads a list of tables."""

    def of_tables(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise wrong(value, "a list of tables")
        return tuple(each(enumerate(value), read, list))

    return of_tables


def _named(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise wrong(value, "tables with a name each")
    return value


_AGENT_KEYS = keys_of(values.Agent)
_GATEWAY = _AGENT_KEYS["gateway"]._replace(default=None)
_GATEWAYS = _Key(
    check_of("gateways"),
    '["chat", "inbox"]',
    "Instead of `gateway`: several, in order; the next one is asked if one fails.",
)


def _agent_keys() -> Iterator[tuple[str, _Key]]:
    """Yield the keys of an agent: the file names its gateways in one of two ways."""
    for name, key in _AGENT_KEYS.items():
        yield (name, _GATEWAY) if name == "gateway" else (name, key)
        if name == "gateway":
            yield "gateways", _GATEWAYS


class AgentTable(NamedTuple):
    """An agent, and how the file names its gateways."""

    agent: values.Agent
    gateway: str | None
    gateways: tuple[str, ...] | None

    @property
    def route(self) -> tuple[str, ...]:
        """The names of the agent's gateways, in order."""
        return (self.agent.gateway, *self.agent.fallbacks)


_read_agent = _keyed("Agent", dict(_agent_keys()))


def _agent(value: Any) -> AgentTable:
    found = _read_agent(value)
    gateway, gateways = found.pop("gateway", None), found.pop("gateways", None)
    first, *others = gateways or (gateway or values.INBOX,)
    return AgentTable(values.Agent(**found, gateway=first, fallbacks=tuple(others)), gateway, gateways)


def _gateways(value: Any) -> dict[str, dict[str, object]]:
    return dict(zip(_named(value), each(value.items(), _gateway, dict), strict=True))


def _gateway(value: object) -> dict[str, object]:
    table: dict[str, object] = check_of("table").read(value)
    each(table.items(), _no_secret, dict, keyed=True)
    if "type" not in table:
        raise ValueError('type is missing; allowed: the name of a gateway plugin\'s type, such as "inbox"')
    each([("type", table["type"])], check_of("text").read, dict)
    return table


def _no_secret(entry: object) -> None:
    """Refuse what is a secret, or may be one, in a gateway's table and the tables in it. Never shows the value."""
    key, value = entry if isinstance(entry, tuple) else ("", entry)
    refuse_secret(key, value)
    if isinstance(value, dict):
        each(value.items(), _no_secret, dict, keyed=True)
    elif isinstance(value, list):
        each(enumerate(value), _no_secret, dict)


_read_plugin = _keyed("PluginConfig", keys_of(values.PluginConfig))


def plugin_table(value: Any) -> values.PluginConfig:
    """Return the table of a plugin as values."""
    found = _read_plugin(value)
    return values.PluginConfig(**found, is_asked_for=found.get("enabled", False))


_CONFIG_KEYS = keys_of(values.Config)
_PLUGIN_KEYS = {
    values.ORDER: _CONFIG_KEYS["plugin_order"],
    values.LAST: _CONFIG_KEYS["plugin_last"],
    values.GUARDS_ALONE: _CONFIG_KEYS["guards_alone"],
}
_JOURNAL_KEYS = {"payloads": _CONFIG_KEYS["journal_payloads"]}


class PluginTables(NamedTuple):
    """In which order plugins are called, and how each is run."""

    order: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    guards_alone: bool = False
    tables: Mapping[str, values.PluginConfig] = NO_ITEMS


def _plugins(value: Any) -> PluginTables:
    def one(entry: tuple[str, Any]) -> Any:
        name, table = entry
        return _PLUGIN_KEYS[name].check.read(table) if name in _PLUGIN_KEYS else plugin_table(table)

    tables = dict(zip(_named(value), each(value.items(), one, dict, keyed=True), strict=True))
    return PluginTables(**{name: tables.pop(name) for name in _PLUGIN_KEYS if name in tables}, tables=tables)


def _storage(value: Any) -> values.StorageConfig:
    if not isinstance(value, dict):
        raise wrong(value, "a table")
    keys = keys_of(values.StorageConfig)

    def one(entry: tuple[str, Any]) -> Any:
        name, item = entry
        if name in keys:
            return keys[name].check.read(item)
        _no_secret(entry)
        return plain(item)

    read = dict(zip(value, each(value.items(), one, dict, keyed=True), strict=True))
    return values.StorageConfig(**{name: read.pop(name) for name in keys if name in read}, settings=read)


TABLES: Mapping[str, Read] = {
    "agents": _each(_agent),
    "gateways": _gateways,
    "answer": _reader(values.AnswerConfig),
    "approvals": _reader(values.ApprovalsConfig, rules=_each(_reader(values.ApprovalRule))),
    "sessions": _reader(values.SessionsConfig),
    "journal": _keyed("Journal", _JOURNAL_KEYS),
    "serve": _reader(values.ServeConfig),
    "storage": _storage,
    "scripts": _each(_reader(values.Script)),
    "plugins": _plugins,
}
"""The tables of the file, each with what reads it."""


class ConfigFile(NamedTuple):
    """The whole file: what each of :data:`TABLES` says, or the defaults."""

    agents: tuple[AgentTable, ...] = ()
    gateways: Mapping[str, dict[str, object]] = NO_ITEMS
    answer: values.AnswerConfig = values.AnswerConfig()
    approvals: values.ApprovalsConfig = values.ApprovalsConfig()
    sessions: values.SessionsConfig = values.SessionsConfig()
    journal: Mapping[str, bool] = NO_ITEMS
    serve: values.ServeConfig = values.ServeConfig()
    storage: values.StorageConfig = values.StorageConfig()
    scripts: tuple[values.Script, ...] = ()
    plugins: PluginTables = PluginTables()

    def value(self) -> values.Config:
        """Return the configuration."""
        return values.Config(
            agents=tuple(one.agent for one in self.agents) or (values.IMPLICIT_AGENT,),
            gateways=self.gateways,
            answer=self.answer,
            approvals=self.approvals,
            sessions=self.sessions,
            plugins=self._plugins(),
            plugin_order=self.plugins.order,
            plugin_last=self._last(),
            guards_alone=self.plugins.guards_alone,
            journal_payloads=self.journal.get("payloads", False),
            serve=self.serve,
            storage=self.storage,
            scripts=self.scripts,
        )

    def _last(self) -> tuple[str, ...]:
        placed = HOLDING in (*self.plugins.order, *self.plugins.last)
        # It must see what the others have made of a call.
        return self.plugins.last if placed or not self.approvals.rules else (*self.plugins.last, HOLDING)

    def _plugins(self) -> dict[str, values.PluginConfig]:
        plugins = dict(self.plugins.tables)
        if any(script.on_error == "closed" for script in self.scripts):
            plugins[SCRIPTS] = plugins.get(SCRIPTS, values.PluginConfig())._with(on_error="closed")
        if any(rule.decide in ("deny", "person") for rule in self.approvals.rules):
            # What refuses must not let a call by because it cannot say so.
            plugins[HOLDING] = plugins.get(HOLDING, values.PluginConfig())._with(on_error="closed")
        return plugins


_read_file = _table("ConfigFile", TABLES)


def structure(raw: Mapping[str, object]) -> ConfigFile:
    """Return what :mod:`tomllib` returned as tables. Raises what :data:`hookrouter._config.validation.FAULTS` names."""
    return ConfigFile(**_read_file(raw))


def schema() -> Iterator[SchemaTable]:
    """Yield every kind of table, with its keys in the order of their declaration."""
    yield _described("[[agents]]", _text_of(values.Agent), dict(_agent_keys()))
    yield SchemaTable(
        "[gateways.NAME]",
        "A way to wake an agent or to tell a person, under a name of your choice. The gateway `inbox` always exists.",
        (
            _Key(
                check_of("text"),
                '"webhook"',
                "The type of the gateway, which a plugin offers; `hookrouter config check` lists those that there are.",
                required=True,
            ).described("type"),
        ),
        "the gateway's own; no secret goes there itself, only `KEY_env` or `KEY_file`, which name where it is",
    )
    yield _of_class("[answer]", values.AnswerConfig)
    yield _of_class("[approvals]", values.ApprovalsConfig)
    yield _of_class("[[approvals.rules]]", values.ApprovalRule)
    yield _of_class("[sessions]", values.SessionsConfig)
    yield _described(
        "[plugins]",
        "In which order plugins are called. Those that neither list names come between the two, by name. The first one "
        "sees a call as Claude Code sends it, the last one sees what the others have made of its input.",
        _PLUGIN_KEYS,
    )
    yield _of_class("[plugins.NAME]", values.PluginConfig)
    yield _described("[journal]", "What the journal keeps.", _JOURNAL_KEYS)
    yield _of_class("[serve]", values.ServeConfig)
    yield _of_class("[[scripts]]", values.Script)
    storage = _of_class("[storage]", values.StorageConfig)
    yield storage._replace(others="the engine's own; no secret goes there itself, only where it is")


def _of_class(header: str, kind: type[Value]) -> SchemaTable:
    return _described(header, _text_of(kind), keys_of(kind))


def _described(header: str, meaning: str, keys: Mapping[str, _Key]) -> SchemaTable:
    return SchemaTable(header, meaning, tuple(key.described(name) for name, key in keys.items()))
