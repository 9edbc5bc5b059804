"""The markdown that agents read. A user's own copy in the home's ``prompts/`` folder overrides the shipped one."""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter.home import Home

__all__ = ["read_prompt"]


def read_prompt(home: Home, name: str) -> str:
    """Return the text of a prompt, such as ``ask_user_question.md``.

    A user's copy that cannot be read, or is not UTF-8, does not hide the shipped one. Raises FileNotFoundError where
    there is none of this name, and ValueError for a name that is not a plain file name.
    """
    if name != os.path.basename(name) or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not a prompt's file name")
    package = os.path.dirname(os.path.abspath(__file__))
    # The second holds the prompts of an installed wheel, the third those of a checkout.
    for folder in (home.prompts, os.path.join(package, "_prompts"), os.path.join(os.path.dirname(package), "prompts")):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError):
            continue
    raise FileNotFoundError(f"there is no prompt {name!r}, neither in {home.prompts} nor among the shipped ones")
