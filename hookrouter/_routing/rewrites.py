"""What plugins change of a tool's input, or of its output, as patches that are applied one after the other.

A reply holds the whole value that is to take the place of the one that its plugin saw. What counts is what the plugin
changed of it, by key: so a reply whose value was built from an older one takes nothing back that another plugin has
changed since.
"""

from __future__ import annotations

from hookrouter._contract.tables import TOOL_ALIASES, TOOLS
from hookrouter.records import check
from hookrouter.storage.journal import cap
from hookrouter.tools.calls import tool_class
from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from hookrouter.records import ToolInput

__all__ = ["MISFIT", "WHOLE", "Patch", "changed_by", "misfits", "same"]

MISFIT = "gives a tool an input that does not fit:"
"""How each of the :func:`misfits` begins; in a warning, the plugin's name stands before it."""

WHOLE = "*"
"""What stands for the key if a value is no table, and so is changed as a whole."""

_MAX_TEXT = 200
_MAX_ITEMS = 20
_DEPTH = 4


class Patch(Value):
    """What one plugin changed of a JSON value."""

    before: object
    """The value as the plugin saw it."""
    after: object
    """The value that it returned."""

    def keys(self) -> dict[str, list[str]]:
        """Return the keys that were ``changed``, ``added`` and ``removed``, each sorted; what is empty is left out."""
        if not isinstance(self.before, dict) or not isinstance(self.after, dict):
            return {} if same(self.before, self.after) else {"changed": [WHOLE]}
        before, after = self.before, self.after
        found = {
            "changed": sorted(key for key in before.keys() & after.keys() if not same(before[key], after[key])),
            "added": sorted(after.keys() - before.keys()),
            "removed": sorted(before.keys() - after.keys()),
        }
        return {kind: keys for kind, keys in found.items() if keys}

    def values(self) -> dict[str, list[object]]:
        """Return the former and the new value of each key that :meth:`keys` names, cut for a record."""
        if isinstance(self.before, dict) and isinstance(self.after, dict):
            pairs = {key: (self.before.get(key), self.after.get(key)) for key in _touched(self)}
        else:
            pairs = dict.fromkeys(_touched(self), (self.before, self.after))
        return {key: [cap(value, _MAX_TEXT, _MAX_ITEMS, _DEPTH) for value in pair] for key, pair in pairs.items()}

    def apply(self, value: object) -> object:
        """Return ``value`` with these changes; the value itself is not changed."""
        if not isinstance(value, dict) or not isinstance(self.before, dict) or not isinstance(self.after, dict):
            return value if same(self.before, self.after) else self.after
        keys = self.keys()
        kept = {key: item for key, item in value.items() if key not in keys.get("removed", ())}
        return kept | {key: self.after[key] for kind in ("changed", "added") for key in keys.get(kind, ())}


def changed_by(patches: Iterable[tuple[str, Patch]]) -> dict[str, list[str]]:
    """Return, for each key that some patch changed, added or removed, the names that go with those patches, in order.

    The last name is who set the value that the key has in the end.
    """
    found: dict[str, list[str]] = {}
    for name, patch in patches:
        for key in _touched(patch):
            names = found.setdefault(key, [])
            if name in names:
                names.remove(name)
            names.append(name)
    return found


def misfits(tool: str, rewrites: Iterable[tuple[str, Patch]]) -> list[str]:
    """Return what the input of a tool has got wrong by patches, in words; nothing that was wrong before.

    ``rewrites`` name the reply's field of each. The whole input is replaced, so a key that was left out is lost, and
    one that is misspelt does nothing. Nothing is said of a tool that is not known.
    """
    tool = TOOL_ALIASES.get(tool, tool)
    kind: type[ToolInput] | None = tool_class(tool, "Input") if tool in TOOLS else None
    patches = [patch for field, patch in rewrites if field == "updatedInput"]
    return [f"{MISFIT} {fault}" for patch in patches if kind is not None for fault in _misfits(kind, patch)]


def _misfits(kind: type[ToolInput], patch: Patch) -> list[str]:
    before: Any = patch.before if isinstance(patch.before, dict) else {}
    after: Any = patch.after if isinstance(patch.after, dict) else {}
    known = [field.wire for field in kind.FIELDS.values()]
    unknown = [key for key in after if key not in known and key not in before]
    found = [f"{key}: unknown, {kind.TOOL} takes {', '.join(known) or 'nothing'}" for key in unknown]
    had = {fault for faults in check(kind, before) for fault in faults}
    return found + [fault for faults in check(kind, after) for fault in faults if fault not in had]


def _touched(patch: Patch) -> list[str]:
    return [key for keys in patch.keys().values() for key in keys]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; unlike Python, JSON tells true from 1 and 1 from 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
