"""Which client versions record several choices in which style."""

from __future__ import annotations

import pytest

from hookrouter.answering.recording import PLAIN, PLAIN_UNTIL, QUOTED, QUOTED_SINCE, STYLES, recording_styles


@pytest.mark.parametrize(
    ("version", "styles"),
    [
        ((2, 0, 76), (PLAIN,)),
        (PLAIN_UNTIL, (PLAIN,)),
        ((2, 1, 236), STYLES),
        (QUOTED_SINCE, (QUOTED,)),
        ((2, 2), (QUOTED,)),
        (None, STYLES),
    ],
)
def test_a_style_is_certain_where_it_was_seen(version: tuple[int, ...] | None, styles: tuple[str, ...]) -> None:
    assert recording_styles(version) == styles
