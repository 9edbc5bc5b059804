"""From an event and its payload to one reply: calls the plugins that listen, in order, and merges what they say.

The tool's own hook is called before the event's, and the raw hook last. Each implementation runs behind a guard that
measures it, limits its time and turns whatever goes wrong into a failure of that plugin alone: the call goes on
without it, or, where the plugin is set to fail closed, with a refusal in its name.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

from hookrouter.hooks import RAW_HOOK, event_record, mcp_name
from hookrouter.hookspecs import hookspecs_for
from hookrouter.limits import PluginTimeout, time_limit
from hookrouter.manager import build_caller, is_wrapper
from hookrouter.names import printable
from hookrouter.tables import TOOL_INPUTS
from hookrouter.views import view

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from hookrouter.context import Context
    from hookrouter.merge import Output
    from hookrouter.registry import Plugins
    from hookrouter.replies import Reply

__all__ = ["Router"]

MAX_ERROR = 500
"""Characters of a plugin's error that are kept in the journal and in a reason."""


class Router:
    """Routes one payload. Holds no state between calls of :meth:`route`."""

    def __init__(self, plugins: Plugins) -> None:
        """Route to these plugins."""
        self._plugins = plugins

    def route(
        self, hooks: tuple[str, ...], payload: Mapping[str, Any], context: Context
    ) -> tuple[Output | None, list[dict[str, Any]]]:
        """Call the listeners of ``hooks`` and return the merged output, if any, and one journal entry for each call.

        ``payload`` is a payload that passed its checks, or one of an event that this version does not know.
        """
        return _Run(self._plugins, hooks, payload, context).result()


class _Run:
    """One routing: the input as the plugins have rewritten it so far, the replies, and the records."""

    def __init__(self, plugins: Plugins, hooks: tuple[str, ...], payload: Mapping[str, Any], context: Context) -> None:
        self._plugins = plugins
        self._hooks = hooks
        self._event = context.event
        known = event_record(context.event)
        self._tool: str | None = payload["tool_name"] if known is not None and known.is_tool else None
        self._context = context
        self._replies: list[tuple[str, Reply]] = []
        self._owners: dict[int, str] = {}
        self._records: list[dict[str, Any]] = []
        self._arguments = self._see(payload)

    def _see(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that hooks get for this payload."""
        arguments: dict[str, Any] = {"context": self._context, "event_name": self._event, "payload": payload}
        if self._hooks == (RAW_HOOK,):
            return arguments
        tool_input = payload.get("tool_input")
        arguments["event"] = view(self._event, payload)
        typed = TOOL_INPUTS.get(self._tool or "")
        arguments["tool_input"] = tool_input if typed is None else view(typed, tool_input)
        if self._tool is not None and (names := mcp_name(self._tool)) is not None:
            arguments["server"], arguments["tool"] = names
        return arguments

    def result(self) -> tuple[Output | None, list[dict[str, Any]]]:
        loaded = []
        for info in self._plugins.listeners(self._hooks):
            started = time.perf_counter()
            try:
                with time_limit(self._plugins.config(info.name).timeout):
                    loaded.append((info.name, self._plugins.load(info.name)))
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises at import, sys.exit included
                self._failed(info.name, "import", error, started)
        for info in self._plugins.broken_guards(self._hooks):
            self._failed(info.name, "import", ImportError(info.reason), time.perf_counter())
        callers = build_caller(hookspecs_for(self._event, self._tool), loaded, self._guard)
        for hook in self._hooks:
            caller = getattr(callers, hook)
            replies = caller(**{name: self._arguments[name] for name in caller.spec.argnames})
            self._replies.extend((self._owners[id(reply)], reply) for reply in replies)
        return self._merge(), self._records

    def _merge(self) -> Output | None:
        # The replies' modules are loaded only where there is one: most hooks look and say nothing.
        if not self._replies:
            return None
        from hookrouter.merge import merge

        return merge(self._event, self._replies)

    def _checked(self, result: object) -> Reply | None:
        if result is None:
            return None
        from hookrouter.merge import check_reply

        return check_reply(self._event, result)

    def _guard(self, plugin: str, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        names = tuple(inspect.signature(function).parameters)
        if is_wrapper(function):
            return self._guard_wrapper(plugin, hook, function, names)

        def guarded(*given: Any) -> Reply | None:
            started = time.perf_counter()
            try:
                with time_limit(self._plugins.config(plugin).timeout):
                    reply = self._checked(function(*self._current(names, given)))
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises, sys.exit included
                self._failed(plugin, hook, error, started)
                return None
            self._record(plugin, hook, started, "none" if reply is None else "replied")
            if reply is not None:
                self._owners[id(reply)] = plugin
                self._rewrite(reply)
            return reply

        return guarded

    def _guard_wrapper(
        self, plugin: str, hook: str, function: Callable[..., Any], names: tuple[str, ...]
    ) -> Callable[..., Any]:
        limit = self._plugins.config(plugin).timeout

        def guarded(*given: Any) -> Generator[None, list[Reply], list[Reply]]:
            started = time.perf_counter()
            try:
                with time_limit(limit):
                    generator = function(*self._current(names, given))
                    next(generator)
            except BaseException as error:  # noqa: BLE001 - as above
                self._failed(plugin, hook, error, started)
                return (yield)
            results = yield
            try:
                with time_limit(limit):
                    changed = self._finish_wrapper(generator, results)
            except BaseException as error:  # noqa: BLE001 - as above
                self._failed(plugin, hook, error, started)
                return results
            for reply in changed:
                self._owners.setdefault(id(reply), plugin)
            self._record(plugin, hook, started, "wrapped")
            return changed

        return guarded

    def _finish_wrapper(self, generator: Generator[None, list[Reply], Any], results: list[Reply]) -> list[Reply]:
        try:
            generator.send(list(results))
        except StopIteration as stop:
            changed = [self._checked(reply) for reply in stop.value or ()]
            return [reply for reply in changed if reply is not None]
        raise RuntimeError("the wrapper yielded twice")

    def _current(self, names: tuple[str, ...], given: tuple[Any, ...]) -> list[Any]:
        """Replace what pluggy passes by what the plugins before have made of it."""
        return [self._arguments.get(name, value) for name, value in zip(names, given, strict=False)]

    def _rewrite(self, reply: Reply) -> None:
        updated = reply.output.get("updatedInput")
        if updated is not None:
            self._arguments = self._see({**self._arguments["payload"], "tool_input": updated})
            self._records[-1]["updatedInput"] = True

    def _failed(self, plugin: str, hook: str, error: BaseException, started: float) -> None:
        """Record a failure, and refuse in the plugin's name where it is set to fail closed."""
        what = "timed out" if isinstance(error, PluginTimeout) else "failed"
        text = printable(f"{type(error).__name__}: {error}")[:MAX_ERROR]
        self._record(plugin, hook, started, what, error=text)
        from hookrouter.replies import Reply, closed, expected_reply

        reason = f"hookrouter: plugin {plugin} {what} in {hook} ({text})"
        if self._plugins.config(plugin).on_error == "closed":
            refusal = closed(self._event, f"{reason}; it is set to fail closed, so this is refused")
            if refusal is not None:
                self._replies.append((plugin, refusal))
                return
        if hasattr(expected_reply(self._event), "message"):
            self._replies.append((plugin, Reply.message(reason)))

    def _record(self, plugin: str, hook: str, started: float, outcome: str, **more: object) -> None:
        elapsed = round((time.perf_counter() - started) * 1000, 2)
        self._records.append({"plugin": plugin, "hook": hook, "ms": elapsed, "outcome": outcome, **more})
