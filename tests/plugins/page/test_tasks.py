"""Commands that the page cannot start are told of like those that fail."""

from __future__ import annotations

import asyncio
import errno

import pytest

from hookrouter_page.tasks import Tasks


@pytest.mark.parametrize(
    "error", [ValueError("embedded null byte"), OSError(errno.E2BIG, "Argument list too long", "hookrouter")]
)
def test_a_command_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def refuse(*_argv: str, **_given: object) -> None:
        raise error

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    done = asyncio.run(Tasks({}).command(["pause", "--session=work", "--reason=x"]))
    assert (done.exit_code, done.document) == (1, {})
    assert done.problem.startswith("nothing was done, it cannot be started: ")
    assert str(error.args[-1]) in done.problem
