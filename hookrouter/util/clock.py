"""The time of day, for records and documents."""

from __future__ import annotations

import time

__all__ = ["iso", "local", "moment", "now", "seconds"]

# Compared before the C library is asked: not each one fails for a year that it cannot say.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The first second of the year 1, and the last one of the year 9999."""


def now() -> float:
    """Return the seconds since 1970-01-01 UTC."""
    return time.time()


def iso(ts: float | None = None) -> str:
    """Return a time, by default now, as ISO 8601 in UTC with milliseconds: ``2026-11-21T22:54:14.123Z``.

    Two such strings compare as their times do. Raises ValueError or OverflowError for a time outside the years
    1 to 9999.
    """
    seconds, milliseconds = divmod(int((now() if ts is None else ts) * 1000 // 1), 1000)
    if not _FIRST <= seconds <= _LAST:
        raise ValueError(f"{seconds} s is outside the years 1 to 9999")
    moment = time.gmtime(seconds)
    return (
        f"{moment.tm_year:04d}-{moment.tm_mon:02d}-{moment.tm_mday:02d}T"
        f"{moment.tm_hour:02d}:{moment.tm_min:02d}:{moment.tm_sec:02d}.{milliseconds:03d}Z"
    )


def seconds(text: object) -> float | None:
    """Return the seconds since 1970 of an ISO 8601 time with its zone, as :func:`iso` writes it; None for all else."""
    from datetime import datetime

    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None


def local(when: object = None, *, to: str = "seconds", otherwise: str = "at an unknown time") -> str:
    """Return a time in the local zone, with the zone, for people: ``2026-11-21 23:54:14+01:00``.

    ``when`` is ISO 8601 with its zone or the seconds since 1970, by default now; ``to`` is the smallest
    unit that is shown (``minutes``). ``otherwise`` is returned for what is no time, or one that the calendar lacks.
    :func:`moment` takes the text again.
    """
    from datetime import datetime

    moment = now() if when is None else seconds(when) if isinstance(when, str) else when
    if isinstance(moment, bool) or not isinstance(moment, (int, float)):
        return otherwise
    try:
        return datetime.fromtimestamp(moment).astimezone().isoformat(sep=" ", timespec=to)
    except (ValueError, OverflowError, OSError):
        return otherwise


def moment(text: str) -> float:
    """Return the time that a person means, in seconds since 1970.

    Understood are a distance into the past (``45s``, ``30m``, ``2h``, ``3d``, ``1w``) and an ISO 8601 date or time,
    local unless it says otherwise. Raises ValueError, whose message says what is allowed.
    """
    from datetime import datetime

    count, unit = text[:-1], text[-1:]
    if unit in _UNITS and count.isascii() and count.isdecimal() and len(count) <= 6:
        return max(0.0, now() - int(count) * _UNITS[unit])
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"found {text!r}; allowed: 45s, 30m, 2h, 3d, 1w, or an ISO 8601 date or time") from None


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
