"""The gateway for any HTTP endpoint: what is sent, what each answer means, and what a bad table is told."""

from __future__ import annotations

import hashlib
import hmac
import html
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hookrouter_webhook
from hookrouter.messaging.gateway import Message, SendResult, Sent
from hookrouter_webhook.answers import PATH, is_accepted, receipt_of
from hookrouter_webhook.templates import fill_body, message_values
from support.endpoint import Endpoint
from support.paired_http import PairedServer, paired_http
from support.tabled_gateway import TabledGateway

SECRET = "a-secret-that-nobody-may-see"


def gateway() -> TabledGateway:
    return TabledGateway(hookrouter_webhook.gateway())


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(PairedServer) as running:
        yield running


@pytest.fixture(autouse=True)
def _paired() -> Iterator[None]:
    with paired_http():
        yield


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("WEBHOOK_AUTH", f"Bearer {SECRET}")


def wake(text: str = 'say "hi" & go\n', **fields: str) -> Message:
    made = Message("question", "a", "web", "my session", "sid", "toolu_1", "Claude asks", text, "17-1-0", "2026-11-21")
    return made._replace(**fields)


def values(message: Message) -> dict[str, str]:
    return message_values(message, text_bytes=None, entities=False)


def deliver(endpoint: Endpoint, made: Message | None = None, **settings: object) -> SendResult:
    return gateway().deliver(made or wake(), {"url": f"{endpoint.origin}/hook", **settings})


def test_the_whole_message_is_sent_as_json(endpoint: Endpoint) -> None:
    woken = deliver(endpoint, wake("half a pair \ud800"))

    assert woken == SendResult(delivered=True, reason=f"{endpoint.origin} answered 200")
    [request] = endpoint.requests
    expected = wake("half a pair \ud800")._asdict()
    del expected["gateway"]
    assert json.loads(request.body) == expected
    assert (request.method, request.path) == ("POST", "/hook")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["idempotency-key"] == "17-1-0"


def test_method_and_headers_are_those_of_the_table(endpoint: Endpoint, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from a file\n")
    file.chmod(0o600)
    headers = {"X-Team": "night", "Authorization_env": "WEBHOOK_AUTH", "X-Api-Key_file": str(file)}

    assert deliver(endpoint, method="PUT", headers=headers).delivered

    [request] = endpoint.requests
    assert request.method == "PUT"
    assert request.headers["x-team"] == "night"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.headers["x-api-key"] == "from a file"


TEXTS = st.text(st.characters(exclude_categories=[]), max_size=30)


@given(text=TEXTS)
def test_a_template_makes_json_of_any_text(text: str) -> None:
    template = '{"content": "$subject: $text", "price": "$$5", "who": "${agent}"}'
    made = json.loads(fill_body(template, values(wake(text, subject="s")), "application/json"))

    assert made == {"content": f"s: {text}", "price": "$5", "who": "a"}


@given(text=st.text(max_size=30))
def test_a_template_makes_a_form_of_any_text(text: str) -> None:
    made = fill_body("a=1&text=$text&b=2", values(wake(text)), "application/x-www-form-urlencoded").decode("ascii")

    assert parse_qs(made, keep_blank_values=True) == {"a": ["1"], "text": [text], "b": ["2"]}


@pytest.mark.parametrize("kind", ["application/xml", "text/xml; charset=utf-8", "application/atom+xml", "text/html"])
@given(text=st.text(max_size=30))
def test_a_template_makes_xml_of_any_text(kind: str, text: str) -> None:
    made = fill_body('<a b="$text"><m>$text</m><m>end</m></a>', values(wake(text)), kind)
    tree = ElementTree.fromstring(made.decode())

    assert [one.tag for one in tree.iter()] == ["a", "m", "m"]
    # XML reads every end of a line as \n, and has no way to write some characters.
    plain = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    assert (tree[0].text or "") == plain.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    "kind",
    [
        *("application/yaml", "text/csv", "application/octet-stream", "text/x-sh", "multipart/x"),
        *("text/plain; charset=iso-8859-1", "text/html;charset=UTF-7", 'text/xml; charset="utf-16"'),
    ],
)
def test_a_template_of_a_type_in_which_nobody_knows_how_to_write_a_value_is_refused(kind: str) -> None:
    headers = {"Content-Type": kind}
    (problem,) = gateway().check({**GOOD, "body": "text: $text", "headers": headers})
    assert problem.startswith(f"body: it is not known how a value is written in {kind!r}; allowed: JSON, ")
    closing = {**CLOSING, "closed": {"body": "text: $text"}, "headers": headers}
    assert [one.partition(":")[0] for one in gateway().check(closing)] == ["closed.body"]
    assert gateway().check({**GOOD, "headers": headers}) == []
    assert gateway().check({**GOOD, "body": "$text", "headers": {"Content-Type": 'text/plain; charset="UTF-8"'}}) == []
    (named,) = gateway().check({**GOOD, "headers": {"Content-Type_env": "WEBHOOK_AUTH"}})
    assert named.startswith("headers: found Content-Type_env; allowed: Content-Type itself")


@pytest.mark.parametrize("body", ['{"text": $text}', "$text", '{"text": "a", $kind: 1}', '{"text": ${id}}'])
def test_a_text_without_its_quotes_makes_no_json(body: str) -> None:
    (problem,) = gateway().check({**GOOD, "body": body})
    assert problem.startswith("body: the template makes no JSON")


def test_a_part_of_an_answer_may_be_a_number_in_json() -> None:
    closing = {**CLOSING, "closed": {"body": '{"message_id": $ts, "text": "$text"}'}}
    assert gateway().check(closing) == []


@pytest.mark.parametrize("part", ["..", ".", "%2e%2e", ".%2E"])
def test_no_part_of_an_answer_leads_an_address_elsewhere(endpoint: Endpoint, part: str) -> None:
    sent = Sent("17-1-0", {**SENT.receipt, "message": part})
    url = f"{endpoint.origin}/rooms/$message/closed"
    if "%" in part:
        # It is written as it is, and so means no other folder.
        assert close(endpoint, {"url": url}, sent).delivered
        assert endpoint.requests[-1].path == f"/rooms/{part.replace('%', '%25')}/closed"
        return
    result = close(endpoint, {"url": url}, sent)
    assert (result.delivered, result.retry, endpoint.requests) == (False, False, [])
    assert result.reason.startswith("closed.url: a value would lead the address elsewhere")
    (problem,) = gateway().check({**CLOSING, "closed": {"url": "https://example.org/a/../$ts"}})
    assert problem == "closed.url: allowed: an address without a part that is . or .."


def test_a_plain_text_is_sent_as_it_is(endpoint: Endpoint) -> None:
    assert deliver(endpoint, wake("\u2713 \ud800\n"), body="$text", headers={"content-type": "text/plain"}).delivered

    [request] = endpoint.requests
    assert request.body == "\u2713 \\ud800\n".encode()
    assert request.headers["content-type"] == "text/plain"


def test_a_signed_message_can_be_checked(endpoint: Endpoint) -> None:
    assert deliver(endpoint, secret_env="WEBHOOK_SECRET").delivered

    [request] = endpoint.requests
    timestamp = request.headers["x-hookrouter-timestamp"]
    expected = hmac.new(SECRET.encode(), timestamp.encode() + b"." + request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-hookrouter-signature"] == f"sha256={expected}"
    assert timestamp.isdigit()


def test_the_address_may_be_a_secret(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_URL", f"{endpoint.origin}/services/{SECRET}?key={SECRET}")

    assert gateway().deliver(wake(), {"url_env": "WEBHOOK_URL"}).delivered
    assert endpoint.requests[0].path == f"/services/{SECRET}?key={SECRET}"

    monkeypatch.setenv("WEBHOOK_URL", f"ftp://127.0.0.1/{SECRET}")
    [problem] = gateway().check({"url_env": "WEBHOOK_URL"})
    assert problem.startswith("url_env: found an address of the form ftp://127.0.0.1")
    assert SECRET not in problem


def test_secrets_are_part_of_address_and_body(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_TOKEN", "12:a/b?c")
    table = {"url": f"{endpoint.origin}/bot$token/send", "secrets": {"token_env": "BOT_TOKEN"}}

    assert gateway().deliver(wake(), {**table, "body": '{"t": "$token", "a": "$about"}'}).delivered

    [request] = endpoint.requests
    assert request.path == "/bot12:a%2Fb%3Fc/send"
    assert json.loads(request.body) == {"t": "12:a/b?c", "a": "toolu_1"}
    endpoint.status, endpoint.body = 400, b"no bot 12:a/b?c nor 12:a%2Fb%3Fc"
    said = gateway().deliver(wake(), table).reason
    assert "12:a/b" not in said
    assert "%2Fb%3Fc" not in said


@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        (b'{"ok": true}', True),
        (b'{"ok": 1}', True),
        (b'\xef\xbb\xbf{"ok": true}', True),
        (b'{"ok": false, "error": "invalid_auth"}', False),
        (b'{"ok": "true"}', False),
        (b"[]", False),
        (b"no JSON", False),
        (b"", False),
    ],
)
def test_an_answer_must_say_that_it_was_taken(endpoint: Endpoint, said: bytes, accepted: bool) -> None:
    endpoint.body = said
    result = deliver(endpoint, accepted="ok")
    assert (result.delivered, result.retry) == (accepted, True)
    assert accepted or "because ok is not true in it" in result.reason


def test_a_long_text_is_cut_and_says_so(endpoint: Endpoint) -> None:
    assert deliver(endpoint, wake("日本 " * 500), body='{"text": "$text"}', text_bytes=1000).delivered
    text = json.loads(endpoint.requests[0].body)["text"]
    assert len(text.encode()) <= 1000
    assert text.endswith("\n… (cut here; hookrouter has the whole)\n")


@given(text=TEXTS, limit=st.integers(200, 400))
def test_no_text_is_longer_than_the_service_takes(text: str, limit: int) -> None:
    long = text * 40
    made = message_values(wake(long), text_bytes=limit, entities=False)["text"]
    assert len(made.encode("utf-8", "backslashreplace")) <= limit
    assert made == long or made.endswith("has the whole)\n")


@given(text=st.text("&<>;alt", max_size=30), limit=st.integers(200, 400))
def test_a_text_with_entities_is_cut_to_what_the_service_takes_and_within_none(text: str, limit: int) -> None:
    long = text * 40
    made = message_values(wake(long), text_bytes=limit, entities=True)["text"]
    assert len(made.encode()) <= limit
    kept = made.partition("\n… (cut")[0]
    assert long.startswith(html.unescape(kept))
    assert html.escape(html.unescape(kept), quote=False) == kept


@given(text=TEXTS)
def test_entities_leave_no_markup(text: str) -> None:
    made = message_values(wake(text, subject="<!channel> & co", link="https://x/?a&b"), text_bytes=None, entities=True)
    assert not set("<>") & set("".join(made.values()))
    assert html.unescape(made["subject"]) == "<!channel> & co"
    assert made["link"] == "https://x/?a&b"


RECEIPT = {"where": "result.chat.id", "message": "result.messages.0"}
SENT = Sent("17-1-0", {"where": "7", "message": "m/1"})
CLOSED_BODY = '{"chat": $where, "m": "$message", "was": "$closes", "text": "$text"}'


def closed_wake(**fields: str) -> Message:
    return wake("It is over.", kind="closed", id="17-1-0-closed", **fields)


def test_parts_of_the_answer_are_the_receipt(endpoint: Endpoint) -> None:
    endpoint.body = b'{"result": {"chat": {"id": 7}, "messages": ["m/1", "m/2"]}}'
    assert deliver(endpoint, receipt=RECEIPT, closed={}).receipt == SENT.receipt
    assert deliver(endpoint, closed={}).receipt == {}
    assert deliver(endpoint).receipt is None
    endpoint.body = b'{"result": {"chat": {"id": true}}}'
    result = deliver(endpoint, receipt=RECEIPT, closed={})
    assert (result.delivered, result.receipt) == (True, None)
    assert "without result.chat.id: it cannot be closed later" in result.reason


def close(endpoint: Endpoint, closed: dict[str, str], sent: Sent = SENT, **settings: object) -> SendResult:
    table = {"url": f"{endpoint.origin}/hook", "receipt": RECEIPT, "closed": closed, **settings}
    return gateway().close(closed_wake(), sent, table)


def test_a_message_is_edited_by_its_receipt(endpoint: Endpoint) -> None:
    url = f"{endpoint.origin}/chats/$where/$message"
    assert close(endpoint, {"url": url, "method": "PATCH", "body": CLOSED_BODY}).delivered
    [request] = endpoint.requests
    assert (request.method, request.path) == ("PATCH", "/chats/7/m%2F1")
    assert json.loads(request.body) == {"chat": 7, "m": "m/1", "was": "17-1-0", "text": "It is over."}
    assert request.headers["idempotency-key"] == "17-1-0-closed"


def test_a_message_is_withdrawn_without_a_body(endpoint: Endpoint) -> None:
    assert close(endpoint, {"method": "DELETE"}, secret_env="WEBHOOK_SECRET").delivered
    [request] = endpoint.requests
    assert (request.method, request.path, request.body) == ("DELETE", "/hook", b"")
    assert request.headers["x-hookrouter-signature"].startswith("sha256=")


def test_without_a_template_the_whole_is_sent_as_json(endpoint: Endpoint) -> None:
    assert close(endpoint, {}).delivered
    told = json.loads(endpoint.requests[0].body)
    assert (told["kind"], told["closes"], told["receipt"]) == ("closed", "17-1-0", SENT.receipt)


def test_what_cannot_be_closed_is_not_tried_again(endpoint: Endpoint) -> None:
    assert "no closed any more" in gateway().close(closed_wake(), SENT, GOOD).reason
    older = close(endpoint, {}, Sent("17-1-0", {"where": "7"}))
    assert (older.delivered, older.retry) == (False, False)
    assert "before the table had receipt.message" in older.reason
    assert endpoint.requests == []
    endpoint.body = b'{"ok": false, "error": "message_not_found"}'
    refused = close(endpoint, {}, accepted="ok")
    assert (refused.delivered, refused.retry) == (False, False)
    assert "message_not_found" in refused.reason
    endpoint.status = 503
    assert close(endpoint, {}).retry


@given(
    text=st.text(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ).map(json.dumps),
    path=st.from_regex(PATH, fullmatch=True) | st.sampled_from(["a", "a.b", "a.0.b", "0", "a.b.c"]),
)
def test_any_answer_is_read(text: str, path: str) -> None:
    found = receipt_of(text, {"x": path})
    assert found == path or (isinstance(found, dict) and isinstance(found["x"], str))
    assert is_accepted(text, path) in (True, False)


@pytest.mark.parametrize(
    ("status", "headers", "retry", "after"),
    [
        (400, {}, False, None),
        (401, {}, False, None),
        (404, {}, False, None),
        (408, {}, True, None),
        (409, {}, True, None),
        (410, {}, False, None),
        (425, {}, True, None),
        (429, {"Retry-After": "7"}, True, 7.0),
        (429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, True, 0.0),
        (500, {}, True, None),
        (501, {}, False, None),
        (503, {"Retry-After": "-1"}, True, None),
        (507, {}, True, None),
    ],
)
def test_every_answer_is_understood(
    endpoint: Endpoint, status: int, headers: dict[str, str], retry: bool, after: float | None
) -> None:
    endpoint.status, endpoint.headers, endpoint.body = status, headers, b"no \x1b[31m " + b"x" * 500_000

    woken = deliver(endpoint)

    assert (woken.delivered, woken.retry, woken.retry_after) == (False, retry, after)
    assert woken.reason.startswith(f"{endpoint.origin} answered {status}: no \\x1b[31m xxx")
    assert len(woken.reason) < 600


def test_only_the_statuses_of_choice_are_a_success(endpoint: Endpoint) -> None:
    endpoint.status = 202
    assert deliver(endpoint).delivered
    assert deliver(endpoint, success=[200]) == SendResult(
        delivered=False, reason=f"{endpoint.origin} answered 202", retry=False
    )


def test_no_secret_is_in_a_reason_or_a_log(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"{endpoint.origin}/services/{SECRET}"
    monkeypatch.setenv("WEBHOOK_URL", url)
    endpoint.status, endpoint.body = 400, f"{url} got Bearer {SECRET} and {SECRET}".encode()
    settings: dict[str, Any] = {"url_env": "WEBHOOK_URL", "headers": {"Authorization_env": "WEBHOOK_AUTH"}}

    with caplog.at_level(logging.DEBUG):
        answered = gateway().deliver(wake(), {**settings, "secret_env": "WEBHOOK_SECRET"})
        monkeypatch.setenv("WEBHOOK_URL", f"http://127.0.0.1:1/services/{SECRET}")
        unanswered = gateway().deliver(wake(), settings)

    assert "got ***" in answered.reason
    assert unanswered.reason == "nothing listens at http://127.0.0.1:1"
    assert SECRET not in answered.reason + unanswered.reason
    assert "Bearer" not in caplog.text


def test_a_redirect_within_the_endpoint_is_followed_with_the_same_request(endpoint: Endpoint) -> None:
    for status in (307, 308):
        endpoint.requests.clear()
        endpoint.status, endpoint.headers = status, {"Location": "/next"}

        assert deliver(endpoint, secret_env="WEBHOOK_SECRET").delivered

        first, second = endpoint.requests
        assert (first.path, second.path) == ("/hook", "/next")
        assert (first.method, first.body, first.headers) == (second.method, second.body, second.headers)


def test_a_redirect_without_end_is_left(endpoint: Endpoint) -> None:
    endpoint.status, endpoint.headers = 307, {"Location": "/hook"}

    woken = deliver(endpoint)

    assert (woken.delivered, woken.reason) == (False, f"{endpoint.origin} redirects without end")
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_to_another_place(endpoint: Endpoint, status: int) -> None:
    with Endpoint(PairedServer) as other:
        endpoint.status = status
        for location in (f"{other.origin}/x", f"//127.0.0.1:{other.server.server_address[1]}/x"):
            endpoint.headers = {"Location": location}
            woken = deliver(endpoint, headers={"Authorization_env": "WEBHOOK_AUTH"})
            assert (woken.delivered, woken.retry) == (False, False)
            assert f"redirects to {other.origin} ({status}), which is not followed" in woken.reason
        assert other.requests == []


@pytest.mark.parametrize("location", ["http://[::1", "//[", "http://a:99999/", "http://a\x7fb/", "http://\xff/"])
@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_to_no_address_is_followed_no_more_than_one_to_another(
    endpoint: Endpoint, status: int, location: str
) -> None:
    endpoint.status, endpoint.headers = status, {"Location": location}
    woken = deliver(endpoint)
    assert (woken.delivered, woken.retry) == (False, False)
    assert f"({status}), which is not followed" in woken.reason


def test_an_endpoint_that_is_not_there_is_said(endpoint: Endpoint) -> None:
    def reason(url: str, **settings: object) -> str:
        woken = gateway().deliver(wake(), {"url": url, **settings})
        assert (woken.delivered, woken.retry) == (False, True)
        return woken.reason

    assert reason("https://127.0.0.1:1/x") == "nothing listens at https://127.0.0.1:1"
    assert "the name of the host is not known" in reason("https://no-such-host.invalid/x")
    assert "TLS failed" in reason(endpoint.origin.replace("http://", "https://"))


def test_a_request_that_cannot_even_be_made_shows_no_path(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/none")
    woken = gateway().deliver(wake(), {"url": f"https://127.0.0.1:1/{SECRET}"})
    assert (woken.delivered, woken.retry) == (False, True)
    assert woken.reason == "https://127.0.0.1:1: the request failed (OSError)"

    woken = gateway().deliver(wake(), {"url": f"https://{'a' * 80}.example.org/{SECRET}"})
    assert (woken.delivered, woken.retry) == (False, True)
    assert SECRET not in woken.reason


def test_the_credentials_of_netrc_stay_there(endpoint: Endpoint) -> None:
    file = Path("~/.netrc").expanduser()
    file.write_text("machine 127.0.0.1 login me password secret\n")
    file.chmod(0o600)

    assert deliver(endpoint).delivered
    assert "authorization" not in endpoint.requests[0].headers


GOOD: dict[str, Any] = {"url": "https://example.org/hook"}
SECRETIVE: dict[str, Any] = {**GOOD, "secrets": {"token_env": "WEBHOOK_SECRET"}}
CLOSING: dict[str, Any] = {**GOOD, "receipt": {"ts": "ts"}, "closed": {}}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "url_env: missing; url_env or url_file must name the address, if url does not"),
        ({"url": 3}, "url: found 3; allowed:"),
        ({"url": "http://example.org/geheim"}, "url: found plain http to example.org; allowed: https, http to this"),
        ({**GOOD, "url_env": "WEBHOOK_SECRET"}, "url: found together with url_env; allowed: one of them"),
        ({**GOOD, "method": "GET"}, 'method: found \'GET\'; allowed: "POST" or "PUT" or "PATCH"'),
        ({**GOOD, "headers": ["a"]}, "headers: found a list; allowed: a table of texts"),
        ({**GOOD, "headers": {"X Y": "a"}}, "headers: found the name 'X Y'; allowed: letters"),
        ({**GOOD, "headers": {"X": "a\nb"}}, "headers.X: found 'a\\nb'; allowed: one line of plain ASCII"),
        ({**GOOD, "headers": {"X": 3}}, "headers.X: found 3"),
        ({**GOOD, "headers": {"x": "1", "X_env": "HOME"}}, "headers: X is there twice"),
        ({**GOOD, "headers": {"host": "a"}}, "headers: host is set by hookrouter"),
        ({**GOOD, "headers": {"Auth_env": 3}}, "headers.Auth_env: found a value that is not shown; allowed: a text"),
        ({**GOOD, "headers": {"Auth_env": "NONE"}}, "headers.Auth_env: the environment variable NONE is not set"),
        ({**GOOD, "body": 3}, "body: found 3; allowed: a text"),
        ({**GOOD, "body": '{"a": "$txet"}'}, "body: $txet is unknown; did you mean 'text'?"),
        ({**GOOD, "body": '{"a": "$Text"}'}, "body: $Text is unknown; did you mean 'text'?"),
        ({**GOOD, "body": '{"a": "$sesion"}'}, "body: $sesion is unknown; did you mean 'session'?"),
        ({**GOOD, "body": '{"a": "$ "}'}, "body: found '"),
        ({**GOOD, "body": '{"a": $text'}, "body: the template makes no JSON"),
        ({**GOOD, "secret_env": "NONE"}, "secret_env: the environment variable NONE is not set here"),
        ({**GOOD, "success": [302]}, "success: found [302]; allowed: a list of statuses from 200 to 299"),
        ({**GOOD, "success": []}, "success: found []"),
        ({**GOOD, "timeout": 0}, "timeout: found 0; allowed: seconds above 0 and up to 3600"),
        ({**GOOD, "secrets": {"token": "abc"}}, "secrets.token: allowed: token_env or token_file"),
        ({**GOOD, "secrets": {"token_env": "NONE"}}, "secrets.token_env: the environment variable NONE is not set"),
        ({**GOOD, "secrets": {"text_env": "HOME"}}, "secrets: $text is there already"),
        ({**GOOD, "secrets": {"To-ken_env": "HOME"}}, "secrets: found the name 'To-ken'; allowed: small letters"),
        ({**SECRETIVE, "url": "https://example.org/$tokn"}, "url: $tokn is unknown; did you mean 'token'?"),
        ({**SECRETIVE, "url": "https://example.org/$"}, "url: allowed: an address in which $ begins"),
        ({**SECRETIVE, "url": "http://example.org/$token"}, "url: found plain http to example.org"),
        ({**GOOD, "text_bytes": 10}, "text_bytes: found 10; allowed: bytes above 199 and up to 65536"),
        ({**GOOD, "accepted": "a b"}, "accepted: found 'a b'; allowed: the keys on the way"),
        ({**CLOSING, "receipt": {"ts": "a..b"}}, "receipt.ts: found 'a..b'; allowed: the keys on the way"),
        ({**CLOSING, "receipt": {"text": "a"}}, "receipt: $text is there already"),
        ({**CLOSING, "receipt": {"a-b": "a"}}, "receipt: found the name 'a-b'; allowed: small letters"),
        ({**GOOD, "receipt": {"ts": "ts"}}, "receipt: found without closed; allowed: with it"),
        ({**GOOD, "closed": 3}, "closed: found 3; allowed: a table"),
        ({**GOOD, "closed": {"methd": "PUT"}}, "closed.methd: unknown key, did you mean 'method'?"),
        ({**GOOD, "closed": {"method": "GET"}}, "closed.method: found 'GET'; allowed:"),
        ({**GOOD, "closed": {"url": "https://example.org/$ts"}}, "closed.url: $ts is unknown"),
        ({**GOOD, "closed": {"url": "ftp://example.org/geheim"}}, "closed.url: found an address of the form ftp:"),
        ({**GOOD, "closed": {"body": '{"a": $ts}'}}, "closed.body: $ts is unknown"),
        ({**CLOSING, "closed": {"body": '{"a": $ts'}}, "closed.body: the template makes no JSON"),
        ({**GOOD, "metod": "PUT"}, "metod: unknown key, did you mean 'method'?"),
    ],
)
def test_a_bad_table_is_told_what_is_allowed(settings: dict[str, Any], problem: str) -> None:
    [found] = gateway().check(settings)
    assert found.startswith(problem)
    assert "geheim" not in found


def test_a_good_table_has_no_problems() -> None:
    assert gateway().check(GOOD) == []
    body = 'payload={"text": $text}'
    assert gateway().check({**GOOD, "body": body, "headers": {"Content-Type": "text/plain"}, "success": [200]}) == []
    assert gateway().check({"url": "http://example.org", "allow_http": True, "timeout": 1.5, "method": "PATCH"}) == []


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "url",
                "headers",
                "secret_env",
                "url_file",
                "body",
                "timeout",
                "success",
                "x",
                "secrets",
                "closed",
                "receipt",
            ]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
            max_leaves=4,
        ),
    )
)
def test_check_never_raises(settings: dict[str, object]) -> None:
    assert all(isinstance(problem, str) for problem in gateway().check(settings))
