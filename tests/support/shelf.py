"""A plugin whose engine keeps the documents of several machines in one folder."""

from __future__ import annotations

__all__ = ["SHELF"]

SHELF = '''
import os
from contextlib import nullcontext

import attrs

from hookrouter import hookimpl
from hookrouter.storage.documents import Store
from hookrouter.storage.interface import StoreError


@attrs.frozen
class ShelfSettings:
    folder: str


class Shelf:
    """Documents in a folder that several homes share."""

    name = "shelf"
    settings = ShelfSettings

    def open(self, settings, machine, state):
        return ShelfStorage(settings.folder, machine)


class ShelfStorage:
    def __init__(self, folder, machine):
        self._folder, self._machine = folder, machine

    def store(self, area, report, machine=None):
        if not os.path.exists(self._folder):
            raise StoreError("the folder is missing; see: hookrouter storage init")
        return Store(os.path.join(self._folder, machine or self._machine, area or "documents"), report)

    def together(self):
        return nullcontext()

    def machines(self):
        return sorted(os.listdir(self._folder))

    def everywhere(self):
        return None

    def init(self):
        if os.path.isdir(self._folder):
            return []
        os.mkdir(self._folder, 0o700)
        return ["the folder was made"]

    def migrate(self, version=None):
        if version not in (None, 1):
            raise StoreError(f"there is no version {version}; allowed: 1")
        return []

    def check(self):
        return [] if os.path.isdir(self._folder) else ["the folder is missing; see: hookrouter storage init"]

    def close(self):
        pass


@hookimpl
def storage_engine():
    return Shelf()
'''
