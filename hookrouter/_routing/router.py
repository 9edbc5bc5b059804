"""From an event and its payload to one reply: calls the plugins that listen, in order, and merges what they say.

The tool's own hook is called before the event's, and the raw hook last; then those of each plugin in ``[plugins]
last``, one plugin after the other. Each implementation runs behind a guard that measures it, limits its time, puts
right what it leaves changed in the process, and turns what goes wrong into a failure of that plugin alone: the call
goes on without it, or, if it is set to fail closed, with a refusal in its name. Each sees the tool's input and output
as those before it have rewritten them; a plugin in ``last`` is asked once more if they are rewritten after it.
"""

from __future__ import annotations

import os
import time

from hookrouter import events
from hookrouter._contract.hook_names import (
    DIALOG_EVENT,
    RAW_HOOK,
    WAKE_VARIABLE,
    event_facts,
    hook_names,
    matched_value,
    mcp_name,
)
from hookrouter._contract.tables import TOOL_ALIASES, TOOLS
from hookrouter._isolation.progress import Call, RunProgress
from hookrouter._plugins.call_specs import hookspecs_for
from hookrouter._plugins.manager import build_calls, in_turn, is_wrapper, unasked
from hookrouter._plugins.plain_calls import argument_names
from hookrouter._routing.output import Routed
from hookrouter._routing.said import Said, taken_of
from hookrouter.markers import waiting
from hookrouter.storage.journal import FAILURES, cap
from hookrouter.util import fastjson
from hookrouter.util.text import describe_error
from hookrouter.util.time_limit import PluginTimeout, describe_in_time, time_limit
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from typing import Any

    from hookrouter._isolation.circuit_breaker import Health
    from hookrouter._isolation.containment import Containment
    from hookrouter._plugins.registry import PluginInfo, Plugins
    from hookrouter._routing.said import Taken
    from hookrouter.context import Context
    from hookrouter.markers import Waits
    from hookrouter.replies import Reply

__all__ = ["DRY_RUN", "route"]

DRY_RUN = "HOOKROUTER_DRY_RUN"
"""The environment variable that, if set, keeps hooks that may wait for somebody from being called."""

_AGAIN = " again"
"""How the name of a hook ends that is called once more in the same run, where processes tell each other of calls."""

_CALL = "PreToolUse"
"""The event about the call that a PermissionRequest is about."""

_FORGOTTEN = "its code does not hold this hook any more"


def route(
    plugins: Plugins,
    hooks: tuple[str, ...],
    payload: Mapping[str, Any],
    context: Context,
    *,
    notices: Sequence[str] = (),
    progress: RunProgress | None = None,
    containment: Containment | None = None,
    health: Mapping[str, Health] | None = None,
    switched_off: Collection[str] = (),
) -> Routed:
    """Call the listeners of ``hooks`` and return their merged answer and one journal entry for each call.

    ``payload`` is a payload that passed its checks, or one of an event that this version does not know; ``notices``
    are shown to the user with what the plugins say, if the event shows messages. ``progress`` is what an earlier
    process has done of the same run, and is told what this one does; ``containment`` puts right what plugins leave
    changed. ``health`` is what is known of plugins that have failed, None if nobody keeps it; ``switched_off`` names
    the plugins that are not called.

    Whatever plugins raise is a failure of theirs. A fault of hookrouter itself is in the result, with the replies that
    were taken until then.
    """
    run = _Routing(plugins, hooks, payload, context, progress or RunProgress(), containment, health, switched_off)
    return run.result(notices)


class _Attempt(Value):
    """What came of letting a plugin do something."""

    result: Any
    error: BaseException | None
    seconds: float
    left: list[str]
    """What it did that was put right, in words."""


class _Look(Value):
    """A call of a plugin in ``last``."""

    plugin: str
    hook: str
    left: Mapping[str, Any] | None
    """The ``parts`` of the payload as it has left them."""
    again: Callable[[], object]
    """Calls it once more."""


class _Routing:
    """One routing: the payload as the plugins have rewritten it so far, the replies, and the records."""

    def __init__(
        self,
        plugins: Plugins,
        hooks: tuple[str, ...],
        payload: Mapping[str, Any],
        context: Context,
        progress: RunProgress,
        containment: Containment | None,
        health: Mapping[str, Health] | None,
        switched_off: Collection[str],
    ) -> None:
        self._plugins = plugins
        self._hooks = hooks
        self._context = context
        self._progress = progress
        self._containment = containment
        self._health = health
        self._switched_off = switched_off
        self._event = context.event
        known = event_facts(context.event)
        self._tool: str | None = payload["tool_name"] if known is not None and known.is_tool else None
        self._value = matched_value(context.event, payload)
        self._wakes = bool(context.environ.get(WAKE_VARIABLE))
        self._said = Said(plugins, payload, context, progress)
        self._last = frozenset(plugins.all_config.plugin_last)
        self._looks: list[_Look] = []
        self._called = {info.name: info for info in plugins.called(hooks, self._value, wakes=self._wakes)}
        self._records: list[dict[str, Any]] = []
        self._used: dict[str, float] = {}
        """Seconds that each plugin has taken so far."""
        self._waiting: list[tuple[str, str, Callable[[], Reply | None]]] = []
        """The implementations that may wait: plugin, hook, and what calls it."""

    def result(self, notices: Sequence[str]) -> Routed:
        fault = ""
        try:
            for text in notices:
                self._said.say("hookrouter", text)
            self._call_all()
            self._ask_about_call()
            for text in self._context.messages:
                self._said.say("hookrouter", f"hookrouter: {text}")
        except Exception as error:  # noqa: BLE001 - a fault of hookrouter: what the plugins said must not be lost
            fault = describe_error(error)
            self._answer_for_unasked(fault)
        return Routed(self._said.merged(self._plugins.guards(self._called.values())), self._records, fault)

    def _call_all(self) -> None:
        self._bury()
        loaded = [(info.name, plugin) for info in self._listeners() if (plugin := self._load(info.name)) is not None]
        for info in self._plugins.broken_fail_closed(self._hooks):
            # A guard whose settings are wrong does not run, or it would guard by other rules than somebody wrote.
            what, error = ("settings", ValueError) if info.problems else ("import", ImportError)
            self._failed(info.name, what, _Attempt(None, error(info.reason), 0.0, []))

        def misfit(plugin: str, error: BaseException) -> None:
            self._failed(plugin, "registration", _Attempt(None, error, 0.0, []))

        specs, first = hookspecs_for(self._event, self._tool), self._plugins.all_config.plugin_order
        for group in in_turn(loaded, self._last):
            calls = build_calls(specs, group, self._guard, misfit, first)
            for hook in self._hooks:
                if hook in calls:
                    self._said.add(calls[hook]())
        self._call_waiting()
        self._said.rewrite()
        self._look_again()
        self._refuse_for_forgotten()

    def _refuse_for_forgotten(self) -> None:
        """Have those guards fail that were to be asked and were not.

        While a package is being installed, a module may be there that does not hold yet what it is known to hold.
        """
        asked = {(entry["plugin"], entry["hook"]) for entry in self._records}
        failed = {entry["plugin"] for entry in self._records if entry["outcome"] in FAILURES}
        for name in self._plugins.guards(self._called.values()):
            info = self._called[name]
            for hook in self._hooks:
                is_due = hook in info.hooks and info.takes(hook, self._value, wakes=self._wakes)
                if is_due and name not in failed and (name, hook) not in asked:
                    self._failed(name, hook, _Attempt(None, LookupError(_FORGOTTEN), 0.0, []))

    def _answer_for_unasked(self, fault: str) -> None:
        """After a fault of hookrouter: keep what was said, tell the user, refuse for guards that were not asked."""
        from hookrouter._routing.merge import refusals

        self._said.keep_all()
        self._said.say("hookrouter", f"hookrouter failed: {fault}")
        asked = {entry["plugin"] for entry in self._records}
        names = [name for name in self._called if name not in asked]
        guards = [name for name in names if self._plugins.config(name).on_error == "closed"]
        self._said.replies += refusals(self._event, guards, "hookrouter failed")

    def _bury(self) -> None:
        """Take over what the plugins said that have taken an earlier process of this run with them."""
        for plugin, entry in self._progress.dead.items():
            for name, hook in list(self._progress.calls):
                own = hook.removesuffix(_AGAIN)
                if name == plugin and own in self._hooks and (reply := self._repeat(name, hook)) is not None:
                    self._said.replies.append((plugin, reply))
                    if plugin in self._last:
                        from hookrouter._routing.second_look import GRANTS, withdraw

                        # It cannot be asked again whether it would grant what the input is in the end.
                        withdraw(self._said, plugin, own, GRANTS)
            if self._event == self._context.event:
                entry = {**entry, "hook": entry["hook"].removesuffix(_AGAIN)}
                self._count(plugin, entry)
                self._answer_for(plugin, entry)
        self._said.rewrite()

    def _listeners(self) -> list[PluginInfo]:
        """Return the plugins to call: none that has ended an earlier process of this run, or is switched off."""
        listeners = []
        for info in self._called.values():
            if info.name not in self._switched_off:
                if info.name not in self._progress.dead:
                    listeners.append(info)
                continue
            hook = next(hook for hook in self._hooks if hook in info.hooks)
            entry: dict[str, Any] = {"plugin": info.name, "hook": hook, "ms": 0.0, "outcome": "switched off"}
            self._records.append(entry)
            health = (self._health or {}).get(info.name)
            if (
                health is not None
                and not health.notified
                and self._said.say("hookrouter", f"hookrouter: {health.describe(info.name)}") is not None
            ):
                entry["told"] = True
        return listeners

    def _load(self, plugin: str) -> object | None:
        if (plugin, "import") in self._progress.calls:
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
        return attempt.result  # type: ignore[no-any-return]

    def _call_waiting(self) -> None:
        """Call what may wait for somebody, unless nobody needs to decide any more."""
        for plugin, hook, call in self._waiting:
            if any(reply.verdict for _, reply in self._said.replies):
                self._record(plugin, hook, _Attempt(None, None, 0.0, []), "not needed")
            elif self._context.environ.get(DRY_RUN):
                self._record(plugin, hook, _Attempt(None, None, 0.0, []), "would wait")
            elif (reply := call()) is not None:
                self._said.messengers.append(plugin)
                self._said.replies.append((plugin, reply))

    def _look_again(self) -> None:
        """Ask the plugins in ``last`` once more that have left another input than there is now, if none refuses it."""
        if not self._looks or self._said.parts is None or self._said.is_refused:
            return
        from hookrouter._routing.second_look import differs, withdraw

        looks, self._looks = self._looks, []
        for look in looks:
            if differs(self._said, look.left):
                withdraw(self._said, look.plugin, look.hook)
                look.again()

    def _ask_about_call(self) -> None:
        """Ask the plugins in ``last`` about the call whose input a reply to its PermissionRequest has rewritten.

        Claude Code asks no hook of PreToolUse about that.
        """
        if self._event != DIALOG_EVENT or not self._last or self._said.parts is None or self._said.is_refused:
            return
        from hookrouter._routing.second_look import heed

        hooks = tuple(hook for hook in hook_names(_CALL, self._tool) if hook != RAW_HOOK)
        payload = {**self._said.payload, "hook_event_name": _CALL, "tool_use_id": ""}
        context, progress, containment = self._context, self._progress, self._containment
        call = _Routing(self._plugins, hooks, payload, context, progress, containment, self._health, self._switched_off)
        call._event, call._used = _CALL, self._used
        call._called = {name: info for name, info in call._called.items() if name in self._last}
        call._call_all()
        self._records += call._records
        heed(self._said, call._said, context)

    def _checked(self, plugin: str, hook: str, result: object, seen: Mapping[str, Any]) -> Taken | None:
        """Return what a plugin replied to the payload that it saw. Raises what it raises; call it in an attempt."""
        if result is None:
            return None
        from hookrouter._routing.reply_check import checked_reply
        from hookrouter.replies import WAKE

        reply = checked_reply(self._event, result)
        if reply is not None and reply.verdict == WAKE and not self._wakes:
            raise TypeError("only a hook that is marked with @wakes can wake Claude")
        if reply is None:
            return None
        taken = taken_of(plugin, hook.removesuffix(_AGAIN), reply, seen)
        if hook.endswith(_AGAIN):
            from hookrouter._routing.second_look import settled

            return settled(taken)
        if taken.rewrites:
            from hookrouter._routing.rewrites import misfits

            for fault in misfits(self._tool or "", taken.rewrites):
                self._context.warn(f"{plugin} {fault}")
        return taken

    def _guard(self, plugin: str, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if not self._called[plugin].takes(hook, self._value, wakes=self._wakes):
            return unasked(function)
        names = argument_names(function)
        if is_wrapper(function):

            def wrapping(*given: Any, **named: Any) -> Generator[None, list[Reply], list[Reply]]:
                return (yield from self._wrap(plugin, hook, lambda: self._call(function, names[: len(given)], named)))

            return wrapping
        waits = waiting(function)

        def guarded(*given: Any, **named: Any) -> Reply | None:
            def call() -> Any:
                return self._call(function, names[: len(given)], named)

            reply = self._ask(plugin, hook, call, waits)
            asked = self._progress.calls[plugin, hook]
            if plugin in self._last and waits is None and not asked.failed:
                self._looks.append(
                    _Look(plugin, hook, asked.left, lambda: self._ask(plugin, hook + _AGAIN, call, waits))
                )
            return reply

        def postponed(*given: Any, **named: Any) -> None:
            if waits is not None and (not waits.setting or self._plugins.settings(plugin).get(waits.setting) is True):
                self._waiting.append((plugin, hook, lambda: guarded(*given, **named)))

        return guarded if waits is None else postponed

    def _ask(self, plugin: str, hook: str, call: Callable[[], Any], waits: Waits | None) -> Reply | None:
        """Call an implementation, unless an earlier process has, and return its reply; ``hook`` may end in ``_AGAIN``.

        What is said again is given here, in the place of what was said before.
        """
        if (plugin, hook) in self._progress.calls:
            reply = self._repeat(plugin, hook)
        else:
            own = hook.removesuffix(_AGAIN)
            seen, seconds = self._said.payload, self._limit(plugin, own) if waits is None else waits.seconds
            saw = self._said.parts if self._progress.trace is not None else None

            def body() -> Taken | None:
                return self._checked(plugin, hook, call(), seen)

            patient = waits is not None or own in self._called[plugin].scripted
            attempt = self._attempt(plugin, hook, seconds, body, patient)
            if attempt.error is not None:
                self._failed(plugin, hook, attempt)
                return None
            taken: Taken | None = attempt.result
            entry = self._record(plugin, hook, attempt, "none" if taken is None else "replied")
            if saw is not None:
                entry["saw"] = cap(saw)
            if taken is not None:
                self._said.take(taken, entry)
            reply = None if taken is None else taken.reply
            left = self._said.parts if plugin in self._last else None
            self._progress.ended(plugin, hook, Call(entry, self._told(reply), failed=False, left=left))
        if reply is not None and hook.endswith(_AGAIN):
            self._said.add([reply])
        return reply

    def _wrap(
        self, plugin: str, hook: str, call: Callable[[], Generator[None, list[Reply], list[Reply]]]
    ) -> Generator[None, list[Reply], list[Reply]]:
        """Call a wrapper around others; one of a plugin in ``last`` around what was replied to the hook by now."""

        def begun() -> Generator[None, list[Reply], list[Reply]]:
            generator = call()
            next(generator)
            return generator

        if (plugin, hook) in self._progress.calls:
            # It has failed, before or after the others were called.
            self._repeat(plugin, hook)
            return (yield)
        seen, is_last = self._said.payload, plugin in self._last
        first = self._attempt(plugin, hook, self._limit(plugin), begun)
        if first.error is not None:
            self._failed(plugin, hook, first)
            return (yield)
        self._progress.idle()
        self._used[plugin] = self._used.get(plugin, 0.0) + first.seconds
        inner = yield
        results = self._said.given(hook.removesuffix(_AGAIN)) if is_last else inner

        def finish() -> list[Taken]:
            return self._finish_wrapper(plugin, hook, first.result, results, seen)

        last = self._attempt(plugin, hook, self._limit(plugin), finish)
        last = last._with(left=list(dict.fromkeys(first.left + last.left)))
        if last.error is not None:
            self._failed(plugin, hook, last)
            return inner
        changed: list[Taken] = last.result
        replies = [taken.reply for taken in changed]
        kept = [reply for reply in results if reply not in replies and self._said.is_final(reply)]
        entry = self._record(plugin, hook, last, "wrapped")
        for taken in changed:
            if id(taken.reply) not in self._said.taken:
                self._said.take(taken, entry)
        self._progress.idle()
        if not is_last:
            return kept + replies
        if hook.endswith(_AGAIN):
            from hookrouter._routing.second_look import kept_rewrites

            kept += kept_rewrites(self._said, results, kept + replies)
        self._said.exchange(results, kept + replies)
        self._looks.append(_Look(plugin, hook, self._said.parts, lambda: list(self._wrap(plugin, hook + _AGAIN, call))))
        return inner

    def _attempt(
        self, plugin: str, hook: str, seconds: float, body: Callable[[], object], patient: bool = False
    ) -> _Attempt:
        """Let a plugin do something, for as long as this at most, and put right what it leaves changed."""
        allowed = f"the {seconds:g} s that it may wait" if patient else self._called[plugin].allowed
        self._progress.begins(plugin, hook, seconds, allowed, patient)
        self._context.caller = plugin
        if self._containment is not None:
            self._containment.enter(plugin)
        result: object = None
        error: BaseException | None = None
        started = time.perf_counter()
        try:
            with time_limit(seconds, allowed, _end_what_was_started):
                result = body()
        except BaseException as raised:  # noqa: BLE001 - whatever a plugin raises, sys.exit included
            error = raised
        elapsed = time.perf_counter() - started
        return _Attempt(result, error, elapsed, [] if self._containment is None else self._containment.leave(plugin))

    def _finish_wrapper(
        self,
        plugin: str,
        hook: str,
        generator: Generator[None, list[Reply], Any],
        results: list[Reply],
        seen: Mapping[str, Any],
    ) -> list[Taken]:
        """Return the replies as the wrapper leaves them; one that returns None has changed nothing."""
        try:
            generator.send(list(results))
        except StopIteration as stop:
            given = results if stop.value is None else stop.value
            changed = [self._said.taken.get(id(reply)) or self._checked(plugin, hook, reply, seen) for reply in given]
            return [taken for taken in changed if taken is not None]
        raise RuntimeError("the wrapper yielded twice")

    def _call(self, function: Callable[..., Any], arguments: Collection[str], named: Collection[str]) -> Any:
        """Call an implementation with the arguments for which pluggy has called its guard: in order, and by name.

        Newer versions of pluggy give those by name that have a default.
        """
        seen = self._seen({*arguments, *named})
        return function(*[seen[name] for name in arguments], **{name: seen[name] for name in named})

    def _seen(self, names: Collection[str]) -> dict[str, Any]:
        """Return what an implementation gets: the payload as the plugins before it have rewritten it, as its own."""
        payload: Any = fastjson.loads(fastjson.dumps(self._said.payload))
        seen: dict[str, Any] = {"context": self._context, "event_name": self._event, "payload": payload}
        if event_facts(self._event) is not None:
            seen["event"] = getattr(events, self._event).from_json(payload)
        if self._tool is not None:
            tool = TOOL_ALIASES.get(self._tool, self._tool)
            for name, part in (("tool_input", "Input"), ("tool_response", "Output")):
                given = payload.get(name)
                if tool in TOOLS and name in names:
                    from hookrouter.tools.calls import tool_class

                    given = tool_class(tool, part).from_json(given)
                seen[name] = given
            seen["server"], seen["tool"] = mcp_name(self._tool) or ("", self._tool)
        return seen

    def _limit(self, plugin: str, hook: str = "") -> float:
        """Return how long a plugin may take for what it does next: as its scripts may, or what its timeout has left."""
        info = self._called[plugin]
        return info.scripted.get(hook) or info.timeout - self._used.get(plugin, 0.0)

    def _failed(self, plugin: str, hook: str, attempt: _Attempt) -> None:
        """Record a failure, and refuse in the plugin's name if it is set to fail closed."""
        if (plugin, hook) in self._progress.calls:
            self._repeat(plugin, hook)
            return
        error = attempt.error or RuntimeError("it is not known how")
        # Not isinstance, which asks the object.
        what = "timed out" if issubclass(type(error), PluginTimeout) else "failed"
        entry = self._record(plugin, hook, attempt, what, error=describe_in_time(error))
        reply = self._answer_for(plugin, entry)
        self._progress.ended(plugin, hook, Call(entry, self._told(reply), failed=True))

    def _answer_for(self, plugin: str, entry: dict[str, Any]) -> Reply | None:
        """Refuse in the name of a plugin that has failed and is set to fail closed; else tell the user of it."""
        from hookrouter.replies import closed

        reason = f"hookrouter: plugin {plugin} {entry['outcome']} in {entry['hook']} ({entry['error']})"
        # Claude goes on after a refused Stop, so refusing it again and again would never end.
        if self._plugins.config(plugin).on_error == "closed" and self._said.payload.get("stop_hook_active") is not True:
            reply = closed(self._event, f"{reason}; it is set to fail closed, so this is refused")
            if reply is not None:
                self._said.replies.append((plugin, reply))
                return reply
        if self._health is None:
            return self._said.say(plugin, reason)
        from hookrouter._isolation.circuit_breaker import switched_off, will_trip

        trips = will_trip(self._health, plugin, self._plugins.all_config)
        said = self._said.say(plugin, f"{reason}; {switched_off(plugin)}" if trips else reason)
        if trips and said is not None:
            entry["told"] = True
        return said

    def _repeat(self, plugin: str, hook: str) -> Reply | None:
        """Take over what an earlier process of this run has told of a call; return the plugin's own reply."""
        call = self._progress.calls[plugin, hook]
        self._count(plugin, call.entry)
        if call.reply is None:
            return None
        from hookrouter._routing.reply_check import decode_reply

        reply = decode_reply(call.reply)
        if call.failed:
            self._said.replies.append((plugin, reply))
            return None
        self._said.take(taken_of(plugin, hook.removesuffix(_AGAIN), reply, self._said.payload), call.entry)
        return reply

    def _told(self, reply: Reply | None) -> list[Any] | None:
        """Return a reply as JSON, if another process is told."""
        if reply is None or not self._progress.is_told:
            return None
        from hookrouter._routing.reply_check import encode_reply

        return encode_reply(reply)

    def _count(self, plugin: str, entry: dict[str, Any]) -> None:
        self._used[plugin] = self._used.get(plugin, 0.0) + entry["ms"] / 1000
        self._records.append(entry)

    def _record(self, plugin: str, hook: str, attempt: _Attempt, outcome: str, **more: object) -> dict[str, Any]:
        ms = round(attempt.seconds * 1000, 2)
        entry = {"plugin": plugin, "hook": hook.removesuffix(_AGAIN), "ms": ms, "outcome": outcome, **more}
        if hook.endswith(_AGAIN):
            entry["again"] = True
        if attempt.left:
            entry["left"] = attempt.left
        self._count(plugin, entry)
        if self._progress.trace is not None:
            self._progress.trace.call(entry)
        return entry


def _end_what_was_started(seconds: float) -> None:
    """End the processes that a call has started in these seconds: ``subprocess.run`` ends the first of them alone."""
    from hookrouter.util.system import end_descendants

    end_descendants(os.getpid(), seconds)
