"""The command ``hookrouter answer``; what it does is in :mod:`hookrouter.cli.dialogs.answer_command`."""

from __future__ import annotations

from typing import Annotated

import typer

from hookrouter.cli.completion import open_sessions
from hookrouter.cli.dialogs.answer_command import dialog_meant, told
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.options import Json  # noqa: TC001 - typer reads it

__all__ = ["answer"]


@on_any_machine("answer", dialog_meant, told=told)
def answer(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION ANSWER...]",
            help="The session that asks and your answer; or the decisions as a JSON array, or - for JSON on stdin.",
            autocompletion=open_sessions,
        ),
    ] = None,
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="NAME",
            help="The session that asks; not needed with --tool-use-id or --any. auto means --any, if no session has "
            "that name.",
            autocompletion=open_sessions,
        ),
    ] = "",
    any_session: Annotated[bool, typer.Option("--any", help="The session with the only open question.")] = False,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Read the decisions from a file, or - for stdin.")
    ] = None,
    tool_use_id: Annotated[
        str | None, typer.Option("--tool-use-id", metavar="ID", help="Answer this question and no other.")
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="TEXT", help="Answer only a question whose text holds this."),
    ] = None,
    channel: Annotated[
        str | None, typer.Option("--channel", metavar="NAME", help="Use this channel instead of the configured ones.")
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait", metavar="SECONDS", help="How long to wait for Claude Code's record of the answer; 0: do not wait."
        ),
    ] = 10.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the decisions and show the plan; do nothing.")
    ] = False,
    as_text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="Send the words as your own, though they may look like an option; in a form of several questions, "
            "those that are no option.",
        ),
    ] = False,
    as_chat: Annotated[
        bool, typer.Option("--chat", help="Decline the whole form, and say the words to Claude instead.")
    ] = False,
    plain: Annotated[
        bool | None,
        typer.Option(
            "--plain/--no-plain",
            help="Ask line by line, as for a screen reader; or on the whole screen. By default on the screen if the "
            "terminal has one, NO_COLOR is not set, and hookrouter[terminal] is installed.",
            show_default=False,
        ),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="WHO",
            help="Who decides: agent, person, or person:NAME. By default a person on a terminal without JSON, else an "
            "agent. Rules that reserve a decision for a person require one at a terminal.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Answer the question that a Claude Code session is asking, and say what was recorded.

    On a terminal, `hookrouter answer` shows the open questions and asks you; nothing is sent before you have seen
    all of it. You may also answer at once: with the numbers of options, which count from 0 as `hookrouter
    questions` shows them, with a label or its beginning, or with words of your own. Words that are not an option
    are asked about, and without a terminal refused, unless --text confirms them. A / separates the answers to a
    form of several questions.

    What a person answers is recorded as theirs, with their login name, and a pause does not hold it back.

    \b
    An agent gives a JSON array with one decision for each question, in order; options count from 0:
      {"action": "select", "optionIndex": N}
      {"action": "type", "text": T}
      {"action": "multi-select", "selectedIndices": [...], "text": T}
      {"action": "chat", "text": T}          say T instead of answering; the last decision of a form
    "notes": T may go with a choice if options have previews.

    \b
    On a permission, a plan or a form of an MCP server it gives one decision, of these:
      {"action": "allow"}                    "input": {...} changes the tool's input, "always": N grants
                                             option N too, one of the client's proposals
      {"action": "deny", "text": T}          "stop": true ends the turn
      {"action": "approve"}                  a plan; "mode": M is the mode that follows, "plan": T another plan
      {"action": "revise", "text": T}
      {"action": "submit", "content": {...}} a form; or "decline", or "cancel"

    Without --tool-use-id the one open question of the session is meant. If the agent has not been told of it yet, and
    somebody else has ended the one before, its answer is refused; --expect TEXT says what the question must be about.

    Nothing is done before all of it is checked against the question. The answer goes through the first of the
    configured channels that can serve the session; then this waits until Claude Code has recorded it, and compares.

    \b
    Exit codes, and "outcome" in the --json result:
      0  verified            Claude Code recorded exactly what was meant
         delivered           with --wait 0: on its way, not waited for
         chat                the form was declined, and Claude got the text
         planned             with --dry-run: "steps" says what would be done (4 if the planner refuses it)
      2  invalid             bad input, or a rule forbids it to an agent: nothing was saved, nothing was done
      3  mismatch            recorded differently; "questions" holds intended and recorded, side by side
      4  not_delivered       no such question, several and none named (see "candidates"), or no channel could serve
         paused              a person has paused the session; `hookrouter resume` ends that
         answered_by_person  a person was first
         unanswered          the question was closed without an answer
      5  not_confirmed       delivered, but what was recorded is not known
      128+N  interrupted     by the signal N; 130 also if you leave without answering

    \b
    With --json, the result also has ok, exit_code, kind, session, tool_use_id, channel, reason (one sentence),
    by and who (who decided: agent or person, and their login name),
    questions (question, intended, recorded, result for each), steps (what was done) and candidates
    (session, tool_use_id, asked_at of the open questions, if none could be chosen).

    \b
    Examples:
      hookrouter answer                               # show the open questions, and ask
      hookrouter answer work                          # the same for the session "work"
      hookrouter answer work 2                        # option 2
      hookrouter answer work 0,2 "and retries"        # options 0 and 2, and your own words
      hookrouter answer work snake                    # the option whose label begins so
      hookrouter answer work --text "none of them"    # your own words
      hookrouter answer work 1 / 0,2 / snake          # a form of three questions
      hookrouter answer work --chat "wait a bit"      # talk instead of answering
      hookrouter answer work name=Bob Smith ok=yes    # the values of a form of an MCP server
      hookrouter answer --any '[{"action": "select", "optionIndex": 1}]'
      hookrouter answer --tool-use-id toolu_01AbC --file decisions.json --json
      hookrouter answer --session work --dry-run - < decisions.json
    """
    from hookrouter.cli.dialogs.answer_command import run
    from hookrouter.cli.dialogs.answer_request import Request

    return run(
        Request(
            words=tuple(words or ()),
            session=session,
            any_session=any_session,
            file=file,
            tool_use_id=tool_use_id,
            expect=expect,
            channel=channel,
            wait=wait,
            dry_run=dry_run,
            as_json=as_json,
            author=author,
            as_text=as_text,
            as_chat=as_chat,
            plain=plain,
        )
    )
