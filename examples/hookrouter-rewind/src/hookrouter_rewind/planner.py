"""Which key comes next, from what is on the screen: to the row, to its page, and there to the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter import override
from hookrouter.answering.interfaces import Done, Effect, GiveUp, KeystrokePlanner, Press, SeenDialog, View, Wait

from hookrouter_rewind.screens import Confirmation, RewindList, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.answering.interfaces import AskedDialog, Step, Taken
    from hookrouter.terminals import Screen

__all__ = ["KIND", "RewindPlanner", "chosen_prompt"]

KIND = "rewind"
_RESTORE = "Restore conversation"


class RewindPlanner(KeystrokePlanner):
    """Enters decisions about the Rewind list, and nothing else."""

    name = KIND
    kinds = (KIND,)
    sees_dialogs = True

    @override
    def seen(self, screen: Screen) -> SeenDialog | None:
        """Say that the list is ours, so that the plugin ``blocked`` need not tell of it."""
        return None if read(screen) is None else SeenDialog("Rewind list", (), is_told=True)

    @override
    def read_dialog(self, screen: Screen, asked: AskedDialog) -> View:
        found = read(screen)
        return View(screen, found, shown=found is not None, pages=frozenset([type(found).__name__]))

    @override
    def next_dialog_step(self, view: View, asked: AskedDialog, taken: Sequence[Taken]) -> Step:
        found, prompt = view.state, chosen_prompt(asked.request, asked.decision)
        if found is None:
            return Done("the list is closed") if taken else Wait("the Rewind list is not on the screen")
        if taken and taken[-1].view.state == found:
            # A second Enter would go to the next page.
            return Wait("the client has not taken the key yet")
        if prompt is None:
            return _closed(found)
        return _on_list(found, prompt) if isinstance(found, RewindList) else _on_page(found, prompt)

    @override
    def outline_dialog(self, asked: AskedDialog) -> list[str]:
        prompt = chosen_prompt(asked.request, asked.decision)
        return ["close the list"] if prompt is None else [f"go back to before {prompt!r}", "restore the conversation"]


def chosen_prompt(request: Mapping[str, Any], decision: Mapping[str, Any]) -> str | None:
    """Return the prompt to go back to; None for a decision to close the list."""
    prompts, index = request["prompts"], decision["optionIndex"]
    return str(prompts[index]) if index < len(prompts) else None


def _closed(found: RewindList | Confirmation) -> Step:
    if isinstance(found, RewindList):
        return Press("Escape", "close the list", Effect.SUBMITS)
    return Press("Escape", "back to the list", Effect.LEAVES)


def _on_list(found: RewindList, prompt: str) -> Step:
    if found.prompts.count(prompt) != 1:
        return GiveUp("the list shows other prompts than when it was told of")
    wanted = found.prompts.index(prompt)
    if found.cursor == wanted:
        return Press("Enter", "choose the prompt", Effect.LEAVES)
    return Press("Up" if found.cursor > wanted else "Down", "move to the prompt")


def _on_page(found: Confirmation, prompt: str) -> Step:
    if found.prompt != prompt:
        return Press("Escape", "back from another prompt", Effect.LEAVES)
    if found.rows[0] != _RESTORE:
        return GiveUp(f"the client offers {found.rows[0]!r} first, and not {_RESTORE!r}")
    if found.cursor:
        return Press("Up", "move to the first row")
    return Press("Enter", "restore the conversation", Effect.SUBMITS)
