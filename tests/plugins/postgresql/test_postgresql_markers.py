"""What a watch's file and a notification hold: read whole, and misled by nothing."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hookrouter_postgresql import names
from hookrouter_postgresql.markers import Markers, Watched

IDS = st.text("0123456789abcdef", min_size=32, max_size=32)


@given(news=st.lists(st.tuples(IDS, st.integers(0, 2**63 - 1)), max_size=20), cut=st.integers(0, 53))
def test_news_are_read_whole(tmp_path_factory, news, cut):
    markers = Markers(str(tmp_path_factory.mktemp("home")))
    watched = Watched("machine", "", "thing", b"\xff")
    marker = markers.open("a" * 32, watched)
    try:
        assert markers.watched("a" * 32) == watched
        for one, version in news:
            markers.tell("a" * 32, one, version)
        path = Path(markers.folder, "aa", "a" * 32)
        with path.open("ab") as file:
            file.write(b"x" * cut)
        # A document's own marker is told of it too.
        assert [found for found in marker.news() if found[0] != "a" * 32] == [
            found for found in news if found[0] != "a" * 32
        ]
        assert marker.news() == []
    finally:
        marker.close()
    assert os.listdir(path.parent) == []


ANYTHING = st.one_of(IDS, st.text("0123456789abcdef/.\t\n é", max_size=40), st.text(max_size=40))


@given(payload=st.one_of(st.binary(max_size=80), st.builds(lambda *a: " ".join(a).encode(), *[ANYTHING] * 3)))
def test_of_any_notification_only_ids_are_taken(payload):
    found = names.ids_told(payload)
    if found is None:
        return
    assert all(map(names.is_id, found))
    version = payload.removeprefix(" ".join(found).encode() + b" ")
    assert 1 <= len(version) <= 19
    assert set(version) <= set(b"0123456789")


@given(
    whole=st.one_of(st.just("a" * 32), ANYTHING),
    one=st.one_of(st.just("b" * 32), ANYTHING),
    version=st.integers(-5, 10**25),
    torn=st.binary(max_size=60),
)
def test_nothing_that_is_told_leads_out_of_the_folder_or_misleads_a_reader(tmp_path_factory, whole, one, version, torn):
    folder = tmp_path_factory.mktemp("home")
    outside = folder / "outside"
    outside.write_bytes(b"")
    markers = Markers(str(folder / "state"))
    marker = markers.open("a" * 32, Watched("machine", "", "thing", None))
    try:
        for first in (whole, str(outside), "../../outside"):
            markers.tell(first, one, version)
            markers.tell(one, first, version)
            assert markers.is_watched(first) is (first == "a" * 32)
        with Path(markers.folder, "aa", "a" * 32).open("ab") as file:
            file.write(torn)
        # Whatever a full disk had cut, the next line is read.
        markers.tell("a" * 32, "c" * 32, 7)
        assert ("c" * 32, 7) in marker.news()
    finally:
        marker.close()
    assert outside.read_bytes() == b""
