"""From an event and its payload to one reply: calls the plugins that listen, in order, and merges what they say.

The tool's own hook is called before the event's, and the raw hook last. Each implementation runs behind a guard that
measures it, limits its time, puts right what it leaves changed in the process, and turns whatever goes wrong into a
failure of that plugin alone: the call goes on without it, or, where the plugin is set to fail closed, with a refusal in
its name. Each implementation sees the tool's input and output as those before it have rewritten them.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter import _json
from hookrouter.course import Call, Course
from hookrouter.hooks import event_record, mcp_name
from hookrouter.hookspecs import hookspecs_for
from hookrouter.limits import PluginTimeout, time_limit
from hookrouter.manager import build_caller, is_wrapper
from hookrouter.markers import waiting
from hookrouter.names import printable
from hookrouter.tables import TOOL_ALIASES, TOOLS
from hookrouter.views import tool_view, view

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    from hookrouter.breaker import Health
    from hookrouter.containment import Containment
    from hookrouter.context import Context
    from hookrouter.merge import Output
    from hookrouter.patches import Patch
    from hookrouter.registry import PluginInfo, Plugins
    from hookrouter.replies import Reply

__all__ = ["Router"]

REFUSALS = ("deny", "block", "cancel", "decline")
"""The verdicts by which a plugin keeps something from happening."""

REWRITING = {
    "updatedInput": "tool_input",
    "updatedToolOutput": "tool_response",
    "updatedMCPToolOutput": "tool_response",
}
"""The fields of a reply that take the place of one of the payload's, and which."""

MAX_ERROR = 500
"""Characters of a plugin's error that are kept in the journal and in a reason."""


class Router:
    """Routes one payload. Holds no state between calls of :meth:`route`."""

    def __init__(
        self,
        plugins: Plugins,
        *,
        course: Course | None = None,
        containment: Containment | None = None,
        health: Mapping[str, Health] | None = None,
        off: Collection[str] = (),
    ) -> None:
        """Route to these plugins.

        ``course`` is what an earlier process has done of the same run, and who is told what this one does;
        ``containment`` puts right what plugins leave changed. ``health`` is what is known of plugins that have failed,
        and ``off`` names those of them that are not to be called.
        """
        self._plugins = plugins
        self._course = course
        self._containment = containment
        self._health = health
        self._off = off

    def route(
        self, hooks: tuple[str, ...], payload: Mapping[str, Any], context: Context, notices: Sequence[str] = ()
    ) -> tuple[Output | None, list[dict[str, Any]]]:
        """Call the listeners of ``hooks`` and return the merged output, if any, and one journal entry for each call.

        ``payload`` is a payload that passed its checks, or one of an event that this version does not know;
        ``notices`` are shown to the user with what the plugins say, where the event shows messages.
        """
        run = _Run(self._plugins, hooks, payload, context)
        run.course = self._course or Course()
        run.containment = self._containment
        run.health, run.off = self._health, self._off
        return run.result(notices)


class _Attempt(NamedTuple):
    """What came of letting a plugin do something."""

    result: Any
    error: BaseException | None
    seconds: float
    left: list[str]
    """What it did that was put right, in words."""


class _Run:
    """One routing: the payload as the plugins have rewritten it so far, the replies, and the records."""

    course: Course
    containment: Containment | None
    health: Mapping[str, Health] | None
    off: Collection[str]

    def __init__(self, plugins: Plugins, hooks: tuple[str, ...], payload: Mapping[str, Any], context: Context) -> None:
        self._plugins = plugins
        self._hooks = hooks
        self._original = self._payload = payload
        self._event = context.event
        known = event_record(context.event)
        self._tool: str | None = payload["tool_name"] if known is not None and known.is_tool else None
        self._context = context
        self._replies: list[tuple[str, Reply]] = []
        self._owners: dict[int, str] = {}
        self._patches: dict[int, tuple[str, str, Patch]] = {}
        """What a reply rewrites, by its identity: the plugin, the reply's field, and the changes."""
        self._messengers: list[str] = []
        """The plugins that have replied with somebody else's decision."""
        self._records: list[dict[str, Any]] = []
        self._used: dict[str, float] = {}
        """Seconds that each plugin has taken so far."""
        self._waiting: list[tuple[str, str, Callable[[], Reply | None]]] = []
        """The implementations that may wait: plugin, hook, and what calls it."""

    def result(self, notices: Sequence[str]) -> tuple[Output | None, list[dict[str, Any]]]:
        for text in notices:
            self._say("hookrouter", text)
        self._bury()
        loaded = [(info.name, plugin) for info in self._listeners() if (plugin := self._load(info.name)) is not None]
        for info in self._plugins.broken_guards(self._hooks):
            # A guard whose settings are wrong does not run, or it would guard by other rules than somebody wrote.
            what, error = ("settings", ValueError) if info.problems else ("import", ImportError)
            self._failed(info.name, what, _Attempt(None, error(info.reason), 0.0, []))

        def misfit(plugin: str, error: BaseException) -> None:
            self._failed(plugin, "registration", _Attempt(None, error, 0.0, []))

        callers = build_caller(hookspecs_for(self._event, self._tool), loaded, self._guard, misfit)
        for caller in (getattr(callers, hook) for hook in self._hooks):
            if not caller.get_hookimpls():
                continue
            # What each implementation gets is put in by its guard.
            replies = caller(**dict.fromkeys(caller.spec.argnames))
            self._replies.extend((self._owners[id(reply)], reply) for reply in replies)
            self._rewrite()
        self._call_waiting()
        self._rewrite()
        return self._merge(), self._records

    def _bury(self) -> None:
        """Take over what the plugins said that have taken an earlier process of this run with them."""
        for plugin, entry in self.course.dead.items():
            for name, hook in [key for key in self.course.calls if key[0] == plugin]:
                if (reply := self._repeat(name, hook)) is not None:
                    self._replies.append((plugin, reply))
            self._count(plugin, entry)
            self._answer_for(plugin, entry)
        self._rewrite()

    def _listeners(self) -> list[PluginInfo]:
        """Return the plugins to call: none that has ended an earlier process of this run, or is switched off."""
        listeners = []
        for info in self._plugins.listeners(self._hooks):
            if info.name in self.off:
                self._skip(info)
            elif info.name not in self.course.dead:
                listeners.append(info)
        return listeners

    def _skip(self, info: PluginInfo) -> None:
        hook = next(hook for hook in self._hooks if hook in info.hooks)
        entry: dict[str, Any] = {"plugin": info.name, "hook": hook, "ms": 0.0, "outcome": "switched off"}
        self._records.append(entry)
        health = (self.health or {}).get(info.name)
        if (
            health is not None
            and not health.told
            and self._say("hookrouter", f"hookrouter: {health.describe(info.name)}") is not None
        ):
            entry["told"] = True

    def _load(self, plugin: str) -> object | None:
        if (plugin, "import") in self.course.calls:
            self._repeat(plugin, "import")
            return None
        attempt = self._attempt(plugin, "import", self._limit(plugin), lambda: self._plugins.load(plugin))
        if attempt.error is not None:
            self._failed(plugin, "import", attempt)
            return None
        if attempt.left:
            self._record(plugin, "import", attempt, "loaded")
        else:
            self._used[plugin] = attempt.seconds
        loaded: object = attempt.result
        return loaded

    def _call_waiting(self) -> None:
        """Call what may wait for somebody, unless nobody needs to decide any more."""
        for plugin, hook, call in self._waiting:
            if any(reply.verdict for _, reply in self._replies):
                self._record(plugin, hook, _Attempt(None, None, 0.0, []), "not needed")
            elif (reply := call()) is not None:
                self._messengers.append(plugin)
                self._replies.append((plugin, reply))

    def _rewrite(self) -> None:
        """Rewrite the payload as the replies say that stand by now: a wrapper may have taken some away."""
        if not self._patches:
            return
        payload = self._original
        for _, reply in self._replies:
            if (found := self._patches.get(id(reply))) is not None:
                payload = _rewritten(payload, *found[1:])
        self._payload = payload

    def _merge(self) -> Output | None:
        # The replies' modules are loaded only where there is one: most hooks look and say nothing.
        if not self._replies:
            return None
        from hookrouter.merge import merge

        rewritten: dict[str, object] = {}
        if self._patches:
            from hookrouter.patches import changed_by

            found = [self._patches[id(reply)] for _, reply in self._replies if id(reply) in self._patches]
            rewritten = {field: self._payload[REWRITING[field]] for _, field, _ in found}
            for part in dict.fromkeys(REWRITING[field] for field in rewritten):
                patches = [(plugin, patch) for plugin, field, patch in found if REWRITING[field] == part]
                self._context.note(f"{part}_by", changed_by(patches))
        return merge(self._event, self._replies, messengers=self._messengers, rewritten=rewritten)

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
            if (plugin, hook) in self.course.calls:
                return self._repeat(plugin, hook)
            seen, seconds = self._payload, self._limit(plugin) if waits is None else waits.seconds
            arguments = names[: len(given)]
            attempt = self._attempt(
                plugin, hook, seconds, lambda: self._checked(function(*self._arguments(arguments))), waits is not None
            )
            if attempt.error is not None:
                self._failed(plugin, hook, attempt)
                return None
            reply: Reply | None = attempt.result
            entry = self._record(plugin, hook, attempt, "none" if reply is None else "replied")
            if reply is not None:
                self._take(plugin, reply, seen, entry)
            self.course.ended(plugin, hook, Call(entry, self._told(reply), failed=False))
            return reply

        def postponed(*given: Any) -> None:
            if waits is not None and self._is_set(plugin, waits.setting):
                self._waiting.append((plugin, hook, lambda: guarded(*given)))

        return guarded if waits is None else postponed

    def _is_set(self, plugin: str, setting: str | None) -> bool:
        return setting is None or self._plugins.settings(plugin).get(setting) is True

    def _guard_wrapper(
        self, plugin: str, hook: str, function: Callable[..., Any], names: tuple[str, ...]
    ) -> Callable[..., Any]:
        def begun(arguments: tuple[str, ...]) -> Generator[None, list[Reply], list[Reply]]:
            generator: Generator[None, list[Reply], list[Reply]] = function(*self._arguments(arguments))
            next(generator)
            return generator

        def guarded(*given: Any) -> Generator[None, list[Reply], list[Reply]]:
            if (plugin, hook) in self.course.calls:
                # It has failed, before or after the others were called.
                self._repeat(plugin, hook)
                return (yield)
            seen, arguments = self._payload, names[: len(given)]
            first = self._attempt(plugin, hook, self._limit(plugin), lambda: begun(arguments))
            if first.error is not None:
                self._failed(plugin, hook, first)
                return (yield)
            self.course.idle()
            self._used[plugin] = self._used.get(plugin, 0.0) + first.seconds
            results = yield
            last = self._attempt(plugin, hook, self._limit(plugin), lambda: self._finish_wrapper(first.result, results))
            last = last._replace(left=list(dict.fromkeys(first.left + last.left)))
            if last.error is not None:
                self._failed(plugin, hook, last)
                return results
            changed: list[Reply] = last.result
            kept = [reply for reply in results if reply not in changed and self._is_final(reply)]
            entry = self._record(plugin, hook, last, "wrapped")
            for reply in changed:
                if id(reply) not in self._owners:
                    self._take(plugin, reply, seen, entry)
            self.course.idle()
            return kept + changed

        return guarded

    def _attempt(
        self, plugin: str, hook: str, seconds: float, body: Callable[[], object], patient: bool = False
    ) -> _Attempt:
        """Let a plugin do something, for as long as this at most, and put right what it leaves changed."""
        self.course.begins(plugin, hook, seconds, patient)
        if self.containment is not None:
            self.containment.enter(plugin)
        result: object = None
        error: BaseException | None = None
        started = time.perf_counter()
        try:
            with time_limit(seconds):
                result = body()
        except BaseException as raised:  # noqa: BLE001 - whatever a plugin raises, sys.exit included
            error = raised
        elapsed = time.perf_counter() - started
        return _Attempt(result, error, elapsed, [] if self.containment is None else self.containment.leave(plugin))

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
        """Return what an implementation gets: the payload as the plugins before it have rewritten it, as its own."""
        payload: Any = _json.loads(_json.dumps(self._payload))
        seen: dict[str, Any] = {"context": self._context, "event_name": self._event, "payload": payload}
        if event_record(self._event) is not None:
            seen["event"] = view(self._event, payload)
        if self._tool is not None:
            tool = TOOL_ALIASES.get(self._tool, self._tool)
            for name, part in (("tool_input", "Input"), ("tool_response", "Output")):
                seen[name] = tool_view(tool, part, payload.get(name)) if tool in TOOLS else payload.get(name)
            seen["server"], seen["tool"] = mcp_name(self._tool) or ("", self._tool)
        return [seen[name] for name in names]

    def _take(self, plugin: str, reply: Reply, seen: Mapping[str, Any], entry: dict[str, Any]) -> None:
        """Note whose reply this is, and pass on what it rewrites of the payload that its plugin saw."""
        self._owners[id(reply)] = plugin
        if self.course.trace is not None:
            from hookrouter.tracing import shown

            entry["reply"] = shown(reply)
            self.course.trace.reply(plugin, entry["reply"])
        for field in reply.output.keys() & REWRITING.keys():
            from hookrouter.patches import Patch

            patch = Patch(seen.get(REWRITING[field]), reply.output[field])
            self._patches[id(reply)] = (plugin, field, patch)
            self._payload = _rewritten(self._payload, field, patch)
            entry[field] = patch.keys()
            # Inputs hold secrets; who wants them in the journal says so.
            if self._plugins.all_config.journal_payloads or self.course.trace is not None:
                entry["values"] = patch.values()

    def _limit(self, plugin: str) -> float:
        """Return how long a plugin may take for what it does next: what is left of its timeout in this run."""
        return self._plugins.config(plugin).timeout - self._used.get(plugin, 0.0)

    def _failed(self, plugin: str, hook: str, attempt: _Attempt) -> None:
        """Record a failure, and refuse in the plugin's name where it is set to fail closed."""
        if (plugin, hook) in self.course.calls:
            self._repeat(plugin, hook)
            return
        error = attempt.error
        what = "timed out" if isinstance(error, PluginTimeout) else "failed"
        text = printable(f"{type(error).__name__}: {error}")[:MAX_ERROR]
        entry = self._record(plugin, hook, attempt, what, error=text)
        reply = self._answer_for(plugin, entry)
        self.course.ended(plugin, hook, Call(entry, self._told(reply), failed=True))

    def _answer_for(self, plugin: str, entry: dict[str, Any]) -> Reply | None:
        """Refuse in the name of a plugin that has failed and is set to fail closed; else tell the user of it."""
        from hookrouter.replies import closed

        reason = f"hookrouter: plugin {plugin} {entry['outcome']} in {entry['hook']} ({entry['error']})"
        # Claude goes on after a refused Stop, so refusing it again and again would never end.
        if self._plugins.config(plugin).on_error == "closed" and self._payload.get("stop_hook_active") is not True:
            reply = closed(self._event, f"{reason}; it is set to fail closed, so this is refused")
            if reply is not None:
                self._replies.append((plugin, reply))
                return reply
        if self.health is None:
            return self._say(plugin, reason)
        from hookrouter.breaker import switched_off, will_trip

        trips = will_trip(self.health, plugin, self._plugins.all_config)
        said = self._say(plugin, f"{reason}; {switched_off(plugin)}" if trips else reason)
        if trips and said is not None:
            entry["told"] = True
        return said

    def _say(self, plugin: str, text: str) -> Reply | None:
        """Show the user a message; return it, or None where the event does not show any."""
        from hookrouter.replies import message

        reply = message(self._event, text)
        if reply is not None:
            self._replies.append((plugin, reply))
        return reply

    def _repeat(self, plugin: str, hook: str) -> Reply | None:
        """Take over what an earlier process of this run has told of a call; return the plugin's own reply."""
        call = self.course.calls[plugin, hook]
        self._count(plugin, call.entry)
        if call.reply is None:
            return None
        reply = _decoded(call.reply)
        if call.failed:
            self._replies.append((plugin, reply))
            return None
        self._take(plugin, reply, self._payload, call.entry)
        return reply

    def _told(self, reply: Reply | None) -> list[Any] | None:
        """Return a reply as JSON, where another process is told."""
        if reply is None or not self.course.is_told:
            return None
        return [type(reply).__name__, *(value for _, value in reply._items())]

    def _count(self, plugin: str, entry: dict[str, Any]) -> None:
        self._used[plugin] = self._used.get(plugin, 0.0) + entry["ms"] / 1000
        self._records.append(entry)

    def _record(self, plugin: str, hook: str, attempt: _Attempt, outcome: str, **more: object) -> dict[str, Any]:
        entry = {"plugin": plugin, "hook": hook, "ms": round(attempt.seconds * 1000, 2), "outcome": outcome, **more}
        if attempt.left:
            entry["left"] = attempt.left
        self._count(plugin, entry)
        if self.course.trace is not None:
            self.course.trace.call(entry)
        return entry


def _rewritten(payload: Mapping[str, Any], field: str, patch: Patch) -> Mapping[str, Any]:
    part = REWRITING[field]
    return {**payload, part: patch.apply(payload.get(part))}


def _decoded(told: list[Any]) -> Reply:
    """Return the reply that another process of this run has told."""
    from hookrouter import replies

    kind: type[Reply] = getattr(replies, told[0], replies.Reply)
    return kind._make(**dict(zip(replies.Reply.__slots__, told[1:], strict=False)))
