"""Shows a desktop notification when Claude has been waiting for its user for a minute."""

import subprocess
import sys

from hookrouter import Context, hookimpl
from hookrouter.events import Notification
from hookrouter.markers import matching
from hookrouter.util.text import printable

NOTIFIER = ["notify-send", "--app-name=Claude Code", "--", "{title}", "{text}"]
if sys.platform == "darwin":
    SCRIPT = "on run a\ndisplay notification (item 2 of a) with title (item 1 of a)\nend run"
    NOTIFIER = ["osascript", "-e", SCRIPT, "{title}", "{text}"]


@matching("idle_prompt")  # Claude Code starts no process for other notifications
@hookimpl
def notification(event: Notification, context: Context) -> None:
    texts = {"{title}": printable(context.session), "{text}": printable(event.message)}
    argv = [texts.get(word, word) for word in NOTIFIER]
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError as error:
        context.warn(f"{argv[0]} could not be started: {error}")
