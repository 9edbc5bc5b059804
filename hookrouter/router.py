"""From an event and its payload to one reply: calls the plugins that listen, in order, and merges what they say.

The tool's own hook is called before the event's, and the raw hook last. Each implementation runs behind a guard that
measures it, limits its time and turns whatever goes wrong into a failure of that plugin alone: the call goes on
without it, or, where the plugin is set to fail closed, with a refusal in its name.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

from hookrouter import _json
from hookrouter.hooks import event_record, mcp_name
from hookrouter.hookspecs import hookspecs_for
from hookrouter.limits import PluginTimeout, time_limit
from hookrouter.manager import build_caller, is_wrapper
from hookrouter.markers import waiting
from hookrouter.names import printable
from hookrouter.tables import TOOL_INPUTS
from hookrouter.views import view

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from hookrouter.context import Context
    from hookrouter.merge import Output
    from hookrouter.registry import Plugins
    from hookrouter.replies import Reply

__all__ = ["Router"]

REFUSALS = ("deny", "block", "cancel", "decline")
"""The verdicts by which a plugin keeps something from happening."""

MAX_ERROR = 500
"""Characters of a plugin's error that are kept in the journal and in a reason."""


class Router:
    """Routes one payload. Holds no state between calls of :meth:`route`."""

    def __init__(self, plugins: Plugins) -> None:
        """Route to these plugins."""
        self._plugins = plugins

    def route(
        self, hooks: tuple[str, ...], payload: Mapping[str, Any], context: Context, notices: Sequence[str] = ()
    ) -> tuple[Output | None, list[dict[str, Any]]]:
        """Call the listeners of ``hooks`` and return the merged output, if any, and one journal entry for each call.

        ``payload`` is a payload that passed its checks, or one of an event that this version does not know;
        ``notices`` are shown to the user with what the plugins say, where the event shows messages.
        """
        return _Run(self._plugins, hooks, payload, context).result(notices)


class _Run:
    """One routing: the payload as the plugins have rewritten it so far, the replies, and the records."""

    def __init__(self, plugins: Plugins, hooks: tuple[str, ...], payload: Mapping[str, Any], context: Context) -> None:
        self._plugins = plugins
        self._hooks = hooks
        self._payload = payload
        self._event = context.event
        known = event_record(context.event)
        self._tool: str | None = payload["tool_name"] if known is not None and known.is_tool else None
        self._context = context
        self._shared = False
        """Whether several implementations look at the payload, so that each must get a copy of its own."""
        self._replies: list[tuple[str, Reply]] = []
        self._owners: dict[int, str] = {}
        self._records: list[dict[str, Any]] = []
        self._used: dict[str, float] = {}
        """Seconds that each plugin has taken so far."""
        self._waiting: list[tuple[str, str, Callable[[], Reply | None]]] = []
        """The implementations that may wait: plugin, hook, and what calls it."""

    def result(self, notices: Sequence[str]) -> tuple[Output | None, list[dict[str, Any]]]:
        for text in notices:
            self._say("hookrouter", text)
        loaded = []
        for info in self._plugins.listeners(self._hooks):
            started = time.perf_counter()
            try:
                with self._limit(info.name):
                    loaded.append((info.name, self._plugins.load(info.name)))
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises at import, sys.exit included
                self._failed(info.name, "import", error, started)
        for info in self._plugins.broken_guards(self._hooks):
            self._failed(info.name, "import", ImportError(info.reason), time.perf_counter())

        def misfit(plugin: str, error: BaseException) -> None:
            self._failed(plugin, "registration", error, time.perf_counter())

        callers = build_caller(hookspecs_for(self._event, self._tool), loaded, self._guard, misfit)
        implemented = [caller for caller in (getattr(callers, hook) for hook in self._hooks) if caller.get_hookimpls()]
        self._shared = sum(len(caller.get_hookimpls()) for caller in implemented) > 1
        for caller in implemented:
            # What each implementation gets is put in by its guard.
            replies = caller(**dict.fromkeys(caller.spec.argnames))
            self._replies.extend((self._owners[id(reply)], reply) for reply in replies)
        self._call_waiting()
        return self._merge(), self._records

    def _call_waiting(self) -> None:
        """Call what may wait for somebody, unless nobody needs to decide any more."""
        for plugin, hook, call in self._waiting:
            if any(reply.verdict for _, reply in self._replies):
                self._record(plugin, hook, time.perf_counter(), "not needed")
            elif (reply := call()) is not None:
                self._replies.append((plugin, reply))

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
        waits = waiting(function)

        def guarded(*given: Any) -> Reply | None:
            started = time.perf_counter()
            try:
                with self._limit(plugin) if waits is None else time_limit(waits.seconds):
                    reply = self._checked(function(*self._arguments(names[: len(given)])))
            except BaseException as error:  # noqa: BLE001 - whatever a plugin raises, sys.exit included
                self._failed(plugin, hook, error, started)
                return None
            self._record(plugin, hook, started, "none" if reply is None else "replied")
            if reply is not None:
                self._take(plugin, reply)
            return reply

        def postponed(*given: Any) -> None:
            if waits is not None and self._is_set(plugin, waits.setting):
                self._waiting.append((plugin, hook, lambda: guarded(*given)))

        return guarded if waits is None else postponed

    def _is_set(self, plugin: str, setting: str | None) -> bool:
        return setting is None or self._plugins.config(plugin).settings.get(setting) is True

    def _guard_wrapper(
        self, plugin: str, hook: str, function: Callable[..., Any], names: tuple[str, ...]
    ) -> Callable[..., Any]:
        def guarded(*given: Any) -> Generator[None, list[Reply], list[Reply]]:
            started = time.perf_counter()
            try:
                with self._limit(plugin):
                    generator = function(*self._arguments(names[: len(given)]))
                    next(generator)
            except BaseException as error:  # noqa: BLE001 - as above
                self._failed(plugin, hook, error, started)
                return (yield)
            results = yield
            try:
                with self._limit(plugin):
                    changed = self._finish_wrapper(generator, results)
            except BaseException as error:  # noqa: BLE001 - as above
                self._failed(plugin, hook, error, started)
                return results
            kept = [reply for reply in results if reply not in changed and self._is_final(reply)]
            self._record(plugin, hook, started, "wrapped")
            for reply in changed:
                if id(reply) not in self._owners:
                    self._take(plugin, reply)
            return kept + changed

        return guarded

    def _finish_wrapper(self, generator: Generator[None, list[Reply], Any], results: list[Reply]) -> list[Reply]:
        """Return the replies as the wrapper leaves them; one that returns None has changed nothing."""
        try:
            generator.send(list(results))
        except StopIteration as stop:
            if stop.value is None:
                return results
            changed = [self._checked(reply) for reply in stop.value]
            return [reply for reply in changed if reply is not None]
        raise RuntimeError("the wrapper yielded twice")

    def _is_final(self, reply: Reply) -> bool:
        """Say whether no wrapper may take a reply away: the verdict of a plugin that is set to fail closed."""
        return reply.verdict in REFUSALS and self._plugins.config(self._owners[id(reply)]).on_error == "closed"

    def _arguments(self, names: tuple[str, ...]) -> list[Any]:
        """Return what an implementation gets: the payload as the plugins before it have rewritten it."""
        payload: Any = _json.loads(_json.dumps(self._payload)) if self._shared else self._payload
        seen: dict[str, Any] = {"context": self._context, "event_name": self._event, "payload": payload}
        if event_record(self._event) is not None:
            seen["event"] = view(self._event, payload)
        if self._tool is not None:
            typed, tool_input = TOOL_INPUTS.get(self._tool), payload["tool_input"]
            seen["tool_input"] = tool_input if typed is None else view(typed, tool_input)
            seen["server"], seen["tool"] = mcp_name(self._tool) or ("", self._tool)
        return [seen[name] for name in names]

    def _take(self, plugin: str, reply: Reply) -> None:
        """Note whose reply this is, and pass on the tool input that it puts in the place of the former one."""
        self._owners[id(reply)] = plugin
        updated = reply.output.get("updatedInput")
        if updated is not None:
            self._payload = {**self._payload, "tool_input": updated}
            self._records[-1]["updatedInput"] = True

    def _limit(self, plugin: str) -> AbstractContextManager[None]:
        """Return the time limit for what a plugin does next: what is left of its timeout in this run."""
        return time_limit(self._plugins.config(plugin).timeout - self._used.get(plugin, 0.0))

    def _failed(self, plugin: str, hook: str, error: BaseException, started: float) -> None:
        """Record a failure, and refuse in the plugin's name where it is set to fail closed."""
        from hookrouter.replies import closed

        what = "timed out" if isinstance(error, PluginTimeout) else "failed"
        text = printable(f"{type(error).__name__}: {error}")[:MAX_ERROR]
        self._record(plugin, hook, started, what, error=text)
        reason = f"hookrouter: plugin {plugin} {what} in {hook} ({text})"
        # Claude goes on after a refused Stop, so refusing it again and again would never end.
        if self._plugins.config(plugin).on_error == "closed" and self._payload.get("stop_hook_active") is not True:
            reply = closed(self._event, f"{reason}; it is set to fail closed, so this is refused")
            if reply is not None:
                self._replies.append((plugin, reply))
                return
        self._say(plugin, reason)

    def _say(self, plugin: str, text: str) -> None:
        from hookrouter.replies import message

        reply = message(self._event, text)
        if reply is not None:
            self._replies.append((plugin, reply))

    def _record(self, plugin: str, hook: str, started: float, outcome: str, **more: object) -> None:
        elapsed = time.perf_counter() - started
        self._used[plugin] = self._used.get(plugin, 0.0) + elapsed
        self._records.append(
            {"plugin": plugin, "hook": hook, "ms": round(elapsed * 1000, 2), "outcome": outcome, **more}
        )
