"""The pluggy markers of hookrouter: what a plugin author decorates implementations with.

Pluggy stores the options of an implementation under ``<project name>_impl``, so the project name ``hookrouter``
is part of the public API.
"""

from __future__ import annotations

from hookrouter.util.value import Value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    import pluggy
    from typing_extensions import override as override

    F = TypeVar("F", bound=Callable[..., object])

__all__ = [
    "ENTRY_POINT_GROUP",
    "LONGEST_TIMEOUT",
    "LONGEST_WAIT",
    "PROJECT_NAME",
    "TIMEOUT",
    "Waits",
    "hookimpl",
    "hookspec",
    "if_known",
    "is_if_known",
    "is_ruled",
    "is_scripted",
    "is_stateless",
    "is_waking",
    "matched",
    "matching",
    "override",
    "ruled",
    "scripted",
    "stateless",
    "waiting",
    "waits",
    "wakes",
]

PROJECT_NAME = "hookrouter"
"""Pluggy's project name."""

ENTRY_POINT_GROUP = "hookrouter"
"""The entry-point group under which an installed distribution announces its plugins."""

TIMEOUT = f"{PROJECT_NAME}_timeout"
"""The attribute by which a plugin, a module or a class, says how many seconds it needs in one hook run by default:
``hookrouter_timeout = 60``. What the user sets as ``[plugins.NAME] timeout`` counts before it."""

LONGEST_TIMEOUT = 600.0
"""The most seconds that a plugin may declare so. One that waits for somebody has :func:`waits`."""

IMPLEMENTATION = f"{PROJECT_NAME}_impl"
"""The attribute in which pluggy looks for the options of an implementation."""

if TYPE_CHECKING:
    hookspec = pluggy.HookspecMarker(PROJECT_NAME)
    """Marks a hook specification (used by hookrouter itself)."""

    hookimpl = pluggy.HookimplMarker(PROJECT_NAME)
    """Marks a hook implementation: ``@hookimpl``, ``@hookimpl(tryfirst=True)``, ``@hookimpl(wrapper=True)``."""

else:
    # These do what pluggy's own markers do, which the tests compare: every plugin imports this module, and importing
    # pluggy takes longer than all the rest of most hook runs.

    def hookspec(function=None, firstresult=False, historic=False, warn_on_impl=None, warn_on_impl_args=None):
        """Mark a hook specification (used by hookrouter itself)."""
        if historic and firstresult:
            raise ValueError("cannot have a historic firstresult hook")
        options = {
            "firstresult": firstresult,
            "historic": historic,
            "warn_on_impl": warn_on_impl,
            "warn_on_impl_args": warn_on_impl_args,
        }
        return _marked(function, f"{PROJECT_NAME}_spec", options)

    def hookimpl(
        function=None,
        hookwrapper=False,
        optionalhook=False,
        tryfirst=False,
        trylast=False,
        specname=None,
        wrapper=False,
    ):
        """Mark a hook implementation: ``@hookimpl``, ``@hookimpl(tryfirst=True)``, ``@hookimpl(wrapper=True)``."""
        options = {
            "wrapper": wrapper,
            "hookwrapper": hookwrapper,
            "optionalhook": optionalhook,
            "tryfirst": tryfirst,
            "trylast": trylast,
            "specname": specname,
        }
        return _marked(function, IMPLEMENTATION, options)

    def override(function):
        """Mark an implementation in a class that has spec classes as bases: ``@hookimpl`` above ``@override``.

        A type checker then reports a name that no spec has. It does nothing else: it is :func:`typing.override`, which
        Python 3.11 lacks, without what importing ``typing_extensions`` costs in a hook.
        """
        return function


def _marked(function: Callable[..., Any] | None, attribute: str, options: dict[str, Any]) -> Callable[..., Any]:
    """Mark a function with options; without one, return what marks one."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        # Each function has its own: pluggy adds to them.
        setattr(function, attribute, dict(options))
        return function

    return mark if function is None else mark(function)


LONGEST_WAIT = 7 * 24 * 3600.0
"""The most seconds that an implementation may wait."""

_WAITS = f"{PROJECT_NAME}_waits"


class Waits(Value):
    """How an implementation waits."""

    seconds: float
    """How long it may take."""
    setting: str | None = None
    """The key of ``[plugins.NAME.settings]`` without which it is not called."""


def waits(seconds: float, *, setting: str | None = None) -> Callable[[F], F]:
    """Mark a hook implementation that waits for something outside, such as somebody's decision: ``@waits(600)``.

    It may take up to ``seconds``, whatever its plugin's timeout is, and Claude Code is told to be as patient with that
    event and tool. So that nobody waits for it, it is called after all the other implementations of the event, and not
    at all if one of them has decided already; wrappers do not see its reply. With ``setting`` it is registered and
    called only if ``[plugins.NAME.settings]`` sets this key to true. Raises ValueError for a time that is not above
    0 and at most LONGEST_WAIT.
    """
    if not 0 < seconds <= LONGEST_WAIT:
        raise ValueError(f"waits({seconds!r}): seconds must be above 0 and at most {LONGEST_WAIT:.0f}")

    def mark(function: F) -> F:
        setattr(function, _WAITS, Waits(float(seconds), setting))
        return function

    return mark


def waiting(function: Callable[..., object]) -> Waits | None:
    """Return how an implementation waits; None for one that is not marked with :func:`waits`."""
    found = getattr(function, _WAITS, None)
    return found if isinstance(found, Waits) else None


_RULED = f"{PROJECT_NAME}_ruled"


def ruled(function: F) -> F:
    """Mark a hook implementation that is about the calls of ``[[approvals.rules]]`` alone.

    It is registered for the tools that the rules name, and without any rule neither registered nor called. For another
    tool it may be called all the same, because another plugin needs that call.
    """
    setattr(function, _RULED, True)
    return function


def is_ruled(function: Callable[..., object]) -> bool:
    """Whether an implementation is marked with :func:`ruled`."""
    return getattr(function, _RULED, False) is True


_SCRIPTED = f"{PROJECT_NAME}_scripted"


def scripted(function: F) -> F:
    """Mark a hook implementation that is about the events and calls of ``[[scripts]]`` alone.

    It is registered for the calls that those tables are about, with their matchers, and may take as long as they may
    together. Of an event for which no table stands there it is neither registered nor called.
    """
    setattr(function, _SCRIPTED, True)
    return function


def is_scripted(function: Callable[..., object]) -> bool:
    """Whether an implementation is marked with :func:`scripted`."""
    return getattr(function, _SCRIPTED, False) is True


_STATELESS = f"{PROJECT_NAME}_stateless"


def stateless(function: F) -> F:
    """Mark a hook implementation that leaves nothing in its process: nothing that one call does matters to the next.

    Beside ``hookrouter serve`` one process may then serve one call after the other, which saves each a fork and what it
    copies. Without the mark the process in which an implementation runs ends with the call. What an implementation says
    must follow from its arguments, files and the environment of this call alone: no module variable that it changes, no
    cache that can be out of date, no open file, thread or program that stays. A plugin that is a class is made anew for
    each call. hookrouter looks after each call for what can be seen, and ends the process if it finds something.
    """
    setattr(function, _STATELESS, True)
    return function


def is_stateless(function: Callable[..., object]) -> bool:
    """Whether an implementation is marked with :func:`stateless`."""
    return getattr(function, _STATELESS, False) is True


_IF_KNOWN = f"{PROJECT_NAME}_if_known"


def if_known(function: F) -> F:
    """Mark a hook implementation whose event older clients do not know, and that its plugin can do without.

    It is registered only if the client that ``hookrouter install`` finds knows the event: one that does not may leave
    out all of its settings (2.0.76). An implementation that is not marked is registered in any case.
    """
    setattr(function, _IF_KNOWN, True)
    return function


def is_if_known(function: Callable[..., object]) -> bool:
    """Whether an implementation is marked with :func:`if_known`."""
    return getattr(function, _IF_KNOWN, False) is True


_MATCHING = f"{PROJECT_NAME}_matching"

_MATCHED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-")
"""The characters of a value: none by which a matcher would become more than a list of names."""


def matching(*values: str) -> Callable[[F], F]:
    """Mark a hook implementation that is about some calls of its event: ``@matching("idle_prompt")``.

    ``values`` are what Claude Code's matchers of the event look at: the type of a notification, the reason of a
    session's end, the base name of a changed file, the name of a tool. The implementation is registered with a matcher
    for them, and called for no others. Raises ValueError without a value, and for one of other characters than letters,
    digits, ``_``, ``.``, ``:`` and ``-``.
    """
    if not values:
        raise ValueError("matching() needs at least one value")
    for value in values:
        if not value or not _MATCHED.issuperset(value):
            raise ValueError(f"matching({value!r}): a value is made of letters, digits, _ . : and -")

    def mark(function: F) -> F:
        setattr(function, _MATCHING, tuple(dict.fromkeys(values)))
        return function

    return mark


def matched(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the values of :func:`matching`; none for an implementation that is about every call of its event."""
    found = getattr(function, _MATCHING, ())
    return found if isinstance(found, tuple) else ()


_WAKES = f"{PROJECT_NAME}_wakes"


def wakes(function: F) -> F:
    """Mark an implementation of ``file_changed`` that may begin a turn of Claude's, by ``FileChangedReply.wake``.

    It has an entry of its own in Claude Code's settings, with ``asyncRewake``, and is called for that alone: Claude
    Code does not wait for it, and discards all else that it replies. So mark it with :func:`matching` too. It is
    registered only if the client that ``hookrouter install`` finds is 2.1.150 or newer: one that does not know the key
    runs the hook as any other.
    """
    setattr(function, _WAKES, True)
    return function


def is_waking(function: Callable[..., object]) -> bool:
    """Whether an implementation is marked with :func:`wakes`."""
    return getattr(function, _WAKES, False) is True
