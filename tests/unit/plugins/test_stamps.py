"""What tells one state of a file from the next, whatever time of modification it is given."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrouter._plugins.index import file_stamp


def same_size(file: Path) -> None:
    file.write_text("bbbb")


def other_size(file: Path) -> None:
    file.write_text("bbbbbb")


def another_file(file: Path) -> None:
    other = file.with_suffix(".other")
    other.write_text("bbbb")
    os.replace(other, file)


def a_copy(file: Path) -> None:
    other = file.with_suffix(".other")
    other.write_text("bbbb")
    shutil.copystat(file, other)
    file.unlink()
    shutil.move(other, file)


@pytest.mark.parametrize("change", [same_size, other_size, another_file, a_copy], ids=lambda one: one.__name__)
def test_a_change_is_told_although_the_time_of_modification_is_the_same(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    file = tmp_path / "file"
    file.write_text("aaaa")
    before, status = file_stamp(str(file)), os.stat(file)
    assert file_stamp(str(file)) == before
    while os.stat(tmp_path).st_ctime_ns == status.st_ctime_ns:
        # The file system's clock may be coarse.
        (tmp_path / "tick").touch()
        (tmp_path / "tick").unlink()
    change(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert file_stamp(str(file)) != before


def test_no_file_has_no_stamp(tmp_path: Path) -> None:
    assert file_stamp(str(tmp_path / "none")) == file_stamp("nul\0") == ""
