"""What the client says of errors and usage limits is read as it means it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter._contract.document import contract
from hookrouter.sessions.limits import (
    LATER,
    LIMIT,
    NEVER,
    POLICIES,
    arms_continuation,
    failure_of_record,
    is_continuation,
    policy_of,
    read_failure,
    reset_time,
)

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
)
HOUR = 3600
DAY = 86400
AT = datetime(2026, 11, 24, 22, 13, 44, tzinfo=UTC).timestamp()


def shown(until: float, at: float, zone: str) -> str:
    """Return a time as Claude Code 2.1.330 writes it: its function was read in the program."""
    then, now = (datetime.fromtimestamp(moment, ZoneInfo(zone)) for moment in (until, at))
    minute = f":{then.minute:02d}" if then.minute else ""
    clock = f"{then.hour % 12 or 12}{minute}{'am' if then.hour < 12 else 'pm'}"
    year = f"{then.year}, " if then.year != now.year else ""
    date = f"{then:%b} {then.day}, {year}" if until - at > DAY else ""
    return f"{date}{clock} ({zone})"


def changes(zone: str) -> list[int]:
    """Return at which hours of 2020 to 2030 the clocks of a zone change."""
    hours = range(1577836800, 1893456000, 24 * HOUR)
    offsets = [datetime.fromtimestamp(hour, ZoneInfo(zone)).utcoffset() for hour in hours]
    days = [hour for hour, one, two in zip(hours, offsets, offsets[1:], strict=False) if one != two]
    return days or [1577836800]


CHANGES = {zone: changes(zone) for zone in ZONES}
INSTANTS = st.integers(0, 4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
NEAR_A_DAY = st.integers(-120_000, 120_000).map(lambda milliseconds: DAY + milliseconds / 1000)


@st.composite
def limits(draw: st.DrawFn) -> tuple[float, float, str]:
    """Return when a limit is told, for how many seconds it lasts then, and in which zone: often near a change."""
    zone = draw(st.sampled_from(ZONES))
    near = st.tuples(st.sampled_from(CHANGES[zone]), st.integers(-30 * HOUR, 54 * HOUR)).map(
        lambda both: float(sum(both))
    )
    at = draw(INSTANTS | near)
    wait = draw(st.floats(0.001, 300 * DAY) | st.floats(0.001, 5 * HOUR) | st.floats(0.001, 120) | NEAR_A_DAY)
    return at, wait, zone


@given(limits(), st.sampled_from(["", " · more"]))
@example((AT, 60, "UTC"), "")
@example((1793494800, DAY - 1, "America/New_York"), "")  # the clocks go back meanwhile
@example((AT, DAY - 30, "UTC"), "")  # in the minute of the same name
@example((1585440000.0, 60, "Europe/Berlin"), "")  # the day has 23 hours
@example((1325221200, 5 * HOUR, "Pacific/Apia"), "")  # the next day is left out
def test_a_reset_time_is_read_to_its_minute_and_never_too_early(limit: tuple[float, float, str], tail: str) -> None:
    at, wait, zone = limit
    until = at + wait
    named = "weekly limit" if wait > 5 * HOUR else "5-hour limit"
    for name in {named, "weekly limit"}:
        found = reset_time(f"You've hit your {name} · resets {shown(until, at, zone)}{tail}", at)
        assert found is not None
        assert found > until - 0.001
        # A line that says two times is read as the later one: the clocks go back, or the next day has that minute too.
        says_two = shown(found - 60, at, zone) == shown(until, at, zone)
        latest = DAY + 60 if name == "weekly limit" else 2 * HOUR
        assert found - until <= 60.001 or (says_two and found - until <= latest)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You've hit your 5-hour limit · resets 10:43pm (UTC)", "2026-11-24T22:44:00+00:00"),
        ("You've hit your session limit · resets 10:48pm (UTC)", "2026-11-24T22:49:00+00:00"),
        ("You've hit your weekly limit · resets Nov 29, 10:18pm (UTC)", "2026-11-29T22:19:00+00:00"),
        ("You've hit your 5-hour limit · resets 12am (UTC)", "2026-11-25T00:01:00+00:00"),
        ("You've hit your 5-hour limit · resets 9pm (UTC)", "2026-11-25T21:01:00+00:00"),
        (
            "You've hit your 5-hour limit · resets 1am (Europe/Berlin) · out of usage credits",
            "2026-11-25T00:01:00+00:00",
        ),
        ("You've hit your weekly limit · resets Jan 2, 2027, 3pm (Asia/Kathmandu)", "2027-01-02T09:16:00+00:00"),
        ("You've hit your weekly limit · resets Nov 29 at 3pm (+05:30)", "2026-11-29T09:31:00+00:00"),
    ],
)
def test_times_as_clients_write_them(text: str, expected: str) -> None:
    found = reset_time(text, AT)
    assert found is not None
    assert datetime.fromtimestamp(found, UTC).isoformat() == expected


def test_without_a_zone_the_time_is_this_machines() -> None:
    local = datetime.fromtimestamp(AT + 3600)
    half = "am" if local.hour < 12 else "pm"
    found = reset_time(f"resets {local.hour % 12 or 12}:{local.minute:02d}{half}", AT)
    assert found is not None
    assert 0 < found - (AT + 3600) <= 60


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You've hit your monthly spend limit.",
        "resets soon",
        "resets 13pm (UTC)",
        "resets 0am (UTC)",
        "resets 3:75pm (UTC)",
        "resets 3pm (Atlantis/Capital)",
        "resets 3pm (../../etc/passwd)",
        "resets 3pm (+99:99)",
        "resets Feb 30, 3pm (UTC)",
        "resets Foo 3, 3pm (UTC)",
        "presets 3pm",
        "resets Nov 2, 3pm (UTC)",  # over
        "resets Nov 2, 2099, 3pm (UTC)",
    ],
)
def test_what_is_no_time_of_a_reset_is_none(text: str) -> None:
    assert reset_time(text, AT) is None


@given(st.text(), st.floats(allow_nan=True))
def test_any_text_is_read_without_an_error(text: str, at: float) -> None:
    reset_time(text, at)
    reset_time(f"resets {text} 3pm ({text})", at)
    read_failure(text, text, at)


@pytest.mark.parametrize(
    ("error", "text", "policy", "kind"),
    [
        ("rate_limit", "You've hit your session limit · resets 10:48pm (UTC)", LIMIT, "rate_limit"),
        ("rate_limit", "You've hit your monthly spend limit.", LIMIT, "rate_limit"),
        ("rate_limit", "API Error: Request rejected (429) · mock rate limit", LATER, "rate_limit"),
        ("server_error", "API Error: 529 Overloaded. This is a server-side issue", LATER, "server_error"),
        ("authentication_failed", "Invalid API key · Fix external API key", NEVER, "authentication_failed"),
        ("billing_error", "Credit balance is too low", NEVER, "billing_error"),
        ("invalid_request", "Prompt is too long", NEVER, "invalid_request"),
        ("unknown", 'API Error: 529 {"type":"error"}', LATER, "server_error"),  # 2.0.76
        ("unknown", 'API Error: 429 {"type":"error"}', LATER, "rate_limit"),
        ("unknown", 'API Error: 400 {"type":"error"}', NEVER, "unknown"),
        ("something_new", "An error", NEVER, "something_new"),
        ("", "", NEVER, "unknown"),
    ],
)
def test_what_helps_after_an_error(error: str, text: str, policy: str, kind: str) -> None:
    failure = read_failure(error, text, AT)
    assert (failure.policy, failure.error) == (policy, kind)


def test_every_kind_of_the_contract_is_known() -> None:
    kinds = contract()["events"]["StopFailure"]["matcher_values"]
    assert {kind for kind in kinds if policy_of(kind) == LATER} == {"rate_limit", "server_error", "overloaded"}
    assert set(kinds) == set(POLICIES)


def record(**fields: Any) -> dict[str, Any]:
    return {
        "type": "assistant",
        "isSidechain": False,
        "isApiErrorMessage": True,
        "error": "rate_limit",
        "message": {
            "model": "<synthetic>",
            "content": [{"type": "text", "text": "You've hit your 5-hour limit · resets 10:43pm (UTC)"}],
        },
        **fields,
    }


def test_a_record_of_2_1_330_has_the_second() -> None:
    limits = {"status": "rejected", "resetsAt": 1795560223, "rateLimitType": "five_hour"}
    failure = failure_of_record(record(apiError="usage_limit_reached", quotaLimits=limits), AT)
    assert failure is not None
    assert (failure.policy, failure.until, failure.limit) == (LIMIT, 1795560223.0, "five_hour")


@pytest.mark.parametrize("resets_at", [None, True, "soon", float("nan"), float("inf"), -5, 9e18])
def test_a_record_with_a_nonsensical_time_is_read_by_its_text(resets_at: object) -> None:
    failure = failure_of_record(record(apiError="usage_limit_reached", quotaLimits={"resetsAt": resets_at}), AT)
    assert failure is not None
    assert failure.until == datetime(2026, 11, 24, 22, 44, tzinfo=UTC).timestamp()


def test_a_record_of_an_older_client_is_read_by_its_text() -> None:
    failure = failure_of_record(record(), AT)
    assert failure is not None
    assert (failure.policy, failure.limit) == (LIMIT, "5-hour limit")


@pytest.mark.parametrize(
    "entry",
    [
        {},
        record(isApiErrorMessage=False),
        record(isSidechain=True),
        {**record(), "type": "user"},
    ],
)
def test_what_is_no_error_of_the_session_is_none(entry: dict[str, Any]) -> None:
    assert failure_of_record(entry, AT) is None


def test_the_clients_own_continuation_is_known() -> None:
    rest = (
        "Continue the task you were working on when the limit was reached; do not repeat work that is already complete."
    )
    assert is_continuation(f"Your claude.ai usage limit has reset. {rest}")
    assert is_continuation(f"Your claude.ai usage is available again before the usage-limit reset. {rest}")
    assert not is_continuation(rest)
    assert not is_continuation(f"Your claude.ai usage limit has reset. {rest} And more.")


@pytest.mark.parametrize(
    ("content", "armed"),
    [
        ("Usage limit reached · set to continue automatically at 10:43pm", True),
        ("Usage limit reached again · set to continue automatically at 10:43pm", True),
        ("Usage limit reached · continuing automatically at 10:43pm · esc to cancel", True),
        ("Usage limit reached · continuing automatically when it resets · esc to cancel", True),
        ("Usage limit reached again after you continued · continuing automatically at 1am · esc to cancel", True),
        ("Usage limit reached · brief included wrap-up, then usage credits", None),
        ("Automatic continue cancelled · /rate-limit-options to wait again", False),
        ("Usage limit reset · Continuing automatically", None),
        (None, None),
    ],
)
def test_whether_the_client_goes_on_by_itself(content: object, armed: bool | None) -> None:
    assert arms_continuation({"type": "system", "subtype": "informational", "content": content}) is armed
    assert arms_continuation({"type": "user", "content": content}) is None
