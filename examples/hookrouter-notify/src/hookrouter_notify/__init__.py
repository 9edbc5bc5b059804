"""A hookrouter plugin that tells people when Claude waits for them or has finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import EventSpecs, SettingsSpecs

if TYPE_CHECKING:
    from hookrouter import Context
    from hookrouter.events import Notification, Stop

    from hookrouter_notify.settings import Settings


class Notify(EventSpecs, SettingsSpecs):
    """Starts a notifier on the desktop, or gives the text to a gateway of config.toml, which may be a chat."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_notify.settings import Settings

        return Settings

    @hookimpl
    @override
    def notification(self, event: Notification, context: Context) -> None:
        _tell(event.title or "Claude Code", event.message, event.notification_type, context)

    @hookimpl
    @override
    def stop(self, event: Stop, context: Context) -> None:
        if not event.stop_hook_active:
            _tell("Claude has finished", event.last_assistant_message or "", "stop", context)


def _tell(title: str, text: str, kind: str, context: Context) -> None:
    from hookrouter.util.text import printable

    from hookrouter_notify.settings import Settings

    settings = context.settings(Settings)
    if kind not in settings.kinds:
        return
    title = printable(f"{title} ({context.session})")
    text = printable(" ".join(text.split()))[: settings.length]
    if settings.gateway:
        _send(settings.gateway, title, text, context)
    if settings.command:
        _start([word.replace("{title}", title).replace("{text}", text) for word in settings.command], context)


def _start(argv: list[str], context: Context) -> None:
    import subprocess

    try:
        subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        context.warn(f"{argv[0]} could not be started: {error}")


def _send(gateway: str, title: str, text: str, context: Context) -> None:
    from hookrouter.messaging.gateway import Message

    agent = context.agent
    context.outbox.put(
        Message(
            kind="notification",
            agent=agent.id if agent is not None else "",
            gateway=gateway,
            session=context.session,
            session_id=context.session_id,
            tool_use_id="",
            subject=title,
            text=f"{title}\n\n{text}",
        )
    )
    context.start_delivery()
