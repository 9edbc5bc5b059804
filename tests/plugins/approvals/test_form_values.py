"""The values of a server's form: what fits its schema, and what a person types for them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.dialogs.decisions import DecisionError
from hookrouter_approvals.formats import format_fault
from hookrouter_approvals.schema import content_faults
from hookrouter_approvals.typed_values import read_values

FITS = {
    "email": [
        "user@example.com",
        "a.b+c=d@sub.example.org",
        "o'hara@example",
        '"a b"@example.org',
        r'"a\"b"@example.org',
        "a@[192.0.2.1]",
        "a@[IPv6:2001:db8::1]",
    ],
    "uri": [
        "https://example.com",
        "https://user:pw@example.com:8080/a/b;c?d=e&f#g",
        "mailto:user@example.com",
        "urn:isbn:0451450523",
        "file:///etc/passwd",
        "http://[2001:db8::7]/x",
        "http://[v1.fe80]/x",
        "a:",
        "x-app:/a//b",
        "https://example.com/%C3%A9",
    ],
    "date": ["2024-02-29", "0000-02-29", "9999-12-31", "2000-02-29"],
    "date-time": [
        "2024-03-15T14:30:00Z",
        "2024-03-15t14:30:00.123456789012z",
        "2024-03-15T14:30:00-23:59",
        "1990-12-31T23:59:60Z",
        "1990-12-31T15:59:60-08:00",
    ],
}
FITS_NOT = {
    "email": [
        "",
        "user",
        "@example.com",
        "user@",
        "a..b@example.com",
        ".a@example.com",
        "a b@example.com",
        "a@b@c",
        "a@-example.com",
        "a@example-.com",
        "a@example..com",
        "a@example.com.",
        "é@example.com",
        "Bob <bob@example.com>",
        "a@example.com\n",
        f"{'a' * 65}@example.com",
        f"a@{'b' * 64}.com",
        "a@[300.1.1.1]",
        "a@[IPv6:x]",
    ],
    "uri": [
        "",
        "example.com",
        "/a/b",
        "//example.com",
        "1a:b",
        "https://exa mple.com",
        "https://example.com/é",
        "https://example.com/%zz",
        "https://example.com/a[b]",
        "https://[::1",
        "http://[fe80::1%25eth0]/",
        "http://[x]/",
        "http://a:b:c/",
        "http://a\\b",
        "a:#b#c",
        "https://example.com\n",
    ],
    "date": [
        "",
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-01-32",
        "24-01-01",
        "2024-1-1",
        "20240101",
        "2024-W01-1",
        "today",
        "2024-01-01\n",
        "0000-02-30",
        "1900-02-29",
        "２０２４-01-01",
    ],
    "date-time": [
        "",
        "2024-03-15",
        "2024-03-15T14:30:00",
        "2024-03-15 14:30:00Z",
        "2024-03-15T24:00:00Z",
        "2024-03-15T14:60:00Z",
        "2024-03-15T14:30:61Z",
        "2024-03-15T14:30:60Z",
        "2024-03-15T14:30Z",
        "2024-03-15T14:30:00+24:00",
        "2024-03-15T14:30:00+0100",
        "2024-03-15T14:30:00.Z",
        "2024-02-30T14:30:00Z",
        "1990-12-31T23:59:60-08:00",
    ],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FITS.items() for text in texts])
def test_a_text_of_a_format(name: str, text: str) -> None:
    assert format_fault(name, text) == ""


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FITS_NOT.items() for text in texts])
def test_a_text_that_is_not_of_a_format(name: str, text: str) -> None:
    assert format_fault(name, text) != ""


@pytest.mark.parametrize("name", ["hostname", "", 3, None, ["email"]])
def test_a_format_that_the_protocol_does_not_know_refuses_nothing(name: object) -> None:
    assert format_fault(name, "x") == ""


@given(st.datetimes(timezones=st.timezones(), allow_imaginary=False))
def test_every_date_and_time_is_one(moment: Any) -> None:
    shown = moment.isoformat()
    if len(shown.rpartition("T")[2]) in (14, 21):  # with seconds in the offset, as of old local times, it is none
        assert format_fault("date-time", shown) == ""
    assert format_fault("date", moment.date().isoformat()) == ""


@given(st.emails())
def test_every_address_of_hypothesis_is_one(address: str) -> None:
    assert format_fault("email", address) == ""


@given(st.sampled_from(sorted(FITS)), st.text(max_size=20))
def test_no_text_breaks_a_format(name: str, text: str) -> None:
    assert isinstance(format_fault(name, text), str)


SIZES = {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}
AREAS = {"type": "array", "items": {"type": "string", "enum": ["ui", "db"]}, "minItems": 1, "maxItems": 2}
TITLED = {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"type": "string", "format": "email"}, "a@b.c", ""),
        (
            {"type": "string", "format": "email"},
            "ab",
            'is "ab"; allowed is an e-mail address, such as user@example.com',
        ),
        ({"type": "string", "format": "date", "minLength": 99}, "2024-01-01", "allowed is at least 99"),
        ({"type": "integer", "format": "email"}, 3, ""),
        (SIZES, "s", ""),
        (SIZES, "m", 'is "m"; allowed are s, l'),
        (AREAS, ["ui", "db"], ""),
        (AREAS, "ui", "allowed is a list of ui, db"),
        (AREAS, ["ui", "x"], 'has "x"; allowed are ui, db'),
        (AREAS, [], "has 0 items; allowed is at least 1 and at most 2"),
        (AREAS, ["ui", "ui", "db"], "has 3 items"),
        (TITLED, ["a"], ""),
        (TITLED, ["b"], 'has "b"; allowed are a'),
        (TITLED, [["a"]], "allowed are a"),
        ({"type": "array"}, ["anything"], ""),
        ({"enum": [1, True]}, 1, ""),
        ({"enum": [1]}, True, "allowed are 1"),
        ({"type": "number", "minimum": 1}, float("nan"), "is NaN"),
    ],
)
def test_a_value_is_held_against_its_schema(schema: dict[str, Any], value: object, fault: str) -> None:
    faults = content_faults({"it": value}, {"properties": {"it": schema}})
    assert fault in (faults[0] if faults else "")
    assert bool(faults) == bool(fault)


FORM = {
    "properties": {
        "name": {"type": "string"},
        "ok": {"type": "boolean"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "size": SIZES,
        "areas": AREAS,
    }
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"name": "bob"}', {"name": "bob"}),
        ("name=bob", {"name": "bob"}),
        ("name=Bob Smith ok=yes", {"name": "Bob Smith", "ok": True}),
        ("name=Bob, ok=NO, count=3", {"name": "Bob", "ok": False, "count": 3}),
        ("name=a=b ok=false", {"name": "a=b", "ok": False}),
        ("name=a, b count=-1 ratio=1.5", {"name": "a, b", "count": -1, "ratio": 1.5}),
        ("size=Large areas=ui,db", {"size": "l", "areas": ["ui", "db"]}),
        ("size=s\nareas=ui", {"size": "s", "areas": ["ui"]}),
        ("name=", {"name": ""}),
        # What cannot be read stays a text: the check of the values says what is allowed.
        ("ok=perhaps count=x", {"ok": "perhaps", "count": "x"}),
    ],
)
def test_what_a_person_types(text: str, values: dict[str, Any]) -> None:
    assert read_values(text, FORM) == values


def test_the_only_field_needs_no_name() -> None:
    assert read_values("Bob Smith", {"properties": {"name": {"type": "string"}}}) == {"name": "Bob Smith"}
    assert read_values("a=b", {"properties": {"name": {"type": "string"}}}) == {"name": "a=b"}
    assert read_values("yes", {"properties": {"ok": {"type": "boolean"}}}) == {"ok": True}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bob", "type the values as name=… ok=…"),
        ("nam=bob", "type the values as"),
        ("hello name=bob", '"hello" comes before the first value'),
        ("name=a name=b", '"name" is there twice'),
    ],
)
def test_what_is_no_value_is_told(text: str, told: str) -> None:
    with pytest.raises(DecisionError) as raised:
        read_values(text, FORM)
    assert told in str(raised.value)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        assert isinstance(read_values(text, FORM), dict)
    except DecisionError:
        return
