"""The notifier with hookrouter's fixtures: an event comes in, a program is started, a gateway is asked."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from hookrouter.testing import wait_until

from hookrouter_notify import Notify

if TYPE_CHECKING:
    from pathlib import Path

    from hookrouter.testing import FakeGateway, Hooks

WRITE = (
    "import json, os, sys; open(sys.argv[1] + '.new', 'w').write(json.dumps(sys.argv[2:])); "
    "os.rename(sys.argv[1] + '.new', sys.argv[1])"
)


def configured(hooks: Hooks, told: Path, more: str = "") -> None:
    words = json.dumps([sys.executable, "-c", WRITE, str(told), "{title}", "{text}"])
    hooks.add(Notify)
    hooks.configure(f"[plugins.notify.settings]\ncommand = {words}\n{more}")


def test_the_notifier_gets_title_and_text_as_words_of_one_clean_line(hooks: Hooks, tmp_path: Path) -> None:
    told = tmp_path / "told"
    configured(hooks, told)
    hooks.fire(
        "Notification",
        notification_type="permission_prompt",
        title=None,
        message="Claude needs\nyour permission \x1b[31m$(id)",
        session="work",
    )
    wait_until(told.exists, 10, "the notifier's file")
    assert json.loads(told.read_text()) == ["Claude Code (work)", "Claude needs your permission \\x1b[31m$(id)"]


def test_a_finished_turn_is_told_once_and_cut(hooks: Hooks, tmp_path: Path) -> None:
    told = tmp_path / "told"
    configured(hooks, told, "length = 5\n")
    hooks.fire("Stop", last_assistant_message="All is well.", stop_hook_active=False, session="work")
    wait_until(told.exists, 10, "the notifier's file")
    assert json.loads(told.read_text()) == ["Claude has finished (work)", "All i"]


def test_a_gateway_gets_the_text(hooks: Hooks, fake_gateway: FakeGateway) -> None:
    hooks.add(Notify)
    hooks.configure(
        """
        [gateways.phone]
        type = "fake"
        [plugins.notify.settings]
        command = []
        gateway = "phone"
        """
    )
    result = hooks.fire("Stop", last_assistant_message="Done.", stop_hook_active=False, session="work")
    assert result.delivery_started
    hooks.deliver()
    (wake,) = fake_gateway.wakes
    assert (wake.subject, wake.text) == ("Claude has finished (work)", "Claude has finished (work)\n\nDone.")


def test_kinds_that_are_not_chosen_and_continued_turns_are_silent(hooks: Hooks) -> None:
    hooks.add(Notify)
    hooks.configure("[plugins.notify.settings]\ncommand = ['/nowhere/notify']\n")
    quiet = [
        hooks.fire("Notification", notification_type="auth_success"),
        hooks.fire("Stop", stop_hook_active=True),
    ]
    assert not any(result.journal["warnings"] for result in quiet)


def test_a_missing_notifier_is_a_warning(hooks: Hooks) -> None:
    hooks.add(Notify)
    hooks.configure("[plugins.notify.settings]\ncommand = ['/nowhere/notify']\n")
    result = hooks.fire("Stop", stop_hook_active=False, check=False)
    assert "/nowhere/notify" in str(result.journal["warnings"])
