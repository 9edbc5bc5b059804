"""Installs packages with plugins into the environment that runs hookrouter, by the tool that keeps that environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from attrs import frozen
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from hookrouter.util.errors import HookrouterError
from hookrouter.util.program import PROGRAM
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Environment", "PackageError", "Wanted", "environment", "run", "wanted"]

_ARCHIVES = (".whl", ".tar.gz", ".zip")
_FORMS = (
    "a package's name, with a version if need be (hookrouter-guard, 'hookrouter-guard>=1.2'), or a wheel, a source "
    "distribution, a folder with pyproject.toml or a .py file by its path"
)
_TAIL = 15
"""Lines of what an installer wrote that are shown when it has failed."""


class PackageError(HookrouterError):
    """What was asked for cannot be installed or removed. The message says what was found and what is allowed."""


@frozen
class Wanted:
    """What is to be installed."""

    words: str
    """As the installer takes it: a requirement, or an absolute path."""
    name: str = ""
    """The distribution's name in one spelling; empty if only the installer will know."""
    is_single_file: bool = False
    """Whether it is a plugin in one file, which no installer is for."""


@frozen
class Environment:
    """The environment that runs hookrouter, and the commands that change it."""

    kind: str
    """What keeps it, in words."""
    install: Sequence[str]
    """The command that installs; the words of what is wanted come behind it."""
    uninstall: Sequence[str]
    """The command that removes; the distribution's name comes behind it."""
    environ: Mapping[str, str] = {}
    """Variables that both need beside those that are there."""
    kept: Mapping[str, Sequence[str]] | None = None
    """Of uv's tools: the words that name each package of the environment again. None but these are in it afterwards."""

    def installing(self, what: Wanted) -> list[str]:
        """Return the command that installs something."""
        if self.kept is None:
            return [*self.install, what.words]
        return [*self.install, *self._others(what.name), "--with", what.words]

    def removing(self, name: str) -> list[str]:
        """Return the command that removes a distribution. Raises PackageError for one that came with another."""
        if self.kept is None:
            return [*self.uninstall, name]
        if name not in self.kept:
            raise PackageError(f"{name} was not installed by a name of its own, so {self.kind} cannot remove it")
        return [*self.uninstall, *self._others(name)]

    def _others(self, name: str) -> list[str]:
        return [word for other, words in (self.kept or {}).items() if other != name for word in words]


def wanted(text: str) -> Wanted:
    """Return what a person has asked for. Looks at files, and runs nothing. Raises PackageError."""
    if printable(text) != text or not text.strip():
        raise PackageError(f"found {printable(text)!r}; allowed: {_FORMS}")
    text = text.strip()
    if text.startswith("-"):
        raise PackageError(f"found {text!r}, an option of another program; allowed: {_FORMS}")
    if "://" in text or text.startswith(("git+", "hg+", "svn+", "bzr+", "file:")) or " @ " in text:
        raise PackageError(f"found {text!r}, which is an address; download it, look at it, and name the file: {_FORMS}")
    path = os.path.expanduser(text)
    if os.sep in path or text in (".", "..") or text.endswith((*_ARCHIVES, ".py")):
        return _file(os.path.abspath(path), text)
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise PackageError(f"found {text!r}; allowed: {_FORMS}") from None
    if requirement.url or requirement.marker:
        raise PackageError(f"found {text!r}; allowed: {_FORMS}")
    return Wanted("".join(text.split()), _other_than_hookrouter(requirement.name, text))


def _file(path: str, text: str) -> Wanted:
    """Return a file or folder to be installed."""
    if path.endswith("]"):
        raise PackageError(f"found {text!r}; installers take [...] at the end for extras: rename it")
    if os.path.isdir(path):
        name = _project_name(path, text)
    elif not os.path.isfile(path):
        raise PackageError(f"found {text!r}, and there is no such file; allowed: {_FORMS}")
    elif path.endswith(".py"):
        return Wanted(path, is_single_file=True)
    else:
        name = _archive_name(os.path.basename(path), text)
    return Wanted(path, _other_than_hookrouter(name, text))


def _archive_name(file: str, text: str) -> str:
    """Return the name of the distribution that a file holds, by the file's own name."""
    try:
        return parse_wheel_filename(file)[0] if file.endswith(".whl") else parse_sdist_filename(file)[0]
    except (InvalidWheelFilename, InvalidSdistFilename) as error:
        raise PackageError(f"found {text!r} ({printable(str(error))}); allowed: {_FORMS}") from None


def _project_name(folder: str, text: str) -> str:
    """Return the name that a folder's pyproject.toml gives; empty if its build finds it."""
    try:
        with open(os.path.join(folder, "pyproject.toml"), "rb") as file:
            project = tomllib.load(file).get("project")
    except OSError:
        raise PackageError(f"found {text!r}, a folder without pyproject.toml; allowed: {_FORMS}") from None
    except (ValueError, RecursionError) as error:
        raise PackageError(f"found {text!r}, whose pyproject.toml cannot be read: {printable(str(error))}") from None
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) else ""


def _other_than_hookrouter(name: str, text: str) -> str:
    """Return the name in its one spelling. Raises PackageError for hookrouter itself."""
    found = canonicalize_name(name)
    if found == PROGRAM:
        raise PackageError(f"found {text!r}, which is not a plugin; upgrade it by the tool that installed it")
    return found


def environment(environ: Mapping[str, str], prefix: str = sys.prefix) -> Environment:
    """Return the environment of this process, or the one at ``prefix``. Raises PackageError if none may be changed."""
    if os.path.isfile(os.path.join(prefix, "pipx_metadata.json")):
        return _of_pipx(environ, prefix)
    if os.path.isfile(os.path.join(prefix, "uv-receipt.toml")):
        return _of_uv(environ, prefix)
    is_own = prefix != sys.base_prefix
    if not is_own and os.path.isfile(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")):
        raise PackageError(
            f"the Python at {prefix} is managed by the system (EXTERNALLY-MANAGED), and packages are not put into it; "
            "install hookrouter with pipx or uv tool, or into a virtual environment, and run this again from there"
        )
    kind = f"the virtual environment {prefix}" if is_own else f"the Python at {prefix}"
    if find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        return Environment(kind, [*pip, "install", "--"], [*pip, "uninstall", "--yes", "--"])
    uv = shutil.which("uv", path=environ.get("PATH"))
    if uv is None:
        raise PackageError(
            f"{kind} has no pip, and no uv is on PATH; fix: {sys.executable} -m ensurepip, or install uv"
        )
    python = ["--python", sys.executable, "--"]
    return Environment(f"{kind}, by uv", [uv, "pip", "install", *python], [uv, "pip", "uninstall", *python])


def _program(name: str, prefix: str, environ: Mapping[str, str]) -> str:
    found = shutil.which(name, path=environ.get("PATH"))
    if found is None:
        raise PackageError(f"{name} keeps the environment {prefix}, and no {name} is on PATH; fix: add it to PATH")
    return os.path.abspath(found)


def _of_pipx(environ: Mapping[str, str], prefix: str) -> Environment:
    pipx, (venvs, name) = _program("pipx", prefix, environ), os.path.split(prefix)
    # The pipx on PATH may be set up for another folder than the one that hookrouter is in.
    home = {"PIPX_HOME": os.path.dirname(venvs)} if os.path.basename(venvs) == "venvs" else {}
    return Environment(f"pipx ({prefix})", [pipx, "inject", name], [pipx, "uninject", name], home)


def _of_uv(environ: Mapping[str, str], prefix: str) -> Environment:
    """Return a tool of uv's: its install names every package again, and removes what is not named."""
    path = os.path.join(prefix, "uv-receipt.toml")
    try:
        with open(path, "rb") as file:
            requirements: list[dict[str, Any]] = tomllib.load(file)["tool"]["requirements"]
        words: dict[str, list[str]] = {canonicalize_name(one["name"]): _words(one) for one in requirements}
        own = words.pop(canonicalize_name(PROGRAM))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fix = "uv tool install hookrouter --with PACKAGE does it by hand"
        raise PackageError(f"{path} cannot be read ({type(error).__name__}: {error}); {fix}") from None
    uv = _program("uv", prefix, environ)
    tools = {"UV_TOOL_DIR": os.path.dirname(prefix)}
    base = [uv, "tool", "install", *(["--editable", own[1]] if own[0] == "--with-editable" else own[1:])]
    return Environment(f"uv tool ({prefix})", base, base, tools, words)


def _words(requirement: Mapping[str, Any]) -> list[str]:
    """Return the option and word by which uv is told of a package of its receipt once more. Raises ValueError."""
    if "editable" in requirement:
        return ["--with-editable", requirement["editable"]]
    if path := requirement.get("directory") or requirement.get("path"):
        return ["--with", path]
    if "git" in requirement or "url" in requirement:
        raise ValueError(f"{requirement['name']} comes from an address")
    extras = f"[{','.join(requirement['extras'])}]" if requirement.get("extras") else ""
    return ["--with", f"{requirement['name']}{extras}{requirement.get('specifier', '')}"]


def run(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Run an installer, without a shell and with nothing to read. Raises PackageError with the end of what it wrote."""
    try:
        done = subprocess.run(
            [*command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            # No file of the user's folder is taken for what a name means.
            cwd="/",
            check=False,
        )
    except OSError as error:
        raise PackageError(f"{command[0]} cannot be started: {error.strerror or error}") from None
    if done.returncode:
        lines = printable(done.stdout.decode("utf-8", "replace"), keep_newlines=True).splitlines()
        told = "".join(f"\n  {line}" for line in lines[-_TAIL:])
        raise PackageError(f"{json.dumps([*command])} ended with {done.returncode}{told}")
