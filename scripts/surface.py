"""Records what is stable, and compares it with what there is: the names of the stable modules, and the command line.

    python -m scripts.surface            # what has changed since the record, and is not named in CHANGELOG
    python -m scripts.surface --write    # at a release: records what there is

The record, in ``tests/data/surface``, is that of the last release. What changes after it must be named in the section
[Unreleased] of CHANGELOG.md, what breaks somebody's code below "Changed" or "Removed": docs/reference/stability.md says
so to users. So nobody renews the record beside a change. Modules are read and not imported; what commands take and
print is read from the pages of the manual, which other tests compare with the program.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "RECORD",
    "ROOT",
    "STABLE",
    "Change",
    "changes",
    "commands_in",
    "commands_now",
    "names_in",
    "newest_release",
    "python_now",
    "recorded",
    "stub",
    "unnamed",
]

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests" / "data" / "surface"

STABLE = (
    "hookrouter",
    "hookrouter.answering.decisions",
    "hookrouter.answering.interfaces",
    "hookrouter.context",
    "hookrouter.events",
    "hookrouter.hookspecs",
    "hookrouter.markers",
    "hookrouter.messaging.gateway",
    "hookrouter.pages",
    "hookrouter.queue.channels",
    "hookrouter.records",
    "hookrouter.replies",
    "hookrouter.samples",
    "hookrouter.serving.resident",
    "hookrouter.shell.commands",
    "hookrouter.terminals",
    "hookrouter.testing",
    "hookrouter.tools",
    "hookrouter.util.clock",
    "hookrouter.util.errors",
    "hookrouter.util.text",
)
"""Modules, and packages with all their public modules."""

FOLLOW_CLAUDE = ("hookrouter.events.", "hookrouter.tools.")
"""Where newer clients add fields and classes, which is told with the client and not one by one."""

_MARKS = ("abstractmethod", "cached_property", "classmethod", "hookspec", "overload", "property", "staticmethod")
_NOT_MADE_BY_PLUGINS = ("hookrouter.context",)
"""Modules whose classes hookrouter alone makes: what their ``__init__`` takes may change."""

_UNTOLD = ("__all__", "__eq__", "__hash__", "__repr__", "__slots__")


class Change(NamedTuple):
    """One difference between two surfaces."""

    name: str
    """What has changed: the path of a Python name, or a command with its option, key or exit code."""
    what: str
    """How, in words."""
    breaks: bool
    """Whether code that was right may now be wrong."""

    @property
    def mention(self) -> str:
        """What CHANGELOG must have in backticks: the name in its class, or of an object; the option; the key."""
        if " " in self.name:
            return self.name.rpartition(" ")[2].removesuffix("]...")
        *_, owner, name = self.name.split(".")
        return f"{owner}.{name}" if owner[:1].isupper() else name


def stub(source: str, module: str = "") -> str:
    """Return the public names of a module's source: what they take, and nothing of what they do."""
    tree = ast.parse(source)
    exported = next((_texts(node) for node in tree.body if _assigned(node) == "__all__"), None)
    body = [node for node in _kept(tree.body) if not exported or _is_star(node) or _named(node) in exported]
    if module in _NOT_MADE_BY_PLUGINS:
        for node in body:
            if isinstance(node, ast.ClassDef):
                node.body = [one for one in node.body if _named(one) != "__init__"]
    return ast.unparse(ast.Module(body or [ast.Pass()], []))


def _kept(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _kept(node.body)
        elif isinstance(node, ast.ImportFrom):
            again = [one for one in node.names if one.name == "*" or one.asname == one.name]
            yield from (ast.ImportFrom(node.module, [one], node.level) for one in again)
        elif not _is_public(_named(node)):
            continue
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = [
                one for one in node.decorator_list if ast.unparse(one).endswith((*_MARKS, ".setter"))
            ]
            node.body = [ast.Expr(ast.Constant(...))]
            yield node
        elif isinstance(node, ast.ClassDef):
            node.decorator_list = []
            node.body = [*_kept([*_set_by_itself(node), *node.body])] or [ast.Pass()]
            yield node
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            yield node


def _set_by_itself(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """Yield the attributes that a class sets in its ``__init__`` and does not declare."""
    known = {_named(one) for one in node.body}
    for made in (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"):
        for one in ast.walk(made):
            target = (
                one.targets[0]
                if isinstance(one, ast.Assign)
                else one.target
                if isinstance(one, ast.AnnAssign)
                else None
            )
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and target.attr not in known:
                known.add(target.attr)
                kind = one.annotation if isinstance(one, ast.AnnAssign) else ast.Constant(...)
                yield ast.AnnAssign(ast.Name(target.attr), kind, None, 1)


def _named(node: ast.stmt) -> str:
    if isinstance(node, ast.ImportFrom):
        return node.names[0].name
    return getattr(node, "name", "") or _assigned(node)


def _assigned(node: ast.stmt) -> str:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def _is_public(name: str) -> bool:
    return bool(name) and name not in _UNTOLD and (not name.startswith("_") or name.endswith("__"))


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _texts(node: ast.stmt) -> list[str]:
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def names_in(module: str, text: str) -> dict[str, str]:
    """Return each name of a stub with its own line, without what is in it."""
    found: dict[str, str] = {}

    def walk(path: str, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            name = f"{path}.{_named(node)}"
            if isinstance(node, ast.ClassDef):
                walk(name, node.body)
                node.body = [ast.Pass()]
            if not isinstance(node, ast.Pass):
                found[name] = f"{found[name]}\n{ast.unparse(node)}" if name in found else ast.unparse(node)

    walk(module, ast.parse(text).body)
    return found


def files() -> Iterator[tuple[str, Path]]:
    """Yield the modules that are stable."""
    for stable in STABLE:
        path = ROOT.joinpath(*stable.split("."))
        found = (
            [path / "__init__.py"]
            if stable == "hookrouter"
            else sorted(path.rglob("*.py")) or [path.with_suffix(".py")]
        )
        for file in found:
            parts = file.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in parts):
                yield ".".join(parts), file


def newest_release(changelog: str) -> str:
    """Return the newest version that a changelog has released; "none" before the first."""
    return next(iter(re.findall(r"^## \[(\d[^]]*)\]", changelog, flags=re.MULTILINE)), "none")


def python_now() -> dict[str, str]:
    """Return the stub of each stable module, as it is now."""
    return {module: stub(file.read_text(encoding="utf-8"), module) for module, file in files()}


def commands_in(commands: str, exit_codes: str, configuration: str) -> list[str]:
    """Return what commands take, print and exit with, and the keys of config.toml: one line for each."""
    found = set()
    name = ""
    for line in commands.splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ")
        elif match := re.match(r"\| `(-[^|]*?|[^|`-][^|`]*)` ?(`[^|]*`)? \| (.*) \|$", line.replace("\\|", "/")):
            needed = "(required" in match[3] or not match[1].startswith(("-", "["))
            if name.startswith("hookrouter "):
                found.add(f"{name} {match[1].split('`')[0].strip('[]')}{' required' if needed else ''}")
        elif line.startswith("With --json") or '{"' in line:
            found |= {f"{name} --json {key}" for key in _keys(line)}
    for line in exit_codes.splitlines():
        if line.startswith("## "):
            name = line.removeprefix("## ")
        elif name.startswith("hookrouter "):
            found |= {f"{name} exit {code}" for code in re.findall(r"(?:^|; )(\d+(?:\+N)?)\b", line)}
            found |= {f"{name} outcome {word}" for word in re.findall(r"^(?:[\d+N]+ | ) +([a-z_]+)  ", line)}
    for line in configuration.splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ").replace("`", "")
        elif (match := re.match(r"\| `([\w-]+)` \| [^|]* \| ([^|]*) \|", line)) and name.startswith("["):
            found.add(f"config.toml {name} {match[1]}: {match[2].strip() or 'no default'}")
    return sorted(found)


def _keys(line: str) -> set[str]:
    """Return the keys that a sentence of the manual gives a document of JSON: in quotes, or listed behind a colon."""
    listed = line.partition(":")[2].partition(". ")[0]
    while listed != (listed := re.sub(r"\([^()]*\)", "", listed)):
        pass
    words = {word.strip(" .") for word in re.split(r"[,;]| and |: ", listed)}
    quoted = set(re.findall(r'"([a-z_]+)"', line))
    return quoted | {word for word in words if re.fullmatch(r"[a-z]+(_[a-z]+)*", word)}


def commands_now() -> list[str]:
    """Return the same of the manual, as it is now."""
    pages = ("commands", "exit-codes", "configuration")
    return commands_in(*((ROOT / f"docs/reference/{page}.md").read_text(encoding="utf-8") for page in pages))


def recorded() -> tuple[dict[str, str], list[str]]:
    """Return the surface of the last release: stubs by module, and lines about commands."""
    parts = re.split(r"^### (\S+)\n", (RECORD / "python.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    stubs = dict(zip(parts[::2], parts[1::2], strict=True))
    return stubs, (RECORD / "commands.txt").read_text(encoding="utf-8").splitlines()


def changes(
    old: Mapping[str, str], new: Mapping[str, str], old_lines: Iterable[str] = (), new_lines: Iterable[str] = ()
) -> list[Change]:
    """Return what is different in a newer surface."""
    found: list[Change] = []
    for module in sorted(old.keys() | new.keys()):
        before, now = (names_in(module, texts.get(module, "")) for texts in (old, new))
        broken = _broken(module, old.get(module, ""), new.get(module, ""))
        follows = module.startswith(FOLLOW_CLAUDE)
        for name in sorted(before.keys() | now.keys()):
            owner = name.rpartition(".")[0]
            if owner != module and not (owner in before and owner in now):
                continue  # what comes and goes with its class
            if name not in now:
                found.append(Change(name, "was removed", breaks=True))
            elif name in broken:
                found += [Change(name, what, breaks=True) for what in broken[name]]
            elif name not in before and not follows:
                found.append(Change(name, "was added", breaks=_is_asked_for(name, now)))
            elif name in before and before[name] != now[name] and not follows:
                found.append(Change(name, f"was {before[name]}, is {now[name]}", breaks=False))
    return [*found, *_of_lines(set(old_lines), set(new_lines))]


def _is_asked_for(name: str, names: Mapping[str, str]) -> bool:
    """Whether a name is a field that whoever makes an object of its class must now give."""
    owner = names.get(name.rpartition(".")[0], "")
    return "(NamedTuple)" in owner and "=" not in names[name] and names[name].startswith(f"{name.rpartition('.')[2]}:")


def _broken(module: str, old: str, new: str) -> dict[str, list[str]]:
    """Return what griffe calls a breaking change, by the name that it is of."""
    before, now = (griffe.visit(module, filepath=Path(f"{module}.py"), code=text) for text in (old, new))
    found: dict[str, list[str]] = {}
    for one in griffe.find_breaking_changes(before, now):
        parameter = one.old_value if isinstance(one.old_value, griffe.Parameter) else one.new_value
        detail = f" ({parameter.name})" if isinstance(parameter, griffe.Parameter) else ""
        found.setdefault(one.obj.path, []).append(f"{one.kind.value}{detail}")
    return found


def _of_lines(old: set[str], new: set[str]) -> Iterator[Change]:
    """Yield what has changed of commands and config.toml. What has gone breaks, and an argument that is required."""

    def by_name(lines: set[str]) -> dict[str, str]:
        return {line.partition(": ")[0].removesuffix(" required"): line for line in lines}

    before, now = by_name(old), by_name(new)
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            yield Change(name, "was removed", breaks=True)
        elif name not in before:
            # Nobody has called a command without it that was not there.
            command = f"{name.rpartition(' ')[0]} exit 0"
            is_new = command in now and command not in before
            yield Change(name, "was added", breaks=now[name].endswith(" required") and not is_new)
        elif before[name] != now[name]:
            yield Change(name, f"was {before[name]}, is {now[name]}", breaks=True)


def unnamed(found: list[Change], changelog: str) -> list[str]:
    """Return one line for each change that the section [Unreleased] of a changelog does not name where it should."""
    section = changelog.partition("## [Unreleased]")[2].partition("\n## ")[0]
    parts = re.split(r"^### (.*)$", section, flags=re.MULTILINE)
    named = {heading: _code(text) for heading, text in zip(parts[1::2], parts[2::2], strict=True)}
    lacking = []
    for change in found:
        headings = ["Changed", "Removed"] if change.breaks else list(named)
        if not any(_mentions(change.mention, code) for heading in headings for code in named.get(heading, ())):
            where = ' below "Changed" or "Removed"' if change.breaks else ""
            lacking.append(f"{change.name} {change.what}: name `{change.mention}` in CHANGELOG.md, [Unreleased]{where}")
    return lacking


def _code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def _mentions(name: str, code: str) -> bool:
    owner, _, own = name.rpartition(".")
    before = r"\w\." if owner else r"(?<![\w-])"
    return re.search(rf"{before}{re.escape(own)}(?![\w-])", code) is not None


def main(arguments: list[str]) -> int:
    """Report, or record; the exit code is 1 if something is not named in CHANGELOG."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    release, kept = newest_release(changelog), RECORD / "release.txt"
    if arguments == ["--write"]:
        if kept.exists() and kept.read_text(encoding="utf-8").strip() == release:
            sys.stderr.write(f"{RECORD} is of the newest release ({release}): name what has changed in CHANGELOG.md\n")
            return 1
        RECORD.mkdir(parents=True, exist_ok=True)
        texts = [f"### {module}\n{text}\n" for module, text in python_now().items()]
        (RECORD / "python.txt").write_text("".join(texts), encoding="utf-8")
        kept.write_text(f"{release}\n", encoding="utf-8")
        (RECORD / "commands.txt").write_text("\n".join(commands_now()) + "\n", encoding="utf-8")
        return 0
    if arguments:
        sys.stderr.write(__doc__ or "")
        return 2
    stubs, lines = recorded()
    lacking = unnamed(changes(stubs, python_now(), lines, commands_now()), changelog)
    sys.stdout.write("".join(f"{line}\n" for line in lacking) or "All that has changed is named.\n")
    return int(bool(lacking))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
