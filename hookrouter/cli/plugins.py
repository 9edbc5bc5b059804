"""``hookrouter plugins``: list, info, enable, disable, order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter._config.edit import ConfigEditError, change
from hookrouter._config.validation import hide
from hookrouter._contract.hook_names import event_facts
from hookrouter._diagnostics.checks.settings import stale_registrations
from hookrouter._diagnostics.checks.system import working_folder
from hookrouter._diagnostics.configuration import FROM_FILE, ConfigError, read_lines
from hookrouter._inspection.inspector import spec_names
from hookrouter._isolation import circuit_breaker
from hookrouter._plugins.project import is_project_plugin
from hookrouter._plugins.registry import NOT_INSTALLED, PluginStatus, remedy
from hookrouter._plugins.scan import look_into
from hookrouter.cli.application import Application
from hookrouter.cli.completion import hook_names, plugin_names
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.plugin_files import add, remove
from hookrouter.cli.plugin_packages import install, uninstall
from hookrouter.cli.plugin_search import search
from hookrouter.cli.plugins_new import new
from hookrouter.config import LAST, NO_PLUGINS, ORDER
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import iso
from hookrouter.util.text import did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter._isolation.circuit_breaker import Health
    from hookrouter._plugins.registry import PluginInfo

__all__ = ["app", "disable", "enable", "info", "list_plugins", "order"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show the installed plugins, switch them on and off, and set the order in which they are called.",
)

_Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The plugin, as `hookrouter plugins list` names it.", autocompletion=plugin_names
    ),
]


@app.command("list")
def list_plugins(
    hook: Annotated[
        str | None,
        typer.Option(
            "--hook",
            metavar="NAME",
            help="Only plugins that implement this hook, for example stop.",
            autocompletion=hook_names,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the installed plugins in the order in which they are called.

    A plugin is active, disabled (in config.toml) or broken (it cannot be imported, its hooks do not fit the specs, its
    settings are wrong and it is set to fail closed or cannot do without them, or config.toml sets it to fail closed
    and it is not installed); the reason is shown, and what to do. One that failed again and again is switched off for
    a while. A hint names functions that look like a hook and are none.

    \b
    Examples:
      hookrouter plugins list
      hookrouter plugins list --hook pre_tool_use_bash
      hookrouter plugins list --json | jq -r '.[] | select(.status == "broken") | .name'

    \b
    Exit codes:
      0  listed, even if there is none
      2  there is no such hook
    """
    wanted = None if hook is None else _known_hook(hook)
    services = Application.from_environ(scan=True, share=False, project=working_folder())
    infos = [info for info in services.plugins.listing() if wanted is None or wanted in info.hooks]
    health = _switched_off(services)
    if as_json:
        echo_json([_summary(services, info, health.get(info.name)) for info in infos])
        return
    if not infos:
        typer.echo("no plugin is installed" if hook is None else f"no plugin implements {printable(hook)}")
    for info in infos:
        _tell_head(_summary(services, info, health.get(info.name)))
        typer.echo(f"  hooks: {', '.join(info.hooks) or ('none' if info.hooks_known else 'not known')}")


def _summary(services: Application, info: PluginInfo, health: Health | None) -> dict[str, Any]:
    return {
        "name": info.name,
        "status": info.status,
        "reason": info.reason,
        "fix": remedy(info, services.home),
        "distribution": info.distribution,
        "version": info.version,
        "entry_point": info.value,
        "hooks": list(info.hooks),
        "stateless": [hook for hook in info.hooks if hook in info.stateless],
        "switched_off": None
        if health is None
        else {
            "failures": health.failures,
            "error": health.error,
            "until": iso(health.until),
            "text": health.describe(info.name),
        },
        "trouble": known.trouble() if (known := _health(services).get(info.name)) is not None else [],
        "problems": list(info.problems),
        "hints": list(info.hints),
    }


def _switched_off(services: Application) -> dict[str, Health]:
    """Return what the circuit breaker keeps from being called."""
    return circuit_breaker.open_circuits(_health(services), services.config)


def _health(services: Application) -> dict[str, Health]:
    return circuit_breaker.of_run(circuit_breaker.read(services.home), services.config)


def _tell_head(summary: Mapping[str, Any]) -> None:
    installed = f"{summary['distribution']} {summary['version']}".strip() or summary["entry_point"]
    typer.echo(printable(f"{summary['name']}  {summary['status']}  {installed}".rstrip()))
    off = summary["switched_off"]
    lines = [("why", summary["reason"]), ("fix", summary["fix"]), ("switched off", off["text"] if off else "")]
    lines += [("trouble", text) for text in summary["trouble"]]
    if not summary["reason"]:
        lines += [("settings are wrong, the defaults hold", text) for text in summary["problems"]]
    for label, text in [*lines, *(("hint", hint) for hint in summary["hints"])]:
        if text:
            typer.echo(f"  {label}: {printable(text)}")


@app.command("info")
def info(name: _Name, as_json: Json = False) -> None:
    """Show everything about one plugin.

    Where it comes from, its hooks, what it contributes, its settings, and what is wrong with it. The plugin is imported
    for it, in a process of its own. A hook is shown with what changes when it is called:
    tryfirst and trylast, wrapper, the seconds that it may wait. A setting is shown with its type, its value, and the
    line of config.toml that sets it.

    With --json: name, status, reason, fix, distribution, version, entry_point, position (from 1, in the calling order),
    enabled, on_error, timeout, timeout_from (config.toml, plugin, default), breaker, switched_off, hooks (name,
    options, waits, setting), stateless (the hooks in which it leaves nothing in its process), contributions (hook,
    names, error, and the keys of a gateway's table), settings_class, settings (key, type, required, default, value,
    source, line, help), problems, hints.

    \b
    Examples:
      hookrouter plugins info hook-reply
      hookrouter plugins info hook-reply --json | jq .settings

    \b
    Exit codes:
      0  shown
      1  shown, and the plugin is broken, switched off or its settings are wrong
      2  there is no such plugin
    """
    services = Application.from_environ(scan=True, share=False, project=working_folder())
    _known_plugin(services, name)
    listing = services.plugins.listing()
    place, found = next(((at, one) for at, one in enumerate(listing, 1) if one.name == name), (0, None))
    if found is None:
        raise CommandError(
            f"the plugin {name!r} is not installed; only [plugins.{name}] in {services.home.config_file} names it"
        )
    described = _described(services, found, place)
    if as_json:
        echo_json(described)
    else:
        _tell(described, len(listing))
    if found.status == PluginStatus.BROKEN or described["switched_off"] or described["problems"]:
        raise typer.Exit(1)


def _described(services: Application, plugin: PluginInfo, place: int) -> dict[str, Any]:
    entry = services.config.plugin(plugin.name)
    look: dict[str, Any] = {"hooks": None, "waits": {}, "called": {}, "contributions": [], "settings": None}
    is_closed = plugin.status == PluginStatus.BROKEN and is_project_plugin(plugin.distribution)
    if plugin.reason != NOT_INSTALLED and not is_closed:
        look = look_into(plugin.name, plugin.value, entry.settings)
    own = look["settings"]
    hooks = look["hooks"] if look["hooks"] is not None else plugin.hooks
    summary = _summary(services, plugin, _switched_off(services).get(plugin.name))
    return {
        **summary,
        "position": place,
        "enabled": plugin.status != PluginStatus.DISABLED,
        "on_error": entry.on_error,
        "timeout": plugin.timeout,
        "timeout_from": plugin.timeout_from,
        "breaker": entry.breaker,
        "hooks": [
            {
                "name": hook,
                "options": look["called"].get(hook, []),
                "waits": look["waits"].get(hook, (None, None))[0],
                "setting": look["waits"].get(hook, (None, None))[1],
            }
            for hook in hooks
        ],
        "contributions": look["contributions"],
        "settings_class": None if own is None else own["target"],
        "settings": _settings(services, plugin.name, plugin.settings_key, own),
        "problems": [f"{problem[0]}: {problem[1]}" for problem in ([] if own is None else own["problems"])],
    }


def _settings(services: Application, name: str, where: str, own: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the settings of a plugin; of one that declares none, what its table holds."""
    table = services.config.plugin(name).settings
    try:
        lines = read_lines(services.home.config_file)[1]
    except ConfigError:
        lines = {}
    if own is None:
        fields: Sequence[Sequence[Any]] = [(key, "anything", False, None, "") for key in table]
        values: Mapping[str, Any] = table
    else:
        fields, values = own["fields"], own["values"] or {}
    return [
        {
            "key": key,
            "type": kind,
            "required": required,
            "default": hide(key, default),
            "value": hide(key, values.get(key)),
            "source": FROM_FILE if key in table and not (own and own["problems"]) else "default",
            "line": lines.get(f"{where}.{key}"),
            "help": text,
        }
        for key, kind, required, default, text in fields
    ]


def _tell(described: Mapping[str, Any], count: int) -> None:
    _tell_head(described)
    typer.echo(f"  entry point: {printable(described['entry_point'])}")
    limit = f"{described['timeout']:g} s at most ({described['timeout_from']})"
    typer.echo(f"  called: {described['position']}. of {count}, {limit}")
    typer.echo(f"  on error: {described['on_error']}")
    typer.echo(f"  hooks:{'' if described['hooks'] else ' none'}")
    for hook in described["hooks"]:
        notes = list(hook["options"])
        if hook["waits"] is not None:
            notes.append(f"may wait {hook['waits']:g} s")
        if hook["setting"] is not None:
            notes.append(f"only with {hook['setting']} = true")
        typer.echo(printable(f"    {hook['name']}" + (f" ({', '.join(notes)})" if notes else "")))
    for row in described["contributions"]:
        said = f"failed: {row['error']}" if row["error"] else ", ".join(row["names"]) or "nothing"
        typer.echo(f"  contributes {row['hook']}: {printable(said)}")
        for key in row["keys"]:
            default = "required" if key["required"] else json.dumps(key["default"], ensure_ascii=False)
            typer.echo(printable(f"    {key['key']} = {default}  [{key['type']}; in [gateways.NAME]]"))
            if key["help"]:
                typer.echo(f"      {printable(key['help'])}")
    if described["settings"]:
        declared = f" ({described['settings_class']})" if described["settings_class"] else ""
        typer.echo(f"  settings{printable(declared)}:")
    for row in described["settings"]:
        where = f"{row['source']}:{row['line']}" if row["source"] == FROM_FILE and row["line"] else row["source"]
        value = "required" if row["required"] and row["value"] is None else json.dumps(row["value"], ensure_ascii=False)
        typer.echo(printable(f"    {row['key']} = {value}  [{row['type']}; {where}]"))
        if row["help"]:
            typer.echo(f"      {printable(row['help'])}")
    if described["reason"]:
        for text in described["problems"]:
            typer.echo(f"  problem: {printable(text)}")


@app.command("enable")
def enable(name: _Name, as_json: Json = False) -> None:
    """Call a plugin again.

    Sets enabled = true in config.toml, if it is false. One that was switched off because it failed again and again
    is called again from now on. The rest of config.toml stays as it is, comments too.

    What was remembered of its failures (`trouble` in `hookrouter plugins list`) is forgotten.

    With --json: name, enabled, changed, config (the file), reset (whether it had been switched off), forgotten (whether
    failures were remembered), status, reason, and run (the commands to run now).

    \b
    Examples:
      hookrouter plugins enable bash-guard
      hookrouter plugins enable bash-guard --json

    \b
    Exit codes:
      0  it is enabled
      1  it is enabled, and broken
      2  there is no such plugin, or config.toml cannot be changed
    """
    _switch(name, enabled=True, as_json=as_json)


@app.command("disable")
def disable(name: _Name, as_json: Json = False) -> None:
    """Stop calling a plugin.

    Sets enabled = false in its table in config.toml. The rest of config.toml stays as it is, comments too. A plugin
    that is set to fail closed guards nothing from then on.

    With --json: as for `hookrouter plugins enable`.

    \b
    Examples:
      hookrouter plugins disable bash-guard
      hookrouter plugins disable bash-guard --json

    \b
    Exit codes:
      0  it is disabled
      2  there is no such plugin, or config.toml cannot be changed
    """
    _switch(name, enabled=False, as_json=as_json)


def _switch(name: str, *, enabled: bool, as_json: bool) -> None:
    services = Application.from_environ(share=False, project=working_folder())
    _known_plugin(services, name)
    if name in NO_PLUGINS:
        raise CommandError(f"{name!r} is a key of [plugins] in config.toml, so no plugin can have that name")
    config = services.config
    changed = bool(config.problems) or _is_enabled(services, name) != enabled
    if changed:
        changed = _change(services, ("plugins", name, "enabled"), enabled)
    forgotten, reset = _reset(services, name) if enabled else (False, False)
    services = Application.from_environ(share=False, project=working_folder())
    status, reason, fix = "not installed", "", ""
    for found in services.plugins.listing():
        if found.name == name:
            status, reason, fix = found.status, found.reason, remedy(found, services.home)
    run = stale_registrations(services)
    if as_json:
        echo_json(
            {
                "name": name,
                "enabled": enabled,
                "changed": changed,
                "config": services.home.config_file,
                "reset": reset,
                "forgotten": forgotten,
                "status": status,
                "reason": reason,
                "run": run,
            }
        )
    else:
        word = "enabled" if enabled else "disabled"
        typer.echo(f"{printable(name)}: {word} in {services.home.config_file}" if changed else f"{name}: was {word}")
        if forgotten:
            typer.echo(f"  what it had failed at is forgotten{'; it is called again' if reset else ''}")
        for label, text in (("why", reason), ("fix", fix)):
            if text and status == PluginStatus.BROKEN:
                typer.echo(f"  {label}: {printable(text)}")
        _tell_commands(run)
    if enabled and status == PluginStatus.BROKEN:
        raise typer.Exit(1)


@app.command("order")
def order(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="The plugins that are called first, in this order; with --last those that are called last.",
            autocompletion=plugin_names,
        ),
    ] = None,
    last: Annotated[
        bool,
        typer.Option("--last", help="Set, or with --clear forget, which plugins are called last instead of first."),
    ] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Call all plugins by name again.")] = False,
    as_json: Json = False,
) -> None:
    """Show or set the calling order.

    What is set is [plugins] order in config.toml, the plugins that are called first, or with --last [plugins] last,
    the plugins that are called last. Those that neither names come between the two, by name. Within one hook, tryfirst
    and trylast of an implementation count before this order, and wrappers enclose all others. Each plugin sees a
    tool's input as the ones before it have rewritten it: a guard that must see what a tool really gets is called last.

    With --json: order and last (as config.toml has them), plugins (all, in calling order), changed, and config (the
    file).

    \b
    Examples:
      hookrouter plugins order
      hookrouter plugins order rewriter formatter
      hookrouter plugins order --last bash-guard
      hookrouter plugins order --clear

    \b
    Exit codes:
      0  shown or set
      2  there is no such plugin, one is named twice, or config.toml cannot be changed
    """
    services = Application.from_environ(share=False, project=working_folder())
    changed = False
    if names and clear:
        raise CommandError("--clear takes no names")
    for name in names or ():
        _known_plugin(services, name)
        if names and names.count(name) > 1:
            raise CommandError(f"{name!r} is named twice; name each plugin once")
    if names or clear:
        key, former = (LAST, services.config.plugin_last) if last else (ORDER, services.config.plugin_order)
        if list(former) != (names or []) or services.config.problems:
            changed = _change(services, ("plugins", key), names or [])
        services = Application.from_environ(share=False, project=working_folder())
    first, ending = list(services.config.plugin_order), list(services.config.plugin_last)
    wanted = [*first, *ending]
    plugins = [found.name for found in services.plugins.listing()]
    if as_json:
        echo_json(
            {
                "order": first,
                "last": ending,
                "plugins": plugins,
                "changed": changed,
                "config": services.home.config_file,
            }
        )
        return
    for place, name in enumerate(plugins, 1):
        typer.echo(f"{place:>3}  {printable(name)}{'  (config.toml)' if name in wanted else ''}")
    for name in wanted:
        if name not in plugins:
            typer.echo(f"     {printable(name)}: in config.toml, but not installed")


def _change(services: Application, path: tuple[str, ...], value: bool | list[str]) -> bool:
    try:
        return change(services.home, path, value, services.plugins.tables).changed
    except ConfigEditError as error:
        raise CommandError(str(error)) from None


def _is_enabled(services: Application, name: str) -> bool:
    """Whether config.toml leaves a plugin on; one that is not installed, too."""
    found = next((info for info in services.plugins.listing() if info.name == name), None)
    return services.config.plugin(name).enabled if found is None else found.status != PluginStatus.DISABLED


def _reset(services: Application, name: str) -> tuple[bool, bool]:
    """Forget what a plugin has failed at; return whether there was anything, and whether it had been switched off."""
    off = circuit_breaker.open_circuits(circuit_breaker.read(services.home), services.config)
    was_off = any(circuit_breaker.bare(one) == name for one in off)
    try:
        return circuit_breaker.reset(services.home, name), was_off
    except StoreError as error:
        raise CommandError(str(error)) from None


def _tell_commands(commands: Sequence[str]) -> None:
    for command in commands:
        typer.echo(f"  run now, so that Claude Code knows: {printable(command)}")


def _known_plugin(services: Application, name: str) -> None:
    """Raise CommandError if no plugin of this name is installed or has a table in config.toml."""
    names = {*services.config.plugins, *(found.name for found in services.plugins.listing())}
    if name not in names:
        hint = did_you_mean(name, sorted(names), "`hookrouter plugins list` names them")
        raise CommandError(f"there is no plugin {name!r}; {hint}")


def _known_hook(name: str) -> str:
    """Return the hook of this name, in which dashes stand for underscores too. Raises CommandError for any other."""
    known = spec_names()
    hook = name.replace("-", "_")
    if hook in known:
        return hook
    record = event_facts(name)
    meant = hook.lower() if record is None else record.hook
    hint = did_you_mean(meant, sorted(known), "hook names look like stop or pre_tool_use_bash")
    raise CommandError(f"there is no hook {name!r}; {hint}")


app.command("new")(new)
app.command("add")(add)
app.command("remove")(remove)
app.command("install")(install)
app.command("uninstall")(uninstall)
app.command("search")(search)
