"""The wheel and the sdist: complete, and of use where nothing else of hookrouter is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from hookrouter import __version__
from hookrouter.samples import sample
from support.wheels import wheel

if TYPE_CHECKING:
    from collections.abc import Iterable

REPOSITORY = Path(__file__).parents[2]
NATIVE = "hookrouter/_fronts/native"
NATIVE_SOURCE = f"{NATIVE}.c"
CACHES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "node_modules"}


def run(*command: str | Path, environ: dict[str, str] | None = None, cwd: Path | None = None, stdin: str = "") -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **(environ or {})},
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tree(folder: Path) -> set[str]:
    """Return the files below a folder that belong to the source, relative to it."""
    return {
        str(file.relative_to(folder))
        for file in folder.rglob("*")
        if file.is_file() and not CACHES & set(file.parts) and file.suffix != ".pyc"
    } - {NATIVE, NATIVE.removeprefix("hookrouter/")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheel and the sdist, built from this tree."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=REPOSITORY)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def unpacked(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built[1]) as archive:
        archive.extractall(folder, filter="data")
    (inner,) = folder.iterdir()
    return inner


@pytest.fixture(scope="module")
def rebuilt(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that is built from the sdist."""
    folder = tmp_path_factory.mktemp("rebuilt")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return wheel


NO_COMPILER = "the native front needs a C compiler"
needs_compiler = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason=NO_COMPILER)


def names(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist() if not info.is_dir()}


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: tuple[Path, Path]) -> None:
    found = {name for name in names(built[0]) if ".dist-info/" not in name and ".data/" not in name}
    expected = {f"hookrouter/{name}" for name in tree(REPOSITORY / "hookrouter")}
    expected |= tree(REPOSITORY / "plugins")
    expected |= {f"hookrouter/dialogs/_prompts/{name}" for name in tree(REPOSITORY / "prompts")}
    assert found - {NATIVE} == expected
    assert NATIVE_SOURCE in found


def native_of(wheel: Path, folder: Path) -> Path:
    """Unpack the native front, with its mode."""
    with zipfile.ZipFile(wheel) as archive:
        path = Path(archive.extract(NATIVE, folder))
        path.chmod(archive.getinfo(NATIVE).external_attr >> 16)
    return path


def wheel_of(source: Path, folder: Path, environ: dict[str, str]) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source, environ=environ)
    (wheel,) = folder.glob("*.whl")
    return wheel


@needs_compiler
def test_a_wheel_with_the_native_front_is_for_one_platform(built: tuple[Path, Path], tmp_path: Path) -> None:
    assert re.fullmatch(rf"hookrouter-{re.escape(__version__)}-py3-none-(?!any)\w+\.whl", built[0].name)
    assert run(native_of(built[0], tmp_path), "--protocol") == "HKR3\n"


@pytest.mark.parametrize("environ", [{"HOOKROUTER_NO_NATIVE": "1"}, {"CC": "false"}, {"CC": "/not/there"}, {"CC": "'"}])
def test_without_a_compiler_the_wheel_is_for_all_platforms(
    environ: dict[str, str], unpacked: Path, tmp_path: Path
) -> None:
    wheel = wheel_of(unpacked, tmp_path, environ)
    assert wheel.name == f"hookrouter-{__version__}-py3-none-any.whl"
    assert NATIVE not in names(wheel)
    assert NATIVE_SOURCE in names(wheel)


@needs_compiler
def test_where_nothing_can_be_linked_statically_the_native_front_is_dynamic(unpacked: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "bin" / "some cc"
    compiler.parent.mkdir()
    compiler.write_text('#!/bin/sh\nfor word; do [ "$word" = -static ] && exit 1; done\nexec cc "$@"\n')
    compiler.chmod(0o755)
    wheel = wheel_of(unpacked, tmp_path / "dist", {"CC": f"'{compiler}'"})
    assert run(native_of(wheel, tmp_path), "--protocol") == "HKR3\n"


@needs_compiler
def test_an_editable_install_gets_the_native_front_beside_its_source(unpacked: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(unpacked, source)
    build = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"
    run(sys.executable, "-c", build, tmp_path, cwd=source, environ={"HOOKROUTER_NO_NATIVE": "1"})
    assert not (source / NATIVE).exists()
    run(sys.executable, "-c", build, tmp_path, cwd=source)
    assert run(source / NATIVE, "--protocol") == "HKR3\n"
    # The next wheel has one of its own, and the sdist none.
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path / "dist", cwd=source)
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert (NATIVE in held, NATIVE_SOURCE in held) == (False, True)
    assert NATIVE not in names(wheel_of(source, tmp_path / "plain", {"HOOKROUTER_NO_NATIVE": "1"}))


def test_every_package_is_typed_and_every_plugin_is_announced(built: tuple[Path, Path]) -> None:
    found = names(built[0])
    packages = {name.partition("/")[0] for name in found if name.endswith(".py")}
    assert [package for package in packages if f"{package}/py.typed" not in found] == []
    with zipfile.ZipFile(built[0]) as archive:
        text = archive.read(f"hookrouter-{__version__}.dist-info/entry_points.txt").decode()
    announced = set(text.partition("[hookrouter]\n")[2].partition("\n\n")[0].replace("=", " ").split()[1::2])
    files = {name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for name in found}
    assert announced <= files
    # A package may hold more than one plugin.
    # One is of the core: the hooks that close dialogs.
    assert {module.partition(".")[0] for module in announced} == packages


def test_the_sdist_holds_the_source_the_tests_and_the_examples(unpacked: Path) -> None:
    found = tree(unpacked)
    for name in ("hookrouter", "plugins", "prompts", "bin", "examples", "tests", "docs", "claude-plugin", ".ci"):
        assert {f"{name}/{file}" for file in tree(REPOSITORY / name)} <= found
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", ".claude-plugin/marketplace.json"} <= found
    assert os.access(unpacked / "claude-plugin" / "hooks" / "run", os.X_OK)


def test_the_sdist_holds_nothing_that_runs_have_left(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        # The recorded homes are data of tests: what an earlier version has left is what they are about.
        names = [Path(name).parts[1:] for name in archive.getnames()]
        parts = {part for name in names if name[:3] != ("tests", "data", "homes") for part in name}
    assert parts & (CACHES | {".live", ".venv", "dist", "build"}) == set()
    assert [part for part in parts if part.endswith((".pyc", ".jsonl", ".log"))] == []


def test_the_sdist_makes_the_same_wheel(built: tuple[Path, Path], rebuilt: Path) -> None:
    assert names(rebuilt) == names(built[0])


def dependencies(wanted: Iterable[str]) -> set[str]:
    """Return the distributions that these need, themselves too, as far as they apply here."""
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(requirement.name)
        waiting += distribution(requirement.name).requires or []
    return found


def environment(folder: Path, wheel: Path) -> Path:
    """Make an environment that holds one wheel and what it needs, copied from here, and return its ``bin``."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for name in dependencies(declared):
        for file in distribution(name).files or []:
            if ".." not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), site / file)
    options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", *options, wheel)
    return folder / "bin"


@pytest.mark.parametrize("origin", ["wheel", "sdist"])
def test_it_works_in_a_fresh_environment(
    origin: str, built: tuple[Path, Path], rebuilt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    hookrouter = environment(tmp_path / "venv", built[0] if origin == "wheel" else rebuilt) / "hookrouter"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environ = {"HOOKROUTER_HOME": str(tmp_path / "home"), "PATH": os.defpath}
    assert run(hookrouter, "--version", environ=environ, cwd=elsewhere) == f"hookrouter {__version__}\n"
    listing = json.loads(run(hookrouter, "plugins", "list", "--json", environ=environ, cwd=elsewhere))
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert {(entry["name"], entry["status"]) for entry in listing} == {
        (name, "active") for name in declared["hookrouter"]
    }
    assert "--client" in run(hookrouter, "demo", "--help", environ=environ, cwd=elsewhere)
    assert "_hookrouter_completion" in run(hookrouter, "completion", "bash", environ=environ, cwd=elsewhere)
    assert json.loads(run(hookrouter, "sample", "Stop", environ=environ, cwd=elsewhere))["hook_event_name"] == "Stop"
    assert "name: hookrouter" in run(hookrouter, "skill", environ=environ, cwd=elsewhere)
    command = registered_program_works(hookrouter, tmp_path, environ)
    assert (f"/{NATIVE} " in command) is (NATIVE in names(built[0]))


def registered_program_works(hookrouter: Path, folder: Path, environ: dict[str, str]) -> str:
    """See that ``hookrouter install`` names this hookrouter by its absolute path; return the command."""
    settings = folder / "settings.json"
    run(hookrouter, "install", "--settings", settings, environ=environ)
    hooks = json.loads(settings.read_text(encoding="utf-8"))["hooks"]
    command = hooks["Stop"][0]["hooks"][0]["command"]
    program = Path(command.split()[-3])
    assert program.is_absolute()
    assert program.resolve() == hookrouter.resolve()
    payload = json.dumps(sample("Stop"))
    run("sh", "-c", command, environ={**environ, "PATH": "/usr/bin:/bin"}, stdin=payload)
    journal = next((folder / "home" / "logs").glob("*.jsonl")).read_text(encoding="utf-8")
    assert json.loads(journal.splitlines()[-1])["event"] == "Stop"
    return str(command)


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with pipx and uv, from the package index; skips where that cannot be reached."""
    folder = tmp_path_factory.mktemp("installers")
    venv.create(folder, with_pip=True)
    options = ["--quiet", "--disable-pip-version-check", "--retries", "1"]
    done = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", *options, "pipx", "uv"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        reason = f"pipx and uv cannot be installed from the package index: {done.stderr.strip()[-300:]}"
        if os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1":
            pytest.fail(f"HOOKROUTER_REQUIRE_LIVE=1, but {reason}", pytrace=False)
        pytest.skip(reason)
    return folder / "bin"


def _skip_without_index(tool: str, installers: Path, folder: Path, environ: dict[str, str]) -> None:
    """Skip if a tool cannot fetch what the package needs: each reads a configuration of its own."""
    target = ["--target", str(folder / "fetched"), "pluggy"]
    words = {"uv": [installers / "uv", "pip", "install", "--quiet", "--python", sys.executable]}
    pip = [installers / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    command = [*words.get(tool, pip), *target]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = f"{tool} cannot reach the package index: {done.stderr.strip()[-300:]}"
        if os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1":
            pytest.fail(f"HOOKROUTER_REQUIRE_LIVE=1, but {reason}", pytrace=False)
        pytest.skip(reason)


@pytest.mark.parametrize("tool", ["pipx", "uv"])
def test_it_works_as_a_tool_of_its_own(
    tool: str, built: tuple[Path, Path], installers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    scripts = tmp_path / "scripts"
    environ = {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(scripts),
        "PIPX_MAN_DIR": str(tmp_path / "man"),
        "UV_TOOL_DIR": str(tmp_path / "uv"),
        "UV_TOOL_BIN_DIR": str(scripts),
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "HOOKROUTER_HOME": str(tmp_path / "home"),
    }
    python = ["--python", sys.executable]
    words = ["install", *python] if tool == "pipx" else ["tool", "install", *python]
    _skip_without_index(tool, installers, tmp_path, environ)
    run(installers / tool, *words, built[0], environ=environ)
    hookrouter = scripts / "hookrouter"
    assert run(hookrouter, "--version", environ=environ) == f"hookrouter {__version__}\n"
    registered_program_works(hookrouter, tmp_path, environ)
    plugins = hookrouter, "plugins"
    on_path = {**environ, "PATH": f"{installers}{os.pathsep}{os.environ['PATH']}"}
    for name in ("first_guard", "other_guard"):
        told = json.loads(run(*plugins, "install", wheel(tmp_path, name), "--json", environ=on_path))
        assert [one["distribution"] for one in told["plugins"]] == [name]
        assert told["command"][0] == str(installers / tool)
    run(*plugins, "uninstall", "first-guard", environ=on_path)
    listed = json.loads(run(*plugins, "list", "--json", environ=on_path))
    assert [one["name"] for one in listed if one["distribution"] != "hookrouter"] == ["other-guard"]
