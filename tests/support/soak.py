"""Random forms on the real client: asked by a scripted model, answered by ``hookrouter answer``, checked twice.

Every form is answered by the real program through the real hooks. Besides their verdict, what PostToolUse got is
compared here with what the form's generator says must be recorded.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import subprocess
import tempfile
import time
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hookrouter._sandbox.client import prompt_box
from hookrouter._sandbox.processes import remove_folder
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxError
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from support.random_forms import seeded_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from hookrouter._sandbox.client import ClientSession
    from support.random_forms import RandomForm

__all__ = ["Disturber", "Result", "Verdict", "report", "soak", "table"]

SESSION = "soak"
PER_SESSION = 20
"""How many forms one client answers before the next is started."""
_ANSWER_SECONDS = 100.0
_STUCK = (
    "failed with",
    "the time was up",
    "does not react",
    "in circles",
    "is not answered after",
    "is not on screen",
    "it is not shown",
    "not visible",
    "not fully shown",
    "is not cleared",
    "does not show yet",
)
"""What the channel says if it gave up, instead of finding that an answer would not be safe."""
_STILL_SECONDS = 0.3
"""How long the screen must stand still to count as drawn: a busy client draws a dialog in several pieces."""
_LOGO = "▐▛█▜▌▝▘"
_CLIENT = "Claude Code v"
_BANNER = ("Opus 5.5 · API Usage Billing",)
"""The client's logo is animated."""


class Verdict:
    """How a form ended: the values of ``Result.verdict``."""

    VERIFIED = "verified"
    REFUSED = "refused"
    """Nothing was answered, the dialog was left open, and the reason was said."""
    UNTYPABLE = "untypable"
    """A text that the dialog cannot take was refused before any key, as it must be."""
    WRONG = "wrong"
    """Something else was recorded than was meant, or the dialog or the prompt was not left as it was."""
    STUCK = "stuck"
    """The answer was not brought to an end, though nothing made it unsafe."""


class Disturber(Protocol):
    """What goes on beside the forms."""

    def between_forms(self) -> None:
        """Do what can be done only while no form is open."""


class Result(NamedTuple):
    """What came of one form."""

    number: int
    size: tuple[int, int]
    verdict: str
    """One of the values of Verdict."""
    reason: str
    seconds: float
    """From the start of ``hookrouter answer`` to the PostToolUse record, or to the refusal."""
    steps: tuple[str, ...] = ()
    screen: str = ""
    """The last screen, if the form was not verified."""


def soak(
    program: str,
    numbers: Iterable[int],
    seed: int,
    size: tuple[int, int],
    per_session: int = PER_SESSION,
    channel: str = "keys",
    beside: Callable[[Stage], AbstractContextManager[Disturber]] | None = None,
) -> Iterator[Result]:
    """Answer the forms ``numbers`` of the series ``seed`` on the client ``program`` in a pane of ``size``.

    ``channel`` is the answer channel, and no other takes its place. ``beside`` begins, on each stage on which
    hookrouter is installed, something that goes on while forms are answered. Raises ClientError if the client cannot
    start.
    """
    rest = list(numbers)
    while rest:
        with _Client(program, size, channel, beside) as client:
            for _ in range(per_session):
                if not rest:
                    break
                if client.disturber is not None:
                    client.disturber.between_forms()
                number = rest.pop(0)
                result = client.answer(number, seeded_form(seed, number))
                yield result
                if result.verdict in (Verdict.WRONG, Verdict.STUCK) or not client.dismissed():
                    break


class _Client:
    """One running client under hookrouter, with one channel, whose questions wait in the inbox."""

    def __init__(
        self,
        program: str,
        size: tuple[int, int],
        channel: str,
        beside: Callable[[Stage], AbstractContextManager[Disturber]] | None,
    ) -> None:
        self._program = program
        self._beside = beside
        self.disturber: Disturber | None = None
        self._size = size
        self._channel = channel
        self._asked = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Client:
        with contextlib.ExitStack() as stack:
            folder = tempfile.mkdtemp(prefix="hookrouter-soak-")
            stack.callback(remove_folder, folder)
            server = stack.enter_context(PrivateTmux())
            self.stage = Stage(folder, f'[answer]\nchannels = ["{self._channel}"]\n')
            self.stage.record("PreToolUse", "PostToolUse")
            self.stage.install()
            if self._beside is not None:
                self.disturber = stack.enter_context(self._beside(self.stage))
            self.model = stack.enter_context(ScriptedModel())
            width, height = self._size
            self.session: ClientSession = stack.enter_context(
                self.stage.client(self._program, server, self.model, session=SESSION, width=width, height=height)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def answer(self, number: int, form: RandomForm) -> Result:
        """Have Claude ask the form, answer it, and say how it ended. Raises nothing that a client can cause."""
        try:
            identifier = self._ask(number, form)
        except WaitTimeoutError as error:
            return Result(number, self._size, Verdict.STUCK, f"the client did not ask: {error}", 0.0)
        try:
            return self._answer(number, form, identifier)
        except (WaitTimeoutError, TmuxError, subprocess.TimeoutExpired) as error:
            return Result(number, self._size, Verdict.STUCK, str(error), 0.0, screen=self._screen())

    def _ask(self, number: int, form: RandomForm) -> str:
        before = len(self.stage.payloads("PreToolUse"))
        self.model.script(f"form-{number}", ask({"questions": form.questions}))
        self.session.submit(f"please ASK form-{number}")
        identifier: str = self.stage.wait_payload("PreToolUse", before + 1)["tool_use_id"]
        self.session.wait_dialog()
        return identifier

    def _answer(self, number: int, form: RandomForm, identifier: str) -> Result:
        before = self._frame()
        started = time.monotonic()
        arguments = ("answer", "--session", SESSION, "--tool-use-id", identifier, "--json", "--wait", "30")
        done = self.stage.run(*arguments, "--file", "-", stdin=json.dumps(form.decisions), timeout=_ANSWER_SECONDS)
        seconds = time.monotonic() - started
        try:
            said: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            said = {"reason": f"hookrouter answer ended with {done.returncode}: {done.stdout} {done.stderr}"}
        reason, steps = str(said.get("reason")), tuple(said.get("steps") or ())

        def result(verdict: str, why: str) -> Result:
            return Result(number, self._size, verdict, why, seconds, steps, self._screen())

        recorded = self._recorded(identifier)
        strays = [prompt for prompt in self.model.prompts() if not prompt.startswith("please ASK form-")]
        if strays:
            return result(Verdict.WRONG, f"a text reached Claude as a prompt: {strays[-1]!r}")
        if recorded is not None:
            faults = _faults(form, recorded)
            if faults:
                return result(Verdict.WRONG, f"{faults}; hookrouter says {said.get('outcome')}: {reason}")
            if done.returncode != 0 or said.get("outcome") != "verified":
                return result(Verdict.WRONG, f"recorded as meant, but hookrouter says {said.get('outcome')}: {reason}")
            return Result(number, self._size, Verdict.VERIFIED, reason, seconds, steps)
        return result(*self._unanswered(form, done.returncode, reason, steps, before, identifier))

    def _unanswered(
        self, form: RandomForm, code: int, reason: str, steps: Sequence[str], before: list[str], identifier: str
    ) -> tuple[str, str]:
        """Judge an answer after which nothing was recorded: return the verdict and its reason."""
        if code not in (2, 4):
            return Verdict.STUCK, f"nothing was recorded, and hookrouter answer ended with {code}: {reason}"
        if prompt_box(self._screen()) is not None or identifier in self.model.tool_results():
            return Verdict.WRONG, f"refused, but the dialog is gone: {reason}"
        after = before if steps else self._frame()
        if after != before:
            changes = "\n".join(difflib.unified_diff(before, after, "before", "after", n=0, lineterm=""))
            return Verdict.WRONG, f"refused without a key, but the dialog has changed: {reason}\n{changes}"
        if code == 2:
            verdict = Verdict.UNTYPABLE if form.faulty else Verdict.STUCK
            return verdict, f"bad input: {reason}"
        if "no open question" in reason:
            said = "\n".join(json.dumps(record) for record in self.stage.journal()[-12:])
            return Verdict.STUCK, f"its dialog is open, but {reason}\n{said}"
        if any(sign in reason for sign in _STUCK):
            return Verdict.STUCK, reason
        return Verdict.REFUSED, reason

    def _recorded(self, identifier: str) -> dict[str, Any] | None:
        for payload in self.stage.payloads("PostToolUse"):
            if payload["tool_use_id"] == identifier:
                response: dict[str, Any] = payload["tool_response"]
                return response
        return None

    def dismissed(self) -> bool:
        """Close the dialog if it is still open; return whether the client is ready for the next form."""
        for _ in range(5):
            try:
                self.session.wait_idle(3.0)
            except WaitTimeoutError:
                # Only where something stays in the prompt's place: an Escape that closes nothing is read as Alt with
                # the first letter of the next prompt.
                if prompt_box(self._screen()) is None:
                    with contextlib.suppress(TmuxError, WaitTimeoutError):
                        self.session.pane.press("Escape")
                        self._frame()
            else:
                return True
        return False

    def _screen(self) -> str:
        with contextlib.suppress(TmuxError):
            return self.session.screen()
        return ""

    def _frame(self) -> list[str]:
        """Return the screen, once it stands still, without what the client animates."""
        frame: list[str] = []
        since = time.monotonic()

        def stands_still() -> bool:
            nonlocal frame, since
            # The banner at the client's start is drawn without its logo for a moment, and so is what stands beside it.
            lines = [line for line in self._screen().splitlines() if not set(line) & set(_LOGO)]
            last, frame = frame, [line for line in lines if line.strip() not in _BANNER and _CLIENT not in line]
            if frame != last:
                since = time.monotonic()
            return time.monotonic() - since >= _STILL_SECONDS

        wait_until(stands_still, 5.0, "screen that stands still", self._screen)
        return frame


def _faults(form: RandomForm, recorded: dict[str, Any]) -> str:
    """Return how the record differs from what was meant; empty if it does not."""
    faults = []
    if recorded.get("answers") != form.expected:
        faults.append(f"recorded {recorded.get('answers')!r}, meant {form.expected!r}")
    annotations = recorded.get("annotations") or {}
    notes = {text: each["notes"] for text, each in annotations.items() if each.get("notes")}
    # Claude Code records notes with composed characters (measured on 2.1.330), unlike typed answers.
    meant = {text: unicodedata.normalize("NFC", note) for text, note in form.notes.items()}
    if notes != meant:
        faults.append(f"recorded the notes {notes!r}, meant {meant!r}")
    return "; ".join(faults)


def report(result: Result, seed: int) -> str:
    """Return all that is known about a form, with the options that run it again alone."""
    form = seeded_form(seed, result.number)
    width, height = result.size
    return "\n".join(
        (
            f"form {result.number}: {result.verdict}: {result.reason}",
            f"again: --seed {seed} --only {result.number} --size {width}x{height}",
            f"questions: {json.dumps(form.questions, ensure_ascii=False)}",
            f"decisions: {json.dumps(form.decisions, ensure_ascii=False)}",
            "steps:",
            *(f"  {step}" for step in result.steps),
            "last screen:",
            result.screen.rstrip(),
        )
    )


def table(results: Sequence[Result]) -> str:
    """Return a markdown table with one line for each size, and all of them together."""
    lines = [
        "| size | forms | verified | untypable | refused | wrong | stuck | refusal rate | median seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    sizes = list(dict.fromkeys(result.size for result in results))
    for size in [*sizes, None]:
        of_size = [result for result in results if size in (None, result.size)]
        counts = [
            sum(result.verdict == verdict for result in of_size)
            for verdict in (Verdict.VERIFIED, Verdict.UNTYPABLE, Verdict.REFUSED, Verdict.WRONG, Verdict.STUCK)
        ]
        times = sorted(result.seconds for result in of_size if result.verdict == Verdict.VERIFIED)
        median = f"{times[len(times) // 2]:.2f}" if times else "-"
        name = "all" if size is None else f"{size[0]}x{size[1]}"
        rate = f"{100 * counts[2] / max(1, len(of_size)):.1f} %"
        lines.append(f"| {name} | {len(of_size)} | {' | '.join(map(str, counts))} | {rate} | {median} |")
    return "\n".join(lines)
