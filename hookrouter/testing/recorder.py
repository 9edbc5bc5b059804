"""A plugin that implements every hook, does nothing, and remembers each call."""

from __future__ import annotations

import functools
from collections import UserDict
from typing import TYPE_CHECKING, Any

from hookrouter.hookspecs import AnswerSpecs, CommandSpecs, PageSpecs, SettingsSpecs, WatchSpecs, all_spec_classes
from hookrouter.markers import PROJECT_NAME, hookimpl
from hookrouter.testing.hooks import HookCall
from hookrouter.util.signatures import signature_of
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

__all__ = ["HookRecorder"]

_CONTRIBUTIONS = (AnswerSpecs, CommandSpecs, PageSpecs, SettingsSpecs, WatchSpecs)


class _Replies(UserDict[str, Any]):
    """Takes a reply only for a hook that there is: another would never be returned, and nobody would know."""

    def __init__(self, recorder: HookRecorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __setitem__(self, hook: str, reply: Any) -> None:
        self._recorder._check(hook)
        super().__setitem__(hook, reply)


class HookRecorder:
    """Records the calls of all hooks about events; give it to :meth:`hookrouter.testing.Hooks.add`.

    It also replies: ``recorder.replies["stop"] = StopReply.message("...")`` is what ``stop`` returns from then on.
    """

    def __init__(self) -> None:
        """Begin with no call."""
        self.calls: list[HookCall] = []
        """Every call, oldest first; ``plugin`` is empty."""
        self.replies: MutableMapping[str, Any] = _Replies(self)
        """What a hook returns, by its name; None for those that are not here. ValueError for a name that is no hook."""
        for specs in all_spec_classes():
            if specs not in _CONTRIBUTIONS:
                for name, spec in vars(specs).items():
                    if hasattr(spec, f"{PROJECT_NAME}_spec"):
                        vars(self)[name] = self._implement(name, getattr(specs(), name))

    def __dir__(self) -> list[str]:
        """Name the hooks, which is where pluggy looks for them."""
        return [name for name in vars(self) if name not in ("calls", "replies")]

    def named(self, hook: str) -> list[HookCall]:
        """Return the calls of one hook. Raises ValueError if there is no such hook: it could never be called."""
        self._check(hook)
        return [call for call in self.calls if call.hook == hook]

    def _check(self, hook: str) -> None:
        if hook not in dir(self):
            raise ValueError(f"there is no hook {hook!r}; {did_you_mean(hook, dir(self), 'see the hook reference')}")

    @property
    def hooks(self) -> list[str]:
        """The names of the hooks that were called, in order, each as often as it was."""
        return [call.hook for call in self.calls]

    def clear(self) -> None:
        """Forget the calls so far."""
        self.calls.clear()

    def _implement(self, name: str, spec: Callable[..., Any]) -> Callable[..., Any]:
        names = tuple(signature_of(spec).parameters)

        def record(*given: Any) -> Any:
            result = self.replies.get(name)
            self.calls.append(HookCall("", name, dict(zip(names, given, strict=True)), result, None))
            return result

        # Pluggy reads the names of the arguments from the spec.
        functools.update_wrapper(record, spec)
        vars(record).pop(f"{PROJECT_NAME}_spec", None)
        return hookimpl(record)
