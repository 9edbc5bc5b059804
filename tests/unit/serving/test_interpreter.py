"""What of an environment makes an interpreter another one."""

from __future__ import annotations

import pytest

from hookrouter._serving.child import interpreter_of


@pytest.mark.parametrize(
    ("environ", "charset"),
    [
        ({}, None),
        ({"LANG": "C"}, None),
        ({"LANG": "de_DE.UTF-8"}, None),
        ({"LANG": "de_DE.utf8@euro"}, None),
        # As Terminal.app sets it.
        ({"LC_CTYPE": "UTF-8"}, None),
        ({"LANG": "de_DE.UTF-8", "LC_CTYPE": "UTF-8"}, None),
        ({"LANG": "de_DE"}, ""),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.ISO-8859-1"}, "iso-8859-1"),
    ],
)
def test_every_way_to_say_utf_8_is_the_same(environ: dict[str, str], charset: str | None) -> None:
    assert interpreter_of({**environ, "PYTHONPATH": "/x"}) == {
        "PYTHONPATH": "/x",
        **({} if charset is None else {"charset": charset}),
    }
