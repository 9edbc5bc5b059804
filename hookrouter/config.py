"""The user's ``config.toml`` as values, and which agent manages a session by it."""

from __future__ import annotations

import os

from hookrouter.util.value import NO_ITEMS, Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Annotated, Any

__all__ = [
    "Agent",
    "AnswerConfig",
    "ApprovalRule",
    "ApprovalsConfig",
    "Config",
    "PluginConfig",
    "Script",
    "ServeConfig",
    "SessionsConfig",
    "StorageConfig",
]

_PAGE = "page"
"""The plugin that serves what ``[page]`` is about."""

FILES = "files"
"""The engine of documents that always exists."""

INBOX = "inbox"
"""The gateway that always exists, and the type of its plugin."""

AGENT, PERSON = "agent", "person"
"""The kinds of :class:`Agent`."""

EVERY_KIND = "*"
"""In :attr:`Agent.wake_on`: every kind of dialog."""

DIALOG_KINDS = ("question", "permission", "plan", "elicitation", "blocked")
"""The kinds of dialogs that hookrouter's own plugins bring."""

SESSION_KINDS = (
    "turn_ended",
    "queue_done",
    "queue_held",
    "failed",
    "limited",
    "idle",
    "session_started",
    "session_ended",
    "subagent_ended",
)
"""What else an agent may hear of: how the turns of a session end, and what becomes of its queue."""

ORDER, LAST, GUARDS_ALONE = "order", "last", "guards_alone"

HOLDING = "rules"
"""The plugin that holds what rules refuse, and what they leave to a person."""

STRICT = ("deny", "person")
"""What the rules of a project may say."""

NO_PLUGINS = (ORDER, LAST, GUARDS_ALONE)
"""The keys of ``[plugins]`` that are no plugin's table; a plugin that is called so cannot be used."""


class Agent(Value):
    """Which sessions an agent answers for, and how it is woken. Of several that fit a session the first one counts;
    without any table there is one agent called default, for all sessions, which is woken by the inbox."""

    id: Annotated[str, "text", '"ops"']
    """The agent's name, in messages and journal."""
    sessions: Annotated[tuple[str, ...], "texts", '["work-*", "deploy"]'] = ()
    """Globs on the session's name; empty for all sessions. Capitals count."""
    workdirs: Annotated[tuple[str, ...], "folders", '["~/projects/**"]'] = ()
    """Globs on the session's working folder, or on one above it; empty for all. `*` stays within one folder's name,
    `**` means any number of folders, `~` for your home."""
    enabled: Annotated[bool, "flag", "false"] = True
    """`false` switches the agent off: the next one that fits a session counts."""
    gateway: Annotated[str, "text", '"chat"'] = INBOX
    """The gateway that wakes the agent: `inbox`, or a name of a `[gateways.NAME]` table. Without it: `inbox`."""
    fallbacks: tuple[str, ...] = ()
    """The names of the gateways that are asked if that one fails, in order."""
    fallback_after: Annotated[float, "seconds", "120"] = 60.0
    """How long a gateway fails before the next one is asked too."""
    kind: Annotated[str, ("agent", "person"), '"person"'] = AGENT
    """Who reads the messages: a program that decides by JSON, or a person, who gets no JSON to read."""
    wake_on: Annotated[tuple[str, ...], "wake kinds", '["question", "plan", "turn_ended"]'] = (
        "*",
        "queue_done",
        "queue_held",
    )
    """What the agent hears of. Of a dialog that is not named it is not told: a person at the terminal decides."""

    @property
    def is_person(self) -> bool:
        """Whether messages to it are written for a person."""
        return self.kind == PERSON

    def hears_of(self, kind: str) -> bool:
        """Whether it is told of dialogs of this kind."""
        return kind in self.wake_on or EVERY_KIND in self.wake_on


class AnswerConfig(Value):
    """How answers reach Claude Code, and when a person is reminded of a question."""

    channels: Annotated[tuple[str, ...], "channels", '["keys"]'] = ("reply", "keys")
    """The channels that deliver an answer, in the order in which they are tried."""
    planner: Annotated[str, "text", '"grammar"'] = "grammar"
    """The planner that finds the keys for the keys channel."""
    terminal: Annotated[str, "text", '"tmux"'] = "tmux"
    """The terminal backend that is asked first in which pane a session runs."""
    wait: Annotated[float, "seconds or 0", "3600"] = 24 * 3600.0
    """How long a hook waits for an answer beside the open dialog; after it the dialog can be answered by keys and by
    hand. 0: never."""
    remind_after: Annotated[float, "seconds or 0", "1200"] = 600.0
    """How long after its delivery the first reminder of a question that is still open is sent. 0: no reminders. The
    inbox gets none: nobody would see them."""
    remind_every: Annotated[float, "seconds or 0", "1800"] = 0.0
    """How long after a reminder the next one is sent. 0: as `remind_after`."""
    reminders: Annotated[int, "count", "5"] = 3
    """How many reminders are sent at most."""
    escalate_after: Annotated[float, "seconds", "7200"] = 3600.0
    """How long a question may be open before `escalate_to` is told, and how long an agent that took it may give no sign
    before `hookrouter questions` calls it silent."""
    escalate_to: Annotated[str, "text", '"chat"'] = ""
    """The gateway that is told of a question that nobody has answered. It leads to a person, unless an entry of
    `[[agents]]` with `kind = "agent"` has this gateway or this id. Without it: none."""

    @property
    def reminds(self) -> bool:
        """Whether agents are reminded at all."""
        return self.remind_after > 0 and self.reminders > 0


class ApprovalRule(Value):
    """Who decides on the calls that a rule is about: the first rule that is about a call counts, and without any the
    person at the terminal decides. A command line of several commands gets the strictest of what its commands get."""

    tool: Annotated[str, "rule", '"Bash(npm run *)"']
    """Which calls, as in Claude Code's permission rules: `Bash(git push:*)`, `Edit(/src/**)`, `mcp__github`,
    `ExitPlanMode` for plans, `Elicitation` for the forms of MCP servers, `*` for every tool."""
    decide: Annotated[str, ("allow", "deny", "agent", "person"), '"agent"']
    """`allow` and `deny` decide at once; `agent` asks the session's agent; `person` leaves it to a person, and no
    agent's answer is taken."""
    ask: Annotated[str, ("client", "always"), '"always"'] = "client"
    """When the agent is asked, with `decide = "agent"`: `"client"` if Claude Code asks, `"always"` in every mode."""


class ApprovalsConfig(Value):
    """Who decides what Claude asks permission for."""

    rules: tuple[ApprovalRule, ...] = ()
    """The first one that is about a call says who decides; of none the person at the terminal."""
    rows: Annotated[str, ("agent", "person"), '"agent"'] = PERSON
    """Who may choose a row of a dialog of the client that no hook tells of, such as workspace trust: `"agent"`, the
    session's agent too, or `"person"`, a person alone."""
    mirror: Annotated[bool, "flag", "true"] = False
    """Whether `hookrouter install` also writes the rules that refuse into Claude Code's own `permissions.deny`, as far
    as both read them alike and no rule before them decides otherwise. Those hold in every session that reads the
    settings file, an agent's or not."""


class ProjectRules(Value):
    """The rules of the session's project, which a person has trusted: they refuse, or leave to a person."""

    folder: str = ""
    """The project's folder, below which their paths are."""
    rules: tuple[ApprovalRule, ...] = ()

    @property
    def file(self) -> str:
        """The file that has them."""
        return f"{self.folder}/.claude/hookrouter/config.toml"


class SessionsConfig(Value):
    """How prompts and commands of a session's queue (`hookrouter send`) are submitted."""

    channels: Annotated[tuple[str, ...], "channels", '["keys"]'] = ("mod", "keys", "doorbell", "stop")
    """The prompt channels by which an item is submitted, in the order in which they are tried."""
    proof_wait: Annotated[float, "seconds", "60"] = 20.0
    """How long Claude Code has to prove by an event or a record that an item was submitted. Without a proof the queue
    is held, the agent is told, and nothing is submitted again."""


class PluginConfig(Value):
    """How one plugin is run. NAME is the plugin's name as `hookrouter plugins list` shows it."""

    enabled: Annotated[bool, "flag", "false"] = True
    """`false` switches the plugin off."""
    on_error: Annotated[str, ("open", "closed"), '"closed"'] = "open"
    """What a failure of the plugin means: `"open"` records it and lets the call pass, `"closed"` refuses the call."""
    timeout: Annotated[float | None, "seconds", "30"] = None
    """How long the plugin may take in one hook run, for all its calls together and its import. Without it: as long as
    the plugin says that it needs, or 10 seconds; `hookrouter plugins info NAME` shows it."""
    settings: Annotated[Mapping[str, object], "table", '{ folder = "~/notes" }'] = NO_ITEMS
    """The plugin's own settings; `hookrouter plugins info NAME` lists them."""
    breaker: Annotated[int, "count", "3"] = 5
    """After how many failures in a row the plugin is switched off for ten minutes. 0: never. A plugin that is set to
    fail closed is never switched off."""
    is_asked_for: bool = False
    """Whether the file itself says ``enabled = true``."""

    @property
    def is_strict(self) -> bool:
        """Whether this makes hookrouter stricter than a plugin without a table does."""
        return self.on_error == "closed" or not self.enabled


class Script(Value):
    """A hook in any language: a command that hookrouter runs as Claude Code runs a command hook of its settings.
    `hookrouter adopt` writes such tables."""

    event: Annotated[str, "event", '"PreToolUse"']
    """The event, as Claude Code names it."""
    command: Annotated[str, "text", '"~/bin/guard.sh"']
    """The command line for `/bin/sh`; with `args`, the program."""
    matcher: Annotated[str, "matcher", '"Edit|Write"'] = ""
    """Which calls of the event it is about, as in Claude Code's settings: names joined by `|`, or a regular expression.
    Empty, or `*`: all."""
    args: Annotated[tuple[str, ...] | None, "texts", '["--strict"]'] = None
    """The arguments of the program, which is then started without a shell; `${CLAUDE_PROJECT_DIR}` in one is the
    project's folder. Without it: a command line."""
    timeout: Annotated[float, "seconds or 0", "60"] = 0.0
    """How long it may take, in seconds; then it is ended with all that it has started. 0: as long as Claude Code gives
    a command hook of the event."""
    on_error: Annotated[str, ("open", "closed"), '"closed"'] = "open"
    """What it means if it cannot be started, takes too long, is killed, ends with another exit code than 0 and 2 or
    prints what is no JSON: `"open"` tells you and lets the call pass, `"closed"` refuses the call, where the event can
    be refused."""
    project: Annotated[str, "path or nothing", '"/home/me/shop"'] = ""
    """The project in whose sessions alone it runs: `CLAUDE_PROJECT_DIR`. Empty: in all."""
    adopted_from: Annotated[str, "path or nothing", '"/home/me/.claude/settings.json"'] = ""
    """The settings file that `hookrouter adopt` took it from, to which `adopt --undo` gives it back."""

    def seconds(self, default: float) -> float:
        """Return how long it may take; ``default`` is what Claude Code gives a command hook of the event."""
        return self.timeout or default

    def takes(self, payload: Mapping[str, object], value: str | None, project: str) -> bool:
        """Whether it is about a call of its event.

        ``value`` is what Claude Code's matchers look at in the payload, None if that is nothing.
        """
        if self.project and self.project != project and not _is_one_folder(self.project, project):
            return False
        if value is None or self.matcher in ("", "*", value):
            return True
        # Names alone, as most are: nothing is imported for them.
        names = self.matcher.split("|")
        if not all(name.isascii() and name.isidentifier() for name in names):
            from hookrouter._contract.matchers import matches

            return matches(self.event, self.matcher, value) or (
                _is_command(payload, value) and matches(self.event, self.matcher, "Bash")
            )
        from hookrouter._contract.tables import TOOL_ALIASES

        found = (*names, *(TOOL_ALIASES.get(name) for name in names))
        return value in found or ("Bash" in names and _is_command(payload, value))


class ServeConfig(Value):
    """How the resident router runs, which makes hooks start faster. Without one every call runs by itself."""

    auto: Annotated[bool, "flag", "true"] = False
    """`true`: a hook call that finds no router starts one, and does not wait for it."""
    idle: Annotated[float, "seconds", "600"] = 1800.0
    """How long a router that was started this way runs without a call before it ends."""
    http: Annotated[str, "loopback", '"127.0.0.1:8787"'] = ""
    """The address at which the router takes Claude Code's http hooks. Without it: none."""
    mod: Annotated[bool, "flag", "true"] = False
    """`true`: the router takes calls over HTTP on a socket of this user alone, for a module inside the client."""


class StorageConfig(Value):
    """What keeps questions, answers, queues and messages. Files in the state folder do by default; several machines
    share an engine that a plugin offers. What is about one machine alone stays in its files."""

    engine: Annotated[str, "text", '"postgresql"'] = FILES
    """`files`, or the name of an engine that a plugin offers; `hookrouter config check` lists those that there are."""
    machine: Annotated[str, "machine", '"build-3"'] = ""
    """What this machine is called beside the others. Without it: its host name."""
    settings: Mapping[str, object] = NO_ITEMS
    """The engine's own keys of the table, as JSON values, as they are written."""


IMPLICIT_AGENT = Agent(id="default", sessions=("*",))
"""The agent of a config without any ``[[agents]]``: all sessions, woken by the inbox."""


class Config(Value):
    """The whole configuration. What is not in the file has its default."""

    agents: tuple[Agent, ...] = (IMPLICIT_AGENT,)
    gateways: Mapping[str, Mapping[str, object]] = NO_ITEMS
    """The ``[gateways.NAME]`` tables with their ``type``; holds ``inbox`` in any case."""
    answer: AnswerConfig = AnswerConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
    sessions: SessionsConfig = SessionsConfig()
    plugins: Mapping[str, PluginConfig] = NO_ITEMS
    """The ``[plugins.NAME]`` tables; ask :meth:`plugin`, which knows the defaults."""
    problems: tuple[str, ...] = ()
    """What is wrong with the file, one line each. If there is any, all the rest is what the last file without problems
    said (the defaults if there was none), but that plugins which this file closes or switches off are so."""
    plugin_order: Annotated[tuple[str, ...], "first plugins", '["rewriter"]'] = ()
    """The plugins that are called first, in this order."""
    plugin_last: Annotated[tuple[str, ...], "last plugins", '["bash-guard"]'] = ()
    """The plugins that are called last, in this order: a guard, for example, that must see what a tool really gets."""
    guards_alone: Annotated[bool, "flag", "true"] = False
    """Whether Claude Code calls hookrouter for your own plugins, rules and scripts alone. `true` switches off those of
    hookrouter's own plugins that listen to events so that agents and people can answer, except for the ones whose table
    says `enabled = true`."""
    journal_payloads: Annotated[bool, "flag", "true"] = False
    """Whether whole payloads are kept beside the journal, for `hookrouter replay`. They hold all that tools get."""
    serve: ServeConfig = ServeConfig()
    storage: StorageConfig = StorageConfig()
    scripts: tuple[Script, ...] = ()
    """The hooks that are commands, in the order of the file."""
    project_rules: ProjectRules = ProjectRules()
    """Not of this file: those of the session's project, if it is trusted."""
    project_plugins: Mapping[str, str] = NO_ITEMS
    """Not of this file: the plugins of that project, and by what name the home remembers how each has fared, since
    another project may have one of the same name."""

    if not TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None:
            """Take the values as they are, and add the inbox gateway."""
            super().__init__(*values, **named)
            self._set(gateways={INBOX: {"type": INBOX}, **self.gateways})

    def scripts_for(self, event: str, payload: Mapping[str, object], project: str) -> list[Script]:
        """Return the scripts that run for a call, in the order of the file: the same command once, as in Claude Code.

        Each with the time that it has: the last one's, as there. ``project`` is the project's folder.
        """
        if not self.scripts:
            return []
        from hookrouter._contract.hook_names import event_facts, matched_value

        facts = event_facts(event)
        if facts is None:
            return []
        value = matched_value(event, payload)
        if value is not None and event.endswith("ModelSwitch"):
            # Claude Code leaves out the size of the window: claude-opus-5-5[1m].
            value = value.partition("[")[0]
        found = [one for one in self.scripts if one.event == event and one.takes(payload, value, project)]
        last: dict[tuple[str, tuple[str, ...] | None], Script] = {}
        for one in found:
            former = last.get((one.command, one.args), one)
            # The stricter of the two, or an entry could be opened by one beside it.
            last[one.command, one.args] = one if former.on_error == one.on_error else one._with(on_error="closed")
        return [one._with(timeout=one.seconds(facts.timeout)) for one in last.values()]

    def agent_for(self, session: str | None, cwd: str) -> Agent | None:
        """Return the first enabled agent that manages this session, or None.

        ``session`` is None if its name is not known, so that it may be any. An agent manages a session when one of its
        session globs matches the name and one of its workdirs globs the working folder or a folder above it. An empty
        list matches anything. In workdirs ``*`` and ``?`` stay within one folder's name, ``**`` stands for any number
        of folders, and ``~`` for the user's home.
        """
        for agent in self.agents:
            if (
                agent.enabled
                and (session is None or not agent.sessions or any(_matches(session, glob) for glob in agent.sessions))
                and (not agent.workdirs or _below_any(cwd, agent.workdirs))
            ):
                return agent
        return None

    @property
    def is_set_up(self) -> bool:
        """Whether somebody has named agents: without any, questions of all sessions wait in the inbox."""
        return self.agents != (IMPLICIT_AGENT,)

    def is_inbox(self, gateway: str) -> bool:
        """Whether a gateway of this name tells nobody, but leaves what it gets for whoever looks."""
        return self.gateways.get(gateway, {}).get("type") == INBOX

    def reader(self, gateway: str) -> Agent | None:
        """Return the enabled entry that reads what ``escalate_to`` sends through a gateway; None if that is a person.

        An entry reads it if ``gateway`` is its id, or one of its gateways; one of a person before all others. A gateway
        that no entry has is taken to lead to a person.
        """
        readers = [one for one in self.agents if one.enabled and gateway in (one.id, one.gateway, *one.fallbacks)]
        return next((one for one in readers if one.is_person), readers[0] if readers else None)

    def may_manage(self, session: str) -> bool:
        """Whether an enabled agent manages a session of this name, in whatever folder it may work."""
        return any(
            agent.enabled and (not agent.sessions or any(_matches(session, glob) for glob in agent.sessions))
            for agent in self.agents
        )

    def plugin(self, name: str) -> PluginConfig:
        """Return how the plugin of this entry-point name is run."""
        return self.plugins.get(name) or _PLUGIN_DEFAULT

    def gateway(self, name: str) -> tuple[str, dict[str, object]] | None:
        """Return the type of a gateway and its own settings, which are its table without ``type``; None without one.

        This is what a Gateway's ``check`` and ``deliver`` get, and the one place that tells the type from the settings.
        """
        table = self.gateways.get(name)
        if table is None:
            return None
        return str(table.get("type", "")), {key: value for key, value in table.items() if key != "type"}


_PLUGIN_DEFAULT = PluginConfig()


def _matches(text: str, glob: str) -> bool:
    if glob == "*" or glob == text:
        return True
    if not any(character in glob for character in "*?["):
        return False
    # Only real globs are worth the import of re.
    from fnmatch import fnmatchcase

    return fnmatchcase(text, glob)


def _is_one_folder(path: str, other: str) -> bool:
    """Whether two paths lead to one folder, by links or not."""
    try:
        return os.path.realpath(path) == os.path.realpath(other)
    except ValueError:
        # No file has a NUL in its name.
        return False


def _is_command(payload: Mapping[str, object], tool: str) -> bool:
    """Whether a call runs a command beside Bash: Claude Code's matchers of Bash take it too."""
    given = payload.get("tool_input")
    return tool == "Monitor" and isinstance(given, dict) and isinstance(given.get("command"), str)


def _below_any(cwd: str, globs: tuple[str, ...]) -> bool:
    if not os.path.isabs(cwd):
        return False
    folders = {os.path.normpath(cwd), _real(cwd)}
    for glob in globs:
        glob = os.path.expanduser(glob)
        wanted = {os.path.normpath(glob if glob.startswith("/") else f"/{glob}")}
        if not any(character in glob for character in "*?["):
            wanted.add(_real(glob))
        if any(_below(_parts(folder), _parts(one)) for folder in folders for one in wanted):
            return True
    return False


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        # No file has a NUL or a lone surrogate in its name, but a payload may.
        return os.path.normpath(path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _below(folder: list[str], glob: list[str]) -> bool:
    """Whether the glob matches the folder or one above it, part by part."""
    if not glob:
        return True
    if glob[0] == "**":
        return any(_below(folder[start:], glob[1:]) for start in range(len(folder) + 1))
    return bool(folder) and _matches(folder[0], glob[0]) and _below(folder[1:], glob[1:])
