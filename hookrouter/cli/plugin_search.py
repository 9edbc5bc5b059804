"""``hookrouter plugins search``: the directory of plugins, as it is packaged."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any

import typer
from packaging.utils import canonicalize_name

from hookrouter._plugins.files import is_file
from hookrouter.cli.application import Application
from hookrouter.cli.options import Json, echo_json
from hookrouter.util.text import printable

__all__ = ["search"]


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help="Words of its name, what it does, or its hooks; none for all."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Search the directory of plugins that is packaged with hookrouter, without a network.

    A plugin is found if each word is part of its name, its kind, what it does or a hook of it; capitals do not count.
    It tells what is installed. The manual has the same list (Directory of plugins).

    With --json: a list of name, kind, summary, hooks, source (a path in hookrouter's repository, or an address) and
    installed.

    \b
    Examples:
      hookrouter plugins search guard
      hookrouter plugins search stop tests
      hookrouter plugins search --json | jq -r '.[].name'

    \b
    Exit codes:
      0  found
      1  there is none
    """
    listed = json.loads(files("hookrouter._setup").joinpath("directory.json").read_text(encoding="utf-8"))
    wanted = [word.casefold() for word in words or ()]
    found = [one for one in listed if all(word in _text(one) for word in wanted)]
    index = Application.from_environ(share=False).plugins.index
    there = {one.name if is_file(one.value) else canonicalize_name(one.distribution) for one in index}
    for one in found:
        one["installed"] = one["name"] in there
    if as_json:
        echo_json(found)
    else:
        _tell(found, words or ())
    if not found:
        raise typer.Exit(1)


def _text(one: dict[str, Any]) -> str:
    """Return all in which words are searched."""
    return "\n".join([one["name"], one["kind"], one["summary"], *one["hooks"]]).casefold()


def _tell(found: list[dict[str, Any]], words: list[str] | tuple[str, ...]) -> None:
    if not found:
        typer.echo(printable(f"no plugin of the directory is about {' '.join(words)}"))
    kind = ""
    for one in found:
        if one["kind"] != kind:
            kind = one["kind"]
            typer.echo(f"{kind}:")
        typer.echo(f"  {one['name']}{'  (installed)' if one['installed'] else ''}: {one['summary']}")
        typer.echo(f"    hooks: {', '.join(one['hooks'])}")
        typer.echo(f"    from: {one['source']}")
