"""A folder or a pipe in the place of a file is refused at once, and costs no descriptor."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hookrouter.messaging.secrets import SecretError, read_secret
from hookrouter.storage import secret_file
from hookrouter.storage.documents import Store
from hookrouter.storage.home import Home
from hookrouter.storage.logs import LOG_FLAGS, prepare_log
from hookrouter.storage.own_file import read_own_json, read_trusted
from hookrouter.util.fastjson import dumps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def own_json(path: str) -> str:
    return dumps(read_own_json(path))


def trusted(path: str) -> str:
    return read_trusted(path).decode()


def named_secret(path: str) -> str:
    return read_secret({"token_file": path}, "token", {})


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("read", [own_json, trusted, named_secret, secret_file.read_secret])
def test_what_is_no_file_is_refused_and_costs_no_descriptor(
    tmp_path: Path, read: Callable[[str], str], make: Callable[[str], None]
) -> None:
    path = str(tmp_path / "odd")
    make(path)
    before = os.listdir("/dev/fd")
    for _ in range(3):
        with suppress(OSError, SecretError):
            assert read(path) == "{}"
    assert len(os.listdir("/dev/fd")) == len(before)


def test_a_pipe_in_the_place_of_a_log_or_a_lock_is_not_waited_for(tmp_path: Path) -> None:
    home = Home.in_folder(str(tmp_path))
    for folder in (home.logs, home.state, os.path.join(home.state, "locks")):
        os.makedirs(folder)
    os.mkfifo(log := prepare_log(home, "odd.log"))
    with pytest.raises(OSError, match="No such device or address"):
        os.open(log, LOG_FLAGS, 0o600)
    store = Store(home.state, lambda _text: None)
    os.mkfifo(os.path.join(home.state, "locks", "odd-1.lock"))
    assert store.lock_holder("odd", "1") is None
