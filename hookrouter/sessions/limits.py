"""How a turn broke off, and when it is worth trying again: what Claude Code says of errors and usage limits.

The client tells it in three places: the hook ``StopFailure`` (2.1.78 and newer; before, ``Stop`` comes after an error
too), the line that it draws, which is the hook's ``last_assistant_message``, and a record of its transcript, which
alone has the exact second (2.1.330). The forms here were seen on 2.0.76, 2.1.150 and 2.1.330, logged in to a made-up
account, against an API that refused with the headers ``anthropic-ratelimit-unified-*``.

This module reads no file: :mod:`hookrouter.queue.failures` does, and decides what becomes of a queue.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

__all__ = [
    "LATER",
    "LIMIT",
    "NEVER",
    "POLICIES",
    "Failure",
    "arms_continuation",
    "failure_of_record",
    "is_continuation",
    "policy_of",
    "read_failure",
    "reset_time",
]

LIMIT, LATER, NEVER = "limit", "later", "never"
"""What helps after an error: to wait until a usage limit is over, to try again some time later, or nothing but a person
or a decision."""

RATE_LIMIT, SERVER_ERROR, UNKNOWN = "rate_limit", "server_error", "unknown"

POLICIES = {
    RATE_LIMIT: LATER,
    SERVER_ERROR: LATER,
    "overloaded": LATER,
    "authentication_failed": NEVER,
    "oauth_org_not_allowed": NEVER,
    "account_on_hold": NEVER,
    "verification_required": NEVER,
    "billing_error": NEVER,
    "cloud_credential_error": NEVER,
    "invalid_request": NEVER,
    "model_not_found": NEVER,
    "max_output_tokens": NEVER,
    UNKNOWN: NEVER,
}
"""By the kind of error that ``StopFailure`` names. A ``rate_limit`` is a usage limit only if the client says so: an API
key gets the same kind for too many requests in a minute. The account, its login and its money are a person's; a request
that was refused for what it holds is refused again."""

_LIMITS = ("You've hit your", "You've reached your", "You're out of ", "Your org is out of usage")
"""How the client begins a line that says that a limit is reached, or that no money is left."""

_STATUS = re.compile(r"API Error: (\d{3})\b")
"""Clients before 2.1.78 call an error ``unknown`` and say its HTTP status."""

_CONTINUATION = re.compile(
    r"Your claude\.ai usage (?:limit has reset|is available again before the usage-limit reset)\. "
    r"Continue the task you were working on when the limit was reached; do not repeat work that is already complete\."
)
"""What 2.1.330 submits by itself when a limit is over, unless somebody has pressed Esc."""

_ARMED = re.compile(r"Usage limit reached\b.* · (?:set to continue|continuing) (?:automatically|shortly)\b")
_CANCELLED = "Automatic continue cancelled"
"""How the records begin by which 2.1.250 to 2.1.332 say that they will do so, and that they will not."""

_RESET = re.compile(
    r"""(?:\bresets|\bwill\ reset\ at|\bIt\ resets)\s+
    (?:(?P<month>[A-Z][a-z]{2})\ (?P<day>\d{1,2})(?:,\ (?P<year>\d{4}))?(?:,|\ at)\ )?
    (?P<hour>1[0-2]|[1-9])(?::(?P<minute>[0-5]\d))?[ ]?(?P<half>[ap])m\b
    (?:\s\((?P<zone>[^()\n]{1,64})\))?""",
    re.VERBOSE,
)
_HOURS = re.compile(r"\b(?:5-hour|session) limit\b")
"""Limits that are over after hours: 5, as the client says it (2.1.330)."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d{1,2})(?::?(\d{2}))?")

_DAY = 86400.0
_FURTHEST = 400 * _DAY
"""Seconds from an error to the end of a limit; a time further away is none."""
_MINUTE = 60.0


class Failure(NamedTuple):
    """An error in which a turn has ended."""

    error: str
    """The kind, as ``StopFailure`` names it; ``server_error`` and ``rate_limit`` also where an older client says only
    the HTTP status."""
    text: str
    """What the client shows."""
    policy: str
    """What helps: ``limit``, ``later`` or ``never``."""
    until: float | None = None
    """With ``limit``, when it is over, in seconds since 1970; None if the client does not say."""
    limit: str = ""
    """With ``limit``, which one: ``five_hour``, ``seven_day``, or as the client words it: ``session limit``."""


def policy_of(error: str) -> str:
    """Return what helps after an error of a kind that is no usage limit; of one that is not known: nothing."""
    return POLICIES.get(error, NEVER)


def read_failure(error: str, text: str, at: float) -> Failure:
    """Return what ``error`` and ``last_assistant_message`` of a ``StopFailure`` mean; ``at`` is seconds since 1970."""
    if error in ("", UNKNOWN) and (status := _STATUS.match(text)):
        error = RATE_LIMIT if status[1] == "429" else SERVER_ERROR if status[1] >= "500" else UNKNOWN
    if error == RATE_LIMIT and text.startswith(_LIMITS):
        return Failure(error, text, LIMIT, reset_time(text, at), _named_limit(text))
    return Failure(error or UNKNOWN, text, policy_of(error))


def failure_of_record(entry: Mapping[str, object], at: float) -> Failure | None:
    """Return what a record of the transcript tells; None if it is about no error. ``at`` is when it was written."""
    if (
        entry.get("type") != "assistant"
        or entry.get("isApiErrorMessage") is not True
        or entry.get("isSidechain") is True
    ):
        return None
    error = entry.get("error")
    failure = read_failure(error if isinstance(error, str) else "", _text_of(entry), at)
    limits = entry.get("quotaLimits")
    if not isinstance(limits, dict):
        return failure
    resets_at, kind = limits.get("resetsAt"), limits.get("rateLimitType")
    if entry.get("apiError") != "usage_limit_reached" and failure.policy != LIMIT:
        return failure
    exact = float(resets_at) if isinstance(resets_at, (int, float)) and not isinstance(resets_at, bool) else None
    return failure._replace(
        policy=LIMIT,
        until=failure.until if exact is None or not 0 <= exact - at <= _FURTHEST else exact,
        limit=kind if isinstance(kind, str) and kind else failure.limit,
    )


def is_continuation(prompt: str) -> bool:
    """Whether a submitted prompt is the client's own, by which it goes on after a usage limit (2.1.330).

    ``UserPromptSubmit`` comes for it as for a person's.
    """
    return _CONTINUATION.fullmatch(prompt.strip()) is not None


def arms_continuation(entry: Mapping[str, object]) -> bool | None:
    """Whether a record says that the client will go on by itself, or will not any more; None for all others."""
    content = entry.get("content")
    if entry.get("type") != "system" or not isinstance(content, str):
        return None
    return True if _ARMED.match(content) else False if content.startswith(_CANCELLED) else None


def reset_time(text: str, at: float) -> float | None:
    """Return when a limit is over by a line of the client, in seconds since 1970; None if it does not say.

    ``at`` is when it was drawn: the client leaves out the day of what is less than 24 hours away, the year of what is
    in the same one, and the seconds always. So this is the end of the minute that it names, and of one that the
    clocks show twice the later: never too early. If a time is in the minute of ``at``, or on a day of 23 hours, the
    next day's may be meant: it is, unless the limit that the line names lasts for hours alone. A zone that this
    machine does not know makes the time unknown; without a zone it is this machine's.
    """
    found = _RESET.search(text)
    if found is None:
        return None
    hour = int(found["hour"]) % 12 + (12 if found["half"] == "p" else 0)
    try:
        zone = _zone(found["zone"])
        now = datetime.fromtimestamp(at, zone)
        if found["month"]:
            date = datetime(int(found["year"] or now.year), _MONTHS.index(found["month"]) + 1, int(found["day"]))
            dates, furthest = [date], _FURTHEST
        else:
            today = datetime(now.year, now.month, now.day)
            # A zone may leave out a whole day: Samoa, 30 December 2011.
            dates, furthest = [today + timedelta(days=days) for days in range(3)], _DAY + _MINUTE
        shown = (date.replace(hour=hour, minute=int(found["minute"] or 0)) for date in dates)
        due = [end for one in shown for end in _ends(one, zone) if at < end <= at + furthest]
        if due and _HOURS.search(text[: found.start()]):
            # At most an hour that the clocks show twice is between these.
            due = [end for end in due if end < min(due) + _DAY / 2]
        return max(due, default=None)
    except (LookupError, ValueError, OverflowError, OSError):
        return None


def _ends(shown: datetime, zone: tzinfo | None) -> set[float]:
    """Return when the minutes end at which a clock of the zone shows this; none in an hour that the clocks skip."""
    found = set()
    for fold in (0, 1):
        begin = shown.replace(tzinfo=zone, fold=fold).timestamp()
        if datetime.fromtimestamp(begin, zone).replace(tzinfo=None, fold=0) == shown:
            found.add(begin + _MINUTE)
    return found


def _zone(named: str | None) -> tzinfo | None:
    """Return the zone of a name or an offset; None, for this machine's, for None. Raises ValueError, LookupError."""
    if named is None:
        return None
    offset = _OFFSET.fullmatch(named)
    if offset is not None:
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(ahead if offset[1] == "+" else -ahead)
    return UTC if named in ("UTC", "GMT") else ZoneInfo(named)


def _named_limit(text: str) -> str:
    """Return how the client calls the limit that was hit: ``5-hour limit``, ``weekly limit``; empty if it does not."""
    for beginning in _LIMITS[:2]:
        name = text.partition(" · ")[0].removeprefix(beginning)
        if name != text.partition(" · ")[0]:
            return name.strip(" .")
    return ""


def _text_of(entry: Mapping[str, object]) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
