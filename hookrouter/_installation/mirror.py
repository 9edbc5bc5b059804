"""Refusals of ``[[approvals.rules]]`` in ``permissions.deny`` of Claude Code's settings, where no hook is needed.

Claude Code's own refusals come before every other rule and before every hook, in all sessions that read the file. So a
rule is put there only if no rule before it could have decided otherwise, and if both read it alike: a path that begins
with ``/`` is the project's here, and in the user's settings the client's own (measured on Claude Code 2.1.332).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter._installation.json_edit import Array, Object, Scalar
from hookrouter._installation.settings_document import opened, root, set_member, with_mark
from hookrouter._installation.settings_edit import SettingsError
from hookrouter.permission_rules.rule import EVERY_TOOL, RUNNING, RuleError, overlaps, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter._installation.json_edit import Document
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
    table = root(opened(text)).get(_PERMISSIONS)
    items = table.get(_DENY) if isinstance(table, Object) else None
    return _texts(items) if isinstance(items, Array) else ()


def with_denied(text: str, rules: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return a settings text that refuses these, too, and which of them it did not before. Raises SettingsError."""
    missing = tuple(rule for rule in rules if rule not in denied(text))
    if not missing:
        return text, ()
    document = opened(text)
    table = root(document).get(_PERMISSIONS)
    items = table.get(_DENY) if isinstance(table, Object) else None
    if not isinstance(items, Array):
        if isinstance(items, (Object, Scalar)):
            raise SettingsError(f'"{_PERMISSIONS}.{_DENY}" must be an array, found {document.raw(items)[:40]}')
        return with_mark(text, set_member(document, _PERMISSIONS, _DENY, list(missing))), missing
    for rule in missing:
        table = root(document).get(_PERMISSIONS)
        items = table.get(_DENY) if isinstance(table, Object) else None
        assert isinstance(items, Array)  # noqa: S101 - nothing else was appended to
        document = document.append(items, rule)
    return with_mark(text, document), missing


def without_denied(text: str, rules: Sequence[str]) -> str:
    """Return a settings text without these refusals, each once, and without what they leave empty.

    Raises SettingsError.
    """
    document = before = opened(text)
    for rule in rules:
        table = root(document).get(_PERMISSIONS)
        items = table.get(_DENY) if isinstance(table, Object) else None
        if not isinstance(table, Object) or not isinstance(items, Array) or rule not in _texts(items):
            continue
        values = [each.value.value if isinstance(each.value, Scalar) else None for each in items.elements]
        # The last one is the one that was added.
        at = len(values) - 1 - values[::-1].index(rule)
        document = document.remove(items, at)
        if len(items.elements) == 1:
            document = document.remove(_table(document), _table(document).index(_DENY))
            if not _table(document).elements:
                document = document.remove(root(document), root(document).index(_PERMISSIONS))
    return text if document is before else with_mark(text, document)


def _table(document: Document) -> Object:
    table = root(document).get(_PERMISSIONS)
    assert isinstance(table, Object)  # noqa: S101 - it was one before
    return table


def _texts(items: Array) -> tuple[str, ...]:
    values = (each.value for each in items.elements)
    return tuple(str(value.value) for value in values if isinstance(value, Scalar) and value.is_string)
