"""How questions ended, found among those of a busy day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.dialogs.verdicts import Verdict, list_verdicts, save_verdict
from hookrouter.storage.documents import Store

NAMES = st.sampled_from(["a", "b", "a:b", "b:a", ":", "a" * 300, "a" * 299 + "b"])


def verdict(session: str, tool_use_id: str) -> Verdict:
    return Verdict(session=session, session_id=f"id-{session}", tool_use_id=tool_use_id, outcome="verified", by="agent")


@given(st.sets(st.tuples(NAMES, NAMES), max_size=8), st.none() | NAMES, st.none() | NAMES)
def test_those_of_a_session_or_of_an_id_are_found_as_among_all(
    tmp_path_factory: pytest.TempPathFactory, ended: set[tuple[str, str]], session: str | None, tool_use_id: str | None
) -> None:
    store = Store(str(tmp_path_factory.mktemp("state")), pytest.fail)
    for names in ended:
        save_verdict(store, verdict(*names))
    among_all = [
        one for one in list_verdicts(store) if session in (None, one.session) and tool_use_id in (None, one.tool_use_id)
    ]
    assert list_verdicts(store, session=session, tool_use_id=tool_use_id) == among_all


def test_no_other_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path), pytest.fail)
    for number in range(20):
        save_verdict(store, verdict(f"s{number % 4}", f"toolu_{number}"))
    read: list[str] = []
    read_file = Store._content

    def noted(self: Store, path: str) -> dict[str, Any] | None:
        read.append(path)
        return read_file(self, path)

    monkeypatch.setattr(Store, "_content", noted)
    assert len(list_verdicts(store, session="s3", tool_use_id="toolu_7")) == 1
    assert len(read) == 1
    assert len(list_verdicts(store, session="s3")) == 5
    assert len(read) == 6
