"""The layers of the tests: what a pure test may not do is refused by its name, and a run chooses its layers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

CONFTEST = """
from pathlib import Path
import pytest
from support.layers import LayerPlugin, register_profiles

register_profiles(steady=True)


def pytest_addoption(parser):
    parser.addoption("--everything", action="store_true")
    parser.addoption("--rest", action="store_true")


def pytest_configure(config):
    config.pluginmanager.register(LayerPlugin(Path(__file__).parent), "test-layers")
"""

INI = """
[pytest]
testpaths = tests/unit tests/plugins tests/smoke
pythonpath = {tests}
addopts = --import-mode=importlib -p no:cacheprovider
markers =
    slow: takes seconds
"""

REFUSED = {
    "subprocess": "subprocess.run(['/bin/true'])",
    "shell": "os.system('true')",
    "fork": "os.fork() or os._exit(0)",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "pty": "pty.fork()",
    "multiprocessing": "multiprocessing.get_context('fork').Process(target=print).start()",
    "listen": "socket.socket().bind(('127.0.0.1', 0))",
    "connect": "socket.socket().connect(('127.0.0.1', 9))",
    "unix socket": "socket.socket(socket.AF_UNIX).bind('here')",
    "datagram": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "lookup": "socket.getaddrinfo('localhost', 80)",
    "sleep": "time.sleep(0)",
    "caught": "try:\n        subprocess.run(['/bin/true'])\n    except BaseException:\n        pass",
    "thread": "thread = threading.Thread(target=lambda: suppressed(time.sleep)); thread.start(); thread.join()",
}

ALLOWED = {
    "pair": "[end.close() for end in socket.socketpair()]",
    "loop": "asyncio.run(asyncio.sleep(0))",
    "file": "open(os.devnull).close()",
    "pipe": "[os.close(end) for end in os.pipe()]",
}

HEADER = """
import asyncio, contextlib, multiprocessing, os, pty, socket, subprocess, threading, time

def suppressed(act):
    with contextlib.suppress(BaseException):
        act(0)
"""


def module_of(lines: dict[str, str]) -> str:
    return HEADER + "".join(f"\n\ndef test_{name.replace(' ', '_')}():\n    {line}\n" for name, line in lines.items())


class Project:
    """A project with layers of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.write("pytest.ini", INI.format(tests=TESTS))
        self.write("tests/conftest.py", CONFTEST)

    def write(self, path: str, text: str) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> tuple[dict[str, str], str]:
        """Return how each test ended, by its function, and all that was printed."""
        command = [sys.executable, "-m", "pytest", "-rA", "--tb=line", *arguments]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        outcomes = {}
        for line in done.stdout.splitlines():
            word, _, rest = line.partition(" ")
            if word in ("PASSED", "FAILED", "ERROR"):
                outcomes[rest.split(" - ")[0].split("::")[-1]] = word
        return outcomes, done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("layer", ["unit", "plugins"])
def test_a_pure_test_that_goes_beyond_its_layer_fails_by_its_name(project: Project, layer: str) -> None:
    project.write(f"tests/{layer}/test_pure.py", module_of({**REFUSED, **ALLOWED}))
    outcomes, said = project.run()
    expected = dict.fromkeys(REFUSED, "FAILED") | dict.fromkeys(ALLOWED, "PASSED")
    assert outcomes == {f"test_{name.replace(' ', '_')}": outcome for name, outcome in expected.items()}, said
    assert f"tests/{layer}/test_pure.py::test_sleep sleeps for 0 s" in said
    assert f"tests/{layer}/test_pure.py::test_caught is in a layer whose tests start no process" in said


def test_other_layers_may_do_all_that(project: Project) -> None:
    harmless = {name: REFUSED[name] for name in ("subprocess", "sleep", "lookup", "listen")}
    project.write("tests/smoke/test_smoke.py", module_of(harmless))
    outcomes, said = project.run()
    assert set(outcomes.values()) == {"PASSED"}, said


SLOW = "import pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    pass\n"
DRAWN = (
    "from hypothesis import given, settings, strategies\n\n\n@given(strategies.integers())\n"
    "def test_drawn(number):\n    pass\n\n\ndef test_{name}():\n    print('examples', settings().max_examples)\n"
)


@pytest.mark.parametrize(
    ("arguments", "run", "examples"),
    [
        ((), {"test_unit", "test_drawn", "test_smoke"}, 10),
        (("--everything",), {"test_unit", "test_slow", "test_drawn", "test_smoke", "test_live", "test_docs"}, 100),
        (("--rest",), {"test_slow", "test_drawn", "test_live", "test_docs"}, 40),
        (("tests/unit",), {"test_unit", "test_slow", "test_drawn"}, 10),
        (("tests/live/test_live.py",), {"test_live"}, 10),
        (("-n", "1"), {"test_unit", "test_drawn", "test_smoke"}, 10),
        (("-n", "1", "--rest"), {"test_slow", "test_drawn", "test_live", "test_docs"}, 40),
    ],
)
def test_what_is_run(project: Project, arguments: tuple[str, ...], run: set[str], examples: int) -> None:
    project.write("tests/unit/test_unit.py", DRAWN.replace("{name}", "unit"))
    project.write("tests/unit/test_slow.py", SLOW)
    for layer in ("smoke", "live", "docs"):
        text = DRAWN.replace("test_drawn", "drawn").replace("{name}", layer)
        project.write(f"tests/{layer}/test_{layer}.py", text)
    outcomes, said = project.run(*arguments)
    assert set(outcomes) == run, said
    assert set(outcomes.values()) == {"PASSED"}, said
    assert f"examples {examples}" in said
    last = said.strip().splitlines()[-1]
    if run == {"test_unit", "test_drawn", "test_smoke"}:
        assert last.startswith("Not run: tests/integration, tests/docs,")
        assert last.endswith("All: python -m pytest -n auto --everything")
    else:
        assert "Not run" not in said
