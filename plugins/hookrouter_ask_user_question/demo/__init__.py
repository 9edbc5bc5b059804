"""``hookrouter demo``: the whole question loop on a stand-in for the client, or on the real one."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hookrouter.testing.client import ClientSession
    from hookrouter.testing.stage import Stage
    from hookrouter.testing.terminal import PrivateTmux

__all__ = ["demo"]

_WIDTH = 96
_HEIGHT = 32


def demo(
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="PATH", help="Use this Claude Code client, with a scripted model."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say only how it ended.")] = False,
) -> int:
    """Show the question loop: Claude asks, the hook wakes an agent, the agent answers, the hook verifies.

    Everything is real but Claude: the hooks, the agent's wake, the keys in tmux, the comparison. It runs in a tmux
    server and in folders of its own, and removes them.

    \b
    Examples:
      hookrouter demo
      hookrouter demo --client ~/.local/bin/claude

    \b
    Exit codes:
      0    every answer was recorded as it was meant
      1    one was not
      2    it cannot run here: there is no tmux, or no such client
      130  stopped by Ctrl-C
    """
    from hookrouter.cli.terminal import Waiting
    from hookrouter.testing.client import ClientError
    from hookrouter.testing.terminal import TmuxError, WaitTimeoutError, ending_on_signals

    try:
        if client is not None and (os.path.isdir(client) or not os.access(client, os.X_OK)):
            raise ClientError(f"--client: {client} is not an executable file")
        with ending_on_signals(), Waiting("hookrouter demo: playing") if quiet else contextlib.nullcontext():
            faults = _run(client, quiet=quiet)
    except (ClientError, TmuxError) as error:
        typer.echo(f"hookrouter demo: {error}", err=True)
        return 2
    except (WaitTimeoutError, RuntimeError) as error:
        faults = [str(error)]
    except KeyboardInterrupt:
        typer.echo("hookrouter demo: stopped; nothing was left behind", err=True)
        return 130
    for fault in faults:
        typer.echo(f"hookrouter demo: {fault}", err=True)
    return 1 if faults else 0


def _run(client: str | None, *, quiet: bool) -> list[str]:
    from hookrouter.testing.stage import Stage
    from hookrouter.testing.terminal import PrivateTmux, remove_folder
    from hookrouter_ask_user_question.demo.scenes import SCENES
    from hookrouter_ask_user_question.demo.show import config, play

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text)

    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="hookrouter-demo-")
        stack.callback(remove_folder, folder)
        server = stack.enter_context(PrivateTmux())
        stage = Stage(folder, config(folder))
        stage.record("PostToolUse")
        stage.install()
        say(f"hookrouter demo: Claude is {client or 'a stand-in for the client'}, in a tmux server of its own.")
        session = stack.enter_context(_session(client, stage, server, stack))
        faults = play(stage, session, SCENES, say)
    if not faults:
        typer.echo(
            f"\nAll {len(SCENES)} forms verified in {time.monotonic() - started:.1f} s; nothing was left behind."
        )
    return faults


def _session(client: str | None, stage: Stage, server: PrivateTmux, stack: contextlib.ExitStack) -> ClientSession:
    from hookrouter_ask_user_question.demo.scenes import SCENES
    from hookrouter_ask_user_question.demo.show import SESSION

    forms = {scene.name: {"questions": scene.questions} for scene in SCENES}
    if client is None:
        return stage.stand_in(forms, server, session=SESSION, width=_WIDTH, height=_HEIGHT)
    from hookrouter.testing.client import check_client
    from hookrouter.testing.scripted_model import ScriptedModel, ask

    program = os.path.abspath(client)
    model = stack.enter_context(ScriptedModel({name: ask(form) for name, form in forms.items()}))
    check_client(program, {**stage.environ, **stage.client_home.environ(model)})
    return stage.client(program, server, model, session=SESSION, width=_WIDTH, height=_HEIGHT)
