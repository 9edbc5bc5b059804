"""The generator of long histories writes what the real reader tells again."""

from collections import Counter

from hookrouter.dialogs.stories.history import history
from hookrouter.storage.documents import Store
from hookrouter.storage.journal import Journal
from support.big_home import make_big_home


def test_history_tells_what_was_made(tmp_path):
    make_big_home(tmp_path, questions=3, sessions=2, stories=8)
    told = history(Journal(str(tmp_path / "logs")), Store(str(tmp_path / "state"), lambda text: None))
    counts = Counter(story["outcome"] for story in told)
    assert counts == {"verified": 4, "mismatch": 2, "answered_by_person": 2, "open": 3}
    assert {story["session"] for story in told} == {"big-0000", "big-0001"}
