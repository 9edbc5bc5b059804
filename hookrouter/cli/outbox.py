"""``hookrouter outbox list|show|retry|drop``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.clock import now, seconds
from hookrouter.names import printable
from hookrouter.outbox import push, spawn_delivery
from hookrouter.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["app", "drop", "list_messages", "retry", "show"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show the messages that wait for delivery; retry or drop them.",
)

_Id = Annotated[str, typer.Argument(metavar="ID", help="The message's id, as the list shows it.")]
_SomeId = Annotated[str | None, typer.Argument(metavar="[ID]", help="The message's id, as the list shows it.")]


@app.command("list")
def list_messages(as_json: Json = False) -> None:
    """List the messages that are not delivered yet, oldest first, and why.

    A message is due, waits for its next attempt or its time (a reminder), waits while its session is paused, or was
    given up; then it stays until it is retried or dropped, or its gateway's table in config.toml changes.

    With --json: a list with id, state, kind, agent, gateways, session, subject, attempts, last_error and times.

    \b
    Examples:
      hookrouter outbox list
      hookrouter outbox list --json | jq -r '.[] | select(.state == "given up") | .id'

    \b
    Exit codes:
      0  listed, also where there is none
      2  wrong arguments, or the outbox cannot be read
    """
    services = Application.from_environ()
    push(services.environ, services.home)
    outbox = services.outbox
    entries = _guarded(lambda: [_entry(message, held=outbox.is_held(message)) for message in outbox.pending()])
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
    entry = _entry(message, held=_guarded(partial(services.outbox.is_held, message)))
    if as_json:
        echo_json({**entry, "text": message.get("text")})
        return
    for line in _lines(entry):
        typer.echo(line)
    typer.echo(f"  created: {printable(str(message.get('created_at')))}")
    typer.echo(f"  tool call: {printable(str(message.get('tool_use_id')))}")
    typer.echo(f"\n{printable(str(message.get('text')), keep_newlines=True)}".rstrip())


@app.command("retry")
def retry(
    name: _SomeId = None,
    every: Annotated[bool, typer.Option("--all", help="All that failed or were given up.")] = False,
    as_json: Json = False,
) -> None:
    """Have a message tried again now, and again for as long as a new one.

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
    names = _chosen(
        name, every, lambda: [message["id"] for message in outbox.pending() if not outbox.is_early(message)]
    )
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


def _guarded(work: Callable[[], Any]) -> Any:
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


def _entry(message: dict[str, Any], *, held: bool) -> dict[str, Any]:
    """Return what a program reads about one message; ``held``: its session is paused."""
    given_up = message["given_up"]
    return {
        "id": message["id"],
        "state": _state(message, held=held),
        "kind": message.get("kind"),
        "agent": message.get("agent"),
        "gateways": [message.get("gateway"), *message["fallbacks"]],
        "session": message.get("session"),
        "session_id": message.get("session_id"),
        "tool_use_id": message.get("tool_use_id"),
        "subject": message.get("subject"),
        "created_at": message.get("created_at"),
        "age_seconds": _since(message.get("created_at")),
        "attempts": message["attempts"],
        "last_attempt_at": message["last_attempt_at"],
        "next_attempt_at": None if given_up else message["next_attempt_at"] or message["not_before"],
        "last_error": message["last_error"],
        "while_open": message["while_open"],
        "given_up_at": given_up.get("at") if given_up else None,
    }


def _state(message: dict[str, Any], *, held: bool) -> str:
    if message["given_up"] is not None:
        return "given up"
    if held:
        return "paused"
    due = seconds(message["next_attempt_at"] or message["not_before"])
    return "waits" if due is not None and due > now() else "due"


def _lines(entry: dict[str, Any]) -> list[str]:
    age = entry["age_seconds"]
    facts = [entry["state"], f"{entry['kind']} for agent {entry['agent']}", f"session {entry['session']}"]
    facts += [f"via {' then '.join(map(str, entry['gateways']))}", "" if age is None else f"{_duration(age)} old"]
    lines = [f"{entry['id']}  {', '.join(filter(None, facts))}"]
    due = seconds(entry["next_attempt_at"])
    attempts = entry["attempts"]
    tries = "not tried yet" if not attempts else "tried once" if attempts == 1 else f"tried {attempts} times"
    if entry["state"] == "waits" and due is not None:
        tries += f", next in {_duration(due - now())}"
    lines.append(f"  {tries}")
    if entry["while_open"] is not None:
        lines.append("  goes out only while what it is about is open")
    if entry["last_error"]:
        lines.append(f"  why: {entry['last_error']}")
    return [printable(line) for line in lines]


def _since(text: object) -> float | None:
    then = seconds(text)
    return None if then is None else round(max(0.0, now() - then), 1)


def _duration(amount: float) -> str:
    if amount < 120:
        return f"{amount:.0f} s"
    return f"{amount / 60:.0f} min" if amount < 7200 else f"{amount / 3600:.1f} h"
