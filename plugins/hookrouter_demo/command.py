"""``hookrouter demo``: the whole question loop on a stand-in for the client, or on the real one."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.answering.interfaces import keystroke_planners
from hookrouter.terminals import terminal_backends

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from hookrouter.answering.decisions import Decision
    from hookrouter.testing.sandbox import ClientSession, Stage, Terminal
    from hookrouter_demo.scenes import CallScene, Scene
    from hookrouter_demo.show import Client

__all__ = ["demo"]

_WIDTH = 96
_HEIGHT = 32
_TMUX = "tmux"
_PLANNER = "grammar"

_INTRODUCTIONS = {
    "reply": "By reply: a hook waits beside the dialog, and returns the answer to Claude Code.",
    "keys": "By keys: the answer is typed into the dialog.",
}
"""What is said before the scenes of each answer channel."""


def demo(
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="PATH", help="Use this Claude Code client, with a scripted model."),
    ] = None,
    terminal: Annotated[
        str | None,
        typer.Option(
            "--terminal",
            metavar="NAME",
            help="Run it in this terminal, by the name of its backend: tmux, or a plugin's that can open a pane. "
            "Default: tmux, if it is installed.",
        ),
    ] = None,
    planner: Annotated[
        str | None,
        typer.Option(
            "--planner",
            metavar="NAME",
            help="Let this keystroke planner type the answers; forms that it refuses are skipped. Default: grammar.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the outcome.")] = False,
) -> int:
    """Show the loop: Claude asks, a hook wakes an agent, the agent decides, a hook verifies.

    Claude asks questions, asks permission for a command, and offers a plan. In a terminal a queue of two prompts with
    /clear between them ends it.

    Everything is real but Claude: the hooks, the agent's wake, the answer, the comparison. The answer goes by reply (a
    hook returns it), then by keys (it is typed into the dialog). Keys need a terminal: without tmux, only the first is
    shown. It runs in a terminal and in folders of its own, and removes them.

    \b
    Examples:
      hookrouter demo
      hookrouter demo --client ~/.local/bin/claude
      hookrouter demo --terminal zellij
      hookrouter demo --planner key-counting

    \b
    Exit codes:
      0    all that was decided has happened as it was meant
      1    one was not
      2    it cannot run here: there is no such client, or not the terminal or planner that it needs
      130  stopped by Ctrl-C
    """
    from hookrouter.cli.terminal import Waiting
    from hookrouter.terminals import TerminalError
    from hookrouter.testing.sandbox import (
        ClientError,
        TerminalUnavailableError,
        TmuxError,
        WaitTimeoutError,
        ending_on_signals,
    )

    try:
        if client is not None and (os.path.isdir(client) or not os.access(client, os.X_OK)):
            raise ClientError(f"--client: {client} is not an executable file")
        with ending_on_signals(), Waiting("hookrouter demo: playing") if quiet else contextlib.nullcontext():
            faults = _run(client, terminal, planner or _PLANNER, quiet=quiet)
    except (ClientError, TmuxError, TerminalUnavailableError) as error:
        typer.echo(f"hookrouter demo: {error}", err=True)
        return 2
    except (WaitTimeoutError, TerminalError, RuntimeError) as error:
        faults = [str(error)]
    except KeyboardInterrupt:
        typer.echo("hookrouter demo: stopped; nothing was left behind", err=True)
        return 130
    for fault in faults:
        typer.echo(f"hookrouter demo: {fault}", err=True)
    return 1 if faults else 0


def _run(client: str | None, name: str | None, planner: str, *, quiet: bool) -> list[str]:
    from hookrouter.testing.sandbox import Stage, TerminalUnavailableError, remove_folder
    from hookrouter_demo.scenes import CALLS, SCENES
    from hookrouter_demo.show import config

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text)

    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="hookrouter-demo-")
        stack.callback(remove_folder, folder)
        stage = Stage(folder, config(folder))
        place = _terminal(client, name, stage)
        terminal = None if place is None else stack.enter_context(place)
        refused = _refused(planner, stage)
        if planner != _PLANNER and terminal is None:
            raise TerminalUnavailableError("--planner: a planner types into a terminal, and there is no tmux")
        stage.record("PostToolUse")
        stage.install()
        where = "without a terminal" if terminal is None else f"in a {name or _TMUX} of its own"
        say(f"hookrouter demo: Claude is {client or 'a stand-in for the client'}, {where}.")
        cast = _real(client, stage, terminal, stack) if client and terminal else _stand_in(stage, terminal, stack)
        every: tuple[Scene | CallScene, ...] = (*SCENES, *CALLS)
        typed = [scene for scene in every if scene.name not in refused]
        # By reply, all forms look alike: if there are keys to be seen, one form will do.
        acts = [("reply", every)] if terminal is None else [("reply", every[:1]), ("keys", typed)]
        faults = _play(stage, cast, acts, name or _TMUX, planner, say)
        if not faults and terminal is not None:
            faults = _queue(stage, cast, say)
        for scene in every if terminal is not None else ():
            if scene.name in refused:
                say(f"\nSkipped, as the planner {planner} refuses it: {scene.title} ({refused[scene.name]})")
    if not faults:
        count, seconds = sum(len(scenes) for _, scenes in acts), time.monotonic() - started
        done = "" if terminal is None else ", and the queue is done,"
        typer.echo(f"\nAll {count} dialogs verified{done} in {seconds:.1f} s; nothing was left behind.")
        if terminal is None:
            say(
                "With tmux installed, the demo also types the answers into the dialog, as hookrouter does if no hook "
                "can wait; without it, hookrouter answers by reply alone."
            )
    return faults


def _play(
    stage: Stage,
    client: Callable[[str], Client],
    acts: Sequence[tuple[str, Sequence[Scene | CallScene]]],
    terminal: str,
    planner: str,
    say: Callable[[str], None],
) -> list[str]:
    """Play scenes by one answer channel after the other, until something is wrong; return that."""
    from hookrouter_demo.show import config, play

    first = 1
    for channel, scenes in acts:
        if channel == "keys" and (fault := _unlocated(stage, terminal)):
            return [fault]
        stage.configure(config(stage.folder, channel, terminal, planner))
        say(f"\n{_INTRODUCTIONS[channel]}")
        faults = play(stage, client, scenes, say, first=first)
        if faults:
            return faults
        first += len(scenes)
    return []


def _queue(stage: Stage, client: Callable[[str], Client], say: Callable[[str], None]) -> list[str]:
    """Let a queue end the demo; return what went wrong."""
    from hookrouter.testing.sandbox import ClientSession
    from hookrouter_demo.queue_scene import play_queue
    from hookrouter_demo.show import agent_log

    one = client("default")
    return play_queue(stage, one.session, agent_log, say) if isinstance(one, ClientSession) else []


def _unlocated(stage: Stage, terminal: str) -> str:
    """Say what is wrong if the hooks so far did not know the pane that they ran in; nothing if they did."""
    asked = [record for record in stage.journal() if record.get("event") == "PreToolUse"]
    if not asked or not str(asked[-1].get("session", "")).startswith("claude-"):
        return ""
    warnings = "; ".join(map(str, asked[-1].get("warnings") or ()))
    return (
        f"the terminal {terminal!r} opened a pane, but its locate() did not find it in the environment of a hook "
        f"that ran in it, so no key can be pressed{f' ({warnings})' if warnings else ''}. Have locate() read the "
        "variables that the terminal sets for programs in its panes, and open_pane() start the program with them; "
        "TerminalBackendContract in hookrouter.testing.contracts tries both"
    )


def _refused(name: str, stage: Stage) -> dict[str, str]:
    """Return why a planner refuses scenes, by their names. Raises TerminalUnavailableError if there is none."""
    from hookrouter.answering.decisions import FreeText, MultiSelect, Select
    from hookrouter.answering.forms import refusal_of
    from hookrouter.cli.application import Application
    from hookrouter.storage.home import HOME_VARIABLE
    from hookrouter.testing.sandbox import TerminalUnavailableError
    from hookrouter.tools import AskUserQuestionInput
    from hookrouter.util.text import did_you_mean
    from hookrouter_demo.rule_agent import decide
    from hookrouter_demo.scenes import CALLS, SCENES

    app = Application.from_environ({**os.environ, HOME_VARIABLE: stage.home.root})
    planners = keystroke_planners(app.plugins)
    if name not in planners:
        hint = did_you_mean(name, sorted(planners), f"there are: {', '.join(sorted(planners))}")
        raise TerminalUnavailableError(f"--planner: no active plugin offers the planner {name!r}; {hint}")

    def decision(question: dict[str, Any]) -> Decision:
        chosen = decide(question)[0]
        if chosen["action"] == "select":
            return Select(chosen["optionIndex"])
        if chosen["action"] == "type":
            return FreeText(chosen["text"])
        return MultiSelect(tuple(chosen["selectedIndices"]))

    outlines = {
        scene.name: planners[name].outline(
            AskUserQuestionInput.from_json({"questions": scene.questions}), [decision(each) for each in scene.questions]
        )
        for scene in SCENES
    }
    refused = {scene: why for scene, lines in outlines.items() if (why := refusal_of(lines)) is not None}
    known = planners[name].kinds
    unknown = {scene.name: "it knows questions alone" for scene in CALLS if scene.kind not in known}
    return refused | unknown


def _terminal(client: str | None, name: str | None, stage: Stage) -> AbstractContextManager[Terminal] | None:
    """Return the terminal to run in; None if there is none and none is needed.

    Raises TmuxError, and TerminalUnavailableError for a backend that is not there or opens no panes.
    """
    from hookrouter.testing.sandbox import BackendTerminal, PrivateTmux, find_tmux

    if name is not None and name != _TMUX:
        from hookrouter.cli.application import Application
        from hookrouter.storage.home import HOME_VARIABLE

        app = Application.from_environ({**os.environ, HOME_VARIABLE: stage.home.root})
        return BackendTerminal(name, terminal_backends(app.plugins))
    if name is None and client is None and find_tmux() is None:
        return None
    return PrivateTmux()


def _stand_in(stage: Stage, terminal: Terminal | None, stack: contextlib.ExitStack) -> Callable[[str], Client]:
    """Start the stand-in, which asks in whatever mode a scene wants."""
    from hookrouter_demo.scenes import CALLS, SCENES
    from hookrouter_demo.show import SESSION

    forms = {scene.name: {"questions": scene.questions} for scene in SCENES}
    calls = {scene.name: {"tool": scene.tool, "input": scene.tool_input, "mode": scene.mode} for scene in CALLS}
    one: Client
    if terminal is None:
        one = stack.enter_context(stage.piped_stand_in(forms, calls=calls, width=_WIDTH, height=_HEIGHT))
    else:
        drawn = stage.stand_in(forms, terminal, calls=calls, session=SESSION, width=_WIDTH, height=_HEIGHT)
        one = stack.enter_context(drawn)
    return lambda _mode: one


def _real(client: str, stage: Stage, terminal: Terminal, stack: contextlib.ExitStack) -> Callable[[str], Client]:
    """Check the real client, and return what starts it in a mode, once for each."""
    from hookrouter.testing.sandbox import ScriptedModel, ToolUse, ask, check_client
    from hookrouter_demo.scenes import CALLS, SCENES
    from hookrouter_demo.show import SESSION

    program = os.path.abspath(client)
    asked = {scene.name: ask({"questions": scene.questions}) for scene in SCENES}
    # The client reads a plan from a file of its own, and this scripted Claude writes none.
    calls = {scene.name: ToolUse(scene.tool, {} if scene.kind == "plan" else scene.tool_input) for scene in CALLS}
    model = stack.enter_context(ScriptedModel({**asked, **calls}))
    # The scripted Claude searches for no tool.
    stage.variables["ENABLE_TOOL_SEARCH"] = "false"
    check_client(program, {**stage.environ, **stage.client_home.environ(model)})
    started: dict[str, ClientSession] = {}

    def in_mode(mode: str) -> Client:
        if mode not in started:
            name = SESSION if not started else f"{SESSION}-{mode}"
            words = ("--permission-mode", mode)
            session = stage.client(program, terminal, model, words=words, session=name, width=_WIDTH, height=_HEIGHT)
            started[mode] = stack.enter_context(session)
        return started[mode]

    return in_mode
