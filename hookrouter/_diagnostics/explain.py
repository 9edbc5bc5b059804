"""What one hook call would set in motion: who is called in which order, who is not and why, and who is in charge.

Plugins are imported, because only their functions tell the order; none is called.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from hookrouter import _wiring
from hookrouter._contract.hook_names import RAW_HOOK, event_facts, hook_names, matched_value
from hookrouter._contract.matchers import matches
from hookrouter._installation.claude_plugin import enabled_names, first_party_registrations
from hookrouter._installation.registrations import REPLACING_EVENTS
from hookrouter._installation.settings_edit import SettingsError, hooks_disabled, registered, wrapped
from hookrouter._installation.settings_file import SCOPES, read_text, settings_path
from hookrouter._isolation import circuit_breaker
from hookrouter._plugins.call_specs import hookspecs_for
from hookrouter._plugins.manager import build_caller, in_turn, is_wrapper
from hookrouter._plugins.registry import PluginStatus, remedy
from hookrouter.config import LAST, ORDER
from hookrouter.context import Context
from hookrouter.events import EVENT_CLASSES
from hookrouter.markers import waiting
from hookrouter.messaging.pauses import is_paused
from hookrouter.permission_rules.judging import Call, Rules, with_project
from hookrouter.records import check
from hookrouter.shell.reader import client_shell
from hookrouter.storage.interface import StoreError
from hookrouter.util import fastjson
from hookrouter.util.text import describe_error
from hookrouter.util.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from hookrouter._contract.tables import EventFacts
    from hookrouter._installation.settings_document import Entry
    from hookrouter._plugins.registry import PluginInfo
    from hookrouter.context import Services

_ASKING_RULES = ("PreToolUse", "PermissionRequest", "PreSkillShellCommand")

__all__ = ["explain", "registered_calls", "session_folder"]


def session_folder(app: Services, session: str) -> str:
    """Return the folder in which a session worked last, as the journal has it; empty if it does not say."""
    found = ""
    for record in app.journal.search((f'"session":{fastjson.dumps(session)}',)):
        folder = record.get("cwd")
        if record.get("session") == session and isinstance(folder, str) and folder:
            found = folder
    return found


def explain(app: Services, payload: Mapping[str, Any], session: str | None = None) -> dict[str, Any]:
    """Return as JSON values what a hook call with this payload would set in motion, which nothing here does.

    ``payload`` names an event that the contract has, under ``hook_event_name``; ``session`` is the session's name,
    by default that of the terminal in which this runs. The result has:

    - ``event``, ``tool`` (None if the event is about none) and ``hooks``, the names that are looked up, in order;
    - ``payload``: ``errors``, for which the call would be refused, and ``warnings``;
    - ``registered``: the entries of settings files that start hookrouter for this call (``file``, ``matcher``,
      ``command``), ``hooks_disabled``: the settings files that switch all hooks off, and ``needed``: whether anybody
      listens for whom ``install`` writes an entry;
    - ``calls``, in order: ``plugin``, ``hook``, ``wrapper``, ``place`` (``order`` or ``last``, the list of
      ``[plugins]`` that it is in, or None), ``order`` (``tryfirst``, ``trylast`` or None; None too if a list counts),
      ``waits`` (seconds, or None: it is called after all others, and only if nobody has decided), ``on_error``,
      ``timeout``, ``scripts``, the ``[[scripts]]`` that it runs (``event``, ``matcher``, ``command``, ``args``,
      ``timeout``, ``on_error``);
    - ``not_called``: ``plugin``, ``hooks``, ``status``, ``reason``, ``fix`` and ``refuses``, if it is set to fail
      closed and so refuses the call;
    - ``rule``: what ``[[approvals.rules]]`` say to a call that is about to run, or asks for permission: ``decide``,
      ``rule`` (empty if none is about it), ``file`` (the project's that has it; None for config.toml) and
      ``uncertain``, what is not certain of it; None where no rule is asked;
    - ``session``: ``name``, ``agent``, ``gateway``, ``fallbacks``, ``paused`` (None, or since when and why).
    """
    record = event_facts(str(payload["hook_event_name"]))
    if record is None:
        raise ValueError(f"{payload['hook_event_name']!r} is not an event of the contract")
    tool = payload.get("tool_name") if record.is_tool else None
    tool = tool if isinstance(tool, str) else None
    hooks = hook_names(record.name, tool)
    errors, warnings = check(EVENT_CLASSES[record.name], dict(payload))
    skipped = list(_skipped(app, hooks))
    off = {entry["plugin"] for entry in skipped}
    texts = _settings_texts(app, payload)
    calls, failed = _calls(app, record, tool, hooks, payload, off)
    return {
        "event": record.name,
        "tool": tool,
        "hooks": list(hooks),
        "payload": {"errors": errors, "warnings": warnings},
        "needed": _is_needed(record.name, calls, skipped),
        "registered": _registered(app, texts, record, payload),
        "hooks_disabled": [path for path, text in texts.items() if hooks_disabled(text)],
        "calls": calls,
        "not_called": skipped + failed,
        "session": _session(app, payload, session),
        "rule": _rule(app, record, payload),
    }


def _is_needed(event: str, calls: list[dict[str, Any]], skipped: list[dict[str, Any]]) -> bool:
    """Whether an entry in the settings is for somebody of these: at some events one that only watches gets none."""
    hooks = {call["hook"] for call in calls} | {hook for entry in skipped for hook in entry["hooks"]}
    if event in REPLACING_EVENTS:
        hooks.discard(RAW_HOOK)
    return bool(hooks) or any(entry["refuses"] for entry in skipped)


def _rule(app: Services, record: EventFacts, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what ``[[approvals.rules]]`` say to the call; None where no rule is asked."""
    rules, tool, tool_input = app.config.approvals.rules, payload.get("tool_name"), payload.get("tool_input")
    has_rules = bool(rules or app.config.project_rules.rules)
    if (
        record.name not in _ASKING_RULES
        or not has_rules
        or not isinstance(tool, str)
        or not isinstance(tool_input, dict)
    ):
        return None
    folder = payload.get("cwd")
    where = folder if isinstance(folder, str) else os.getcwd()
    call = Call(tool, tool_input, where, where, client_shell(app.environ))
    users = Rules.of(rules).judge(call)
    found = with_project(users, app.config, call) or users
    doubts = [part.text for part in found.parts if part.kind == "doubt" or not part.certain]
    return {"decide": found.decide, "rule": found.rule, "file": found.file or None, "uncertain": doubts}


def _calls(
    app: Services,
    record: EventFacts,
    tool: str | None,
    hooks: tuple[str, ...],
    payload: Mapping[str, Any],
    off: set[str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the calls in their order, and the plugins that cannot be called after all."""
    failed: list[dict[str, Any]] = []

    def fail(info: PluginInfo, error: BaseException) -> None:
        failed.append(_entry(app, info, hooks, PluginStatus.BROKEN, describe_error(error)))

    loaded = []
    infos = {info.name: info for info in app.plugins.listeners(hooks) if info.name not in off}
    for info in infos.values():
        try:
            with time_limit(info.timeout):
                loaded.append((info.name, app.plugins.load(info.name)))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            fail(info, error)

    config, value = app.config, matched_value(record.name, payload)
    placed = {**dict.fromkeys(config.plugin_order, ORDER), **dict.fromkeys(config.plugin_last, LAST)}
    found: list[dict[str, Any]] = []
    for group in in_turn(loaded, config.plugin_last):
        caller = build_caller(
            hookspecs_for(record.name, tool),
            group,
            _stand_in,
            lambda name, error: fail(infos[name], error),
            config.plugin_order,
        )
        # Pluggy calls the last one first, wrappers around the others.
        for hook, implementation in ((name, one) for name in hooks for one in reversed(_calls_of(caller, name))):
            name = implementation.plugin_name
            if hook not in infos[name].hooks or not infos[name].takes(hook, value, wakes=hook in infos[name].wakes):
                continue
            waits = waiting(implementation.function)
            order = "tryfirst" if implementation.tryfirst else "trylast" if implementation.trylast else None
            found.append(
                {
                    "plugin": name,
                    "hook": hook,
                    "wrapper": bool(implementation.wrapper),
                    "place": placed.get(name),
                    "order": None if name in placed else order,
                    "waits": None if waits is None else waits.seconds,
                    "on_error": app.plugins.config(name).on_error,
                    "timeout": infos[name].timeout,
                    "timeout_from": infos[name].timeout_from,
                    "scripts": _scripts(app, payload) if hook in infos[name].scripted else [],
                }
            )
    found.sort(key=lambda call: call["waits"] is not None)
    return found, failed


def _scripts(app: Services, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scripts that run for the call."""
    found = app.config.scripts_for(str(payload["hook_event_name"]), payload, _context(app, payload).project)
    names = ("event", "matcher", "command", "args", "timeout", "on_error")
    return [{name: getattr(script, name) for name in names} for script in found]


def _calls_of(caller: Any, hook: str) -> list[Any]:
    found: list[Any] = getattr(caller, hook).get_hookimpls()
    return found


def _stand_in(_plugin: str, _hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what pluggy gets in the place of an implementation, which is never called."""

    def implementation(*_arguments: object) -> None:
        return

    def wrapper(*_arguments: object) -> Generator[None, None, None]:
        yield

    return wrapper if is_wrapper(function) else implementation


def _skipped(app: Services, hooks: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Return the plugins that would listen, and are not called."""
    off = circuit_breaker.open_circuits(circuit_breaker.of_run(circuit_breaker.read(app.home), app.config), app.config)
    refusing = {info.name for info in app.plugins.broken_fail_closed(hooks)}
    for info in app.plugins.listing():
        # Of one that could never be imported it is not known which hooks it has: these may be some of them.
        may_listen = not set(hooks).isdisjoint(info.hooks) or (info.status == PluginStatus.BROKEN and not info.hooks)
        if info.name in refusing or (info.status != PluginStatus.ACTIVE and may_listen):
            yield _entry(app, info, hooks, info.status, info.reason, refuses=info.name in refusing)
        elif (
            info.name in off
            and not set(hooks).isdisjoint(info.hooks)
            and not circuit_breaker.is_due(off[info.name], time.time())
        ):
            yield _entry(app, info, hooks, "switched off", off[info.name].describe(info.name))


def _entry(
    app: Services, info: PluginInfo, hooks: tuple[str, ...], status: str, reason: str, *, refuses: bool = False
) -> dict[str, Any]:
    return {
        "plugin": info.name,
        "hooks": [hook for hook in hooks if hook in info.hooks],
        "status": status,
        "reason": reason,
        "fix": remedy(info, app.home)
        or (
            f"hookrouter plugins info {info.name}"
            if status == PluginStatus.BROKEN
            else f"hookrouter plugins enable {info.name}"
        ),
        "refuses": refuses or (status == PluginStatus.BROKEN and app.plugins.config(info.name).on_error == "closed"),
    }


def _settings_texts(app: Services, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the user's, the project's and the local settings that there are, by path."""
    folder, texts = payload.get("cwd"), {}
    for scope in SCOPES:
        try:
            path = settings_path(scope, app.environ, folder if isinstance(folder, str) else os.getcwd())
            text = read_text(path)
            if text is not None and text.strip():
                # Raises for a text that cannot be used.
                registered(text)
                texts[path] = text
        except (SettingsError, OSError, ValueError):
            # A payload's folder may have a NUL in its name, and no file has.
            continue
    return texts


def _registered(
    app: Services, texts: Mapping[str, str], record: EventFacts, payload: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the entries that start hookrouter for this call."""
    value = matched_value(record.name, payload)
    return [
        {"file": path, "matcher": matcher, "command": command}
        for path, event, matcher, command in _started_by(app, texts)
        if event == record.name and matches(event, matcher, value)
    ]


def _started_by(app: Services, texts: Mapping[str, str]) -> list[tuple[str, str, str | None, str]]:
    """Return file, event, matcher and command of each entry that starts hookrouter."""
    entries = [(path, entry.event, entry.matcher, entry.command) for path, entry in _entries(texts)]
    if not entries:
        plugins = [path for path, text in texts.items() if enabled_names(text)]
        if plugins:
            # Started by the Claude Code plugin, which stands back if install has registered anything.
            entries = [(plugins[0], want.event, want.matcher, want.command) for want in first_party_registrations(app)]
    return entries


def registered_calls(app: Services, record: EventFacts, folder: str) -> Callable[[str], bool]:
    """Return what says whether a value that matchers of an event look at, such as a tool, starts hookrouter's hooks.

    By the settings that hold for a session in a folder.
    """
    texts = _settings_texts(app, {"cwd": folder})
    found = [] if any(map(hooks_disabled, texts.values())) else _started_by(app, texts)
    matchers = {matcher for _, event, matcher, _ in found if event == record.name}
    return lambda value: any(matches(record.name, matcher, value) for matcher in matchers)


def _entries(texts: Mapping[str, str]) -> Iterator[tuple[str, Entry]]:
    for path, text in texts.items():
        for entry in (*registered(text), *wrapped(text)):
            yield path, entry


def _context(app: Services, payload: Mapping[str, Any]) -> Context:
    return Context(
        event=str(payload["hook_event_name"]),
        payload=payload,
        home=app.home,
        config=app.config,
        environ=app.environ,
        plugins=app.plugins,
        journal=app.journal,
        wiring=_wiring,
        record={},
    )


def _session(app: Services, payload: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    context = _context(app, payload)
    session = context.session if name is None else name
    agent = app.config.agent_for(session, context.cwd)
    try:
        pause = is_paused(app.store, session)
        paused = None if pause is None else pause.described()
    except StoreError as error:
        paused = str(error)
    return {
        "name": session,
        "cwd": context.cwd,
        "agent": None if agent is None else agent.id,
        "gateway": None if agent is None else agent.gateway,
        "fallbacks": [] if agent is None else list(agent.fallbacks),
        "paused": paused,
    }
