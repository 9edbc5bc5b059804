"""One hook call answered: find the plugins that listen, have them called, write the journal record.

Knows neither stdin nor stdout; see :mod:`hookrouter._routing.hook_process`.
"""

from __future__ import annotations

import os
import time

from hookrouter._contract.hook_names import DIALOG_EVENT, WAKE_VARIABLE, command_word, event_facts, matched_value
from hookrouter._plugins.discovery import load_config, load_index, resolve_settings
from hookrouter._plugins.index import read_cache
from hookrouter._plugins.registry import UNKNOWN_HOOKS, Plugins
from hookrouter._routing.hook_call import parse
from hookrouter._routing.output import BLOCKED, FAILED, REFUSALS, HookOutput, HookRecord, Routed
from hookrouter.config import FILES
from hookrouter.storage.home import Home, forget_ensured
from hookrouter.storage.journal import Journal
from hookrouter.util.text import describe_error, printable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from hookrouter._isolation.containment import Containment
    from hookrouter._isolation.policy import Isolation
    from hookrouter._isolation.progress import RunProgress
    from hookrouter._plugins.project import Project
    from hookrouter._routing.hook_call import HookCall
    from hookrouter._routing.tracing import Trace
    from hookrouter.context import Context, Services, Wiring

__all__ = ["AFTER_REPLY_SECONDS", "Answered", "answer", "handle"]

AFTER_REPLY_SECONDS = 5.0
"""Seconds that what is called after the reply may take."""


def handle(word: str, payload: bytes | None, environ: Mapping[str, str], wiring: Wiring) -> HookOutput:
    """Answer one hook call with plugins in this process, uncontained. Never raises. See :func:`answer`."""
    answered = answer(word, payload, environ, wiring)
    answered.finish()
    return answered.output


def answer(
    word: str,
    payload: bytes | None,
    environ: Mapping[str, str],
    wiring: Wiring,
    *,
    contained: bool = False,
    stderr: int = 2,
    fault: str = "",
) -> Answered:
    """Return the answer to one hook call; its ``finish`` must be called once that is written. Never raises.

    ``word`` and ``payload`` are what :func:`hookrouter._routing.hook_call.parse` takes. ``contained``: stdout and
    stderr are not Claude Code's any more, and this process is put right after each call of a third-party plugin, or a
    child process calls them. A trace that a person watches goes to the descriptor ``stderr``. ``fault`` says why no
    plugin can be called; empty if they can.
    """
    started = time.perf_counter()
    try:
        home = Home.from_environ(environ)
    except (OSError, ValueError) as error:
        # Without a home there is neither a journal to say it in nor a config that says which plugins fail closed.
        return Answered(_failure(printable(str(error))))
    call = parse(word, payload, fault)
    run = _HookRun(call, home, environ, wiring, contained)
    if environ.get("HOOKROUTER_TRACE"):
        run.start_trace(stderr, started)
    output = run.answer()
    run.write_record(started, payload, output)
    return Answered(output, run)


class Answered:
    """The answer to a call, and what is to be done once it is written."""

    def __init__(self, output: HookOutput, run: _HookRun | None = None) -> None:
        """``run`` is None for a call that was answered without a home."""
        self.output = output
        self._run = run

    def finish(self) -> None:
        """Do what is to be done once the answer is written. Raises nothing."""
        if self._run is not None:
            self._run.finish()

    @property
    def is_stateless(self) -> bool:
        """Whether all implementations that were called say that they leave nothing, and none failed."""
        return self._run is not None and self._run.is_stateless

    def release(self) -> None:
        """Let go of the process, which serves another call after this one."""
        if self._run is not None:
            self._run.release()


class _HookRun:
    """The steps of one run."""

    def __init__(self, call: HookCall, home: Home, environ: Mapping[str, str], wiring: Wiring, contained: bool) -> None:
        self._call = call
        self._home = home
        self._environ = environ
        self._wiring = wiring
        self._contained = contained
        self._journal = Journal(home.logs)
        self._record = HookRecord(call)
        self._trace: Trace | None = None
        self._loaded: Plugins | None = None
        self._context: Context | None = None
        self._notices: list[str] = []
        self._finish_child: Callable[[], None] = _nothing
        self._containment: Containment | None = None
        self._is_stateless = True
        self._has_guard = False
        self._was_broken: bool | None = None
        self._project: Project | None = None
        self._failure = _failure("the call could not be routed")
        """What is answered if no answer can be made."""

    def start_trace(self, stderr: int, began: float) -> None:
        """Have each step written down for a person from now on."""
        from hookrouter._routing.tracing import start

        try:
            self._trace = start(self._environ, self._home, stderr, began)
        except (OSError, ValueError) as error:
            self._record.warn(f"no trace can be written: {describe_error(error)}")

    def answer(self) -> HookOutput:
        """Return the answer. Never raises."""
        try:
            output = self._answer()
        except BaseException as error:  # noqa: BLE001 - a fault of hookrouter must not break Claude's turn either
            try:
                self._record.failed(error)
                output = self._refusal("hookrouter failed")
            except BaseException:  # noqa: BLE001 - no memory for a better one
                output = self._failure
        refuses = output.exit_code == BLOCKED or (output.decision in (*REFUSALS, "halt") and self._can_block)
        return output._with(unwritten=BLOCKED if refuses else self._failure.exit_code)

    def write_record(self, started: float, payload: bytes | None, output: HookOutput) -> None:
        """Write the run's journal record; keep the payload, if it is to be kept. Raises nothing."""
        key = None
        try:
            if self._trace is not None or (self._loaded is not None and self._loaded.all_config.journal_payloads):
                key = "" if payload is None else self._keep_payload(payload, output)
            self._journal.write(self._record.finished(time.perf_counter() - started, key), self._call.session_id)
            if self._trace is not None:
                self._trace(self._record.told(output))
        except Exception:  # noqa: BLE001 - what cannot be noted was decided all the same
            return

    def finish(self) -> None:
        """Do what is to be done once the answer is written. Raises nothing."""
        self._after_reply()
        if self._was_broken is not None:
            self._wiring.deliver_anew(self._environ, self._home, was_broken=self._was_broken)
        self._start_sharing()
        self._start_router()
        self._finish_child()

    @property
    def is_stateless(self) -> bool:
        """See :attr:`Answered.is_stateless`."""
        called_more = self._loaded is not None and self._loaded.has_called_unmarked
        return self._is_stateless and not called_more and self._trace is None

    def release(self) -> None:
        """See :meth:`Answered.release`."""
        if self._containment is not None:
            self._containment.close()
        forget_ensured()

    def _answer(self) -> HookOutput:
        call = self._call
        if call.problem:
            self._record.refused(call.problem)
            return self._refusal(call.problem)
        plugins = self._plugins()
        wakes = bool(self._environ.get(WAKE_VARIABLE))
        value = matched_value(call.event, call.payload)
        listeners = plugins.called(call.hooks, value, wakes=wakes)
        if self._trace is not None:
            names = ", ".join(info.name for info in listeners) or "nobody"
            self._trace(f"{command_word(call.event)} looks up {', '.join(call.hooks)}; {names} listens")
        broken_guards = plugins.broken_fail_closed(call.hooks)
        broken = plugins.broken_fail_open(call.hooks, value, wakes=wakes)
        missing = [f"plugin {info.name} is broken: {info.reason}; this goes on without it" for info in broken]
        if self._project is not None and self._project.is_unknown:
            missing += _of_project(self._project, self._environ, call.payload.get("cwd"))
        if not listeners and not broken_guards and not missing:
            self._record.unheard()
            return HookOutput()
        if call.is_handled and not broken_guards and not plugins.guards(listeners):
            # Whoever could write the mark must not be able to lead a call past a guard.
            self._record.handled()
            return HookOutput()

        if guards := plugins.guards([*listeners, *broken_guards]):
            self._has_guard = True
            self._note_guards(guards, "hookrouter failed")
        self._notices = self._announce(plugins, missing)

        from hookrouter._isolation.policy import choose

        isolation = choose(self._home, listeners, plugins.all_config, self._record.warn)
        self._is_stateless = all(
            hook in info.stateless for info in listeners for hook in call.hooks if hook in info.hooks
        )
        if any(hook in info.waits for info in listeners for hook in call.hooks if hook in info.hooks):
            _load_what_follows()
        routed = self._ask(isolation)
        try:
            self._note_routed(isolation, routed)
        except Exception as error:  # noqa: BLE001 - what cannot be noted was decided all the same
            self._is_stateless = False
            self._record.warn(f"what plugins did could not be noted: {describe_error(error)}")
        return routed.output

    def _note_routed(self, isolation: Isolation, routed: Routed) -> None:
        """Note what the plugins did and what came of it."""
        self._record.routed(routed)
        if routed.has_failures or any("left" in entry for entry in routed.calls):
            self._is_stateless = False
        if isolation.health or routed.has_failures or any("left" in entry for entry in routed.calls):
            from hookrouter._isolation.circuit_breaker import note

            note(self._home, isolation.health, routed.calls, self._plugins().all_config)

    def _refusal(self, reason: str) -> HookOutput:
        """Return what the plugins that are set to fail closed say of a call that could not be routed."""
        event = event_facts(self._call.event)
        if event is None:
            return HookOutput()
        try:
            names = self._plugins().fail_closed(event.hook)
            if not names:
                return HookOutput()
            self._note_guards(names, reason)
            from hookrouter._routing.merge import merge, refusals

            return merge(event.name, refusals(event.name, names, reason))
        except BaseException as error:  # noqa: BLE001 - as in answer()
            self._record.refusal_failed(error)
            return self._failure

    @property
    def _can_block(self) -> bool:
        """Whether an exit code refuses a call of this event. Refusing a Stop again and again would never end."""
        event = event_facts(self._call.event)
        return event is not None and event.can_block and self._call.payload.get("stop_hook_active") is not True

    def _note_guards(self, names: Sequence[str], reason: str) -> None:
        """Have the call refused from now on if no answer can be made: these plugins are set to fail closed."""
        if self._can_block:
            means = "left to a person" if self._call.event == DIALOG_EVENT else "refused"
            what = f"{reason}; set to fail closed: {', '.join(names)}, so this is {means}"
            self._failure = _failure(printable(what), BLOCKED)

    def _plugins(self) -> Plugins:
        """Return the plugins. Raises if it cannot be known which of those that fail closed listen."""
        if self._loaded is None:
            config = load_config(self._home, self._environ, self._note_change)
            if config.problems:
                self._record.fields.setdefault("level", "warning")
            try:
                index = load_index(self._home, self._environ)
            except Exception as error:
                guards = [
                    name for name, table in config.plugins.items() if table.enabled and table.on_error == "closed"
                ]
                event = event_facts(self._call.event)
                if guards and event is not None and event.hook in UNKNOWN_HOOKS:
                    self._note_guards(guards, "the installed plugins cannot be read")
                self._record.warn(f"the installed plugins cannot be read: {describe_error(error)}")
                index = read_cache(self._home)
                if not {plugin.name for plugin in index}.issuperset(guards):
                    raise
            settings = resolve_settings(self._home, index, config)
            if os.path.isdir(self._home.trusted):
                from hookrouter._plugins.project import with_project

                cwd = self._call.payload.get("cwd")
                index, config, settings, self._project = with_project(
                    self._home, self._environ, cwd, index, config, settings
                )
            self._loaded = Plugins(
                index, config, lambda plugin, text: self._record.warn(f"plugin {plugin}: {text}"), settings=settings
            )
            for text in _problems(self._loaded):
                self._record.warn(text)
        return self._loaded

    def _note_change(self, was_broken: bool) -> None:
        """Have what waits for a config.toml like this one delivered, once the answer is written."""
        self._was_broken = was_broken

    def _ask(self, isolation: Isolation) -> Routed:
        """Have the plugins called as the policy says. Raises OSError or RuntimeError if a child is needed and fails."""
        from hookrouter._isolation.policy import INLINE, SUPERVISED

        if self._contained and isolation.how == SUPERVISED:
            return self._supervised(isolation)
        is_watched = self._contained and isolation.how != INLINE
        routed = self._marked(isolation) if is_watched else self._route(isolation)
        self._push()
        return routed

    def _supervised(self, isolation: Isolation) -> Routed:
        """Have the plugins called in a child process; in this one if none can be made, and no guard listens.

        Raises OSError or RuntimeError if neither can be done.
        """
        from hookrouter._isolation.supervisor import Supervisor

        def work(progress: RunProgress) -> list[Any]:
            routed = self._route(isolation, progress)
            return [routed.to_json(), progress.record()]

        # Its descriptors and signals are as they are until this process ends.
        self._is_stateless = False
        supervisor = Supervisor(self._trace)
        try:
            result, fields = supervisor.run(
                work, self._record.fields, meanwhile=self._push, after_reply=self._after_reply
            )
        except OSError as error:
            if self._has_guard:
                # Also if that is hookrouter's own: any other plugin could end this process before it is asked.
                raise
            self._record.warn(f"no process could be made for plugins: {describe_error(error)}")
            return self._marked(isolation)
        self._record.fields.update(fields)
        self._finish_child = supervisor.finish
        return Routed.from_json(result)

    def _marked(self, isolation: Isolation) -> Routed:
        """Call the plugins in this process, with a mark that names the call that it is in."""
        from hookrouter._isolation.crash_marks import CrashMark
        from hookrouter._isolation.progress import RunProgress

        try:
            names = self._plugins().all_config.project_plugins
            mark = CrashMark(self._home, {name: names.get(name, name) for name in isolation.third_party})
        except OSError:
            # A home that cannot be written does not stop a hook.
            return self._route(isolation, RunProgress(trace=self._trace))
        try:
            return self._route(isolation, RunProgress(mark, self._trace))
        finally:
            mark.remove()

    def _route(self, isolation: Isolation, progress: RunProgress | None = None) -> Routed:
        """Call the plugins: in this process, or as its child. They are contained if their ``progress`` is given."""
        from hookrouter._isolation.progress import RunProgress
        from hookrouter._routing.router import route
        from hookrouter.context import Context

        plugins, payload = self._plugins(), self._call.payload
        self._context = Context(
            event=payload["hook_event_name"],
            payload=payload,
            home=self._home,
            config=plugins.all_config,
            environ=self._environ,
            plugins=plugins,
            journal=self._journal,
            wiring=self._wiring,
            record=self._record.fields,
        )
        containment = None
        if progress is not None:
            from hookrouter._isolation.containment import Containment

            containment = self._containment = Containment(os.dup(1))
        return route(
            plugins,
            self._call.hooks,
            payload,
            self._context,
            notices=self._notices,
            progress=progress or RunProgress(trace=self._trace),
            containment=containment,
            health=isolation.health,
            switched_off=isolation.switched_off,
        )

    def _push(self) -> None:
        """Have delivered what an earlier delivery had to leave behind."""
        try:
            self._wiring.push_outbox(self._environ, self._home)
        except Exception as error:  # noqa: BLE001 - somebody else's messages must not take this run's answer away
            self._record.warn(f"the outbox was not checked: {describe_error(error)}")

    def _start_router(self) -> None:
        """Have a router started for the calls to come, if the user wants that. Raises nothing."""
        if self._loaded is None or not self._loaded.all_config.serve.auto:
            return
        try:
            self._wiring.start_router(self._environ, self._home, self._loaded.all_config.serve.idle)
        except OSError as error:
            reason = f"no router could be started: {describe_error(error)}"
            self._journal.write({"level": "warning", "reason": reason}, self._call.session_id)

    def _start_sharing(self) -> None:
        """Have what this run has written brought where other machines see it, if there are others. Raises nothing."""
        if self._loaded is None or self._loaded.all_config.storage.engine == FILES:
            return
        try:
            self._wiring.start_sharing(self._environ, self._home, self._loaded)
        except OSError as error:
            reason = f"no process could be started to write documents to the engine: {describe_error(error)}"
            self._journal.write({"level": "warning", "reason": reason}, self._call.session_id)

    def _announce(self, plugins: Plugins, missing: Sequence[str]) -> list[str]:
        """Return what the user is shown of problems: all when a session begins, else those of config.toml once.

        And, each time, what is ``missing`` in the call: nothing else may tell, where no plugin listens to SessionStart.
        """
        event, said = self._call.payload["hook_event_name"], ""
        if plugins.all_config.problems:
            from hookrouter.replies import message

            try:
                has_screen = message(event, "config.toml") is not None
                said = self._wiring.announce_problems(self._services(plugins), has_screen=has_screen)
            except Exception as error:  # noqa: BLE001 - the call itself must be answered all the same
                self._record.warn(f"that config.toml has problems could not be told: {describe_error(error)}")
        texts = [*([said] if said else []), *missing]
        if event == "SessionStart":
            texts = [*_problems(plugins), *_of_project(self._project, self._environ, self._call.payload.get("cwd"))]
        # They quote the file's keys, and what plugins raise: on a line of hookrouter's own, of a terminal.
        return [printable(f"hookrouter: {text}") for text in texts]

    def _services(self, plugins: Plugins) -> Services:
        from hookrouter.context import Services

        return Services(
            home=self._home,
            config=plugins.all_config,
            environ=self._environ,
            plugins=plugins,
            journal=self._journal,
            wiring=self._wiring,
        )

    def _keep_payload(self, payload: bytes, output: HookOutput) -> str:
        """Keep the payload with the answer to it; return its key, empty if that could not be done."""
        from hookrouter.storage.payload_log import Kept, keep

        kept = Kept(payload, output.exit_code, output.stdout, output.stderr)
        return keep(self._home.logs, kept, self._call.session_id)

    def _after_reply(self) -> None:
        """Call what plugins have asked to have called after the reply. Raises nothing."""
        if self._context is None:
            return
        from hookrouter.util.time_limit import PluginTimeout, time_limit

        try:
            with time_limit(AFTER_REPLY_SECONDS):
                self._context.reply_written()
        except PluginTimeout as error:
            self._context.journal.write({"level": "warning", "reason": describe_error(error)}, self._call.session_id)


def _failure(reason: str, exit_code: int = FAILED) -> HookOutput:
    return HookOutput(stderr=f"hookrouter: {reason}\n", exit_code=exit_code)


def _problems(plugins: Plugins) -> list[str]:
    """Return what is wrong with config.toml and with installed plugins, one line each."""
    found = list(plugins.all_config.problems)
    if found:
        from hookrouter._config.salvage import is_kept

        holds = "what it said before holds" if is_kept(plugins.all_config) else "the defaults hold"
        found.append(f"config.toml is not used until it is corrected (hookrouter config check); {holds}")
    found += [f"plugin {info.name} is broken: {info.reason}" for info in plugins.broken()]
    return found + [
        f"plugin {info.name}: its settings are wrong, and none of them is used: {text}"
        for info, text in plugins.with_invalid_settings()
    ]


def _of_project(project: Project | None, environ: Mapping[str, str], cwd: object) -> list[str]:
    """Return what is to be done about the own plugins of a session's project."""
    if project is not None:
        told = f"the project {project.folder}: {project.problem}: hookrouter trust {project.folder}"
        return [printable(told)] if project.problem else []
    from hookrouter._plugins.files import has_own_plugins
    from hookrouter._plugins.project import session_folder

    folder = session_folder(environ, cwd)
    told = f"{folder} has plugins of its own; nothing of them runs until you trust it: hookrouter trust {folder}"
    return [printable(told)] if has_own_plugins(folder) else []


def _load_what_follows() -> None:
    """Import all that a run needs after a wait: an upgrade meanwhile may take the installed files away."""
    import select  # noqa: F401 - the supervisor's

    from hookrouter._isolation import circuit_breaker, crash_marks, progress, supervisor  # noqa: F401
    from hookrouter._routing import merge, reply_check, rewrites, tracing  # noqa: F401
    from hookrouter.storage import documents, payload_log  # noqa: F401
    from hookrouter.util import time_limit  # noqa: F401


def _nothing() -> None:
    return
