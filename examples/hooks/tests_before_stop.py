"""Runs the tests when Claude wants to stop. If they fail, Claude goes on, once, with what they said.

If they still fail when it wants to stop again, it may, and the user is told: a hook that blocks for ever would
spend money all night.
"""

import subprocess

from hookrouter import Context, hookimpl, waits
from hookrouter.events import Stop
from hookrouter.replies import StopReply

COMMAND = ["python", "-m", "pytest", "-q", "-x"]
SECONDS = 300


@waits(SECONDS + 10)  # a hook has 10 seconds otherwise
@hookimpl
def stop(event: Stop, context: Context) -> StopReply | None:
    try:
        done = subprocess.run(COMMAND, cwd=context.cwd, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return StopReply.message(f"The tests could not be run: {error}")
    if done.returncode == 0:
        return None
    if event.stop_hook_active:  # it goes on already because a hook blocked its stop
        return StopReply.message(f"Claude has stopped, and the tests still fail ({' '.join(COMMAND)}).")
    return StopReply.block(f"The tests fail. Fix what you broke:\n{(done.stdout + done.stderr)[-4000:]}")
