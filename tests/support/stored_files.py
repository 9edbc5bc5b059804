"""Systems whose files hold documents: what each has, and what the contract of document engines does in processes."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import pytest

from hookrouter.storage import changes
from hookrouter.util import _folder_events, folder_watch

__all__ = ["FORKING", "WAITING", "poor_system", "without_instances"]

FORKING = (
    "test_of_many_processes_one_creates",
    "test_no_count_is_lost_between_processes_that_replace",
    "test_a_reader_sees_the_old_document_or_the_new_one",
    "test_a_watch_wakes_a_process_that_waits",
    "test_looking_at_a_lock_disturbs_nobody_who_takes_it",
    "test_a_lock_ends_with_its_process",
    "test_a_forked_child_leaves_the_lock_to_its_parent",
)
"""The tests of the contract that start processes."""

WAITING = (
    "test_a_watch_wakes_for_each_kind_of_change",
    "test_a_watch_does_not_tell_of_other_documents",
    "test_a_watch_counts_from_its_beginning",
)
"""Those that sleep where the system does not tell of changes."""


def poor_system(patch: pytest.MonkeyPatch) -> None:
    """Have a system that neither tells of changes nor has hard links."""

    def no_link(_source: Any, _target: Any) -> NoReturn:
        raise OSError(1, "Operation not permitted")

    patch.setattr(folder_watch, "subscribe", lambda _folder: None)
    patch.setattr(os, "link", no_link)
    patch.setattr(changes, "_POLL", 0.01)


def without_instances(patch: pytest.MonkeyPatch) -> None:
    """Have a user whose programs have taken all instances of inotify that the system allows."""

    def refused() -> NoReturn:
        raise OSError(24, "Too many open files")

    patch.setattr(_folder_events, "_Inotify", refused)
