"""``hookrouter plugins list``."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from hookrouter.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.doctor import remedy
from hookrouter.hooks import event_record
from hookrouter.inspect_plugins import spec_names
from hookrouter.names import printable

__all__ = ["app", "list_plugins"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show the installed plugins.",
)


@app.callback()
def _group() -> None:
    # Makes `list` a subcommand although it is the only one.
    pass


@app.command("list")
def list_plugins(
    hook: Annotated[
        str | None,
        typer.Option("--hook", metavar="NAME", help="Only plugins that implement this hook, for example stop."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the installed plugins in the order in which they are called.

    A plugin is active, disabled (in config.toml) or broken (it cannot be imported, its hooks do not fit the specs, or
    config.toml sets it to fail closed and it is not installed); the reason is shown, and what to do. A hint names
    functions that look like a hook and are none.
    """
    wanted = None if hook is None else _known_hook(hook)
    app = Application.from_environ()
    infos = [info for info in app.plugins.listing() if wanted is None or wanted in info.hooks]
    if as_json:
        echo_json(
            [
                {
                    "name": info.name,
                    "status": info.status,
                    "reason": info.reason,
                    "fix": remedy(info, app.home),
                    "distribution": info.distribution,
                    "version": info.version,
                    "entry_point": info.value,
                    "hooks": list(info.hooks),
                    "hints": list(info.hints),
                }
                for info in infos
            ]
        )
        return
    if not infos:
        typer.echo("no plugin is installed" if hook is None else f"no plugin implements {printable(hook)}")
    for info in infos:
        typer.echo(f"{info.name}  {info.status}  {info.distribution} {info.version}".rstrip())
        hints = [("hint", hint) for hint in info.hints]
        for label, text in [("why", info.reason), ("fix", remedy(info, app.home)), *hints]:
            if text:
                typer.echo(f"  {label}: {printable(text)}")
        typer.echo(f"  hooks: {', '.join(info.hooks) or ('none' if info.hooks_known else 'not known')}")


def _known_hook(name: str) -> str:
    """Return the hook of this name, in which dashes stand for underscores too. Raises CommandError for any other."""
    known = spec_names()
    hook = name.replace("-", "_")
    if hook in known:
        return hook
    record = event_record(name)
    close = [record.hook] if record is not None else get_close_matches(hook.lower(), sorted(known), n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "; hook names look like stop or pre_tool_use_bash"
    raise CommandError(f"there is no hook {name!r}{hint}")
