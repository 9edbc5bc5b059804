"""Refusals of ``[[approvals.rules]]`` in ``permissions.deny`` of Claude Code's settings, where no hook is needed.

Claude Code's own refusals come before every other rule and before every hook, in all sessions that read the file. So a
rule is put there only if no rule before it could have decided otherwise, and if both read it alike: a path that begins
with ``/`` is the project's here, and in the user's settings the client's own (measured on Claude Code 2.1.332).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._installation.json_edit import Array, Object, Scalar
from hookrouter._installation.settings_document import opened, remove_member, root, set_member, shape_error, with_mark
from hookrouter.permission_rules.rule import EVERY_TOOL, RUNNING, RuleError, overlaps, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._installation.json_edit import Document, Node
    from hookrouter.config import ApprovalsConfig
    from hookrouter.permission_rules.rule import Rule

__all__ = ["denied", "mirrored", "with_denied", "without_denied"]

_PERMISSIONS, _DENY = "permissions", "deny"


def mirrored(approvals: ApprovalsConfig) -> tuple[str, ...]:
    """Return what of the rules is to be said in ``permissions.deny`` of a settings file, whichever it is."""
    if not approvals.mirror:
        return ()
    found: list[str] = []
    before: list[Rule] = []
    for each in approvals.rules:
        try:
            rule = parse(each.tool)
        except RuleError:
            continue
        if each.decide != "deny":
            before.append(rule)
        elif _is_said_alike(rule) and not any(_may_come_first(one, rule) for one in before):
            found.append(each.tool.strip())
    return tuple(dict.fromkeys(found))


def _is_said_alike(rule: Rule) -> bool:
    if rule.tool in (EVERY_TOOL, "Elicitation"):
        return False
    if rule.specifier is None or rule.tool in ("Bash", "WebFetch"):
        return True
    return rule.specifier.startswith(("//", "~/"))


def _may_come_first(earlier: Rule, rule: Rule) -> bool:
    """Whether the earlier rule may be about a call that ``rule`` is about, and so decide on it."""
    if rule.tool in RUNNING and earlier.tool not in (EVERY_TOOL, *RUNNING):
        # What a command does to files is judged beside the command.
        return False
    return overlaps(earlier, rule)


def denied(text: str) -> tuple[str, ...]:
    """Return what a settings text refuses in ``permissions.deny``. Raises SettingsError."""
    return tuple(each for each in _texts(_items(opened(text))) if each is not None)


def with_denied(text: str, rules: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return a settings text that refuses these, too, and which of them it did not before. Raises SettingsError."""
    there = denied(text)
    missing = tuple(rule for rule in rules if rule not in there)
    document = opened(text)
    for rule in missing:
        items = _items(document)
        if isinstance(items, Array):
            document = document.append(items, rule)
        elif items is None:
            document = set_member(document, _PERMISSIONS, _DENY, [rule])
        else:
            raise shape_error(document, items, f'"{_PERMISSIONS}.{_DENY}"', "an array")
    return (with_mark(text, document) if missing else text), missing


def without_denied(text: str, rules: Sequence[str]) -> str:
    """Return a settings text without these refusals, each once, and without what they leave empty.

    Raises SettingsError.
    """
    document = before = opened(text)
    for rule in rules:
        items = _items(document)
        texts = _texts(items)
        if not isinstance(items, Array) or rule not in texts:
            continue
        if len(texts) == 1:
            document = remove_member(document, _PERMISSIONS, _DENY)
        else:
            # The last one is the one that was added.
            document = document.remove(items, len(texts) - 1 - texts[::-1].index(rule))
    return text if document is before else with_mark(text, document)


def _items(document: Document) -> Node | None:
    table = root(document).get(_PERMISSIONS)
    return table.get(_DENY) if isinstance(table, Object) else None


def _texts(items: Node | None) -> list[str | None]:
    """Return each item of an array, None for one that is no text; nothing of anything else."""
    values = [each.value for each in items.elements] if isinstance(items, Array) else []
    return [str(value.value) if isinstance(value, Scalar) and value.is_string else None for value in values]
