"""``hookrouter outbox list|show|retry|drop``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.messaging.gateway import gateways
from hookrouter.messaging.spawn import push, spawn_delivery
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import local, now, seconds
from hookrouter.util.text import duration, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.outbox import Outbox

__all__ = ["app", "drop", "list_messages", "retry", "show"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show undelivered messages; retry or drop them.",
)

T = TypeVar("T")

_Id = Annotated[str, typer.Argument(metavar="ID", help="The message's id, as the list shows it.")]
_SomeId = Annotated[str | None, typer.Argument(metavar="[ID]", help="The message's id, as the list shows it.")]


@app.command("list")
def list_messages(as_json: Json = False) -> None:
    """List the messages that are not delivered yet, oldest first, and why.

    A message is being delivered (running), due, waits, waits while its session is paused, or was given up. It waits for
    its next attempt, for its time (a reminder), or, if it withdraws or edits an earlier one, for the end of what that
    is about. One that was given up stays until it is retried or dropped, or its gateway's table in config.toml changes.
    One whose gateway could not be asked, because its table has mistakes, is due when that changes.

    With --json: a list with id, state (running, due, waits, paused, given up), kind, agent, gateways, session, subject,
    attempts, last_error and times; running_since is null if no attempt runs.

    \b
    Examples:
      hookrouter outbox list
      hookrouter outbox list --json | jq -r '.[] | select(.state == "given up") | .id'

    \b
    Exit codes:
      0  listed, even if there is none
      2  wrong arguments, or the outbox cannot be read
    """
    services = Application.from_environ()
    push(services.environ, services.home)
    entries = _guarded(lambda: [_entry(services, message) for message in services.outbox.pending()])
    if as_json:
        echo_json(entries)
        return
    if not entries:
        typer.echo("no message waits for delivery")
    for entry in entries:
        for line in _lines(entry):
            typer.echo(line)


@app.command("show")
def show(name: _Id, as_json: Json = False) -> None:
    """Show one message with its whole text.

    \b
    Examples:
      hookrouter outbox show 20260101T120000-ab12

    \b
    Exit codes:
      0  shown
      2  there is no such message, or the outbox cannot be read
    """
    services = Application.from_environ()
    push(services.environ, services.home)
    message = _guarded(partial(services.outbox.get, name))
    if message is None:
        raise _unknown(name)
    entry = _guarded(partial(_entry, services, message))
    if as_json:
        echo_json({**entry, "text": message.text})
        return
    for line in _lines(entry):
        typer.echo(line)
    typer.echo(f"  created: {local(message.created_at)}")
    typer.echo(f"  tool call: {printable(message.tool_use_id)}")
    typer.echo(f"\n{printable(message.text, keep_newlines=True)}".rstrip())


@app.command("retry")
def retry(
    name: _SomeId = None,
    every: Annotated[bool, typer.Option("--all", help="All that failed or were given up.")] = False,
    as_json: Json = False,
) -> None:
    """Try a message again now, and then for as long as a new one.

    Named by its id, a message that waits for its time goes out now too.

    \b
    Examples:
      hookrouter outbox retry 20260101T120000-ab12
      hookrouter outbox retry --all

    \b
    Exit codes:
      0  a deliverer was started for what is to be retried
      2  wrong arguments, there is no such message, or the outbox cannot be used
    """
    services = Application.from_environ()
    outbox = services.outbox
    names = _chosen(name, every, lambda: [message.id for message in outbox.pending() if not message.is_for_later])
    done = [one for one in names if _guarded(partial(outbox.retry, one))]
    if name is not None and not done:
        raise _unknown(name)
    if done:
        try:
            spawn_delivery(services.environ, services.home)
        except OSError as error:
            raise CommandError(f"no deliverer could be started: {error.strerror or error}") from None
    _tell("retried", done, as_json)


@app.command("drop")
def drop(
    name: _SomeId = None,
    every: Annotated[bool, typer.Option("--all", help="All messages, those that wait for their time too.")] = False,
    as_json: Json = False,
) -> None:
    """Remove a message without delivering it, and the reminders that were to follow its delivery.

    What follows without it being delivered, an escalation, is a message of its own.

    \b
    Examples:
      hookrouter outbox drop 20260101T120000-ab12
      hookrouter outbox drop --all

    \b
    Exit codes:
      0  removed
      2  wrong arguments, there is no such message, or the outbox cannot be used
    """
    outbox = Application.from_environ().outbox
    names = _chosen(name, every, outbox.ids)
    done = [one for one in names if _guarded(partial(outbox.remove, one))]
    if name is not None and not done:
        raise _unknown(name)
    _tell("dropped", done, as_json)


def _chosen(name: str | None, every: bool, listing: Callable[[], list[str]]) -> list[str]:
    if (name is None) == (not every):
        raise CommandError("name one message by its ID, or give --all")
    return _guarded(listing) if name is None else [name]


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except (StoreError, OSError) as error:
        raise CommandError(str(error)) from None


def _unknown(name: str) -> CommandError:
    return CommandError(f"there is no message {name!r} in the outbox; 'hookrouter outbox list' shows them")


def _tell(what: str, names: list[str], as_json: bool) -> None:
    if as_json:
        echo_json({what: names})
    else:
        typer.echo(f"{what}: {', '.join(map(printable, names)) or 'no message'}")


def _as_it_is_tried(services: Services, message: QueuedMessage) -> QueuedMessage:
    """Return a message without its next time and the reason, if its gateway's table has changed since."""
    if not message.unusable:
        return message
    # Plugins are imported for it.
    from hookrouter.messaging.delivery.routes import Routes

    with redirect_stdout(sys.stderr):
        routes = Routes(services.config, gateways(services.plugins))
    return message._replace(next_attempt_at=None, last_error=None) if routes.has_changed(message) else message


def _entry(services: Services, message: QueuedMessage) -> dict[str, Any]:
    """Return what a program reads about one message. Raises StoreError."""
    outbox, given_up = services.outbox, message.given_up
    message = _as_it_is_tried(services, message)
    is_running = outbox.locks.is_running(message)
    return {
        "id": message.id,
        "state": "running" if is_running else _state(message, outbox),
        "kind": message.kind,
        "agent": message.agent,
        "gateways": [message.gateway, *message.fallbacks],
        "session": message.session,
        "session_id": message.session_id,
        "tool_use_id": message.tool_use_id,
        "subject": message.subject,
        "created_at": message.created_at,
        "age_seconds": _since(message.created_at),
        "attempts": message.attempts,
        "last_attempt_at": message.last_attempt_at,
        "next_attempt_at": None if given_up else message.next_attempt_at or message.not_before,
        "running_since": message.last_attempt_at if is_running else None,
        "last_error": None if is_running else message.last_error,
        "while_open": None if message.while_open is None else message.while_open.as_json(),
        "once_over": None if message.once_over is None else message.once_over.as_json(),
        "given_up_at": given_up.at if given_up else None,
    }


def _state(message: QueuedMessage, outbox: Outbox) -> str:
    if message.given_up is not None:
        return "given up"
    if outbox.is_held(message):
        return "paused"
    if not outbox.tries.is_over(message):
        return "waits"
    due = seconds(message.next_attempt_at or message.not_before)
    return "waits" if due is not None and due > now() else "due"


def _lines(entry: dict[str, Any]) -> list[str]:
    age = entry["age_seconds"]
    facts = [entry["state"], f"{entry['kind']} for agent {entry['agent']}"]
    facts.append(f"session {entry['session']}" if entry["session"] else "")
    facts += [f"via {' then '.join(map(str, entry['gateways']))}", "" if age is None else f"{duration(age)} old"]
    lines = [f"{entry['id']}  {', '.join(filter(None, facts))}"]
    due = seconds(entry["next_attempt_at"])
    attempts = entry["attempts"]
    tries = "tried once" if attempts == 1 else f"tried {attempts} times"
    if not attempts:
        tries = "its gateway could not be asked yet" if entry["last_error"] else "not tried yet"
    if entry["running_since"] is not None:
        tries += f", now being delivered since {local(entry['running_since'])}"
    if entry["state"] == "waits" and due is not None:
        tries += f", next in {duration(due - now())}"
    lines.append(f"  {tries}")
    if entry["while_open"] is not None:
        lines.append("  goes out only while what it is about is open")
    if entry["once_over"] is not None:
        lines.append("  goes out when what it is about is over, to withdraw or edit an earlier message")
    if entry["last_error"]:
        lines.append(f"  why: {entry['last_error']}")
    return [printable(line) for line in lines]


def _since(text: object) -> float | None:
    then = seconds(text)
    return None if then is None else round(max(0.0, now() - then), 1)
