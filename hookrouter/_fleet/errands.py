"""What one machine has another one do: a command of hookrouter, run there as if somebody had typed it.

An errand is a document under the name of the machine that is to carry it out. Whoever asks writes it and waits; that
machine's process takes it, runs the command, and writes what came of it into the document. Taken once, it is run once:
an errand whose process died is not run again, and whoever asks is told that it is not known what came of it.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._fleet.kinds import FLEET
from hookrouter._fleet.reader import READER_VARIABLE, reader_value, start_for
from hookrouter._fleet.replica import PRESENCE
from hookrouter._fleet.spawn import ALONE_VARIABLE
from hookrouter.dialogs.answers.identity import PERSON_VARIABLE
from hookrouter.messaging.trace_context import VARIABLE as TRACE_VARIABLE
from hookrouter.messaging.trace_context import parsed
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import iso, now, seconds
from hookrouter.util.field_docs import with_field_docs
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hookrouter.storage.interface import DocumentStore, DocumentWatch, Storage

__all__ = ["COMMANDS", "PAGE_ANSWER", "Done", "ErrandError", "Errands", "run_elsewhere"]

COMMANDS = ("answer", "send", "queue", "pause", "resume", "questions", "sessions", "history")
"""The commands that another machine may ask for: those by which agents and people answer and steer."""

PAGE_ANSWER = ("serve", "--page-answer")
"""What the page runs to give the answer of a person; other machines may ask for it, too."""

_KIND = "errand"
_ASKING = "asking"
"""The kind of the lock that whoever asks holds while waiting."""
_ASKED, _TAKEN, _DONE = "asked", "taken", "done"
_LONGEST_OUTPUT = 256 * 1024
"""Characters of what a command prints that are sent back."""
_KEPT_SECONDS = 86400.0
"""Seconds after which an errand is removed that nobody has fetched."""
_TAKE_SECONDS = 15.0
"""Seconds that a machine which is there has for taking an errand, before it is withdrawn."""
_LOOK_SECONDS = 1.0
_TOLD = (PERSON_VARIABLE, TRACE_VARIABLE, READER_VARIABLE)
"""The variables by which a command is told of whoever asks."""


class ErrandError(StoreError):
    """An errand that was not carried out, or of which that is not known; the message says which."""

    def __init__(self, reason: str, *, may_have_run: bool) -> None:
        """``may_have_run`` is False if nothing was done."""
        super().__init__(reason)
        self.may_have_run = may_have_run


@with_field_docs
class Done(NamedTuple):
    """What came of a command."""

    code: int
    """Its exit code."""
    stdout: str
    """What it printed."""
    stderr: str
    """What it said beside that."""


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
            f"the machine {machine} is not there: no process of hookrouter brings its documents; nothing was done",
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
        with store.lock(_ASKING, name, 0), store.watch(_KIND, name) as watch:
            is_asked = True
            store.write(_KIND, name, document)
            try:
                return _awaited(store, watch, name, document, machine)
            finally:
                with suppress(StoreError):
                    store.delete(_KIND, name)
    except ErrandError:
        raise
    except Exception as error:
        # Whatever an engine raises: what was asked may have been done.
        if not is_asked:
            raise
        why = f"the machine {machine} could not be heard: {error}; whether it was done is not known"
        raise ErrandError(why, may_have_run=True) from error


def _awaited(store: DocumentStore, watch: DocumentWatch, name: str, document: dict[str, object], machine: str) -> Done:
    deadline = time.monotonic() + _TAKE_SECONDS
    while True:
        watch.wait(_LOOK_SECONDS)
        errand = store.read(_KIND, name) or {}
        state = errand.get("state")
        if state == _DONE:
            return Done(_code(errand), str(errand.get("stdout", "")), str(errand.get("stderr", "")))
        is_there = store.lock_holder(*PRESENCE) is not None
        if state == _ASKED and (time.monotonic() >= deadline or not is_there):
            withdrawn = {**document, "state": _DONE, "code": 1}
            if store.replace(_KIND, name, withdrawn, unchanged=document):
                raise ErrandError(f"the machine {machine} did not take it; nothing was done", may_have_run=False)
        elif state != _ASKED and not is_there:
            why = f"the machine {machine} has gone while it did that; whether it was done is not known"
            raise ErrandError(why, may_have_run=True)


class Errands:
    """What this machine is asked to do. One thread calls :meth:`serve`; commands run in threads of their own."""

    def __init__(
        self, storage: Storage, environ: Mapping[str, str], report: Callable[[str], None], wake: Callable[[], object]
    ) -> None:
        """``environ`` is that of the commands; ``wake`` is called, in any thread, when :meth:`serve` has work."""
        from concurrent.futures import ThreadPoolExecutor

        self._store = storage.store(FLEET, report)
        # Who is asking, and in which trace, is told by each errand.
        inherited = {name: value for name, value in environ.items() if name not in _TOLD}
        self._environ = {**inherited, ALONE_VARIABLE: "1"}
        self._report = report
        self._wake = wake
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="errand")
        self._running: dict[str, tuple[dict[str, object], Any]] = {}

    def watch(self) -> DocumentWatch:
        """Return a watch on what is asked."""
        return self._store.watch(_KIND)

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
                # Whoever asked may have gone; then there is nobody to tell.
                self._store.replace(_KIND, name, {**taken, **future.result()}, unchanged=taken)
                del self._running[name]
        for name, errand in self._store.entries(_KIND):
            if errand.get("state") == _ASKED and self._store.lock_holder(_ASKING, name) is not None:
                count += self._take(name, errand)
            elif name not in self._running and _age(errand) > _KEPT_SECONDS:
                self._store.delete(_KIND, name)
        return count

    def _take(self, name: str, errand: dict[str, object]) -> bool:
        taken = {**errand, "state": _TAKEN, "taken_at": iso()}
        if not self._store.replace(_KIND, name, taken, unchanged=errand):
            return False
        words = errand.get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or not words:
            words = []
        future = self._pool.submit(self._run, words, str(errand.get("given", "")), _variables(errand))
        self._running[name] = taken, future
        future.add_done_callback(lambda _future: self._wake())
        return True

    def _run(self, words: list[str], given: str, variables: Mapping[str, str]) -> dict[str, object]:
        if not words or (words[0] not in COMMANDS and tuple(words) != PAGE_ANSWER):
            allowed = ", ".join(COMMANDS)
            said = f"hookrouter: {' '.join(words)!r} is no command for another machine; allowed: {allowed}\n"
            return {"state": _DONE, "code": 2, "stdout": "", "stderr": said, "done_at": iso()}
        try:
            done = subprocess.run(
                [*script_argv(), *words],
                input=given.encode("utf-8", "surrogateescape"),
                env={**self._environ, **variables},
                capture_output=True,
                check=False,
            )
        except (OSError, ValueError) as error:
            said = f"hookrouter: the command could not be started: {error}\n"
            return {"state": _DONE, "code": 1, "stdout": "", "stderr": said, "done_at": iso()}
        texts = [part.decode("utf-8", "replace")[:_LONGEST_OUTPUT] for part in (done.stdout, done.stderr)]
        return {"state": _DONE, "code": done.returncode, "stdout": texts[0], "stderr": texts[1], "done_at": iso()}


def _variables(errand: Mapping[str, object]) -> dict[str, str]:
    """Return what the command's environment says of whoever asks.

    That is who is at the terminal there, the trace, and how hookrouter is started where the output is read.
    """
    # A variable of a process has no zero byte.
    person = str(errand.get("person") or "").replace("\0", "")
    trace = parsed(str(errand.get("trace") or ""))
    told = {PERSON_VARIABLE: person, TRACE_VARIABLE: "" if trace is None else trace.header()}
    told[READER_VARIABLE] = reader_value(errand.get("reader"))
    return {name: value for name, value in told.items() if value}


def _code(errand: Mapping[str, object]) -> int:
    code = errand.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else 1


def _age(errand: Mapping[str, object]) -> float:
    at = seconds(str(errand.get("taken_at") or errand.get("at") or ""))
    return 0.0 if at is None else now() - at
