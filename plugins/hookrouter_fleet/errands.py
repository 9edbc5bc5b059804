"""What one machine has another one do: a command of hookrouter, run there as if somebody had typed it.

An errand is a document under the name of the machine that is to carry it out. Whoever asks writes it and waits; that
machine's process takes it, runs the command, and writes what came of it into the document. Taken once, it is run once:
an errand whose process died is not run again, and whoever asks is told that it is not known what came of it.

A command that only reads is ended once nobody waits for it any more. One that acts is not: it may be in the middle of
keys that it presses, or of what it saves; it goes on to its own end, as it would whose terminal was closed.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hookrouter.dialogs.answers.identity import PERSON_VARIABLE, PROOF_VARIABLE, person_elsewhere
from hookrouter.dialogs.messages.reader import READER_VARIABLE, reader_value, start_for
from hookrouter.machines import Done, ErrandError, refusal
from hookrouter.messaging.environment import ERRAND_VARIABLE
from hookrouter.messaging.trace_context import VARIABLE as TRACE_VARIABLE
from hookrouter.messaging.trace_context import parsed
from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter.util.clock import iso, now, seconds
from hookrouter.util.program import script_argv
from hookrouter_fleet.kinds import ERRAND, FLEET
from hookrouter_fleet.replica import PRESENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hookrouter.storage.interface import DocumentStore, DocumentWatch, Storage

__all__ = ["Errands", "run_elsewhere"]

_ASKING = "asking"
"""The kind of the lock that whoever asks holds while waiting."""
_ASKED, _TAKEN, _DONE, _LOST = "asked", "taken", "done", "lost"
_WITHDRAWN = {"state": _DONE, "code": 1, "not_run": True}
"""What an errand says that is not carried out any more, and was not."""
_READING = (("questions",), ("sessions",), ("history",), ("queue", "list"), ("queue", "show"))
"""How the commands begin that only read."""
_LONGEST_OUTPUT = 4 * 1024 * 1024
"""Characters of what a command prints that are sent back."""
_LONGEST_LEFT = 16 * 1024
"""The same while nobody waits for it."""
_KEPT_SECONDS = 86400.0
"""Seconds after which an errand is removed that nobody has fetched."""
_TAKE_SECONDS = 15.0
"""Seconds that a machine which is there has for taking an errand, before it is withdrawn."""
_AGAIN_SECONDS = 20.0
"""Seconds for which whoever asks tries to hear what came of it, once the engine has failed or the machine is gone."""
_LOOK_SECONDS = 1.0
_TOLD = (PERSON_VARIABLE, PROOF_VARIABLE, TRACE_VARIABLE, READER_VARIABLE)
"""The variables by which a command is told of whoever asks."""
_END_SECONDS = 5.0
"""Seconds that a command has for ending, before it is killed."""


def run_elsewhere(
    storage: Storage,
    machine: str,
    words: Sequence[str],
    given: str,
    report: Callable[[str], None],
    *,
    person: str = "",
    trace: str = "",
) -> Done:
    """Have a machine run ``hookrouter WORDS...`` with ``given`` on its stdin; wait for the end, and return it.

    ``person`` is the login name of whoever is at this process's terminal; empty if nobody is. ``trace`` is the W3C
    trace context that the command goes on with; empty for none. The command's own time limit is the limit of the wait.
    Raises ErrandError, and StoreError if the engine cannot be used.
    """
    store = storage.store(FLEET, report, machine)
    if store.lock_holder(*PRESENCE) is None:
        raise ErrandError(
            f"the machine {machine} is not there: no process of hookrouter is at work on it (one ends when nothing is "
            "open, and 'hookrouter serve' keeps one); nothing was done",
            may_have_run=False,
        )
    from uuid import uuid4

    name = uuid4().hex
    document = {
        "version": 1,
        "words": list(words),
        "given": given,
        "person": person,
        "trace": trace,
        "reader": start_for(machine, os.environ),
        "state": _ASKED,
        "at": iso(),
    }
    is_asked = False
    try:
        # Without the lock it is not carried out: nobody gets an answer that somebody gave up waiting for.
        with store.lock(_ASKING, name, 0), store.watch(ERRAND, name) as watch:
            is_asked = True
            store.write(ERRAND, name, document)
            return _awaited(store, watch, name, document, machine)
    except ErrandError:
        raise
    except Exception as error:
        # Whatever an engine raises: what was asked may have been done.
        if not is_asked:
            raise
        # One that only reads is ended there once nobody waits for it, and can be asked for again.
        if not _only_reads(words) and (done := _heard_later(store, name, machine)) is not None:
            return done
        why = f"the machine {machine} could not be heard: {error}; whether it was done is not known"
        raise ErrandError(why, may_have_run=True) from error
    finally:
        if is_asked:
            with suppress(Exception):  # What came of it is told, whatever an engine raises now.
                store.delete(ERRAND, name)


def _heard_later(store: DocumentStore, name: str, machine: str) -> Done | None:
    """Return what came of an errand, though the engine failed while it was awaited; None if that is not known.

    Raises ErrandError if nothing was done.
    """
    end = time.monotonic() + _AGAIN_SECONDS
    while time.monotonic() < end:
        with suppress(Exception):  # Whatever it raises, the engine is away still.
            errand = store.read(ERRAND, name) or {}
            if errand.get("state") == _ASKED:
                store.replace(ERRAND, name, {**errand, **_WITHDRAWN}, unchanged=errand)
                errand = store.read(ERRAND, name) or {}
            if errand.get("state") not in (_ASKED, _TAKEN):
                break
        time.sleep(_LOOK_SECONDS)
    else:
        return None
    return _told(errand, machine) if errand.get("state") == _DONE else None


def _told(errand: Mapping[str, object], machine: str) -> Done:
    """Return what came of an errand that is done. Raises ErrandError if nothing was."""
    if errand.get("not_run") is True:
        raise ErrandError(f"the machine {machine} did not take it; nothing was done", may_have_run=False)
    texts = str(errand.get("stdout", "")), str(errand.get("stderr", ""))
    return Done(_code(errand), *texts, is_cut=errand.get("is_cut") is True)


def _awaited(store: DocumentStore, watch: DocumentWatch, name: str, document: dict[str, object], machine: str) -> Done:
    seen = time.monotonic()
    deadline = seen + _TAKE_SECONDS
    while True:
        watch.wait(_LOOK_SECONDS)
        errand = store.read(ERRAND, name) or {}
        state = errand.get("state")
        if state == _DONE:
            return _told(errand, machine)
        is_there = store.lock_holder(*PRESENCE) is not None
        if state == _ASKED and (time.monotonic() >= deadline or not is_there):
            withdrawn = {**document, **_WITHDRAWN}
            if store.replace(ERRAND, name, withdrawn, unchanged=document):
                return _told(withdrawn, machine)
        if is_there:
            seen = time.monotonic()
        if state not in (_ASKED, _TAKEN) or time.monotonic() - seen > _AGAIN_SECONDS:
            # Another process has taken that one's place, or what was asked is not there any more: an engine may have
            # lost its last moment. While the engine was away, the machine may have been unable to say that it is there.
            why = f"the machine {machine} has gone while it did that; whether it was done is not known"
            raise ErrandError(why, may_have_run=True)


class Errands:
    """What this machine is asked to do. One thread calls :meth:`serve`; commands run in threads of their own."""

    def __init__(
        self,
        storage: Storage,
        environ: Mapping[str, str],
        report: Callable[[str], None],
        wake: Callable[[], object],
        state: str,
    ) -> None:
        """``environ`` is that of the commands; ``wake`` is called, in any thread, when :meth:`serve` has work.

        ``state`` is the home's state folder.
        """
        from concurrent.futures import ThreadPoolExecutor

        self._store = storage.store(FLEET, report)
        # Who is asking, and in which trace, is told by each errand.
        inherited = {name: value for name, value in environ.items() if name not in _TOLD}
        its_own = " ".join((ALONE_VARIABLE, *_TOLD))
        self._environ = {**inherited, ALONE_VARIABLE: "1", ERRAND_VARIABLE: its_own}
        self._report = report
        self._wake = wake
        self._state = state
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="errand")
        self._running: dict[str, tuple[dict[str, object], Any]] = {}

    def go_on_with(self, storage: Storage) -> None:
        """Take and tell by way of an engine that was opened anew: what runs here meanwhile is not lost."""
        self._store = storage.store(FLEET, self._report)

    def watch(self) -> DocumentWatch:
        """Return a watch on what is asked."""
        return self._store.watch(ERRAND)

    @property
    def are_running(self) -> bool:
        """Whether a command runs."""
        return bool(self._running)

    def ended(self) -> set[str]:
        """Return the errands whose command has ended. What it has written is brought before :meth:`serve` tells it."""
        return {name for name, (_, future) in self._running.items() if future.done()}

    def serve(self, ended: Collection[str] | None = None) -> int:
        """Take what is asked, and tell of what has ended: of all, or of these. Return how many were taken.

        Raises StoreError.
        """
        count = 0
        for name, (taken, future) in list(self._running.items()):
            if future.done() and (ended is None or name in ended):
                done = future.result()
                if not self._is_awaited(name):
                    # Whoever asked may come back, or not; and what is left here is read at each look.
                    done = _shortened(done)
                self._store.replace(ERRAND, name, {**taken, **done}, unchanged=taken)
                del self._running[name]
        for name, errand in self._store.entries(ERRAND):
            if errand.get("state") == _ASKED and self._store.lock_holder(_ASKING, name) is not None:
                count += self._take(name, errand)
            elif errand.get("state") == _TAKEN and name not in self._running:
                # Whoever took it has gone: one process at a time serves a machine.
                self._store.replace(ERRAND, name, {**errand, "state": _LOST}, unchanged=errand)
            elif name not in self._running and _age(errand) > _KEPT_SECONDS:
                self._store.delete(ERRAND, name)
        return count

    def _take(self, name: str, errand: dict[str, object]) -> bool:
        taken = {**errand, "state": _TAKEN, "taken_at": iso()}
        if not self._store.replace(ERRAND, name, taken, unchanged=errand):
            return False
        words = errand.get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or not words:
            words = []
        future = self._pool.submit(self._run, name, words, errand)
        self._running[name] = taken, future
        future.add_done_callback(lambda _future: self._wake())
        return True

    def _run(self, name: str, words: list[str], errand: Mapping[str, object]) -> dict[str, object]:
        if refused := refusal(words):
            return _done(2, "", f"hookrouter: {refused}\n")
        if not self._is_awaited(name):
            return {**_done(1, "", ""), **_WITHDRAWN}
        try:
            with person_elsewhere(self._state, _person(errand)) as variables:
                return self._ended(name, words, str(errand.get("given", "")), {**variables, **_variables(errand)})
        except (OSError, ValueError) as error:
            return _done(1, "", f"hookrouter: the command could not be started: {error}\n")

    def _ended(self, name: str, words: list[str], given: str, variables: Mapping[str, str]) -> dict[str, object]:
        only_reads = _only_reads(words)
        with subprocess.Popen(
            [*script_argv(), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self._environ, **variables},
        ) as process:
            data: bytes | None = given.encode("utf-8", "surrogateescape")
            kill_at: float | None = None
            while True:
                try:
                    stdout, stderr = process.communicate(data, timeout=_LOOK_SECONDS if only_reads else None)
                    break
                except subprocess.TimeoutExpired:
                    data = None
                    if kill_at is not None and time.monotonic() >= kill_at:
                        process.kill()
                    elif kill_at is None and not self._is_awaited(name):
                        process.terminate()
                        kill_at = time.monotonic() + _END_SECONDS
        return _done(process.returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"))

    def _is_awaited(self, name: str) -> bool:
        """Whether somebody waits for an errand; also if the engine cannot be asked now."""
        try:
            return self._store.lock_holder(_ASKING, name) is not None
        except Exception:  # noqa: BLE001 - an engine of a third party may raise anything
            return True


def _done(code: int, stdout: str, stderr: str) -> dict[str, object]:
    texts = {"stdout": stdout[:_LONGEST_OUTPUT], "stderr": stderr[:_LONGEST_OUTPUT]}
    is_cut = max(len(stdout), len(stderr)) > _LONGEST_OUTPUT
    return {"state": _DONE, "code": code, **texts, "is_cut": is_cut, "done_at": iso()}


def _shortened(done: Mapping[str, object]) -> dict[str, object]:
    """Return what came of a command, without what it wrote if that is long."""
    if len(str(done["stdout"])) + len(str(done["stderr"])) <= _LONGEST_LEFT:
        return dict(done)
    return {**done, "stdout": "", "stderr": "", "is_cut": True}


def _only_reads(words: Sequence[str]) -> bool:
    return any(tuple(words[: len(command)]) == command for command in _READING)


def _variables(errand: Mapping[str, object]) -> dict[str, str]:
    """Return what the command's environment says beside who asks.

    That is the trace, and how hookrouter is started where the output is read.
    """
    trace = parsed(str(errand.get("trace") or ""))
    told = {TRACE_VARIABLE: "" if trace is None else trace.header()}
    told[READER_VARIABLE] = reader_value(errand.get("reader"))
    return {name: value for name, value in told.items() if value}


def _person(errand: Mapping[str, object]) -> str:
    # A variable of a process has no zero byte.
    return str(errand.get("person") or "").replace("\0", "")


def _code(errand: Mapping[str, object]) -> int:
    code = errand.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else 1


def _age(errand: Mapping[str, object]) -> float:
    at = seconds(str(errand.get("taken_at") or errand.get("at") or ""))
    return 0.0 if at is None else now() - at
