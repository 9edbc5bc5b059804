"""Writes a new plugin's package: what ``hookrouter plugins new`` gives an author to start from.

The files are made of the texts in ``plugin_template/``; the hooks' signatures are those of the specs.
"""

from __future__ import annotations

import inspect
import os
import re
import time
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from hookrouter import __version__
from hookrouter.config import ORDER
from hookrouter.hooks import RAW_HOOK, event_record
from hookrouter.hookspecs import all_spec_classes
from hookrouter.markers import ENTRY_POINT_GROUP, PROJECT_NAME
from hookrouter.tables import EVENTS, TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["DEFAULT_HOOK", "Package", "ScaffoldError", "plan", "write"]

DEFAULT_HOOK = "pre_tool_use_bash"
"""What a new plugin implements, where nothing else is asked for."""

MAX_NAME = 32
"""Characters of a plugin's name."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin_template")
_PYRIGHT = "pyright>=1.1.390"
_LINE = 120
_IN_A_TURN = ("pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "stop", RAW_HOOK)
"""The hooks that a turn with one Bash command calls, tools' own aside."""


class ScaffoldError(ValueError):
    """A package cannot be made; the message says which argument is wrong, and what is allowed."""


class Package(NamedTuple):
    """A package that can be written."""

    plugin: str
    """The plugin's name, which its entry point gives it."""
    distribution: str
    module: str
    class_name: str
    hooks: tuple[str, ...]
    files: Mapping[str, str]
    """The text of each file, by its path in the package, in alphabetical order."""


def plan(name: str, events: Sequence[str] = ()) -> Package:
    """Return the package of a plugin called ``name``, with a leading ``hookrouter-`` left out.

    Upper case becomes lower, and blanks, dots and underscores become dashes. ``events`` are events, in any spelling,
    or names of hooks such as ``post_tool_use_edit``. Raises ScaffoldError.
    """
    plugin = _plugin_name(name)
    specs = _specs()
    hooks = tuple(dict.fromkeys(_hook(event, specs) for event in events)) or (DEFAULT_HOOK,)
    words = {
        "plugin": plugin,
        "distribution": f"hookrouter-{plugin}",
        "module": f"hookrouter_{plugin.replace('-', '_')}",
        "module_name": plugin.replace("-", "_"),
        "class_name": "".join(word.capitalize() for word in plugin.split("-")) + "Plugin",
        "version": __version__,
        "year": str(time.gmtime().tm_year),
        "pyright": _PYRIGHT,
        "type_checker": re.split(r"\W", _PYRIGHT)[0],
        "hook": hooks[0],
        "call": _call(hooks[0]),
    }
    files = _files(words, hooks, specs)
    return Package(
        plugin, words["distribution"], words["module"], words["class_name"], hooks, dict(sorted(files.items()))
    )


def write(package: Package, parent: str) -> str:
    """Write the package into a new folder of its distribution's name in ``parent``, and return the folder's path.

    Raises ScaffoldError where the folder is there and not empty, or cannot be written; nothing is overwritten.
    """
    folder = os.path.join(os.path.abspath(parent), package.distribution)
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise ScaffoldError(f"{folder} is not empty; nothing is overwritten: choose another name, or --dir")
        for path, text in package.files.items():
            target = os.path.join(folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise ScaffoldError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from None
    return folder


def _plugin_name(name: str) -> str:
    plugin = re.sub(r"[-_. ]+", "-", name.strip().lower()).removeprefix("hookrouter-")
    if not _NAME.fullmatch(plugin) or len(plugin) > MAX_NAME:
        raise ScaffoldError(
            f"NAME: found {name!r}, allowed are up to {MAX_NAME} characters: words of a-z and 0-9, joined by dashes, "
            "the first beginning with a letter, for example git-guard"
        )
    if plugin == ORDER:
        raise ScaffoldError(f"NAME: {ORDER!r} is a key of [plugins] in config.toml, so no plugin can be called so")
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name == plugin:
            raise ScaffoldError(f"NAME: a plugin {plugin!r} is installed here already ({entry.value})")
    module = f"hookrouter_{plugin.replace('-', '_')}"
    if find_spec(module) is not None:
        raise ScaffoldError(f"NAME: there is a module {module!r} in this environment already")
    return plugin


def _specs() -> dict[str, tuple[str, inspect.Signature]]:
    """Return the class and the signature of the spec of every hook about an event, by the hook's name."""
    found = {}
    for specs in all_spec_classes():
        for name, spec in vars(specs).items():
            if hasattr(spec, f"{PROJECT_NAME}_spec") and "context" in (signature := inspect.signature(spec)).parameters:
                found[name] = specs.__name__, signature
    return found


def _hook(event: str, specs: Mapping[str, object]) -> str:
    record = event_record(event) or event_record(event.replace("_", "-").lower())
    if record is not None:
        return record.hook
    if event in specs:
        return event
    known = [*specs, *(record.name for record in EVENTS.values())]
    close = get_close_matches(event, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "; allowed are events (stop) and hooks (post_tool_use_edit)"
    raise ScaffoldError(f"--event: there is no event or hook {event!r}{hint}")


def _call(hook: str) -> str:
    """Return the arguments with which ``Hooks.fire`` calls a hook."""
    for record in EVENTS.values():
        if record.hook == hook:
            return f'"{record.name}"'
    for record in sorted(EVENTS.values(), key=lambda record: -len(record.hook)):
        if record.is_tool and hook.startswith(f"{record.hook}_"):
            suffix = hook[len(record.hook) + 1 :]
            tool = next((tool for tool, of in TOOLS.items() if of == suffix), "mcp__server__tool")
            return f'"{record.name}", tool="{tool}"'
    return '"Stop"'


def _files(
    words: Mapping[str, str], hooks: Sequence[str], specs: Mapping[str, tuple[str, inspect.Signature]]
) -> dict[str, str]:
    module = words["module"]
    guards, notes = DEFAULT_HOOK in hooks, any(hook != DEFAULT_HOOK for hook in hooks)
    examples = [*(['refuse = ["push --force"]'] if guards else []), *(['note = "was called"'] if notes else [])]
    about = " ".join(
        [
            *(["Refuses Bash commands that hold one of the texts in ``refuse``."] if guards else []),
            *(["Notes in the journal that it was called."] if notes else []),
        ]
    )
    live = _live_test(words, hooks)
    methods = [
        _fill("guard" if hook == DEFAULT_HOOK else "note", words, signature=_signature(hook, specs[hook][1]))
        for hook in hooks
    ]
    tests = [
        _fill("test_guard" if hook == DEFAULT_HOOK else "test_note", {**words, "hook": hook, "call": _call(hook)})
        for hook in hooks
    ]
    fields = [*([_REFUSE] if guards else []), *([_NOTE] if notes else [])]
    files = {
        "pyproject.toml": _fill("pyproject.toml", words),
        "README.md": _fill(
            "README.md",
            words,
            about=about.replace("``", "`"),
            settings_example="\n".join(examples),
            live=_LIVE_README if live else "",
        ),
        "LICENSE": _fill("LICENSE", words),
        ".gitignore": _fill("gitignore", words),
        ".github/workflows/ci.yml": _fill("ci.yml", words),
        f"src/{module}/__init__.py": _fill(
            "plugin.py",
            words,
            about_line=about,
            methods="\n".join(methods),
            **_heads(hooks, specs, words["class_name"]),
        ),
        f"src/{module}/settings.py": _fill("settings.py", words, fields="\n".join(fields)),
        f"src/{module}/py.typed": "",
        f"tests/test_{words['module_name']}.py": _fill(
            "test_plugin.py", words, tests="\n\n".join(tests).rstrip("\n"), key="refuse" if guards else "note"
        ),
    }
    if live:
        files["tests/test_live.py"] = _fill("test_live.py", words, test=live)
    return files


_REFUSE = (
    '    refuse: tuple[str, ...] = attrs.field(default=("push --force",), '
    'metadata={"help": "what no command may hold"})'
)
_NOTE = '    note: str = attrs.field(default="was called", metadata={"help": "what the journal record gets"})'
_LIVE_README = """
`tests/test_live.py` has the real Claude Code call it, where `claude` and `tmux` are on PATH; no account is needed."""


def _live_test(words: Mapping[str, str], hooks: Sequence[str]) -> str:
    if DEFAULT_HOOK in hooks:
        return _fill("live_guard", words)
    called = [hook for hook in hooks if hook in _IN_A_TURN or hook in ("post_tool_use_bash", "permission_request_bash")]
    return _fill("live_note", {**words, "hook": called[0]}) if called else ""


def _heads(hooks: Sequence[str], specs: Mapping[str, tuple[str, inspect.Signature]], class_name: str) -> dict[str, str]:
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
    if DEFAULT_HOOK in hooks:
        names["hookrouter.replies"].discard("PreToolUseReply")
        runtime["hookrouter.replies"] = {"PreToolUseReply"}
    standard = names.pop("collections.abc")
    blocks = [
        [_import("collections.abc", standard, "    ")] if standard else [],
        [_import(name, names[name], "    ") for name in sorted(names) if names[name]],
    ]
    bases = sorted(runtime["hookrouter.hookspecs"])
    return {
        "typing_names": "TYPE_CHECKING, Any" if uses_any else "TYPE_CHECKING",
        "runtime_imports": "\n".join(_import(name, runtime[name], "") for name in sorted(runtime)),
        "checking_imports": "\n\n".join("\n".join(block) for block in blocks if block),
        "class_line": _wrapped(f"class {class_name}(", bases, "):", ""),
    }


def _import(module: str, names: Iterable[str], indent: str) -> str:
    """Return an import statement as isort writes it."""
    ordered = sorted(names, key=str.lower)
    line = f"{indent}from {module} import {', '.join(ordered)}"
    if len(line) <= _LINE:
        return line
    return "\n".join([f"{indent}from {module} import (", *(f"{indent}    {name}," for name in ordered), f"{indent})"])


def _signature(hook: str, signature: inspect.Signature) -> str:
    parameters = [
        parameter.name if parameter.name == "self" else f"{parameter.name}: {parameter.annotation}"
        for parameter in signature.parameters.values()
    ]
    return _wrapped(f"    def {hook}(", parameters, f") -> {signature.return_annotation}:", "    ")


def _wrapped(start: str, items: Sequence[str], end: str, indent: str) -> str:
    """Return the head of a definition as formatters write it: on one line, in three, or with a line for each item."""
    joined = ", ".join(items)
    if len(start + joined + end) <= _LINE:
        return start + joined + end
    if len(f"{indent}    {joined}") <= _LINE:
        return f"{start}\n{indent}    {joined}\n{indent}{end}"
    return "\n".join([start, *(f"{indent}    {item}," for item in items), f"{indent}{end}"])


def _fill(template: str, words: Mapping[str, str], **more: str) -> str:
    with open(os.path.join(_TEMPLATES, f"{template}.txt"), encoding="utf-8") as file:
        return Template(file.read()).substitute({**words, **more}).rstrip("\n") + "\n"
