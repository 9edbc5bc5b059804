"""Which packages `hookrouter plugins uninstall` leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.plugin_packages import uninstall


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sessions", "'sessions' is hookrouter's own: hookrouter plugins disable sessions switches it off"),
        ("HookRouter", "'HookRouter' is hookrouter itself"),
        ("guard", "'guard' is a file: hookrouter plugins remove guard"),
        ("pluggy", "no plugin and no package with plugins is called 'pluggy'"),
        ("a\x1b[0m", r"no plugin and no package with plugins is called"),
    ],
)
def test_what_is_no_package_with_plugins_stays(name: str, said: str, hookrouter_home: Path) -> None:
    (hookrouter_home / "plugins").mkdir(mode=0o700)
    (hookrouter_home / "plugins" / "guard.py").write_text("from hookrouter import hookimpl\n")
    Application.from_environ(scan=True)
    with pytest.raises(CommandError) as refused:
        uninstall(name)
    assert said in str(refused.value)
