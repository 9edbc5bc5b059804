"""Trusts a project's own plugins: what a person is shown before, and what is kept in the home then.

What is shown, what the digest is of and what is copied are the same bytes, read once: nobody can put others in their
place meanwhile. Until they are trusted they are read, and never imported.
"""

from __future__ import annotations

import ast
import fcntl
import os
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from hookrouter._config.reader import survey_project
from hookrouter._plugins.files import FOLDER, copy_folder, may_be_named
from hookrouter._plugins.project import VERSION, TrustRecord, read_record, record_file
from hookrouter._plugins.project_tree import TreeError, read_tree
from hookrouter._plugins.scan import scan_copy
from hookrouter.config import NO_PLUGINS
from hookrouter.storage.documents import replace_file
from hookrouter.storage.home import ensure
from hookrouter.storage.own_file import read_own_json
from hookrouter.util import fastjson
from hookrouter.util.clock import now
from hookrouter.util.value import encode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hookrouter._plugins.project_tree import Tree
    from hookrouter.config import ApprovalRule, PluginConfig
    from hookrouter.storage.home import Home

__all__ = ["CONFIG", "Candidate", "forget", "look_at", "said_hooks", "trust"]

CONFIG = "config.toml"
"""The project's configuration, in the same folder."""


class Candidate(NamedTuple):
    """What a project has, as it would be trusted."""

    folder: str
    tree: Tree
    plugins: Mapping[str, str]
    """The plugins by name, each with the path of its source in the tree."""
    tables: Mapping[str, PluginConfig]
    """What its config.toml says of them."""
    rules: tuple[ApprovalRule, ...]
    """The rules of its config.toml."""
    problems: tuple[str, ...]
    """Why it cannot be trusted, one line each."""
    notes: tuple[str, ...]


def look_at(folder: str, taken: Collection[str]) -> Candidate | None:
    """Return what a project's folder has; None if it has no plugins of its own. Raises TreeError.

    ``taken`` are the names of the home's plugins.
    """
    tree = read_tree(folder)
    if tree is None:
        return None
    plugins: dict[str, str] = {}
    problems, notes = [], list(tree.notes)
    for path in tree.files:
        name, is_package = (path.removesuffix(".py"), False) if path.endswith(".py") else ("", False)
        if path.count("/") == 1 and path.endswith("/__init__.py"):
            name, is_package = path.partition("/")[0], True
        if "/" in name or not name:
            continue
        if not may_be_named(name):
            if not name.startswith("_"):
                notes.append(f"{path} is no plugin by its name; allowed: letters, digits, - and _")
        elif name in plugins:
            problems.append(f"{plugins[name]} and {path} are both the plugin {name}; allowed: one of them")
        elif name in taken or name in NO_PLUGINS:
            what = f"there is a plugin {name} already" if name in taken else f"{name} is a key of [plugins]"
            problems.append(
                f"{path} cannot be a plugin by its name: {what}; rename the {'folder' if is_package else 'file'}"
            )
        else:
            plugins[name] = path
    found, tables, rules = survey_project(tree.files.get(CONFIG, b""), plugins)
    if not plugins and not rules and not found:
        allowed = f"files NAME.py, folders NAME with an __init__.py, and rules in {CONFIG}"
        problems.append(f"{FOLDER} holds no plugin and no rule; allowed: {allowed}")
    problems += [f"{FOLDER}/{CONFIG}: {problem.line}" for problem in found]
    return Candidate(folder, tree, plugins, tables, rules, tuple(problems), tuple(notes))


def said_hooks(source: bytes) -> tuple[str, ...] | None:
    """Return the hooks that a source says it implements, as far as that can be read; None if it is no Python.

    Nothing of it runs, so a source that wants to hide something can.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(source)
            return tuple(dict.fromkeys(hook for node in ast.walk(module) for hook in _hooks(node)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _hooks(node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    for mark in node.decorator_list:
        called = mark.func if isinstance(mark, ast.Call) else mark
        if (called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")) != "hookimpl":
            continue
        keywords = mark.keywords if isinstance(mark, ast.Call) else []
        named = [one.value.value for one in keywords if one.arg == "specname" and isinstance(one.value, ast.Constant)]
        yield str(named[0]) if named and named[0] else node.name


def trust(home: Home, candidate: Candidate) -> TrustRecord:
    """Keep the copy and the record of what a person has trusted, and import the copy to know its hooks.

    Raises OSError.
    """
    tree = candidate.tree
    with _alone(home):
        _copy(home, tree)
        plugins = scan_copy(home, tree.digest, ())
        record = TrustRecord(
            version=VERSION,
            folder=candidate.folder,
            tree=tree.digest,
            at=now(),
            files=tuple((path, sha256(content).hexdigest()) for path, content in tree.files.items()),
            plugins=plugins,
            tables=dict(candidate.tables),
            rules=candidate.rules,
        )
        data = fastjson.dumps(encode(record, sparse=True)).encode("ascii")
        replace_file(record_file(home, candidate.folder), data, durable=True)
        _remove_unused(home)
    return record


def forget(home: Home, folder: str) -> bool:
    """Forget that a folder was trusted, and remove its copy; return whether it was. Raises OSError."""
    try:
        with _alone(home):
            os.unlink(record_file(home, folder))
            _remove_unused(home)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Be the only one who changes what is trusted."""
    ensure(home.trusted)
    descriptor = os.open(os.path.join(home.trusted, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with open(descriptor, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _copy(home: Home, tree: Tree) -> None:
    target = copy_folder(home, tree.digest)
    trees = os.path.dirname(target)
    ensure(trees)
    try:
        known = read_tree(trees, tree.digest)
    except TreeError:
        known = None
    if known is not None and known.digest == tree.digest:
        return
    shutil.rmtree(target, ignore_errors=True)
    made = tempfile.mkdtemp(prefix=".new-", dir=trees)
    try:
        for path, content in tree.files.items():
            folder = os.path.dirname(os.path.join(made, path))
            ensure(folder)
            replace_file(os.path.join(made, path), content, durable=True)
        os.rename(made, target)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _remove_unused(home: Home) -> None:
    """Remove the copies that no record names."""
    trees, used = os.path.dirname(copy_folder(home, "-")), set()
    for name in os.listdir(home.trusted):
        if name.endswith(".json"):
            try:
                used.add(read_record(read_own_json(os.path.join(home.trusted, name))).tree)
            except TypeError:
                # Nobody knows which copy is its.
                return
    for name in os.listdir(trees) if os.path.isdir(trees) else ():
        if name not in used:
            shutil.rmtree(os.path.join(trees, name), ignore_errors=True)
