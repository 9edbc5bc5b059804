"""What one hook call would set in motion: who is called in which order, who is not and why, and who is in charge.

Plugins are imported, because only their functions tell the order; none is called.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

from hookrouter import breaker, settings
from hookrouter.context import Context
from hookrouter.doctor import remedy
from hookrouter.hooks import event_record, hook_names
from hookrouter.hookspecs import hookspecs_for
from hookrouter.limits import time_limit
from hookrouter.manager import build_caller, is_wrapper
from hookrouter.markers import waiting
from hookrouter.pause import is_paused
from hookrouter.payloads import check
from hookrouter.registry import PluginStatus
from hookrouter.settings import SettingsError
from hookrouter.store import StoreError
from hookrouter.tables import TOOL_ALIASES

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from hookrouter.context import Services
    from hookrouter.registry import PluginInfo
    from hookrouter.tables import EventRecord

__all__ = ["explain", "matches"]

_EVERYTHING = ("", "*")
_NAMES = re.compile(r"[a-zA-Z0-9_|, -]+")
_FEWER_NAMES = re.compile(r"[a-zA-Z0-9_|]+")
_STRICT_MATCHERS = ("FileChanged", "StopFailure")
"""The events whose matchers are lists of names only without blanks, commas and dashes."""


def explain(app: Services, payload: Mapping[str, Any], session: str | None = None) -> dict[str, Any]:
    """Return as JSON values what a hook call with this payload would set in motion, which nothing here does.

    ``payload`` names an event that the contract has, under ``hook_event_name``; ``session`` is the session's name,
    by default that of the terminal in which this runs. The result has:

    - ``event``, ``tool`` (None where the event is about none) and ``hooks``, the names that are looked up, in order;
    - ``payload``: ``errors``, for which the call would be refused, and ``warnings``;
    - ``registered``: the entries of settings files that start hookrouter for this call (``file``, ``matcher``,
      ``command``), ``hooks_disabled``: the settings files that switch all hooks off, and ``needed``: whether anybody
      listens;
    - ``calls``, in order: ``plugin``, ``hook``, ``wrapper``, ``order`` (``tryfirst``, ``trylast`` or None),
      ``waits`` (seconds, or None: it is called after all others, and only where nobody has decided), ``on_error``,
      ``timeout``;
    - ``not_called``: ``plugin``, ``hooks``, ``status``, ``reason``, ``fix`` and ``refuses``, where it is set to fail
      closed and so refuses the call;
    - ``session``: ``name``, ``agent``, ``gateway``, ``fallbacks``, ``paused`` (None, or since when and why).
    """
    record = event_record(str(payload["hook_event_name"]))
    if record is None:
        raise ValueError(f"{payload['hook_event_name']!r} is no event of the contract")
    tool = payload.get("tool_name") if record.is_tool else None
    tool = tool if isinstance(tool, str) else None
    hooks = hook_names(record.name, tool)
    errors, warnings = check(record.name, dict(payload))
    skipped = list(_skipped(app, hooks))
    off = {entry["plugin"] for entry in skipped}
    texts = _settings_texts(app, payload)
    calls, failed = _calls(app, record, tool, hooks, off)
    return {
        "event": record.name,
        "tool": tool,
        "hooks": list(hooks),
        "payload": {"errors": errors, "warnings": warnings},
        "needed": bool(calls or skipped),
        "registered": _registered(texts, record, payload),
        "hooks_disabled": [path for path, text in texts.items() if settings.hooks_disabled(text)],
        "calls": calls,
        "not_called": skipped + failed,
        "session": _session(app, payload, session),
    }


def matches(event: str, matcher: str | None, value: str | None) -> bool:
    """Say whether a matcher of settings.json lets Claude Code start a hook, as measured on Claude Code 2.1.330.

    ``value`` is what matchers of the event look at; None where they look at nothing. None, ``""`` and ``"*"`` match
    everything; names are joined by ``|`` (or commas); all else is a regular expression that is searched for.
    """
    if matcher is None or matcher in _EVERYTHING or value is None:
        return True
    if (_FEWER_NAMES if event in _STRICT_MATCHERS else _NAMES).fullmatch(matcher):
        names = {name.strip() for name in re.split("[|,]", matcher)}
        return value in names or value in {TOOL_ALIASES.get(name) for name in names}
    try:
        return re.search(matcher, value) is not None
    except re.error:
        return False


def _calls(
    app: Services, record: EventRecord, tool: str | None, hooks: tuple[str, ...], off: set[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the calls in their order, and the plugins that cannot be called after all."""
    failed: list[dict[str, Any]] = []

    def fail(info: PluginInfo, error: BaseException) -> None:
        failed.append(_entry(app, info, hooks, PluginStatus.BROKEN, f"{type(error).__name__}: {error}"))

    loaded = []
    infos = {info.name: info for info in app.plugins.listeners(hooks) if info.name not in off}
    for info in infos.values():
        try:
            with time_limit(app.plugins.config(info.name).timeout):
                loaded.append((info.name, app.plugins.load(info.name)))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            fail(info, error)

    caller = build_caller(
        hookspecs_for(record.name, tool), loaded, _stand_in, lambda name, error: fail(infos[name], error)
    )
    found: list[dict[str, Any]] = []
    for hook in hooks:
        # Pluggy calls the last one first, wrappers around the others.
        for implementation in reversed(getattr(caller, hook).get_hookimpls()):
            if hook not in infos[implementation.plugin_name].hooks:
                continue
            table = app.plugins.config(implementation.plugin_name)
            waits = waiting(implementation.function)
            order = "tryfirst" if implementation.tryfirst else "trylast" if implementation.trylast else None
            found.append(
                {
                    "plugin": implementation.plugin_name,
                    "hook": hook,
                    "wrapper": bool(implementation.wrapper),
                    "order": order,
                    "waits": None if waits is None else waits.seconds,
                    "on_error": table.on_error,
                    "timeout": table.timeout,
                }
            )
    found.sort(key=lambda call: call["waits"] is not None)
    return found, failed


def _stand_in(_plugin: str, _hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what pluggy gets in the place of an implementation, which is never called."""

    def implementation(*_arguments: object) -> None:
        return

    def wrapper(*_arguments: object) -> Generator[None, None, None]:
        yield

    return wrapper if is_wrapper(function) else implementation


def _skipped(app: Services, hooks: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Return the plugins that would listen, and are not called."""
    off = breaker.off(breaker.read(app.home), app.config)
    guards = {info.name for info in app.plugins.broken_guards(hooks)}
    for info in app.plugins.listing():
        if info.name in guards or (info.status != PluginStatus.ACTIVE and not set(hooks).isdisjoint(info.hooks)):
            yield _entry(app, info, hooks, info.status, info.reason, refuses=info.name in guards)
        elif (
            info.name in off
            and not set(hooks).isdisjoint(info.hooks)
            and not breaker.is_due(off[info.name], time.time())
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
    for scope in settings.SCOPES:
        try:
            path = settings.settings_path(scope, app.environ, folder if isinstance(folder, str) else os.getcwd())
            text = settings.read_text(path)
            if text is not None and text.strip():
                # Raises for a text that cannot be used.
                settings.registered(text)
                texts[path] = text
        except (SettingsError, OSError, ValueError):
            # A payload's folder may have a NUL in its name, and no file has.
            continue
    return texts


def _registered(texts: Mapping[str, str], record: EventRecord, payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries that start hookrouter for this call."""
    entries = [(path, entry.event, entry.matcher, entry.command) for path, entry in _entries(texts)]
    if not entries:
        plugins = [path for path, text in texts.items() if settings.claude_plugins(text)]
        if plugins:
            # Started by the Claude Code plugin, which stands back where install has registered anything.
            from hookrouter.claude_plugin import first_party_registrations

            entries = [(plugins[0], want.event, want.matcher, want.command) for want in first_party_registrations()]
    value = _matched_value(record, payload)
    return [
        {"file": path, "matcher": matcher, "command": command}
        for path, event, matcher, command in entries
        if event == record.name and matches(event, matcher, value)
    ]


def _entries(texts: Mapping[str, str]) -> Iterator[tuple[str, settings.Entry]]:
    for path, text in texts.items():
        for entry in settings.registered(text):
            yield path, entry


def _matched_value(record: EventRecord, payload: Mapping[str, Any]) -> str | None:
    if record.matcher is None:
        return None
    if record.matcher in payload:
        return str(payload[record.matcher])
    # "basename(file_path)"
    return os.path.basename(str(payload.get("file_path", "")))


def _session(app: Services, payload: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    context = Context(
        event=str(payload["hook_event_name"]),
        payload=payload,
        home=app.home,
        config=app.config,
        environ=app.environ,
        plugins=app.plugins,
        journal=app.journal,
        record={},
    )
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
