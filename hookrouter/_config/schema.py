"""What ``config.toml`` may say: every table and key with its type, default, meaning and an example.

The one place that knows this: the reader checks a file against it, ``hookrouter config show`` goes by it, and the
reference of the configuration is generated from :func:`schema`. Defaults are those of the values in
:mod:`hookrouter.config`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_origin

import attrs
import cattrs

from hookrouter import config as values
from hookrouter._config.validation import Fault, each, plain, refuse_secret, table_hook, wrong
from hookrouter.util.text import closest
from hookrouter.util.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "CONVERTER",
    "HOLDING",
    "AgentTable",
    "AnswerTable",
    "ApprovalRuleTable",
    "ApprovalsTable",
    "ConfigFile",
    "JournalTable",
    "MonitorTable",
    "PageTable",
    "PluginTable",
    "PluginTables",
    "SchemaKey",
    "SchemaTable",
    "ServeTable",
    "SessionsTable",
    "StorageTable",
    "plugin_config",
    "schema",
]

V = TypeVar("V", bound=Value)

_WAKE_KINDS = (*values.DIALOG_KINDS, *values.SESSION_KINDS)
_WAKE_WORDS = ", ".join([f'"{values.EVERY_KIND}" for all dialogs', *_WAKE_KINDS])

_MAX_SECONDS = 86400
_MAX_COUNT = 100
_MAX_PORT = 65535
_LONGEST_MACHINE = 64
_MACHINE_MARKS = str.maketrans("", "", "._-")
_OWN_HOSTS = ("127.0.0.1", "[::1]", "localhost")


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


class _Check(NamedTuple):
    """What is allowed for a key."""

    words: str
    read: Callable[[Any], Any]
    """Returns the value as it is kept. Raises what :data:`hookrouter._config.validation.FAULTS` names."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(value, _TEXT.words)
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong(value, _FLAG.words)
    return value


def _folder(value: object) -> str:
    text = _text(value)
    if not text.startswith(("/", "~/", "*")) and text != "~":
        raise wrong(value, "an absolute folder, or one that begins with ~/ or *")
    return text


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _MAX_SECONDS:
        raise wrong(value, _SECONDS.words)
    return float(value)


def _patience(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MAX_SECONDS:
        raise wrong(value, _PATIENCE.words)
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        raise wrong(value, _COUNT.words)
    return value


def _on_error(value: object) -> str:
    if value not in ("open", "closed"):
        raise wrong(value, _ON_ERROR.words)
    return str(value)


def _reader(value: object) -> str:
    if value not in (values.AGENT, values.PERSON):
        raise wrong(value, _READER.words)
    return str(value)


def _wake_kind(value: object) -> str:
    """Return a kind that wakes an agent. A plugin's own may not look like a typing error in one of hookrouter's."""
    if value == values.EVERY_KIND or value in _WAKE_KINDS:
        return str(value)
    if not isinstance(value, str) or not _is_kind(value) or closest(value, _WAKE_KINDS):
        raise wrong(value, f"{_WAKE_WORDS}, or the kind of a dialog that a plugin brings")
    return value


def _is_kind(value: str) -> bool:
    return value.isascii() and value[:1].isalpha() and value.replace("_", "").replace("-", "").isalnum()


def _decider(value: object) -> str:
    if value not in ("allow", "deny", "agent", "person"):
        raise wrong(value, _DECIDER.words)
    return str(value)


def _asking(value: object) -> str:
    if value not in ("client", "always"):
        raise wrong(value, _ASK.words)
    return str(value)


def _rule(value: object) -> str:
    from hookrouter.permission_rules.rule import RuleError, parse

    text = _text(value)
    try:
        parse(text)
    except RuleError as error:
        raise Fault(repr(text), str(error).removeprefix("allowed: ")) from None
    return text


def _loopback(value: object) -> str:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if host not in _OWN_HOSTS or not (port.isascii() and port.isdigit()):
        raise wrong(value, _LOOPBACK.words)
    if not 1 <= int(port) <= _MAX_PORT:
        raise wrong(value, _LOOPBACK.words)
    return str(value)


def _address(value: object) -> str:
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not host or (":" in host and not host.startswith("[")) or not (port.isascii() and port.isdigit()):
        raise wrong(value, _ADDRESS.words)
    if not 1 <= int(port) <= _MAX_PORT or not all(character.isprintable() and character != "/" for character in host):
        raise wrong(value, _ADDRESS.words)
    return str(value)


def _page_url(value: object) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        port = parts.port
    except ValueError:
        raise wrong(value, _PAGE_URL.words) from None
    text = str(value)
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not is_plain:
        raise wrong(value, _PAGE_URL.words)
    if parts.path not in ("", "/") or "@" in parts.netloc or port == 0:
        raise wrong(value, _PAGE_URL.words)
    # As browsers write it: in small letters, and without the port that goes without saying.
    return values.origin_at(parts.scheme, parts.netloc.removesuffix(":"))


def _header(value: object) -> str:
    text = _text(value)
    if not (text.isascii() and text.replace("-", "").isalnum()):
        raise wrong(value, _HEADER.words)
    return text


def _file(value: object) -> str:
    text = _text(value)
    if not text.startswith(("/", "~/")):
        raise wrong(value, _FILE.words)
    return text


def _variable(value: object) -> str:
    text = _text(value)
    if not text.isascii() or not text.isidentifier():
        raise wrong(value, _VARIABLE.words)
    return text


def _machine(value: object) -> str:
    text = _text(value)
    if len(text) > _LONGEST_MACHINE or not text.isascii() or not text.translate(_MACHINE_MARKS).isalnum():
        raise wrong(value, _MACHINE.words)
    return text


def _longer(least: float, most: float, words: str) -> _Check:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise wrong(value, words)
        return float(value)

    return _Check(words, read)


def _table(value: object) -> dict[str, object]:
    table = plain(value)
    if not isinstance(table, dict):
        raise wrong(value, _TABLE.words)
    return table


def _list_of(words: str, item: Callable[[Any], Any] = _text, *, least: int = 0, once: str = "") -> _Check:
    """Return the check of a list; with ``once``, which says what, no item may come twice."""

    def read(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) < least:
            raise wrong(value, words)
        items = tuple(each(enumerate(value), item, tuple))
        if once and len(set(items)) != len(items):
            raise Fault(repr(list(items)), f"each {once} once")
        return items

    return _Check(words, read)


_TEXT = _Check("a text that is not empty", _text)
_FLAG = _Check("true or false", _flag)
_SECONDS = _Check(f"seconds, more than 0 and at most {_MAX_SECONDS}", _seconds)
_PATIENCE = _Check(f"seconds, at least 0 and at most {_MAX_SECONDS}", _patience)
_COUNT = _Check(f"a whole number, at least 0 and at most {_MAX_COUNT}", _count)
_ON_ERROR = _Check('"open" or "closed"', _on_error)
_READER = _Check('"agent" or "person"', _reader)
_DECIDER = _Check('"allow", "deny", "agent" or "person"', _decider)
_ASK = _Check('"client" or "always"', _asking)
_RULE = _Check("a permission rule, as in Claude Code's settings", _rule)
_LOOPBACK = _Check(f"127.0.0.1:PORT, with a port from 1 to {_MAX_PORT}", _loopback)
_TABLE = _Check("a table", _table)
_ADDRESS = _Check(f"HOST:PORT, with a port from 1 to {_MAX_PORT}", _address)
_PAGE_URL = _Check("http:// or https:// and a host, perhaps with a port, and no path", _page_url)
_HEADER = _Check("the name of a header: letters, digits and dashes", _header)
_FILE = _Check("an absolute path, or one that begins with ~/", _file)
_VARIABLE = _Check("the name of an environment variable", _variable)
_MACHINE = _Check(f"a name of letters, digits, dots, dashes and underscores, at most {_LONGEST_MACHINE}", _machine)
_DAYS = _longer(0.01, 366, "days, at least 0.01 and at most 366")
_HOURS = _longer(0.1, 720, "hours, at least 0.1 and at most 720")


def _key(check: _Check, meaning: str, example: str, default: Any = attrs.NOTHING) -> Any:
    """Return a field of a table."""
    return attrs.field(default=default, metadata=_about(check, meaning, example))


def _about(check: _Check, meaning: str, example: str) -> dict[str, object]:
    return {"check": check, "help": meaning, "example": example}


def _default(kind: type[Value], name: str) -> Any:
    return getattr(kind, name)


@attrs.frozen
class AgentTable:
    """Which sessions an agent answers for, and how it is woken. Of several that fit a session the first one counts;
    without any table there is one agent called default, for all sessions, which is woken by the inbox."""

    id: str = _key(_TEXT, "The agent's name, in messages and journal.", '"ops"')
    sessions: tuple[str, ...] = _key(
        _list_of("a list of texts"),
        "Globs on the session's name; empty for all sessions. Capitals count.",
        '["work-*", "deploy"]',
        _default(values.Agent, "sessions"),
    )
    workdirs: tuple[str, ...] = _key(
        _list_of("a list of folders", _folder),
        "Globs on the session's working folder, or on one above it; empty for all. `*` stays within one folder's name, "
        "`**` stands for any number of folders, `~` for your home.",
        '["~/projects/**"]',
        _default(values.Agent, "workdirs"),
    )
    enabled: bool = _key(
        _FLAG, "`false` switches the agent off: the next one that fits a session counts.", "false", True
    )
    gateway: str | None = _key(
        _TEXT,
        "The gateway that wakes the agent: `inbox`, or a name of a `[gateways.NAME]` table. Without it: `inbox`.",
        '"chat"',
        None,
    )
    gateways: tuple[str, ...] | None = _key(
        _list_of("a list of one or more gateway names", least=1),
        "Instead of `gateway`: several, in order; the next one is asked if one fails.",
        '["chat", "inbox"]',
        None,
    )
    fallback_after: float = _key(
        _SECONDS,
        "How long a gateway fails before the next one is asked too.",
        "120",
        _default(values.Agent, "fallback_after"),
    )
    kind: str = _key(
        _READER,
        "Who reads the messages: a program that decides by JSON, or a person, who gets no JSON to read.",
        '"person"',
        _default(values.Agent, "kind"),
    )

    wake_on: tuple[str, ...] = _key(
        _list_of(f"a list of {_WAKE_WORDS}, or kinds of plugins", _wake_kind, once="kind"),
        "What the agent hears of. Of a dialog that is not named it is not told: a person at the terminal decides.",
        '["question", "plan", "turn_ended"]',
        _default(values.Agent, "wake_on"),
    )

    def route(self) -> tuple[str, ...]:
        """Return the names of the agent's gateways, in order."""
        return self.gateways or (values.INBOX if self.gateway is None else self.gateway,)

    def value(self) -> values.Agent:
        """Return the agent."""
        first, *others = self.route()
        return _value(values.Agent, self, gateway=first, fallbacks=tuple(others))


@attrs.frozen
class AnswerTable:
    """How answers reach Claude Code, and when a person is reminded of a question."""

    channels: tuple[str, ...] = _key(
        _list_of("one or more channel names", least=1, once="channel"),
        "The channels by which an answer is brought, in the order in which they are tried.",
        '["keys"]',
        _default(values.AnswerConfig, "channels"),
    )
    planner: str = _key(
        _TEXT,
        "The planner that finds the keys for the keys channel.",
        '"grammar"',
        _default(values.AnswerConfig, "planner"),
    )
    terminal: str = _key(
        _TEXT,
        "The terminal backend that is asked first in which pane a session runs.",
        '"tmux"',
        _default(values.AnswerConfig, "terminal"),
    )
    wait: float = _key(
        _PATIENCE,
        "How long a hook waits for an answer beside the open dialog; after it the dialog can be answered by keys and "
        "by hand. 0: never.",
        "3600",
        _default(values.AnswerConfig, "wait"),
    )
    remind_after: float = _key(
        _PATIENCE,
        "How long after its delivery the first reminder of a question that is still open is sent. 0: no reminders. "
        "The inbox gets none: nobody would see them.",
        "1200",
        _default(values.AnswerConfig, "remind_after"),
    )
    remind_every: float = _key(
        _PATIENCE,
        "How long after a reminder the next one is sent. 0: as `remind_after`.",
        "1800",
        _default(values.AnswerConfig, "remind_every"),
    )
    reminders: int = _key(
        _COUNT, "How many reminders are sent at most.", "5", _default(values.AnswerConfig, "reminders")
    )
    escalate_after: float = _key(
        _SECONDS,
        "How long a question may be open before `escalate_to` is told, and how long an agent that took it may give no "
        "sign before `hookrouter questions` calls it silent.",
        "7200",
        _default(values.AnswerConfig, "escalate_after"),
    )
    escalate_to: str = _key(
        _TEXT,
        "The gateway that is told of a question that nobody has answered. It leads to a person, unless an entry of "
        '`[[agents]]` with `kind = "agent"` has this gateway or this id. Without it: none.',
        '"chat"',
        _default(values.AnswerConfig, "escalate_to"),
    )


@attrs.frozen
class ApprovalRuleTable:
    """Who decides on the calls that a rule is about: the first rule that is about a call counts, and without any the
    person at the terminal decides. A command line of several commands gets the strictest of what its commands get."""

    tool: str = _key(
        _RULE,
        "Which calls, as in Claude Code's permission rules: `Bash(git push:*)`, `Edit(/src/**)`, `mcp__github`, "
        "`ExitPlanMode` for plans, `Elicitation` for the forms of MCP servers, `*` for every tool.",
        '"Bash(npm run *)"',
    )
    decide: str = _key(
        _DECIDER,
        "`allow` and `deny` decide at once; `agent` asks the session's agent; `person` leaves it to a person, and no "
        "agent's answer is taken.",
        '"agent"',
    )

    ask: str = _key(
        _ASK,
        'When the agent is asked, with `decide = "agent"`: `"client"` if Claude Code asks, `"always"` in every mode.',
        '"always"',
        _default(values.ApprovalRule, "ask"),
    )

    def value(self) -> values.ApprovalRule:
        """Return the rule."""
        return _value(values.ApprovalRule, self)


@attrs.frozen
class ApprovalsTable:
    """Who decides what Claude asks permission for."""

    rows: str = _key(
        _READER,
        "Who may choose a row of a dialog of the client that no hook tells of, such as workspace trust: "
        '`"agent"`, the session\'s agent too, or `"person"`, a person alone.',
        '"agent"',
        _default(values.ApprovalsConfig, "rows"),
    )
    mirror: bool = _key(
        _FLAG,
        "Whether `hookrouter install` also writes the rules that refuse into Claude Code's own `permissions.deny`, as "
        "far as both read them alike and no rule before them decides otherwise. Those hold in every session that reads "
        "the settings file, an agent's or not.",
        "true",
        _default(values.ApprovalsConfig, "mirror"),
    )
    rules: list[ApprovalRuleTable] = attrs.field(factory=list)

    def value(self) -> values.ApprovalsConfig:
        """Return the rules."""
        return values.ApprovalsConfig(
            rules=tuple(one.value() for one in self.rules), rows=self.rows, mirror=self.mirror
        )


@attrs.frozen
class SessionsTable:
    """How prompts and commands of a session's queue (`hookrouter send`) are submitted."""

    channels: tuple[str, ...] = _key(
        _list_of("one or more channel names", least=1, once="channel"),
        "The prompt channels by which an item is submitted, in the order in which they are tried.",
        '["keys"]',
        _default(values.SessionsConfig, "channels"),
    )
    proof_wait: float = _key(
        _SECONDS,
        "How long Claude Code has to prove by an event or a record that an item was submitted. Without a proof the "
        "queue is held, the agent is told, and nothing is submitted again.",
        "60",
        _default(values.SessionsConfig, "proof_wait"),
    )


@attrs.frozen
class PluginTable:
    """How one plugin is run. NAME is the plugin's name as `hookrouter plugins list` shows it."""

    enabled: bool = _key(_FLAG, "`false` switches the plugin off.", "false", _default(values.PluginConfig, "enabled"))
    on_error: str = _key(
        _ON_ERROR,
        'What a failure of the plugin means: `"open"` records it and lets the call go on, `"closed"` refuses the call.',
        '"closed"',
        _default(values.PluginConfig, "on_error"),
    )
    timeout: float = _key(
        _SECONDS, "How long one call of the plugin may take.", "30", _default(values.PluginConfig, "timeout")
    )
    settings: dict[str, object] = attrs.field(
        factory=dict,
        metadata=_about(
            _TABLE, "The plugin's own settings; `hookrouter plugins info NAME` lists them.", '{ folder = "~/notes" }'
        ),
    )
    breaker: int = _key(
        _COUNT,
        "After how many failures in a row the plugin is switched off for ten minutes. 0: never. A plugin that is set "
        "to fail closed is never switched off.",
        "3",
        _default(values.PluginConfig, "breaker"),
    )


@attrs.frozen
class PluginTables:
    """In which order plugins are called. Those that neither list names come between the two, by name. The first one
    sees a call as Claude Code sends it, the last one sees what the others have made of its input."""

    order: tuple[str, ...] = _key(
        _list_of("a list of plugin names; no plugin can be called order", once="plugin"),
        "The plugins that are called first, in this order.",
        '["rewriter"]',
        (),
    )
    last: tuple[str, ...] = _key(
        _list_of("a list of plugin names; no plugin can be called last", once="plugin"),
        "The plugins that are called last, in this order: a guard, for example, that must see what a tool really gets.",
        '["bash-guard"]',
        (),
    )
    tables: dict[str, PluginTable] = attrs.field(factory=dict)


@attrs.frozen
class JournalTable:
    """What the journal keeps."""

    payloads: bool = _key(
        _FLAG,
        "Whether whole payloads are kept beside the journal, for `hookrouter replay`. They hold all that tools get.",
        "true",
        _default(values.Config, "journal_payloads"),
    )


@attrs.frozen
class ServeTable:
    """How the resident router runs, which makes hooks start faster. Without one every call runs by itself."""

    auto: bool = _key(
        _FLAG,
        "`true`: a hook call that finds no router starts one, and does not wait for it.",
        "true",
        _default(values.ServeConfig, "auto"),
    )
    idle: float = _key(
        _SECONDS,
        "How long a router that was started so goes on without a call before it ends.",
        "600",
        _default(values.ServeConfig, "idle"),
    )
    http: str = _key(
        _LOOPBACK,
        "The address at which the router takes Claude Code's http hooks. Without it: none.",
        '"127.0.0.1:8787"',
        _default(values.ServeConfig, "http"),
    )
    mod: bool = _key(
        _FLAG,
        "`true`: the router takes calls over HTTP on a socket of this user alone, for a module inside the client.",
        "true",
        _default(values.ServeConfig, "mod"),
    )


@attrs.frozen
class PageTable:
    """The page for people: what waits, answered from a browser or a phone. The resident router serves it, where the
    extra `hookrouter[serve]` is installed."""

    enabled: bool = _key(_FLAG, "`false`: it is not served.", "false", _default(values.PageConfig, "enabled"))
    address: str = _key(
        _ADDRESS,
        "Where it is served. Another host than this one needs `certificate` or `user_header`.",
        '"127.0.0.1:8790"',
        _default(values.PageConfig, "address"),
    )
    url: str = _key(
        _PAGE_URL,
        "How people reach it, if that is not its address: links in messages begin so. Messages have links if this is "
        "set, or if `address` is not this machine's to itself alone.",
        '"https://claude.example.org"',
        _default(values.PageConfig, "url"),
    )
    user_header: str = _key(
        _HEADER,
        "The header in which a proxy in front of it names the user. Requests without it are refused then.",
        '"X-Forwarded-User"',
        _default(values.PageConfig, "user_header"),
    )
    certificate: str = _key(
        _FILE, "The file of a TLS certificate.", '"~/page.pem"', _default(values.PageConfig, "certificate")
    )
    private_key: str = _key(
        _FILE, "The file of the certificate's key.", '"~/page.key"', _default(values.PageConfig, "private_key")
    )
    secret_file: str = _key(
        _FILE,
        "The file of a secret that signs logins and links, of 32 characters or more, mode 0600: the same for pages "
        "that are one to those who use them. Without it each home makes its own.",
        '"~/page.secret"',
        _default(values.PageConfig, "secret_file"),
    )
    login_days: float = _key(_DAYS, "How many days a login holds.", "7", _default(values.PageConfig, "login_days"))
    link_hours: float = _key(
        _HOURS,
        "How many hours the link to one question holds that is in a message to a person.",
        "8",
        _default(values.PageConfig, "link_hours"),
    )

    def faults(self) -> Iterator[tuple[str, Fault]]:
        """Yield each key that is right by itself and wrong beside the others, with what is wrong."""
        if bool(self.certificate) != bool(self.private_key):
            given = "certificate" if self.certificate else "private_key"
            yield given, Fault(f"{given} alone", "certificate and private_key, or none of the two")
        host = self.address.rpartition(":")[0]
        if host not in _OWN_HOSTS and not self.certificate and not self.user_header:
            allowed = f"{', '.join(_OWN_HOSTS)}; others only with certificate and private_key, or with user_header"
            yield "address", Fault(repr(self.address), allowed)


@attrs.frozen
class MonitorTable:
    """Where the resident router tells programs how it stands: `/metrics` for Prometheus, `/healthz` and `/readyz` for
    probes. Needs the extra `hookrouter[serve]`."""

    address: str = _key(
        _ADDRESS,
        "Where it is told. Without it: nowhere. Another host than this one needs `token_env` or `token_file`.",
        '"127.0.0.1:9464"',
        _default(values.MonitorConfig, "address"),
    )
    token_env: str = _key(
        _VARIABLE,
        "The environment variable that holds the token with which `/metrics` is asked. Probes need none.",
        '"HOOKROUTER_METRICS_TOKEN"',
        _default(values.MonitorConfig, "token_env"),
    )
    token_file: str = _key(
        _FILE,
        "The file that holds it, in place of `token_env`.",
        '"~/.config/hookrouter/metrics-token"',
        _default(values.MonitorConfig, "token_file"),
    )
    traces: bool = _key(
        _FLAG,
        "`true`: messages hand a W3C trace context on, as the header `traceparent` and the variable `TRACEPARENT`.",
        "true",
        _default(values.MonitorConfig, "traces"),
    )

    def faults(self) -> Iterator[tuple[str, Fault]]:
        """Yield each key that is right by itself and wrong beside the others, with what is wrong."""
        if self.token_env and self.token_file:
            yield "token_env", Fault("token_env and token_file", "one of them")
        host = self.address.rpartition(":")[0]
        if host and host not in _OWN_HOSTS and not self.token_env and not self.token_file:
            yield (
                "address",
                Fault(repr(self.address), f"{', '.join(_OWN_HOSTS)}; others only with token_env or token_file"),
            )


@attrs.frozen
class StorageTable:
    """What keeps questions, answers, queues and messages. Files in the state folder do by default; several machines
    share an engine that a plugin offers. What is about one machine alone stays in its files."""

    engine: str = _key(
        _TEXT,
        "`files`, or the name of an engine that a plugin offers; `hookrouter config check` lists those that there are.",
        '"postgresql"',
        _default(values.StorageConfig, "engine"),
    )
    machine: str = _key(
        _MACHINE,
        "What this machine is called beside the others. Without it: its host name.",
        '"build-3"',
        _default(values.StorageConfig, "machine"),
    )
    settings: dict[str, object] = attrs.field(factory=dict)

    def faults(self) -> Iterator[tuple[str, Fault]]:
        """Yield each key that is right by itself and wrong beside the others, with what is wrong."""
        known = [name for name, _check in _checks(StorageTable)]
        for key in self.settings if self.engine == values.FILES else ():
            allowed = f"{', '.join(known)}; others only with another engine than {values.FILES}"
            yield key, Fault(repr(key), allowed, closest(key, known) or "")


@attrs.frozen
class ConfigFile:
    """The whole file."""

    agents: list[AgentTable] = attrs.field(factory=list)
    gateways: dict[str, dict[str, object]] = attrs.field(factory=dict)
    answer: AnswerTable = attrs.field(factory=AnswerTable)
    approvals: ApprovalsTable = attrs.field(factory=ApprovalsTable)
    sessions: SessionsTable = attrs.field(factory=SessionsTable)
    journal: JournalTable = attrs.field(factory=JournalTable)
    serve: ServeTable = attrs.field(factory=ServeTable)
    page: PageTable = attrs.field(factory=PageTable)
    monitor: MonitorTable = attrs.field(factory=MonitorTable)
    storage: StorageTable = attrs.field(factory=StorageTable)
    plugins: PluginTables = attrs.field(factory=PluginTables)

    def value(self) -> values.Config:
        """Return the configuration."""
        return values.Config(
            agents=tuple(one.value() for one in self.agents) or (values.IMPLICIT_AGENT,),
            gateways=self.gateways,
            answer=_value(values.AnswerConfig, self.answer),
            approvals=self.approvals.value(),
            sessions=_value(values.SessionsConfig, self.sessions),
            plugins=self._plugins(),
            plugin_order=self.plugins.order,
            plugin_last=self._last(),
            journal_payloads=self.journal.payloads,
            serve=_value(values.ServeConfig, self.serve),
            page=_value(values.PageConfig, self.page),
            monitor=_value(values.MonitorConfig, self.monitor),
            storage=_value(values.StorageConfig, self.storage),
        )

    def _last(self) -> tuple[str, ...]:
        placed = HOLDING in (*self.plugins.order, *self.plugins.last)
        # It must see what the others have made of a call.
        return self.plugins.last if placed or not self.approvals.rules else (*self.plugins.last, HOLDING)

    def _plugins(self) -> dict[str, values.PluginConfig]:
        plugins = {name: plugin_config(table) for name, table in self.plugins.tables.items()}
        if any(rule.decide in ("deny", "person") for rule in self.approvals.rules):
            # What refuses must not let a call by because it cannot say so.
            plugins[HOLDING] = plugins.get(HOLDING, values.PluginConfig())._with(on_error="closed")
        return plugins


def schema() -> Iterator[SchemaTable]:
    """Yield every kind of table, with its keys in the order of their declaration."""
    yield _described("[[agents]]", AgentTable)
    gateway = "The type of the gateway, which a plugin offers; `hookrouter config check` lists those that there are."
    yield SchemaTable(
        "[gateways.NAME]",
        "A way to wake an agent or to tell a person, under a name of your choice. The gateway `inbox` always exists.",
        (SchemaKey("type", _TEXT.words, True, None, gateway, '"webhook"'),),
        "the gateway's own; no secret may stand there itself, but `KEY_env` or `KEY_file`, which name where it is",
    )
    yield _described("[answer]", AnswerTable)
    yield _described("[approvals]", ApprovalsTable)
    yield _described("[[approvals.rules]]", ApprovalRuleTable)
    yield _described("[sessions]", SessionsTable)
    yield _described("[plugins]", PluginTables)
    yield _described("[plugins.NAME]", PluginTable)
    yield _described("[journal]", JournalTable)
    yield _described("[serve]", ServeTable)
    yield _described("[page]", PageTable)
    yield _described("[monitor]", MonitorTable)
    storage = _described("[storage]", StorageTable)
    yield storage._replace(others="the engine's own; no secret may stand there itself, but where it is")


def _described(header: str, kind: type[Any]) -> SchemaTable:
    keys = []
    for field in attrs.fields(kind):
        if "check" not in field.metadata:
            continue
        default = field.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type] # a class at run time
            default = default.factory()
        required = default is attrs.NOTHING
        default = None if required else list(default) if isinstance(default, tuple) else default
        check = field.metadata["check"]
        keys.append(
            SchemaKey(field.name, check.words, required, default, field.metadata["help"], field.metadata["example"])
        )
    return SchemaTable(header, " ".join((kind.__doc__ or "").split()), tuple(keys))


HOLDING = "rules"
"""The plugin that holds what the rules refuse."""


def plugin_config(table: PluginTable) -> values.PluginConfig:
    """Return how a plugin is run."""
    return _value(values.PluginConfig, table)


def _value(kind: type[V], table: Any, **others: Any) -> V:
    """Return the value whose fields a table has, but for ``others``."""
    named = {name: getattr(table, name) for name in kind._fields if name not in others}
    return kind(**named, **others)


def _gateway(value: object) -> dict[str, object]:
    table = _table(value)
    each(table.items(), _no_secret, dict, keyed=True)
    if "type" not in table:
        raise ValueError('type is missing; allowed: the name of a gateway plugin\'s type, such as "inbox"')
    each([("type", table["type"])], _text, dict)
    return table


def _no_secret(entry: object) -> None:
    """Refuse what is a secret, or may be one, in a gateway's table and the tables in it. Never shows the value."""
    key, value = entry if isinstance(entry, tuple) else ("", entry)
    refuse_secret(key, value)
    if isinstance(value, dict):
        each(value.items(), _no_secret, dict, keyed=True)
    elif isinstance(value, list):
        each(enumerate(value), _no_secret, dict)


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)

    def of_tables(value: Any, kind: Any) -> list[Any]:
        (item,) = get_args(kind)
        if not isinstance(value, list):
            raise wrong(value, "a list of tables")
        return each(enumerate(value), lambda one: converter.structure(one, item), kind)

    def named_tables(value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise wrong(value, "tables with a name each")
        return value

    def gateways(value: Any, kind: Any) -> dict[str, Any]:
        return dict(zip(named_tables(value), each(value.items(), _gateway, kind), strict=True))

    def plugins(value: Any, _kind: Any) -> PluginTables:
        lists = {field.name: field.metadata["check"] for field in attrs.fields(PluginTables) if field.metadata}

        def one(entry: tuple[str, Any]) -> Any:
            name, table = entry
            return lists[name].read(table) if name in lists else converter.structure(table, PluginTable)

        tables = dict(zip(named_tables(value), each(value.items(), one, PluginTables, keyed=True), strict=True))
        return PluginTables(**{name: tables.pop(name) for name in lists if name in tables}, tables=tables)

    def storage(value: Any, _kind: Any) -> StorageTable:
        if not isinstance(value, dict):
            raise wrong(value, "a table")
        checks = dict(_checks(StorageTable))

        def one(entry: tuple[str, Any]) -> Any:
            name, item = entry
            if name in checks:
                return checks[name].read(item)
            _no_secret(entry)
            return plain(item)

        read = dict(zip(value, each(value.items(), one, StorageTable, keyed=True), strict=True))
        return StorageTable(**{name: read.pop(name) for name in checks if name in read}, settings=read)

    def table(kind: type[Any]) -> Callable[[Any, Any], Any]:
        return table_hook(kind, converter, {name: check.read for name, check in _checks(kind)})

    converter.register_structure_hook_factory(attrs.has, table)
    converter.register_structure_hook(PluginTables, plugins)
    converter.register_structure_hook(StorageTable, storage)
    converter.register_structure_hook_func(lambda kind: _origin(kind) is list, of_tables)
    converter.register_structure_hook_func(lambda kind: _origin(kind) is dict, gateways)
    return converter


def _origin(kind: object) -> object:
    return get_origin(kind)


def _checks(kind: type[Any]) -> Iterator[tuple[str, _Check]]:
    for field in attrs.fields(kind):
        if "check" in field.metadata:
            yield field.name, field.metadata["check"]


CONVERTER = _make_converter()
"""Reads what :mod:`tomllib` returns into :class:`ConfigFile` or one of its tables."""
