"""The markdown that agents read. A user's own copy in the home's ``prompts/`` folder overrides the shipped one."""

from __future__ import annotations

import os

from hookrouter.storage.own_file import read_trusted

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.storage.home import Home

__all__ = ["prompt_text", "read_prompt"]


def read_prompt(home: Home, name: str) -> str:
    """Return the text of a prompt, such as ``ask_user_question.md``.

    A user's copy that cannot be read, belongs to another user or is not UTF-8 does not hide the shipped one. Raises
    FileNotFoundError if there is none of this name, and ValueError for a name that is not a plain file name.
    """
    if name != os.path.basename(name) or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not a prompt's file name")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    checkout = os.path.dirname(os.path.dirname(package))
    # The second holds the prompts of an installed wheel, the third those of a checkout.
    for folder in (
        home.prompts,
        os.path.join(package, "_prompts"),
        os.path.join(checkout, "prompts"),
    ):
        try:
            return read_trusted(os.path.join(folder, name)).decode("utf-8").replace("\r\n", "\n")
        except (OSError, ValueError):
            continue
    raise FileNotFoundError(f"there is no prompt {name!r}, neither in {home.prompts} nor among the shipped ones")


def prompt_text(services: Services, name: str) -> str:
    """Return the text of a prompt; empty, with a warning, if it cannot be read, and for no name."""
    try:
        return read_prompt(services.home, name).strip() if name else ""
    except (OSError, ValueError) as error:
        services.warn(f"prompt {name}: {error}")
        return ""
