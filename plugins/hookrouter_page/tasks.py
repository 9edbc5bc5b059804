"""What the page does, done by processes of their own: the commands that people and agents type.

So there is no second way to answer, nothing that is done can hold the page up, and what has begun goes on when the page
or the router ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from hookrouter.storage.engine import ALONE_VARIABLE
from hookrouter.util.program import script_argv
from hookrouter.util.text import describe_error, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ANSWERING", "Done", "Tasks"]

_SECONDS = 150.0
"""How long a task may take whose result somebody waits for; it goes on without them."""

ANSWERING = "hookrouter_page.entry"
"""The module of the process that gives an answer."""

_SHOWN = 2000


class Done:
    """What came of a command."""

    def __init__(self, exit_code: int, document: Mapping[str, Any], said: str) -> None:
        """``document`` is its JSON, empty for none; ``said`` what it wrote to stderr."""
        self.exit_code = exit_code
        self.document = document
        self.said = said

    @property
    def problem(self) -> str:
        """What went wrong, in words; empty if nothing did."""
        if not self.exit_code:
            return ""
        reason = self.document.get("error") or self.document.get("reason")
        return str(reason) if reason else self.said or f"it ended with exit code {self.exit_code}"


class Tasks:
    """Runs commands of hookrouter for one home."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """``environ`` names the home."""
        self._environ = dict(environ)

    async def command(self, words: Sequence[str], text: str | None = None, *, is_alone: bool = False) -> Done:
        """Run ``hookrouter WORDS --json``; ``text`` is its stdin. Raises nothing that a command does.

        ``is_alone``: it is about this machine, whatever others have of the same name.
        """
        options = words[: words.index("--")] if "--" in words else words
        return await self._run([*script_argv(), *options, "--json", *words[len(options) :]], text, is_alone=is_alone)

    async def answer(self, request: Mapping[str, Any]) -> Done:
        """Give an answer; ``request`` is what :func:`hookrouter_page.entry.answer` reads."""
        return await self._run([sys.executable, "-P", "-m", ANSWERING], json.dumps(request))

    async def _run(self, argv: Sequence[str], text: str | None, *, is_alone: bool = False) -> Done:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**self._environ, ALONE_VARIABLE: "1"} if is_alone else self._environ,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            # Also for a text that no command line takes: one too long, or with a NUL.
            return Done(1, {}, f"nothing was done, it cannot be started: {describe_error(error)}")
        try:
            given = (text or "").encode("utf-8", "surrogatepass")
            # Shielded: somebody who closes the page takes nothing back.
            out, err = await asyncio.wait_for(asyncio.shield(process.communicate(given)), _SECONDS)
        except TimeoutError:
            return Done(1, {}, "it takes very long; the history will say what came of it")
        said = printable(err.decode("utf-8", "replace")[:_SHOWN].strip(), keep_newlines=True)
        try:
            document = json.loads(out)
        except ValueError:
            document = {}
        return Done(process.returncode or 0, document if isinstance(document, dict) else {"list": document}, said)
