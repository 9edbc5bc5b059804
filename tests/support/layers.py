"""The layers of the tests: what each may do, which run by default, and the guard that holds the quick ones to it.

``pytest`` alone runs the quick layers, ``pytest --everything`` all; a path that is named is run whole.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from support.pure import pure_surroundings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    _Phase = Generator[None, object, object]
    """One phase of a test, from within."""

__all__ = ["LAYERS", "TESTS", "Layer", "LayerPlugin", "layer_of"]

TESTS = Path(__file__).parents[1]
"""The folder of all tests."""


class Layer(NamedTuple):
    """One folder of tests."""

    name: str
    quick: bool
    """Whether it is part of the quick verdict."""
    pure: bool = False
    """Whether its tests may neither start a process nor fork, nor use a socket beyond a pair, nor sleep."""
    retried: bool = False
    """Whether CI runs a failed test once more, alone: its tests depend on programs that are not ours."""


LAYERS = (
    Layer("unit", quick=True, pure=True),
    Layer("plugins", quick=True, pure=True),
    Layer("smoke", quick=True),
    Layer("integration", quick=False, retried=True),
    Layer("docs", quick=False),
    Layer("typing", quick=False),
    Layer("browser", quick=False, retried=True),
    Layer("live", quick=False, retried=True),
)

_PROCESS = "starts a process"
_SOCKET = "uses a socket that is no pair"
_REFUSED = {
    "subprocess.Popen": _PROCESS,
    "os.exec": _PROCESS,
    "os.fork": "forks",
    "os.forkpty": "forks",
    "os.posix_spawn": _PROCESS,
    "os.spawn": _PROCESS,
    "os.system": _PROCESS,
    "pty.spawn": _PROCESS,
    "socket.bind": _SOCKET,
    "socket.connect": _SOCKET,
    "socket.getaddrinfo": "looks up a host",
    "socket.gethostbyaddr": "looks up a host",
    "socket.gethostbyname": "looks up a host",
    "socket.sendmsg": "",
    "socket.sendto": _SOCKET,
}
"""What the interpreter's audit events tell of, by event; an empty text is let by."""


def layer_of(path: Path, tests: Path = TESTS) -> Layer | None:
    """Return the layer of a test's file; None for one that is in no layer's folder. ``tests`` holds all layers."""
    try:
        first = path.relative_to(tests).parts[0]
    except ValueError:
        return None
    return next((layer for layer in LAYERS if layer.name == first), None)


_CHOSEN = "chosen layers"
_QUICK = "quick"
_NAMED = "named"
_EVERYTHING = "everything"
_REST = "rest"

_PROFILES = {_REST: "rest", _EVERYTHING: "full"}
"""Hypothesis's profile, by what is chosen; ``quick`` for the others."""


def _choose(config: pytest.Config) -> str:
    """Return what the command line asks for."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return _NAMED
    return _EVERYTHING if config.option.everything else _REST if config.option.rest else _QUICK


def _is_chosen(item: pytest.Item, layer: Layer | None, chosen: str) -> bool:
    slow = item.get_closest_marker("slow") is not None
    if chosen == _QUICK:
        return not slow
    if chosen == _REST and layer is not None and layer.quick:
        return slow or item.get_closest_marker("hypothesis") is not None
    return True


class _Guard:
    """Refuses, while a pure test runs, what its layer forbids."""

    def __init__(self) -> None:
        self._test = ""
        self.broken: list[str] = []
        """What the running test did that it may not."""
        sys.addaudithook(self._audit)

    @contextmanager
    def watching(self, test: str) -> Iterator[None]:
        """Refuse while a test runs."""
        self.broken = []
        self._test = test
        try:
            with pure_surroundings(), pytest.MonkeyPatch.context() as patch:
                if sys.platform != "darwin":
                    # No audit event before Python 3.13 tells of it. On macOS a folder is looked at again and again.
                    patch.setattr(time, "sleep", lambda seconds: self._refuse(f"sleeps for {seconds} s"))
                yield
        finally:
            self._test = ""

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        # Called for each import and each open file of the whole run: nothing may stand before this line.
        if event in _REFUSED and self._test and _REFUSED[event]:
            self._refuse(f"{_REFUSED[event]}: {event}{arguments!r:.200}")

    def _refuse(self, what: str) -> None:
        self.broken.append(what)
        # No Exception: the code under test catches those of plugins, gateways and terminals.
        pytest.fail(f"{self._test} {what}", pytrace=True)


class LayerPlugin:
    """The pytest plugin that chooses the layers of a run, and holds the tests of the pure ones to their limits."""

    def __init__(self, tests: Path = TESTS) -> None:
        """Install the guard; it lets everything by until a pure test begins. ``tests`` holds all layers."""
        self._tests = tests
        self._guard = _Guard()
        self._chosen = _NAMED

    @pytest.hookimpl
    def pytest_configure(self, config: pytest.Config) -> None:
        """Choose what is run. A worker of xdist is told by its controller."""
        told = getattr(config, "workerinput", None)
        self._chosen = told[_CHOSEN] if told is not None else _choose(config)
        all_layers = self._chosen in (_EVERYTHING, _REST)
        if all_layers:
            folders = [self._tests / layer.name for layer in LAYERS]
            config.args = [str(folder) for folder in folders if folder.is_dir()]
        if config.getoption("--hypothesis-profile") is None:
            settings.load_profile(_PROFILES.get(self._chosen, "quick"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of xdist what was chosen."""
        node.workerinput[_CHOSEN] = self._chosen

    @pytest.hookimpl(trylast=True)  # Hypothesis marks its tests in this hook
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what was not chosen: what is slow, or what the quick verdict runs with the same examples."""
        chosen, left_out = list[pytest.Item](), list[pytest.Item]()
        for item in items:
            is_chosen = _is_chosen(item, layer_of(item.path, self._tests), self._chosen)
            (chosen if is_chosen else left_out).append(item)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = chosen
        if self._chosen == _REST:
            # A test of minutes that begins last has all workers but one wait for it.
            items.sort(key=self._place, reverse=True)

    def _place(self, item: pytest.Item) -> int:
        layer = layer_of(item.path, self._tests)
        # What is left of the quick layers are slow ones.
        return -1 if layer is None else LAYERS.index(layer) + len(LAYERS) * layer.quick

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> _Phase:
        """Fail a test whose fixtures went beyond its layer."""
        return (yield from self._held(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> _Phase:
        """Fail a test that went beyond its layer."""
        return (yield from self._held(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> _Phase:
        """Fail a test whose threads or fixtures did so in the end."""
        return (yield from self._held(item))

    def _held(self, item: pytest.Item) -> _Phase:
        """Watch one phase of a test of a pure layer."""
        layer = layer_of(item.path, self._tests)
        if layer is None or not layer.pure:
            return (yield)
        with self._guard.watching(item.nodeid):
            result = yield
        if self._guard.broken:
            # It went on because the code under test, or another thread, has caught what refused it.
            pytest.fail(
                f"{item.nodeid} is in a layer whose tests start no process, do not fork, use no socket but a pair, and "
                f"do not sleep; it {'; it '.join(self._guard.broken)}. Move it to tests/integration.",
                pytrace=False,
            )
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Say, behind everything else, what was not run."""
        yield
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._chosen == _QUICK:
            left = ", ".join(f"tests/{layer.name}" for layer in LAYERS if not layer.quick)
            reporter.write_line(f"Not run: {left}, and tests marked slow. All: python -m pytest -n auto --everything")


def register_profiles(*, steady: bool) -> None:
    """Register Hypothesis's profiles, a name for each choice; ``steady``: draw the same examples in each run.

    How long a machine takes to make an example says nothing about the code, and every test has a home of its own that
    its examples share on purpose.
    """
    untimed = settings(
        deadline=None,
        derandomize=steady,
        database=None if steady else settings.get_profile("default").database,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    settings.register_profile("quick", untimed, max_examples=10)
    settings.register_profile("rest", untimed, max_examples=40)
    settings.register_profile("full", untimed, max_examples=100)
