"""``hookrouter run EVENT``: one hook process, from stdin to stdout.

Whatever comes in, the process exits 0 (but for the few events that block only through exit code 2) and writes one
JSON document or nothing; what was wrong goes to the journal. The one exception is a plugin that is set to fail
closed: where it cannot be asked, because the payload cannot be read or the plugin cannot be imported, the call is
refused in its name. Without a home (:class:`hookrouter.home.HomeError`) nothing of this can be done: the process then
exits 1 with one line on stderr, which Claude Code shows and goes on, or refuses the call where the entry in
settings.json says ``"onFailure": "block"``.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from hookrouter import _json
from hookrouter.config import load as load_config
from hookrouter.discovery import load_index, read_cache
from hookrouter.home import Home, ensure
from hookrouter.hooks import hook_names
from hookrouter.journal import Journal
from hookrouter.names import printable
from hookrouter.payloads import check, json_type
from hookrouter.plugin_settings import settle
from hookrouter.registry import Plugins
from hookrouter.tables import EVENTS, TOOL_INPUTS
from hookrouter.values import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from hookrouter.breaker import Health
    from hookrouter.course import Course
    from hookrouter.merge import Output
    from hookrouter.registry import PluginInfo
    from hookrouter.tracing import Trace

__all__ = ["MAX_PAYLOAD", "Reply", "handle", "main"]

MAX_PAYLOAD = 16 * 1024 * 1024
"""Bytes of the largest payload that is routed; a larger one is read to its end and refused."""

MAX_OUTPUT = 1024 * 1024
"""Bytes after which what plugins have printed is thrown away."""

HEALTH = "plugins-health.json"
"""The document of :mod:`hookrouter.breaker` in the state folder; where there is none, that module is not loaded."""

_CHUNK = 1024 * 1024
_exit = os._exit  # os._exit itself raises while plugins are contained
_ENDING = 5.0
"""Seconds that functions registered with atexit may take."""
_OWN = "hookrouter"
"""The distribution whose plugins need no containment."""


class Reply(Value):
    """What the hook process answers to Claude Code."""

    __slots__ = ("exit_code", "stderr", "stdout")

    stdout: str
    stderr: str
    exit_code: int

    def __init__(self, stdout: str = "", stderr: str = "", exit_code: int = 0) -> None:
        """Answer nothing, unless told otherwise."""
        self._set(stdout=stdout, stderr=stderr, exit_code=exit_code)


def main(argv: list[str]) -> int:
    """Run one hook: ``argv`` is what follows ``hookrouter run``. Does not return where it ran to its end.

    The process leaves by ``os._exit`` once all is written, because tearing the interpreter down takes longer than
    most hook runs; functions registered with :mod:`atexit` are called, threads are not waited for.
    """
    # Nothing here lives long enough to be collected.
    gc.disable()
    if _is_terminal(0):
        sys.stderr.write("hookrouter run reads a hook payload from stdin; Claude Code starts it from settings.json.\n")
        return 2
    process = os.getpid()
    exit_code = 0
    try:
        _open_missing()
        out, errors = os.dup(1), os.dup(2)
        payload = _read_stdin()
        # What a plugin, or a program that it starts, writes must not get into the reply.
        aside = _open_output()
        os.dup2(aside, 1)
        os.dup2(aside, 2)
        endings: list[Callable[[], None]] = []
        reply = handle(argv[0] if argv else "", payload, os.environ, (out, errors), endings)
        if os.getpid() != process:
            # A plugin has forked, and this is the copy that came back.
            _exit(0)
        exit_code = reply.exit_code
        _write(out, reply.stdout)
        _write(errors, reply.stderr)
        os.close(out)
        os.close(errors)
        if "atexit" in sys.modules:
            from hookrouter.limits import time_limit

            with time_limit(_ENDING):
                sys.modules["atexit"]._run_exitfuncs()
        for end in endings:
            end()
    finally:
        _exit(exit_code)


def handle(
    event: str,
    payload: bytes | None,
    environ: Mapping[str, str],
    private: Sequence[int] = (),
    endings: list[Callable[[], None]] | None = None,
) -> Reply:
    """Answer one hook call. Never raises.

    ``event`` is the kebab-case name from the command line, ``payload`` what came on stdin (None where it was larger
    than MAX_PAYLOAD). With ``endings``, plugins of other distributions are contained: this process is put right after
    each of their calls, or a child process calls them, which does not get the descriptors ``private``; what is added to
    the list is to be called once the reply is written.
    """
    started = time.perf_counter()
    record: dict[str, Any] = {"event": EVENTS[event].name if event in EVENTS else printable(event)[:80]}
    try:
        home = Home.from_environ(environ)
    except (OSError, ValueError) as error:
        # Without a home there is neither a journal to say it in nor a config that says which plugins fail closed.
        return Reply(stderr=f"hookrouter: {printable(str(error))}\n", exit_code=1)
    journal = Journal(home.logs)
    run = _HookRun(event, payload, environ, home, journal, record)
    run.private, run.endings = private, endings
    if environ.get("HOOKROUTER_TRACE"):
        run.start_trace(started)
    try:
        reply = run.reply()
    except BaseException as error:  # noqa: BLE001 - a fault of hookrouter must not break Claude's turn either
        record.update(level="error", outcome="failed", reason=_describe(error))
        reply = run.refusal("hookrouter failed")
    record["ms"] = round((time.perf_counter() - started) * 1000, 2)
    record["pid"] = os.getpid()
    if not record.get("warnings"):
        record.pop("warnings", None)
    if run.keeps_payload:
        record["payload"] = "" if payload is None else run.keep_payload(payload, reply)
    journal.write(record, run.session_id)
    if run.trace is not None:
        run.trace(f"{record.get('outcome')}: exit code {reply.exit_code}, stdout {reply.stdout or 'empty'}")
    return reply


class _HookRun:
    """The steps of one run, with what they have found so far."""

    def __init__(
        self,
        kebab: str,
        payload: bytes | None,
        environ: Mapping[str, str],
        home: Home,
        journal: Journal,
        record: dict[str, Any],
    ) -> None:
        self._kebab = kebab
        self._bytes = payload
        self._environ = environ
        self._home = home
        self._journal = journal
        self._record = record
        self._loaded: Plugins | None = None
        self.private: Sequence[int] = ()
        self.endings: list[Callable[[], None]] | None = None
        self.session_id: str | None = None
        self.trace: Trace | None = None

    @property
    def keeps_payload(self) -> bool:
        """Whether the payload is to be kept, so that the run can be replayed."""
        return self.trace is not None or (self._loaded is not None and self._loaded.all_config.journal_payloads)

    def keep_payload(self, payload: bytes, reply: Reply) -> str:
        """Keep the payload with the reply to it; return its key, empty where that could not be done."""
        from hookrouter.kept_payloads import Kept, keep

        return keep(self._home.logs, Kept(payload, reply.exit_code, reply.stdout, reply.stderr), self.session_id)

    def start_trace(self, began: float) -> None:
        """Have each step written down for a person from now on."""
        from hookrouter.tracing import start

        try:
            self.trace = start(self._environ, self._home, self.private[-1] if self.private else 2, began)
        except (OSError, ValueError) as error:
            self._record.setdefault("warnings", []).append(f"no trace can be written: {_describe(error)}")

    def reply(self) -> Reply:
        payload, problem = self._parse()
        if payload is None:
            self._record.update(level="error", outcome="refused payload", reason=problem)
            return self.refusal(problem)
        hooks = hook_names(self._kebab, payload.get("tool_name"))
        plugins = self._plugins()
        if self.trace is not None:
            listeners = ", ".join(info.name for info in plugins.listeners(hooks)) or "nobody"
            self.trace(f"{self._kebab} looks up {', '.join(hooks)}; {listeners} listens")
        if not plugins.listeners(hooks) and not plugins.broken_guards(hooks):
            self._record.setdefault("level", "debug")
            self._record["outcome"] = "no listener"
            return Reply()
        return self._route(hooks, payload)

    def refusal(self, reason: str) -> Reply:
        """Return what the plugins that are set to fail closed say of a call that could not be routed."""
        event = EVENTS.get(self._kebab)
        if event is None:
            return Reply()
        try:
            names = self._plugins().guards(event.hook)
            if not names:
                return Reply()
            from hookrouter.merge import merge
            from hookrouter.replies import closed

            refusals = []
            for name in names:
                refused = f"hookrouter: {reason}; plugin {name} could not be asked and is set to fail closed"
                refusal = closed(event.name, f"{refused}, so this is refused")
                if refusal is not None:
                    refusals.append((name, refusal))
            return _to_reply(merge(event.name, refusals))
        except BaseException as error:  # noqa: BLE001 - as in handle()
            self._record["reason"] = f"{self._record.get('reason', '')}; then: {_describe(error)}"
            return Reply()

    def _plugins(self) -> Plugins:
        if self._loaded is None:
            config = load_config(self._home)
            warnings = self._record.setdefault("warnings", [])
            warnings.extend(config.problems)
            try:
                index = load_index(self._home, self._environ)
            except Exception as error:  # noqa: BLE001 - an environment that cannot be read must not switch guards off
                warnings.append(f"the installed plugins cannot be read: {_describe(error)}")
                index = read_cache(self._home)
            self._loaded = Plugins(index, config, self._report, settings=settle(self._home, index, config))
            warnings.extend(f"plugin {info.name} is broken: {info.reason}" for info in self._loaded.broken())
            warnings.extend(
                f"plugin {info.name} runs with its defaults: {text}" for info, text in self._loaded.misset()
            )
        return self._loaded

    def _parse(self) -> tuple[dict[str, Any] | None, str]:
        """Return the payload, or None and what is wrong with it."""
        if self._bytes is None:
            return None, f"the payload is larger than {MAX_PAYLOAD} bytes"
        try:
            payload = _json.loads(self._bytes)
        except ValueError as error:
            return None, f"the payload is not JSON: {error}"
        if not isinstance(payload, dict):
            return None, f"the payload is a JSON {json_type(payload)}, not an object"
        if isinstance(payload.get("session_id"), str):
            self.session_id = payload["session_id"]
        self._record["session_id"] = self.session_id
        for key, name in (("tool", "tool_name"), ("tool_use_id", "tool_use_id")):
            if isinstance(payload.get(name), str):
                self._record[key] = printable(payload[name])[:200]
        stated = payload.get("hook_event_name")
        event = EVENTS.get(self._kebab)
        if event is None:
            return self._parse_unknown(payload, stated)
        if stated != event.name:
            problem = f"the payload's hook_event_name is {_shown(stated)}, not {event.name!r} as in run {self._kebab}"
            return None, problem
        errors, warnings = check(event.name, payload)
        if not errors and event.is_tool and payload["tool_name"] in TOOL_INPUTS:
            errors, more = check(TOOL_INPUTS[payload["tool_name"]], payload["tool_input"])
            errors, warnings = [f"tool_input: {error}" for error in errors], warnings + more
        if warnings:
            self._record["warnings"] = warnings
        return (None, "; ".join(errors)) if errors else (payload, "")

    def _parse_unknown(self, payload: dict[str, Any], stated: object) -> tuple[dict[str, Any] | None, str]:
        """Let an event of a newer client through to the raw hook, if its name fits the payload."""
        problem = f"unknown event {_shown(self._kebab)}"
        if not isinstance(stated, str) or _kebab(stated) != self._kebab:
            return None, problem
        self._record.update(event=printable(stated)[:80], level="warning", reason=problem)
        return payload, ""

    def _route(self, hooks: tuple[str, ...], payload: dict[str, Any]) -> Reply:
        plugins = self._plugins()
        known, off = self._switched_off(plugins.listeners(hooks))

        def work(course: Course | None) -> dict[str, Any]:
            return self._call(hooks, payload, known, off, course)

        strangers = [info for info in plugins.listeners(hooks) if info.distribution != _OWN and info.name not in off]
        apart = any(
            plugins.config(info.name).on_error == "closed" or (info.name in known and known[info.name].apart)
            for info in strangers
        )
        if self.endings is None or not strangers:
            done = work(None)
            self._push()
        elif apart:
            done = self._supervised(work, strangers, self.endings)
        else:
            done = self._marked(work, strangers)
            self._push()
        output, records = done["output"], done["records"]
        guarded = self._record.pop("guarded", False)
        self._record.setdefault("level", "debug" if guarded else "info")
        decision = None if output is None else output["decision"]
        self._record.setdefault("outcome", decision or ("guarded" if guarded else "routed"))
        if output is not None and output["by"]:
            self._record["by"] = output["by"]
        self._record["plugins"] = records
        from hookrouter.course import FAILURES

        failed = any(call["outcome"] in FAILURES for call in records)
        if failed:
            self._record["level"] = "error"
        if known or failed or any("left" in call for call in records):
            from hookrouter.breaker import note

            note(self._home, known, records, plugins.all_config)
        return Reply() if output is None else Reply(output["stdout"], output["stderr"], output["exit_code"])

    def _call(
        self,
        hooks: tuple[str, ...],
        payload: dict[str, Any],
        known: Mapping[str, Health],
        off: Collection[str],
        course: Course | None,
    ) -> dict[str, Any]:
        """Call the plugins, in this process or, with a course, as its child; return what they say as JSON."""
        from hookrouter.context import Context
        from hookrouter.router import Router

        plugins = self._plugins()
        context = Context(
            event=payload["hook_event_name"],
            payload=payload,
            home=self._home,
            config=plugins.all_config,
            environ=self._environ,
            plugins=plugins,
            journal=self._journal,
            record=self._record,
        )
        containment = None
        if course is not None:
            from hookrouter.containment import Containment

            containment = Containment(os.dup(1))
        notices = []
        if context.event == "SessionStart":
            notices = [f"hookrouter: plugin {info.name} is broken: {info.reason}" for info in plugins.broken()]
            for info, text in plugins.misset():
                notices.append(f"hookrouter: plugin {info.name} runs with its defaults: {text}")
        if self.trace is not None:
            from hookrouter.course import Course

            course = course or Course()
            course.trace = self.trace
        router = Router(plugins, course=course, containment=containment, health=known, off=off)
        output, records = router.route(hooks, payload, context, notices)
        return {"output": None if output is None else dict(output._items()), "records": records}

    def _supervised(
        self,
        work: Callable[[Course | None], dict[str, Any]],
        strangers: list[PluginInfo],
        endings: list[Callable[[], None]],
    ) -> dict[str, Any]:
        """Have the plugins called in a child process. Raises OSError or RuntimeError where that cannot be done.

        Where no process can be made, and none of them fails closed, they are called in this one.
        """
        from hookrouter.supervisor import Supervisor

        def recorded(course: Course) -> dict[str, Any]:
            done = work(course)
            return {**done, "record": course.record()}

        supervisor = Supervisor(self.private)
        try:
            done: dict[str, Any] = supervisor.run(recorded, self._record, self._push)
        except OSError as error:
            plugins = self._plugins()
            if any(plugins.config(info.name).on_error == "closed" for info in strangers):
                raise
            self._record.setdefault("warnings", []).append(f"no process could be made for plugins: {_describe(error)}")
            done = self._marked(work, strangers)
        else:
            self._record.update(done["record"])
            endings.append(supervisor.finish)
        return done

    def _marked(self, work: Callable[[Course | None], dict[str, Any]], strangers: list[PluginInfo]) -> dict[str, Any]:
        """Call the plugins in this process, with a mark that names the call that it is in."""
        from hookrouter.course import Course, Mark

        try:
            mark = Mark(self._home, frozenset(info.name for info in strangers))
        except OSError:
            # A home that cannot be written does not stop a hook.
            return work(Course())
        try:
            return work(Course(mark))
        finally:
            mark.remove()

    def _switched_off(self, listeners: list[PluginInfo]) -> tuple[dict[str, Health], frozenset[str]]:
        """Return what is known of plugins that have failed, and which of the listeners are not to be called."""
        from hookrouter.course import left_marks

        if ended := left_marks(self._home):
            from hookrouter.breaker import keep_apart

            keep_apart(self._home, ended)
            self._record.setdefault("warnings", []).extend(
                f"plugin {name}: an earlier hook run ended in its {hook}; it is called in another process from now on"
                for name, hook in ended.items()
            )
        if not os.path.exists(os.path.join(self._home.state, HEALTH)):
            return {}, frozenset()
        from hookrouter import breaker

        known, now = breaker.read(self._home), time.time()
        off = breaker.off(known, self._plugins().all_config)
        return known, frozenset(
            info.name
            for info in listeners
            if info.name in off
            and not (breaker.is_due(off[info.name], now) and breaker.claim_trial(self._home, info.name))
        )

    def _push(self) -> None:
        """Have delivered what an earlier delivery had to leave behind."""
        if not os.path.isdir(os.path.join(self._home.state, "outbox")):
            return
        from hookrouter.outbox import push

        push(self._environ, self._home)

    def _report(self, plugin: str, text: str) -> None:
        self._record.setdefault("warnings", []).append(f"plugin {plugin}: {text}")


def _to_reply(output: Output) -> Reply:
    return Reply(output.stdout, output.stderr, output.exit_code)


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _open_missing() -> None:
    """Open the standard descriptors that are closed, so that no other file gets their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _open_output() -> int:
    """Open the file that gets what plugins print, ``plugin-output.log`` beside the journal; else nothing gets it."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        folder = Home.from_environ(os.environ).logs
        path = os.path.join(folder, "plugin-output.log")
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            ensure(folder)
            descriptor = os.open(path, flags, 0o600)
    except (OSError, ValueError):
        return os.open(os.devnull, os.O_WRONLY)
    if os.fstat(descriptor).st_size > MAX_OUTPUT:
        os.ftruncate(descriptor, 0)
    return descriptor


def _read_stdin() -> bytes | None:
    """Read stdin to its end, so that the writer never blocks; None where there is more than MAX_PAYLOAD."""
    chunks, size = [], 0
    while chunk := _read(0):
        size += len(chunk)
        if size <= MAX_PAYLOAD:
            chunks.append(chunk)
    return b"".join(chunks) if size <= MAX_PAYLOAD else None


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        _wait(descriptor)
        return _read(descriptor)


def _wait(descriptor: int) -> None:
    """Wait until a descriptor that somebody has set to non-blocking can be used again."""
    os.set_blocking(descriptor, True)


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            _wait(descriptor)
        except OSError:
            # Claude Code stopped listening: there is nobody left to answer.
            return


def _kebab(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


def _shown(value: object) -> str:
    return repr(printable(value)[:80]) if isinstance(value, str) else f"a {json_type(value)}"


def _describe(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")[:500]
