"""The README and the manual: every block that can be run is run as it stands there, and every link leads somewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from hookrouter.answering.interfaces import AnswerRequest, AnswerStatus
from hookrouter.cli.scaffold.parts import PARTS
from hookrouter.messaging.gateway import Message, Probe, SendResult
from hookrouter.queue.channels import PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.client_commands import NOT_RUN
from hookrouter.terminals import Screen, TerminalAddress
from hookrouter.testing.contracts import __all__ as contracts
from hookrouter.testing.contracts.terminal_backend import NAMED_KEYS
from hookrouter.util.program import script_argv
from hookrouter_command import program
from scripts.generate.plugin_pages import made_packages
from support.command_lines import all_commands, check_calls, simple_commands
from support.manual import DOCS, REPOSITORY, WRITTEN, anchors, blocks, links, prose, replace_part

EXAMPLES = [str(file.relative_to(REPOSITORY)) for file in sorted(REPOSITORY.glob("examples/*/README.md"))]
PAGES = [*WRITTEN, "claude-plugin/README.md", *EXAMPLES]
ELSEWHERE = {
    "cd",
    "claude",
    "docker",
    "eval",
    "export",
    "hookrouter",
    "jq",
    "kubectl",
    "mypy",
    "pip",
    "pipx",
    "pyright",
    "pytest",
    "python",
    "python3",
}
ELSEWHERE |= {"ruff", "screen", "uv", "zensical"}
"""Programs that an example may start although they are not on this PATH."""

WITH_PYTHON = [page for page in WRITTEN if blocks(page, "python")]
WITH_ENTRY_POINTS = [page for page in WRITTEN if any("entry-points" in block.text for block in blocks(page, "toml"))]


def package(page: str, folder: Path) -> list[str]:
    """Write a page's Python into a folder, each block to the file that its first line names; return the names."""
    found = blocks(page, "python")
    assert [block.text.splitlines()[0] for block in found if not block.file] == [], "a block names no file"
    for block in found:
        file = folder / block.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text, encoding="utf-8")
    names = [block.file for block in found]
    assert len(set(names)) == len(names), "two blocks for one file"
    return names


def run(command: list[str], folder: Path, **environ: str) -> str:
    """Run a program, which must succeed, and return what it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.xdist_group("types of the pages")  # one cache for all pages, which one process at a time may write
@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_is_typed_and_formatted(page: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    names = package(page, tmp_path)
    # Most of what is checked is hookrouter itself.
    cache = str(tmp_path_factory.getbasetemp() / "mypy-of-the-pages")
    run(["mypy", "--strict", "--config-file=", "--cache-dir", cache, *names], tmp_path)
    style = ["--isolated", "--no-cache", "--line-length", "120"]
    run(["ruff", "format", "--diff", *style, "."], tmp_path)
    run(["ruff", "check", "--select", "E,F,I,B,PT,UP", *style, "."], tmp_path)


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_works(page: str, tmp_path: Path) -> None:
    """Each page's Python is one folder with its tests."""
    names = package(page, tmp_path)
    announced = page in WITH_ENTRY_POINTS
    if announced:
        installed(page, tmp_path)
    for name in names:
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if not name.startswith("test_"):
            run_python(f"import {module}", tmp_path)
    assert [name for name in names if name.startswith("test_")], "an example has no test"
    # The real client has tests of its own.
    environ = {"PATH": "/nowhere", "HOOKROUTER_REQUIRE_LIVE": ""} if "test_live.py" in names else {}
    environ |= {"PYTHONPATH": str(tmp_path)} if announced else {}
    said = run(["pytest", "-q", "-p", "no:cacheprovider", "--import-mode=prepend", "."], tmp_path, **environ)
    assert re.search(r"\d+ passed", said), said


def run_python(source: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", source], cwd=folder, check=True, stdin=subprocess.DEVNULL)


def installed(page: str, site: Path) -> list[str]:
    """Write a page's package as pip would install it, and return the names of its plugins."""
    package(page, site)
    tables = [tomllib.loads(block.text) for block in blocks(page, "toml") if "entry-points" in block.text]
    entries = {
        name: value for table in tables for name, value in table["project"]["entry-points"]["hookrouter"].items()
    }
    info = site / "example-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 0\n")
    lines = [f"{name} = {value}\n" for name, value in entries.items()]
    (info / "entry_points.txt").write_text("".join(["[hookrouter]\n", *lines]))
    return list(entries)


@pytest.mark.parametrize("page", [page for page in WITH_ENTRY_POINTS if page in WITH_PYTHON])
def test_the_entry_points_announce_the_plugins(page: str, tmp_path: Path) -> None:
    names = installed(page, tmp_path / "site")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "HOOKROUTER_HOME": str(tmp_path / "home")}
    for name in names:
        done = subprocess.run(
            [*script_argv(), "plugins", "info", name, "--json"], env=environ, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        assert json.loads(done.stdout)["hooks"]


CONFIGURATIONS = [
    (page, block.text)
    for page in PAGES
    for block in blocks(page, "toml")
    if "[project" not in block.text and page not in EXAMPLES
]


@pytest.mark.parametrize(("page", "text"), CONFIGURATIONS, ids=lambda value: value.partition("\n")[0])
def test_every_configuration_passes_the_check(page: str, text: str, tmp_path: Path) -> None:
    """Each with the gateways that it names from the other examples, and with the files and plugins that it names."""
    tables = tomllib.loads(text)
    named = {name for agent in tables.get("agents", []) for name in agent.get("gateways", [agent.get("gateway")])}
    named.add(tables.get("answer", {}).get("escalate_to", ""))
    named -= set(tables.get("gateways", {}))
    for _, other in CONFIGURATIONS:
        found = set(tomllib.loads(other).get("gateways", {}))
        if found & named and "agents" not in tomllib.loads(other):
            text += f"\n{other}"
            named -= found
    for path in re.findall(r'_file = "~/([^"]+)"', text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("secret")
        (tmp_path / path).chmod(0o600)
    program = tmp_path / "bin" / "wake-agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {
        **os.environ,
        **dict.fromkeys(re.findall(r'_env = "(\w+)"', text), "secret"),
        "HOME": str(tmp_path),
        "HOOKROUTER_HOME": str(tmp_path),
    }
    if text.startswith("# with the plugin"):
        installed(page, tmp_path / "site")
        environ["PYTHONPATH"] = str(tmp_path / "site")
    (tmp_path / "config.toml").write_text(text.replace("/home/me/", f"{tmp_path}/"), encoding="utf-8")
    done = subprocess.run([*script_argv(), "config", "check", "--json"], env=environ, capture_output=True, check=False)
    found = json.loads(done.stdout)["problems"]
    # The guards of the examples are not installed here.
    wrong = [one for one in found if one["level"] == "error" and "no such plugin is installed" not in one["message"]]
    assert wrong == [], done.stderr.decode()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "json")])
def test_every_json_block_is_json(page: str) -> None:
    for block in blocks(page, "json"):
        json.loads(block.text)


@pytest.fixture(scope="module")
def commands() -> Mapping[str, object]:
    return all_commands()


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_one(page: str, commands: dict[str, object]) -> None:
    """That of hookrouter has its arguments read; of others, modules and files that are ours must be there."""
    lines = "\n".join(block.text for block in blocks(page, "sh", "console"))
    inline = "\n".join(
        re.findall(r"`((?:\.venv/bin/python |python |tests/|scripts/|hookrouter )[^`\n]+)`", prose(page))
    )
    inline = inline.replace("|", "/").replace("ID/--all", "--all").replace("ID", "x").replace("FILE", "x")
    check_calls(lines, commands)
    for words in simple_commands(f"{lines}\n{inline}"):
        program = words[0].rpartition("/")[2]
        assert shutil.which(program) or program in ELSEWHERE or (REPOSITORY / words[0]).exists(), words
        if "-m" in words:
            module = words[words.index("-m") + 1]
            assert find_spec(module) is not None, words
        elif program == "python" and words[1:2] and not words[1].startswith("-"):
            assert (REPOSITORY / words[1]).exists(), words


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_it_names_exists(page: str, commands: dict[str, object]) -> None:
    first = {name.split()[0] for name in commands}
    named = set(re.findall(r"`hookrouter ([a-z]+)\b", prose(page)))
    assert named - first == set()


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), link
            continue
        path, _, anchor = link.partition("#")
        target = (REPOSITORY / page).parent / path if path else REPOSITORY / page
        assert target.exists(), f"{page} links to {link}"
        if anchor:
            assert anchor in anchors(str(target.resolve().relative_to(REPOSITORY))), f"{page} links to {link}"


def test_what_a_program_measures_goes_between_its_markers_only() -> None:
    start, end = "<!-- part -->", "<!-- /part -->"
    assert replace_part(f"a\n{start}\nold\n{end}\nb\n", "part", "new") == f"a\n{start}\nnew\n{end}\nb\n"
    for document in ("nothing", f"{start} only", f"{end}{start}", f"{start}{end}{start}{end}"):
        with pytest.raises(ValueError, match="one pair"):
            replace_part(document, "part", "new")


@pytest.mark.parametrize(("page", "name"), [("soak", "soak"), ("speed", "benchmark")])
def test_the_pages_of_evidence_have_the_parts_that_programs_write(page: str, name: str) -> None:
    text = (DOCS / "evidence" / f"{page}.md").read_text(encoding="utf-8")
    assert "measured" in replace_part(text, name, "measured")


def test_the_manual_has_every_page_once() -> None:
    with open(REPOSITORY / "zensical.toml", "rb") as file:
        nav = tomllib.load(file)["project"]["nav"]

    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        parts = entry if isinstance(entry, list) else entry.values() if isinstance(entry, dict) else ()
        return [page for part in parts for page in pages(part)]

    found = pages(nav)
    assert sorted(found) == sorted(str(file.relative_to(DOCS)) for file in DOCS.rglob("*.md"))


def message_names() -> list[str]:
    """Return what a gateway's program may meet: keys, kinds, variables and exit codes."""
    schema = json.loads(files("hookrouter.dialogs").joinpath("schemas/message.json").read_text("utf-8"))
    keys = schema["properties"]
    context = keys["context"]["properties"]
    about = program._about(Message("question", "a", "g", "s", "sid", "t", "subject", "text"))
    codes = [name for name in dir(os) if name.startswith("EX_") and getattr(os, name) in program.HOPELESS]
    return [*keys, *context, *context["earlier"]["items"]["properties"], *keys["kind"]["enum"], *about, *codes]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("docs/plugins/gateway.md", [*Message._fields, *SendResult._fields, *Probe._fields]),
        ("docs/plugins/terminal.md", [*TerminalAddress._fields, *Screen._fields, *NAMED_KEYS]),
        (
            "docs/plugins/channel.md",
            [*AnswerRequest._fields, *(name for name in vars(AnswerStatus) if name[0] != "_")],
        ),
        (
            "docs/plugins/prompt-channel.md",
            [*PromptRequest._fields, *PromptOutcome._fields, *(name for name in vars(PromptStatus) if name[0] != "_")],
        ),
        ("docs/how/keys.md", [f"/{name}" for rule in NOT_RUN for name in rule.names]),
        ("docs/reference/message.md", message_names()),
        ("docs/plugins/testing.md", [name for name in contracts if name.endswith("Contract")]),
    ],
)
def test_every_field_is_told(page: str, names: list[str]) -> None:
    text = prose(page)
    assert [name for name in names if not re.search(rf"`{name}\b", text)] == []


PARTS_PAGES = {
    "docs/plugins/hook.md": "post_tool_use_edit",
    "docs/plugins/fail-closed.md": "pre_tool_use_write",
    "docs/plugins/gateway.md": "gateway",
    "docs/plugins/terminal.md": "terminal_backend",
    "docs/plugins/planner.md": "keystroke_planner",
    "docs/plugins/channel.md": "answer_channel",
    "docs/plugins/dialog-kind.md": "dialog_kinds",
    "docs/plugins/prompt-channel.md": "prompt_channel",
    "docs/plugins/storage.md": "storage_engine",
    "docs/plugins/command.md": "cli_commands",
    "docs/plugins/web-pages.md": "web_pages",
    "docs/plugins/resident-process.md": "resident_process",
}


@pytest.mark.parametrize(("page", "hook"), PARTS_PAGES.items())
def test_a_page_about_plugins_goes_from_the_command_to_the_tests(page: str, hook: str) -> None:
    """What it shows is what the command writes: ``scripts.generate.manual`` puts it in, and checks it."""
    first, *_, last = blocks(page, "sh", "python")
    (package,) = made_packages((REPOSITORY / page).read_text(encoding="utf-8")).values()
    assert package.hooks == (hook,)
    assert first.text.splitlines()[1:] == [f"cd {package.distribution}", *package.work]
    shown = {block.file: block.text.partition("\n")[2] for block in blocks(page, "python")}
    written = {path.partition("/")[2]: text for path, text in package.files.items() if text and path.endswith(".py")}
    written.pop("test_live.py", None)
    assert shown == written
    assert last.file.startswith("test_")
    assert all(line in package.files["README.md"].splitlines() for line in package.work)


@pytest.mark.parametrize("page", ["docs/plugins/index.md"])
def test_every_part_that_plugins_new_knows_has_a_page(page: str) -> None:
    assert [hook for hook in PARTS if f"`{hook}`" not in prose(page)] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_picture_shows_the_layers_that_are_checked(page: str) -> None:
    with open(REPOSITORY / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    pictures = [re.findall(r"_*[a-z]\w*(?: [:|,] \w+)*", block.text) for block in blocks(page, "text")]
    wanted = [name for layer in layers for name in layer.split(" | ")]
    shown = [
        [name for words in picture for name in re.split(" [:|,] ", words) if name in wanted] for picture in pictures
    ]
    assert wanted in [list(dict.fromkeys(names)) for names in shown]
