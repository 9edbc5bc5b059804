"""Packages that listen to hooks: guards, which refuse calls of a tool, and plugins that note what they see."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, NamedTuple

import hookrouter.tools
from hookrouter._contract.document import snake
from hookrouter._contract.hook_names import RAW_HOOK, event_facts
from hookrouter._contract.tables import EVENTS, TOOLS
from hookrouter.cli.scaffold.errors import ScaffoldError
from hookrouter.cli.scaffold.parts import PARTS
from hookrouter.cli.scaffold.source import fill, import_line, quoted, wrapped
from hookrouter.hookspecs import PreToolUseSpecs, all_spec_classes
from hookrouter.markers import PROJECT_NAME
from hookrouter.records import CommandInput, FileInput, ToolInput
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DEFAULT_HOOK", "chosen_hooks", "hook_files"]

DEFAULT_HOOK = "pre_tool_use_bash"
"""What a new plugin implements, if nothing else is asked for."""

_MCP_HOOK = "pre_tool_use_mcp"

_IN_A_TURN = ("pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "stop", RAW_HOOK)
"""The hooks that a turn with one Bash command calls, tools' own aside."""


_WRITERS = ("write", "edit", "notebook_edit")
"""The file tools whose guards look at what they write."""
_COMMANDS = ("git push -f*", "git push -[!-]*f*", "git push --force*", "git push +*")
_FORCED = ("git push '--for''ce'", "git -C x push -uf", "sh -c 'cd x;git push +main'")


class _Guard(NamedTuple):
    """What a guard of one tool looks at."""

    field: str
    """The field of the tool's input; of an MCP server's tool, which has none that is known, empty."""
    tool_input: type[ToolInput]

    @property
    def is_path(self) -> bool:
        return issubclass(self.tool_input, FileInput)

    @property
    def is_search(self) -> bool:
        """Whether a call goes through the folder that it names, or without a name through the session's."""
        return self.field == "path"

    @property
    def template(self) -> str:
        """The method that looks at it."""
        if self.is_path:
            return "path_guard"
        if not self.field:
            return "mcp_guard"
        return "command_guard" if issubclass(self.tool_input, CommandInput) else "guard"

    @property
    def key(self) -> str:
        """The key of the settings that holds what is refused."""
        return "protect" if self.is_path else "refuse" if self.field else "tools"

    @property
    def rules(self) -> tuple[str, ...]:
        """What is refused by default."""
        if self.key != "refuse":
            return ("~/.ssh",) if self.is_path else ("*/delete_*",)
        return _COMMANDS if self.field == "command" else ("*secret*",)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths that are refused: a search from above comes to what is protected, too."""
        return ("~/.ssh/config", "~/notes/../.ssh/config", "~/link/config", *(("~", "/") if self.is_search else ()))

    @property
    def refused(self) -> tuple[str, ...]:
        """Texts that the rules refuse."""
        return _FORCED if self.field == "command" else ("secret", "the secret word")


def chosen_hooks(events: Sequence[str], *, fail_closed: bool) -> tuple[str, ...]:
    """Return the hooks that ``--event`` names. Raises ScaffoldError."""
    specs = _specs()
    hooks = tuple(dict.fromkeys(_hook(event, specs) for event in events)) or (DEFAULT_HOOK,)
    if fail_closed and not any(_guards(hook) for hook in hooks):
        known = [hook for hook in vars(PreToolUseSpecs) if _guards(hook)]
        raise ScaffoldError(
            f"--fail-closed: no guard can be written for {', '.join(hooks)}; allowed is the hook before a tool whose "
            f"input has a path or a text to look at, or before the tools of MCP servers: {', '.join(known)}"
        )
    return hooks


def hook_files(
    hooks: Sequence[str], words: Mapping[str, str], *, fail_closed: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of a package that are its own, and what its README says, by the words of the template."""
    module, specs = words["module"], _specs()
    words = {**words, "hook": hooks[0], "call": _call(hooks[0])}
    guards = {
        hook: guard for hook in hooks if (fail_closed or hook == DEFAULT_HOOK) and (guard := _guards(hook)) is not None
    }
    notes = len(guards) < len(hooks)
    # Beside a guard of paths, one of commands looks at the paths of the line, too.
    sees_paths = any(guard.is_path for guard in guards.values()) and DEFAULT_HOOK in guards
    defaults = _defaults(guards, notes=notes)
    about = _sentences(guards, notes=notes)
    live = _live_test(words, hooks)
    methods, tests = [], []
    for hook in hooks:
        signature = _signature(hook, specs[hook][1])
        each = {**words, "hook": hook, "call": _call(hook)}
        kind, names = "note", ["test_note"]
        if hook in guards:
            kind, names = guards[hook].template, _tests(guards[hook], sees_paths=sees_paths)
            each = _guard_words(hook, guards[hook], each, sees_paths=sees_paths)
        methods.append(fill(f"hook/{kind}", each, signature=signature))
        tests += [fill(f"hook/{name}", each) for name in names]
    files = {
        f"src/{module}/__init__.py": fill(
            "hook/plugin.py",
            words,
            about=_docstring(about),
            methods="\n".join(methods),
            **_heads(hooks, specs, words["class_name"], guards, sees_paths=sees_paths),
        ),
        f"src/{module}/settings.py": fill("hook/settings.py", words, fields="\n".join(_fields(defaults))),
        f"src/{module}/py.typed": "",
        f"tests/test_{words['module_name']}.py": fill(
            "hook/test_plugin.py",
            words,
            tests="\n\n".join(tests).rstrip("\n"),
            key=next(iter(defaults)),
            imports=_test_imports(guards),
        ),
    }
    if live:
        files["tests/test_live.py"] = fill("hook/test_live.py", words, test=live)
    closed = _ON_ERROR.format(plugin=words["plugin"]) if guards else ""
    keys = [f"{key} = {_toml(value)}" for key, value in defaults.items()]
    settings = "\n".join([f"[plugins.{words['plugin']}.settings]", *keys])
    readme = {
        "about": " ".join(about).replace("``", "`"),
        "use": f"hookrouter install          # registers the hooks that it needs with Claude Code\n"
        f"hookrouter plugins info {words['plugin']}",
        "configuration": fill("hook/README.md", words, settings_example=closed + settings),
        "tests": f"`tests/test_{words['module_name']}.py` fires events at the plugin, in the test's process and "
        f"through the real `hookrouter run`.{_LIVE_README if live else ''}",
    }
    return files, readme


def _guard_words(hook: str, guard: _Guard, words: Mapping[str, str], *, sees_paths: bool) -> dict[str, str]:
    """Return the words of the templates of one guard."""
    short = hook.removeprefix("pre_tool_use_")
    words = {
        **words,
        "field": guard.field,
        "tool": _tool(hook),
        "refused": quoted(guard.refused),
        "word": "push" if guard.rules == _COMMANDS else "secret",
        "short": short,
        "label": guard.field.replace("_", " "),
        "key": guard.key,
        "method": "writes" if short in _WRITERS else "reads",
        "paths": quoted(guard.paths),
        "met": "in (path, protected)" if guard.is_search else "== protected",
        # A search without a path goes through the session's folder.
        "missing": "" if guard.is_search else "None, ",
    }
    is_seen = sees_paths and guard.template == "command_guard"
    return {**words, "seen": fill("hook/seen_paths", words) if is_seen else ""}


def _tests(guard: _Guard, *, sees_paths: bool) -> list[str]:
    """Return the names of the templates of a guard's tests."""
    if guard.template == "mcp_guard":
        return ["test_mcp_guard", "test_closed"]
    seen = ["test_seen_paths"] if sees_paths and guard.template == "command_guard" else []
    return ["payload", f"test_{guard.template.removeprefix('command_')}", *seen, "test_unreadable", "test_closed"]


_HELP = {
    "refuse": "words to refuse, in this order",
    "protect": "folders that are for people",
    "tools": "globs on server/tool to refuse",
    "note": "what the journal record gets",
}
_DOES = {
    "refuse": "Refuses calls that hold the words of one of the rules in ``refuse``.",
    "protect": "Lets nothing be touched in the folders in ``protect``.",
    "tools": "Refuses the tools of MCP servers that one of the globs in ``tools`` names.",
}
_ON_ERROR = """\
[plugins]
last = ["{plugin}"]          # after plugins that rewrite the input, so that it sees what is done

[plugins.{plugin}]
on_error = "closed"   # refuses if it breaks; run `hookrouter install` again

"""
_LIVE_README = """
`tests/test_live.py` has the real Claude Code call it, if `claude` and `tmux` are on PATH; no account is needed."""


def _guards(hook: str) -> _Guard | None:
    """Return what a guard in this hook looks at: a path, or the first text that the tool always gets; None without.

    Of the tools of MCP servers it is their names.
    """
    spec = vars(PreToolUseSpecs).get(hook)
    if spec is None or not hasattr(spec, f"{PROJECT_NAME}_spec"):
        return None
    parameter = inspect.signature(spec).parameters.get("tool_input")
    record = getattr(hookrouter.tools, str(parameter.annotation), None) if parameter else None
    fields = record.FIELDS if record else {}
    if hook == _MCP_HOOK:
        return _Guard("", ToolInput)
    texts = [name for name, field in fields.items() if field.required and field.kind == "string"]
    if record and issubclass(record, FileInput):
        texts = [name for name in fields if name == "path" or name.endswith("_path")]
    return next((_Guard(name, record) for name in texts if record and name != "description"), None)


def _defaults(guards: Mapping[str, _Guard], *, notes: bool) -> dict[str, tuple[str, ...] | str]:
    """Return the keys of the settings, with their defaults."""
    found: dict[str, tuple[str, ...] | str] = {}
    for key in ("refuse", "protect", "tools"):
        rules = tuple(dict.fromkeys(rule for guard in guards.values() if guard.key == key for rule in guard.rules))
        if rules:
            found[key] = rules
    return {**found, **({"note": "was called"} if notes else {})}


def _fields(defaults: Mapping[str, tuple[str, ...] | str]) -> list[str]:
    made = []
    for key, default in defaults.items():
        kind = "str" if isinstance(default, str) else "tuple[str, ...]"
        text = quoted([default]) if isinstance(default, str) else _tuple(default)
        arguments = [f"default={text}", f'metadata={{"help": "{_HELP[key]}"}}']
        made.append(wrapped(f"    {key}: {kind} = attrs.field(", arguments, ")", "    "))
    return made


def _tuple(words: Sequence[str]) -> str:
    return f"({quoted(words)}{',' if len(words) == 1 else ''})"


def _toml(value: tuple[str, ...] | str) -> str:
    return quoted([value]) if isinstance(value, str) else f"[{quoted(value)}]"


def _sentences(guards: Mapping[str, _Guard], *, notes: bool) -> list[str]:
    """Say what the plugin does."""
    keys = {guard.key for guard in guards.values()}
    sentences = [sentence for key, sentence in _DOES.items() if key in keys]
    if notes:
        sentences.append("Notes in the journal that it was called.")
    return sentences


def _docstring(sentences: Sequence[str]) -> str:
    """Return sentences as the docstring of a class."""
    first, *others = sentences
    rest = "".join(f"\n    {sentence}" for sentence in others)
    return f'"""{first}\n{rest}\n    """' if others else f'"""{first}"""'


def _test_imports(guards: Mapping[str, _Guard]) -> str:
    """Return the import statements of the tests."""
    standard = [
        *(["import os"] if any(guard.is_path for guard in guards.values()) else []),
        *(["from typing import Any"] if guards else []),
    ]
    testing = import_line("hookrouter.testing", ["Hooks", "PluginFailed", *(["sample"] if guards else [])], "")
    third = ["import pytest", *(["from hookrouter import hookimpl"] if guards else []), testing]
    return "\n".join([*standard, *([""] if standard else []), *third])


def _specs() -> dict[str, tuple[str, inspect.Signature]]:
    """Return the class and the signature of the spec of every hook about an event, by the hook's name."""
    found = {}
    for specs in all_spec_classes():
        for name, spec in vars(specs).items():
            if hasattr(spec, f"{PROJECT_NAME}_spec") and "context" in (signature := inspect.signature(spec)).parameters:
                found[name] = specs.__name__, signature
    return found


def _hook(event: str, specs: Mapping[str, object]) -> str:
    record = event_facts(event) or event_facts(event.replace("_", "-").lower())
    if record is not None:
        return record.hook
    if event in specs:
        return event
    if snake(event) in ("plugin_settings", "config_table"):
        raise ScaffoldError("--event: every package with a hook of an event has plugin_settings; name that event")
    known = [*specs, *PARTS, *(record.name for record in EVENTS.values())]
    # PreToolUseWebFetch is the hook pre_tool_use_web_fetch, though PreToolUse is closer to it.
    exact = [name for name in specs if name == snake(event)]
    allowed = f"allowed are events (stop), hooks (post_tool_use_edit), and {', '.join(PARTS)}"
    raise ScaffoldError(f"--event: there is no event or hook {event!r}; {did_you_mean(event, exact or known, allowed)}")


def _tool(hook: str) -> str:
    """Return the tool of a tool's hook; empty for all other hooks."""
    for record in sorted(EVENTS.values(), key=lambda record: -len(record.hook)):
        if record.is_tool and hook.startswith(f"{record.hook}_"):
            suffix = hook[len(record.hook) + 1 :]
            return next((tool for tool, of in TOOLS.items() if of == suffix), "mcp__server__tool")
    return ""


def _call(hook: str) -> str:
    """Return the arguments with which ``Hooks.fire`` calls a hook."""
    for record in EVENTS.values():
        if record.hook == hook:
            return f'"{record.name}"'
    for record in sorted(EVENTS.values(), key=lambda record: -len(record.hook)):
        if record.is_tool and hook.startswith(f"{record.hook}_"):
            return f'"{record.name}", tool="{_tool(hook)}"'
    return '"Stop"'


def _live_test(words: Mapping[str, str], hooks: Sequence[str]) -> str:
    if DEFAULT_HOOK in hooks:
        return fill("hook/live_guard", words)
    called = [hook for hook in hooks if hook in _IN_A_TURN or hook in ("post_tool_use_bash", "permission_request_bash")]
    return fill("hook/live_note", {**words, "hook": called[0]}) if called else ""


def _heads(
    hooks: Sequence[str],
    specs: Mapping[str, tuple[str, inspect.Signature]],
    class_name: str,
    guards: Mapping[str, _Guard],
    *,
    sees_paths: bool,
) -> dict[str, str]:
    """Return the import statements and the class line of the plugin's module, by the names that the template has."""
    names: dict[str, set[str]] = {"hookrouter": {"Context"}, "collections.abc": set()}
    uses_any = False
    for hook in hooks:
        signature = specs[hook][1]
        annotations = [str(parameter.annotation) for parameter in signature.parameters.values()]
        for word in re.findall(r"[A-Z]\w*", " ".join([*annotations[1:], str(signature.return_annotation)])):
            if word == "Any":
                uses_any = True
            elif word == "Mapping":
                names["collections.abc"].add(word)
            elif word.endswith("Reply"):
                names.setdefault("hookrouter.replies", set()).add(word)
            elif word.endswith(("Input", "Output")):
                names.setdefault("hookrouter.tools", set()).add(word)
            elif word not in ("Context", "None"):
                names.setdefault("hookrouter.events", set()).add(word)
    runtime = {"hookrouter.hookspecs": {"SettingsSpecs", *(specs[hook][0] for hook in hooks)}}
    if guards:
        names["hookrouter.replies"].discard("PreToolUseReply")
        runtime["hookrouter.replies"] = {"PreToolUseReply"}
    if sees_paths:
        runtime["hookrouter.permission_rules.files"] = {"named_paths"}
    standard = names.pop("collections.abc")
    blocks = [
        [import_line("collections.abc", standard, "    ")] if standard else [],
        [import_line(name, names[name], "    ") for name in sorted(names) if names[name]],
    ]
    bases = sorted(runtime["hookrouter.hookspecs"])
    typing = f"from typing import {'TYPE_CHECKING, Any' if uses_any else 'TYPE_CHECKING'}"
    return {
        "standard_imports": "\n".join([*_standard_imports(guards), typing]),
        "runtime_imports": "\n".join(import_line(name, runtime[name], "") for name in sorted(runtime)),
        "checking_imports": "\n\n".join("\n".join(block) for block in blocks if block),
        "class_line": wrapped(f"class {class_name}(", bases, "):", ""),
    }


def _standard_imports(guards: Mapping[str, _Guard]) -> list[str]:
    kinds = {guard.template for guard in guards.values()}
    return [
        *(["import os"] if "path_guard" in kinds else []),
        *(["import re"] if "guard" in kinds else []),
        *(["from fnmatch import fnmatchcase"] if kinds & {"guard", "mcp_guard"} else []),
    ]


def _signature(hook: str, signature: inspect.Signature) -> str:
    parameters = [
        parameter.name if parameter.name == "self" else f"{parameter.name}: {parameter.annotation}"
        for parameter in signature.parameters.values()
    ]
    return wrapped(f"    def {hook}(", parameters, f") -> {signature.return_annotation}:", "    ")
